"""Reading public records: scores per paper, without reviewers."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Sequence
from functools import partial
from typing import Any

from peerveil.record.criteria import MissingCriteria
from peerveil.record.loads import LoadsStatement, declare_loads
from peerveil.record.parts import ABSENT, NO_CRITERION, LeftOut, Part, public_part
from peerveil.record.public_record import PublicRecord, split_rows
from peerveil.record.public_scores import HIDDEN, public_scores
from peerveil.support.atomic_files import write_new
from peerveil.tables.conditions import Conditions
from peerveil.tables.opening import Readable, announce, located, source_name
from peerveil.tables.reading import read_table

#: The first columns of a file that is written here; criteria follow.
_OWN_COLUMNS = ["paper", "ratings"]


def read_public(
    source: Readable,
    *,
    load: int | None = None,
    loads: LoadsStatement | None = None,
    reviewers: int | None = None,
    scale: tuple[float, float] | None = None,
    paper: str | None = None,
    ratings: str | None = None,
    criteria: Sequence[str] = (),
    missing_criteria: MissingCriteria = "refuse",
    absent: tuple[int, int] = (0, 0),
    part: Part | None = None,
    only: Conditions = (),
    leave_out: Conditions = (),
    left_out: tuple[LeftOut, ...] = (),
    drop_copies: bool = False,
    format: str | None = None,  # noqa: A002 - the name users know
    sheet: str | None = None,
    encoding: str | None = None,
) -> PublicRecord:
    """Read a public record from a file or frame with one row per paper or one row per review.

    The scores of a paper are written ``6;8;5`` or ``[6, 8, 5]``, or in columns ``0``, ``1`` and so on. JSON of
    paperlists and PeerRead is read as well. A score that exists but is not public is written ``?``; a paper without
    scores may state their number in a column ``reviews``. Both require ``scale``. Criteria are written like scores, in
    columns of their own and in the same order. Score and criteria of a review are either all public or all hidden.

    Args:
        source: a CSV, TSV, Parquet or JSON file, a workbook, a folder of PeerRead's files; the bytes of a file, or an
            open file; or a polars, pandas or pyarrow frame.
        load: every reviewer's load.
        loads: counts per load ``{3: 800, 4: 900}``, a range ``(1, 6)``, or the set of loads.
        reviewers: number of reviewers; required with a range or a set.
        scale: the lowest and highest possible score.
        paper: the column of papers, if its name is unusual.
        ratings: the column of scores, if its name is unusual.
        criteria: the columns of criteria, such as ``["soundness", "clarity"]``.
        missing_criteria: ``"refuse"`` public reviews that lack a criterion, or ``"leave-out"`` their whole papers. The
            stated loads are those of the whole conference in both cases.
        absent: the number of papers with reviews that visibly have no score, and the number of such reviews. They are
            not in the file, but count in the stated loads.
        part: the conference that the file, without what is left out, is a part of, if it is already known; stated
            loads are then those among its reviews.
        only: conditions on columns of the file, such as ``"Type=Review"``; reviews, or papers if there is one row per
            paper, are left out unless they satisfy all of them. They count in the stated loads.
        leave_out: such conditions; what satisfies one of them is left out.
        left_out: what these conditions left out of a file that lacks their columns.
        drop_copies: whether reviews in PeerRead's files that repeat the text and score of another one of their paper
            count once.
        format: the file's format; detected from its content by default.
        sheet: the sheet of a workbook, if several could be meant.
        encoding: the encoding of a text that is not UTF-8; detected where that is possible.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"paper": ["b", "a"], "ratings": ["6;8;5", "3;4"]})
    >>> read_public(frame, loads={1: 1, 2: 2})
    PublicRecord(2 papers, 5 reviews, 3 reviewers: 1 reviewer with 1 review, 2 reviewers with 2 reviews)
    """

    def record() -> PublicRecord:
        names: dict[str, Any] = {"format": format, "paper": paper, "ratings": ratings, "criteria": criteria}
        names |= {"sheet": sheet, "encoding": encoding, "drop_copies": drop_copies}
        whole = public_scores(source, only=only, leave_out=leave_out, left_out=left_out, **names)
        notices.extend(whole.notices)
        notes = [f"{count} {reason} were left out" for reason, count in whole.left_out.items()]
        if whole.without:
            notes.append(f"{whole.without} papers without a score were left out")
        gone = [*whole.filtered]
        if absent != (0, 0):
            gone.append(LeftOut(papers=absent[0], reviews=absent[1], why=ABSENT))
        unlisted = [sum(getattr(entry, name) for entry in gone) for name in ("papers", "reviews")]
        kept = whole.leave_out(missing_criteria)
        papers, reviews = len(whole.papers), whole.score.size
        if ungraded := papers - len(kept.papers):
            gone.append(LeftOut(papers=ungraded, reviews=reviews - kept.score.size, why=NO_CRITERION))
        declare = partial(declare_loads, load=load, loads=loads, reviewers=reviewers)
        if part is not None or not gone:
            own, of = declare(kept.score.size, papers=len(kept.papers)), part
        else:
            stated = declare(reviews + unlisted[1], papers=papers + unlisted[0])
            largest = int(kept.sizes.max())
            own, of = public_part(stated, tuple(gone), papers=len(kept.papers), largest_paper=largest)
        notes += [reason.words for reason in gone]
        return PublicRecord.from_reviews(
            kept.papers,
            kept.paper,
            kept.score,
            own,
            scale=scale,
            notes=tuple(notes),
            criteria=kept.criteria,
            part=of,
        )

    notices: list[str] = []
    name = source_name(source)
    result = located(record, name)
    announce(name, notices)
    return result


def write_public(record: PublicRecord, path: str | os.PathLike[str]) -> None:
    """Write a public record to a new CSV file with one row per paper, which :func:`read_public` reads.

    The file holds neither loads nor the scale; state them when reading it.
    """
    columns = [record.score, *(() if record.criteria is None else record.criteria.T)]
    rows = [split_rows(column, record.sizes()) for column in columns]
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*_OWN_COLUMNS, *record.criteria_names])
    for name, *cells in zip(record.papers, *rows, strict=True):
        texts = ([HIDDEN if math.isnan(x) else repr(x).removesuffix(".0") for x in cell] for cell in cells)
        writer.writerow([name, *map(";".join, texts)])
    write_new(path, text.getvalue())


def own_criteria(path: str | os.PathLike[str]) -> list[str]:
    """Return the columns of criteria in a file that :func:`write_public` wrote; none for other files."""
    header = read_table(path, wanted=lambda _: False).header
    return list(header[2:]) if list(header[:2]) == _OWN_COLUMNS else []
