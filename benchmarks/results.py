"""The tables of the benchmarks as data, and the files that keep them.

Benchmarks state tables with `output.Output`. A cell has an address, `benchmark/table/row/column`, by which documents
insert it. Tables of a file are replaced one by one: a run of some of them leaves the others as they were.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from provenance import Run

KEPT = Path(__file__).parent / "results"

#: Units of time: such a column says nothing about another machine, and is not compared.
TIMES = ("s", "ms", "min", "s CPU")

NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")


@dataclass(frozen=True)
class Measured:
    """A measured number and its standard error.

    Attributes:
        value: the number.
        error: its standard error.
        draws: from how many draws the error was estimated, where that is known; few draws give an uncertain one.
    """

    value: float
    error: float
    draws: int | None = None

    def __post_init__(self) -> None:
        if self.draws is not None and self.draws < 2:
            raise ValueError(f"a standard error needs at least 2 draws, got {self.draws}")
        if not (math.isfinite(self.value) and math.isfinite(self.error) and self.error >= 0):
            raise ValueError(f"{self.value} ± {self.error} is not a number with a standard error")


#: What a cell may hold: a word, an exact number, a number with its standard error, or nothing.
Cell: TypeAlias = str | int | float | Measured | None


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        key: its name in addresses.
        title: its heading.
        unit: the unit, such as ``%`` or ``s``; empty where there is none.
        digits: how numbers are written, as in Python's format strings.
        better: whether lower or higher numbers are better; ``None`` where neither is, or where `target` is given.
        target: the number to be near to, such as 1 for a ratio of realised to expected error.
        tolerance: the relative change that is noise, for numbers without a standard error.
    """

    key: str
    title: str
    unit: str = ""
    digits: str = ".3g"
    better: Literal["lower", "higher"] | None = None
    target: float | None = None
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.key):
            raise ValueError(f"key {self.key!r}: use lower-case letters, digits and hyphens")
        format(1, self.digits)
        if self.better is not None and self.target is not None:
            raise ValueError(f"column {self.key}: state better or target, not both")
        if self.unit in TIMES and (self.better is not None or self.target is not None):
            raise ValueError(f"column {self.key}: times are compared by ratios; add a column with the ratio")

    @property
    def heading(self) -> str:
        """Title and unit."""
        return f"{self.title}, {self.unit}" if self.unit else self.title

    def show(self, cell: Cell) -> str:
        """A cell as text."""
        if cell is None:
            return "-"
        if isinstance(cell, Measured):
            error = self.digits if self.digits.endswith(("f", "%")) else ".1g"
            return f"{cell.value:{self.digits}} ± {cell.error:{error}}"
        return cell if isinstance(cell, str) else f"{cell:{self.digits}}"


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of one run.

    Attributes:
        name: its name in addresses.
        title: one line that says what it shows.
        columns: the columns.
        keys: how many of the first columns tell rows apart.
        rows: the rows.
        seeds: the seeds of random numbers, or why there are none.
        draws: how many repetitions stand behind a row.
        notes: sentences below the table.
        promises: promises of the documents that the table is evidence for.
        run: the run.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    keys: int
    rows: tuple[tuple[Cell, ...], ...]
    seeds: str
    draws: str
    notes: tuple[str, ...]
    promises: tuple[str, ...]
    run: Run

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise ValueError(f"table {self.name!r}: use lower-case letters, digits and hyphens")
        names = [column.key for column in self.columns]
        if len(set(names)) != len(names) or not 1 <= self.keys <= len(names):
            raise ValueError(f"table {self.name}: columns need different keys, and keys is from 1 to their number")
        for row in self.rows:
            checked_row(row, self.columns)
        keys = [self.row_key(row) for row in self.rows]
        if len(set(keys)) != len(keys):
            raise ValueError(f"table {self.name}: two rows have one key; keys must tell rows apart")

    def row_key(self, row: Sequence[Cell]) -> str:
        """The key of a row in addresses: its first cells in lower case, joined by hyphens."""
        return row_key(self.columns[: self.keys], row)

    def cell(self, row: str, column: str) -> tuple[Column, Cell]:
        """A cell and its column, by their keys."""
        places = [i for i, one in enumerate(self.columns) if one.key == column]
        found = [one for one in self.rows if self.row_key(one) == row]
        if not places or not found:
            raise KeyError(f"{self.name} has no cell {row}/{column}")
        return self.columns[places[0]], found[0][places[0]]

    def markdown(self) -> str:
        """The table as Markdown, without title and notes."""
        numbers = [not any(isinstance(row[i], str) for row in self.rows) for i in range(len(self.columns))]
        lines = [[column.heading for column in self.columns], ["---:" if right else "---" for right in numbers]]
        lines += [[c.show(cell) for c, cell in zip(self.columns, row, strict=True)] for row in self.rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)

    def to_json(self) -> dict[str, Any]:
        """The table as it is stored."""
        rows = [[_cell_to_json(cell) for cell in row] for row in self.rows]
        usual = asdict(Column("key", "title"))
        columns = [{k: v for k, v in asdict(column).items() if v != usual[k]} for column in self.columns]
        return asdict(self) | {"columns": columns, "rows": rows, "run": self.run.to_json()}

    @staticmethod
    def from_json(stored: dict[str, Any]) -> Table:
        """A stored table."""
        rows = tuple(tuple(Measured(**c) if isinstance(c, dict) else c for c in row) for row in stored["rows"])
        lists = {name: tuple(stored[name]) for name in ("notes", "promises")}
        columns = tuple(Column(**column) for column in stored["columns"])
        return Table(**stored | lists | {"rows": rows, "columns": columns, "run": Run.from_json(stored["run"])})


def _cell_to_json(cell: Cell) -> object:
    """A cell as it is stored; what is not known of a number is left out."""
    if not isinstance(cell, Measured):
        return cell
    return {key: value for key, value in asdict(cell).items() if value is not None}


def checked_row(row: Sequence[Cell], columns: Sequence[Column]) -> None:
    """Refuse a row that does not fit its columns, or holds what is no cell."""
    if len(row) != len(columns):
        raise ValueError(f"a row has {len(row)} cells for {len(columns)} columns")
    for cell, column in zip(row, columns, strict=True):
        if isinstance(cell, bool) or not isinstance(cell, str | int | float | Measured | None):
            raise TypeError(f"{column.key}: {cell!r} is no cell; write a word, a number, or Measured")
        if isinstance(cell, float) and not math.isfinite(cell):
            raise ValueError(f"{column.key}: {cell} cannot be kept; write None")
        column.show(cell)  # its format fits


def row_key(columns: Sequence[Column], row: Sequence[Cell]) -> str:
    """The first cells in lower case, joined by hyphens."""
    words = "-".join(column.show(cell) for column, cell in zip(columns, row, strict=False)).lower()
    words = re.sub(r"(?<=\d),(?=\d{3})", "", words)  # 1,500 becomes 1500
    return re.sub(r"[^a-z0-9.+=%]+", "-", words).strip("-")


def mean_of(values: Iterable[float] | npt.NDArray[Any], times: float = 1.0) -> Cell:
    """The mean of draws with its standard error, times a factor such as 100 for percentages; a single draw has none."""
    array = times * np.asarray(list(values), dtype=float)
    if array.size < 2:
        return float(array.mean()) if array.size else None
    return Measured(float(array.mean()), float(array.std(ddof=1) / math.sqrt(array.size)), array.size)


def ratio_of(top: npt.NDArray[Any], bottom: npt.NDArray[Any]) -> Cell:
    """The ratio of two means over the same draws, with the standard error of paired differences."""
    value = float(top.mean() / bottom.mean())
    if top.size < 2:
        return value
    error = float((top - value * bottom).std(ddof=1) / math.sqrt(top.size) / abs(bottom.mean()))
    return Measured(value, error, top.size)


def write(folder: Path, benchmark: str, tables: Sequence[Table]) -> Path:
    """Write tables to a folder; those of the same file that this run did not make stay."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{benchmark}.json"
    known = {table.name: table for table in (load(file) if file.exists() else ())}
    known |= {table.name: table for table in tables}
    part = file.with_suffix(".part")
    part.write_text("[\n" + ",\n".join(map(_text, known.values())) + "\n]\n", encoding="utf-8")
    part.replace(file)
    return file


def _text(table: Table) -> str:
    """A table as JSON with one row or column per line, so that differences between runs can be read."""
    lines = []
    for key, value in table.to_json().items():
        several = key in ("columns", "rows") and value
        inner = ",\n   ".join(json.dumps(one, ensure_ascii=False, allow_nan=False) for one in value) if several else ""
        lines.append(f'  "{key}": ' + (f"[\n   {inner}\n  ]" if several else json.dumps(value, ensure_ascii=False)))
    return " {\n" + ",\n".join(lines) + "\n }"


def load(file: Path) -> tuple[Table, ...]:
    """The tables of a file."""
    return tuple(Table.from_json(stored) for stored in json.loads(file.read_text("utf-8")))


def load_all(folder: Path = KEPT) -> dict[str, tuple[Table, ...]]:
    """The tables of all files of a folder, by benchmark."""
    return {file.stem: load(file) for file in sorted(folder.glob("*.json"))}
