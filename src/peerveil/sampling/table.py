"""One sampled table: an assignment of the public reviews to pseudonymous reviewers."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from peerveil.errors import RecordError
from peerveil.record.public_record import Floats, Ints, PublicRecord, frozen, numbered_papers
from peerveil.sampling.cells import Bools
from peerveil.support.frames import Backend, make_frame


@dataclass(frozen=True, eq=False)
class Table:
    """One assignment of the public reviews to pseudonymous reviewers; an object that exists is valid.

    Attributes:
        record: the public record, whose order of reviews the table has.
        reviewer: the reviewer of each review, from 0; numbers mean nothing and differ between tables.
        score: the score of each review; drawn where it is hidden. By default those of the record.
        attributes: drawn values of attributes of reviewers, one per reviewer, by name; none by default.
    """

    record: PublicRecord
    reviewer: Ints
    score: Floats = None  # type: ignore[assignment] # set on construction
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "reviewer", frozen(self.reviewer))
        record, reviewer, loads = self.record, self.reviewer, self.record.loads
        if reviewer.shape != record.paper.shape or reviewer.min() < 0:
            raise RecordError("a table needs one reviewer per review")
        load, count = np.unique(np.bincount(reviewer, minlength=loads.reviewers), return_counts=True)
        stated = dict(zip(load.tolist(), count.tolist(), strict=True))
        counted = None if loads.counts is None else dict(zip(loads.sizes, loads.counts, strict=True))
        if (
            int(reviewer.max()) >= loads.reviewers
            or not set(stated) <= set(loads.sizes)
            or counted not in (None, stated)
        ):
            raise RecordError("the loads of a table are not those of the record")
        if np.unique(record.paper * loads.reviewers + reviewer).size < reviewer.size:
            raise RecordError("a table gives somebody two reviews of one paper")
        object.__setattr__(self, "score", frozen(record.score if self.score is None else self.score))
        low, high = record.score_bounds()
        if self.score.shape != record.score.shape or not ((low <= self.score) & (self.score <= high)).all():
            raise RecordError("the scores of a table are not those of the record, or lie outside its scale")
        if any(len(values) != loads.reviewers for values in self.attributes.values()):
            raise RecordError("an attribute needs one value per reviewer")

    @property
    def paper(self) -> Ints:
        """The index of the paper of each review."""
        return self.record.paper

    @property
    def drawn(self) -> Bools:
        """Whether the score of each review is drawn, as it is hidden."""
        return np.isnan(self.record.score)

    @property
    def loads(self) -> Ints:
        """The number of reviews of each reviewer."""
        return np.bincount(self.reviewer, minlength=self.record.loads.reviewers)

    def of_reviewers(self, values: Floats) -> Floats:
        """Return the mean of values, one per review, for each reviewer."""
        return np.bincount(self.reviewer, weights=values) / self.loads

    def to_frame(self, backend: Backend = "polars") -> Any:
        """Return one row per review: paper, reviewer, score, and whether it is drawn, attributes, criteria if any."""
        return make_frame(self.columns(), backend)

    def columns(self) -> dict[str, list[Any]]:
        """Return the columns of a table's files.

        If no score is public, papers are numbered: their names may be private.
        """
        papers = numbered_papers(len(self.record.papers)) if self.drawn.all() else self.record.papers
        width = len(str(self.record.loads.reviewers))
        names = [f"reviewer {number:0{width}d}" for number in range(1, self.record.loads.reviewers + 1)]
        columns: dict[str, list[Any]] = {
            "paper": [papers[i] for i in self.paper.tolist()],
            "reviewer": [names[i] for i in self.reviewer.tolist()],
            "score": self.score.tolist(),
            **({"score_drawn": self.drawn.tolist()} if self.record.hidden else {}),
        }
        for name, values in self.attributes.items():
            columns[_free(name, "attribute", columns)] = [values[i] for i in self.reviewer.tolist()]
        if self.record.criteria is not None:
            for name, graded in zip(self.record.criteria_names, self.record.criteria.T.tolist(), strict=True):
                columns[_free(name, "criterion", columns)] = graded
        return columns


def _free(name: str, kind: str, taken: Container[str]) -> str:
    """A name for a column that no other column has.

    >>> _free("score", "attribute", ["paper", "score"])
    'score (attribute)'
    """
    while name in taken:
        name = f"{name} ({kind})"
    return name
