"""Releases of groups of papers, such as tracks and areas: one per group, and one charge for all."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from peerveil.errors import Argument, GroupWarning, InputError, LedgerWarning, RecordError
from peerveil.inference.pooling import PooledPrior
from peerveil.mechanisms import Asked, Histogram, Mechanism
from peerveil.planning.auto import Auto, asked_for
from peerveil.privacy.guarantee import Guarantee, Unit
from peerveil.privacy.joint_claims import Group, GroupClaim, group_claim, joint_claim, joint_quantity
from peerveil.privacy.stated_facts import Statement
from peerveil.private.charging import Order, Spending
from peerveil.private.fingerprint import fingerprint
from peerveil.private.ledger.release_facts import joint_statement
from peerveil.private.release import Ready, check_dataset, claim_settings, files_size, prepare_release, spending_for
from peerveil.private.reviews import Reviews
from peerveil.quantities.base import Lone
from peerveil.quantities.columns import Share
from peerveil.quantities.functions import QuantityLike, with_statistic
from peerveil.record.parts import Part
from peerveil.record.public_record import PublicRecord
from peerveil.record.tracks import SMALL, papers_by_group, part_of
from peerveil.regions import check_region
from peerveil.regions import region as make_region
from peerveil.releases.refinement import Perturbed
from peerveil.releases.release import Release
from peerveil.reporting.terms import About, Terms

if TYPE_CHECKING:
    from peerveil.private.ledger import Ledger


def remark_on_small(reviewers: Mapping[str, int]) -> str:
    """Return a remark on the groups that have few reviewers, given the number of each; empty if none has."""
    small = {group: count for group, count in reviewers.items() if count < SMALL}
    if not small:
        return ""
    listed = ", ".join(f"{group!r} ({count})" for group, count in small.items())
    return (
        f"{len(small)} of {len(reviewers)} groups have fewer than {SMALL} reviewers: {listed}. What is released of so "
        "few is mostly noise, and who is among them is easily guessed; consider larger groups"
    )


@dataclass(frozen=True, kw_only=True)
class GroupReleases:
    """The releases by group, and their joint guarantee."""

    releases: dict[str, Release]
    guarantee: Guarantee


def release_groups(
    reviews: Reviews,
    groups: Mapping[str, str],
    *,
    public: str | PublicRecord | None = None,
    quantity: QuantityLike = "ratings",
    statistic: str | Share = "mean",
    epsilon: float | None = None,
    mechanism: Asked | None = None,
    unit: str = "reviewer",
    region: str = "tight",
    estimator: str | None = None,
    shared: bool = True,
    lone: Lone = "refuse",
    name: str | None = None,
    ledger: str | None = None,
    dataset: str | None = None,
    accept_float_noise: bool = False,
    prior: PooledPrior | None = None,
    licence: str | None = None,
    citation: str | None = None,
    about: About | None = None,
) -> GroupReleases:
    """Release the sorted means of the reviewers' weights in each group of papers.

    The number of reviewers of each group becomes public, and with ``public="all"`` or ``"none"`` also the number with
    each load in it. A ledger is charged once, for all groups together.

    ``groups`` holds the group of each paper, which must be public. ``shared`` tells whether reviewers may have reviews
    in several groups; ``False`` declares publicly that none has, which is checked, and then the largest claim counts
    instead of the sum. The other arguments are those of :func:`peerveil.release`; a budget applies to each group. Where
    a plan chooses the mechanism, each group gets the number of bins and the estimator that suit it; all get histogram
    noise, because the claims of histograms add up to less.

    >>> import peerveil as pv
    >>> people = ["ann", "bob", "ann", "cem", "bob", "cem", "bob", "ann"]
    >>> reviews = pv.Reviews.from_columns(list("ppqqrrss"), people, [3, 5, 4, 4, 8, 6, 2, 7])
    >>> tracks = {"p": "theory", "q": "theory", "r": "systems", "s": "systems"}
    >>> with warnings.catch_warnings(action="ignore"):                               # both are small
    ...     made = pv.release_groups(reviews, tracks, public="all", epsilon=0.5)
    >>> sorted(made.releases), made.guarantee.epsilon
    (['systems', 'theory'], 1.0)
    """
    with spending_for(ledger) as spending:
        return release_groups_within(
            spending,
            reviews,
            groups,
            public=public,
            quantity=with_statistic(quantity, statistic),
            mechanism=asked_for(mechanism, epsilon),
            unit=unit,
            region=region,
            estimator=estimator,
            shared=shared,
            lone=lone,
            name=name,
            dataset=dataset,
            accept_float_noise=accept_float_noise,
            prior=prior,
            licence=licence,
            citation=citation,
            about=about,
        )


def release_groups_within(
    spending: Spending,
    reviews: Reviews,
    groups: Mapping[str, str],
    *,
    public: str | PublicRecord | None,
    mechanism: Asked,
    region: str = "tight",
    estimator: str | None = None,
    shared: bool = True,
    dataset: str | None = None,
    licence: str | None = None,
    citation: str | None = None,
    about: About | None = None,
    **how: Any,
) -> GroupReleases:
    """Return the releases of groups; ``spending`` holds their charge until the caller has written them.

    Other arguments as in :func:`release_groups`.
    """
    check_region(region)
    terms = Terms(licence=licence, citation=citation, about=about or About())
    check_dataset(dataset, spending.ledger)
    prepared = prepare_groups(
        reviews, groups, public=public, mechanism=mechanism, shared=shared, estimator=estimator, **how
    )
    ready, claim_for = prepared.ready, prepared.claim_for
    bounds = {group: make_region(part.weights, region) for group, part in ready.items()}
    first = next(iter(ready.values()))
    assert first.noise.guarantee.unit is not None  # noqa: S101 - our own claims have one
    total = claim_for(first.noise.guarantee.unit)
    if remark := remark_on_small({group: part.weights.reviewers for group, part in ready.items()}):
        warnings.warn(GroupWarning(remark), stacklevel=2)
    statement = prepared.statement
    perturbed, number = _drawn(
        spending,
        reviews,
        dataset,
        claim_for,
        ready=ready,
        mechanism=mechanism.named or first.noise.mechanism,
        statement=statement,
    )
    series = spending.series(number)
    claims = prepared.claims_for(first.noise.guarantee.unit)
    releases = {}
    for name, noisy in perturbed.items():
        group = Group(name=name, groups=len(ready), shared=shared, claims=claims, together=total)
        made = noisy.refined(bounds[name], ready[name].estimator)
        public_words, notes = f"{made.public}, in each group of papers", (*made.notes, group.note)
        charged: dict[str, Any] = {"charge": number, "series": series}
        releases[name] = replace(made, terms=terms, group=group, notes=notes, public=public_words, **charged)
    return GroupReleases(releases=releases, guarantee=total)


@dataclass(frozen=True, kw_only=True, eq=False)
class ReadyGroups:
    """The checked releases by group, before budget is spent and noise is drawn.

    Attributes:
        ready: the release of each group.
        shared: whether reviewers may have reviews in several groups.
        record: the public record of all groups, if one was given.
        papers: the papers of each group.
    """

    ready: dict[str, Ready]
    shared: bool
    record: PublicRecord | None
    papers: dict[str, tuple[str, ...]]

    @property
    def statement(self) -> Statement:
        """What the releases of all groups state together about their data set."""
        each = {group: part.statement for group, part in self.ready.items()}
        return joint_statement(each, self.record, apart=None if self.shared else self.papers)

    def claim_for(self, unit: Unit) -> Guarantee:
        """Return the joint claim for a unit."""
        parts = [group.weights.part for group in self.ready.values() if group.weights.part is not None]
        largest = max((part.whole.largest for part in parts), default=None)
        return joint_claim(self.claims_for(unit), shared=self.shared, largest_load=largest)

    def claims_for(self, unit: Unit) -> tuple[GroupClaim, ...]:
        """Return the claim of each group for a unit, in the order of their names."""
        groups = [(group, group.noise.mechanism) for group in self.ready.values()]
        return tuple(
            group_claim(group.claim_for(unit), group.weights, counted=noise.on_counts, scale=noise.scale_on_counts)
            for group, noise in groups
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
    """Return the checked releases of all groups with settled noise; arguments as in :func:`release_groups`."""
    parts = {group: reviews.only(papers) for group, papers in papers_by_group(reviews.papers, groups).items()}
    if not shared:
        _check_apart(reviews, groups)
        parts = {group: replace(part, whole=None) for group, part in parts.items()}  # a conference of its own
    if isinstance(mechanism, Auto):  # one kind of noise for all groups, that whose claims add up to the least
        mechanism = replace(mechanism, mechanisms=(Histogram.name,))
    record = reviews.public(public) if isinstance(public, PublicRecord) else None
    ready: dict[str, Ready] = {}
    for group, part in parts.items():
        visible, kept = public if record is None else part_record(record, part), part.whole is not None
        try:
            ready[group] = prepare_release(part, public=visible, declare_kept=kept, mechanism=mechanism, **how)
        except InputError as error:
            kind = RecordError if isinstance(error, RecordError) else InputError
            raise kind(f"group {group!r}: ", *error.parts) from None
    if not shared:
        ready = {
            group: part.about(replace(part.noise.guarantee.neighbours, apart=True)) for group, part in ready.items()
        }
    papers = {group: part.papers for group, part in parts.items()}
    return ReadyGroups(ready=ready, shared=shared, record=record, papers=papers)


def part_record(record: PublicRecord, part: Reviews) -> PublicRecord:
    """Return the public record of a group: its scores, number of reviewers, and the largest load of the conference."""
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
    """Return the noisy vector or counts of each group, and the number of their joint charge in a ledger."""
    fresh: dict[str, Perturbed] = {}

    def draw() -> dict[str, Any]:
        fresh.update({group: part.draw() for group, part in ready.items()})
        return {group: noisy.to_document() for group, noisy in fresh.items()}

    if spending.ledger is None:
        draw()
        return fresh, None
    first = next(iter(ready.values()))
    unit = first.noise.guarantee.unit
    assert unit is not None  # noqa: S101 - our own claims have one
    what, data = joint_quantity(first.weights.quantity, len(ready)), fingerprint(reviews)

    def charge(book: Ledger, name: str, number: str) -> None:
        charged = book.charge(
            name,
            claim_for,
            quantity=what,
            unit=unit,
            mechanism=mechanism,
            fingerprint=data,
            release=number,
            statement=statement,
            committee=reviews.report.committee,
        )
        for remark in charged.remarks:
            warnings.warn(LedgerWarning(remark), stacklevel=3)

    number, drawn = spending.drawn(
        Order(
            dataset=dataset,
            what=f"{what}: {claim_for(unit).summary}",
            settings={
                "guarantee": claim_settings(claim_for(unit)),
                "statement": statement.to_document(),
                "groups": {group: part.settings() for group, part in ready.items()},
            },
            data=data,
            size=sum(part.size for part in ready.values()),
            room=sum(files_size(part.weights.reviewers) for part in ready.values()),
            charge=charge,
            draw=draw,
        )
    )
    if not fresh:  # an earlier run drew it
        for group, part in ready.items():
            stored = Perturbed.from_document(drawn[group], part.weights)
            fresh[group] = replace(stored, guarantee=part.noise.guarantee)
    return fresh, number
