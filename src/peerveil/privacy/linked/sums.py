"""Sums over people who reviewed for two conferences: the numbers behind their correlation, and their sensitivity.

Proofs are in docs/mathematics.md, "Linked conferences". All inputs are public.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from peerveil.errors import Argument, InputError
from peerveil.privacy.group_sums import LEAST_VARIANCE, default_limits, passing_share
from peerveil.privacy.guarantee import Unit
from peerveil.privacy.sensitivity import Sensitivity
from peerveil.quantities.statistics import MEAN, split
from peerveil.quantities.weights import PublicWeights
from peerveil.record.parts import is_open
from peerveil.record.public_record import Floats

#: The unit of the sums of deviations, and that of the difference of the squares, relative to the squares.
SUMS_UNIT, DIFFERENCE_UNIT = 1 / 12, 1 / 16

#: The unit of sums of squared loads, and of that of products of loads, which are released where loads differ.
SQUARES_UNIT, PRODUCTS_UNIT = 1 / 8, 1 / 2

#: Totals are clipped at so many standard deviations, as these are expected from public data.
REACH = 1.3

#: By default, weights are clipped at the outermost ones that at least this share of the public weights reaches.
TAIL = 0.15

#: The intraclass correlation of a reviewer's weights that is expected beforehand.
ICC = 0.2

#: By default people with at least so many reviews in each conference count.
LEAST = 2


class LoadMoments(NamedTuple):
    """Means over people of functions of their loads in a conference.

    Attributes:
        load: of the load.
        square: of its square.
        inverse: of 1 over it.
    """

    load: float
    square: float
    inverse: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Side:
    """One of two conferences: its public weights, and how a person is measured.

    Weights are clipped at ``limits``. The position of a person is the total of their clipped weights, each minus a
    public centre, divided by ``reach``, and clipped at -1 and 1. So people with more reviews count more, and one review
    counts the same whoever has it.

    Attributes:
        weights: the public weights.
        limits: the limits of clipping.
        least: people with fewer reviews than that do not count.

    >>> side = Side(weights=PublicWeights.from_rows([[0, 1]] * 4, load=2), limits=(0.0, 1.0), least=1)
    >>> side.centre, round(side.reach, 3), side.step
    (0.5, 1.0, 1.0)
    """

    weights: PublicWeights
    limits: tuple[float, float]
    least: int = LEAST

    def __post_init__(self) -> None:
        low, high = (float(end) for end in self.limits)
        if not (math.isfinite(low) and math.isfinite(high) and low < high and 1e-100 < high - low < 1e100):
            raise InputError(Argument("limits"), f" must be two finite numbers, the lower one first, got {self.limits}")
        object.__setattr__(self, "limits", (low, high))
        if isinstance(self.least, bool) or not isinstance(self.least, int) or self.least < 1:
            raise InputError(Argument("least"), f" must be a whole number of at least 1, got {self.least!r}")
        if self.weights.statistic is not MEAN:
            raise InputError(
                f"correlations are of means, not of {self.weights.quantity}; correlate those of the weights (",
                Argument("quantity", split(self.weights.quantity)[1]),
                ")",
            )
        if self.weights.co_reviews_move:
            raise InputError(
                f"the correlation of {self.weights.quantity} needs public scores, because each hidden score changes "
                "the weights of other reviews; release that of ratings (",
                Argument("quantity", "ratings"),
                ")",
            )
        if self.largest < self.least:
            raise InputError(
                Argument("least", self.least),
                f" is more than any reviewer's load, which is at most {self.largest}; lower it",
            )
        inside = self.weights.exact and np.mean((self.weights.low >= low) & (self.weights.low <= high))
        if self.weights.exact and inside < 0.5:
            raise InputError(
                Argument("limits"),
                f" must contain at least half of the public weights, got {self.limits}, which contain "
                f"{100 * inside:.0f} %",
            )

    @property
    def width(self) -> float:
        """The range of a clipped weight."""
        return self.limits[1] - self.limits[0]

    @property
    def people(self) -> int:
        """The number of reviewers of the whole conference."""
        part = self.weights.part
        return self.weights.reviewers if part is None else part.whole.reviewers

    @property
    def whole(self) -> bool:
        """Whether everybody's number of reviews is the same for all neighbours: nothing was left out."""
        return self.weights.part is None

    @property
    def largest(self) -> int:
        """The largest number of a reviewer's reviews among those of the record."""
        part = self.weights.part
        if is_open(part):  # loads are only a guess
            return min(part.whole.largest, self.weights.sizes().size)
        return self.weights.loads.largest

    @cached_property
    def loads(self) -> tuple[Floats, Floats]:
        """The loads of those who count, and the share of each among them, as if those in both were like the others.

        If only the loads that occur are public, the shares with the public mean that are nearest to equal ones.
        """
        loads = self.weights.loads
        sizes = np.array(loads.sizes, dtype=np.float64)
        shares = np.ones(sizes.size) if loads.counts is None else np.array(loads.counts, dtype=np.float64)
        if loads.counts is None:
            shares = tilted(sizes, shares, loads.reviews / loads.reviewers)
        kept = sizes >= self.least
        return sizes[kept], shares[kept] / shares[kept].sum()

    @property
    def uniform(self) -> bool:
        """Whether all who count have the same number of reviews, as is public."""
        return self.whole and sum(size >= self.least for size in self.weights.loads.sizes) == 1

    def clipped(self, weights: Floats) -> Floats:
        """Return weights within the limits."""
        return np.clip(weights, *self.limits)

    @cached_property
    def centre(self) -> float:
        """The mean of the clipped public weights; the midpoint of the limits if they are hidden."""
        if not self.weights.exact:
            return self.limits[0] + self.width / 2
        return float(np.mean(self.clipped(self.weights.low)))

    @cached_property
    def variance(self) -> float:
        """The variance of clipped weights, which is not zero; a guess if they are hidden."""
        if not self.weights.exact:
            return (self.width / 4) ** 2
        return max(float(np.var(self.clipped(self.weights.low))), LEAST_VARIANCE * self.width**2)

    @cached_property
    def raw_variance(self) -> float:
        """The variance of public weights before clipping."""
        return max(float(np.var(self.weights.low)), self.variance) if self.weights.exact else self.variance

    @cached_property
    def passing(self) -> float:
        """How much of a small shift of all weights remains after clipping."""
        return max(passing_share(self.weights.low, self.limits), 0.1) if self.weights.exact else 1.0

    @cached_property
    def _totals(self) -> Floats:
        """The expected variance of totals for each load, relative to that of weights."""
        sizes, _ = self.loads
        return sizes * (1 + (sizes - 1) * ICC)

    @cached_property
    def reach(self) -> float:
        """The distance from 0 at which totals are clipped."""
        furthest = self.largest * max(self.limits[1] - self.centre, self.centre - self.limits[0])
        return min(REACH * math.sqrt(self.variance * float(self.loads[1] @ self._totals)), furthest)

    @property
    def spread(self) -> float:
        """The variance of clipped weights in the units of positions."""
        return self.variance / self.reach**2

    @cached_property
    def excess(self) -> float:
        """The excess kurtosis of totals, of weights that are nearly independent, by the differences between loads."""
        sizes, shares = self.loads
        excess = 0.0  # of hidden weights
        if self.weights.exact:
            away = self.clipped(self.weights.low) - self.centre
            excess = float(np.mean(away**4)) / self.variance**2 - 3
        return float(shares @ (self._totals**2 * (3 + excess / sizes))) / float(shares @ self._totals) ** 2 - 3

    def moments(self, square: float | None = None) -> LoadMoments:
        """Return moments of loads of those who count, given the mean of their squares or as public loads suggest."""
        sizes, shares = self.loads
        if square is not None:
            shares = tilted(sizes**2, shares, square)
        return LoadMoments(*(float(shares @ power) for power in (sizes, sizes**2, 1 / sizes)))

    @property
    def step(self) -> float:
        """How far an exchange of one review can move the position of another person."""
        return min(2.0, self.width / self.reach) if self.whole else 2.0

    @property
    def exchanges(self) -> int:
        """The number of exchanges in which a review of the record takes part, for the unit reviewer."""
        part, b = self.weights.part, self.largest
        return b if part is None else min(2 * b, part.whole.largest)

    def positions(self, totals: Floats) -> Floats:
        """Return the positions of people, given the totals of their clipped weights minus the centre."""
        return np.clip(totals / self.reach, -1.0, 1.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class LinkedSums:
    """Everything public that determines which numbers are made private, and how far a neighbour can move them.

    With ``x`` and ``y`` the positions of a person in both conferences, the numbers are sums over all who reviewed for
    both, with at least ``least`` reviews each:

    - ``people``: their number;
    - ``loads_1``, ``loads_2``: of their squared load in a conference, relative to the largest one; unless all have the
      same load there; ``loads``: of the product of both loads, relative to the largest ones; unless one of them is the
      same for all;
    - ``sum_1``, ``sum_2``: of ``x`` and of ``y``;
    - ``alike``: of ``((x + y) / 2)**2``; ``apart``: of ``((x - y) / 2)**2``;
    - ``difference``: of ``(x**2 - y**2) / 2``.

    Each is multiplied by its unit before noise is added, which is the same for all.

    Attributes:
        sides: both conferences.

    >>> side = Side(weights=PublicWeights.from_rows([[0, 1]] * 4, load=2), limits=(0.0, 1.0), least=1)
    >>> sums = LinkedSums(sides=(side, side))
    >>> list(sums.units)
    ['people', 'sum_1', 'sum_2', 'alike', 'apart', 'difference']
    """

    sides: tuple[Side, Side]

    @cached_property
    def units(self) -> dict[str, float]:
        """The unit of each number."""
        loads = {f"loads_{place}": SQUARES_UNIT for place, side in enumerate(self.sides, 1) if not side.uniform}
        if len(loads) == 2:
            loads["loads"] = PRODUCTS_UNIT
        return {
            "people": 1 - sum(loads.values()),
            **loads,
            "sum_1": SUMS_UNIT,
            "sum_2": SUMS_UNIT,
            "alike": 1.0,
            "apart": 1.0,
            "difference": DIFFERENCE_UNIT,
        }

    # Theorem L3.
    def sensitivity(self, unit: Unit) -> Sensitivity:
        """Return the sensitivity of all numbers, times their units, for a protected unit.

        A person whose reviews are all exchanged, and who may count or not, moves them by at most 2 units and twice that
        of the sums. Each exchange moves the position of one other person by a step, and the numbers in proportion.

        >>> side = Side(weights=PublicWeights.from_rows([[0, 1]] * 4, load=2), limits=(0.0, 1.0), least=1)
        >>> round(LinkedSums(sides=(side, side)).sensitivity("reviewer").l1, 9)
        6.625
        """
        moved = [self._moved(side) for side in self.sides]
        if unit == "review":  # two people, in one of the conferences
            total = 2 * max(moved)
        else:
            person = self._moved(None)
            total = person + sum(side.exchanges * each for side, each in zip(self.sides, moved, strict=True))
        # Every total is a rounded sum of its person's weights, and every number a sum that is rounded once.
        people = min(side.people for side in self.sides)
        rounded = sum(side.largest**2 * side.width / side.reach for side in self.sides)
        total = total * (1 + 2.0**-46) + 2.0**-50 * people * (1 + rounded)
        return Sensitivity(l1=total, l2=total, linf=total)

    # Theorem L1 and Theorem L2.
    def _moved(self, side: Side | None) -> float:
        """The bound for a person who takes part in one exchange; for one who is exchanged as a whole if ``None``."""
        step = 2.0 if side is None else side.step
        changed = [place for place, one in enumerate(self.sides, 1) if not one.whole and (side is None or side is one)]
        names = [f"loads_{place}" for place in changed] + ["loads"][: len(changed)]
        loads = sum(self.units.get(name, 0.0) for name in names)
        return step * (1 + SUMS_UNIT + DIFFERENCE_UNIT * (1 - step / 2)) + loads


def tilted(values: Floats, shares: Floats, mean: float) -> Floats:
    """Return the shares of values that have a given mean, of all such ones those nearest to some shares.

    >>> tilted(np.array([1.0, 2.0, 3.0]), np.ones(3) / 3, 2.0).round(3).tolist()
    [0.333, 0.333, 0.333]
    >>> round(float(tilted(np.array([1.0, 2.0, 6.0]), np.ones(3) / 3, 2.5) @ [1, 2, 6]), 6)
    2.5
    """
    width = float(values[-1] - values[0])
    if width == 0:
        return np.asarray(shares / shares.sum())
    scaled, low, high = (values - values[0]) / width, -200.0, 200.0
    target = min(max((mean - float(values[0])) / width, 0.01), 0.99)
    for _ in range(60):
        middle = (low + high) / 2
        tilt = shares * np.exp(middle * scaled - max(middle, 0.0))
        tilt /= tilt.sum()
        low, high = (middle, high) if float(tilt @ scaled) < target else (low, middle)
    return np.asarray(tilt)


def side_of(weights: PublicWeights, limits: tuple[float, float] | None = None, *, least: int = LEAST) -> Side:
    """Return a conference with the usual limits of clipping, unless others are given."""
    return Side(weights=weights, limits=default_limits(weights, TAIL) if limits is None else limits, least=least)
