"""Monotone regression by other means: all maps one by one, and two programmes of general solvers."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import clarabel
import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from peerveil.record.public_record import Floats

Vector = tuple[float, ...]


def dominated(one: Sequence[float], other: Sequence[float]) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True))


def loss(values: dict[Vector, float], criteria: Sequence[Vector], scores: Sequence[float]) -> Fraction:
    return sum((abs(Fraction(s) - Fraction(values[c])) for c, s in zip(criteria, scores, strict=True)), Fraction(0))


def norm(values: dict[Vector, float], criteria: Sequence[Vector]) -> Fraction:
    return sum((Fraction(values[c]) ** 2 for c in criteria), Fraction(0))


def by_trying_all(criteria: Sequence[Vector], scores: Sequence[float]) -> list[dict[Vector, float]]:
    """All maps with values among the scores and zero that are best, and of least norm among the best; exactly."""
    vectors = sorted(set(criteria))
    pairs = [(i, j) for i, u in enumerate(vectors) for j, v in enumerate(vectors) if i != j and dominated(u, v)]
    best: list[dict[Vector, float]] = []
    least: tuple[Fraction, Fraction] | None = None
    for values in product(sorted({*scores, 0.0}), repeat=len(vectors)):
        if any(values[i] > values[j] for i, j in pairs):
            continue
        candidate = dict(zip(vectors, values, strict=True))
        found = (loss(candidate, criteria, scores), norm(candidate, criteria))
        if least is None or found < least:
            best, least = [], found
        if found == least:
            best.append(candidate)
    return best


def _constraints(criteria: Floats, scores: Floats) -> tuple[Any, Floats, Floats]:
    """Rows and right-hand sides of what values and distances must keep, and the number of reviews of each vector.

    The values come first, one a vector, then the distances, one a review: score and value are at most that far apart,
    and the value of each vector is at most that of every one that dominates it.
    """
    vectors, place = np.unique(criteria, axis=0, return_inverse=True)
    n, m = len(vectors), scores.size
    pick = sparse.csr_array((np.ones(m), (np.arange(m), place.ravel())), shape=(m, n))
    pairs = [(i, j) for i in range(n) for j in np.flatnonzero((vectors[i] <= vectors).all(axis=1)) if i != j]
    order = sparse.lil_array((len(pairs), n))
    for row, (i, j) in enumerate(pairs):
        order[row, i], order[row, j] = 1, -1
    one: Any = sparse.eye_array(m)
    blocks: list[list[Any]] = [[pick, -one], [-pick, -one], [order, None]]
    right = np.concatenate([scores, -scores, np.zeros(len(pairs))])
    return sparse.block_array(blocks), right, np.bincount(place.ravel()).astype(np.float64)


def least_loss(criteria: Floats, scores: Floats) -> float:
    """The least loss of all real-valued monotone maps, by a linear programme."""
    rows, right, counts = _constraints(criteria, scores)
    cost = np.concatenate([np.zeros(counts.size), np.ones(scores.size)])
    found: Any = linprog(cost, A_ub=rows, b_ub=right, bounds=(None, None), method="highs")
    return float(found.fun)


def least_norm(criteria: Floats, scores: Floats, most: float) -> Floats:
    """The values of least norm among those with a loss of at most ``most``, by a quadratic programme."""
    rows, right, counts = _constraints(criteria, scores)
    n, m = counts.size, scores.size
    cost = np.concatenate([np.zeros(n), np.ones(m)])
    rows, right = sparse.vstack([rows, sparse.csr_array(cost[None, :])]), np.append(right, most)
    squares = sparse.diags_array(np.concatenate([counts, np.zeros(m)]))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix(squares),
        np.zeros(n + m),
        sparse.csc_matrix(rows),
        right,
        [clarabel.NonnegativeConeT(right.size)],
        settings,
    )
    return np.array(solver.solve().x)[:n]
