"""Generic tables: one row per review."""

from __future__ import annotations

from collections import Counter

from peerveil.private.readers.marks import MARKS, reasons_by_mark, unclear_types
from peerveil.private.readers.protocol import Choices, Extract
from peerveil.tables.conditions import filter_columns
from peerveil.tables.headings import (
    PAPER_NAMES,
    REVIEWER_NAMES,
    REVIEWER_NAMES_ELSE,
    SCORE_NAMES,
    SCORE_NAMES_ELSE,
    wanted_columns,
)
from peerveil.tables.opening import Source
from peerveil.tables.reading import FORMATS, read_table
from peerveil.tables.sniffing import Look
from peerveil.tables.totals import without_totals


def recognise(look: Look) -> str:
    """Return that any other file is read as a table."""
    return f"no platform's names are in it, so it is read as a table ({look.kind})"


def extract(source: Source, choices: Choices) -> Extract:
    """Return all rows of a table with one row per review."""
    asked = (choices.paper, choices.reviewer, choices.score, *choices.criteria)
    usual = (*PAPER_NAMES, *REVIEWER_NAMES, *REVIEWER_NAMES_ELSE, *SCORE_NAMES, *SCORE_NAMES_ELSE, *MARKS)
    table = read_table(
        source,
        format=choices.format if choices.format in FORMATS else None,
        wanted=wanted_columns((*usual, *choices.labels), *asked),
    )
    reasons = reasons_by_mark(table)
    left_out = Counter(reason for reason in reasons if reason)
    table = table.where(reasons == "") if left_out else table
    paper = table.find("paper", PAPER_NAMES, choices.paper)
    reviewer = table.find("reviewer", table.reviewer_names(), choices.reviewer)
    return Extract(
        table=without_totals(table, paper, reviewer),
        paper=paper,
        reviewer=reviewer,
        score=table.find("score", table.score_names(), choices.score),
        criteria=dict(zip(choices.criteria, table.find_criteria(choices.criteria), strict=True)),
        labels=table.find_labels(filter_columns(choices.filters)),
        left_out=left_out,
        problems=tuple(unclear_types(table, choices.labels)),
    )
