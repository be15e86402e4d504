"""Pairs of neighbouring conferences of which a part, or several tracks, are released: they attain the sensitivity.

Scores are between 0 and 1. Unless noted otherwise, each paper has a single review.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from peerveil.privacy.guarantee import Unit
from peerveil.private.audit.conference import KEPT, OTHER, THIRD, Conference, Pair


def left_out(unit: Unit, load: int, number: int, *, part: str = "only") -> Pair:
    """Left-out papers, whose reviews are exchanged for reviews of kept papers.

    For the unit reviewer: z has ``b`` kept reviews and ``b`` others, gives the kept ones to ``b`` reviewers, and gets
    ``b`` kept ones from ``b`` other reviewers. The numbers of reviewers with each load stay the same, both overall and
    among kept reviews, and ``1 + 2b`` means change.
    """
    return _without_others(unit, load, number).pair(part)


def absent_scores(unit: Unit, load: int, number: int, *, part: str = "absent") -> Pair:
    """Reviews publicly without a score, or with another public label, exchanged as those of left-out papers are.

    Their papers also have reviews that are kept, all by one reviewer of the least load.
    """
    conference = _without_others(unit, load, number)
    least = load if unit == "review" else 2 * load - 1 if number else load + 1
    papers = (conference.blank if part == "absent" else conference.filter)(OTHER)[:least]
    for paper in papers:
        conference.review("t", paper, 0.5)
    conference.give("t", [0.5] * (least - len(papers)))
    return conference.pair(part)


def _without_others(unit: Unit, load: int, number: int) -> Conference:
    if unit == "review":
        return _one_for_one(load, both=False)
    if number:
        return _crosswise(2 * load, 2 * load - 1, receives=0.6, gives=0.4)
    return _crosswise(4 * load, load + 1, receives=1.0, gives=0.0)


def left_out_open(unit: Unit, load: int, number: int) -> Pair:
    """Left-out papers, where the number of reviewers of kept papers is not public.

    A reviewer of kept papers only exchanges all reviews, or one, for reviews of left-out papers. For the unit reviewer,
    no kept review remains: ``1 + L`` means change, with ``L`` the load. Reviewers in the middle take no part in this:
    there are so many of them that a plan takes three bins, in two of which the reviewers could not all change bins.
    """
    conference = Conference()
    for j in range(2 * load if unit == "reviewer" else 1):
        mine, *_ = conference.give("z", [0.0])
        conference.give(f"r{j}", [1.0])
        theirs, *_ = conference.give(f"r{j}", [0.5], track=OTHER)
        conference.exchange(mine, theirs)
    for j in range(40 * load):
        conference.give(f"s{j}", [0.5])
    return conference.pair("open")


def hidden_left_out(unit: Unit, load: int, number: int) -> Pair:
    """Miscalibration with hidden scores and left-out papers.

    As :func:`left_out`, with ``b`` the load. Each kept paper has two reviews. Papers of exchanged reviews have scores
    of 0, and the exchanged review becomes 1, so its co-reviewer's mean changes too: ``1 + 4b`` means change. For the
    unit review, a kept review is exchanged for a left-out one, and four means change.
    """
    conference = Conference()

    def kept(holder: str, score: float, other: float, beside: str) -> int:
        """A kept review, whose paper has another review, the only one of its reviewer."""
        (review,) = conference.give(holder, [score])
        conference.review(beside, conference.paper(review), other)
        return review

    for i in range(load if unit == "reviewer" else 1):
        mine = kept("z", 0.0, 0.0, f"u{i}")
        (theirs,) = conference.give(f"y{i}", [0.5], track=OTHER)
        kept(f"y{i}", 0.0, 0.6, f"f{i}")
        conference.exchange(mine, theirs).change(mine, 1.0)
        if unit == "review":
            kept("z", 0.9, 0.0, "g")
            break
        (mine,) = conference.give("z", [0.5], track=OTHER)
        theirs = kept(f"w{i}", 0.0, 0.0, f"v{i}")
        kept(f"w{i}", 0.9, 0.0, f"g{i}")
        conference.exchange(mine, theirs).change(theirs, 1.0)
    return conference.pair("only", public="none", quantity="miscalibration", bins=12 if number else 0)


def several_tracks(unit: Unit, load: int, number: int, *, tracks: Sequence[str] = (KEPT, OTHER)) -> Pair:
    """Two tracks, released together.

    For counts, the exchange of :func:`left_out` in all tracks at once; for vectors, an exchange within each track that
    attains its sensitivity.
    """
    if unit == "review":
        conference = _one_for_one(load, both=True)
    elif number:
        conference = _crosswise(2 * load, 2 * load - 1, receives=0.6, gives=0.4, tracks=tracks, seen=tracks)
    else:
        conference = Conference()
        for track in tracks:
            mine = conference.give("z", [0.0] * load, track=track)
            for i in range(load - 1):
                conference.exchange(mine[i], conference.give(f"r{i}", [1.0] * load, track=track)[0])
    return conference.pair("tracks")


def three_tracks(unit: Unit, load: int, number: int) -> Pair:
    """Three tracks, released together.

    For counts, a reviewer exchanges all ``L`` reviews, ``L/3`` in each track; this reviewer's mean changes in all three
    tracks, and those of the ``L`` partners in two. As another reviewer of each track has ``L`` reviews, ``2 + 2L/3``
    means of each track could change, but of these ``6 + 2L`` at most ``3 + 2L`` do together.
    """
    tracks = (KEPT, OTHER, THIRD)
    if unit == "reviewer" and not number:
        return several_tracks(unit, load, number, tracks=tracks)
    if unit == "review":
        conference = _one_for_one(load, both=True)
        for holder in ("s", "t"):
            conference.give(holder, [0.0] + [0.5] * (load - 1), track=THIRD)
    else:
        conference = _crosswise(load, 2, receives=0.6, gives=0.4, tracks=tracks, seen=tracks)
        for track in tracks:
            conference.give(f"s {track}", [0.5] * 3 * load, track=track)
    return conference.pair("tracks")


def _crosswise(
    most: int,
    least: int,
    *,
    receives: float,
    gives: float,
    tracks: Sequence[str] = (KEPT, OTHER),
    seen: Sequence[str] = (KEPT,),
) -> Conference:
    """A conference in which z exchanges ``most`` zeros in each track for ones, with partners who change tracks.

    For each track, ``most`` reviewers with ``least`` scores of ``receives`` get one of the zeros for a one of the next
    track, in which they also have ``least`` scores of ``gives``. In tracks that are not in ``seen`` reviewers have
    exchanged reviews only.
    """
    conference = Conference()
    mine = {track: conference.give("z", [0.0] * most, track=track) for track in tracks}
    for i in range(most):
        for track, following in zip(tracks, (*tracks[1:], tracks[0]), strict=True):
            partner = f"{track}{i}"
            conference.give(partner, [receives] * (least if track in seen else 0), track=track)
            review, *_ = conference.give(
                partner, [1.0] + [gives] * (least if following in seen else 0), track=following
            )
            conference.exchange(mine[track][i], review)
    return conference


def _one_for_one(load: int, *, both: bool) -> Conference:
    """A conference in which two reviewers exchange a review of one track for a review of the other."""
    conference = Conference()
    one, *_ = conference.give("z", [1.0] + [0.0] * load)
    conference.give("r", [0.5] * load)
    other, *_ = conference.give("r", [1.0] + [0.0] * (load if both else 0), track=OTHER)
    if both:
        conference.give("z", [0.5] * load, track=OTHER)
    else:
        conference.give("s", [0.5], track=OTHER)  # a track has more than one reviewer
    return conference.exchange(one, other)


public_labels = partial(absent_scores, part="filtered")
one_track = partial(left_out, part="track")
