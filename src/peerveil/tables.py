"""Tables: columns of cells, each with the line it stands on, that never show what could be a name."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from peerveil.errors import FileError, InputError

#: The names that columns usually go by, compared without case and punctuation.
PAPER_NAMES = ("paper", "paper id", "submission", "submission id", "submission number")
REVIEWER_NAMES = ("reviewer", "reviewer id", "email", "reviewer email")
SCORE_NAMES = ("score", "rating", "overall", "overall score", "overall rating", "recommendation")
RATING_NAMES = ("ratings", "rating", "scores", "score", "overall")
NOISY_NAMES = ("noisy", "value", "values", "mean", "theta")

# What other columns of reviews are called. A heading that is neither here nor above may be somebody's name: files come
# without a header, or with a column a reviewer.
_OTHER_NAMES = (
    *(
        "title",
        "track",
        "area",
        "decision",
        "status",
        "round",
        "date",
        "time",
        "id",
        "number",
        "rank",
        "lower",
        "upper",
    ),
    *("confidence", "review", "reviews", "comment", "comments", "soundness", "clarity", "originality", "novelty"),
    *("impact", "substance", "presentation"),
)

#: No score is larger; sums and squares of such numbers stay finite.
LARGEST = 1e100

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_NO_VALUE = re.compile(r"[+-]?(nan|inf|infinity|n/?a|none|null)", re.IGNORECASE)


@dataclass(frozen=True)
class Table:
    """Columns of equal length, where they came from, and the line of each row.

    Attributes:
        name: the file's name, or what the frame is called in messages.
        kind: the format that was read.
        columns: cells by column name; text, numbers or ``None``.
        lines: the line each row starts on; empty for formats without lines, whose rows are counted instead.
    """

    name: str
    kind: str
    columns: dict[str, list[Any]]
    lines: Sequence[int] = field(default=())

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values()), []))

    def error(self, message: str, *, row: int | None = None, column: str | None = None) -> FileError:
        """An error that points at a place in this table."""
        line = None if row is None else self.lines[row] if self.lines else row + 1
        return FileError(message, file=self.name, line=line, column=column)

    def text(self, column: str) -> list[str]:
        """The cells of a column as text without surrounding blanks; an empty cell is an error."""
        memo: dict[str, str] = {}
        cells: list[str] = []
        for row, cell in enumerate(self.columns[column]):
            text = "" if is_missing(cell) else str(cell).strip()
            if not text:
                raise self.error("the cell is empty; every review needs one", row=row, column=column)
            cells.append(memo.setdefault(text, text))  # names repeat: keep one copy of each
        return cells

    def numbers(self, column: str, *, gaps: bool = False) -> npt.NDArray[np.float64]:
        """The cells of a column as finite numbers; anything else is an error, but for empty cells where gaps may be."""
        memo: dict[tuple[type, Any], float] = {}  # the type as well: True is no 1
        values = np.empty(self.rows)
        for row, cell in enumerate(self.columns[column]):
            key = (type(cell), cell)
            if key not in memo:
                memo[key] = math.nan if gaps and is_missing(cell) else self.number(cell, row=row, column=column)
            values[row] = memo[key]
        return values

    def number(self, cell: object, *, row: int, column: str) -> float:
        """One cell as a finite number."""
        value = to_number(cell)
        if value is None:
            raise self.error(
                f"{shown(cell)} is not a number; give the score as a number, or leave the whole paper out "
                "before loads are counted",
                row=row,
                column=column,
            )
        if not math.isfinite(value):
            raise self.error(f"{shown(cell)} is not a finite number", row=row, column=column)
        if abs(value) > LARGEST:
            raise self.error(f"{shown(cell)} is too large, above {LARGEST:g}", row=row, column=column)
        return value

    def find(self, role: str, known: Iterable[str], chosen: str | None = None, *, remedy: str | None = None) -> str:
        """The column for a role: the one chosen, or the only one with a known name."""
        matches = self.matches(known) if chosen is None else [chosen] * (chosen in self.columns)
        if len(matches) == 1:
            return matches[0]
        if chosen is not None:
            raise self.error(f"has no column {chosen!r} for the {role}; {self._columns_in_words()}")
        remedy = remedy or f"say which it is with {role}="
        if matches:
            several = ", ".join(repr(name) for name in matches)
            raise self.error(f"several columns could be the {role}: {several}; {remedy}")
        raise self.error(f"has no column for the {role}; {self._columns_in_words()}; {remedy}")

    def header(self, asked: Collection[str | None] = ()) -> list[str]:
        """The columns that may be shown: those with usual names, and those the user asked for by name."""
        return [name for name in self.columns if name in asked or _plain(name) in _SHOWABLE]

    def _columns_in_words(self) -> str:
        names = ", ".join(map(repr, self.header()))
        hidden = len(self.columns) - len(self.header())
        if not names:
            return f"its {hidden} columns are not shown here, as they could be names (is the first line a header?)"
        if not hidden:
            return f"its columns are {names}"
        others = "1 other, not shown here as it could be a name"
        if hidden > 1:
            others = f"{hidden} others, not shown here as they could be names"
        return f"its columns are {names} and {others}"

    def matches(self, known: Iterable[str]) -> list[str]:
        """The columns whose names, without case and punctuation, are among the known ones."""
        wanted = {_plain(name) for name in known}
        return [name for name in self.columns if _plain(name) in wanted]


def criteria_columns(table: Table, names: Sequence[str]) -> list[str]:
    """The columns of criteria that were asked for by name, each once."""
    if isinstance(names, str) or len(set(names)) < len(names):
        raise InputError(f"criteria must name different columns, as a list, got {names!r}")
    return [table.find(f"criterion {name!r}", (), name) for name in names]


def is_missing(cell: object) -> bool:
    """Whether a cell holds nothing: an empty cell, a null, or a frame's not-a-number."""
    return (
        cell is None or (isinstance(cell, float) and math.isnan(cell)) or (isinstance(cell, str) and not cell.strip())
    )


def to_number(cell: object) -> float | None:
    """A cell as a number, infinite if it is too large for one; ``None`` if it is none."""
    if isinstance(cell, str):
        return float(cell) if _NUMBER.fullmatch(cell.strip()) else None
    if isinstance(cell, bool) or not isinstance(cell, int | float | Decimal):
        return None
    try:
        return float(cell)
    except OverflowError:
        return math.inf
    except ValueError:  # a signalling not-a-number
        return math.nan


def shown(cell: object) -> str:
    """A cell for a message, if it cannot tell who somebody is: columns may have slipped."""
    if is_missing(cell):
        return "nan" if isinstance(cell, float) else "an empty cell"
    value = to_number(cell)
    if value is None:
        text = cell.strip() if isinstance(cell, str) else ""
        return repr(text) if _NO_VALUE.fullmatch(text) else "text (not shown here, as it could be a name)"
    text = str(cell).strip().removesuffix(".0")
    if sum(map(str.isdigit, text)) > 4 or 1e4 <= abs(value) < math.inf:
        # Longer numbers may be somebody's: an ORCID, a telephone number, an account.
        return "a number (not shown here, as it could stand for somebody)"
    return text


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).lower()


_SHOWABLE = {
    _plain(name) for name in (*PAPER_NAMES, *REVIEWER_NAMES, *SCORE_NAMES, *RATING_NAMES, *NOISY_NAMES, *_OTHER_NAMES)
}
