"""Tables from files and frames, every cell with the line it stands on.

Text goes through the standard csv module: it knows the line of each record, whatever newlines its cells hold, and a
malformed file is an ordinary error.
"""

from __future__ import annotations

import csv
import json
import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from peerveil.errors import FileError

#: Anything a table can be read from: a path, or a polars, pandas or other eager frame.
Source = str | os.PathLike[str] | Any

FORMATS = ("csv", "tsv", "parquet", "jsonl")

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")

# A cell that is not a number is shown only if it cannot be a name: columns may have slipped.
_HARMLESS = re.compile(r"[\d\s.,:;/+-]{0,20}|[+-]?(nan|inf|infinity|n/?a|none|null)", re.IGNORECASE)


@dataclass(frozen=True)
class Table:
    """Columns of equal length, where they came from, and the line of each row.

    Attributes:
        name: the file's name, or what the frame is called in messages.
        kind: the format that was read.
        columns: cells by column name; text, numbers or ``None``.
        lines: the line each row starts on; empty for formats without lines, whose rows are counted instead.
    """

    name: str
    kind: str
    columns: dict[str, list[Any]]
    lines: Sequence[int] = field(default=())

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values()), []))

    def error(self, message: str, *, row: int | None = None, column: str | None = None) -> FileError:
        """An error that points at a place in this table."""
        line = None if row is None else self.lines[row] if self.lines else row + 1
        return FileError(message, file=self.name, line=line, column=column)

    def text(self, column: str) -> list[str]:
        """The cells of a column as text without surrounding blanks; an empty cell is an error."""
        memo: dict[Any, str] = {}
        cells: list[str] = []
        for row, cell in enumerate(self.columns[column]):
            text = memo.get(cell) if isinstance(cell, str | int) else None
            if text is None:
                text = "" if is_missing(cell) else str(cell).strip()
                if not text:
                    raise self.error("the cell is empty; every review needs one", row=row, column=column)
                memo[cell] = text
            cells.append(text)
        return cells

    def numbers(self, column: str) -> npt.NDArray[np.float64]:
        """The cells of a column as finite numbers; anything else is an error."""
        memo: dict[Any, float] = {}
        values = np.empty(self.rows)
        for row, cell in enumerate(self.columns[column]):
            if cell not in memo:
                memo[cell] = self.number(cell, row=row, column=column)
            values[row] = memo[cell]
        return values

    def number(self, cell: object, *, row: int, column: str) -> float:
        """One cell as a finite number."""
        numeric = isinstance(cell, int | float) and not isinstance(cell, bool)
        if not numeric and not (isinstance(cell, str) and _NUMBER.fullmatch(cell.strip())):
            raise self.error(
                f"{_shown(cell)} is not a number; give the score as a number, or leave the whole paper out "
                "before loads are counted",
                row=row,
                column=column,
            )
        value = float(cell)  # type: ignore[arg-type]
        if not np.isfinite(value):
            raise self.error(f"{_shown(cell)} is not a finite number", row=row, column=column)
        return value

    def find(self, role: str, known: Iterable[str], chosen: str | None = None) -> str:
        """The column for a role: the one chosen, or the only one with a known name."""
        matches = self.matches(known) if chosen is None else [chosen] * (chosen in self.columns)
        if len(matches) == 1:
            return matches[0]
        names = ", ".join(map(repr, self.header())) or "not shown: the first line looks like data, not like a header"
        if chosen is not None:
            raise self.error(f"has no column {chosen!r} for the {role}; its columns are {names}")
        if matches:
            several = ", ".join(repr(name) for name in matches)
            raise self.error(f"several columns could be the {role}: {several}; say which with {role}=")
        raise self.error(f"has no column for the {role}; its columns are {names}; say which it is with {role}=")

    def header(self) -> list[str]:
        """The names of the columns; none if they look like data, as they then may be somebody's name."""
        suspect = any("@" in name or _NUMBER.fullmatch(name) for name in self.columns)
        return [] if suspect and self.kind in ("csv", "tsv") else list(self.columns)

    def matches(self, known: Iterable[str]) -> list[str]:
        """The columns whose names, without case and punctuation, are among the known ones."""
        wanted = {_plain(name) for name in known}
        return [name for name in self.columns if _plain(name) in wanted]


def read_table(source: Source, *, format: str | None = None) -> Table:  # noqa: A002 - the name users know
    """Read a table from a CSV, TSV, Parquet or JSON lines file, or from a frame.

    Args:
        source: a path, or a polars or pandas frame.
        format: one of ``"csv"``, ``"tsv"``, ``"parquet"``, ``"jsonl"``; found from the content by default.
    """
    if not isinstance(source, str | os.PathLike):
        return _from_frame(source)
    path = Path(source)
    name = str(path)
    if format is not None and format not in FORMATS:
        raise FileError(f"format must be one of {', '.join(FORMATS)}, got {format!r}", file=name)
    try:
        with path.open("rb") as handle:
            head = handle.read(4096)
        if not head.strip(b"\xef\xbb\xbf \t\r\n"):
            raise FileError("is empty", file=name)
        table = _READERS[format or _detect(head)](path, name)
    except OSError as error:
        raise FileError(f"cannot be read: {error.strerror}", file=name) from None
    except UnicodeDecodeError:
        raise FileError("is not UTF-8 text; save it as UTF-8", file=name) from None
    if not table.rows:
        raise table.error("has no rows below its header")
    return table


def is_missing(cell: object) -> bool:
    """Whether a cell holds nothing: an empty cell, a null, or a frame's not-a-number."""
    return (
        cell is None or (isinstance(cell, float) and math.isnan(cell)) or (isinstance(cell, str) and not cell.strip())
    )


def _detect(head: bytes) -> str:
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return "jsonl"
    return "csv"


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).lower()


def _shown(cell: object) -> str:
    if is_missing(cell):
        return "an empty cell" if not isinstance(cell, float) else "nan"
    if isinstance(cell, int | float):
        return f"{cell}"
    if isinstance(cell, str) and _HARMLESS.fullmatch(cell.strip()):
        return repr(cell.strip())
    return "text (not shown here, as it could be a name)"


def _read_delimited(path: Path, name: str, delimiter: str | None = None) -> Table:
    with path.open(encoding="utf-8-sig", newline="") as handle:
        first = handle.readline()
        handle.seek(0)
        separator = delimiter or max(",;\t|", key=first.count)
        reader = csv.reader(handle, delimiter=separator, strict=True)
        header: list[str] = []
        columns: list[list[str]] = []
        lines: list[int] = []
        memo: dict[str, str] = {}  # cells repeat: keep one copy of each
        for line, record in _records(reader, name):
            if not header:
                header = [cell.strip() for cell in record]
                columns = [[] for _ in header]
                continue
            if len(record) != len(header):
                raise FileError(
                    f"has {len(record)} cells where the header has {len(header)}; quote cells that hold "
                    f"{separator!r} or newlines",
                    file=name,
                    line=line,
                )
            lines.append(line)
            for column, cell in zip(columns, record, strict=True):
                column.append(memo.setdefault(cell, cell))
    if len(set(header)) < len(header):
        place = next(i for i, cell in enumerate(header) if cell in header[:i])
        raise FileError(f"columns {header.index(header[place]) + 1} and {place + 1} have the same name", file=name)
    kind = "tsv" if separator == "\t" else "csv"
    return Table(name, kind, dict(zip(header, columns, strict=True)), lines)


def _records(reader: Any, name: str) -> Iterator[tuple[int, list[str]]]:
    """The records of a csv reader that are not blank, each with the line it starts on."""
    while True:
        line = reader.line_num + 1
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise FileError(f"is not well-formed: {error}", file=name, line=line) from None
        if any(cell.strip() for cell in record):
            yield line, record


def _read_tsv(path: Path, name: str) -> Table:
    return _read_delimited(path, name, "\t")


def _read_jsonl(path: Path, name: str) -> Table:
    objects: list[dict[str, Any]] = []
    lines: list[int] = []
    with path.open(encoding="utf-8-sig") as handle:
        for line, text in enumerate(handle, 1):
            if not text.strip():
                continue
            try:
                parsed = json.loads(text)
            except (ValueError, RecursionError):
                parsed = None
            if not isinstance(parsed, dict):
                raise FileError("is not a JSON object; JSON lines hold one object a line", file=name, line=line)
            objects.append(parsed)
            lines.append(line)
    header = dict.fromkeys(key for parsed in objects for key in parsed)
    return Table(name, "jsonl", {key: [_scalar(parsed.get(key)) for parsed in objects] for key in header}, lines)


def _scalar(cell: object) -> object:
    """Nested values cannot be a cell we use; as text they are refused where a number is needed."""
    return cell if cell is None or isinstance(cell, str | int | float) else json.dumps(cell)


def _read_parquet(path: Path, name: str) -> Table:
    import polars as pl  # noqa: PLC0415 - half a second that other formats need not pay

    try:
        frame = pl.read_parquet(path)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        raise FileError("is not a Parquet file that can be read", file=name) from None
    return Table(name, "parquet", _columns(nw.from_native(frame)))


def _from_frame(source: Any) -> Table:
    try:
        frame = nw.from_native(source, eager_only=True)
    except TypeError:
        raise FileError("is neither a path nor a polars or pandas frame", file=type(source).__name__) from None
    table = Table("the frame", "frame", _columns(frame))
    if not table.rows:
        raise table.error("has no rows")
    return table


def _columns(frame: nw.DataFrame[Any]) -> dict[str, list[Any]]:
    return {str(name): frame[name].to_list() for name in frame.columns}


_READERS: dict[str, Callable[[Path, str], Table]] = {
    "csv": _read_delimited,
    "tsv": _read_tsv,
    "parquet": _read_parquet,
    "jsonl": _read_jsonl,
}
