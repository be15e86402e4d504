"""How much two groups of reviewers are spread: the posterior given their noisy sums of squares.

docs/mathematics.md, "Effects", derives it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from peerveil.privacy.group_sums import GroupSums
from peerveil.record.public_record import Floats

#: The intraclass correlation that plans assume, and that is assumed where weights are hidden and loads differ.
ICC = 0.2

#: Intraclass correlations, or spreads of hidden weights in units of half their range, that are considered.
_GRID = np.linspace(0.0, 1.0, 101)

#: Logarithms of the ratio of both groups' variances that are considered, and the scale of their Laplace prior.
_RATIOS, PRIOR_SCALE = np.linspace(-40, 40, 81) / 10, 1.0

#: The prior probability that groups which were assigned at random are equally spread.
EQUAL = 0.5

#: If others are in neither group, the two groups may be more, or less, spread than all: so many times the variance.
_AMONG_OTHERS = np.array([0.5, 0.7, 1.0, 1.4, 2.0])


@dataclass(frozen=True, kw_only=True, eq=False)
class Spread:
    """Possible sums of squares of each group per review, within groups or not, and their probabilities.

    Attributes:
        first: the mean over reviews of the first group: the squared sum of a reviewer's weights, over their load.
        second: the same of the second group.
        chances: the probability of each.
    """

    first: Floats
    second: Floats
    chances: Floats

    def within(self, first: float, second: float) -> Spread:
        """Return what is left if so much is due to the difference between groups, at least a twentieth."""
        both = (self.first, first), (self.second, second)
        one, other = (np.maximum(squares - part, 0.05 * squares) for squares, part in both)
        return Spread(first=one, second=other, chances=self.chances)


def loads_of(sums: GroupSums) -> tuple[Floats, Floats]:
    """The loads and the number of reviewers with each; the mean load for all if only a range is public."""
    loads = sums.weights.loads
    if loads.counts is None:
        return np.array([loads.reviews / loads.reviewers]), np.array([float(loads.reviewers)])
    return np.array(loads.sizes, dtype=np.float64), np.array(loads.counts, dtype=np.float64)


def spread_of(sums: GroupSums, numbers: dict[str, float], scales: dict[str, float], share: float) -> Spread:
    """Return the posterior of both groups' squares; ``share`` is the first group's part of both groups' reviews.

    All intraclass correlations are equally likely beforehand, and equal spreads are most likely. Sums of a reviewer's
    weights are normal.
    """
    loads, people = loads_of(sums)
    alike = float(people @ loads**2) / float(people @ loads) - 1  # other reviews of the reviewer of a review
    if sums.icc is not None:
        stated = np.array([sums.variance * (1 + alike * sums.icc)])
        return Spread(first=stated, second=stated, chances=np.ones(1))
    if sums.hidden:
        level = (np.maximum(_GRID, 0.01) * sums.width / 2) ** 2 * (1 + alike * ICC)
    else:
        level = sums.variance * (1 + alike * _GRID)
    if sums.others:
        level = np.outer(_AMONG_OTHERS, level).ravel()
    reviews = float(people @ loads)
    if sums.pairs:
        logs = -np.abs(numbers["squares"] - reviews * _capped(sums, level)) / scales["squares"]
        return Spread(first=level, second=level, chances=_normalised(logs))
    ratio = np.exp(_RATIOS)
    first = np.outer(level, ratio / (share * ratio + 1 - share))
    second = np.outer(level, 1 / (share * ratio + 1 - share))
    logs = np.broadcast_to(_ratio_logs(sums), first.shape).copy()
    for name, squares, size in (("1", first, numbers["size_1"]), ("2", second, numbers["size_2"])):
        expected = size * _capped(sums, squares)
        logs -= np.abs(numbers[f"squares_{name}"] - expected) / scales[f"squares_{name}"]
    return Spread(first=first.ravel(), second=second.ravel(), chances=_normalised(logs.ravel()))


def _ratio_logs(sums: GroupSums) -> Floats:
    """The logarithms of the prior probabilities of ratios of variances."""
    chances = np.exp(-np.abs(_RATIOS) / PRIOR_SCALE)
    chances /= chances.sum()
    if sums.randomised:
        chances = (1 - EQUAL) * chances + EQUAL * (_RATIOS == 0)
    return np.asarray(np.log(chances))


def _capped(sums: GroupSums, squares: Floats) -> Floats:
    """The mean over reviews of a group of a reviewer's capped square, over their load, given that without the cap.

    Which loads the reviewers of a group have is known only if groups were assigned at random. Otherwise all have the
    largest: fewer reviewers with greater sums are capped most.
    """
    loads, people = loads_of(sums)
    if not sums.randomised:
        loads, people = np.array([float(sums.largest_load)]), np.ones(1)
    each = loads * (1 + (loads - 1) * ICC)  # in proportion to these
    unit, reviews = float(people @ each), float(people @ loads)
    capped = np.zeros_like(squares)
    for one, number in zip((each / unit * reviews).tolist(), (people / reviews).tolist(), strict=True):
        capped += number * capped_mean(squares * one, sums.cap)
    return capped


def capped_mean(variance: Floats, cap: float) -> Floats:
    """Return the mean of the square of a normal variable, capped.

    >>> round(float(capped_mean(np.array([1.0]), 100.0)[0]), 6)
    1.0
    """
    edge = np.sqrt(cap / variance)
    outside = 2 * ndtr(-edge)
    density = np.exp(-(edge**2) / 2) / math.sqrt(2 * math.pi)
    return np.asarray(variance * (1 - outside - 2 * edge * density) + cap * outside)


def _normalised(logs: Floats) -> Floats:
    chances = np.exp(logs - logs.max())
    return np.asarray(chances / chances.sum())
