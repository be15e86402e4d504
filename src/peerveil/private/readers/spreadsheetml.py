"""SpreadsheetML 2003, the XML that some systems call .xls: its rows, sheet by sheet.

Expat reads it in pieces, so that memory does not grow with the file. A document type is refused as soon as it begins:
no spreadsheet has one, and entities, which can fill any memory or reach other files, can only be declared in one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

from peerveil.errors import FileError
from peerveil.tables.opening import open_bytes

# Excel has no more columns; a cell that claims to stand further right is no cell.
_MOST_COLUMNS = 16_384
_MOST_ROWS = 2**24
_LONGEST_CELL = 2**26


class Row(NamedTuple):
    """A row: its sheet, counted from 1, its number in the sheet, its line in the file, and its cells."""

    sheet: int
    number: int
    line: int
    cells: dict[int, str]


def rows(path: Path, name: str) -> Iterator[Row]:
    """The rows of a workbook that have cells."""
    workbook = _Workbook(name)
    with open_bytes(path, name) as handle:
        while piece := handle.read(2**16):
            yield from workbook.feed(piece)
        yield from workbook.feed(b"", last=True)


class _Workbook:
    def __init__(self, name: str) -> None:
        self.name = name
        self.done: list[Row] = []
        self.sheet = self.row = self.column = self.line = self.length = 0
        self.cells: dict[int, str] = {}
        self.text: list[str] | None = None
        self.parser = parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._refuse
        parser.EntityDeclHandler = self._refuse
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters

    def feed(self, piece: bytes, *, last: bool = False) -> list[Row]:
        problem = ""
        try:
            self.parser.Parse(piece, last)
        except expat.ExpatError as error:
            problem = f"is not well-formed XML: {expat.ErrorString(error.code)}"
        except FileError:
            raise
        except (ValueError, LookupError):  # an encoding that nobody knows
            problem = "is XML in an unknown encoding; save it as UTF-8"
        if problem:
            raise self.error(problem)
        done, self.done = self.done, []
        return done

    def error(self, message: str) -> FileError:
        return FileError(message, file=self.name, line=self.parser.CurrentLineNumber)

    def _refuse(self, *_: object) -> None:
        raise self.error("has a document type or entities, which no export has")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        element = tag.rpartition(" ")[2]
        if element == "Worksheet":
            self.sheet, self.row = self.sheet + 1, 0
        elif element == "Row":
            self.row = self._place(attributes, self.row, _MOST_ROWS)
            self.column, self.cells, self.line = 0, {}, self.parser.CurrentLineNumber
        elif element == "Cell":
            self.column = self._place(attributes, self.column, _MOST_COLUMNS)
        elif element == "Data":
            self.text, self.length = [], 0

    def _end(self, tag: str) -> None:
        element = tag.rpartition(" ")[2]
        if element == "Data" and self.text is not None:
            self.cells[self.column] = "".join(self.text)
            self.text = None
        elif element == "Row" and self.cells:
            self.done.append(Row(self.sheet, self.row, self.line, self.cells))
            self.cells = {}

    def _characters(self, data: str) -> None:
        if self.text is not None:
            self.text.append(data)
            self.length += len(data)
            if self.length > _LONGEST_CELL:
                raise self.error("has a cell that is too long")

    def _place(self, attributes: dict[str, str], before: int, most: int) -> int:
        """Where a row or cell stands: where it says, or after the one before."""
        stated = next((value for key, value in attributes.items() if key.rpartition(" ")[2] == "Index"), None)
        place = before + 1 if stated is None else int(stated) if stated.isdecimal() and len(stated) < 9 else 0
        if not before < place <= most:
            raise self.error("has a row or cell at a place where none can be")
        return place
