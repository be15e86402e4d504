"""Miscalibration: the weight of a review is its score minus the mean of the other scores of its paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerveil.errors import Argument, RecordError
from peerveil.quantities.base import HiddenReach, Judged, Lone, Words

if TYPE_CHECKING:
    from peerveil.record.public_record import Floats, Ints, PublicRecord

# ruff: noqa: PLC0415 - NumPy is loaded on first use


class Miscalibration:
    """The score of each review minus the mean of the other scores of its paper."""

    name = "miscalibration"
    words = Words(
        label="Miscalibration",
        title="How strict or lenient the reviewers are",
        meaning="the mean difference between each reviewer's scores and the other scores of the same papers: below "
        "zero for the strict, above zero for the lenient",
        mean="a reviewer's mean difference from the other reviewers of a paper",
        short_mean="mean difference from others",
        unit=" points",
        each="differences from the other scores of a paper",
        sides=("stricter than others", "more lenient than others"),
    )
    reach = HiddenReach(co_reviews=True, centred=True)

    def weights(self, held: Judged, *, record: PublicRecord, lone: Lone) -> Floats:
        """Return the differences, with as few roundings as possible."""
        import numpy as np

        size = _sizes(held.paper, lone)
        # (k s - total) / (k - 1) has fewer roundings than s - (total - s) / (k - 1), and fewest if scores are measured
        # from the paper's lowest score. A single review gets 0 / 1.
        above = held.score - held.score[(np.cumsum(size) - size)[held.paper]]
        total = np.bincount(held.paper, weights=above)
        difference = size[held.paper] * above - total[held.paper]
        return np.asarray(difference / np.maximum(size[held.paper] - 1, 1), dtype=np.float64)

    def hidden_bounds(self, record: PublicRecord, *, lone: Lone) -> tuple[Floats, Floats]:
        """Return the bounds: the score at one end of its range, the others of its paper at the other end."""
        import numpy as np

        low, high = record.score_bounds()
        size = _sizes(record.paper, lone)[record.paper]
        others, alone = np.maximum(size - 1, 1), size == 1
        low, high = low - low.min(), high - low.min()  # a large offset would lose digits
        lows, highs = (np.bincount(record.paper, weights=end)[record.paper] - end for end in (low, high))
        return np.where(alone, 0.0, low - highs / others), np.where(alone, 0.0, high - lows / others)


def _sizes(paper: Ints, lone: Lone) -> Ints:
    """Return the number of reviews of each paper; refuse single reviews if asked to."""
    import numpy as np

    size = np.bincount(paper)
    alone = int(np.count_nonzero(size == 1))
    if alone and lone == "refuse":
        raise RecordError(
            f"{alone} of {size.size} papers have a single review, whose miscalibration is not defined; give these "
            "reviews the weight zero (",
            Argument("lone", "zero"),
            "), leave these papers out of the file before loads are counted, or release another quantity",
        )
    return size
