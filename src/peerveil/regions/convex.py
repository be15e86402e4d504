"""A region: a closed convex set that the public record proves to hold the true vector."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite, isnan

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.optimize import linprog

from peerveil.errors import InputError, PeerveilError
from peerveil.record.public_record import Floats
from peerveil.support.html_tables import table


@dataclass(frozen=True, kw_only=True, eq=False)
class Region:
    """All ascending vectors within bounds on entries, on sums of the smallest and of the largest, and on the total.

    Attributes:
        name: which construction made it.
        lower: per-entry lower bounds, ascending, shape ``(n,)``.
        upper: per-entry upper bounds, ascending, shape ``(n,)``.
        cumulative_lower: lower bounds on the sum of the ``i`` smallest entries, shape ``(n + 1,)``, -inf where none.
        cumulative_upper: upper bounds on the same, inf where none.
        top_lower: lower bounds on the sum of the ``i`` largest entries, shape ``(n + 1,)``, -inf where none.
        top_upper: upper bounds on the same, inf where none, or where the total and ``cumulative_lower`` imply it.
        total: least and greatest possible sum of all entries; equal where the total is public.
        notes: where a weaker, still valid bound was taken, and why.

    >>> import peerveil as pv
    >>> region = pv.region(pv.PublicWeights.from_rows([[0.2, 0.9], [0.4, 0.5]], load=2))
    >>> region.contains([0.35, 0.65])
    True
    >>> region.contains([0.4, 0.6])
    False
    """

    name: str
    lower: Floats
    upper: Floats
    total: tuple[float, float]
    cumulative_lower: Floats = field(default_factory=lambda: np.empty(0))
    cumulative_upper: Floats = field(default_factory=lambda: np.empty(0))
    top_lower: Floats = field(default_factory=lambda: np.empty(0))
    top_upper: Floats = field(default_factory=lambda: np.empty(0))
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n = self.lower.size
        for side, value in (("lower", -np.inf), ("upper", np.inf)):
            nothing = constant(value, n + 1)
            for sums in (f"cumulative_{side}", f"top_{side}"):
                if not getattr(self, sums).size:
                    object.__setattr__(self, sums, nothing)
                if getattr(self, sums).size != n + 1:
                    raise InputError(f"{sums} must have n + 1 = {n + 1} entries, got {getattr(self, sums).size}")
                if getattr(self, sums) is not nothing and isnan(getattr(self, sums).min()):
                    raise InputError(f"{sums} must be numbers, or infinite where nothing is known, got NaN")
        if self.upper.size != n:
            raise InputError(f"upper must have n = {n} entries, got {self.upper.size}")
        for bounds in (self.lower, self.upper):
            # Ascending between finite ends is finite throughout, and a NaN does not ascend.
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
        """How far apart two entries can lie."""
        return float(self.upper[-1] - self.lower[0])

    def slack(self, tolerance: float) -> float:
        """What counts as zero: a share of the spread, and the round-off of numbers as large as these."""
        return tolerance * self.spread + 1e-13 * float(max(abs(self.lower[0]), abs(self.upper[-1])))

    def violation(self, theta: npt.ArrayLike) -> float:
        """By how much a vector breaks the constraint it breaks most; 0 for members.

        Violations of sums and of the total are divided by the number of entries summed.
        """
        t = np.asarray(theta, dtype=np.float64)
        if t.shape != self.lower.shape or not np.isfinite(t).all():
            raise InputError(f"theta must be {self.reviewers} finite numbers, got shape {t.shape}")
        n = t.size
        worst = [(self.lower - t).max(), (t - self.upper).max(), (t[:-1] - t[1:]).max(initial=0.0)]
        # Sums are measured from those of equal entries: with a large offset, differences of plain sums would cancel.
        level = float(t.mean())
        running = np.cumsum(t - level)
        total = float(running[-1])
        worst += [(self.total[0] - n * level - total) / n, (total - (self.total[1] - n * level)) / n]
        count = np.arange(1.0, n)
        for place, bound in enumerate(self.sums()):
            is_lower, of_largest = place % 2 == 0, place >= 2
            if not _says_nothing(bound):
                # The sum of the i largest is the total minus the sum of the n - i smallest.
                sums = total - running[-2::-1] if of_largest else running[:-1]
                short = bound[1:-1] - count * level
                short -= sums
                short /= count
                worst.append(short.max(initial=0.0) if is_lower else -short.min(initial=0.0))
        return max(0.0, *map(float, worst))

    def contains(self, theta: npt.ArrayLike, *, tolerance: float = 1e-9) -> bool:
        """Whether a vector lies in the region, up to ``tolerance`` times the region's spread and round-off."""
        return self.violation(theta) <= self.slack(tolerance)

    def support(self, direction: npt.ArrayLike) -> float:
        """The greatest value of ``direction · theta`` over the region, by linear programming.

        >>> import peerveil as pv
        >>> region = pv.region(pv.PublicWeights.from_rows([[0, 1], [0, 1]], load=2))
        >>> region.support([0.0, 1.0])      # the largest mean that anyone can have
        1.0
        """
        d = np.asarray(direction, dtype=np.float64)
        if d.shape != self.lower.shape or not np.isfinite(d).all():
            raise InputError(f"direction must be {self.reviewers} finite numbers, got shape {d.shape}")
        # Variables: the entries and their running sums, centred so that large offsets do not cancel.
        n = d.size
        centre = float(self.lower[0])
        count = np.arange(n + 1) * centre
        least, most, top_least, top_most = (side - count for side in self.sums())
        low, high = (side - n * centre for side in self.total)
        identity = sparse.eye_array(n, format="csr")
        chain = sparse.hstack([identity, -identity + sparse.eye_array(n, k=-1, format="csr")])
        zeros = sparse.csr_array((n, n))
        last = sparse.csr_array((np.ones(n - 1), (np.arange(n - 1), np.full(n - 1, n - 1))), shape=(n - 1, n))
        order = sparse.hstack([identity[:-1] - identity[1:], zeros[:-1]])
        # The sum of the i largest is the total minus the sum of the n - i smallest.
        tops = sparse.hstack([zeros[:-1], last - identity[:-1]])
        rows = [order, tops, -tops]
        right = [np.zeros(n - 1), top_most[n - 1 : 0 : -1], -top_least[n - 1 : 0 : -1]]
        keep = [np.isfinite(side) for side in right]
        bounds = np.column_stack(
            (np.concatenate((self.lower - centre, least[1:])), np.concatenate((self.upper - centre, most[1:])))
        )
        bounds[-1] = max(low, top_least[n], least[n]), min(high, top_most[n], most[n])
        found = linprog(  # type: ignore[call-overload]
            np.concatenate((-d, np.zeros(n))),
            A_ub=sparse.vstack([row.tocsr()[k] for row, k in zip(rows, keep, strict=True)]),
            b_ub=np.concatenate([side[k] for side, k in zip(right, keep, strict=True)]),
            A_eq=chain,
            b_eq=np.zeros(n),
            bounds=bounds,
            method="highs",
        )
        if found.status != 0 or found.fun is None:
            raise PeerveilError(f"the linear programme of a support function failed: {found.message}")
        return float(-found.fun) + centre * float(np.sum(d))

    def implied(self) -> tuple[Floats, Floats]:
        """What order, sums and total together say of each entry, beside its own bounds.

        An entry is at least the mean of the entries up to it, and at most the mean of the entries from it on.
        """
        n = self.reviewers
        count = np.arange(1.0, n + 1)
        least, most, top_least, top_most = self.sums()
        low, high = self.total
        lower = np.maximum.reduce([self.lower, least[1:] / count, (low - top_most[n - 1 :: -1]) / count])
        upper = np.minimum.reduce([self.upper, top_most[:0:-1] / count[::-1], (high - least[:-1]) / count[::-1]])
        # And the largest entries are at least their mean, the smallest at most theirs.
        lower[-1] = max(lower[-1], top_least[1], low / n)
        upper[0] = min(upper[0], most[1], high / n)
        return np.maximum.accumulate(lower), np.minimum.accumulate(upper[::-1])[::-1]

    def describe(self) -> str:
        """How much each part of the region contributes: the mean width that it leaves to an entry.

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
        low, high = np.full(n, self.lower[0]), np.full(n, self.upper[-1])
        parts = {
            "least and greatest entry": Region(name="", lower=low, upper=high, total=(-np.inf, np.inf)),
            "with order and total": Region(name="", lower=low, upper=high, total=self.total),
            "with bounds on entries": Region(name="", lower=self.lower, upper=self.upper, total=self.total),
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


def constant(value: float, times: int) -> Floats:
    """One number seen many times, in the memory of one.

    >>> constant(0.5, 3).tolist()
    [0.5, 0.5, 0.5]
    """
    return np.ndarray((times,), dtype=np.float64, buffer=np.array([value]), strides=(0,))


def _says_nothing(bound: Floats) -> bool:
    """Whether a bound on sums was left out: then it is one infinity, seen `n + 1` times."""
    return bound.strides == (0,) and not isfinite(bound[0])
