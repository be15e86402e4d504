"""Statistical tests of published noise against its stated law, using public bounds on the truth only.

A release states the law of its noise and publishes the noisy data; the public record bounds what the noise was added
to. So the noise itself is known up to an interval, entry by entry, and sums over all entries have an exact law that the
interval must be able to meet.

**False alarms.** Each test below bounds a statistic ``T`` of the noise from the noisy data and from bounds that hold
for every true vector in the region: ``low <= T <= high`` surely, not only on average. The law of ``T`` is known exactly
and does not depend on the truth. If ``high`` has a lower tail probability ``F(high)`` below ``a``, so has ``T``; and
``P(F(T) < a) <= a``. Hence noise that follows its stated law is called too small with probability at most ``a``,
whatever the true vector is; in the same way for too large. Several statistics share ``a`` equally (union bound). With
``LEVEL = 1e-6``, half for each side, an honest release is refused with probability at most one in a million.
See docs/mathematics.md, "Testing noise against its law".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammainc, gammaincc, gammaln

from peerveil.errors import InputError
from peerveil.privacy.noise_laws import DiscreteLaplaceLaw, LaplaceLaw, Law, NormalLaw, SinhNormalLaw
from peerveil.record.public_record import Floats, Ints

#: The laws whose noise can be tested; those of mechanisms that users add cannot.
TESTED = (LaplaceLaw, NormalLaw, SinhNormalLaw, DiscreteLaplaceLaw)

#: How often noise that follows its stated law is refused, at most.
LEVEL = 1e-6


@dataclass(frozen=True, kw_only=True)
class NoiseCheck:
    """How likely noise as small, and as large, as the published one is under its stated law, at most.

    Attributes:
        small: bound on the probability of noise as small as this; ``None`` where that is not tested.
        large: bound on the probability of noise as large as this.

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


def vector_noise(noisy: Floats, lower: Floats, upper: Floats, law: Law) -> NoiseCheck:
    """Test the noise on a sorted vector, given bounds on each entry of the true one.

    Two statistics are used. The *entries*: noise ``i`` lies between ``noisy[i] - upper[i]`` and ``noisy[i] -
    lower[i]``, which bounds the sum of ``|x|`` (Laplace) or ``x**2`` (normal; sinh-normal after the transformation
    back). The *pairs*: neighbouring entries are subtracted. As the true vector ascends, its differences are at least 0
    and sum to at most ``upper[-1] - lower[0]``, so the norm of the differences of the noise is known up to that much.

    Args:
        noisy: the noisy vector, in order of rank.
        lower: what each true entry is at least, ascending.
        upper: what each true entry is at most, ascending.
        law: the stated law.

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
    if not noisy.shape == lower.shape == upper.shape or noisy.ndim != 1 or not noisy.size:
        raise InputError(f"noisy, lower and upper must be vectors of one length, got {noisy.size} and {lower.size}")
    with np.errstate(over="ignore"):  # an infinite statistic has the right tails, 0 and 1
        furthest = np.maximum(np.abs(noisy - lower), np.abs(noisy - upper))
        nearest = np.maximum(np.maximum(lower - noisy, noisy - upper), 0.0)
        apart = np.abs(np.diff(noisy)[::2])
        moved = upper[-1] - lower[0]  # what the differences of the true vector sum to, at most
        if isinstance(law, LaplaceLaw):
            of_entries = [_gamma(noisy.size, x.sum() / law.scale) for x in (furthest, nearest)]
            total = apart.sum()
            of_pairs = [_laplace_pairs(apart.size, max(x, 0.0) / law.scale) for x in (total + moved, total - moved)]
        elif isinstance(law, NormalLaw):
            of_entries = [_squares(x / law.sigma) for x in (furthest, nearest)]
            norm = np.sqrt(np.square(apart).sum())
            ends = (norm + moved, max(norm - moved, 0.0))
            of_pairs = [_gamma(apart.size / 2, np.square(x / law.sigma) / 4) for x in ends]
        elif isinstance(law, SinhNormalLaw):
            of_entries = [_squares(law.bound / law.sigma * np.sinh(x / law.bound)) for x in (furthest, nearest)]
            of_pairs = []
        else:
            raise InputError(f"law must be that of noise on a vector, got {law!r}")
    tests = [of_entries, of_pairs] if of_pairs and apart.size else [of_entries]
    return NoiseCheck(
        small=min(1.0, len(tests) * min(most[0] for most, _ in tests)),
        large=min(1.0, len(tests) * min(least[1] for _, least in tests)),
    )


def count_noise(counts: Ints, total: int, law: Law) -> NoiseCheck:
    """Test the noise on counts whose true total is public. Only noise that is too large can be told.

    Two statistics are used: the sum of the noise, which is the sum of the noisy counts minus the total; and the sum of
    its absolute values, which is at least the distance of the noisy counts from all counts of at least 0 with that
    total. Their tails are bounded by Chernoff's inequality, so the probability given is an upper bound.

    Args:
        counts: the noisy counts.
        total: what the true ones sum to.
        law: the stated law.

    >>> law = DiscreteLaplaceLaw(scale=5.0)
    >>> count_noise(np.array([12, -3, 4]), 10, law).too_large
    False
    >>> count_noise(np.array([900, -500, 4]), 10, law).too_large
    True
    """
    if not isinstance(law, DiscreteLaplaceLaw):
        raise InputError(f"law must be that of noise on counts, got {law!r}")
    numbers = [int(count) for count in counts]
    kept = sum(count for count in numbers if count > 0)
    below = sum(-count for count in numbers if count < 0)
    off = abs(kept - below - total)
    away = below + abs(kept - total)  # the least sum of absolute changes to counts of at least 0 with that total
    by_sum = 2 * _chernoff(lambda rate: _log_mean_exp(rate, law.scale), len(numbers), float(off), law.scale)
    by_size = _chernoff(lambda rate: _log_mean_exp_size(rate, law.scale), len(numbers), float(away), law.scale)
    return NoiseCheck(small=None, large=min(1.0, 2 * min(by_sum, by_size)))


Tails = tuple[float, float]


def _gamma(shape: float, value: float) -> Tails:
    """Lower and upper tail of a gamma law with scale 1."""
    return float(gammainc(shape, value)), float(gammaincc(shape, value))


def _squares(sizes: Floats) -> Tails:
    """Tails of a sum of squares of independent standard normal numbers."""
    return _gamma(sizes.size / 2, np.square(sizes).sum() / 2)


def _laplace_pairs(pairs: int, value: float) -> Tails:
    """Tails of a sum of ``|X - X'|`` over pairs of independent Laplace numbers of scale 1.

    ``|X - X'|`` has the density ``(1 + y) exp(-y) / 2``: a gamma law of shape 1 or 2, with probability one half each.
    So the sum has shape ``pairs + k``, where ``k`` is binomial.
    """
    if not pairs:
        return 1.0, 1.0
    twos = np.arange(pairs + 1.0)
    log_weight = gammaln(pairs + 1) - gammaln(twos + 1) - gammaln(pairs - twos + 1) - pairs * math.log(2)
    weight = np.exp(log_weight)
    return float(weight @ gammainc(pairs + twos, value)), float(weight @ gammaincc(pairs + twos, value))


def _log_mean_exp(rate: float, scale: float) -> float:
    """``log E exp(rate X)`` for discrete Laplace ``X``, for rates below ``1 / scale``."""
    below, above, least = (-math.expm1(x - 1 / scale) for x in (-rate, rate, 0.0))
    return 2 * math.log(least) - math.log(above) - math.log(below)


def _log_mean_exp_size(rate: float, scale: float) -> float:
    """``log E exp(rate |X|)`` for discrete Laplace ``X``, for rates below ``1 / scale``."""
    lifted = math.exp(rate - 1 / scale)
    return math.log(math.tanh(1 / (2 * scale))) + math.log1p(lifted) - math.log(-math.expm1(rate - 1 / scale))


def _chernoff(log_mean: Callable[[float], float], times: int, value: float, scale: float) -> float:
    """An upper bound on the probability that a sum of independent numbers is at least ``value``.

    ``P(S >= v) <= exp(-rate v) E exp(rate X)**times`` for every rate; the least of these is looked for, and whichever
    rate is found, the bound holds.
    """

    def exponent(share: float) -> float:
        rate = float(share) / scale
        return times * log_mean(rate) - rate * value

    found = minimize_scalar(exponent, bounds=(0.0, 1 - 1e-9), method="bounded", options={"xatol": 1e-10})
    return math.exp(min(0.0, exponent(float(found.x))))
