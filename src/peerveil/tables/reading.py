"""Reading tables from files and frames."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from peerveil.errors import Argument, FileError
from peerveil.tables.columns import BLOCK, Cells, Growing, Unread
from peerveil.tables.delimited import read_delimited
from peerveil.tables.json_files import Element, elements
from peerveil.tables.opening import BOMB, most_unpacked, open_bytes
from peerveil.tables.table import Table, Wanted

#: Anything a table can be read from: a path, or a polars, pandas or other eager frame.
Source = str | os.PathLike[str] | Any

FORMATS = ("csv", "tsv", "parquet", "jsonl", "json")


def read_table(
    source: Source,
    *,
    format: str | None = None,  # noqa: A002 - the name users know
    header: Sequence[str] = (),
    wanted: Wanted | None = None,
) -> Table:
    """Read a table from a CSV, TSV, Parquet or JSON file, packed or not, or from a frame.

    Args:
        source: a path, or a polars or pandas frame.
        format: one of ``"csv"``, ``"tsv"``, ``"parquet"``, ``"jsonl"``, ``"json"``; found from the content by default.
        header: the columns of a CSV or TSV that has no header.
        wanted: which columns to keep the cells of; all by default.
    """
    if not is_path(source):
        return _from_frame(source, wanted)
    path = file_to_read(source)
    name = str(path)
    if format is not None and format not in FORMATS:
        raise FileError(Argument("format"), f" must be one of {', '.join(FORMATS)}, got {format!r}", file=name)
    # Raised outside of the handlers: an error that hangs on to the one it replaces hangs on to what was read.
    problem = ""
    try:
        if header:
            table = read_delimited(path, name, header=header, wanted=wanted)
        else:
            table = _read_file(path, name, format, wanted)
    except OSError as error:
        problem = cannot_read(error)
    except UnicodeError:
        problem = NOT_UTF8
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
        problem = cannot_read(error)
    except UnicodeDecodeError:
        problem = NOT_UTF8
    raise FileError(problem, file=str(path))


def is_path(source: Source) -> bool:
    """Whether a source is a file's path, not a frame."""
    return isinstance(source, str | os.PathLike)


def file_to_read(source: str | os.PathLike[str]) -> Path:
    """The path of a file that can be read, more than once if need be; whether it is there shows when it is opened."""
    if not is_path(source):
        raise FileError("is no file, which this format needs", file="the frame")
    text = os.fspath(source)
    if not text or "\0" in text:
        raise FileError("is no name of a file", file=repr(text))
    path = Path(text)
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise FileError("is a pipe or a device, which cannot be read twice; save it as a file", file=text)
    return path


NOT_UTF8 = "is not UTF-8 text; save it as UTF-8"


def cannot_read(error: OSError) -> str:
    """Why a file cannot be read."""
    return f"cannot be read: {error.strerror or type(error).__name__}"


def start_of(path: Path, name: str, size: int = 4096) -> bytes:
    """The first bytes of a file that are no blanks, unpacked; an empty file is an error."""
    with open_bytes(path, name) as handle:
        start = handle.read(size).lstrip(b"\xef\xbb\xbf \t\r\n")
    if not start:
        raise FileError("is empty", file=name)
    if start.startswith(b"\xd0\xcf\x11\xe0"):
        raise FileError("is an Excel workbook; save the sheet of reviews as CSV", file=name)
    return start


def kind_of(start: bytes) -> str:
    """The format of a table, from its first bytes."""
    if start.startswith(b"PAR1"):
        return "parquet"
    return "json" if start.startswith((b"{", b"[")) else "csv"


def _read_file(path: Path, name: str, kind: str | None, wanted: Wanted | None) -> Table:
    start = start_of(path, name)
    return _READERS[kind or kind_of(start)](path, name, wanted)


def _read_csv(path: Path, name: str, wanted: Wanted | None) -> Table:
    return read_delimited(path, name, wanted=wanted)


def _read_tsv(path: Path, name: str, wanted: Wanted | None) -> Table:
    return read_delimited(path, name, "\t", wanted=wanted)


def _read_json(path: Path, name: str, wanted: Wanted | None) -> Table:
    return table_of(elements(path, name), name, wanted)


def table_of(found: Iterator[Element], name: str, wanted: Wanted | None = None) -> Table:
    """A table from objects, each with the line it starts on."""
    columns: dict[str, list[Any] | None] = {}
    lines = array("I")
    memo: dict[Any, Any] = {}
    filled = 0
    for row, (line, _, value) in enumerate(found):
        if not isinstance(value, dict):
            raise FileError("is not a JSON object; a table holds one object a row", file=name, line=line)
        filled += len(value)
        for key in value:
            if key not in columns:
                columns[key] = [None] * row if wanted is None or wanted(key) else None
        if len(columns) * row > _SPARSE * filled + 1000:
            raise FileError("its objects have too little in common to be the rows of a table", file=name, line=line)
        for key, column in columns.items():
            if column is not None:
                cell = _cell(value.get(key))
                column.append(memo.setdefault(cell, cell) if isinstance(cell, str) else cell)
        lines.append(line)
    cells: dict[str, Cells] = {key: Unread(len(lines)) if column is None else column for key, column in columns.items()}
    return Table(name, "json", cells, lines)


# A table may have this many empty cells for each one that is filled.
_SPARSE = 8


def _cell(cell: Any) -> str | int | float | Decimal | None:
    """A cell as text or a number; anything else becomes text, which is refused where a number is needed."""
    plain = cell.tolist() if isinstance(cell, np.generic | np.ndarray) else cell
    if isinstance(plain, Decimal) and plain.is_snan():
        return float("nan")
    return plain if plain is None or isinstance(plain, str | int | float | Decimal) else str(plain)


def _read_parquet(path: Path, name: str, wanted: Wanted | None) -> Table:
    import polars as pl  # noqa: PLC0415 - half a second that other formats need not pay

    frame, names, rows = None, [], 0
    with suppress(pl.exceptions.PolarsError, pl.exceptions.PanicException), open_bytes(path, name) as handle:
        data = handle.read()
        scan = pl.scan_parquet(data)
        names, rows = scan.collect_schema().names(), scan.select(pl.len()).collect().item()
        read = [column for column in names if wanted is None or wanted(column)]
        if rows * max(1, len(read)) <= most_unpacked(len(data)):  # a column of equal cells takes no place there
            frame = scan.select(read).collect()
        if frame is None or frame.estimated_size() > most_unpacked(len(data)):
            raise FileError(BOMB, file=name)
    if frame is None:
        raise FileError("is not a Parquet file that can be read", file=name)
    found = _columns(nw.from_native(frame), name)
    return Table(name, "parquet", {column: found.get(column, Unread(rows)) for column in names})


def _from_frame(source: Any, wanted: Wanted | None) -> Table:
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
    table = Table(name, "frame", _columns(frame, name, wanted))
    if not table.rows:
        raise table.error("has no rows")
    return table


_SAME_NAME = "two columns have the same name"


def _columns(frame: nw.DataFrame[Any], name: str, wanted: Wanted | None = None) -> dict[str, Cells]:
    columns: dict[str, Cells] = {}
    for series in frame.iter_columns():
        called = str(series.name)
        columns[called] = _cells(series) if wanted is None or wanted(called) else Unread(len(series))
    if len(columns) < len(frame.columns):
        raise FileError(_SAME_NAME, file=name)
    return columns


def _cells(series: nw.Series[Any]) -> Cells:
    """The cells of a frame's column, block by block, so that no second copy of all is made."""
    texts = Growing(16 * len(series)) if series.dtype == nw.String else None
    cells: list[Any] = []
    for start in range(0, len(series), BLOCK):
        block = series[start : start + BLOCK]
        nulls = block.is_null().to_list()  # a frame's own kinds of nothing, such as pandas' NA and NaT
        found = (None if null else _cell(cell) for cell, null in zip(block.to_list(), nulls, strict=True))
        if texts is None:
            cells.extend(found)
        else:
            texts.extend("" if cell is None else str(cell) for cell in found)  # a text of nothing is missing as well
    return cells if texts is None else texts.column()


_READERS: dict[str, Callable[[Path, str, Wanted | None], Table]] = {
    "csv": _read_csv,
    "tsv": _read_tsv,
    "parquet": _read_parquet,
    "jsonl": _read_json,
    "json": _read_json,
}
