"""Reading of SpreadsheetML 2003, the XML that some systems name .xls.

defusedxml parses it incrementally and refuses document types, which spreadsheets do not have. Entities, which can
exhaust memory or include other files, are only declared there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple
from xml.sax import SAXException, SAXParseException
from xml.sax.handler import ContentHandler

from defusedxml.common import DefusedXmlException
from defusedxml.expatreader import create_parser

from peerveil.errors import FileError
from peerveil.tables.opening import Source

if TYPE_CHECKING:
    from xml.sax.xmlreader import AttributesImpl

# The limit of Excel.
_MOST_COLUMNS = 16_384
_MOST_ROWS = 2**24
_LONGEST_CELL = 2**26
_PIECE = 2**16


class Row(NamedTuple):
    """The number of a row's sheet, its line in the file, and its cells by column."""

    sheet: int
    line: int
    cells: dict[int, str]


def rows(source: Source) -> Iterator[Row]:
    """Yield the rows of a workbook that have cells."""
    workbook = _Workbook(source.name)
    for start in range(0, len(source.content), _PIECE):
        yield from workbook.feed(source.content[start : start + _PIECE])
    yield from workbook.feed(b"", last=True)


class _Workbook(ContentHandler):
    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.done: list[Row] = []
        self.sheet = self.row = self.column = self.line = self.length = 0
        self.cells: dict[int, str] = {}
        self.text: list[str] | None = None
        self.parser = create_parser(forbid_dtd=True)
        self.parser.setContentHandler(self)

    def feed(self, piece: bytes, *, last: bool = False) -> list[Row]:
        """Return the rows that a piece of the file completes."""
        problem = ""
        try:
            self.parser.close() if last else self.parser.feed(piece)
        except FileError:
            raise
        except DefusedXmlException:
            problem = "has a document type or entities, which no export has"
        except SAXParseException as error:
            problem = f"is not well-formed XML: {error.getMessage()}"
        except (SAXException, ValueError, LookupError):
            problem = "is XML in an unknown encoding; save it as UTF-8"
        if problem:
            raise self.error(problem)
        done, self.done = self.done, []
        return done

    def error(self, message: str) -> FileError:
        return FileError(message, file=self.name, line=self.parser.getLineNumber())

    def startElement(self, name: str, attrs: AttributesImpl[str]) -> None:  # noqa: N802 - the name in SAX
        element = name.rpartition(":")[2]
        if element == "Worksheet":
            self.sheet, self.row = self.sheet + 1, 0
        elif element == "Row":
            self.row = self._place(attrs, self.row, _MOST_ROWS)
            self.column, self.cells, self.line = 0, {}, self.parser.getLineNumber()
        elif element == "Cell":
            self.column = self._place(attrs, self.column, _MOST_COLUMNS)
        elif element == "Data":
            self.text, self.length = [], 0

    def endElement(self, name: str) -> None:  # noqa: N802 - the name in SAX
        element = name.rpartition(":")[2]
        if element == "Data" and self.text is not None:
            self.cells[self.column] = "".join(self.text)
            self.text = None
        elif element == "Row" and self.cells:
            self.done.append(Row(self.sheet, self.line, self.cells))
            self.cells = {}

    def characters(self, content: str) -> None:
        if self.text is not None:
            self.text.append(content)
            self.length += len(content)
            if self.length > _LONGEST_CELL:
                raise self.error("has a cell that is too long")

    def _place(self, attributes: AttributesImpl[str], before: int, most: int) -> int:
        """Return the index of a row or cell: the stated one, or the next."""
        stated = next((value for key, value in attributes.items() if key.rpartition(":")[2] == "Index"), None)
        place = before + 1 if stated is None else int(stated) if stated.isdecimal() and len(stated) < 9 else 0
        if not before < place <= most:
            raise self.error("has a row or cell at a place where none can be")
        return place
