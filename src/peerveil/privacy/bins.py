"""Bins of means, noisy counts, and the sorted vectors that they give. All inputs are public.

See docs/mathematics.md, "Histograms".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from peerveil.errors import Argument, InputError
from peerveil.quantities.long_vectors import ascends, running_maximum
from peerveil.quantities.statistics import MEAN, attainable
from peerveil.quantities.weights import PublicWeights
from peerveil.record.public_record import Floats, Ints, frozen

#: The largest number of bins.
MOST = 4_096

#: The number of places inside a bin of positive width.
PLACES = 16

#: With so many ascending means for each bin, it is faster to place the cuts between bins among the means.
_LONG = 16

#: The largest ratio of the least gap between weights to the step of their common grid.
_STEPS = 12


@dataclass(frozen=True, eq=False)
class Bins:
    """Bins that contain every mean of every assignment, made by :func:`peerveil.mechanisms.bin_choice.bins_of`.

    Attributes:
        low: the least mean in each bin, ascending.
        high: the greatest mean in each bin; equal to ``low`` if the bin is a single attainable mean.
        inside: for each bin a row of assumed places of its means, ascending and equally likely.

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
        shaped = inside.ndim == 2 and 1 <= inside.shape[1] <= MOST
        if not (shaped and 1 <= low.size == high.size == len(inside) <= MOST):
            raise InputError(f"there must be 1 to {MOST} bins, each with two ends and the same number of places inside")
        if not all(np.isfinite(side).all() for side in (low, high, inside)):
            raise InputError("bins must be finite numbers")
        if (low > high).any() or (high[:-1] > low[1:]).any() or (low[:-1] >= low[1:]).any():
            raise InputError("bins must ascend and not overlap")
        if (np.diff(inside, axis=1) < 0).any() or (inside[:, 0] < low).any() or (inside[:, -1] > high).any():
            raise InputError("places inside bins must ascend and lie in their bin")

    @classmethod
    def even(cls, low: Floats, high: Floats) -> Bins:
        """Return bins whose means are assumed to be uniformly distributed inside."""
        places = PLACES if (high > low).any() else 1
        share = (np.arange(places) + 0.5) / places
        return cls(low, high, np.clip(low[:, None] + (high - low)[:, None] * share, low[:, None], high[:, None]))

    @property
    def number(self) -> int:
        """The number of bins."""
        return self.low.size

    def __repr__(self) -> str:
        return f"Bins(number={self.number})"

    def same(self, other: Bins) -> bool:
        """Return whether two sets of bins are equal up to round-off."""
        pairs = ((self.low, other.low), (self.high, other.high), (self.inside, other.inside))
        slack = 1e-9 * (self.high[-1] - self.low[0])
        return all(a.shape == b.shape and bool((np.abs(a - b) <= slack).all()) for a, b in pairs)

    @property
    def cuts(self) -> Floats:
        """The boundaries between bins: in the middle of the gap, or slightly lower if two bins touch.

        A mean at a common end belongs to the upper bin, even if it was computed with round-off.
        """
        gap, width = self.low[1:] - self.high[:-1], self.high - self.low
        return np.asarray((self.high[:-1] + self.low[1:]) / 2 - np.where(gap > 0, 0.0, 1e-9 * width[:-1]))

    def place(self, means: Floats) -> Ints:
        """Return the bin of each mean."""
        cuts = self.cuts
        if means.ndim == 1 and means.size > _LONG * self.number and ascends(means):
            return np.repeat(np.arange(self.number), np.diff(means.searchsorted(cuts), prepend=0, append=means.size))
        return np.searchsorted(cuts, means, side="right")

    def counts(self, vectors: Floats) -> Ints:
        """Return the number of entries in each bin, for one vector or one vector per row."""
        rows = np.atleast_2d(vectors)
        place = self.place(rows) + self.number * np.arange(len(rows))[:, None]
        counts = np.bincount(place.ravel(), minlength=self.number * len(rows))
        return counts.reshape(*vectors.shape[:-1], self.number)

    def vector(self, counts: npt.ArrayLike, entries: int) -> Floats:
        """Return the sorted vector of noisy counts: fitted to a number of entries, at the places inside the bins.

        >>> bins = Bins.even(np.array([1.0, 2.0]), np.array([1.0, 2.0]))
        >>> bins.vector([3, -1], 2).tolist()
        [1.0, 1.0]
        """
        fitted = fitted_counts(np.asarray(counts, dtype=np.float64), entries)
        places = self.inside.shape[1]
        value = self.inside.ravel()
        end = np.minimum(np.cumsum(np.repeat(fitted / places, places)), entries)
        end[-1] = entries
        # An entry is the mean over its rank of the quantile function, a step function with one step per place.
        ranks = np.arange(entries + 1, dtype=np.float64)
        base = value - value[0]
        integral = np.concatenate(([0.0], np.cumsum(np.diff(end, prepend=0.0) * base)))
        entry = value[0] + np.diff(np.interp(ranks, np.concatenate(([0.0], end)), integral))
        # Entries within one place are exact.
        first = np.minimum(np.searchsorted(end, ranks[:-1], side="right"), end.size - 1)
        entry = np.where(end[first] >= ranks[1:], value[first], entry)
        return running_maximum(np.clip(entry, value[0], value[-1]))


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyCounts:
    """The noisy numbers of means in each bin, which a histogram releases.

    Attributes:
        bins: the bins, from public data.
        counts: whole numbers, of any sign.
        outside: the noisy number of reviewers without a kept review, if the number of the others is not public.

    >>> seen = NoisyCounts(bins=Bins.even(np.array([1.0, 2.0]), np.array([1.0, 2.0])), counts=np.array([3, -1]))
    >>> seen.vector(2).tolist()
    [1.0, 1.0]
    """

    bins: Bins
    counts: Ints = field(repr=False)
    outside: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", frozen(self.counts))
        if self.counts.shape != (self.bins.number,) or self.counts.dtype.kind != "i":
            raise InputError(f"counts must be {self.bins.number} whole numbers, one per bin")

    def vector(self, entries: int) -> Floats:
        """Return the sorted vector of the histogram alone."""
        return self.bins.vector(self.counts, entries)

    def inside(self, reviewers: int) -> int:
        """Return an estimate of the number of means, given the number of all reviewers with those outside.

        It is the least-squares fit that adds up: the excess is shared equally by all counts.

        >>> bins = Bins.even(np.array([1.0, 2.0]), np.array([1.0, 2.0]))
        >>> NoisyCounts(bins=bins, counts=np.array([3, 5]), outside=5).inside(10)
        6
        """
        assert self.outside is not None  # noqa: S101 - callers check
        excess = int(self.counts.sum()) + self.outside - reviewers
        return round(reviewers - (self.outside - excess / (self.bins.number + 1)))

    def to_document(self) -> dict[str, Any]:
        """Return a JSON object."""
        bins = {"low": self.bins.low, "high": self.bins.high, "inside": self.bins.inside}
        listed = {name: numbers.tolist() for name, numbers in (bins | {"counts": self.counts}).items()}
        return listed if self.outside is None else listed | {"outside": self.outside}

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> NoisyCounts:
        """Return the counts that :meth:`to_document` describes."""
        low, high, inside = (np.array(document[name], dtype=np.float64) for name in ("low", "high", "inside"))
        counts = np.array(document["counts"], dtype=np.int64)
        return cls(bins=Bins(low, high, inside), counts=counts, outside=document.get("outside"))


def span_words(bins: Bins, place: int) -> str:
    """Return a bin in words.

    >>> span_words(Bins.even(np.array([1.0, 2.0]), np.array([1.0, 3.5])), 1)
    'between 2 and 3.5'
    """
    low, high = (f"{float(end[place]):.3g}" for end in (bins.low, bins.high))
    return f"at {low}" if low == high else f"between {low} and {high}"


def fitted_counts(counts: Floats, total: int) -> Floats:
    """Return the nearest non-negative counts with a given sum.

    >>> fitted_counts(np.array([5.0, -2.0, 2.0]), 5).tolist()
    [4.0, 0.0, 1.0]
    """
    if total <= 0:
        return np.zeros_like(counts)
    descending = np.sort(counts)[::-1]
    excess = (np.cumsum(descending) - total) / np.arange(1, counts.size + 1)
    kept = np.flatnonzero(descending > excess)[-1]
    return np.asarray(np.maximum(counts - excess[kept], 0.0))


def check_number(number: object) -> int:
    """Return a valid number of bins."""
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or not 2 <= number <= MOST:
        raise InputError(Argument("bins"), f" must be a whole number between 2 and {MOST}, got {number!r}")
    return int(number)


def reach(weights: PublicWeights) -> tuple[float, float]:
    """Return the least and the greatest possible mean, of as few reviews of different papers as possible.

    For another statistic, return the ends for weights of any papers.
    """
    if weights.statistic is not MEAN:
        return weights.statistic.reach(*weights.span)
    least, most = weights.ends_of_papers(weights.loads.smallest)
    return math.fsum(least) / least.size, math.fsum(most) / most.size


def attainable_means(weights: PublicWeights, most: int) -> Floats | None:
    """Return all possible means if all weights are public and there are at most ``most``; otherwise ``None``.

    For other statistics than the mean, return their values as far as these are known.

    Weights on a common grid, such as whole scores, give means on finer grids, one for each possible load.

    >>> attainable_means(PublicWeights.from_rows([[1, 2], [1, 2]], load=2), 10).tolist()
    [1.0, 1.5, 2.0]
    """
    if not weights.exact:
        return None
    if weights.statistic is not MEAN:
        others = attainable(weights.statistic, weights.low)
        return None if others is None or others.size > most else others
    return _attainable_means(weights, weights.distinct.values(), most)


def _attainable_means(weights: PublicWeights, values: Floats, most: int) -> Floats | None:
    """Return all possible means of public weights, which have these values."""
    if values.size == 1:
        return values
    step = common_step(values)
    if step is None:
        return None
    ends = weights.ends_of_papers(weights.loads.largest)  # which are the same on both sides
    least, dearest = (np.rint((end - values[0]) / step).astype(np.int64) for end in ends)
    multiples: set[Fraction] = set()
    for load in weights.loads.sizes:
        low, high = int(least[:load].sum()), int(dearest[:load].sum())
        if high - low >= most:
            return None
        multiples.update(Fraction(total, load) for total in range(low, high + 1))
        if len(multiples) > most:
            return None
    means = np.array([values[0] + step * multiple.numerator / multiple.denominator for multiple in sorted(multiples)])
    return means if (np.diff(means) > 0).all() else None


def common_step(values: Floats) -> float | None:
    """Return the step of a grid that contains all values, if their least gap is a small multiple of it."""
    gap = float(np.diff(values).min())
    if not float(values[-1] - values[0]) <= 1e6 * gap:
        return None
    steps = (values - values[0]) / gap
    for parts in range(1, _STEPS + 1):
        if (np.abs(steps * parts - np.rint(steps * parts)) <= 1e-9 * (1 + steps * parts)).all():
            return float(values[-1] - values[0]) / float(np.rint(steps[-1] * parts))
    return None
