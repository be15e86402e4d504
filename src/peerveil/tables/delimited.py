"""Text with separators, read many records at a time.

It goes through the standard csv module: it knows the line of each record, whatever newlines its cells hold, and a
malformed file is an ordinary error.
"""

from __future__ import annotations

import csv
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from peerveil.errors import FileError
from peerveil.tables.columns import Growing, Unread
from peerveil.tables.opening import open_text
from peerveil.tables.table import Table, Wanted

# Reviews can be long; a cell beyond this is a quote that was never closed.
_LONGEST_CELL = 2**26


def read_delimited(
    path: Path, name: str, delimiter: str | None = None, header: Sequence[str] = (), wanted: Wanted | None = None
) -> Table:
    """Read a CSV or the like.

    Args:
        path: the file.
        name: what messages call it.
        delimiter: the separator; the most frequent one by default.
        header: the columns of a file that has no header.
        wanted: which columns to keep the cells of; all by default.
    """
    with open_text(path, name) as handle:
        separator = delimiter or separator_of(handle.readline())
    with open_text(path, name) as handle:
        records = _Records(handle, separator, name)
        header = list(header) or [cell.strip() for cell in records.first()]
        size = path.stat().st_size
        columns = [Growing(size) if wanted is None or wanted(cell) else None for cell in header]
        lines: range | array[int] = range(0)
        for start, chunk in records.chunks(len(header)):
            lines = _and_then(lines, start)
            for column, cells in zip(columns, zip(*chunk, strict=True), strict=True):
                if column is not None:
                    column.extend(cells)
    if len(set(header)) < len(header):
        place = next(i for i, cell in enumerate(header) if cell in header[:i])
        raise FileError(f"columns {header.index(header[place]) + 1} and {place + 1} have the same name", file=name)
    kind = "tsv" if separator == "\t" else "csv"
    read = [Unread(len(lines)) if column is None else column.column() for column in columns]
    return Table(name, kind, dict(zip(header, read, strict=True)), lines)


def _and_then(lines: range | array[int], more: Sequence[int]) -> range | array[int]:
    """The lines of more records: a range as long as each stands on the line after the one before."""
    if isinstance(lines, range) and isinstance(more, range) and (not lines or lines.stop == more.start):
        return range(lines.start if lines else more.start, more.stop)
    grown = array("I", lines) if isinstance(lines, range) else lines
    grown.extend(more)
    return grown


def separator_of(line: str) -> str:
    """The separator that is the most frequent in a line.

    >>> separator_of("paper;reviewer;score, overall")
    ';'
    """
    return max(",;\t|", key=line.count)


# No spreadsheet has more.
_MOST_COLUMNS = 2**14

# Few enough records that the garbage collector does not look at them one generation after the other.
_CHUNK = 500


class _Records:
    """The records of a delimited file that are not blank, each with the line it starts on."""

    def __init__(self, handle: Any, separator: str, name: str) -> None:
        csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_CELL))
        self._separator, self._name = separator, name
        self._reader = csv.reader(self._lines(handle), delimiter=separator, strict=True)

    def _lines(self, handle: Iterable[str]) -> Iterator[str]:
        """The lines of the file; one with more cells than any table has would fill the memory."""
        separator, most = self._separator, _MOST_COLUMNS
        for number, line in enumerate(handle, 1):
            if len(line) > most and line.count(separator) > most:
                raise FileError(
                    f"has more than {most} cells in a line; no table has so many", file=self._name, line=number
                )
            yield line

    def first(self) -> list[str]:
        """The first record."""
        while chunk := self._some(1):
            if not _blank(chunk[0]):
                return chunk[0]
        return []

    def chunks(self, width: int) -> Iterator[tuple[Sequence[int], list[list[str]]]]:
        """The other records, many at a time; each must have as many cells as the first."""
        while True:
            line = self._reader.line_num + 1
            chunk = self._some(_CHUNK)
            if not chunk:
                return
            lines: Sequence[int] = range(line, line + len(chunk))
            if self._reader.line_num + 1 - line != len(chunk):  # some records have newlines in their cells
                lines = np.cumsum([line, *map(_height, chunk[:-1])]).tolist()
            usual = set(map(len, chunk)) == {width}
            if not usual or not all(map(str.strip, map(itemgetter(0), chunk))):  # some may be blank
                lines = [line for line, record in zip(lines, chunk, strict=True) if not _blank(record)]
                chunk = [record for record in chunk if not _blank(record)]
            if not usual and any(len(record) != width for record in chunk):
                place = next(i for i, record in enumerate(chunk) if len(record) != width)
                raise FileError(
                    f"has {len(chunk[place])} cells where the header has {width}; quote cells that hold "
                    f"{self._separator!r} or newlines",
                    file=self._name,
                    line=lines[place],
                )
            if chunk:
                yield lines, chunk

    def _some(self, count: int) -> list[list[str]]:
        line, problem = self._reader.line_num + 1, ""
        chunk: list[list[str]] = []
        try:
            chunk.extend(islice(self._reader, count))  # an error leaves those before it
        except csv.Error as error:
            problem = f"is not well-formed: {error}"
        if problem:
            raise FileError(problem, file=self._name, line=line + sum(map(_height, chunk)))
        return chunk


def _blank(record: list[str]) -> bool:
    return not record or (not record[0].strip() and not any(map(str.strip, record)))


def _height(record: list[str]) -> int:
    """On how many lines a record stands."""
    return 1 + sum(len(_NEWLINE.findall(cell)) for cell in record)


_NEWLINE = re.compile("\r\n|\r|\n")
