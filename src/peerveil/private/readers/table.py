"""Generic tables: one row a review."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from peerveil.criteria import MissingCriteria
from peerveil.private.reviews import Reviews
from peerveil.record import Floats, check_scale
from peerveil.table_files import Source, read_table
from peerveil.tables import PAPER_NAMES, REVIEWER_NAMES, SCORE_NAMES, Table, criteria_columns, shown


def read(
    source: Source,
    *,
    scale: tuple[float, float] | None,
    paper: str | None,
    reviewer: str | None,
    score: str | None,
    criteria: Sequence[str] = (),
    missing_criteria: MissingCriteria = "refuse",
    format: str | None,  # noqa: A002 - the name users know
) -> Reviews:
    """Read a table with a row a review."""
    check_scale(np.empty(0), scale)  # a scale that is none is not the scores' fault
    table = read_table(source, format=format)
    paper = table.find("paper", PAPER_NAMES, paper)
    reviewer = table.find("reviewer", REVIEWER_NAMES, reviewer)
    score = table.find("score", SCORE_NAMES, score)
    papers, reviewers, scores = table.text(paper), table.text(reviewer), table.numbers(score)
    _check_scale(table, scores, score, scale)
    _check_once(table, papers, reviewers, reviewer)
    grades = {name: table.numbers(name, gaps=True) for name in criteria_columns(table, criteria)}
    return Reviews.from_columns(
        papers, reviewers, scores, scale=scale, criteria=grades, missing_criteria=missing_criteria
    )


def _check_scale(table: Table, scores: Floats, column: str, scale: tuple[float, float] | None) -> None:
    """Point at the first score that the scale does not hold."""
    if scale is None:
        return
    for row, value in enumerate(scores.tolist()):
        if not scale[0] <= value <= scale[1]:
            raise table.error(
                f"{shown(value)} lies outside the declared scale {scale[0]:g} to {scale[1]:g}",
                row=row,
                column=column,
            )


def _check_once(table: Table, papers: list[str], reviewers: list[str], column: str) -> None:
    seen: dict[tuple[str, str], int] = {}
    for row, pair in enumerate(zip(papers, reviewers, strict=True)):
        first = seen.setdefault(pair, row)
        if first != row:
            where = f"line {table.lines[first]}" if table.lines else f"row {first + 1}"
            raise table.error(
                f"the same reviewer has a review of the same paper in {where}; keep one of them",
                row=row,
                column=column,
            )
