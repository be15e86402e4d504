"""How far one protected thing can move the sorted vector of means, and counts of means in bins.

Proofs are in docs/mathematics.md, "Sensitivities". All inputs are public.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from peerveil.errors import InputError
from peerveil.privacy.guarantee import Unit
from peerveil.quantities.weights import PublicWeights
from peerveil.record.parts import is_open
from peerveil.record.public_record import Floats


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
    most ``R b/a``. With public scores moves in opposite directions cancel: all together are at most
    ``R (1 + (b-2)/a)``, or ``5/4 R`` for loads of 1 and 2, and with one load ``l`` for all, the three norms are at most
    ``2R (1 - 1/l)``, ``R sqrt(1 - 1/l)`` and ``R (1 - 1/l)``.

    Where scores are hidden, they may change along with the exchange, or one of them alone, anywhere on the declared
    scale. Where the record is a part of a conference, neighbours are those of the whole conference.

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
    if weights.part is not None:
        return part_sensitivity(weights, unit, weights.part.whole.largest)
    return _of_a_record(weights, unit)


def part_sensitivity(weights: PublicWeights, unit: Unit, largest_load: float) -> Sensitivity:
    """How far neighbours' vectors can be apart if the record is a part of a conference, seen in the part alone.

    Args:
        weights: the public weights of the part, with its loads: from ``a`` to ``b``.
        unit: what is protected.
        largest_load: the largest load ``L`` in the whole conference; infinite where it is not known.

    Neighbours keep everybody's load, but not in the part: a kept review may have been exchanged for one that was left
    out. That moves no more than an exchange within the part for the unit ``"review"``, or where all loads in the part
    are declared to be equal. Otherwise at most ``1 + min(2b, L)`` means move. Where the number of reviewers with a kept
    review is not public there is no vector to compare: its norms are infinite, and counts include one of the reviewers
    without a kept review.

    >>> weights = PublicWeights.from_rows([[0, 1]] * 5, loads={2: 2, 3: 2})
    >>> bound = part_sensitivity(weights, "reviewer", 4)
    >>> round(bound.l1, 9), bound.counts
    (2.666666667, 8)
    """
    loads, part = weights.loads, weights.part
    people, most = loads.reviewers, loads.largest
    if is_open(part):  # loads are a guess then, which proves nothing
        people, most = part.whole.reviewers, min(part.whole.largest, weights.sizes().size)
    moved = 2 if unit == "review" else 1 + min(2 * most, largest_load)
    if weights.hidden_span and weights.reach.co_reviews:
        moved = _moved_by_hidden(int(weights.sizes().max()), most, unit, largest_load)
    counts = 2 * int(min(people, moved))
    if is_open(part):
        return Sensitivity(l1=math.inf, l2=math.inf, linf=math.inf, counts=counts)
    within = _of_a_record(weights, unit)
    follows = part is not None and part.number == "follows"
    if unit == "review" or not within or (loads.uniform and not follows):
        return within
    low, high = weights.span
    width = math.nextafter(high - low, math.inf)
    l1 = width * (1 + _exchanged_share(loads.smallest, loads.largest, largest_load))
    touched = 1 + 2 * loads.largest
    if weights.hidden_span and weights.reach.co_reviews:
        # Hidden scores that change move other weights of their papers, as within one record.
        l1 += 2 * loads.largest * weights.hidden_span / loads.smallest
        touched = 4 * int(weights.sizes().max()) * loads.reviewers
    l1 = min(l1, loads.reviewers * width)  # no entry moves further than the weights do
    l1, l2, linf = _widened((l1, math.sqrt(l1 * width), width), weights, touched)
    return Sensitivity(l1=max(l1, within.l1), l2=max(l2, within.l2), linf=max(linf, within.linf), counts=counts)


def _exchanged_share(smallest: int, largest: int, most: float) -> float:
    """How far others' means move in all, in units of the range: the best mix of two kinds of exchanges.

    In ``p`` of at most ``most`` exchanges a kept review is given for a kept one, which moves a mean by ``1/a`` at
    most; in ``q`` of them for one that was left out, or the other way round, which moves it by ``1/(a+1)``. At most
    ``b`` kept reviews are given and ``b`` received: ``2p + q <= 2b``.
    """
    a, b = smallest, largest
    corners: list[tuple[float, float]] = [(b, 0), (0, min(2 * b, most))]
    if b <= most < 2 * b:
        corners.append((2 * b - most, 2 * most - 2 * b))
    return max(p / a + q / (a + 1) for p, q in corners)


def _moved_by_hidden(largest_paper: int, b: int, unit: Unit, largest_load: float) -> float:
    """How many means can change where hidden scores change the weights of all reviews of their papers."""
    if unit == "review":
        return 2 * largest_paper
    if math.isinf(largest_load):
        return math.inf
    return 1 + 2 * b * (largest_paper - 1) + min(2 * b, largest_load)


def _widened(norms: tuple[float, float, float], weights: PublicWeights, moved: int) -> tuple[float, float, float]:
    """Norms with room for round-off: a mean is one rounded sum and one division, within 2**-52 of its size."""
    round_off = 2 * moved * 2.0**-52 * max(map(abs, weights.span))
    l1, l2, linf = ((norm + round_off) * (1 + 2.0**-50) for norm in norms)
    return l1, l2, linf


def _of_a_record(weights: PublicWeights, unit: Unit) -> Sensitivity:
    """How far neighbours' vectors can be apart if the record is a whole conference."""
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
    if hidden and weights.reach.co_reviews:
        # A hidden score that changes also moves the other weights of its paper, by no more than itself in all.
        l1 += 2 * exchanges * hidden / loads.smallest
        if unit == "review":
            shared = weights.sizes()[weights.sizes() > 1]
            third = 2 * hidden / ((int(shared.min()) - 1) * loads.smallest) if shared.size else 0.0
            linf = min(width, max(linf, third))
        l2 = math.sqrt(l1 * linf)
        # Here weights are rounded anew, not only means.
        moved = 4 * int(weights.sizes().max()) * loads.reviewers
    l1, l2, linf = _widened((l1, l2, linf), weights, moved)
    return Sensitivity(l1=l1, l2=l2, linf=linf, counts=2 * min(loads.reviewers, _means_moved(weights, exchanges)))


def _means_moved(weights: PublicWeights, exchanges: int) -> int:
    """How many means can change, to the last bit: a reviewer's own, and one with each exchange.

    Where a hidden score that changes moves the other weights of its paper, it moves the means of all who reviewed that
    paper: in an exchange, of all reviewers of two papers, of whom the reviewer is one.
    """
    each = 1
    if weights.hidden_span and weights.reach.co_reviews:
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
    l1 = min(float((own + others).max()), width * _cancelled(loads.smallest, loads.largest))
    l2 = math.sqrt(float((own**2 + width * others).max()))
    linf = width
    if loads.uniform:
        kept = 1 - 1 / loads.largest
        l1, l2, linf = min(l1, 2 * width * kept), min(l2, width * math.sqrt(kept)), width * kept
    return l1, min(l2, math.sqrt(l1 * linf)), linf


def _cancelled(smallest: int, largest: int) -> float:
    """How far all means move together, in units of the range, where moves in opposite directions cancel."""
    if largest <= 2:  # one and two; one load for all has bounds of its own
        return 1.25
    return 1 + (largest - 2) / smallest


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
