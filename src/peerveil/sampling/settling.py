"""Whether draws of tables have settled: two tests over the tables, which rarely fail if draws are independent.

Each compares a mean over tables with what is tolerated, by Student's law, as tables are drawn independently of each
other. If the sweeps with a fixed target were independent draws from one law, each test would fail in at most 0.5 % of
sets of tables: so often if the mean is just at the limit of what is tolerated, and more rarely the farther it is below.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

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
            independent draws would have by chance: 1 if nothing moved, 0 for independent draws.
        drift: the change of the share of misplaced reviewers from the first to the second half of the sweeps with a
            fixed target; NaN if there is only one.
        settled: whether neither exceeds what is tolerated by more than chance explains.
    """

    left: float
    drift: float
    settled: bool


def settling(draws: Sequence[Drawn], loads: Sequence[Ints]) -> Settling:
    """Return whether draws have settled, given the loads of each table's reviewers.

    Both numbers are means over tables. A single sweep with a fixed target is not enough.
    """
    left = np.array([_left(drawn, own) for drawn, own in zip(draws, loads, strict=True)])
    drift = np.array([_drift(drawn, own.size) for drawn, own in zip(draws, loads, strict=True)])
    settled = least(left, FALSE_ALARM) <= LEFT and all(
        least(sign * drift, FALSE_ALARM / 2) <= DRIFT for sign in (1.0, -1.0)
    )
    return Settling(float(left.mean()), float(drift.mean()), settled)


def least(values: Floats, chance: float) -> float:
    """Return the lower confidence limit of a mean, which exceeds it with a chance only.

    >>> round(least(np.array([1.0, 2.0, 3.0]), 0.05), 3)
    0.314
    """
    error = math.sqrt(float(values.var(ddof=1)) / values.size)
    return float(values.mean()) - float(stdtrit(values.size - 1, 1 - chance)) * error


def _left(drawn: Drawn, loads: Ints) -> float:
    """The share of reviews that did not change hands, beyond chance.

    An independent draw gives a review to the same reviewer with the probability that is computed here if reviewers of
    one load are alike.
    """
    size, number = np.unique(loads, return_counts=True)
    chance = float(np.sum((size * number / loads.sum()) ** 2 / number))
    return (1 - drawn.renewed - chance) / (1 - chance) if chance < 1 else 0.0


def _drift(drawn: Drawn, reviewers: int) -> float:
    last = np.array(drawn.trace[-drawn.fixed :]) / reviewers
    half = last.size // 2
    return float(last[half:].mean() - last[:half].mean()) if half else math.nan
