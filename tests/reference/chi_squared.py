"""Drawn states against their probabilities: a test of chi-squared with pooled cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

from scipy.stats import chisquare


def pooled(expected: list[float], seen: list[int]) -> tuple[list[float], list[int]]:
    """Cells, the smallest first and regardless of what was seen, pooled until each has five expected."""
    sums: list[list[float]] = [[0.0, 0]]
    for chance, number in sorted(zip(expected, seen, strict=True), key=lambda pair: pair[0]):
        if sums[-1][0] >= 5:
            sums.append([0.0, 0])
        sums[-1][0] += chance
        sums[-1][1] += number
    if sums[-1][0] < 5:
        last = sums.pop()
        sums[-1] = [a + b for a, b in zip(sums[-1], last, strict=True)]
    return [pair[0] for pair in sums], [int(pair[1]) for pair in sums]


def assert_law(states: Sequence[Hashable], chances: list[float], seen: Counter[Any]) -> None:
    """Fail if what was seen is not likely under these chances, or no state at all."""
    assert set(seen) <= set(states)
    draws = sum(seen.values())
    expected, counted = pooled([draws * chance for chance in chances], [seen[state] for state in states])
    assert len(expected) > 5
    assert chisquare(counted, expected).pvalue > 1e-3
