"""Checks of what a release states about others: those of several groups of papers, and those of a series."""

from __future__ import annotations

import math
from collections.abc import Sequence

from peerveil.errors import PeerveilError
from peerveil.privacy.guarantee import Guarantee
from peerveil.privacy.joint_claims import Group, GroupClaim, joint_claim
from peerveil.privacy.series_claims import NOTED, SeriesClaim
from peerveil.record.parts import Part
from peerveil.releases.checking.results import RefusedError

#: Relative tolerance of claims.
CLAIM_TOLERANCE = 1e-9

WRONG_NOTE = "the note on the groups is missing or differs"

#: Why the cost to a reviewer is not compared with the budget of a series.
REVIEWS_OF_GROUPS = "the cost of all groups to a reviewer does not follow from their claims per review"


def joint_check(group: Group, own: GroupClaim, part: Part | None, notes: Sequence[str]) -> str:
    """Refuse a joint claim, or a note on it, that does not follow from the claims of all groups.

    ``own`` is the claim of this group, ``part`` the part of the conference that it is.
    """
    if group.together is None or own not in group.claims:
        raise RefusedError("its own claim is not among the claims of the groups")
    largest = None if part is None else part.whole.largest
    earned = joint_claim(group.claims, shared=group.shared, largest_load=largest)
    if group.together.unit != earned.unit or group.together.neighbours != earned.neighbours:
        raise RefusedError("the joint claim of all groups has another unit or other neighbours than their claims")
    same_claim(group.together, earned, weaker=False, whose="all groups claim jointly")
    if group_notes(notes, group) != [group.note]:
        raise RefusedError(WRONG_NOTE)
    return f"the joint claim follows from the stated claims of the groups: {group.together.summary}"


def group_notes(notes: Sequence[str], group: Group) -> list[str]:
    """Return the notes on the joint claim of groups."""
    return [note for note in notes if note.startswith(f"One of {group.groups} releases of groups of papers.")]


def same_claim(claim: Guarantee, earned: Guarantee, *, weaker: bool, whose: str = "it claims") -> str:
    """Refuse a claim other than the earned one; it may be weaker if another version made it."""
    refused = f"{whose}: {claim.summary}; the noise provides: {earned.summary}"
    if (claim.kind, claim.float_safe) != (earned.kind, earned.float_safe):
        raise RefusedError(refused)
    less = False
    for name in ("epsilon", "delta", "rho", "omega"):
        stated, due = getattr(claim, name), getattr(earned, name)
        if stated == due or (None not in (stated, due) and math.isclose(stated, due, rel_tol=CLAIM_TOLERANCE)):
            continue
        less = weaker and None not in (stated, due) and (stated < due if name == "omega" else stated > due)
        if not less:
            raise RefusedError(refused)
    words = f"follows from noise and sensitivity: {claim.summary}"
    return f"{words}; by current bounds even {earned.summary}" if less else words


def check_series(series: Sequence[SeriesClaim], claim: Guarantee, charge: str | None) -> str:
    """Refuse series whose budgets a release, with its claim per reviewer, exceeds alone.

    What their other releases cost only a ledger knows.
    """
    if charge is None:
        raise RefusedError("it names a series, but no charge in a ledger")
    for one in series:
        try:
            fits = one.admits(claim)
        except PeerveilError as error:
            raise RefusedError(f"the release does not fit the {one.summary}: {error}") from None
        if not fits:
            raise RefusedError(f"the release ({claim.summary}) costs more than the {one.summary}")
    return f"the release alone fits: {'; '.join(one.summary for one in series)}"


def check_series_notes(notes: Sequence[str], series: Sequence[SeriesClaim]) -> None:
    """Refuse notes about series other than those that follow from what is stated of them.

    >>> check_series_notes(["It is counted in the series Conf: epsilon = 0.01 per person."], [])
    Traceback (most recent call last):
    peerveil.releases.checking.results.RefusedError: a note on a series does not follow from what is stated of series
    """
    if [note for note in notes if note.strip().startswith(NOTED)] != [claim.note for claim in series]:
        raise RefusedError("a note on a series does not follow from what is stated of series")
