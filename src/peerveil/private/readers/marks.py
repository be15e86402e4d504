"""Marks of rows that are no reviews by people: metareviews, and reviews by bots. They are never read as reviews."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from peerveil.private.readers.gathering import BOTS, METAREVIEWS
from peerveil.tables.cells import is_marked
from peerveil.tables.headings import plain
from peerveil.tables.table import Table, apply

#: Whether a cell marks a row.
Marked = Callable[[str], bool]


def _is_metareview(cell: str) -> bool:
    return plain(cell) in ("metareview", "metareviews", "metareviewer")


def _is_meta(cell: str) -> bool:
    return plain(cell) == "meta"


# Of what is called a type or kind, "meta" may be a type of papers.
_UNCLEAR = ("type", "kind")
_MARKS: dict[str, tuple[str, Marked]] = {
    **dict.fromkeys(("is meta review", "meta review", "is meta"), (METAREVIEWS, is_marked)),
    **dict.fromkeys(("reviewer bot", "is bot", "bot"), (BOTS, is_marked)),
    **dict.fromkeys(("review type", "rtype"), (METAREVIEWS, lambda cell: _is_metareview(cell) or _is_meta(cell))),
    **dict.fromkeys(_UNCLEAR, (METAREVIEWS, _is_metareview)),
}

#: Names of the columns that mark rows.
MARKS = tuple(_MARKS)


def reasons_by_mark(table: Table, reasons: pl.Series | None = None) -> pl.Series:
    """Return the reason for leaving out each row: the one given, or what a column marks it as; empty for reviews."""
    reasons = pl.repeat("", table.rows, eager=True) if reasons is None else reasons
    for name, (why, marked) in _MARKS.items():
        for column in table.matches((name,)):
            gone = (reasons == "") & apply(marked, table.cells[column], pl.Boolean)
            reasons = pl.select(pl.when(gone).then(pl.lit(why)).otherwise(reasons)).to_series()
    return reasons


def unclear_types(table: Table, filtered: tuple[str, ...]) -> list[str]:
    """Return a warning for each column by which rows may be metareviews, unless a filter is on it."""
    problems = []
    for column in table.matches(_UNCLEAR):
        meta = table.cells[column].filter(apply(_is_meta, table.cells[column], pl.Boolean)).str.strip_chars()
        if len(meta) and plain(column) not in map(plain, filtered):
            problems.append(
                f"{len(meta)} of {table.rows} rows may be metareviews, as their {column!r} is {meta[0]!r}: if they "
                "are, remove them from the file"
            )
    return problems
