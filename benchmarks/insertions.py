"""Numbers in documents, inserted from the kept results of the benchmarks.

    python benchmarks/insertions.py            fill README.md and docs/*.md
    python benchmarks/insertions.py --check    say what is out of date

A number stands between comments that nobody sees on a page:

    coverage is <!--=effects/ratings/none/covered-->90.2 ± 1.3<!--/--> %

The address is benchmark, table, row and column; rows are listed with their keys by `--rows BENCHMARK`. Words after the
address say how: `value` or `error` alone; a format such as `.1f`; `percent` or `inverse`, applied before; and if the
row is a pattern with `*`, or several with `|`, one of `min`, `max`, `range`, `count`. The row `@` has what holds for a
whole table: `draws`, `seeds`, `date`, `cores`, `processor`. Whole tables stand between
`<!--table BENCHMARK/TABLE-->` and `<!--/table-->`, with `columns=a,b` and `rows=PATTERN` (several with `|`) for a part
of them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from provenance import ROOT
from results import Column, Measured, Table, load_all

NUMBER = re.compile(r"<!--=([^\s>]+?)((?: [^>\n]*?)?)-->([^\n]*?)<!--/-->")
TABLE = re.compile(r"<!--table ([^\s>]+?)((?: [^>\n]*?)?)-->\n.*?<!--/table-->", re.S)
FORMAT = re.compile(r"[+]?,?(\.\d+)?[efg%]|,d|d")
OVER_ROWS = ("min", "max", "range", "count")

Results = Mapping[str, tuple[Table, ...]]


def table_at(results: Results, benchmark: str, name: str) -> Table:
    """A kept table."""
    for table in results.get(benchmark, ()):
        if table.name == name:
            return table
    raise KeyError(f"no kept table {benchmark}/{name}; run benchmarks/bench_{benchmark}.py with --keep")


def about(table: Table, what: str) -> str:
    """What holds for a whole table."""
    facts = {"draws": table.draws, "seeds": table.seeds, "date": table.run.date}
    facts |= {"cores": str(table.run.cores), "processor": table.run.processor}
    return facts[what]


def inserted(results: Results, address: str, how: Sequence[str] = ()) -> str:
    """The text that stands for an address."""
    benchmark, name, row, column = address.split("/")
    table = table_at(results, benchmark, name)
    if row == "@":
        return about(table, column)
    patterns = row.split("|")
    matching = [key for key in map(table.row_key, table.rows) if any(key == p or fnmatchcase(key, p) for p in patterns)]
    over = [word for word in how if word in OVER_ROWS]
    if not matching or (len(matching) > 1 and not over):
        raise KeyError(f"{address}: {len(matching)} rows; the table has {', '.join(map(table.row_key, table.rows))}")
    if "count" in over:
        return str(len(matching))
    cells = [table.cell(key, column) for key in matching]
    if over == [] and isinstance(cells[0][1], str):
        return cells[0][1]
    numbers = [changed(cell, how) for _, cell in cells if isinstance(cell, int | float | Measured)]
    if not numbers:
        raise KeyError(f"{address}: no number there")
    numbers.sort(key=lambda one: one.value if isinstance(one, Measured) else one)
    picked = {"min": numbers[:1], "max": numbers[-1:], "range": [numbers[0], numbers[-1]]}
    shown = [written(cells[0][0], one, how) for one in picked.get((over or ["min"])[0], numbers[:1])]
    return " to ".join(dict.fromkeys(shown))


def changed(cell: float | Measured, how: Sequence[str]) -> float | Measured:
    """A number as a percentage, or its inverse, where that is asked."""
    value, error = (cell.value, cell.error) if isinstance(cell, Measured) else (cell, None)
    if "inverse" in how:
        value, error = 1 / value, None if error is None else error / value**2
    if "percent" in how:
        value, error = 100 * value, None if error is None else 100 * error
    return value if error is None else Measured(value, error)


def written(column: Column, number: float | Measured, how: Sequence[str]) -> str:
    """A number as text: as in its column unless another format is asked for, with its error unless one is left out."""
    formats = [word for word in how if FORMAT.fullmatch(word)]
    if unknown := [w for w in how if w not in ("value", "error", "percent", "inverse", *OVER_ROWS, *formats)]:
        raise KeyError(f"{unknown[0]!r} is not a way to write a number")
    column = replace(column, digits=formats[0]) if formats else column
    if isinstance(number, Measured) and ("value" in how or "error" in how or "range" in how):
        number = number.error if "error" in how else number.value
    return column.show(number)


def part(table: Table, how: Sequence[str]) -> Table:
    """The rows and columns that a marker asks for."""
    asked = dict(word.split("=", 1) for word in how)
    if unknown := asked.keys() - {"columns", "rows"}:
        raise KeyError(f"{unknown.pop()!r} is not an option of a table")
    if patterns := asked.get("rows"):
        kept = [row for row in table.rows if any(fnmatchcase(table.row_key(row), p) for p in patterns.split("|"))]
        table = replace(table, rows=tuple(kept))
    if wanted := asked.get("columns"):
        places = [[column.key for column in table.columns].index(key) for key in wanted.split(",")]
        columns = tuple(table.columns[place] for place in places)
        rows = tuple(tuple(row[place] for place in places) for row in table.rows)
        return replace(table, columns=columns, rows=rows, keys=len(places))
    return table


def filled(text: str, results: Results) -> str:
    """A document with what its markers name."""

    def number(match: re.Match[str]) -> str:
        return f"<!--={match[1]}{match[2]}-->{inserted(results, match[1], match[2].split())}<!--/-->"

    def table(match: re.Match[str]) -> str:
        shown = part(table_at(results, *match[1].split("/")), match[2].split()).markdown()
        return f"<!--table {match[1]}{match[2]}-->\n\n{shown}\n\n<!--/table-->"

    return TABLE.sub(table, NUMBER.sub(number, text))


#: What looks measured: a number with its standard error, a seed, a range of percentages or of ratios, a time, memory,
#: or a number of draws. Other numbers are exact, mostly; a test cannot tell.
MEASURED = re.compile(
    r"\d\s*%?\s*±\s*\d|\bseeds? \[?\d|\d to \d+(?:\.\d+)? %|\d\.\d+ to \d+\.\d+ (?:times|of)\b"
    r"|\d (?:ms|s|MB|GB)\b|\b\d[\d,]* (?:draws|trials)\b|\b\d+ of \d+ simulated"
)


def unmarked(text: str) -> list[tuple[str, str]]:
    """Lines with numbers that look measured and that no marker inserts, each with the heading above it.

    Blocks of code are left out: their output is compared elsewhere. So is the list of promises, in the words of others.
    """
    text = re.sub(r"<!-- promises:.*?<!-- /promises -->", "", TABLE.sub("", NUMBER.sub("", text)), flags=re.S)
    text = re.sub(r"^( *)```.*?^\1```$", "", text, flags=re.S | re.M)
    found, above, heading, measurements = [], "", "", False
    for line in text.splitlines():
        if line.startswith("#"):
            title = line.strip("# ")
            above = above if line.startswith("###") else title
            heading = title if title == above else f"{above}: {title}"
            measurements = "measurement" in line.lower()
        elif "**Measurements**" in line:
            measurements = True
        row = measurements and line.lstrip().startswith("|") and re.search(r"\d", line)
        if MEASURED.search(line) or row:
            found.append((heading, line.strip()))
    return found


def documents() -> list[Path]:
    """The documents whose numbers are inserted."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def main(arguments: Sequence[str]) -> int:
    """Fill or check the documents; 1 if one is out of date."""
    results, stale = load_all(), 0
    if arguments[:1] == ["--rows"]:
        for table in results[arguments[1]]:
            print(f"{arguments[1]}/{table.name}: {', '.join(column.key for column in table.columns)}")
            print("\n".join(f"  {table.row_key(row)}" for row in table.rows))
        return 0
    for document in documents():
        before = document.read_text("utf-8")
        after = filled(before, results)
        if before != after:
            stale += 1
            print(document.relative_to(ROOT))
            if "--check" not in arguments:
                document.write_text(after, "utf-8")
    return int(bool(stale) and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
