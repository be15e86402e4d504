"""Sums of two groups of reviewers: the numbers that the release of an effect makes private, and their sensitivity.

Proofs are in docs/mathematics.md, "Effects". All inputs are public.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from peerveil.errors import Argument, InputError
from peerveil.privacy.guarantee import Unit
from peerveil.privacy.joint_claims import SumCosts
from peerveil.privacy.sensitivity import Sensitivity
from peerveil.quantities.statistics import MEAN, split
from peerveil.quantities.weights import PublicWeights
from peerveil.record.parts import is_open
from peerveil.record.public_record import Floats
from peerveil.support.arguments import real

#: The share of the budget for the squares, from which the interval learns how much each group is spread, and how much a
#: reviewer's reviews have in common.
SQUARES_SHARE = 0.2

#: Limits must let so much of a shift of all weights pass.
LEAST_PASSING = 0.5

#: The unit of the mixture of groups within papers, relative to the range of the weights.
MIXED_UNIT = 1 / 16

#: The squared sum of a reviewer's weights counts up to so many times its mean, were the weights independent.
CAP = 6.0

#: The least variance of weights, relative to the squared width of their limits: equal ones have none.
LEAST_VARIANCE = 1e-12

#: By default, limits are the outermost weights that at least this share of the public weights reaches.
TAIL = 0.05


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupSums:
    """Everything public that determines which numbers are made private, and how far a neighbour can move them.

    Weights are clipped at public limits and measured from the midpoint of these. The numbers are

    - ``sum_1``, ``sum_2``: the sum of the weights of each group's reviews; only ``sum_1`` if the total is public and
      there are no other reviewers, as ``sum_2`` follows;
    - ``reviews_1``, ``reviews_2``: the number of its reviews; only ``reviews_1`` if there are no other reviewers;
    - ``mixed``: the sum over papers of ``m (k - m) / (k - 1)``, where ``m`` of its ``k`` reviews are of the first
      group; only for weights that compare reviews of the same paper, unless groups were randomised;
    - ``squares_1``, ``squares_2``: the sum over each group's reviewers of the squared sum of their weights, capped;
      over all reviewers, ``squares``, where groups are of pairs; none if the intraclass correlation is stated.

    Each is multiplied by its unit before noise is added, which is the same for all.

    Attributes:
        weights: the public weights.
        limits: the limits of clipping.
        others: whether reviewers may be in neither group.
        randomised: whether groups were assigned at random, independently of papers.
        icc: the intraclass correlation of a reviewer's weights, if it is stated: from public knowledge only.
        sizes: the number of reviewers of each group, if it is public; with the load of all, numbers of reviews follow.
        pairs: whether the first group is not of reviewers but of the reviews whose reviewer and paper share a property.

    >>> sums = GroupSums(weights=PublicWeights.from_rows([[0, 1], [0, 1]], load=2), limits=(0, 1))
    >>> sums.units["sum_1"], sums.units["reviews_1"]
    (1.0, 0.5)
    >>> list(sums.units)
    ['sum_1', 'reviews_1', 'squares_1', 'squares_2']
    """

    weights: PublicWeights
    limits: tuple[float, float]
    others: bool = False
    randomised: bool = False
    icc: float | None = None
    sizes: tuple[int, int] | None = None
    pairs: bool = False
    units: dict[str, float] = field(init=False)

    def __post_init__(self) -> None:
        low, high = (float(end) for end in self.limits)
        if not (math.isfinite(low) and math.isfinite(high) and low < high and 1e-100 < high - low < 1e100):
            raise InputError(Argument("limits"), f" must be two finite numbers, the lower one first, got {self.limits}")
        object.__setattr__(self, "limits", (low, high))
        if self.icc is not None:
            object.__setattr__(self, "icc", self._checked_icc(self.icc))
        if self.weights.statistic is not MEAN:
            raise InputError(
                f"an effect is a difference of means, not of {self.weights.quantity}; release that of the weights (",
                Argument("quantity", split(self.weights.quantity)[1]),
                ")",
            )
        if self.weights.co_reviews_move:
            raise InputError(
                f"an effect on {self.weights.quantity} needs public scores, because each hidden score changes the "
                "weights of other reviews; release the effect on ratings (",
                Argument("quantity", "ratings"),
                ")",
            )
        if self.pairs:
            self._check_pairs()
        if self.relative and self.others and not self.randomised:
            raise InputError(
                f"reviewers in neither group have a share in the {self.weights.quantity} of both, which is known only "
                "if groups were assigned at random (",
                Argument("randomised", True),
                "); compare two groups that contain all reviewers, or release the effect on ratings (",
                Argument("quantity", "ratings"),
                ")",
            )
        if self.sizes is not None:
            self._check_sizes(self.sizes)
        self._check_limits()
        object.__setattr__(self, "units", self._units())

    @property
    def width(self) -> float:
        """The range of a clipped weight."""
        return self.limits[1] - self.limits[0]

    @property
    def midpoint(self) -> float:
        """The number from which weights are measured."""
        return self.limits[0] + self.width / 2

    @property
    def hidden(self) -> bool:
        """Whether weights are not public."""
        return not self.weights.exact

    @property
    def relative(self) -> bool:
        """Whether weights compare reviews of the same paper."""
        return self.weights.reach.centred

    @property
    def largest_load(self) -> int:
        """The largest number of a reviewer's reviews among those of the record."""
        part = self.weights.part
        if is_open(part):  # loads are only a guess
            return min(part.whole.largest, self.weights.sizes().size)
        return self.weights.loads.largest

    @property
    def reviews(self) -> tuple[int, int] | None:
        """The public numbers of reviews of both groups; ``None`` if these are not public."""
        if self.sizes is None:
            return None
        load = self.weights.loads.largest
        return load * self.sizes[0], load * self.sizes[1]

    def clipped(self, weights: Floats) -> Floats:
        """Return weights measured from the midpoint, within half the range."""
        half = self.width / 2
        return np.clip(np.clip(weights, *self.limits) - self.midpoint, -half, half)

    @cached_property
    def total(self) -> float:
        """The sum of all clipped weights; of public ones."""
        return math.fsum(self.clipped(self.weights.low).tolist())

    @cached_property
    def mean(self) -> float:
        """The mean of clipped weights from the midpoint; 0 if they are hidden."""
        return 0.0 if self.hidden else self.total / self.weights.low.size

    @cached_property
    def passing(self) -> float:
        """How much of a small shift of all weights the mean of the clipped ones shows."""
        return 1.0 if self.hidden else passing_share(self.weights.low, self.limits)

    def _checked_icc(self, icc: float) -> float:
        icc = real(Argument("icc"), icc)
        if not 0 <= icc <= 1:
            raise InputError(Argument("icc"), f" must be a number between 0 and 1, got {icc}")
        if self.hidden:
            raise InputError(Argument("icc"), " goes with public scores, whose variance is known; leave it out")
        return icc

    def _check_sizes(self, sizes: tuple[int, int]) -> None:
        checked_sizes(sizes, 2, self.weights, others=self.others)
        if self.weights.loads.smallest != self.weights.loads.largest:
            raise InputError(
                Argument("sizes"),
                " of groups tell how many reviews they have only if everybody has the same load; leave them out",
            )

    def _check_pairs(self) -> None:
        if not self.relative:
            raise InputError(
                "papers that share a property with reviewers may be better or worse; compare reviews of one paper (",
                Argument("quantity", "miscalibration"),
                ")",
            )
        if self.others or self.randomised or self.sizes is not None:
            raise InputError(
                "a property that reviewer and paper share is one of pairs, so ",
                Argument("others"),
                ", ",
                Argument("randomised"),
                " and ",
                Argument("sizes"),
                " do not go with it",
            )

    def _check_limits(self) -> None:
        if self.passing < LEAST_PASSING:
            raise InputError(
                Argument("limits"),
                f" must contain at least half of the public weights, got {self.limits}, which let "
                f"{100 * self.passing:.0f} % of a shift of all weights pass",
            )

    @cached_property
    def variance(self) -> float:
        """The variance of clipped weights, which is not zero; a guess if they are hidden."""
        if self.hidden:
            return (self.width / 4) ** 2
        variance = float(np.mean((self.clipped(self.weights.low) - self.mean) ** 2))
        return max(variance, LEAST_VARIANCE * self.width**2)

    @cached_property
    def cap(self) -> float:
        """The greatest contribution of a reviewer to the squares."""
        largest = self.largest_load * (self.width / 2 + abs(self.mean))
        return min(CAP * self.largest_load * self.variance, largest**2)

    def sensitivity(self, unit: Unit) -> Sensitivity:
        """Return the sensitivity of all numbers, times their units, for a protected unit.

        In each exchange of two reviews, with ``R`` the range of the weights, the sums move by at most ``R`` (one sum,
        public weights) or ``2 R``, and counts need no more noise: where the reviewer's group changes, sums move less,
        and each count by one, in units of ``R / 2``. Hidden weights may change as well.

        >>> sums = GroupSums(weights=PublicWeights.from_rows([[0, 1], [0, 1]], load=2), limits=(0, 1))
        >>> round(sums.sensitivity("reviewer").l1 * (1 - SQUARES_SHARE), 9)                         # b R
        2.0
        """
        changes = 2 if unit == "review" else self._square_changes
        moved = self._exchanged(unit) + self.units.get(self._squares[0], 0.0) * changes * self.cap
        moved = self._rounded(moved)
        return Sensitivity(l1=moved, l2=moved, linf=moved)

    def costs(self, scale: float) -> SumCosts:
        """Return what noise of a scale costs in each exchange and for each reviewer, for the unit reviewer.

        >>> sums = GroupSums(weights=PublicWeights.from_rows([[0, 1], [0, 1]], load=2), limits=(0, 1), icc=0.2)
        >>> costs = sums.costs(10.0)
        >>> round(costs.exchange, 9), costs.exchanges
        (0.1, 2)
        """
        each = self._rounded(self._exchanged("reviewer") / self._exchanges if self._exchanges else 0.0)
        square = self.units.get(self._squares[0], 0.0) * self.cap
        own = self._square_changes - self._exchanges
        return SumCosts(exchange=each / scale, exchanges=self._exchanges, square=square / scale, own=own)

    def _rounded(self, moved: float) -> float:
        """A bound with room for round-off.

        Sums are rounded once, to within 2**-53 of their size; a few operations on each weight before.
        """
        return moved * (1 + 2.0**-46) + 2.0**-49 * self.width * self.weights.low.size

    # Theorem E8.
    @property
    def _exchanges(self) -> int:
        """The number of exchanges in which a review of the record takes part, for the unit reviewer."""
        part, b = self.weights.part, self.largest_load
        return b if part is None else min(2 * b, part.whole.largest)

    @property
    def _squares(self) -> tuple[str, ...]:
        """The names of the squares, if they are released."""
        return ("squares",) if self.pairs else ("squares_1", "squares_2")

    # Theorem E5.
    @property
    def _square_changes(self) -> int:
        """How many reviewers' squares the squares move by, for the unit reviewer.

        A reviewer whose group changes leaves one sum of squares and enters the other.
        """
        return self._exchanges + (1 if self.pairs else 2)

    # Theorem E1; with others Theorem E2; hidden Theorem E3; the mixture Theorem E4; sizes Theorem E6; pairs Theorem E7.
    def _exchanged(self, unit: Unit) -> float:
        """The bound for all numbers but the squares."""
        exchanges = 1 if unit == "review" else self._exchanges
        factor = 2.0 if self.others or self.hidden else 1.0
        if self.hidden and unit == "reviewer":  # a changed group moves counts besides sums, or another reviewer's sums
            factor += 1.0 if self.others or self.sizes is not None else 0.5
        mixed = 2 * MIXED_UNIT * self.width if self._mixes else 0.0
        mixed *= 2 if self.pairs else 1  # both reviews may change groups, so counts move besides sums
        return exchanges * (factor * self.width + mixed)

    @property
    def _mixes(self) -> bool:
        return self.relative and not self.randomised

    def _units(self) -> dict[str, float]:
        units = {"sum_1": 1.0}
        if self.reviews is None:
            units["reviews_1"] = MIXED_UNIT * self.width if self.pairs else self.width / 2
        if self.others or self.hidden:
            units["sum_2"] = 1.0
        if self.others and self.reviews is None:
            units["reviews_2"] = self.width / 2
        if self._mixes:
            units["mixed"] = MIXED_UNIT * self.width
        if self.icc is None:
            share = SQUARES_SHARE / (1 - SQUARES_SHARE)
            unit = share * self._exchanged("reviewer") / (self._square_changes * self.cap)
            units |= dict.fromkeys(self._squares, unit)
        return units


def checked_sizes(sizes: Sequence[int], groups: int, weights: PublicWeights, *, others: bool) -> tuple[int, ...]:
    """Return public sizes of groups, if they are possible.

    >>> checked_sizes((2, 1), 2, PublicWeights.from_rows([[0, 1, 1]], load=1), others=False)
    (2, 1)
    """
    numbers = tuple(sizes)
    if len(numbers) != groups or any(isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in numbers):
        raise InputError(Argument("sizes"), f" must be {groups} whole numbers of at least 1, one for each group")
    if weights.part is not None:
        raise InputError(
            Argument("sizes"), " go with whole conferences: who has a kept review depends on who wrote which"
        )
    total = sum(numbers)
    if total + others > weights.reviewers or (not others and total < weights.reviewers):
        fewer = "leave room for the others among" if others else "add up to"
        raise InputError(Argument("sizes"), f" must {fewer} the {weights.reviewers} reviewers, got {total}")
    return numbers


def passing_share(weights: Floats, limits: tuple[float, float]) -> float:
    """Return how much of a small shift of all weights the mean of those clipped at limits shows.

    A shift carries weights from each value to the next: in proportion to the density between the two, and to their
    distance, of which the part within limits counts. Weights are taken for rounded values of a variable that is about
    normal between neighbouring values.

    >>> passing_share(np.array([0.0, 1.0, 2.0]), (0.0, 2.0))
    1.0
    """
    start, end = float(weights.min()), float(weights.max())
    values, counts = np.unique(np.round((weights - start) / ((end - start) or 1.0), 9), return_counts=True)
    if values.size < 2:
        return 1.0
    quantile = ndtri(np.cumsum(counts[:-1]) / counts.sum())
    slope = np.gradient(quantile, (values[1:] + values[:-1]) / 2) if values.size > 2 else np.ones(1)
    density = np.exp(-(quantile**2) / 2) * slope
    low, high = ((limit - start) / (end - start) for limit in limits)
    inside = np.maximum(np.minimum(values[1:], high) - np.maximum(values[:-1], low), 0.0)
    return float(density @ inside / (density @ np.diff(values)))


def default_limits(weights: PublicWeights, tail: float = TAIL) -> tuple[float, float]:
    """Return the limits of clipping: the range of hidden weights; that of public ones without rare extremes.

    ``tail`` is the share of the public weights that must reach a limit.

    >>> default_limits(PublicWeights.from_rows([[1, 5], [2, 2]], load=2, quantity="ratings"))
    (1.0, 5.0)
    >>> default_limits(PublicWeights.from_rows([[1, 2], [2, 3], [3, 4]] + [[2, 3]] * 47, load=2, quantity="ratings"))
    (2.0, 3.0)
    """
    low, high = weights.span
    if weights.exact:
        least = float(np.quantile(weights.low, tail, method="inverted_cdf"))
        greatest = -float(np.quantile(-weights.low, tail, method="inverted_cdf"))
        low, high = (least, greatest) if least < greatest else (low, high)
    if not low < high:
        raise InputError("all public weights are equal, so there is nothing to release")
    return low, high
