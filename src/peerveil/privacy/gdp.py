"""Gaussian differential privacy: the exact epsilon and delta of normal noise.

A release is *mu-Gaussian* (mu-GDP) if distinguishing two neighbours from it is no easier than distinguishing a standard
normal number from one shifted by ``mu``. Normal noise of deviation ``L2/mu`` is. Its delta at an epsilon is

    Phi(-a) - e^epsilon Phi(-a - mu)    with    a = epsilon/mu - mu/2

(Balle and Wang). Every result is rounded to the safe side; proofs are in docs/mathematics.md, "Accounting".
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import erfcx, erfinv, ndtr, ndtri_exp

from peerveil.privacy.accounting import ROUND_UP, check_asked, check_delta

#: A bound on the error of the logarithm of delta (tests compare it with 50 digits).
_LOG_ROUND_OFF = 1e-11
#: Points and weights of Gauss-Legendre quadrature, exact to round-off over an interval of length 1.
_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(20)


def _mills(x: Any) -> Any:
    """Return Mills' ratio: the upper tail of the normal distribution divided by its density."""
    return math.sqrt(math.pi / 2) * erfcx(x / math.sqrt(2))


def _log_delta(a: float, mu: float) -> float:
    """Return the logarithm of delta at the epsilon ``mu (a + mu/2)``, for ``a`` of at least ``-mu/2``.

    With Mills' ratio ``M``, delta is the density at ``a`` times ``M(a) - M(a + mu)``. For a small ``mu`` this
    difference would cancel, so ``-M'(x) = 1 - x M(x)`` is integrated instead.
    """
    if a > 100:  # far below the smallest float; the tail beyond a is a sufficient bound
        return -a * a / 2
    log_density = -a * a / 2 - math.log(2 * math.pi) / 2
    if mu <= 1:
        x = a + mu * (1 + _POINTS) / 2
        return log_density + math.log(mu / 2 * float(_WEIGHTS @ (1 - x * _mills(x))))
    if a > -1:
        return log_density + math.log(float(_mills(a) - _mills(a + mu)))
    return math.log(float(ndtr(-a)) - math.exp(log_density) * float(_mills(a + mu)))


# Theorem C2.
def gaussian_delta(epsilon: float, mu: float) -> float:
    """Return the delta of a mu-Gaussian loss at an epsilon.

    >>> round(gaussian_delta(1.0, 1.0), 6)
    0.126937
    >>> gaussian_delta(1.0, 0.0)
    0.0
    """
    if mu == 0:
        return 0.0
    # So small a loss has a delta below mu at every epsilon, and epsilon / mu would overflow.
    bound = mu if mu < 1e-150 else math.exp(_log_delta(epsilon / mu - mu / 2, mu) + _LOG_ROUND_OFF)
    return max(math.ulp(0.0), min(1.0, bound))


@lru_cache(maxsize=1024)
def gaussian_epsilon(delta: float, mu: float) -> float:
    """Return the epsilon of a mu-Gaussian loss at a delta.

    >>> round(gaussian_epsilon(1e-6, math.sqrt(2 * 0.05)), 4)        # by rho alone, 1.4716
    1.3676
    >>> gaussian_epsilon(1e-6, 0.0)
    0.0
    """
    check_delta(delta)
    if gaussian_delta(0.0, mu) <= delta:
        return 0.0

    def excess(a: float) -> float:
        return _log_delta(a, mu) + _LOG_ROUND_OFF - math.log(delta)

    # The tail beyond a is at most exp(-a^2/2), and delta is less; below -40 it is 1 in floating point.
    low, high = max(-mu / 2, -40.0), math.sqrt(-2 * math.log(delta)) + 1
    root = float(brentq(excess, low, high, xtol=1e-14, rtol=1e-15))
    while excess(root) > 0:  # the root is inexact: step to the safe side
        root += 1e-13
    return mu * (root + mu / 2) * ROUND_UP


@lru_cache(maxsize=1024)
def gaussian_mu(epsilon: float, delta: float) -> float:
    """Return the largest mu whose Gaussian loss stays within an epsilon at a delta.

    >>> mu = gaussian_mu(1.0, 1e-6)
    >>> 0.9999 < gaussian_epsilon(1e-6, mu) <= 1.0
    True
    """
    check_asked(epsilon, delta)

    def excess(logarithm: float) -> float:
        return gaussian_epsilon(delta, math.exp(logarithm)) - epsilon

    # The conversion from rho gives a lower bound: sqrt(2 epsilon + 2 ln(1/delta)) - sqrt(2 ln(1/delta)).
    tail = math.sqrt(-math.log(delta))
    low = math.log(math.sqrt(2) * epsilon / (math.sqrt(epsilon + tail * tail) + tail)) - 1e-6
    high = low + 1
    while excess(high) <= 0:
        high += 1
    root = float(brentq(excess, low, high, xtol=1e-14, rtol=1e-15))
    while excess(root) > 0:
        root -= 1e-13
    return math.exp(root)


# Theorem C3.
def mu_of_pure(epsilon: float) -> float:
    """Return the least mu for which every epsilon-pure loss is mu-Gaussian: ``-2 Phi^-1(1 / (1 + e^epsilon))``.

    >>> round(mu_of_pure(0.1), 6)
    0.125309
    """
    if epsilon < 1:
        return 2 * math.sqrt(2) * float(erfinv(math.tanh(epsilon / 2))) * ROUND_UP
    return -2 * float(ndtri_exp(-np.logaddexp(0.0, epsilon))) * ROUND_UP
