"""Microsoft CMT: a file called .xls that is XML, with the conference in row 1, a header in row 3, a sheet a track."""

from __future__ import annotations

import re
from typing import Any

from peerveil.errors import Argument, FileError
from peerveil.private.readers.gathering import Gathering, address
from peerveil.private.readers.protocol import Choices, Extract
from peerveil.private.readers.spreadsheetml import Row, rows
from peerveil.tables.cells import is_missing
from peerveil.tables.headings import plain
from peerveil.tables.opening import Source
from peerveil.tables.sniffing import Look

_QUESTION = re.compile(r"\s*(Q\d{1,3})\s*\((.*?)(\s+-\s+Value)?\s*\)\s*", re.DOTALL | re.IGNORECASE)
_ABOUT_SCORES = re.compile(r"\b(overall|rating|recommendation|score)\b", re.IGNORECASE)
_SHOWS = "the file does not show which scores are public; usually CMT's are shown to committee and authors"
_NO_HEADER = "has no header 'Paper ID' with reviews below it"

# The conference's name and a blank row stand above the header.
_MOST_ABOVE = 3

_NO_PEOPLE = (
    "has no column 'Reviewer Email', and CMT's reviewer numbers are given anew on every paper; export it with "
    "reviewers' addresses"
)


def recognise(look: Look) -> str:
    """By the kind of XML."""
    if look.kind == "xml" and "urn:schemas-microsoft-com:office:spreadsheet" in look.start:
        return "it is an XML spreadsheet (SpreadsheetML 2003), as CMT writes it"
    return ""


def extract(source: Source, choices: Choices) -> Extract:
    """The reviews of all sheets, by address."""
    gathering = Gathering(source.name, "xml", (), choices)
    sheet = above = 0
    header: dict[str, int] = {}
    question = ""
    grades: dict[str, str] = {}
    for row in rows(source.file()):
        if row.sheet != sheet:
            sheet, above, header = row.sheet, 0, {}
        if not header:
            above += 1
            if _is_header(row, choices):
                header = {_one_line(cell): place for place, cell in row.cells.items()}
                question = _question(header, row, gathering.name, choices)
                grades = {name: _criterion(name, header, row, gathering.name) for name in choices.criteria}
            elif above > _MOST_ABOVE:
                raise FileError(f"sheet {sheet} {_NO_HEADER}", file=gathering.name, line=row.line)
            continue
        cells = {name: row.cells.get(place) for name, place in header.items()}
        paper = _cell(cells, choices.paper or "paper id")
        person = _cell(cells, choices.reviewer or "reviewer email")
        if is_missing(paper) and is_missing(person):
            gathering.drop("rows without a paper and a reviewer")
            continue
        graded = {name: cells[column] for name, column in grades.items()}
        gathering.add(row.line, paper, address(person), {"score": cells[question]}, graded)
    if not gathering.rows:
        raise FileError(_NO_HEADER, file=gathering.name)
    return gathering.extract(shows=(_SHOWS,))


def _is_header(row: Row, choices: Choices) -> bool:
    return any(plain(cell) == plain(choices.paper or "paper id") for cell in row.cells.values())


def _question(header: dict[str, int], row: Row, name: str, choices: Choices) -> str:
    """The column of the score: the value of the question asked for, or of the only one about scores."""
    if choices.reviewer is None and plain("reviewer email") not in {plain(cell) for cell in header}:
        raise FileError(_NO_PEOPLE, file=name, line=row.line)
    wanted = choices.score
    if wanted is not None:
        chosen = _called(wanted, header)
    else:
        chosen = [column for column in header if _number(column) and _ABOUT_SCORES.search(_text(column))]
    values = [column for column in chosen if _is_value(column)] or chosen
    if len(values) == 1:
        return values[0]
    numbers = dict.fromkeys(_number(column).upper() for column in values or header if _number(column))
    which = "no question is" if not values else "several questions could be"
    which += " the score" if wanted is None else f" called {wanted!r}"
    raise FileError(
        f"{which}; say which it is by its number, of {', '.join(numbers) or 'none'}, with ",
        Argument("score", ...),
        file=name,
        line=row.line,
    )


def _criterion(wanted: str, header: dict[str, int], row: Row, name: str) -> str:
    """The column of a criterion: the value of the question with that number or text."""
    chosen = _called(wanted, header)
    values = [column for column in chosen if _is_value(column)] or chosen
    if len(values) == 1:
        return values[0]
    which = "several questions are" if values else "no question is"
    raise FileError(f"{which} called {wanted!r}; name criteria by their numbers, as 'Q3'", file=name, line=row.line)


def _called(wanted: str, header: dict[str, int]) -> list[str]:
    """The columns of the questions with a number, a text or a whole heading."""
    return [
        column for column in header if plain(wanted) in (plain(column), plain(_number(column)), plain(_text(column)))
    ]


def _number(column: str) -> str:
    match = _QUESTION.fullmatch(column)
    return match[1].lower() if match else ""


def _text(column: str) -> str:
    match = _QUESTION.fullmatch(column)
    return match[2] if match else ""


def _is_value(column: str) -> bool:
    match = _QUESTION.fullmatch(column)
    return bool(match and match[3])


def _one_line(cell: str) -> str:
    return " ".join(cell.split())


def _cell(cells: dict[str, Any], name: str) -> Any:
    return next((value for column, value in cells.items() if plain(column) == plain(name)), None)
