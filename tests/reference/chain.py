"""The paper's Algorithms 1 and 2, word for word: all tuples, the whole graph, marking by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import combinations, product

Entry = tuple[int, int]
Tuple = tuple[Entry, ...]
Rows = Sequence[Sequence[float]]


def valid_tuples(rows: Rows, sizes: Iterable[int]) -> list[Tuple]:
    """Every choice of reviews of different papers, of every size that may occur."""
    return [
        tuple(zip(papers, places, strict=True))
        for size in sizes
        for papers in combinations(range(len(rows)), size)
        for places in product(*(range(len(rows[p])) for p in papers))
    ]


def mean(rows: Rows, chosen: Tuple) -> Fraction:
    return sum((Fraction(rows[p][i]) for p, i in chosen), Fraction(0)) / len(chosen)


def chain_bounds(  # noqa: C901 - word for word
    rows: Rows, reviewers: int, sizes: Iterable[int], tie: Callable[[Tuple], Fraction | int] = lambda _: 0
) -> tuple[list[float], list[float]]:
    """Lower and upper bounds on each entry; ties of means are broken by ``tie``."""
    tuples = sorted(valid_tuples(rows, sizes), key=lambda t: (mean(rows, t), tie(t)))
    sets = [frozenset(t) for t in tuples]
    left = [1] * len(tuples)
    for v in range(len(tuples)):
        left[v] = 1 + max((left[u] for u in range(v) if sets[u].isdisjoint(sets[v])), default=0)
    right = [1] * len(tuples)
    for v in reversed(range(len(tuples))):
        right[v] = 1 + max((right[u] for u in range(v + 1, len(tuples)) if sets[u].isdisjoint(sets[v])), default=0)

    lower: list[float] = []
    unmarked = [set(range(len(row))) for row in rows]
    for v, chosen in enumerate(tuples):
        if len(lower) == reviewers:
            break
        for p, i in chosen:
            unmarked[p].discard(i)
        entry = len(lower) + 1
        if left[v] >= entry and all(len(row) <= reviewers - entry for row in unmarked):
            lower.append(float(mean(rows, chosen)))

    upper: list[float] = []  # from the last entry down
    unmarked = [set(range(len(row))) for row in rows]
    for v in reversed(range(len(tuples))):
        if len(upper) == reviewers:
            break
        for p, i in tuples[v]:
            unmarked[p].discard(i)
        entry = reviewers - len(upper)
        if right[v] >= reviewers - entry + 1 and all(len(row) <= entry - 1 for row in unmarked):
            upper.append(float(mean(rows, tuples[v])))
    return lower, upper[::-1]
