"""Reduction of vectors of any length to the few numbers that a chart draws."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from peerveil.record.public_record import Floats, Ints
from peerveil.reporting.published import Published
from peerveil.reporting.published import thinned as thinned  # noqa: PLC0414 - the other reductions are here

#: Entries drawn as dots at most, bins of noisy counts drawn as bars, and bins of a histogram.
DOTS, BARS, BINS = 200, 60, 24


@dataclass(frozen=True, eq=False)
class Counts:
    """Number of reviewers by bin of their mean.

    Attributes:
        edges: the edges of the bins.
        counts: the number of reviewers in each bin.
        least: the least number in each bin if every mean lies in its band; ``None`` without bands.
        most: the greatest number, likewise.
    """

    edges: Floats
    counts: Ints
    least: Ints | None = None
    most: Ints | None = None


def bins_for(release: Published) -> Floats:
    """Return round edges of bins that are at least twice the expected error wide and suit the number of reviewers."""
    drawn = release.values if release.chance is None else np.append(release.values, release.chance)
    low, high = float(drawn.min()), float(drawn.max())
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
    """Return the next larger of 1, 2, 2.5 and 5 times a power of ten.

    >>> round_step(0.13), round_step(0.23), round_step(7.0)
    (0.2, 0.25, 10.0)
    """
    power = 10.0 ** math.floor(math.log10(step))
    return next(nice * power for nice in (1.0, 2.0, 2.5, 5.0, 10.0) if nice * power >= step * (1 - 1e-9))


def counted(release: Published, edges: Floats) -> Counts:
    """Return how many released means are in each bin, and how many the bands allow."""
    cuts = edges[1:-1]
    places = np.searchsorted(cuts, release.values, side="right")
    counts = np.bincount(places, minlength=edges.size - 1)
    if release.outlook is None:
        return Counts(edges, counts)
    first = np.searchsorted(cuts, release.outlook.lower, side="right")
    last = np.searchsorted(cuts, release.outlook.upper, side="right")
    bins = edges.size - 1
    # An entry may lie in any bin that its band meets, and surely lies in the bin that contains its band.
    begun = np.cumsum(np.bincount(first, minlength=bins))
    ended = np.cumsum(np.bincount(last + 1, minlength=bins + 1))[:-1]
    least = np.bincount(first[first == last], minlength=bins)
    return Counts(edges, counts, np.minimum(least, counts), np.maximum(begun - ended[:bins], counts))


def chance_counts(release: Published, edges: Floats) -> Floats:
    """Return how many means random dealing would give in each bin; none if that is not known.

    The expected means are at evenly spread ranks, and the number up to a mean is interpolated between them.
    """
    if release.chance is None:
        return np.empty(0)
    n = release.values.size
    ranks = thinned(n, release.chance.size) + 0.5
    up_to = np.interp(edges, *_rising(release.chance, ranks), left=0.0, right=float(n))
    up_to[0], up_to[-1] = 0.0, float(n)
    return np.diff(up_to)


def _rising(means: Floats, ranks: npt.NDArray[np.floating[Any]]) -> tuple[Floats, Floats]:
    """Means without repetition, and the middle rank of each."""
    distinct, place = np.unique(means, return_inverse=True)
    return distinct, np.bincount(place, weights=ranks) / np.bincount(place)
