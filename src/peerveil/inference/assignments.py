"""Random valid assignments of reviews to reviewers: nobody holds two reviews of one paper."""

from __future__ import annotations

import numpy as np

from peerveil.record.public_record import Ints

#: How often a clash is tried to be mended before starting from a certainly valid assignment instead.
_TRIES = 200


def deal(paper: Ints, loads: Ints, rng: np.random.Generator) -> Ints:
    """A holder for each review, at random.

    Args:
        paper: for each review its paper.
        loads: for each reviewer the number of reviews to hold; they must sum to the number of reviews.
        rng: where the randomness comes from.

    >>> rng = np.random.default_rng(1)
    >>> holder = deal(np.array([0, 0, 1, 1, 2, 2]), np.array([2, 2, 2]), rng)
    >>> np.bincount(holder).tolist()
    [2, 2, 2]
    """
    holder = np.repeat(np.arange(loads.size, dtype=np.int64), loads)
    rng.shuffle(holder)
    if _mend(paper, holder, rng):
        return holder
    holder = _certain(paper, loads, rng)
    _stir(paper, holder, rng, steps=30 * holder.size)
    return holder


def _mend(paper: Ints, holder: Ints, rng: np.random.Generator) -> bool:
    """Swap clashing reviews with random ones until nobody holds two of a paper; tells whether that worked."""
    held = _held(paper, holder)
    for _ in range(_TRIES):
        clashes = _clashes(paper, holder)
        if not clashes.size:
            return True
        for e in clashes.tolist():
            _swap_if_valid(paper, holder, held, e, int(rng.integers(holder.size)))
    return False


def _clashes(paper: Ints, holder: Ints) -> Ints:
    """The reviews whose holder has another one of that paper earlier in the list."""
    pair = paper * (int(holder.max()) + 1) + holder
    first = np.unique(pair, return_index=True)[1]
    mask = np.ones(pair.size, dtype=bool)
    mask[first] = False
    return np.flatnonzero(mask).astype(np.int64)


def _held(paper: Ints, holder: Ints) -> list[dict[int, int]]:
    """For each reviewer, how many reviews of which paper."""
    held: list[dict[int, int]] = [{} for _ in range(int(holder.max()) + 1)]
    for p, a in zip(paper.tolist(), holder.tolist(), strict=True):
        held[a][p] = held[a].get(p, 0) + 1
    return held


def _swap_if_valid(paper: Ints, holder: Ints, held: list[dict[int, int]], e: int, f: int) -> None:
    a, b, p, q = int(holder[e]), int(holder[f]), int(paper[e]), int(paper[f])
    if a == b or p == q or q in held[a] or p in held[b]:
        return
    for reviewer, gone, new in ((a, p, q), (b, q, p)):
        held[reviewer][new] = 1
        held[reviewer][gone] -= 1
        if not held[reviewer][gone]:
            del held[reviewer][gone]
    holder[e], holder[f] = b, a


def _certain(paper: Ints, loads: Ints, rng: np.random.Generator) -> Ints:
    """A valid assignment by Gale and Ryser: the largest papers first, each to the reviewers with most room left."""
    room = loads.copy()
    holder = np.empty(paper.size, dtype=np.int64)
    sizes = np.bincount(paper)
    for p in np.argsort(-sizes, kind="stable"):
        reviews = np.flatnonzero(paper == p)
        tie = rng.random(loads.size)
        chosen = np.lexsort((tie, -room))[: reviews.size]
        if reviews.size > loads.size or (room[chosen] < 1).any():
            raise ValueError("no valid assignment exists for these papers and loads")
        room[chosen] -= 1
        holder[reviews] = rng.permutation(chosen)
    return holder


def _stir(paper: Ints, holder: Ints, rng: np.random.Generator, steps: int) -> None:
    """Many random swaps that keep the assignment valid."""
    held = _held(paper, holder)
    for e, f in rng.integers(holder.size, size=(steps, 2)).tolist():
        _swap_if_valid(paper, holder, held, e, f)
