"""How far one protected thing can move the sorted vector of means, and counts of means in bins.

Proofs are in docs/mathematics.md, "Sensitivities". All inputs are public.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from peerveil.errors import InputError
from peerveil.guarantee import Unit
from peerveil.record import Floats
from peerveil.weights import PublicWeights


@dataclass(frozen=True, kw_only=True)
class Sensitivity:
    """Upper bounds on the distance of the sorted vectors of neighbouring assignments, in three norms.

    Attributes:
        l1: the sum of the moves of all entries.
        l2: the Euclidean distance.
        linf: the largest move of an entry.
        counts: the sum of the moves of all counts, if means are counted in bins; ``None`` where it is not stated.
    """

    l1: float
    l2: float
    linf: float
    counts: int | None = None

    def __bool__(self) -> bool:
        """Whether anything can move at all."""
        return self.l1 > 0


#: Every assignment gives the same vector, to the last bit.
NONE = Sensitivity(l1=0.0, l2=0.0, linf=0.0, counts=0)


def sensitivity(weights: PublicWeights, unit: Unit) -> Sensitivity:
    """How far neighbouring assignments' vectors can be apart.

    With ``R`` the range of the weights and loads from ``a`` to ``b``: an exchange of one review moves two means by at
    most ``R/a`` each. A reviewer whose reviews are all exchanged moves by at most ``R``, the others together by at
    most ``R b/a``; with one load ``l`` for all, moves in opposite directions cancel, and the three norms are at most
    ``2R (1 - 1/l)``, ``R sqrt(1 - 1/l)`` and ``R (1 - 1/l)``.

    Where scores are hidden, they may change along with the exchange, anywhere on the declared scale.

    The bounds hold for the means as computed: they are widened by their round-off. Each mean that moves changes at most
    two counts by one, whatever the bins.

    >>> bound = sensitivity(PublicWeights.from_rows([[0, 1], [0, 1]], load=2), "reviewer")
    >>> round(bound.l1, 9), round(bound.l2, 9), round(bound.linf, 9)
    (1.0, 0.707106781, 0.5)
    >>> bound.counts                                          # two reviewers, each from one bin to another
    4
    >>> bool(sensitivity(PublicWeights.from_rows([[0, 1]], load=1), "reviewer"))         # the vector is public
    False
    """
    loads = weights.loads
    low, high = weights.span
    hidden = weights.hidden_span
    if low == high or (loads.largest == 1 and not hidden):
        return NONE
    if high - low < 1e-100 or max(abs(low), abs(high)) > 1e100:
        raise InputError(
            f"weights from {low:g} to {high:g} are too small or too large to protect in floating point; scale them"
        )
    width = math.nextafter(high - low, math.inf)
    exchanges = 1 if unit == "review" else loads.largest
    moved = 1 + exchanges
    if unit == "review":
        bound = _of_an_exchange(width, loads.smallest)
    elif hidden:
        bound = _of_a_reviewer(width, loads.smallest, loads.largest)
    else:
        bound = _of_a_reviewer_in_public(weights, width)
    l1, l2, linf = bound
    if hidden and weights.quantity == "miscalibration":
        # A hidden score that changes also moves the other weights of its paper, by no more than itself in all.
        l1 += 2 * exchanges * hidden / loads.smallest
        if unit == "review":
            shared = weights.sizes()[weights.sizes() > 1]
            third = 2 * hidden / ((int(shared.min()) - 1) * loads.smallest) if shared.size else 0.0
            linf = min(width, max(linf, third))
        l2 = math.sqrt(l1 * linf)
        # Here weights are rounded anew, not only means.
        moved = 4 * int(weights.sizes().max()) * loads.reviewers
    # A mean is one correctly rounded sum and one division: within 2**-52 of its size, before and after the move.
    round_off = 2 * moved * 2.0**-52 * max(abs(low), abs(high))
    l1, l2, linf = ((norm + round_off) * (1 + 2.0**-50) for norm in (l1, l2, linf))
    return Sensitivity(l1=l1, l2=l2, linf=linf, counts=2 * min(loads.reviewers, _means_moved(weights, exchanges)))


def _means_moved(weights: PublicWeights, exchanges: int) -> int:
    """How many means can change, to the last bit: a reviewer's own, and one with each exchange.

    With miscalibration, a hidden score that changes moves the means of all who reviewed that paper: in an exchange, of
    all reviewers of two papers, of whom the reviewer is one.
    """
    each = 1
    if weights.hidden_span and weights.quantity == "miscalibration":
        each = 2 * int(weights.sizes().max()) - 1
    return 1 + exchanges * each


def _of_an_exchange(width: float, smallest: int) -> tuple[float, float, float]:
    one = width / smallest
    return 2 * one, math.sqrt(2) * one, one


def _of_a_reviewer(width: float, smallest: int, largest: int) -> tuple[float, float, float]:
    share = 1 + largest / smallest
    return width * share, width * math.sqrt(share), width


def _of_a_reviewer_in_public(weights: PublicWeights, width: float) -> tuple[float, float, float]:
    """With public scores moves cancel where loads are equal, and a reviewer's papers are different ones."""
    loads = weights.loads
    sizes = np.array(loads.sizes, dtype=np.int64)
    turned = _turned_over(weights, loads.largest)[sizes - 1]  # all that exchanges can turn over, for each load
    own, others = turned / sizes, turned / loads.smallest
    l1 = float((own + others).max())
    l2 = math.sqrt(float((own**2 + width * others).max()))
    linf = width
    if loads.uniform:
        kept = 1 - 1 / loads.largest
        l1, l2, linf = min(l1, 2 * width * kept), min(l2, width * math.sqrt(kept)), width * kept
    return l1, min(l2, math.sqrt(l1 * linf)), linf


def _turned_over(weights: PublicWeights, most: int) -> Floats:
    """For 1, 2, … ``most`` exchanges, how much they can turn over: the sum of the differences of what was exchanged.

    What a reviewer gives is on different papers, and so is what the reviewer gets: of each paper two reviews at most
    take part. So no more is turned over than between the greatest of all papers' two greatest weights and the least of
    all papers' two least.
    """
    sizes = weights.sizes()
    last = np.cumsum(sizes) - 1
    first, several = last - sizes + 1, sizes > 1
    greatest = np.sort(np.concatenate([weights.high[last], weights.high[last[several] - 1]]))[::-1]
    least = np.sort(np.concatenate([weights.low[first], weights.low[first[several] + 1]]))
    # Past the weights that there are, nothing more can be turned over; differences below 0 would be no exchange.
    gains = np.zeros(most)
    count = min(most, greatest.size)
    gains[:count] = np.maximum(greatest[:count] - least[:count], 0.0)
    return np.cumsum(gains) * (1 + most * 2.0**-52)
