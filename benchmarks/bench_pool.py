"""Squared error with a prior pooled from five earlier releases, relative to that with the usual prior.

Synthetic conferences have 200 reviewers with 4 reviews each; a score is the quality of the paper (deviation 1.2) plus
the leniency of the reviewer plus noise (deviation 1), in whole numbers from 1 to 10. Leniency is normal, with a
deviation that varies by a tenth from year to year, in two camps, has heavy tails (Student's law with 2 degrees of
freedom), is that of few strict reviewers, or has a shape that the model does not hold: camps of a quarter and three
quarters, a double exponential law, or a flat one.
Real raters are the students of InstEval: each conference has 200 students of one number of years of study, in three
disjoint parts, and the earlier releases are of other students; or 200 students who rated lecturers of one department,
and the earlier releases are of other departments. All releases have histogram noise at epsilon 1 per reviewer.

Each row has so many draws of a new release, each with five earlier releases out of as many conferences of the same
bank; those of InstEval are of up to three conferences, with ten draws of noise each. "ratio" is the mean squared error
of `bayes` with the pooled prior over that without, with its standard error over draws; "of expected" is realised over
expected error with the pooled prior; "in band" the share of means in their 90 % bands; "noticed" the share of draws
that were found to be unlike the earlier ones. In rows with an arrow, the new conference is of another kind than the
earlier ones. With ``--quick`` few draws, with ``--real`` InstEval alone.

The constants of the pool were chosen with other seeds (101, 102, 103, 4242), with synthetic conferences of all worlds
but the last two. InstEval was looked at with other seeds, and no constant was changed then.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

import numpy as np  # noqa: E402
import polars as pl  # noqa: E402

import peerveil as pv  # noqa: E402
from output import Growing, Output  # noqa: E402
from peerveil.inference.assignments import deal  # noqa: E402
from peerveil.inference.count_posterior import CountLikelihood  # noqa: E402
from peerveil.inference.estimators import estimate  # noqa: E402
from peerveil.inference.model import RecordModel  # noqa: E402
from peerveil.inference.pooling import Earlier, PooledPrior, YearPrior, divided  # noqa: E402
from peerveil.inference.pooling.opinions import Tails, Within  # noqa: E402
from peerveil.planning.rehearsal import Rehearsal  # noqa: E402
from peerveil.privacy.bins import NoisyCounts  # noqa: E402
from peerveil.private.true_vector import true_vector  # noqa: E402
from peerveil.record.public_record import Floats, Ints  # noqa: E402
from results import Column, mean_of, ratio_of  # noqa: E402

RATERS = Path(os.environ.get("PEERVEIL_RATERS", Path(__file__).parents[1] / ".venv-bench"))
REVIEWERS, LOAD, EPSILON, EARLIER, DRAWS, EACH, SEED = 200, 4, 1.0, 5, 100, 10, 90210

#: The leniency of reviewers in each world.
WORLDS: dict[str, Callable[[np.random.Generator], Floats]] = {
    "none": lambda rng: np.zeros(REVIEWERS),
    "little (0.3)": lambda rng: rng.normal(0.0, 0.3 * _vary(rng), REVIEWERS),
    "typical (0.6)": lambda rng: rng.normal(0.0, 0.6 * _vary(rng), REVIEWERS),
    "strong (1.0)": lambda rng: rng.normal(0.0, 1.0 * _vary(rng), REVIEWERS),
    "very strong (1.4)": lambda rng: rng.normal(0.0, 1.4 * _vary(rng), REVIEWERS),
    "two camps": lambda rng: rng.choice([-1.0, 1.0], REVIEWERS),
    "heavy tails": lambda rng: 0.5 * rng.standard_t(2, REVIEWERS),
    "uneven camps": lambda rng: rng.choice([-1.5, 0.5], REVIEWERS, p=[0.25, 0.75]),
    "few strict": lambda rng: 0.8 * (1 - rng.exponential(1.0, REVIEWERS)),
    "double exponential": lambda rng: rng.laplace(0.0, 0.6, REVIEWERS),
    "flat": lambda rng: rng.uniform(-1.5, 1.5, REVIEWERS),
}

#: Earlier and new conferences of different kinds.
UNLIKE = (
    ("typical (0.6)", "none"),
    ("typical (0.6)", "very strong (1.4)"),
    ("none", "strong (1.0)"),
    ("very strong (1.4)", "none"),
    ("two camps", "heavy tails"),
    ("heavy tails", "two camps"),
    ("heavy tails", "typical (0.6)"),
)


def _vary(rng: np.random.Generator) -> float:
    return math.exp(rng.normal(0.0, 0.1))


class Conference:
    """A conference whose truth is known."""

    def __init__(self, reviews: pv.Reviews) -> None:
        self.weights, self.truth = pv.weigh(reviews.public("all")), true_vector(reviews, "ratings")
        self.rehearsal = Rehearsal.of(self.weights, pv.Histogram(epsilon=EPSILON))
        self.within, self.tails = Within.of(self.weights), Tails.of(self.weights)


class Year:
    """A release of a conference."""

    def __init__(self, conference: Conference, rng: np.random.Generator) -> None:
        self.weights, self.truth, self.rehearsal = conference.weights, conference.truth, conference.rehearsal
        self.within = conference.within
        noisy = self.rehearsal.perturb(self.truth, rng)
        assert isinstance(noisy, NoisyCounts)
        self.noisy = noisy
        self.usual = self.rehearsal.estimates(self.noisy, ["bayes"])["bayes"]
        self.likelihood = CountLikelihood(self.noisy, self.rehearsal.noise.law)
        self.prior = self.weights.derived(RecordModel).count_prior(self.noisy.bins, shaped=True)
        told = self.weights.derived(RecordModel).shaped_evidence(self.likelihood)
        assert told is not None
        self.told, digest = told, self.weights.digest()
        evidence, shapes = divided(told)
        about: dict[str, Any] = {"shapes": shapes, "within": self.within, "tails": conference.tails}
        self.earlier = Earlier(name="", record=digest, release=digest, evidence=evidence, **about)

    def judged(self, prior: PooledPrior) -> tuple[float, float, float, float, float]:
        """Return squared errors without and with the prior, the expected one, the share in bands, and if noticed."""
        others = YearPrior(prior.without(self.weights.digest()), self.within)
        posterior = replace(self.prior, pooled=others).posterior(self.likelihood)  # without new draws of the record
        region = self.rehearsal.region("tight")
        noisy = self.rehearsal.noisy_vector(self.noisy)
        made = estimate(noisy, self.weights, region, self.likelihood, estimator="bayes", posterior=posterior)
        assert made.outlook is not None
        slack = 1e-9 * (1 + np.abs(self.truth))
        inside = (self.truth >= made.outlook.lower - slack) & (self.truth <= made.outlook.upper + slack)
        noticed = others.disagrees(self.told)
        square, usual = (float(np.mean((each.values - self.truth) ** 2)) for each in (made, self.usual))
        return usual, square, made.outlook.expected_rmse**2, float(inside.mean()), float(noticed)


#: Releases of the same conferences, each with noise of its own, conference by conference.
Bank = Sequence[Sequence[Year]]


def synthetic(world: str, number: int) -> list[Year]:
    """Return a conference of a world, released once."""
    rng = np.random.default_rng([SEED, number, *map(ord, world)])
    papers = REVIEWERS * LOAD // 4
    paper = np.arange(REVIEWERS * LOAD) % papers
    reviewer = deal(paper, np.full(REVIEWERS, LOAD, dtype=np.int64), rng)
    raw = 5.5 + rng.normal(0.0, 1.2, papers)[paper] + WORLDS[world](rng)[reviewer] + rng.normal(0.0, 1.0, paper.size)
    score = np.clip(np.rint(raw), 1, 10)
    year = Year(Conference(_reviews(paper, reviewer, score, (1.0, 10.0))), rng)
    year.weights.derived(RecordModel)._kept.clear()  # its draws take a gigabyte in a hundred conferences
    return [year]


def _reviews(paper: Ints, reviewer: Ints, score: Floats, scale: tuple[float, float]) -> pv.Reviews:
    papers, people = ([str(each) for each in column.tolist()] for column in (paper, reviewer))
    return pv.Reviews.from_columns(papers, people, score.tolist(), scale=scale)


def insteval(draws: int, by: str) -> dict[str, list[list[Year]]]:
    """Return conferences of 200 real students by their years of study or by department, each released so often."""
    rng = np.random.default_rng(SEED)
    table = pl.read_csv(RATERS / "insteval.csv")
    if by == "years":
        students = pl.read_csv(RATERS / "insteval-students.csv").rename({"reviewer": "rater"})
        table, most = table.join(students, on="rater"), 3
    else:
        table, most = table.join(pl.read_csv(RATERS / "insteval-lecturers.csv"), on="item"), 1
    made: dict[str, list[list[Year]]] = {}
    for part_of in sorted(table[by].unique().to_list()):
        own = table.filter(pl.col(by) == part_of)
        number = own.group_by("rater").len().filter(pl.col("len") >= LOAD)["rater"].sort().to_numpy()
        people = rng.permutation(number)
        for part in range(min(most, people.size // REVIEWERS)):
            chosen = people[part * REVIEWERS : (part + 1) * REVIEWERS]
            rows = own.filter(pl.col("rater").is_in(chosen.tolist())).sample(fraction=1.0, shuffle=True, seed=part)
            rows = rows.group_by("rater", maintain_order=True).head(LOAD).sort("item", "rater")
            item, score = rows["item"].to_numpy(), rows["score"].to_numpy().astype(np.float64)
            _, start, size = np.unique(item, return_index=True, return_counts=True)
            paper = item * 1000 + (np.arange(item.size) - np.repeat(start, size)) // 4
            conference = Conference(_reviews(paper, rows["rater"].to_numpy(), score, (1.0, 5.0)))
            name = f"{part_of} years" if by == "years" else f"department {part_of}"
            made.setdefault(name, []).append([Year(conference, rng) for _ in range(draws)])
    return made


def row(table: Growing, name: str, new: Bank, earlier: Bank, each: int = 1) -> None:
    """Add the row of new conferences, each with five earlier ones drawn from a bank that does not hold it."""
    found = []
    for number, (place, conference) in product(range(each), enumerate(new)):
        rng = np.random.default_rng([SEED, 7, place, number])
        others = [releases for releases in earlier if releases is not conference]
        chosen = rng.choice(len(others), EARLIER, replace=False).tolist()
        pooled = tuple(others[i][int(rng.integers(len(others[i])))].earlier for i in chosen)
        found.append(conference[number].judged(PooledPrior(quantity="ratings", releases=pooled)))
    usual, square, expected, inside, noticed = np.array(found).T
    beside = math.sqrt(square.mean() / expected.mean())
    ratio = ratio_of(square, usual)
    table.add(name, len(found), usual.mean(), ratio, beside, mean_of(inside, 100), 100 * noticed.mean())


COLUMNS = (
    Column("conferences", "conferences"),
    Column("draws", "draws", digits="d"),
    Column("usual", "usual squared error", digits=".4f"),
    Column("ratio", "ratio", digits=".2f", better="lower"),
    Column("of-expected", "of expected", digits=".2f"),
    Column("in-band", "in band", "%", ".1f"),
    Column("noticed", "noticed", "%", ".0f"),
)


def main() -> None:
    with Output("pool") as out:
        rows(out)


def rows(out: Output) -> None:
    draws, each = (EARLIER + 1, 1) if out.quick else (DRAWS, EACH)
    name = "real" if "--real" in out.arguments else "ratios"
    title = f"Pooled priors: {REVIEWERS} reviewers, epsilon {EPSILON:g}, {EARLIER} earlier releases"
    table = out.table(name, title, COLUMNS, seeds=SEED, draws="see the column", promises=("P-YEARS-9",))
    if "--real" not in out.arguments:
        banks = {world: [synthetic(world, number) for number in range(draws)] for world in WORLDS}
        for world, years in banks.items():
            row(table, world, years, years)
        for earlier, new in UNLIKE:
            row(table, f"{earlier} → {new}", banks[new], banks[earlier])
    for by, file in (("years", "insteval-students.csv"), ("department", "insteval-lecturers.csv")):
        if not (RATERS / file).exists():
            print(f"{file} is not there; benchmarks/raters.py writes it")
            continue
        real = insteval(each, by)
        everyone = [releases for conferences in real.values() for releases in conferences]
        for name, conferences in real.items():
            row(table, f"InstEval, {name}", conferences, everyone, each)
        row(table, f"InstEval, all by {by}", everyone, everyone, each)


if __name__ == "__main__":
    main()
