"""Packed files: what is packed is read, what swells or is damaged is refused."""

from __future__ import annotations

import gc
import gzip
import io
import json
import os
import subprocess
import sys
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import peerveil as pv
from peerveil.tables.opening import MOST_GROWTH, open_source
from spreadsheets import by_openpyxl

TEXT = b"paper,reviewer,score\np,ann,3\np,bob,4\nq,ann,5\n"


def zipped(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        gzip.compress(TEXT),
        zipped({"reviews.csv": TEXT}),
        zipped({"any.txt": TEXT}, zipfile.ZIP_STORED),
        zipped({"a/": b"", "a/review.csv": TEXT, "a/paper.csv": b"x\n1\n", "__MACOSX/a/review.csv": b"x"}),
    ],
    ids=["gzip", "zip", "stored", "one of several"],
)
def test_packed_files_are_read(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "packed").write_bytes(data)
    assert pv.read(tmp_path / "packed").score.tolist() == [3, 4, 5]


def test_readers_may_take_an_opened_file_for_its_path(tmp_path: Path) -> None:
    path = tmp_path / "packed"
    path.write_bytes(gzip.compress(TEXT))
    source = open_source(path)
    assert Path(source) == path
    assert gzip.decompress(Path(source).read_bytes()) == source.content == TEXT
    with pytest.raises(pv.FileError, match="the frame: is no file"):
        Path(open_source(pl.DataFrame({"paper": ["p"]})))


@pytest.mark.parametrize("kind", ["gzip", "zip"])
@pytest.mark.parametrize("beginning", [b"", b"[", b"paper,reviewer,score\n"], ids=["bare", "json", "csv"])
def test_bombs_are_refused_before_they_go_off(kind: str, beginning: bytes, tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    bomb = beginning + b"0" * (MOST_GROWTH + 50) * 2**17
    path.write_bytes(gzip.compress(bomb) if kind == "gzip" else zipped({"review.csv": bomb}))
    tracemalloc.start()
    with pytest.raises(pv.FileError, match=r"grows more than .* unpack it yourself") as caught:
        pv.read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert str(caught.value).startswith(str(path))
    assert peak < 2**21 + 10 * path.stat().st_size


@pytest.mark.parametrize("cell", [5, "p", "x" * 2**20], ids=["numbers", "texts", "long texts"])
def test_columns_of_equal_cells_are_bombs_too(cell: int | str, tmp_path: Path) -> None:
    path = tmp_path / "bomb.parquet"
    rows = 200 if cell == "x" * 2**20 else 3_000_000
    columns = {"paper": pl.repeat(cell, rows, eager=True), "score": pl.repeat(1, rows, eager=True)}
    pl.DataFrame(columns).write_parquet(path)
    for read in (pv.read, pv.read_public):
        with pytest.raises(pv.FileError, match=r"bomb\.parquet: grows more than"):
            read(path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (gzip.compress(TEXT)[:-9], "is damaged"),
        (gzip.compress(TEXT)[:20] + b"xxxx" + gzip.compress(TEXT)[24:], "is damaged"),
        (zipped({"review.csv": TEXT})[:60], "is damaged"),
        (zipped({"review.csv": TEXT}, zipfile.ZIP_LZMA), "is packed in an unusual way"),
        (zipped({"a.csv": TEXT, "b.csv": TEXT}), "holds 2 files, none of them review.csv"),
        (zipped({}), "holds 0 files"),
        (zipped({"[Content_Types].xml": b"<x/>", "xl/workbook.xml": b"<x/>"}), "is damaged"),
    ],
    ids=["short gzip", "spoilt gzip", "short zip", "lzma", "two files", "no files", "Excel"],
)
def test_packed_files_that_cannot_be_read(data: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "packed").write_bytes(data)
    with pytest.raises(pv.FileError, match=message) as caught:
        pv.read(tmp_path / "packed")
    assert caught.value.__context__ is None


def test_locked_files_are_told(tmp_path: Path) -> None:
    data = bytearray(zipped({"review.csv": TEXT}))
    directory = data.index(b"PK\x01\x02")
    data[6] |= 1
    data[directory + 8] |= 1
    (tmp_path / "packed").write_bytes(bytes(data))
    with pytest.raises(pv.FileError, match="locked with a password"):
        pv.read(tmp_path / "packed")


def is_open(path: Path) -> bool:
    """Whether this process has a file open."""
    descriptors = Path("/proc/self/fd").iterdir()
    return any(os.path.realpath(descriptor) == str(path.resolve()) for descriptor in descriptors)


SPOILT_HEADER = bytearray(zipped({"review.csv": TEXT}))
SPOILT_HEADER[26] = 5  # the name's length, which the directory states otherwise


REFUSED: dict[str, bytes] = {
    "gzip bomb": gzip.compress(b"0" * (MOST_GROWTH + 50) * 2**17),
    "zip bomb": zipped({"review.csv": b"0" * (MOST_GROWTH + 50) * 2**17}),
    "short gzip": gzip.compress(TEXT)[:-9],
    "lzma": zipped({"review.csv": TEXT}, zipfile.ZIP_LZMA),
    "two files": zipped({"a.csv": TEXT, "b.csv": TEXT}),
    "Excel": zipped({"[Content_Types].xml": b"<x/>"}),
    "spoilt zip": bytes(SPOILT_HEADER),
    "not UTF-8": b"paper,reviewer,score\n\xe4,b,3\n",
    "JSON": b"[{]",
    "Parquet": b"PAR1 and no more",
    "XML": b"<?xml version='1.0'?><Workbook><a></Workbook>",
}


@pytest.mark.skipif(sys.platform != "linux", reason="open files are listed by /proc")
@pytest.mark.parametrize("read", [pv.read, pv.read_public])
@pytest.mark.parametrize("data", REFUSED.values(), ids=REFUSED)
def test_no_refusal_leaves_a_file_open(data: bytes, read: Callable[[Path], object], tmp_path: Path) -> None:
    path = tmp_path / "refused"
    path.write_bytes(data)
    gc.disable()  # it would close what nobody uses, at times that depend on everything else
    try:
        with pytest.raises(pv.FileError) as caught:
            read(path)
        assert not is_open(path), caught.value
    finally:
        gc.enable()


#: Reads files in the given ways, in one process because a hook cannot be removed; prints how often each was opened.
COUNT = """
import sys
from contextlib import redirect_stdout, suppress
from pathlib import Path
import peerveil as pv
from peerveil.cli import main
from peerveil.private.inspection import draft_mapping, inspect

def command(path):
    sys.argv[1:] = ["inspect", str(path)]
    with suppress(SystemExit), redirect_stdout(sys.stderr):
        main()

ways = {
    "read": pv.read,
    "inspect": inspect,
    "inspect on the command line": command,
    "read_public": lambda path: pv.read_public(path, load=1),
    "draft_mapping": lambda path: draft_mapping(path, path.with_suffix(".toml")),
}
opened = []
sys.addaudithook(lambda event, args: opened.append(args[0]) if event == "open" else None)
for name, how in zip(sys.argv[1::2], sys.argv[2::2]):
    opened.clear()
    ways[how](Path(name))
    mine = [one for one in opened if not isinstance(one, int) and Path(str(one)).name == Path(name).name]
    print(len(mine))
"""

WRITTEN: dict[str, bytes] = {
    "a.csv": TEXT,
    "a.csv.gz": gzip.compress(TEXT),
    "a.zip": zipped({"reviews.csv": TEXT}),
    "a.json": json.dumps([{"paper": 1, "reviewer": "ann", "score": 3}]).encode(),
    "hotcrp.csv": b"pid,review,email,Overall merit\n1,1A,ann@x.org,3\n1,1B,bob@x.org,4\n",
    "public.csv": b"paper,ratings\np,6;8\nq,3;4\n",
}


WAYS = [
    *((name, how) for name in WRITTEN if name != "public.csv" for how in ("read", "inspect")),
    ("a.csv", "draft_mapping"),
    ("a.xlsx", "read"),
    ("a.xlsx", "inspect"),
    ("a.csv", "inspect on the command line"),
    ("public.csv", "read_public"),
    ("public.csv", "inspect"),
]


def test_a_file_is_opened_once(tmp_path: Path) -> None:
    for name, content in WRITTEN.items():
        (tmp_path / name).write_bytes(content)
    by_openpyxl(tmp_path / "a.xlsx", {"A": [["paper", "reviewer", "score"], ["p", "ann", 3]]})
    words = [word for name, how in WAYS for word in (str(tmp_path / name), how)]
    done = subprocess.run([sys.executable, "-c", COUNT, *words], capture_output=True, text=True, check=True)
    assert dict(zip(WAYS, done.stdout.split(), strict=True)) == dict.fromkeys(WAYS, "1")
