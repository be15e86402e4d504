"""Files as people make them, each with the reviews it holds, and what its owner knows and can do about it."""

from __future__ import annotations

import datetime
import gzip
import io
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import openpyxl
import xlsxwriter
import xlwt
from odf.opendocument import OpenDocumentSpreadsheet
from odf.table import Table, TableCell, TableRow
from odf.text import P

from spreadsheets import Rows, by_odfpy, by_openpyxl, by_xlsxwriter, by_xlwt

#: Paper, reviewer and score: what every file of the corpus holds, with names of its language.
Reviews = list[tuple[str, str, float]]

LANGUAGES = {
    "plain": ["ann@x.org", "bob@x.org", "cem@x.org", "dora@x.org"],
    "German": ["Jörg Müller", "Käthe Groß", "Bärbel Höhn", "Max Weiß"],
    "Czech": ["Jiří Dvořák", "Zdeněk Škoda", "Růžena Čapková", "Ota Němec"],
    "Russian": ["Иван Петров", "Ольга Ильина", "Сергей Юдин", "Анна Жукова"],
    "Japanese": ["田中 太郎", "佐藤 花子", "鈴木 さくら", "高橋 ケン"],
    "Chinese": ["王伟", "李静娜", "张敏", "赵军洋"],
    "Taiwanese": ["陳怡君", "林志豪", "黃淑芬", "張家豪"],
    "Korean": ["김민준", "이서연", "박지훈", "최수빈"],
    "Hebrew": ["יעל ברק", "משה פרץ", "נועה שפירא", "דוד לוי"],
}


def reviews_in(language: str = "plain") -> Reviews:
    """Twelve reviews of four papers by four reviewers, none of whom has two on one paper."""
    people = LANGUAGES[language]
    return [
        (f"P{p + 1}", people[(p + k) % 4], (3 * p + 5 * k) % 9 + (0.5 if k == 1 else 1.0))
        for p in range(4)
        for k in range(3)
    ]


HEADER = ("Paper", "Reviewer", "Score")


def rows_of(language: str = "plain", header: tuple[str, ...] = HEADER) -> Rows:
    return [[*header], *([*review] for review in reviews_in(language))]


def text_of(rows: Rows, separator: str = ",", newline: str = "\n", comma: bool = False) -> str:
    def cell(value: Any) -> str:
        text = "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
        text = text.replace(".", ",") if comma and isinstance(value, float) else text
        return f'"{text}"' if separator in text or "\n" in text else text

    return newline.join(separator.join(map(cell, row)) for row in rows) + newline


Write = Callable[[Path], object]


@dataclass(frozen=True)
class Made:
    """A file: how it is written, the reviews in it, its end, and what its owner knows and can do when asked.

    ``answers`` are values of options; ``repairs`` write the file anew, by a phrase of the message that asks for it.
    """

    write: Write
    language: str = "plain"
    end: str = "csv"
    answers: Mapping[str, str] = field(default_factory=dict)
    repairs: Mapping[str, Write] = field(default_factory=dict)
    refused: bool = False
    public: bool = False


CORPUS: dict[str, Made] = {}


def _text(
    name: str, text: str | bytes, encoding: str = "utf-8", language: str = "plain", end: str = "csv", **more: Any
) -> None:
    data = text if isinstance(text, bytes) else text.encode(encoding)
    CORPUS[name] = Made(lambda path: path.write_bytes(data), language, end, **more)


def _fixed(text: str) -> Write:
    return lambda path: path.write_text(text, encoding="utf-8")


def _texts() -> None:
    plain, rows = text_of(rows_of()), rows_of()
    _text("commas", plain)
    _text("mark", plain, "utf-8-sig")
    _text("excel on western windows", text_of(rows_of("German"), ";", "\r\n", comma=True), "cp1252", "German")
    _text("unicode text of excel", text_of(rows_of("Czech"), "\t", "\r\n"), "utf-16", "Czech", "txt")
    _text("utf-16 the other way round", ("\ufeff" + text_of(rows_of("Russian"))), "utf-16-be", "Russian")
    _text("utf-32", text_of(rows_of("German")), "utf-32", "German")
    _text("utf-16 without mark", text_of(rows_of()), "utf-16-le")
    for language, encoding in {
        "Czech": "cp1250",
        "Russian": "cp1251",
        "Japanese": "cp932",
        "Chinese": "gb18030",
    }.items():
        _text(f"{language} windows", text_of(rows_of(language), ";"), encoding, language)
    _text("Taiwanese windows", text_of(rows_of("Taiwanese")), "big5", "Taiwanese")
    for language, encoding in {"Korean": "cp949", "Hebrew": "cp1255"}.items():
        stated = {"encoding": encoding}
        _text(f"{language} windows", text_of(rows_of(language)), encoding, language, answers=stated, refused=True)
    _text("German mac", text_of(rows_of("German"), ";"), "mac_roman", "German")
    _text("German dos", text_of(rows_of("German"), ";"), "cp850", "German")
    _text("Russian unix", text_of(rows_of("Russian")), "koi8-r", "Russian")
    _text("title", f"Reviews of 2026, final\n\n{text_of(rows, ';')}")
    _text("title of excel", f"Reviews of 2026;;\n;;\nas of May;;\n{text_of(rows, ';', comma=True)}")
    _text("separator stated", f"sep=;\r\n{text_of(rows, ';', chr(13) + chr(10))}")
    _text("bars", text_of(rows, "|"))
    _text("tabs", text_of(rows, "\t"), end="tsv")
    commented: Rows = [
        [*row, "Comments" if row[0] == "Paper" else 'good,\nbut "short'.replace('"', "'")] for row in rows
    ]
    _text("comments with newlines", text_of(commented))
    _text("average below", plain + "Average,,5.2\n")
    _text("unnamed totals below", text_of([*rows, ["", "", 62.0], ["", "", 5.2]], ";", comma=True))
    _text("Mittelwert below", text_of([*rows, ["", "Mittelwert", 5.2]], ";", comma=True))
    for name, header, encoding in (
        ("German headings", ("Einreichung", "Gutachter", "Note"), "cp1252"),
        ("French headings", ("Article", "Relecteur", "Évaluation"), "cp1252"),
        ("Chinese headings", ("论文", "审稿人", "评分"), "utf-8"),
        ("Russian headings", ("Статья", "Рецензент", "Оценка"), "cp1251"),
    ):
        answers = dict(zip(("paper", "reviewer", "score"), header, strict=True))
        _text(name, text_of(rows_of(header=header), ";"), encoding, answers=answers, refused=True)
    two: Rows = [[*row, "Rating" if row[0] == "Paper" else 1.0] for row in rows]
    _text("two columns of scores", text_of(two), answers={"score": "Score"}, refused=True)
    final: Rows = [["Paper", "Reviewer", "Initial", "Final Rating"], *([p, r, 1.0, x] for p, r, x in reviews_in())]
    _text("initial and final", text_of(final), answers={"score": "Final Rating"}, refused=True)
    labelled: Rows = [rows[0], *([p, r, f"{x:g}: accept"] for p, r, x in rows[1:])]
    _text("labels", text_of(labelled))
    letters = {x: f"{chr(90 - i)}" for i, x in enumerate(sorted({x for *_, x in reviews_in()}))}
    worth = ",".join(f"{letter}={x:g}" for x, letter in letters.items())
    _text(
        "letters",
        text_of([rows[0], *([p, r, letters[x]] for p, r, x in rows[1:])]),
        answers={"symbols": worth},
        refused=True,
    )
    _text("empty columns", text_of([[*row, "", "", ""] for row in rows], ";"))
    _text("index of pandas", text_of([["" if i == 0 else i - 1, *row] for i, row in enumerate(rows)]))
    _text("blank lines", plain.replace("\n", "\n\n"))
    _text("other names", text_of(rows_of(header=("SUBMISSION-ID", "E-Mail", "overall_score"))))
    gap = [*rows[:5], [rows[5][0], "", rows[5][2]], *rows[6:]]
    _text(
        "reviewer missing",
        text_of(gap),
        repairs={"the cell is empty; every review needs one": _fixed(plain)},
        refused=True,
    )
    words = [*rows[:5], [*rows[5][:2], "good"], *rows[6:]]
    _text(
        "word as score",
        text_of(words),
        repairs={"is not a number; give the score as a number": _fixed(plain)},
        refused=True,
    )
    many: Rows = [
        ["Paper", "Reviewer", "Score"],
        *([f"P{i}", f"Jörg{chr(97 + i % 26)}{chr(97 + i // 26)}", 3.0] for i in range(90)),
    ]
    german = text_of(rows_of("German"))
    mixed = text_of(many).encode("cp1252") + "P99,Jörg,3\n".encode()
    anew = {"partly UTF-8 and partly cp1252": _fixed(german)}
    _text("two encodings", mixed, language="German", repairs=anew, refused=True)
    _text("gzip", gzip.compress(plain.encode()), end="csv.gz")
    _text("zip", zipped({"data/reviews.csv": plain.encode(), "data/readme.txt": b"see reviews.csv"}), end="zip")
    objects = [dict(zip(HEADER, row, strict=True)) for row in rows[1:]]
    _text("json", json.dumps(objects, indent=1), end="json")
    _text("json lines", "\n".join(map(json.dumps, objects)), end="jsonl")


def zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def _excel(name: str, sheets: dict[str, Rows], change: Callable[[Any], object] = lambda _: None, **more: Any) -> None:
    CORPUS[f"openpyxl: {name}"] = Made(lambda path: by_openpyxl(path, sheets, change), end="xlsx", **more)


def _by_openpyxl() -> None:
    rows, reviews = rows_of(), {"Reviews": rows_of()}
    notes: Rows = [["Please do not pass on"], ["as of", datetime.date(2026, 5, 6)]]
    papers: Rows = [["Paper", "Title"], *([f"P{i}", f"On {i}"] for i in range(1, 5))]
    _excel("plain", reviews)
    _excel("title", {"A": [["Reviews of 2026"], [], *rows]}, lambda book: book["A"].merge_cells("A1:C1"))
    _excel("empty edges", {"A": [[], [], *([None, None, *row] for row in rows)]})
    _excel("notes and papers", {"Read me": notes, "Papers": papers, **reviews})
    both = {"Round 1": [rows[0], ["P1", "x", 1]], "Round 2": rows}
    _excel("two rounds", both, answers={"sheet": "Round 2"}, refused=True)
    _excel("hidden sheet", {"Old": rows[:4], **reviews}, lambda book: setattr(book["Old"], "sheet_state", "hidden"))
    _excel(
        "only hidden",
        reviews | {"Empty": []},
        lambda book: setattr(book["Reviews"], "sheet_state", "hidden"),
        answers={"sheet": "Reviews"},
        refused=True,
    )

    def merged(book: Any) -> None:
        for first in range(2, 14, 3):
            book["Reviews"].merge_cells(f"A{first}:A{first + 2}")

    _excel("merged papers", reviews, merged)
    spanning: Rows = [
        ["Paper", "Reviewer", "Grades", None],
        [None, None, "Score", "Clarity"],
        *([*row, 3] for row in rows[1:]),
    ]
    _excel(
        "merged headings",
        {"A": spanning},
        lambda book: [book["A"].merge_cells(area) for area in ("C1:D1", "A1:A2", "B1:B2")],
    )
    _excel("headings in two rows", {"A": spanning}, lambda book: book["A"].merge_cells("C1:D1"))
    _excel("numbers as text", {"A": [rows[0], *([p, r, f"{x:g}".replace(".", ",")] for p, r, x in rows[1:])]})
    formulas: Rows = [[*rows[0], "Half"], *([p, r, f"=2*D{i}", x / 2] for i, (p, r, x) in enumerate(rows[1:], 2))]
    saved = {"open the workbook in a spreadsheet program, and save it there": lambda path: by_openpyxl(path, reviews)}
    _excel("formulas never computed", {"A": formulas}, repairs=saved, refused=True)
    unused: Rows = [
        [*rows[0], "Date", "Sum"],
        *([*row, datetime.datetime(2026, 5, i), "=C2+1"] for i, row in enumerate(rows[1:], 1)),
    ]
    _excel("dates and formulas elsewhere", {"A": unused})
    dated: Rows = [*rows[:5], [*rows[5][:2], datetime.date(2026, 5, 6)], *rows[6:]]
    numbers = {"a date is not a number": lambda path: by_openpyxl(path, reviews)}
    _excel("score turned date", {"A": dated}, repairs=numbers, refused=True)
    _excel("average computed below", {"A": [*rows, [], ["Average", None, "=AVERAGE(C2:C13)"]]})
    header = ("Einreichung", "Gutachter", "Note")
    answers = dict(zip(("paper", "reviewer", "score"), header, strict=True))
    _excel(
        "German headings", {"Gutachten": rows_of("German", header)}, language="German", answers=answers, refused=True
    )
    _excel("chart", reviews, lambda book: book.create_chartsheet("Chart"))
    _excel("hidden rows", reviews, lambda book: setattr(book["Reviews"].row_dimensions[5], "hidden", True))
    _excel(
        "comments on cells",
        reviews,
        lambda book: setattr(book["Reviews"]["C3"], "comment", openpyxl.comments.Comment("?", "me")),
    )
    CORPUS["openpyxl: in a zip"] = Made(_in_a_zip, end="zip")


def _in_a_zip(path: Path) -> None:
    inner = path.with_suffix(".xlsx")
    path.write_bytes(zipped({"reviews.xlsx": by_openpyxl(inner, {"A": rows_of()}).read_bytes()}))
    inner.unlink()


def _by_xlsxwriter() -> None:
    rows = rows_of("German")

    def made(name: str, fill: Callable[[Any, Any], object], **more: Any) -> None:
        def write(path: Path) -> None:
            options = {"constant_memory": True} if name == "strings in place" else {}
            with xlsxwriter.Workbook(path, options) as book:
                sheet = book.add_worksheet("Reviews")
                for number, row in enumerate(rows):
                    sheet.write_row(number, 0, row)
                fill(book, sheet)

        CORPUS[f"xlsxwriter: {name}"] = Made(write, "German", "xlsx", **more)

    def computed(_: Any, sheet: Any) -> None:
        for number, (*_, score) in enumerate(rows[1:], 1):
            sheet.write_formula(number, 2, f"={score}+0", None, score)

    made("plain", lambda *_: None)
    made("strings in place", lambda *_: None)
    made("table", lambda _, sheet: sheet.add_table(0, 0, 12, 2, {"columns": [{"header": name} for name in rows[0]]}))
    saved = {
        "open the workbook in a spreadsheet program, and save it there": lambda path: by_xlsxwriter(path, {"A": rows})
    }
    made("formulas", computed, repairs=saved, refused=True)
    made("second sheet", lambda book, _: book.add_worksheet("Notes").write_row(0, 0, ["as of", "May"]))
    made(
        "two columns of scores",
        lambda _, sheet: sheet.write_column(0, 3, ["Rating", *[1] * 12]),
        answers={"score": "Score"},
        refused=True,
    )
    made("average below", lambda _, sheet: sheet.write_row(13, 0, ["Durchschnitt", "", 5.1]))
    made("frozen and filtered", lambda _, sheet: (sheet.freeze_panes(1, 0), sheet.autofilter(0, 0, 12, 2)))


def _by_odfpy() -> None:
    rows = rows_of("Czech")

    def made(name: str, sheets: dict[str, Rows], **more: Any) -> None:
        CORPUS[f"odfpy: {name}"] = Made(lambda path: by_odfpy(path, sheets), "Czech", "ods", **more)

    made("plain", {"A": rows})
    made("two sheets", {"Notes": [["as of", "May"]], "Reviews": rows})
    made("two rounds", {"R1": rows, "R2": rows}, answers={"sheet": "R1"}, refused=True)
    made("title", {"A": [["Reviews of 2026"], *rows]})
    made("totals", {"A": [*rows, ["Total", "", 62.0]]})
    CORPUS["odfpy: repeated cells"] = Made(_repeated, end="ods")


def _repeated(path: Path) -> None:
    """Equal cells next to each other are written once, and the sheet ends with empty rows, as LibreOffice does it."""
    book, table = OpenDocumentSpreadsheet(), Table(name="A")
    rows: Rows = [["Note", "Note 2", *HEADER], *(["x", "x", *review] for review in reviews_in())]
    for row in rows:
        line, place = TableRow(), 0
        while place < len(row):
            cell, times = row[place], 2 if row[place : place + 2] == ["x", "x"] else 1
            kind = {"valuetype": "string"} if isinstance(cell, str) else {"valuetype": "float", "value": cell}
            written = TableCell(numbercolumnsrepeated=times, **kind)
            written.addElement(P(text=str(cell)))
            line.addElement(written)
            place += times
        table.addElement(line)
    last = TableRow(numberrowsrepeated=1_000_000)
    last.addElement(TableCell(numbercolumnsrepeated=1_000))
    table.addElement(last)
    book.spreadsheet.addElement(table)
    book.save(str(path))


def _by_xlwt() -> None:
    rows = rows_of("Russian")

    def made(name: str, sheets: dict[str, Rows], **more: Any) -> None:
        CORPUS[f"xlwt: {name}"] = Made(lambda path: by_xlwt(path, sheets), "Russian", "xls", **more)

    made("plain", {"A": rows})
    made("title", {"A": [["Reviews of 2026"], ["as of May"], *rows]})
    made("two rounds", {"R1": rows, "R2": rows}, answers={"sheet": "R2"}, refused=True)
    made("numbers as text", {"A": [rows[0], *([p, r, f"{x:g}"] for p, r, x in rows[1:])]})
    made("totals", {"A": [*rows, ["Summe", "", 62.0]]})
    CORPUS["xlwt: merged and hidden"] = Made(_merged_xls, "Russian", "xls")


def _merged_xls(path: Path) -> None:
    book = xlwt.Workbook()
    old = book.add_sheet("Old")
    old.write(0, 0, "Paper")
    sheet = book.add_sheet("Reviews")
    for place, name in enumerate(HEADER):
        sheet.write(0, place, name)
    for number, (paper, person, score) in enumerate(reviews_in("Russian"), 1):
        if number % 3 == 1:
            sheet.write_merge(number, number + 2, 0, 0, paper)
        sheet.write(number, 1, person)
        sheet.write(number, 2, score)
    old.visibility = 1
    book.set_active_sheet(1)
    book.save(str(path))


def _locked(path: Path) -> None:
    """The beginning of a workbook with a password, as Excel writes it; the libraries here cannot."""
    path.write_bytes(
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600) + "EncryptedPackage".encode("utf-16-le") + bytes(600)
    )


def _public_files() -> None:
    papers: dict[str, list[float]] = {}
    for paper, _, score in reviews_in():
        papers.setdefault(paper, []).append(score)
    wide: Rows = [
        ["Paper", "Ratings"],
        *([paper, ";".join(f"{x:g}" for x in scores)] for paper, scores in papers.items()),
    ]
    numbered: Rows = [["Paper", "0", "1", "2"], *([paper, *scores] for paper, scores in papers.items())]
    CORPUS["public: sheet"] = Made(lambda path: by_openpyxl(path, {"A": [["Scores"], *wide]}), end="xlsx", public=True)
    CORPUS["public: columns"] = Made(lambda path: by_xlsxwriter(path, {"A": numbered}), end="xlsx", public=True)
    CORPUS["public: opendocument"] = Made(lambda path: by_odfpy(path, {"A": wide}), end="ods", public=True)
    _text("public: average below", text_of([*wide, ["Average", "5.2"]], "|"), public=True)


_texts()
_by_openpyxl()
_by_xlsxwriter()
_by_odfpy()
_by_xlwt()
_public_files()
CORPUS["locked"] = Made(
    _locked,
    end="xlsx",
    repairs={
        "is locked with a password; open it, and save it without one": lambda path: by_openpyxl(path, {"A": rows_of()})
    },
    refused=True,
)
