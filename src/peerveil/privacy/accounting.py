"""The arithmetic of privacy losses: concentrated differential privacy and (epsilon, delta).

A loss is *(rho, omega)-truncated concentrated* (tCDP) if the Rényi divergence of order ``a`` between neighbours is at
most ``a rho`` for every ``a`` between 1 and ``omega``; with ``omega`` infinite it is *zero-concentrated* (zCDP).
Proofs are in docs/mathematics.md, "Accounting". Every bound is rounded up.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from peerveil.errors import Argument, InputError

#: Relative room for the round-off of a computed bound.
ROUND_UP = 1 + 1e-12


def check_delta(delta: float) -> None:
    """Refuse what is no probability of failure.

    >>> check_delta(1.0)
    Traceback (most recent call last):
    peerveil.errors.InputError: delta must be a number between 0 and 1, both excluded, got 1.0
    """
    if not 0 < delta < 1:
        raise InputError(Argument("delta"), f" must be a number between 0 and 1, both excluded, got {delta}")


def check_asked(epsilon: float, delta: float) -> None:
    """Refuse what no noise can be found for.

    >>> check_asked(0.0, 1e-6)
    Traceback (most recent call last):
    peerveil.errors.InputError: epsilon must be a number > 0 and of a sensible size, got 0.0
    """
    check_delta(delta)
    if not 0 < epsilon <= 1e100:
        raise InputError(Argument("epsilon"), f" must be a number > 0 and of a sensible size, got {epsilon}")


def conversion_cost(order: float, delta: float) -> float:
    """What a Rényi divergence of an order is short of an epsilon at a delta; it may be below 0.

    >>> round(conversion_cost(10.0, 1e-6), 4)
    1.1739
    """
    excess = order - 1
    return math.log(excess / order) + (-math.log(delta) - math.log(order)) / excess


def _highest(omega: float) -> float:
    """The logarithm of the greatest order minus one."""
    if not omega - 1 >= 1e-9:
        raise InputError(Argument("omega"), f" must be a number above 1, and not by a hair, got {omega}")
    return math.log(omega - 1) if math.isfinite(omega) else math.inf


@lru_cache(maxsize=1024)
def epsilon_at(delta: float, rho: float, omega: float = math.inf) -> float:
    """The epsilon that a (rho, omega)-concentrated loss has at a delta.

    The least of ``a rho + ln(1 - 1/a) + ln(1/(a delta))/(a - 1)`` over orders ``a`` between 1 and omega. Every order
    gives a true bound, so it does no harm if the search misses the best one by a little.

    >>> round(epsilon_at(1e-6, rho=0.05), 4)        # the common rho + 2 sqrt(rho ln(1/delta)) gives 1.7123
    1.4716
    >>> epsilon_at(1e-6, rho=0.0)
    0.0
    """
    check_delta(delta)
    if rho == 0:
        return 0.0
    top = _highest(omega)
    rho = max(rho, 1e-200)  # what is less makes no difference but to round-off

    def bound(logarithm: float) -> float:
        order = 1 + math.exp(logarithm)
        return order * rho + conversion_cost(order, delta)

    # Without a limit the best order is near 1 + sqrt(ln(1/delta)/rho); on either side the bound rises.
    # (Orders nearer to 1 than floating point can tell are of no use, even for a rho beyond all measure.)
    middle = 0.5 * math.log(-math.log(delta) / rho)
    low, high = max(min(middle, top) - 12, -30.0), min(max(middle + 12, -29.0), top)
    grid = np.linspace(low, high, 97)
    best = int(np.argmin([bound(x) for x in grid]))
    inside = (grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)])
    found = minimize_scalar(bound, bounds=inside, method="bounded", options={"xatol": 1e-9})
    return max(0.0, min(bound(grid[best]), float(found.fun))) * ROUND_UP


@lru_cache(maxsize=1024)
def rho_for(epsilon: float, delta: float, omega: float = math.inf) -> float:
    """The largest rho whose (rho, omega)-concentrated loss stays within an epsilon at a delta.

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
    found = float(brentq(excess, low, high, xtol=1e-13))
    while excess(found) > 0:  # the root is found to a few bits: step to the side that keeps the promise
        found -= 1e-12
    return math.exp(found)


def best_order(epsilon: float, delta: float, omega: float = math.inf) -> float:
    """The order at which an epsilon at a delta admits the most rho, among those below omega.

    >>> order = best_order(3.0, 1e-6)
    >>> abs((3.0 - conversion_cost(order, 1e-6)) / order - rho_for(3.0, 1e-6)) < 1e-9
    True
    """
    rho = rho_for(epsilon, delta, omega)
    middle = 0.5 * math.log(-math.log(delta) / rho)
    top = _highest(omega) + math.log1p(-1e-9)  # below omega, not at it
    low, high = min(middle, top) - 12, min(middle + 12, top)

    def admitted(logarithm: float) -> float:
        order = 1 + math.exp(logarithm)
        return (epsilon - conversion_cost(order, delta)) / order

    grid = np.linspace(low, high, 4001)
    best = int(np.argmax([admitted(x) for x in grid]))
    inside = (grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)])
    found = minimize_scalar(lambda x: -admitted(x), bounds=inside, method="bounded", options={"xatol": 1e-9})
    return 1 + math.exp(max((float(found.x), float(grid[best])), key=admitted))


def delta_at(epsilon: float, rho: float, omega: float = math.inf) -> float:
    """The delta that a (rho, omega)-concentrated loss has at an epsilon; 1 where it has none.

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
