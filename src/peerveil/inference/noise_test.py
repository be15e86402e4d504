"""Statistical tests of published noise against its stated law, using public bounds on the truth only.

The public record bounds the true vector, so the noise is known up to an interval, entry by entry.

**False alarms.** Each test bounds a statistic ``T`` of the noise by bounds that hold for every true vector in the
region: ``low <= T <= high``. The law of ``T`` is known exactly and does not depend on the truth. If ``high`` has a
lower tail probability ``F(high)`` below ``a``, so has ``T``; and ``P(F(T) < a) <= a``. Hence noise that follows its
stated law is called too small with probability at most ``a``, whatever the true vector is; likewise for too large.
Several statistics share ``a`` equally (union bound). With ``LEVEL = 1e-6``, half for each side, an honest release is
refused with probability at most one in a million. See docs/mathematics.md, "Testing noise against its law".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from peerveil.errors import InputError
from peerveil.privacy.law import CountLaw, Law
from peerveil.record.public_record import Floats, Ints

#: The maximal probability of refusing noise that follows its stated law.
LEVEL = 1e-6


@dataclass(frozen=True, kw_only=True)
class NoiseCheck:
    """Bounds on p-values of the published noise under its stated law.

    Attributes:
        small: bound on the probability of noise at most as large; ``None`` where that is not tested.
        large: bound on the probability of noise at least as large.

    >>> NoiseCheck(small=1e-9, large=1.0).too_small
    True
    """

    small: float | None
    large: float

    @property
    def too_small(self) -> bool:
        """Whether the noise is smaller than its law can explain."""
        return self.small is not None and self.small < LEVEL / 2

    @property
    def too_large(self) -> bool:
        """Whether the noise is larger than its law can explain."""
        return self.large < (LEVEL if self.small is None else LEVEL / 2)


# Theorem V1.
def vector_noise(noisy: Floats, lower: Floats, upper: Floats, law: Law) -> NoiseCheck:
    """Test the noise on a sorted vector, given ascending bounds on each entry of the true one.

    Two statistics are used. The *entries*: noise ``i`` lies between ``noisy[i] - upper[i]`` and ``noisy[i] -
    lower[i]``, which bounds every statistic that grows with each size: :meth:`Law.entries`. The *pairs*, where the law
    has such a statistic (:meth:`Law.pairs`): neighbouring entries are subtracted. As the true vector ascends, its
    differences are at least 0 and sum to at most ``upper[-1] - lower[0]``, so the norm of the differences of the noise
    is known up to that much.

    >>> from peerveil.privacy.noise_laws import LaplaceLaw
    >>> bound = np.zeros(40)
    >>> noise = np.random.default_rng(1).laplace(size=40)
    >>> honest = vector_noise(noise, bound, bound, LaplaceLaw(scale=1.0))
    >>> honest.too_small, honest.too_large
    (False, False)
    >>> vector_noise(noise / 20, bound, bound, LaplaceLaw(scale=1.0)).too_small
    True
    >>> vector_noise(noise * 20, bound, bound, LaplaceLaw(scale=1.0)).too_large
    True
    """
    if isinstance(law, CountLaw):
        raise InputError(f"law must be that of noise on a vector, got {law!r}")
    if not noisy.shape == lower.shape == upper.shape or noisy.ndim != 1 or not noisy.size:
        raise InputError(f"noisy, lower and upper must be vectors of one length, got {noisy.size} and {lower.size}")
    with np.errstate(over="ignore"):  # an infinite statistic has the right tails, 0 and 1
        furthest = np.maximum(np.abs(noisy - lower), np.abs(noisy - upper))
        nearest = np.maximum(np.maximum(lower - noisy, noisy - upper), 0.0)
        apart = np.abs(np.diff(noisy)[::2])
        moved = upper[-1] - lower[0]  # the maximal sum of differences of the true vector
        tests = [(law.entries(furthest), law.entries(nearest))]
        if apart.size and (pairs := law.pairs(apart, moved)) is not None:
            tests.append(pairs)
    return NoiseCheck(
        small=min(1.0, len(tests) * min(most[0] for most, _ in tests)),
        large=min(1.0, len(tests) * min(least[1] for _, least in tests)),
    )


def count_noise(counts: Ints, total: int, law: Law) -> NoiseCheck:
    """Test whether the noise on counts with a public true total is too large.

    Two statistics are used: the sum of the noise, which is the sum of the noisy counts minus the total; and the sum of
    its absolute values, which is at least the distance of the noisy counts from all non-negative counts with that
    total. Their tails are bounded by Chernoff's inequality.

    >>> from peerveil.privacy.noise_laws import DiscreteLaplaceLaw
    >>> law = DiscreteLaplaceLaw(scale=5.0)
    >>> count_noise(np.array([12, -3, 4]), 10, law).too_large
    False
    >>> count_noise(np.array([900, -500, 4]), 10, law).too_large
    True
    """
    if not isinstance(law, CountLaw):
        raise InputError(f"law must be that of noise on counts, got {law!r}")
    numbers = [int(count) for count in counts]
    kept = sum(count for count in numbers if count > 0)
    below = sum(-count for count in numbers if count < 0)
    off = abs(kept - below - total)
    away = below + abs(kept - total)  # the least sum of absolute changes to counts of at least 0 with that total
    by_sum = 2 * _chernoff(law.log_mean_exp, len(numbers), float(off), law.scale)
    by_size = _chernoff(law.log_mean_exp_size, len(numbers), float(away), law.scale)
    return NoiseCheck(small=None, large=min(1.0, 2 * min(by_sum, by_size)))


def _chernoff(log_mean: Callable[[float], float], times: int, value: float, scale: float) -> float:
    """Chernoff bound on the probability that a sum of independent numbers is at least ``value``.

    ``P(S >= v) <= exp(-rate v) E exp(rate X)**times`` holds for every rate, also if the minimum is not found exactly.
    """

    def exponent(share: float) -> float:
        rate = float(share) / scale
        return times * log_mean(rate) - rate * value

    least = minimize_scalar(exponent, bounds=(0.0, 1 - 1e-9), method="bounded", options={"xatol": 1e-10})
    return math.exp(min(0.0, exponent(float(least.x))))
