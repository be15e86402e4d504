"""Distributions of groups of reviewers, estimated from noisy counts by bin and group.

Intervals follow from the law of the noise alone: they are about these reviewers, not about others who might have
reviewed. docs/mathematics.md, "Groups of reviewers", derives them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from peerveil.errors import InputError
from peerveil.inference.effects import Error, check_level
from peerveil.privacy.bins import fitted_counts
from peerveil.record.public_record import Floats, Ints

#: Shares at which quantiles of the noise are computed, and between which ends of intervals are looked for.
_NODES, _STEPS = 41, 2001

#: The variance that stands for none, in units of the noise's squared scale.
_NONE = 1e-6


@dataclass(frozen=True, kw_only=True)
class GroupEstimate:
    """The estimated distribution of a group of reviewers over bins.

    Attributes:
        size: the estimated number of reviewers.
        size_low: lower end of its interval.
        size_high: upper end of its interval.
        counts: the estimated number of reviewers in each bin.
        shares: the share of the group in each bin.
        low: lower ends of the intervals of shares.
        high: upper ends of the intervals of shares.
    """

    size: float
    size_low: float
    size_high: float
    counts: tuple[float, ...]
    shares: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]

    @property
    def reach(self) -> int:
        """How far intervals of shares reach from their estimates at most, in percentage points, rounded up.

        >>> ends = {"shares": (0.4, 0.6), "low": (0.16, 0.318), "high": (0.682, 0.84)}
        >>> GroupEstimate(size=9.0, size_low=5.0, size_high=13.0, counts=(4.0, 5.0), **ends).reach
        29
        """
        sides = zip(self.low, self.shares, self.high, strict=True)
        return math.ceil(round(100 * max(max(share - low, high - share) for low, share, high in sides), 6))

    def numbers(self) -> list[float]:
        """Return all numbers."""
        return [self.size, self.size_low, self.size_high, *self.counts, *self.shares, *self.low, *self.high]


def estimate_groups(
    noisy: Ints,
    reviewers: int,
    scale: float,
    *,
    level: float,
    outside: int | None = None,
    sizes: tuple[int, ...] | None = None,
) -> tuple[GroupEstimate, ...]:
    """Return the distribution of each group from noisy counts, one row per group, whose noise has a scale.

    Counts are fitted to the public number of reviewers: the nearest nonnegative ones with that sum. ``outside`` is the
    noisy number of reviewers without a kept review, where that of the others is not public. ``sizes`` are the public
    sizes of all groups: then the counts of each group are fitted to its size.

    >>> groups = estimate_groups(np.array([[30, 10], [20, 40]]), 100, 1.0, level=0.9)
    >>> groups[0].size, groups[0].shares
    (40.0, (0.75, 0.25))
    >>> groups[0].low[0] < 0.75 < groups[0].high[0]
    True
    """
    check_level(level)
    if noisy.ndim != 2 or noisy.size == 0:
        raise InputError("counts must be a table with one row per group")
    values, bins = noisy.shape
    if sizes is not None:
        return tuple(_of_size(row, size, scale, level) for row, size in zip(noisy, sizes, strict=True))
    cells = np.append(noisy.ravel(), [] if outside is None else [outside]).astype(np.float64)
    fitted = fitted_counts(cells, reviewers)[: noisy.size].reshape(values, bins)
    half_size = _size_error(bins, cells.size, scale).within(level)
    excess = (float(cells.sum()) - reviewers) / cells.size
    limits = _share_limits(bins, level) * scale
    groups = []
    for counts, raw in zip(fitted, noisy.astype(np.float64), strict=True):
        size, centre = float(counts.sum()), float(raw.sum()) - bins * excess
        shares = counts / size if size > 0 else np.full(bins, 1 / bins)
        ends = [_share_interval(count, float(raw.sum()), limits) for count in raw.tolist()]
        groups.append(
            GroupEstimate(
                size=size,
                size_low=min(max(centre - half_size, 0.0), size),
                size_high=max(min(centre + half_size, float(reviewers)), size),
                counts=tuple(counts.tolist()),
                shares=tuple(shares.tolist()),
                low=tuple(min(low, share) for (low, _), share in zip(ends, shares.tolist(), strict=True)),
                high=tuple(max(high, share) for (_, high), share in zip(ends, shares.tolist(), strict=True)),
            )
        )
    return tuple(groups)


def _of_size(noisy: Ints, size: int, scale: float, level: float) -> GroupEstimate:
    """The distribution of a group of public size: its counts share the excess over that size equally."""
    counts = fitted_counts(noisy.astype(np.float64), size)
    half = _count_limit(noisy.size, level) * scale
    centre = noisy - (float(noisy.sum()) - size) / noisy.size
    shares = counts / size
    low, high = (np.clip((centre + end) / size, 0.0, 1.0) for end in (-half, half))
    return GroupEstimate(
        size=float(size),
        size_low=float(size),
        size_high=float(size),
        counts=tuple(counts.tolist()),
        shares=tuple(shares.tolist()),
        low=tuple(np.minimum(low, shares).tolist()),
        high=tuple(np.maximum(high, shares).tolist()),
    )


def share_deviation(size: float, bins: int, scale: float) -> float:
    """Return the standard deviation, due to noise, of the share of an average bin in a group of a size.

    >>> round(share_deviation(1000, 10, 10.0), 4)
    0.0134
    """
    share = 1 / bins
    return math.sqrt(2 * ((1 - share) ** 2 + (bins - 1) * share**2)) * scale / size


def _noise(weights: Floats) -> Error:
    """The law of a weighted sum of independent Laplace variables of scale 1."""
    return Error(variances=np.array([_NONE]), chances=np.ones(1), scales=np.abs(weights))


def _size_error(bins: int, cells: int, scale: float) -> Error:
    """The law of the error of a group's size, whose counts share the excess of all over the public number."""
    weights = np.full(cells, bins / cells)
    weights[:bins] = 1 - bins / cells
    error = _noise(weights)
    return Error(variances=error.variances * scale**2, chances=error.chances, scales=error.scales * scale)


@lru_cache(maxsize=16)
def _count_limit(bins: int, level: float) -> float:
    """The largest likely error of a count that is fitted to its group's size, in units of the scale."""
    return _size_error(1, bins, 1.0).within(level)


@lru_cache(maxsize=16)
def _share_limits(bins: int, level: float) -> Floats:
    """The largest likely noise in a count minus p times its group's size, for shares p, in units of the scale."""
    nodes = np.linspace(0.0, 1.0, _NODES)
    limits = [_noise(np.append(1 - p, np.full(bins - 1, p))).within(level) for p in nodes.tolist()]
    return np.interp(np.linspace(0.0, 1.0, _STEPS), nodes, limits)


def _share_interval(count: float, size: float, limits: Floats) -> tuple[float, float]:
    """The shares p for which a noisy count minus p times the noisy size is likely noise."""
    share = np.linspace(0.0, 1.0, limits.size)
    beyond = np.abs(count - share * size) - limits
    inside = np.flatnonzero(beyond <= 0)
    if inside.size == 0:
        nearest = float(share[np.argmin(beyond)])
        return nearest, nearest
    first, last = int(inside[0]), int(inside[-1])
    low = 0.0 if first == 0 else float(np.interp(0.0, beyond[[first, first - 1]], share[[first, first - 1]]))
    high = 1.0 if last == share.size - 1 else float(np.interp(0.0, beyond[[last, last + 1]], share[[last, last + 1]]))
    return low, high
