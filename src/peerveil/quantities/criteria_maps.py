"""Normalized and subjectivity: quantities based on a monotone map from criteria to scores."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from peerveil.errors import Argument, RecordError
from peerveil.quantities.base import HiddenReach, Judged, Lone, Words

if TYPE_CHECKING:
    from peerveil.quantities.monotone import MonotoneMap
    from peerveil.record.public_record import Floats, PublicRecord

# ruff: noqa: PLC0415 - NumPy is loaded on first use


class Normalized:
    """The score that the monotone map assigns to the criteria of each review."""

    name = "normalized"
    words = Words(
        label="Normalized",
        title="What the reviewed papers deserve",
        meaning="the mean score that, by the judgement of all reviewers together, the grades that each reviewer gave "
        "on the criteria deserve",
        mean="mean score that the criteria of a reviewer's papers deserve",
        short_mean="mean deserved score",
        unit=" points",
        each="deserved scores",
        needs="criteria",
    )
    reach = HiddenReach()

    def weights(self, held: Judged, *, record: PublicRecord, lone: Lone) -> Floats:
        """Return the values of the map."""
        criteria = _criteria(held, self.name)  # first, so that an error names the quantity
        return learnt_map(record)(criteria)

    def hidden_bounds(self, record: PublicRecord, *, lone: Lone) -> tuple[Floats, Floats]:
        """Return the values of the map; its least and greatest value where criteria are hidden."""
        import numpy as np

        learnt = learnt_map(record)
        visible = ~np.isnan(record.score)
        least, greatest = (np.full(visible.size, end) for end in learnt.span)
        least[visible] = greatest[visible] = learnt(_criteria(record, self.name)[visible])
        return least, greatest


class Subjectivity:
    """The score of each review minus the value of the monotone map at its criteria."""

    name = "subjectivity"
    words = Words(
        label="Subjectivity",
        title="How far scores stray from criteria",
        meaning="the mean difference between each reviewer's scores and what the grades that they gave on the criteria "
        "deserve by the judgement of all",
        mean="a reviewer's mean difference from what criteria deserve",
        short_mean="mean difference from criteria",
        unit=" points",
        each="differences from what criteria deserve",
        sides=("below what criteria deserve", "above what criteria deserve"),
        needs="criteria",
    )
    reach = HiddenReach()

    def weights(self, held: Judged, *, record: PublicRecord, lone: Lone) -> Floats:
        """Return the differences from the map."""
        criteria = _criteria(held, self.name)
        return held.score - learnt_map(record)(criteria)

    def hidden_bounds(self, record: PublicRecord, *, lone: Lone) -> tuple[Floats, Floats]:
        """Return the bounds of the scores minus the opposite bounds of the map."""
        low, high = record.score_bounds()
        least, greatest = Normalized().hidden_bounds(record, lone=lone)
        return low - greatest, high - least


@lru_cache(maxsize=1)
def learnt_map(record: PublicRecord) -> MonotoneMap:
    """Return the monotone map from criteria to overall scores, fitted to the visible reviews of a record.

    >>> from peerveil.record.public_record import PublicRecord
    >>> record = PublicRecord.from_rows([[6, 8], [3, 5]], load=2, criteria={"clarity": [[2, 3], [1, 3]]})
    >>> learnt_map(record).values.tolist()
    [3.0, 6.0, 6.0]
    """
    import numpy as np

    from peerveil.quantities.monotone import fit_monotone

    visible = ~np.isnan(record.score)
    if not visible.any():
        raise RecordError(
            "what scores criteria deserve is learnt from public reviews, but all are hidden; release ratings instead"
        )
    return fit_monotone(_criteria(record, "what scores criteria deserve")[visible], record.score[visible])


def _criteria(held: Judged, what: str) -> Floats:
    if held.criteria is None:
        raise RecordError(f"{what} needs criteria; name their columns (", Argument("criteria", ...), ")")
    return held.criteria
