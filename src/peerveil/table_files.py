"""Reading tables from files and frames.

Text goes through the standard csv module: it knows the line of each record, whatever newlines its cells hold, and a
malformed file is an ordinary error.
"""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from peerveil.errors import FileError
from peerveil.tables import Table

#: Anything a table can be read from: a path, or a polars, pandas or other eager frame.
Source = str | os.PathLike[str] | Any

FORMATS = ("csv", "tsv", "parquet", "jsonl")

_JSON_ARRAY = re.compile(rb'\[\s*[\[{"\d-]')

# Reviews can be long; a cell beyond this is a quote that was never closed.
_LONGEST_CELL = 2**26


def read_table(source: Source, *, format: str | None = None) -> Table:  # noqa: A002 - the name users know
    """Read a table from a CSV, TSV, Parquet or JSON lines file, or from a frame.

    Args:
        source: a path, or a polars or pandas frame.
        format: one of ``"csv"``, ``"tsv"``, ``"parquet"``, ``"jsonl"``; found from the content by default.
    """
    if not isinstance(source, str | os.PathLike):
        return _from_frame(source)
    path = file_to_read(source)
    name = str(path)
    if format is not None and format not in FORMATS:
        raise FileError(f"format must be one of {', '.join(FORMATS)}, got {format!r}", file=name)
    # Raised outside of the handlers: an error that hangs on to the one it replaces hangs on to what was read.
    problem = ""
    try:
        table = _read_file(path, name, format)
    except OSError as error:
        problem = _cannot_read(error)
    except UnicodeDecodeError:
        problem = _NOT_UTF8
    if problem:
        raise FileError(problem, file=name)
    if not table.rows:
        raise table.error("has no rows below its header")
    return table


def read_text(source: str | os.PathLike[str]) -> tuple[str, str]:
    """The name and the text of a file."""
    path = file_to_read(source)
    problem = ""
    try:
        return str(path), path.read_text(encoding="utf-8-sig")
    except OSError as error:
        problem = _cannot_read(error)
    except UnicodeDecodeError:
        problem = _NOT_UTF8
    raise FileError(problem, file=str(path))


def file_to_read(source: str | os.PathLike[str]) -> Path:
    """The path of a file that can be read, more than once if need be; whether it is there shows when it is opened."""
    text = os.fspath(source)
    if not text or "\0" in text:
        raise FileError("is no name of a file", file=repr(text))
    path = Path(text)
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise FileError("is a pipe or a device, which cannot be read twice; save it as a file", file=text)
    return path


_NOT_UTF8 = "is not UTF-8 text; save it as UTF-8"


def _cannot_read(error: OSError) -> str:
    return f"cannot be read: {error.strerror or type(error).__name__}"


def _read_file(path: Path, name: str, kind: str | None) -> Table:
    with path.open("rb") as handle:
        head = handle.read(4096)
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if not start:
        raise FileError("is empty", file=name)
    if kind is None and _JSON_ARRAY.match(start):
        raise FileError("is a JSON array, not a table; write it as JSON lines, one object a line", file=name)
    return _READERS[kind or _detect(start)](path, name)


def _detect(head: bytes) -> str:
    if head.startswith(b"PAR1"):
        return "parquet"
    return "jsonl" if head.startswith(b"{") else "csv"


def _read_delimited(path: Path, name: str, delimiter: str | None = None) -> Table:
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_CELL))
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
        problem = ""
        try:
            record = next(reader, None)
        except csv.Error as error:
            problem = f"is not well-formed: {error}"
        if problem:
            raise FileError(problem, file=name, line=line)
        if record is None:
            return
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
    return Table(name, "jsonl", {key: [_cell(parsed.get(key)) for parsed in objects] for key in header}, lines)


def _cell(cell: Any) -> str | int | float | Decimal | None:
    """A cell as text or a number; anything else becomes text, which is refused where a number is needed."""
    plain = cell.tolist() if isinstance(cell, np.generic | np.ndarray) else cell
    return plain if plain is None or isinstance(plain, str | int | float | Decimal) else str(plain)


def _read_parquet(path: Path, name: str) -> Table:
    import polars as pl  # noqa: PLC0415 - half a second that other formats need not pay

    frame = None
    with suppress(pl.exceptions.PolarsError, pl.exceptions.PanicException):
        frame = pl.read_parquet(path)
    if frame is None:
        raise FileError("is not a Parquet file that can be read", file=name)
    return Table(name, "parquet", _columns(nw.from_native(frame), name))


def _from_frame(source: Any) -> Table:
    name = "the frame"
    frame = None
    problem = "is neither a path nor a polars or pandas frame"
    try:
        frame = nw.from_native(source, eager_only=True)
    except TypeError:
        name = type(source).__name__
    except nw.exceptions.DuplicateError:
        problem = _SAME_NAME
    if frame is None:
        raise FileError(problem, file=name)
    table = Table(name, "frame", _columns(frame, name))
    if not table.rows:
        raise table.error("has no rows")
    return table


_SAME_NAME = "two columns have the same name"


def _columns(frame: nw.DataFrame[Any], name: str) -> dict[str, list[Any]]:
    columns = {}
    for series in frame.iter_columns():
        nulls = series.is_null().to_list()  # a frame's own kinds of nothing, such as pandas' NA and NaT
        cells = zip(series.to_list(), nulls, strict=True)
        columns[str(series.name)] = [None if null else _cell(cell) for cell, null in cells]
    if len(columns) < len(frame.columns):
        raise FileError(_SAME_NAME, file=name)
    return columns


_READERS: dict[str, Callable[[Path, str], Table]] = {
    "csv": _read_delimited,
    "tsv": _read_tsv,
    "parquet": _read_parquet,
    "jsonl": _read_jsonl,
}
