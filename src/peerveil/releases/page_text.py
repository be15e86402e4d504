"""The visible text of an HTML page or SVG chart, and its active content."""

from __future__ import annotations

import base64
import binascii
import re
from html.parser import HTMLParser

_NUMBER = re.compile(r"\d(?:[\d,]*\d)?(?:\.\d+)?(?:e[+-]?\d+)?")
# What reports and charts consist of. Others may be active, or be read differently by browsers than by this parser.
_ELEMENTS = frozenset(
    {"html", "head", "meta", "title", "style", "body", "header", "main", "footer", "section", "aside", "nav"}
    | {"h1", "h2", "h3", "p", "div", "span", "br", "a", "b", "i", "em", "strong", "sub", "sup", "code", "pre", "cite"}
    | {"time", "ul", "ol", "li", "dl", "dt", "dd", "figure", "figcaption"}
    | {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    | {"svg", "g", "defs", "clippath", "lineargradient", "stop", "path", "line", "rect", "circle", "ellipse"}
    | {"polygon", "polyline", "text", "tspan"}
)
# Attributes whose addresses a browser loads, or tells that a link was followed.
_LOADING = frozenset({"srcset", "srcdoc", "poster", "ping", "formaction", "action", "background", "data"})
# What styles load; only places in the same file are harmless. An escape can hide such words.
_STYLE_LOADS = re.compile(r"url\(\s*(?!\s*[\"']?#)|src\(|image\(|image-set\(|@import|\\", re.IGNORECASE)
# Left out of addresses by browsers.
_IGNORED = re.compile(r"[\x00-\x1f]")
_LOADS = "a style that loads something"
# Attributes that hold words, which no browser takes for addresses.
_WORDS = frozenset({"aria-label", "content", "data-label", "title", "alt", "href"})
_DATA = {"type": "application/ld+json"}
_TABLE = "data:text/csv;base64,"
_VOID = frozenset({"meta", "link", "br", "img", "hr", "input", "base", "embed"})


class PageText(HTMLParser):
    """The content of a page or chart.

    Attributes:
        text: the text outside charts, with single spaces.
        words: the texts in charts other than numbers.
        cells: the table cells in order.
        numbers: all numbers in ``text``.
        label: the description of the first chart.
        active: elements and attributes that can execute, load or hide something.
        tables: the embedded CSV files.
        addresses: where links lead outside the folder; they load nothing.
        metadata: the JSON in script elements of a type that browsers do not run.

    >>> page = PageText("<p>epsilon = <b>0.5</b></p><table><td>7</td></table><svg><text>mean</text></svg>")
    >>> page.text, page.cells, page.words, sorted(page.numbers)
    ('epsilon = 0.5 7', ['7'], {'mean'}, ['0.5', '7'])
    """

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.words, self.active, self.label = set[str](), set[str](), ""
        self.cells, self.tables, self.addresses, self.metadata = list[str](), list[str](), set[str](), ""
        self._styles = list[str]()
        self._parts, self._open, self._drawn = list[str](), list[str](), list[str]()
        self.feed(html)
        self.close()
        if self.cdata_elem is not None or self.rawdata:
            self.active.add("an element without an end")
        styles = "".join(self._styles)
        if _STYLE_LOADS.search(styles):
            self.active.add(_LOADS)
        if "<" in styles or "&" in styles:  # within charts, browsers read elements and references there
            self.active.add("a style with elements")
        self.text = " ".join("".join(self._parts).split())
        self.numbers = set(_NUMBER.findall(self.text))

    def measured(self) -> list[str]:
        """Return the table cells that contain a number; headings may differ between versions."""
        return [" ".join(cell.split()) for cell in self.cells if _NUMBER.search(cell)]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element opens, loads or describes."""
        attributes = {key.lower(): value or "" for key, value in reversed(attrs)}  # browsers take the first of equals
        self.active |= {key for key in attributes if key.startswith("on")}
        data = tag == "script" and attributes == _DATA
        if not (data or tag in _ELEMENTS) or attributes.get("http-equiv", "").strip().lower() == "refresh":
            self.active.add(tag)
        self.active |= _LOADING & attributes.keys()
        if any(_STYLE_LOADS.search(value) for key, value in attributes.items() if key not in _WORDS):
            self.active.add(_LOADS)
        for key in ("href", "src", "xlink:href"):
            self._link(attributes.get(key, ""), loads=tag != "a" or key != "href")
        if tag == "svg" and "svg" not in self._open and not self.label:
            self.label = attributes.get("aria-label", "")
        if tag in ("td", "th"):
            self.cells.append("")
        if tag == "text":
            self._drawn.append("")
        if tag in ("td", "th", "p", "li", "tr", "div", "dt", "dd", "h1", "h2", "h3"):
            self._parts.append(" ")
        if tag not in _VOID:
            self._open.append(tag)

    def handle_comment(self, data: str) -> None:
        """Refuse a comment: browsers may end it elsewhere."""
        self.active.add("a comment")

    def handle_decl(self, decl: str) -> None:
        """Refuse declarations other than that of a page."""
        if decl.lower() != "doctype html":
            self.active.add("a declaration")

    def handle_pi(self, data: str) -> None:
        """Refuse an instruction, which may load a style."""
        self.active.add("an instruction")

    def unknown_decl(self, data: str) -> None:
        """Refuse a section of another kind, which may hold anything."""
        self.active.add("a declaration")

    def _link(self, address: str, *, loads: bool) -> None:
        address = _IGNORED.sub("", address).replace("\\", "/").strip()  # as browsers read it
        if address.startswith(_TABLE):
            try:
                self.tables.append(base64.b64decode(address.removeprefix(_TABLE), validate=True).decode())
            except (binascii.Error, UnicodeDecodeError):
                self.active.add("a broken table")
        elif not loads and address.startswith(("https://", "http://", "mailto:")):
            self.addresses.add(address)
        elif ":" in address or address.startswith("//"):
            self.active.add("an external address")

    def handle_endtag(self, tag: str) -> None:
        """Note the text of a chart that ends."""
        if tag == "text" and self._drawn:
            text = " ".join(self._drawn.pop().split())
            if not text or _NUMBER.sub("", text.replace("\u2212", "")).strip(" %-"):
                self.words.add(text)
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        """Note text outside and inside charts and cells."""
        if "script" in self._open:
            self.metadata += data
            return
        if "style" in self._open:
            self._styles.append(data)
            return
        if "title" in self._open:
            return
        if "svg" in self._open:
            if self._drawn:
                self._drawn[-1] += data
            return
        self._parts.append(data)
        if self._open and any(tag in ("td", "th") for tag in self._open):
            self.cells[-1] += data
