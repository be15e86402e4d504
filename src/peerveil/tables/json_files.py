"""Reading JSON element by element: an array, an object that holds arrays, or JSON lines.

The text is held whole, what it says only one element at a time: what is not needed is gone before the next one comes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from peerveil.errors import FileError
from peerveil.tables.opening import open_text
from peerveil.tables.table import SHOWABLE, plain

_BLANKS = re.compile(r"[ \t\r\n]*")

# An export has a few letters for each bracket. Brackets alone would fill the memory thirty times over.
_LETTERS_PER_BRACKET = 5


class Element(NamedTuple):
    """An element of a file: the line it starts on, the array it stands in (``""`` for the outermost), and its value."""

    line: int
    key: str
    value: Any


def elements(path: Path, name: str, *, under: Collection[str] = ()) -> Iterator[Element]:
    """The elements of a JSON file.

    Args:
        path: the file.
        name: what messages call it.
        under: members of an outermost object whose arrays are read element by element. An object without any of them
            is itself an element.
    """
    with open_text(path, name) as handle:
        text = handle.read()
    if (text.count("[") + text.count("{")) * _LETTERS_PER_BRACKET > len(text) + 1000:
        raise FileError("holds hardly anything but brackets; it is no export of reviews", file=name)
    return _Text(text, name).elements(under)


@dataclass
class _Text:
    """A JSON text and the place that was read up to."""

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
                yield Element(self.at(), "", self.value())

    def array(self, key: str) -> Iterator[Element]:
        self.take("[")
        if self.peek() == "]":
            self.place += 1
            return
        while True:
            yield Element(self.at(), key, self.value())
            if self.peek() != ",":
                break
            self.place += 1
        self.take("]")

    def members(self, under: Collection[str]) -> Iterator[Element]:
        start, rest, found = self.at(), {}, False
        seen: set[str] = set()
        self.take("{")
        while self.peek() == '"':
            line, key = self.at(), self.value()
            if key in seen:
                self.refuse_twice(key, line)
            seen.add(key)
            self.take(":")
            if key in under and self.peek() == "[":
                found = True
                yield from self.array(key)
            else:
                rest[key] = self.value()
            if self.peek() != ",":
                break
            self.place += 1
            if self.peek() != '"':
                self.fail()
        self.take("}")
        if not found:
            yield Element(start, "", rest)

    def peek(self) -> str:
        """The next letter that is no blank; nothing at the end."""
        blanks = _BLANKS.match(self.text, self.place)
        self.place = blanks.end() if blanks else self.place
        return self.text[self.place : self.place + 1]

    def take(self, letter: str) -> None:
        if self.peek() != letter:
            self.fail()
        self.place += 1

    def value(self) -> Any:
        line = self.at()
        value = None
        failed, twice = False, None
        try:
            value, self.place = _DECODER.raw_decode(self.text, self.place)
        except json.JSONDecodeError as error:
            self.place, failed = error.pos, True
        except _Twice as error:
            twice = error.key
        except (ValueError, RecursionError):  # a number of thousands of digits, brackets within brackets
            failed = True
        if failed:
            self.fail()
        if twice is not None:
            self.refuse_twice(twice, line)
        return value

    def at(self) -> int:
        """The line of the place."""
        self.peek()
        self.line += self.text.count("\n", self.counted, self.place)
        self.counted = max(self.counted, self.place)
        return self.line

    def fail(self) -> None:
        line = 1 + self.text.count("\n", 0, self.place)
        raise FileError("is not well-formed JSON", file=self.name, line=line)

    def refuse_twice(self, key: str, line: int) -> None:
        """Refuse an object with two members of one name: programs differ in which of them they take."""
        called = repr(key) if plain(key) in _SHOWN else "of the same name (not shown here, as it could be somebody's)"
        raise FileError(
            f"what begins here has an object with two members {called}; keep one of them", file=self.name, line=line
        )


class _Twice(Exception):  # noqa: N818 - what it says
    """An object has two members of one name."""

    def __init__(self, key: str) -> None:
        super().__init__()
        self.key = key


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object from its members, if each has a name of its own."""
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        raise _Twice(next(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]
    return made


# Names that platforms give to members, which stand for nobody.
_SHOWN = SHOWABLE | {
    plain(name)
    for name in (
        *("notes", "groups", "profiles", "papers", "members", "content", "details", "replies", "direct replies"),
        *(
            "signatures",
            "invitation",
            "invitations",
            "forum",
            "replyto",
            "readers",
            "ddate",
            "value",
            "names",
            "emails",
        ),
        *("pid", "rid", "rtype", "draft", "fields", "reviewer_email", "hotcrp_version", "overall merit", "ovemer"),
        *("abstract", "authors", "IS_META_REVIEW", "accepted", "conference"),
    )
}

# Not-a-number and infinity stay text, which is refused where a number is needed.
_DECODER = json.JSONDecoder(parse_constant=str, object_pairs_hook=_unique)
