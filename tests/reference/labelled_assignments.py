"""All labelled assignments of a small record, and the law that sampled tables must follow: by enumeration, no NumPy."""

from __future__ import annotations

import math
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


#: A table: the reviewer of each review, the score of each review, and the label of each reviewer.
Whole = tuple[Holders, tuple[float, ...], tuple[int, ...]]

#: What is counted: a statistic of scores, the cuts between its cells, and whether the cells are those of each label.
Counted = tuple[Callable[[list[float]], float], Sequence[float], bool]


def tables(
    sizes: Sequence[int],
    loads: Sequence[int],
    score: Sequence[float | None],
    support: Sequence[float] = (),
    labels: Sequence[int] = (),
) -> list[Whole]:
    """Return all tables: every assignment with every score of hidden reviews (``None``) and every order of labels."""
    scores = list(product(*(sorted(set(support)) if x is None else [x] for x in score)))
    orders = sorted(set(permutations(labels)))
    return list(product(assignments(sizes, loads), scores, orders))


def law(
    states: Sequence[Whole],
    counted: Sequence[Counted],
    centres: Sequence[Sequence[float]],
    *,
    score: Sequence[float | None],
    support: Sequence[float] = (),
    factor: Callable[[Whole], float] = lambda _: 1.0,
) -> list[float]:
    """Return the probability of each table.

    It is proportional to ``exp(-sum_j (r_j - centre_j)^2)``, over the cuts of all that is counted, times how often the
    score of each hidden review occurs in the support, times a factor. Of all people, or of those with each label,
    ``r_j`` are below cut ``j``; centres are given as numbers in cells, of which those below a cut are added up.
    """
    density = []
    for state in states:
        holders, scores, labels = state
        people = range(max(holders) + 1)
        hands = [[x for x, holder in zip(scores, holders, strict=True) if holder == person] for person in people]
        value = factor(state)
        for (statistic, cuts, by_label), centre in zip(counted, centres, strict=True):
            statistics = [statistic(hand) for hand in hands]
            groups = [[person for person in people if labels[person] == label] for label in sorted(set(labels))]
            for place, group in enumerate(groups if by_label else [list(people)]):
                own = centre[place * (len(cuts) + 1) : (place + 1) * (len(cuts) + 1)]
                for b, cut in enumerate(cuts):
                    below = sum(1 for person in group if statistics[person] < cut)
                    value *= math.exp(-((below - sum(own[: b + 1])) ** 2))
        for drawn, x in zip(scores, score, strict=True):
            value *= list(support).count(drawn) if x is None else 1
        density.append(value)
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
