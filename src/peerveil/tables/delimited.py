"""Delimited text, read by the standard csv module, which knows the line on which each record starts."""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterator, Sequence
from itertools import islice

import polars as pl

from peerveil.errors import FileError
from peerveil.tables.headings import Wanted
from peerveil.tables.opening import Source
from peerveil.tables.sniffing import separator_of
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

    The most frequent separator is used by default. ``header`` names the columns of a file without a header.
    """
    separator = delimiter or separator_of(source.text().readline())
    records = _records(source, separator)
    names = list(header) or [cell.strip() for cell in next(records, (1, []))[1]]
    if len(set(names)) < len(names):
        second = next(i for i, name in enumerate(names) if name in names[:i])
        pair = f"columns {names.index(names[second]) + 1} and {second + 1}"
        raise FileError(f"{pair} have the same name", file=source.name)
    places = {name: place for place, name in enumerate(names) if wanted(name)}
    schema = dict.fromkeys(places, pl.String)
    lines, frames = array("I"), [pl.DataFrame(schema=schema)]
    while chunk := list(islice(records, _CHUNK)):
        for line, record in chunk:
            if len(record) != len(names):
                problem = f"has {len(record)} cells where the header has {len(names)}; quote cells that hold "
                raise FileError(f"{problem}{separator!r} or newlines", file=source.name, line=line)
        lines.extend(line for line, _ in chunk)
        cells = {name: [record[place] for _, record in chunk] for name, place in places.items()}
        frames.append(pl.DataFrame(cells, schema=schema))
    kind = "tsv" if separator == "\t" else "csv"
    return Table(source.name, kind, tuple(names), pl.concat(frames, rechunk=False), lines)


def _records(source: Source, separator: str) -> Iterator[tuple[int, list[str]]]:
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
        yield line
