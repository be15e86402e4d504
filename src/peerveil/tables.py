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
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from peerveil.errors import FileError

#: Anything a table can be read from: a path, or a polars, pandas or other eager frame.
Source = str | os.PathLike[str] | Any

FORMATS = ("csv", "tsv", "parquet", "jsonl")

#: The names that columns usually go by, compared without case and punctuation.
PAPER_NAMES = ("paper", "paper id", "submission", "submission id", "submission number")
REVIEWER_NAMES = ("reviewer", "reviewer id", "email", "reviewer email")
SCORE_NAMES = ("score", "rating", "overall", "overall score", "overall rating", "recommendation")
RATING_NAMES = ("ratings", "rating", "scores", "score", "overall")
NOISY_NAMES = ("noisy", "value", "values", "mean", "theta")

# What other columns of reviews are called. A heading that is neither here nor above may be somebody's name: files come
# without a header, or with a column a reviewer.
_OTHER_NAMES = (
    *(
        "title",
        "track",
        "area",
        "decision",
        "status",
        "round",
        "date",
        "time",
        "id",
        "number",
        "rank",
        "lower",
        "upper",
    ),
    *("confidence", "review", "reviews", "comment", "comments", "soundness", "clarity", "originality", "novelty"),
    *("impact", "substance", "presentation"),
)

#: No score is larger; sums and squares of such numbers stay finite.
LARGEST = 1e100

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_NO_VALUE = re.compile(r"[+-]?(nan|inf|infinity|n/?a|none|null)", re.IGNORECASE)
_JSON_ARRAY = re.compile(rb'\[\s*[\[{"\d-]')

# Reviews can be long; a cell beyond this is a quote that was never closed.
_LONGEST_CELL = 2**26


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
        memo: dict[str, str] = {}
        cells: list[str] = []
        for row, cell in enumerate(self.columns[column]):
            text = "" if is_missing(cell) else str(cell).strip()
            if not text:
                raise self.error("the cell is empty; every review needs one", row=row, column=column)
            cells.append(memo.setdefault(text, text))  # names repeat: keep one copy of each
        return cells

    def numbers(self, column: str) -> npt.NDArray[np.float64]:
        """The cells of a column as finite numbers; anything else is an error."""
        memo: dict[tuple[type, Any], float] = {}  # the type as well: True is no 1
        values = np.empty(self.rows)
        for row, cell in enumerate(self.columns[column]):
            key = (type(cell), cell)
            if key not in memo:
                memo[key] = self.number(cell, row=row, column=column)
            values[row] = memo[key]
        return values

    def number(self, cell: object, *, row: int, column: str) -> float:
        """One cell as a finite number."""
        value = to_number(cell)
        if value is None:
            raise self.error(
                f"{shown(cell)} is not a number; give the score as a number, or leave the whole paper out "
                "before loads are counted",
                row=row,
                column=column,
            )
        if not math.isfinite(value):
            raise self.error(f"{shown(cell)} is not a finite number", row=row, column=column)
        if abs(value) > LARGEST:
            raise self.error(f"{shown(cell)} is too large, above {LARGEST:g}", row=row, column=column)
        return value

    def find(self, role: str, known: Iterable[str], chosen: str | None = None, *, remedy: str | None = None) -> str:
        """The column for a role: the one chosen, or the only one with a known name."""
        matches = self.matches(known) if chosen is None else [chosen] * (chosen in self.columns)
        if len(matches) == 1:
            return matches[0]
        if chosen is not None:
            raise self.error(f"has no column {chosen!r} for the {role}; {self._columns_in_words()}")
        remedy = remedy or f"say which it is with {role}="
        if matches:
            several = ", ".join(repr(name) for name in matches)
            raise self.error(f"several columns could be the {role}: {several}; {remedy}")
        raise self.error(f"has no column for the {role}; {self._columns_in_words()}; {remedy}")

    def header(self, asked: Collection[str | None] = ()) -> list[str]:
        """The columns that may be shown: those with usual names, and those the user asked for by name."""
        return [name for name in self.columns if name in asked or _plain(name) in _SHOWABLE]

    def _columns_in_words(self) -> str:
        names = ", ".join(map(repr, self.header()))
        hidden = len(self.columns) - len(self.header())
        if not names:
            return f"its {hidden} columns are not shown here, as they could be names (is the first line a header?)"
        if not hidden:
            return f"its columns are {names}"
        others = "1 other, not shown here as it could be a name"
        if hidden > 1:
            others = f"{hidden} others, not shown here as they could be names"
        return f"its columns are {names} and {others}"

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


def is_missing(cell: object) -> bool:
    """Whether a cell holds nothing: an empty cell, a null, or a frame's not-a-number."""
    return (
        cell is None or (isinstance(cell, float) and math.isnan(cell)) or (isinstance(cell, str) and not cell.strip())
    )


def _detect(head: bytes) -> str:
    if head.startswith(b"PAR1"):
        return "parquet"
    return "jsonl" if head.startswith(b"{") else "csv"


def to_number(cell: object) -> float | None:
    """A cell as a number, infinite if it is too large for one; ``None`` if it is none."""
    if isinstance(cell, str):
        return float(cell) if _NUMBER.fullmatch(cell.strip()) else None
    if isinstance(cell, bool) or not isinstance(cell, int | float | Decimal):
        return None
    try:
        return float(cell)
    except OverflowError:
        return math.inf
    except ValueError:  # a signalling not-a-number
        return math.nan


def shown(cell: object) -> str:
    """A cell for a message, if it cannot tell who somebody is: columns may have slipped."""
    if is_missing(cell):
        return "nan" if isinstance(cell, float) else "an empty cell"
    value = to_number(cell)
    if value is None:
        text = cell.strip() if isinstance(cell, str) else ""
        return repr(text) if _NO_VALUE.fullmatch(text) else "text (not shown here, as it could be a name)"
    text = str(cell).strip().removesuffix(".0")
    if sum(map(str.isdigit, text)) > 4 or 1e4 <= abs(value) < math.inf:
        # Longer numbers may be somebody's: an ORCID, a telephone number, an account.
        return "a number (not shown here, as it could stand for somebody)"
    return text


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).lower()


_SHOWABLE = {
    _plain(name) for name in (*PAPER_NAMES, *REVIEWER_NAMES, *SCORE_NAMES, *RATING_NAMES, *NOISY_NAMES, *_OTHER_NAMES)
}


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
