"""Columns of text in polars: what was put into them comes out, in the memory that is promised."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import peerveil as pv
from peerveil.tables.reading import read_table
from peerveil.tables.table import BLANKS, Names, Table, apply

LETTERS = st.characters(codec="utf-8", exclude_categories=("Cc", "Zs", "Zl", "Zp"))
CELLS = st.lists(st.text(LETTERS, min_size=1, max_size=2), min_size=1, max_size=40)


def table(cells: list[str]) -> Table:
    return Table.of("a.csv", "csv", {"x": cells}, range(2, len(cells) + 2))


@given(CELLS)
def test_names_are_sorted_and_coded(cells: list[str]) -> None:
    for names in (Names.of(cells), table([f" {cell}\t" for cell in cells]).names("x")):
        assert list(names.values) == sorted(set(cells))
        assert [names.values[code] for code in names.codes.tolist()] == cells
    assert table(cells).text("x") == cells


@given(CELLS, st.data())
def test_functions_apply_to_every_cell(cells: list[str], data: st.DataObject) -> None:
    calls: list[str] = []

    def twice(cell: str) -> str:
        calls.append(cell)
        return 2 * cell

    assert apply(twice, table(cells).cells["x"]).to_list() == [2 * cell for cell in cells]
    assert calls == list(dict.fromkeys(cells))
    kept = data.draw(st.lists(st.booleans(), min_size=len(cells), max_size=len(cells)))
    some = table(cells).mapped("x", twice).where(pl.Series(kept, dtype=pl.Boolean))
    rows = [row for row, keep in enumerate(kept) if keep]
    assert some.cells["x"].to_list() == [2 * cells[row] for row in rows]
    assert list(some.lines) == [row + 2 for row in rows]


@given(st.lists(st.sampled_from(["1", "2.5", " 3 ", "1e999", "x", "", "1e101"]), min_size=1, max_size=8))
def test_the_first_cell_that_is_no_number_is_named(cells: list[str]) -> None:
    problems = {"1e999": "is not a finite number", "x": "is not a number", "": "is not a number", "1e101": "too large"}
    wrong = [row for row, cell in enumerate(cells) if cell in problems]
    if not wrong:
        assert table(cells).numbers("x").tolist() == [float(cell) for cell in cells]
        return
    with pytest.raises(pv.FileError, match=problems[cells[wrong[0]]]) as caught:
        table(cells).numbers("x")
    assert (caught.value.line, caught.value.column) == (wrong[0] + 2, "x")


def test_only_wanted_columns_are_read(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [1, 2], "b": ["x", None], "c": [0.5, 1.0]})
    frame.write_csv(tmp_path / "a.csv")
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_ndjson(tmp_path / "a.jsonl")
    for source in (
        frame,
        pd.DataFrame(frame.to_dict(as_series=False)),
        *(tmp_path / f"a.{end}" for end in ("csv", "parquet", "jsonl")),
    ):
        read = read_table(source, wanted=lambda name: name == "b")
        assert (read.header, read.cells.to_dict(as_series=False), read.rows) == (("a", "b", "c"), {"b": ["x", ""]}, 2)
        assert read_table(source, wanted=lambda _: False).rows == 2


@pytest.mark.parametrize("column", ["paper", "reviewer", "score"])
def test_half_a_character_is_refused_in_frames_too(column: str) -> None:
    cells = {"paper": ["p", "q"], "reviewer": ["a", "b"], "score": ["1", "2"]}
    cells[column][1] = "\ud800"
    frame = pd.DataFrame({name: pd.Series(texts, dtype=object) for name, texts in cells.items()})
    with pytest.raises(pv.FileError, match=f"line 2, column '{column}': the cell holds half a character"):
        pv.read(frame)


SHAPES: dict[str, tuple[str, Callable[[int, list[int]], str]]] = {
    "rows": ("paper,ratings\n", lambda i, x: f"p{i},{x[0]};{x[1]};{x[2]}\n"),
    "criteria": ("paper,ratings,clarity\n", lambda i, x: f"p{i},{x[0]};{x[1]};{x[2]},{x[3]};{x[4]};{x[5]}\n"),
    "numbered": ("paper_id\t0\t1\t2\t3\t4\t5\n", lambda i, x: f"{i}\t{x[0]}\t{x[1]}\t{x[2]}\t\t\t\n"),
    "long": ("paper,ratings\n", lambda i, x: f"p{i},{';'.join(map(str, 10 * x))}\n"),
    "reviews": ("paper,score\n", lambda i, x: f"{i // 3},{x[0]}\n"),
    "private": ("paper,reviewer,score\n", lambda i, x: f"{i // 3},r{i * 7919 % 30_011 if i else 0},{x[0]}\n"),
    "blank": (
        ",".join(["paper,reviewer,score", *(f"c{i}" for i in range(40))]) + "\n",
        lambda i, x: f"{i // 3},r{i % 97},{x[0]}{',' * 40}\n",
    ),
}

# The peak of the memory of a process, as the system counts it: tracemalloc does not see what polars holds.
PEAK = """
import sys, peerveil as pv
from pathlib import Path
def memory(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(name))
def read(path):
    if sys.argv[3] in ("private", "blank"):
        return pv.read(path, ids="people")
    return pv.read_public(path, load=1, criteria=["clarity"] if sys.argv[3] == "criteria" else ())
read(sys.argv[1])
before = memory("VmRSS")
read(sys.argv[2])
print(memory("VmHWM") - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of memory is told by /proc")
@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_compact_files_take_a_few_times_their_size(shape: str, tmp_path: Path) -> None:
    header, row = SHAPES[shape]
    rng = random.Random(0)
    for name, size in (("small.csv", 2_000), ("large.csv", 4_000_000)):
        with (tmp_path / name).open("w") as handle:
            written = handle.write(header)
            i = 0
            while written < size:
                written += handle.write(row(i, [rng.randint(1, 9) for _ in range(6)]))
                i += 1
    command = [sys.executable, "-c", PEAK, str(tmp_path / "small.csv"), str(tmp_path / "large.csv"), shape]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    most = 15 if shape in ("private", "blank") else 30  # as docs/formats.md states
    assert int(done.stdout) < most * (tmp_path / "large.csv").stat().st_size + 2**24


def test_blanks_around_names_are_those_of_python(tmp_path: Path) -> None:
    assert set(BLANKS) == {chr(code) for code in range(0x110000) if chr(code).isspace()}
    file = tmp_path / "reviews.csv"
    file.write_text("paper,reviewer,score\np,bob\x1f,1\nq,\u2003bob,2\n", encoding="utf-8")
    assert pv.read(file).reviewers == 1
    file.write_text("paper,reviewer,score\np,bob,1\nq,\x1f,2\n", encoding="utf-8")
    with pytest.raises(pv.FileError, match="line 3, column 'reviewer': the cell is empty"):
        pv.read(file)


@pytest.mark.slow
def test_dates_beyond_any_calendar_are_refused(tmp_path: Path) -> None:
    frame = pl.DataFrame({"paper": ["p"], "reviewer": pl.Series([2**30], dtype=pl.Int32).cast(pl.Date), "score": [1]})
    frame.write_parquet(tmp_path / "dates.parquet")
    with pytest.raises(pv.FileError, match="cannot be read as text") as caught:
        pv.read(tmp_path / "dates.parquet")
    assert caught.value.__context__ is None
