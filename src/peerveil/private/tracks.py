"""Releases of groups of papers, such as tracks and areas: one each, and one charge for all."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from peerveil.errors import Argument, GroupWarning, InputError, LedgerWarning, RecordError
from peerveil.inference.estimators import check_estimator
from peerveil.mechanisms import Asked, Mechanism
from peerveil.privacy.guarantee import Guarantee, Unit
from peerveil.privacy.joint_claims import Group, GroupClaim, group_claim, joint_claim
from peerveil.privacy.statement import Statement
from peerveil.private.charging import Order, Spending
from peerveil.private.fingerprint import fingerprint
from peerveil.private.release import Ready, files_size, prepare_release, spending_for
from peerveil.private.reviews import Reviews
from peerveil.private.statements import stated_together
from peerveil.quantities.base import Lone
from peerveil.quantities.functions import QuantityLike
from peerveil.record.parts import Part
from peerveil.record.public_record import PublicRecord
from peerveil.record.tracks import SMALL, papers_by_group, part_of
from peerveil.regions import check_region
from peerveil.regions import region as make_region
from peerveil.releases.refinement import Perturbed
from peerveil.releases.release import Release
from peerveil.releases.terms import Terms

if TYPE_CHECKING:
    from peerveil.private.ledger import Ledger


@dataclass(frozen=True, kw_only=True)
class GroupReleases:
    """The releases of all groups.

    Attributes:
        releases: by the groups' names.
        guarantee: what all of them promise together.
    """

    releases: dict[str, Release]
    guarantee: Guarantee


def release_groups(
    reviews: Reviews,
    groups: Mapping[str, str],
    *,
    public: str | PublicRecord | None = None,
    quantity: QuantityLike = "ratings",
    mechanism: Mechanism,
    unit: str = "reviewer",
    region: str = "tight",
    estimator: str | None = None,
    shared: bool = True,
    lone: Lone = "refuse",
    name: str | None = None,
    ledger: str | None = None,
    dataset: str | None = None,
    accept_float_noise: bool = False,
    licence: str | None = None,
    citation: str | None = None,
) -> GroupReleases:
    """Release each group of papers by itself: in each, the sorted means of its reviewers' weights there.

    The number of reviewers of each group becomes public, and with ``public="all"`` or ``"none"`` also how many have
    which load in it. A ledger is charged once, for all groups together.

    Args:
        reviews: the private reviews of all groups.
        groups: for each paper its group. Which paper is in which group must be public.
        public: as in :func:`peerveil.release`, for all papers.
        quantity: as there.
        mechanism: the noise of each group; a budget is each group's own.
        unit: as in :func:`peerveil.release`.
        region: as there.
        estimator: as there.
        shared: whether reviewers may have reviews in several groups. ``False`` declares, for everyone to know, that
            none has; the reviews are checked against that. Then the largest claim counts instead of the sum.
        lone: as there.
        name: as there.
        ledger: as there.
        dataset: as there.
        accept_float_noise: as there.
        licence: as there.
        citation: as there.

    >>> import peerveil as pv
    >>> people = ["ann", "bob", "ann", "cem", "bob", "cem", "bob", "ann"]
    >>> reviews = pv.Reviews.from_columns(list("ppqqrrss"), people, [3, 5, 4, 4, 8, 6, 2, 7])
    >>> tracks = {"p": "theory", "q": "theory", "r": "systems", "s": "systems"}
    >>> with warnings.catch_warnings(action="ignore"):                               # both are small
    ...     made = pv.release_groups(reviews, tracks, public="all", mechanism=pv.Laplace(epsilon=0.5))
    >>> sorted(made.releases), made.guarantee.epsilon
    (['systems', 'theory'], 1.0)
    """
    with spending_for(ledger) as spending:
        return release_groups_within(
            spending,
            reviews,
            groups,
            public=public,
            quantity=quantity,
            mechanism=mechanism,
            unit=unit,
            region=region,
            estimator=estimator,
            shared=shared,
            lone=lone,
            name=name,
            dataset=dataset,
            accept_float_noise=accept_float_noise,
            licence=licence,
            citation=citation,
        )


def release_groups_within(
    spending: Spending,
    reviews: Reviews,
    groups: Mapping[str, str],
    *,
    public: str | PublicRecord | None,
    mechanism: Mechanism,
    region: str = "tight",
    estimator: str | None = None,
    shared: bool = True,
    dataset: str | None = None,
    licence: str | None = None,
    citation: str | None = None,
    **how: Any,
) -> GroupReleases:
    """Releases of groups whose charge is kept in ``spending`` until whoever called says that they are written.

    Other arguments as in :func:`release_groups`; ``how`` as in a release's preparation.
    """
    check_region(region)
    estimator = estimator or "safe"
    check_estimator(estimator)
    if mechanism.chooses:
        raise InputError(
            Argument("mechanism"), " must be named where there are groups; a plan of each may tell which is best"
        )
    terms = Terms(licence=licence, citation=citation)
    if dataset is not None and spending.ledger is None:
        raise InputError(
            Argument("dataset", dataset), " names a budget, but no ledger is given (", Argument("ledger", ...), ")"
        )
    prepared = prepare_groups(reviews, groups, public=public, mechanism=mechanism, shared=shared, **how)
    ready, claim_for = prepared.ready, prepared.claim_for
    bounds = {its: make_region(one.weights, region) for its, one in ready.items()}
    first = next(iter(ready.values()))
    assert first.noise.guarantee.unit is not None  # noqa: S101 - our own claims have one
    total = claim_for(first.noise.guarantee.unit)
    _warn_of_small(ready)
    about = stated_together({its: one.statement for its, one in ready.items()}, prepared.record, shared=shared)
    perturbed, number = _drawn(spending, reviews, dataset, claim_for, ready=ready, mechanism=mechanism, statement=about)
    made = {its: one.refined(bounds[its], estimator) for its, one in perturbed.items()}
    claims = prepared.claims_for(first.noise.guarantee.unit)
    of = {its: Group(name=its, groups=len(ready), shared=shared, claims=claims, together=total) for its in ready}
    return GroupReleases(
        releases={
            its: replace(
                one,
                terms=terms,
                charge=number,
                group=of[its],
                notes=(*one.notes, of[its].note),
                public=f"{one.public}, in each group of papers",
            )
            for its, one in made.items()
        },
        guarantee=total,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class ReadyGroups:
    """The releases of all groups, for which all was checked that can be, before budget is spent and noise is drawn.

    Attributes:
        ready: by the groups' names.
        shared: whether reviewers may have reviews in several groups.
        record: the public record of all groups, where one was given.
    """

    ready: dict[str, Ready]
    shared: bool
    record: PublicRecord | None

    def claim_for(self, unit: Unit) -> Guarantee:
        """What all of them promise together, for a unit."""
        wholes = [one.weights.part.whole.largest for one in self.ready.values() if one.weights.part is not None]
        return joint_claim(self.claims_for(unit), shared=self.shared, largest_load=max(wholes, default=None))

    def claims_for(self, unit: Unit) -> tuple[GroupClaim, ...]:
        """What each of them promises, for a unit, in the order of their names."""
        return tuple(
            group_claim(
                one.claim_for(unit),
                one.weights,
                counted=one.noise.mechanism.on_counts,
                scale=one.noise.mechanism.scale_on_counts,
            )
            for one in self.ready.values()
        )


def prepare_groups(
    reviews: Reviews,
    groups: Mapping[str, str],
    *,
    public: str | PublicRecord | None,
    mechanism: Asked,
    shared: bool = True,
    **how: Any,
) -> ReadyGroups:
    """Check everything and settle the noise of every group, without spending or drawing any.

    Arguments as in :func:`release_groups`; ``how`` as in a release's preparation.
    """
    parts = {its: reviews.only(papers) for its, papers in papers_by_group(reviews.papers, groups).items()}
    if not shared:
        _check_apart(reviews, groups)
        parts = {its: replace(part, whole=None) for its, part in parts.items()}  # each is a conference of its own
    record = reviews.public(public) if isinstance(public, PublicRecord) else None
    ready: dict[str, Ready] = {}
    for its, part in parts.items():
        try:
            ready[its] = prepare_release(
                part,
                public=public if record is None else _part_of(record, part),
                declare_kept=part.whole is not None,
                mechanism=mechanism,
                **how,
            )
        except RecordError as error:
            raise RecordError(f"group {its!r}: ", *error.parts) from None
        except InputError as error:
            raise InputError(f"group {its!r}: ", *error.parts) from None
    if not shared:
        ready = {its: one.about(replace(one.noise.guarantee.neighbours, apart=True)) for its, one in ready.items()}
    return ReadyGroups(ready=ready, shared=shared, record=record)


def _part_of(record: PublicRecord, part: Reviews) -> PublicRecord:
    """What is public of a group: its scores, the number of its reviewers, and that nobody has more than elsewhere."""
    stated = record.loads if record.part is None else record.part.whole
    whole = None
    if part.whole is not None:
        whole = Part(whole=stated, left_out=part.whole.left_out, number="declared")
    return part_of(record, part.papers, part=whole, reviewers=part.reviewers, loads=(1, stated.largest))


def _check_apart(reviews: Reviews, groups: Mapping[str, str]) -> None:
    if reviews.whole is not None:
        raise RecordError(
            "papers or reviews were left out, and reviewers may have some of these besides those of their group; ",
            Argument("shared", False),
            " is for a whole conference",
        )
    names = sorted(set(groups.values()))
    group = np.array([names.index(groups[paper]) for paper in reviews.papers])[reviews.paper]
    pairs = np.unique(reviews.reviewer * len(names) + group)
    if pairs.size > reviews.reviewers:
        raise RecordError(
            "it is declared that no reviewer has reviews in two groups (",
            Argument("shared", False),
            "), but some have; leave that out",
        )


def _warn_of_small(ready: Mapping[str, Ready]) -> None:
    small = {its: one.weights.reviewers for its, one in ready.items() if one.weights.reviewers < SMALL}
    if small:
        listed = ", ".join(f"{its!r} ({count})" for its, count in small.items())
        remark = (
            f"{len(small)} of {len(ready)} groups have fewer than {SMALL} reviewers: {listed}. What is released of so "
            "few is mostly noise, and who is among them is easily guessed; consider larger groups"
        )
        warnings.warn(GroupWarning(remark), stacklevel=3)


def _drawn(
    spending: Spending,
    reviews: Reviews,
    dataset: str | None,
    claim_for: Callable[[Unit], Guarantee],
    *,
    ready: Mapping[str, Ready],
    mechanism: Mechanism,
    statement: Statement,
) -> tuple[dict[str, Perturbed], str | None]:
    """What is drawn for each group, and the number of their one charge where there is a ledger."""
    fresh: dict[str, Perturbed] = {}

    def draw() -> dict[str, Any]:
        fresh.update({its: one.draw() for its, one in ready.items()})
        return {its: one.to_document() for its, one in fresh.items()}

    if spending.ledger is None:
        draw()
        return fresh, None
    first = next(iter(ready.values()))
    unit = first.noise.guarantee.unit
    assert unit is not None  # noqa: S101 - our own claims have one
    what, data = f"{first.weights.quantity} in {len(ready)} groups", fingerprint(reviews)

    def charge(book: Ledger, name: str, number: str) -> None:
        made = book.charge(
            name,
            claim_for,
            quantity=what,
            unit=unit,
            mechanism=mechanism,
            fingerprint=data,
            release=number,
            statement=statement,
        )
        for remark in made.remarks:
            warnings.warn(LedgerWarning(remark), stacklevel=3)

    number, drawn = spending.drawn(
        Order(
            dataset=dataset,
            what=f"{what}: {claim_for(unit).summary}",
            settings={
                "guarantee": asdict(claim_for(unit)),
                "statement": statement.to_document(),
                "groups": {its: one.settings() for its, one in ready.items()},
            },
            data=data,
            size=sum(one.size for one in ready.values()),
            room=sum(files_size(one.weights.reviewers) for one in ready.values()),
            charge=charge,
            draw=draw,
        )
    )
    if not fresh:  # an earlier run drew it
        kept = {its: Perturbed.from_document(drawn[its], one.weights) for its, one in ready.items()}
        fresh = {its: replace(one, guarantee=ready[its].noise.guarantee) for its, one in kept.items()}
    return fresh, number
