"""Bounds on entries from packing: how many reviewers can have a mean of at most `v` at the same time.

If `c(v)` reviewers at most can, the `i`-th smallest mean is at least the least `v` with `c(v) >= i`. Two upper bounds
on `c(v)`: a closed form that forgets papers, near-linear; and a linear programme over all tuples, for small records,
which is exact on every small record we have tried. See docs/mathematics.md, "Packing".
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from math import comb

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from peerveil.errors import PeerveilError, RecordError
from peerveil.record.loads import Loads
from peerveil.record.public_record import Floats

#: Up to this many tuples the linear programme is solved, about a hundred times: in a tenth of a second, and no more.
MOST_TUPLES = 150

#: Up to this many reviewers the closed form looks at every `z`; beyond, at a few dozen spread-out ones.
EVERY_Z = 64


def pigeonhole_bounds(weights: Floats, reviewers: int, load: int) -> Floats:
    """Lower bounds on the ascending means where all have one load, whatever the papers.

    Let `M_l(i)` bound the largest sum among `i` disjoint sets of `l` reviews from below. They hold at least the
    `i l` smallest reviews; take the `z <= i` largest of these. If some set holds two of them, its sum is at least
    that of the two smallest of them and `l - 2` smallest reviews. Else `z` sets hold one each, and the remaining
    `l - 1` reviews of one of these sets sum to at least `M_{l-1}(z)`. For pairs this is exact.

    >>> pigeonhole_bounds(np.array([0.0, 0.0, 1.0, 1.0]), reviewers=2, load=2).tolist()
    [0.0, 0.5]
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
    """Values of `z` to try for each `i`: all for few reviewers, else the first and last ones and fractions."""
    if i.size <= EVERY_Z:
        return [np.minimum(z, i) for z in range(1, i.size + 1)]
    shares = [np.ceil(i * share / 24).astype(np.int64) for share in range(1, 25)]
    return [np.minimum(z, i) for z in (1, 2, 3, 4)] + shares


def tuple_count(sizes: Sequence[int], loads: Loads) -> int:
    """How many tuples of different papers there are at the most, for any load that may occur."""
    most = max(sizes)
    return sum(comb(len(sizes), load) * most**load for load in loads.sizes if load <= len(sizes))


def programme_bounds(rows: Sequence[Sequence[float]], loads: Loads) -> Floats:
    """Lower bounds on the ascending means by a linear programme: fractions of tuples that hold every review once.

    >>> from peerveil.record.loads import declare_loads
    >>> programme_bounds([[0, 1], [0, 1]], declare_loads(4, load=2)).tolist()
    [0.0, 0.5]
    """
    reviews = {(p, i): e for e, (p, i) in enumerate((p, i) for p, row in enumerate(rows) for i in range(len(row)))}
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

    def most_up_to(place: int) -> float:
        """The greatest number of tuples with a mean of at most a value, in fractions."""
        wanted = -(mean <= values[place]).astype(float)
        found = linprog(wanted, A_eq=matrix, b_eq=right, method="highs")  # type: ignore[call-overload]
        if found.status == 2:
            raise RecordError("no valid assignment exists for these papers and loads: nobody reviews a paper twice")
        if found.status != 0:
            raise PeerveilError(f"the linear programme of a packing bound failed: {found.message}")
        return float(-found.fun)

    bounds, low = [], 0
    known: dict[int, float] = {}
    for i in range(1, loads.reviewers + 1):
        high = values.size - 1
        while low < high:
            middle = (low + high) // 2
            if middle not in known:
                known[middle] = most_up_to(middle)
            if known[middle] >= i - 1e-6:
                high = middle
            else:
                low = middle + 1
        bounds.append(values[low])
    return np.array(bounds)
