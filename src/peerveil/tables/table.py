"""Tables as columns of text in polars, with the line of each row.

A missing cell is an empty text. Errors name file, line and column, and never show a cell that could be a name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from peerveil.errors import Argument, FileError, Part
from peerveil.tables.cells import LARGEST, UNUSABLE, shown, to_number, usable
from peerveil.tables.headings import (
    REVIEWER_NAMES,
    REVIEWER_NAMES_ELSE,
    SCORE_NAMES,
    SCORE_NAMES_ELSE,
    SHOWABLE,
    check_names,
    field_called,
    plain,
)
from peerveil.tables.layout import are_headings

#: The characters that Python takes for blanks; polars has others.
BLANKS = "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
# Some programs end a text at NUL, and databases refuse it.
_NUL = "\0"
_WITH_NUL = "the cell holds a NUL character (code 0), which no id has; export the file anew, or take it out"
_NO_NAME = {"": "the cell is empty; every review needs one", **UNUSABLE}
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
#: Bad cells that an error lists.
MOST_SHOWN = 10

_NO_NUMBER = "is not a number; give the score as a number, or leave the whole paper out before loads are counted"


def unusable_lines(listed: Sequence[str], lines: int) -> tuple[str, ...]:
    """Return the end of an error about the first of several bad lines, which lists up to ten; nothing for one line.

    >>> unusable_lines(["line 3 ('score')", "line 9 ('score')"], 2)
    (". In all, 2 lines cannot be used: line 3 ('score'), line 9 ('score')",)
    """
    if lines == 1:
        return ()
    left = f" and {lines - MOST_SHOWN} more lines" if lines > MOST_SHOWN else ""
    return (f". In all, {lines} lines cannot be used: {', '.join(listed[:MOST_SHOWN])}{left}",)


@dataclass(frozen=True, eq=False)
class Names:
    """The sorted distinct names of a column (``values``), and the index of each row's name in them (``codes``).

    >>> names = Names.of(["b", "a", "b"])
    >>> names.values, names.codes.tolist()
    (('a', 'b'), [1, 0, 1])
    """

    values: tuple[str, ...]
    codes: npt.NDArray[np.uint32]

    @classmethod
    def of(cls, names: Sequence[str]) -> Names:
        """Return the names of all rows."""
        values = tuple(sorted(set(names)))
        place = {name: code for code, name in enumerate(values)}
        return cls(values, np.fromiter(map(place.__getitem__, names), dtype=np.uint32, count=len(names)))


@dataclass(frozen=True, eq=False, repr=False)
class BadCells:
    """The rows of a column whose cells cannot be used, what they hold in a word or two, and what is wrong with them."""

    column: str
    rows: pl.Series
    brief: Callable[[int], str]
    problem: Callable[[int], tuple[Part, ...]]


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Columns of text, with the line on which each row starts.

    Attributes:
        name: the name of the file or frame in messages.
        kind: the format that was read.
        header: the names of all columns of the file, including those that were not read.
        cells: the columns that were read; a missing cell is an empty text.
        lines: the line of each row, or its number from 1 in formats without lines.
        notices: what was skipped or joined on reading.
        evident: whether the header evidently holds headings and no names, so that messages may show all of it.
    """

    name: str
    kind: str
    header: tuple[str, ...]
    cells: pl.DataFrame
    lines: Sequence[int]
    notices: tuple[str, ...] = ()
    evident: bool = False

    @classmethod
    def of(
        cls,
        name: str,
        kind: str,
        columns: Mapping[str, Sequence[str] | pl.Series],
        lines: Sequence[int],
        header: tuple[str, ...] = (),
    ) -> Table:
        """Return a table of columns of text, whose names are the header by default."""
        named = header or tuple(columns)
        table = cls(name, kind, named, pl.DataFrame(), lines, evident=are_headings(named))
        for column, texts in columns.items():
            for row, text in enumerate(() if isinstance(texts, pl.Series) else texts):
                if not text.isascii() and _HALF_CHARACTER.search(text):
                    raise table.error("the cell holds half a character; save the file as UTF-8", row=row, column=column)
        return replace(table, cells=pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)))

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.lines)

    def error(self, *parts: Part, row: int | None = None, column: str | None = None) -> FileError:
        """Return an error that names a place in this table."""
        return FileError(*parts, file=self.name, line=None if row is None else self.lines[row], column=column)

    def where(self, kept: pl.Series) -> Table:
        """Return the table of those rows for which ``kept`` is true."""
        lines = [line for line, keep in zip(self.lines, kept, strict=True) if keep]
        return replace(self, cells=self.cells.filter(kept), lines=lines)

    def mapped(self, column: str, function: Callable[[str], str]) -> Table:
        """Return the table with a function applied to every cell of a column."""
        return replace(self, cells=self.cells.with_columns(apply(function, self.cells[column])))

    def names(self, column: str) -> Names:
        """Return the cells of a column as names without surrounding blanks; no cell may be empty."""
        names = self._checked_names(column)
        values = names.unique().sort()
        return Names(tuple(values), values.search_sorted(names).to_numpy())

    def text(self, column: str) -> list[str]:
        """Return the cells of a column without surrounding blanks; no cell may be empty."""
        return self._checked_names(column).to_list()

    def bad_names(self, column: str) -> BadCells:
        """Return the cells of a column that are no names: empty ones, those with NUL, and formulas without a value."""
        names = self._names(column)
        rows = (names.str.contains(_NUL, literal=True) | names.is_in(["", *UNUSABLE])).arg_true()
        return BadCells(
            column,
            rows,
            lambda row: "empty" if not names[row] else "not a name",
            lambda row: (_NO_NAME.get(names[row], _WITH_NUL),),
        )

    def _names(self, column: str) -> pl.Series:
        return self.cells[column].str.strip_chars(BLANKS)

    def _checked_names(self, column: str) -> pl.Series:
        self.check([self.bad_names(column)])
        return self._names(column)

    def check(self, bad: Iterable[BadCells]) -> None:
        """Raise an error for all bad cells, which names the first of them and the lines of the next."""
        bad = [cells for cells in bad if len(cells.rows)]
        if not bad:
            return
        places = [(row, cells) for cells in bad for row in cells.rows[:MOST_SHOWN]]
        places.sort(key=lambda place: place[0])
        lines = len({row for cells in bad for row in cells.rows})
        row, cells = places[0]
        listed = [f"line {self.lines[row]} ({cells.column!r}: {cells.brief(row)})" for row, cells in places]
        raise self.error(*cells.problem(row), *unusable_lines(listed, lines), row=row, column=cells.column)

    def numbers(
        self,
        column: str,
        value: Callable[[str], float | None] = to_number,
        *,
        gaps: Callable[[str], bool] = lambda _: False,
        remedy: tuple[Part, ...] = (_NO_NUMBER,),
    ) -> npt.NDArray[np.float64]:
        """Return the cells of a column as finite numbers; any other cell is an error, for which ``remedy`` is advised.

        ``value`` parses a cell and returns ``None`` if it cannot. Cells for which ``gaps`` holds become NaN.
        """
        values, bad = self.parsed(column, value, gaps=gaps, remedy=remedy)
        self.check([bad])
        return values

    def parsed(
        self,
        column: str,
        value: Callable[[str], float | None] = to_number,
        *,
        gaps: Callable[[str], bool] = lambda _: False,
        remedy: tuple[Part, ...] = (_NO_NUMBER,),
    ) -> tuple[npt.NDArray[np.float64], BadCells]:
        """Return the cells of a column as numbers, and those that are none, which are NaN."""
        cells = self.cells[column]
        bad: set[str] = set()

        def parsed(cell: str) -> float:
            if gaps(cell):
                return math.nan
            number = value(cell)
            if number is None or not usable(number):
                bad.add(cell)
                return math.nan
            return number

        values = apply(parsed, cells, pl.Float64).to_numpy()
        rows = cells.is_in(list(bad)).arg_true()

        def problem(row: int) -> tuple[Part, ...]:
            return _problem(cells[row], value(cells[row]), remedy)

        return values, BadCells(column, rows, lambda row: shown(cells[row]).partition(" (")[0], problem)

    def number(
        self,
        cell: str,
        *,
        row: int,
        column: str,
        value: Callable[[str], float | None] = to_number,
        remedy: tuple[Part, ...] = (_NO_NUMBER,),
    ) -> float:
        """Return one cell as a finite number."""
        number = value(cell)
        if number is None or not usable(number):
            raise self.error(*_problem(cell, number, remedy), row=row, column=column)
        return number

    def find(
        self,
        role: str,
        known: Iterable[str],
        chosen: str | None = None,
        *,
        remedy: str | None = None,
        named: Argument | None = None,
    ) -> str:
        """Return the column for a role: the one chosen, or the only one with a known name.

        ``named`` is the argument to be named if the chosen column does not exist; by default that of the role.
        """
        matches = self.matches(known) if chosen is None else [chosen] * (chosen in self.header)
        if len(matches) == 1:
            return matches[0]
        if chosen is not None:
            if named is None and remedy is None:
                named = Argument("criteria" if role.startswith("criterion ") else role)
            where: tuple[Part, ...] = () if named is None else (" (", named, ")")
            raise self.error(f"has no column {chosen!r} for the {role}", *where, f"; {self._columns_in_words()}")
        way = (remedy,) if remedy else ("say which it is with ", Argument(role, ...))
        if matches:
            raise self.error(f"several columns could be the {role}: {', '.join(map(repr, matches))}; ", *way)
        raise self.error(f"has no column for the {role}; {self._columns_in_words()}; ", *way)

    def find_criteria(self, names: Sequence[str]) -> list[str]:
        """Return the columns of criteria with these names."""
        return [self.find(f"criterion {name!r}", (), name) for name in check_names(names)]

    def find_labels(self, named: Mapping[str, Argument]) -> dict[str, str]:
        """Return the columns of filters, up to case and punctuation, by the names that the filters have for them.

        ``named`` holds these names, each with the argument that states it.
        """
        return {
            name: self.find("filter", (), field_called(name, self.header) or name, named=argument)
            for name, argument in named.items()
        }

    def matches(self, known: Iterable[str]) -> list[str]:
        """Return the columns whose names, up to case and punctuation, are among the known ones."""
        wanted = {plain(name) for name in known}
        return [name for name in self.header if plain(name) in wanted]

    def reviewer_names(self) -> tuple[str, ...]:
        """Return the names to match when looking for the column of reviewers."""
        return REVIEWER_NAMES if self.matches(REVIEWER_NAMES) else REVIEWER_NAMES_ELSE

    def score_names(self) -> tuple[str, ...]:
        """Return the names to match when looking for the column of scores."""
        return SCORE_NAMES if self.matches(SCORE_NAMES) else SCORE_NAMES_ELSE

    def showable(self, asked: Collection[str | None] = ()) -> list[str]:
        """Return the names of columns that messages may show: all headings, or usual ones and those the user named."""
        return [name for name in self.header if self.evident or name in asked or plain(name) in SHOWABLE]

    def _columns_in_words(self) -> str:
        names = ", ".join(map(repr, self.showable()))
        hidden = len(self.header) - len(self.showable())
        if not names:
            return f"its {hidden} columns are not shown here, as they could be names (is the first line a header?)"
        if not hidden:
            return f"its columns are {names}"
        others = "1 other, not shown here as it could be a name"
        several = f"{hidden} others, not shown here as they could be names"
        return f"its columns are {names} and {others if hidden == 1 else several}"


def _problem(cell: str, number: float | None, remedy: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return what is wrong with a cell that is not a usable number."""
    if cell in UNUSABLE:
        return (UNUSABLE[cell],)
    if number is None:
        return f"{shown(cell)} ", *remedy
    what = f"is too large, above {LARGEST:g}" if math.isfinite(number) else "is not a finite number"
    return (f"{shown(cell)} {what}",)


def apply(function: Callable[[str], object], cells: pl.Series, dtype: type[pl.DataType] = pl.String) -> pl.Series:
    """Return a function of each cell; it is called once per distinct cell, in order of occurrence."""
    distinct = cells.unique(maintain_order=True)
    values = pl.Series([function(cell) for cell in distinct], dtype=dtype)
    return cells.replace_strict(distinct, values, return_dtype=dtype)
