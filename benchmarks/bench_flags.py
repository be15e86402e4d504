"""Which functions `pv.combine` flags: ten that a release of means does not tell, and five that it tells.

Releases on which nothing was chosen: other worlds, sizes, loads, kinds of scores and noise; epsilon 1 per reviewer.
Arguments: ``[seed] [releases of each setting]`` (7001, 3).
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable

import numpy as np

import peerveil as pv
from output import Output
from peerveil.record.public_record import Floats
from peerveil.sampling.table import Table
from peerveil.simulation.worlds import world
from results import Column

#: World, reviewers, loads, whether scores are whole, and the noise.
SETTINGS = (
    ("family", 80, 4, True, "histogram"),
    ("flat", 150, (3, 4, 5, 6), True, "histogram"),
    ("topics", 100, (2, 3, 5), True, "laplace"),
    ("camps", 120, 3, False, "histogram"),
    ("heavy", 400, 5, True, "histogram"),
    ("load", 200, (2, 4, 8), True, "histogram"),
)

Function = Callable[[Table], float]


def means(table: Table) -> Floats:
    return table.of_reviewers(table.score)


def spreads(table: Table) -> Floats:
    return np.sqrt(np.maximum(table.of_reviewers(table.score**2) - means(table) ** 2, 0.0))


def hands(table: Table) -> list[Floats]:
    order = np.argsort(table.reviewer, kind="stable")
    return np.split(table.score[order], np.cumsum(table.loads)[:-1])


def paper_means(table: Table) -> Floats:
    return np.asarray((np.bincount(table.paper, weights=table.score) / np.bincount(table.paper))[table.paper])


def repeated_pairs(table: Table) -> float:
    papers = np.split(table.reviewer, np.flatnonzero(np.diff(table.paper)) + 1)
    pairs = Counter((a, b) for paper in papers for a in paper.tolist() for b in paper.tolist() if a < b)
    return float(sum(number > 1 for number in pairs.values()))


TOLD: dict[str, Function] = {
    "variance of means": lambda table: means(table).var(ddof=1),
    "strictest tenth": lambda table: np.quantile(means(table), 0.1),
    "most lenient tenth": lambda table: np.quantile(means(table), 0.9),
    "share of lenient reviewers": lambda table: float(np.mean(means(table) >= 6.5)),
    "skewness of means": lambda table: float(np.mean((means(table) - means(table).mean()) ** 3)),
}
NOT_TOLD: dict[str, Function] = {
    "flat scorers": lambda table: float(np.mean(spreads(table) < 1)),
    "mean spread": lambda table: spreads(table).mean(),
    "variance of spreads": lambda table: spreads(table).var(),
    "mean of minima": lambda table: float(np.mean([hand.min() for hand in hands(table)])),
    "mean of maxima": lambda table: float(np.mean([hand.max() for hand in hands(table)])),
    "mean range": lambda table: float(np.mean([np.ptp(hand) for hand in hands(table)])),
    "miscalibration": lambda table: table.of_reviewers(table.score - paper_means(table)).var(),
    "leniency and papers": lambda table: np.corrcoef(means(table), table.of_reviewers(paper_means(table)))[0, 1],
    "repeated pairs": repeated_pairs,
    "first papers": lambda table: table.of_reviewers(table.paper < table.paper[-1] / 2).var(),
}


def tables_of(setting: tuple[str, int, int | tuple[int, ...], bool, str], seed: int) -> pv.SampledTables:
    name, reviewers, loads, whole, noise = setting
    made = world(name, reviewers=reviewers, loads=loads, seed=seed)
    score = made.score if whole else made.score + np.random.default_rng(seed).random(made.score.size)
    papers, people = ([f"{number:05d}" for number in of.tolist()] for of in (made.paper, made.reviewer))
    reviews = pv.Reviews.from_columns(papers, people, score, scale=(1, 11))
    mechanism = pv.Histogram(epsilon=1.0) if noise == "histogram" else pv.Laplace(epsilon=1.0)
    release = pv.release(reviews, public="all", mechanism=mechanism)
    return pv.sample_tables(release, reviews.public("all"), seed=seed, workers=1)


def measured(out: Output, seed: int, releases: int) -> None:
    columns = (
        Column("setting", "setting"),
        Column("told", "told, flagged", digits="d", better="lower"),
        Column("of_told", "of", digits="d"),
        Column("most", "greatest move", digits=".2f"),
        Column("not_told", "not told, flagged", digits="d", better="higher"),
        Column("of_not_told", "of", digits="d"),
        Column("least", "least move", digits=".2f"),
    )
    title = "Functions that combine flags; moves in standard errors, limit 0.15"
    seeds = f"{seed} to {seed + releases - 1} in each setting"
    table = out.table("flags", title, columns, seeds=seeds, draws=f"{releases} releases of each setting")
    for setting in SETTINGS:
        moves: dict[bool, list[float]] = {True: [], False: []}
        flagged = Counter[bool]()
        for k in range(releases):
            tables = tables_of(setting, seed + k)
            for told, functions in ((True, TOLD), (False, NOT_TOLD)):
                for function in functions.values():
                    combined = pv.combine(tables, function)
                    moves[told].append(max(map(abs, combined.shifts.values())))
                    flagged[told] += bool(combined.not_told)
        name, reviewers, load, whole, noise = setting
        loads = " ".join(map(str, load)) if isinstance(load, tuple) else load
        words = f"{name}; {reviewers} reviewers; load {loads}; {'whole' if whole else 'other'} scores; {noise}"
        numbers = [(flagged[told], len(moves[told])) for told in (True, False)]
        table.add(words, *numbers[0], max(moves[True]), *numbers[1], min(moves[False]))


def main() -> None:
    warnings.simplefilter("ignore", pv.TablesWarning)
    with Output("flags") as out:
        seed, releases = (*map(int, out.arguments), *(7001, 3)[len(out.arguments) :])
        measured(out, seed, 1 if out.quick else releases)


if __name__ == "__main__":
    main()
