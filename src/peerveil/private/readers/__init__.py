"""Readers of private files: one small module a platform, all behind one Protocol."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from peerveil.errors import Argument, FileError, InputError
from peerveil.private.readers import cmt, easychair, hotcrp, openreview, openreview_live, table
from peerveil.private.readers.finish import finish
from peerveil.private.readers.mapping import read_mapping
from peerveil.private.readers.protocol import Choices, Extract, Reader
from peerveil.private.reviews import Reviews
from peerveil.record.criteria import MissingCriteria
from peerveil.record.parts import MissingScore
from peerveil.tables.opening import Readable, guarded, open_source
from peerveil.tables.reading import FORMATS
from peerveil.tables.scores import Symbols
from peerveil.tables.sniffing import Look

__all__ = ["READERS", "choices_from", "detect", "extract", "read"]

#: Which reader takes which format: platforms first, any table last.
READERS: dict[str, Reader] = {
    "openreview": openreview,
    "hotcrp": hotcrp,
    "easychair": easychair,
    "cmt": cmt,
    **dict.fromkeys(FORMATS, table),
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
    symbols: str | Sequence[str] | Mapping[str, float] | None = None,
    person: str | None = None,
    ids: str | None = None,
    people: Readable | None = None,
    review_name: str | None = None,
    mapping: str | os.PathLike[str] | None = None,
) -> Reviews:
    """Read private reviews: a platform's export, or any table with a row a review.

    Names of reviewers are forgotten on reading. What is left out (metareviews, drafts, reviews without a score) is
    counted in the reviews' ``report``, which also tells what the file shows about which scores are public.

    Args:
        source: a file of OpenReview, HotCRP, EasyChair or CMT; a CSV, TSV, Parquet or JSON file; any of them packed;
            a polars or pandas frame; or ``"openreview:VENUE"``.
        scale: the lowest and highest possible score; scores outside it are refused.
        paper: the column of papers, where its name is not a usual one.
        reviewer: the column of reviewers, where its name is not a usual one.
        score: the column (field, question, label) of scores, where its name is not a usual one.
        criteria: the columns (fields, questions, labels) of criteria, such as ``["soundness", "clarity"]``, numbers of
            which more is better; the quantities ``"normalized"`` and ``"subjectivity"`` need them.
        missing_criteria: what to do where one is missing: ``"refuse"``, or ``"leave-out"`` the whole paper. Never a
            single review: what remained of a reviewer's load would depend on who wrote it.
        missing_score: what to do with reviews without a score: ``"refuse"``; ``"absent"`` states that everyone can see
            which reviews have no score, so that they enter no mean; ``"leave-out"`` their whole papers. By default they
            are absent if all scores are stated to be public, and refused otherwise.
        format: the file's format; found from its content by default.
        symbols: what letters or other symbols are worth, from the lowest to the highest: ``"D<C<B<A"``, or
            ``{"A": 4, "B": 3}``.
        person: ``"member"`` or ``"subreviewer"``: whom to count a subreviewer's review to. Needed where there are any.
        ids: ``"people"`` states that ids which look as if they were given anew on every paper stand for people.
        people: a file that tells who stands behind which anonymous signature.
        review_name: what a venue calls its reviews on OpenReview.
        mapping: a TOML file that says any of these; what is said here comes first.

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
        symbols=symbols,
        person=person,
        ids=ids,
        people=people,
        review_name=review_name,
    )
    found, kind, why = extract(source, choices)
    return finish(found, choices, format=kind, why=why)


def extract(readable: Readable, choices: Choices) -> tuple[Extract, str, str]:
    """The reviews of a source before anything is checked about them, its format, and what showed it."""
    if openreview_live.is_venue(readable):
        found = openreview_live.extract(readable.removeprefix(openreview_live.PREFIX), choices)
        return found, "openreview", "it is a venue of OpenReview"
    source = open_source(readable)
    kind, why = detect(source.look, choices.format)
    return guarded(lambda: READERS[kind].extract(source, choices), source.name), kind, why


def choices_from(mapping: str | os.PathLike[str] | None, **said: Any) -> Choices:
    """What was said, in a call and in a mapping; the call comes first."""
    given = {key: value for key, value in said.items() if value is not None}
    if not given.get("criteria"):
        given.pop("criteria", None)  # none were named here; a mapping may
    together = (read_mapping(mapping) if mapping is not None else {}) | given
    if "symbols" in together:
        together["symbols"] = Symbols.declare(together["symbols"])
    known = together.get("format")
    if known is not None and known not in READERS:
        raise InputError(Argument("format"), f" must be one of {', '.join(READERS)}, got {known!r}")
    return Choices(**together)


def detect(seen: Look, asked: str | None = None) -> tuple[str, str]:
    """The format to read a file as, and why.

    >>> detect(Look(name="a.csv", kind="csv", first=("pid", "review", "email", "Overall merit")))
    ('hotcrp', "its header has HotCRP's pid, review, email")
    >>> detect(Look(name="a.csv", kind="csv", first=("paper", "reviewer", "score")))
    ('csv', "no platform's names are in it, so it is read as a table (csv)")
    """
    if asked is not None:
        return asked, "you said so"
    for name, reader in READERS.items():
        if name not in FORMATS and (why := reader.recognise(seen)):
            return name, why
    if seen.kind == "xml":
        raise FileError("is XML of a kind that no platform here writes; save it as CSV", file=seen.name)
    return seen.kind if seen.kind in FORMATS else "csv", table.recognise(seen)
