"""Counts of people who reviewed for two conferences, by their means in both, and their sensitivity.

Proofs are in docs/mathematics.md, "Linked conferences". All inputs are public.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from peerveil.errors import Argument, InputError
from peerveil.privacy.bins import Bins
from peerveil.privacy.guarantee import Unit
from peerveil.privacy.linked.sums import ICC, Side
from peerveil.privacy.sensitivity import Sensitivity
from peerveil.record.public_record import Floats, Ints

#: The least and the largest number of bins in each conference.
FEWEST, MOST = 2, 4


@dataclass(frozen=True, kw_only=True, eq=False)
class LinkedCounts:
    """The number of people with each pair of bins of their means, one for each conference.

    Bins are to hold equal shares of normal means with the variance that public data suggest.

    Attributes:
        sides: both conferences.
        number: the number of bins in each.

    >>> from peerveil.quantities.weights import PublicWeights
    >>> from peerveil.privacy.linked.sums import side_of
    >>> side = side_of(PublicWeights.from_rows([[0, 1]] * 40, load=4))
    >>> counts = LinkedCounts(sides=(side, side), number=2)
    >>> counts.bins[0].high.tolist(), counts.sensitivity("reviewer").counts
    ([0.5, 1.0], 18)
    """

    sides: tuple[Side, Side]
    number: int

    def __post_init__(self) -> None:
        if isinstance(self.number, bool) or not isinstance(self.number, int) or not FEWEST <= self.number <= MOST:
            raise InputError(Argument("bins"), f" must be {FEWEST} to {MOST} in each conference, got {self.number!r}")

    @cached_property
    def bins(self) -> tuple[Bins, Bins]:
        """The bins of means in each conference."""
        first, second = (_bins(side, self.number) for side in self.sides)
        return first, second

    def cells(self, means: tuple[Floats, Floats]) -> Ints:
        """Return the cell of each person, given their means in both conferences."""
        first, second = (bins.place(each) for bins, each in zip(self.bins, means, strict=True))
        return np.asarray(first * self.number + second, dtype=np.int64)

    # Theorem L4.
    def sensitivity(self, unit: Unit) -> Sensitivity:
        """Return the sensitivity of the counts: everybody who moves leaves one cell and enters another.

        These are the person whose reviews are exchanged, and one for each exchange; two for a single review.
        """
        moved = 2 if unit == "review" else 1 + sum(side.exchanges for side in self.sides)
        counts = 2 * min(moved, *(side.people for side in self.sides))
        return Sensitivity(l1=counts, l2=math.sqrt(2 * counts), linf=counts / 2, counts=counts)


def _bins(side: Side, number: int) -> Bins:
    low, high = side.weights.span
    centre = float(np.mean(side.weights.low)) if side.weights.exact else low + (high - low) / 2
    deviation = math.sqrt(side.raw_variance * (ICC + (1 - ICC) * side.moments().inverse))
    cuts = centre + deviation * ndtri(np.arange(1, number) / number)
    ends = np.concatenate(([low], cuts, [high]))
    if (np.diff(ends) <= 1e-6 * (high - low)).any():
        raise InputError(Argument("bins"), f" must be fewer than {number}: the public weights are too unevenly spread")
    return Bins.even(ends[:-1], ends[1:])
