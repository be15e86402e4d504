"""The forms in which public scores come: tables, paperlists' JSON, PeerRead's JSON. Each becomes a table."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from peerveil.errors import Argument, FileError, InputError
from peerveil.tables.json_files import Element, elements
from peerveil.tables.reading import FORMATS, Source, file_to_read, is_path, read_table
from peerveil.tables.scores import is_no_entry
from peerveil.tables.sniffing import Look, guarded, look
from peerveil.tables.table import Table, Wanted, check_names, field_called, is_missing

PAPERLISTS, PEERREAD = "paperlists", "peerread"
PUBLIC_FORMATS = (*FORMATS, PAPERLISTS, PEERREAD)


@dataclass(frozen=True, kw_only=True)
class PublicTable:
    """A table of public scores, the format it came in and why, and what was left out of it."""

    table: Table
    format: str
    why: str
    left_out: dict[str, int] = field(default_factory=dict)


def recognise(seen: Look) -> tuple[str, str]:
    """Whether a file has one of the public JSON forms, and what shows it; nothing for any other table.

    >>> recognise(Look(name="a.json", kind="json", first=("id", "title", "rating")))
    ('paperlists', "its objects have paperlists' id, title and rating")
    """
    if seen.kind == "json" and "reviews" in seen.first and {"RECOMMENDATION", "is_meta_review"} & set(seen.first):
        return PEERREAD, "its objects have PeerRead's reviews and RECOMMENDATION"
    if seen.kind == "json" and {"id", "title", "rating"} <= set(seen.first):
        return PAPERLISTS, "its objects have paperlists' id, title and rating"
    return "", ""


def public_table(
    source: Source,
    format: str | None = None,  # noqa: A002 - the name users know
    criteria: Sequence[str] = (),
    wanted: Wanted | None = None,
) -> PublicTable:
    """Read the table of public scores, and criteria, that a file, a folder of PeerRead's files, or a frame holds."""
    criteria = check_names(criteria)
    name = str(source) if is_path(source) else "the frame"
    if format is not None and format not in PUBLIC_FORMATS:
        raise FileError(Argument("format"), f" must be one of {', '.join(PUBLIC_FORMATS)}, got {format!r}", file=name)
    kind, why = format or "", "you said so"
    if is_path(source) and file_to_read(source).is_dir():
        kind, why = kind or PEERREAD, why if kind else "it is a folder"
    elif not kind:
        kind, why = recognise(look(source))
    if kind == PEERREAD:
        return guarded(lambda: _peerread(file_to_read(source), why, criteria), name)
    if kind == PAPERLISTS:
        return guarded(lambda: _paperlists(file_to_read(source), why, criteria), name)
    table = read_table(source, format=format, wanted=wanted)
    return PublicTable(table=table, format=table.kind, why=why or "it is a table")


def _paperlists(path: Path, why: str, criteria: Sequence[str]) -> PublicTable:
    name = str(path)
    columns = _columns(criteria)
    lines = array("I")
    for line, paper in _objects(elements(path, name), name):
        columns["paper"].append(_cell(paper.get("id")))
        columns["ratings"].append(_cell(paper.get("rating")))
        for criterion in criteria:
            columns[criterion].append(_cell(_field(paper, criterion)))
        lines.append(line)
    return PublicTable(table=_table(name, columns, lines, criteria), format=PAPERLISTS, why=why)


def _peerread(path: Path, why: str, criteria: Sequence[str]) -> PublicTable:
    name = str(path)
    columns = _columns(criteria)
    papers = columns["paper"]
    lines = array("I")
    left_out: Counter[str] = Counter()
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    for file in files:
        for line, paper in _objects(elements(file, str(file)), str(file)):
            reviews = paper.get("reviews")
            if not isinstance(reviews, list) or not all(isinstance(review, dict) for review in reviews):
                raise FileError("a paper has no list of reviews", file=str(file), line=line)
            papers.append(_cell(paper.get("id")))
            scored = list(_scored(reviews, left_out))
            columns["ratings"].append(tuple(_cell(review["RECOMMENDATION"]) for review in scored))
            for criterion in criteria:
                grades = (_cell(_field(review, criterion)) for review in scored)
                columns[criterion].append(tuple(None if is_no_entry(grade) else grade for grade in grades))
            lines.append(line if path not in (file.parent,) else len(papers))
    table = _table(name, columns, lines, criteria)
    return PublicTable(table=table, format=PEERREAD, why=why, left_out=dict(left_out))


def _scored(reviews: list[dict[str, Any]], left_out: Counter[str]) -> Iterator[dict[str, Any]]:
    """The reviews that have a score; the others are counted."""
    for review in reviews:
        if review.get("is_meta_review") in (True, "true", "True"):
            left_out["metareviews"] += 1
        elif is_no_entry(review.get("RECOMMENDATION")):
            left_out["reviews without a score"] += 1
        else:
            yield review


def _objects(found: Iterator[Element], name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, _, value in found:
        if not isinstance(value, dict):
            raise FileError("is not a JSON object; there must be one a paper", file=name, line=line)
        yield line, value


def _columns(criteria: Sequence[str]) -> dict[str, list[Any]]:
    taken = {"paper", "ratings"} & set(criteria)
    if taken:
        raise InputError(f"no criterion can be called {min(taken)!r} here")
    return {name: [] for name in ("paper", "ratings", *criteria)}


def _table(name: str, columns: dict[str, list[Any]], lines: array[int], criteria: Sequence[str]) -> Table:
    table = Table(name, "json", {**columns}, lines)
    if not table.rows:
        raise table.error("holds no papers")
    for criterion in criteria:
        cells = (part for cell in columns[criterion] for part in (cell if isinstance(cell, tuple) else (cell,)))
        if all(map(is_missing, cells)):
            raise table.error(f"no review has the criterion {criterion!r}; name it as it is called there")
    return table


def _field(members: Mapping[str, Any], criterion: str) -> Any:
    called = field_called(criterion, members)
    return None if called is None else members[called]


def _cell(cell: Any) -> Any:
    return cell if is_missing(cell) or isinstance(cell, str | int | float) else str(cell)
