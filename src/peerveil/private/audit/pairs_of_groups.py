"""Pairs of neighbouring conferences for releases about groups of reviewers, or about people in two conferences.

Scores are between 0 and 1. Unless noted otherwise, each paper has a single review.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from peerveil.privacy.guarantee import Unit
from peerveil.privacy.linked.sums import ICC, REACH
from peerveil.private.audit.conference import KEPT, OTHER, Conference, Pair
from peerveil.private.audit.pairs_of_parts import several_tracks
from peerveil.private.columns import Attributes

#: The attribute of reviewers whose effect is released, and its values.
ARM, ARMS = "arm", ("treated", "control")


def two_groups(
    unit: Unit, load: int, _: int, part: str = "effect", *, sizes: bool = False, hidden: bool = False
) -> Pair:
    """A reviewer exchanges zeros for ones of reviewers in the control group, and changes groups.

    If sizes of groups are public, another reviewer changes groups as well, the other way. Hidden scores of exchanged
    reviews are zeros, and become ones.
    """
    conference = Conference()
    mine = conference.give("z", [0.0] * load)
    others = [f"r{i}" for i in range(load)]
    theirs = [conference.give(holder, [0.0 if hidden else 1.0] * load) for holder in others]
    conference.give("t", [0.5 if sizes and part == "by" else 1.0] * load)  # another treated one, before or after
    exchanges = 1 if unit == "review" else load
    for i in range(exchanges):
        conference.exchange(mine[i], theirs[i][0])
        if hidden:
            conference.change(mine[i], 1.0).change(theirs[i][0], 1.0)
    changed = ("treated", "control") if part == "effect" else ("control", "treated")  # such that cells do not cancel
    other = changed[::-1] if sizes else ("treated", "treated")
    arms, after = (["control"] * load + list(last) for last in zip(other, changed, strict=True))  # r0, r1, ..., t, z
    after = arms if unit == "review" else after
    how: dict[str, Any] = {"public": "none" if hidden else "all", "sizes": (1, load + 1) if sizes else None}
    return _of_groups(Pair(records=conference.records(), part=part, **how), arms, after)


def tracks_of_groups(unit: Unit, load: int, _: int) -> Pair:
    """Two tracks: a treated reviewer exchanges all reviews of the one for all of a control reviewer's of the other.

    Every exchange moves a review out of the first group in one track, and one into it in the other.
    """
    conference = Conference()
    more = load if unit == "reviewer" else 1
    ours, theirs = [1.0] * load, [1.0] * (load - more)
    mine, others = conference.give("z", ours), conference.give("y", ours, track=OTHER)
    conference.give("z", theirs, track=OTHER)
    conference.give("y", theirs)
    for holder in ("s", "t"):
        for track in (KEPT, OTHER):
            conference.give(holder, [0.0], track=track)
    for i in range(more):
        conference.exchange(mine[i], others[i])
    arms = ("control", "treated", "control", "treated")  # s, t, y, z
    return _of_groups(conference.pair("tracks of groups"), arms, arms)


def tracks_by_value(unit: Unit, load: int, number: int) -> Pair:
    """The tracks of :func:`several_tracks`, where the reviewer's attribute changes as well."""
    pair = several_tracks(unit, load, number)
    people = pair.records[0].reviewers
    arms = [ARMS[place % 2] for place in range(people)]  # the reviewer concerned is the last: z
    after = [*arms[:-1], ARMS[people % 2]] if unit == "reviewer" else arms
    return replace(_of_groups(pair, arms, after), part="tracks of groups")


def left_out_of_groups(unit: Unit, load: int, number: int, part: str = "effect") -> Pair:
    """Left-out papers: a treated reviewer gives kept reviews to control reviewers, for reviews of left-out papers."""
    conference = Conference()
    exchanges = load if unit == "reviewer" else 1
    for j in range(load):
        (mine,) = conference.give("z", [1.0 if j < exchanges else 0.0])
        conference.give(f"r{j}", [0.0])
        (theirs,) = conference.give(f"r{j}", [0.5], track=OTHER)
        if j < exchanges:
            conference.exchange(mine, theirs)
    for holder in ("s", "t"):
        conference.give(holder, [0.0])
    arms = ["control"] * load + ["control", "treated", "treated"]  # r0, r1, ..., s, t, z
    return _of_groups(conference.pair(part), arms, arms)


def _of_groups(pair: Pair, arms: Sequence[str], after: Sequence[str]) -> Pair:
    """The pair with the arm of each reviewer, before and after."""
    one, other = (
        replace(record, attributes=Attributes(names=(ARM,), values=(tuple(each),)))
        for record, each in zip(pair.records, (arms, after), strict=True)
    )
    return replace(pair, records=(one, other))


two_values = partial(two_groups, part="by")
groups_of_public_sizes = partial(two_groups, sizes=True)
values_of_public_sizes = partial(two_groups, part="by", sizes=True)


def shared_property(unit: Unit, load: int, _: int) -> Pair:
    """A reviewer exchanges reviews, so that both parties get papers whose property they share, unlike before."""
    conference = Conference()
    for i in range(load):
        (mine,), (theirs,) = conference.give("z", [1.0], track=ARMS[0]), conference.give(f"y{i}", [1.0], track=ARMS[1])
        conference.review(f"u{i}", conference.paper(mine), 0.0, track=ARMS[0])
        conference.review(f"v{i}", conference.paper(theirs), 0.0, track=ARMS[1])
        if unit == "reviewer" or i == 0:
            conference.exchange(mine, theirs)
    first, second = ([arm] * load for arm in ARMS)
    arms = (*second, *first, *first, ARMS[1])  # u0, …, v0, …, y0, …, z
    return _of_groups(conference.pair("pairs", quantity="miscalibration"), arms, arms)


def linked_conferences(unit: Unit, load: int, _: int) -> Pair:
    """A person exchanges hidden reviews in two conferences, so that all positions move as far as they can.

    In the first one totals rise from the lowest position, by people at the top of the second. In the second one they
    rise to the highest position, by people at the top of the first.
    """
    first, second = Conference(), Conference()
    reach = min(REACH * math.sqrt(load * (1 + (load - 1) * ICC)) / 4, load / 2)  # scores are between 0 and 1
    rest = max((load / 2 - reach) / (load - 1), 0.0) if load > 1 else 0.0  # of a total at the lowest position
    exchanges = 1 if unit == "review" else load
    single = unit == "review"
    low = [0.0, *([rest] * (load - 1))]
    mine = first.give("z", low if single else [0.0] * load)
    mine_second = second.give("z", [1.0] * load)
    for i in range(load):
        theirs = first.give(f"a{i}", low)
        second.give(f"a{i}", [1.0] * load)
        first.give(f"b{i}", [1.0] * load)
        others = second.give(f"b{i}", [0.0, *([1 - rest] * (load - 1))])
        if i < exchanges:
            first.exchange(mine[i], theirs[0]).change(mine[i], 1.0).change(theirs[0], 1.0)
        if i < exchanges and not single:
            second.exchange(mine_second[i], others[0]).change(others[0], 1.0)
    return replace(first.pair("linked", public="none"), seconds=second.records())


def linked_table(unit: Unit, load: int, _: int) -> Pair:
    """The same, for counts by means: everybody whose hidden reviews are exchanged enters a cell of high means."""
    first, second = Conference(), Conference()
    near = [0.0, *([0.5] * (load - 1))]  # one more point makes the mean a high one
    single = unit == "review"
    mine, mine_second = first.give("z", near if single else [0.0] * load), second.give("z", [0.0] * load)
    for i in range(load):
        theirs, others = first.give(f"a{i}", near), second.give(f"b{i}", near)
        second.give(f"a{i}", [1.0] * load)
        first.give(f"b{i}", [1.0] * load)
        if i == 0 or not single:
            first.exchange(mine[i], theirs[0]).change(mine[i], 1.0).change(theirs[0], 1.0)
        if not single:
            second.exchange(mine_second[i], others[0]).change(mine_second[i], 1.0).change(others[0], 1.0)
    return replace(first.pair("linked table", public="none", bins=2), seconds=second.records())
