"""Collection of reviews one by one, and of the number left out by reason."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from peerveil.errors import Argument, FileError
from peerveil.private.readers.protocol import Choices, Extract
from peerveil.tables.cells import to_text
from peerveil.tables.conditions import filter_columns
from peerveil.tables.headings import field_called, plain
from peerveil.tables.scores import is_no_entry
from peerveil.tables.table import Table

METAREVIEWS = "metareviews"
BOTS = "reviews by bots"
NOT_SUBMITTED = "reviews that were not submitted"
DELETED = "reviews that were deleted"


class Gathering:
    """Reviews with their lines; scores are kept as text.

    A review may have several fields that could be the score. It must be the same field in all reviews, which is
    checked at the end.
    """

    def __init__(self, name: str, kind: str, known: Iterable[str], choices: Choices) -> None:
        self.name, self.kind, self.choices = name, kind, choices
        self.left_out: Counter[str] = Counter()
        self._wanted = {plain(name) for name in known} if choices.score is None else {plain(choices.score)}
        self._cells: dict[str, list[str]] = {"paper": [], "reviewer": []}
        self._fields: dict[str, list[str]] = {}
        self._grades: dict[str, list[str]] = {name: [] for name in choices.criteria}
        self._labels: dict[str, list[str]] = {name: [] for name in choices.labels}
        self._of_papers: dict[str, dict[str, str]] = {name: {} for name in choices.labels}
        self._lines = array("I")
        self._interned: dict[str, str] = {}

    @property
    def rows(self) -> int:
        """Number of reviews collected."""
        return len(self._lines)

    def wants(self, field: str) -> bool:
        """Return whether a field may be the score."""
        return plain(field) in self._wanted

    def grades(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the criteria and the columns of filters among a review's fields, by their requested names."""
        called = {name: field_called(name, fields) for name in (*self._grades, *self._labels)}
        return {name: fields[field] for name, field in called.items() if field is not None}

    def add(
        self, line: int, paper: Any, reviewer: Any, fields: Mapping[str, Any], grades: Mapping[str, Any] | None = None
    ) -> None:
        """Add a review, with the fields that may be its score and those that are its criteria or for filters."""
        for field in fields:
            if field not in self._fields:
                if len(self._fields) >= 20:
                    problem = "too many fields could be the score; say which it is with "
                    raise FileError(problem, Argument("score", ...), file=self.name, line=line)
                self._fields[field] = [""] * len(self._lines)
        for field, cells in self._fields.items():
            cells.append(self._text(fields.get(field)))
        for name, cells in self._grades.items():
            grade = (grades or {}).get(name)
            cells.append(self._text(None if is_no_entry(grade) else grade))
        for name, cells in self._labels.items():
            cells.append(self._text((grades or {}).get(name)))
        self._cells["paper"].append(self._text(paper))
        self._cells["reviewer"].append(self._text(reviewer))
        self._lines.append(line)

    def describe(self, paper: Any, fields: Mapping[str, Any]) -> None:
        """Add fields of a paper, which filters use where its reviews have no such field."""
        for name, values in self._of_papers.items():
            field = field_called(name, fields)
            if field is not None:
                values[self._text(paper)] = self._text(fields[field])

    def drop(self, reason: str) -> None:
        """Leave a review out."""
        self.left_out[reason] += 1

    def extract(self, *, shows: Iterable[str] = (), problems: Iterable[str] = ()) -> Extract:
        """Return all reviews, including those without a score."""
        for name, cells in self._grades.items():
            if self._lines and not any(cells):
                raise FileError(f"no review has the criterion {name!r}; name it as it is called there", file=self.name)
        for name, values in self._of_papers.items():
            papers = zip(self._labels[name], self._cells["paper"], strict=True)
            self._labels[name] = [cell or values.get(paper, "") for cell, paper in papers]
            if self._lines and not any(self._labels[name]):
                named = filter_columns(self.choices.filters)[name]
                raise FileError(f"no review has the field {name!r} for the filter (", named, ")", file=self.name)
        criteria = {name: f"criterion {name}" for name in self._grades}
        labels = {name: f"filter {name}" for name in self._labels}
        others = {criteria[name]: cells for name, cells in self._grades.items()}
        others |= {labels[name]: cells for name, cells in self._labels.items()}
        table = Table.of(self.name, self.kind, {**self._cells, "score": self._scores(), **others}, self._lines)
        return Extract(
            table=table,
            criteria=criteria,
            labels=labels,
            left_out=self.left_out,
            shows=tuple(shows),
            problems=tuple(problems),
            taken=dict.fromkeys(self._fields, "score"),
        )

    def _scores(self) -> list[str]:
        if len(self._fields) == 1:
            return next(iter(self._fields.values()))
        if not self._lines:
            return []
        asked = "" if self.choices.score is None else f" {self.choices.score!r}"
        problem = f"no review has a field{asked} for the score"
        if self._fields:
            problem = f"several fields could be the score: {', '.join(map(repr, self._fields))}"
        raise FileError(f"{problem}; say which it is with ", Argument("score", ...), file=self.name)

    def _text(self, cell: Any) -> str:
        """Return a cell as text; equal texts are one object."""
        text = to_text(cell)
        return self._interned.setdefault(text, text)


def address(cell: Any) -> Any:
    """Return an e-mail address in lower case, and anything else unchanged."""
    return cell.strip().casefold() if isinstance(cell, str) and "@" in cell else cell
