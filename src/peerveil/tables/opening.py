"""Opening plain and packed files and workbooks; decompression bombs are refused."""

from __future__ import annotations

import io
import os
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, partial
from gzip import GzipFile
from itertools import islice
from pathlib import Path
from typing import IO, Any, TextIO, TypeGuard, TypeVar

from peerveil.errors import Argument, FileError, FileWarning, RecordError
from peerveil.tables.encodings import Encoding, encoding_of
from peerveil.tables.layout import MOST_ABOVE, lay_out
from peerveil.tables.sniffing import Look, sniff
from peerveil.tables.workbooks import Sheet, read_sheet, sheet_names, workbook_kind

#: The largest accepted ratio of decompression. Text shrinks to a tenth, a column of equal cells to a fiftieth.
MOST_GROWTH = 100

# Small files may grow more, up to this many bytes.
_FREE = 2**20

BOMB = f"grows more than {MOST_GROWTH} times when it is unpacked; unpack it yourself if it is no bomb"
NOT_UTF8 = "is not UTF-8 text; save it as UTF-8"
_DAMAGED = "is damaged: it cannot be unpacked"

#: The names of what is no file in messages.
FRAME, BUFFER = "the frame", "the buffer"

_BYTES = (bytes, bytearray, memoryview)

Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class Opening:
    """What is known about a file before it is opened.

    Attributes:
        sheet: the sheet of a workbook to read.
        encoding: the encoding of a text.
        columns: the columns that the user names.
        needs: headings or roles by which one sheet among several is recognised; the first set that any sheet has.
        optional: whether a user can name the sheet.
    """

    sheet: str | None = None
    encoding: str | None = None
    columns: tuple[str, ...] = ()
    needs: tuple[frozenset[str], ...] = ()
    optional: bool = True


@dataclass(frozen=True, eq=False)
class Source:
    """The unpacked content of a file or buffer, or a frame, with its name in messages.

    Attributes:
        name: the name of the file.
        content: its content; that of a workbook is packed.
        frame: the frame.
        workbook: the format of a workbook; ``None`` for any other file.
        opening: what is known about it.
    """

    name: str
    content: bytes = field(default=b"", repr=False)
    frame: Any = field(default=None, repr=False)
    workbook: str | None = None
    opening: Opening = Opening()

    @cached_property
    def look(self) -> Look:
        """The format, and the names at the beginning of the file."""
        if self.frame is not None:
            return Look(name=self.name, kind="frame")
        if self.workbook is not None:
            head = list(islice(self.sheet.records(), 2 * MOST_ABOVE))
            return Look(name=self.name, kind=self.workbook, first=lay_out(head, self.columns).names)
        return sniff(self.name, self.content, lambda: self.encoding.name, self.columns)

    @cached_property
    def encoding(self) -> Encoding:
        """The encoding of a text."""
        return encoding_of(self.content, self.name, self.opening.encoding)

    @cached_property
    def sheet(self) -> Sheet:
        """The sheet of a workbook that is read."""
        if self.workbook is None:
            raise FileError("is no workbook", file=self.name)
        asked = self.opening
        return read_sheet(
            self.content,
            self.workbook,
            self.name,
            most=most_unpacked(len(self.content)),
            wanted=asked.sheet,
            needs=asked.needs,
            asked=asked.columns,
            optional=asked.optional,
        )

    def sheet_names(self) -> tuple[str, ...]:
        """Return the names of the visible sheets of a workbook that are not empty."""
        if self.workbook is None:
            raise FileError("is no workbook", file=self.name)
        return sheet_names(self.content, self.workbook, self.name, most=most_unpacked(len(self.content)))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the user names."""
        return self.opening.columns

    @property
    def notices(self) -> tuple[str, ...]:
        """What was decided on opening."""
        if self.workbook is not None:
            return self.sheet.notices
        return self.encoding.notices if "encoding" in vars(self) else ()  # only of a text that was read

    def text(self) -> TextIO:
        """Return the text of the file, without its byte order mark; newlines are not translated."""
        if self.workbook is not None:
            raise FileError("is a workbook, not text; leave out ", Argument("format"), file=self.name)
        return io.TextIOWrapper(io.BytesIO(self.content), encoding=self.encoding.name, newline="")

    def file(self) -> Source:
        """Return the source, for formats that only files have; a frame is an error."""
        if self.frame is not None:
            raise FileError("is no file, which this format needs", file=self.name)
        return self

    def __fspath__(self) -> str:
        return self.file().name


#: A path; bytes or an open file; or a polars, pandas, pyarrow or other eager frame.
Readable = str | os.PathLike[str] | bytes | IO[bytes] | IO[str] | Any


def open_source(readable: Readable, opening: Opening = Opening()) -> Source:  # noqa: B008 - it is frozen
    """Return the source of a path, buffer or frame; a file is opened once and read completely."""
    if isinstance(readable, Source):
        return readable
    name = source_name(readable)
    if name == FRAME:
        return Source(name, frame=readable, opening=opening)
    content = guarded(lambda: _content(readable), name)
    workbook = workbook_kind(content, name)
    if workbook is None and content.startswith((b"\x1f\x8b", b"PK\x03\x04", b"PK\x05\x06")):
        stream = _gzip if content.startswith(b"\x1f\x8b") else partial(_member, name=name)
        content = _unpack(content, stream, name)
        workbook = workbook_kind(content, name)
    if opening.sheet is not None and workbook is None:
        raise FileError("is no workbook, so it has no sheets; leave out ", Argument("sheet"), file=name)
    return Source(name, content, workbook=workbook, opening=opening)


def source_name(readable: Readable) -> str:
    """Return the name of a source in messages; an open file is not read.

    >>> source_name("a.csv"), source_name(b"paper,reviewer,score"), source_name({"paper": [1]})
    ('a.csv', 'the buffer', 'the frame')
    """
    if isinstance(readable, Source):
        return readable.name
    if is_path(readable):
        return str(file_to_read(readable))
    return BUFFER if isinstance(readable, _BYTES) or callable(getattr(readable, "read", None)) else FRAME


def _content(readable: Any) -> bytes:
    """Return the bytes of a file or buffer; an open file is read from where it is to its end."""
    if is_path(readable):
        return file_to_read(readable).read_bytes()
    try:
        content = readable if isinstance(readable, _BYTES) else readable.read()
    except ValueError:  # its text may hold what was read
        content = None
    if isinstance(content, str):
        return content.encode()
    if not isinstance(content, _BYTES):
        raise FileError("is closed, or gives neither bytes nor text", file=BUFFER)
    return bytes(content)


def is_path(readable: Readable) -> TypeGuard[str | os.PathLike[str]]:
    """Return whether a source is a path, not a frame or an opened file."""
    return isinstance(readable, str | os.PathLike) and not isinstance(readable, Source)


def file_to_read(readable: str | os.PathLike[str]) -> Path:
    """Return the path of a file or folder, which need not exist."""
    text = os.fspath(readable)
    if not text or "\0" in text:
        raise FileError("is no name of a file", file=repr(text))
    path = Path(text)
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise FileError("is a pipe or a device, which cannot be read twice; save it as a file", file=text)
    return path


def read_text(path: str | os.PathLike[str]) -> tuple[str, str]:
    """Return the name and the text of a file."""
    file = file_to_read(path)
    return str(file), guarded(lambda: file.read_text(encoding="utf-8-sig"), str(file))


def guarded(work: Callable[[], Result], name: str) -> Result:
    """Return the result of work on a file; an operating system error becomes one that names the file."""
    # Raised outside of the handlers, because an error's context would hold what was read.
    try:
        return work()
    except OSError as error:
        problem = cannot_read(error)
    except UnicodeError:
        problem = NOT_UTF8
    raise FileError(problem, file=name)


def located(work: Callable[[], Result], name: str) -> Result:
    """Return the result of work on a file's numbers; a RecordError becomes one that names the file."""
    try:
        return work()
    except RecordError as error:
        parts = error.parts
    raise FileError(*parts, file=name)


def announce(name: str, notices: Iterable[str]) -> None:
    """Warn the caller's caller about how a file was read."""
    for notice in dict.fromkeys(notices):
        warnings.warn(FileWarning(f"{name}: {notice}"), stacklevel=3)


def cannot_read(error: OSError) -> str:
    """Return the reason why a file cannot be read."""
    return f"cannot be read: {error.strerror or type(error).__name__}"


def most_unpacked(size: int) -> int:
    """Return the largest accepted unpacked size for a packed size, in bytes.

    >>> most_unpacked(2**20) // 2**20
    101
    """
    return _FREE + MOST_GROWTH * size


def _unpack(packed: bytes, stream: Callable[[bytes], IO[bytes] | GzipFile], name: str) -> bytes:
    """Return the content of a packed file, which is measured before it is kept in memory."""
    problem = _DAMAGED
    try:
        size, most = 0, most_unpacked(len(packed))
        with stream(packed) as measured:
            while size <= most and (piece := measured.read(2**16)):
                size += len(piece)
        if size <= most:
            with stream(packed) as unpacked:
                return unpacked.read(size)
        problem = BOMB
    except FileError:
        raise
    except (OSError, EOFError, ValueError, RuntimeError, LookupError, zipfile.BadZipFile, zlib.error):
        pass
    raise FileError(problem, file=name)


def _gzip(packed: bytes) -> GzipFile:
    return GzipFile(fileobj=io.BytesIO(packed))


def _member(packed: bytes, name: str) -> IO[bytes]:
    """Return the file of reviews in a zip: review.csv or reviews.csv, or else the only file."""
    archive = zipfile.ZipFile(io.BytesIO(packed))
    files = [m for m in archive.infolist() if not m.is_dir() and not m.filename.startswith("__MACOSX/")]
    usual = ("review.csv", "reviews.csv")
    chosen = [m for m in files if m.filename.lower().rpartition("/")[2] in usual] or files
    if len(chosen) != 1:
        problem = f"holds {len(files)} files, none of them review.csv; unpack it and name the file of reviews"
        raise FileError(problem, file=name)
    if chosen[0].flag_bits & 1:
        raise FileError("is locked with a password; unpack it", file=name)
    if chosen[0].compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise FileError("is packed in an unusual way; unpack it", file=name)
    return archive.open(chosen[0])
