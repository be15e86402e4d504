"""Quantities: what a review's weight is. Both sides compute weights here, from the same data in the same order.

So they get the same floating-point numbers, not only the same up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import lru_cache
from typing import Literal, Protocol, get_args

import numpy as np

from peerveil.errors import Argument, InputError, RecordError
from peerveil.quantities.monotone import MonotoneMap, fit_monotone
from peerveil.record.public_record import Floats, Ints, PublicRecord, frozen

QUANTITIES = ("ratings", "miscalibration", "normalized", "subjectivity")

#: A quantity by its name, or a function that gives each review of a public record its weight.
Quantity = str | Callable[[PublicRecord], Iterable[float]]

#: What to do with the miscalibration of a paper's only review.
Lone = Literal["refuse", "zero"]


class Judged(Protocol):
    """Reviews as both sides hold them, in the order of :func:`peerveil.record.criteria.canonical_order`."""

    @property
    def paper(self) -> Ints:
        """For each review its paper."""

    @property
    def score(self) -> Floats:
        """For each review its score."""

    @property
    def criteria(self) -> Floats | None:
        """For each review a row of criteria."""


def quantity_name(quantity: Quantity, name: str | None = None) -> str:
    """What a quantity is called in a release; a function by its own name, or by the one given.

    >>> quantity_name("ratings")
    'ratings'
    >>> quantity_name(lambda record: record.score**2, "squares")
    'squares'
    """
    if isinstance(quantity, str) and quantity in QUANTITIES:
        if name is not None:
            raise InputError(
                Argument("name"),
                " is for a quantity given as a function, got ",
                Argument("name", name),
                f" for {quantity!r}",
            )
        return quantity
    if isinstance(quantity, str):
        raise InputError(Argument("quantity"), f" must be one of {', '.join(map(repr, QUANTITIES))}, got {quantity!r}")
    if not (callable(quantity) and isinstance(quantity, Hashable)):
        raise InputError(Argument("quantity"), f" must be a name or a function of a public record, got {quantity!r}")
    called = getattr(quantity, "__name__", "") if name is None else name
    if not (isinstance(called, str) and called.isprintable() and called.strip("<>") == called.strip() != ""):
        raise InputError(
            "a quantity given as a function needs a name that can be published (", Argument("name", ...), ")"
        )
    if called in QUANTITIES:
        raise InputError(f"{called!r} is a quantity already; call yours something else (", Argument("name", ...), ")")
    return called


def review_weights(held: Judged, quantity: Quantity, *, record: PublicRecord, lone: Lone = "refuse") -> Floats:
    """The weight of each review.

    Args:
        held: the reviews: the public record's own, if none is hidden, or the private ones it was checked against.
        quantity: what to compute.
        record: what is public of them. A monotone map is learnt from its visible reviews only, so that the weights of
            all other reviews stay as they are whatever a hidden review says.
        lone: what to do with the miscalibration of a paper's only review.
    """
    if lone not in get_args(Lone):
        raise InputError(Argument("lone"), f" must be 'refuse' or 'zero', got {lone!r}")
    if quantity == "ratings":
        return held.score
    if quantity == "miscalibration":
        return _miscalibration(held.paper, held.score, lone)
    if callable(quantity):
        return function_weights(quantity, record)  # both sides hold the same reviews in the same order
    quantity_name(quantity)  # refuses it, if it is unknown
    normal = learnt_map(record)(_criteria(held, quantity))
    return normal if quantity == "normalized" else held.score - normal


def weights_between(record: PublicRecord, quantity: Quantity, *, lone: Lone = "refuse") -> tuple[Floats, Floats]:
    """The least and the greatest weight of each review of a record some of whose scores are hidden."""
    assert record.scale is not None  # noqa: S101 - records with hidden scores have one
    hidden = np.isnan(record.score)
    low, high = (np.where(hidden, end, record.score) for end in record.scale)
    if quantity == "ratings":
        return low, high
    if quantity == "miscalibration":
        return _miscalibration_between(record.paper, low, high, lone)
    if callable(quantity):
        raise InputError(
            Argument("quantity"),
            f" is a function, which gives every review its weight, but {record.hidden} scores are hidden; it "
            "can only be released where all scores are public",
        )
    quantity_name(quantity)
    learnt = learnt_map(record)
    shown = learnt(_criteria(record, quantity)[~hidden])
    least, greatest = (np.full(hidden.size, end) for end in learnt.span)
    least[~hidden] = greatest[~hidden] = shown
    return (least, greatest) if quantity == "normalized" else (low - greatest, high - least)


@lru_cache(maxsize=1)
def learnt_map(record: PublicRecord) -> MonotoneMap:
    """The monotone map from criteria to overall scores, learnt from the visible reviews of a record.

    >>> record = PublicRecord.from_rows([[6, 8], [3, 5]], load=2, criteria={"clarity": [[2, 3], [1, 3]]})
    >>> learnt_map(record).values.tolist()
    [3.0, 6.0, 6.0]
    """
    visible = ~np.isnan(record.score)
    if not visible.any():
        raise RecordError(
            "what scores criteria deserve is learnt from public reviews, but all are hidden; release ratings instead"
        )
    return fit_monotone(_criteria(record, "what scores criteria deserve")[visible], record.score[visible])


def _criteria(held: Judged, what: str) -> Floats:
    if held.criteria is None:
        raise RecordError(f"{what} needs criteria; name their columns (", Argument("criteria", ...), ")")
    return held.criteria


@lru_cache(maxsize=1)
def function_weights(function: Callable[[PublicRecord], Iterable[float]], record: PublicRecord) -> Floats:
    """The weights that a user's function gives the reviews of a record, checked as far as they can be.

    They are kept, so that public and private side use the very same numbers.

    >>> record = PublicRecord.from_rows([[6, 8], [3, 5]], load=2)
    >>> function_weights(lambda record: record.score > 4, record).tolist()
    [1.0, 1.0, 0.0, 1.0]
    """
    weight, again = (_checked(function(record), record) for _ in range(2))
    if not np.array_equal(weight, again):
        raise InputError(
            Argument("quantity"), " gave other weights when asked again; its function must always give the same"
        )
    # Who holds which of two reviews that look alike is private, so their weights must not differ.
    columns = [record.paper, record.score, *(() if record.criteria is None else record.criteria.T)]
    alike = np.logical_and.reduce([np.diff(column) == 0 for column in columns])
    unequal = int(np.count_nonzero(alike & (np.diff(weight) != 0)))
    if unequal:
        raise InputError(
            Argument("quantity"),
            f" gave different weights to {unequal} pairs of reviews of the same paper that look alike; its "
            "function must tell reviews apart by score and criteria only, not by their place",
        )
    return weight


def _checked(weights: Iterable[float], record: PublicRecord) -> Floats:
    problem = ""
    try:
        weight = frozen(np.asarray(weights, dtype=np.float64))
    except (TypeError, ValueError):
        problem = "no numbers"
    else:
        if weight.shape != record.score.shape:
            problem = f"the shape {weight.shape}"
        elif not np.isfinite(weight).all():
            problem = "numbers that are not finite"
    if problem:
        raise InputError(
            Argument("quantity"), f" must give one finite number for each of {record.score.size} reviews, got {problem}"
        )
    return weight


def _miscalibration_between(paper: Ints, low: Floats, high: Floats, lone: Lone) -> tuple[Floats, Floats]:
    """The least and greatest miscalibration of reviews whose scores lie between ``low`` and ``high``."""
    _miscalibration(paper, low, lone)  # refuses lone reviews if asked to
    others = np.maximum(np.bincount(paper)[paper] - 1, 1)
    alone = np.bincount(paper)[paper] == 1
    low, high = low - low.min(), high - low.min()  # differences alone count: a large offset would swallow them
    lows, highs = (np.bincount(paper, weights=end)[paper] - end for end in (low, high))
    return np.where(alone, 0.0, low - highs / others), np.where(alone, 0.0, high - lows / others)


def _miscalibration(paper: Ints, score: Floats, lone: Lone) -> Floats:
    size = np.bincount(paper)
    alone = int(np.count_nonzero(size == 1))
    if alone and lone == "refuse":
        raise RecordError(
            f"{alone} of {size.size} papers have a single review, whose miscalibration is not defined; give these "
            "reviews the weight zero (",
            Argument("lone", "zero"),
            "), leave these papers out of the file before loads are counted, or release another quantity",
        )
    # (k s - total) / (k - 1) rounds less often than s - (total - s) / (k - 1), and least if scores are measured from
    # the paper's smallest; a single review gets 0 / 1.
    above = score - score[(np.cumsum(size) - size)[paper]]
    total = np.bincount(paper, weights=above)
    difference = size[paper] * above - total[paper]
    return np.asarray(difference / np.maximum(size[paper] - 1, 1), dtype=np.float64)
