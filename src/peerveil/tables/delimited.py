"""Tables from records: the lines of a delimited text, read by the standard csv module, or the rows of a sheet."""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterator, Sequence
from itertools import chain, islice

import polars as pl

from peerveil.errors import FileError
from peerveil.tables.headings import Wanted
from peerveil.tables.layout import MOST_ABOVE, STATED, Layout, Record, are_headings, find_separator, lay_out
from peerveil.tables.opening import Source
from peerveil.tables.table import Table

# Reviews can be long; a longer cell is an unclosed quote.
_LONGEST_CELL = 2**26

# The limit of Excel.
_MOST_COLUMNS = 2**14

# Records held as Python objects at a time, before polars takes them.
_CHUNK = 2**13


def read_delimited(
    source: Source, delimiter: str | None = None, header: Sequence[str] = (), wanted: Wanted = lambda _: True
) -> Table:
    """Return the table of a CSV or similar file.

    The separator is found by default. ``header`` names the columns of a file without a header.
    """
    separator = delimiter or find_separator(source.text().read(2**16), source.columns)
    records = _records(source, separator)
    kind = "tsv" if separator == "\t" else "csv"
    remedy = f"quote cells that hold {separator!r} or newlines"
    return read_records(source.name, kind, records, header=header, wanted=wanted, asked=source.columns, remedy=remedy)


def _records(source: Source, separator: str) -> Iterator[Record]:
    """Yield the records that are not blank, each with the line it starts on."""
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_CELL))
    reader = csv.reader(_lines(source, separator), delimiter=separator, strict=True)
    line, problem = 1, ""
    try:
        for record in reader:
            if record and (record[0].strip() or any(map(str.strip, record))):
                yield line, record
            line = reader.line_num + 1
    except csv.Error as error:
        problem = f"is not well-formed: {error}"
    if problem:
        raise FileError(problem, file=source.name, line=line)


def _lines(source: Source, separator: str) -> Iterator[str]:
    """Yield the lines of the file; a line with too many cells, which would exhaust memory, is refused."""
    for number, line in enumerate(source.text(), 1):
        if len(line) > _MOST_COLUMNS and line.count(separator) > _MOST_COLUMNS:
            problem = f"has more than {_MOST_COLUMNS} cells in a line; no table has so many"
            raise FileError(problem, file=source.name, line=number)
        yield "\n" if number == 1 and STATED.fullmatch(line.strip(" \"'\r\n")) else line


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
