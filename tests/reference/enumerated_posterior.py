"""Posterior of who holds what, given noisy sorted means: all assignments, weighted by prior and likelihood.

For records in which each paper has one review and all loads are equal, so that every way to deal is valid. No code of
the package: the prior of docs/mathematics.md, "Prior and posterior", without discrepancies.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

#: An assignment without names: the scores of each reviewer, sorted, and these sorted.
Hands = tuple[tuple[float, ...], ...]


def dealt(scores: list[float], load: int, correlation: float, rng: np.random.Generator) -> Hands:
    """Return hands drawn from the prior at a leniency."""
    order = sorted(range(len(scores)), key=dict(enumerate(_keys(scores, correlation, rng))).__getitem__)
    people = len(scores) // load
    if correlation >= 0:  # blocks of the order
        hands = [order[person * load : (person + 1) * load] for person in range(people)]
    else:  # one review from each part of the order
        parts = [rng.permutation(order[part * people : (part + 1) * people]).tolist() for part in range(load)]
        hands = [[part[person] for part in parts] for person in range(people)]
    return tuple(sorted(tuple(sorted(scores[i] for i in hand)) for hand in hands))


def _keys(scores: list[float], correlation: float, rng: np.random.Generator) -> list[float]:
    leniency = abs(correlation) / math.sqrt(1 - correlation**2)
    mean = math.fsum(scores) / len(scores)
    deviation = math.sqrt(math.fsum((x - mean) ** 2 for x in scores) / len(scores))
    return [rng.standard_normal() + leniency * (x - mean) / deviation for x in scores]


def posterior(
    scores: list[float],
    load: int,
    correlations: dict[float, float],
    noisy: list[float],
    scale: float,
    *,
    draws: int,
    rng: np.random.Generator,
) -> dict[Hands, float]:
    """Return the probability of each assignment, given sorted means with Laplace noise.

    ``correlations`` are the prior probabilities; that of each assignment is its share in draws at each of them.
    """
    prior = Counter[Hands]()
    for correlation, chance in correlations.items():
        for _ in range(draws):
            prior[dealt(scores, load, correlation, rng)] += chance / draws  # type: ignore[assignment]
    weighted = {}
    for hands, chance in prior.items():
        means = sorted(math.fsum(hand) / load for hand in hands)
        off = math.fsum(abs(y - x) for y, x in zip(noisy, means, strict=True))
        weighted[hands] = chance * math.exp(-off / scale)
    total = math.fsum(weighted.values())
    return {hands: weight / total for hands, weight in weighted.items()}
