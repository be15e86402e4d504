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
bank; those of InstEval are of up to three conferences, with several draws of noise each. "ratio" is the mean squared
error of `bayes` with the pooled prior over that without, with its standard error over draws; "of expected" is realised
over expected error with the pooled prior; "in band" the share of means in their 90 % bands, "believed" the share that
the posterior itself expects there, and "least" the least share that any bands can have of which each is an interval of
attainable means with a posterior probability of at least 90 %; "noticed" the share of draws that were found to be
unlike the earlier ones. In rows with an arrow, the new conference is of another kind than the earlier ones.
Means come in steps of a quarter, and a band holds a step or does not: where "least" is close to 97 % or above, no bands
that aim at 90 % can be expected to hold 97 % or less.

The second table says what any pool could reach where leniency is normal, in the same draws. "best pool" is the ratio
with a prior that knows all but the typical correlation: that leniency is normal, that there is no discrepancy, that the
year is like the others, and how much years vary. "known to" is the deviation of the typical correlation given the
five earlier releases under that prior, "known" the ratio if the correlation of the year itself is known, and "in band"
and "least" are as above for that posterior.

    python benchmarks/bench_pool.py [draws] [at typical leniency] [of noise] [--synthetic | --real] [--quick]

The full run has 100 draws of each, and 10 of noise. There are synthetic conferences alone, or InstEval alone, where
that is asked.

The constants of the pool were chosen with other seeds (101, 102, 103, 4242), with synthetic conferences of all worlds
but the last two. That a series keeps its discrepancy, and whether reviewers differ less than by chance, was chosen with
seed 101, where double exponential leniency was looked at as well. InstEval was looked at with other seeds, and no
constant was changed then.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

import numpy as np  # noqa: E402
import polars as pl  # noqa: E402

import peerveil as pv  # noqa: E402
from attainable import chance_within, least_chance  # noqa: E402
from output import Growing, Output  # noqa: E402
from peerveil.inference.assignments import deal  # noqa: E402
from peerveil.inference.count_posterior import CountLikelihood, CountPosterior  # noqa: E402
from peerveil.inference.estimators import Estimate, estimate  # noqa: E402
from peerveil.inference.expected_error import LEVEL  # noqa: E402
from peerveil.inference.family import CORRELATIONS, FAMILIES  # noqa: E402
from peerveil.inference.model import RecordModel  # noqa: E402
from peerveil.inference.pooling import MODEL, Earlier, PooledPrior, YearPrior, divided, usual  # noqa: E402
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

#: The worlds whose leniency is normal, and the one with draws of its own.
NORMAL, TYPICAL = ("none", "little (0.3)", "typical (0.6)", "strong (1.0)", "very strong (1.4)"), "typical (0.6)"

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


class Judged(NamedTuple):
    """How a release fares with a prior.

    Attributes:
        usual, square, expected: squared errors without the prior and with it, and that expected with it.
        inside, believed, least: the shares of means in their bands, that by the posterior, and the least possible one.
        noticed: whether the release disagrees with the others.
    """

    usual: float
    square: float
    expected: float
    inside: float
    noticed: float
    believed: float
    least: float


class Year:
    """A release of a conference.

    Attributes:
        correlation: the correlation of scores with the leniency of their reviewers, where that is known.
    """

    correlation = math.nan

    def __init__(self, conference: Conference, rng: np.random.Generator) -> None:
        self.weights, self.truth, self.rehearsal = conference.weights, conference.truth, conference.rehearsal
        self.within, self.tails = conference.within, conference.tails
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
        about: dict[str, Any] = {"shapes": shapes, "within": self.within, "tails": self.tails}
        self.earlier = Earlier(name="", record=digest, release=digest, evidence=evidence, **about)

    def judged(self, prior: PooledPrior) -> Judged:
        """Return how the release fares with the prior."""
        others = YearPrior(prior.without(self.weights.digest()), self.within, self.tails)
        return self.judged_with(others)

    def judged_with(self, others: YearPrior) -> Judged:
        """Return how the release fares with what the others say about it."""
        made, posterior = self.estimated(others)
        assert made.outlook is not None
        lower, upper = made.outlook.lower, made.outlook.upper
        slack = 1e-9 * (1 + np.abs(self.truth))
        inside = (self.truth >= lower - slack) & (self.truth <= upper + slack)
        usual_square, square = (float(np.mean((each.values - self.truth) ** 2)) for each in (self.usual, made))
        return Judged(
            usual=usual_square,
            square=square,
            expected=made.outlook.expected_rmse**2,
            inside=float(inside.mean()),
            noticed=float(others.disagrees(self.told)),
            believed=float(chance_within(posterior, lower, upper).mean()),
            least=float(least_chance(posterior, LEVEL).mean()),
        )

    def estimated(self, others: YearPrior) -> tuple[Estimate, CountPosterior]:
        """Return the estimate and its posterior with what the others say; those without, if the release disagrees."""
        if others.disagrees(self.told):
            model = self.weights.derived(RecordModel)
            usual_posterior = model.posterior(self.likelihood)
            model._kept.clear()
            assert isinstance(usual_posterior, CountPosterior)
            return self.usual, usual_posterior
        posterior = replace(self.prior, pooled=others).posterior(self.likelihood)
        assert posterior is not None
        region = self.rehearsal.region("tight")
        noisy = self.rehearsal.noisy_vector(self.noisy)
        made = estimate(noisy, self.weights, region, self.likelihood, estimator="bayes", posterior=posterior)
        return made, posterior


@dataclass(frozen=True, eq=False, kw_only=True)
class Known(YearPrior):
    """A prior that knows the shape and the discrepancy of a year: normal leniency, and none.

    Attributes:
        correlations: the probabilities of the correlations of the grid.
    """

    correlations: Floats

    def chances_for(self, evidence: Floats) -> Floats:
        """Return the probabilities of correlations, at normal leniency and without discrepancy."""
        chances = np.zeros_like(usual())
        chances[0, :, 0] = self.correlations
        return chances if evidence.ndim == 3 else np.asarray(chances.sum(axis=0))

    def disagrees(self, evidence: Floats) -> bool:
        """Return that the year is known to be like the others."""
        return False


def on_grid(correlations: Floats) -> Floats:
    """Return probabilities on the grid of correlations with these means, one row each: shared by the two next to it."""
    after = np.clip(np.searchsorted(CORRELATIONS, correlations), 1, CORRELATIONS.size - 1)
    share = (correlations - CORRELATIONS[after - 1]) / (CORRELATIONS[after] - CORRELATIONS[after - 1])
    chances, row = np.zeros((correlations.size, CORRELATIONS.size)), np.arange(correlations.size)
    chances[row, after - 1], chances[row, after] = 1 - share, share
    return chances


def best_pool(earlier: Sequence[Earlier], apart: float) -> tuple[Floats, float]:
    """Return what a pool says that knows all but the typical correlation, and the deviation of this correlation.

    Args:
        earlier: the earlier releases.
        apart: how far correlations of years are apart.
    """
    family, typical = FAMILIES[MODEL], np.linspace(0.0, 0.95, 96)
    near = np.exp(-0.5 * ((typical - typical[:, None]) / apart) ** 2)
    laws = near / near.sum(axis=1, keepdims=True) @ on_grid(typical)
    density = np.exp(-0.5 * ((typical - family.typical) / family.spread) ** 2)
    logs = np.log((1 - family.anything) * density / density.sum() + family.anything / typical.size)
    for each in earlier:
        logs = logs + np.log(laws @ np.exp(each.evidence[:, 0]))  # without discrepancy
    chance = np.exp(logs - logs.max())
    chance /= chance.sum()
    return chance @ laws, math.sqrt(chance @ (typical - chance @ typical) ** 2)


#: Releases of the same conferences, each with noise of its own, conference by conference.
Bank = Sequence[Sequence[Year]]


def synthetic(world: str, number: int) -> list[Year]:
    """Return a conference of a world, released once."""
    rng = np.random.default_rng([SEED, number, *map(ord, world)])
    papers = REVIEWERS * LOAD // 4
    paper = np.arange(REVIEWERS * LOAD) % papers
    reviewer = deal(paper, np.full(REVIEWERS, LOAD, dtype=np.int64), rng)
    quality, leniency = rng.normal(0.0, 1.2, papers)[paper], WORLDS[world](rng)[reviewer]
    score = np.clip(np.rint(5.5 + quality + leniency + rng.normal(0.0, 1.0, paper.size)), 1, 10)
    year = Year(Conference(_reviews(paper, reviewer, score, (1.0, 10.0))), rng)
    year.correlation = float(np.corrcoef(leniency, score)[0, 1]) if np.ptp(leniency) > 0 else 0.0
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


def chosen(new: Bank, earlier: Bank, each: int = 1) -> list[tuple[Year, tuple[Earlier, ...]]]:
    """Return new releases, each with five earlier ones drawn from a bank, which are of other conferences."""
    pairs = []
    for number, (place, conference) in product(range(each), enumerate(new)):
        rng = np.random.default_rng([SEED, 7, place, number])
        others = [releases for releases in earlier if releases is not conference]
        drawn = rng.choice(len(others), EARLIER, replace=False).tolist()
        held = tuple(others[i][int(rng.integers(len(others[i])))].earlier for i in drawn)
        pairs.append((conference[number], held))
    return pairs


def row(table: Growing, name: str, new: Bank, earlier: Bank, each: int = 1) -> None:
    """Add the row of new conferences, each with five earlier ones drawn from a bank that does not hold it."""
    found = [year.judged(PooledPrior(quantity="ratings", releases=held)) for year, held in chosen(new, earlier, each)]
    usual_square, square, expected, inside, noticed, believed, least = np.array(found).T
    ratio, beside = ratio_of(square, usual_square), math.sqrt(square.mean() / expected.mean())
    shares = (mean_of(share, 100) for share in (inside, believed, least))
    table.add(name, len(found), usual_square.mean(), ratio, beside, *shares, 100 * noticed.mean())


def limit_row(table: Growing, name: str, years: Bank) -> None:
    """Add the row of a world whose leniency is normal: what a pool reaches, and what any could."""
    apart = max(float(np.std([releases[0].correlation for releases in years])), 0.01)
    pool, best, known, doubt = [], [], [], []
    for year, held in chosen(years, years):
        pooled = PooledPrior(quantity="ratings", releases=held)
        correlations, deviation = best_pool(held, apart)
        pool.append(year.judged(pooled))
        itself = on_grid(np.array([year.correlation]))[0]
        best.append(year.judged_with(Known(pooled, year.within, correlations=correlations)))
        known.append(year.judged_with(Known(pooled, year.within, correlations=itself)))
        doubt.append(deviation)
    ratios = (ratio_of(*np.array([(one.square, one.usual) for one in part]).T) for part in (pool, best, known))
    of_pool, of_best, of_known = ratios
    inside, least = (mean_of([getattr(one, name) for one in known], 100) for name in ("inside", "least"))
    table.add(name, len(pool), of_pool, of_best, mean_of(doubt), of_known, inside, least)


COLUMNS = (
    Column("conferences", "conferences"),
    Column("draws", "draws", digits="d"),
    Column("usual", "usual squared error", digits=".4f"),
    Column("ratio", "ratio", digits=".2f", better="lower"),
    Column("of-expected", "of expected", digits=".2f"),
    Column("in-band", "in band", "%", ".1f"),
    Column("believed", "believed", "%", ".1f"),
    Column("least", "least", "%", ".1f"),
    Column("noticed", "noticed", "%", ".0f"),
)

LIMITS = (
    Column("conferences", "conferences"),
    Column("draws", "draws", digits="d"),
    Column("ratio", "ratio", digits=".3f", better="lower"),
    Column("best", "best pool", digits=".3f"),
    Column("doubt", "known to", digits=".3f"),
    Column("known", "known", digits=".3f"),
    Column("in-band", "in band", "%", ".1f"),
    Column("least", "least", "%", ".1f"),
)


def main() -> None:
    with Output("pool") as out:
        rows(out)


def rows(out: Output) -> None:
    given = [int(number) for number in out.arguments if not number.startswith("--")]
    usual_draws = [EARLIER + 1, EARLIER + 1, 1] if out.quick else [DRAWS, DRAWS, EACH]
    draws, typical, each = given + usual_draws[len(given) :]
    title = f"Pooled priors: {REVIEWERS} reviewers, epsilon {EPSILON:g}, {EARLIER} earlier releases"
    about: dict[str, Any] = {"seeds": SEED, "draws": "see the column"}
    if "--real" not in out.arguments:
        table = out.table("ratios", title, COLUMNS, **about, promises=("P-YEARS-9",))
        banks = {
            world: [synthetic(world, number) for number in range(typical if world == TYPICAL else draws)]
            for world in WORLDS
        }
        for world, years in banks.items():
            row(table, world, years, years)
        for earlier, new in UNLIKE:
            row(table, f"{earlier} → {new}", banks[new], banks[earlier])
        limits = out.table("limits", "What any pool could reach, in the same draws", LIMITS, **about)
        for world in NORMAL:
            limit_row(limits, world, banks[world])
    if "--synthetic" not in out.arguments:
        insteval_rows(out.table("real", f"{title}, InstEval", COLUMNS, **about, promises=("P-YEARS-9",)), each)


def insteval_rows(table: Growing, each: int) -> None:
    """Add the rows of real students."""
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
