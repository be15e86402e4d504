"""Random valid assignments of reviews to reviewers: nobody holds two reviews of one paper."""

from __future__ import annotations

import numpy as np

from peerveil.record.public_record import Ints

#: Passes over all clashes before a constructed valid assignment is used instead.
_PASSES = 200


def deal(paper: Ints, loads: Ints, rng: np.random.Generator) -> Ints:
    """Return a random reviewer for each review, given its paper and all reviewers' loads, which sum to the reviews.

    >>> rng = np.random.default_rng(1)
    >>> holder = deal(np.array([0, 0, 1, 1, 2, 2]), np.array([2, 2, 2]), rng)
    >>> np.bincount(holder).tolist()
    [2, 2, 2]
    """
    holder = np.repeat(np.arange(loads.size, dtype=np.int64), loads)
    rng.shuffle(holder)
    if _remove_clashes(paper, holder, rng):
        return holder
    holder = _gale_ryser(paper, loads, rng)
    counts = _paper_counts(paper, holder)
    for e, f in rng.integers(holder.size, size=(30 * holder.size, 2)).tolist():
        _swap_if_valid(paper, holder, counts, e, f)
    return holder


def _remove_clashes(paper: Ints, holder: Ints, rng: np.random.Generator) -> bool:
    """Swap clashing reviews with random ones, in place, and return whether no clash is left."""
    counts = _paper_counts(paper, holder)
    for _ in range(_PASSES):
        pair = paper * (int(holder.max()) + 1) + holder
        clashing = np.ones(pair.size, dtype=bool)
        clashing[np.unique(pair, return_index=True)[1]] = False
        if not clashing.any():
            return True
        for e in np.flatnonzero(clashing).tolist():
            _swap_if_valid(paper, holder, counts, e, int(rng.integers(holder.size)))
    return False


def _paper_counts(paper: Ints, holder: Ints) -> list[dict[int, int]]:
    """For each reviewer, the number of reviews of each paper."""
    counts: list[dict[int, int]] = [{} for _ in range(int(holder.max()) + 1)]
    for p, a in zip(paper.tolist(), holder.tolist(), strict=True):
        counts[a][p] = counts[a].get(p, 0) + 1
    return counts


def _swap_if_valid(paper: Ints, holder: Ints, counts: list[dict[int, int]], e: int, f: int) -> None:
    a, b, p, q = int(holder[e]), int(holder[f]), int(paper[e]), int(paper[f])
    if a == b or p == q or q in counts[a] or p in counts[b]:
        return
    for reviewer, gone, new in ((a, p, q), (b, q, p)):
        counts[reviewer][new] = 1
        counts[reviewer][gone] -= 1
        if not counts[reviewer][gone]:
            del counts[reviewer][gone]
    holder[e], holder[f] = b, a


def _gale_ryser(paper: Ints, loads: Ints, rng: np.random.Generator) -> Ints:
    """A valid assignment: the largest papers first, each to the reviewers with most capacity left."""
    capacity = loads.copy()
    holder = np.empty(paper.size, dtype=np.int64)
    for p in np.argsort(-np.bincount(paper), kind="stable"):
        reviews = np.flatnonzero(paper == p)
        chosen = np.lexsort((rng.random(loads.size), -capacity))[: reviews.size]
        if reviews.size > loads.size or (capacity[chosen] < 1).any():
            raise ValueError("no valid assignment exists for these papers and loads")
        capacity[chosen] -= 1
        holder[reviews] = rng.permutation(chosen)
    return holder
