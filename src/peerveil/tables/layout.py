"""The layout of tables that people make: titles above the headings, headings in two rows, columns without a heading."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from peerveil.tables.cells import to_number
from peerveil.tables.headings import (
    PAPER_NAMES,
    RATING_NAMES,
    REVIEWER_NAMES,
    REVIEWER_NAMES_ELSE,
    SCORE_NAMES,
    SCORE_NAMES_ELSE,
    SHOWABLE,
    plain,
)
from peerveil.tables.scores import to_score

#: The number of a line or row, and its cells.
Record = tuple[int, list[str]]

#: How many records at the beginning of a table may lie above its headings.
MOST_ABOVE = 20

PAPER, REVIEWER, SCORE = "paper", "reviewer", "score"

_ROLES = {
    plain(name): role
    for role, names in (
        (PAPER, PAPER_NAMES),
        (REVIEWER, (*REVIEWER_NAMES, *REVIEWER_NAMES_ELSE)),
        (SCORE, (*SCORE_NAMES, *SCORE_NAMES_ELSE, *RATING_NAMES)),
    )
    for name in names
}

SEPARATORS = ",;\t|"

#: The first line of a file for Excel, which states the separator.
STATED = re.compile(rf"sep=([{SEPARATORS}])", re.IGNORECASE)


def roles_in(cells: Sequence[str], asked: Sequence[str] = ()) -> set[str]:
    """Return the roles for which cells have a usual heading, and those names asked for that are among the cells.

    >>> sorted(roles_in(["Paper ID", "Who", "E-Mail"], ["Who"]))
    ['Who', 'paper', 'reviewer']
    """
    names = [cell.strip() for cell in cells]
    return {_ROLES[plain(name)] for name in names if plain(name) in _ROLES} | (set(asked) & set(names))


def find_header(head: Sequence[Record], asked: Sequence[str] = ()) -> int:
    """Return which of the first records of a table holds its headings.

    It is the one with headings for most roles, at least two. Otherwise it is the first one that is not a title, which
    has one cell where the others have several.

    >>> title, header = (1, ["Reviews of 2026", "", ""]), (3, ["Paper", "Reviewer", "Note"])
    >>> find_header([title, header, (4, ["1", "ann", "3"])]), find_header([header, (4, ["1", "ann", "3"])])
    (1, 0)
    """
    known = [len(roles_in(cells, asked)) for _, cells in head[:MOST_ABOVE]]
    best = max(range(len(known)), key=known.__getitem__, default=0)
    if known and known[best] >= 2 and not any(to_number(cell) is not None for cell in head[best][1]):
        return best
    filled = [sum(bool(cell.strip()) for cell in cells) for _, cells in head]
    several = next((place for place, count in enumerate(filled) if count > 1), 0)
    return several if several <= MOST_ABOVE and known and not any(known[:several]) else 0


def are_headings(names: Sequence[str], below: Sequence[Sequence[str]] = ()) -> bool:
    """Return whether names are headings, and not people's, so that they may be shown to the owner of the file.

    They are not if one could be data. If no column of reviewers is known, several columns of numbers may be called
    after reviewers. ``below`` are some rows.

    >>> rows = [["1", "ann", "3"], ["2", "bob", "4"]]
    >>> are_headings(["Nr", "Gutachter", "Note"], rows), are_headings(rows[0], rows[1:])
    (True, False)
    >>> are_headings(["paper", "Ann Smith", "Bob Jones"], [["p", "3", "4"]])
    False
    """
    roles = roles_in(names)
    if any("@" in name or name.startswith("~") or to_score(name) is not None for name in names):
        return False
    if REVIEWER in roles and len(roles) > 1:
        return True
    unknown = [place for place, name in enumerate(names) if plain(name) not in SHOWABLE]
    columns = {place: [row[place] for row in below if place < len(row) and row[place].strip()] for place in unknown}
    numbers = [place for place, cells in columns.items() if cells and all(to_score(cell) is not None for cell in cells)]
    if not below:
        numbers = unknown  # they may be
    if len(unknown) > 1 and {*unknown} - {0} == {*numbers} - {0}:
        return False
    return bool(roles) or (bool(below and numbers) and all(names))


@dataclass(frozen=True)
class Layout:
    """Where the headings of a table are.

    Attributes:
        rows: how many of the first records are titles and headings.
        names: the names of the columns, all different unless the headings are not.
        notices: what lies above the headings, or was joined to them.
    """

    rows: int
    names: tuple[str, ...]
    notices: tuple[str, ...] = ()


def lay_out(head: Sequence[Record], asked: Sequence[str] = ()) -> Layout:
    """Return the layout of a table with these first records."""
    if not head:
        return Layout(1, ())
    place = find_header(head, asked)
    line, cells = head[place]
    names, rows, notices = [cell.strip() for cell in cells], place + 1, []
    if place:
        above = [number for number, _ in head[:place]]
        which = f"line {above[0]} was" if len(above) == 1 else f"lines {above[0]} to {above[-1]} were"
        notices.append(f"{which} skipped, above the headings in line {line}")
    if rows < len(head) and _continues(names, head[rows][1]):
        names = [low.strip() or high for high, low in zip(names, head[rows][1], strict=True)]
        notices.append(f"the headings in lines {line} and {head[rows][0]} were joined")
        rows += 1
    return Layout(rows, _named(names), tuple(notices))


def _continues(names: list[str], below: list[str]) -> bool:
    """Return whether a record holds headings below some that span several columns, and nothing else."""
    if len(names) != len(below):
        return False
    pairs = [(name, cell.strip()) for name, cell in zip(names, below, strict=True)]
    return (
        any(cell and not name for name, cell in pairs)
        and sum(bool(name and not cell) for name, cell in pairs) >= 2
        and not any(to_number(cell) is not None for _, cell in pairs)
    )


def _named(names: list[str]) -> tuple[str, ...]:
    """Return the names of columns; if several have no heading, these are called by their numbers."""
    if names.count("") < 2:
        return tuple(names)
    return tuple(name or f"column {number}" for number, name in enumerate(names, 1))


def find_separator(text: str, asked: Sequence[str] = ()) -> str:
    r"""Return the separator of a delimited text, from its beginning.

    It is the one that makes usual headings of a line, or else the most frequent one in the first line. A first line
    without the separator that most lines agree on is a title.

    >>> find_separator("paper;reviewer;score, overall"), find_separator("Reviews, final\nno;who;mark\n1;ann;7,5\n")
    (';', ';')
    """
    lines = [line for line in text.splitlines()[: 2 * MOST_ABOVE] if line.strip()]
    if lines and (stated := STATED.fullmatch(lines[0].strip("\ufeff \"'"))):
        return stated[1]
    first = max(SEPARATORS, key=lines[0].count) if lines else ","
    candidates = [
        (len(roles_in(_split(line, each), asked)), each) for line in lines[:MOST_ABOVE] for each in SEPARATORS
    ]
    roles, separator = max(candidates, key=lambda candidate: candidate[0], default=(0, first))
    if roles >= 2:
        return separator
    shared = {
        each: Counter(count for line in lines if (count := line.count(each))).most_common(1) for each in SEPARATORS
    }
    agreed = max(SEPARATORS, key=lambda each: shared[each][0][::-1] if shared[each] else (0, 0))
    if lines and agreed not in lines[0] and shared[agreed] and shared[agreed][0][1] > len(lines) // 2:
        return agreed
    return first


def _split(line: str, separator: str) -> list[str]:
    return [cell.strip(" \"'") for cell in line.split(separator)]
