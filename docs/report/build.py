"""Build the technical report: `make paper`. Needs no network: the package `typst` brings compiler and fonts.

Usage: python docs/report/build.py [FILE]; by default build/peerveil-report.pdf. A name like page-{0p}.png writes each
page as a picture.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import typst

from peerveil.support.version import __version__

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "docs" / "report" / "report.typ"
RESULTS = ROOT / "benchmarks" / "results"

#: The date in the file, so that the same sources give the same bytes.
TIMESTAMP = 1_767_225_600


def kept() -> str:
    """The addresses of all kept tables, as JSON: what is not measured is left out of the report."""
    files = sorted(RESULTS.glob("*.json"))
    return json.dumps(
        [f"{file.stem}/{table['name']}" for file in files for table in json.loads(file.read_text("utf-8"))]
    )


def build(to: Path) -> list[str]:
    """Write the report, and return the compiler's warnings."""
    to.parent.mkdir(parents=True, exist_ok=True)
    inputs = {"version": __version__, "kept": kept()}
    _, warnings = typst.compile_with_warnings(
        str(SOURCE),
        output=str(to),
        root=str(ROOT),
        ignore_system_fonts=True,
        sys_inputs=inputs,
        timestamp=TIMESTAMP,
        format="png" if to.suffix == ".png" else "pdf",
        ppi=90.0 if to.suffix == ".png" else None,
    )
    return [warning.message for warning in warnings]


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "peerveil-report.pdf"
    for warning in build(target):
        sys.stderr.write(f"warning: {warning}\n")
    sys.stdout.write(f"wrote {target}\n")
