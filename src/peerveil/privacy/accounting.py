"""Accounting: conversions between concentrated differential privacy and (epsilon, delta).

A loss is *(rho, omega)-truncated concentrated* (tCDP) if the Rényi divergence of order ``a`` between neighbours is at
most ``a rho`` for every ``a`` between 1 and ``omega``; with ``omega`` infinite it is *zero-concentrated* (zCDP).
Proofs are in docs/mathematics.md, "Accounting". Every bound is rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from peerveil.errors import Argument, InputError

#: Relative margin for the round-off of a computed bound.
ROUND_UP = 1 + 1e-12


def check_delta(delta: float) -> None:
    """Refuse a delta outside the open interval from 0 to 1.

    >>> check_delta(1.0)
    Traceback (most recent call last):
    peerveil.errors.InputError: delta must be a number between 0 and 1, both excluded, got 1.0
    """
    if not 0 < delta < 1:
        raise InputError(Argument("delta"), f" must be a number between 0 and 1, both excluded, got {delta}")


def check_asked(epsilon: float, delta: float) -> None:
    """Refuse an epsilon and delta for which no noise can be found.

    >>> check_asked(0.0, 1e-6)
    Traceback (most recent call last):
    peerveil.errors.InputError: epsilon must be a number > 0 and of a sensible size, got 0.0
    """
    check_delta(delta)
    if not 0 < epsilon <= 1e100:
        raise InputError(Argument("epsilon"), f" must be a number > 0 and of a sensible size, got {epsilon}")


def conversion_cost(order: float, delta: float) -> float:
    """Return the difference between epsilon at a delta and the Rényi divergence of an order; it may be negative.

    >>> round(conversion_cost(10.0, 1e-6), 4)
    1.1739
    """
    excess = order - 1
    return math.log(excess / order) + (-math.log(delta) - math.log(order)) / excess


def _highest(omega: float) -> float:
    """Return the logarithm of the greatest order minus one."""
    if not omega - 1 >= 1e-9:
        raise InputError(Argument("omega"), f" must be at least 1 + 1e-9, got {omega}")
    return math.log(omega - 1) if math.isfinite(omega) else math.inf


def _minimum(function: Callable[[float], float], low: float, high: float, points: int) -> tuple[float, float]:
    """Return the least value of a function on an interval and where it is, by a grid and a local search."""
    grid = np.linspace(low, high, points)
    best = int(np.argmin([function(x) for x in grid]))
    inside = (grid[max(best - 1, 0)], grid[min(best + 1, points - 1)])
    local = minimize_scalar(function, bounds=inside, method="bounded", options={"xatol": 1e-9})
    return min((function(float(x)), float(x)) for x in (grid[best], local.x))


# Theorem C1.
@lru_cache(maxsize=1024)
def epsilon_at(delta: float, rho: float, omega: float = math.inf) -> float:
    """Return the epsilon of a (rho, omega)-concentrated loss at a delta.

    It is the least of ``a rho + ln(1 - 1/a) + ln(1/(a delta))/(a - 1)`` over orders ``a`` between 1 and omega. Every
    order gives a valid bound, so a search that slightly misses the best order is safe.

    >>> round(epsilon_at(1e-6, rho=0.05), 4)        # the common rho + 2 sqrt(rho ln(1/delta)) gives 1.7123
    1.4716
    >>> epsilon_at(1e-6, rho=0.0)
    0.0
    """
    check_delta(delta)
    if rho == 0:
        return 0.0
    top = _highest(omega)
    rho = max(rho, 1e-200)  # anything smaller only adds round-off

    def bound(logarithm: float) -> float:
        order = 1 + math.exp(logarithm)
        return order * rho + conversion_cost(order, delta)

    # Without a limit the best order is near 1 + sqrt(ln(1/delta)/rho); on either side the bound increases.
    # Orders too close to 1 for floating point are excluded, which matters for a huge rho.
    middle = 0.5 * math.log(-math.log(delta) / rho)
    least, _ = _minimum(bound, max(min(middle, top) - 12, -30.0), min(max(middle + 12, -29.0), top), 97)
    return max(0.0, least) * ROUND_UP


@lru_cache(maxsize=1024)
def rho_for(epsilon: float, delta: float, omega: float = math.inf) -> float:
    """Return the largest rho whose (rho, omega)-concentrated loss stays within an epsilon at a delta.

    >>> rho = rho_for(1.0, 1e-6)
    >>> 0.9999 < epsilon_at(1e-6, rho) <= 1.0
    True
    """
    check_asked(epsilon, delta)

    def excess(logarithm: float) -> float:
        return epsilon_at(delta, math.exp(logarithm), omega) - epsilon

    low, high = math.log(epsilon) - 3, math.log(epsilon) + 1
    while excess(high) <= 0:
        high += 3
    while excess(low) > 0:
        low -= 3
        if low < -600:
            raise InputError(
                *(Argument("epsilon", epsilon), " at ", Argument("delta", delta), " cannot be reached with "),
                *(Argument("omega", omega), ", however small rho; ask for a larger epsilon, delta or omega"),
            )
    root = float(brentq(excess, low, high, xtol=1e-13))
    while excess(root) > 0:  # the root is inexact: step to the safe side
        root -= 1e-12
    return math.exp(root)


def best_order(epsilon: float, delta: float, omega: float = math.inf) -> float:
    """Return the order below omega at which an epsilon at a delta admits the largest rho.

    >>> order = best_order(3.0, 1e-6)
    >>> abs((3.0 - conversion_cost(order, 1e-6)) / order - rho_for(3.0, 1e-6)) < 1e-9
    True
    """
    rho = rho_for(epsilon, delta, omega)
    middle = 0.5 * math.log(-math.log(delta) / rho)
    top = _highest(omega) + math.log1p(-1e-9)  # below omega, not at it

    def negative_rho(logarithm: float) -> float:
        order = 1 + math.exp(logarithm)
        return (conversion_cost(order, delta) - epsilon) / order

    _, best = _minimum(negative_rho, min(middle, top) - 12, min(middle + 12, top), 4001)
    return 1 + math.exp(best)


def delta_at(epsilon: float, rho: float, omega: float = math.inf) -> float:
    """Return the delta of a (rho, omega)-concentrated loss at an epsilon; 1 if it has none.

    >>> round(delta_at(1.4716, rho=0.05), 9)
    1e-06
    """
    if rho == 0:
        return 0.0
    top = _highest(omega)
    middle = math.log(max((epsilon / rho - 1) / 2, 1.0))
    grid = np.linspace(min(0.0, top) - 12, min(middle + 6, top), 4001)
    order = 1 + np.exp(grid)
    logarithm = (order - 1) * (order * rho - epsilon + np.log1p(-1 / order)) - np.log(order)
    return min(1.0, math.exp(min(0.0, float(logarithm.min()))) * (1 + 1e-9))
