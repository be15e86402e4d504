"""Conversion of an extract to reviews, with the checks that all platforms share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from peerveil.errors import Argument, RecordError
from peerveil.private.readers.attributes import read_attributes
from peerveil.private.readers.filters import filter_reviews
from peerveil.private.readers.identities import check_ids, check_listed, same_people
from peerveil.private.readers.protocol import Choices, Extract
from peerveil.private.reviews import Report, Reviews
from peerveil.record.committees import read_committee
from peerveil.record.public_record import Floats, check_scale
from peerveil.tables.cells import is_missing, shown
from peerveil.tables.scores import to_score
from peerveil.tables.table import BadCells, Names, Table

_REMOVE = "or remove all rows of the paper (also from the public file, if there is one)"
_NO_SCORE = (
    "is not a number; give the score as a number, declare letters from the lowest to the highest (",
    Argument("symbols", "D<C<B<A"),
    f"), {_REMOVE}",
)
_NO_GRADE = (f"is not a number; give the criterion as a number, {_REMOVE}",)
_NO_SYMBOL = ("is none of the declared symbols; declare it too (", Argument("symbols", ...), f"), {_REMOVE}")


def finish(extract: Extract, choices: Choices, *, format: str, why: str) -> Reviews:  # noqa: A002 - the name users know
    """Return the reviews of an extract, checked: on the scale, with ids of people, no reviewer twice on a paper."""
    table = extract.table
    left_out = tuple(f"{count} {reason}" for reason, count in extract.left_out.items() if count)
    if not table.rows:
        raise table.error(f"holds no review with a score{': ' if left_out else ''}{', '.join(left_out)}")
    scale = choices.scale or (choices.symbols.scale if choices.symbols else None)
    scores = None if choices.labels else _scores(extract, choices, scale)  # tells names and scores that are bad at once
    papers, reviewers = table.names(extract.paper), table.names(extract.reviewer)
    people, notices = same_people(reviewers, merge=choices.merge_names)
    filtered = filter_reviews(extract, choices, papers, people)
    left = ~np.logical_or.reduce([np.zeros(table.rows, dtype=bool), *(gone.rows for gone in filtered.removals)])
    kept = replace(extract, table=table.where(pl.Series(left))) if filtered.removals else extract
    scores = _scores(kept, choices, scale) if scores is None else scores
    if not extract.certain:
        check_ids(table, extract.reviewer, papers, reviewers, choices)
    attributes = None
    if choices.attributes is not None:
        attributes = read_attributes(choices.attributes, people, table, extract.reviewer, choices)
    listed = None if choices.committee is None else read_committee(choices.committee)
    if listed is not None:
        check_listed(listed, people, table, extract.reviewer)
    report = Report(
        format=format,
        why=why,
        score=choices.score or "",
        left_out=left_out,
        shows=extract.shows,
        problems=(*extract.problems, *filtered.problems, *notices),
        notices=extract.notices,
        committee=listed,
        idle=filtered.idle,
    )
    try:
        return Reviews.from_columns(
            papers,
            people,
            _spread(scores, left),
            scale=scale,
            report=report,
            criteria={name: _spread(values, left) for name, values in grades(kept).items()},
            missing_criteria=choices.missing_criteria,
            missing_score=choices.missing_score,
            removals=filtered.removals,
            attributes=attributes,
        )
    except RecordError as error:
        parts = error.parts
    _check_once(table, papers, people, _spread(scores, left), extract.reviewer)  # names the line
    raise table.error(*parts)


def _spread(values: Floats, left: npt.NDArray[np.bool_]) -> Floats:
    """Return the values of the reviews that are left at their places among all reviews, NaN elsewhere."""
    spread = np.full(left.size, np.nan)
    spread[left] = values
    return spread


def grades(extract: Extract) -> dict[str, Floats]:
    """Return the value of each criterion in each review, NaN where missing."""
    table = extract.table
    return {
        name: table.numbers(column, to_score, gaps=is_missing, remedy=_NO_GRADE)
        for name, column in extract.criteria.items()
    }


def _scores(extract: Extract, choices: Choices, scale: tuple[float, float] | None) -> Floats:
    """Return the scores, NaN where there is none; cells that cannot be used, names included, are refused together."""
    table, remedy = extract.table, _NO_SYMBOL if choices.symbols else _NO_SCORE
    scores, bad = table.parsed(extract.score, choices.value, gaps=choices.without_entry, remedy=remedy)
    check_scale(np.empty(0), scale)
    others = [table.bad_names(extract.paper), table.bad_names(extract.reviewer), bad]
    off = [] if scale is None else [_outside(scores, scale, extract.score)]
    if not any(len(cells.rows) for cells in others):
        for cells in off:
            _check_scale(table, cells, scores)
    table.check([*others, *off])
    return scores


def _check_scale(table: Table, outside: BadCells, scores: Floats) -> None:
    """Refuse scores outside of the declared scale if nothing else is wrong: then the scale is, and it is told once."""
    if not len(outside.rows):
        return
    row, more = outside.rows[0], len(outside.rows) - 1
    count = int(np.count_nonzero(~np.isnan(scores)))
    also = f", as {'does' if more == 1 else 'do'} {more:,} more of {count:,} scores" if more else ""
    remedy = "; correct it, or state the lowest and the highest possible score with "
    raise table.error(
        *outside.problem(row), also, remedy, Argument("scale", ..., of="score"), row=row, column=outside.column
    )


def _outside(scores: Floats, scale: tuple[float, float], column: str) -> BadCells:
    """Return the scores outside of the declared scale."""
    low, high = scale

    def problem(row: int) -> tuple[str]:
        return (f"{shown(scores[row].item())} lies outside the declared scale {low:g} to {high:g}",)

    rows = pl.Series((scores < low) | (scores > high)).arg_true()
    return BadCells(column, rows, lambda _: "outside the scale", problem)


def _check_once(table: Table, papers: Names, reviewers: Names, scores: Floats, column: str) -> None:
    pairs = papers.codes * np.int64(len(reviewers.values)) + reviewers.codes
    order = np.argsort(pairs, kind="stable")
    again = order[1:][pairs[order][1:] == pairs[order][:-1]]
    if again.size:
        row = int(again.min())
        first = int(np.flatnonzero(pairs == pairs[row])[0])
        where = f"{'row' if table.kind in ('frame', 'parquet') else 'line'} {table.lines[first]}"
        firsts = order[np.searchsorted(pairs[order], pairs[again])]  # stable: the first review of each pair
        alike = np.count_nonzero(
            (scores[firsts] == scores[again]) | (np.isnan(scores[firsts]) & np.isnan(scores[again]))
        )
        more = f" ({again.size} rows repeat one, {alike} with the same score)" if again.size > 1 else ""
        problem = f"the same reviewer has a review of the same paper in {where}; keep one of them{more}"
        raise table.error(problem, row=row, column=column)
