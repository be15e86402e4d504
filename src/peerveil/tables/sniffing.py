"""Detection of a file's format and of the names that identify a platform."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from peerveil.errors import FileError
from peerveil.tables.headings import plain
from peerveil.tables.layout import MOST_ABOVE, Record, find_separator, lay_out
from peerveil.tables.workbooks import WORKBOOKS

_SIZE = 2**16
_KEY = re.compile(r'"((?:[^"\\]|\\.){1,60})"\s*:')


@dataclass(frozen=True, kw_only=True)
class Look:
    """The format of a file and the names at its beginning.

    Attributes:
        name: the name of the file in messages.
        kind: ``"csv"``, ``"json"``, ``"xml"``, ``"parquet"``, the format of a workbook, or ``"frame"``.
        first: the headings of a table; the keys at the beginning of a JSON text.
        start: the beginning of the text.
    """

    name: str
    kind: str
    first: tuple[str, ...] = ()
    start: str = ""

    @property
    def tabular(self) -> bool:
        """Whether it is a table with headings: delimited text or a sheet."""
        return self.kind in ("csv", *WORKBOOKS)

    def names(self, *wanted: str) -> bool:
        """Return whether ``first`` has all these names, up to case and punctuation."""
        return {plain(name) for name in wanted} <= {plain(name) for name in self.first}


def sniff(name: str, content: bytes, encoding: Callable[[], str], columns: Sequence[str] = ()) -> Look:
    """Return the format of a file's content and the names at its beginning; an empty file is an error.

    ``encoding`` tells the encoding, if the content is a text that does not state it; ``columns`` are those that the
    user names.
    """
    start = content[:_SIZE].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"PAR1"):
        return Look(name=name, kind="parquet")
    if start.startswith((b"<?xml", b"<Workbook", b"<ss:Workbook")):
        return Look(name=name, kind="xml", start=start.decode(errors="replace"))
    text = codecs.getincrementaldecoder(encoding())("replace").decode(content[:_SIZE]).lstrip("\ufeff \t\r\n")
    if not text:
        raise FileError("is empty", file=name)
    if text.startswith(("<?xml", "<Workbook", "<ss:Workbook")):
        return Look(name=name, kind="xml", start=text)
    if text.startswith(("{", "[")):
        return Look(name=name, kind="json", first=tuple(dict.fromkeys(_KEY.findall(text))), start=text)
    head: list[Record] = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=find_separator(text, columns))
    with suppress(csv.Error):
        head.extend((1, record) for record in islice(reader, 2 * MOST_ABOVE) if any(map(str.strip, record)))
    return Look(name=name, kind="csv", first=lay_out(head, columns).names, start=text)
