"""Workbooks written by the libraries of several makers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import xlsxwriter
import xlwt
from odf.opendocument import OpenDocumentSpreadsheet
from odf.table import Table, TableCell, TableRow
from odf.text import P

Rows = list[list[Any]]
Sheets = dict[str, Rows]


def by_openpyxl(path: Path, sheets: Sheets, change: Callable[[Any], object] = lambda _: None) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    change(book)
    book.save(path)
    return path


def by_xlsxwriter(path: Path, sheets: Sheets) -> Path:
    with xlsxwriter.Workbook(path) as book:
        for name, rows in sheets.items():
            sheet = book.add_worksheet(name)
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)
    return path


def by_xlwt(path: Path, sheets: Sheets) -> Path:
    book = xlwt.Workbook()
    for name, rows in sheets.items():
        sheet = book.add_sheet(name)
        for number, row in enumerate(rows):
            for place, cell in enumerate(row):
                sheet.write(number, place, cell)
    book.save(str(path))
    return path


def by_odfpy(path: Path, sheets: Sheets) -> Path:
    book = OpenDocumentSpreadsheet()
    for name, rows in sheets.items():
        table = Table(name=name)
        for row in rows:
            line = TableRow()
            for cell in row:
                kind = {"valuetype": "string"} if isinstance(cell, str) else {"valuetype": "float", "value": cell}
                written = TableCell(**kind)
                written.addElement(P(text=str(cell)))
                line.addElement(written)
            table.addElement(line)
        book.spreadsheet.addElement(table)
    book.save(str(path))
    return path
