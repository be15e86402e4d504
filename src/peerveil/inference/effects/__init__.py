"""Effects: the difference between two groups of reviewers, estimated from noisy sums, with its interval.

An interval covers the noise, and the sampling of reviewers: their reviews are clustered, and how much they have in
common, and how much each group is spread, is learnt from the noisy squares. docs/mathematics.md, "Effects", derives all
of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln

from peerveil.errors import Argument, InputError
from peerveil.inference.effects.spread import Spread, loads_of, spread_of
from peerveil.privacy.group_sums import GroupSums
from peerveil.record.public_record import Floats

#: The level of intervals.
LEVEL = 0.9

# The integral of the characteristic function ends where that of the normal law, or that of the noise, has vanished.
_STEPS, _FAR, _WIDE = 8000, 9.0, 400.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Error:
    """The law of an estimate's error: a normal law of uncertain variance for sampling, and independent Laplace noise.

    Attributes:
        variances: possible variances of the normal law.
        chances: the probability of each.
        scales: the scales of the Laplace laws.

    >>> error = Error(variances=np.array([1.0]), chances=np.array([1.0]), scales=np.zeros(1))
    >>> round(error.within(0.9), 3)
    1.645
    """

    variances: Floats
    chances: Floats
    scales: Floats

    @classmethod
    def of(cls, variances: Floats, chances: Floats, scales: Floats) -> Error:
        """Return the law for many possible variances, of which those that differ by a hundredth are taken as one."""
        place = np.rint(np.log(variances) * 100).astype(np.int64)
        place -= place.min()
        together, mean = np.bincount(place, weights=chances), np.bincount(place, weights=chances * variances)
        kept = together > 1e-9
        chances = together[kept] / together[kept].sum()
        return cls(variances=mean[kept] / together[kept], chances=chances, scales=scales)

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return math.sqrt(float(self.chances @ self.variances) + 2 * float(self.scales @ self.scales))

    @cached_property
    def _transform(self) -> tuple[Floats, Floats]:
        """Midpoints t of steps, and the characteristic function at each, times the step over t."""
        end = min(_FAR / math.sqrt(float(self.variances.min())), _WIDE / self.deviation)
        t: Floats = (np.arange(_STEPS, dtype=np.float64) + 0.5) * (end / _STEPS)
        normal = self.chances @ np.exp(-0.5 * np.outer(self.variances, t**2))
        return t, normal / np.prod(1 + np.outer(self.scales, t) ** 2, axis=0) / t * (end / _STEPS)

    def above(self, size: float) -> float:
        """Return the probability of an error whose absolute value exceeds a size."""
        # P(|X| <= x) = 2/pi times the integral of sin(t x) / t times the characteristic function, over t > 0.
        t, transform = self._transform
        return min(max(1 - 2 / math.pi * float(np.sin(t * size) @ transform), 0.0), 1.0)

    def within(self, level: float) -> float:
        """Return the size that the absolute error does not exceed with a probability."""
        most = 12 * self.deviation
        return float(brentq(lambda size: self.above(size) - (1 - level), 0.0, most, xtol=1e-9 * most))


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """An estimated effect.

    Attributes:
        value: the difference of the mean weight, first group minus second.
        low: lower end of its interval.
        high: upper end of its interval.
        sizes: the estimated number of reviews of each group.
        p_value: of the test that there is no effect; ``None`` unless groups were randomised.
    """

    value: float
    low: float
    high: float
    sizes: tuple[float, float]
    p_value: float | None


def estimate(sums: GroupSums, noisy: Floats, scale: float, *, level: float = LEVEL) -> Estimate:
    """Return the effect and its interval from noisy numbers, whose noise has a scale.

    >>> from peerveil.quantities.weights import PublicWeights
    >>> sums = GroupSums(weights=PublicWeights.from_rows([[0, 1]] * 400, load=2), limits=(0, 1))
    >>> numbers = {"sum_1": 40.0, "reviews_1": 400.0, "squares_1": 100.0, "squares_2": 100.0}
    >>> noisy = np.array([numbers[name] * unit for name, unit in sums.units.items()])
    >>> made = estimate(sums, noisy, 1e-6)
    >>> round(made.value, 6), made.low > 0.1
    (0.2, True)
    """
    check_level(level)
    numbers, scales = _numbers(sums, noisy, scale)
    value, gradient, sizes = _difference(sums, numbers, scales)
    noise = np.abs(np.array([gradient.get(name, 0.0) for name in sums.units])) * np.array(list(scales.values()))
    first, second = sizes
    numbers |= {"size_1": first, "size_2": second}
    spread = spread_of(sums, numbers, scales, first / (first + second))
    test = Error.of(_sampled(sums, numbers, spread), spread.chances, noise)
    within = _sampled(sums, numbers, spread.within(*_between(sums, value, sizes)))
    half = Error.of(within + value**2 * _mixture_variance(sums, sizes), spread.chances, noise).within(level)
    if "mixed" in numbers and numbers["mixed"] < least_mixed(scales["mixed"], level):
        half = math.inf
    p_value = test.above(abs(value)) if sums.randomised else None
    widest = 2 * sums.width  # at least half of the weights are within limits of this width
    value, low, high = (min(max(number, -widest), widest) for number in (value, value - half, value + half))
    return Estimate(value=value, low=low, high=high, sizes=sizes, p_value=p_value)


def check_level(level: float) -> float:
    """Return the level of an interval, if it is one."""
    if isinstance(level, bool) or not isinstance(level, float | int) or not 0.5 <= level <= 0.999:
        raise InputError(Argument("level"), f" must be between 0.5 and 0.999, such as 0.9, got {level!r}")
    return float(level)


def _numbers(sums: GroupSums, noisy: Floats, scale: float) -> tuple[dict[str, float], dict[str, float]]:
    """The noisy numbers and the scales of their noise by name, in their natural units."""
    units = sums.units
    if noisy.shape != (len(units),):
        raise InputError(f"the release of this effect has {len(units)} noisy numbers, got {noisy.size}")
    numbers = {name: float(x) / unit for (name, unit), x in zip(units.items(), noisy.tolist(), strict=True)}
    return numbers, {name: scale / unit for name, unit in units.items()}


def _difference(
    sums: GroupSums, numbers: dict[str, float], scales: dict[str, float]
) -> tuple[float, dict[str, float], tuple[float, float]]:
    """The estimate, its derivatives, and the sizes of both groups in reviews."""
    reviews = sums.weights.low.size
    first, second = map(float, sums.reviews) if sums.reviews else _noisy_sizes(sums, numbers, scales)
    sum_1 = numbers["sum_1"]
    sum_2 = numbers.get("sum_2", sums.total - sum_1)
    mean_1, mean_2 = sum_1 / first, sum_2 / second
    value = mean_1 - mean_2
    gradient = {"sum_1": 1 / first, "reviews_1": -mean_1 / first}
    if "sum_2" in numbers:
        gradient["sum_2"] = -1 / second
    else:
        gradient["sum_1"] += 1 / second
    if sums.others:
        gradient["reviews_2"] = mean_2 / second
    else:
        gradient["reviews_1"] -= mean_2 / second
    attenuation = 1.0
    if sums.relative and sums.randomised:
        people = sums.weights.reviewers
        attenuation = people / (people - 1)
    elif sums.relative:
        mixed = max(numbers["mixed"], 2 * scales["mixed"], 1.0)
        evenly = first * second / reviews
        attenuation = mixed / evenly
        gradient["mixed"] = -value / evenly / attenuation
        gradient["reviews_1"] += value * (second - first) / (first * second)
    attenuation *= sums.passing
    return value / attenuation, {name: slope / attenuation for name, slope in gradient.items()}, (first, second)


def _noisy_sizes(sums: GroupSums, numbers: dict[str, float], scales: dict[str, float]) -> tuple[float, float]:
    """The sizes of both groups in reviews, from noisy ones.

    A group smaller than the noise in its size is of unknown size, and its interval as wide as for the noise.
    """
    reviews, least = sums.weights.low.size, max(1.0, 2 * scales["reviews_1"])
    first = min(max(numbers["reviews_1"], least), max(reviews - least, least))
    return first, max(numbers["reviews_2"], least) if sums.others else max(reviews - first, least)


def least_mixed(scale: float, level: float) -> float:
    """Return what noise of a scale exceeds with a quarter of an interval's error probability.

    A mixture of groups within papers below it may be noise alone. The estimate is divided by it, so it may then be of
    any size.

    >>> round(least_mixed(1.0, 0.9), 2)
    3.0
    """
    return math.log(2 / (1 - level)) * scale


def _sampled(sums: GroupSums, numbers: dict[str, float], spread: Spread) -> Floats:
    """The variance of the estimate from sampling, for each possible spread of the groups."""
    first, second = numbers["size_1"], numbers["size_2"]
    if "mixed" in numbers:
        return np.maximum(spread.first, spread.second) / max(numbers["mixed"], 1.0) / sums.passing**2
    return (spread.first / first + spread.second / second) / sums.passing**2


def _between(sums: GroupSums, value: float, sizes: tuple[float, float]) -> tuple[float, float]:
    """The part of each group's squares that is due to the effect itself, per review."""
    loads, people = loads_of(sums)
    largest = float(people @ loads**2) / sums.weights.low.size if sums.randomised else float(loads.min())
    first, second = (size / (sizes[0] + sizes[1]) for size in sizes)
    squared = largest * (value * sums.passing) ** 2
    if sums.pairs:  # reviews of both groups are of the same reviewers
        return squared * first * second, squared * first * second
    return squared * second**2, squared * first**2


def _mixture_variance(sums: GroupSums, sizes: tuple[float, float]) -> float:
    """The relative variance of the mixture of randomised groups within papers, which is not known exactly."""
    if not (sums.relative and sums.randomised):
        return 0.0
    counts = np.bincount(sums.weights.sizes())
    share = sizes[0] / (sizes[0] + sizes[1])
    variance = 0.0
    for k in np.flatnonzero(counts).tolist():
        if k > 1:
            m = np.arange(k + 1)
            ways = gammaln(k + 1) - gammaln(m + 1) - gammaln(k - m + 1)  # a paper may have thousands of reviews
            chance = np.exp(ways + m * math.log(share) + (k - m) * math.log1p(-share))
            mixed = m * (k - m) / (k - 1)
            variance += float(counts[k]) * float(chance @ mixed**2 - (chance @ mixed) ** 2)
    return variance / (sums.weights.low.size * share * (1 - share)) ** 2
