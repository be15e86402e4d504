"""How a benchmark states its tables: rows are printed as they come, and written as JSON where that is asked.

    with Output("scale") as out:
        table = out.table("times", "Envelope and projection", [Column("n", "reviewers"), ...], seeds="the sizes")
        table.add(10_000, ...)

`--quick` asks for the quick setting, `--keep` writes to benchmarks/results, and PEERVEIL_RESULTS names another folder
to write to. Everything else on the command line is the benchmark's own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from provenance import ended, this_run
from results import KEPT, NAME, Column, Table, checked_row, write


class Growing:
    """A table that is printed while its rows come."""

    def __init__(self, table: Table) -> None:
        self.table, self._widths = table, [max(len(column.heading), 6) for column in table.columns]

    def add(self, *cells: Any) -> None:
        """Add a row and print it; NumPy's numbers become Python's."""
        row = tuple(cell.item() if isinstance(cell, np.generic) else cell for cell in cells)
        checked_row(row, self.table.columns)
        texts = [column.show(cell) for column, cell in zip(self.table.columns, row, strict=True)]
        self._widths = [max(width, len(text)) for width, text in zip(self._widths, texts, strict=True)]
        if not self.table.rows:
            self._line([column.heading for column in self.table.columns])
        self._line(texts)
        self.table = replace(self.table, rows=(*self.table.rows, row))

    def note(self, sentence: str) -> None:
        """Add a sentence below the table, and print it."""
        print(f"  {sentence}", flush=True)
        self.table = replace(self.table, notes=(*self.table.notes, sentence))

    def _line(self, texts: Sequence[str]) -> None:
        cells = [
            f"{text:<{w}}" if i < self.table.keys else f"{text:>{w}}"
            for i, (text, w) in enumerate(zip(texts, self._widths, strict=True))
        ]
        print("  ".join(cells).rstrip(), flush=True)


class Output:
    """The tables of one run of a benchmark; written when the run ends well, where that was asked.

    Attributes:
        quick: whether the quick setting was asked for.
        arguments: what else was asked for.
    """

    def __init__(self, benchmark: str, arguments: Sequence[str] | None = None) -> None:
        if not NAME.fullmatch(benchmark):
            raise ValueError(f"benchmark {benchmark!r}: use lower-case letters, digits and hyphens")
        given = list(sys.argv[1:] if arguments is None else arguments)
        self.benchmark, self.quick, keep = benchmark, "--quick" in given, "--keep" in given
        self.arguments = tuple(one for one in given if one not in ("--quick", "--keep"))
        if keep and self.quick:
            raise SystemExit("--keep is for full runs: leave out --quick, or name a folder in PEERVEIL_RESULTS")
        folder = os.environ.get("PEERVEIL_RESULTS")
        self.folder = KEPT if keep else Path(folder) if folder else None
        self.run = this_run(self.arguments, quick=self.quick)
        self._tables: list[Growing] = []

    def table(
        self,
        name: str,
        title: str,
        columns: Sequence[Column],
        *,
        keys: int = 1,
        seeds: object = "none",
        draws: object = 1,
        notes: Sequence[str] = (),
        promises: Sequence[str] = (),
    ) -> Growing:
        """Begin a table: print its title, and return what takes its rows."""
        print(f"\n{title}\n  seeds: {seeds}; draws: {draws}", flush=True)
        made = Table(
            name=name,
            title=title,
            columns=tuple(columns),
            keys=keys,
            rows=(),
            seeds=str(seeds),
            draws=f"{draws:,}" if isinstance(draws, int) else str(draws),
            notes=tuple(notes),
            promises=tuple(promises),
            run=self.run,
        )
        self._tables.append(Growing(made))
        return self._tables[-1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        if kind is None and self.folder is not None:
            run = ended(self.run)
            write(self.folder, self.benchmark, [replace(one.table, run=run) for one in self._tables])
