"""A conference of the audit and its neighbour, built review by review.

Scores are between 0 and 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

import numpy as np

from peerveil.private.columns import Removal
from peerveil.private.reviews import Reviews
from peerveil.quantities.functions import QuantityLike
from peerveil.record.parts import filtered

#: Names of tracks; where papers are left out, they are those of ``OTHER``.
KEPT, OTHER, THIRD = "kept", "other", "third"


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


class Conference:
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
