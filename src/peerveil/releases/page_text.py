"""The visible text of an HTML page or SVG chart, and its active content."""

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
    """The content of a page or chart.

    Attributes:
        text: the text outside charts, with single spaces.
        words: the texts in charts other than numbers.
        cells: the table cells in order.
        numbers: all numbers in ``text``.
        label: the description of the first chart.
        active: elements and attributes that can execute, load or hide something.
        tables: the embedded CSV files.
    """

    text: str = ""
    words: set[str] = field(default_factory=set)
    cells: list[str] = field(default_factory=list)
    numbers: set[str] = field(default_factory=set)
    label: str = ""
    active: set[str] = field(default_factory=set)
    tables: list[str] = field(default_factory=list)

    def measured(self) -> list[str]:
        """Return the table cells that contain a number; headings may differ between versions."""
        return [" ".join(cell.split()) for cell in self.cells if _NUMBER.search(cell)]


def page_text(html: str) -> PageText:
    """Return the content of a page or chart.

    >>> page = page_text("<p>epsilon = <b>0.5</b></p><table><td>7</td></table><svg><text>mean</text></svg>")
    >>> page.text, page.cells, page.words, sorted(page.numbers)
    ('epsilon = 0.5 7', ['7'], {'mean'}, ['0.5', '7'])
    """
    reader = _Reader()
    reader.feed(html)
    reader.close()
    page = reader.page
    page.text = " ".join("".join(reader.parts).split())
    page.numbers = set(_NUMBER.findall(page.text))
    return page


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.page = PageText()
        self.parts: list[str] = []
        self.open: list[str] = []
        self.drawn: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {key.lower(): value or "" for key, value in attrs}
        self.page.active |= {key for key in attributes if key.startswith("on")}
        if tag in _ACTIVE or attributes.get("http-equiv", "").lower() == "refresh":
            self.page.active.add(tag)
        for key in ("href", "src", "xlink:href"):
            self._link(attributes.get(key, ""))
        if tag == "svg" and "svg" not in self.open and not self.page.label:
            self.page.label = attributes.get("aria-label", "")
        if tag in ("td", "th"):
            self.page.cells.append("")
        if tag == "text":
            self.drawn.append("")
        if tag in ("td", "th", "p", "li", "tr", "div", "dt", "dd", "h1", "h2", "h3"):
            self.parts.append(" ")
        if tag not in _VOID:
            self.open.append(tag)

    def _link(self, address: str) -> None:
        if address.startswith(_TABLE):
            try:
                self.page.tables.append(base64.b64decode(address.removeprefix(_TABLE), validate=True).decode())
            except (binascii.Error, UnicodeDecodeError):
                self.page.active.add("a broken table")
        elif ":" in address or address.startswith("//"):
            self.page.active.add("an external address")

    def handle_endtag(self, tag: str) -> None:
        if tag == "text" and self.drawn:
            text = " ".join(self.drawn.pop().split())
            if not text or _NUMBER.sub("", text.replace("\u2212", "")).strip(" %-"):
                self.page.words.add(text)
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
            self.page.cells[-1] += data
