"""Laws of the noise on each entry of a vector: what an estimator may know of it, and seeded draws for simulations.

Nothing here makes a real release: its noise comes from OpenDP, on the private side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Protocol

import numpy as np
from scipy.integrate import quad

from peerveil.errors import Argument, InputError
from peerveil.record.public_record import Floats
from peerveil.support.arguments import real


class Law(Protocol):
    """The law of independent, symmetric noise with mean 0, the same on each entry."""

    @property
    def deviation(self) -> float:
        """Its standard deviation."""

    def log_density(self, noise: Floats) -> Floats:
        """The logarithm of its density, entry by entry."""

    def draw(self, rng: np.random.Generator, size: int) -> Floats:
        """Seeded noise, for simulations only."""


class _Checked:
    """Parameters of a law are finite and positive."""

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            value = real(Argument(field.name, of="noise"), getattr(self, field.name))
            object.__setattr__(self, field.name, value)
            if not (math.isfinite(value) and value > 0):
                raise InputError(Argument(field.name, of="noise"), f" must be a finite number > 0, got {value}")


@dataclass(frozen=True, kw_only=True)
class LaplaceLaw(_Checked):
    """Density ``exp(-|x| / scale) / (2 scale)``.

    >>> LaplaceLaw(scale=2.0).deviation
    2.8284271247461903
    """

    scale: float

    @property
    def deviation(self) -> float:
        """Its standard deviation."""
        return math.sqrt(2) * self.scale

    def log_density(self, noise: Floats) -> Floats:
        """The logarithm of its density, entry by entry."""
        return -np.abs(noise) / self.scale - math.log(2 * self.scale)

    def draw(self, rng: np.random.Generator, size: int) -> Floats:
        """Seeded noise, for simulations only."""
        return rng.laplace(scale=self.scale, size=size)


@dataclass(frozen=True, kw_only=True)
class DiscreteLaplaceLaw(_Checked):
    """Whole numbers with probabilities proportional to ``exp(-|k| / scale)``: the two-sided geometric law.

    >>> round(DiscreteLaplaceLaw(scale=10.0).deviation, 3)
    14.136
    """

    scale: float

    @property
    def deviation(self) -> float:
        """Its standard deviation."""
        half = 1 / (2 * self.scale)
        return math.sqrt(0.5) / math.sinh(half) if half < 700 else 0.0

    def log_density(self, noise: Floats) -> Floats:
        """The logarithm of its probabilities, entry by entry."""
        return -np.abs(noise) / self.scale + math.log(math.tanh(1 / (2 * self.scale)))

    def draw(self, rng: np.random.Generator, size: int) -> Floats:
        """Seeded noise, for simulations only: the difference of two geometric numbers."""
        chance = -math.expm1(-1 / self.scale)
        return (rng.geometric(chance, size) - rng.geometric(chance, size)).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class NormalLaw(_Checked):
    """The normal law with mean 0.

    >>> NormalLaw(sigma=2.0).deviation
    2.0
    """

    sigma: float

    @property
    def deviation(self) -> float:
        """Its standard deviation."""
        return self.sigma

    def log_density(self, noise: Floats) -> Floats:
        """The logarithm of its density, entry by entry."""
        return -0.5 * np.square(noise / self.sigma) - math.log(self.sigma * math.sqrt(2 * math.pi))

    def draw(self, rng: np.random.Generator, size: int) -> Floats:
        """Seeded noise, for simulations only."""
        return rng.normal(scale=self.sigma, size=size)


@dataclass(frozen=True, kw_only=True)
class SinhNormalLaw(_Checked):
    """The law of ``bound * arsinh(Z / bound)`` for a normal ``Z``: as normal in the middle, with far lighter tails.

    >>> round(SinhNormalLaw(sigma=1.0, bound=2.0).deviation, 6)
    0.914722
    """

    sigma: float
    bound: float

    @property
    def deviation(self) -> float:
        """Its standard deviation, by quadrature over ``Z``, where the integrand is smooth."""
        ratio = self.sigma / self.bound
        moment, _ = quad(
            lambda z: math.asinh(z * ratio) ** 2 * math.exp(-z * z / 2), 0, 39, points=[1, 1 / (1 + ratio)]
        )
        return self.bound * math.sqrt(moment * math.sqrt(2 / math.pi))

    def log_density(self, noise: Floats) -> Floats:
        """The logarithm of its density, entry by entry."""
        u = np.asarray(noise, dtype=np.float64) / self.bound
        with np.errstate(over="ignore"):  # far out the density is 0
            z = self.bound * np.sinh(u)
            log_cosh = np.logaddexp(u, -u) - math.log(2)
            return log_cosh - 0.5 * np.square(z / self.sigma) - math.log(self.sigma * math.sqrt(2 * math.pi))

    def draw(self, rng: np.random.Generator, size: int) -> Floats:
        """Seeded noise, for simulations only."""
        return self.bound * np.arcsinh(rng.normal(scale=self.sigma, size=size) / self.bound)
