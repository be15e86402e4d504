"""Releases about groups of reviewers in each of several groups of papers, such as tracks, with one charge for all."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from peerveil.errors import GroupWarning, InputError, LedgerWarning, RecordError
from peerveil.mechanisms import Histogram, Laplace
from peerveil.privacy.guarantee import Guarantee, Unit
from peerveil.privacy.joint_claims import Group, GroupClaim, joint_claim, joint_quantity
from peerveil.privacy.stated_facts import Statement
from peerveil.private.answers import ReadyAnswer
from peerveil.private.charging import Order, Spending
from peerveil.private.crosstabs import prepare_crosstab
from peerveil.private.effects import prepare_effect
from peerveil.private.fingerprint import fingerprint
from peerveil.private.ledger import Quote
from peerveil.private.ledger.release_facts import joint_statement
from peerveil.private.promises import quotes_of
from peerveil.private.release import check_dataset, claim_settings, spending_for
from peerveil.private.reviews import Reviews
from peerveil.private.tracks import part_record, remark_on_small
from peerveil.quantities.columns import Share
from peerveil.quantities.functions import QuantityLike, with_statistic
from peerveil.record.public_record import Ints, PublicRecord
from peerveil.record.tracks import papers_by_group
from peerveil.releases.effects.answers import Answer
from peerveil.releases.effects.crosstabs import Crosstab
from peerveil.releases.effects.published import Effect
from peerveil.reporting.terms import About, Terms

if TYPE_CHECKING:
    from peerveil.private.ledger import Ledger

#: A published effect, or a table of counts by an attribute.
T_co = TypeVar("T_co", bound=Answer, covariant=True)

#: A checked release, before noise is drawn.
R = TypeVar("R", bound=ReadyAnswer)


@dataclass(frozen=True, kw_only=True)
class TrackAnswers(Generic[T_co]):
    """The releases by group of papers, and their joint guarantee, from :func:`peerveil.effect_groups`.

    >>> claim = Guarantee(kind="pure", unit="reviewer", epsilon=1.0)
    >>> TrackAnswers(answers={}, guarantee=claim).guarantee.epsilon
    1.0
    """

    answers: dict[str, T_co]
    guarantee: Guarantee


@dataclass(frozen=True, kw_only=True, eq=False)
class ReadyTracks(Generic[R]):
    """The checked releases by group of papers, before budget is spent and noise is drawn.

    Attributes:
        ready: the release of each group.
        statement: the joint statement about the data set that the ledger stores.
    """

    ready: dict[str, R]
    statement: Statement
    _reviews: Reviews = field(repr=False)
    _group: Ints = field(repr=False)

    @property
    def first(self) -> R:
        """The release of the first group."""
        return next(iter(self.ready.values()))

    @property
    def unit(self) -> Unit:
        """The protected unit."""
        unit = self.first.noise.guarantee.unit
        assert unit is not None  # noqa: S101 - our own claims have one
        return unit

    @property
    def charged_as(self) -> str:
        """What a ledger calls the joint release."""
        return joint_quantity(self.first.charged_as, len(self.ready))

    def claims_for(self, unit: Unit) -> tuple[GroupClaim, ...]:
        """Return the claim of each group for a unit, in the order of their names."""
        return tuple(ready.group_claim(unit) for ready in self.ready.values())

    def claim_for(self, unit: Unit) -> Guarantee:
        """Return the joint claim for a unit."""
        parts = [ready.weights.part for ready in self.ready.values() if ready.weights.part is not None]
        largest = max((part.whole.largest for part in parts), default=None)
        return joint_claim(self.claims_for(unit), shared=True, largest_load=largest)

    def quotes(self, ledger: str | None, dataset: str | None) -> tuple[Quote, ...]:
        """Return the joint cost to every budget of a data set; refused as the release would be."""
        check_dataset(dataset, ledger)
        return quotes_of(ledger, dataset, self.claim_for, self.statement)

    def draw(self, spending: Spending, dataset: str | None) -> TrackAnswers[Any]:
        """Return the releases; ``spending`` holds their charge until the caller has written them."""
        check_dataset(dataset, spending.ledger)
        together, claims = self.claim_for(self.unit), self.claims_for(self.unit)
        if remark := remark_on_small({name: ready.weights.reviewers for name, ready in self.ready.items()}):
            warnings.warn(GroupWarning(remark), stacklevel=3)
        if spending.ledger is None:
            number, noisy = None, self._drawn()
        else:  # charged before noise is drawn
            number, noisy = spending.drawn(self._order(dataset))
        answers = {}
        for name, ready in self.ready.items():
            group = Group(name=name, groups=len(self.ready), shared=True, claims=claims, together=together)
            answers[name] = ready.published(noisy[name], number, spending.series(number)).of_group(group)
        return TrackAnswers(answers=answers, guarantee=together)

    def _drawn(self) -> dict[str, Any]:
        return {name: ready.drawn() for name, ready in self.ready.items()}

    def _order(self, dataset: str | None) -> Order:
        joint = self.claim_for(self.unit)
        return Order(
            dataset=dataset,
            what=f"{self.charged_as}: {joint.summary}",
            settings={
                "guarantee": claim_settings(joint),
                "statement": self.statement.to_document(),
                "groups": {name: ready.settings() for name, ready in self.ready.items()},
            },
            data=fingerprint(self._reviews, self._group),
            size=sum(ready.size for ready in self.ready.values()),
            room=sum(ready.room for ready in self.ready.values()),
            charge=self._charge,
            draw=self._drawn,
        )

    def _charge(self, book: Ledger, dataset: str, number: str) -> None:
        charge = book.charge(
            dataset,
            self.claim_for,
            quantity=self.charged_as,
            unit=self.unit,
            mechanism=self.first.noise.mechanism,
            fingerprint=fingerprint(self._reviews),
            release=number,
            statement=self.statement,
            committee=self._reviews.report.committee,
        )
        for remark in charge.remarks:
            warnings.warn(LedgerWarning(remark), stacklevel=3)


def prepare_tracks(
    prepare: Callable[..., R],
    reviews: Reviews,
    groups: Mapping[str, str],
    *,
    public: str | PublicRecord | None,
    **how: Any,
) -> ReadyTracks[R]:
    """Return the checked releases of all groups of papers, by a function that prepares one.

    The number of reviewers of each group, and their loads in it, become public, as for releases of means by group.
    """
    record = reviews.public(public) if isinstance(public, PublicRecord) else None
    ready: dict[str, R] = {}
    mine = np.zeros(reviews.paper.size, dtype=np.int64)
    for name, papers in papers_by_group(reviews.papers, groups).items():
        part = reviews.only(papers)
        visible = public if record is None else part_record(record, part)
        try:
            ready[name] = prepare(part, public=visible, declare_kept=part.whole is not None, **how)
        except InputError as error:
            kind = RecordError if isinstance(error, RecordError) else InputError
            raise kind(f"group {name!r}: ", *error.parts) from None
        mine[np.isin(np.array(reviews.papers)[reviews.paper], papers)] = ready[name].group_of_reviews
    statements = {name: one.statement for name, one in ready.items()}
    stated = joint_statement(statements, record)
    return ReadyTracks(ready=ready, statement=stated, _reviews=reviews, _group=mine)


def effect_groups(
    reviews: Reviews,
    groups: Mapping[str, str],
    *,
    epsilon: float,
    public: str | PublicRecord | None = None,
    ledger: str | None = None,
    dataset: str | None = None,
    licence: str | None = None,
    citation: str | None = None,
    about: About | None = None,
    **how: Any,
) -> TrackAnswers[Effect]:
    r"""Release an effect in each group of papers, such as tracks, with one charge for all.

    ``groups`` holds the group of each paper, which must be public. The budget applies to each group; what all groups
    claim together is ``guarantee``. Other arguments are those of :func:`peerveil.effect`. The number of reviewers of
    each group of papers, and their loads in it, become public.

    >>> import io
    >>> import peerveil as pv
    >>> rows = [f"p{i},r{(i + j) % 80},{(i * j) % 5 + 1}" for i in range(80) for j in range(3)]
    >>> people = [f"r{j},{'senior' if j % 2 else 'junior'}" for j in range(80)]
    >>> table = io.BytesIO("\n".join(["paper,reviewer,score", *rows]).encode())
    >>> reviewers = io.BytesIO("\n".join(["reviewer,seniority", *people]).encode())
    >>> reviews = pv.read(table, attributes=reviewers, scale=(1, 5))
    >>> tracks = {f"p{i}": "theory" if i < 40 else "systems" for i in range(80)}
    >>> asked = {"by": "seniority", "compare": ("senior", "junior"), "public": "all"}
    >>> made = pv.effect_groups(reviews, tracks, epsilon=0.5, **asked)
    >>> sorted(made.answers), round(made.guarantee.epsilon, 6)
    (['systems', 'theory'], 1.0)
    """
    terms = Terms(licence=licence, citation=citation, about=about or About())
    with spending_for(ledger) as spending:
        how |= {"public": public, "mechanism": Laplace(epsilon=epsilon), "terms": terms}
        return prepare_tracks(prepare_effect, reviews, groups, **how).draw(spending, dataset)


def release_by_groups(
    reviews: Reviews,
    groups: Mapping[str, str],
    *,
    epsilon: float,
    public: str | PublicRecord | None = None,
    quantity: QuantityLike = "ratings",
    statistic: str | Share = "mean",
    bins: int | None = None,
    ledger: str | None = None,
    dataset: str | None = None,
    licence: str | None = None,
    citation: str | None = None,
    about: About | None = None,
    **how: Any,
) -> TrackAnswers[Crosstab]:
    r"""Release a statistic by an attribute of reviewers in each group of papers, with one charge for all.

    ``groups`` holds the group of each paper, which must be public. The budget applies to each group; what all groups
    claim together is ``guarantee``. Other arguments are those of :func:`peerveil.release_by`. The number of reviewers
    of each group of papers, and their loads in it, become public.

    >>> import io
    >>> import peerveil as pv
    >>> rows = [f"p{i},r{(i + j) % 80},{(i * j) % 5 + 1}" for i in range(80) for j in range(3)]
    >>> people = [f"r{j},{'senior' if j % 2 else 'junior'}" for j in range(80)]
    >>> table = io.BytesIO("\n".join(["paper,reviewer,score", *rows]).encode())
    >>> reviewers = io.BytesIO("\n".join(["reviewer,seniority", *people]).encode())
    >>> reviews = pv.read(table, attributes=reviewers, scale=(1, 5))
    >>> tracks = {f"p{i}": "theory" if i < 40 else "systems" for i in range(80)}
    >>> asked = {"by": "seniority", "values": ("senior", "junior"), "public": "all"}
    >>> made = pv.release_by_groups(reviews, tracks, epsilon=0.5, **asked)
    >>> made.answers["theory"].groups, round(made.guarantee.epsilon, 6)
    (('senior', 'junior'), 1.0)
    """
    terms = Terms(licence=licence, citation=citation, about=about or About())
    with spending_for(ledger) as spending:
        how |= {"public": public, "mechanism": Histogram(epsilon=epsilon, bins=bins), "terms": terms}
        how |= {"quantity": with_statistic(quantity, statistic)}
        return prepare_tracks(prepare_crosstab, reviews, groups, **how).draw(spending, dataset)
