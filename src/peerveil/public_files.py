"""Reading public records: scores per paper, without reviewers."""

from __future__ import annotations

import csv
import math
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from peerveil.criteria import MissingCriteria, note_left_out, papers_left_out
from peerveil.loads import LoadsStatement, declare_loads
from peerveil.public_forms import public_table
from peerveil.record import PublicRecord, split_rows
from peerveil.scores import to_score
from peerveil.table_files import Source
from peerveil.tables import PAPER_NAMES, RATING_NAMES, Table, criteria_columns, is_missing

#: How a score that exists but is not public is written.
HIDDEN = "?"

#: No paper has more reviews than this.
MOST_REVIEWS = 1_000


def read_public(
    source: Source,
    *,
    load: int | None = None,
    loads: LoadsStatement | None = None,
    reviewers: int | None = None,
    scale: tuple[float, float] | None = None,
    paper: str | None = None,
    ratings: str | None = None,
    criteria: Sequence[str] = (),
    missing_criteria: MissingCriteria = "refuse",
    format: str | None = None,  # noqa: A002 - the name users know
) -> PublicRecord:
    """Read a public record from a file or frame: a row a paper or a row a review.

    The scores of a paper are written ``6;8;5`` or ``[6, 8, 5]``, or stand in columns ``0``, ``1`` and so on. JSON of
    paperlists and of PeerRead is read as well. A score that exists but is not public is written ``?``, or a paper
    without scores says how many it has in a column ``reviews``; ``scale`` is then needed. Criteria are written like
    scores, in columns of their own and in the same order; a review is public as a whole or not at all.

    Args:
        source: a CSV, TSV, Parquet or JSON file, a folder of PeerRead's files, or a polars or pandas frame.
        load: every reviewer's load.
        loads: counts per load ``{3: 800, 4: 900}``, a range ``(1, 6)``, or the set of loads.
        reviewers: number of reviewers; needed with a range or a set.
        scale: the lowest and highest possible score.
        paper: the column of papers, where its name is not a usual one.
        ratings: the column of scores, where its name is not a usual one.
        criteria: the columns of criteria, such as ``["soundness", "clarity"]``.
        missing_criteria: what to do where a criterion of a public review is missing: ``"refuse"``, or ``"leave-out"``
            the whole paper, before loads are counted.
        format: the file's format; found from its content by default.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"paper": ["b", "a"], "ratings": ["6;8;5", "3;4"]})
    >>> read_public(frame, loads={1: 1, 2: 2})
    PublicRecord(2 papers, 5 reviews, 3 reviewers: 1 reviewer with 1 review, 2 reviewers with 2 reviews)
    """
    found = public_table(source, format, criteria)
    by_paper, without = reviews_by_paper(found.table, paper, ratings, criteria)
    notes = [f"{count} {reason} were left out" for reason, count in found.left_out.items()]
    if without:
        notes.append(f"{without} papers without a score were left out")
    gone = _lacking_criteria(by_paper, missing_criteria)
    if gone:
        notes.append(note_left_out(len(gone)))
    kept = {name: reviews for name, reviews in by_paper.items() if name not in gone}
    papers = list(kept)
    score, *grades = np.array([review for reviews in kept.values() for review in reviews]).T
    index = np.repeat(np.arange(len(papers), dtype=np.int64), [len(reviews) for reviews in kept.values()])
    declared = declare_loads(score.size, load=load, loads=loads, reviewers=reviewers, papers=len(papers))
    return PublicRecord.from_reviews(
        papers,
        index,
        score,
        declared,
        scale=scale,
        notes=tuple(notes),
        criteria=dict(zip(criteria, grades, strict=True)),
    )


def write_public(record: PublicRecord, path: str | os.PathLike[str]) -> None:
    """Write a public record as CSV, a row a paper, in the form that :func:`read_public` reads.

    What is public about loads, and the scale, are not part of the file: say them when reading it.
    """
    columns = [record.score, *(() if record.criteria is None else record.criteria.T)]
    rows = [split_rows(column, record.sizes()) for column in columns]
    with Path(path).open("w", encoding="utf-8", newline="") as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(["paper", "ratings", *record.criteria_names])
        for name, *cells in zip(record.papers, *rows, strict=True):
            writer.writerow([name, *(";".join(map(_written, cell)) for cell in cells)])


def _written(number: float) -> str:
    return HIDDEN if math.isnan(number) else repr(number).removesuffix(".0")


def reviews_by_paper(
    table: Table, paper: str | None = None, ratings: str | None = None, criteria: Sequence[str] = ()
) -> tuple[dict[str, list[tuple[float, ...]]], int]:
    """Score and criteria of the reviews of each paper that has any, and the number of papers that have none.

    A hidden score is written ``?``. A paper without scores may say in a column ``reviews`` how many hidden ones it has.
    """
    graded = criteria_columns(table, criteria)
    named = PAPER_NAMES if table.matches(PAPER_NAMES) else (*PAPER_NAMES, "id")
    names = table.text(table.find("paper", named, paper))
    numbered = [name for name in table.columns if name.isdecimal()]
    if ratings is None and numbered and not table.matches(RATING_NAMES):
        column = numbered[0]  # a column a review, called 0, 1 and so on
        cells: list[Any] = [
            tuple(cell for cell in row if not is_missing(cell))
            for row in zip(*(table.columns[name] for name in numbered), strict=True)
        ]
    else:
        column = table.find("ratings", RATING_NAMES, ratings)
        cells = table.columns[column]
    row_a_review = len(set(names)) < len(names)
    counted = table.matches(("reviews", "number of reviews"))
    counts = counted[0] if counted and not row_a_review else None
    found: dict[str, list[tuple[float, ...]]] = {}
    memo: dict[tuple[float, ...], tuple[float, ...]] = {}  # reviews repeat: keep one copy of each
    without = 0
    for row, (name, cell) in enumerate(zip(names, cells, strict=True)):
        parts = _parts(cell)
        if not row_a_review:
            for one in (column, *graded):
                _check_commas(table, cell if one == column else table.columns[one][row], row, one)
        if counts is not None:
            parts = _as_counted(table, parts, row, counts)
        if row_a_review and len(parts) > 1:
            raise table.error(
                "a paper occurs twice and a cell holds several scores; give a row a paper, or a row a review",
                row=row,
                column=column,
            )
        if parts:
            scores = [_score(table, part, row, column) for part in parts]
            grades = [_grades(table, scores, row, criterion) for criterion in graded]
            found.setdefault(name, []).extend(memo.setdefault(x, x) for x in zip(scores, *grades, strict=True))
        elif row_a_review:
            raise table.error("the score is missing", row=row, column=column)
        else:
            without += 1
    if not found:
        raise table.error("holds no scores", column=column)
    return found, without


def _check_commas(table: Table, cell: Any, row: int, column: str) -> None:
    if isinstance(cell, str) and _COMMAS.fullmatch(cell.strip()):
        raise table.error(
            "a comma could part two scores or be a decimal comma; part scores by ';'", row=row, column=column
        )


def _lacking_criteria(by_paper: dict[str, list[tuple[float, ...]]], missing: MissingCriteria) -> set[str]:
    """The papers to leave out because a criterion of a public review is missing."""
    names = [name for name, reviews in by_paper.items() for _ in reviews]
    reviews = [review for reviews in by_paper.values() for review in reviews]
    lacking = [not math.isnan(score) and any(map(math.isnan, grades)) for score, *grades in reviews]
    return papers_left_out(names, np.array(lacking), missing)


def _grades(table: Table, scores: list[float], row: int, column: str) -> list[float]:
    """One criterion of each review in a row, NaN where it is missing or hidden along with the score."""
    parts = _parts(table.columns[column][row]) or [None] * len(scores)
    if len(parts) != len(scores):
        raise table.error(f"has {len(parts)} values for {len(scores)} scores", row=row, column=column)
    grades = [math.nan if is_missing(part) else _score(table, part, row, column) for part in parts]
    for score, grade, part in zip(scores, grades, parts, strict=True):
        if not is_missing(part) and math.isnan(score) != math.isnan(grade):
            raise table.error(
                f"a review is public as a whole or not at all; write '{HIDDEN}' for both its score and its criteria, "
                "or for none of them",
                row=row,
                column=column,
            )
    return grades


def _as_counted(table: Table, parts: list[Any], row: int, column: str) -> list[Any]:
    """The scores of a paper, hidden ones where it has none, checked against the number it states, if it does."""
    cell = table.columns[column][row]
    if is_missing(cell):
        return parts
    stated = table.number(cell, row=row, column=column)
    if stated != int(stated) or not 0 <= stated <= MOST_REVIEWS:
        raise table.error(
            f"the number of reviews must be a whole number from 0 to {MOST_REVIEWS}", row=row, column=column
        )
    if parts and len(parts) != stated:
        raise table.error(
            f"the paper states {int(stated)} reviews but shows {len(parts)} scores; write hidden ones as '{HIDDEN}'",
            row=row,
            column=column,
        )
    return parts or [HIDDEN] * int(stated)


def _score(table: Table, part: Any, row: int, column: str) -> float:
    if isinstance(part, str) and part.strip() == HIDDEN:
        return math.nan
    return table.number(part, row=row, column=column, value=to_score)


def _parts(cell: Any) -> list[Any]:
    """The scores that a cell holds: parted by semicolons, or in brackets and parted by commas."""
    if is_missing(cell):
        return []
    if isinstance(cell, tuple):
        return list(cell)
    if not isinstance(cell, str):
        return [cell]
    text = cell.strip()
    if not (text.startswith("[") and text.endswith("]")):
        return cell.split(";")
    if not text[1:-1].strip():
        return []
    return [part[0] or part[1] or part[2].strip() for part in _LISTED.findall(text[1:-1] + ",")]


_COMMAS = re.compile(r"[\d.\s]+(?:,[\d.\s]+)+")

# A part of a Python list: text in quotes, or anything up to the next comma.
_LISTED = re.compile(r"""\s*(?:'([^']*)'|"([^"]*)"|([^,]*))\s*,""")
