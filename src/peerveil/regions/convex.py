"""A region: a closed convex set that contains the true vector, by proof from the public record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import wraps
from math import isfinite, isnan
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from peerveil.errors import Argument, InputError, PeerveilError
from peerveil.quantities.long_vectors import minimum_from, running_maximum
from peerveil.quantities.statistics import MEAN
from peerveil.quantities.weights import PublicWeights
from peerveil.record.public_record import Floats
from peerveil.support.html_tables import table

#: The number of entries of a vector that are checked together.
_AT_A_TIME = 32_768


@dataclass(frozen=True, kw_only=True, eq=False)
class Region:
    """All ascending vectors within bounds on entries, on sums of the smallest and of the largest, and on the total.

    Attributes:
        name: the construction.
        lower: per-entry lower bounds, ascending, shape ``(n,)``.
        upper: per-entry upper bounds, ascending, shape ``(n,)``.
        cumulative_lower: lower bounds on the sum of the ``i`` smallest entries, shape ``(n + 1,)``, -inf where none.
        cumulative_upper: upper bounds on the same, inf where none.
        top_lower: lower bounds on the sum of the ``i`` largest entries, shape ``(n + 1,)``, -inf where none.
        top_upper: upper bounds on the same, inf where none, or where the total and ``cumulative_lower`` imply it.
        total: least and greatest possible sum of all entries; equal where the total is public.
        notes: where weaker, still valid bounds were used, and why.

    >>> import peerveil as pv
    >>> region = pv.region(pv.PublicWeights.from_rows([[0.2, 0.9], [0.4, 0.5]], load=2))
    >>> region.contains([0.35, 0.65])
    True
    >>> region.contains([0.4, 0.6])
    False
    """

    name: str
    lower: Floats = field(repr=False)
    upper: Floats = field(repr=False)
    total: tuple[float, float]
    cumulative_lower: Floats = field(default_factory=lambda: np.empty(0), repr=False)
    cumulative_upper: Floats = field(default_factory=lambda: np.empty(0), repr=False)
    top_lower: Floats = field(default_factory=lambda: np.empty(0), repr=False)
    top_upper: Floats = field(default_factory=lambda: np.empty(0), repr=False)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n = self.lower.size
        for side, value in (("lower", -np.inf), ("upper", np.inf)):
            nothing = np.broadcast_to(value, n + 1)  # in the memory of one number
            for name in (f"cumulative_{side}", f"top_{side}"):
                sums = getattr(self, name)
                if not sums.size:
                    object.__setattr__(self, name, nothing)
                elif sums.size != n + 1:
                    raise InputError(f"{name} must have n + 1 = {n + 1} entries, got {sums.size}")
                elif isnan(sums.min()):
                    raise InputError(f"{name} must be numbers, or infinite where nothing is known, got NaN")
        if self.upper.size != n:
            raise InputError(f"upper must have n = {n} entries, got {self.upper.size}")
        for bounds in (self.lower, self.upper):
            # Ascending between finite ends implies finite, and a NaN does not ascend.
            ascending = bounds.strides == (0,) or (bounds[1:] >= bounds[:-1]).all()
            if not (isfinite(bounds[0]) and isfinite(bounds[-1]) and ascending):
                raise InputError("a region's per-entry bounds must be finite and ascending")
        for array in (self.lower, self.upper, *self.sums()):
            array.flags.writeable = False

    def sums(self) -> tuple[Floats, Floats, Floats, Floats]:
        """The bounds on sums: of the smallest from below and above, of the largest from below and above."""
        return self.cumulative_lower, self.cumulative_upper, self.top_lower, self.top_upper

    @property
    def reviewers(self) -> int:
        """Length of the vectors in the region."""
        return self.lower.size

    @property
    def spread(self) -> float:
        """The maximal difference of two entries."""
        return float(self.upper[-1] - self.lower[0])

    def slack(self, tolerance: float) -> float:
        """An absolute tolerance: a share of the spread plus round-off."""
        return tolerance * self.spread + 1e-13 * float(max(abs(self.lower[0]), abs(self.upper[-1])))

    def checked(self, name: str, values: npt.ArrayLike) -> Floats:
        """Return a vector of the region's length as an array, or raise an error."""
        v = np.asarray(values, dtype=np.float64)
        if v.shape != self.lower.shape or not np.isfinite(v).all():
            raise InputError(Argument(name), f" must be {self.reviewers} finite numbers, got shape {v.shape}")
        return v

    def violation(self, theta: npt.ArrayLike) -> float:
        """The largest violation of a constraint by a vector, per entry summed; 0 for members."""
        t = self.checked("theta", theta)
        n = t.size
        level = float(t.mean())
        # Sums are relative to those of equal entries: with a large offset, differences of plain sums would cancel.
        running = np.subtract(t, level)
        np.cumsum(running, out=running)
        total = float(running[-1])
        worst = [(self.total[0] - n * level - total) / n, (total - (self.total[1] - n * level)) / n]
        sums = [
            (place, bound) for place, bound in enumerate(self.sums()) if bound.strides != (0,) or isfinite(bound[0])
        ]
        for start in range(0, n, _AT_A_TIME):  # which is faster than passes over all
            end = min(start + _AT_A_TIME, n)
            part = t[start:end]
            worst += [(self.lower[start:end] - part).max(), (part - self.upper[start:end]).max()]
            worst.append((t[start : end - 1] - t[start + 1 : end]).max(initial=0.0))
            worst.append(t[end - 1] - t[end] if end < n else 0.0)
            count = np.arange(start + 1.0, min(end + 1, n))
            for place, bound in sums:
                # The sum of the i largest is the total minus the sum of the n - i smallest.
                of_part = slice(start, start + count.size)
                reached = total - running[-2::-1][of_part] if place >= 2 else running[of_part]
                short = (bound[1:-1][of_part] - count * level - reached) / count
                worst.append(-short.min(initial=0.0) if place % 2 else short.max(initial=0.0))
        return max(0.0, *map(float, worst))

    def contains(self, theta: npt.ArrayLike, *, tolerance: float = 1e-9) -> bool:
        """Whether a vector lies in the region, up to ``tolerance`` times the spread and round-off."""
        return self.violation(theta) <= self.slack(tolerance)

    def support(self, direction: npt.ArrayLike) -> float:
        """Return the maximum of ``direction · theta`` over the region, by linear programming.

        >>> import peerveil as pv
        >>> region = pv.region(pv.PublicWeights.from_rows([[0, 1], [0, 1]], load=2))
        >>> region.support([0.0, 1.0])      # the largest mean that anyone can have
        1.0
        """
        d = self.checked("direction", direction)
        # Variables: the running sums, centred so that large offsets do not cancel.
        n, centre = d.size, float(self.lower[0])
        least, most, top_least, top_most = (side - np.arange(n + 1) * centre for side in self.sums())
        low, high = (side - n * centre for side in self.total)
        least[n], most[n] = max(low, top_least[n], least[n]), min(high, top_most[n], most[n])
        entries = (sparse.eye_array(n) - sparse.eye_array(n, k=-1)).tocsr()
        total = sparse.csr_array((np.ones(n - 1), (np.arange(n - 1), np.full(n - 1, n - 1))), shape=(n - 1, n))
        # The sum of the i largest is the total minus the sum of the n - i smallest.
        rows = sparse.vstack([entries, entries[1:] - entries[:-1], total - sparse.eye_array(n - 1, n)])
        below = np.concatenate((self.lower - centre, np.zeros(n - 1), top_least[n - 1 : 0 : -1]))
        above = np.concatenate((self.upper - centre, np.full(n - 1, np.inf), top_most[n - 1 : 0 : -1]))
        constraints = LinearConstraint(rows, below, above)
        solution = milp(-np.asarray(entries.T @ d), constraints=constraints, bounds=Bounds(least[1:], most[1:]))
        if solution.status != 0 or solution.fun is None:
            raise PeerveilError(f"the linear programme of a support function failed: {solution.message}")
        return float(-solution.fun) + centre * float(np.sum(d))

    def implied(self) -> tuple[Floats, Floats]:
        """Bounds on each entry that follow from order, sums and total as well.

        An entry is at least the mean of the entries up to it, and at most the mean of the entries from it on.
        """
        n = self.reviewers
        count = np.arange(1.0, n + 1)
        least, most, top_least, top_most = self.sums()
        low, high = self.total
        lower, upper = (
            np.maximum(self.lower, least[1:] / count),
            np.minimum(self.upper, (high - least[:-1]) / count[::-1]),
        )
        if top_most.strides != (0,):  # else it is one infinity, seen n + 1 times
            lower = np.maximum(lower, (low - top_most[n - 1 :: -1]) / count)
            upper = np.minimum(upper, top_most[:0:-1] / count[::-1])
        # The largest entry is at least the mean, the smallest at most.
        lower[-1] = max(lower[-1], top_least[1], low / n)
        upper[0] = min(upper[0], most[1], high / n)
        return running_maximum(lower), minimum_from(upper)

    def describe(self) -> str:
        """Return a table of the mean width of the bounds on an entry, with more and more constraints.

        >>> import peerveil as pv
        >>> rows = [[1, 5, 9], [2, 2, 7], [4, 5, 6], [3, 1, 8]]
        >>> print(pv.region(pv.PublicWeights.from_rows(rows, load=3)).describe())
        tight region of 4 entries, total 17.6667
          least and greatest entry  6.667
          with order and total      5.000
          with bounds on entries    3.083
          with bounds on sums       3.083
        """
        n = self.reviewers
        total = f"{self.total[0]:.6g}" + ("" if self.total[0] == self.total[1] else f" to {self.total[1]:.6g}")
        lowest, highest = (np.broadcast_to(end, n) for end in (self.lower[0], self.upper[-1]))
        ends = Region(name="", lower=lowest, upper=highest, total=self.total)
        parts = {
            "least and greatest entry": replace(ends, total=(-np.inf, np.inf)),
            "with order and total": ends,
            "with bounds on entries": replace(ends, lower=self.lower, upper=self.upper),
            "with bounds on sums": self,
        }
        lines = [f"{self.name} region of {n} entries, total {total}"]
        for name, part in parts.items():
            lower, upper = part.implied()
            lines.append(f"  {name:24} {float(np.mean(np.maximum(upper - lower, 0.0))):6.3f}")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        n = self.reviewers
        places = {"smallest": 0, "middle": (n - 1) // 2, "greatest": n - 1}
        bounds = [(f"{name} mean", f"{self.lower[i]:.4g}", f"{self.upper[i]:.4g}") for name, i in places.items()]
        total = ("total", f"{self.total[0]:.6g}", f"{self.total[1]:.6g}")
        notes = (("note", note, "") for note in self.notes)
        header = ("", "at least", "at most")
        return table(f"Region {self.name} of {n} entries", [*bounds, total, *notes], header=header)


def _told(bound: Floats) -> bool:
    """Whether anything is bounded: else it is one infinity, seen n + 1 times."""
    return bound.strides != (0,) or isfinite(bound[0])


#: The regions by name: functions of public weights.
REGIONS: dict[str, Callable[[PublicWeights], Region]] = {}

Construct = TypeVar("Construct", bound=Callable[[PublicWeights], Region])


def register(construct: Construct) -> Construct:
    """Register a region by the name of the function that constructs it, and return this function; a decorator.

    The function is for means. Of other statistics, every region holds the ascending vectors within their range.
    """
    name = construct.__name__

    @wraps(construct)
    def of_any(weights: PublicWeights) -> Region:
        return construct(weights) if weights.statistic is MEAN else ascending(name, weights)

    REGIONS[name] = of_any
    return construct


def ascending(name: str, weights: PublicWeights) -> Region:
    """Return the region of all ascending vectors within the range of the weights' statistic.

    >>> weights = PublicWeights.from_rows([[1, 4], [2, 3]], load=2, quantity="range of ratings")
    >>> ascending("tight", weights).upper.tolist()
    [3.0, 3.0]
    """
    n, (least, greatest) = weights.reviewers, weights.statistic.reach(*weights.span)
    return Region(name=name, lower=np.full(n, least), upper=np.full(n, greatest), total=(n * least, n * greatest))
