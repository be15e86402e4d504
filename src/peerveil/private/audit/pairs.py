"""Pairs of neighbouring conferences as far apart as the sensitivity allows, or nearly.

Scores are between 0 and 1. Unless said otherwise each review is the only one of its paper.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from peerveil.errors import Argument, InputError
from peerveil.mechanisms.bin_choice import bins_of
from peerveil.privacy.bins import Bins
from peerveil.privacy.guarantee import Unit
from peerveil.private.reviews import Reviews
from peerveil.quantities.functions import QuantityLike
from peerveil.quantities.weights import weigh

#: The tracks of conferences with tracks; where papers are left out, those of the second one are.
KEPT, OTHER, THIRD = "kept", "other", "third"


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two neighbouring conferences, and how they are released.

    Attributes:
        records: all reviews of the one and of the other.
        public: what is stated to be public.
        quantity: what is released.
        tracks: for each paper its track, where there are several.
        part: ``"whole"``: the whole record is released; ``"only"``: the papers of the track ``KEPT``, the others are
            left out and the loads among what is kept are declared; ``"open"``: the same, but nothing is declared;
            ``"absent"``: the whole record, in which some reviews have no score, and the loads among the others are
            declared; ``"track"``: each track, and one of these releases is audited; ``"tracks"``: all of them together;
            ``"apart"``: the same, and it is declared that no reviewer has reviews in two of them.
        bins: how many bins counts need at most so that everybody who moves changes bins; 0 for as many as there are
            attainable means.
    """

    records: tuple[Reviews, Reviews]
    public: str = "all"
    quantity: QuantityLike = "ratings"
    tracks: Mapping[str, str] = field(default_factory=dict)
    part: str = "whole"
    bins: int = 0

    @property
    def kept(self) -> list[str]:
        """The papers of the first track."""
        return [paper for paper in self.records[0].papers if self.tracks[paper] == KEPT]

    @property
    def declares(self) -> bool:
        """Whether the loads among what is kept of one record are declared."""
        return self.part in ("only", "absent")


class _Conference:
    """Reviews that are given out one by one, then exchanged."""

    def __init__(self) -> None:
        self._papers: list[str] = []
        self._scores: list[float] = []
        self._holders: list[str] = []
        self._after: dict[int, str] = {}
        self._changed: dict[int, float] = {}
        self._tracks: dict[str, str] = {}

    def give(self, holder: str, scores: Sequence[float], *, track: str = KEPT) -> list[int]:
        """Give reviews of new papers to someone; their numbers."""
        return [self.review(holder, f"p{len(self._tracks):06d}", score, track=track) for score in scores]

    def review(self, holder: str, paper: str, score: float, *, track: str = KEPT) -> int:
        """Give one review to someone; its number."""
        self._tracks[paper] = track
        self._papers.append(paper)
        self._holders.append(holder)
        self._scores.append(score)
        return len(self._papers) - 1

    def exchange(self, one: int, other: int) -> Self:
        """Let the holders of two reviews exchange them."""
        self._after[one], self._after[other] = self._holders[other], self._holders[one]
        return self

    def change(self, review: int, score: float) -> Self:
        """Change a hidden score."""
        self._changed[review] = score
        return self

    def blank(self, track: str) -> list[str]:
        """Let the reviews of a track have no score; their papers."""
        papers = [paper for paper in self._papers if self._tracks[paper] == track]
        self._scores = [
            math.nan if self._tracks[paper] == track else score
            for paper, score in zip(self._papers, self._scores, strict=True)
        ]
        return papers

    def paper(self, review: int) -> str:
        """The paper of a review."""
        return self._papers[review]

    def records(self) -> tuple[Reviews, Reviews]:
        """The conference before and after."""
        after = [self._after.get(i, holder) for i, holder in enumerate(self._holders)]
        changed = [self._changed.get(i, score) for i, score in enumerate(self._scores)]
        return (
            Reviews.from_columns(self._papers, self._holders, self._scores, scale=(0, 1), missing_score="absent"),
            Reviews.from_columns(self._papers, after, changed, scale=(0, 1), missing_score="absent"),
        )

    def tracks(self) -> dict[str, str]:
        return dict(self._tracks)


def check_load(load: int) -> None:
    """Refuse a load for which nothing is secret."""
    if isinstance(load, bool) or not isinstance(load, int) or load < 2:
        raise InputError(
            Argument("load"), f" must be a whole number of at least 2, got {load!r}; with a load of 1 nothing is secret"
        )


def check_public(public: str) -> None:
    """Refuse what is not one of the two statements of an audit."""
    if public not in ("all", "none"):
        raise InputError(Argument("public"), f" must be 'all' or 'none', got {public!r}")


def worst_neighbours(unit: Unit, load: int, public: str) -> tuple[Reviews, Reviews]:
    """Two neighbouring records with one load for all, whose vectors are as far apart as the sensitivity allows.

    For the unit reviewer with public scores, a reviewer of zeros exchanges all but one of them with reviewers of ones.
    For the unit review, two reviewers in the middle exchange a zero for a one and move apart. Where scores are hidden,
    what is exchanged may change as well: two reviewers of zeros exchange one, or all, and these become ones.

    >>> from peerveil.private.true_vector import true_vector
    >>> [true_vector(reviews, "ratings").tolist() for reviews in worst_neighbours("reviewer", 2, "all")]
    [[0.0, 1.0], [0.5, 0.5]]
    """
    check_load(load)
    check_public(public)
    conference = _Conference()
    if public == "none":
        mine, theirs = conference.give("z", [0.0] * load), conference.give("r1", [0.0] * load)
        for one, other in list(zip(mine, theirs, strict=True))[: 1 if unit == "review" else load]:
            conference.exchange(one, other).change(one, 1.0).change(other, 1.0)
    elif unit == "review":
        mine, theirs = (
            conference.give("z", [0.0] + [1.0] * (load - 1)),
            conference.give("r1", [1.0] + [0.0] * (load - 1)),
        )
        conference.exchange(mine[0], theirs[0])
    else:
        mine = conference.give("z", [0.0] * load)
        for i in range(load - 1):
            conference.exchange(mine[i], conference.give(f"r{i + 1}", [1.0] * load)[0])
    return conference.records()


def worst_neighbours_counted(unit: Unit, load: int, public: str, number: int) -> tuple[Reviews, Reviews, Bins]:
    """Two neighbouring records with one load for all, whose counts are as far apart as can be, and the bins of both.

    Everybody who takes part in an exchange leaves a bin for one that nobody leaves. With scores of 0, 1/2 and 1, a
    reviewer of zeros gets a one from each of the others, who have halves besides. Where scores are hidden, what is
    exchanged becomes ones, and the others are as near to the end of a bin as makes them leave it.

    >>> from peerveil.private.true_vector import true_vector
    >>> one, other, bins = worst_neighbours_counted("reviewer", 2, "all", 5)
    >>> [bins.counts(true_vector(reviews, "ratings")).tolist() for reviews in (one, other)]
    [[1, 0, 0, 2, 0], [0, 2, 0, 0, 1]]
    """
    check_load(load)
    check_public(public)
    others = 1 if unit == "review" else load
    hidden = public == "none"
    if hidden:
        blank = _exchanged([[0.0] * load] * (others + 1), 0)[0]
        bins = bins_of(weigh(blank.public("none")), number)
        cut = float(bins.cuts[np.argmin(np.abs(bins.cuts - 0.5))])
        near = [min(1.0, max(0.0, (cut * load - 0.5) / (load - 1)))] * (load - 1)
        # What is exchanged is a zero before and a one after, on both sides.
        first = [0.0, *near] if unit == "review" else [0.0] * load
        holdings = [first, *([0.0, *near] for _ in range(others))]
    elif unit == "review":
        holdings = [[0.0] + [0.5] * (load - 1), [1.0] * load]
    else:
        holdings = [[0.0] * load, *([1.0] + [0.5] * (load - 1) for _ in range(load))]
    pair = _exchanged(holdings, others, change=hidden)
    return *pair, bins_of(weigh(pair[0].public(public)), number)


def _exchanged(holdings: Sequence[Sequence[float]], exchanges: int, *, change: bool = False) -> tuple[Reviews, Reviews]:
    """A record, and the same after the first reviewer exchanged reviews for the first ones of others, one each.

    With ``change``, what is exchanged becomes a one.
    """
    conference = _Conference()
    held = [conference.give("z" if j == 0 else f"r{j}", scores) for j, scores in enumerate(holdings)]
    for one, others in list(zip(held[0], held[1:], strict=False))[:exchanges]:
        conference.exchange(one, others[0])
        if change:
            conference.change(one, 1.0).change(others[0], 1.0)
    return conference.records()


def one_load(unit: Unit, load: int, number: int) -> Pair:
    """Public scores and one load for all; ``number`` bins, or a vector if 0."""
    records = worst_neighbours_counted(unit, load, "all", number)[:2] if number else worst_neighbours(unit, load, "all")
    return Pair(records=records, bins=number)


def hidden_scores(unit: Unit, load: int, number: int) -> Pair:
    """Hidden scores, which change with the exchange, and one load for all."""
    records = (
        worst_neighbours_counted(unit, load, "none", number)[:2] if number else worst_neighbours(unit, load, "none")
    )
    return Pair(records=records, public="none", bins=number)


def mixed_loads(unit: Unit, load: int, number: int) -> Pair:
    """Public scores, and loads that differ.

    For the unit reviewer, one reviewer with many zeros exchanges them all with reviewers of the least load; the
    distance is ``R (1 + (b - 2)/a)`` for loads from ``a`` to ``b``. For the unit review the exchange is between two
    reviewers of the least load.
    """
    return Pair(records=_mixed(unit, load, number).records())


def _mixed(unit: Unit, load: int, number: int) -> _Conference:
    conference = _Conference()
    if unit == "review":
        mine, theirs = (
            conference.give("z", [0.0] + [1.0] * (load - 1)),
            conference.give("r", [1.0] + [0.0] * (load - 1)),
        )
        conference.exchange(mine[0], theirs[0]).give("s", [0.5] * 2 * load)
    else:
        # Counts need a second score, so that nobody enters a bin that another one leaves.
        largest, others = (2 * load, [1.0, 0.5]) if number else (2 * load + 1, [1.0])
        for j, review in enumerate(conference.give("z", [0.0] * largest)):
            conference.exchange(review, conference.give(f"r{j}", others)[0])
    return conference


def hidden_score_alone(unit: Unit, load: int, number: int) -> Pair:
    """Two conferences that differ in one hidden score, for either unit."""
    conference = _Conference()
    review, *_ = conference.give("z", [0.0] * load)
    conference.change(review, 1.0).give("r", [0.0] * load)
    return Pair(records=conference.records(), public="none", bins=8 * load if number else 0)


def hidden_miscalibration(unit: Unit, load: int, number: int) -> Pair:
    """Miscalibration with hidden scores: co-reviewers of what is exchanged move, too.

    A reviewer exchanges all reviews, or one, with others of load 1. All scores are 0, those of what is exchanged become
    1: whoever holds one of these is 1 above the co-reviewer, who has no other review.
    """
    conference = _Conference()
    for i in range(load if unit == "reviewer" else 1):
        mine, theirs = *conference.give("z", [0.0]), *conference.give(f"y{i}", [0.0])
        conference.review(f"u{i}", conference.paper(mine), 0.0)
        conference.review(f"v{i}", conference.paper(theirs), 0.0)
        conference.exchange(mine, theirs).change(mine, 1.0).change(theirs, 1.0)
    return Pair(records=conference.records(), public="none", quantity="miscalibration", bins=7 if number else 0)


def left_out(unit: Unit, load: int, number: int, *, part: str = "only") -> Pair:
    """Papers that are left out, whose reviews are exchanged for reviews of papers that are kept.

    For the unit reviewer: z holds ``b`` reviews that are kept and ``b`` that are not, gives those that are kept to
    ``b`` people and gets ``b`` others that are kept from ``b`` others. The numbers of reviewers with each load, in all
    and of what is kept, stay the same, and ``1 + 2b`` means move.
    """
    conference = _without_others(unit, load, number)
    return Pair(records=conference.records(), tracks=conference.tracks(), part=part)


def absent_scores(unit: Unit, load: int, number: int) -> Pair:
    """Reviews without a score, as everyone can see: as where papers are left out, but reviews are, one by one.

    Papers of such reviews have reviews with a score, too, all by one person of the least load among these.
    """
    conference = _without_others(unit, load, number)
    least = load if unit == "review" else 2 * load - 1 if number else load + 1
    papers = conference.blank(OTHER)[:least]
    for paper in papers:
        conference.review("t", paper, 0.5)
    conference.give("t", [0.5] * (least - len(papers)))
    return Pair(records=conference.records(), part="absent")


def _without_others(unit: Unit, load: int, number: int) -> _Conference:
    if unit == "review":
        return _one_for_one(load, both=False)
    if number:
        return _crosswise(2 * load, 2 * load - 1, receives=0.6, gives=0.4)
    return _crosswise(4 * load, load + 1, receives=1.0, gives=0.0)


def left_out_open(unit: Unit, load: int, number: int) -> Pair:
    """Papers that are left out, where the number of reviewers of the others is not public.

    A reviewer who has reviews of kept papers alone gives them, or one, to others for reviews of papers that are left
    out. For the unit reviewer this one has no kept review afterwards: all ``1 + L`` means move, with ``L`` the load.
    """
    conference = _Conference()
    for j in range(2 * load if unit == "reviewer" else 1):
        mine, *_ = conference.give("z", [0.0])
        conference.give(f"r{j}", [1.0])
        theirs, *_ = conference.give(f"r{j}", [0.5], track=OTHER)
        conference.exchange(mine, theirs)
    conference.give("s", [0.5])
    return Pair(records=conference.records(), tracks=conference.tracks(), part="open")


def hidden_left_out(unit: Unit, load: int, number: int) -> Pair:
    """Miscalibration with hidden scores and papers that are left out: co-reviewers of all that is exchanged move.

    As where papers are left out, with ``b`` the load. Each kept paper has two reviews; of those that are exchanged both
    scores are 0 before, and what is exchanged is 1 after. ``1 + 4b`` means move. For the unit review it is an exchange
    of one kept review for one that is left out, and four means move.
    """
    conference = _Conference()

    def kept(holder: str, score: float, other: float, beside: str) -> int:
        """A kept review, with another one of the same paper by someone who has no other."""
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
    bins = 12 if number else 0
    tracks = conference.tracks()
    return Pair(
        records=conference.records(),
        public="none",
        quantity="miscalibration",
        tracks=tracks,
        part="only",
        bins=bins,
    )


def one_track(unit: Unit, load: int, number: int) -> Pair:
    """One of two tracks: the same, released as a track."""
    return left_out(unit, load, number, part="track")


def several_tracks(unit: Unit, load: int, number: int, *, tracks: Sequence[str] = (KEPT, OTHER)) -> Pair:
    """Two tracks, released together.

    Counts: as where papers are left out, in all tracks at once. Vectors: in each track the reviewer exchanges within
    the track, as far as the sensitivity allows.
    """
    if unit == "review":
        conference = _one_for_one(load, both=True)
    elif number:
        conference = _crosswise(2 * load, 2 * load - 1, receives=0.6, gives=0.4, tracks=tracks, seen=tracks)
    else:
        conference = _Conference()
        for track in tracks:
            mine = conference.give("z", [0.0] * load, track=track)
            for i in range(load - 1):
                conference.exchange(mine[i], conference.give(f"r{i}", [1.0] * load, track=track)[0])
    return Pair(records=conference.records(), tracks=conference.tracks(), part="tracks")


def three_tracks(unit: Unit, load: int, number: int) -> Pair:
    """Three tracks, released together.

    Counts: a reviewer exchanges all ``L`` reviews, ``L/3`` of each track, and moves in all three; each of the ``L``
    partners moves in two. In each track somebody else has ``L`` reviews, so all ``2 + 2L/3`` means of each could move:
    together no more than ``3 + 2L`` of these ``6 + 2L`` do.
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
    return Pair(records=conference.records(), tracks=conference.tracks(), part="tracks")


def tracks_apart(unit: Unit, load: int, number: int) -> Pair:
    """Two tracks that share no reviewer, as is declared: what is exchanged is exchanged in one of them."""
    conference = _mixed(unit, load, number)
    for holder in ("t", "u"):
        conference.give(holder, [0.0, 1.0], track=OTHER)
    return Pair(records=conference.records(), tracks=conference.tracks(), part="apart")


def _crosswise(
    most: int,
    least: int,
    *,
    receives: float,
    gives: float,
    tracks: Sequence[str] = (KEPT, OTHER),
    seen: Sequence[str] = (KEPT,),
) -> _Conference:
    """A conference in which z exchanges ``most`` zeros in each track for ones of the same track, but crosswise.

    For each track, ``most`` people with ``least`` reviews of ``receives`` get one of the zeros, for a one of the next
    track, in which they have ``least`` reviews of ``gives`` besides. In tracks that are not seen, all that happens is
    that reviews change hands.
    """
    conference = _Conference()
    mine = {track: conference.give("z", [0.0] * most, track=track) for track in tracks}
    for i in range(most):
        for one, other in zip(tracks, (*tracks[1:], tracks[0]), strict=True):
            who = f"{one}{i}"  # receives a review of the one track, and gives one of the other
            conference.give(who, [receives] * least if one in seen else [], track=one)
            review, *_ = conference.give(who, [1.0] + [gives] * (least if other in seen else 0), track=other)
            conference.exchange(mine[one][i], review)
    return conference


def _one_for_one(load: int, *, both: bool) -> _Conference:
    """A conference in which two people exchange a review of one track for a review of the other."""
    conference = _Conference()
    one, *_ = conference.give("z", [1.0] + [0.0] * load)
    conference.give("r", [0.5] * load)
    other, *_ = conference.give("r", [1.0] + [0.0] * (load if both else 0), track=OTHER)
    if both:
        conference.give("z", [0.5] * load, track=OTHER)
    else:
        conference.give("s", [0.5], track=OTHER)  # a track has more than one reviewer
    return conference.exchange(one, other)
