"""The interface of quantities, and their registry by name.

A quantity defines the weight of each review. Everything that depends on it elsewhere (sensitivities, priors, reports,
the command line, the page) reads the attributes of its object. NumPy is loaded on first use, because the command line's
help lists quantities and must start quickly.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Protocol

from peerveil.errors import Argument, InputError
from peerveil.quantities import statistics

if TYPE_CHECKING:
    from peerveil.record.public_record import Floats, Ints, PublicRecord

#: Treatment of a paper with a single review, if the quantity does not define its weight.
Lone = Literal["refuse", "zero"]


@dataclass(frozen=True, kw_only=True)
class Words:
    """The words with which reports, charts and both front ends describe a quantity.

    Attributes:
        label: its name on the page.
        title: the title of its report.
        meaning: its mean, as part of a sentence: "For each reviewer there is one number: the mean of …".
        mean: the axis title, without a unit.
        short_mean: a shorter axis title.
        unit: the suffix of a number, with a leading space: ``" points"``; empty if not known.
        each: the weights of a reviewer, in the plural.
        number: what the number of a reviewer is called.
        numbers: what the numbers of several are called.
        varies: what differs between reviews, in findings; by default the quantity's name.
        sides: for a difference, the meanings of values below and above zero.
        needs: what a record must have besides scores, such as ``"criteria"``.
    """

    label: str
    title: str
    meaning: str
    mean: str
    short_mean: str
    unit: str = ""
    each: str = "weights"
    number: str = "mean"
    numbers: str = "means"
    varies: str = ""
    sides: tuple[str, str] | None = None
    needs: str = ""

    @property
    def explanation(self) -> str:
        """The meaning as a sentence."""
        return f"{self.meaning[:1].upper()}{self.meaning[1:]}."

    @property
    def a_number(self) -> str:
        """The number of a reviewer with its article.

        >>> neutral_words("extremity").a_number
        'a mean'
        """
        return f"{'an' if self.number[:1].lower() in 'aeiou' else 'a'} {self.number}"

    @property
    def axis(self) -> str:
        """The axis title with its unit.

        >>> neutral_words("extremity").axis
        "a reviewer's mean extremity"
        """
        return self._with_unit(self.mean)

    @property
    def short_axis(self) -> str:
        """The shorter axis title with its unit."""
        return self._with_unit(self.short_mean)

    def _with_unit(self, mean: str) -> str:
        return f"{mean} ({self.unit.strip()})" if self.unit else mean


@dataclass(frozen=True, kw_only=True)
class HiddenReach:
    """The weights that a change of one hidden score can move. :mod:`peerveil.privacy.sensitivity` relies on it.

    Its own weight may move anywhere within the public bounds. Weights of other papers do not change in any bit.

    Attributes:
        co_reviews: whether the other ``k - 1`` weights of its paper move as well: each by at most ``1 / (k - 1)`` of
            the change, and a round-off of at most ``2**-51`` of the greatest weight. If not, they do not change in any
            bit.
        centred: whether the weights of each paper add up to zero, so that hidden weights cannot all be high or low.
        folded: whether weights are the absolute values of such weights.
        binary: whether all weights are 0 or 1.
    """

    co_reviews: bool = False
    centred: bool = False
    folded: bool = False
    binary: bool = False


#: The reach of an unknown quantity: the widest.
UNKNOWN_REACH = HiddenReach(co_reviews=True)


class Judged(Protocol):
    """Public or private reviews, in the order of :func:`peerveil.record.criteria.canonical_order`."""

    @property
    def paper(self) -> Ints:
        """The paper of each review."""

    @property
    def score(self) -> Floats:
        """The score of each review."""

    @property
    def criteria(self) -> Floats | None:
        """One row of criteria per review."""


class Quantity(Protocol):
    """A definition of review weights. The public and the private side call it with the same arrays."""

    @property
    def name(self) -> str:
        """Its name in releases, on the command line and on the page."""

    @property
    def words(self) -> Words:
        """Its description."""

    @property
    def reach(self) -> HiddenReach:
        """The weights that a change of one hidden score can move."""

    def weights(self, held: Judged, *, record: PublicRecord, lone: Lone) -> Floats:
        """Return the weight of each review.

        Args:
            held: the reviews: those of the public record, or the private ones that it was checked against.
            record: the public record. Whatever is fitted uses its visible reviews only, so that no weight depends on
                the hidden reviews of other papers.
            lone: treatment of a paper with a single review, if its weight is not defined.
        """

    def hidden_bounds(self, record: PublicRecord, *, lone: Lone) -> tuple[Floats, Floats]:
        """Return the least and the greatest weight of each review if scores are hidden, or raise an InputError."""


_REGISTERED: dict[str, Quantity] = {}

#: Functions that make a quantity from the rest of its name, by the beginning of the name.
_FAMILIES: dict[str, Callable[[str], Quantity]] = {}


def register(quantity: Quantity) -> None:
    """Make a quantity available by its name, which must be new and printable."""
    check_name(quantity.name)
    _REGISTERED[quantity.name] = quantity


def register_family(beginning: str, make: Callable[[str], Quantity]) -> None:
    """Make quantities available whose names begin in a certain way; ``make`` gets the rest of the name."""
    _FAMILIES[beginning] = make


def _found(name: str) -> Quantity | None:
    """The quantity with a name, registered or of a family; ``None`` if there is none."""
    for beginning, make in _FAMILIES.items():
        if name.startswith(beginning):
            try:
                return make(name.removeprefix(beginning))
            except InputError:
                return None
    return _REGISTERED.get(name)


def unregister(name: str) -> None:
    """Remove a quantity from the registry."""
    del _REGISTERED[named(name).name]


def registered() -> tuple[Quantity, ...]:
    """Return all registered quantities, those of this package first.

    >>> [quantity.name for quantity in registered()][:2]
    ['ratings', 'miscalibration']
    """
    return tuple(_REGISTERED.values())


def register_missing(quantities: Iterable[Quantity]) -> None:
    """Register the quantities whose names are not registered yet, for example in a worker process."""
    for quantity in quantities:
        if quantity.name not in _REGISTERED:
            register(quantity)


def names() -> tuple[str, ...]:
    """Return the names of all registered quantities."""
    return tuple(_REGISTERED)


def named(name: str) -> Quantity:
    """Return the registered quantity with this name, or another statistic of one.

    >>> named("spread of ratings").words.short_axis
    'spread of ratings (points)'
    """
    statistic, quantity = statistics.split(name)
    found = _found(quantity)
    if found is None or (statistic is statistics.MEAN and quantity != name):
        raise InputError(Argument("quantity"), f" must be one of {', '.join(map(repr, _REGISTERED))}, got {name!r}")
    return found if statistic is statistics.MEAN else Summary(statistic, found)


def is_known(name: str) -> bool:
    """Return whether a name is that of a registered quantity, or of a statistic of one.

    >>> is_known("spread of ratings"), is_known("spread of nothing")
    (True, False)
    """
    return _found(statistics.split(name)[1]) is not None


def check_name(name: object) -> None:
    """Refuse a name that is taken or cannot be published."""
    if not (isinstance(name, str) and name.isprintable() and name.strip("<>") == name.strip() != ""):
        raise InputError("a quantity needs a name that can be published (", Argument("name", ...), ")")
    if _found(name) is not None or statistics.split(name)[0] is not statistics.MEAN:
        raise InputError(f"{name!r} is a quantity already; call yours something else (", Argument("name", ...), ")")


def possible_range(name: str) -> tuple[float, float]:
    """Return the range that the numbers of reviewers have whatever the scores: infinite where nothing is known.

    >>> possible_range("share of score>=6"), possible_range("range of ratings"), possible_range("extremity")
    ((0.0, 1.0), (0.0, inf), (-inf, inf))
    """
    statistic, quantity = statistics.split(name)
    found, everything = _found(quantity), (-math.inf, math.inf)
    if found is None or not statistics.comes_with_the_package(statistic):
        return everything
    span = (0.0, 1.0) if found.reach.binary else (0.0, math.inf) if found.reach.folded else everything
    return statistic.reach(*span)


def words_of(name: str) -> Words:
    """Return the words of a registered quantity or a statistic of one, or neutral words.

    >>> words_of("ratings").short_axis, words_of("extremity").short_axis
    ('mean rating (points)', 'mean extremity')
    >>> words_of("spread of ratings").title, words_of("entropy of ratings").a_number     # known here, or not
    ('Reviewers by the spread of their scores', 'an entropy')
    """
    statistic, quantity = statistics.split(name)
    found = _found(quantity)
    known = neutral_words(quantity) if found is None else found.words
    if statistic is not statistics.MEAN:
        return _summarised(statistic, quantity, known)
    unknown, of, rest = name.partition(statistics.OF)
    if found is None and of and (weighed := _found(rest)) is not None:
        return replace(
            neutral_words(name),
            meaning=f"the {unknown} of each reviewer's {weighed.words.each}",
            mean=f"a reviewer's {name}",
            short_mean=name,
            number=unknown,
            numbers=f"{unknown}s",
        )
    return known


def neutral_words(name: str) -> Words:
    """Return words for a quantity known by its name only."""
    return Words(
        label=name,
        title=f"Reviewers: {name}",
        meaning=f"each reviewer's mean {name}",
        mean=f"a reviewer's mean {name}",
        short_mean=f"mean {name}",
        each=name,
    )


@dataclass(frozen=True)
class Summary:
    """A quantity of which another statistic than the mean is released for each reviewer."""

    statistic: statistics.Statistic
    quantity: Quantity

    @property
    def name(self) -> str:
        """The names of both."""
        return statistics.joined(self.statistic.name, self.quantity.name)

    @property
    def words(self) -> Words:
        """Words made of those of both."""
        return _summarised(self.statistic, self.quantity.name, self.quantity.words)

    @property
    def reach(self) -> HiddenReach:
        """That of the quantity."""
        return self.quantity.reach

    def weights(self, held: Judged, *, record: PublicRecord, lone: Lone) -> Floats:
        """Return the weights of the quantity."""
        return self.quantity.weights(held, record=record, lone=lone)

    def hidden_bounds(self, record: PublicRecord, *, lone: Lone) -> tuple[Floats, Floats]:
        """Return the bounds of the quantity."""
        return self.quantity.hidden_bounds(record, lone=lone)


def _summarised(statistic: statistics.Statistic, quantity: str, words: Words) -> Words:
    """Return the words of a statistic of a quantity."""
    name = statistics.joined(statistic.name, quantity)
    return Words(
        label=f"{name[:1].upper()}{name[1:]}",
        title=f"Reviewers by the {statistic.noun} of their {words.each}",
        meaning=f"{statistic.meaning} of each reviewer's {words.each}",
        mean=f"{statistic.noun} of a reviewer's {words.each}",
        short_mean=f"{statistic.noun} of {quantity}",
        unit=words.unit,
        each=words.each,
        number=statistic.noun,
        numbers=statistic.plural,
        needs=words.needs,
    )


def reach_of(name: str) -> HiddenReach:
    """Return the reach of a registered quantity or a statistic of one, or the widest."""
    found = _found(statistics.split(name)[1])
    return UNKNOWN_REACH if found is None else found.reach
