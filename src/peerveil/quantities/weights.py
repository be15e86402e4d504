"""Public weights: the contribution of each review to its reviewer's mean."""

from __future__ import annotations

import copy
import hashlib
import json
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, TypeVar, cast, get_args

import numpy as np

from peerveil.errors import Argument, InputError, RecordError
from peerveil.quantities.base import HiddenReach, Judged, Lone, reach_of
from peerveil.quantities.distinct import SEEN_FIRST, Distinct, greatest
from peerveil.quantities.functions import QuantityLike, quantity_of
from peerveil.quantities.own_statistics import check_statistic
from peerveil.quantities.statistics import Statistic, split
from peerveil.record.loads import Loads, LoadsStatement, declare_loads
from peerveil.record.parts import Part, is_open
from peerveil.record.public_record import Floats, Ints, PublicRecord, check_assignable, check_part, frozen, split_rows

T = TypeVar("T")


class Prior(Protocol):
    """What earlier releases say about reviewers: :class:`peerveil.inference.pooling.PooledPrior`."""

    @property
    def digest(self) -> str:
        """Its digest, by which a release names it."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PublicWeights:
    """The public weights of a record: for each review, an interval that contains its weight.

    The interval is a point if the weight is public. Reviews are sorted by paper, then by weight.

    Attributes:
        quantity: the name of the quantity, for example ``"ratings"``.
        paper: for each review, the index of its paper, ascending.
        low: for each review, the least weight that the public record allows.
        high: for each review, the greatest weight that the public record allows.
        loads: the public knowledge of the reviewers' loads.
        hidden_span: how far a hidden score can move; 0 if all scores are public.
        part: the whole conference, if the record holds a part of its reviews. If the number of reviewers with a kept
            review is not public, ``loads`` is a guess until noisy counts are available (:meth:`counted`).
        reach: the weights that a change of one hidden score can move; by default that of the registered quantity.
        model: the version of the model of likely assignments; 1 as in versions 0.1 and 0.2 of the program.
        statistic: what is computed from each reviewer's weights: the mean, unless the quantity names another statistic.
        prior: what earlier releases say about reviewers, if estimates are to use it.
        distinct: the distinct values of ``low``.

    >>> weights = PublicWeights.from_rows([[0.2, 0.9], [0.4, 0.5]], load=2)
    >>> weights.low.tolist()
    [0.2, 0.9, 0.4, 0.5]
    """

    quantity: str
    paper: Ints
    low: Floats
    high: Floats
    loads: Loads
    hidden_span: float = 0.0
    part: Part | None = None
    reach: HiddenReach = None  # type: ignore[assignment] # set on construction
    model: int = 2
    statistic: Statistic = None  # type: ignore[assignment] # set on construction
    prior: Prior | None = None
    distinct: Distinct = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.statistic is None:
            object.__setattr__(self, "statistic", split(self.quantity)[0])
        if self.reach is None:
            object.__setattr__(self, "reach", reach_of(self.quantity))
        exact = self.low is self.high
        object.__setattr__(self, "paper", frozen(self.paper))
        object.__setattr__(self, "low", frozen(self.low))
        object.__setattr__(self, "high", self.low if exact else frozen(self.high))
        sides = (self.low,) if exact else (self.low, self.high)
        for ends in sides:
            if ends.size and not (math.isfinite(ends.min()) and math.isfinite(ends.max())):  # which a NaN is not
                raise RecordError("weights must be finite numbers")
        if not exact and (self.low > self.high).any():
            raise RecordError("a weight's lower end must not exceed its upper end")
        if not self.low.size == self.high.size == self.paper.size == self.loads.reviews:
            raise RecordError(f"{self.low.size} weights for {self.loads.reviews} reviews")
        inside = self.paper[1:] == self.paper[:-1]
        unsorted = (self.paper[1:] < self.paper[:-1]).any()
        if unsorted or any((inside & (ends[1:] < ends[:-1])).any() for ends in sides):
            raise RecordError("weights must be sorted by paper, then by weight")
        object.__setattr__(self, "distinct", Distinct(self.low))
        check_assignable(self.sizes(), self.loads)
        check_part(self.part, self.sizes(), self.loads)

    @classmethod
    def from_rows(
        cls,
        rows: Iterable[Iterable[float]],
        *,
        load: int | None = None,
        loads: LoadsStatement | None = None,
        reviewers: int | None = None,
        quantity: str = "weights",
        part: Part | None = None,
    ) -> PublicWeights:
        """Return weights given directly, one row per paper; loads as in :func:`peerveil.record.loads.declare_loads`."""
        listed = [sorted(float(x) for x in row) for row in rows]
        if not listed or not all(listed):
            raise RecordError("every paper needs at least one weight, and the record at least one paper")
        flat = np.array([x for row in listed for x in row])
        paper = np.repeat(np.arange(len(listed), dtype=np.int64), [len(row) for row in listed])
        declared = declare_loads(flat.size, load=load, loads=loads, reviewers=reviewers, papers=len(listed))
        return cls(quantity=quantity, paper=paper, low=flat, high=flat, loads=declared, part=part)

    @property
    def reviewers(self) -> int:
        """Number of reviewers, the length of the vector to be released."""
        return self.loads.reviewers

    @cached_property
    def exact(self) -> bool:
        """Whether every weight is public."""
        return self.low is self.high or bool((self.low[:1] == self.high[:1]).all() and (self.low == self.high).all())

    @cached_property
    def span(self) -> tuple[float, float]:
        """The least and the greatest weight that any review may have."""
        return float(self.low.min()), float(self.high.max())

    @property
    def co_reviews_move(self) -> bool:
        """Whether a change of a hidden score can move the weights of other reviews of its paper."""
        return bool(self.hidden_span) and self.reach.co_reviews

    def sizes(self) -> Ints:
        """Return the number of reviews of each paper."""
        return self._sizes

    @cached_property
    def _sizes(self) -> Ints:
        return np.bincount(self.paper)

    def rows_low(self) -> list[list[float]]:
        """Return the lower ends, one list per paper."""
        return split_rows(self.low, self.sizes())

    def rows_high(self) -> list[list[float]]:
        """Return the upper ends, one list per paper."""
        return split_rows(self.high, self.sizes())

    def ends_of_papers(self, number: int) -> tuple[Floats, Floats]:
        """Return the least, and the greatest, weights that so many reviews of different papers may have.

        >>> PublicWeights.from_rows([[1, 5], [2, 2], [4, 7]], load=2).ends_of_papers(2)
        (array([1., 2.]), array([7., 5.]))
        """
        sizes = self.sizes()
        for few in (sizes[:SEEN_FIRST], sizes):
            last = np.cumsum(few) - 1
            least, most = -greatest(-self.low[last - few + 1], number), greatest(self.high[last], number)
            if least.size == number and self.span == (least[-1], most[-1]):
                break  # no other paper has less, or more
        return least, most

    def digest(self) -> str:
        """Return a digest of everything a refinement uses, for checking a release against its public record.

        >>> PublicWeights.from_rows([[0.2, 0.9]], load=1).digest()[:15]
        'sha256:e99f7265'
        """
        loads = self.loads
        stated: list[Any] = [self.quantity, loads.reviewers, loads.sizes, loads.counts]
        if self.part is not None:
            # The loads of an open part are not stated: they are guessed first and estimated later.
            stated = [self.quantity, self.part.to_document(), *([] if is_open(self.part) else stated[1:])]
        body = hashlib.sha256(json.dumps(stated).encode())
        body.update(self.sizes().astype("<i8").tobytes())
        for ends in (self.low, self.high):
            body.update((ends + 0.0).astype("<f8").tobytes())  # + 0.0 turns minus zero into zero
        return f"sha256:{body.hexdigest()}"

    @property
    def open(self) -> bool:
        """Whether the number of reviewers with a kept review is not public."""
        return is_open(self.part)

    def counted(self, reviewers: int) -> PublicWeights:
        """Return these weights with an estimate of the number of reviewers with a kept review, which is not public."""
        assert is_open(self.part)  # noqa: S101 - callers check
        return replace(self, loads=self.part.counted(reviewers, self.sizes().size, int(self.sizes().max())))

    def expected(self) -> PublicWeights:
        """Return these weights with a guess at the number of reviewers from the public record alone."""
        assert is_open(self.part)  # noqa: S101 - callers check
        return replace(self, loads=self.part.expected(self.sizes().size, int(self.sizes().max())))

    def derived(self, kind: Callable[[PublicWeights], T]) -> T:
        """Return ``kind(weights)``, computed once and kept as long as the weights are in use.

        It gets a copy of the weights: as it does not refer to these, both are freed together, without a cycle.
        """
        if kind not in self._derived:
            self._derived[kind] = kind(copy.copy(self))
        return cast("T", self._derived[kind])

    @cached_property
    def _derived(self) -> dict[Callable[[PublicWeights], Any], Any]:
        return {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_derived"}

    def __repr__(self) -> str:
        return (
            f"PublicWeights({self.quantity!r}, {self.low.size} reviews of {self.sizes().size} papers, "
            f"{self.reviewers} reviewers)"
        )


def weigh(
    record: PublicRecord, quantity: QuantityLike = "ratings", *, lone: Lone = "refuse", name: str | None = None
) -> PublicWeights:
    """Return the public weights of a record. If a score is hidden, its declared scale gives an interval.

    Args:
        record: the public record.
        quantity: ``"ratings"`` (the score itself), ``"miscalibration"`` (the score minus the mean of the other scores
            of that paper), ``"normalized"`` (the value of a monotone map fitted to all public reviews, at the review's
            criteria), ``"subjectivity"`` (the score minus that value), or a function of the record that returns one
            weight per review, in the record's order. The function must use nothing but the record, be deterministic,
            and give identical reviews of a paper the same weight.
        lone: treatment of a paper with a single review, whose miscalibration is not defined: ``"refuse"``, or
            ``"zero"`` as its weight. It is never dropped, because the rest of a reviewer's load would then depend on
            the private assignment.
        name: the name of a quantity given as a function; the function's name by default.

    >>> record = PublicRecord.from_rows([[8, 6, 1], [3, 5, 4]], load=2)
    >>> weigh(record, "miscalibration").low.tolist()
    [-6.0, 1.5, 4.5, -1.5, 0.0, 1.5]
    >>> def extremity(record):
    ...     return abs(record.score - record.score.mean())
    >>> weigh(record, extremity)
    PublicWeights('extremity', 6 reviews of 2 papers, 3 reviewers)
    """
    weighed = quantity_of(quantity, name)
    if record.scale is None or not record.hidden:
        low = high = _by_weight(record.paper, weighed.weights(record, record=record, lone=_checked(lone)))
        hidden_span = 0.0
    else:
        low, high = (_by_weight(record.paper, ends) for ends in weighed.hidden_bounds(record, lone=_checked(lone)))
        hidden_span = record.scale[1] - record.scale[0]
    weights = PublicWeights(
        quantity=weighed.name,
        paper=record.paper,
        low=low,
        high=high,
        loads=record.loads,
        hidden_span=hidden_span,
        part=record.part,
        reach=weighed.reach,
    )
    check_statistic(weights)
    return weights


def review_weights(held: Judged, quantity: QuantityLike, *, record: PublicRecord, lone: Lone = "refuse") -> Floats:
    """Return the weight of each review; arguments as in :meth:`peerveil.quantities.Quantity.weights`."""
    weighed = quantity_of(quantity, None if isinstance(quantity, str) else "function")  # the name is not used
    return weighed.weights(held, record=record, lone=_checked(lone))


def _checked(lone: Lone) -> Lone:
    if lone not in get_args(Lone):
        raise InputError(Argument("lone"), f" must be 'refuse' or 'zero', got {lone!r}")
    return lone


def _by_weight(paper: Ints, weight: Floats) -> Floats:
    """Return the weights in ascending order within each paper."""
    return weight[np.lexsort((weight, paper))]
