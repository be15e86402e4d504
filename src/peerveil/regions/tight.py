"""The tight region: every tractable bound that the public record implies. The default."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from peerveil.quantities.weights import PublicWeights
from peerveil.record.public_record import Floats
from peerveil.regions.chain import LONGEST_LOAD, lower_bounds
from peerveil.regions.convex import Region, register
from peerveil.regions.envelope import envelope
from peerveil.regions.packing import MOST_TUPLES, pigeonhole_bounds, programme_bounds, tuple_count

#: Up to this many reviewers, bounds on single entries are computed. Beyond, they add little to the bounds on sums, and
#: would rule out projection by isotonic regression.
MOST_ENTRIES = 2_000

#: Work limit for the chain bounds of each side: constant, and per reviewer.
EFFORT, EFFORT_PER_REVIEWER = 20_000, 20


# Theorem R9: exact where public data determine the vector.
@register
def tight(weights: PublicWeights) -> Region:
    """The envelope, with bounds on entries from chains and from packing for small records.

    >>> weights = PublicWeights.from_rows([[0.2, 0.9], [0.4, 0.5]], load=2)
    >>> region = tight(weights)
    >>> region.lower.tolist(), region.upper.tolist()
    ([0.3..., 0.65], [0.35, 0.7])
    """
    sums = envelope(weights)
    if weights.reviewers > MOST_ENTRIES:
        return replace(sums, name="tight")
    lower = _entries(weights, weights.low)
    upper = 0.0 - _entries(weights, -weights.high)[::-1]
    return replace(sums, name="tight", lower=np.maximum(sums.lower, lower), upper=np.minimum(sums.upper, upper))


def _entries(weights: PublicWeights, ends: Floats) -> Floats:
    """Lower bounds on entries for one end of the weights' intervals."""
    loads, sizes = weights.loads, weights.sizes()
    rows = [part.tolist() for part in np.split(ends, np.cumsum(sizes)[:-1])]
    bounds = [np.full(loads.reviewers, float(ends.min()))]
    if loads.largest <= LONGEST_LOAD:
        effort = EFFORT + EFFORT_PER_REVIEWER * loads.reviewers
        bounds.append(lower_bounds(rows, loads.reviewers, loads.sizes, effort=effort)[0])
    if loads.uniform:
        bounds.append(pigeonhole_bounds(ends, loads.reviewers, loads.smallest))
    if tuple_count(sizes.tolist(), loads) <= MOST_TUPLES:
        bounds.append(programme_bounds(rows, loads))
    return np.maximum.accumulate(np.maximum.reduce(bounds))
