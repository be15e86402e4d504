"""Ratings: the weight of a review is its score."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerveil.quantities.base import HiddenReach, Judged, Lone, Words

if TYPE_CHECKING:
    from peerveil.record.public_record import Floats, PublicRecord


class Ratings:
    """The score of each review."""

    name = "ratings"
    words = Words(
        label="Ratings",
        title="How the reviewers rate",
        meaning="the mean of the scores that each reviewer gave",
        mean="a reviewer's mean rating",
        short_mean="mean rating",
        unit=" points",
        each="scores",
    )
    reach = HiddenReach()

    def weights(self, held: Judged, *, record: PublicRecord, lone: Lone) -> Floats:
        """Return the scores."""
        return held.score

    def hidden_bounds(self, record: PublicRecord, *, lone: Lone) -> tuple[Floats, Floats]:
        """Return the scores; the ends of the scale where they are hidden."""
        return record.score_bounds()
