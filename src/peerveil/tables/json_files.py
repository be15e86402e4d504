"""The elements of a JSON file, one at a time: of an array, of an object that holds arrays, or of JSON lines.

Each element has the line it starts on, which a parser of whole documents does not report. Only one element is an
object in memory at a time, so that what is not needed of a large export is released at once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from peerveil.errors import FileError
from peerveil.tables.headings import SHOWABLE, plain
from peerveil.tables.opening import Source

_BLANKS = re.compile(r"[ \t\r\n]*")

# An export has several characters for each bracket. Brackets alone would take thirty times their size in memory.
_CHARACTERS_PER_BRACKET = 5


class Element(NamedTuple):
    """An element of a file: the line it starts on, the array that holds it (``""`` for the outermost), its value."""

    line: int
    key: str
    value: Any


def elements(source: Source, *, under: Collection[str] = ()) -> Iterator[Element]:
    """The elements of a JSON file.

    Args:
        source: the file.
        under: members of an outermost object whose arrays are read element by element. An object without any of them
            is itself an element.
    """
    text = source.file().text().read()
    if (text.count("[") + text.count("{")) * _CHARACTERS_PER_BRACKET > len(text) + 1000:
        raise FileError("holds hardly anything but brackets; it is no export of reviews", file=source.name)
    return _Cursor(text, source.name).elements(under)


@dataclass
class _Cursor:
    """A position in a JSON text."""

    text: str
    name: str
    place: int = 0
    line: int = 1
    counted: int = 0

    def elements(self, under: Collection[str]) -> Iterator[Element]:
        """The elements of every outermost value."""
        while self.peek():
            if self.peek() == "[":
                yield from self.array("")
            elif self.peek() == "{" and under:
                yield from self.members(under)
            else:
                yield Element(self.here(), "", self.value())

    def array(self, key: str) -> Iterator[Element]:
        self.take("[")
        if self.peek() != "]":
            yield Element(self.here(), key, self.value())
            while self.skip(","):
                yield Element(self.here(), key, self.value())
        self.take("]")

    def members(self, under: Collection[str]) -> Iterator[Element]:
        """The elements of the arrays in an object; the object itself if it has no such array."""
        start, members, seen = self.here(), {}, set()
        self.take("{")
        while self.peek() == '"':
            line, key = self.here(), self.value()
            if key in seen:
                raise self.two_members(key, line)
            seen.add(key)
            self.take(":")
            if key in under and self.peek() == "[":
                yield from self.array(key)
            else:
                members[key] = self.value()
            if not self.skip(","):
                break
            if self.peek() != '"':
                raise self.malformed()
        self.take("}")
        if len(members) == len(seen):
            yield Element(start, "", members)

    def peek(self) -> str:
        """The next character that is not blank; nothing at the end."""
        blanks = _BLANKS.match(self.text, self.place)
        self.place = blanks.end() if blanks else self.place
        return self.text[self.place : self.place + 1]

    def skip(self, character: str) -> bool:
        """Whether a character comes next; if so, it is passed."""
        comes = self.peek() == character
        self.place += comes
        return comes

    def take(self, character: str) -> None:
        if not self.skip(character):
            raise self.malformed()

    def value(self) -> Any:
        """The value that comes next."""
        line, problem, value = self.here(), None, None
        try:
            value, self.place = _DECODER.raw_decode(self.text, self.place)
        except json.JSONDecodeError as error:
            self.place = error.pos
            problem = self.malformed()
        except _TwoMembersError as error:
            problem = self.two_members(error.key, line)
        except (ValueError, RecursionError):  # a number of thousands of digits, brackets within brackets
            problem = self.malformed()
        if problem is not None:
            raise problem
        return value

    def here(self) -> int:
        """The line of the next character that is not blank."""
        self.peek()
        self.line += self.text.count("\n", self.counted, self.place)
        self.counted = max(self.counted, self.place)
        return self.line

    def malformed(self) -> FileError:
        return FileError("is not well-formed JSON", file=self.name, line=1 + self.text.count("\n", 0, self.place))

    def two_members(self, key: str, line: int) -> FileError:
        """The error for an object with two members of one name: programs differ in which of them they use."""
        called = repr(key) if plain(key) in _SHOWN else "of the same name (not shown here, as it could be somebody's)"
        problem = f"what begins here has an object with two members {called}; keep one of them"
        return FileError(problem, file=self.name, line=line)


class _TwoMembersError(Exception):
    def __init__(self, key: str) -> None:
        super().__init__()
        self.key = key


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object from its members, each with a name of its own."""
    members: dict[str, Any] = {}
    for key, value in pairs:
        if key in members:
            raise _TwoMembersError(key)
        members[key] = value
    return members


# Names that platforms give to members, which identify nobody.
_SHOWN = SHOWABLE | {
    plain(name)
    for name in (
        *("notes", "groups", "profiles", "papers", "members", "content", "details", "replies", "direct replies"),
        *("signatures", "invitation", "invitations", "forum", "replyto", "readers", "ddate", "value", "names"),
        *("emails", "pid", "rid", "rtype", "draft", "fields", "reviewer_email", "hotcrp_version", "overall merit"),
        *("ovemer", "abstract", "authors", "IS_META_REVIEW", "accepted", "conference"),
    )
}

# Not-a-number and infinity stay text, which is refused where a number is needed.
_DECODER = json.JSONDecoder(parse_constant=str, object_pairs_hook=_unique)
