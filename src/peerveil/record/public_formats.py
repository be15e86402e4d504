"""Conversion of public scores to tables: generic tables, JSON of paperlists and PeerRead."""

from __future__ import annotations

import os
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeGuard

import polars as pl

from peerveil.errors import Argument, FileError, InputError
from peerveil.tables.cells import is_marked, is_missing, to_text
from peerveil.tables.headings import Wanted, check_names, field_called
from peerveil.tables.json_files import elements
from peerveil.tables.opening import Opening, Readable, Source, file_to_read, guarded, is_path, open_source, source_name
from peerveil.tables.reading import FORMATS, read_table
from peerveil.tables.scores import is_no_entry
from peerveil.tables.sniffing import Look
from peerveil.tables.table import Table

PAPERLISTS, PEERREAD = "paperlists", "peerread"
PUBLIC_FORMATS = (*FORMATS, PAPERLISTS, PEERREAD)

# Members of PeerRead's reviews.
_PEERREAD = {"RECOMMENDATION", "is_meta_review", "IS_META_REVIEW"}
_WITHOUT = "reviews without a score"
_COPIES = "copies of reviews"


@dataclass(frozen=True, kw_only=True)
class PublicTable:
    """A table of public scores.

    Attributes:
        table: the table.
        format: the format of the file.
        why: how it was recognised.
        left_out: the number of reviews left out, by reason.
        doubled: the number of reviews whose text and score another review of the paper has as well.
        notices: how the file was read, where it could have been read otherwise.
    """

    table: Table
    format: str
    why: str
    left_out: dict[str, int] = field(default_factory=dict)
    doubled: int = 0
    notices: tuple[str, ...] = ()


def recognise(seen: Look) -> tuple[str, str]:
    """Return the public JSON format of a file and how it was recognised; empty for any other file.

    >>> recognise(Look(name="a.json", kind="json", first=("id", "title", "rating")))
    ('paperlists', "its objects have paperlists' id, title and rating")
    """
    if seen.kind == "json" and "reviews" in seen.first and _PEERREAD & set(seen.first):
        return PEERREAD, "its objects have PeerRead's reviews and RECOMMENDATION"
    if seen.kind == "json" and {"id", "title", "rating"} <= set(seen.first):
        return PAPERLISTS, "its objects have paperlists' id, title and rating"
    return "", ""


def public_table(
    readable: Readable,
    format: str | None = None,  # noqa: A002 - the name users know
    criteria: Sequence[str] = (),
    wanted: Wanted = lambda _: True,
    opening: Opening = Opening(),  # noqa: B008 - it is frozen
    *,
    labels: Sequence[str] = (),
    drop_copies: bool = False,
) -> PublicTable:
    """Return the table of public scores and criteria in a file, a folder of PeerRead's files, or a frame.

    ``labels`` are further columns to read, which describe papers in paperlists and PeerRead. With ``drop_copies``,
    reviews of PeerRead that have the text and score of another one of their paper are merged with it.
    """
    peerread = partial(_peerread, criteria=criteria, labels=labels, drop_copies=drop_copies)
    criteria = check_names(criteria)
    if format is not None and format not in PUBLIC_FORMATS:
        problem = f" must be one of {', '.join(PUBLIC_FORMATS)}, got {format!r}"
        raise FileError(Argument("format"), problem, file=source_name(readable))
    if is_folder(readable) and format in (None, PEERREAD):
        files = map(open_source, sorted(file_to_read(readable).glob("*.json")))
        why = "it was specified" if format else "it is a folder"
        return guarded(lambda: peerread(str(readable), files, why), str(readable))
    source = open_source(readable, opening)
    kind, why = (format, "it was specified") if format else recognise(source.look)
    if kind == PEERREAD:
        return guarded(lambda: peerread(source.name, iter([source.file()]), why), source.name)
    if kind == PAPERLISTS:
        return guarded(lambda: _paperlists(source, why, criteria, labels), source.name)
    table = read_table(source, format=format, wanted=wanted)
    notices = (*source.notices, *table.notices)
    return PublicTable(table=table, format=table.kind, why=why or "it is a table", notices=notices)


def is_folder(readable: Readable) -> TypeGuard[str | os.PathLike[str]]:
    """Return whether a source is the path of a folder."""
    return is_path(readable) and file_to_read(readable).is_dir()


def _paperlists(source: Source, why: str, criteria: Sequence[str], labels: Sequence[str]) -> PublicTable:
    columns = _columns(criteria)
    marks: dict[str, list[str]] = {name: [] for name in labels}
    lines = array("I")
    missing = 0
    for line, paper in _objects(source):
        columns["paper"].append(to_text(paper.get("id")))
        ratings = to_text(paper.get("rating")).split(";")
        without = [place for place, rating in enumerate(ratings) if is_no_entry(rating)]
        missing += len(without) if len(ratings) > 1 else 0
        columns["ratings"].append(_others(ratings, without))
        for criterion in criteria:
            grades = to_text(_field(paper, criterion))
            listed = grades.split(";")
            columns[criterion].append(_others(listed, without) if len(listed) == len(ratings) else grades)
        for name, cells in marks.items():
            cells.append(to_text(_field(paper, name)))
        lines.append(line)
    table = _marked(Table.of(source.name, "json", columns, lines), marks)
    left_out = {_WITHOUT: missing} if missing else {}
    return PublicTable(table=_checked(table, criteria), format=PAPERLISTS, why=why, left_out=left_out)


def _others(listed: list[str], without: list[int]) -> str:
    """Return a list of scores or grades as one cell, without those at some places."""
    return ";".join(text for place, text in enumerate(listed) if place not in without)


def _peerread(
    name: str, files: Iterator[Source], why: str, *, criteria: Sequence[str], labels: Sequence[str], drop_copies: bool
) -> PublicTable:
    """Return a table with lists of scores; rows from a folder have numbers instead of lines."""
    columns = _columns(criteria)
    papers = columns["paper"]
    marks: dict[str, list[str]] = {name: [] for name in labels}
    lines = array("I")
    left_out: Counter[str] = Counter()
    doubled = 0
    for file in files:
        for line, paper in _objects(file):
            reviews = paper.get("reviews")
            if not isinstance(reviews, list) or not all(isinstance(review, dict) for review in reviews):
                raise FileError("a paper has no list of reviews", file=file.name, line=line)
            papers.append(to_text(paper.get("id")))
            scored = list(_scored(reviews, left_out))
            once = _once(scored)
            if drop_copies and len(once) < len(scored):
                left_out[_COPIES] += len(scored) - len(once)
                scored = once
            doubled += len(scored) - len(once)
            columns["ratings"].append([to_text(review["RECOMMENDATION"]) for review in scored])
            for criterion in criteria:
                grades = (_field(review, criterion) for review in scored)
                columns[criterion].append(["" if is_no_entry(grade) else to_text(grade) for grade in grades])
            for label, cells in marks.items():
                cells.append(to_text(_field(paper, label)))
            lines.append(line if file.name == name else len(papers))
    ids = Table.of(name, "json", {"paper": papers}, lines)
    lists = {column: pl.Series(columns[column], dtype=pl.List(pl.String)) for column in columns if column != "paper"}
    table = _marked(Table(name, "json", tuple(columns), ids.cells.with_columns(**lists), lines), marks)
    return PublicTable(
        table=_checked(table, criteria), format=PEERREAD, why=why, left_out=dict(left_out), doubled=doubled
    )


def _marked(table: Table, marks: Mapping[str, list[str]]) -> Table:
    """Return a table with further columns: those of which any cell is filled."""
    filled = {name: pl.Series(cells, dtype=pl.String) for name, cells in marks.items() if any(cells)}
    new = [name for name in filled if name not in table.header]
    cells = table.cells.with_columns(**{name: filled[name] for name in new})
    return replace(table, cells=cells, header=(*table.header, *new))


def _scored(reviews: list[dict[str, Any]], left_out: Counter[str]) -> Iterator[dict[str, Any]]:
    """Yield the reviews that have a score, and count the others."""
    for review in reviews:
        if is_marked(_field(review, "is_meta_review")):
            left_out["metareviews"] += 1
        elif is_no_entry(review.get("RECOMMENDATION")):
            left_out[_WITHOUT] += 1
        else:
            yield review


def _once(reviews: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the reviews of a paper, with those of the same text and score merged; one without text stands alone."""
    once: dict[object, dict[str, Any]] = {}
    for place, review in enumerate(reviews):
        text = to_text(review.get("comments"))
        key = place if is_missing(text) else (text, to_text(review["RECOMMENDATION"]))
        once[key] = {**review, **once.get(key, {})}
    return list(once.values())


def _objects(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, _, value in elements(source):
        if not isinstance(value, dict):
            raise FileError("is not a JSON object; there must be one per paper", file=source.name, line=line)
        yield line, value


def _columns(criteria: Sequence[str]) -> dict[str, list[Any]]:
    taken = {"paper", "ratings"} & set(criteria)
    if taken:
        raise InputError(f"no criterion can be called {min(taken)!r} here")
    return {name: [] for name in ("paper", "ratings", *criteria)}


def _checked(table: Table, criteria: Sequence[str]) -> Table:
    """Return the table; one without papers, or without a criterion, is refused."""
    if not table.rows:
        raise table.error("holds no papers")
    for criterion in criteria:
        cells = table.cells[criterion]
        if all(map(is_missing, cells.explode() if cells.dtype == pl.List else cells)):
            raise table.error(f"no review has the criterion {criterion!r}; name it as it is called there")
    return table


def _field(members: Mapping[str, Any], criterion: str) -> Any:
    called = field_called(criterion, members)
    return None if called is None else members[called]
