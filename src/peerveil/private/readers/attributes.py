"""Reading of attributes of reviewers: a table with one row per reviewer, joined with the reviews by id."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from peerveil.errors import Argument
from peerveil.private.columns import Attributes
from peerveil.private.readers.identities import plain_id
from peerveil.private.readers.protocol import Choices
from peerveil.tables.headings import REVIEWER_NAMES, REVIEWER_NAMES_ELSE, plain
from peerveil.tables.opening import Readable
from peerveil.tables.reading import read_table
from peerveil.tables.table import BLANKS, Names, Table

# Columns that identify reviewers, which are not kept.
_IDENTITIES = {plain(name) for name in (*REVIEWER_NAMES, *REVIEWER_NAMES_ELSE, "name", "first name", "last name")}

# Errors show so many lines.
_SHOWN = 10


def read_attributes(source: Readable, people: Names, reviews: Table, column: str, choices: Choices) -> Attributes:
    """Return the attributes of all reviewers, in the order of ``people``.

    Reviewers without attributes, and rows of reviewers without reviews, are refused by number and line. ``reviews`` is
    the table of reviews, and ``column`` that of its reviewers, for messages.
    """
    table = read_table(source)
    chosen = choices.reviewer if choices.reviewer in table.header else None
    identity = table.find("reviewer", table.reviewer_names(), chosen, remedy="call it 'reviewer'")
    place = {plain_id(name, merge=choices.merge_names): code for code, name in enumerate(people.values)}
    row_of: dict[int, int] = {}
    strangers = []
    for row, name in enumerate(table.text(identity)):
        code = place.get(plain_id(name, merge=choices.merge_names))
        if code is None:
            strangers.append(row)
        elif row_of.setdefault(code, row) != row:
            where = lines_of(table, [row_of[code]])
            raise table.error(f"the same reviewer is in {where}; one row each is needed", row=row, column=identity)
    if lacking := sorted(set(place.values()) - row_of.keys()):
        rows = np.flatnonzero(np.isin(people.codes, lacking))
        first = rows[np.sort(np.unique(people.codes[rows], return_index=True)[1])]
        raise reviews.error(
            f"{len(lacking)} of {len(place)} reviewers have no row in the table of attributes (reviews in "
            f"{lines_of(reviews, first.tolist())}); add them to it, or merge ids that differ only in case, blanks or "
            "accents (",
            Argument("merge_names", True),
            ")",
            column=column,
        )
    if strangers:
        raise table.error(
            f"{len(strangers)} of {table.rows} rows are of reviewers without a review ({lines_of(table, strangers)}); "
            "remove these rows",
            column=identity,
        )
    names = tuple(name for name in table.header if name != identity and not identifies(name))
    if not names:
        raise table.error("has no columns that describe reviewers besides those that identify them")
    order = [row_of[code] for code in range(len(place))]
    cells = table.cells[order]
    return Attributes(names=names, values=tuple(tuple(cells[name].str.strip_chars(BLANKS).to_list()) for name in names))


def identifies(heading: str) -> bool:
    """Return whether a column of a table of reviewers identifies them.

    >>> identifies("Reviewer"), identifies("Seniority")
    (True, False)
    """
    return plain(heading) in _IDENTITIES


def lines_of(table: Table, rows: Sequence[int]) -> str:
    """Return the lines of some rows, in words."""
    word = "row" if table.kind in ("frame", "parquet") else "line"
    shown = ", ".join(str(table.lines[row]) for row in rows[:_SHOWN])
    more = f" and {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else ""
    return f"{word}{'s' if len(rows) > 1 else ''} {shown}{more}"
