"""Readers of private files: one module per platform, all behind one Protocol."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from peerveil.errors import Argument, FileError, InputError
from peerveil.private.readers import cmt, easychair, hotcrp, openreview, openreview_live, table
from peerveil.private.readers.filters import visible_columns
from peerveil.private.readers.finish import finish
from peerveil.private.readers.mapping import read_mapping
from peerveil.private.readers.protocol import Choices, Extract, Reader
from peerveil.private.reviews import Reviews
from peerveil.record.criteria import MissingCriteria
from peerveil.record.parts import MissingScore
from peerveil.tables.conditions import conditions
from peerveil.tables.opening import Readable, announce, guarded, open_source
from peerveil.tables.reading import FORMATS
from peerveil.tables.scores import Symbols
from peerveil.tables.sniffing import Look

__all__ = ["READERS", "choices_from", "detect", "extract", "read"]

#: The reader of each format. Platforms are recognised in this order; other files are generic tables.
READERS: dict[str, Reader] = {
    "openreview": openreview,
    "hotcrp": hotcrp,
    "easychair": easychair,
    "cmt": cmt,
    **dict.fromkeys(FORMATS, table),
}

_FILTERS: dict[str, Callable[[Any], Any]] = {
    "only": partial(conditions, argument="only"),
    "leave_out": partial(conditions, argument="leave_out"),
    "visible_column": visible_columns,
}


def read(
    source: Readable,
    *,
    scale: tuple[float, float] | None = None,
    paper: str | None = None,
    reviewer: str | None = None,
    score: str | None = None,
    criteria: Sequence[str] = (),
    missing_criteria: MissingCriteria = "refuse",
    missing_score: MissingScore | None = None,
    format: str | None = None,  # noqa: A002 - the name users know
    sheet: str | None = None,
    encoding: str | None = None,
    symbols: str | Sequence[str] | Mapping[str, float] | None = None,
    person: str | None = None,
    ids: str | None = None,
    people: Readable | None = None,
    review_name: str | None = None,
    only: str | Sequence[str] = (),
    leave_out: str | Sequence[str] = (),
    visible_column: str | Sequence[str] | Mapping[str, str] = (),
    merge_names: bool = False,
    attributes: Readable | None = None,
    committee: Readable | None = None,
    mapping: str | os.PathLike[str] | None = None,
) -> Reviews:
    """Read private reviews from a platform's export, or from any table with one row per review.

    Names of reviewers are not kept. The reviews' ``report`` counts what is left out (metareviews, drafts, reviews
    without a score) and states what the file shows about which scores are public.

    Args:
        source: a file of OpenReview, HotCRP, EasyChair or CMT; a CSV, TSV, Parquet or JSON file; any of them packed; a
            workbook (.xlsx, .xls, .ods); the bytes of a file, or an open file; a polars, pandas or
            pyarrow frame; or ``"openreview:VENUE"``.
        scale: the lowest and highest possible score; scores outside it are refused.
        paper: the column of papers, if its name is unusual.
        reviewer: the column of reviewers, if its name is unusual.
        score: the column (field, question, label) of scores, if its name is unusual.
        criteria: the columns (fields, questions, labels) of criteria, such as ``["soundness", "clarity"]``: numbers,
            higher is better. The quantities ``"normalized"`` and ``"subjectivity"`` require them.
        missing_criteria: ``"refuse"`` reviews that lack a criterion, or ``"leave-out"`` their whole papers. Leaving out
            single reviews would make a reviewer's remaining load depend on who wrote them.
        missing_score: for reviews without a score, ``"refuse"``; ``"absent"`` states that everyone can see which
            reviews have no score, so that they enter no mean; ``"leave-out"`` leaves out their whole papers. By default
            they are absent if all scores are stated to be public, and refused otherwise.
        format: the file's format; detected from its content by default.
        sheet: the sheet of a workbook, if several could be meant.
        encoding: the encoding of a text that is not UTF-8, such as ``"cp1252"``; detected where that is possible.
        symbols: letters or other symbols in ascending order, ``"D<C<B<A"``, or their values, ``{"A": 4, "B": 3}``.
        person: ``"member"`` or ``"subreviewer"``, the owner of a subreviewer's review. Required if there are any.
        ids: ``"people"`` states that ids identify people, even if they look as if they were assigned anew per paper.
        people: a file that maps anonymous signatures to people.
        review_name: the name of reviews in a venue on OpenReview.
        only: conditions on columns that everyone can see, such as ``"Type=Review"`` or ``["Confidence>=3"]``; reviews
            that do not satisfy all of them are left out. They remain reviews of the conference, so that neighbouring
            assignments may exchange them for others.
        leave_out: such conditions; reviews that satisfy one of them are left out.
        visible_column: states that everyone can see the columns of these conditions, and what each describes: of every
            ``"paper"`` or of every ``"review"``, as ``["Decision=paper", "Type=review"]``. Columns that describe
            reviewers are refused: who is left would tell who wrote which review.
        merge_names: whether reviewers whose ids differ only in case, blanks or accents are the same people. E-mail
            addresses that differ only in case always are.
        attributes: a table with one row per reviewer, whose columns describe them. They are private, and kept with the
            reviews (``Reviews.attributes``).
        committee: a public list of everyone who reviews: a text file (.txt) with one id per line, or a table. Reviewers
            who are not on it are refused.
        mapping: a TOML file with any of these arguments; those of the call take precedence.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"Paper ID": [1, 1, 2], "Email": ["a@x.org", "b@x.org", "a@x.org"], "Score": [6, 8, 3]})
    >>> read(frame, scale=(1, 10))
    Reviews(2 papers, 3 reviews, 2 reviewers; contents private)
    >>> letters = pl.DataFrame({"paper": [1, 1, 2], "reviewer": ["ann", "bob", "ann"], "score": ["A", "C: weak", "B"]})
    >>> read(letters, symbols="D<C<B<A").scale
    (1.0, 4.0)
    """
    choices = choices_from(
        mapping,
        scale=scale,
        paper=paper,
        reviewer=reviewer,
        score=score,
        criteria=criteria,
        missing_criteria=missing_criteria,
        missing_score=missing_score,
        format=format,
        sheet=sheet,
        encoding=encoding,
        symbols=symbols,
        person=person,
        ids=ids,
        people=people,
        review_name=review_name,
        only=only,
        leave_out=leave_out,
        visible_column=visible_column,
        merge_names=merge_names,
        attributes=attributes,
        committee=committee,
    )
    extracted, kind, why = extract(source, choices)
    announce(extracted.table.name, extracted.notices)
    return finish(extracted, choices, format=kind, why=why)


def extract(readable: Readable, choices: Choices) -> tuple[Extract, str, str]:
    """Return the unchecked reviews of a source, its format, and how the format was recognised."""
    if openreview_live.is_venue(readable):
        venue = readable.removeprefix(openreview_live.PREFIX)
        return openreview_live.extract(venue, choices), "openreview", "it is a venue of OpenReview"
    source = open_source(readable, choices.opening())
    kind, why = detect(source.look, choices.format)
    extracted = guarded(lambda: READERS[kind].extract(source, choices), source.name)
    notices = (*source.notices, *extracted.table.notices, *extracted.notices)
    return replace(extracted, notices=notices), kind, why


def choices_from(mapping: str | os.PathLike[str] | None, **arguments: Any) -> Choices:
    """Return the choices in a call and in a mapping; those of the call take precedence."""
    choices = {} if mapping is None else read_mapping(mapping)
    lists = ("criteria", "merge_names", *_FILTERS)  # an empty list, or False, states nothing
    choices |= {key: value for key, value in arguments.items() if value is not None and (key not in lists or value)}
    if "symbols" in choices:
        choices["symbols"] = Symbols.declare(choices["symbols"])
    choices |= {key: parse(choices[key]) for key, parse in _FILTERS.items() if key in choices}
    if choices.get("format", "csv") not in READERS:
        raise InputError(Argument("format"), f" must be one of {', '.join(READERS)}, got {choices['format']!r}")
    return Choices(**choices)


def detect(look: Look, asked: str | None = None) -> tuple[str, str]:
    """Return the format to read a file as, and how it was recognised.

    >>> detect(Look(name="a.csv", kind="csv", first=("pid", "review", "email", "Overall merit")))
    ('hotcrp', "its header has HotCRP's pid, review, email")
    >>> detect(Look(name="a.csv", kind="csv", first=("paper", "reviewer", "score")))
    ('csv', "no platform's names are in it, so it is read as a table (csv)")
    """
    if asked is not None:
        return asked, "it was specified"
    for name, reader in READERS.items():
        if name not in FORMATS and (why := reader.recognise(look)):
            return name, why
    if look.kind == "xml":
        raise FileError("is XML of a kind that no platform here writes; save it as CSV", file=look.name)
    return look.kind if look.kind in FORMATS else "csv", table.recognise(look)
