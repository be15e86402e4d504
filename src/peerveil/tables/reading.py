"""Reading tables from files and frames."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from peerveil.errors import Argument, FileError
from peerveil.tables.cells import to_text
from peerveil.tables.delimited import read_delimited, read_records
from peerveil.tables.headings import Wanted
from peerveil.tables.json_files import elements
from peerveil.tables.opening import BOMB, Readable, Source, guarded, most_unpacked, open_source
from peerveil.tables.table import Table
from peerveil.tables.workbooks import WORKBOOKS

if TYPE_CHECKING:
    import narwhals as nw

FORMATS = ("csv", "tsv", "parquet", "jsonl", "json", *WORKBOOKS)

# The largest accepted ratio of empty to filled cells.
_SPARSE = 8

_SAME_NAME = "two columns have the same name"


def read_table(
    readable: Readable,
    *,
    format: str | None = None,  # noqa: A002 - the name users know
    header: Sequence[str] = (),
    wanted: Wanted = lambda _: True,
) -> Table:
    """Return the table in a CSV, TSV, Parquet or JSON file, packed or not, in a sheet of a workbook, or in a frame.

    The format is detected from the content by default. ``header`` names the columns of a CSV or TSV without a header,
    ``wanted`` selects columns to read.
    """
    source = open_source(readable)
    kind = source.look.kind
    if format is not None and kind != "frame":
        kind = format
        if format not in FORMATS:
            problem = f" must be one of {', '.join(FORMATS)}, got {format!r}"
            raise FileError(Argument("format"), problem, file=source.name)
    reader = _READERS.get(kind, read_delimited)
    if header:
        reader = partial(_read_sheet if kind in WORKBOOKS else read_delimited, header=header)
    table = guarded(lambda: reader(source, wanted=wanted), source.name)
    if not table.rows:
        raise table.error("has no rows" if kind == "frame" else "has no rows below its header")
    return table


def _read_sheet(source: Source, wanted: Wanted, header: Sequence[str] = ()) -> Table:
    records = source.sheet.records()
    kind = source.workbook or ""
    return read_records(source.name, kind, records, header=header, wanted=wanted, asked=source.columns)


def _read_json(source: Source, wanted: Wanted) -> Table:
    """Return a table of JSON objects, one per row."""
    name = source.name
    header: dict[str, None] = {}
    columns: dict[str, list[str]] = {}
    lines, filled = array("I"), 0
    interned: dict[str, str] = {}  # one copy of equal cells
    for row, (line, _, value) in enumerate(elements(source)):
        if not isinstance(value, dict):
            raise FileError("is not a JSON object; a table holds one object per row", file=name, line=line)
        filled += len(value)
        header |= dict.fromkeys(value)
        columns |= {key: [""] * row for key in value if key not in columns and wanted(key)}
        if len(header) * row > _SPARSE * filled + 1000:
            raise FileError("its objects have too little in common to be the rows of a table", file=name, line=line)
        for key, cells in columns.items():
            text = to_text(value.get(key))
            cells.append(interned.setdefault(text, text))
        lines.append(line)
    return Table.of(name, "json", columns, lines, tuple(header))


def _read_parquet(source: Source, wanted: Wanted) -> Table:
    import narwhals as nw  # noqa: PLC0415 - slow to load, and most files are text

    most = most_unpacked(len(source.content))
    header: list[str] = []
    frame, rows = None, 0
    # PanicException does not derive from Exception, and its text may hold cells.
    with suppress(pl.exceptions.PolarsError, pl.exceptions.PanicException):
        scan = pl.scan_parquet(source.content)
        header, rows = scan.collect_schema().names(), scan.select(pl.len()).collect().item()
        read = [column for column in header if wanted(column)]
        if rows * max(1, len(read)) <= most:  # equal cells take no space in the file
            frame = scan.select(read).collect()
        if frame is None or frame.estimated_size() > most:
            raise FileError(BOMB, file=source.name)
    if frame is None:
        raise FileError("is not a Parquet file that can be read", file=source.name)
    return _from_columns(nw.from_native(frame), source.name, "parquet", header, rows)


def _read_frame(source: Source, wanted: Wanted) -> Table:
    import narwhals as nw  # noqa: PLC0415 - as above

    frame, name, problem = None, source.name, _SAME_NAME
    try:
        frame = nw.from_native(source.frame, eager_only=True)
    except TypeError:
        name, problem = (
            type(source.frame).__name__,
            "is neither a path, bytes, an open file nor a polars, pandas or pyarrow frame",
        )
    except nw.exceptions.DuplicateError:
        pass
    if frame is None:
        raise FileError(problem, file=name)
    header = [str(column) for column in frame.columns]
    read = frame[:, [place for place, column in enumerate(header) if wanted(column)]]
    return _from_columns(read, name, "frame", header, len(frame))


def _from_columns(frame: nw.DataFrame[Any], name: str, kind: str, header: list[str], rows: int) -> Table:
    """Return the table of a frame that holds some of the columns of a header."""
    if len(set(header)) < len(header):
        raise FileError(_SAME_NAME, file=name)
    columns = None
    with suppress(pl.exceptions.PolarsError, pl.exceptions.PanicException, OverflowError):  # dates beyond any calendar
        columns = {str(series.name): _texts(series) for series in frame.iter_columns()}
    if columns is None:
        raise FileError("holds values that cannot be read as text, such as dates out of range", file=name)
    return Table.of(name, kind, columns, range(1, rows + 1), tuple(header))


def _texts(series: nw.Series[Any]) -> pl.Series | list[str]:
    """Return the cells of a frame's column as text."""
    native = series.to_native()
    if isinstance(native, pl.Series) and native.dtype == pl.String:
        return native.fill_null("")
    missing = series.is_null().to_list()  # includes pandas' NA and NaT
    cells = (cell.tolist() if isinstance(cell, np.generic | np.ndarray) else cell for cell in series.to_list())
    return ["" if gone else to_text(cell) for cell, gone in zip(cells, missing, strict=True)]


_READERS: dict[str, Callable[..., Table]] = {
    "csv": read_delimited,
    "tsv": partial(read_delimited, delimiter="\t"),
    "parquet": _read_parquet,
    "jsonl": _read_json,
    "json": _read_json,
    "frame": _read_frame,
    **dict.fromkeys(WORKBOOKS, _read_sheet),
}
