"""Errors, expected errors and bands on real raters, and in worlds that the prior does not hold.

Real raters are the students of InstEval, who rated lecturers from 1 to 5, and the people of MovieLens, who rated films
from 0.5 to 5. A conference takes 600 of them at random, as many ratings of each as the load says, and splits the
ratings of a lecturer or film into papers of at most four. The worlds are those of ``peerveil.simulation.worlds``, with
600 reviewers. Each row has 2 conferences and 10 draws of noise for each. Names of raters and worlds may be given.

"error" is the root mean squared error of a reviewer's mean, by the estimator that the row names: the one that `auto`
chose, `safe` otherwise. "of projection" is its ratio to the projection's error, "of expected" that to the expected one,
"in band" the share of means in their 90 % bands. Standard errors are over draws. Wanted are ratios of at most 1.05 and
from 0.75 to 1.25, and 85 to 99 % in bands; the last column says what is outside. With ``--quick`` few rows and draws;
with ``--counts`` only noisy counts, and plans among histograms: at this size they never choose Laplace noise. After
all names, ``summary`` puts their ranges in one table.

``again`` repeats the loads and worlds with rows above 1.25, with ten other conferences and four draws for each; there,
standard errors are over conferences, which differ more than draws of noise. ``least`` states the least share of means
that any bands can hold by the posterior of noisy counts, if each is an interval of attainable means with a probability
of at least 90 %, over one release of each quantity: means come in steps, and a band holds a step or not.

The constants of the prior were chosen with InstEval (other conferences of the same students) and such worlds in view;
MovieLens was first tried after they were.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

import numpy as np  # noqa: E402
import polars as pl  # noqa: E402

import peerveil as pv  # noqa: E402
from attainable import least_chance  # noqa: E402
from output import Output  # noqa: E402
from peerveil.inference.count_posterior import CountLikelihood, CountPosterior  # noqa: E402
from peerveil.inference.expected_error import LEVEL  # noqa: E402
from peerveil.inference.model import RecordModel  # noqa: E402
from peerveil.planning.auto import Auto  # noqa: E402
from peerveil.planning.rehearsal import Rehearsal  # noqa: E402
from peerveil.privacy.bins import NoisyCounts  # noqa: E402
from peerveil.private.true_vector import true_vector  # noqa: E402
from peerveil.record.public_record import Floats  # noqa: E402
from peerveil.simulation.worlds import WORLDS, world  # noqa: E402
from peerveil.support import parallel  # noqa: E402
from results import KEPT, Column, Measured, load, mean_of  # noqa: E402

RATERS = Path(os.environ.get("PEERVEIL_RATERS", Path(__file__).parents[1] / ".venv-bench"))
REAL = {"InstEval": (1, 5), "MovieLens": (0.5, 5)}
LOADS: dict[str, tuple[int, ...]] = {"3": (3,), "4": (4,), "1 to 6": (1, 2, 3, 4, 5, 6)}
QUANTITIES = ("ratings", "miscalibration")
EPSILONS = (0.3, 1.0, 4.0)
MECHANISMS = ("laplace", "histogram", "auto")
REVIEWERS, CONFERENCES, DRAWS, SEED = 600, 2, 10, 5

#: Wanted: the least and greatest ratio to the projection's and to the expected error, and share in bands.
LIMITS = {"of projection": (0.0, 1.05), "of expected": (0.75, 1.25), "in band": (0.85, 0.99)}


#: Raters and loads of which rows were above 1.25, and the other conferences they are repeated with.
ABOVE, OTHERS, OTHER_DRAWS = (("load", "1 to 6"), ("heavy", "4")), range(100, 110), 4


def ratings(name: str) -> Path:
    """Return the file with the ratings of real raters."""
    return RATERS / f"{name.lower()}.csv"


def real(name: str, loads: tuple[int, ...], seed: int) -> pv.Reviews:
    """Return a conference of real raters."""
    rng = np.random.default_rng([SEED, seed, *loads])
    table = pl.read_csv(ratings(name))
    rater, item, score = (table[column].to_numpy() for column in ("rater", "item", "score"))
    number = np.bincount(rater)
    enough = np.flatnonzero(number >= max(loads))
    load = np.zeros(number.size, dtype=np.int64)
    load[rng.choice(enough, REVIEWERS, replace=False)] = rng.choice(loads, REVIEWERS)
    order = rng.permutation(rater.size)
    order = order[np.argsort(rater[order], kind="stable")]
    first = np.cumsum(number) - number
    nth = np.arange(rater.size) - first[rater[order]]
    taken = order[nth < load[rater[order]]]
    by_item = taken[np.argsort(item[taken], kind="stable")]
    _, start, size = np.unique(item[by_item], return_index=True, return_counts=True)
    paper = (np.arange(by_item.size) - np.repeat(start, size)) // 4
    papers = [f"{who}-{part}" for who, part in zip(item[by_item].tolist(), paper.tolist(), strict=True)]
    raters = [str(who) for who in rater[by_item].tolist()]
    return pv.Reviews.from_columns(papers, raters, score[by_item].astype(float).tolist(), scale=REAL[name])


def conference(name: str, loads: tuple[int, ...], seed: int) -> pv.Reviews:
    """Return a conference of real raters or of a world."""
    if name in REAL:
        return real(name, loads, seed)
    made = world(name, reviewers=REVIEWERS, loads=loads, seed=np.random.SeedSequence([SEED, seed]))
    papers, raters = ([str(who) for who in column.tolist()] for column in (made.paper, made.reviewer))
    return pv.Reviews.from_columns(papers, raters, made.score.tolist(), scale=made.scale)


def errors(task: tuple[str, str, str, int, int, tuple[float, ...], bool], _: object) -> list[tuple[Any, ...]]:
    """Return one row per budget, mechanism and draw: both errors, the expected error, and the share in bands."""
    name, loads, quantity, seed, draws, epsilons, counts = task
    reviews = conference(name, LOADS[loads], seed)
    weights = pv.weigh(reviews.public("all"), quantity, lone="zero")
    truth = true_vector(reviews, quantity, lone="zero")
    rows = []
    for epsilon in epsilons:
        for mechanism in MECHANISMS[counts:]:
            chosen, estimator = {"laplace": pv.Laplace, "histogram": pv.Histogram}.get(mechanism), "safe"
            made = chosen(epsilon=epsilon) if chosen else None
            if made is None:
                choice = Auto(epsilon=epsilon, mechanisms=("histogram",) if counts else None).choose(weights)
                made, estimator = choice.make(), choice.estimator
            rehearsal = Rehearsal.of(weights, made)
            for draw in range(draws):
                noisy = rehearsal.perturb(truth, np.random.default_rng([SEED, seed, draw, 17]))
                both = rehearsal.estimates(noisy, list({estimator, "projection"}))
                outlook = both[estimator].outlook
                assert outlook is not None
                slack = 1e-9 * (1 + np.abs(truth))
                inside = np.mean((truth >= outlook.lower - slack) & (truth <= outlook.upper + slack))
                square, projected = (
                    float(np.mean((both[which].values - truth) ** 2)) for which in (estimator, "projection")
                )
                key = (name, loads, quantity, epsilon, mechanism)
                rows.append((key, estimator, square, projected, outlook.expected_rmse**2, float(inside)))
    return rows


def root_ratio(top: Floats, bottom: Floats) -> Measured:
    """Return the square root of a ratio of means, and its standard error over pairs."""
    value = top.mean() / bottom.mean()
    error = (top - value * bottom).std(ddof=1) / np.sqrt(top.size) / bottom.mean()
    return Measured(float(np.sqrt(value)), float(error / (2 * np.sqrt(value))), top.size)


COLUMNS = (
    *(Column(key, key) for key in ("raters", "loads", "quantity", "epsilon", "mechanism", "by")),
    Column("error", "error", "points", ".3f"),
    Column("of-projection", "of projection", digits=".2f", better="lower"),
    Column("of-expected", "of expected", digits=".2f", target=1.0),
    Column("in-band", "in band", digits=".2f"),
    Column("outside", "outside what is wanted"),
)


RANGES = (
    Column("mechanism", "mechanism"),
    Column("rows", "rows", digits="d"),
    *(
        Column(f"{what.replace(' ', '-')}-{end}", f"{what}, {end}", digits=".2f")
        for what in LIMITS
        for end in ("least", "greatest")
    ),
    *(
        Column(f"{what.replace(' ', '-')}-{side}", f"rows {side} {least if side == 'below' else most:g}", digits="d")
        for what, (least, most) in LIMITS.items()
        for side in ("below", "above")
    ),
)


def main() -> None:
    with Output("raters") as out:
        tables: dict[str, Callable[[Output], None]] = {"summary": summary, "again": again, "least": least}
        if len(out.arguments) == 1 and out.arguments[0] in tables:
            tables[out.arguments[0]](out)
            return
        counts = "--counts" in out.arguments
        for name in [one for one in out.arguments if one != "--counts"] or [*REAL, *WORLDS]:
            if name in REAL and not ratings(name).exists():
                print(f"{name} is not there; `make bench` fetches it")
            else:
                rows_of(out, name, counts=counts)


def summary(out: Output) -> None:
    """The ranges of all kept tables, in one."""
    kept = {table.name: table for table in load(KEPT / "raters.json")}
    tables = {name: kept[f"{name.lower()}-ranges"] for name in (*REAL, *WORLDS)}
    columns = (Column("raters", "raters"), *RANGES)
    title = "Ranges over loads, quantities and budgets"
    draws = ", ".join(sorted({table.draws for table in tables.values()}))
    made = out.table("summary", title, columns, keys=2, seeds=SEED, draws=draws)
    for name, table in tables.items():
        for row in table.rows:
            made.add(name, *row)


def again(out: Output) -> None:
    """The rows of counts that were above 1.25, with other and more conferences."""
    conferences, draws = (OTHERS[:2], 1) if out.quick else (OTHERS, OTHER_DRAWS)
    how = f"{len(conferences)} other conferences of {draws} draws"
    title = "Rows above 1.25, repeated; standard errors over conferences"
    table = out.table("again", title, COLUMNS[:5] + COLUMNS[6:10], keys=5, seeds=SEED, draws=how)
    for name, loads in ABOVE:
        for quantity in QUANTITIES:
            by_row: dict[tuple[Any, ...], list[tuple[float, ...]]] = defaultdict(list)
            for seed in conferences:
                for key, _, *numbers in errors((name, loads, quantity, seed, draws, EPSILONS, True), None):
                    by_row[key].append(tuple(numbers))
            for key, each in by_row.items():
                square, projected, expected, inside = np.array(each).reshape(-1, draws, 4).mean(axis=1).T
                ratios = root_ratio(square, projected), root_ratio(square, expected)
                table.add(*map(str, key), np.sqrt(square.mean()), *ratios, mean_of(inside))


def least(out: Output) -> None:
    """The least share of means that bands can hold, by raters and loads, at each budget."""
    columns = (
        Column("raters", "raters"),
        Column("loads", "loads"),
        *(Column(f"epsilon-{i}", f"epsilon {epsilon:g}", "%", ".1f") for i, epsilon in enumerate(EPSILONS)),
    )
    title = "The least share of means that 90 % bands of attainable means can hold"
    table = out.table("least", title, columns, keys=2, seeds=SEED, draws="one release of each quantity")
    for name in (one for one in (*REAL, *WORLDS) if one not in REAL or ratings(one).exists()):
        for loads, sizes in LOADS.items():
            reviews = conference(name, sizes, OTHERS[0])
            shares = np.array([[least_of(reviews, quantity, one) for one in EPSILONS] for quantity in QUANTITIES])
            table.add(name, loads, *(100 * shares.mean(axis=0)))


def least_of(reviews: pv.Reviews, quantity: str, epsilon: float) -> float:
    """The least share of means that bands of attainable means can hold by the posterior of one histogram."""
    weights = pv.weigh(reviews.public("all"), quantity, lone="zero")
    rehearsal = Rehearsal.of(weights, pv.Histogram(epsilon=epsilon))
    noisy = rehearsal.perturb(true_vector(reviews, quantity, lone="zero"), np.random.default_rng([SEED, 19]))
    assert isinstance(noisy, NoisyCounts)
    posterior = weights.derived(RecordModel).posterior(CountLikelihood(noisy, rehearsal.noise.law))
    assert isinstance(posterior, CountPosterior)
    return float(least_chance(posterior, LEVEL).mean())


def rows_of(out: Output, name: str, *, counts: bool) -> None:
    """The rows of real raters or of a world, and their ranges."""
    quick = out.quick
    draws, epsilons = (2, (1.0,)) if quick else (DRAWS, EPSILONS)
    tasks = [
        (name, loads, quantity, seed, draws, epsilons, counts)
        for loads in (("1 to 6",) if quick else LOADS)
        for quantity in QUANTITIES
        for seed in range(CONFERENCES)
    ]
    by_row: dict[tuple[Any, ...], list[tuple[Any, ...]]] = defaultdict(list)
    for rows in parallel.run(errors, tasks, seed=SEED, workers=1 if quick else None):
        for key, *numbers in rows:
            by_row[key].append(tuple(numbers))
    how = f"{CONFERENCES} conferences of {draws} draws"
    table = out.table(name.lower(), f"{name}: {REVIEWERS} raters", COLUMNS, keys=5, seeds=SEED, draws=how)
    measured: dict[str, list[list[float]]] = defaultdict(list)
    for key, numbers in by_row.items():
        estimators = "/".join(sorted({row[0] for row in numbers}))
        square, projected, expected, inside = (np.array([row[i] for row in numbers]) for i in range(1, 5))
        cells = [root_ratio(square, projected), root_ratio(square, expected), mean_of(inside)]
        values = [cell.value if isinstance(cell, Measured) else float(str(cell)) for cell in cells]
        beyond = [
            what
            for (what, (least, most)), value in zip(LIMITS.items(), values, strict=True)
            if not least <= value <= most
        ]
        table.add(*map(str, key), estimators, np.sqrt(square.mean()), *cells, ", ".join(beyond) or "no")
        measured[key[-1]].append(values)
    title = f"{name}: ranges over loads, quantities and budgets"
    ranges = out.table(f"{name.lower()}-ranges", title, RANGES, seeds=SEED, draws=how)
    for mechanism, triples in measured.items():
        array = np.array(triples)
        ends = np.stack((array.min(axis=0), array.max(axis=0)), axis=1).ravel()
        least, most = np.array(list(LIMITS.values())).T
        beyond_limits = np.stack(((array < least).sum(axis=0), (array > most).sum(axis=0)), axis=1).ravel()
        ranges.add(mechanism, len(array), *ends, *beyond_limits)


if __name__ == "__main__":
    main()
