"""Sampled tables: coverage of the 90 % intervals of `pv.combine`, and the time and memory of many large tables.

Five worlds and real raters (the students of InstEval, who rated lecturers from 1 to 5). Epsilon 1 per reviewer, loads
of 4. Each of 25 conferences is released 8 times, and 20 tables are drawn from each release; standard errors are over
conferences. Truths are computed from the true assignment. The first three functions follow from the reviewers' means,
which the release tells; the last two do not, and ``combine`` flags them: their coverage shows why.

Arguments: ``coverage [reviewers] [conferences] [releases] [seed]`` (100, 25, 8) for histograms of public scores, the
same with ``laplace`` for noise on the vector, with ``hidden`` if every second score is hidden, or with ``both`` if
means and spreads are released, each with half the budget; ``widths`` for the reasons why intervals are wide; or
``time [reviewers …]`` (10,000 and 250,000, which have a million reviews). All six by default. The greatest memory is
that of any process so far, so sizes ascend.

``widths`` draws 60 tables from each release, of which three times 20 give intervals as above. Beside them stand
intervals from all 60, by Student's law and by quantiles; and the squared error of the posterior's mean, divided by its
variance, which is 1 on average over the prior. A second table has the numbers of reviewers below cuts: how well the
posterior's draws are calibrated, and how much more the tables' numbers vary than those that they were led to. In the
world ``prior`` the truth is itself drawn from the prior, for the record of ``family``, and the table from this.
"""

from __future__ import annotations

import os
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(threads, "1")  # small matrices: threads only get in each other's way

import numpy as np  # noqa: E402
import polars as pl  # noqa: E402

import peerveil as pv  # noqa: E402
from output import Output  # noqa: E402
from peerveil.inference.assignments import deal  # noqa: E402
from peerveil.inference.model import RecordModel  # noqa: E402
from peerveil.planning.rehearsal import Rehearsal  # noqa: E402
from peerveil.privacy.bins import NoisyCounts  # noqa: E402
from peerveil.privacy.guarantee import Guarantee  # noqa: E402
from peerveil.quantities.statistics import of_each  # noqa: E402
from peerveil.record.public_record import Floats, Ints  # noqa: E402
from peerveil.regions import region  # noqa: E402
from peerveil.releases.refinement import Perturbed  # noqa: E402
from peerveil.sampling.cells import Cells, Margin  # noqa: E402
from peerveil.sampling.combining import interval  # noqa: E402
from peerveil.sampling.counts import CountLaws, CountPosterior, Observed, whole_counts  # noqa: E402
from peerveil.sampling.drawing import draw  # noqa: E402
from peerveil.sampling.tables import support_of  # noqa: E402
from peerveil.sampling.targets import Targets  # noqa: E402
from peerveil.sampling.vectors import EntryTargets  # noqa: E402
from peerveil.simulation.worlds import world  # noqa: E402
from results import Column, mean_of  # noqa: E402

SEED = 211

#: Worlds: random dealing of scores, one with lenient reviewers, two camps, flat scorers, topics; and real raters.
WORLDS = ("random", "family", "camps", "flat", "topics", "InstEval")

TABLES, LOAD = 20, 4

RATERS = Path(os.environ.get("PEERVEIL_RATERS", Path(__file__).parents[1] / ".venv-bench"))

Function = Callable[[Floats, Ints], float]


def means(score: Floats, reviewer: Ints) -> Floats:
    return np.bincount(reviewer, weights=score) / np.bincount(reviewer)


def spreads(score: Floats, reviewer: Ints) -> Floats:
    return np.sqrt(np.maximum(means(score**2, reviewer) - means(score, reviewer) ** 2, 0.0))


def variance(score: Floats, reviewer: Ints) -> float:
    return float(means(score, reviewer).var(ddof=1))


def strictest(score: Floats, reviewer: Ints) -> float:
    ordered = np.sort(means(score, reviewer))
    return float(ordered[: ordered.size // 10].mean())


def lenient(score: Floats, reviewer: Ints) -> float:
    return float(np.mean(means(score, reviewer) >= (7 if score.max() > 5 else 4)))


def flat(score: Floats, reviewer: Ints) -> float:
    return float(np.mean(spreads(score, reviewer) < 1))


def spread(score: Floats, reviewer: Ints) -> float:
    return float(spreads(score, reviewer).mean())


FITTED: tuple[Function, ...] = (variance, strictest, lenient)
NOT_FITTED: tuple[Function, ...] = (flat, spread)
FUNCTIONS = (*FITTED, *NOT_FITTED)


@cache
def ratings() -> tuple[Ints, Ints, Floats]:
    """Rater, item and score of the ratings of InstEval, one per rater and item."""
    table = pl.read_csv(RATERS / "insteval.csv").unique(["rater", "item"], keep="first", maintain_order=True)
    return table["rater"].to_numpy(), table["item"].to_numpy(), table["score"].to_numpy().astype(np.float64)


def real(reviewers: int, rng: np.random.Generator) -> tuple[Ints, Floats, Ints]:
    """A conference of some students, with the ratings of a lecturer split into papers of at most four."""
    rater, item, score = ratings()
    number = np.bincount(rater)
    chosen = rng.choice(np.flatnonzero(number >= LOAD), reviewers, replace=False)
    order = rng.permutation(rater.size)
    order = order[np.argsort(rater[order], kind="stable")]
    nth = np.arange(order.size) - (np.cumsum(number) - number)[rater[order]]
    kept = order[(nth < LOAD) & np.isin(rater[order], chosen)]
    kept = rng.permutation(kept)
    kept = kept[np.argsort(item[kept], kind="stable")]
    first = np.searchsorted(item[kept], item[kept])
    paper = np.unique(item[kept] * 10_000 + (np.arange(kept.size) - first) // 4, return_inverse=True)[1]
    return paper, score[kept], np.unique(rater[kept], return_inverse=True)[1]


def conference_of(name: str, reviewers: int, seeds: np.random.SeedSequence) -> tuple[Ints, Floats, Ints]:
    """Paper, score and reviewer of each review, by paper and score."""
    if name == "InstEval":
        paper, score, reviewer = real(reviewers, np.random.default_rng(seeds))
    else:
        made = world("family" if name == "random" else name, reviewers=reviewers, loads=LOAD, seed=seeds)
        paper, score, reviewer = made.paper, made.score, made.reviewer
    order = np.lexsort((score, paper))
    paper, score, reviewer = paper[order], score[order], reviewer[order]
    if name == "random":  # the same scores, dealt to reviewers at random
        reviewer = deal(paper, np.bincount(reviewer), np.random.default_rng(seeds.spawn(1)[0]))
    return paper, score, reviewer


def record_of(paper: Ints, score: Floats) -> pv.PublicRecord:
    rows = [[None if np.isnan(x) else x for x in row] for row in np.split(score, np.flatnonzero(np.diff(paper)) + 1)]
    scale = (1.0, 5.0) if np.nanmax(score) <= 5 else (1.0, 10.0)
    return pv.PublicRecord.from_rows(rows, load=LOAD, scale=scale)


class Setting:
    """A record with the releases of one setting: their mechanisms and statistics."""

    def __init__(self, what: str, paper: Ints, score: Floats, reviewer: Ints, rng: np.random.Generator) -> None:
        shown = score.copy()
        if what == "hidden":
            shown[rng.random(score.size) < 0.5] = np.nan
            order = np.lexsort((shown, paper))  # hidden ones last in their paper
            shown, score, reviewer = shown[order], score[order], reviewer[order]
        self.record, self.score, self.reviewer = record_of(paper, shown), score, reviewer
        epsilon = 0.5 if what == "both" else 1.0
        noise = pv.Laplace(epsilon=epsilon) if what == "laplace" else pv.Histogram(epsilon=epsilon)
        names = ("ratings", "spread of ratings") if what == "both" else ("ratings",)
        self.weights = [pv.weigh(self.record, name) for name in names]
        self.rehearsals = [Rehearsal.of(weights, noise) for weights in self.weights]
        held = np.argsort(reviewer, kind="stable")
        loads = np.bincount(reviewer)
        self.truths = [
            np.sort(of_each(weights.statistic, score[held][None], loads[None])[0]) for weights in self.weights
        ]

    def targets(self, rng: np.random.Generator) -> Targets:
        """The posterior of new releases, without their regions and reports."""
        laws, cuts, vectors = [], [], []
        for weights, rehearsal, truth in zip(self.weights, self.rehearsals, self.truths, strict=True):
            noisy = rehearsal.perturb(truth, rng)
            if isinstance(noisy, NoisyCounts):
                seen = Observed(noisy.bins, noisy.counts.astype(float), rehearsal.noise.law.deviation / 2**0.5)
                laws.append(CountLaws.of(weights, [seen]))
                cuts.append(laws[-1].bins.cuts)
            else:
                release = pv.refine(
                    noisy, weights, mechanism=rehearsal.noise.mechanism, region="baseline", estimator="bayes"
                )
                model = weights.derived(RecordModel)
                vectors.append(EntryTargets.of(model.entry_prior(), release, weights, rehearsal.noise.law))
                cuts.append(vectors[-1].cuts)
        margins = [Margin(weights.statistic, cut) for weights, cut in zip(self.weights, cuts, strict=True)]
        blocks = (CountPosterior.of(laws),) if laws else tuple(vectors)
        return Targets(tuple(margins), (), blocks, self.weights[0].reviewers, ())


def covered(name: str, reviewers: int, k: int, *, releases: int, what: str, seed: int) -> Floats:
    """For each function the share of its intervals that hold the truth, for one conference."""
    seeds = np.random.SeedSequence([seed, WORLDS.index(name), reviewers, k])
    conference = conference_of(name, reviewers, seeds)
    rng = np.random.default_rng(seeds.spawn(1)[0])
    setting = Setting(what, *conference, rng)
    record = setting.record
    true = [function(setting.score, setting.reviewer) for function in FUNCTIONS]
    held = np.zeros((releases, len(FUNCTIONS)))
    for row in held:
        targets = setting.targets(rng)
        loads = record.loads.per_reviewer()
        cells = Cells(record.paper, record.score, loads, targets.margins, support_of(record))
        drawn = [draw(cells, targets.draw(rng).counts, rng) for _ in range(TABLES)]
        for i, function in enumerate(FUNCTIONS):
            _, lower, upper = interval(np.array([function(one.score, one.holder) for one in drawn]), 0.9)
            row[i] = lower - 1e-9 <= true[i] <= upper + 1e-9
    return np.asarray(held.mean(axis=0))


#: What is released, by the first argument.
RELEASED = {
    "coverage": "histogram of means",
    "laplace": "noise on the vector of means",
    "hidden": "histogram of means, every second score hidden",
    "both": "histograms of means and of spreads, half the budget each",
}


def coverage(out: Output, what: str, numbers: list[int]) -> None:
    reviewers, conferences, releases, seed = numbers
    draws = f"{conferences} conferences of {releases} releases"
    columns = [Column(one.__name__, one.__name__, "%", ".1f", target=90.0) for one in FUNCTIONS]
    title = f"Coverage of sampled tables, {RELEASED[what]}, {reviewers:,} reviewers"
    seeds = f"[{seed}, world, reviewers, conference]"
    table = out.table(f"{what}-{reviewers}", title, [Column("world", "world"), *columns], seeds=seeds, draws=draws)
    for name in WORLDS:
        share = partial(covered, name, reviewers, releases=releases, what=what, seed=seed)
        held = np.array([share(k) for k in range(conferences)])
        table.add(name, *(mean_of(column, 100) for column in held.T))


@dataclass(frozen=True, eq=False)
class Wide:
    """What one release gives: its 60 tables, beside the truth.

    Attributes:
        true: the true value of each fitted function.
        values: the values for each table.
        below: the true numbers of reviewers below each cut.
        running: those that the posterior drew.
        tables: those in the tables.
    """

    true: Floats
    values: Floats
    below: Ints
    running: Ints
    tables: Ints


#: Tables of each release for the reasons why intervals are wide.
_MANY = 60


def from_prior(laws: CountLaws, rng: np.random.Generator) -> Ints:
    """Numbers of reviewers in cells, drawn from the prior given the sums that are public."""
    logs = np.add.outer(laws.leniencies, laws.discrepancies).ravel()
    chances = np.exp(logs - logs.max())
    law = rng.choice(chances.size, p=chances / chances.sum())
    covariance = laws.columns[law] @ laws.columns[law].T + np.diag(laws.rest[law])
    counts = rng.multivariate_normal(laws.mean[law], covariance, method="eigh")
    known, seen = laws.sums[laws.scale.size :], laws.seen[laws.scale.size :]
    of_known = known @ covariance @ known.T + np.diag(laws.known)
    counts += covariance @ known.T @ np.linalg.solve(of_known, seen - known @ counts)
    return whole_counts(np.cumsum(counts), laws.entries)


def wide(name: str, reviewers: int, k: int, *, releases: int, seed: int) -> list[Wide]:
    """Releases of one conference with many tables each."""
    world_of = "family" if name == "prior" else name
    seeds = np.random.SeedSequence([seed, len(WORLDS) if name == "prior" else WORLDS.index(name), reviewers, k])
    rng = np.random.default_rng(seeds.spawn(1)[0])
    setting = Setting("coverage", *conference_of(world_of, reviewers, seeds), rng)
    record, score, holder, made = setting.record, setting.score, setting.reviewer, []
    for _ in range(releases):
        if name == "prior":
            targets = setting.targets(rng)
            (block,) = targets.blocks
            assert isinstance(block, CountPosterior)
            cells = Cells(record.paper, record.score, record.loads.per_reviewer(), targets.margins)
            holder = draw(cells, from_prior(block.laws[0], rng), rng).holder
            setting.truths = [np.sort(means(score, holder))]
        targets = setting.targets(rng)
        cells = Cells(record.paper, record.score, record.loads.per_reviewer(), targets.margins)
        wanted = [targets.draw(rng).counts for _ in range(_MANY)]
        drawn = [draw(cells, one, rng) for one in wanted]
        made.append(
            Wide(
                np.array([function(score, holder) for function in FITTED]),
                np.array([[function(one.score, one.holder) for function in FITTED] for one in drawn]),
                np.searchsorted(setting.truths[0], targets.margins[0].cuts),
                np.cumsum(wanted, axis=1)[:, :-1],
                np.cumsum([one.counts for one in drawn], axis=1)[:, :-1],
            )
        )
    return made


def held_below(wide: Wide) -> float:
    """The share of cuts at which the interval of the posterior's draws holds the true number of reviewers below."""
    each = zip(wide.below.tolist(), wide.running.T, strict=True)
    return float(np.mean([inside(true, interval(drawn, 0.9)[1:]) for true, drawn in each]))


def inside(value: float, ends: tuple[float, float]) -> bool:
    return ends[0] - 1e-9 <= value <= ends[1] + 1e-9


def widths(out: Output, numbers: list[int]) -> None:
    """Why intervals are wide: the rule, the posterior, or the tables."""
    reviewers, conferences, releases, seed = numbers
    draws = f"{conferences} conferences of {releases} releases, {_MANY} tables each"
    seeds = f"[{seed}, world, reviewers, conference]"
    columns = [
        Column("world", "world"),
        Column("function", "function"),
        Column("twenty", "90 % intervals of 20 tables that hold the truth", "%", ".1f", target=90.0),
        Column("sixty", "of 60 tables", "%", ".1f", target=90.0),
        Column("quantiles", "quantiles of 60 tables", "%", ".1f", target=90.0),
        Column("error", "squared error of the mean over tables / variance of tables", digits=".2f", target=1.0),
    ]
    title = f"Why intervals are wide, histogram of means, {reviewers:,} reviewers"
    table = out.table(f"widths-{reviewers}", title, columns, keys=2, seeds=seeds, draws=draws)
    looser = []
    for name in (*WORLDS, "prior"):
        made = [wide(name, reviewers, k, releases=releases, seed=seed) for k in range(conferences)]
        for i, function in enumerate(FITTED):
            held = np.zeros((conferences, 3))
            squared, variance = np.zeros(conferences), np.zeros(conferences)
            for k, each in enumerate(made):
                for one in each:
                    values, true = one.values[:, i], float(one.true[i])
                    parts = [interval(part, 0.9)[1:] for part in np.split(values, _MANY // TABLES)]
                    held[k] += [
                        np.mean([inside(true, ends) for ends in parts]),
                        inside(true, interval(values, 0.9)[1:]),
                        inside(true, tuple(np.quantile(values, (0.05, 0.95)).tolist())),
                    ]
                    squared[k] += (true - values.mean()) ** 2
                    variance[k] += values.var(ddof=1)
            ratio = mean_of(squared / variance.mean(), 1)
            table.add(name, function.__name__, *(mean_of(column, 100) for column in (held / releases).T), ratio)
        own = [np.mean([one.tables.var(axis=0).sum() / one.running.var(axis=0).sum() for one in each]) for each in made]
        off = [np.mean([np.sqrt(np.mean((one.tables - one.running) ** 2)) for one in each]) for each in made]
        squared = np.array(
            [np.mean([np.sum((one.below - one.running.mean(axis=0)) ** 2) for one in each]) for each in made]
        )
        spread = np.mean([one.running.var(axis=0, ddof=1).sum() for each in made for one in each])
        held = np.array([np.mean([held_below(one) for one in each]) for each in made])
        ratio = mean_of(squared / spread, 1)
        looser.append((name, ratio, mean_of(held, 100), mean_of(np.array(own), 1), mean_of(np.array(off), 1)))
    columns = [
        Column("world", "world"),
        Column("error", "squared error of the posterior's mean / variance of its draws", digits=".2f", target=1.0),
        Column("held", "90 % intervals of 60 of its draws that hold the truth", "%", ".1f", target=90.0),
        Column("variance", "variance in the tables / in the posterior's draws", digits=".2f", target=1.0),
        Column("off", "root mean square difference", "reviewers", ".2f", better="lower"),
    ]
    title = f"Numbers of reviewers below cuts, in tables and in the posterior's draws, {reviewers:,} reviewers"
    table = out.table(f"running-{reviewers}", title, columns, seeds=seeds, draws=draws)
    for row in looser:
        table.add(*row)


def timed(out: Output, sizes: Sequence[int], seed: int = SEED) -> None:
    columns = (
        Column("n", "reviewers", digits=","),
        Column("tables", "tables", digits="d"),
        Column("clock", "by the clock", "s", ".1f"),
        Column("cpu", "of processors", "s", ".1f"),
        Column("written", "written as files", "s", ".1f"),
        Column("memory", "greatest memory of a process", "GB", ".2f", better="lower", tolerance=0.1),
        Column("misplaced", "misplaced", digits=".3f", better="lower", tolerance=0.5),
        Column("acceptance", "accepted", digits=".3f"),
        Column("renewed", "renewed", digits=".3f", better="higher", tolerance=0.05),
    )
    table = out.table("time", "Time to draw tables, epsilon 1, histogram of means", columns, seeds=seed)
    for reviewers in sorted(sizes):
        table.add(reviewers, *drawn_in(reviewers, seed))


def drawn_in(reviewers: int, seed: int) -> tuple[float, ...]:
    """Return the number of tables, times, memory and diagnostics for a conference of a size."""
    paper, score, reviewer = conference_of("family", reviewers, np.random.SeedSequence(seed))
    record = record_of(paper, score)
    weights = pv.weigh(record)
    rehearsal = Rehearsal.of(weights, pv.Histogram(epsilon=1.0))
    noisy = rehearsal.perturb(np.sort(means(score, reviewer)), np.random.default_rng(seed))
    assert isinstance(noisy, NoisyCounts)
    release = Perturbed(
        noisy=noisy,
        weights=weights,
        mechanism=rehearsal.noise.mechanism,
        guarantee=Guarantee(kind="stated", statement="a benchmark"),
        public="all",
        notes=(),
    ).refined(region(weights), "bayes")
    start, used = time.perf_counter(), os.times()
    tables = pv.sample_tables(release, record, seed=seed)
    elapsed, cpu = time.perf_counter() - start, sum(os.times()[:4]) - sum(used[:4])
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        tables.save(Path(folder) / "tables")
    written = time.perf_counter() - start
    peak = max(resource.getrusage(of).ru_maxrss for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    means_of = (float(np.mean(tables.diagnostics[name])) for name in ("misplaced", "acceptance", "renewed"))
    return len(tables), elapsed, cpu, written, peak / 2**20, *means_of


def main() -> None:
    with Output("tables") as out:
        what, numbers = (*out.arguments[:1], "all")[0], [int(number) for number in out.arguments[1:]]
        usual = [100, 3, 1, SEED] if out.quick else [100, 25, 8, SEED]
        for one in ("coverage", "laplace", "hidden", "both", "widths", "time") if what == "all" else (what,):
            if one == "time":
                timed(out, numbers or ([1_000] if out.quick else [10_000, 250_000]))
            elif one == "widths":
                widths(out, numbers + usual[len(numbers) :])
            else:
                coverage(out, one, numbers + usual[len(numbers) :])


if __name__ == "__main__":
    main()
