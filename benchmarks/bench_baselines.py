"""What a release gains over what others would publish at the same promise, and over saying nothing.

Root mean squared errors of a reviewer's mean. All methods of a row see the same records and true vectors, and promise
the same epsilon per reviewer, for the same neighbours:

- *public data*: the guess from public data alone, which costs nothing and promises everything;
- *noise alone*: Laplace noise on the sorted vector, of the scale that our sensitivity needs;
- *baseline*, *chain*: its projection on order, range and total; and by the algorithm of Ding, Shah and Wang;
- *tight*, *safe*: our projection, and our default estimate for a named mechanism;
- *OpenDP histogram*: counts of means in 10 or 20 equal bins of the declared scale (the better of both on average, so
  chosen with hindsight), with noise for 2 (1 + b) moved counts, negative ones cut at 0, evenly spread within bins;
- *OpenDP quantiles*: nine deciles by the exponential mechanism on 100 candidates, a ninth of the budget each,
  interpolated;
- *plan*: what a release with that budget gives: mechanism and estimate as a plan chooses them.

Both OpenDP pipelines use no public data, and OpenDP's own maps from neighbours that differ in 1 + b rows to epsilon.
Their noise comes from the operating system and has no seed. Standard errors are over draws, or over records.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

import numpy as np  # noqa: E402
import opendp.prelude as dp  # noqa: E402
import polars as pl  # noqa: E402

import peerveil as pv  # noqa: E402
from bench_raters import LOADS, conference, ratings  # noqa: E402
from output import Output  # noqa: E402
from peerveil.inference.model import RecordModel  # noqa: E402
from peerveil.inference.prior import prior  # noqa: E402
from peerveil.planning.auto import Auto  # noqa: E402
from peerveil.planning.rehearsal import Rehearsal  # noqa: E402
from peerveil.private.true_vector import true_vector  # noqa: E402
from peerveil.record.public_record import Floats  # noqa: E402
from peerveil.simulation.experiments import EXPERIMENTS  # noqa: E402
from results import Cell, Column, Measured, mean_of  # noqa: E402

dp.enable_features("contrib")

DATA = Path(os.environ.get("PEERVEIL_DATA", Path(__file__).parents[2] / "shared" / "data"))
SEED = 20261118
BINS = (10, 20)
VECTOR = ("noisy", "baseline", "chain", "tight", "safe")
TITLES = {
    "guess": "public data",
    "noisy": "noise alone",
    "baseline": "baseline",
    "chain": "chain",
    "tight": "tight",
    "safe": "safe",
    "histogram": "OpenDP histogram",
    "quantiles": "OpenDP quantiles",
    "plan": "plan",
}
Errors = dict[str, float]


def opendp_histogram(means: Floats, scale: tuple[float, float], moved: int, epsilon: float, bins: int) -> Floats:
    """The vector that a histogram with OpenDP's noise gives, without public data."""
    low, high = scale
    edges = np.linspace(low, high, bins + 1)[1:-1]
    counted = (
        (dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance())
        >> dp.t.then_find_bin(edges=edges.tolist())  # type: ignore[no-untyped-call]
        >> dp.t.then_count_by_categories(categories=list(range(bins)), null_category=False)
        >> dp.m.then_laplace(scale=2 * moved / epsilon)
    )
    assert counted.map(2 * moved) <= epsilon * (1 + 1e-9)
    counts = np.maximum(np.array(counted(means.tolist()), dtype=float), 0.0)
    share = np.concatenate(([0.0], np.cumsum(counts)))
    share = share / share[-1] if share[-1] > 0 else np.linspace(0, 1, bins + 1)
    ranks = (np.arange(means.size) + 0.5) / means.size
    return np.asarray(np.interp(ranks, share + 1e-12 * np.arange(bins + 1), np.linspace(low, high, bins + 1)))


def opendp_quantiles(means: Floats, scale: tuple[float, float], moved: int, epsilon: float) -> Floats:
    """The vector that nine deciles by OpenDP's exponential mechanism give, without public data."""
    low, high = scale
    candidates = np.linspace(low, high, 100)
    space = (dp.vector_domain(dp.atom_domain(T=float, nan=False), size=means.size), dp.symmetric_distance())
    found = []
    for tenth in range(1, 10):

        def made(noise: float, tenth: int = tenth) -> Any:
            return (
                space
                >> dp.t.then_quantile_score_candidates(candidates.tolist(), tenth / 10)
                >> dp.m.then_noisy_max(dp.max_divergence(), noise, negate=True)
            )

        noise = made(1.0).map(2 * moved) / (epsilon / 9) * (1 + 1e-9)
        assert made(noise).map(2 * moved) <= epsilon / 9
        found.append(candidates[made(noise)(means.tolist())])
    ranks = (np.arange(means.size) + 0.5) / means.size
    return np.asarray(np.interp(ranks, np.linspace(0, 1, 11), [low, *sorted(found), high]))


class Setting:
    """A public record and a budget, with everything that all draws share."""

    def __init__(self, weights: pv.PublicWeights, scale: tuple[float, float], epsilon: float) -> None:
        self.weights, self.scale, self.epsilon = weights, scale, epsilon
        self.moved = min(1 + weights.loads.largest, weights.reviewers)
        self.vector = Rehearsal.of(weights, pv.Laplace(epsilon=epsilon))
        choice = Auto(epsilon=epsilon).choose(weights)
        self.estimator, self.planned = choice.estimator, Rehearsal.of(weights, choice.make())

    def errors(self, truth: Floats, seeds: list[int]) -> Errors:
        """Squared errors per reviewer of all methods, for one draw of noise."""
        answers = {"guess": self.weights.derived(RecordModel).guess}
        noisy = self.vector.perturb(truth, np.random.default_rng([*seeds, 1]))
        answers |= self.vector.answers(noisy, list(VECTOR))
        noisy = self.planned.perturb(truth, np.random.default_rng([*seeds, 2]))
        answers["plan"] = self.planned.answers(noisy, [self.estimator])[self.estimator]
        answers["quantiles"] = opendp_quantiles(truth, self.scale, self.moved, self.epsilon)
        for bins in BINS:
            answers[f"histogram {bins}"] = opendp_histogram(truth, self.scale, self.moved, self.epsilon, bins)
        return {name: float(np.mean((values - truth) ** 2)) for name, values in answers.items()}


def cells(draws: list[Errors]) -> list[Cell]:
    """Root mean squared errors with standard errors, in the order of the columns."""
    by: dict[str, list[float]] = defaultdict(list)
    for draw in draws:
        for name, error in draw.items():
            by[name].append(error)
    by["histogram"] = min((by[f"histogram {bins}"] for bins in BINS), key=np.mean)
    return [_root(mean_of(by[name])) for name in TITLES]


def _root(square: Cell) -> Cell:
    """The root of a mean, with its standard error by the delta method."""
    assert isinstance(square, Measured)
    value = float(np.sqrt(square.value))
    return Measured(value, square.error / (2 * value) if value else 0.0, square.draws)


def columns(first: str) -> list[Column]:
    """The setting, the budget, and one column per method."""
    made = [Column("setting", first), Column("epsilon", "epsilon")]
    return made + [Column(name, title, digits=".3f", better="lower") for name, title in TITLES.items()]


def settings(out: Output) -> None:
    """The paper's settings."""
    draws = 2 if out.quick else 16
    title = "The paper's settings: weights from 0 to 1, two reviews per reviewer and per paper"
    table = out.table("settings", title, columns("weights, reviewers"), keys=2, seeds=SEED, draws=draws)
    for number, name in enumerate(("beta-5-1", "beta-2-5", "beta-1-3", "beta-2-2", "beta-0.5-0.5")):
        for n in (10, 50):
            found = []
            for draw in range(draws):
                rng = np.random.default_rng([SEED, number, n, draw])
                weights, truth = EXPERIMENTS[name].draw(n, rng)
                setting = Setting(weights, (0.0, 1.0), 1.0)
                found.append(setting.errors(truth, [SEED, number, n, draw]))
            table.add(f"{EXPERIMENTS[name].title}, {n}", 1, *cells(found))


def record(path: Path, load: int) -> pv.PublicWeights:
    """The weights of a public record, with one load for all; the few whom the number of reviews needs have one more."""
    reviews = sum(len(cell.split(";")) for cell in pl.read_csv(path)["ratings"].to_list())
    few = reviews % load
    counts = {load: reviews // load - few, load + 1: few}
    return pv.weigh(pv.read_public(path, loads={size: count for size, count in counts.items() if count}))


def records(out: Output) -> None:
    """Real public records, with assignments at four strengths of leniency."""
    draws = 1 if out.quick else 3
    title = "Public scores of three conferences, in points; assignments drawn at the leniencies 0, 0.4, 0.9 and 2"
    table = out.table("records", title, columns("record"), keys=2, seeds=SEED, draws=f"{draws} at each leniency")
    for number, (file, load) in enumerate((("iclr2017", 3), ("iclr2018", 3), ("iclr2021", 4))):
        if not (DATA / f"{file}.csv").exists():
            table.note(f"{file} is not available")
            continue
        weights = record(DATA / f"{file}.csv", load)
        for epsilon in (1.0,) if out.quick else (0.3, 1.0, 4.0):
            found, setting = [], Setting(weights, (1.0, 10.0), epsilon)
            for i, leniency in enumerate((0.0, 0.4, 0.9, 2.0)):
                for draw in range(draws):
                    seed = np.random.SeedSequence([SEED, number, i, draw])
                    truth = prior(weights, draws=1, seed=seed).ensemble(leniency).vectors[0]
                    found.append(setting.errors(truth, [SEED, number, i, draw]))
            name = f"ICLR {file[-4:]}, {weights.reviewers:,} reviewers of load {load}"
            table.add(name, epsilon, *cells(found))


def raters(out: Output) -> None:
    """Real raters: who rated what is real, too."""
    draws = 1 if out.quick else 5
    title = "Real raters in 2 conferences of 600 people each, in points of their scales"
    table = out.table("raters", title, columns("raters"), keys=2, seeds=SEED, draws=f"{draws} of each conference")
    for name, scale in (("InstEval", (1.0, 5.0)), ("MovieLens", (0.5, 5.0))):
        if not ratings(name).exists():
            table.note(f"{name} is not available")
            continue
        for loads in ("4", "1 to 6"):
            made = [conference(name, LOADS[loads], seed) for seed in (0, 1)]
            for epsilon in (1.0,) if out.quick else (0.3, 1.0, 4.0):
                found = []
                for number, reviews in enumerate(made):
                    weights = pv.weigh(reviews.public("all"), "ratings")
                    truth = true_vector(reviews, "ratings")
                    setting = Setting(weights, scale, epsilon)
                    found += [setting.errors(truth, [SEED, number, draw]) for draw in range(draws)]
                table.add(f"{name}, loads {loads}", epsilon, *cells(found))


TABLES: dict[str, Callable[[Output], None]] = {"raters": raters, "records": records, "settings": settings}


if __name__ == "__main__":
    with Output("baselines") as out:
        for name in out.arguments or TABLES:
            if name not in TABLES:
                sys.exit(f"no table {name}; choose from {', '.join(TABLES)}")
            TABLES[name](out)
