"""Bins for means, from public data alone, and what counts in bins say about the sorted vector.

See docs/mathematics.md, "Histograms".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from peerveil.errors import InputError
from peerveil.record import Floats, Ints, frozen
from peerveil.weights import PublicWeights

#: Up to this many attainable means each has a bin of its own.
FEW = 64

#: The most bins there may be.
MOST = 4_096

#: How many times the least gap between weights may be a multiple of the step that all are multiples of.
_STEPS = 12


@dataclass(frozen=True, eq=False)
class Bins:
    """Bins that every mean falls into, whatever the assignment. Make them with :func:`bins_of`.

    Attributes:
        low: the least mean in each bin, ascending.
        high: the greatest mean in each bin; the same where a bin stands for one attainable mean.

    >>> bins = Bins(np.array([1.0, 1.5, 2.0]), np.array([1.0, 1.5, 2.0]))
    >>> bins.counts(np.array([1.0, 1.0, 2.0])).tolist()
    [2, 0, 1]
    """

    low: Floats
    high: Floats

    def __post_init__(self) -> None:
        low, high = frozen(self.low), frozen(self.high)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        if not 1 <= low.size == high.size <= MOST or not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise InputError(f"bins must be between 1 and {MOST} pairs of finite numbers")
        if (low > high).any() or (high[:-1] > low[1:]).any() or (low[:-1] >= low[1:]).any():
            raise InputError("bins must ascend and not overlap")

    @property
    def number(self) -> int:
        """How many there are."""
        return self.low.size

    def same(self, other: Bins) -> bool:
        """Whether these are the same bins, but for round-off."""
        pairs = ((self.low, other.low), (self.high, other.high))
        slack = 1e-9 * (self.high[-1] - self.low[0])
        return self.number == other.number and all(bool((np.abs(a - b) <= slack).all()) for a, b in pairs)

    @property
    def cuts(self) -> Floats:
        """Where one bin ends and the next begins: in the middle of what lies between, a little lower where they touch.

        Means at an end of both belong to the upper one, even if they were computed with round-off.
        """
        gap, width = self.low[1:] - self.high[:-1], self.high - self.low
        return np.asarray((self.high[:-1] + self.low[1:]) / 2 - np.where(gap > 0, 0.0, 1e-9 * width[:-1]))

    def counts(self, vectors: Floats) -> Ints:
        """How many entries are in each bin, for one vector or a row a vector."""
        rows = np.atleast_2d(vectors)
        place = self.place(rows) + self.number * np.arange(len(rows))[:, None]
        found = np.bincount(place.ravel(), minlength=self.number * len(rows))
        return found.reshape(*vectors.shape[:-1], self.number)

    def place(self, means: Floats) -> Ints:
        """The bin of each mean."""
        return np.searchsorted(self.cuts, means, side="right")

    def vector(self, counts: npt.ArrayLike, entries: int) -> Floats:
        """The sorted vector that noisy counts give: fitted to counts of so many entries, evenly spread in each bin.

        >>> bins = Bins(np.array([1.0, 2.0]), np.array([1.0, 2.0]))
        >>> bins.vector([3, -1], 2).tolist()
        [1.0, 1.0]
        """
        fitted = fitted_counts(np.asarray(counts, dtype=np.float64), entries)
        end = np.minimum(np.cumsum(fitted), entries)
        end[-1] = entries
        start = np.concatenate(([0.0], end[:-1]))
        held = end - start
        ranks = np.arange(entries + 1, dtype=np.float64)
        # The running integral of the quantile function, from the least mean, at all whole ranks.
        base, width = self.low - self.low[0], self.high - self.low
        steep = np.divide(width, held, out=np.zeros_like(width), where=held > 0)
        before = np.concatenate(([0.0], np.cumsum(held * (base + width / 2))))
        place = np.minimum(np.searchsorted(end, ranks, side="left"), self.number - 1)
        inside = ranks - start[place]
        integral = before[place] + inside * (base[place] + steep[place] * inside / 2)
        values = self.low[0] + np.diff(integral)
        # Entries that lie in one bin are exact.
        first = np.searchsorted(end, ranks[:-1], side="right")
        whole = end[np.minimum(first, self.number - 1)] >= ranks[1:]
        k = first[whole]
        values[whole] = self.low[k] + steep[k] * (ranks[:-1][whole] + 0.5 - start[k])
        return np.asarray(np.maximum.accumulate(np.clip(values, self.low[0], self.high[-1])))


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyCounts:
    """How many means are in each bin, made private by noise: what a histogram releases.

    Attributes:
        bins: the bins, from public data.
        counts: whole numbers, of any sign.

    >>> seen = NoisyCounts(bins=Bins(np.array([1.0, 2.0]), np.array([1.0, 2.0])), counts=np.array([3, -1]))
    >>> seen.vector(2).tolist()
    [1.0, 1.0]
    """

    bins: Bins
    counts: Ints

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", frozen(self.counts))
        if self.counts.shape != (self.bins.number,) or self.counts.dtype.kind != "i":
            raise InputError(f"counts must be {self.bins.number} whole numbers, one a bin")

    def vector(self, entries: int) -> Floats:
        """The sorted vector that the histogram alone gives."""
        return self.bins.vector(self.counts, entries)


def fitted_counts(counts: Floats, total: int) -> Floats:
    """The nearest counts of at least 0 that sum to a total.

    >>> fitted_counts(np.array([5.0, -2.0, 2.0]), 5).tolist()
    [4.0, 0.0, 1.0]
    """
    descending = np.sort(counts)[::-1]
    excess = (np.cumsum(descending) - total) / np.arange(1, counts.size + 1)
    kept = np.flatnonzero(descending > excess)[-1]
    return np.asarray(np.maximum(counts - excess[kept], 0.0))


def bins_of(weights: PublicWeights, number: int | None = None) -> Bins:
    """Bins for the means of a public record: a bin a mean where few means are attainable, else of equal widths.

    Args:
        weights: the public weights.
        number: how many bins, at most; by default all attainable means where they are at most :data:`FEW`, else
            twice the cube root of the number of reviewers.

    >>> weights = PublicWeights.from_rows([[1, 3], [2, 2], [1, 3]], load=2)
    >>> bins_of(weights).low.tolist()
    [1.0, 1.5, 2.0, 2.5, 3.0]
    >>> bins_of(weights, 2).low.tolist(), bins_of(weights, 2).high.tolist()
    ([1.0, 2.0], [1.5, 3.0])
    """
    number = None if number is None else check_number(number)
    means = attainable_means(weights, MOST)
    if means is not None and means.size <= (FEW if number is None else number):
        return Bins(means, means)
    count = default_number(weights.reviewers) if number is None else number
    low, high = _reach(weights) if means is None else (float(means[0]), float(means[-1]))
    if not low < high:
        return Bins(np.array([low]), np.array([low]))
    ends = np.linspace(low, high, count + 1)
    if not (np.diff(ends) > 0).all():
        raise InputError(f"means between {low!r} and {high!r} cannot be told apart in {count} bins; ask for fewer")
    if means is None:
        return Bins(ends[:-1], ends[1:])
    group = np.searchsorted(ends[1:-1] - 1e-9 * (ends[1] - ends[0]), means, side="right")
    first = np.flatnonzero(np.diff(group, prepend=-1))
    return Bins(means[first], means[np.append(first[1:], means.size) - 1])


def check_number(number: object) -> int:
    """The number of bins, if it may be one."""
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or not 2 <= number <= MOST:
        raise InputError(f"bins must be a whole number between 2 and {MOST}, got {number!r}")
    return int(number)


def default_number(reviewers: int) -> int:
    """How many bins of equal widths there are unless somebody says so."""
    return max(2, min(MOST, round(2 * math.cbrt(reviewers))))


def _reach(weights: PublicWeights) -> tuple[float, float]:
    """The least and the greatest mean that a reviewer can have: reviews of different papers, as few as may be."""
    last = np.cumsum(weights.sizes()) - 1
    load = weights.loads.smallest
    least = np.sort(weights.low[last - weights.sizes() + 1])[:load]
    greatest = np.sort(weights.high[last])[-load:]
    return math.fsum(least) / least.size, math.fsum(greatest) / greatest.size


def attainable_means(weights: PublicWeights, most: int) -> Floats | None:
    """All means that a reviewer may have, where all weights are public and these are at most so many; else ``None``.

    Weights on a common grid, such as whole scores, make means on finer ones: one for each load that may occur.

    >>> attainable_means(PublicWeights.from_rows([[1, 2], [1, 2]], load=2), 10).tolist()
    [1.0, 1.5, 2.0]
    """
    if not weights.exact:
        return None
    values = np.unique(weights.low)
    if values.size == 1:
        return values
    step = _common_step(values)
    if step is None:
        return None
    first = np.cumsum(weights.sizes()) - weights.sizes()
    grid = np.rint((weights.low - values[0]) / step).astype(np.int64)
    least, greatest = np.sort(grid[first]), np.sort(grid[first + weights.sizes() - 1])[::-1]
    found: set[Fraction] = set()
    for load in weights.loads.sizes:
        low, high = int(least[:load].sum()), int(greatest[:load].sum())
        if high - low >= most:
            return None
        found.update(Fraction(total, load) for total in range(low, high + 1))
        if len(found) > most:
            return None
    means = np.array([values[0] + step * fraction.numerator / fraction.denominator for fraction in sorted(found)])
    return means if (np.diff(means) > 0).all() else None


def _common_step(values: Floats) -> float | None:
    """The step of a grid that all these values lie on, if their least gap is a small multiple of it."""
    gap = float(np.diff(values).min())
    if not float(values[-1] - values[0]) <= 1e6 * gap:
        return None
    steps = (values - values[0]) / gap
    for parts in range(1, _STEPS + 1):
        if (np.abs(steps * parts - np.rint(steps * parts)) <= 1e-9 * (1 + steps * parts)).all():
            return float(values[-1] - values[0]) / float(np.rint(steps[-1] * parts))
    return None
