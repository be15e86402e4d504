"""Valid weight tuples in ascending order of their mean weight.

A tuple is what one reviewer may hold: ``l`` reviews of ``l`` different papers, for a possible load ``l``. The paper's
algorithm permits any order of ties, but index order would list astronomically many tuples that share their first
review. So each review also gets a fixed pseudo-random key, and ties are broken by the mean of keys.

Weights are turned into whole numbers (floats are dyadic fractions), with the key in the low bits. A tuple's place in
the order is then one exact integer, free of rounding.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import lcm
from typing import NamedTuple

_KEY_BITS = 48
_KEY_SEED = 0x9EE7  # any constant: results must repeat


class WeightTuple(NamedTuple):
    """A valid tuple: its cost, which determines the order, and its reviews."""

    cost: int
    reviews: tuple[int, ...]


@dataclass(frozen=True)
class TupleOrder:
    """All valid tuples of a set of rows, in ascending order of their mean; create it with :meth:`of`.

    Attributes:
        rows: the ascending costs of each paper's reviews, papers in ascending order of their cheapest review.
        factors: for each possible load, the factor that makes sums of costs comparable as means.
        shift: the number of bits of a cost that hold its key.
        unit: the cost of a weight of 1 above those bits, after multiplication.
        below: running sums of the cheapest review of each paper.
        offset: index of the first review of each paper.
    """

    rows: tuple[tuple[int, ...], ...]
    factors: dict[int, int]
    shift: int
    unit: int
    below: tuple[int, ...]
    offset: tuple[int, ...]

    @classmethod
    def of(cls, rows: Sequence[Sequence[float]], sizes: Sequence[int]) -> TupleOrder:
        """The order of the tuples of ``rows``; it does not depend on the order of papers or of reviews."""
        usable = [size for size in sizes if size <= len(rows)]
        scale = lcm(*usable)
        ratios = [[x.as_integer_ratio() for x in row] for row in sorted(sorted(map(float, row)) for row in rows)]
        unit = max(below for row in ratios for _, below in row)  # all are powers of two
        shift = _KEY_BITS + (scale * max(usable)).bit_length()
        key = random.Random(_KEY_SEED).getrandbits  # noqa: S311 - breaks ties, protects nothing
        costs = sorted(
            tuple(sorted((above * (unit // below) << shift) + key(_KEY_BITS) for above, below in row)) for row in ratios
        )
        return cls(
            rows=tuple(costs),
            factors={size: scale // size for size in usable},
            shift=shift,
            unit=unit * scale,
            below=(0, *accumulate(row[0] for row in costs)),
            offset=(0, *accumulate(map(len, costs))),
        )

    def mean(self, cost: int) -> float:
        """The mean weight of the tuple with this cost, correctly rounded."""
        return (cost >> self.shift) / self.unit

    def first_marks(self) -> Iterator[list[int]]:
        """For each paper, the costs of the cheapest tuples with each of its reviews, ascending."""
        for r, row in enumerate(self.rows):
            others = [(factor, self._cheapest_others(r, size)) for size, factor in self.factors.items()]
            yield [min(factor * (cost + other) for factor, other in others) for cost in row]

    def marking_tuple(self, paper: int, rank: int) -> WeightTuple:
        """The cheapest tuple with the review of a rank of a paper."""
        review = self.rows[paper][rank]
        cost, size = min(
            (factor * (review + self._cheapest_others(paper, size)), size) for size, factor in self.factors.items()
        )
        others = [r for r in range(size) if r != paper][: size - 1]
        return WeightTuple(cost, (self.offset[paper] + rank, *(self.offset[r] for r in others)))

    def cheapest_without(self, paper: int) -> int:
        """The cost of the cheapest tuple without the cheapest review of a paper."""
        others = (row[0] for p, row in enumerate(self.rows[: max(self.factors) + 1]) if p != paper)
        firsts = sorted([*others, *self.rows[paper][1:2]])
        return min(factor * sum(firsts[:size]) for size, factor in self.factors.items() if len(firsts) >= size)

    def _cheapest_others(self, paper: int, size: int) -> int:
        """The summed costs of the cheapest reviews of ``size - 1`` papers other than ``paper``."""
        return self.below[size - 1] if paper >= size - 1 else self.below[size] - self.rows[paper][0]

    def ascending(self) -> Iterator[WeightTuple]:
        """Iterate over all valid tuples, cheapest first.

        A heap holds tuples whose successors are not listed yet. A tuple of papers' cheapest reviews moves its last
        paper on, then its last but one, and so on, so that each set of papers has one predecessor; from each, the
        reviews are raised within their papers from left to right. Successors never cost less.
        """
        rows, offset, papers = self.rows, self.offset, len(self.rows)
        cheapest = [row[0] for row in rows]
        heap: list[tuple[int, int, int, tuple[int, ...], tuple[int, ...]]] = [
            (factor * self.below[size], factor, size - 1, tuple(range(size)), ())
            for size, factor in self.factors.items()
        ]
        heapq.heapify(heap)
        push = heapq.heappush
        while heap:
            cost, factor, j, chosen, ranks = heapq.heappop(heap)
            size = len(chosen)
            if ranks:
                yield WeightTuple(cost, tuple(offset[r] + rank for r, rank in zip(chosen, ranks, strict=True)))
            else:
                yield WeightTuple(cost, tuple(offset[r] for r in chosen))
                here, limit = chosen[j], chosen[j + 1] if j + 1 < size else papers
                if here + 1 < limit:
                    step = factor * (cheapest[here + 1] - cheapest[here])
                    push(heap, (cost + step, factor, j, (*chosen[:j], here + 1, *chosen[j + 1 :]), ()))
                if 0 < j < here:
                    step = factor * (cheapest[j] - cheapest[j - 1])
                    push(heap, (cost + step, factor, j - 1, (*chosen[: j - 1], j, *chosen[j:]), ()))
                ranks, j = (0,) * size, 0
            for p in range(j, size):
                row, rank = rows[chosen[p]], ranks[p] + 1
                if rank < len(row):
                    step = factor * (row[rank] - row[rank - 1])
                    push(heap, (cost + step, factor, p, chosen, (*ranks[:p], rank, *ranks[p + 1 :])))
