"""A region: a closed convex set that the public record proves to hold the true vector."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from peerveil.errors import InputError

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Region:
    """All ascending vectors within per-entry bounds, bounds on the running sum, and bounds on the total.

    Attributes:
        name: which construction made it.
        lower: per-entry lower bounds, ascending, shape ``(n,)``.
        upper: per-entry upper bounds, ascending, shape ``(n,)``.
        cumulative_lower: lower bounds on the sum of the ``i`` smallest entries, shape ``(n + 1,)``, -inf where none.
        cumulative_upper: upper bounds on the same, inf where none.
        total: least and greatest possible sum of all entries; equal where the total is public.
        notes: where a weaker, still valid bound was taken, and why.

    >>> import peerveil as pv
    >>> region = pv.region(pv.PublicWeights.from_rows([[0.2, 0.9], [0.4, 0.5]], load=2), "chain")
    >>> region.contains([0.3, 0.7])
    True
    >>> region.contains([0.1, 0.9])
    False
    """

    name: str
    lower: Floats
    upper: Floats
    cumulative_lower: Floats
    cumulative_upper: Floats
    total: tuple[float, float]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n = self.lower.size
        if not (self.upper.size == n and self.cumulative_lower.size == self.cumulative_upper.size == n + 1):
            raise InputError("a region's bounds must be of lengths n, n, n + 1 and n + 1")
        for bounds in (self.lower, self.upper):
            if not np.isfinite(bounds).all() or (np.diff(bounds) < 0).any():
                raise InputError("a region's per-entry bounds must be finite and ascending")
        for array in (self.lower, self.upper, self.cumulative_lower, self.cumulative_upper):
            array.flags.writeable = False

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

        Violations of running sums and of the total are divided by the number of entries summed.
        """
        t = np.asarray(theta, dtype=np.float64)
        if t.shape != self.lower.shape or not np.isfinite(t).all():
            raise InputError(f"theta must be {self.reviewers} finite numbers, got shape {t.shape}")
        n = t.size
        sums = np.concatenate(([0.0], np.cumsum(t)))
        count = np.arange(1.0, n + 1)
        return float(
            max(
                np.max(self.lower - t),
                np.max(t - self.upper),
                np.max(-np.diff(t), initial=0.0),
                np.max((self.cumulative_lower - sums)[1:] / count),
                np.max((sums - self.cumulative_upper)[1:] / count),
                (self.total[0] - sums[-1]) / n,
                (sums[-1] - self.total[1]) / n,
                0.0,
            )
        )

    def contains(self, theta: npt.ArrayLike, *, tolerance: float = 1e-9) -> bool:
        """Whether a vector lies in the region, up to ``tolerance`` times the region's spread and round-off."""
        return self.violation(theta) <= self.slack(tolerance)


def unbounded_sums(reviewers: int) -> tuple[Floats, Floats]:
    """Bounds on running sums that say nothing."""
    return np.full(reviewers + 1, -np.inf), np.full(reviewers + 1, np.inf)
