"""All labelled assignments of a small record, and the law that sampled tables must follow: by enumeration, no NumPy."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations, product

#: The reviewer of each review.
Holders = tuple[int, ...]


def assignments(sizes: Sequence[int], loads: Sequence[int]) -> list[Holders]:
    """Return all assignments, given the papers' sizes and the loads: nobody twice on a paper."""
    people = range(len(loads))
    papers = [list(permutations(people, size)) for size in sizes]
    every = (tuple(holder for paper in chosen for holder in paper) for chosen in product(*papers))
    return [holders for holders in every if [holders.count(person) for person in people] == list(loads)]


def law(
    states: Sequence[Holders],
    weight: Sequence[float],
    statistic: Callable[[list[float]], float],
    cuts: Sequence[float],
    centre: Sequence[float],
) -> list[float]:
    """Return the probability of each assignment: proportional to ``exp(-sum_b (c_b - centre_b)^2)``."""
    density = []
    for holders in states:
        hands = [[x for x, holder in zip(weight, holders, strict=True) if holder == person] for person in set(holders)]
        cells = Counter(bisect_right(cuts, statistic(hand)) for hand in hands)
        density.append(math.exp(-sum((cells[b] - c) ** 2 for b, c in enumerate(centre))))
    return [value / sum(density) for value in density]


def neighbours(holders: Holders, paper: Sequence[int], *, within: bool) -> Iterator[Holders]:
    """Yield the valid assignments after one swap; ``within`` a paper too, if so asked."""
    for e in range(len(holders)):
        for f in range(e):
            if paper[e] == paper[f] and not within:
                continue
            swapped = list(holders)
            swapped[e], swapped[f] = holders[f], holders[e]
            if len(set(zip(paper, swapped, strict=True))) == len(paper):
                yield tuple(swapped)


def components(states: Sequence[Holders], paper: Sequence[int], *, within: bool) -> int:
    """Return the number of sets of assignments that are connected by swaps."""
    left, number = set(states), 0
    while left:
        frontier = [left.pop()]
        number += 1
        while frontier:
            for other in neighbours(frontier.pop(), paper, within=within):
                if other in left:
                    left.remove(other)
                    frontier.append(other)
    return number
