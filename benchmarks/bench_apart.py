"""Conferences that noisy releases do not tell apart, and the errors of estimates in them.

Two public records of the world ``family``, 600 reviewers each, with loads of 4 or from 1 to 6; and for each record sets
of 200 assignments that fit it: without leniency, with typical leniency (0.4), with strong leniency (0.9) and, where
loads differ, with typical leniency half of whose variance goes with load. The truth is one of a set, each as likely as
the others. "distance" is the total variation distance of the noisy releases of two sets: 0 if they have the same law, 1
if a release always shows which set it is of. Both densities are known exactly, so it is the mean of a known function of
releases, over 500 of each set. As the sets are finite, it is a little more than that of all assignments.

"error" is the root mean squared error of a reviewer's mean over one release of each of 20 truths of a set, by the
estimator that the row names, "of expected" its ratio to the expected error, and "within" the share of releases whose
expected error is such that the error of the set is 0.75 to 1.25 times as great. If one error is more than 1.67 times
the other, both shares together are at most one plus the distance, whatever a release states (docs/mathematics.md,
Theorem I2): "at most" is what the smaller one of them can then be in the best case.
"""

from __future__ import annotations

import os
from itertools import chain
from typing import NamedTuple

for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

import numpy as np  # noqa: E402

import peerveil as pv  # noqa: E402
from apart import distance  # noqa: E402
from bench_raters import LIMITS, root_ratio  # noqa: E402
from output import Growing, Output  # noqa: E402
from peerveil.inference.prior import prior  # noqa: E402
from peerveil.mechanisms.base import Mechanism  # noqa: E402
from peerveil.planning.auto import Auto  # noqa: E402
from peerveil.planning.rehearsal import Rehearsal  # noqa: E402
from peerveil.record.public_record import Floats  # noqa: E402
from peerveil.simulation.worlds import world  # noqa: E402
from results import Column, mean_of  # noqa: E402

SEED, REVIEWERS, TRUTHS = 1897, 600, 200
LOADS = {"4": (4,), "1 to 6": (1, 2, 3, 4, 5, 6)}
LENIENCIES = {"none": 0.0, "typical": 0.4, "strong": 0.9}
BY_LOAD = "typical, by load"

#: For each choice of loads which sets are compared, and with which mechanisms and budgets.
PAIRS = {"4": (("none", "typical"), ("typical", "strong")), "1 to 6": (("typical", BY_LOAD),)}
BUDGETS = {
    "4": (("laplace", 0.3), ("laplace", 1.0), ("histogram", 0.3)),
    "1 to 6": (("histogram", 0.3), ("histogram", 1.0)),
}

COLUMNS = (
    *(Column(key, key) for key in ("loads", "mechanism", "epsilon", "first", "second")),
    Column("by", "by"),
    Column("distance", "distance", digits=".2f"),
    *(Column(f"error-{which}", f"error, {which}", digits=".3f") for which in ("first", "second")),
    Column("ratio", "greater over smaller error", digits=".2f"),
    *(Column(f"of-expected-{which}", f"of expected, {which}", digits=".2f") for which in ("first", "second")),
    *(Column(f"within-{which}", f"within, {which}", "%", ".0f") for which in ("first", "second")),
    Column("at-most", "one of them at most", "%", ".0f"),
)


class Errors(NamedTuple):
    """The squared errors of releases of a set, and the squares of those that they state."""

    square: Floats
    expected: Floats

    @property
    def within(self) -> Floats:
        """For each release whether the error of the set is within the limits of what it states."""
        least, most = LIMITS["of expected"]
        ratio = np.sqrt(self.square.mean() / self.expected)
        return np.asarray((ratio >= least) & (ratio <= most), dtype=np.float64)


def sets(loads: tuple[int, ...]) -> tuple[pv.PublicWeights, dict[str, Floats]]:
    """The public weights, and the sorted vectors of each set of assignments."""
    made = world("family", reviewers=REVIEWERS, loads=loads, seed=SEED)
    rows = np.split(made.score, np.flatnonzero(np.diff(made.paper)) + 1)
    load, reviewers = np.unique(np.bincount(made.reviewer), return_counts=True)
    of_each = dict(zip(load.tolist(), reviewers.tolist(), strict=True))
    weights = pv.weigh(pv.PublicRecord.from_rows(rows, loads=of_each, scale=made.scale), "ratings")
    truths = prior(weights, draws=4 * TRUTHS, seed=np.random.SeedSequence([SEED, 1]))  # a fourth may go with load
    found = {name: truths.vectors(leniency)[:TRUTHS] for name, leniency in LENIENCIES.items()}
    if len(loads) > 1:
        found[BY_LOAD] = truths.by_load(1.0).vectors(LENIENCIES["typical"])
    return weights, found


def errors(rehearsal: Rehearsal, estimator: str, truths: Floats, releases: int, rng: np.random.Generator) -> Errors:
    """The errors of releases of the first truths of a set."""
    squares, expected = [], []
    for truth in truths[:releases]:
        made = rehearsal.estimates(rehearsal.perturb(truth, rng), [estimator])[estimator]
        assert made.outlook is not None
        squares.append(np.mean((made.values - truth) ** 2))
        expected.append(made.outlook.expected_rmse**2)
    return Errors(np.array(squares), np.array(expected))


def chosen(weights: pv.PublicWeights, mechanism: str, epsilon: float) -> tuple[Rehearsal, str]:
    """The mechanism, and the estimator: for counts that of a plan, for the vector `safe`."""
    if mechanism == "laplace":
        return Rehearsal.of(weights, pv.Laplace(epsilon=epsilon)), "safe"
    choice = Auto(epsilon=epsilon, mechanisms=("histogram",)).choose(weights)
    made: Mechanism = choice.make()
    return Rehearsal.of(weights, made), choice.estimator


def rows(table: Growing, loads: str, *, draws: int, releases: int) -> None:
    """The rows of a record."""
    weights, truths = sets(LOADS[loads])
    least, most = LIMITS["of expected"]
    for number, (mechanism, epsilon) in enumerate(BUDGETS[loads]):
        rehearsal, estimator = chosen(weights, mechanism, epsilon)
        rng = np.random.default_rng([SEED, list(LOADS).index(loads), number])
        found = {
            name: errors(rehearsal, estimator, truths[name], releases, rng)
            for name in dict.fromkeys(chain(*PAIRS[loads]))
        }
        bins, law = rehearsal.bins, rehearsal.noise.law
        exact = {name: each if bins is None else bins.counts(each).astype(np.float64) for name, each in truths.items()}
        for first, second in PAIRS[loads]:
            t, both = distance(exact[first], exact[second], law, draws, rng), (found[first], found[second])
            sizes = [float(np.sqrt(one.square.mean())) for one in both]
            ratio = max(sizes) / min(sizes)
            at_most = 100 * (1 + t.value) / 2 if ratio > most / least else None
            fits = [root_ratio(one.square, one.expected) for one in both]
            shares = [mean_of(one.within, 100) for one in both]
            key = (loads, mechanism, f"{epsilon:g}", first, second)
            table.add(*key, estimator, t, *sizes, ratio, *fits, *shares, at_most)


def main() -> None:
    with Output("apart") as out:
        draws, releases = (100, 4) if out.quick else (500, 20)
        title = f"Conferences with one public record of {REVIEWERS} reviewers, and errors in points"
        how = f"{2 * draws:,} for distances, {releases} for errors"
        table = out.table("apart", title, COLUMNS, keys=5, seeds=SEED, draws=how)
        for loads in LOADS:
            rows(table, loads, draws=draws, releases=releases)


if __name__ == "__main__":
    main()
