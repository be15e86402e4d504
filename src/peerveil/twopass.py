"""Projection by two isotonic regressions: exact, and as fast as sorting.

The set is all ascending vectors whose sum of the `i` smallest is at least `P_i`, whose sum of the `i` largest is at
most `R_i`, and whose total lies in a range. See docs/mathematics.md, "Two passes", for the theorem.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq, isotonic_regression

from peerveil.record import Floats
from peerveil.regions.convex import Region


@dataclass(frozen=True, eq=False)
class Curves:
    """The part of a region that two passes can handle, centred.

    Attributes:
        least: `P`, convex, with `P_0 = 0`.
        top_most: `R`, concave, with `R_0 = 0`.
        total: least and greatest total.
        centre: what was subtracted from every entry.
    """

    least: Floats
    top_most: Floats
    total: tuple[float, float]
    centre: float

    @classmethod
    def of(cls, region: Region) -> Curves | None:
        """The curves of a region; ``None`` if they are not convex, so that two passes would not be exact.

        The least and the greatest entry are bounded by curves, too: these are straight lines.
        """
        n = region.reviewers
        low, high = region.total
        low, high = max(low, region.cumulative_lower[-1]), min(high, region.top_upper[-1])
        centre = (low + high) / 2 / n
        count = np.arange(n + 1.0)
        least = np.maximum(region.cumulative_lower - count * centre, count * (region.lower[0] - centre))
        top_most = np.minimum(region.top_upper - count * centre, count * (region.upper[-1] - centre))
        least[0] = top_most[0] = 0.0
        slack = 1e-9 * region.spread + 1e-12 * max(abs(low), abs(high))
        if np.min(np.diff(least, 2), initial=0.0) < -slack or np.max(np.diff(top_most, 2), initial=0.0) > slack:
            return None
        return cls(least, top_most, (float(low - n * centre), float(high - n * centre)), centre)

    def steps(self, total: float) -> Floats:
        """The steps `p` of the lower curve that both bounds give at a total."""
        curve = np.maximum(self.least, total - self.top_most[::-1])
        curve[0], curve[-1] = 0.0, total
        return np.diff(curve)

    def project(self, r: Floats) -> tuple[Floats, float]:
        """The projection and its gap."""
        noisy = r - self.centre
        ascending = _isotonic(noisy)
        low, high = self.total
        total = low if low >= high else self._best_total(ascending)
        t = _second_pass(ascending, self.steps(total))[0]
        return t + self.centre, max(self._gap(noisy - t, t), 0.0)

    def reach(self, d: Floats, t: Floats) -> float:
        """The greatest value of ``d · (theta - t)`` over the set: how much further than ``t`` it goes."""
        return self._gap(d, t - self.centre)

    def _gap(self, d: Floats, t: Floats) -> float:
        """The gap of ``t`` with residual ``d``: the greatest value of `d·(theta - t)` over the set.

        With `D` the isotonic regression of `d`, the greatest value at a total `S` is
        `D_n S - sum (D_{i+1} - D_i) max(P_i, S - R_{n-i})`, concave and piecewise linear in `S`. It is measured from
        `t`, so that nothing cancels.
        """
        ascending = _isotonic(d)
        jumps = np.diff(ascending)
        reached = np.cumsum(t)
        inner, mirrored = self.least[1:-1], self.top_most[-2:0:-1]
        low, high = self.total
        best = low
        if low < high:
            turns = np.clip(inner + mirrored, low, high)
            order = np.argsort(turns)
            slope = ascending[-1] - np.cumsum(jumps[order])
            place = int(np.argmax(slope <= 0)) if (slope <= 0).any() else -1
            best = low if ascending[-1] <= 0 else high if place < 0 else float(turns[order][place])
        above = reached[:-1] - np.maximum(inner, best - mirrored)
        return float(ascending[-1] * (best - reached[-1]) + jumps @ above + (ascending - d) @ t)

    def _best_total(self, ascending: Floats) -> float:
        """The total at which the distance is least: it is convex in the total, so where its slope changes sign."""

        def slope(total: float) -> float:
            pushed = _second_pass(ascending, self.steps(total))[1]
            follows = total - self.top_most[-2:0:-1] >= self.least[1:-1]
            return float(np.diff(pushed) @ follows - pushed[-1])

        low, high = self.total
        if slope(low) >= 0:
            return low
        if slope(high) <= 0:
            return high
        return float(brentq(slope, low, high, xtol=1e-15 * max(abs(low), abs(high)), rtol=8.9e-16, maxiter=200))


def _isotonic(values: Floats) -> Floats:
    return np.asarray(isotonic_regression(values).x, dtype=np.float64)


def _second_pass(ascending: Floats, steps: Floats) -> tuple[Floats, Floats]:
    """The projection of an ascending vector, and what was subtracted from it.

    Shifting by a constant changes nothing but round-off.
    """
    shift = float(np.mean(ascending) - np.mean(steps))
    pushed = _isotonic(ascending - shift - steps)
    return ascending - shift - pushed, pushed + shift
