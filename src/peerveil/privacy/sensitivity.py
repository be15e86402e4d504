"""Sensitivity of the sorted vector of means, of counts of means in bins, and of these by an attribute.

Proofs are in docs/mathematics.md, "Sensitivities". All inputs are public.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from peerveil.errors import InputError
from peerveil.privacy.guarantee import Unit
from peerveil.quantities.distinct import SEEN_FIRST, greatest
from peerveil.quantities.statistics import MEAN, comes_with_the_package
from peerveil.quantities.weights import PublicWeights
from peerveil.record.parts import is_open
from peerveil.record.public_record import Floats


@dataclass(frozen=True, kw_only=True)
class Sensitivity:
    """Upper bounds on the distances between the sorted vectors of neighbouring assignments, in three norms.

    ``counts`` bounds the l1 distance of counts of means in bins; ``None`` if it is not stated.
    """

    l1: float
    l2: float
    linf: float
    counts: int | None = None

    def __bool__(self) -> bool:
        """Return whether anything can move."""
        return self.l1 > 0


#: The sensitivity if every assignment gives an identical vector.
NONE = Sensitivity(l1=0.0, l2=0.0, linf=0.0, counts=0)


# Theorem S1 for the unit review; Theorem S2 to Theorem S7 for the unit reviewer; Theorem S8 for hidden scores.
def sensitivity(weights: PublicWeights, unit: Unit) -> Sensitivity:
    """Return the sensitivity for a protected unit.

    With ``R`` the range of the weights and loads from ``a`` to ``b``, an exchange of one review moves two means by at
    most ``R/a`` each. A reviewer whose reviews are all exchanged moves by at most ``R``, and all others in total by at
    most ``R b/a``. With public scores, moves in opposite directions cancel: the total is at most ``R (1 + (b-2)/a)``,
    or ``5/4 R`` for loads of 1 and 2. If all loads are ``l``, the three norms are at most ``2R (1 - 1/l)``,
    ``R sqrt(1 - 1/l)`` and ``R (1 - 1/l)``.

    Hidden scores may change with the exchange, or one of them alone, anywhere on the declared scale. If the record is a
    part of a conference, neighbouring assignments are those of the whole conference.

    The bounds include the round-off of computed means. Each mean that moves changes at most two counts by one.

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
    return _of_any_statistic(_of_a_record(weights, unit), weights)


# Theorem G1; with sizes Theorem G2.
def crosstab_sensitivity(weights: PublicWeights, unit: Unit, *, sizes: bool = False) -> Sensitivity:
    """Return the sensitivity of counts of reviewers by bin and by an attribute, which may differ between neighbours.

    Every reviewer whose weights or attribute change leaves one cell and enters another. In contrast to counts by bin
    alone, that holds for single reviews and equal weights, too: who has them is in the counts. If the sizes of groups
    are public, an attribute changes only by an exchange with another reviewer, who changes cells as well.

    >>> crosstab_sensitivity(PublicWeights.from_rows([[0, 1], [0, 1]], load=1), "reviewer").counts
    4
    """
    part, loads = weights.part, weights.loads
    people, most, largest = loads.reviewers, loads.largest, math.inf if part is None else float(part.whole.largest)
    if is_open(part):
        people, most = part.whole.reviewers, min(part.whole.largest, weights.sizes().size)
    paper = int(weights.sizes().max()) if weights.co_reviews_move else 0
    if part is None:
        moved: float = _moved_within(paper, 1 if unit == "review" else most)
    elif paper:
        moved = _moved_by_hidden(paper, most, unit, largest)
    else:
        moved = 2 if unit == "review" else 1 + min(2 * most, largest)
    moved += sizes and unit == "reviewer"
    counts = 2 * int(min(people, moved))
    return Sensitivity(l1=counts, l2=math.sqrt(2 * counts), linf=counts / 2, counts=counts)


# Theorem S9.
def _moved_within(paper: int, exchanges: int) -> int:
    """Return how many reviewers change in a whole conference.

    The reviewer, and one for each exchange; or, if a changed hidden score moves the other weights of its paper, all
    reviewers of two papers, including the reviewer. ``paper`` is the number of these reviews; 0 if they do not move.
    """
    return 1 + exchanges * (2 * paper - 1 if paper else 1)


# Theorem S11 for counts, Theorem S12 for vectors; Theorem S16 for what labels keep.
def part_sensitivity(weights: PublicWeights, unit: Unit, largest_load: float) -> Sensitivity:
    """Return the sensitivity of a part of a conference.

    Neighbouring assignments keep every reviewer's load, but not the load in the part: a kept review may have been
    exchanged for one that was left out. For the unit ``"review"``, or if all loads in the part are declared to be
    equal, that moves no more than an exchange within the part. Otherwise at most ``1 + min(2b, L)`` means move. If the
    number of reviewers with a kept review is not public, there is no vector to compare: the norms are infinite, and
    counts include that of the reviewers without a kept review.

    Loads in the part are from ``a`` to ``b``; the largest load ``L`` in the conference is infinite if it is not known.

    >>> weights = PublicWeights.from_rows([[0, 1]] * 5, loads={2: 2, 3: 2})
    >>> bound = part_sensitivity(weights, "reviewer", 4)
    >>> round(bound.l1, 9), bound.counts
    (2.666666667, 8)
    """
    bound = _of_a_part(weights, unit, largest_load)
    declared = weights.part is not None and weights.part.number == "declared"
    if not bound and weights.loads.largest > 1 and not declared and not comes_with_the_package(weights.statistic):
        raise InputError(
            f"all weights are equal, so {weights.quantity!r} would tell how many kept reviews each reviewer has, which "
            "is not public where reviews were left out; nothing can be released"
        )
    return _of_any_statistic(bound, weights)


# Theorem S10.
def _of_any_statistic(bound: Sensitivity, weights: PublicWeights) -> Sensitivity:
    """Return the sensitivity of another statistic than the mean: as many entries move, each anywhere in its range."""
    if weights.statistic is MEAN or not bound or math.isinf(bound.l1):
        return bound
    assert bound.counts is not None  # noqa: S101 - stated with every bound of this module
    moved, (least, greatest) = bound.counts // 2, weights.statistic.reach(*weights.span)
    width = (greatest - least + 2.0**-48 * max(abs(least), abs(greatest))) * (1 + 2.0**-48)
    return Sensitivity(l1=moved * width, l2=math.sqrt(moved) * width, linf=width, counts=bound.counts)


def _of_a_part(weights: PublicWeights, unit: Unit, largest_load: float) -> Sensitivity:
    """Return the sensitivity of the means of a part of a conference."""
    loads, part = weights.loads, weights.part
    people, most = loads.reviewers, loads.largest
    if is_open(part):  # loads are only a guess
        people, most = part.whole.reviewers, min(part.whole.largest, weights.sizes().size)
    moved = 2 if unit == "review" else 1 + min(2 * most, largest_load)
    if weights.co_reviews_move:
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
    if weights.co_reviews_move:
        # Changed hidden scores move other weights of their papers, as within one record.
        l1 += 2 * loads.largest * weights.hidden_span / loads.smallest
        touched = 4 * int(weights.sizes().max()) * loads.reviewers
    l1 = min(l1, loads.reviewers * width)  # no entry moves further than the weights do
    l1, l2, linf = _widened((l1, math.sqrt(l1 * width), width), weights, touched)
    return Sensitivity(l1=max(l1, within.l1), l2=max(l2, within.l2), linf=max(linf, within.linf), counts=counts)


# Theorem S12.
def _exchanged_share(smallest: int, largest: int, most: float) -> float:
    """Return the largest total move of other reviewers' means, in units of the range, over two kinds of exchanges.

    In ``p`` of at most ``most`` exchanges a kept review is exchanged for a kept one, which moves a mean by ``1/a`` at
    most; in ``q`` of them for one that was left out, or the other way round, which moves it by ``1/(a+1)``. At most
    ``b`` kept reviews are given and ``b`` received: ``2p + q <= 2b``.
    """
    a, b = smallest, largest
    corners: list[tuple[float, float]] = [(b, 0), (0, min(2 * b, most))]
    if b <= most < 2 * b:
        corners.append((2 * b - most, 2 * most - 2 * b))
    return max(p / a + q / (a + 1) for p, q in corners)


# Theorem S11.
def _moved_by_hidden(largest_paper: int, b: int, unit: Unit, largest_load: float) -> float:
    """Return how many means can change if hidden scores change all weights of their papers."""
    if unit == "review":
        return 2 * largest_paper
    if math.isinf(largest_load):
        return math.inf
    return 1 + 2 * b * (largest_paper - 1) + min(2 * b, largest_load)


# Theorem S17.
def _widened(norms: tuple[float, float, float], weights: PublicWeights, moved: int) -> tuple[float, float, float]:
    """Return norms widened by round-off: a mean is one rounded sum and one division, within 2**-52 of its size."""
    round_off = 2 * moved * 2.0**-52 * max(map(abs, weights.span))
    l1, l2, linf = ((norm + round_off) * (1 + 2.0**-50) for norm in norms)
    return l1, l2, linf


def _of_a_record(weights: PublicWeights, unit: Unit) -> Sensitivity:
    """Return the sensitivity of a whole conference."""
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
        l1, l2, linf = (factor * (width / loads.smallest) for factor in (2, math.sqrt(2), 1))
    elif hidden:
        share = 1 + loads.largest / loads.smallest
        l1, l2, linf = width * share, width * math.sqrt(share), width
    else:
        l1, l2, linf = _of_a_reviewer_in_public(weights, width)
    if weights.co_reviews_move:
        # A changed hidden score also moves the other weights of its paper, in total by no more than itself.
        l1 += 2 * exchanges * hidden / loads.smallest
        if unit == "review":
            shared = weights.sizes()[weights.sizes() > 1]
            third = 2 * hidden / ((int(shared.min()) - 1) * loads.smallest) if shared.size else 0.0
            linf = min(width, max(linf, third))
        l2 = math.sqrt(l1 * linf)
        # Weights are rounded again, not only means.
        moved = 4 * int(weights.sizes().max()) * loads.reviewers
    l1, l2, linf = _widened((l1, l2, linf), weights, moved)
    changed = _moved_within(int(weights.sizes().max()) if weights.co_reviews_move else 0, exchanges)
    return Sensitivity(l1=l1, l2=l2, linf=linf, counts=2 * min(loads.reviewers, changed))


# Theorem S3, Theorem S4; for one load Theorem S6 and Theorem S7.
def _of_a_reviewer_in_public(weights: PublicWeights, width: float) -> tuple[float, float, float]:
    """Return the norms for public scores: moves cancel if loads are equal, and a reviewer's papers are distinct."""
    loads = weights.loads
    sizes = np.array(loads.sizes, dtype=np.int64)
    turned = _turned_over(weights, loads.largest)[sizes - 1]  # for each load
    own, others = turned / sizes, turned / loads.smallest
    # The total move, in units of the range, if moves in opposite directions cancel; equal loads have other bounds.
    cancelled = 1.25 if loads.largest <= 2 else 1 + (loads.largest - 2) / loads.smallest
    l1 = min(float((own + others).max()), width * cancelled)
    l2 = math.sqrt(float((own**2 + width * others).max()))
    linf = width
    if loads.uniform:
        kept = 1 - 1 / loads.largest
        l1, l2, linf = min(l1, 2 * width * kept), min(l2, width * math.sqrt(kept)), width * kept
    return l1, min(l2, math.sqrt(l1 * linf)), linf


# Theorem S5.
def _turned_over(weights: PublicWeights, most: int) -> Floats:
    """Return, for 1, 2, … ``most`` exchanges, the largest sum of differences between exchanged weights.

    A reviewer's given reviews are of distinct papers, and so are the received ones, so at most two reviews of each
    paper take part. The sum is at most that between the greatest of all papers' two greatest weights and the least of
    all papers' two least.
    """
    for sizes in (weights.sizes()[:SEEN_FIRST], weights.sizes()):
        last = np.cumsum(sizes) - 1
        first, several = last - sizes + 1, sizes > 1
        above = greatest(np.concatenate([weights.high[last], weights.high[last[several] - 1]]), most)
        below = -greatest(-np.concatenate([weights.low[first], weights.low[first[several] + 1]]), most)
        if above.size == most and (below[-1], above[-1]) == weights.span:
            break  # no other paper has less, or more
    # Beyond the number of weights nothing is added; a negative difference would not be exchanged.
    gains = np.zeros(most)
    gains[: above.size] = np.maximum(above - below, 0.0)
    return np.cumsum(gains) * (1 + most * 2.0**-52)
