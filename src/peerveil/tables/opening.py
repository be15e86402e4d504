"""Opening files as they come: plain, gzip, or inside a zip. What swells like a bomb is refused."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable
from functools import lru_cache
from gzip import GzipFile
from pathlib import Path
from typing import IO, Any, BinaryIO, TextIO

from peerveil.errors import FileError

#: Text shrinks to a tenth, a column of equal cells to a fiftieth; what grows more than this on unpacking is no export.
MOST_GROWTH = 100

# Small files may grow more: there is nothing to fear below this size.
_FREE = 2**20

BOMB = f"grows more than {MOST_GROWTH} times when it is unpacked; unpack it yourself if it is no bomb"

_GZIP, _ZIP = b"\x1f\x8b", b"PK\x03\x04"
_EMPTY_ZIP = b"PK\x05\x06"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_DAMAGED = "is damaged: it cannot be unpacked"


def packing(path: Path) -> str:
    """How a file is packed: ``"gzip"``, ``"zip"``, or not at all, which is ``""``."""
    with path.open("rb") as handle:
        start = handle.read(4)
    if start.startswith(_GZIP):
        return "gzip"
    return "zip" if start in (_ZIP, _EMPTY_ZIP) else ""


def most_unpacked(size: int) -> int:
    """How many bytes a file of a size may hold when it is unpacked.

    >>> most_unpacked(2**20) // 2**20
    101
    """
    return _FREE + MOST_GROWTH * size


def open_bytes(path: Path, name: str) -> BinaryIO:
    """Open a file to read what it holds, unpacked; of a zip, its one file of reviews.

    Args:
        path: the file.
        name: what messages call it.
    """
    if not packing(path):
        return path.open("rb")
    state = path.stat()
    _check_growth(path, name, state.st_size, state.st_mtime_ns)
    return _unpacked(path, name)


def _unpacked(path: Path, name: str) -> BinaryIO:
    inner: IO[bytes] | GzipFile = GzipFile(path) if packing(path) == "gzip" else _member(path, name)
    return io.BufferedReader(_Guarded(inner, name))


@lru_cache(maxsize=8)
def _check_growth(path: Path, name: str, size: int, _: int) -> None:
    """Refuse a bomb before anything is kept of it. Files are opened more than once, but measured once."""
    left = most_unpacked(size)
    with _unpacked(path, name) as handle:
        while piece := handle.read(2**16):
            left -= len(piece)
            if left < 0:
                raise FileError(BOMB, file=name)


def open_text(path: Path, name: str) -> TextIO:
    """Open a file to read its text, with newlines as they are: UTF-8, or UTF-16 with its mark."""
    with open_bytes(path, name) as handle:
        encoding = "utf-16" if handle.read(2) in _UTF_16 else "utf-8-sig"
    return io.TextIOWrapper(open_bytes(path, name), encoding=encoding, newline="")


class _Guarded(io.RawIOBase):
    """What comes out of a packed file; damage is an error that names it."""

    def __init__(self, inner: IO[bytes] | GzipFile, name: str) -> None:
        self._inner, self._name = inner, name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data, damaged = b"", False
        try:
            data = self._inner.read(len(buffer))
        except (OSError, EOFError, ValueError, zlib.error, zipfile.BadZipFile):
            damaged = True
        if damaged:
            raise FileError(_DAMAGED, file=self._name)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._inner.close()
        super().close()


def _member(path: Path, name: str) -> IO[bytes]:
    """The file of a zip that holds the reviews: the one called review.csv or reviews.csv, or else the only one."""
    member, problem = None, ""
    try:
        # A member that was opened keeps the file open until it is closed itself; nothing else does.
        with zipfile.ZipFile(path) as archive:
            member, problem = _choose(archive.infolist())
            if member is not None:
                return archive.open(member)
    except (OSError, EOFError, ValueError, RuntimeError, LookupError, zipfile.BadZipFile, zlib.error):
        problem = _DAMAGED
    raise FileError(problem, file=name)


def _choose(members: list[zipfile.ZipInfo]) -> tuple[zipfile.ZipInfo | None, str]:
    files = [m for m in members if not m.is_dir() and not m.filename.startswith("__MACOSX/")]
    if any(m.filename == "[Content_Types].xml" for m in files):
        return None, "is an Excel workbook; save the sheet of reviews as CSV"
    called: Callable[[zipfile.ZipInfo], str] = lambda m: m.filename.lower().rpartition("/")[2]  # noqa: E731
    chosen = [m for m in files if called(m) in ("review.csv", "reviews.csv")] or files
    if len(chosen) != 1:
        return None, f"holds {len(files)} files, none of them review.csv; unpack it and name the file of reviews"
    if chosen[0].flag_bits & 1:
        return None, "is locked with a password; unpack it"
    if chosen[0].compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return None, "is packed in an unusual way; unpack it"
    return chosen[0], ""
