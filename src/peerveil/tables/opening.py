"""Opening a file once: plain, gzip or zip. A file that grows too much when it is unpacked is refused."""

from __future__ import annotations

import io
import os
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from gzip import GzipFile
from pathlib import Path
from typing import IO, Any, TextIO, TypeVar

from peerveil.errors import FileError, RecordError
from peerveil.tables.sniffing import UTF_16, Look, sniff

#: Text shrinks to a tenth, a column of equal cells to a fiftieth; an export never grows more than this.
MOST_GROWTH = 100

# Small files may grow more: this much memory is always there.
_FREE = 2**20

BOMB = f"grows more than {MOST_GROWTH} times when it is unpacked; unpack it yourself if it is no bomb"
NOT_UTF8 = "is not UTF-8 text; save it as UTF-8"
_DAMAGED = "is damaged: it cannot be unpacked"

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Source:
    """A file that was opened and read once, or a frame.

    Attributes:
        name: what messages call it.
        content: what the file holds, unpacked.
        packing: ``"gzip"``, ``"zip"`` or ``""``.
        frame: a polars, pandas or other eager frame, which is no file; ``None`` for a file.
    """

    name: str
    content: bytes = field(default=b"", repr=False)
    packing: str = ""
    frame: Any = field(default=None, repr=False)

    @cached_property
    def look(self) -> Look:
        """What the beginning of the file shows."""
        if self.frame is not None:
            return Look(name=self.name, kind="frame")
        return sniff(self.name, self.content, self.packing)

    def text(self) -> TextIO:
        """The text of the file, with newlines as they are: UTF-8, or UTF-16 with its byte order mark."""
        encoding = "utf-16" if self.content.startswith(UTF_16) else "utf-8-sig"
        return io.TextIOWrapper(io.BytesIO(self.content), encoding=encoding, newline="")

    def file(self) -> Source:
        """The source itself, for formats that only files have; a frame is an error."""
        if self.frame is not None:
            raise FileError("is no file, which this format needs", file=self.name)
        return self

    def __fspath__(self) -> str:
        return self.file().name


#: What users may name as a source: a path, or a polars, pandas or other eager frame.
Readable = str | os.PathLike[str] | Any


def open_source(readable: Readable) -> Source:
    """The source for a path or frame; a file is opened once, and read and unpacked whole."""
    if isinstance(readable, Source):
        return readable
    if not is_path(readable):
        return Source("the frame", frame=readable)
    path = file_to_read(readable)
    name = str(path)
    content = guarded(path.read_bytes, name)
    if content.startswith(b"\x1f\x8b"):
        return Source(name, _unpack(content, lambda: GzipFile(fileobj=io.BytesIO(content)), name), "gzip")
    if content.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return Source(name, _unpack(content, lambda: _member(content), name), "zip")
    return Source(name, content)


def is_path(readable: Readable) -> bool:
    """Whether a source is a file's path, not a frame or an opened file."""
    return isinstance(readable, str | os.PathLike) and not isinstance(readable, Source)


def file_to_read(readable: str | os.PathLike[str]) -> Path:
    """The path of a file or folder; whether it exists shows when it is opened."""
    text = os.fspath(readable)
    if not text or "\0" in text:
        raise FileError("is no name of a file", file=repr(text))
    path = Path(text)
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise FileError("is a pipe or a device, which cannot be read twice; save it as a file", file=text)
    return path


def read_text(path: str | os.PathLike[str]) -> tuple[str, str]:
    """The name and the text of a file."""
    file = file_to_read(path)
    return str(file), guarded(lambda: file.read_text(encoding="utf-8-sig"), str(file))


def guarded(work: Callable[[], Result], name: str) -> Result:
    """The result of some work on a file; an error of the system becomes one that names the file."""
    # Raised outside of the handlers: an error's context would hold what was read.
    try:
        return work()
    except OSError as error:
        problem = cannot_read(error)
    except UnicodeError:
        problem = NOT_UTF8
    raise FileError(problem, file=name)


def located(work: Callable[[], Result], name: str) -> Result:
    """The result of some work on a file's numbers; if they do not add up, the error names the file."""
    try:
        return work()
    except RecordError as error:
        parts = error.parts
    raise FileError(*parts, file=name)


def cannot_read(error: OSError) -> str:
    """Why a file cannot be read."""
    return f"cannot be read: {error.strerror or type(error).__name__}"


def most_unpacked(size: int) -> int:
    """How many bytes a file of a size may hold when it is unpacked.

    >>> most_unpacked(2**20) // 2**20
    101
    """
    return _FREE + MOST_GROWTH * size


def _unpack(packed: bytes, stream: Callable[[], IO[bytes] | GzipFile], name: str) -> bytes:
    """What a packed file holds; it is measured first, so that nothing of a bomb is kept."""
    problem = _DAMAGED
    try:
        with stream() as measured:
            size = _size(measured, most_unpacked(len(packed)))
        if size is not None:
            with stream() as unpacked:
                return unpacked.read(size)
        problem = BOMB
    except _NotUnpacked as error:
        problem = error.problem
    except (OSError, EOFError, ValueError, RuntimeError, LookupError, zipfile.BadZipFile, zlib.error):
        pass
    raise FileError(problem, file=name)


def _size(stream: IO[bytes] | GzipFile, most: int) -> int | None:
    """How many bytes a stream holds; ``None`` if more than the limit."""
    size = 0
    while size <= most and (piece := stream.read(2**16)):
        size += len(piece)
    return size if size <= most else None


class _NotUnpacked(Exception):  # noqa: N818 - not an error of its own
    def __init__(self, problem: str) -> None:
        super().__init__()
        self.problem = problem


def _member(packed: bytes) -> IO[bytes]:
    """The file of a zip that holds the reviews: the one called review.csv or reviews.csv, or else the only one."""
    archive = zipfile.ZipFile(io.BytesIO(packed))
    files = [m for m in archive.infolist() if not m.is_dir() and not m.filename.startswith("__MACOSX/")]
    if any(m.filename == "[Content_Types].xml" for m in files):
        raise _NotUnpacked("is an Excel workbook; save the sheet of reviews as CSV")
    usual = ("review.csv", "reviews.csv")
    chosen = [m for m in files if m.filename.lower().rpartition("/")[2] in usual] or files
    if len(chosen) != 1:
        raise _NotUnpacked(f"holds {len(files)} files, none of them review.csv; unpack it and name the file of reviews")
    if chosen[0].flag_bits & 1:
        raise _NotUnpacked("is locked with a password; unpack it")
    if chosen[0].compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise _NotUnpacked("is packed in an unusual way; unpack it")
    return archive.open(chosen[0])
