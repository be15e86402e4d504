"""Incremental reading of JSON arrays, objects that hold arrays, and JSON Lines.

Each element comes with the line it starts on, which parsers of whole documents do not report. Elements become Python
objects one at a time, so that unused parts of a large export take no memory.
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

# Exports have several characters per bracket. Brackets alone would take thirty times their size in memory.
_CHARACTERS_PER_BRACKET = 5


class Element(NamedTuple):
    """The line on which an element starts, the key of its array (``""`` for the outermost) and its value."""

    line: int
    key: str
    value: Any


def elements(source: Source, *, under: Collection[str] = ()) -> Iterator[Element]:
    """Return an iterator over the elements of a JSON file.

    Members of an outermost object that ``under`` names are read element by element if they are arrays. An object
    without such members is itself an element.
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
        """Yield the elements of every outermost value."""
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
        """Yield the elements of the arrays in an object, or the object itself if it has none."""
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
        """Move to the next character that is not blank and return it; empty at the end."""
        blanks = _BLANKS.match(self.text, self.place)
        self.place = blanks.end() if blanks else self.place
        return self.text[self.place : self.place + 1]

    def skip(self, character: str) -> bool:
        """Return whether a character comes next, and move past it if so."""
        comes = self.peek() == character
        self.place += comes
        return comes

    def take(self, character: str) -> None:
        if not self.skip(character):
            raise self.malformed()

    def value(self) -> Any:
        """Return the next value."""
        line = self.here()
        try:
            value, self.place = _DECODER.raw_decode(self.text, self.place)
        except json.JSONDecodeError as error:
            self.place = error.pos
            problem = self.malformed()
        except KeyError as error:  # raised by _unique
            problem = self.two_members(error.args[0], line)
        except (ValueError, RecursionError):  # thousands of digits, or of nested brackets
            problem = self.malformed()
        else:
            return value
        raise problem

    def here(self) -> int:
        """Return the line of the next character that is not blank."""
        self.peek()
        self.line += self.text.count("\n", self.counted, self.place)
        self.counted = max(self.counted, self.place)
        return self.line

    def malformed(self) -> FileError:
        return FileError("is not well-formed JSON", file=self.name, line=1 + self.text.count("\n", 0, self.place))

    def two_members(self, key: str, line: int) -> FileError:
        """Return the error for an object with two members of one name, of which programs use different ones."""
        called = repr(key) if plain(key) in _SHOWN else "of the same name (not shown here, as it could be somebody's)"
        problem = f"what begins here has an object with two members {called}; keep one of them"
        return FileError(problem, file=self.name, line=line)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object from its members; a name that occurs twice is a KeyError."""
    members: dict[str, Any] = {}
    for key, value in pairs:
        if key in members:
            raise KeyError(key)
        members[key] = value
    return members


# Names of members in exports, which identify nobody.
_SHOWN = SHOWABLE | {
    plain(name)
    for name in (
        *("notes", "groups", "profiles", "papers", "members", "content", "details", "replies", "direct replies"),
        *("signatures", "invitation", "invitations", "forum", "replyto", "readers", "ddate", "value", "names"),
        *("emails", "pid", "rid", "rtype", "draft", "fields", "reviewer_email", "hotcrp_version", "overall merit"),
        *("ovemer", "abstract", "authors", "IS_META_REVIEW", "accepted", "conference"),
    )
}

# NaN and infinity become text, which is refused where a number is needed.
_DECODER = json.JSONDecoder(parse_constant=str, object_pairs_hook=_unique)
