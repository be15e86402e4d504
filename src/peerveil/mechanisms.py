"""Descriptions of how a vector is made private. What draws the noise is elsewhere, on the private side."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from peerveil.errors import InputError
from peerveil.guarantee import Guarantee, Unit


class Mechanism(Protocol):
    """What every description of a mechanism offers."""

    @property
    def name(self) -> str:
        """The name users write and releases carry."""

    def describe(self) -> dict[str, Any]:
        """Everything about the mechanism that a release publishes."""


@dataclass(frozen=True, kw_only=True)
class Laplace:
    """Independent Laplace noise on each entry of the sorted vector.

    Give a budget (``epsilon``) or the noise itself (``scale``), not both. The scale repeats published settings; the
    guarantee then follows from it.

    >>> Laplace(epsilon=0.5).noise_scale(sensitivity=3.0)
    6.0
    >>> round(Laplace(scale=6.0).epsilon_for(sensitivity=3.0), 12)
    0.5
    """

    name: ClassVar[str] = "laplace"
    epsilon: float | None = None
    scale: float | None = None

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.scale is None):
            raise InputError("Laplace needs epsilon= or scale=, one of the two")
        for argument in ("epsilon", "scale"):
            value = getattr(self, argument)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise InputError(f"{argument} must be a finite number > 0, got {value}")

    def noise_scale(self, sensitivity: float) -> float:
        """The scale of the noise for a vector of this L1 sensitivity."""
        if self.scale is not None:
            return self.scale
        assert self.epsilon is not None  # noqa: S101 - checked at construction
        return sensitivity / self.epsilon

    def epsilon_for(self, sensitivity: float) -> float:
        """The epsilon that the noise gives for a vector of this L1 sensitivity."""
        if self.epsilon is not None:
            return self.epsilon if sensitivity > 0 else 0.0
        assert self.scale is not None  # noqa: S101 - checked at construction
        return sensitivity / self.scale * (1 + 2.0**-50)  # a claim is rounded up

    def guarantee(self, sensitivity: float, unit: Unit) -> Guarantee:
        """The claim for a vector of this L1 sensitivity."""
        return Guarantee(kind="pure", unit=unit, epsilon=self.epsilon_for(sensitivity))

    def describe(self) -> dict[str, Any]:
        """Name and parameters."""
        return {"name": self.name, "epsilon": self.epsilon, "scale": self.scale}


@dataclass(frozen=True, kw_only=True)
class External:
    """A vector that was made private elsewhere, by any means.

    Its words are carried into the release; Peerveil adds none of its own.

    Attributes:
        words: how the vector was made private, and by whom.
        law: the law of its noise, where that is known.

    >>> External(words="Laplace noise of scale 1, by the 2024 chairs.").name
    'external'
    """

    name: ClassVar[str] = "external"
    words: str
    law: Laplace | None = None

    def __post_init__(self) -> None:
        if not self.words.strip():
            raise InputError("words must say how the vector was made private, and by whom; got nothing")

    def describe(self) -> dict[str, Any]:
        """Name, words and law."""
        return {"name": self.name, "words": self.words, "law": None if self.law is None else self.law.describe()}
