"""The monotone regression: time and memory, and that it is as good as a general solver's.

One run. Times are the best of three; memory is the peak of Python's and NumPy's allocations beyond the input. Seeds are
the numbers of reviews. Reviewers weigh criteria differently, grades of a paper agree more or less; "random" means
scores that have nothing to do with criteria: the hardest cuts. "Neighbours" are the pairs of vectors with none in
between. Losses are compared with a linear programme (HiGHS), where it can be solved in reasonable time.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from output import Growing, Output
from peerveil.quantities.monotone import covers, fit_monotone
from peerveil.record.public_record import Floats
from results import Column
from timing import peak_megabytes, timed

DATA = Path(os.environ.get("PEERVEIL_DATA", Path(__file__).parents[2] / "shared" / "data"))

COLUMNS = (
    Column("what", "what"),
    Column("reviews", "reviews", digits=","),
    Column("criteria", "criteria", digits="d"),
    Column("vectors", "vectors", digits=","),
    Column("neighbours", "neighbours", digits=","),
    Column("scores", "scores", digits=","),
    Column("seconds", "time", "s", ".3f"),
    Column("peak", "peak", "MB", ".1f", better="lower", tolerance=0.1),
    Column("loss", "loss each", digits=".4f", better="lower", tolerance=1e-6),
    Column("off", "off by", digits=".1e"),
)


def conference(reviews: int, criteria: int, grades: int | None, scores: str) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(reviews)
    quality = rng.normal(size=(reviews, 1))
    marks = 0.6 * quality + 0.8 * rng.normal(size=(reviews, criteria))
    if grades is not None:
        marks = np.clip(np.floor((marks + 2) * grades / 4), 0, grades - 1)
    seen = (rng.dirichlet(np.ones(criteria), reviews) * marks).sum(axis=1)
    seen = (seen - seen.mean()) / seen.std() + 0.5 * rng.normal(size=reviews)
    if scores == "random":
        return rng.permuted(marks, axis=0), rng.integers(1, 11, reviews).astype(float)
    return marks, seen if scores == "reals" else np.clip(np.rint(5.5 + 2 * seen), 1, 10)


def programme(marks: Floats, score: Floats) -> float:
    """The least loss by a linear programme; reviews alike in criteria and score share a distance."""
    vectors, place = np.unique(marks, axis=0, return_inverse=True)
    different, counts = np.unique(np.column_stack([place.ravel(), score]), axis=0, return_counts=True)
    lower, upper = covers(vectors)
    n, m, edges = len(vectors), len(different), lower.size
    pick = sparse.csr_array((np.ones(m), (np.arange(m), different[:, 0].astype(int))), shape=(m, n))
    both = np.tile(np.arange(edges), 2)
    order = sparse.csr_array((np.repeat([1.0, -1.0], edges), (both, np.concatenate([lower, upper]))), shape=(edges, n))
    one: Any = sparse.eye_array(m)
    blocks: list[list[Any]] = [[pick, -one], [-pick, -one], [order, None]]
    right = np.concatenate([different[:, 1], -different[:, 1], np.zeros(edges)])
    rows: Any = sparse.block_array(blocks)
    cost = np.concatenate([np.zeros(n), counts])
    found: Any = linprog(cost, A_ub=rows, b_ub=right, bounds=(None, None), method="highs")
    return float(found.fun)


def row(table: Growing, name: str, marks: Floats, score: Floats, *, check: bool) -> None:
    learnt = fit_monotone(marks, score)
    taken = timed(lambda: fit_monotone(marks, score), times=3 if len(learnt.vectors) < 10_000 else 1)
    peak = peak_megabytes(lambda: fit_monotone(marks, score))
    pairs = covers(learnt.vectors)[0].size
    lost = float(np.abs(score - learnt(marks)).sum())
    compared = abs(programme(marks, score) - lost) / max(lost, 1) if check else None
    sizes = score.size, marks.shape[1], len(learnt.vectors), pairs, np.unique(score).size
    table.add(name, *sizes, taken, peak, lost / score.size, compared)


def real(table: Growing, path: Path) -> None:
    with path.open(encoding="utf-8") as handle:
        _, *rows = csv.reader(handle)
    whole = np.array([[float(cell) for cell in cells[1:]] for cells in rows if all(cells)])
    row(table, f"ACL 2017, {len(rows)} reviews, those complete", whole[:, 1:], whole[:, 0], check=True)


def main() -> None:
    with Output("monotone") as out:
        title = "The monotone regression on criteria"
        rows(out.table("times", title, COLUMNS, keys=2, seeds="the numbers of reviews"), quick=out.quick)


def rows(table: Growing, *, quick: bool) -> None:
    path = DATA / "acl2017_criteria.csv"
    if path.exists():
        real(table, path)
    for reviews, criteria, grades, scores in (
        (28_000, 3, 4, "grades"),
        (10_000, 4, 10, "grades"),
        (10_000, 4, 10, "reals"),
        (10_000, 4, 10, "random"),
        (10_000, 7, 5, "grades"),
        (5_000, 3, None, "grades"),
        (20_000, 3, None, "reals"),
        (20_000, 7, None, "random"),
        (100_000, 4, 10, "grades"),
    ):
        if quick and reviews > 10_000:
            continue
        kind = "any number" if grades is None else f"{grades} grades"
        marks, score = conference(reviews, criteria, grades, scores)
        small = len(np.unique(marks, axis=0)) < 6_000 and scores == "grades"
        row(table, f"{criteria} criteria, {kind}, scores: {scores}", marks, score, check=small)


if __name__ == "__main__":
    main()
