"""Gathering the reviews of a file one by one, and counting what is left out."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from peerveil.errors import Argument, FileError
from peerveil.private.readers.protocol import Choices, Extract
from peerveil.tables.cells import to_text
from peerveil.tables.headings import field_called, plain
from peerveil.tables.scores import is_no_entry
from peerveil.tables.table import Table

METAREVIEWS = "metareviews"
NOT_SUBMITTED = "reviews that were not submitted"
DELETED = "reviews that were deleted"


class Gathering:
    """Reviews with the line each stands on; scores stay as they are written.

    Platforms have one form for all reviews, so a review may have several fields that could be the score: which one it
    is must be the same for all, and is decided when all are known.
    """

    def __init__(self, name: str, kind: str, known: Iterable[str], choices: Choices) -> None:
        self.name, self.kind, self.choices = name, kind, choices
        self.left_out: Counter[str] = Counter()
        self._wanted = {plain(name) for name in known} if choices.score is None else {plain(choices.score)}
        self._cells: dict[str, list[str]] = {"paper": [], "reviewer": []}
        self._fields: dict[str, list[str]] = {}
        self._grades: dict[str, list[str]] = {name: [] for name in choices.criteria}
        self._lines = array("I")
        self._known: dict[str, str] = {}

    @property
    def rows(self) -> int:
        """How many reviews were taken."""
        return len(self._lines)

    def wants(self, field: str) -> bool:
        """Whether a field may be the score."""
        return plain(field) in self._wanted

    def grades(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Those of a review's fields that are criteria, by the names that were asked for."""
        called = {name: field_called(name, fields) for name in self._grades}
        return {name: fields[field] for name, field in called.items() if field is not None}

    def add(
        self, line: int, paper: Any, reviewer: Any, fields: Mapping[str, Any], grades: Mapping[str, Any] | None = None
    ) -> None:
        """Take a review, with the fields that may be its score and those that are its criteria."""
        for field in fields:
            if field not in self._fields:
                if len(self._fields) >= 20:
                    raise FileError(
                        "too many fields could be the score; say which it is with ",
                        Argument("score", ...),
                        file=self.name,
                        line=line,
                    )
                self._fields[field] = [""] * len(self._lines)
        for field, cells in self._fields.items():
            cells.append(self._one(fields.get(field)))
        for name, cells in self._grades.items():
            grade = (grades or {}).get(name)
            cells.append(self._one(None if is_no_entry(grade) else grade))
        self._cells["paper"].append(self._one(paper))
        self._cells["reviewer"].append(self._one(reviewer))
        self._lines.append(line)

    def drop(self, reason: str) -> None:
        """Leave a review out."""
        self.left_out[reason] += 1

    def extract(self, *, shows: Iterable[str] = (), problems: Iterable[str] = ()) -> Extract:
        """All reviews, those without a score included."""
        for name, cells in self._grades.items():
            if self._lines and not any(cells):
                raise FileError(f"no review has the criterion {name!r}; name it as it is called there", file=self.name)
        columns = {name: f"criterion {name}" for name in self._grades}
        grades = {columns[name]: cells for name, cells in self._grades.items()}
        table = Table.of(self.name, self.kind, {**self._cells, "score": self._scores(), **grades}, self._lines)
        return Extract(
            table=table, criteria=columns, left_out=self.left_out, shows=tuple(shows), problems=tuple(problems)
        )

    def _scores(self) -> list[str]:
        if len(self._fields) == 1:
            return next(iter(self._fields.values()))
        if not self._lines:
            return []
        if self._fields:
            several = ", ".join(map(repr, self._fields))
            raise FileError(
                f"several fields could be the score: {several}; say which it is with ",
                Argument("score", ...),
                file=self.name,
            )
        asked = "" if self.choices.score is None else f" {self.choices.score!r}"
        raise FileError(
            f"no review has a field{asked} for the score; say which it is with ", Argument("score", ...), file=self.name
        )

    def _one(self, cell: Any) -> str:
        """A cell as text, one copy of equal ones."""
        text = to_text(cell)
        return self._known.setdefault(text, text)


def address(cell: Any) -> Any:
    """An e-mail address, whose case does not matter; anything else as it is."""
    return cell.strip().casefold() if isinstance(cell, str) and "@" in cell else cell
