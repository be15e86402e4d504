"""The envelope: bounds on the sums of the smallest and of the largest means. Near-linear time.

See docs/mathematics.md, "The envelope", for the proofs.
"""

from __future__ import annotations

import numpy as np

from peerveil.quantities.weights import PublicWeights
from peerveil.record.public_record import Floats
from peerveil.regions.baseline import shares, total_range
from peerveil.regions.convex import Region, register
from peerveil.regions.sums import Rows, least_totals, pinned_totals, pins_may_tell


@register
def envelope(weights: PublicWeights) -> Region:
    """Ascending vectors with running sums between the least and the greatest that valid assignments allow.

    >>> weights = PublicWeights.from_rows([[0, 0], [0, 0], [-1, 1]], load=2)
    >>> region = envelope(weights)
    >>> region.cumulative_lower.tolist(), region.cumulative_upper.tolist()
    ([0.0, -0.5, -0.5, 0.0], [inf, -0.5, -0.5, inf])
    """
    return _uniform(weights) if weights.loads.uniform else _any_loads(weights)


# Theorem R4, Theorem R5; where weights are intervals, Theorem R7.
def _uniform(weights: PublicWeights) -> Region:
    """One load for all: the lower curve is exact, and so are the bounds on the largest that it implies."""
    n, load = weights.reviewers, weights.loads.smallest
    total = total_range(weights)
    low_end, high_end = weights.span
    # Everything is relative to the middle of the range: with a large offset, differences of sums would cancel.
    centre = (low_end + high_end) / 2
    level = np.arange(n + 1.0) * centre
    around = (total[0] - n * centre, total[1] - n * centre)
    low = Rows(weights.low, weights.sizes(), n, load, centre, distinct=weights.distinct)
    high = low if weights.exact else Rows(weights.high, weights.sizes(), n, load, centre)
    least = least_totals(low) / load
    least[-1] = around[0]
    lower, upper = np.broadcast_to(low_end, n), np.broadcast_to(high_end, n)
    telling = top_least = top_most = np.empty(0)
    if pins_may_tell(high):
        # Somebody holds the largest reviews, and somebody the smallest.
        pinned_top, most = (side / load for side in pinned_totals(high))
        most = np.minimum(around[1] - pinned_top[::-1], most)
        most[0], most[-1] = 0.0, around[1]
        telling = _telling(most, around[1])
        if weights.exact and np.isfinite(telling).any():
            lower, upper = _between(least, most, low_end - centre, high_end - centre)
            lower, upper = lower + centre, upper + centre
        telling += level
    if not weights.exact:
        if pins_may_tell(low):
            top_least = level - _telling(-pinned_totals(low)[0] / load, -around[0])
        top_most = level - least_totals(high.negated()) / load
        top_most[-1] = total[1]
    least += level
    least[-1] = total[0]
    return Region(
        name="envelope",
        lower=lower,
        upper=upper,
        cumulative_lower=least,
        cumulative_upper=telling,
        top_lower=top_least,
        top_upper=top_most,
        total=total,
    )


def _between(least: Floats, most: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """Bounds on entries from bounds on the sums up to them and before them."""
    lower = np.maximum.accumulate(np.maximum(least[1:] - most[:-1], low))
    upper = np.minimum.accumulate(np.minimum(most[1:] - least[:-1], high)[::-1])[::-1]
    crossed, middle = lower > upper, (lower + upper) / 2  # by round-off
    lower, upper = np.where(crossed, middle, lower), np.where(crossed, middle, upper)
    return np.maximum.accumulate(lower), np.minimum.accumulate(upper[::-1])[::-1]


# Theorem R6.
def _any_loads(weights: PublicWeights) -> Region:
    """Different loads, by the rearrangement inequality: the smallest weights get the largest shares."""
    low_end, high_end = weights.span
    total = total_range(weights)
    centre = (low_end + high_end) / 2
    level = np.arange(weights.reviewers + 1) * centre
    share = shares(weights.loads)
    least = level + _rearranged(np.sort(weights.low) - centre, share, weights.reviewers)
    top_most = level - _rearranged(centre - np.sort(weights.high)[::-1], share, weights.reviewers)
    least[-1], top_most[-1] = total
    return Region(
        name="envelope",
        lower=np.broadcast_to(low_end, weights.reviewers),
        upper=np.broadcast_to(high_end, weights.reviewers),
        cumulative_lower=least,
        top_upper=top_most,
        total=total,
    )


def _rearranged(ascending: Floats, share: Floats, reviewers: int) -> Floats:
    """Integrals from 0 to each `i` of the step function that takes each weight on a length of its share."""
    axis = np.concatenate(([0.0], np.cumsum(share)))
    area = np.concatenate(([0.0], np.cumsum(ascending * share)))
    return np.asarray(np.interp(np.arange(reviewers + 1.0), axis, area), dtype=np.float64)


def _telling(most: Floats, total: float) -> Floats:
    """The upper bounds on running sums that convexity does not imply: the vertices of their lower convex hull."""
    n = most.size - 1
    points = most.copy()
    points[0], points[n] = 0.0, total
    chord = np.arange(n + 1) * (total / n) - 1e-12 * abs(total)

    def above(a: int, b: int, c: int) -> bool:
        """Whether point ``b`` is on or above the line from ``a`` to ``c``."""
        return bool((points[b] - points[a]) * (c - a) >= (points[c] - points[a]) * (b - a))

    vertices = [0]
    for i in (*np.flatnonzero(points < chord).tolist(), n):
        while len(vertices) > 1 and above(vertices[-2], vertices[-1], i):
            vertices.pop()
        vertices.append(i)
    telling = np.full(n + 1, np.inf)
    telling[vertices[1:-1]] = most[vertices[1:-1]]
    return telling
