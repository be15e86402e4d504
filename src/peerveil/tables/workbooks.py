"""Workbooks: which sheet is read, and its rows as text, with the limits that hold for other packed files."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from peerveil.errors import Argument, FileError, Part
from peerveil.tables import workbook_process as process
from peerveil.tables.layout import Record, find_header, roles_in

#: The formats of workbooks.
WORKBOOKS = ("xlsx", "xls", "ods")

_COMPOUND = b"\xd0\xcf\x11\xe0"
_LOCKED = "is locked with a password; open it, and save it without one"
_PROBLEMS = {
    process.BOMB: "takes too much memory or time to unpack; save the sheet of reviews as CSV if it is no bomb",
    process.LOCKED: _LOCKED,
    process.DAMAGED: "is damaged: it cannot be read as a workbook; open it in a spreadsheet program and save it again",
    process.SPARSE: "has cells that are too far apart; delete those outside of the table, or save the sheet as CSV",
}

#: The most sheets that a message names.
_MOST_NAMED = 20


@dataclass(frozen=True, eq=False, repr=False)
class Sheet:
    """The rows of one sheet of a workbook, as text.

    Attributes:
        name: the name of the sheet.
        others: the names of the visible sheets, of which it is one.
        notices: what was decided about sheets and cells.
        chunks: the rows that are not blank, with their numbers, as JSON.
    """

    name: str
    others: tuple[str, ...]
    notices: tuple[str, ...]
    chunks: tuple[bytes, ...]

    def records(self) -> Iterator[Record]:
        """Yield the rows that are not blank, each with its number, all of the same length."""
        width = max((len(cells) for chunk in self.chunks for _, cells in json.loads(chunk)["rows"]), default=0)
        for chunk in self.chunks:
            for number, cells in json.loads(chunk)["rows"]:
                yield number, cells + [""] * (width - len(cells))


def workbook_kind(content: bytes, name: str) -> str | None:
    """Return the format of a workbook; ``None`` if a file is none. Other documents of such programs are refused."""
    if content.startswith(_COMPOUND):
        if "EncryptedPackage".encode("utf-16-le") in content:
            raise FileError(_LOCKED, file=name)
        if not any(stream.encode("utf-16-le") in content for stream in ("Workbook", "Book")):
            raise FileError("is a document of an office program, but no workbook; save the table as CSV", file=name)
        return "xls"
    if not content.startswith(b"PK\x03\x04"):
        return None
    names: set[str] = set()
    with suppress(zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        names = set(zipfile.ZipFile(io.BytesIO(content)).namelist())
    if "xl/workbook.xml" in names:
        return "xlsx"
    if "content.xml" in names and "META-INF/manifest.xml" in names:
        return "ods"
    if "xl/workbook.bin" in names or any(member.endswith(".iwa") for member in names):
        raise FileError("is a workbook of a format that is not read; save it as .xlsx or CSV", file=name)
    if "[Content_Types].xml" in names:
        raise FileError("is a document of an office program, but no workbook; save the table as CSV", file=name)
    return None


def read_sheet(
    content: bytes,
    kind: str,
    name: str,
    *,
    most: int,
    wanted: str | None = None,
    needs: Sequence[frozenset[str]] = (),
    asked: Sequence[str] = (),
    optional: bool = True,
) -> Sheet:
    """Return a sheet of a workbook: the one that is named, or the only one that looks like what is needed.

    Args:
        content: the workbook.
        kind: its format.
        name: its name in messages.
        most: how many bytes it may have unpacked.
        wanted: the name of the sheet; ``None`` to look for it.
        needs: sets of roles and headings that a sheet should have, the most wanted first.
        asked: the columns that the user names.
        optional: whether the user can name the sheet.
    """
    with _reading(content, kind, name, most) as reader:
        sheets = reader.line()[1]["sheets"]
        visible = [sheet for sheet in sheets if not sheet["hidden"] and sheet["head"]]
        if not any(sheet["head"] or sheet["hidden"] for sheet in sheets):
            raise FileError("has no sheet with cells", file=name)
        chosen, words = _choose(sheets, visible, wanted, needs, asked)
        if chosen is None:
            raise FileError(words, *(_REMEDY if optional else _ALONE), file=name)
        notices = [words] if words else []
        reader.tell(chosen["index"])
        chunks = []
        while "rows" in (line := reader.line())[1]:
            chunks.append(line[0])
        facts = line[1]
    if facts["merged"]:
        notices.append(f"{facts['merged']} cells were filled from the merged cell above them")
    if facts["hidden"]:
        notices.append(f"{facts['hidden']} hidden rows were read like the others; delete them if they are not meant")
    return Sheet(chosen["name"], tuple(sheet["name"] for sheet in visible), tuple(notices), tuple(chunks))


def sheet_names(content: bytes, kind: str, name: str, *, most: int) -> tuple[str, ...]:
    """Return the names of the visible sheets that are not empty."""
    with _reading(content, kind, name, most) as reader:
        return tuple(sheet["name"] for sheet in reader.line()[1]["sheets"] if not sheet["hidden"] and sheet["head"])


def _choose(
    sheets: list[dict[str, Any]],
    visible: list[dict[str, Any]],
    wanted: str | None,
    needs: Sequence[frozenset[str]],
    asked: Sequence[str],
) -> tuple[dict[str, Any] | None, str]:
    """Return the sheet to read, and what is to be said about the choice; ``None`` and why if there is none."""
    hidden = [sheet for sheet in sheets if sheet["hidden"]]
    unread = f"; hidden sheets are not read unless named: {_listed(hidden)}" if hidden else ""
    if wanted is not None:
        exact = [sheet for sheet in sheets if sheet["name"] == wanted]
        named = exact or [sheet for sheet in sheets if _alike(sheet["name"], wanted)]
        if len(named) == 1:
            return named[0], ""
        return None, f"has no sheet {wanted!r}; its sheets are {_listed(sheets)}"
    if len(visible) == 1:
        return visible[0], f"its sheet {visible[0]['name']!r} was read{unread}" if hidden else ""
    roles = [_roles(sheet, asked) for sheet in visible]
    fits = ([sheet for sheet, has in zip(visible, roles, strict=True) if has >= need] for need in needs)
    fit = next((sheets for sheets in fits if sheets), [])
    if len(fit) == 1:
        return fit[0], f"its sheet {fit[0]['name']!r} was read, as the only one with the headings that are needed"
    which = "several sheets could be meant" if fit else "no sheet has the usual headings"
    if not visible:
        return None, f"has no visible sheet with cells{unread}"
    return None, f"{which}, of {_listed(visible)}{unread}"


#: What a user can do who can name the sheet, and one who cannot.
_REMEDY: tuple[Part, ...] = ("; say which sheet to read with ", Argument("sheet", ...))
_ALONE: tuple[Part, ...] = ("; keep one sheet in it",)


def _alike(name: str, other: str) -> bool:
    return name.strip().casefold() == other.strip().casefold()


def _roles(sheet: dict[str, Any], asked: Sequence[str]) -> set[str]:
    """Return the roles that the headings of a sheet have, and the columns asked for that are among them."""
    head: list[Record] = [(number, cells) for number, cells in sheet["head"]]
    return roles_in(head[find_header(head, asked)][1], asked)


def _listed(sheets: list[dict[str, Any]]) -> str:
    names = [repr(sheet["name"]) for sheet in sheets]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


class _Reader:
    """Messages to and from the process that reads a workbook; whatever happens to it is an error about the file."""

    def __init__(self, child: subprocess.Popen[bytes], name: str) -> None:
        assert child.stdin is not None  # noqa: S101 - these are pipes
        assert child.stdout is not None  # noqa: S101
        self._to, self._from, self._name = child.stdin, child.stdout, name

    def tell(self, message: Any, content: bytes = b"") -> None:
        """Send a message, and the content that follows it."""
        with suppress(BrokenPipeError):  # its answer says why
            self._to.write(json.dumps(message).encode() + b"\n" + content)
            self._to.flush()

    def line(self) -> tuple[bytes, Any]:
        """Return the next message, as it was sent and as an object; a problem, or an end, is an error."""
        line = self._from.readline()
        message = json.loads(line) if line.endswith(b"\n") else {"problem": process.BOMB}  # ended by its limits
        if "problem" in message:
            raise FileError(_PROBLEMS[message["problem"]], file=self._name)
        return line, message


@contextmanager
def _reading(content: bytes, kind: str, name: str, most: int) -> Iterator[_Reader]:
    """Start the process that reads a workbook, and end it."""
    library = find_spec("python_calamine")
    if library is None or library.origin is None:
        raise FileError("is a workbook, which needs the package python-calamine; install it", file=name)
    place = str(Path(library.origin).parent.parent)
    # The standalone program is no interpreter: told the name of this module, it runs it (packaging/start.py).
    frozen = getattr(sys, "frozen", False)
    command = [sys.executable, process.__name__] if frozen else [sys.executable, "-I", process.__file__]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as child:  # noqa: S603 - ours
        try:
            reader = _Reader(child, name)
            reader.tell({"kind": kind, "size": len(content), "most": most, "library": place}, content)
            yield reader
        finally:
            child.kill()
            with suppress(BrokenPipeError):
                child.stdin.close()  # type: ignore[union-attr]
