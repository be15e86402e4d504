"""The paper's region: per-entry bounds from chains of valid tuples and from marking (its Algorithms 1 and 2).

The bound on entry ``i`` is the mean of the first tuple after that of entry ``i - 1`` that

- C1: ends a left chain of at least ``i`` tuples, each disjoint from the one before, and
- C2: leaves at most ``n - i`` reviews of every paper unmarked; the first tuple that holds a review marks it.

See docs/mathematics.md, "The chain region", for why the shortcuts taken here do not change a bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from peerveil.errors import RecordError
from peerveil.quantities.weights import PublicWeights
from peerveil.record.public_record import Floats
from peerveil.regions.baseline import baseline
from peerveil.regions.convex import Region, register
from peerveil.regions.tuples import TupleOrder, WeightTuple

#: For larger loads only weaker bounds are computed, as chains would never get beyond the first tuples.
LONGEST_LOAD = 64

#: Work limit of each side in tuples and levels, constant and per reviewer; beyond it weaker bounds are taken.
EFFORT, EFFORT_PER_REVIEWER = 500_000, 60


@register
def chain(weights: PublicWeights) -> Region:
    """The region of the paper's algorithm: chain bounds, order and total.

    >>> weights = PublicWeights.from_rows([[0, 0, 0], [0, 0, 0], [0, 0, 0], [1, 2, 3]], load=3)
    >>> region = chain(weights)
    >>> region.lower.tolist() == region.upper.tolist() == [0, 1 / 3, 2 / 3, 1]
    True
    """
    base, sizes = replace(baseline(weights), name="chain"), weights.loads.sizes
    if weights.loads.largest > LONGEST_LOAD:
        return replace(base, notes=(f"loads above {LONGEST_LOAD}: chain bounds left at the range of the weights",))
    lower, exact_below = lower_bounds(weights.rows_low(), weights.reviewers, sizes)
    negated = [[-x for x in row] for row in weights.rows_high()]
    mirrored, exact_above = lower_bounds(negated, weights.reviewers, sizes)
    notes = tuple(
        f"{side} chain bounds: exact for {exact} of {weights.reviewers} entries, "
        "for the others a weaker bound that needs less work"
        for side, exact in (("lower", exact_below), ("upper", exact_above))
        if exact < weights.reviewers
    )
    return replace(base, lower=lower, upper=0.0 - mirrored[::-1], notes=notes)


# Theorem R3.
def lower_bounds(
    rows: Sequence[Sequence[float]], reviewers: int, sizes: Sequence[int], *, effort: int | None = None
) -> tuple[Floats, int]:
    """Return lower bounds on the ascending means, and how many of them are the paper's.

    The others are valid but may be smaller, as ``effort`` was exhausted.
    """
    order = TupleOrder.of(rows, sizes)
    limit = EFFORT + EFFORT_PER_REVIEWER * reviewers if effort is None else effort
    starts = _marking_tuples(order, reviewers)
    taken: list[int] = []  # the cost of the tuple taken for each entry
    chains = _Chains()
    for cost, reviews in order.ascending():
        length = chains.add(reviews)
        start = starts.get(len(taken) + 1)
        if length > len(taken) and (start is None or cost >= start.cost):
            taken.append(cost)
        # An entry that waits for a later marking tuple takes none before it, and takes that one if its chain is long
        # enough, which the tuples listed so far may already show.
        while (start := starts.get(len(taken) + 1)) and start.cost > cost:
            if chains.length(start.reviews) <= len(taken):
                break
            taken.append(start.cost)
        if len(taken) >= reviewers:
            return np.array([order.mean(c) for c in taken]), reviewers
        if chains.work > limit:
            return _completed(order, taken, cost, starts, reviewers), len(taken)
    raise RecordError(
        f"no valid assignment exists: the papers' {order.offset[-1]} reviews cannot be dealt to {reviewers} "
        f"reviewers with loads {', '.join(map(str, sizes))} without anyone reviewing a paper twice"
    )


def _marking_tuples(order: TupleOrder, reviewers: int) -> dict[int, WeightTuple]:
    """For each entry that C2 restricts, the tuple from which on C2 holds.

    Entry ``i`` needs at least ``k - (n - i)`` marked reviews of a paper with ``k``, the cheaper ones first. So C2
    restricts only the last ``max k`` entries.
    """
    latest: dict[int, tuple[int, int, int]] = {}
    for paper, marks in enumerate(order.first_marks()):
        for rank, cost in enumerate(marks):
            entry = reviewers - len(marks) + rank + 1
            latest[entry] = max(latest.get(entry, (cost, paper, rank)), (cost, paper, rank))
    return {entry: order.marking_tuple(paper, rank) for entry, (_, paper, rank) in latest.items()}


def _completed(
    order: TupleOrder, taken: list[int], last: int, starts: dict[int, WeightTuple], reviewers: int
) -> Floats:
    """The bounds found so far, and weaker ones for the remaining entries.

    The tuples of these come after the last one listed and not before the entry's marking tuple. From the second entry
    on, a disjoint tuple comes before them, so their mean is at least that of both, and at least that of the cheapest
    tuple without any given review.
    """
    pair = max(
        _mean_of_pair(order), *(order.mean(order.cheapest_without(paper)) for paper in range(max(order.factors)))
    )
    bounds = [order.mean(cost) for cost in taken]
    for entry in range(len(taken) + 1, reviewers + 1):
        candidates = [order.mean(last), *bounds[-1:]]
        if entry in starts:
            candidates.append(order.mean(starts[entry].cost))
        if entry > 1:
            candidates.append(pair)
        bounds.append(max(candidates))
    return np.array(bounds)


def _mean_of_pair(order: TupleOrder) -> float:
    """A lower bound on the joint mean of two disjoint tuples: twice the least load, at most two reviews per paper."""
    count = 2 * min(order.factors)
    cheapest = sorted(cost for row in order.rows for cost in row[:2])[:count]
    whole = sum(cost >> order.shift for cost in cheapest)
    return whole * max(order.factors.values()) * min(order.factors) / (order.unit * len(cheapest))


@dataclass
class _Chains:
    """Lengths of the longest left chains of tuples in ascending order.

    A tuple's length is one more than the highest level with a tuple disjoint from it. Each level stores, for each
    review, the tuples that hold it as the bits of an integer, so that a few unions find all tuples that meet a new one.
    """

    levels: list[tuple[dict[int, int], int]] = field(default_factory=list)
    work: int = 0

    def length(self, reviews: Sequence[int]) -> int:
        """The length of the longest left chain of added tuples that ends with these reviews."""
        for level in range(len(self.levels), 0, -1):
            self.work += 1
            holders, count = self.levels[level - 1]
            met = 0
            for review in reviews:
                met |= holders.get(review, 0)
            if met != (1 << count) - 1:
                return level + 1
        return 1

    def add(self, reviews: Sequence[int]) -> int:
        """Add the next tuple and return its length."""
        self.work += len(reviews)
        length = self.length(reviews)
        if length > len(self.levels):
            self.levels.append(({}, 0))
        holders, count = self.levels[length - 1]
        self.work += len(reviews) * count // 512  # large levels make long integers
        for review in reviews:
            holders[review] = holders.get(review, 0) | 1 << count
        self.levels[length - 1] = (holders, count + 1)
        return length
