"""Joint privacy claims of releases of several groups of papers, such as tracks.

A reviewer may have reviews in several groups, and an exchange of reviews between groups affects both. Proofs are in
docs/privacy.md, "Groups of papers". All inputs are public.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from peerveil.errors import InputError
from peerveil.privacy.guarantee import Guarantee, Unit, compose
from peerveil.privacy.sensitivity import Sensitivity, part_sensitivity, sensitivity
from peerveil.quantities.weights import PublicWeights
from peerveil.record.tracks import check_group_name
from peerveil.support.arguments import real


@dataclass(frozen=True, kw_only=True)
class SumCosts:
    """What the numbers of an effect in one group of papers cost at most, as parts of its epsilon per reviewer.

    Attributes:
        exchange: for each exchange in which a review of the group takes part, sums and counts.
        exchanges: the largest number of these.
        square: for each reviewer whose reviews change, the squares; 0 if none are released.
        own: how often that counts for the reviewer whose attributes may change.

    >>> SumCosts(exchange=0.2, exchanges=4, square=0.03, own=2).epsilon
    0.98
    """

    exchange: float
    exchanges: int
    square: float = 0.0
    own: int = 2

    def __post_init__(self) -> None:
        costs = [real("cost", cost) for cost in (self.exchange, self.square)]
        if not all(math.isfinite(cost) and cost >= 0 for cost in costs) or self.exchanges < 0 or self.own < 1:
            raise InputError("the costs of an effect must be finite numbers of at least 0")

    @property
    def epsilon(self) -> float:
        """The epsilon per reviewer of the group alone."""
        return self.exchanges * self.exchange + (self.exchanges + self.own) * self.square


@dataclass(frozen=True, kw_only=True)
class GroupClaim:
    """The claim of one group's release, with the public numbers that determine the joint claim.

    Attributes:
        claim: the claim of this group alone.
        scale: the scale of the noise on its counts; ``None`` if noise is on the vector, or not needed.
        moved: how many of its means can move, in a histogram; ``None`` if noise is on the vector, or if a hidden score
            also moves the means of third parties.
        sums: what the numbers of an effect cost; ``None`` for other releases.

    >>> pure = Guarantee(kind="pure", unit="reviewer", epsilon=1.0)
    >>> GroupClaim(claim=pure, scale=10.0, moved=5).moved
    5
    >>> GroupClaim(claim=pure, scale=10.0, moved=4)
    Traceback (most recent call last):
    peerveil.errors.InputError: the claim of a group is not what its noise pays for
    """

    claim: Guarantee
    scale: float | None = None
    moved: int | None = None
    sums: SumCosts | None = None

    def __post_init__(self) -> None:
        claim = self.claim
        if self.sums is not None and not (
            claim.kind == "pure" and claim.unit == "reviewer" and _close(claim.epsilon, self.sums.epsilon)
        ):
            raise InputError("the claim of a group is not what its noise pays for")
        if self.sums is not None and not (self.scale is None and self.moved is None):
            raise InputError("a group has noise on sums or on counts, not on both")
        if claim.kind == "stated":
            raise InputError("the claim of a group must be one of numbers; words cannot be added up")
        if claim.rho is not None and not _close(claim.epsilon, claim.epsilon_at(claim.delta or 0.0)):
            raise InputError("the epsilon of a group's claim is not what its rho comes to at its delta")
        if self.scale is not None:
            object.__setattr__(self, "scale", real("scale", self.scale))
            if not (math.isfinite(self.scale) and self.scale > 0) or claim.kind != "pure":
                raise InputError("scale must be a finite number > 0 of noise on counts, whose claim is pure")
        if self.moved is None:
            return
        if self.moved < 0 or (self.scale is None and self.moved > 0):
            raise InputError("moved must be at least 0, and 0 where there is no noise on counts")
        due = 0.0 if self.scale is None else 2 * self.moved / self.scale
        if not _close(claim.epsilon, due):
            raise InputError("the claim of a group is not what its noise pays for")


@dataclass(frozen=True, kw_only=True)
class Group:
    """The group of papers of a release, and the claims of all groups.

    Attributes:
        name: its name.
        groups: number of groups released together.
        shared: whether reviewers may have reviews in several groups; ``False`` if it is declared that none has.
        claims: the claims of all groups' releases, including this one; empty in a release of schema 1.
        together: the joint claim of all groups; ``None`` in a release of schema 1.

    >>> Group(name="theory", groups=3, shared=True).groups
    3
    """

    name: str
    groups: int
    shared: bool
    claims: tuple[GroupClaim, ...] = ()
    together: Guarantee | None = None

    def __post_init__(self) -> None:
        check_group_name(self.name)
        if self.groups < 1:
            raise InputError(f"groups must be at least 1, got {self.groups}")
        if (self.together is None) != (not self.claims) or len(self.claims) not in (0, self.groups):
            raise InputError(f"the claims of all {self.groups} groups belong to what they claim together")
        claims = [entry.claim for entry in self.claims]
        relations = {(claim.unit, replace(claim.neighbours, hidden=False)) for claim in claims}
        if len(relations) > 1 or len({claim.delta for claim in claims if claim.rho != 0}) > 1:
            raise InputError("the claims of groups that were released together are for one unit, relation and delta")

    @property
    def note(self) -> str:
        """The joint claim as a sentence of the release; empty in a release of schema 1."""
        if self.together is None:
            return ""
        declared = "It is declared that no reviewer has reviews in two of them, "
        if self.shared:
            who = "Reviewers may be in several of them, and the claims add up"
        elif _crossing(self.claims):
            exchanged = "hidden scores of two reviewers who exchange all their reviews may change"
            who = f"{declared}but {exchanged}, so the two largest claims add up"
        else:
            who = f"{declared}so the largest claim holds for all"
        return f"One of {self.groups} releases of groups of papers. {who}: together, {self.together.summary}."


def joint_quantity(quantity: str, groups: int) -> str:
    """Return what a ledger calls the joint release of groups.

    >>> joint_quantity("ratings", 3)
    'ratings in 3 groups'
    """
    return f"{quantity} in {groups} groups"


def _close(stated: float | None, due: float) -> bool:
    """Return whether a stated number equals the computed one up to round-off."""
    return stated is not None and math.isclose(stated, due, rel_tol=1e-9)


def group_sensitivity(weights: PublicWeights, unit: Unit) -> Sensitivity:
    """Return the sensitivity of one group's release if reviewers may have reviews in several groups.

    It is that of a part of a conference (:func:`peerveil.privacy.sensitivity.part_sensitivity`). If the largest load of
    the conference is not public, norms are at most ``R (1 + 2b/(a+1))``, the root of that times ``R``, and ``R``, with
    loads from ``a`` to ``b`` in the group, and ``1 + 2b`` means change their bin.

    >>> weights = PublicWeights.from_rows([[0, 1]] * 5, loads={2: 2, 3: 2})
    >>> bound = group_sensitivity(weights, "reviewer")
    >>> round(bound.l1, 9), bound.counts
    (3.0, 8)
    """
    largest_load = math.inf if weights.part is None else weights.part.whole.largest
    return part_sensitivity(weights, unit, largest_load)


# Theorem S14; for counts by an attribute Theorem G3.
def joint_epsilon(scales: Sequence[float], moved: Sequence[int], largest_load: int) -> float:
    """Return the joint epsilon per reviewer of histograms of several groups of papers.

    A reviewer's reviews are exchanged in at most ``L`` exchanges, which touch at most ``2L`` groups. In each of these
    the reviewer's own mean moves, and each exchange has one partner, who moves in two groups at most: over ``T`` groups
    at most ``min(T, 2L) + 2L`` means move. Each moves two counts by one, and costs most in the group with least noise.

    Each group has noise of a scale on its counts, and a largest number of means that can move in it.

    >>> joint_epsilon([10.0] * 10, [5] * 10, 4)          # each claims epsilon 1
    3.2
    """
    partners, loss = 2 * largest_load, Fraction(0)
    for rank, (scale, most) in enumerate(sorted(zip(scales, moved, strict=True))):  # the most costly first
        others = min(max(0, most - 1), partners)
        partners -= others
        loss += 2 * (others + (rank < 2 * largest_load)) / Fraction(scale)
    return _stated(loss)


# Theorem E8.
def joint_sums_epsilon(costs: Sequence[SumCosts], largest_load: int) -> float:
    """Return the joint epsilon per reviewer of effects in several groups of papers.

    Each of a reviewer's ``L`` reviews is exchanged, or stays where its reviewer's attributes change. An exchange
    touches the groups of both its reviews, so that at most ``2 L`` times a group has the cost of an exchange, and as
    often a partner's squares change. The reviewer's own change in at most ``2 L`` groups.

    >>> joint_sums_epsilon([SumCosts(exchange=0.25, exchanges=4)] * 10, 4)          # each claims epsilon 1
    2.000000000000029
    """
    touched, loss = 2 * largest_load, 0.0
    for each in sorted(costs, key=lambda cost: -cost.exchange):  # the most costly first
        times = min(each.exchanges, touched)
        touched -= times
        loss += times * each.exchange
    touched = 2 * largest_load
    for each in sorted(costs, key=lambda cost: -cost.square):
        times = min(each.exchanges, touched)
        touched -= times
        loss += times * each.square
    loss += math.fsum(sorted((each.own * each.square for each in costs), reverse=True)[: 2 * largest_load])
    return _stated(Fraction(loss * (1 + 2.0**-46)))  # costs are computed in floating point


def _stated(loss: Fraction) -> float:
    """Return the least number whose decimal digits state no less than a loss.

    >>> _stated(Fraction(11, 5)), _stated(Fraction(16, 3))
    (2.2, 5.333333333333334)
    """
    nearest = float(loss)
    return nearest if Fraction(repr(nearest)) >= loss else math.nextafter(nearest, math.inf)


def group_claim(claim: Guarantee, weights: PublicWeights, *, counted: bool, scale: float | None) -> GroupClaim:
    """Return the claim of a group's release, with the numbers that determine the joint claim.

    ``counted`` says whether noise is on counts, and ``scale`` is the scale of that noise.

    >>> weights = PublicWeights.from_rows([[0, 1]] * 5, loads={2: 2, 3: 2})
    >>> pure = Guarantee(kind="pure", unit="reviewer", epsilon=1.0)
    >>> claim = group_claim(pure, weights, counted=True, scale=8.0)
    >>> claim.scale, claim.moved
    (8.0, 4)
    """
    if not counted or claim.unit is None:
        return GroupClaim(claim=claim)
    counts = sensitivity(weights, claim.unit).counts
    if not counts:
        return GroupClaim(claim=claim, moved=0)  # the group's counts are public
    return counts_claim(claim, weights, counts=counts, scale=scale)


def counts_claim(claim: Guarantee, weights: PublicWeights, *, counts: int | None, scale: float | None) -> GroupClaim:
    """Return the claim of a group's release of counts that move by at most ``counts`` in total."""
    if scale is None or counts is None:
        raise InputError("only counts with Laplace noise can be released by groups: no joint claim of others is proven")
    return GroupClaim(claim=claim, scale=scale, moved=None if weights.co_reviews_move else counts // 2)


def joint_claim(claims: Sequence[GroupClaim], *, shared: bool, largest_load: int | None) -> Guarantee:
    """Return the joint claim of the releases of all groups, which is charged to the ledger and stated in each release.

    ``shared`` says whether reviewers may have reviews in several groups. ``largest_load`` is that in the whole
    conference; ``None`` if the groups are separate conferences.

    >>> pure = Guarantee(kind="pure", unit="reviewer", epsilon=1.0)
    >>> round(joint_claim([GroupClaim(claim=pure, scale=10.0, moved=5)] * 10, shared=True, largest_load=4).epsilon, 9)
    3.2
    >>> joint_claim([GroupClaim(claim=pure)] * 10, shared=True, largest_load=4).epsilon
    10.0
    """
    joint = math.inf
    counted = all(entry.moved is not None and entry.claim.unit == "reviewer" for entry in claims)
    sums = [entry.sums for entry in claims if entry.sums is not None]
    if shared and largest_load is not None and len(sums) == len(claims):
        joint = joint_sums_epsilon(sums, largest_load)
    elif shared and counted and largest_load is not None:
        noisy = [(entry.scale, entry.moved or 0) for entry in claims if entry.scale is not None]
        joint = joint_epsilon([scale for scale, _ in noisy], [moved for _, moved in noisy], largest_load)
    return compose_groups([entry.claim for entry in claims], shared=shared, joint=joint, crossing=_crossing(claims))


def _crossing(claims: Sequence[GroupClaim]) -> bool:
    """Return whether an exchange may cost two groups their full claims although no reviewer is in both."""
    return any(entry.scale is not None and entry.moved is None for entry in claims)


# Theorem S14 where reviewers are shared, Theorem S15 where it is declared that none is.
def compose_groups(
    claims: Sequence[Guarantee], *, shared: bool, joint: float = math.inf, crossing: bool = False
) -> Guarantee:
    """Return the composition of the claims of several groups of papers.

    A reviewer may have reviews in all groups, so claims per reviewer add up. An exchange of one review touches two
    groups at most, so of claims per review the two largest add up. If it is declared that no reviewer has reviews in
    two groups, only the largest claim counts; or the two largest, if an exchange across groups may cost both their full
    claims (``crossing``). ``joint`` is a bound on the pure epsilon of all groups, if there is one.

    >>> pure = [Guarantee(kind="pure", unit="reviewer", epsilon=e) for e in (1.0, 0.5, 0.25)]
    >>> compose_groups(pure, shared=True).epsilon, compose_groups(pure, shared=False).epsilon
    (1.75, 1.0)
    """
    if not claims:
        raise InputError("claims must hold at least one")
    total = compose(claims)  # refuses claims of different units
    count = (2 if crossing else 1) if not shared else 2 if total.unit == "review" else len(claims)
    if total.kind == "pure" and shared and joint < (total.epsilon or 0.0):
        total = replace(total, epsilon=joint)
    if count >= len(claims):
        return total
    if total.kind == "pure":
        return replace(total, epsilon=math.fsum(sorted(claim.epsilon or 0.0 for claim in claims)[-count:]))
    if total.kind == "approximate":
        return total  # pairs (epsilon, delta) cannot be ranked
    largest = sorted((c.as_concentrated() for c in claims), key=lambda claim: claim.rho or 0.0)[-count:]
    return replace(total, rho=compose(largest).rho, epsilon=None)  # omega stays the least of all
