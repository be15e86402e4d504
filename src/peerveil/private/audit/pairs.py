"""Pairs of neighbouring conferences that attain the sensitivity, or nearly.

Scores are between 0 and 1. Unless noted otherwise, each paper has a single review.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np

from peerveil.errors import Argument, InputError
from peerveil.mechanisms.bin_choice import bins_of
from peerveil.privacy.bins import Bins
from peerveil.privacy.guarantee import Unit
from peerveil.privacy.linked.sums import ICC, REACH
from peerveil.private.reviews import Attributes, Removal, Reviews
from peerveil.quantities.functions import QuantityLike
from peerveil.quantities.weights import weigh
from peerveil.record.parts import filtered

#: Names of tracks; where papers are left out, they are those of ``OTHER``.
KEPT, OTHER, THIRD = "kept", "other", "third"

#: The attribute of reviewers whose effect is released, and its values.
ARM, ARMS = "arm", ("treated", "control")


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two neighbouring conferences, and how they are released.

    Attributes:
        records: all reviews of each conference.
        public: which scores are public.
        quantity: the quantity to release.
        tracks: the track of each paper, where there are several.
        part: ``"whole"``: the whole record is released; ``"only"``: the papers of the track ``KEPT``, with the loads
            among them declared; ``"open"``: the same without that declaration; ``"absent"``: the whole record, in which
            some reviews have no score, with the loads among the others declared; ``"filtered"``: the same, with reviews
            left out by a public label; ``"track"``: all tracks, one of which
            is audited; ``"tracks"``: all tracks together; ``"apart"``: the same, with the declaration that no reviewer
            has reviews in two of them; ``"effect"``: the difference between two groups of reviewers; ``"by"``:
            counts by an attribute of reviewers; ``"pairs"``: an effect of a property that reviewer and paper share;
            ``"tracks of groups"``: an effect, or counts by an attribute, in all tracks together.
            ``"linked"``: the correlation with a second conference; ``"linked table"``: counts by means in both. With
            ``tracks``, ``"effect"`` and ``"by"`` are of the papers of the track ``KEPT``.
        seconds: the second conference beside each of the two, where there is one.
        sizes: the numbers of reviewers of both groups, where these are public.
        bins: the number of bins in which every mean that changes also changes bins; 0 if any number will do.
    """

    records: tuple[Reviews, Reviews]
    public: str = "all"
    quantity: QuantityLike = "ratings"
    tracks: Mapping[str, str] = field(default_factory=dict)
    part: str = "whole"
    sizes: tuple[int, int] | None = None
    bins: int = 0
    seconds: tuple[Reviews, Reviews] | None = None

    @property
    def kept(self) -> list[str]:
        """The papers of the first track."""
        return [paper for paper in self.records[0].papers if self.tracks[paper] == KEPT]

    def shown(self, record: Reviews) -> Reviews:
        """The part of a record that is released where there are no tracks."""
        apart = self.part in ("only", "open") or (self.part in ("effect", "by") and bool(self.tracks))
        return record.only(self.kept) if apart else record

    @property
    def declares(self) -> bool:
        """Whether the loads among the kept reviews are declared."""
        return self.part in ("only", "absent", "filtered")


class _Conference:
    """A conference, built review by review, and its neighbour after exchanges."""

    def __init__(self) -> None:
        self._papers: list[str] = []
        self._scores: list[float] = []
        self._holders: list[str] = []
        self._after: dict[int, str] = {}
        self._changed: dict[int, float] = {}
        self._tracks: dict[str, str] = {}
        self._filtered: set[int] = set()

    def give(self, holder: str, scores: Sequence[float], *, track: str = KEPT) -> list[int]:
        """Add reviews of new papers by ``holder``; returns their numbers."""
        return [self.review(holder, f"p{len(self._tracks):06d}", score, track=track) for score in scores]

    def review(self, holder: str, paper: str, score: float, *, track: str = KEPT) -> int:
        """Add a review; returns its number."""
        self._tracks[paper] = track
        self._papers.append(paper)
        self._holders.append(holder)
        self._scores.append(score)
        return len(self._papers) - 1

    def exchange(self, one: int, other: int) -> Self:
        """Exchange two reviews between their holders."""
        self._after[one], self._after[other] = self._holders[other], self._holders[one]
        return self

    def change(self, review: int, score: float) -> Self:
        """Change a hidden score."""
        self._changed[review] = score
        return self

    def blank(self, track: str) -> list[str]:
        """Remove the scores of the reviews of a track; returns their papers."""
        places = [i for i, paper in enumerate(self._papers) if self._tracks[paper] == track]
        for i in places:
            self._scores[i] = math.nan
        return [self._papers[i] for i in places]

    def filter(self, track: str) -> list[str]:
        """Leave out the reviews of a track by a public label; returns their papers."""
        self._filtered = {i for i, paper in enumerate(self._papers) if self._tracks[paper] == track}
        return [self._papers[i] for i in sorted(self._filtered)]

    def paper(self, review: int) -> str:
        """The paper of a review."""
        return self._papers[review]

    def records(self) -> tuple[Reviews, Reviews]:
        """The conference and its neighbour."""
        rows = np.array([i in self._filtered for i in range(len(self._papers))])
        removals = [Removal(rows=rows, why=filtered("Type=Review", kept=True))]
        make = partial(Reviews.from_columns, self._papers, scale=(0, 1), missing_score="absent", removals=removals)
        after = [self._after.get(i, holder) for i, holder in enumerate(self._holders)]
        changed = [self._changed.get(i, score) for i, score in enumerate(self._scores)]
        return make(self._holders, self._scores), make(after, changed)

    def pair(self, part: str = "whole", **how: Any) -> Pair:
        """The pair of the conference and its neighbour; the other arguments are attributes of :class:`Pair`."""
        tracks = {} if part in ("whole", "absent", "filtered") else dict(self._tracks)
        return Pair(records=self.records(), tracks=tracks, part=part, **how)


def check_load(load: int) -> None:
    """Raise unless a load is at least 2."""
    if isinstance(load, bool) or not isinstance(load, int) or load < 2:
        raise InputError(
            Argument("load"), f" must be a whole number of at least 2, got {load!r}; with a load of 1 nothing is secret"
        )


def check_public(public: str) -> None:
    """Raise unless ``public`` is ``"all"`` or ``"none"``."""
    if public not in ("all", "none"):
        raise InputError(Argument("public"), f" must be 'all' or 'none', got {public!r}")


def worst_neighbours(unit: Unit, load: int, public: str) -> tuple[Reviews, Reviews]:
    """Two neighbouring records with equal loads, whose vectors attain the sensitivity.

    For the unit reviewer with public scores, a reviewer of zeros exchanges all but one of them with reviewers of ones.
    For the unit review, two reviewers exchange a zero for a one and move apart. Exchanged reviews with hidden scores
    may change as well: two reviewers of zeros exchange one, or all, and these become ones.

    >>> from peerveil.private.true_vector import true_vector
    >>> [true_vector(reviews, "ratings").tolist() for reviews in worst_neighbours("reviewer", 2, "all")]
    [[0.0, 1.0], [0.5, 0.5]]
    """
    check_load(load)
    check_public(public)
    conference = _Conference()
    if public == "none":
        mine, theirs = conference.give("z", [0.0] * load), conference.give("r1", [0.0] * load)
        for i in range(1 if unit == "review" else load):
            conference.exchange(mine[i], theirs[i]).change(mine[i], 1.0).change(theirs[i], 1.0)
    elif unit == "review":
        mine = conference.give("z", [0.0] + [1.0] * (load - 1))
        conference.exchange(mine[0], conference.give("r1", [1.0] + [0.0] * (load - 1))[0])
    else:
        mine = conference.give("z", [0.0] * load)
        for i in range(load - 1):
            conference.exchange(mine[i], conference.give(f"r{i + 1}", [1.0] * load)[0])
    return conference.records()


def worst_neighbours_counted(unit: Unit, load: int, public: str, number: int) -> tuple[Reviews, Reviews, Bins]:
    """Two neighbouring records with equal loads, whose counts attain the sensitivity, and their bins.

    Each reviewer in an exchange moves to a bin that no other reviewer leaves. A reviewer of zeros gets a one from each
    of the others, whose remaining scores are 1/2. Hidden scores of exchanged reviews become ones, and the others are
    close enough to the end of a bin to leave it.

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
        # Exchanged reviews are zeros before and ones after.
        first = [0.0, *near] if unit == "review" else [0.0] * load
        holdings = [first, *([0.0, *near] for _ in range(others))]
    elif unit == "review":
        holdings = [[0.0] + [0.5] * (load - 1), [1.0] * load]
    else:
        holdings = [[0.0] * load, *([1.0] + [0.5] * (load - 1) for _ in range(load))]
    pair = _exchanged(holdings, others, change=hidden)
    return *pair, bins_of(weigh(pair[0].public(public)), number)


def _exchanged(holdings: Sequence[Sequence[float]], exchanges: int, *, change: bool = False) -> tuple[Reviews, Reviews]:
    """Two records: in the second, the first reviewer has exchanged one review with each of the next ``exchanges``.

    With ``change``, the scores of exchanged reviews become ones.
    """
    conference = _Conference()
    mine, *others = (conference.give("z" if j == 0 else f"r{j}", scores) for j, scores in enumerate(holdings))
    for review, (theirs, *_) in list(zip(mine, others, strict=False))[:exchanges]:
        conference.exchange(review, theirs)
        if change:
            conference.change(review, 1.0).change(theirs, 1.0)
    return conference.records()


def one_load(unit: Unit, load: int, number: int, *, public: str = "all") -> Pair:
    """Equal loads; hidden scores change with the exchange. ``number`` bins, or a vector if 0."""
    if number:
        return Pair(records=worst_neighbours_counted(unit, load, public, number)[:2], public=public, bins=number)
    return Pair(records=worst_neighbours(unit, load, public), public=public)


def mixed_loads(unit: Unit, load: int, number: int, *, apart: bool = False) -> Pair:
    """Public scores, and loads that differ; with ``apart``, in one of two tracks that share no reviewer.

    For the unit reviewer, a reviewer with many zeros exchanges them all with reviewers of the least load; the distance
    is ``R (1 + (b - 2)/a)`` for loads from ``a`` to ``b``. For the unit review, two reviewers of the least load
    exchange a review.
    """
    conference = _Conference()
    if unit == "review":
        mine, *_ = conference.give("z", [0.0] + [1.0] * (load - 1))
        theirs, *_ = conference.give("r", [1.0] + [0.0] * (load - 1))
        conference.exchange(mine, theirs).give("s", [0.5] * 2 * load)
    else:
        # A second score ensures that no mean enters a bin that another leaves.
        largest, others = (2 * load, [1.0, 0.5]) if number else (2 * load + 1, [1.0])
        for j, review in enumerate(conference.give("z", [0.0] * largest)):
            conference.exchange(review, conference.give(f"r{j}", others)[0])
    for holder in ("t", "u") if apart else ():
        conference.give(holder, [0.0, 1.0], track=OTHER)
    return conference.pair("apart" if apart else "whole")


def ranges(unit: Unit, load: int, number: int) -> Pair:
    """Public scores, of which the range of each reviewer is released.

    A reviewer of zeros exchanges one with each of several reviewers of ones; the ranges of all of them go from 0 to 1.
    For counts and the unit reviewer, all ``load`` reviews are exchanged and ``1 + load`` ranges change, each to one
    that nobody leaves: one of the reviewer's scores is 1/2, and is exchanged for a 3/8 among others.
    """
    conference = _Conference()
    if unit == "reviewer" and number:
        mine = conference.give("z", [0.5] + [0.0] * (load - 1))
        conference.exchange(mine[0], conference.give("r0", [0.375] * load)[0])
    else:
        mine = conference.give("z", [0.0] * load)
    for i in range(1, 2 if unit == "review" else load):
        conference.exchange(mine[i], conference.give(f"r{i}", [1.0] * load)[0])
    return conference.pair(quantity="range of ratings", bins=6 if number else 0)


def hidden_score_alone(unit: Unit, load: int, number: int) -> Pair:
    """Two conferences that differ in one hidden score, for either unit."""
    conference = _Conference()
    review, *_ = conference.give("z", [0.0] * load)
    conference.change(review, 1.0).give("r", [0.0] * load)
    return conference.pair(public="none", bins=8 * load if number else 0)


def hidden_miscalibration(unit: Unit, load: int, number: int, *, quantity: str = "miscalibration") -> Pair:
    """Miscalibration with hidden scores: the means of co-reviewers of exchanged reviews change as well.

    A reviewer exchanges all reviews, or one, with others of load 1. All scores are 0, and those of exchanged reviews
    become 1, which is 1 above the only review of the co-reviewer.
    """
    conference = _Conference()
    for i in range(load if unit == "reviewer" else 1):
        mine, theirs = *conference.give("z", [0.0]), *conference.give(f"y{i}", [0.0])
        conference.review(f"u{i}", conference.paper(mine), 0.0)
        conference.review(f"v{i}", conference.paper(theirs), 0.0)
        conference.exchange(mine, theirs).change(mine, 1.0).change(theirs, 1.0)
    return conference.pair(public="none", quantity=quantity, bins=7 if number else 0)


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


def _without_others(unit: Unit, load: int, number: int) -> _Conference:
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
    conference = _Conference()
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
    conference = _Conference()

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
        conference = _Conference()
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
) -> _Conference:
    """A conference in which z exchanges ``most`` zeros in each track for ones, with partners who change tracks.

    For each track, ``most`` reviewers with ``least`` scores of ``receives`` get one of the zeros for a one of the next
    track, in which they also have ``least`` scores of ``gives``. In tracks that are not in ``seen`` reviewers have
    exchanged reviews only.
    """
    conference = _Conference()
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


def _one_for_one(load: int, *, both: bool) -> _Conference:
    """A conference in which two reviewers exchange a review of one track for a review of the other."""
    conference = _Conference()
    one, *_ = conference.give("z", [1.0] + [0.0] * load)
    conference.give("r", [0.5] * load)
    other, *_ = conference.give("r", [1.0] + [0.0] * (load if both else 0), track=OTHER)
    if both:
        conference.give("z", [0.5] * load, track=OTHER)
    else:
        conference.give("s", [0.5], track=OTHER)  # a track has more than one reviewer
    return conference.exchange(one, other)


hidden_scores = partial(one_load, public="none")
public_labels = partial(absent_scores, part="filtered")
one_track = partial(left_out, part="track")
tracks_apart = partial(mixed_loads, apart=True)


def two_groups(
    unit: Unit, load: int, _: int, part: str = "effect", *, sizes: bool = False, hidden: bool = False
) -> Pair:
    """A reviewer exchanges zeros for ones of reviewers in the control group, and changes groups.

    If sizes of groups are public, another reviewer changes groups as well, the other way. Hidden scores of exchanged
    reviews are zeros, and become ones.
    """
    conference = _Conference()
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
    conference = _Conference()
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
    conference = _Conference()
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
    conference = _Conference()
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
    first, second = _Conference(), _Conference()
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
    first, second = _Conference(), _Conference()
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
