"""Bytes, open files and frames are read as the file with the same content is."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import peerveil as pv

TEXT = "paper,reviewer,score\np,ann,3\np,bob,5\nq,bob,4\nq,cem,4\nr,cem,8\nr,ann,6\nr,ünal,1\n"
PUBLIC = "paper,ratings\np,3;5\nq,4;4\nr,8;6;1\n"


def parquet(text: str) -> bytes:
    buffer = io.BytesIO()
    pl.read_csv(io.StringIO(text)).write_parquet(buffer)
    return buffer.getvalue()


def columns(text: str) -> dict[str, list[str]]:
    header, *rows = [line.split(",") for line in text.splitlines()]
    return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))


def pandas(text: str) -> Any:
    return pytest.importorskip("pandas").DataFrame(columns(text))


def pyarrow(text: str) -> Any:
    return pytest.importorskip("pyarrow").table(columns(text))


WAYS: dict[str, Callable[[str], Any]] = {
    "bytes": str.encode,
    "bytearray": lambda text: bytearray(text.encode()),
    "memoryview": lambda text: memoryview(text.encode()),
    "binary file": lambda text: io.BytesIO(text.encode()),
    "text file": io.StringIO,
    "utf-16": lambda text: text.encode("utf-16"),
    "packed": lambda text: gzip.compress(text.encode()),
    "packed file": lambda text: io.BytesIO(gzip.compress(text.encode())),
    "parquet": parquet,
    "json": lambda text: json.dumps(
        [dict(zip(columns(text), r, strict=True)) for r in zip(*columns(text).values(), strict=True)]
    ).encode(),
    "polars": lambda text: pl.DataFrame(columns(text)),
    "pandas": pandas,
    "pyarrow": pyarrow,
}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Callable[[str], Any]:
    return WAYS[request.param]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "reviews.csv").write_text(TEXT, encoding="utf-8")
    (tmp_path / "public.csv").write_text(PUBLIC, encoding="utf-8")
    return tmp_path


def arrays(reviews: pv.Reviews) -> list[Any]:
    return [reviews.papers, reviews.paper.tolist(), reviews.reviewer.tolist(), reviews.score.tolist()]


def test_reviews_are_those_of_the_file(way: Callable[[str], Any], path: Path) -> None:
    assert arrays(pv.read(way(TEXT))) == arrays(pv.read(path / "reviews.csv"))


def test_public_records_are_those_of_the_file(way: Callable[[str], Any], path: Path) -> None:
    loads = {1: 1, 2: 3}
    expected = pv.read_public(path / "public.csv", loads=loads)
    record = pv.read_public(way(PUBLIC), loads=loads)
    assert record.papers == expected.papers
    assert np.array_equal(record.score, expected.score)


@pytest.fixture
def opened(path: Path) -> Iterator[list[Any]]:
    with (path / "reviews.csv").open("rb") as binary, (path / "reviews.csv").open(encoding="utf-8") as text:
        yield [binary, text]


def test_files_opened_by_the_caller_are_read_and_stay_open(opened: list[Any], path: Path) -> None:
    for file in opened:
        assert arrays(pv.read(file)) == arrays(pv.read(path / "reviews.csv"))
        assert not file.closed


def test_groups_are_read_from_bytes() -> None:
    assert pv.read_groups(b"paper,track\np,theory\nq,systems\n") == {"p": "theory", "q": "systems"}


def test_a_frame_may_have_a_column_named_read() -> None:
    frame = pytest.importorskip("pandas").DataFrame(columns(TEXT) | {"read": ["yes"] * 7})
    assert pv.read(frame).reviewers == 4


class Odd:
    """An object with a method of files."""

    def __init__(self, content: object) -> None:
        self.content = content

    def read(self) -> object:
        if isinstance(self.content, Exception):
            raise self.content
        return self.content


def test_what_cannot_be_read_is_named_without_its_content(opened: list[Any]) -> None:
    opened[0].close()
    for source in (opened[0], Odd(7), Odd(ValueError("ann wrote this"))):
        with pytest.raises(pv.FileError, match="the buffer: is closed, or gives neither bytes nor text") as failed:
            pv.read(source)
        assert failed.value.__context__ is None
    with pytest.raises(pv.FileError, match="the buffer: cannot be read: OSError"):
        pv.read(Odd(OSError()))
    with pytest.raises(pv.FileError, match="the buffer: is not UTF-8 text"):
        pv.read(Odd("\udc80"))
    with pytest.raises(pv.FileError, match=r"^the buffer, line 2"):
        pv.read(b"paper,reviewer,score\np,ann,high\n")
    with pytest.raises(pv.FileError, match=r"^the buffer: format must be one of"):
        pv.read_public(io.BytesIO(PUBLIC.encode()), load=2, format="pdf")
