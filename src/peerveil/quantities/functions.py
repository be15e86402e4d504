"""Quantities given as functions of the public record."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from peerveil.errors import Argument, InputError
from peerveil.quantities.base import UNKNOWN_REACH, Judged, Lone, Quantity, Words, check_name, named, neutral_words
from peerveil.quantities.columns import Share
from peerveil.quantities.statistics import MEAN, joined
from peerveil.quantities.statistics import named as named_statistic

if TYPE_CHECKING:
    from peerveil.record.public_record import Floats, PublicRecord

# ruff: noqa: PLC0415 - NumPy is loaded on first use

#: A function that returns the weight of each review of a public record.
Weigher = Callable[["PublicRecord"], Iterable[float]]

#: A quantity by its name, or as a function of the public record.
QuantityLike = str | Weigher


def quantity_of(quantity: QuantityLike, name: str | None = None) -> Quantity:
    """Return the quantity with a name, or a function as a quantity, named after itself or as given.

    >>> quantity_of("ratings").name
    'ratings'
    >>> quantity_of(lambda record: record.score**2, "squares").name
    'squares'
    """
    if isinstance(quantity, str):
        known = named(quantity)
        if name is not None:
            given = Argument("name", name)
            raise InputError(
                Argument("name"), " is for a quantity given as a function, got ", given, f" for {quantity!r}"
            )
        return known
    if not (callable(quantity) and isinstance(quantity, Hashable)):
        raise InputError(
            Argument("quantity"), f" must be a name or a function of a public record, got {type(quantity).__name__}"
        )
    return UserFunction(quantity, getattr(quantity, "__name__", "") if name is None else name)


def with_statistic(quantity: QuantityLike, statistic: str | Share) -> QuantityLike:
    """Return the quantity of which a statistic is released for each reviewer.

    ``"agreement"`` is the mean distance from the co-reviewers: the quantity ``"disagreement"``.

    >>> with_statistic("ratings", "spread"), with_statistic("ratings", "agreement")
    ('spread of ratings', 'disagreement')
    >>> with_statistic("ratings", Share("score >= 6"))
    'share of score>=6'
    """
    if statistic == "share":
        raise InputError(Argument("statistic", "share"), " needs a condition: state it as ", Argument("share", ...))
    if isinstance(statistic, Share) or statistic == "agreement":
        if quantity != "ratings":
            raise InputError(
                Argument("statistic"), f" {str(statistic)!r} is a quantity of its own; leave out ", Argument("quantity")
            )
        return statistic.name if isinstance(statistic, Share) else "disagreement"
    if named_statistic(statistic) is MEAN:
        return quantity
    if not isinstance(quantity, str):
        raise InputError(
            Argument("statistic", statistic), " goes with a quantity by its name; register your function as a quantity"
        )
    return joined(statistic, quantity)


@dataclass(frozen=True)
class UserFunction:
    """A quantity given as a function, and its name in a release."""

    function: Weigher
    name: str
    reach = UNKNOWN_REACH

    def __post_init__(self) -> None:
        check_name(self.name)

    @property
    def words(self) -> Words:
        """Neutral words."""
        return neutral_words(self.name)

    def weights(self, held: Judged, *, record: PublicRecord, lone: Lone) -> Floats:
        """Return the weights that the function gives to the record, whose reviews are in the order of ``held``."""
        return function_weights(self.function, record)

    def hidden_bounds(self, record: PublicRecord, *, lone: Lone) -> tuple[Floats, Floats]:
        """Refuse hidden scores, because their effect on the weights is not known."""
        raise InputError(
            Argument("quantity"),
            f" is a function, which gives every review its weight, but {record.hidden} scores are hidden; it "
            "can only be released where all scores are public",
        )


@lru_cache(maxsize=1)
def function_weights(function: Weigher, record: PublicRecord) -> Floats:
    """Return the checked weights that a function gives to the reviews of a record.

    They are cached, so that the public and the private side use the same numbers.

    >>> from peerveil.record.public_record import PublicRecord
    >>> record = PublicRecord.from_rows([[6, 8], [3, 5]], load=2)
    >>> function_weights(lambda record: record.score > 4, record).tolist()
    [1.0, 1.0, 0.0, 1.0]
    """
    import numpy as np

    weight, again = (_checked(function(record), record) for _ in range(2))
    if not np.array_equal(weight, again):
        raise InputError(
            Argument("quantity"), " gave other weights when asked again; its function must always give the same"
        )
    # Who wrote which of two identical reviews is private, so their weights must not differ.
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
    import numpy as np

    from peerveil.record.public_record import frozen

    weight, got = None, "no numbers"
    with suppress(TypeError, ValueError):
        weight = frozen(np.asarray(weights, dtype=np.float64))
        got = f"the shape {weight.shape}" if weight.shape != record.score.shape else "numbers that are not finite"
    if weight is None or weight.shape != record.score.shape or not np.isfinite(weight).all():
        raise InputError(
            Argument("quantity"), f" must give one finite number for each of {record.score.size} reviews, got {got}"
        )
    return weight
