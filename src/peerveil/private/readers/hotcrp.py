"""HotCRP: three CSV forms (reviews, scores, the batch script's) and JSON (an API download, or rqc.json)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from peerveil.errors import FileError
from peerveil.private.readers.gathering import (
    METAREVIEWS,
    NOT_SUBMITTED,
    Gathering,
    address,
    graded,
    kept_rows,
)
from peerveil.private.readers.protocol import Choices, Extract
from peerveil.tables.columns import Cells, mapped
from peerveil.tables.json_files import elements
from peerveil.tables.reading import Source, file_to_read, read_table
from peerveil.tables.sniffing import Look, look
from peerveil.tables.table import SCORE_NAMES, Table, criteria_columns, field_called, is_missing, wanted_columns

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
    "has no addresses of reviewers, and HotCRP's review letters are given anew on every paper; download it as an "
    "administrator who may see reviewers' names"
)


def recognise(look: Look) -> str:
    """By the names that HotCRP gives its columns or members."""
    if look.kind == "csv":
        for names in _HEADERS:
            if look.names(*names):
                return f"its header has HotCRP's {', '.join(names)}"
    if look.kind == "json":
        for names in _MEMBERS:
            if set(names) <= set(look.first):
                return f"its objects have HotCRP's {' and '.join(names)}"
    return ""


def extract(source: Source, choices: Choices) -> Extract:
    """The submitted reviews; metareviews and drafts are left out."""
    if look(source).kind == "json":
        return _from_json(source, choices)
    asked = (choices.paper, choices.reviewer, choices.score)
    table = read_table(source, wanted=wanted_columns((*_COLUMNS, *SCORES, *choices.criteria), *asked))
    if choices.score is None and table.matches(("field",)) and table.matches(("data",)):
        raise table.error("has a row a field; run batch/reviewcsv.php without --narrow (-x)")
    paper = table.find("paper", ("paper", "pid"), choices.paper)
    if choices.reviewer is None and not table.matches(("email",)):
        raise table.error(_NO_PEOPLE)
    reviewer = table.find("reviewer", ("email",), choices.reviewer)
    score = table.find("score", SCORES, choices.score)
    called = [field_called(name, table.columns) or name for name in choices.criteria]
    criteria = dict(zip(choices.criteria, criteria_columns(table, called), strict=True))
    shows = (_SHOWS, *_decisions(table, paper))
    keep, left_out = _submitted(table)
    table = kept_rows(table, keep, (paper, reviewer, score, *criteria.values()))
    table.columns[reviewer] = mapped(table.columns[reviewer], address)
    for column in criteria.values():
        table.columns[column] = mapped(table.columns[column], graded)
    return Extract(
        table=table,
        paper=paper,
        reviewer=reviewer,
        score=score,
        criteria=criteria,
        left_out=left_out,
        shows=shows,
        problems=(_METAREVIEWS,),
    )


def _decisions(table: Table, paper: str) -> list[str]:
    """How many papers were accepted, if the file says so: at some venues only their scores are public."""
    columns = table.matches(("decision",))
    if not columns:
        return []
    decided = dict(zip(table.columns[paper], table.columns[columns[0]], strict=True))
    accepted = sum(str(decision).strip().lower().startswith("accept") for decision in decided.values())
    return [f"{accepted} of {len(decided)} papers have a decision that begins with 'accept'"]


def _submitted(table: Table) -> tuple[npt.NDArray[np.intp], dict[str, int]]:
    """The rows of submitted reviews, and how many others there are."""
    statuses = table.matches(("status",))
    times = table.matches(("submitted at",))
    reasons: Cells = [""] * table.rows
    if statuses:
        reasons = mapped(table.columns[statuses[0]], _reason)
    elif times:
        reasons = mapped(table.columns[times[0]], _not_yet)
    left_out = Counter(reason for reason in reasons if reason)
    return np.flatnonzero(np.fromiter((not reason for reason in reasons), dtype=bool, count=table.rows)), left_out


def _not_yet(time: Any) -> str:
    """Why a review that was submitted at such a time is left out, if it is."""
    return NOT_SUBMITTED if str(time or "").strip() in ("", "0") else ""


def _reason(status: Any) -> str:
    """Why a review with such a status is left out, if it is."""
    text = "" if is_missing(status) else str(status).strip().lower()
    if text.removeprefix("draft ") in _COMMENTS:
        return "comments and responses"
    return "" if text in _SUBMITTED else NOT_SUBMITTED


def _from_json(source: Source, choices: Choices) -> Extract:
    path = file_to_read(source)
    gathering = Gathering(str(path), "json", SCORES, choices)
    for line, review in _reviews(path, gathering.name):
        reason = _reason(review.get("status"))
        if review.get("draft") is True:
            reason = NOT_SUBMITTED
        if review.get("rtype") == _META_TYPE or str(review.get("rtype")).lower() in ("meta", "metareview"):
            reason = METAREVIEWS
        if reason:
            gathering.drop(reason)
            continue
        person = review.get(choices.reviewer or "reviewer_email", review.get("email"))
        if is_missing(person):
            raise FileError(f"a review {_NO_PEOPLE}", file=gathering.name, line=line, column="reviewer_email")
        fields = {name: value for name, value in review.items() if gathering.wants(name)}
        gathering.add(line, review.get(choices.paper or "pid"), address(person), fields, gathering.grades(review))
    return gathering.extract(shows=(_SHOWS,))


def _reviews(path: Any, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The reviews of a download, with its form's fields beside the other members; in rqc.json they hang on papers."""
    for line, key, found in elements(path, name, under=("reviews", "papers")):
        if not isinstance(found, dict):
            raise FileError("is not a JSON object; HotCRP writes an object a review", file=name, line=line)
        listed = found.get("reviews", [] if key == "papers" else [found])
        for review in listed if isinstance(listed, list) else [listed]:
            if not isinstance(review, dict):
                raise FileError("a review is not a JSON object", file=name, line=line)
            fields = review.get("fields")
            yield line, {"pid": found.get("pid"), **(fields if isinstance(fields, dict) else {}), **review}
