"""Disagreement: the weight of a review is how far its score is from the mean of the other scores of its paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerveil.quantities.base import HiddenReach, Judged, Lone, Words
from peerveil.quantities.miscalibration import Miscalibration

if TYPE_CHECKING:
    from peerveil.record.public_record import Floats, PublicRecord

# ruff: noqa: PLC0415 - NumPy is loaded on first use


class Disagreement:
    """The distance of each score from the mean of the other scores of its paper."""

    name = "disagreement"
    words = Words(
        label="Disagreement",
        title="How far the reviewers are from each other",
        meaning="the mean distance between each reviewer's scores and the mean of the other scores of the same papers",
        mean="a reviewer's mean distance from the other reviewers of a paper",
        short_mean="mean distance from others",
        unit=" points",
        each="distances from the other scores of a paper",
        number="mean distance",
        numbers="mean distances",
    )
    #: As for miscalibration: a distance moves by no more than the difference.
    reach = HiddenReach(co_reviews=True, folded=True)

    def weights(self, held: Judged, *, record: PublicRecord, lone: Lone) -> Floats:
        """Return the distances."""
        return abs(Miscalibration().weights(held, record=record, lone=lone))

    def hidden_bounds(self, record: PublicRecord, *, lone: Lone) -> tuple[Floats, Floats]:
        """Return the least and the greatest distance that the bounds of the differences allow."""
        import numpy as np

        low, high = Miscalibration().hidden_bounds(record, lone=lone)
        return np.maximum(np.maximum(low, -high), 0.0), np.maximum(high, -low)
