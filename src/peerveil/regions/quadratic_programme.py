"""Projection on any region as a quadratic programme, solved by Clarabel, with a dual certificate."""

from __future__ import annotations

import clarabel
import numpy as np
import numpy.typing as npt
from scipy import sparse

from peerveil.record.public_record import Floats
from peerveil.regions.convex import Region

_Block = tuple[sparse.csc_array, Floats]
_Places = npt.NDArray[np.intp]

_SETTINGS = clarabel.DefaultSettings()
_SETTINGS.verbose = False
_SETTINGS.tol_gap_abs = _SETTINGS.tol_gap_rel = _SETTINGS.tol_feas = 1e-12
_SETTINGS.max_threads = 1  # the same answer on every machine


class Programme:
    """Projection of ``r`` on the part of a region within a radius of it, entry by entry.

    Entries are steps from ``r`` in units of the radius, for precision; constraints that cannot bind within the radius
    are left out. The variables are the entries that their bounds do not fix and the sums that are bounded (in the sums
    alone, the programme is badly conditioned). Order gets a row only where bounds do not imply it.
    """

    def __init__(self, r: Floats, region: Region, radius: float) -> None:
        self.r, self.region, self.radius = r, region, radius
        low, high = (np.clip((side - r) / radius, -1.0, 1.0) for side in (region.lower, region.upper))
        self.free = np.flatnonzero(low < high)
        self.start = low
        self.low, self.high = low[self.free], high[self.free]
        if self.free.size:
            self._write()

    def solve(self) -> tuple[Floats, Floats]:
        """The projection and its multipliers."""
        if not self.free.size:
            return self._values(self.start), np.zeros(0)
        k, variables = self.free.size, self.rows.shape[1]
        box = sparse.eye_array(k, variables, format="csc")
        matrix = sparse.vstack([self.rows, box, -box], format="csc")
        right = np.concatenate((self.right, self.high[:k], -self.low[:k]))
        quadratic = sparse.diags_array(np.repeat([1.0, 0.0], [k, variables - k]), format="csc")
        cones = [clarabel.ZeroConeT(self.equalities), clarabel.NonnegativeConeT(right.size - self.equalities)]
        solver = clarabel.DefaultSolver(quadratic, np.zeros(variables), matrix, right, cones, _SETTINGS)
        solution = solver.solve()
        step = self.start.copy()
        step[self.free] = np.array(solution.x)[:k]
        multipliers = np.array(solution.z)[: self.right.size]
        multipliers[self.equalities :] = np.maximum(multipliers[self.equalities :], 0.0)
        return self._values(step), multipliers

    def _values(self, step: Floats) -> Floats:
        """The values after a step, with bounds and order exact."""
        values = np.clip(self.r + step * self.radius, self.region.lower, self.region.upper)
        return np.maximum.accumulate(values)

    def gap(self, values: Floats, multipliers: Floats, r: Floats) -> float:
        """An upper bound on the gap of values as the projection of ``r``, by weak duality with any multipliers.

        Everything is relative to the values, so that nothing cancels.
        """
        if not self.free.size:
            return 0.0
        k = self.free.size
        step = ((values - self.r) / self.radius)[self.free]
        x = np.concatenate((step, np.concatenate(([0.0], np.cumsum(step)))[self.upto]))
        left = -(self.rows.T @ multipliers)
        left[:k] += ((r - values) / self.radius)[self.free]
        low, high = (((side - values) / self.radius)[self.free] for side in (self.region.lower, self.region.upper))
        low, high = (
            np.concatenate((side, np.concatenate(([0.0], np.cumsum(side)))[self.upto])) for side in (low, high)
        )
        support = (self.right - self.rows @ x) @ multipliers + np.sum(np.maximum(left * low, left * high))
        if not support >= -1e-9 * k:
            return np.inf  # the multipliers prove nothing, or the solver failed
        return max(float(support), 0.0) * self.radius * self.radius  # a power would raise where this is infinite

    def _write(self) -> None:
        """Set the rows ``A x = b``, then ``A x <= b``, of order, sums and total."""
        k = self.free.size
        least, most, top_least, top_most = self._sum_bounds()
        bounded = np.isfinite(least) | np.isfinite(most)
        tops = np.isfinite(top_least) | np.isfinite(top_most)
        bounded |= tops[::-1]  # the sum of the i largest is the total minus the sum of the n - i smallest
        bounded[0], bounded[-1] = False, True
        places = np.flatnonzero(bounded)
        extra = places.size
        width = k + extra

        # One variable per bounded sum: the one before plus the free entries in between; the total is the last.
        upto = np.searchsorted(self.free, np.concatenate(([0], places)))
        step = np.repeat(np.arange(extra), np.diff(upto))
        entries = sparse.csc_array((np.ones(step.size), (step, np.arange(step.size))), shape=(extra, k))
        running = sparse.eye_array(extra) - sparse.eye_array(extra, k=-1)
        equal: list[_Block] = [(sparse.hstack([entries, -running], format="csc"), np.zeros(extra))]

        # Adjacent free entries whose order the bounds do not imply.
        differences = (np.diff(self.r) / self.radius)[self.free[:-1]]
        pairs = np.flatnonzero((np.diff(self.free) == 1) & (self.high[:-1] - self.low[1:] > differences))
        below: list[_Block] = [(_differences(pairs, pairs + 1, width), differences[pairs])]

        inner = np.arange(extra)
        if least[-1] == most[-1]:
            equal.append((_units(np.array([width - 1]), width), most[-1:]))
            inner = inner[:-1]
        for side, sign in ((most[places], 1.0), (-least[places], -1.0)):
            finite = inner[np.isfinite(side[inner])]
            below.append((sign * _units(k + finite, width), side[finite]))
        for side, sign in ((top_most, 1.0), (-top_least, -1.0)):
            count = np.flatnonzero(np.isfinite(side[1:-1])) + 1
            where = k + np.searchsorted(places, self.region.reviewers - count)
            below.append((sign * _differences(np.full(count.size, width - 1), where, width), side[count]))

        self.upto = upto[1:]
        blocks = equal + below
        self.rows = sparse.vstack([block for block, _ in blocks], format="csc")
        self.right = np.concatenate([side for _, side in blocks])
        self.equalities = sum(side.size for _, side in equal)

    def _sum_bounds(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Bounds on sums of steps of free entries, infinite where they cannot bind within the radius.

        With a fixed total, bounds on the largest become bounds on the smallest.
        """
        region = self.region
        # Sums that meet bounds exactly may miss them by round-off.
        room = np.arange(region.reviewers + 1) * region.slack(1e-13)
        least, most, top_least, top_most = (
            side + sign * room for side, sign in zip(region.sums(), (-1, 1, -1, 1), strict=True)
        )
        low, high = region.total
        if low == high:
            least, most = np.maximum(least, low - top_most[::-1]), np.minimum(most, low - top_least[::-1])
            top_least, top_most = np.full_like(least, -np.inf), np.full_like(most, np.inf)
            least[-1] = most[-1] = low
        else:
            least[-1], most[-1] = max(low, least[-1], top_least[-1]), min(high, most[-1], top_most[-1])
        fixed = self.start.copy()
        fixed[self.free] = 0.0
        at_low, at_high = self.start.copy(), self.start.copy()
        at_high[self.free] = self.high
        return (
            *self._steps((least, most), self.r, fixed, (at_low, at_high)),
            *self._steps((top_least, top_most), self.r[::-1], fixed[::-1], (at_low[::-1], at_high[::-1])),
        )

    def _steps(
        self, bounds: tuple[Floats, Floats], r: Floats, fixed: Floats, box: tuple[Floats, Floats]
    ) -> tuple[Floats, Floats]:
        """Bounds on sums of values as bounds on sums of free steps, infinite if they cannot bind."""
        base, held, lowest, highest = (np.concatenate(([0.0], np.cumsum(v))) for v in (r, fixed, *box))
        least, most = ((side - base) / self.radius for side in bounds)
        idle_least, idle_most = least <= lowest, most >= highest
        if least[-1] == most[-1]:
            idle_least[-1] = idle_most[-1] = False
        return np.where(idle_least, -np.inf, least - held), np.where(idle_most, np.inf, most - held)


def _units(columns: _Places, width: int) -> sparse.csc_array:
    """Rows with a single 1."""
    return sparse.csc_array((np.ones(columns.size), (np.arange(columns.size), columns)), shape=(columns.size, width))


def _differences(plus: _Places, minus: _Places, width: int) -> sparse.csc_array:
    """Rows with a 1 and a -1."""
    return sparse.csc_array(_units(plus, width) - _units(minus, width))
