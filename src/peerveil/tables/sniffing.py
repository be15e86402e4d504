"""Detection of a file's format and of the names that identify a platform."""

from __future__ import annotations

import csv
import io
import re
from contextlib import suppress
from dataclasses import dataclass

from peerveil.errors import FileError
from peerveil.tables.headings import plain

#: Byte order marks of UTF-16.
UTF_16 = (b"\xff\xfe", b"\xfe\xff")

_SIZE = 2**16
_KEY = re.compile(r'"((?:[^"\\]|\\.){1,60})"\s*:')


@dataclass(frozen=True, kw_only=True)
class Look:
    """The format of a file and the names at its beginning.

    Attributes:
        name: the name of the file in messages.
        kind: ``"csv"``, ``"json"``, ``"xml"``, ``"parquet"``, or ``"frame"`` if it is not a file.
        first: the cells of the first record of a CSV; the keys at the beginning of a JSON text.
        start: the beginning of the text.
    """

    name: str
    kind: str
    first: tuple[str, ...] = ()
    start: str = ""

    def names(self, *wanted: str) -> bool:
        """Return whether ``first`` has all these names, up to case and punctuation."""
        return {plain(name) for name in wanted} <= {plain(name) for name in self.first}


def sniff(name: str, content: bytes) -> Look:
    """Return the format of a file's content and the names at its beginning; an empty file is an error."""
    start = content[:_SIZE].lstrip(b"\xef\xbb\xbf \t\r\n")
    if not start:
        raise FileError("is empty", file=name)
    if start.startswith(b"\xd0\xcf\x11\xe0"):
        raise FileError("is an Excel workbook; save the sheet of reviews as CSV", file=name)
    text = start.decode("utf-16" if start.startswith(UTF_16) else "utf-8", errors="replace")
    if start.startswith(b"PAR1"):
        return Look(name=name, kind="parquet", start=text)
    if text.startswith(("<?xml", "<Workbook", "<ss:Workbook")):
        return Look(name=name, kind="xml", start=text)
    if start.startswith((b"{", b"[")):
        return Look(name=name, kind="json", first=tuple(dict.fromkeys(_KEY.findall(text))), start=text)
    first: list[str] = []
    separator = separator_of(next(iter(text.splitlines()), ""))
    with suppress(csv.Error, StopIteration):
        first = next(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
    return Look(name=name, kind="csv", first=tuple(first), start=text)


def separator_of(line: str) -> str:
    """Return the separator that occurs most often in a line.

    >>> separator_of("paper;reviewer;score, overall")
    ';'
    """
    return max(",;\t|", key=line.count)
