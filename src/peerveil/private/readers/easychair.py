"""EasyChair: review.csv, plain or in a zip, with or without a header."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from peerveil.errors import Argument
from peerveil.private.readers.gathering import Gathering, address
from peerveil.private.readers.protocol import Choices, Extract
from peerveil.tables.headings import SCORE_NAMES, plain
from peerveil.tables.opening import Source
from peerveil.tables.reading import read_table
from peerveil.tables.sniffing import Look
from peerveil.tables.table import BLANKS, Table

label = "EasyChair"

SCORES = ("overall evaluation", *SCORE_NAMES)

#: The columns in their order; some exports lack the total score.
COLUMNS = (
    *("#", "submission #", "member #", "member name", "number", "version", "text", "scores", "total score"),
    *("reviewer first name", "reviewer last name", "reviewer email", "reviewer person #", "date", "time"),
    "attachment?",
)
_SHORT = tuple(name for name in COLUMNS if name != "total score")
_UNREAD = ("text", "date", "time", "attachment?")
_NEEDED = ("submission #", "member #", "scores")

_DATE = re.compile(r"\d{4}-\d\d?-\d\d?|\d\d?[./]\d\d?[./]\d{4}")
_SHOWS = "the file does not show which scores are public; usually EasyChair's are shown to committee and authors"


def recognise(look: Look) -> str:
    """Return how the header, or the first row of a file without one, was recognised."""
    if not look.tabular:
        return ""
    if look.names(*_NEEDED):
        return f"its header has EasyChair's {', '.join(_NEEDED)}"
    if _columns(look.first):
        return "its rows have EasyChair's columns in their order, without a header"
    return ""


def _columns(row: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns of a file without a header, by the position of the date in its first row; else empty."""
    for columns in (COLUMNS, _SHORT):
        place = columns.index("date")
        if (
            len(columns) - 1 <= len(row) <= len(columns)
            and _DATE.match(row[place].strip())
            and all(row[i].strip().isdigit() for i in range(3))
            and ":" in row[columns.index("scores")]
        ):
            return columns[: len(row)]
    return ()


def extract(source: Source, choices: Choices) -> Extract:
    """Return the latest version of each review; each label in the scores is a field."""
    asked = (choices.paper, choices.reviewer, *choices.labels)
    unread = {plain(name) for name in _UNREAD} - {plain(name) for name in asked if name}
    table = read_table(source, header=_columns(source.look.first), wanted=lambda name: plain(name) not in unread)
    column = {plain(name): name for name in table.header}
    for name in _NEEDED:
        if plain(name) not in column:
            raise table.error(f"has no column {name!r}, which EasyChair's review.csv has")
    people, problems = _people(table, column, choices)
    gathering = Gathering(table.name, "csv", SCORES, choices)
    papers = table.cells[table.find("paper", ("submission #",), choices.paper)]
    latest = _latest(table, column)
    total = column.get(plain("total score"))
    scores = table.cells[column["scores"]]
    if choices.score is None and total and not any(gathering.wants(name) for cell in scores for name in _scores(cell)):
        gathering = Gathering(table.name, "csv", ("total score",), choices)
    totals = table.cells[total] if total else [""] * table.rows
    labels = [name for name in table.header if plain(name) in map(plain, choices.labels)]
    rows = zip(table.lines, papers, people, scores, totals, strict=True)
    for row, (line, paper, person, cell, total_score) in enumerate(rows):
        if row not in latest:
            gathering.drop("older versions of reviews")
            continue
        fields = ({"total score": total_score} if total else {}) | _scores(cell)
        wanted = {name: value for name, value in fields.items() if gathering.wants(name)}
        fields |= {name: table.cells[name][row] for name in labels}
        gathering.add(line, paper, person, wanted, gathering.grades(fields))
    return replace(gathering.extract(shows=(_SHOWS,), problems=problems), certain=choices.reviewer is None)


def _scores(cell: str) -> dict[str, str]:
    """Return the values of the lines ``Label: n`` in a cell, by label."""
    lines = (line.rpartition(":") for line in cell.splitlines()[:100])
    return {label.strip(): value.strip() for label, _, value in lines if label.strip()}


def _latest(table: Table, column: dict[str, str]) -> set[int]:
    """Return the rows with the latest version of each review, identified by submission, member and number."""
    if "version" not in column or "number" not in column:
        return set(range(table.rows))
    keys = zip(*(table.cells[column[plain(name)]] for name in ("submission #", "member #", "number")), strict=True)
    versions = table.numbers(column["version"], _version)
    best: dict[tuple[str, ...], int] = {}
    for row, key in enumerate(keys):
        other = best.setdefault(key, row)
        if versions[row] > versions[other]:
            best[key] = row
        elif versions[row] == versions[other] and row != other:
            raise table.error("the same version of the same review occurs twice; keep one", row=row, column="version")
    return set(best.values())


def _version(cell: str) -> float | None:
    text = cell.strip() or "0"
    return float(text) if text.isdecimal() and len(text) < 10 else None


def _people(table: Table, column: dict[str, str], choices: Choices) -> tuple[Iterable[str], list[str]]:
    """Return the owner of each review, and problems. If members and subreviewers differ, the user must choose."""
    if choices.reviewer is not None:
        return table.cells[table.find("reviewer", (), choices.reviewer)], []
    members = table.text(column[plain("member #")])
    writers, namesakes = _writers(table, column, members)
    if choices.person == "member" or writers is None:
        return members, []
    if choices.person == "subreviewer":
        problem = f"{namesakes} subreviewers have the name of a PC member and are taken for the same people"
        return writers, [problem] if namesakes else []
    if len(set(zip(members, writers, strict=True))) == len(set(members)) == len(set(writers)):
        return members, []
    raise table.error(
        "some reviews were written by subreviewers: state whether to protect all that a PC member is responsible for (",
        Argument("person", "member"),
        ") or all that one person wrote (",
        Argument("person", "subreviewer"),
        ")",
    )


def _writers(table: Table, column: dict[str, str], members: list[str]) -> tuple[list[str] | None, int]:
    """Return the author of each review, a subreviewer or else the member, and the number of namesakes."""
    fields = [plain(f"reviewer {name}") for name in ("email", "person #", "first name", "last name")]
    if not any(field in column for field in fields):
        return None, 0
    emails, persons, first_names, last_names, member_names = (
        table.cells[column[field]].str.strip_chars(BLANKS).to_list() if field in column else [""] * table.rows
        for field in (*fields, plain("member name"))
    )
    emails = [address(email) for email in emails]
    member_of = {_words(name): member for member, name in zip(members, member_names, strict=True) if _words(name)}
    person_of = {email: person for email, person in zip(emails, persons, strict=True) if email and person}
    writers, namesakes = [], set()
    for email, own, first, last, member in zip(emails, persons, first_names, last_names, members, strict=True):
        person, name = own or person_of.get(email, ""), _words(f"{first} {last}")
        if not (email or person or name):
            writers.append(f"member {member}")
        elif name and name in member_of:
            if member_of[name] != member:
                namesakes.add(name)
            writers.append(f"member {member_of[name]}")
        else:
            writers.append(f"person {person}" if person else email or f"named {name}")
    return writers, len(namesakes)


def _words(name: str) -> str:
    return " ".join(name.casefold().split())
