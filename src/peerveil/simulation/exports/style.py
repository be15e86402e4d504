"""How exports are written, and who is who in them."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from peerveil.simulation.conferences import Conference

TEXT = 'A review, with "quotes", commas;\nand two lines.'
WORDS = ("Reject", "Weak reject", "Borderline, leaning nowhere", "Weak accept", "Accept: good paper", "Award quality")


@dataclass(frozen=True, kw_only=True)
class Style:
    """How the text of an export is written.

    Attributes:
        separator: between the cells of a CSV.
        newline: at the end of a line of a CSV.
        mark: whether the text begins with a byte-order mark.
        packed: whether the file is packed with gzip.
        comma: whether scores have a decimal comma.
    """

    separator: str = ","
    newline: str = "\n"
    mark: bool = False
    packed: bool = False
    comma: bool = False

    def text(self, text: str) -> bytes:
        """A text as the bytes of a file."""
        data = text.encode("utf-8-sig" if self.mark else "utf-8")
        return gzip.compress(data, mtime=0) if self.packed else data

    def csv(self, rows: Iterable[Sequence[Any]]) -> bytes:
        """Rows as the bytes of a CSV."""
        buffer = io.StringIO(newline="")
        csv.writer(buffer, delimiter=self.separator, lineterminator=self.newline).writerows(rows)
        return self.text(buffer.getvalue())

    def scores(self, scores: Iterable[float]) -> list[str]:
        """Several scores or grades, each as it is written."""
        return [self.score(score) for score in scores]

    def score(self, score: float) -> str:
        """A score as it is written."""
        return f"{score:g}".replace(".", ",") if self.comma else f"{score:g}"


@dataclass(frozen=True, kw_only=True)
class Cast:
    """Who is who in an export: an entry a reviewer of the conference.

    Attributes:
        names: their names.
        emails: their addresses, no two alike but for case.
        members: for each reviewer the one who is responsible for their reviews: themselves, or a PC member.
    """

    names: Sequence[str]
    emails: Sequence[str]
    members: Sequence[int]

    @classmethod
    def invent(cls, conference: Conference) -> Cast:
        """Invented names; every seventh reviewer writes for the one before, unless both are on one paper."""
        count = int(conference.reviewer.max()) + 1
        papers = [set(conference.paper[conference.reviewer == j].tolist()) for j in range(count)]
        for_other = [j % 7 == 6 and not papers[j] & papers[j - 1] for j in range(count)]
        return cls(
            names=[f"Reviewer Number{j + 1}" for j in range(count)],
            emails=[f"reviewer-{j + 1:04d}@example.org" for j in range(count)],
            members=[j - other for j, other in enumerate(for_other)],
        )


def reviews_of(conference: Conference) -> list[tuple[int, int, float]]:
    """Paper, reviewer and score of each review, paper by paper, as platforms list them."""
    order = np.lexsort((conference.reviewer, conference.paper))
    columns = (conference.paper[order], conference.reviewer[order], conference.score[order])
    return list(zip(*(column.tolist() for column in columns), strict=True))


def grades_of(conference: Conference) -> list[tuple[float, ...]]:
    """The criteria of each review, in the order of :func:`reviews_of`; nothing each where there are none."""
    order = np.lexsort((conference.reviewer, conference.paper))
    columns = [grades[order].tolist() for grades in conference.criteria.values()]
    return list(zip(*columns, strict=True)) if columns else [()] * order.size


def title(paper: int) -> str:
    """An invented title."""
    return f'On "Subject" {paper + 1}, revisited'


def as_json(value: Any) -> str:
    """A value as the text of a JSON file."""
    return json.dumps(value, ensure_ascii=False, indent=1)
