"""Filters: reviews left out by columns that everyone can see, on the user's word.

What a filter keeps is published in effect: how many reviews of each paper, and whose weights count. So the column must
be public, and it must belong to papers or to reviews, which stay where they are when reviewers are exchanged. A column
that belongs to reviewers would go with them. Data cannot tell which it is, so the user states it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from peerveil.errors import Argument, InputError
from peerveil.private.columns import Removal
from peerveil.private.readers.protocol import KINDS, Choices, Extract, Kind
from peerveil.record.parts import filtered
from peerveil.tables.conditions import Booleans, Condition, IdleFilter, filter_argument
from peerveil.tables.headings import REVIEWER_NAMES, REVIEWER_NAMES_ELSE, plain
from peerveil.tables.table import BLANKS, Names, Table

# Columns that identify reviewers, including those of EasyChair and CMT.
_OTHERS = ("member", "member #", "member name", "reviewer first name", "reviewer last name", "reviewer person #")
_ON_BEHALF = ("subreviewer", "subreviewer name", "subreviewer email", "external reviewer", "delegate")
_PEOPLE = {
    plain(name)
    for names in (REVIEWER_NAMES, REVIEWER_NAMES_ELSE, _OTHERS, _ON_BEHALF, ("reviewer number", "signature"))
    for name in names
}

# Parts of the names of columns whose values messages do not list, as they may be people.
_OF_PEOPLE = (
    *("reviewer", "referee", "name", "person", "people", "mail", "member", "user", "author", "chair", "editor"),
    *("assign", "delegat", "signature", "signed"),
)

_OF_REVIEWERS = "a filter on a column about reviewers would reveal who wrote which review, so it is refused"
_NOT_PUBLIC = "chooses reviews by a column that is not stated to be public, and the choice would reveal it."
_UNSTATED = "If everyone can see it of every {}, and it does not describe reviewers, state that"
_UNSTATED_PEOPLE = (
    f"Every reviewer has one value of it, as in a column about reviewers: {_OF_REVIEWERS}. Only if it describes "
    "reviews and not their authors, and everyone can see it of every {}, state that"
)
_TWO_VALUES = (
    "an earlier review of the same paper has another value, but the column is stated to describe papers; if it "
    "describes reviews, and everyone can see it of every review, state that"
)
_IF_PEOPLE = "if it describes reviewers, do not filter by it: the choice would reveal who wrote which review"


@dataclass(frozen=True, kw_only=True)
class Filtered:
    """The reviews that filters leave out, warnings, and the filters whose value does not occur."""

    removals: tuple[Removal, ...] = ()
    problems: tuple[str, ...] = ()
    idle: tuple[IdleFilter, ...] = ()


def visible_columns(given: str | Sequence[str] | Mapping[str, str]) -> dict[str, Kind]:
    """Return what each column describes that everyone can see.

    >>> visible_columns(["Type=review", "Decision=paper"])
    {'Type': 'review', 'Decision': 'paper'}
    """
    name = "visible_column"
    texts = (given,) if isinstance(given, str) else given
    pairs = texts.items() if isinstance(texts, Mapping) else map(_pair, texts)
    kinds: dict[str, Kind] = {}
    for column, kind in pairs:
        if kind == "reviewer":
            raise InputError(Argument(name), f" is not for columns about reviewers: {_OF_REVIEWERS}")
        if kind not in KINDS or not column:
            raise InputError(
                Argument(name),
                " must be a column and what it describes, 'paper' or 'review', as 'Decision=paper' or 'Type=review'; "
                f"got {given!r}",
            )
        kinds[column] = kind
    return kinds


def _pair(text: str) -> tuple[str, str]:
    column, _, kind = text.rpartition("=")
    return column.strip(), kind.strip()


def filter_reviews(extract: Extract, choices: Choices, papers: Names, reviewers: Names) -> Filtered:
    """Return what the user's filters leave out of an extract, in the order of ``only`` and ``leave_out``."""
    table = extract.table
    left: Booleans = np.ones(table.rows, dtype=bool)
    removals: list[Removal] = []
    problems: list[str] = []
    idle: list[IdleFilter] = []
    people = set(_plain_cells(table, extract.reviewer)) - {""}
    for condition, wanted in choices.filters:
        column = extract.labels[condition.column]
        if column == extract.reviewer or plain(condition.column) in _PEOPLE:
            raise table.error(f"'{condition}' chooses by reviewers: {_OF_REVIEWERS}", column=column)
        cells = table.cells[column].str.strip_chars(BLANKS).str.to_lowercase().rank("dense").to_numpy()
        varies = {"paper": _first_change(papers, cells), "reviewer": _first_change(reviewers, cells)}
        problems += _checked(table, column, condition, choices.kind_of(condition.column), varies)
        scored = (table.cells[name] for name in (extract.score, *extract.criteria.values()))
        by_score = any(table.cells[column].equals(cells) for cells in scored)
        show = not by_score and _shown(table, column, varies, people, single=len(papers.values) == table.rows)
        holds = condition.holds(table, column)
        named = filter_argument(condition, kept=wanted)
        gone = left & (holds != wanted)
        if (gone == left).all():
            why = _why_none(condition, table, column, holds, show=show)
            raise table.error(named, f" leaves no review: {why}", column=column)
        left &= ~gone
        if gone.any():
            removals.append(Removal(rows=gone, why=filtered(str(condition), kept=wanted), by_score=by_score))
        elif not wanted or condition.sign == "!=":
            words = f"no review is left out by '{condition}'"
            why = "earlier conditions leave them out already"
            if holds.all() if wanted else not holds.any():
                why = replace(condition, sign="=" if wanted else condition.sign).missed(table.cells[column], show=show)
            problems.append(f"{words}: {why}")
            idle.append(IdleFilter(argument=named.name, condition=str(condition), why=why))
    return Filtered(removals=tuple(removals), problems=tuple(dict.fromkeys(problems)), idle=tuple(idle))


def _why_none(condition: Condition, table: Table, column: str, holds: Booleans, *, show: bool) -> str:
    """Return why a condition leaves no review."""
    if not holds.any():
        return condition.missed(table.cells[column], show=show)
    if holds.all():
        return f"all {table.rows:,} rows are like this"
    return "other conditions leave out the rest, and all of them hold together"


def _shown(table: Table, column: str, varies: Mapping[str, int | None], people: set[str], *, single: bool) -> bool:
    """Return whether messages may list the values of a column: not if they may be people.

    ``single`` tells whether every paper has a single review, so that a column of reviewers is one of papers, too.
    """
    values = set(_plain_cells(table, column))
    if len(values) == 1 and not values & people:
        return not any(part in plain(column) for part in _OF_PEOPLE)
    like_people = varies["reviewer"] is None and (single or varies["paper"] is not None)
    return not (
        like_people
        or values & people
        or len(values) >= len(people)  # such as names that are spelt in several ways
        or any(part in plain(column) for part in _OF_PEOPLE)
    )


def _plain_cells(table: Table, column: str) -> Iterable[str]:
    """Return the different cells of a column, without case and surrounding blanks."""
    return table.cells[column].str.strip_chars(BLANKS).str.to_lowercase().unique()


def _like_people(varies: Mapping[str, int | None]) -> bool:
    """Return whether every reviewer has one value of a column, and some paper has several."""
    return varies["reviewer"] is None and varies["paper"] is not None


def _first_change(names: Names, cells: npt.NDArray[np.integer]) -> int | None:
    """Return the first row whose cell differs from that of an earlier row with the same name."""
    first = np.zeros(len(names.values), dtype=np.int64)
    first[names.codes[::-1]] = np.arange(cells.size)[::-1]
    differs = cells != cells[first[names.codes]]
    return int(differs.argmax()) if differs.any() else None


def _checked(
    table: Table, column: str, condition: Condition, kind: Kind | None, varies: Mapping[str, int | None]
) -> list[str]:
    """Return warnings about the column of a condition; refuse one that is not stated to be visible, or wrongly.

    ``varies`` holds a row that differs from an earlier one of the same paper, and of the same reviewer, if any does.
    """
    named, row = condition.column, varies["paper"]
    like_people = _like_people(varies)
    if kind is None:
        likely: Kind = "paper" if row is None else "review"
        words = (_UNSTATED_PEOPLE if like_people else _UNSTATED).format(likely)
        state = Argument("visible_column", f"{named}={likely}")
        raise table.error(f"'{condition}' {_NOT_PUBLIC} {words} (", state, ")", column=column)
    if kind == "paper" and row is not None:
        state = Argument("visible_column", f"{named}=review")
        raise table.error(f"{_TWO_VALUES} (", state, ")", row=row, column=column)
    return [f"every reviewer has one value of {named!r}; {_IF_PEOPLE}"] if kind == "review" and like_people else []
