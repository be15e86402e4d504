"""Noise distributions for estimators, tests of published noise and the audit.

:class:`Law` documents the methods. The noise of releases does not come from here, but from OpenDP on the private side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from scipy.special import erf, log_ndtr

from peerveil.errors import Argument, InputError
from peerveil.privacy.law import CountLaw, Law, Loss, Tails, gamma_tails, laplace_pair_tails
from peerveil.record.public_record import Floats
from peerveil.support.arguments import real

__all__ = ["CountLaw", "DiscreteLaplaceLaw", "LaplaceLaw", "Law", "NormalLaw", "SinhNormalLaw"]


class _Checked:
    """A distribution with finite positive parameters."""

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            value = real(Argument(field.name, of="noise"), getattr(self, field.name))
            object.__setattr__(self, field.name, value)
            if not (math.isfinite(value) and value > 0):
                raise InputError(Argument(field.name, of="noise"), f" must be a finite number > 0, got {value}")


class _Exponential(_Checked):
    """A distribution whose density falls by a factor e per ``scale``, on both sides."""

    scale: float

    def expected(self, off: Floats, variance: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the expected log density of Laplace noise, the continuous approximation of discrete noise."""
        root = np.sqrt(variance)
        side = erf(off / (math.sqrt(2) * root))
        bell = np.exp(-0.5 * (off / root) ** 2) * (math.sqrt(2 / math.pi) / root)
        value = -np.sum(off * side + variance * bell, axis=-1) / self.scale - off.shape[-1] * math.log(2 * self.scale)
        return value, -side / self.scale, bell / self.scale

    def loss(self, moves: Floats) -> Loss:
        epsilon = math.fsum(np.abs(moves)) / self.scale
        return Loss(epsilon=epsilon, rho=epsilon**2 / 2)


@dataclass(frozen=True, kw_only=True)
class LaplaceLaw(_Exponential, Law):
    """The Laplace distribution, with density ``exp(-|x| / scale) / (2 scale)``.

    >>> LaplaceLaw(scale=2.0).deviation
    2.8284271247461903
    """

    scale: float

    @property
    def deviation(self) -> float:
        return math.sqrt(2) * self.scale

    def log_density(self, noise: Floats) -> Floats:
        return -np.abs(noise) / self.scale - math.log(2 * self.scale)

    def draw(self, rng: np.random.Generator, size: int) -> Floats:
        return rng.laplace(scale=self.scale, size=size)

    def log_tail(self, size: Floats) -> Floats:
        return -np.asarray(size) / self.scale

    def pairs(self, apart: Floats, moved: float) -> tuple[Tails, Tails]:
        total = apart.sum()
        most, least = (laplace_pair_tails(apart.size, max(x, 0.0) / self.scale) for x in (total + moved, total - moved))
        return most, least


@dataclass(frozen=True, kw_only=True)
class DiscreteLaplaceLaw(_Exponential, CountLaw):
    """The two-sided geometric distribution: integers with probabilities proportional to ``exp(-|k| / scale)``.

    >>> round(DiscreteLaplaceLaw(scale=10.0).deviation, 3)
    14.136
    """

    scale: float

    @property
    def deviation(self) -> float:
        half = 1 / (2 * self.scale)
        return math.sqrt(0.5) / math.sinh(half) if half < 700 else 0.0

    def log_density(self, noise: Floats) -> Floats:
        return -np.abs(noise) / self.scale + math.log(math.tanh(1 / (2 * self.scale)))

    def draw(self, rng: np.random.Generator, size: int) -> Floats:
        """Return seeded noise, the difference of two geometric variables."""
        chance = -math.expm1(-1 / self.scale)
        return (rng.geometric(chance, size) - rng.geometric(chance, size)).astype(np.float64)

    def log_tail(self, size: Floats) -> Floats:
        """Return the logarithm of ``2 r^(m + 1) / (1 + r)``, with ``r = exp(-1 / scale)``."""
        return math.log(2 / (1 + math.exp(-1 / self.scale))) - (np.floor(size) + 1) / self.scale

    def limit(self, share: float) -> tuple[float, float]:
        tail = 2 / (1 + math.exp(-1 / self.scale))
        most = max(0, round(-self.scale * math.log((1 - share) / tail) - 1))
        return most + 0.5, 1 - tail * math.exp(-(most + 1) / self.scale)

    def log_mean_exp(self, rate: float) -> float:
        below, above, least = (-math.expm1(x - 1 / self.scale) for x in (-rate, rate, 0.0))
        return 2 * math.log(least) - math.log(above) - math.log(below)

    def log_mean_exp_size(self, rate: float) -> float:
        exponent = rate - 1 / self.scale
        normaliser = math.log(math.tanh(1 / (2 * self.scale)))
        return normaliser + math.log1p(math.exp(exponent)) - math.log(-math.expm1(exponent))


@dataclass(frozen=True, kw_only=True)
class NormalLaw(_Checked, Law):
    """The normal distribution with mean 0.

    >>> NormalLaw(sigma=2.0).deviation
    2.0
    """

    sigma: float

    @property
    def deviation(self) -> float:
        return self.sigma

    def log_density(self, noise: Floats) -> Floats:
        return -0.5 * np.square(noise / self.sigma) - math.log(self.sigma * math.sqrt(2 * math.pi))

    def draw(self, rng: np.random.Generator, size: int) -> Floats:
        return rng.normal(scale=self.sigma, size=size)

    def log_tail(self, size: Floats) -> Floats:
        return np.asarray(math.log(2) + log_ndtr(-np.asarray(size) / self.sigma))

    def expected(self, off: Floats, variance: Floats) -> tuple[Floats, Floats, Floats]:
        tau = self.sigma**-2
        value = np.sum(self.log_density(off) - 0.5 * tau * variance, axis=-1)
        return value, -tau * off, np.full(off.shape, tau)

    def entries(self, size: Floats) -> Tails:
        return _square_tails(size / self.sigma)

    def pairs(self, apart: Floats, moved: float) -> tuple[Tails, Tails]:
        norm = np.sqrt(np.square(apart).sum())
        ends = (norm + moved, max(norm - moved, 0.0))
        most, least = (gamma_tails(apart.size / 2, np.square(x / self.sigma) / 4) for x in ends)
        return most, least

    def loss(self, moves: Floats) -> Loss:
        mu = math.sqrt(math.fsum(np.square(moves))) / self.sigma
        return Loss(epsilon=math.inf if mu else 0.0, rho=mu**2 / 2, mu=mu)


@dataclass(frozen=True, kw_only=True)
class SinhNormalLaw(_Checked, Law):
    """The distribution of ``bound * arsinh(Z / bound)`` for normal ``Z``, whose tails are far lighter than normal.

    >>> round(SinhNormalLaw(sigma=1.0, bound=2.0).deviation, 6)
    0.914722
    """

    sigma: float
    bound: float

    @cached_property
    def deviation(self) -> float:
        """The standard deviation, by quadrature over ``Z``, where the integrand is smooth."""
        from scipy.integrate import quad  # noqa: PLC0415 - slow to load

        ratio = self.sigma / self.bound
        points = [1, 1 / (1 + ratio)]
        moment, _ = quad(lambda z: math.asinh(z * ratio) ** 2 * math.exp(-z * z / 2), 0, 39, points=points)
        return self.bound * math.sqrt(moment * math.sqrt(2 / math.pi))

    def log_density(self, noise: Floats) -> Floats:
        u = np.asarray(noise, dtype=np.float64) / self.bound
        with np.errstate(over="ignore"):  # the density is then 0
            z = self.bound * np.sinh(u)
            log_cosh = np.logaddexp(u, -u) - math.log(2)
            return log_cosh - 0.5 * np.square(z / self.sigma) - math.log(self.sigma * math.sqrt(2 * math.pi))

    def draw(self, rng: np.random.Generator, size: int) -> Floats:
        return self.bound * np.arcsinh(rng.normal(scale=self.sigma, size=size) / self.bound)

    def log_tail(self, size: Floats) -> Floats:
        return np.asarray(math.log(2) + log_ndtr(-self.bound / self.sigma * np.sinh(np.asarray(size) / self.bound)))

    def entries(self, size: Floats) -> Tails:
        """Return the tail probabilities of the sum of squares of the underlying normal variables."""
        return _square_tails(self.bound / self.sigma * np.sinh(size / self.bound))

    def loss(self, moves: Floats) -> Loss:
        """Return the bound of the theorem; the exact loss is smaller."""
        largest = float(np.abs(moves).max(initial=0.0))
        omega = self.bound / (8 * largest) if largest else math.inf
        rho = 8 * math.fsum(np.square(moves)) / self.sigma**2
        return Loss(epsilon=math.inf if largest else 0.0, rho=rho, omega=omega)


def _square_tails(sizes: Floats) -> Tails:
    """The tail probabilities of a sum of squares of independent standard normal variables."""
    return gamma_tails(sizes.size / 2, np.square(sizes).sum() / 2)
