"""What noise of a known law says about a vector."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from scipy.special import erf

from peerveil.privacy.noise_laws import DiscreteLaplaceLaw, LaplaceLaw, Law, NormalLaw
from peerveil.record.public_record import Floats


class Evidence(Protocol):
    """What a mechanism's noise says about a vector: all that the posterior needs to know of the mechanism."""

    @property
    def reach(self) -> float:
        """The deviation of a normal law that tells about as much, for a first guess."""

    @property
    def centre(self) -> Floats:
        """The vector for a first guess."""

    def expected(self, mean: Floats, variance: Floats) -> tuple[Floats, Floats, Floats]:
        """The log likelihood of vectors with independent normal entries, in expectation.

        A row a vector. Returns its values, its gradients in the mean, and minus its second derivatives (at least 0).
        """


@dataclass(frozen=True, eq=False)
class EntryNoise:
    """Evidence from independent noise of a known law on each entry.

    >>> evidence = EntryNoise(np.array([1.0, 2.0]), NormalLaw(sigma=1.0))
    >>> evidence.expected(np.ones((1, 2)), np.zeros((1, 2)))[1].round(6).tolist()
    [[-0.0, 1.0]]
    """

    centre: Floats
    law: Law

    @cached_property
    def reach(self) -> float:
        """The noise's deviation."""
        return np.float64(self.law.deviation)  # which overflows to infinity, not to an exception

    def expected(self, mean: Floats, variance: Floats) -> tuple[Floats, Floats, Floats]:
        """The expected log likelihood, its gradient, and minus its second derivatives."""
        off = mean - self.centre
        v = np.maximum(variance, (1e-9 * self.reach) ** 2)
        if isinstance(self.law, NormalLaw):
            tau = self.law.sigma**-2
            value = np.sum(self.law.log_density(off) - 0.5 * tau * v, axis=-1)
            return value, -tau * off, np.full(off.shape, tau)
        if isinstance(self.law, LaplaceLaw | DiscreteLaplaceLaw):
            return _expected_laplace(off, v, self.law.scale)
        return _expected(self.law, self.reach, off, v)


def _expected_laplace(off: Floats, v: Floats, scale: float) -> tuple[Floats, Floats, Floats]:
    """In closed form: the kink of the law is smoothed by the spread of the entry."""
    root = np.sqrt(v)
    side = erf(off / (math.sqrt(2) * root))
    bell = np.exp(-0.5 * (off / root) ** 2) * (math.sqrt(2 / math.pi) / root)
    value = -np.sum(off * side + v * bell, axis=-1) / scale - off.shape[-1] * math.log(2 * scale)
    return value, -side / scale, bell / scale


_NODES, _SHARES = np.polynomial.hermite_e.hermegauss(15)
_SHARES = _SHARES / _SHARES.sum()


def _expected(law: Law, reach: float, off: Floats, v: Floats) -> tuple[Floats, Floats, Floats]:
    """For smooth laws, by Gauss-Hermite quadrature; beyond eight deviations the log density is continued as a parabola.

    Without that, far points would have likelihoods too small for floating point.
    """
    x = off + np.sqrt(v) * _NODES.reshape(-1, *(1,) * off.ndim)
    end, step = 8 * reach, 1e-3 * reach
    inside = np.clip(x, -end, end)
    beyond = x - inside
    below, middle, above = (law.log_density(inside + side) for side in (-step, 0.0, step))
    slope, bend = (above - below) / (2 * step), (above - 2 * middle + below) / step**2
    value = np.tensordot(_SHARES, middle + slope * beyond + 0.5 * bend * beyond**2, axes=1)
    gradient, bent = (np.tensordot(_SHARES, side, axes=1) for side in (slope + bend * beyond, bend))
    return np.sum(value, axis=-1), gradient, np.maximum(-bent, 0.0)
