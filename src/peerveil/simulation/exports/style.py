"""Text formats, invented people and the rows shared by all exports."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from peerveil.simulation.conferences import Conference

TEXT = 'A review, with "quotes", commas;\nand two lines.'
WORDS = ("Reject", "Weak reject", "Borderline, leaning nowhere", "Weak accept", "Accept: good paper", "Award quality")


@dataclass(frozen=True, kw_only=True)
class Style:
    """The text format of an export.

    Attributes:
        separator: the cell separator of a CSV.
        newline: the line ending of a CSV.
        mark: whether the text begins with a byte-order mark.
        packed: whether the file is compressed with gzip.
        comma: whether scores have a decimal comma.
    """

    separator: str = ","
    newline: str = "\n"
    mark: bool = False
    packed: bool = False
    comma: bool = False

    def text(self, text: str) -> bytes:
        """Return a text as the bytes of a file."""
        data = text.encode("utf-8-sig" if self.mark else "utf-8")
        return gzip.compress(data, mtime=0) if self.packed else data

    def csv(self, rows: Iterable[Sequence[Any]]) -> bytes:
        """Return rows as the bytes of a CSV file."""
        buffer = io.StringIO(newline="")
        csv.writer(buffer, delimiter=self.separator, lineterminator=self.newline).writerows(rows)
        return self.text(buffer.getvalue())

    def json(self, value: Any) -> bytes:
        """Return a value as the bytes of a JSON file."""
        return self.text(json.dumps(value, ensure_ascii=False, indent=1))

    def scores(self, scores: Iterable[float]) -> list[str]:
        """Return the text of each score or grade."""
        return [self.score(score) for score in scores]

    def score(self, score: float) -> str:
        """Return the text of a score."""
        return f"{score:g}".replace(".", ",") if self.comma else f"{score:g}"


@dataclass(frozen=True, kw_only=True)
class Cast:
    """The people in an export, one entry per reviewer of the conference.

    Attributes:
        names: their names.
        emails: their addresses, distinct even without regard to case.
        members: for each reviewer, who is responsible for their reviews: themselves, or a PC member.
    """

    names: Sequence[str]
    emails: Sequence[str]
    members: Sequence[int]

    @classmethod
    def invent(cls, conference: Conference) -> Cast:
        """Return invented people; every seventh writes for the one before, unless both review the same paper."""
        count = int(conference.reviewer.max()) + 1
        papers = [set(conference.paper[conference.reviewer == j].tolist()) for j in range(count)]
        for_other = [j % 7 == 6 and not papers[j] & papers[j - 1] for j in range(count)]
        return cls(
            names=[f"Reviewer Number{j + 1}" for j in range(count)],
            emails=[f"reviewer-{j + 1:04d}@example.org" for j in range(count)],
            members=[j - other for j, other in enumerate(for_other)],
        )


class Review(NamedTuple):
    """One review: indices of paper and reviewer, score, and the grades of the criteria."""

    paper: int
    reviewer: int
    score: float
    grades: tuple[float, ...]


def reviews_of(conference: Conference) -> list[Review]:
    """Return the reviews, paper by paper, as platforms list them."""
    order = np.lexsort((conference.reviewer, conference.paper))
    columns = [column[order].tolist() for column in (conference.paper, conference.reviewer, conference.score)]
    grades = [column[order].tolist() for column in conference.criteria.values()]
    return [Review(p, a, x, tuple(rest)) for p, a, x, *rest in zip(*columns, *grades, strict=True)]


def title(paper: int) -> str:
    """Return an invented title."""
    return f'On "Subject" {paper + 1}, revisited'
