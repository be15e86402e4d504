"""Releases about groups of reviewers, before noise is drawn: their charges, and the group of each reviewer."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from peerveil.errors import Argument, InputError, LedgerWarning, RecordError
from peerveil.privacy.guarantee import Guarantee, Unit
from peerveil.privacy.joint_claims import GroupClaim
from peerveil.privacy.neighbours import Neighbours
from peerveil.privacy.sensitivity import Sensitivity
from peerveil.privacy.series_claims import SeriesClaim
from peerveil.privacy.stated_facts import Statement
from peerveil.private.charging import Order, Spending
from peerveil.private.fingerprint import Fingerprint, fingerprint
from peerveil.private.ledger.release_facts import release_statement
from peerveil.private.noise import Prepared
from peerveil.private.release import Protected, check_dataset, claim_settings
from peerveil.private.reviews import Reviews
from peerveil.quantities.weights import PublicWeights
from peerveil.record.public_record import Floats, Ints, PublicRecord
from peerveil.releases.effects.answers import Answer, Asked
from peerveil.reporting.terms import Terms

if TYPE_CHECKING:
    from peerveil.private.ledger import Ledger

#: Charges a data set in a ledger under a number.
Charging = Callable[["Ledger", str, str], None]

#: The size of the files of an answer, and of its noisy numbers as JSON, in bytes; each number adds to both.
_ROOM, _SIZE, _EACH = 2**16, 2**14, 512


@dataclass(frozen=True, kw_only=True, eq=False)
class ReadyAnswer(ABC):
    """A checked release about groups of reviewers, before budget is spent and noise is drawn.

    Attributes:
        weights: the public weights.
        question: what is asked.
        noise: the prepared noise, with its claim.
        public: what was stated to be public, in words.
        notes: notes for readers of the release.
        statement: the statement about the data set that the ledger stores.
        terms: licence, citation, and what the release is about.
    """

    weights: PublicWeights
    question: Asked
    noise: Prepared
    public: str
    notes: tuple[str, ...]
    statement: Statement
    terms: Terms
    _reviews: Reviews = field(repr=False)
    _truth: Any = field(repr=False)
    _group: Ints | Floats = field(repr=False)

    @property
    @abstractmethod
    def charged_as(self) -> str:
        """What a ledger calls the release."""

    @property
    @abstractmethod
    def released(self) -> str:
        """What is released of the groups, in words."""

    @abstractmethod
    def bound(self, unit: Unit) -> Sensitivity:
        """Return the sensitivity for a unit."""

    def group_claim(self, unit: Unit) -> GroupClaim:
        """Return the claim for a unit with what determines the joint claim of several groups of papers."""
        raise InputError(f"{self.charged_as} is not released by groups of papers")

    def published(self, noisy: list[Any], charge: str | None, series: Sequence[SeriesClaim] = ()) -> Answer:
        """Return the release that follows from noisy numbers, with its charge and the series that count it."""
        raise InputError(f"{self.charged_as} is not released by groups of papers")

    def claim_for(self, unit: Unit) -> Guarantee:
        """Return the claim for a unit, computed from the noise."""
        if unit == self.noise.guarantee.unit:
            return self.noise.guarantee
        return self.noise.mechanism.guarantee(self.bound(unit), unit).about(self.neighbours(unit))

    def neighbours(self, unit: Unit) -> Neighbours:
        """Return the neighbour relation for a unit."""
        return neighbours_of(self.weights, unit, self.question)

    def protected(self) -> Protected:
        """Return the true numbers with their noise, for an audit of synthetic reviews."""
        return Protected(noise=self.noise, truth=self._truth, bins=None, open=False)

    def settings(self) -> dict[str, Any]:
        """Return the settings that identify the release; nothing in it is private."""
        return {
            "question": self.question.to_document(),
            "record": self.weights.digest(),
            "public": self.public,
            "mechanism": self.noise.mechanism.describe(),
            "guarantee": claim_settings(self.noise.guarantee),
            "statement": self.statement.to_document(),
        }

    @property
    def group_of_reviews(self) -> Any:
        """The group of the reviewer of each review, which only ever enters the fingerprint of the data."""
        return self._group

    @property
    def size(self) -> int:
        """The size of the noisy numbers as JSON, at most."""
        return _SIZE + _EACH * self.noise.length

    @property
    def room(self) -> int:
        """The size of the files, at most."""
        return _ROOM + _EACH * self.noise.length

    def facts(self) -> dict[str, Any]:
        """Return what is published beside the question and the noisy numbers."""
        facts: dict[str, Any] = {name: getattr(self, name) for name in ("public", "notes", "terms")}
        return facts | {"mechanism": self.noise.mechanism.describe(), "guarantee": self.noise.guarantee}

    def drawn_for(self, spending: Spending, dataset: str | None) -> tuple[list[Any], str | None]:
        """Return the noisy numbers, drawn now or by an earlier run, and the number of the charge in a ledger."""
        check_dataset(dataset, spending.ledger)
        if spending.ledger is None:
            return self.drawn(), None
        number, drawn = spending.drawn(self._order(dataset, fingerprint(self._reviews, self._group), self._charge))
        return drawn["noisy"], number

    def _order(
        self, dataset: str | None, data: Fingerprint | None, charge: Charging, *, also: tuple[str, ...] = ()
    ) -> Order:
        """The release to charge and draw."""
        return Order(
            dataset=dataset,
            what=f"{self.charged_as}: {self.noise.guarantee.summary}",
            settings=self.settings(),
            data=data,
            size=self.size,
            room=self.room,
            charge=charge,
            draw=lambda: {"noisy": self.drawn()},
            also=also,
        )

    def drawn(self) -> list[Any]:
        """Return noisy numbers, drawn now: what they cost must be charged before."""
        noisy: list[Any] = self.noise.draw_often(self._truth, 1)[0].tolist()
        return noisy

    def _charge(self, book: Ledger, dataset: str, number: str) -> None:
        assert self.noise.guarantee.unit is not None  # noqa: S101 - our own claims have one
        charge = book.charge(
            dataset,
            self.claim_for,
            quantity=self.charged_as,
            unit=self.noise.guarantee.unit,
            mechanism=self.noise.mechanism,
            fingerprint=fingerprint(self._reviews),
            release=number,
            statement=self.statement,
            committee=self._reviews.report.committee,
        )
        for remark in charge.remarks:
            warnings.warn(LedgerWarning(remark), stacklevel=3)


def statement_of(question: Asked, public: str | PublicRecord, record: PublicRecord, *, score: str) -> Statement:
    """Return the statement of a release, with what it declares about groups of reviewers."""
    return stating(release_statement(public, record, score=score), question.stated)


def stating(statement: Statement, facts: Sequence[str]) -> Statement:
    """Return a statement that declares further facts."""
    return replace(statement, invariants=(*statement.invariants, *facts))


def neighbours_of(weights: PublicWeights, unit: Unit, question: Asked) -> Neighbours:
    """Return the neighbour relation of groups: the attributes of a protected reviewer may differ."""
    return Neighbours.of(
        weights.part,
        hidden=bool(weights.hidden_span),
        attributes=unit == "reviewer",
        sizes=question.sizes is not None,
    )


def group_of_each(
    reviews: Reviews, by: str, values: Sequence[str], *, stated: str, others: bool, sizes: Sequence[int] | None = None
) -> Ints:
    """Return the group of each reviewer: the place of their value, from 1, or 0 for another value.

    ``stated`` is the argument that names the groups.

    What is declared about groups holds for the whole conference, where papers or reviews were left out: who has a kept
    review differs between neighbouring assignments. ``sizes`` are the stated sizes of groups, if any. No message says
    how many reviewers have a value.
    """
    place = {name: number for number, name in enumerate(values, 1)}
    kept, everybody = attribute_of(reviews, by)
    for name in place:
        if name not in everybody:
            raise RecordError(
                f"no reviewer is in the group {name!r}; write it exactly as the table does (",
                Argument(stated, ...),
                ")",
            )
    if sizes is not None and [everybody.count(name) for name in values] != list(sizes):
        raise RecordError(
            "the table of attributes does not have the stated numbers of reviewers in these groups; correct the table "
            "or the numbers (",
            Argument("sizes", ...),
            ")",
        )
    if not others and set(everybody) - place.keys():
        raise RecordError(
            f"some reviewers are in {'neither' if len(values) == 2 else 'no'} group; state that others exist (",
            Argument("others", True),
            "), or correct the table of attributes",
        )
    return np.array([place.get(value, 0) for value in kept], dtype=np.int64)


def attribute_of(reviews: Reviews, by: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the value of an attribute for each reviewer, and for everybody in the whole conference."""
    attributes = reviews.attributes
    whole = attributes if reviews.whole is None else reviews.whole.attributes
    if attributes is None or whole is None:
        raise InputError(
            "the reviews have no attributes of reviewers; read them with a table of these (",
            Argument("attributes", ...),
            ")",
        )
    if by not in attributes.names:
        raise InputError(
            Argument("by"),
            f" must be a column of the table of attributes that describes reviewers ({', '.join(attributes.names)}), "
            f"got {by!r}",
        )
    return attributes.values[attributes.names.index(by)], whole.values[whole.names.index(by)]
