"""The privacy claim of a release, as data and in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from typing import Literal, get_args

from peerveil.errors import InputError

#: What one protected thing is: all of a reviewer's reviews, or a single review.
Unit = Literal["reviewer", "review"]
UNITS: tuple[Unit, ...] = get_args(Unit)

_NEIGHBOURS: dict[Unit, str] = {
    "reviewer": ("differ only in that one reviewer's reviews were exchanged, one for one, with other reviewers'"),
    "review": "differ only in that two reviewers exchanged one review each",
}

NOT_PROTECTED = (
    "Not protected: who has which load, the number of reviews of each paper, and the numbers of papers, reviews and "
    "reviewers. These are declared public, as are the scores stated to be public."
)


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """What a release promises.

    Attributes:
        kind: ``"pure"`` for epsilon-differential privacy; ``"stated"`` for words carried from someone else, to which
            Peerveil adds nothing.
        unit: what one protected thing is; ``None`` for a stated guarantee.
        epsilon: the bound; ``None`` for a stated guarantee.
        statement: the words of a stated guarantee.

    >>> Guarantee(kind="pure", unit="reviewer", epsilon=1.0).summary
    'epsilon = 1 per reviewer (pure differential privacy)'
    """

    kind: Literal["pure", "stated"]
    unit: Unit | None = None
    epsilon: float | None = None
    statement: str = ""

    def __post_init__(self) -> None:
        if self.kind == "pure":
            check_unit(self.unit)
            if self.epsilon is None or not (math.isfinite(self.epsilon) and self.epsilon >= 0):
                raise InputError(f"epsilon must be a finite number of at least 0, got {self.epsilon}")
        elif self.epsilon is not None or not self.statement:
            raise InputError("a stated guarantee carries words and no epsilon of its own")

    @property
    def summary(self) -> str:
        """The claim in one line."""
        if self.kind == "stated":
            return f"as stated by the source: {self.statement}"
        return f"epsilon = {_shown(self.epsilon)} per {self.unit} (pure differential privacy)"

    @property
    def promise(self) -> str:
        """The claim in words for a conference's web site, and no stronger than it is."""
        if self.kind == "stated":
            return (
                f"The noise was added elsewhere. Its source states: {self.statement} Refining used public data and the "
                "noisy vector alone, which takes nothing away from that and adds nothing to it."
            )
        assert self.unit is not None  # noqa: S101 - checked at construction
        assert self.epsilon is not None  # noqa: S101 - checked at construction
        if self.epsilon == 0:
            return (
                "The public record alone determines what is released: it is the same for every assignment, so the "
                "release says nothing about who wrote which review."
            )
        return (
            f"Take any two assignments that fit the public record and {_NEIGHBOURS[self.unit]}. Whatever someone "
            f"already knows, this release changes their odds between these two assignments by at most a factor "
            f"e^{_shown(self.epsilon)} = {_factor(self.epsilon)}. Knowledge that ties many reviewers' assignments "
            "together can gain more."
        )


def check_unit(unit: str | None) -> Unit:
    """The unit, if it is one.

    >>> check_unit("paper")
    Traceback (most recent call last):
    peerveil.errors.InputError: unit must be 'reviewer' or 'review', got 'paper'
    """
    for known in UNITS:
        if unit == known:
            return known
    raise InputError(f"unit must be {' or '.join(map(repr, UNITS))}, got {unit!r}")


def _shown(epsilon: float | None) -> str:
    """All digits of epsilon: a claim must not look smaller than it is."""
    return f"{epsilon!r}".removesuffix(".0")


def _factor(epsilon: float) -> str:
    """The factor to three digits, rounded up for the same reason."""
    if epsilon > 700:
        return "practically without limit"
    digits = Context(prec=3, rounding=ROUND_CEILING)
    return f"{Decimal(math.nextafter(math.exp(epsilon), math.inf)).normalize(digits):g}"
