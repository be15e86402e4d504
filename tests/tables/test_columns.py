"""Columns that take little memory hold what was put into them; files take less than ten times their size."""

from __future__ import annotations

import random
import tracemalloc
from array import array
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import peerveil as pv
from peerveil.tables import columns
from peerveil.tables.columns import Coded, Growing, Packed, Unread, mapped, taken

CELLS = st.lists(st.text(st.characters(codec=None), max_size=3), max_size=40)


@given(st.lists(CELLS, max_size=5), st.sampled_from([0, 3, 1000]), st.sampled_from([0, 10_000]))
def test_growing_columns_hold_their_cells(pieces: list[list[str]], many: int, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "_MANY", many)
        growing = Growing(size)
        for piece in pieces:
            growing.extend(piece)
    cells = [cell for piece in pieces for cell in piece]
    column = growing.column()
    assert list(column) == cells
    assert [column[row] for row in range(len(column))] == cells
    assert column[1:3] == cells[1:3]
    assert list(mapped(column, len)) == [len(cell) for cell in cells]
    rows = np.arange(len(cells) - 1, -1, -2)
    assert list(taken(column, rows)) == [cells[row] for row in rows.tolist()]


def test_growing_columns_widen_their_codes() -> None:
    growing = Growing(2**30)
    cells = [str(i) for i in range(70_000)]
    growing.extend(cells[:300])
    growing.extend(cells)
    column = growing.column()
    assert isinstance(column, Coded)
    assert list(column) == [*cells[:300], *cells]
    assert column.codes.itemsize == 4


def test_texts_that_hardly_repeat_are_packed() -> None:
    growing = Growing(1000)
    growing.extend(str(i) for i in range(20_000))
    growing.extend(["x", "\ud800", "\U0001f600"])
    column = growing.column()
    assert isinstance(column, Packed)
    assert (column[5], column[-1], column[-2], len(column)) == ("5", "\U0001f600", "\ud800", 20_003)
    with pytest.raises(IndexError):
        column[20_003]


@given(CELLS, st.sampled_from([1, 2, 1000]))
def test_names_are_sorted_and_coded(cells: list[str], block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "BLOCK", block)
        column = Coded.of(iter(cells), len(cells))
    assert list(column.values) == sorted(set(cells))
    assert list(column) == cells
    assert column.arranged()


def test_codes_that_are_not_arranged_are_arranged() -> None:
    odd = Coded(["b", "a", "unused", "a"], array("B", [0, 1, 3, 0]))
    assert not odd.arranged()
    papers = ["p", "p", "q", "q"]
    reviews = pv.Reviews.from_columns(papers, odd, [1, 2, 3, 4])
    plain = pv.Reviews.from_columns(papers, ["b", "a", "a", "b"], [1, 2, 3, 4])
    assert reviews.reviewer.tolist() == plain.reviewer.tolist()


def test_cells_that_were_not_read_cannot_be_used() -> None:
    column = Unread(3)
    assert len(column) == 3
    with pytest.raises(LookupError, match="were not read"):
        column[0]


def test_lost_zeros_and_views_are_copied() -> None:
    score = np.array([-0.0, 1.0])
    view = score[:]
    score.flags.writeable = False
    record = pv.PublicRecord.from_rows([[0, 1]], load=1)
    again = pv.PublicRecord(papers=record.papers, paper=record.paper, score=score, loads=record.loads)
    assert not np.signbit(again.score).any()
    view[1] = 5
    assert again.score.tolist() == [0, 1]
    assert again.paper is record.paper  # it cannot change: no second copy
    with pytest.raises(pv.RecordError, match="papers that are not among the 1 named ones"):
        pv.PublicRecord(papers=record.papers, paper=np.array([0, 1]), score=score, loads=record.loads)


SHAPES: dict[str, tuple[str, Callable[[int, list[int]], str]]] = {
    "rows": ("paper,ratings\n", lambda i, x: f"p{i},{x[0]};{x[1]};{x[2]}\n"),
    "criteria": ("paper,ratings,clarity\n", lambda i, x: f"p{i},{x[0]};{x[1]};{x[2]},{x[3]};{x[4]};{x[5]}\n"),
    "numbered": ("paper_id\t0\t1\t2\t3\t4\t5\n", lambda i, x: f"{i}\t{x[0]}\t{x[1]}\t{x[2]}\t\t\t\n"),
    "long": ("paper,ratings\n", lambda i, x: f"p{i},{';'.join(map(str, 10 * x))}\n"),
    "reviews": ("paper,score\n", lambda i, x: f"{i // 3},{x[0]}\n"),
    "private": ("paper,reviewer,score\n", lambda i, x: f"{i // 3},r{i * 7919 % 30_011 if i else 0},{x[0]}\n"),
    "blank": (f"paper,reviewer,score{',' * 40}\n", lambda i, x: f"{i // 3},r{i % 97},{x[0]}{',' * 40}\n"),
}


@pytest.mark.parametrize(
    "shape",
    [shape if shape in ("rows", "private") else pytest.param(shape, marks=pytest.mark.slow) for shape in SHAPES],
)
def test_compact_files_take_less_than_ten_times_their_size(shape: str, tmp_path: Path) -> None:
    header, row = SHAPES[shape]
    if shape == "blank":
        header = ",".join(["paper,reviewer,score", *(f"c{i}" for i in range(40))]) + "\n"
    rng = random.Random(0)
    path = tmp_path / "a.csv"
    with path.open("w") as handle:
        handle.write(header)
        for i in range({"long": 5000, "blank": 10_000}.get(shape, 45_000)):
            handle.write(row(i, [rng.randint(1, 9) for _ in range(6)]))
    tracemalloc.start()
    if shape in ("private", "blank"):
        pv.read(path)
    else:
        pv.read_public(path, load=1, criteria=["clarity"] if shape == "criteria" else ())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * path.stat().st_size + 2**21


@given(st.lists(st.lists(st.sampled_from([1, 2.5, 3, 6.1, 1e50, None]), max_size=5), min_size=1, max_size=9), st.data())
def test_public_rows_are_arranged_like_any_record(rows: list[list[float | None]], data: st.DataObject) -> None:
    names = data.draw(st.permutations([f"p{i}" for i in range(len(rows))]))
    grades = [[None if x is None else data.draw(st.integers(1, 3)) for x in row] for row in rows]

    def text(row: list[float | None] | list[int | None]) -> str:
        return ";".join("?" if x is None else str(x) for x in row)

    frame = pl.DataFrame(
        {"paper": names, "ratings": list(map(text, rows)), "clarity": list(map(text, grades)), "x": [0] * len(rows)}
    )
    kept = [i for i, row in enumerate(rows) if row]
    if not kept:
        with pytest.raises(pv.FileError, match="holds no scores"):
            pv.read_public(frame, load=1)
        return
    expected = pv.PublicRecord.from_rows(
        [rows[i] for i in kept],
        papers=[names[i] for i in kept],
        load=1,
        scale=(0, 1e60),
        criteria={"clarity": [grades[i] for i in kept]},
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("peerveil.record.public_scores._BLOCK", data.draw(st.sampled_from([1, 2, 2**14])))
        patch.setattr("peerveil.record.public_scores._FEW", data.draw(st.sampled_from([0, 2, 2**13])))
        found = pv.read_public(frame, load=1, scale=(0, 1e60), criteria=["clarity"])
    assert found.papers == expected.papers
    assert found.criteria is not None
    assert expected.criteria is not None
    for ours, theirs in ((found.paper, expected.paper), (found.score, expected.score)):
        assert np.array_equal(ours, theirs, equal_nan=ours.dtype.kind == "f")
    assert np.array_equal(found.criteria, expected.criteria, equal_nan=True)
