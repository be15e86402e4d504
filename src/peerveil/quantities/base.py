"""What a quantity is, and the registry of quantities by name.

A quantity says what each review weighs. Whatever depends on it elsewhere (sensitivities, priors, reports, the command
line, the page) reads the attributes of its object. NumPy is loaded on first use: the command line's help lists
quantities and must start quickly.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from peerveil.errors import Argument, InputError

if TYPE_CHECKING:
    from peerveil.record.public_record import Floats, Ints, PublicRecord

#: What to do with a paper's single review, where its weight is not defined.
Lone = Literal["refuse", "zero"]


@dataclass(frozen=True, kw_only=True)
class Words:
    """How reports, charts and both front ends describe a quantity.

    Attributes:
        label: its name on the page.
        title: the title of its report.
        meaning: what its mean is, as part of a sentence: "For each reviewer there is one number: the mean of …".
        mean: the mean, as an axis title without its unit.
        short_mean: the same where there is little room.
        unit: what follows a number, with a leading space: ``" points"``, or ``""`` if not known.
        sides: for a difference, what it means to lie below and above zero.
        needs: what a record must have besides scores, such as ``"criteria"``.
    """

    label: str
    title: str
    meaning: str
    mean: str
    short_mean: str
    unit: str = ""
    sides: tuple[str, str] | None = None
    needs: str = ""

    @property
    def explanation(self) -> str:
        """The meaning as a sentence."""
        return f"{self.meaning[:1].upper()}{self.meaning[1:]}."

    @property
    def axis(self) -> str:
        """The axis title, with its unit.

        >>> neutral_words("extremity").axis
        "a reviewer's mean extremity"
        """
        return self.mean + self._unit_of_axis

    @property
    def short_axis(self) -> str:
        """The axis title where there is little room."""
        return self.short_mean + self._unit_of_axis

    @property
    def _unit_of_axis(self) -> str:
        return f" ({self.unit.strip()})" if self.unit else ""


@dataclass(frozen=True, kw_only=True)
class HiddenReach:
    """What a change of one hidden score can move. The bounds of :mod:`peerveil.privacy.sensitivity` rest on it.

    Its own weight may move anywhere within the public bounds. Weights of other papers do not move, to the last bit.

    Attributes:
        co_reviews: whether the other ``k - 1`` weights of its paper move as well: each by at most ``1 / (k - 1)`` of
            the change, and a round-off of at most ``2**-51`` of the greatest weight. If not, they do not move, to the
            last bit.
        centred: whether the weights of each paper add up to zero, so that hidden weights cannot all be high or low.
    """

    co_reviews: bool = False
    centred: bool = False


#: The reach of a quantity of which nothing is known: the widest.
UNKNOWN_REACH = HiddenReach(co_reviews=True)


class Judged(Protocol):
    """Reviews as both sides hold them, in the order of :func:`peerveil.record.criteria.canonical_order`."""

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
    """What each review weighs. The public and the private side call it with the same arrays in the same order."""

    @property
    def name(self) -> str:
        """Its name in releases, on the command line and on the page."""

    @property
    def words(self) -> Words:
        """How it is described."""

    @property
    def reach(self) -> HiddenReach:
        """What a change of one hidden score can move."""

    def weights(self, held: Judged, *, record: PublicRecord, lone: Lone) -> Floats:
        """The weight of each review.

        Args:
            held: the reviews: those of the public record, or the private ones that it was checked against.
            record: what is public of them. What is learnt is learnt from its visible reviews only, so that no weight
                depends on the hidden reviews of other papers.
            lone: what to do with a paper's single review, where its weight is not defined.
        """

    def hidden_bounds(self, record: PublicRecord, *, lone: Lone) -> tuple[Floats, Floats]:
        """The least and the greatest weight of each review where scores are hidden; or raise an InputError."""


_REGISTERED: dict[str, Quantity] = {}


def register(quantity: Quantity) -> None:
    """Make a quantity known by its name, everywhere.

    Raises:
        InputError: if the name is taken, or cannot be published.
    """
    check_name(quantity.name)
    _REGISTERED[quantity.name] = quantity


def unregister(name: str) -> None:
    """Forget a quantity."""
    del _REGISTERED[named(name).name]


def registered() -> tuple[Quantity, ...]:
    """All registered quantities, those of this package first.

    >>> [quantity.name for quantity in registered()]
    ['ratings', 'miscalibration', 'normalized', 'subjectivity']
    """
    return tuple(_REGISTERED.values())


def register_missing(quantities: Iterable[Quantity]) -> None:
    """Register those quantities whose names are not known yet, as in a worker process."""
    for quantity in quantities:
        if quantity.name not in _REGISTERED:
            register(quantity)


def names() -> tuple[str, ...]:
    """The names of all registered quantities."""
    return tuple(_REGISTERED)


def named(name: str) -> Quantity:
    """The registered quantity of a name."""
    if name not in _REGISTERED:
        raise InputError(Argument("quantity"), f" must be one of {', '.join(map(repr, _REGISTERED))}, got {name!r}")
    return _REGISTERED[name]


def check_name(name: object) -> None:
    """Refuse a name that cannot be published, or that a registered quantity has."""
    if not (isinstance(name, str) and name.isprintable() and name.strip("<>") == name.strip() != ""):
        raise InputError("a quantity needs a name that can be published (", Argument("name", ...), ")")
    if name in _REGISTERED:
        raise InputError(f"{name!r} is a quantity already; call yours something else (", Argument("name", ...), ")")


def words_of(name: str) -> Words:
    """The words of a quantity; neutral ones if it is not registered, as weights given directly or another's function.

    >>> words_of("ratings").short_axis, words_of("extremity").short_axis
    ('mean rating (points)', 'mean extremity')
    """
    return _REGISTERED[name].words if name in _REGISTERED else neutral_words(name)


def reach_of(name: str) -> HiddenReach:
    """What a hidden score of a quantity can move; the widest reach if it is not registered."""
    return _REGISTERED[name].reach if name in _REGISTERED else UNKNOWN_REACH


def neutral_words(name: str) -> Words:
    """Words for a quantity of which nothing is known but its name."""
    return Words(
        label=name,
        title=f"Reviewers: {name}",
        meaning=f"each reviewer's mean {name}",
        mean=f"a reviewer's mean {name}",
        short_mean=f"mean {name}",
    )
