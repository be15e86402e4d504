"""Correlations between two conferences: of observed means and of the trait behind them, from noisy sums.

docs/mathematics.md, "Linked conferences", derives all of it. Intervals cover the noise, and the sampling of people.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from peerveil.errors import InputError
from peerveil.inference.effects import LEVEL, Error, check_level
from peerveil.inference.linked.clipping import Clipped
from peerveil.privacy.linked.sums import ICC, LinkedSums, LoadMoments, Side
from peerveil.record.public_record import Floats

#: The spread around 0 that the relative difference of both variances, and the mean position, have beforehand; and that
#: of moments of loads around those of the whole conference, relative to the largest load.
_DIFFERENCE, _OFFSET, _LOADS = 0.2, 0.15, 0.05

#: Correlations that are considered.
_GRID: Floats = np.linspace(-1.0, 1.0, 2001)

#: Fewer people, or smaller sums of squares, than so many times the scale of their noise say nothing.
_FEWEST = 3.0

#: The step of numerical derivatives, relative to the number of people.
_STEP = 1e-3

#: The relative error of the trait's deviations, as clipped means are not quite normal.
_SHAPE = 0.05

#: The least variance of the trait that is taken for one, relative to that of means.
_LEAST = 0.01


@dataclass(frozen=True, kw_only=True)
class Interval:
    """An estimated correlation and its interval, within -1 and 1.

    Attributes:
        value: the estimate; ``None`` if there is none.
        low: the lower end of the interval.
        high: the upper end of the interval.
    """

    value: float | None
    low: float
    high: float

    @property
    def known(self) -> bool:
        """Whether anything is known."""
        return self.high - self.low < 2


#: Nothing is known about a correlation.
UNKNOWN = Interval(value=None, low=-1.0, high=1.0)


@dataclass(frozen=True, kw_only=True)
class Correlations:
    """Estimated correlations between two conferences.

    Attributes:
        people: the estimated number of people.
        observed: the correlation of observed means.
        trait: that of what means would be over very many reviews; ``None`` if weights are hidden.
        reliability: the estimated share of the variance of means that is the trait's, over both conferences.
    """

    people: float
    observed: Interval = UNKNOWN
    trait: Interval | None = UNKNOWN
    reliability: float | None = None


def correlations(sums: LinkedSums, noisy: Floats, scale: float, *, level: float = LEVEL) -> Correlations:
    """Return both correlations with their intervals, from noisy numbers whose noise has a scale.

    >>> from peerveil.privacy.linked.sums import Side
    >>> from peerveil.quantities.weights import PublicWeights
    >>> side = Side(weights=PublicWeights.from_rows([[0, 1]] * 800, load=2), limits=(0.0, 1.0))
    >>> sums = LinkedSums(sides=(side, side))
    >>> numbers = {"people": 700, "sum_1": 0, "sum_2": 0, "alike": 300, "apart": 100, "difference": 0}
    >>> noisy = np.array([numbers[name] * unit for name, unit in sums.units.items()])
    >>> made = correlations(sums, noisy, 1e-3)
    >>> round(made.observed.value, 2), made.observed.low > 0.4
    (0.55, True)
    """
    check_level(level)
    if noisy.shape != (len(sums.units),):
        raise InputError(f"the release of this correlation has {len(sums.units)} noisy numbers, got {noisy.size}")
    units = np.array(list(sums.units.values()))
    numbers, scales = noisy / units, scale / units
    hidden = not all(side.weights.exact for side in sums.sides)
    most = float(min(side.people for side in sums.sides))
    moments = _Moments.of(sums, numbers, scales)
    if moments is None:
        return Correlations(people=min(max(float(numbers[0]), 0.0), most), trait=None if hidden else UNKNOWN)

    def at(moved: Floats) -> _Moments:
        return _Moments.of(sums, moved, scales) or moments

    spread = _spread(sums, moments)
    people = min(moments.people, most)
    observed = fieller(lambda moved: at(moved).observed(), numbers, scales, spread, level=level, people=people)
    if hidden:
        return Correlations(people=people, observed=observed, trait=None)
    trait = UNKNOWN
    if min(moments.shares) > _LEAST:
        trait = fieller(
            lambda moved: at(moved).trait(), numbers, scales, spread, shape=_SHAPE, level=level, people=people
        )
    reliability = math.sqrt(math.prod(min(max(share, 0.0), 1.0) for share in moments.shares))
    return Correlations(people=people, observed=observed, trait=trait, reliability=reliability)


class Ratio(NamedTuple):
    """A covariance, and the product of deviations by which it is divided."""

    covariance: float
    deviations: float


@dataclass(frozen=True, kw_only=True, eq=False)
class _Moments:
    """Moments of the positions of people.

    Attributes:
        sums: what is public.
        people: their number.
        sides: normal variables whose clipped moments are those of the positions in each conference.
        covariance: the covariance of positions.
        loads: moments of their loads in each conference.
        product: the mean of the product of both loads.
    """

    sums: LinkedSums
    people: float
    sides: tuple[Clipped, Clipped]
    covariance: float
    loads: tuple[LoadMoments, LoadMoments]
    product: float

    @classmethod
    def of(cls, sums: LinkedSums, numbers: Floats, scales: Floats) -> _Moments | None:
        """Return the moments that numbers in their natural units say; ``None`` if they say nothing."""
        number = dict(zip(sums.units, numbers.tolist(), strict=True))
        scale = dict(zip(sums.units, scales.tolist(), strict=True))
        people, squares = number["people"], number["alike"] + number["apart"]
        if people < max(2.0, _FEWEST * scale["people"]) or squares < _FEWEST * scale["alike"]:
            return None
        means = [_seen(number[f"sum_{side}"] / people, scale[f"sum_{side}"] / people, _OFFSET) for side in (1, 2)]
        difference = _seen(number["difference"] / squares, scale["difference"] / squares, _DIFFERENCE)
        total = min(squares / people, 1.0)
        variances = [total * (1 + sign * difference) - mean**2 for sign, mean in zip((1, -1), means, strict=True)]
        if min(variances) <= 0.01 * total:
            return None

        def load(name: str, expected: float, largest: float) -> float:
            """The mean of a moment of loads: as expected, moved as far as the noisy sum says more than noise."""
            if name not in number:
                return expected
            away = number[name] / people - expected / largest
            return expected + largest * _seen(away, scale[name] / people, _LOADS)

        first, second = (
            side.moments(load(f"loads_{place}", side.moments().square, side.largest**2))
            for place, side in enumerate(sums.sides, 1)
        )
        largest = sums.sides[0].largest * sums.sides[1].largest
        product = load("loads", first.load * second.load, largest)
        return cls(
            sums=sums,
            people=people,
            sides=(
                Clipped.like(means[0], variances[0], sums.sides[0].excess),
                Clipped.like(means[1], variances[1], sums.sides[1].excess),
            ),
            covariance=(number["alike"] - number["apart"]) / people - means[0] * means[1],
            loads=(first, second),
            product=min(max(product, 0.1 * largest), math.sqrt(first.square * second.square)),
        )

    @cached_property
    def between(self) -> tuple[float, float]:
        """The variance of the trait in each conference, as clipped weights show it; it may be negative.

        Totals over ``l`` weights of variance ``T`` have the variance ``l**2 V + l (T - V)``.
        """
        first, second = (
            (one.deviation**2 - loads.load * side.spread) / max(loads.square - loads.load, 1e-9)
            for one, loads, side in zip(self.sides, self.loads, self.sums.sides, strict=True)
        )
        return first, second

    @property
    def shares(self) -> list[float]:
        """The share of the variance of totals that is the trait's, in each conference."""
        return [
            loads.square * part / one.deviation**2
            for part, loads, one in zip(self.between, self.loads, self.sides, strict=True)
        ]

    @cached_property
    def correlation(self) -> float:
        """The correlation of totals before they were clipped."""
        first, second = self.sides
        return first.unclipped(second, self.covariance / math.sqrt(first.variance * second.variance))

    def observed(self) -> Ratio:
        """Return the correlation of means of weights before clipping, as a ratio."""
        factor = 1 / self.product
        for part, loads, side in zip(self.between, self.loads, self.sums.sides, strict=True):
            factor *= _to_means(part / side.spread if side.weights.exact else ICC, loads, side)
        deviations = math.sqrt(self.sides[0].variance * self.sides[1].variance)
        return Ratio(self.correlation * factor * deviations, deviations)

    def trait(self) -> Ratio:
        """Return the covariance of the traits, and the product of their deviations."""
        first, second = (max(part, 0.0) for part in self.between)
        covariance = self.correlation * self.sides[0].deviation * self.sides[1].deviation / self.product
        return Ratio(covariance, math.sqrt(first * second))


def _to_means(share: float, loads: LoadMoments, side: Side) -> float:
    """Return the deviation of totals of clipped weights relative to that of means of weights before clipping.

    Both with what a shift of all weights makes of them for the unit, and with a ``share`` of the variance of clipped
    weights that is the trait's.
    """
    share = min(max(share, 0.0), 0.7)
    totals = loads.square * share + loads.load * (1 - share)
    trait = min(share * side.variance / side.passing**2, side.raw_variance)
    means = trait * (1 - loads.inverse) + side.raw_variance * loads.inverse
    return math.sqrt(side.variance * totals / means) / side.passing


def _seen(number: float, scale: float, spread: float) -> float:
    """Return a number as far as it is more than noise of a scale, if it has a spread around 0 beforehand."""
    return min(max(number * spread**2 / (spread**2 + 2 * scale**2), -0.9), 0.9)


def fieller(
    ratio: Callable[[Floats], Ratio],
    numbers: Floats,
    scales: Floats,
    spread: Floats,
    *,
    level: float,
    people: float,
    shape: float = 0.0,
) -> Interval:
    """Return the correlations that are not too far from the numbers, as noise and sampling go (Fieller's method).

    ``ratio`` is a function of the numbers of so many ``people``, ``spread`` their covariance by sampling, and ``shape``
    the relative error of the deviations that both leave out. A correlation is too far if it is so compared with the
    nearest one, which may be 1 or -1.
    """
    at = ratio(numbers)
    slopes = np.array([_slope(ratio, numbers, place, _STEP * people) for place in range(numbers.size)])
    by_grid = slopes[:, 0] - _GRID[:, None] * slopes[:, 1]
    sampled = np.einsum("gi,ij,gj->g", by_grid, spread, by_grid) + (shape * _GRID * at.deviations) ** 2
    noise = 2 * by_grid**2 @ scales**2
    far = (at.covariance - _GRID * at.deviations) ** 2 / np.maximum(sampled + noise, 1e-300)
    nearest = int(np.argmin(far))
    error = Error(
        variances=np.array([max(float(sampled[nearest]), 1e-9 * float(noise[nearest]))]),
        chances=np.ones(1),
        scales=np.abs(by_grid[nearest]) * scales,
    )
    if error.deviation == 0:  # numbers at the edge of what is possible, which small changes leave as they are
        return UNKNOWN
    beyond = far - far[nearest] - (error.within(level) / error.deviation) ** 2
    inside = np.flatnonzero(beyond <= 0)
    low, high = (
        float(np.interp(0.0, beyond[[end, out]], _GRID[[end, out]])) if 0 <= out < _GRID.size else float(_GRID[end])
        for end, out in ((inside[0], inside[0] - 1), (inside[-1], inside[-1] + 1))
    )
    made = Interval(value=float(_GRID[nearest]), low=low, high=high)
    return made if made.known else UNKNOWN


def _slope(ratio: Callable[[Floats], Ratio], numbers: Floats, place: int, step: float) -> Floats:
    """Return the derivatives of covariance and deviations by one number."""
    moved = np.zeros(numbers.size)
    moved[place] = step
    ends = [np.array(ratio(numbers + sign * moved)) for sign in (1, -1)]
    return np.asarray((ends[0] - ends[1]) / (2 * step))


def _spread(sums: LinkedSums, moments: _Moments) -> Floats:
    """Return the covariance of the numbers by the sampling of people, whose number is given.

    Positions are taken for normal but for the effect of clipping on their fourth moments.
    """
    first, second = moments.sides
    v, w, c = first.variance, second.variance, moments.covariance
    share, a, b = min(c**2 / (v * w), 1.0), first.kurtosis, second.kurtosis
    both = math.sqrt(a * b)
    base = np.zeros((5, 5))  # of deviations dx, dy, and of dx**2, dy**2, dx dy
    base[:2, :2] = [[v, c], [c, w]]
    mixed = [2 * both * c**2, 2 * a * c * v, 2 * b * c * w]
    base[2:, 2:] = [
        [2 * a * v**2, mixed[0], mixed[1]],
        [mixed[0], 2 * b * w**2, mixed[2]],
        [mixed[1], mixed[2], v * w * (1 - share + 2 * both * share)],
    ]
    m, n = first.clipped_mean, second.clipped_mean
    x, y = np.array([1.0, 0, 0, 0, 0]), np.array([0, 1.0, 0, 0, 0])
    xx, yy, xy = np.array([2 * m, 0, 1.0, 0, 0]), np.array([0, 2 * n, 0, 1.0, 0]), np.array([n, m, 0, 0, 1.0])
    rows = {
        "sum_1": x,
        "sum_2": y,
        "alike": (xx + yy + 2 * xy) / 4,
        "apart": (xx + yy - 2 * xy) / 4,
        "difference": (xx - yy) / 2,
    }
    matrix = np.array([rows.get(name, np.zeros(5)) for name in sums.units])
    return np.asarray(moments.people * matrix @ base @ matrix.T)
