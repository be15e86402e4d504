"""Tables from records: the lines of a delimited text, or the rows of a sheet."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import chain, islice

import polars as pl

from peerveil.errors import FileError
from peerveil.tables.headings import Wanted
from peerveil.tables.layout import MOST_ABOVE, Layout, Record, are_headings, lay_out
from peerveil.tables.table import Table

# Records held as Python objects at a time, before polars takes them.
_CHUNK = 2**13


def read_records(
    name: str,
    kind: str,
    records: Iterator[Record],
    *,
    header: Sequence[str] = (),
    wanted: Wanted = lambda _: True,
    asked: Sequence[str] = (),
    remedy: str = "",
) -> Table:
    """Return the table of records, of which the first ones hold headings unless ``header`` names the columns.

    ``wanted`` selects columns to read, ``asked`` are those that the user names, and ``remedy`` is advised for a record
    with another number of cells than there are columns.
    """
    head = list(islice(records, 2 * MOST_ABOVE))
    layout = Layout(0, tuple(header)) if header else lay_out(head, asked)
    names = layout.names
    if len(set(names)) < len(names):
        second = next(i for i, column in enumerate(names) if column in names[:i])
        pair = f"columns {names.index(names[second]) + 1} and {second + 1}"
        raise FileError(f"{pair} have the same name; rename one of them", file=name)
    records = chain(head[layout.rows :], records)
    places = {column: place for place, column in enumerate(names) if wanted(column)}
    schema = dict.fromkeys(places, pl.String)
    lines, frames = array("I"), [pl.DataFrame(schema=schema)]
    while chunk := list(islice(records, _CHUNK)):
        for line, cells in chunk:
            if len(cells) < len(names) or any(map(str.strip, cells[len(names) :])):
                problem = f"has {len(cells)} cells where the header has {len(names)}; {remedy}"
                raise FileError(problem, file=name, line=line)
        lines.extend(line for line, _ in chunk)
        columns = {column: [cells[place] for _, cells in chunk] for column, place in places.items()}
        frames.append(pl.DataFrame(columns, schema=schema))
    evident = are_headings(names, [cells for _, cells in head[layout.rows :]])
    return Table(name, kind, names, pl.concat(frames, rechunk=False), lines, layout.notices, evident)
