"""Projection: the point of a region nearest to a noisy vector, with a proof that it is.

By the paper's Proposition on convex sets, the projection is at least as near to the truth as the noisy vector is,
whatever the truth.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import clarabel
import numpy as np
import numpy.typing as npt
from scipy import sparse

from peerveil.errors import InputError, ProjectionError
from peerveil.regions.convex import Floats, Region

#: Largest gap a projection may have, as a share of `n` times the squared distance of numbers it works with.
GAP_TOLERANCE = 1e-9

#: Largest violation a projection may have, as a share of the spread of its region.
VIOLATION_TOLERANCE = 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class Projection:
    """The projection of a vector on a region, with its certificate.

    Attributes:
        values: the projection ``t``.
        gap: an upper bound on ``h(r - t) - (r - t)·t``, where ``h`` is the region's support function. ``t`` is the
            projection exactly when this is 0, and its squared distance from the projection is at most the gap.
        violation: by how much ``t`` breaks the constraint it breaks most.

    >>> import peerveil as pv
    >>> region = pv.region(pv.PublicWeights.from_rows([[0, 1], [0, 1]], load=2), "baseline")
    >>> pv.project([2.0, 5.0], region).gap < 1e-9
    True
    """

    values: Floats
    gap: float
    violation: float

    def __post_init__(self) -> None:
        self.values.flags.writeable = False


def check_vector(name: str, vector: npt.ArrayLike, length: int) -> Floats:
    """A vector of the right length with finite entries, or an error that says what is wrong with it.

    >>> check_vector("noisy", [0.5, 1.0], 3)
    Traceback (most recent call last):
    peerveil.errors.InputError: noisy has 2 entries, but the record has 3 reviewers
    """
    try:
        array = np.array(vector, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a list of {length} numbers") from None
    if array.ndim != 1:
        raise InputError(f"{name} must be a list of {length} numbers, got an array of shape {array.shape}")
    if array.size != length:
        raise InputError(f"{name} has {array.size} entries, but the record has {length} reviewers")
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        raise InputError(
            f"{name} must be finite: entry {bad[0] + 1} is {array[bad[0]]} ({bad.size} such entries in all)"
        )
    return array


def project(noisy: npt.ArrayLike, region: Region) -> Projection:
    """Project a noisy vector on a region.

    >>> import peerveil as pv
    >>> region = pv.region(pv.PublicWeights.from_rows([[0, 1], [0, 1]], load=2), "baseline")
    >>> pv.project([-3.0, 0.5], region).values.round(6).tolist()
    [0.0, 1.0]

    Raises:
        InputError: if ``noisy`` has the wrong length or an entry that is not finite.
        ProjectionError: if the solver's answer fails its certificate.
    """
    r = check_vector("noisy", noisy, region.reviewers)
    for known in _decided(r, region):
        return Projection(values=known + 0.0, gap=0.0, violation=region.violation(known))
    problem = _Programme(r, region)
    values, multipliers = problem.solve()
    if region.violation(values) > region.slack(VIOLATION_TOLERANCE):
        # Noise much larger than the region leaves round-off of the noise's size: step on to the region from there.
        values, _ = _Programme(values, region).solve()
    gap, violation = problem.gap(values, multipliers), region.violation(values)
    if violation > region.slack(VIOLATION_TOLERANCE) or gap > GAP_TOLERANCE * r.size * problem.unit**2:
        raise ProjectionError(
            f"the projection missed its certificate (gap {gap:.3g}, violation {violation:.3g} at numbers of size "
            f"{problem.unit:.3g} and {r.size} entries); nothing is returned. Please report this record's sizes"
        )
    return Projection(values=values, gap=gap, violation=violation)


def _decided(r: Floats, region: Region) -> Iterator[Floats]:
    """The projection where no programme is needed: a member of the region, or the region's only one."""
    if region.violation(r) == 0:
        yield r
    for bound, total in ((region.lower, region.total[1]), (region.upper, region.total[0])):
        if abs(math.fsum(bound) - total) <= bound.size * region.slack(0):
            yield bound


class _Programme:
    """The quadratic programme of a projection, in centred and scaled numbers.

    The variables are the entries that their own bounds do not fix and, where running sums are bounded, these sums
    (written in the sums alone, the programme is badly conditioned). Order gets a row only where bounds leave it open.
    """

    def __init__(self, r: Floats, region: Region) -> None:
        self.region = region
        self.centre = float(np.mean((region.lower + region.upper) / 2))
        self.unit = max(float(np.max(np.abs(r - self.centre))), region.spread) or 1.0
        self.free = np.flatnonzero(region.lower < region.upper)
        self.r = self._scaled(r)[self.free]
        self.low, self.high = self._scaled(region.lower), self._scaled(region.upper)
        fixed = np.where(region.lower < region.upper, 0.0, self.low)
        count = np.arange(r.size + 1)
        self.fixed_sums = count * self.centre / self.unit + np.concatenate(([0.0], np.cumsum(fixed)))
        self.low, self.high = self.low[self.free], self.high[self.free]
        self._write()

    def _scaled(self, values: Floats) -> Floats:
        return (values - self.centre) / self.unit

    def solve(self) -> tuple[Floats, Floats]:
        """The projection in the caller's numbers, and the multipliers that prove it."""
        if not self.free.size:
            return self.region.lower.copy(), np.zeros(0)
        k, variables = self.free.size, self.rows.shape[1]
        box = sparse.eye_array(k, variables, format="csc")
        matrix = sparse.vstack([self.rows, box, -box], format="csc")
        right = np.concatenate((self.right, self.high[:k], -self.low[:k]))
        quadratic = sparse.diags_array(np.repeat([1.0, 0.0], [k, variables - k]), format="csc")
        linear = np.concatenate((-self.r, np.zeros(variables - k)))
        cones = [clarabel.ZeroConeT(self.equalities), clarabel.NonnegativeConeT(right.size - self.equalities)]
        solution = clarabel.DefaultSolver(quadratic, linear, matrix, right, cones, _settings()).solve()
        values = self.region.lower.copy()
        values[self.free] = np.array(solution.x)[:k] * self.unit + self.centre
        values = np.maximum.accumulate(np.clip(values, self.region.lower, self.region.upper))
        multipliers = np.array(solution.z)[: self.right.size]
        multipliers[self.equalities :] = np.maximum(multipliers[self.equalities :], 0.0)
        return values, multipliers

    def gap(self, values: Floats, multipliers: Floats) -> float:
        """An upper bound on the gap of any values, by weak duality: any multipliers of the right signs will do."""
        if not self.free.size:
            return 0.0
        t = self._scaled(values)[self.free]
        d = self.r - t
        left = -(self.rows.T @ multipliers)
        left[: d.size] += d
        support = self.right @ multipliers + np.sum(np.maximum(left * self.low, left * self.high))
        return max(float(support - d @ t), 0.0) * self.unit**2

    def _write(self) -> None:
        """Rows ``A x = b``, then ``A x <= b``, of total, order and running sums; and bounds of every variable."""
        k = self.free.size
        equal: list[tuple[sparse.csc_array, Floats]] = []
        below: list[tuple[sparse.csc_array, Floats]] = []

        total = np.array(self.region.total) / self.unit - self.fixed_sums[-1]
        row = sparse.csc_array(np.ones((1, k)))
        if total[0] == total[1]:
            equal.append((row, total[:1]))
        else:
            below += [(row, total[1:]), (-row, -total[:1])]

        # Neighbours that bounds leave open; an entry that is fixed is ordered by its bounds.
        pairs = np.flatnonzero((np.diff(self.free) == 1) & (self.high[:-1] > self.low[1:]))
        below.append((_difference(pairs, k), np.zeros(pairs.size)))

        least, most = (side / self.unit - self.fixed_sums for side in self._sum_bounds())
        bounded = np.flatnonzero(np.isfinite(least) | np.isfinite(most))
        extra = bounded.size
        if extra:
            # One variable a bounded sum, each the one before plus the free entries in between.
            upto = np.searchsorted(self.free, np.concatenate(([0], bounded)))
            step = np.repeat(np.arange(extra), np.diff(upto))
            entries = sparse.csc_array((np.ones(step.size), (step, np.arange(step.size))), shape=(extra, k))
            running = sparse.eye_array(extra) - sparse.eye_array(extra, k=-1)
            equal.append((sparse.hstack([entries, -running], format="csc"), np.zeros(extra)))
            for side, sign in ((most[bounded], 1.0), (-least[bounded], -1.0)):
                finite = np.flatnonzero(np.isfinite(side))
                place = (np.arange(finite.size), k + finite)
                shape = (finite.size, k + extra)
                below.append((sparse.csc_array((np.full(finite.size, sign), place), shape=shape), side[finite]))
            sums = [np.concatenate(([0.0], np.cumsum(side)))[upto[1:]] for side in (self.low, self.high)]
            self.low, self.high = np.concatenate((self.low, sums[0])), np.concatenate((self.high, sums[1]))

        blocks = equal + below
        self.rows = sparse.vstack([_widen(block, k + extra) for block, _ in blocks], format="csc")
        self.right = np.concatenate([side for _, side in blocks])
        self.equalities = sum(side.size for _, side in equal)

    def _sum_bounds(self) -> tuple[Floats, Floats]:
        """Bounds on running sums, none on the empty sum or on the total, which has its own."""
        least, most = self.region.cumulative_lower.copy(), self.region.cumulative_upper.copy()
        least[[0, -1]], most[[0, -1]] = -np.inf, np.inf
        return least, most


def _difference(pairs: npt.NDArray[np.intp], width: int) -> sparse.csc_array:
    """Rows ``x_p - x_{p+1}``."""
    row = np.arange(pairs.size)
    data = np.repeat([1.0, -1.0], pairs.size)
    return sparse.csc_array((data, (np.tile(row, 2), np.concatenate((pairs, pairs + 1)))), shape=(pairs.size, width))


def _widen(block: sparse.csc_array, width: int) -> sparse.csc_array:
    missing = width - block.shape[1]
    return sparse.hstack([block, sparse.csc_array((block.shape[0], missing))], format="csc") if missing else block


def _settings() -> clarabel.DefaultSettings:
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    settings.max_threads = 1  # the same answer on every machine
    return settings
