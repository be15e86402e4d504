"""What a law of noise offers, with defaults for laws of a user's own."""

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

#: Where the default loss looks for the largest ratio of densities, in standard deviations.
_GRID = np.linspace(-40.0, 40.0, 8001)

_NODES, _SHARES = np.polynomial.hermite_e.hermegauss(15)
_SHARES = _SHARES / _SHARES.sum()


@dataclass(frozen=True, kw_only=True)
class Loss:
    """How far two laws are apart.

    Attributes:
        epsilon: the largest logarithm of a ratio of densities; infinite where there is no largest.
        rho: of concentrated differential privacy, which pure loss implies, too.
        omega: up to which order; infinite without a limit.
        mu: the distance of two normal laws in standard deviations; ``None`` for other laws.
    """

    epsilon: float
    rho: float
    omega: float = math.inf
    mu: float | None = None


class Law(Protocol):
    """The law of independent, symmetric noise with mean 0, the same on each entry.

    A law inherits from this, defines the first four and may define the others in closed form.
    """

    @property
    @abstractmethod
    def deviation(self) -> float:
        """Its standard deviation."""

    @abstractmethod
    def log_density(self, noise: Floats) -> Floats:
        """The logarithm of its density, entry by entry."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, size: int) -> Floats:
        """Seeded noise, for simulations only."""

    @abstractmethod
    def log_tail(self, size: Floats) -> Floats:
        """The logarithm of the probability that noise is larger than a size, entry by entry."""

    def expected(self, off: Floats, variance: Floats) -> tuple[Floats, Floats, Floats]:
        """The log density of vectors with independent normal entries, in expectation.

        ``off`` and ``variance`` are the entries' means and variances, one vector per row. Returns the values, their
        gradients in the mean, and minus their second derivatives (at least 0). By Gauss-Hermite quadrature, for smooth
        laws; beyond eight deviations the log density is continued as a parabola, as the likelihood of far points would
        be too small for floating point.
        """
        reach = np.float64(self.deviation)
        x = off + np.sqrt(variance) * _NODES.reshape(-1, *(1,) * off.ndim)
        end, step = 8 * reach, 1e-3 * reach
        inside = np.clip(x, -end, end)
        beyond = x - inside
        below, middle, above = (self.log_density(inside + side) for side in (-step, 0.0, step))
        slope, bend = (above - below) / (2 * step), (above - 2 * middle + below) / step**2
        value = np.tensordot(_SHARES, middle + slope * beyond + 0.5 * bend * beyond**2, axes=1)
        gradient, bent = (np.tensordot(_SHARES, side, axes=1) for side in (slope + bend * beyond, bend))
        return np.sum(value, axis=-1), gradient, np.maximum(-bent, 0.0)

    def entries(self, size: Floats) -> Tails:
        """The tails of a statistic of the sizes of independent noise that grows with each.

        By default of ``-log_tail``, which is exponentially distributed with mean 1 for every continuous law.
        """
        return gamma_tails(size.size, -self.log_tail(size).sum())

    def pairs(self, apart: Floats, moved: float) -> tuple[Tails, Tails] | None:
        """The tails of a statistic of differences of independent noise, which are known up to a total move.

        Of the largest and of the least value that it may have; ``None`` where there is no such statistic.
        """
        return None

    def limit(self, share: float) -> tuple[float, float]:
        """A size that noise keeps with about a given probability, and the exact probability.

        For every continuous law these are the same, up to round-off.
        """
        target, end = math.log1p(-share), self.deviation
        while self.log_tail(np.array([end]))[0] > target:
            end *= 2
        return float(brentq(lambda x: self.log_tail(np.array([x]))[0] - target, 0.0, end, xtol=1e-15 * end)), share

    def loss(self, moves: Floats) -> Loss:
        """The loss between vectors that differ by these moves.

        By default of a law whose densities have a bounded ratio, which is looked for on a grid.
        """
        grid = self.deviation * _GRID
        sizes, times = np.unique(np.abs(moves), return_counts=True)
        ratios = [np.abs(self.log_density(grid) - self.log_density(grid - size)).max() for size in sizes]
        epsilon = math.fsum(times * np.array(ratios))
        return Loss(epsilon=epsilon, rho=epsilon**2 / 2)


class CountLaw(Law):
    """The law of whole-numbered noise on counts. Its log probability changes by at most ``1 / scale`` at each step."""

    scale: float

    @abstractmethod
    def log_mean_exp(self, rate: float) -> float:
        """``log E exp(rate X)``, for rates below ``1 / scale``."""

    @abstractmethod
    def log_mean_exp_size(self, rate: float) -> float:
        """``log E exp(rate |X|)``, for rates below ``1 / scale``."""


def gamma_tails(shape: float, value: float) -> Tails:
    """The tails of a gamma law with scale 1."""
    return float(gammainc(shape, value)), float(gammaincc(shape, value))


def laplace_pair_tails(pairs: int, value: float) -> Tails:
    """The tails of a sum of ``|X - X'|`` over pairs of independent Laplace numbers of scale 1.

    ``|X - X'|`` has the density ``(1 + y) exp(-y) / 2``: a gamma law of shape 1 or 2, with probability one half each.
    So the sum has shape ``pairs + k``, where ``k`` is binomial.
    """
    if not pairs:
        return 1.0, 1.0
    twos = np.arange(pairs + 1.0)
    log_weight = gammaln(pairs + 1) - gammaln(twos + 1) - gammaln(pairs - twos + 1) - pairs * math.log(2)
    weight = np.exp(log_weight)
    return float(weight @ gammainc(pairs + twos, value)), float(weight @ gammaincc(pairs + twos, value))
