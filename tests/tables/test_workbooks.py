"""Workbooks: which sheet is read, what its cells become, and what is refused before a library sees it."""

from __future__ import annotations

import datetime
import io
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter
from odf.opendocument import OpenDocumentSpreadsheet
from odf.table import Table, TableCell, TableRow
from odf.text import P

import peerveil as pv
from peerveil.private.inspection import inspect
from peerveil.private.true_vector import true_vector
from peerveil.tables.reading import read_table
from spreadsheets import Rows, Sheets, by_odfpy, by_openpyxl, by_xlsxwriter, by_xlwt

ROWS: Rows = [["paper", "reviewer", "score"], [1, "ann", 3.0], [1, "bob", 5.5], [2, "bob", 4], [2, "ann", 8]]
TRUTH = [4.75, 5.5]

MAKERS: dict[str, Callable[[Path, Sheets], Path]] = {"xlsx": by_openpyxl, "xls": by_xlwt, "ods": by_odfpy}


@pytest.mark.parametrize(
    ("make", "end"), [(by_openpyxl, "xlsx"), (by_xlsxwriter, "xlsx"), (by_xlwt, "xls"), (by_odfpy, "ods")]
)
def test_workbooks_of_every_maker_read_alike(make: Callable[[Path, Sheets], Path], end: str, tmp_path: Path) -> None:
    path = make(tmp_path / f"a.{end}", {"Reviews": ROWS})
    table = read_table(path)
    assert (table.header, table.kind, list(table.lines)) == (("paper", "reviewer", "score"), end, [2, 3, 4, 5])
    assert table.cells.rows() == [("1", "ann", "3"), ("1", "bob", "5.5"), ("2", "bob", "4"), ("2", "ann", "8")]
    assert true_vector(pv.read(path, scale=(1, 10)), "ratings").tolist() == TRUTH
    packed = tmp_path / "packed.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.write(path, path.name)
    assert true_vector(pv.read(packed), "ratings").tolist() == TRUTH
    public = make(tmp_path / f"b.{end}", {"Scores": [["paper", "ratings"], ["1", "3;5.5"], ["2", "4;8"]]})
    assert pv.read_public(public, load=2).rows() == [[3, 5.5], [4, 8]]
    assert inspect(path)["format"] == end


def test_cells_become_the_text_that_people_see(tmp_path: Path) -> None:
    cells = [
        7.0,
        0.1 + 0.2,
        2.0**60,
        "7,5",
        " 8 ",
        True,
        datetime.date(2026, 5, 6),
        datetime.datetime(2026, 5, 6, 7, 8),
    ]
    path = by_openpyxl(tmp_path / "a.xlsx", {"A": [["x", "y"], *([cell, "."] for cell in cells)]})
    assert read_table(path).cells["x"].to_list() == [
        *("7", "0.3", "1.15292150460685e+18", "7,5", " 8 ", "True", "2026-05-06", "2026-05-06 07:08:00")
    ]
    path = by_openpyxl(tmp_path / "b.xlsx", {"A": [*ROWS, [3, "ann", datetime.date(2026, 5, 6)]]})
    with pytest.raises(pv.FileError, match="line 6, column 'score': a date is not a number"):
        pv.read(path)


def test_titles_empty_rows_and_columns_are_passed_over(tmp_path: Path) -> None:
    rows: Rows = [
        [],
        [None, None, "Reviews of the conference"],
        [],
        [],
        *([None, None, *row] for row in ROWS),
    ]
    path = by_openpyxl(tmp_path / "a.xlsx", {"A": rows}, lambda book: book["A"].merge_cells("C2:E2"))
    with pytest.warns(pv.FileWarning, match="line 2 was skipped, above the headings in line 5"):
        reviews = pv.read(path)
    assert true_vector(reviews, "ratings").tolist() == TRUTH
    assert inspect(path)["notices"] == ["line 2 was skipped, above the headings in line 5"]


def test_merged_papers_and_headings_in_two_rows(tmp_path: Path) -> None:
    rows: Rows = [["Paper", "Reviewer", "Grades"], [None, None, "Soundness", "Score"]]
    rows += [["p", "ann", 1, 3], [None, "bob", 2, 5.5], ["q", "bob", 1, 4], [None, "ann", 5, 8]]

    def merge(book: Any) -> None:
        for area in ("C1:D1", "A3:A4", "A5:A6", "A1:A2", "B1:B2"):
            book["A"].merge_cells(area)

    path = by_openpyxl(tmp_path / "a.xlsx", {"A": rows}, merge)
    with pytest.warns(pv.FileWarning) as caught:
        assert true_vector(pv.read(path), "ratings").tolist() == TRUTH
    told = "".join(str(warning.message) for warning in caught)
    assert "cells were filled from the merged cell above" in told
    assert "line 1 was skipped, above the headings in line 2" in told

    unmerged = [rows[0], rows[1], rows[2], ["p", *rows[3][1:]], rows[4], ["q", *rows[5][1:]]]
    path = by_openpyxl(tmp_path / "b.xlsx", {"A": unmerged})
    with pytest.warns(pv.FileWarning, match="the headings in lines 1 and 2 were joined"):
        assert true_vector(pv.read(path), "ratings").tolist() == TRUTH


PAPERS: Rows = [["paper", "title"], [1, "x"], [2, "y"]]
HIDE = lambda book: setattr(book["Old"], "sheet_state", "hidden")  # noqa: E731


@pytest.mark.parametrize("end", MAKERS)
def test_the_only_sheet_that_looks_like_reviews_is_read(end: str, tmp_path: Path) -> None:
    path = MAKERS[end](tmp_path / f"a.{end}", {"Papers": PAPERS, "Reviews": ROWS, "Notes": [["x"]]})
    with pytest.warns(pv.FileWarning, match="its sheet 'Reviews' was read, as the only one with the headings"):
        assert true_vector(pv.read(path), "ratings").tolist() == TRUTH
    assert true_vector(pv.read(path, sheet=" reviews"), "ratings").tolist() == TRUTH
    with pytest.raises(pv.FileError, match=r"has no sheet 'x'; its sheets are 'Papers', 'Reviews', 'Notes'; .* sheet="):
        pv.read(path, sheet="x")
    with pytest.raises(pv.FileError, match="has no column for the reviewer"):
        pv.read(path, sheet="Papers")


def test_several_sheets_are_asked_about(tmp_path: Path) -> None:
    path = by_openpyxl(tmp_path / "a.xlsx", {"Round 1": ROWS, "Round 2": ROWS})
    for read in (pv.read, lambda path: pv.read_public(path, load=1), inspect):
        with pytest.raises(
            pv.FileError, match="several sheets could be meant, of 'Round 1', 'Round 2'; say which sheet to read with"
        ):
            read(path)
    assert true_vector(pv.read(path, sheet="Round 2"), "ratings").tolist() == TRUTH
    (tmp_path / "m.toml").write_text('sheet = "Round 2"\n')
    assert true_vector(pv.read(path, mapping=tmp_path / "m.toml"), "ratings").tolist() == TRUTH
    other: Rows = [["who", "what"], ["ann", 3]]
    path = by_openpyxl(tmp_path / "b.xlsx", {"A": other, "B": other})
    with pytest.raises(pv.FileError, match="no sheet has the usual headings, of 'A', 'B'"):
        pv.read(path)
    named = by_openpyxl(tmp_path / "c.xlsx", {"A": other, "B": [["no", "who", "mark"], *ROWS[1:]]})
    with pytest.warns(pv.FileWarning, match="its sheet 'B' was read"):
        assert true_vector(pv.read(named, paper="no", reviewer="who", score="mark"), "ratings").tolist() == TRUTH
    with pytest.raises(pv.FileError, match="is no workbook, so it has no sheets; leave out sheet"):
        pv.read(write(tmp_path / "a.csv", b"paper,reviewer,score\n1,a,2\n"), sheet="A")


def test_a_column_of_groups_chooses_among_sheets(tmp_path: Path) -> None:
    groups: Rows = [["paper", "track"], [1, "theory"], [2, "systems"]]
    path = by_openpyxl(tmp_path / "a.xlsx", {"Groups": groups, "Notes": [["x", "y"]]})
    with pytest.warns(pv.FileWarning, match="its sheet 'Groups' was read"):
        assert pv.read_groups(path) == {"1": "theory", "2": "systems"}


def test_hidden_sheets_are_not_read_silently(tmp_path: Path) -> None:
    path = by_openpyxl(tmp_path / "a.xlsx", {"Old": ROWS, "New": ROWS}, HIDE)
    with pytest.warns(pv.FileWarning, match="its sheet 'New' was read; hidden sheets are not read unless named: 'Old'"):
        pv.read(path)
    assert true_vector(pv.read(path, sheet="Old"), "ratings").tolist() == TRUTH
    path = by_openpyxl(tmp_path / "b.xlsx", {"Old": ROWS, "New": []}, HIDE)
    with pytest.raises(pv.FileError, match=r"has no visible sheet with cells; hidden .* named: 'Old'; say which sheet"):
        pv.read(path)


def test_formulas_have_their_stored_values_or_none(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        for number, row in enumerate(ROWS):
            sheet.write_row(number, 0, row)
        sheet.write_formula("C2", "=1+2", None, 3)
        sheet.write_formula("D2", "=1/0", None, "#DIV/0!")
    with pytest.raises(
        pv.FileError, match="line 2, column 'score': the cell holds a formula whose value is not stored"
    ):
        pv.read(path)  # the program asks for a new calculation, so its values may be placeholders
    saved = rewritten(path, {"xl/workbook.xml": lambda xml: xml.replace(b'fullCalcOnLoad="1"', b"")})
    assert true_vector(pv.read(write(path, saved)), "ratings").tolist() == TRUTH
    moved = {"xl/worksheets/sheet1.xml": lambda xml: xml.replace(b'"C2"', b'"E2"').replace(b'"D2"', b'"C2"')}
    wrong = rewritten(path, moved)
    with pytest.raises(pv.FileError, match="line 2, column 'score': the cell holds a formula with an error"):
        pv.read(write(path, wrong))
    path = by_openpyxl(tmp_path / "b.xlsx", {"A": [*ROWS[:-1], [2, "=B2", 8]]})
    with pytest.raises(pv.FileError, match="line 5, column 'reviewer': the cell holds a formula whose value is not"):
        pv.read(path)


def rewritten(path: Path, changes: dict[str, Callable[[bytes], bytes]]) -> bytes:
    """A packed workbook, with some of its files changed."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(path) as archive, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        for name in archive.namelist():
            data = archive.read(name)
            new.writestr(name, changes[name](data) if name in changes else data)
    return buffer.getvalue()


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def odf_formula(path: Path, **kind: Any) -> Path:
    book, table, line = OpenDocumentSpreadsheet(), Table(name="A"), TableRow()
    for cell in ("paper", "reviewer", "score"):
        line.addElement(TableCell(valuetype="string"))
        line.lastChild.addElement(P(text=cell))
    table.addElement(line)
    line = TableRow()
    for cell in ("p", "ann"):
        line.addElement(TableCell(valuetype="string"))
        line.lastChild.addElement(P(text=cell))
    line.addElement(TableCell(formula="of:=1+2", **kind))
    table.addElement(line)
    book.spreadsheet.addElement(table)
    book.save(str(path))
    return path


def test_formulas_of_opendocument(tmp_path: Path) -> None:
    assert pv.read(odf_formula(tmp_path / "a.ods", valuetype="float", value=3)).score.tolist() == [3]
    with pytest.raises(
        pv.FileError, match="line 2, column 'score': the cell holds a formula whose value is not stored"
    ):
        pv.read(odf_formula(tmp_path / "b.ods"))


def bomb(members: Iterable[tuple[str, bytes]]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return buffer.getvalue()


def lying(data: bytes) -> bytes:
    """An archive whose directory states that every file has one byte."""
    spoilt = bytearray(data)
    place = spoilt.find(b"PK\x01\x02")
    while place >= 0:
        spoilt[place + 24 : place + 28] = (1).to_bytes(4, "little")
        place = spoilt.find(b"PK\x01\x02", place + 1)
    return bytes(spoilt)


MANY = b"0" * 20 * 2**20
HOSTILE: dict[str, tuple[bytes, str]] = {
    "large member": (bomb([("xl/workbook.xml", MANY)]), "takes too much memory or time"),
    "large picture": (bomb([("xl/workbook.xml", b"<x/>"), ("xl/media/a.png", MANY)]), "takes too much memory or time"),
    "lying directory": (lying(bomb([("xl/workbook.xml", MANY)])), "takes too much memory or time|is damaged"),
    "many members": (bomb([("xl/workbook.xml", b""), *((f"xl/{i}", b"") for i in range(6000))]), "takes too much"),
    "large ods": (bomb([("content.xml", MANY), ("META-INF/manifest.xml", b"")]), "takes too much memory or time"),
    "locked ods": (bomb([("content.xml", b""), ("META-INF/manifest.xml", b"<m:encryption-data/>")]), "password"),
    "no sheets": (bomb([("xl/workbook.xml", b"<x/>")]), "is damaged"),
    "locked": (b"\xd0\xcf\x11\xe0" + "EncryptedPackage".encode("utf-16-le"), "is locked with a password"),
    "old document": (b"\xd0\xcf\x11\xe0" + "WordDocument".encode("utf-16-le"), "no workbook; save the table as CSV"),
    "document": (
        bomb([("[Content_Types].xml", b""), ("word/document.xml", b"")]),
        "no workbook; save the table as CSV",
    ),
    "binary": (bomb([("xl/workbook.bin", b"")]), "of a format that is not read; save it as .xlsx or CSV"),
    "numbers": (bomb([("Index/Document.iwa", b"")]), "of a format that is not read; save it as .xlsx or CSV"),
    "spoilt xls": (b"\xd0\xcf\x11\xe0" + "Workbook".encode("utf-16-le") + b"x" * 999, "is damaged"),
}


@pytest.mark.parametrize(("data", "message"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_workbooks_are_refused_in_words(
    data: bytes, message: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "a.xlsx", data)
    with pytest.raises(pv.FileError, match=message) as caught:
        pv.read(path)
    assert str(caught.value).startswith(str(path))
    assert caught.value.__context__ is None
    assert capfd.readouterr() == ("", "")


def far_apart(path: Path, place: str) -> Path:
    return by_openpyxl(path, {"A": ROWS}, lambda book: book["A"].__setitem__(place, "x"))


@pytest.mark.parametrize("place", ["XFD1048576", "XFD9000", "A1048576"])
def test_a_cell_far_away_does_not_exhaust_memory(place: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = far_apart(tmp_path / "a.xlsx", place)
    if place == "A1048576":
        with pytest.raises(pv.FileError, match="line 1048576, column 'reviewer': the cell is empty"):
            pv.read(path)
    else:
        with pytest.raises(pv.FileError, match=r"too far apart|too much memory"):
            pv.read(path)
    assert capfd.readouterr() == ("", "")


SPOILT = {
    "row 0": (b"<sheetData>", b"<sheetData><row r='0'><c r='A0'><v>1</v></c></row>"),
    "open rows": (b"</row>", b""),
    "no places": (b" r=", b" q="),
    "no strings": (b't="s"><v>', b't="s"><v>99'),
}


@pytest.mark.parametrize(("old", "new"), SPOILT.values(), ids=SPOILT)
def test_spoilt_sheets_are_read_or_refused(
    old: bytes, new: bytes, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = by_xlsxwriter(tmp_path / "a.xlsx", {"A": ROWS})
    path.write_bytes(rewritten(path, {"xl/worksheets/sheet1.xml": lambda xml: xml.replace(old, new)}))
    problem = None
    try:
        pv.read(path)
    except pv.FileError as error:
        problem = error
    assert problem is None or problem.__context__ is None
    assert capfd.readouterr() == ("", "")
