"""From vectors of any length to a few numbers to draw: 20 reviewers or 20,000 make pictures of one size."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from peerveil.record.public_record import Floats, Ints
from peerveil.reporting.published import Published

#: Points of a curve: as many as a wide screen can tell apart.
POINTS = 120

#: Up to so many entries a dot can be drawn for each.
DOTS = 100

#: Groups of consecutive ranks, where entries are too many for dots.
GROUPS = 60

#: Bins of a histogram, at most.
BINS = 24


@dataclass(frozen=True, eq=False)
class Counts:
    """How many reviewers have a mean in which bin.

    Attributes:
        edges: where bins begin and end, one more than there are bins.
        counts: reviewers in each bin.
        least: reviewers in each bin at least, if every mean lies in its band; ``None`` where there are no bands.
        most: the same at most.
    """

    edges: Floats
    counts: Ints
    least: Ints | None = None
    most: Ints | None = None


def bins_for(release: Published) -> Floats:
    """Edges of bins: round numbers, and no finer than the release can tell.

    A bin is at least as wide as the expected error is to either side, and there are no more than the number of
    reviewers warrants.
    """
    low, high = float(release.values[0]), float(release.values[-1])
    reach = high - low
    if not reach > 1e-9 * max(1.0, abs(low), abs(high)):
        half = 0.5 if abs(low) < 1e6 else 0.05 * abs(low)
        return np.array([low - half, low + half])
    bins = min(BINS, max(5.0, 2 * release.values.size ** (1 / 3)))
    error = release.outlook.expected_rmse if release.outlook else 0.0
    step = round_step(max(reach / bins, min(2 * error, reach / 4)))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return np.asarray(np.arange(first, last + 1) * step, dtype=np.float64)


def round_step(step: float) -> float:
    """The next larger of 1, 2, 2.5 and 5 times a power of ten.

    >>> round_step(0.13), round_step(0.23), round_step(7.0)
    (0.2, 0.25, 10.0)
    """
    power = 10.0 ** math.floor(math.log10(step))
    return next(nice * power for nice in (1.0, 2.0, 2.5, 5.0, 10.0) if nice * power >= step * (1 - 1e-9))


def counted(release: Published, edges: Floats) -> Counts:
    """How many released means are in each bin, and how many may be."""
    cuts = edges[1:-1]
    places = np.searchsorted(cuts, release.values, side="right")
    counts = np.bincount(places, minlength=edges.size - 1)
    if release.outlook is None:
        return Counts(edges, counts)
    first = np.searchsorted(cuts, release.outlook.lower, side="right")
    last = np.searchsorted(cuts, release.outlook.upper, side="right")
    bins = edges.size - 1
    # A band from the first to the last bin may put its entry in any of them, and surely does where they are one.
    begun = np.cumsum(np.bincount(first, minlength=bins))
    ended = np.cumsum(np.bincount(last + 1, minlength=bins + 1))[:-1]
    least = np.bincount(first[first == last], minlength=bins)
    return Counts(edges, counts, np.minimum(least, counts), np.maximum(begun - ended[:bins], counts))


def thinned(length: int, most: int = POINTS) -> Ints:
    """Places of a vector to draw a curve through: all of them, or evenly spread ones with both ends.

    >>> thinned(5).tolist(), thinned(1000, 5).tolist()
    ([0, 1, 2, 3, 4], [0, 250, 500, 749, 999])
    """
    if length <= most:
        return np.arange(length)
    return np.unique(np.rint(np.linspace(0, length - 1, most)).astype(np.int64))


def grouped(vector: Floats, groups: int = GROUPS) -> list[tuple[float, float, float, float]]:
    """Consecutive entries together: the middle rank, the tenth, fifth and ninth decile of each group.

    >>> grouped(np.arange(20.0), 2)
    [(5.5, 0.9, 4.5, 8.1), (15.5, 10.9, 14.5, 18.1)]
    """
    found = []
    for part in np.array_split(np.arange(vector.size), min(groups, vector.size)):
        low, middle, high = np.quantile(vector[part], (0.1, 0.5, 0.9)).tolist()
        found.append((float(part.mean()) + 1, low, middle, high))
    return found
