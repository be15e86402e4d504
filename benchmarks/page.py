"""The page of all results: docs/benchmarks.md from the kept ones, or that of another folder.

python benchmarks/page.py [FOLDER [FILE]]
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from pathlib import Path

from provenance import ROOT, Run
from results import KEPT, Table, load_all

PAGE = ROOT / "docs" / "benchmarks.md"

HEAD = """# Benchmarks

<!-- Made by `make numbers` from benchmarks/results; do not edit. -->

Everything here was measured by the programs in `benchmarks/`, and is stored with its seeds in `benchmarks/results`.
`make bench` repeats the quick settings and writes to `bench-results`; `make bench-full` repeats everything, and
replaces what is stored. `python benchmarks/compare.py BEFORE AFTER` says what became worse or better beyond noise.

Numbers after ± are standard errors. Where the load average exceeds the number of cores, other work shared the machine:
times by the clock then say little, ratios within a run and processor times more.
"""


def description(benchmark: str) -> tuple[str, str]:
    """The first line of a benchmark's docstring, and the rest."""
    text = (ROOT / "benchmarks" / f"bench_{benchmark}.py").read_text("utf-8")
    first, _, rest = (ast.get_docstring(ast.parse(text)) or benchmark).partition("\n")
    return first.rstrip("."), rest.strip()


def provenance(run: Run) -> str:
    """What a table was measured with, in a line."""
    versions = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    called = f" with `{' '.join(run.arguments)}`" if run.arguments else ""
    return (
        f"{run.date}, {run.setting} run{called}; {run.cores} cores of {run.processor}, load average {run.load}, "
        f"{run.cpu_seconds:,.0f} s of processor time; {versions}; source {run.source}."
    )


def section(benchmark: str, tables: Sequence[Table]) -> str:
    """The section of a benchmark."""
    title, text = description(benchmark)
    parts = [f"## {title}", f"`benchmarks/bench_{benchmark}.py`", text] if text else [f"## {title}"]
    for table in tables:
        parts += [f"### {table.title}", table.markdown(), *table.notes]
        parts.append(f"Seeds: {table.seeds}. Draws: {table.draws}. {provenance(table.run)}")
    return "\n\n".join(parts)


def page(folder: Path = KEPT) -> str:
    """The page of all results of a folder."""
    return "\n\n".join([HEAD.strip(), *(section(name, tables) for name, tables in load_all(folder).items())]) + "\n"


def main(arguments: Sequence[str]) -> None:
    """Write the page."""
    folder = Path(arguments[0]) if arguments else KEPT
    file = Path(arguments[1]) if len(arguments) > 1 else PAGE
    file.write_text(page(folder), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
