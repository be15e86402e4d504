"""Vectors made private elsewhere, and mechanisms from their descriptions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from peerveil.errors import Argument, InputError
from peerveil.mechanisms.base import OWN, Described, Mechanism, Settled


@dataclass(frozen=True, kw_only=True)
class External(Described):
    """A vector made private elsewhere; the release quotes the words of its source.

    Attributes:
        words: how the vector was made private, and by whom.
        law: a mechanism with stated noise, if the noise distribution is known.

    >>> from peerveil.mechanisms.laplace import Laplace
    >>> External(words="By the 2024 chairs.", law=Laplace(scale=1.0)).stated
    Settled(mechanism=Laplace(epsilon=None, scale=1.0), law=LaplaceLaw(scale=1.0))
    """

    name: ClassVar[str] = "external"
    sentence: ClassVar[str] = "The vector was made private elsewhere"
    claims: ClassVar[str] = "stated"
    words: str
    law: Mechanism | None = None

    def __post_init__(self) -> None:
        if not self.words.strip():
            raise InputError(Argument("words"), " must say how the vector was made private, and by whom; got nothing")
        law = self.law
        if law is not None and (not isinstance(law, Mechanism) or law.on_counts or law.stated is None):
            raise InputError(
                Argument("law"), f" must state the noise on the vector itself, e.g. Laplace(scale=1.0), got {law!r}"
            )

    @property
    def stated(self) -> Settled | None:
        """The noise, if its distribution is known."""
        return None if self.law is None else self.law.stated

    def describe(self) -> dict[str, Any]:
        """Return name, words and law."""
        return {"name": self.name, "words": self.words, "law": None if self.law is None else self.law.describe()}

    @classmethod
    def from_parameters(cls, parameters: Mapping[str, Any]) -> Self:
        """Return the mechanism, with its law if this program knows it."""
        law = parameters.get("law")
        known = None if law is None else mechanism_from(law)
        usable = known if isinstance(known, Mechanism) and not known.on_counts else None
        return cls(words=parameters["words"], law=usable)

    def in_words(self) -> str:
        """Return the words of the source."""
        return self.words


def kind_of(name: object) -> type[Described] | None:
    """Return the class of a mechanism by name; ``None`` if it is unknown."""
    known: dict[str, type[Described]] = {**OWN, External.name: External}
    return known.get(name) if isinstance(name, str) else None


def mechanism_from(described: Mapping[str, Any]) -> Described | None:
    """Return the mechanism that a release describes; ``None`` if it is unknown or invalid.

    >>> from peerveil.mechanisms.laplace import Laplace
    >>> mechanism_from(Laplace(scale=2.0).describe())
    Laplace(epsilon=None, scale=2.0)
    """
    try:
        kind = kind_of(described["name"])
        parameters = {key: value for key, value in described.items() if key != "name"}
        return None if kind is None else kind.from_parameters(parameters)
    except (KeyError, TypeError, AttributeError, InputError):
        return None
