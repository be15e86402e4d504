"""Readers of private files: one small module a format, all with one signature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from peerveil.criteria import MissingCriteria
from peerveil.errors import InputError
from peerveil.private.readers import table
from peerveil.private.reviews import Reviews
from peerveil.table_files import FORMATS, Source

__all__ = ["read"]


class Reader(Protocol):
    """What a reader offers: reviews from a source, or an error with file, line and column."""

    def __call__(
        self,
        source: Source,
        *,
        scale: tuple[float, float] | None,
        paper: str | None,
        reviewer: str | None,
        score: str | None,
        criteria: Sequence[str],
        missing_criteria: MissingCriteria,
        format: str | None,  # noqa: A002 - the name users know
    ) -> Reviews:
        """Read the reviews."""


#: Which reader takes which format; platforms' own formats find their place here.
READERS: dict[str, Reader] = dict.fromkeys(FORMATS, table.read)


def read(
    source: Source,
    *,
    scale: tuple[float, float] | None = None,
    paper: str | None = None,
    reviewer: str | None = None,
    score: str | None = None,
    criteria: Sequence[str] = (),
    missing_criteria: MissingCriteria = "refuse",
    format: str | None = None,  # noqa: A002 - the name users know
) -> Reviews:
    """Read private reviews: one row a review, with paper, reviewer and score.

    Names of reviewers are forgotten on reading. Nothing is dropped silently.

    Args:
        source: a CSV, TSV, Parquet or JSON lines file, or a polars or pandas frame.
        scale: the lowest and highest possible score; scores outside it are refused.
        paper: the column of papers, where its name is not a usual one.
        reviewer: the column of reviewers, where its name is not a usual one.
        score: the column of scores, where its name is not a usual one.
        criteria: the columns of criteria, such as ``["soundness", "clarity"]``, numbers of which more is better; the
            quantities ``"normalized"`` and ``"subjectivity"`` need them.
        missing_criteria: what to do where one is missing: ``"refuse"``, or ``"leave-out"`` the whole paper, before
            loads are counted. Never a single review: what remained of a reviewer's load would depend on who wrote it.
        format: the file's format; found from its content by default.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"Paper ID": [1, 1, 2], "Email": ["a@x.org", "b@x.org", "a@x.org"], "Score": [6, 8, 3]})
    >>> read(frame, scale=(1, 10))
    Reviews(2 papers, 3 reviews, 2 reviewers; contents private)
    """
    if format is not None and format not in READERS:
        raise InputError(f"format must be one of {', '.join(READERS)}, got {format!r}")
    reader = READERS[format] if format else table.read
    return reader(
        source,
        scale=scale,
        paper=paper,
        reviewer=reviewer,
        score=score,
        criteria=criteria,
        missing_criteria=missing_criteria,
        format=format,
    )
