"""Delimited text, read by the standard csv module, which knows the line on which each record starts."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence

from peerveil.errors import FileError
from peerveil.tables.headings import Wanted
from peerveil.tables.layout import STATED, Record, find_separator
from peerveil.tables.opening import Source
from peerveil.tables.records import read_records
from peerveil.tables.table import Table

# Reviews can be long; a longer cell is an unclosed quote.
_LONGEST_CELL = 2**26

# The limit of Excel.
_MOST_COLUMNS = 2**14


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
