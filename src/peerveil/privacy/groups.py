"""Groups of papers, such as tracks and areas: what a release of each costs, alone and together.

A reviewer may have reviews in several groups, and an exchange of reviews between groups touches both. Proofs are in
docs/privacy.md, "Groups of papers". All inputs are public.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from peerveil.errors import InputError, RecordError
from peerveil.privacy.guarantee import Guarantee, Unit, compose
from peerveil.privacy.sensitivity import Sensitivity, part_sensitivity, sensitivity
from peerveil.quantities.weights import PublicWeights
from peerveil.record.loads import declare_loads
from peerveil.record.parts import Part
from peerveil.record.public_record import PublicRecord
from peerveil.support.arguments import real
from peerveil.tables.headings import PAPER_NAMES
from peerveil.tables.opening import Readable
from peerveil.tables.reading import read_table

#: What columns of groups are usually called.
GROUP_NAMES = ("group", "track", "area", "primary area", "subject area")

#: A group of fewer reviewers than this is small: little can be said about it, and everyone in it is easily guessed.
SMALL = 20


@dataclass(frozen=True, kw_only=True)
class GroupClaim:
    """What the release of one group claims, with the public numbers from which the claim of all groups follows.

    Attributes:
        claim: the claim of this group alone.
        scale: the scale of the noise on its counts; ``None`` where noise is on the vector, or none is needed.
        moved: how many of its means can move, in a histogram; ``None`` where noise is on the vector, or where a hidden
            score moves the means of third parties as well.

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

    def __post_init__(self) -> None:
        claim = self.claim
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
    """Which group of papers a release is of, and what the releases of all groups claim.

    Attributes:
        name: its name.
        groups: how many groups were released together.
        shared: whether reviewers may have reviews in several groups; ``False`` where it is declared that none has.
        claims: what the release of each group claims, this one's among them; empty in a release of schema 1.
        together: what all of them claim together; ``None`` in a release of schema 1.

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
        about = {(one.claim.unit, replace(one.claim.neighbours, hidden=False)) for one in self.claims}
        deltas = {one.claim.delta for one in self.claims if one.claim.rho != 0}
        if len(about) > 1 or len(deltas) > 1:
            raise InputError("the claims of groups that were released together are for one unit, relation and delta")

    @property
    def note(self) -> str:
        """What a release of the group says about the others; empty where it does not say what all claim."""
        if self.together is None:
            return ""
        who = (
            "Reviewers may be in several of them, and the claims add up"
            if self.shared
            else "It is declared that no reviewer has reviews in two of them, so the largest claim holds for all"
        )
        if not self.shared and _crossing(self.claims):
            who = (
                "It is declared that no reviewer has reviews in two of them, but hidden scores of two reviewers who "
                "exchange all their reviews may change, so the two largest claims add up"
            )
        return f"One of {self.groups} releases of groups of papers. {who}: together, {self.together.summary}."


def _close(stated: float | None, due: float) -> bool:
    """Whether a stated number is the computed one but for round-off."""
    return stated is not None and math.isclose(stated, due, rel_tol=1e-9)


def check_group_name(name: str) -> str:
    """The name of a group, if it can be published."""
    if not (name.strip() and name.isprintable() and len(name) <= 200):
        raise InputError("the name of a group must be 1 to 200 printable characters")
    return name


def folder_names(groups: Collection[str]) -> dict[str, str]:
    """For each group the name of its folder, which must do on every system.

    >>> folder_names(["Theory & proofs", "systems"])
    {'Theory & proofs': 'Theory-proofs', 'systems': 'systems'}
    """
    names = {group: re.sub(r"[^\w+.]+", "-", check_group_name(group)).strip("-._") or "group" for group in groups}
    twice = [name for name, count in Counter(name.casefold() for name in names.values()).items() if count > 1]
    if twice:
        raise InputError(f"several groups would get the folder {twice[0]!r}; give them names that differ more")
    return names


def read_groups(source: Readable, *, paper: str | None = None, group: str | None = None) -> dict[str, str]:
    """Which group each paper is in, from a table with a row a paper, or a row a review.

    Args:
        source: a CSV, TSV, Parquet or JSON file, or a frame. Which paper is in which group must be public.
        paper: the column of papers, where its name is not a usual one.
        group: the column of groups, where its name is not a usual one.

    >>> import polars as pl
    >>> read_groups(pl.DataFrame({"paper": ["p", "q", "q"], "track": ["theory", "systems", "systems"]}))
    {'p': 'theory', 'q': 'systems'}
    """
    table = read_table(source)
    papers = table.text(table.find("paper", PAPER_NAMES, paper))
    column = table.find("group", GROUP_NAMES, group, remedy="call it 'group'")
    found: dict[str, str] = {}
    for row, (name, its) in enumerate(zip(papers, table.text(column), strict=True)):
        if found.setdefault(name, its) != its:
            raise table.error("a paper is in two groups; it must be in one", row=row, column=column)
    return found


def papers_by_group(papers: Sequence[str], groups: Mapping[str, str]) -> dict[str, list[str]]:
    """The papers of each group, by the groups' names; every paper must be in one.

    >>> papers_by_group(["p", "q"], {"p": "theory", "q": "systems", "z": "elsewhere"})
    {'systems': ['q'], 'theory': ['p']}
    """
    missing = sum(paper not in groups for paper in papers)
    if missing:
        raise RecordError(f"{missing} of {len(papers)} papers are in no group; each must be in one")
    names = sorted({check_group_name(groups[paper]) for paper in papers})
    return {name: [paper for paper in papers if groups[paper] == name] for name in names}


def part_of(record: PublicRecord, papers: Collection[str], *, part: Part | None = None, **loads: Any) -> PublicRecord:
    """The part of a public record that is about some papers.

    Args:
        record: the record.
        papers: which of its papers.
        part: what is public of the whole conference, where neighbours are to be those of the whole.
        loads: what is public about loads *in this part*, as in :func:`peerveil.record.loads.declare_loads`.

    >>> record = PublicRecord.from_rows([[8, 6], [3, 5], [1, 2]], papers=["p", "q", "r"], load=2)
    >>> part_of(record, ["p", "q"], reviewers=3, loads=(1, 2))
    PublicRecord(2 papers, 4 reviews, 3 reviewers: 2 reviewers with 1 review, 1 reviewer with 2 reviews)
    """
    wanted = set(papers)
    kept = [place for place, name in enumerate(record.papers) if name in wanted]
    if len(kept) < len(wanted):
        raise RecordError(f"{len(wanted) - len(kept)} papers are not in the public record")
    reviews = np.flatnonzero(np.isin(record.paper, kept))
    rank = np.full(len(record.papers), -1, dtype=np.int64)
    rank[kept] = np.arange(len(kept))
    criteria = None
    if record.criteria is not None:
        criteria = dict(zip(record.criteria_names, record.criteria[reviews].T, strict=True))
    return PublicRecord.from_reviews(
        [record.papers[place] for place in kept],
        rank[record.paper[reviews]],
        record.score[reviews],
        declare_loads(reviews.size, papers=len(kept), **loads),
        scale=record.scale,
        notes=record.notes,
        criteria=criteria,
        part=part,
    )


def group_sensitivity(weights: PublicWeights, unit: Unit) -> Sensitivity:
    """How far neighbours' vectors of one group can be apart, where reviewers may have reviews in several groups.

    Neighbours keep everybody's load, but not in each group: a review of this group may have been exchanged for one of
    another. That moves no more than an exchange within the group for the unit ``"review"``, or where all loads in the
    group are equal. Otherwise, with loads from ``a`` to ``b`` in the group, the norms are at most ``R (1 + 2b/(a+1))``,
    the root of that times ``R``, and ``R``; and ``1 + 2b`` means move from one bin to another.

    Where the largest load ``L`` in the whole conference is public, no more than ``1 + min(2b, L)`` means move.

    >>> weights = PublicWeights.from_rows([[0, 1]] * 5, loads={2: 2, 3: 2})
    >>> bound = group_sensitivity(weights, "reviewer")
    >>> round(bound.l1, 9), bound.counts
    (3.0, 8)
    """
    largest_load = math.inf if weights.part is None else weights.part.whole.largest
    return part_sensitivity(weights, unit, largest_load)


def joint_epsilon(scales: Sequence[float], moved: Sequence[int], largest_load: int) -> float:
    """The epsilon, for a reviewer, of histograms of several groups of papers together.

    Args:
        scales: the scale of the noise on each group's counts.
        moved: how many means can move in each group at most.
        largest_load: the largest load ``L`` in the whole conference.

    A reviewer's reviews are exchanged in at most ``L`` exchanges, which touch at most ``2L`` groups. In each of these
    the reviewer's own mean moves, and each exchange has one partner, who moves in two groups at most: over ``T`` groups
    at most ``min(T, 2L) + 2L`` means move. Each moves two counts by one, and is dearest where the noise is least.

    >>> round(joint_epsilon([10.0] * 10, [5] * 10, 4), 9)          # each claims epsilon 1
    3.2
    """
    dearest = sorted(zip(scales, moved, strict=True))
    partners, loss = 2 * largest_load, 0.0
    for place, (scale, most) in enumerate(dearest):
        others = min(max(0, most - 1), partners)
        partners -= others
        loss += 2 * (others + (place < 2 * largest_load)) / scale
    return loss * (1 + 2.0**-50)


def group_claim(claim: Guarantee, weights: PublicWeights, *, counted: bool, scale: float | None) -> GroupClaim:
    """The claim of a group's release, with the numbers from which the claim of all groups follows.

    Args:
        claim: what the release of the group claims.
        weights: the public weights of the group.
        counted: whether noise is on counts.
        scale: the scale of that noise.

    >>> weights = PublicWeights.from_rows([[0, 1]] * 5, loads={2: 2, 3: 2})
    >>> pure = Guarantee(kind="pure", unit="reviewer", epsilon=1.0)
    >>> found = group_claim(pure, weights, counted=True, scale=8.0)
    >>> found.scale, found.moved
    (8.0, 4)
    """
    if not counted or claim.unit is None:
        return GroupClaim(claim=claim)
    counts = sensitivity(weights, claim.unit).counts
    if not counts:
        return GroupClaim(claim=claim, moved=0)  # the group's counts are public
    third = weights.hidden_span and weights.reach.co_reviews
    return GroupClaim(claim=claim, scale=scale, moved=None if third else counts // 2)


def joint_claim(claims: Sequence[GroupClaim], *, shared: bool, largest_load: int | None) -> Guarantee:
    """What the releases of all groups claim together: what is charged for them, and what each of them states.

    Args:
        claims: what the release of each group claims.
        shared: whether reviewers may have reviews in several groups.
        largest_load: the largest load in the whole conference; ``None`` where the groups are conferences of their own.

    >>> pure = Guarantee(kind="pure", unit="reviewer", epsilon=1.0)
    >>> round(joint_claim([GroupClaim(claim=pure, scale=10.0, moved=5)] * 10, shared=True, largest_load=4).epsilon, 9)
    3.2
    >>> joint_claim([GroupClaim(claim=pure)] * 10, shared=True, largest_load=4).epsilon
    10.0
    """
    joint = math.inf
    counted = all(one.moved is not None and one.claim.unit == "reviewer" for one in claims)
    if shared and counted and largest_load is not None:
        noisy = [(one.scale, one.moved) for one in claims if one.scale is not None and one.moved is not None]
        joint = joint_epsilon([scale for scale, _ in noisy], [moved for _, moved in noisy], largest_load)
    return together([one.claim for one in claims], shared=shared, joint=joint, crossing=_crossing(claims))


def _crossing(claims: Sequence[GroupClaim]) -> bool:
    """Whether an exchange may cost two groups all that they claim though no reviewer is in two of them."""
    return any(one.scale is not None and one.moved is None for one in claims)


def together(
    claims: Sequence[Guarantee], *, shared: bool, joint: float = math.inf, crossing: bool = False
) -> Guarantee:
    """What releases of groups of papers promise together.

    A reviewer with reviews in several groups is in all of these releases: claims add up. An exchange of one review
    each touches two groups at most: the two largest add up. Where it is declared that no reviewer has reviews in two
    groups, the largest alone counts; or two, if an exchange across groups may cost both all that they claim
    (``crossing``). ``joint`` is a bound on what all cost together, where there is one.

    >>> pure = [Guarantee(kind="pure", unit="reviewer", epsilon=e) for e in (1.0, 0.5, 0.25)]
    >>> together(pure, shared=True).epsilon, together(pure, shared=False).epsilon
    (1.75, 1.0)
    """
    if not claims:
        raise InputError("claims must hold at least one")
    everything = compose(claims)  # refuses claims that do not go together
    count = (2 if crossing else 1) if not shared else 2 if everything.unit == "review" else len(claims)
    if everything.kind == "pure" and shared and joint < (everything.epsilon or 0.0):
        everything = replace(everything, epsilon=joint)
    if count >= len(claims):
        return everything
    if everything.kind == "pure":
        return replace(everything, epsilon=math.fsum(sorted(claim.epsilon or 0.0 for claim in claims)[-count:]))
    if everything.kind == "approximate":
        return everything  # epsilon and delta of different claims cannot be ranked by one of them
    counted = compose(sorted((c.as_concentrated() for c in claims), key=lambda claim: claim.rho or 0.0)[-count:])
    return replace(everything, rho=counted.rho, epsilon=None)  # omega stays the least of all
