"""HotCRP: three CSV formats (reviews, scores, the batch script's) and JSON (an API download, or rqc.json)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import polars as pl

from peerveil.errors import FileError
from peerveil.private.readers.gathering import BOTS, METAREVIEWS, NOT_SUBMITTED, Gathering, address
from peerveil.private.readers.marks import MARKS, reasons_by_mark
from peerveil.private.readers.protocol import Choices, Extract
from peerveil.tables.cells import is_marked, is_missing
from peerveil.tables.conditions import filter_columns
from peerveil.tables.headings import SCORE_NAMES, field_called, wanted_columns
from peerveil.tables.json_files import elements
from peerveil.tables.opening import Source
from peerveil.tables.reading import read_table
from peerveil.tables.scores import is_no_entry
from peerveil.tables.sniffing import Look
from peerveil.tables.table import Table, apply

label = "HotCRP"

SCORES = ("overall merit", "ovemer", "merit", *SCORE_NAMES)

_SUBMITTED = ("", "complete", "completed", "submitted", "approved", "adopted", "final")
_COMMENTS = ("comment", "response", "author comment")
_META_TYPE = 5
_HEADERS: tuple[tuple[str, ...], ...] = (
    ("pid", "review", "email"),
    ("paper", "title", "reviewername", "email"),
    ("paper", "title", "ovemer"),
    ("paper", "title", "review", "overall merit"),
)
_COLUMNS = ("paper", "pid", "email", "decision", "status", "submitted at")
_MEMBERS = (("pid", "rid"), ("pid", "reviewer_email"), ("hotcrp_version", "papers"))
_SHOWS = "the file does not show which scores are public; usually HotCRP's are shown to committee and authors"
_METAREVIEWS = (
    "metareviews cannot be told from reviews in HotCRP's CSV: if your site has any, take them out, or bring its JSON"
)
_NO_PEOPLE = (
    "has no addresses of reviewers, and HotCRP's review letters are assigned anew for each paper; download it as an "
    "administrator who may see reviewers' names"
)


def recognise(look: Look) -> str:
    """Return which of HotCRP's columns or members a file has."""
    if look.tabular:
        for names in _HEADERS:
            if look.names(*names):
                return f"its header has HotCRP's {', '.join(names)}"
    if look.kind == "json":
        for names in _MEMBERS:
            if set(names) <= set(look.first):
                return f"its objects have HotCRP's {' and '.join(names)}"
    return ""


def extract(source: Source, choices: Choices) -> Extract:
    """Return the submitted reviews, without metareviews and drafts."""
    if source.look.kind == "json":
        return _from_json(source, choices)
    asked = (choices.paper, choices.reviewer, choices.score)
    table = read_table(
        source, wanted=wanted_columns((*_COLUMNS, *SCORES, *MARKS, *choices.criteria, *choices.labels), *asked)
    )
    if choices.score is None and table.matches(("field",)) and table.matches(("data",)):
        raise table.error("has one row per field; run batch/reviewcsv.php without --narrow (-x)")
    paper = table.find("paper", ("paper", "pid"), choices.paper)
    if choices.reviewer is None and not table.matches(("email",)):
        raise table.error(_NO_PEOPLE)
    reviewer = table.find("reviewer", ("email",), choices.reviewer)
    score = table.find("score", SCORES, choices.score)
    called = [field_called(name, table.header) or name for name in choices.criteria]
    criteria = dict(zip(choices.criteria, table.find_criteria(called), strict=True))
    shows = (_SHOWS, *_decisions(table, paper))
    reasons = reasons_by_mark(table, _reasons(table))
    left_out = Counter(reason for reason in reasons if reason)
    table = table.where(reasons == "").mapped(reviewer, address)
    for column in criteria.values():
        table = table.mapped(column, lambda cell: "" if is_no_entry(cell) else cell)
    return Extract(
        table=table,
        paper=paper,
        reviewer=reviewer,
        score=score,
        criteria=criteria,
        labels=table.find_labels(filter_columns(choices.filters)),
        left_out=left_out,
        shows=shows,
        problems=(_METAREVIEWS,),
    )


def _decisions(table: Table, paper: str) -> list[str]:
    """Return the number of accepted papers, if known: at some venues only their scores are public."""
    columns = table.matches(("decision",))
    if not columns:
        return []
    decided = dict(zip(table.cells[paper], table.cells[columns[0]], strict=True))
    accepted = sum(decision.strip().lower().startswith("accept") for decision in decided.values())
    return [f"{accepted} of {len(decided)} papers have a decision that begins with 'accept'"]


def _reasons(table: Table) -> pl.Series:
    """Return the reason for leaving out each row; empty for submitted reviews."""
    if statuses := table.matches(("status",)):
        return apply(_reason, table.cells[statuses[0]])
    if times := table.matches(("submitted at",)):
        return apply(lambda time: NOT_SUBMITTED if time.strip() in ("", "0") else "", table.cells[times[0]])
    return pl.repeat("", table.rows, eager=True)


def _reason(status: Any) -> str:
    """Return the reason for leaving out a review with this status; empty if it was submitted."""
    text = "" if is_missing(status) else str(status).strip().lower()
    if text.removeprefix("draft ") in _COMMENTS:
        return "comments and responses"
    return "" if text in _SUBMITTED else NOT_SUBMITTED


def _from_json(source: Source, choices: Choices) -> Extract:
    gathering = Gathering(source.name, "json", SCORES, choices)
    for line, review in _reviews(source):
        reason = _reason(review.get("status"))
        if review.get("draft") is True:
            reason = NOT_SUBMITTED
        if review.get("rtype") == _META_TYPE or str(review.get("rtype")).lower() in ("meta", "metareview"):
            reason = METAREVIEWS
        if is_marked(review.get("reviewer_bot")):
            reason = BOTS
        if reason:
            gathering.drop(reason)
            continue
        person = review.get(choices.reviewer or "reviewer_email", review.get("email"))
        if is_missing(person):
            raise FileError(f"a review {_NO_PEOPLE}", file=gathering.name, line=line, column="reviewer_email")
        fields = {name: value for name, value in review.items() if gathering.wants(name)}
        gathering.add(line, review.get(choices.paper or "pid"), address(person), fields, gathering.grades(review))
    return gathering.extract(shows=(_SHOWS,))


def _reviews(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the reviews, with the fields of the form among their members; in rqc.json, papers hold them."""
    for line, key, element in elements(source, under=("reviews", "papers")):
        if not isinstance(element, dict):
            raise FileError("is not a JSON object; HotCRP writes one object per review", file=source.name, line=line)
        listed = element.get("reviews", [] if key == "papers" else [element])
        for review in listed if isinstance(listed, list) else [listed]:
            if not isinstance(review, dict):
                raise FileError("a review is not a JSON object", file=source.name, line=line)
            fields = review.get("fields")
            yield line, {"pid": element.get("pid"), **(fields if isinstance(fields, dict) else {}), **review}
