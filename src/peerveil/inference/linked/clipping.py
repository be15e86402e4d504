"""Nearly normal variables clipped at -1 and 1: what their moments say about those without clipping."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from scipy.special import ndtr

from peerveil.record.public_record import Floats

#: The largest deviation that is considered: beyond it nearly everything is clipped.
LARGEST = 3.0

#: Terms of expansions in Hermite polynomials.
_TERMS = 24

#: Correlations at which clipped ones are computed.
_GRID: Floats = np.linspace(-1.0, 1.0, 801)


@cache
def _normal() -> tuple[Floats, Floats, Floats]:
    """Points, their probabilities, and normalised Hermite polynomials there, one row per degree."""
    points = np.linspace(-8.0, 8.0, 1601)
    chances = np.exp(-(points**2) / 2)
    chances /= chances.sum()
    rows = [np.ones_like(points), points]
    for degree in range(2, _TERMS + 1):
        rows.append((points * rows[-1] - math.sqrt(degree - 1) * rows[-2]) / math.sqrt(degree))
    return points, chances, np.array(rows)


@cache
def _standard(excess: float) -> Floats:
    """The values of a variable of mean 0 and variance 1 at the points: normal, but for its fourth moment."""
    points, chances, _ = _normal()
    near = np.clip(points, -4.0, 4.0)
    values = points + min(max(excess, -0.6), 2.0) / 24 * (near**3 - 3 * near)  # Cornish and Fisher's expansion
    return np.asarray(values / math.sqrt(float(chances @ values**2)))


class Shown(ABC):
    """A nearly normal variable of which a function is shown."""

    @property
    @abstractmethod
    def _values(self) -> Floats:
        """What is shown at the points."""

    @cached_property
    def clipped_mean(self) -> float:
        """The mean after clipping."""
        return float(_normal()[1] @ self._values)

    @cached_property
    def variance(self) -> float:
        """The variance after clipping."""
        return float(_normal()[1] @ (self._values - self.clipped_mean) ** 2)

    @cached_property
    def kurtosis(self) -> float:
        """The variance of the squared deviation after clipping, relative to that of a normal variable."""
        fourth = float(_normal()[1] @ (self._values - self.clipped_mean) ** 4)
        return (fourth / self.variance**2 - 1) / 2

    @cached_property
    def _terms(self) -> Floats:
        _, chances, polynomials = _normal()
        return np.asarray(polynomials[1:] @ (chances * self._values))

    def covariance(self, other: Shown, correlation: float) -> float:
        """Return the covariance with another variable after clipping, given the correlation before it.

        >>> rarely = Clipped(mean=0.0, deviation=0.1)
        >>> round(rarely.covariance(rarely, 0.5), 6)
        0.005
        """
        return float(self._terms * other._terms @ correlation ** np.arange(1, _TERMS + 1))

    def unclipped(self, other: Shown, correlation: float) -> float:
        """Return the correlation with another variable before clipping, given that after it.

        >>> half = Clipped(mean=0.0, deviation=0.7)
        >>> 0.5 < half.unclipped(half, 0.5) < 0.55, half.unclipped(half, 1.0)
        (True, 1.0)
        """
        powers = _GRID[:, None] ** np.arange(1, _TERMS + 1)
        clipped = powers @ (self._terms * other._terms) / math.sqrt(self.variance * other.variance)
        return float(np.interp(correlation, clipped, _GRID))


@dataclass(frozen=True, kw_only=True)
class Clipped(Shown):
    """A nearly normal variable, clipped at -1 and 1.

    Attributes:
        mean: its mean before clipping.
        deviation: its standard deviation before clipping.
        excess: its excess kurtosis before clipping, which is small.

    >>> rarely = Clipped(mean=0.0, deviation=0.1)
    >>> round(rarely.variance, 6), round(rarely.kurtosis, 3)
    (0.01, 1.0)
    """

    mean: float
    deviation: float
    excess: float = 0.0

    @classmethod
    def like(cls, mean: float, variance: float, excess: float = 0.0) -> Clipped:
        """Return the variable whose clipped mean and variance are these, or are nearest to them.

        >>> found = Clipped.like(0.1, 0.3)
        >>> round(found.clipped_mean, 6), round(found.variance, 6)
        (0.1, 0.3)
        """
        found = cls(mean=mean, deviation=min(math.sqrt(variance), LARGEST), excess=excess)
        for _ in range(60):  # Newton's method
            missing = np.array([mean - found.clipped_mean, variance - found.variance])
            if np.abs(missing).max() < 1e-11:
                break
            step = np.linalg.lstsq(found._slopes, missing, rcond=None)[0]
            centre = min(max(found.mean + min(max(step[0], -0.5), 0.5), -LARGEST), LARGEST)
            spread = min(found.deviation * min(max(1 + step[1] / found.deviation, 0.5), 2.0), LARGEST)
            found = cls(mean=float(centre), deviation=float(spread), excess=excess)
        return found

    @property
    def _slopes(self) -> Floats:
        """The derivatives of clipped mean and variance, in rows, by mean and deviation before clipping."""
        _, chances, _ = _normal()
        inside = chances * (np.abs(self._values) < 1)
        by = np.array([inside.sum(), inside @ _standard(self.excess)])
        squares = np.array([inside @ self._values, (inside * self._values) @ _standard(self.excess)])
        return np.array([by, 2 * (squares - self.clipped_mean * by)])

    @cached_property
    def _values(self) -> Floats:
        return np.clip(self.mean + self.deviation * _standard(self.excess), -1.0, 1.0)


@dataclass(frozen=True, kw_only=True)
class Binned(Shown):
    """A standard normal variable of which only the bin is shown, as the mean of the variable there.

    Attributes:
        cuts: the boundaries between bins, ascending.

    >>> Binned(cuts=(0.0,)).scores.round(3).tolist()
    [-0.798, 0.798]
    """

    cuts: tuple[float, ...]

    @cached_property
    def scores(self) -> Floats:
        """The mean of the variable in each bin."""
        ends = np.array([-np.inf, *self.cuts, np.inf])
        return np.asarray(-np.diff(np.exp(-(ends**2) / 2)) / math.sqrt(2 * math.pi) / np.diff(ndtr(ends)))

    @cached_property
    def _values(self) -> Floats:
        points, _, _ = _normal()
        width = points[1] - points[0]  # points stand for the spans around them, which a cut may divide
        below = np.clip((np.array(self.cuts)[:, None] - points) / width + 0.5, 0.0, 1.0)
        steps = np.diff(self.scores)
        return np.asarray(self.scores[-1] - steps @ below)
