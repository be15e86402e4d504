"""The envelope: bounds on the sums of the smallest and of the largest means. Near-linear time.

See docs/mathematics.md, "The envelope", for the proofs.
"""

from __future__ import annotations

import numpy as np

from peerveil.record import Floats
from peerveil.regions.baseline import baseline, shares
from peerveil.regions.convex import Region
from peerveil.regions.sums import Rows, least_totals, pinned_totals
from peerveil.weights import PublicWeights


def envelope(weights: PublicWeights) -> Region:
    """Ascending vectors whose running sums stay above the least that valid assignments allow, and below the most.

    >>> weights = PublicWeights.from_rows([[0, 0], [0, 0], [-1, 1]], load=2)
    >>> region = envelope(weights)
    >>> region.cumulative_lower.tolist(), region.cumulative_upper.tolist()
    ([0.0, -0.5, -0.5, 0.0], [inf, -0.5, -0.5, inf])
    """
    return _uniform(weights) if weights.loads.uniform else _any_loads(weights)


def _uniform(weights: PublicWeights) -> Region:
    """One load for all: the lower curves are exact."""
    base = baseline(weights)
    n, load = weights.reviewers, weights.loads.smallest
    low = Rows(weights.low, weights.sizes())
    least = least_totals(low, n, load) / load
    if weights.exact:
        high, negated = low, low.negated()
        top_most = least[-1] - least[::-1]
    else:
        high = Rows(weights.high, weights.sizes())
        negated = high.negated()
        top_most = -least_totals(negated, n, load) / load
    least[-1], top_most[-1] = base.total
    # The largest reviews must be held by someone, and so must the smallest.
    top_least = pinned_totals(high, n, load) / load
    most = np.minimum(base.total[1] - top_least[::-1], -pinned_totals(negated, n, load) / load)
    if not weights.exact:
        top_least = pinned_totals(low, n, load) / load
    return Region(
        name="envelope",
        lower=base.lower,
        upper=base.upper,
        cumulative_lower=least,
        cumulative_upper=_telling(most, base.total[1]),
        top_lower=_none(n) if weights.exact else -_telling(-top_least, -base.total[0]),
        top_upper=top_most,
        total=base.total,
    )


def _any_loads(weights: PublicWeights) -> Region:
    """Different loads: the smallest weights meet the largest shares."""
    base = baseline(weights)
    share = shares(weights.loads)
    least = _rearranged(np.sort(weights.low), share, weights.reviewers)
    top_most = -_rearranged(-np.sort(weights.high)[::-1], share, weights.reviewers)
    least[-1], top_most[-1] = base.total
    return Region(
        name="envelope",
        lower=base.lower,
        upper=base.upper,
        cumulative_lower=least,
        top_upper=top_most,
        total=base.total,
    )


def _rearranged(ascending: Floats, share: Floats, reviewers: int) -> Floats:
    """Lay the weights on an axis, each as long as its share, and integrate from 0 to each `i`."""
    axis = np.concatenate(([0.0], np.cumsum(share)))
    area = np.concatenate(([0.0], np.cumsum(ascending * share)))
    return np.asarray(np.interp(np.arange(reviewers + 1.0), axis, area), dtype=np.float64)


def _telling(most: Floats, total: float) -> Floats:
    """Upper bounds on running sums without those that convexity implies: only corners of their lower hull stay."""
    n = most.size - 1
    points = most.copy()
    points[0], points[n] = 0.0, total
    chord = np.arange(n + 1) * (total / n)
    candidates = np.flatnonzero(points < chord - 1e-12 * (np.abs(chord) + abs(total)))
    corners = [0]
    for i in (*candidates.tolist(), n):
        while len(corners) > 1 and _above(points, corners[-2], corners[-1], i):
            corners.pop()
        corners.append(i)
    telling = np.full(n + 1, np.inf)
    inner = corners[1:-1]
    telling[inner] = most[inner]
    return telling


def _above(points: Floats, a: int, b: int, c: int) -> bool:
    """Whether the middle point is on or above the line between the outer two."""
    return bool((points[b] - points[a]) * (c - a) >= (points[c] - points[a]) * (b - a))


def _none(n: int) -> Floats:
    return np.full(n + 1, -np.inf)
