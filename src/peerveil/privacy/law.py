"""The interface of noise distributions, with defaults for user-defined ones."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammainc, gammaincc, gammaln

from peerveil.record.public_record import Floats

#: The lower and the upper tail probability of a statistic.
Tails = tuple[float, float]

#: The grid for the largest density ratio of the default loss, in standard deviations.
_GRID = np.linspace(-40.0, 40.0, 8001)

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


@dataclass(frozen=True, kw_only=True)
class Loss:
    """The privacy loss between two distributions.

    Attributes:
        epsilon: the greatest log density ratio; infinite if unbounded.
        rho: of concentrated differential privacy.
        omega: the greatest order for ``rho``; infinite without a limit.
        mu: the distance of two normal distributions in standard deviations; ``None`` for others.
    """

    epsilon: float
    rho: float
    omega: float = math.inf
    mu: float | None = None


class Law(Protocol):
    """The distribution of independent, identically distributed, symmetric noise with mean 0.

    A subclass defines the first four methods and may define the others in closed form.
    """

    @property
    @abstractmethod
    def deviation(self) -> float:
        """The standard deviation."""

    @abstractmethod
    def log_density(self, noise: Floats) -> Floats:
        """Return the log density of each entry."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, size: int) -> Floats:
        """Return seeded noise, for simulations only."""

    @abstractmethod
    def log_tail(self, size: Floats) -> Floats:
        """Return the log probability of noise with a greater absolute value, for each entry."""

    def expected(self, off: Floats, variance: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the expected log density of vectors with independent normal entries.

        ``off`` and ``variance`` are means and variances, one vector per row. The result is the values, their gradients
        in the mean, and their negated second derivatives (at least 0), by Gauss-Hermite quadrature. Beyond eight
        standard deviations the log density is continued as a parabola to avoid underflow.
        """
        reach = np.float64(self.deviation)
        x = off + np.sqrt(variance) * _NODES.reshape(-1, *(1,) * off.ndim)
        end, step = 8 * reach, 1e-3 * reach
        inside = np.clip(x, -end, end)
        beyond = x - inside
        below, middle, above = (self.log_density(inside + side) for side in (-step, 0.0, step))
        slope, bend = (above - below) / (2 * step), (above - 2 * middle + below) / step**2
        value = np.tensordot(_WEIGHTS, middle + slope * beyond + 0.5 * bend * beyond**2, axes=1)
        gradient, bent = (np.tensordot(_WEIGHTS, side, axes=1) for side in (slope + bend * beyond, bend))
        return np.sum(value, axis=-1), gradient, np.maximum(-bent, 0.0)

    def entries(self, size: Floats) -> Tails:
        """Return the tail probabilities of a statistic that increases in the absolute value of each entry.

        The default is the sum of ``-log_tail``, whose terms are standard exponential for continuous noise.
        """
        return gamma_tails(size.size, -self.log_tail(size).sum())

    def pairs(self, apart: Floats, moved: float) -> tuple[Tails, Tails] | None:
        """Return tail probabilities for differences of independent noise that are known up to a total of ``moved``.

        They are for the greatest and the least possible statistic; ``None`` if there is no such statistic.
        """
        return None

    def limit(self, share: float) -> tuple[float, float]:
        """Return an absolute value that noise exceeds with about probability ``1 - share``, and the exact share."""
        target, end = math.log1p(-share), self.deviation
        while self.log_tail(np.array([end]))[0] > target:
            end *= 2
        return float(brentq(lambda x: self.log_tail(np.array([x]))[0] - target, 0.0, end, xtol=1e-15 * end)), share

    def loss(self, moves: Floats) -> Loss:
        """Return the privacy loss between vectors that differ by ``moves``.

        The default is for bounded density ratios, whose maximum is taken over a grid.
        """
        grid = self.deviation * _GRID
        sizes, times = np.unique(np.abs(moves), return_counts=True)
        ratios = [np.abs(self.log_density(grid) - self.log_density(grid - size)).max() for size in sizes]
        epsilon = math.fsum(times * np.array(ratios))
        return Loss(epsilon=epsilon, rho=epsilon**2 / 2)


class CountLaw(Law):
    """Integer noise on counts, whose log probability changes by at most ``1 / scale`` per step."""

    scale: float

    @abstractmethod
    def log_mean_exp(self, rate: float) -> float:
        """Return ``log E exp(rate X)`` for rates below ``1 / scale``."""

    @abstractmethod
    def log_mean_exp_size(self, rate: float) -> float:
        """Return ``log E exp(rate |X|)`` for rates below ``1 / scale``."""


def gamma_tails(shape: float, value: float) -> Tails:
    """Return the tail probabilities of a gamma distribution with scale 1."""
    return float(gammainc(shape, value)), float(gammaincc(shape, value))


def laplace_pair_tails(pairs: int, value: float) -> Tails:
    """Return the tail probabilities of a sum of ``|X - X'|`` over pairs of independent standard Laplace variables.

    ``|X - X'|`` has the density ``(1 + y) exp(-y) / 2``, an equal mixture of gamma distributions of shape 1 and 2, so
    the sum is a mixture of shapes ``pairs + k`` with binomial ``k``.
    """
    if not pairs:
        return 1.0, 1.0
    twos = np.arange(pairs + 1.0)
    log_weight = gammaln(pairs + 1) - gammaln(twos + 1) - gammaln(pairs - twos + 1) - pairs * math.log(2)
    weight = np.exp(log_weight)
    return float(weight @ gammainc(pairs + twos, value)), float(weight @ gammaincc(pairs + twos, value))
