"""Compare two runs of the benchmarks, and say what became worse, or better, beyond noise.

    python benchmarks/compare.py BEFORE AFTER

Each is a folder of results, or one file of it; `make bench` writes to bench-results, and the kept ones are in
benchmarks/results. Numbers with standard errors differ beyond noise where their difference exceeds so many standard
errors that one false alarm among all numbers compared has a chance of 5 % (Bonferroni). Of numbers with few draws the
errors are uncertain themselves: the law is Student's with the fewer draws of both, less one. So quick runs show large
changes only. Numbers without an error differ where they changed by more than their column tolerates;
beside a number with an error, they are taken to have the same one. Times are never
compared: two runs meet different machines, and what else these do. Where a benchmark has a yardstick, such as one sort
of the same data, its table has their ratio, and that is compared. The exit code is 1 if anything became worse.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

from scipy.stats import norm, t

from results import Cell, Column, Measured, Table, load, load_all

#: The chance of at least one false alarm in a comparison.
ALARM = 0.05

Results = Mapping[str, tuple[Table, ...]]


@dataclass(frozen=True)
class Change:
    """One number in two runs.

    Attributes:
        address: the cell.
        column: its column.
        before: the number then.
        after: the number now.
    """

    address: str
    column: Column
    before: float | Measured
    after: float | Measured

    @property
    def measured(self) -> list[Measured]:
        """Those of the two numbers that have a standard error."""
        return [one for one in (self.before, self.after) if isinstance(one, Measured)]

    @property
    def worse_by(self) -> float:
        """How much worse the number is now; negative if it is better."""
        first, second = value_of(self.before), value_of(self.after)
        if self.column.target is not None:
            return abs(second - self.column.target) - abs(first - self.column.target)
        return second - first if self.column.better == "lower" else first - second

    def beyond_noise(self, errors: float) -> bool:
        """Whether the numbers differ by more than so many standard errors, or than the column tolerates.

        Args:
            errors: so many of a normal law; with few draws, what is as likely of Student's law.
        """
        first, second = value_of(self.before), value_of(self.after)
        noise, measured = self.column.tolerance * max(abs(first), abs(second)), self.measured
        if measured:
            draws = [one.draws for one in measured if one.draws]
            limit = float(t.isf(norm.sf(errors), min(draws) - 1)) if draws else errors
            beside = limit * math.hypot(error_beside(self.before, self.after), error_beside(self.after, self.before))
            noise = beside if len(measured) == 2 else max(noise, beside)
            if len(measured) == 1 and draws and not measured[0].error:
                return False  # few draws that were all alike, beside a number without an error: nothing is known
        return abs(self.worse_by) > noise + 1e-12 * max(abs(first), abs(second))

    def __str__(self) -> str:
        return f"{self.address}: {self.column.show(self.before)} → {self.column.show(self.after)}"


def value_of(number: float | Measured) -> float:
    """The number without its error."""
    return number.value if isinstance(number, Measured) else number


def error_beside(number: float | Measured, other: float | Measured) -> float:
    """The standard error; of a number without one, that of the other.

    Of draws that were all alike, such as hits, it is that of the other number with as many draws.
    """
    if not isinstance(number, Measured):
        return other.error if isinstance(other, Measured) else 0.0
    if not isinstance(other, Measured):
        return number.error
    alike = number.draws and other.draws and not number.error
    return other.error * math.sqrt((other.draws or 1) / (number.draws or 1)) if alike else number.error


def is_number(cell: Cell) -> TypeGuard[float | Measured]:
    """Whether a cell can be compared."""
    return isinstance(cell, int | float | Measured)


def tables_of(results: Results) -> dict[str, Table]:
    """All tables by benchmark and name."""
    return {f"{benchmark}/{table.name}": table for benchmark, tables in results.items() for table in tables}


def changes(before: Results, after: Results) -> Iterator[Change]:
    """Every number that both runs have and of which it is known what is better."""
    old, new = tables_of(before), tables_of(after)
    for name in sorted(old.keys() & new.keys()):
        now = {key: row for row in new[name].rows for key in [new[name].row_key(row)]}
        place = {column.key: i for i, column in enumerate(new[name].columns)}
        for row in old[name].rows:
            key = old[name].row_key(row)
            for column, first in zip(old[name].columns, row, strict=True):
                if key not in now or column.key not in place or (column.better is None and column.target is None):
                    continue
                second = now[key][place[column.key]]
                if is_number(first) and is_number(second):
                    yield Change(f"{name}/{key}/{column.key}", column, first, second)


def gone(before: Results, after: Results) -> list[str]:
    """Tables that only the earlier run has, and how many rows of the others, with the first of them."""
    old, new = tables_of(before), tables_of(after)
    missing = [name for name in old if name not in new]
    for name in old.keys() & new.keys():
        kept = set(map(new[name].row_key, new[name].rows))
        rows = [row for row in map(old[name].row_key, old[name].rows) if row not in kept]
        if rows:
            more = f" and {len(rows) - 1} more rows" if len(rows) > 1 else ""
            missing.append(f"{name}/{rows[0]}{more}")
    return sorted(missing)


def about(results: Results) -> str:
    """When, how and with which code a run was made, in a line."""
    runs = [table.run for tables in results.values() for table in tables]
    dates, settings, sources = (sorted({getattr(run, name) for run in runs}) for name in ("date", "setting", "source"))
    days = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    code = f"source {sources[0]}" if len(sources) == 1 else f"{len(sources)} states of the source"
    return f"{len(runs)} tables, {days}, {' and '.join(settings)}, {code}"


def read(place: str) -> Results:
    """Results of a folder or of one file."""
    path = Path(place)
    found = load_all(path) if path.is_dir() else {path.stem: load(path)} if path.exists() else {}
    if not found:
        raise SystemExit(f"{place}: no results there; give a folder or a file that a benchmark wrote")
    return found


def main(arguments: Sequence[str]) -> int:
    """Print the comparison; 1 if something became worse."""
    if len(arguments) != 2:
        raise SystemExit(__doc__)
    before, after = map(read, arguments)
    print(f"Before: {about(before)}\nAfter:  {about(after)}")
    found = list(changes(before, after))
    errors = float(norm.isf(ALARM / 2 / max(len(found), 1)))
    apart = [change for change in found if change.beyond_noise(errors)]
    same = sum(change.before == change.after for change in found)
    for title, listed in (
        ("Worse", [change for change in apart if change.worse_by > 0]),
        ("Better", [change for change in apart if change.worse_by < 0]),
    ):
        print(f"{title} beyond noise: {len(listed)}")
        for change in listed:
            print(f"  {change}")
    print(
        f"Compared: {len(found)} numbers, {same} of them the same; noise is {errors:.1f} standard errors, "
        "or more with few draws."
    )
    if missing := gone(before, after):
        print("Only in the first run, not compared:", *missing, sep="\n  ")
    return int(any(change.worse_by > 0 for change in apart))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
