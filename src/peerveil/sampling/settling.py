"""Whether draws of tables have settled: two tests, which rarely fail if draws are independent.

If the sweeps with a fixed target were independent draws from one law, each test would fail in at most 0.5 % of sets of
tables: about so often just at the limit of what is tolerated, and more rarely the farther below it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtrc, stdtrit

from peerveil.record.public_record import Floats, Ints
from peerveil.sampling.drawing import Drawn

#: The chance of a false alarm of each test.
FALSE_ALARM = 0.005

#: What is tolerated: the share of reviews left where they were, beyond chance, and the change of the share of misplaced
#: reviewers. As twice as many sweeps come before the target is fixed, an eighth of the first deal is left then.
LEFT, DRIFT = 0.5, 0.01


@dataclass(frozen=True)
class Settling:
    """What tells whether draws have settled.

    Attributes:
        left: the share of reviews that are with the reviewer who held them when the target was fixed, beyond what
            independent draws would have by chance; the greatest over tables: 1 if nothing moved in one of them.
        drift: the change of the share of misplaced reviewers from the first to the second half of the sweeps with a
            fixed target, on average over tables; NaN if there is only one sweep.
        settled: whether neither exceeds what is tolerated by more than chance explains.
    """

    left: float
    drift: float
    settled: bool


def settling(draws: Sequence[Drawn], loads: Sequence[Ints]) -> Settling:
    """Return whether draws have settled, given the loads of each table's reviewers.

    No table may be stuck, and the mean over tables may not drift. A single sweep with a fixed target is not enough.
    """
    pairs = list(zip(draws, loads, strict=True))
    drift = np.array([_drift(drawn, own.size) for drawn, own in pairs])
    unstuck = all(_likely(drawn, own, FALSE_ALARM / len(pairs)) for drawn, own in pairs)
    still = all(least(sign * drift, FALSE_ALARM / 2) <= DRIFT for sign in (1.0, -1.0))
    return Settling(max(_left(drawn, own) for drawn, own in pairs), float(drift.mean()), unstuck and still)


def least(values: Floats, chance: float) -> float:
    """Return the lower confidence limit of a mean, which exceeds it with a chance only.

    >>> round(least(np.array([1.0, 2.0, 3.0]), 0.05), 3)
    0.314
    """
    error = math.sqrt(float(values.var(ddof=1)) / values.size)
    return float(values.mean()) - float(stdtrit(values.size - 1, 1 - chance)) * error


def _by_chance(loads: Ints) -> float:
    """The probability that an independent draw gives a review to the same reviewer, if those of one load are alike."""
    size, number = np.unique(loads, return_counts=True)
    return float(np.sum((size * number / loads.sum()) ** 2 / number))


def _left(drawn: Drawn, loads: Ints) -> float:
    """The share of reviews that did not change hands, beyond chance."""
    chance = _by_chance(loads)
    return (1 - drawn.renewed - chance) / (1 - chance) if chance < 1 else 0.0


def _likely(drawn: Drawn, loads: Ints, chance: float) -> bool:
    """Whether as many reviews may well stay if the tolerated share is left, and each of the others by chance."""
    by_chance, reviews = _by_chance(loads), int(loads.sum())
    stayed = round((1 - drawn.renewed) * reviews)
    return float(bdtrc(stayed - 1, reviews, LEFT + (1 - LEFT) * by_chance)) > chance if stayed else True


def _drift(drawn: Drawn, reviewers: int) -> float:
    last = np.array(drawn.trace[-drawn.fixed :]) / reviewers
    half = last.size // 2
    return float(last[half:].mean() - last[:half].mean()) if half else math.nan
