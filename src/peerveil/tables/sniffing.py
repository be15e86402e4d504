"""A first look at a file: what it is made of, and the names in it by which platforms are told apart."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from peerveil.errors import FileError, RecordError
from peerveil.tables.delimited import separator_of
from peerveil.tables.opening import packing
from peerveil.tables.reading import NOT_UTF8, Source, cannot_read, file_to_read, is_path, kind_of, start_of
from peerveil.tables.table import plain

_SIZE = 2**16
_KEY = re.compile(r'"((?:[^"\\]|\\.){1,60})"\s*:')

Kind = TypeVar("Kind")


@dataclass(frozen=True, kw_only=True)
class Look:
    """What the beginning of a file shows.

    Attributes:
        name: what messages call the file.
        kind: ``"csv"``, ``"json"``, ``"xml"``, ``"parquet"``, or ``"frame"``, which is no file.
        packing: ``"gzip"``, ``"zip"`` or ``""``.
        first: the cells of the first record of a CSV; the keys that occur at the beginning of a JSON text.
        start: the beginning itself.
    """

    name: str
    kind: str
    packing: str = ""
    first: tuple[str, ...] = ()
    start: str = ""

    def names(self, *wanted: str) -> bool:
        """Whether all of these are among the names of the beginning, without case and punctuation."""
        return {plain(name) for name in wanted} <= {plain(name) for name in self.first}


def look(source: Source) -> Look:
    """Look at the beginning of a file."""
    if not is_path(source):
        return Look(name="the frame", kind="frame")
    path = file_to_read(source)
    name = str(path)
    start = guarded(lambda: start_of(path, name, _SIZE), name)
    packed = guarded(lambda: packing(path), name)
    kind = kind_of(start)
    encoding = "utf-16" if start.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8"
    text = start.decode(encoding, errors="replace")
    first: tuple[str, ...] = ()
    if text.startswith(("<?xml", "<Workbook", "<ss:Workbook")):
        kind = "xml"
    elif kind == "json":
        first = tuple(dict.fromkeys(_KEY.findall(text)))
    elif kind == "csv":
        with suppress(csv.Error, StopIteration):
            records = csv.reader(io.StringIO(text, newline=""), delimiter=separator_of(first_line(text)))
            first = tuple(next(records))
    return Look(name=name, kind=kind, packing=packed, first=first, start=text)


def first_line(text: str) -> str:
    """The first line of a text."""
    return next(iter(text.splitlines()), "")


def guarded(work: Callable[[], Kind], name: str) -> Kind:
    """What some work on a file gives; what the system says against it becomes an error that names the file."""
    # Raised outside of the handlers: an error that hangs on to the one it replaces hangs on to what was read.
    try:
        return work()
    except OSError as error:
        problem = cannot_read(error)
    except UnicodeError:
        problem = NOT_UTF8
    raise FileError(problem, file=name)


def located(work: Callable[[], Kind], name: str) -> Kind:
    """What some work on a file's numbers gives; if they do not add up, the error names the file."""
    try:
        return work()
    except RecordError as error:
        parts = error.parts
    raise FileError(*parts, file=name)
