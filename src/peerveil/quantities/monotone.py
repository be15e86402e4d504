"""Isotonic regression of overall scores on several criteria.

Of all maps that are non-decreasing in every criterion, it finds those with the least sum of absolute residuals and, of
these, the one of least norm. Proofs are in docs/mathematics.md, "Monotone regression".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from peerveil.errors import RecordError
from peerveil.record.public_record import Floats, Ints, frozen

if TYPE_CHECKING:
    from scipy import sparse

# ruff: noqa: PLC0415 - SciPy is loaded when a map is fitted

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class MonotoneMap:
    """A map from criteria to scores that is non-decreasing in every criterion, made by :func:`fit_monotone`.

    Attributes:
        vectors: the distinct criteria vectors it was fitted to, one row each.
        values: its value at each of them.

    >>> learnt = fit_monotone([[1, 1], [2, 1], [2, 2]], [3, 5, 4])
    >>> learnt.values.tolist()
    [3.0, 4.0, 4.0]
    >>> learnt([[2, 2], [1, 2]]).tolist()
    [4.0, 3.0]
    """

    vectors: Floats
    values: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "vectors", frozen(self.vectors))
        object.__setattr__(self, "values", frozen(self.values))

    @property
    def span(self) -> tuple[float, float]:
        """The least and the greatest value."""
        return float(self.values.min()), float(self.values.max())

    def __call__(self, criteria: Floats) -> Floats:
        """Return the value at each row of criteria.

        A new vector gets the number nearest to zero that keeps the map non-decreasing and within its span.
        """
        vectors, index = np.unique(_matrix(criteria), axis=0, return_inverse=True)
        fitted = dict(zip(map(bytes, self.vectors), self.values.tolist(), strict=True))
        values = [fitted[bytes(v)] if bytes(v) in fitted else self._extend(v) for v in vectors]
        return np.array(values)[index.ravel()]

    def _extend(self, vector: Floats) -> float:
        low, high = self.span
        below = self.values[(self.vectors <= vector).all(axis=1)].max(initial=low)
        above = self.values[(self.vectors >= vector).all(axis=1)].min(initial=high)
        return float(np.clip(0.0, below, above))


# Theorem Q1.
def fit_monotone(criteria: Floats, score: Floats) -> MonotoneMap:
    """Return the monotone map with the least sum of absolute residuals; if several have it, that of least norm.

    The result does not depend on the order of reviews, and its values are scores or zero, without round-off.

    >>> fit_monotone([[1], [1], [1], [2]], [4, 6, 8, 5]).values.tolist()
    [5.0, 5.0]
    """
    matrix, scores = _matrix(criteria), np.asarray(score, dtype=np.float64) + 0.0
    if scores.shape != (len(matrix),) or not scores.size:
        raise RecordError(f"criteria have {len(matrix)} rows for {scores.size} scores; at least one review is needed")
    if not (np.isfinite(matrix).all() and np.isfinite(scores).all()):
        raise RecordError("criteria and scores must be finite numbers")
    vectors, index = np.unique(matrix, axis=0, return_inverse=True)
    levels = np.unique(scores)
    if levels[0] < 0 < levels[-1]:
        levels = np.union1d(levels, [0.0])
    rank = np.searchsorted(levels, scores)
    return MonotoneMap(vectors=vectors, values=levels[_level(vectors, index.ravel(), rank, levels)])


def _level(vectors: Floats, index: Ints, rank: Ints, levels: Floats) -> Ints:
    """Return the level of each vector's value, by bisection: one minimum cut halves the intervals of all vectors.

    ``vectors`` are distinct and in ascending lexicographic order; ``index`` and ``rank`` are the vector and the level
    of each review.
    """
    lower, upper = covers(vectors)
    low = np.zeros(len(vectors), dtype=np.int64)
    high = np.full(len(vectors), levels.size - 1, dtype=np.int64)
    while (low < high).any():
        middle = (low + high) // 2
        # The loss of a vector if its value is above the middle level instead of at or below it.
        loss = np.bincount(index, weights=np.where(rank <= middle[index], 1, -1)).astype(np.int64)
        loss[low == high] = 0
        linked = (low[lower] == low[upper]) & (high[lower] == high[upper]) & (low[lower] < high[lower])
        least, greatest = _best_upper_sets(loss, lower[linked], upper[linked])
        above = np.where(levels[middle] >= 0, least, greatest) & (low < high)
        low = np.where(above, middle + 1, low)
        high = np.where(above, high, middle)
    return low


def _best_upper_sets(loss: Ints, lower: Ints, upper: Ints) -> tuple[Flags, Flags]:
    """Return the smallest and the largest upper set of least total loss, by one maximum flow (Picard).

    An upper set contains, with each vector, all vectors above it.
    """
    from scipy import sparse
    from scipy.sparse.csgraph import maximum_flow

    size = loss.size
    source, sink = size, size + 1
    gains, losses = np.flatnonzero(loss < 0), np.flatnonzero(loss > 0)
    tails = np.concatenate([np.full(gains.size, source), losses, lower])
    heads = np.concatenate([gains, np.full(losses.size, sink), upper])
    unlimited = np.full(lower.size, np.abs(loss).sum() + 1)
    room = np.concatenate([-loss[gains], loss[losses], unlimited]).astype(np.int32)
    place = (tails.astype(np.int32), heads.astype(np.int32))  # before version 1.15, SciPy's flow takes no others
    network = sparse.csr_array((room, place), shape=(size + 2, size + 2))
    left = sparse.csr_array(network - maximum_flow(network, source, sink).flow)
    left.eliminate_zeros()
    return _reached(left, source)[:size], ~_reached(sparse.csr_array(left.T), sink)[:size]


def _reached(network: sparse.csr_array, start: int) -> Flags:
    from scipy.sparse.csgraph import breadth_first_order

    reached = np.zeros(network.shape[0], dtype=bool)
    reached[breadth_first_order(network, start, return_predecessors=False)] = True
    return reached


def covers(vectors: Floats) -> tuple[Ints, Ints]:
    """Return the pairs of vectors, as indices, in which the second covers the first: above it, with none in between.

    Vectors must be distinct and in ascending lexicographic order, so that each comes after all below it. The set of
    vectors below another is represented by the bits of one integer.

    >>> [pairs.tolist() for pairs in covers(np.array([[0, 0], [0, 1], [1, 0], [1, 1]]))]
    [[0, 0, 2, 1], [1, 2, 3, 3]]
    """
    below = _below(vectors)
    lower, upper = [], []
    for i, rest in enumerate(below):
        while rest:
            j = rest.bit_length() - 1  # the last one left: only later vectors could be in between
            lower.append(j)
            upper.append(i)
            rest &= ~(below[j] | (1 << j))  # noqa: PLW2901
    return np.array(lower, dtype=np.int64), np.array(upper, dtype=np.int64)


def _below(vectors: Floats) -> list[int]:
    """Return, for each vector, the set of earlier ones that are at most as large in every criterion."""
    below = [(1 << i) - 1 for i in range(len(vectors))]
    for column in vectors.T:
        order = np.argsort(column, kind="stable")
        at_most = 0
        for equal in np.split(order, np.flatnonzero(np.diff(column[order])) + 1):
            for i in equal.tolist():
                at_most |= 1 << i
            for i in equal.tolist():
                below[i] &= at_most
    return below


def _matrix(criteria: Floats) -> Floats:
    matrix = np.asarray(criteria, dtype=np.float64) + 0.0  # turns minus zero into zero
    if matrix.ndim != 2 or not matrix.shape[1]:
        raise RecordError(f"criteria must have one row per review and at least one column, got shape {matrix.shape}")
    return matrix
