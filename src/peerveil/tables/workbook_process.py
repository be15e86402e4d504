"""The process that reads a workbook, apart from the one that asks for it.

The library that parses workbooks may panic, abort where memory ends, or print what it has read. Here that ends or
reaches nobody but this process, whose memory and time are limited. It is run as a script, imports nothing of Peerveil,
and answers in lines of JSON: the sheets with their first rows; then, once it is told which sheet to read, its rows.
"""

from __future__ import annotations

import datetime
import io
import json
import re
import sys
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, BinaryIO
from xml.etree import ElementTree
from xml.parsers import expat

#: Cells without a usable value: a formula that was never computed, and a formula with an error such as #DIV/0!.
UNCOMPUTED, ERROR = "\ufdd0", "\ufdd1"

#: What may be wrong with a workbook.
BOMB, LOCKED, DAMAGED, SPARSE = "bomb", "locked", "damaged", "sparse"

#: Rows of each sheet that are shown before one is chosen.
HEAD = 40

_MOST_MEMBERS = 5_000
_MOST_BYTES = 2**31
_CHUNK = 2**12
_FREE_MEMORY = 2**29
_SECONDS = 3

# Cells between the first and the last one of a sheet, used or not, for each byte of the workbook.
_MOST_CELLS_PER_BYTE = 50
_FREE_CELLS = 2**22

# The same for rows that are not blank, one for each byte, as they are held by whoever asks; and the limit of Excel.
_FREE_FILLED = 2**15
_MOST_COLUMNS = 2**14


class RefusedError(Exception):
    """The workbook is refused, for the reason that is its argument."""


def serve(given: BinaryIO, answer: BinaryIO) -> None:
    """Read a workbook from one stream, and answer on the other."""
    asked = json.loads(given.readline())
    content = given.read(asked["size"])
    sys.path.append(asked["library"])

    def tell(line: Any) -> None:
        answer.write(json.dumps(line).encode() + b"\n")
        answer.flush()

    try:
        book = _Book(content, packed=asked["kind"] != "xls", most=asked["most"])
        tell({"sheets": book.sheets()})
        chosen = json.loads(given.readline() or "null")
        if chosen is not None:
            rows = book.rows(chosen)
            while chunk := [row for _, row in zip(range(_CHUNK), rows, strict=False)]:
                tell({"rows": chunk})
            tell({"merged": book.merged, "hidden": book.hidden})
    except RefusedError as refused:
        tell({"problem": str(refused)})


class _Book:
    """A workbook, of which one sheet is held at a time.

    Attributes:
        merged: how many cells were filled from a merged cell above them.
        hidden: how many rows of the sheet are hidden.
    """

    def __init__(self, content: bytes, *, packed: bool, most: int) -> None:
        self.members = _members(content, most) if packed else {}
        size = sum(map(len, self.members.values())) + len(content)
        _limit(size)
        import python_calamine as library  # noqa: PLC0415 - its place comes from the caller

        self._worksheet, self._visible = library.SheetTypeEnum.WorkSheet, library.SheetVisibleEnum.Visible
        self.most_filled = _FREE_FILLED + size
        self.most_cells = _FREE_CELLS + _MOST_CELLS_PER_BYTE * size
        self.merged = self.hidden = 0
        self._held: tuple[int, Any] = (-1, None)
        try:
            self.book: Any = library.CalamineWorkbook.from_filelike(
                io.BytesIO(_packed(self.members) if packed else content)
            )
        except library.PasswordError:
            raise RefusedError(LOCKED) from None

    def sheets(self) -> list[dict[str, Any]]:
        """Return the name of each sheet of cells, whether it is hidden, and its first rows if it is not."""
        found = []
        for index, sheet in enumerate(self.book.sheets_metadata):
            if sheet.typ == self._worksheet:
                hidden = sheet.visible != self._visible
                head = [] if hidden else [row for _, row in zip(range(HEAD), self.rows(index), strict=False)]
                found.append({"index": index, "name": sheet.name, "hidden": hidden, "head": head})
        return found

    def rows(self, index: int) -> Iterator[tuple[int, list[str]]]:
        """Yield the rows of a sheet that are not blank, each with its number from 1, as text."""
        sheet = self._sheet(index)
        if sheet.start is None:
            return
        unset, left = self._unset(index), sheet.start[1]
        filled, filler = 0, _Filler(sheet.merged_cell_ranges or [])
        for row, cells in enumerate(sheet.iter_rows()):  # from the first row of the sheet, but its first column in use
            if cells.count("") == len(cells) and row not in unset and not filler.open:
                continue
            texts = [""] * left + [_text(cell) for cell in cells]
            for column, what in unset.get(row, {}).items():
                texts += [""] * (column + 1 - len(texts))
                texts[column] = what
            filler.fill(row, texts)
            if any(map(str.strip, texts)):
                filled += 1
                if filled * len(texts) > self.most_filled:
                    raise RefusedError(SPARSE)
                yield row + 1, _trimmed(texts)
        self.merged = filler.filled

    def _sheet(self, index: int) -> Any:
        if self._held[0] != index:
            self._held = -1, None  # free its memory first
            sheet = self.book.get_sheet_by_index(index)
            rows, columns = (0, 0) if sheet.start is None else (sheet.end[0] + 1, sheet.end[1] + 1)
            if rows * columns > self.most_cells or columns > _MOST_COLUMNS:
                raise RefusedError(SPARSE)
            self._held = index, sheet
        return self._held[1]

    def _unset(self, index: int) -> dict[int, dict[int, str]]:
        """Return the cells without a usable value, by row and column from 0; the library shows them as empty."""
        self.hidden = 0
        if "content.xml" in self.members:
            return _unset_in_ods(self.members["content.xml"], index)
        part = _part(self.members, index)
        self.hidden = len(re.findall(rb'<(?:\w+:)?row\b[^>]*\shidden="(?:1|true)"', part))
        if not re.search(rb"<(?:\w+:)?f\b|\bt=[\"']e[\"']", part):
            return {}
        recalculated = re.search(rb"\bfullCalcOnLoad=[\"'](?:1|true)[\"']", self.members.get("xl/workbook.xml", b""))
        return _unset_in_xlsx(part, recalculated=recalculated is not None)


def _members(content: bytes, most: int) -> dict[str, bytes]:
    """Return the files in a packed workbook, unpacked under limits of their number and size."""
    members: dict[str, bytes] = {}
    room = min(most, _MOST_BYTES)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        listed = archive.infolist()
        if len(listed) > _MOST_MEMBERS or sum(member.file_size for member in listed) > room:
            raise RefusedError(BOMB)
        for member in listed:
            if member.flag_bits & 1:
                raise RefusedError(LOCKED)
            with archive.open(member) as stream:
                data = stream.read(room + 1)
            room -= len(data)
            if room < 0:
                raise RefusedError(BOMB)
            if member.filename.endswith((".xml", ".rels")):  # pictures and macros are of no use
                members[member.filename] = data
    if b"encryption-data" in members.get("META-INF/manifest.xml", b""):
        raise RefusedError(LOCKED)
    return members


def _packed(members: dict[str, bytes]) -> bytes:
    """Return a new archive of files that were counted, so that the library sees nothing else."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        if "content.xml" in members:
            archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
    return buffer.getvalue()


def _limit(size: int) -> None:
    """Limit the memory and the time of this process for a workbook of some size, where the system can."""
    with suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415 - Windows has none

        for limit, most in (
            (resource.RLIMIT_AS, _FREE_MEMORY + 12 * size),
            (resource.RLIMIT_CPU, _SECONDS + size // 500_000),
        ):
            hard = resource.getrlimit(limit)[1]
            resource.setrlimit(limit, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


class _Filler:
    """Fills cells below the first one of a cell that is merged over several rows; ``filled`` counts them."""

    def __init__(self, ranges: list[tuple[tuple[int, int], tuple[int, int]]]) -> None:
        self.ranges: dict[int, list[tuple[int, int]]] = {}
        for (top, left), (bottom, _) in ranges:
            if bottom > top:
                self.ranges.setdefault(top, []).append((left, bottom))
        self.open: dict[int, tuple[int, str]] = {}  # by column: the last row, and the text
        self.filled = 0

    def fill(self, row: int, texts: list[str]) -> None:
        """Fill the empty cells of a row."""
        self.open = {column: (last, text) for column, (last, text) in self.open.items() if row <= last}
        for column, (_, text) in self.open.items():
            if not texts[column]:
                texts[column] = text
                self.filled += 1
        for column, last in self.ranges.get(row, ()):
            if column < len(texts) and texts[column]:
                self.open[column] = last, texts[column]


def _part(members: dict[str, bytes], index: int) -> bytes:
    """Return the XML of a sheet of a .xlsx; empty if it cannot be found."""
    with suppress(KeyError, IndexError, StopIteration, ElementTree.ParseError):
        targets = {
            link.get("Id", ""): link.get("Target", "")
            for link in ElementTree.fromstring(members["xl/_rels/workbook.xml.rels"])  # noqa: S314 - limits hold here
        }
        book = ElementTree.fromstring(members["xl/workbook.xml"])  # noqa: S314 - as above
        sheets = [element for element in book.iter() if element.tag.rpartition("}")[2] == "sheet"]
        link = next(value for key, value in sheets[index].items() if key.rpartition("}")[2] == "id")
        target = targets[link]
        return members[target.removeprefix("/") if target.startswith("/") else f"xl/{target}"]
    return b""


def _unset_in_xlsx(part: bytes, *, recalculated: bool) -> dict[int, dict[int, str]]:
    """Return the cells of a sheet of a .xlsx that hold an error, or a formula without its value.

    ``recalculated`` says that the workbook asks for a new calculation, so that the stored values may be placeholders.
    """
    scan = _XlsxScan(recalculated=recalculated)
    _parse(part, scan)
    return scan.unset


def _unset_in_ods(content: bytes, index: int) -> dict[int, dict[int, str]]:
    """Return the cells of a sheet of a .ods that hold an error, or a formula without its value."""
    scan = _OdsScan(index)
    if b":formula=" in content:
        _parse(content, scan)
    return scan.unset


class _XlsxScan:
    """The cells of a sheet that have no usable value, found while its XML is parsed."""

    def __init__(self, *, recalculated: bool) -> None:
        self.unset: dict[int, dict[int, str]] = {}
        self.recalculated = recalculated
        self.place = self.type = self.inside = ""
        self.formula = self.value = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.inside = name.rpartition(":")[2]
        if self.inside == "c":
            self.place, self.type = attributes.get("r", ""), attributes.get("t", "")
            self.formula = self.value = False
        self.formula = self.formula or self.inside == "f"

    def text(self, data: str) -> None:
        self.value = self.value or (self.inside in ("v", "t") and bool(data.strip()))

    def end(self, name: str) -> None:
        self.inside = ""
        if name.rpartition(":")[2] != "c":
            return
        uncomputed = self.formula and (self.recalculated or not (self.value or self.type == "str"))
        match = re.fullmatch(r"([A-Z]{1,3})(\d{1,7})", self.place)
        if match and (uncomputed or self.type == "e"):
            cells = self.unset.setdefault(int(match[2]) - 1, {})
            cells[_column(match[1])] = UNCOMPUTED if uncomputed else ERROR


class _OdsScan:
    """The same for a sheet of a .ods, whose rows and cells may be repeated."""

    def __init__(self, index: int) -> None:
        self.unset: dict[int, dict[int, str]] = {}
        self.index, self.table, self.depth = index, -1, 0
        self.row = self.column = 0
        self.repeated = 1
        self.pending: tuple[int, int] | None = None  # a formula that may still have a text

    def start(self, name: str, attributes: dict[str, str]) -> None:
        kind = name.rpartition(":")[2]
        own = {key.rpartition(":")[2]: value for key, value in attributes.items()}
        if kind == "table":
            self.depth += 1
            if self.depth == 1:
                self.table, self.row = self.table + 1, 0
        elif kind == "table-row":
            self.column, self.repeated = 0, _count(own.get("number-rows-repeated"))
        elif kind in ("table-cell", "covered-table-cell"):
            self.pending = None
            if self.table == self.index and "formula" in own:
                self.cell({key: value for key, value in attributes.items() if "value" in key})
            self.column += _count(own.get("number-columns-repeated"))

    def cell(self, values: dict[str, str]) -> None:
        cells = self.unset.setdefault(self.row, {})
        if "error" in values.values():
            cells[self.column] = ERROR
        elif not values:
            cells[self.column] = UNCOMPUTED
            self.pending = self.row, self.column

    def text(self, data: str) -> None:
        if self.pending and data.strip():
            del self.unset[self.pending[0]][self.pending[1]]
            self.pending = None

    def end(self, name: str) -> None:
        kind = name.rpartition(":")[2]
        self.depth -= kind == "table"
        if kind == "table-row":
            self.row += self.repeated
            self.pending = None


def _parse(data: bytes, scan: _XlsxScan | _OdsScan) -> None:
    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.CharacterDataHandler, parser.EndElementHandler = scan.start, scan.text, scan.end
    parser.Parse(data, True)


def _trimmed(texts: list[str]) -> list[str]:
    """Return the cells of a row up to the last one that is not empty."""
    last = next((place for place in range(len(texts), 0, -1) if texts[place - 1]), 0)
    return texts[:last]


def _count(stated: str | None) -> int:
    return int(stated) if stated and stated.isdecimal() and len(stated) < 9 else 1


def _column(letters: str) -> int:
    """Return the number of a column from 0, given its letters."""
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - 64
    return number - 1


def _text(cell: Any) -> str:
    """Return a cell as text: numbers with the 15 digits that spreadsheets show, dates as in ISO 8601."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return str(cell)
    if isinstance(cell, int | float):
        return str(int(cell)) if abs(cell) < 2**53 and cell == int(cell) else f"{cell:.15g}"
    if isinstance(cell, datetime.datetime):
        return cell.isoformat(" ")
    return cell.isoformat() if isinstance(cell, datetime.date | datetime.time) else str(cell)


if __name__ == "__main__":
    try:
        serve(sys.stdin.buffer, sys.stdout.buffer)
    except BaseException as error:  # noqa: BLE001 - Rust's panics are no Exceptions, and nothing of them is told
        problem = BOMB if isinstance(error, MemoryError) else DAMAGED
        sys.stdout.buffer.write(json.dumps({"problem": problem}).encode() + b"\n")
