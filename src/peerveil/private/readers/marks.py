"""Marks of rows that are no reviews by people: metareviews, and reviews by bots."""

from __future__ import annotations

import polars as pl

from peerveil.private.readers.gathering import BOTS, METAREVIEWS
from peerveil.tables.cells import is_marked
from peerveil.tables.headings import plain
from peerveil.tables.table import Table, apply

_REASONS = {
    **dict.fromkeys(("is meta review", "meta review", "is meta"), METAREVIEWS),
    **dict.fromkeys(("reviewer bot", "is bot", "bot"), BOTS),
}

#: Names of columns that mark such rows with yes or no.
MARKS = tuple(_REASONS)

#: Names of columns that may hold the type of a review, and the types of metareviews.
TYPES = ("type", "review type", "kind", "rtype")
_META = ("meta", "metareview", "metareviewer", "metareviews")


def with_marks(table: Table, reasons: pl.Series | None = None) -> pl.Series:
    """Return the reason for leaving out each row: the one given, or else what a column marks it as; empty for reviews.

    Only columns with the names in :data:`MARKS` are used.
    """
    reasons = pl.repeat("", table.rows, eager=True) if reasons is None else reasons
    for name, why in _REASONS.items():
        for column in table.matches((name,)):
            marked = apply(is_marked, table.cells[column], pl.Boolean)
            reasons = pl.select(pl.when((reasons == "") & marked).then(pl.lit(why)).otherwise(reasons)).to_series()
    return reasons


def typed_metareviews(table: Table, filtered: tuple[str, ...]) -> list[str]:
    """Return a warning for each column of types, other than those of filters, by which rows are metareviews."""
    problems = []
    for column in table.matches(TYPES):
        cells = table.cells[column]
        meta = {cell.strip() for cell in cells.unique() if plain(cell) in _META}
        if meta and plain(column) not in map(plain, filtered):
            count = cells.str.strip_chars().is_in(sorted(meta)).sum()
            advice = " ".join(f"--leave-out '{column}={value}'" for value in sorted(meta))
            problems.append(
                f"{count} of {table.rows} rows are metareviews by their {column!r}; leave them out ({advice}), or "
                "remove them from the file"
            )
    return problems
