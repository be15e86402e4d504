"""Microsoft CMT: an XML file named .xls, with the conference in row 1, a header in row 3, and one sheet per track."""

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

label = "Microsoft CMT"

_QUESTION = re.compile(r"\s*(Q\d{1,3})\s*\((.*?)(\s+-\s+Value)?\s*\)\s*", re.DOTALL | re.IGNORECASE)
_ABOUT_SCORES = re.compile(r"\b(overall|rating|recommendation|score)\b", re.IGNORECASE)
_SHOWS = "the file does not show which scores are public; usually CMT's are shown to committee and authors"
_NO_HEADER = "has no header 'Paper ID' with reviews below it"

# The conference's name and a blank row precede the header.
_MOST_ABOVE = 3

_NO_PEOPLE = (
    "has no column 'Reviewer Email', and CMT's reviewer numbers are assigned anew for each paper; export it with "
    "reviewers' addresses"
)


def recognise(look: Look) -> str:
    """Return whether it is SpreadsheetML."""
    if look.kind == "xml" and "urn:schemas-microsoft-com:office:spreadsheet" in look.start:
        return "it is an XML spreadsheet (SpreadsheetML 2003), as CMT writes it"
    return ""


def extract(source: Source, choices: Choices) -> Extract:
    """Return the reviews of all sheets, with reviewers by address."""
    gathering = Gathering(source.name, "xml", (), choices)
    sheet = above = 0
    header: dict[str, int] = {}
    question = ""
    grades: dict[str, str] = {}
    wanted = (*choices.criteria, *choices.labels)
    for row in rows(source.file()):
        if row.sheet != sheet:
            sheet, above, header = row.sheet, 0, {}
        if not header:
            above += 1
            if plain(choices.paper or "paper id") in map(plain, row.cells.values()):
                header = {" ".join(cell.split()): place for place, cell in row.cells.items()}
                question = _question(header, row, gathering.name, choices)
                grades = {name: _criterion(name, header, row, gathering.name) for name in wanted}
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


def _question(header: dict[str, int], row: Row, name: str, choices: Choices) -> str:
    """Return the column of the score: the question chosen, or the only one about scores."""
    if choices.reviewer is None and plain("reviewer email") not in {plain(cell) for cell in header}:
        raise FileError(_NO_PEOPLE, file=name, line=row.line)
    wanted = choices.score
    about = [column for column in header if _ABOUT_SCORES.search(_parsed(column)[1])]
    values = _values(about) if wanted is None else _called(wanted, header)
    if len(values) == 1:
        return values[0]
    numbers = dict.fromkeys(filter(None, (_parsed(column)[0].upper() for column in values or header)))
    which = "no question is" if not values else "several questions could be"
    which += " the score" if wanted is None else f" called {wanted!r}"
    raise FileError(
        f"{which}; say which it is by its number, of {', '.join(numbers) or 'none'}, with ",
        Argument("score", ...),
        file=name,
        line=row.line,
    )


def _criterion(wanted: str, header: dict[str, int], row: Row, name: str) -> str:
    """Return the column of a criterion or a filter, by the number or text of its question, or its heading."""
    values = _called(wanted, header)
    if len(values) == 1:
        return values[0]
    which = "several questions are" if values else "no question is"
    raise FileError(f"{which} called {wanted!r}; name questions by their numbers, as 'Q3'", file=name, line=row.line)


def _called(wanted: str, header: dict[str, int]) -> list[str]:
    """Return the columns of questions with this number, text or whole heading."""
    return _values([column for column in header if plain(wanted) in map(plain, (column, *_parsed(column)))])


def _parsed(column: str) -> tuple[str, str]:
    """Return the number and the text of a question; empty if a column is none."""
    match = _QUESTION.fullmatch(column)
    return (match[1], match[2]) if match else ("", "")


def _values(columns: list[str]) -> list[str]:
    """Return those columns that hold the values of answers, or all if none does."""
    return [column for column in columns if (match := _QUESTION.fullmatch(column)) and match[3]] or columns


def _cell(cells: dict[str, Any], name: str) -> Any:
    return next((value for column, value in cells.items() if plain(column) == plain(name)), None)
