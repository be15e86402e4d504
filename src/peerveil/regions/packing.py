"""Bounds on entries from packing: the maximal number `c(v)` of reviewers who all have a mean of at most `v`.

The `i`-th smallest mean is at least the least `v` with `c(v) >= i`. Two upper bounds on `c(v)`: a near-linear closed
form that ignores papers; and a linear programme over all tuples, for small records, exact on every one that was tried.
See docs/mathematics.md, "Packing".
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import cache
from itertools import combinations, product
from math import comb

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from peerveil.errors import PeerveilError, RecordError
from peerveil.record.loads import Loads
from peerveil.record.public_record import Floats

#: Up to this many tuples the linear programme is solved, some hundred times, in a tenth of a second.
MOST_TUPLES = 150

#: Up to this many reviewers the closed form tries every `z`; beyond, a few dozen spread-out ones.
EVERY_Z = 64


# Theorem R8.
def pigeonhole_bounds(weights: Floats, reviewers: int, load: int) -> Floats:
    """Lower bounds on the ascending means for one load, whatever the papers.

    Let `M_l(i)` be a lower bound on the largest sum among `i` disjoint sets of `l` reviews. At best these are the `i l`
    smallest reviews; take the `z <= i` largest of these. If some set holds two of them, its sum is at least that of the
    two smallest of them and the `l - 2` smallest reviews. Else `z` sets hold one each, and the other `l - 1` reviews of
    one of these sets sum to at least `M_{l-1}(z)`. For pairs this is exact.
    """
    x = np.sort(weights)
    running = np.concatenate(([0.0], np.cumsum(x)))
    i = np.arange(1, reviewers + 1)
    largest = x[:reviewers].copy()  # M_1(i)
    for size in range(2, load + 1):
        best = running[size * i] / i
        for z in _counts(i):
            one = x[size * i - z] + largest[z - 1]
            two = x[size * i - z] + x[np.minimum(size * i - z + 1, x.size - 1)] + running[size - 2]
            best = np.maximum(best, np.where(z > 1, np.minimum(one, two), one))
        largest = best
    return np.maximum.accumulate(largest / load)


def _counts(i: np.ndarray) -> list[np.ndarray]:
    """Values of `z` to try for each `i`: all for few reviewers, else the first ones and fractions."""
    if i.size <= EVERY_Z:
        return [np.minimum(z, i) for z in range(1, i.size + 1)]
    shares = [np.ceil(i * share / 24).astype(np.int64) for share in range(1, 25)]
    return [np.minimum(z, i) for z in (1, 2, 3, 4)] + shares


def tuple_count(sizes: Sequence[int], loads: Loads) -> int:
    """An upper bound on the number of tuples of different papers, over all possible loads."""
    most = max(sizes)
    return sum(comb(len(sizes), load) * most**load for load in loads.sizes if load <= len(sizes))


def programme_bounds(rows: Sequence[Sequence[float]], loads: Loads) -> Floats:
    """Lower bounds on the ascending means by a linear programme over fractional assignments."""
    reviews = {review: e for e, review in enumerate((p, i) for p, row in enumerate(rows) for i in range(len(row)))}
    tuples = [
        tuple(zip(papers, places, strict=True))
        for load in loads.sizes
        for papers in combinations(range(len(rows)), load)
        for places in product(*(range(len(rows[p])) for p in papers))
    ]
    mean = np.array([sum(rows[p][i] for p, i in held) / len(held) for held in tuples])
    size = np.array([len(held) for held in tuples])
    held = [reviews[review] for held in tuples for review in held]
    cover = sparse.csr_array((np.ones(len(held)), (held, np.repeat(np.arange(size.size), size))))
    if loads.counts is None:
        groups, counts = np.ones((1, size.size)), [loads.reviewers]
    else:
        groups, counts = np.array([size == load for load in loads.sizes], dtype=float), list(loads.counts)
    matrix = sparse.vstack([cover, sparse.csr_array(groups)])
    right = np.concatenate((np.ones(len(reviews)), counts))
    values = np.unique(mean)

    @cache
    def most_up_to(place: int) -> float:
        """The maximal fractional number of tuples with a mean of at most a value."""
        objective = -(mean <= values[place]).astype(float)
        solution = linprog(objective, A_eq=matrix, b_eq=right, method="highs")  # type: ignore[call-overload]
        if solution.status == 2:
            raise RecordError("no valid assignment exists for these papers and loads: nobody reviews a paper twice")
        if solution.status != 0:
            raise PeerveilError(f"the linear programme of a packing bound failed: {solution.message}")
        return float(-solution.fun)

    # Ascending bounds: each search starts at the one before.
    bounds, low = [], 0
    for i in range(1, loads.reviewers + 1):
        low = bisect_left(range(values.size - 1), i - 1e-6, lo=low, key=most_up_to)
        bounds.append(values[low])
    return np.array(bounds)
