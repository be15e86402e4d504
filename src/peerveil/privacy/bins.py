"""Bins for means, and what counts in bins say about the sorted vector. Public data only.

See docs/mathematics.md, "Histograms".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from peerveil.errors import Argument, InputError
from peerveil.quantities.weights import PublicWeights
from peerveil.record.public_record import Floats, Ints, frozen

#: The most bins there may be.
MOST = 4_096

#: How many places a bin of some width has inside.
PLACES = 16

#: How many times the least gap between weights may be a multiple of the step that all are multiples of.
_STEPS = 12


@dataclass(frozen=True, eq=False)
class Bins:
    """Bins that hold every mean, whatever the assignment, as :func:`peerveil.mechanisms.bin_choice.bins_of` makes them.

    Attributes:
        low: the least mean in each bin, ascending.
        high: the greatest mean in each bin; the same where a bin stands for one attainable mean.
        inside: where the means of a bin are thought to be, ascending, equally many at each place; a row a bin.

    >>> bins = Bins.even(np.array([1.0, 1.5, 2.0]), np.array([1.0, 1.5, 2.0]))
    >>> bins.counts(np.array([1.0, 1.0, 2.0])).tolist()
    [2, 0, 1]
    """

    low: Floats
    high: Floats
    inside: Floats

    def __post_init__(self) -> None:
        for name in ("low", "high", "inside"):
            object.__setattr__(self, name, frozen(getattr(self, name)))
        low, high, inside = self.low, self.high, self.inside
        if (
            not 1 <= low.size == high.size == len(inside) <= MOST
            or inside.ndim != 2
            or not 1 <= inside.shape[1] <= MOST
        ):
            raise InputError(
                f"bins must be between 1 and {MOST}, each with its ends and the same number of places inside"
            )
        if not all(np.isfinite(side).all() for side in (low, high, inside)):
            raise InputError("bins must be finite numbers")
        if (low > high).any() or (high[:-1] > low[1:]).any() or (low[:-1] >= low[1:]).any():
            raise InputError("bins must ascend and not overlap")
        if (np.diff(inside, axis=1) < 0).any() or (inside[:, 0] < low).any() or (inside[:, -1] > high).any():
            raise InputError("places inside bins must ascend and lie in their bin")

    @classmethod
    def even(cls, low: Floats, high: Floats) -> Bins:
        """Bins whose means may be anywhere inside."""
        places = PLACES if (high > low).any() else 1
        share = (np.arange(places) + 0.5) / places
        return cls(low, high, np.clip(low[:, None] + (high - low)[:, None] * share, low[:, None], high[:, None]))

    @property
    def number(self) -> int:
        """How many there are."""
        return self.low.size

    def same(self, other: Bins) -> bool:
        """Whether these are the same bins, but for round-off."""
        pairs = ((self.low, other.low), (self.high, other.high), (self.inside, other.inside))
        slack = 1e-9 * (self.high[-1] - self.low[0])
        return all(a.shape == b.shape and bool((np.abs(a - b) <= slack).all()) for a, b in pairs)

    @property
    def cuts(self) -> Floats:
        """Where one bin ends and the next begins: in the middle of what lies between, a little lower where they touch.

        Means at an end of both belong to the upper one, even if they were computed with round-off.
        """
        gap, width = self.low[1:] - self.high[:-1], self.high - self.low
        return np.asarray((self.high[:-1] + self.low[1:]) / 2 - np.where(gap > 0, 0.0, 1e-9 * width[:-1]))

    def place(self, means: Floats) -> Ints:
        """The bin of each mean."""
        return np.searchsorted(self.cuts, means, side="right")

    def counts(self, vectors: Floats) -> Ints:
        """How many entries are in each bin, for one vector or a row a vector."""
        rows = np.atleast_2d(vectors)
        place = self.place(rows) + self.number * np.arange(len(rows))[:, None]
        found = np.bincount(place.ravel(), minlength=self.number * len(rows))
        return found.reshape(*vectors.shape[:-1], self.number)

    def vector(self, counts: npt.ArrayLike, entries: int) -> Floats:
        """The sorted vector that noisy counts give: fitted to counts of so many entries, placed as bins say.

        >>> bins = Bins.even(np.array([1.0, 2.0]), np.array([1.0, 2.0]))
        >>> bins.vector([3, -1], 2).tolist()
        [1.0, 1.0]
        """
        fitted = fitted_counts(np.asarray(counts, dtype=np.float64), entries)
        places = self.inside.shape[1]
        value = self.inside.ravel()
        end = np.minimum(np.cumsum(np.repeat(fitted / places, places)), entries)
        end[-1] = entries
        # An entry is the mean of the quantile function over its rank: steps, one a place.
        ranks = np.arange(entries + 1, dtype=np.float64)
        base = value - value[0]
        integral = np.concatenate(([0.0], np.cumsum(np.diff(end, prepend=0.0) * base)))
        entry = value[0] + np.diff(np.interp(ranks, np.concatenate(([0.0], end)), integral))
        # Entries that lie in one place are exact.
        first = np.minimum(np.searchsorted(end, ranks[:-1], side="right"), end.size - 1)
        entry = np.where(end[first] >= ranks[1:], value[first], entry)
        return np.asarray(np.maximum.accumulate(np.clip(entry, value[0], value[-1])))


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyCounts:
    """How many means are in each bin, made private by noise: what a histogram releases.

    Attributes:
        bins: the bins, from public data.
        counts: whole numbers, of any sign.
        outside: the noisy number of reviewers without a kept review, where the number of the others is not public.

    >>> seen = NoisyCounts(bins=Bins.even(np.array([1.0, 2.0]), np.array([1.0, 2.0])), counts=np.array([3, -1]))
    >>> seen.vector(2).tolist()
    [1.0, 1.0]
    """

    bins: Bins
    counts: Ints
    outside: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", frozen(self.counts))
        if self.counts.shape != (self.bins.number,) or self.counts.dtype.kind != "i":
            raise InputError(f"counts must be {self.bins.number} whole numbers, one a bin")

    def vector(self, entries: int) -> Floats:
        """The sorted vector that the histogram alone gives."""
        return self.bins.vector(self.counts, entries)

    def inside(self, everybody: int) -> int:
        """An estimate of how many means there are, if with the reviewers outside they are so many.

        The nearest numbers, in the sense of least squares, that add up: the excess is shared by all counts.

        >>> bins = Bins.even(np.array([1.0, 2.0]), np.array([1.0, 2.0]))
        >>> NoisyCounts(bins=bins, counts=np.array([3, 5]), outside=5).inside(10)
        6
        """
        assert self.outside is not None  # noqa: S101 - asked where they are counted
        excess = int(self.counts.sum()) + self.outside - everybody
        return round(everybody - (self.outside - excess / (self.bins.number + 1)))

    def to_document(self) -> dict[str, Any]:
        """As JSON can hold it."""
        bins = {"low": self.bins.low, "high": self.bins.high, "inside": self.bins.inside}
        listed = {name: numbers.tolist() for name, numbers in (bins | {"counts": self.counts}).items()}
        return listed if self.outside is None else listed | {"outside": self.outside}

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> NoisyCounts:
        """From what :meth:`to_document` made."""
        low, high, inside = (np.array(document[name], dtype=np.float64) for name in ("low", "high", "inside"))
        counts = np.array(document["counts"], dtype=np.int64)
        return cls(bins=Bins(low, high, inside), counts=counts, outside=document.get("outside"))


def fitted_counts(counts: Floats, total: int) -> Floats:
    """The nearest counts of at least 0 that sum to a total.

    >>> fitted_counts(np.array([5.0, -2.0, 2.0]), 5).tolist()
    [4.0, 0.0, 1.0]
    """
    descending = np.sort(counts)[::-1]
    excess = (np.cumsum(descending) - total) / np.arange(1, counts.size + 1)
    kept = np.flatnonzero(descending > excess)[-1]
    return np.asarray(np.maximum(counts - excess[kept], 0.0))


def check_number(number: object) -> int:
    """The number of bins, if it may be one."""
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or not 2 <= number <= MOST:
        raise InputError(Argument("bins"), f" must be a whole number between 2 and {MOST}, got {number!r}")
    return int(number)


def reach(weights: PublicWeights) -> tuple[float, float]:
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
