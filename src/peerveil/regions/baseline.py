"""The baseline region: order, the range of the weights, and the total."""

from __future__ import annotations

import math

import numpy as np

from peerveil.quantities.weights import PublicWeights
from peerveil.record.loads import Loads
from peerveil.record.public_record import Floats
from peerveil.regions.convex import Region, register


@register
def baseline(weights: PublicWeights) -> Region:
    """Ascending vectors within the range of the weights, with a possible total."""
    lower, upper = (np.full(weights.reviewers, end) for end in weights.span)
    return Region(name="baseline", lower=lower, upper=upper, total=total_range(weights))


# Theorem R2.
def total_range(weights: PublicWeights) -> tuple[float, float]:
    """The least and greatest possible sum of all reviewers' means.

    With one load it is the sum of the weights divided by the load. With several loads, a review held at load ``l``
    counts ``1/l``: by the rearrangement inequality, the least total pairs the smallest weights with the largest shares,
    and the greatest total pairs them the other way round.
    """
    if weights.loads.uniform:
        load = weights.loads.smallest
        least = float(np.sum(weights.low)) / load
        return least, least if weights.exact else float(np.sum(weights.high)) / load
    share = shares(weights.loads)
    return math.fsum(np.sort(weights.low) * share), math.fsum(np.sort(weights.high) * share[::-1])


def shares(loads: Loads) -> Floats:
    """The factor of each review in its holder's mean, largest first; one entry per review.

    Where only the set of loads is public: the shares that majorise all possible ones.
    """
    if loads.counts is not None:
        per_reviewer = loads.per_reviewer()[::-1]
        return np.repeat(1.0 / per_reviewer, per_reviewer)
    n, N = loads.reviewers, loads.reviews
    most, least = 1 / loads.smallest, 1 / loads.largest
    # N shares between `least` and `most` sum to n: as many at the top as possible, one in between.
    top = min(math.floor((n - N * least) / (most - least)), N - 1)
    between = n - top * most - (N - top - 1) * least
    return np.concatenate((np.full(top, most), [between], np.full(N - top - 1, least)))
