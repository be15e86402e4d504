"""Tables: columns of cells, each with the line it stands on, that never show what could be a name."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from peerveil.errors import Argument, FileError, InputError, Part
from peerveil.tables.columns import Cells, Coded, scratch

#: The names that columns usually go by, compared without case and punctuation.
PAPER_NAMES = ("paper", "paper id", "submission", "submission id", "submission number")
REVIEWER_NAMES = ("reviewer", "reviewer id", "email", "reviewer email")
#: Taken only where none of the above is there: people are better told by an id or an address than by a name.
REVIEWER_NAMES_ELSE = ("reviewer name", "reviewer full name", "referee", "referee name")
SCORE_NAMES = ("score", "rating", "overall", "overall score", "overall rating", "recommendation")
RATING_NAMES = ("ratings", "rating", "scores", "score", "overall", "overall score", "overall rating")
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

# Nobody writes a longer number, or column name; what is longer is not worth the time to look at.
_LONGEST_NUMBER = 1000
_LONGEST_NAME = 200

# Other programs take it for the end of a text, and databases refuse it.
_NUL = "\0"

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_NO_VALUE = re.compile(r"[+-]?(nan|inf|infinity|n/?a|none|null)", re.IGNORECASE)


#: Which columns of a table to keep the cells of, by their names.
Wanted = Callable[[str], bool]

Kind = TypeVar("Kind")

# Cells that repeat are translated once, as long as they are this few.
_FEW = 2**12


@dataclass(frozen=True)
class Table:
    """Columns of equal length, where they came from, and the line of each row.

    Attributes:
        name: the file's name, or what the frame is called in messages.
        kind: the format that was read.
        columns: cells by column name; text, numbers or ``None``. Some may be there by name only.
        lines: the line each row starts on; empty for formats without lines, whose rows are counted instead.
    """

    name: str
    kind: str
    columns: dict[str, Cells]
    lines: Sequence[int] = field(default=())

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values()), []))

    def error(self, *parts: Part, row: int | None = None, column: str | None = None) -> FileError:
        """An error that points at a place in this table."""
        return FileError(*parts, file=self.name, line=None if row is None else self.line(row), column=column)

    def line(self, row: int) -> int:
        """The line of a row, or its number where there are no lines."""
        return self.lines[row] if len(self.lines) else row + 1

    def names(self, column: str) -> Coded:
        """The cells of a column as text without surrounding blanks, each different one once; no cell may be empty."""
        cells = self.columns[column]
        refuse = self._no_name(column)
        if isinstance(cells, Coded):
            used = cells.used()
            names = Coded.of(self._of_used(cells, used, _name, refuse), used.size)
            place = np.zeros(len(cells.values), dtype=np.uint32)
            place[used] = names.numbers()
            codes = scratch(len(cells))
            np.take(place, cells.numbers(), out=codes)
            names = Coded(names.values, codes)
        else:
            names = Coded.of(self._translated(cells, _name, refuse), len(cells))
        self.columns[column] = names  # what was there may be large
        return names

    def text(self, column: str) -> list[str]:
        """The cells of a column as text without surrounding blanks; an empty cell is an error."""
        return list(self.names(column))

    def _no_name(self, column: str) -> Callable[[object, int], FileError]:
        def refuse(cell: object, row: int) -> FileError:
            problem = "the cell is empty; every review needs one"
            if isinstance(cell, str) and _NUL in cell:
                problem = (
                    "the cell holds a NUL character (code 0), which no id has; export the file anew, or take it out"
                )
            elif not is_missing(cell):
                problem = "the cell holds half a character; save the file as UTF-8"
            return self.error(problem, row=row, column=column)

        return refuse

    def numbers(
        self,
        column: str,
        value: Callable[[object], float | None] | None = None,
        *,
        gaps: Callable[[object], bool] | None = None,
        remedy: tuple[Part, ...] = (),
    ) -> npt.NDArray[np.float64]:
        """The cells of a column as finite numbers; anything else is an error.

        Args:
            column: the column.
            value: what a cell is worth, ``None`` if nothing; numbers by default.
            gaps: which cells are empty; they become NaN. By default none may be.
            remedy: what to do about a cell that is worth nothing.
        """
        read = value or to_number

        def translate(cell: object) -> float | None:
            return math.nan if gaps is not None and gaps(cell) else _usable(read(cell))

        def refuse(cell: object, row: int) -> FileError:
            return self._no_number(cell, read(cell), row, column, remedy)

        cells = self.columns[column]
        if not isinstance(cells, Coded):
            return np.fromiter(self._translated(cells, translate, refuse), dtype=np.float64, count=len(cells))
        used = cells.used()
        worth = np.zeros(len(cells.values))
        worth[used] = self._of_used(cells, used, translate, refuse)
        return worth[cells.numbers()]

    @staticmethod
    def _of_used(
        cells: Coded,
        used: npt.NDArray[np.intp],
        translate: Callable[[Any], Kind | None],
        refuse: Callable[[Any, int], FileError],
    ) -> list[Kind]:
        """The cells that occur, translated; the first row whose cell cannot be is refused."""
        found = [translate(cells.values[place]) for place in used.tolist()]
        translated = [value for value in found if value is not None]
        if len(translated) < len(found):
            row = cells.row_of(place for place, value in zip(used.tolist(), found, strict=True) if value is None)
            raise refuse(cells[row], row)
        return translated

    @staticmethod
    def _translated(
        cells: Cells, translate: Callable[[Any], Kind | None], refuse: Callable[[Any, int], FileError]
    ) -> Iterator[Kind]:
        """Cells, translated; the first that cannot be is refused."""
        memo: dict[Any, Kind] = {}
        for row, cell in enumerate(cells):
            key = type(cell), cell  # equal cells of different types are different: True is no 1
            found = memo.get(key)
            if found is None:
                found = translate(cell)
                if found is None:
                    raise refuse(cell, row)
                if len(memo) < _FEW:
                    memo[key] = found
            yield found

    def number(
        self, cell: object, *, row: int, column: str, value: Callable[[object], float | None] | None = None
    ) -> float:
        """One cell as a finite number."""
        found = (value or to_number)(cell)
        usable = _usable(found)
        if usable is None:
            raise self._no_number(cell, found, row, column)
        return usable

    def _no_number(
        self, cell: object, found: float | None, row: int, column: str, remedy: tuple[Part, ...] = ()
    ) -> FileError:
        if found is None:
            usual = "is not a number; give the score as a number, or leave the whole paper out before loads are counted"
            problem = remedy or (usual,)
        elif not math.isfinite(found):
            problem = ("is not a finite number",)
        else:
            problem = (f"is too large, above {LARGEST:g}",)
        return self.error(f"{shown(cell)} ", *problem, row=row, column=column)

    def find(self, role: str, known: Iterable[str], chosen: str | None = None, *, remedy: str | None = None) -> str:
        """The column for a role: the one chosen, or the only one with a known name."""
        matches = self.matches(known) if chosen is None else [chosen] * (chosen in self.columns)
        if len(matches) == 1:
            return matches[0]
        if chosen is not None:
            raise self.error(f"has no column {chosen!r} for the {role}; {self._columns_in_words()}")
        way = (remedy,) if remedy else ("say which it is with ", Argument(role, ...))
        if matches:
            several = ", ".join(repr(name) for name in matches)
            raise self.error(f"several columns could be the {role}: {several}; ", *way)
        raise self.error(f"has no column for the {role}; {self._columns_in_words()}; ", *way)

    def header(self, asked: Collection[str | None] = ()) -> list[str]:
        """The columns that may be shown: those with usual names, and those the user asked for by name."""
        return [name for name in self.columns if name in asked or plain(name) in SHOWABLE]

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

    def reviewer_names(self) -> tuple[str, ...]:
        """The names by which to look for the column of reviewers here."""
        return REVIEWER_NAMES if self.matches(REVIEWER_NAMES) else REVIEWER_NAMES_ELSE

    def matches(self, known: Iterable[str]) -> list[str]:
        """The columns whose names, without case and punctuation, are among the known ones."""
        wanted = {plain(name) for name in known}
        return [name for name in self.columns if plain(name) in wanted]


def _name(cell: object) -> str | None:
    """A cell as a name; ``None`` if it is empty, or holds half a character or NUL, which other programs stumble on."""
    text = cell.strip() if isinstance(cell, str) else "" if is_missing(cell) else str(cell).strip()
    if _NUL in text:
        return None
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        return None
    return text or None


def _usable(value: float | None) -> float | None:
    return value if value is not None and abs(value) <= LARGEST else None


def criteria_columns(table: Table, names: Sequence[str]) -> list[str]:
    """The columns of criteria that were asked for by name, each once."""
    return [table.find(f"criterion {name!r}", (), name) for name in check_names(names)]


def check_names(criteria: Sequence[str]) -> tuple[str, ...]:
    """The names of criteria; refused if they are not a list, or one comes twice."""
    if (
        isinstance(criteria, str)
        or not all(isinstance(name, str) for name in criteria)
        or len(set(criteria)) < len(criteria)
    ):
        raise InputError(Argument("criteria"), f" must name different columns, as a list, got {criteria!r}")
    return tuple(criteria)


def wanted_columns(usual: Iterable[str], *asked: str | None) -> Wanted:
    """Which columns to read: those asked for by name, and those with usual names.

    >>> wanted = wanted_columns(PAPER_NAMES, "who")
    >>> [name for name in ("Paper ID", "who", "comments") if wanted(name)]
    ['Paper ID', 'who']
    """
    known = {plain(name) for name in usual}
    return lambda name: name in asked or plain(name) in known


def field_called(name: str, fields: Collection[str]) -> str | None:
    """The field of a form that goes by a name: just so, or else but for case and punctuation.

    >>> field_called("soundness", ["Soundness", "clarity"])
    'Soundness'
    """
    if name in fields:
        return name
    wanted = plain(name)
    return next((field for field in fields if plain(field) == wanted), None)


def is_missing(cell: object) -> bool:
    """Whether a cell holds nothing: an empty cell, a null, or a frame's not-a-number."""
    return (
        cell is None or (isinstance(cell, float) and math.isnan(cell)) or (isinstance(cell, str) and not cell.strip())
    )


def to_number(cell: object) -> float | None:
    """A cell as a number, infinite if it is too large for one; ``None`` if it is none."""
    if isinstance(cell, str):
        return float(cell) if len(cell) <= _LONGEST_NUMBER and _NUMBER.fullmatch(cell.strip()) else None
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


def plain(name: str) -> str:
    """A column's name without case and punctuation."""
    if len(name) > _LONGEST_NAME:
        return name
    return re.sub(r"[\W_]+", "", name).lower()


#: Names of columns, as `plain` gives them, that stand for nobody and may be shown.
SHOWABLE = {
    plain(name)
    for name in (
        *PAPER_NAMES,
        *REVIEWER_NAMES,
        *REVIEWER_NAMES_ELSE,
        *SCORE_NAMES,
        *RATING_NAMES,
        *NOISY_NAMES,
        *_OTHER_NAMES,
    )
}
