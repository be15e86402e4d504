"""The visible words and numbers of a page of HTML or a picture in SVG, and whether it holds anything active."""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
_ACTIVE = frozenset(
    {"script", "iframe", "object", "embed", "link", "base", "form", "foreignobject", "image", "use", "animate", "set"}
)
_TABLE = "data:text/csv;base64,"
_VOID = frozenset({"meta", "link", "br", "img", "hr", "input", "base", "embed"})


@dataclass(eq=False)
class PageText:
    """What is stated.

    Attributes:
        text: the words outside of pictures, with single spaces.
        words: the texts inside of pictures that are no numbers.
        cells: the cells of tables, in order.
        numbers: every number in ``text``.
        label: how the outermost picture is described.
        active: elements and attributes that could run, load or hide something.
        tables: the CSV files that the page carries.
    """

    text: str = ""
    words: set[str] = field(default_factory=set)
    cells: list[str] = field(default_factory=list)
    numbers: set[str] = field(default_factory=set)
    label: str = ""
    active: set[str] = field(default_factory=set)
    tables: list[str] = field(default_factory=list)

    def measured(self) -> list[str]:
        """The cells of tables that hold a number: their headings are words, which versions may choose differently."""
        return [" ".join(cell.split()) for cell in self.cells if _NUMBER.search(cell)]


def page_text(html: str) -> PageText:
    """What a page states.

    >>> found = page_text("<p>epsilon = <b>0.5</b></p><table><td>7</td></table><svg><text>mean</text></svg>")
    >>> found.text, found.cells, found.words, sorted(found.numbers)
    ('epsilon = 0.5 7', ['7'], {'mean'}, ['0.5', '7'])
    """
    reader = _Reader()
    reader.feed(html)
    reader.close()
    found = reader.found
    found.text = " ".join("".join(reader.parts).split())
    found.numbers = set(_NUMBER.findall(found.text))
    return found


def stated_in_svg(svg: str) -> PageText:
    """What a picture states.

    >>> stated_in_svg('<svg aria-label="Means"><text>share</text><text>0.5</text></svg>').words
    {'share'}
    """
    return page_text(svg)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found = PageText()
        self.parts: list[str] = []
        self.open: list[str] = []
        self.drawn: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key.lower(): value or "" for key, value in attrs}
        self.found.active |= {key for key in given if key.startswith("on")}
        if tag in _ACTIVE or given.get("http-equiv", "").lower() == "refresh":
            self.found.active.add(tag)
        for key in ("href", "src", "xlink:href"):
            self._link(given.get(key, ""))
        if tag == "svg" and "svg" not in self.open and not self.found.label:
            self.found.label = given.get("aria-label", "")
        if tag in ("td", "th"):
            self.found.cells.append("")
        if tag == "text":
            self.drawn.append("")
        if tag in ("td", "th", "p", "li", "tr", "div", "dt", "dd", "h1", "h2", "h3"):
            self.parts.append(" ")
        if tag not in _VOID:
            self.open.append(tag)

    def _link(self, address: str) -> None:
        if address.startswith(_TABLE):
            try:
                self.found.tables.append(base64.b64decode(address.removeprefix(_TABLE), validate=True).decode())
            except (binascii.Error, UnicodeDecodeError):
                self.found.active.add("a broken table")
        elif ":" in address or address.startswith("//"):
            self.found.active.add("an address of elsewhere")

    def handle_endtag(self, tag: str) -> None:
        if tag == "text" and self.drawn:
            text = " ".join(self.drawn.pop().split())
            if text and not _NUMBER.sub("", text.replace("\u2212", "")).strip(" %-"):
                return self._close(tag)
            self.found.words.add(text)
        return self._close(tag)

    def _close(self, tag: str) -> None:
        if tag in self.open:
            while self.open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if "style" in self.open or "title" in self.open:
            return
        if "svg" in self.open:
            if self.drawn:
                self.drawn[-1] += data
            return
        self.parts.append(data)
        if self.open and any(tag in ("td", "th") for tag in self.open):
            self.found.cells[-1] += data
