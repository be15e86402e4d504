"""Generic tables: one row a review."""

from __future__ import annotations

from peerveil.private.readers.protocol import Choices, Extract
from peerveil.tables.reading import FORMATS, Source, read_table
from peerveil.tables.sniffing import Look
from peerveil.tables.table import (
    PAPER_NAMES,
    REVIEWER_NAMES,
    REVIEWER_NAMES_ELSE,
    SCORE_NAMES,
    criteria_columns,
    wanted_columns,
)


def recognise(look: Look) -> str:
    """Any table will do."""
    return f"no platform's names are in it, so it is read as a table ({look.kind})"


def extract(source: Source, choices: Choices) -> Extract:
    """Read a table with a row a review; nothing is left out of it."""
    asked = (choices.paper, choices.reviewer, choices.score, *choices.criteria)
    table = read_table(
        source,
        format=choices.format if choices.format in FORMATS else None,
        wanted=wanted_columns((*PAPER_NAMES, *REVIEWER_NAMES, *REVIEWER_NAMES_ELSE, *SCORE_NAMES), *asked),
    )
    return Extract(
        table=table,
        paper=table.find("paper", PAPER_NAMES, choices.paper),
        reviewer=table.find("reviewer", table.reviewer_names(), choices.reviewer),
        score=table.find("score", SCORE_NAMES, choices.score),
        criteria=dict(zip(choices.criteria, criteria_columns(table, choices.criteria), strict=True)),
    )
