"""What is in a file, in numbers that name nobody."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from peerveil.private.readers import choices_from, detect, extract
from peerveil.private.readers.finish import finish, grades
from peerveil.private.readers.mapping import write_mapping
from peerveil.private.readers.openreview_live import PREFIX
from peerveil.private.readers.protocol import Choices
from peerveil.private.reviews import Reviews
from peerveil.record.public_formats import recognise
from peerveil.record.public_record import Floats, check_scale
from peerveil.record.public_scores import public_scores
from peerveil.tables.delimited import separator_of
from peerveil.tables.reading import FORMATS, Source, is_path, read_table
from peerveil.tables.sniffing import first_line, located, look
from peerveil.tables.table import PAPER_NAMES, SCORE_NAMES, Table


def inspect(
    source: Source,
    *,
    scale: tuple[float, float] | None = None,
    paper: str | None = None,
    reviewer: str | None = None,
    score: str | None = None,
    criteria: Sequence[str] = (),
    format: str | None = None,  # noqa: A002 - the name users know
    mapping: str | os.PathLike[str] | None = None,
    **said: Any,
) -> dict[str, Any]:
    """Counts, loads, the scores' range and problems of a private or public file; no identity, no mean.

    The arguments are those of :func:`peerveil.read`.

    >>> import polars as pl
    >>> inspect(pl.DataFrame({"paper": ["a", "b"], "ratings": ["6;8;5", "3"]}))["problems"]
    ['1 of 2 papers have a single review: their miscalibration is not defined']
    """
    said |= {"scale": scale, "paper": paper, "reviewer": reviewer, "score": score, "format": format}
    said["criteria"] = criteria
    public = format if format in ("paperlists", "peerread") else None
    choices = choices_from(mapping, **(said | {"format": None} if public else said))
    facts: dict[str, Any] = {"file": str(source) if is_path(source) else "the frame"}
    if not public and _is_private(source, choices):
        found, kind, why = extract(source, choices)
        reviews = finish(replace(found, criteria={}), choices, format=kind, why=why)
        graded = grades(found)
        facts |= _table_facts(source, choices, reviews.report.format) | _private_facts(reviews)
        sizes: Sequence[int] = np.bincount(reviews.paper).tolist()
        scores, declared = reviews.score, reviews.scale
        problems = [*reviews.report.problems]
        if reviews.reviewers < 2:
            problems.append("one reviewer only: nothing can be released")
    else:
        shown = public_scores(
            source,
            format=public or choices.format,
            paper=choices.paper,
            ratings=choices.score,
            criteria=choices.criteria,
        )
        scores = shown.column(0)
        graded = {name: shown.column(i)[~np.isnan(scores)] for i, name in enumerate(choices.criteria, 1)}
        declared = choices.scale
        check_scale(np.empty(0), declared)  # what is wrong with the scale itself is not about the file
        located(lambda: check_scale(scores, declared), facts["file"])
        sizes = shown.sizes.tolist()
        facts |= {"format": shown.format, "because": shown.why} | _columns(list(shown.header), shown.others)
        facts |= {"content": "public scores", "papers": len(sizes), "reviews": scores.size}
        if shown.left_out:
            facts["left out"] = [f"{count} {reason}" for reason, count in shown.left_out.items()]
        if np.isnan(scores).any():
            facts["hidden scores"] = int(np.count_nonzero(np.isnan(scores)))
            scores = scores[~np.isnan(scores)]
        problems = [f"{shown.without} papers have no score and are left out"] if shown.without else []
        if shown.others and shown.format in FORMATS:
            problems.append(
                "no column of reviewers was found, so this is taken for public scores; if it holds reviews, say which "
                "column tells who wrote them (--reviewer)"
            )
    alone = sum(size == 1 for size in sizes)
    if alone:
        problems.append(f"{alone} of {len(sizes)} papers have a single review: their miscalibration is not defined")
    facts["reviews per paper"] = f"{min(sizes)} to {max(sizes)}"
    different = f"{np.unique(scores).size} different values"
    facts["scores"] = f"{scores.min():g} to {scores.max():g}, {different}" if scores.size else "all hidden"
    facts["declared scale"] = "none" if declared is None else f"{declared[0]:g} to {declared[1]:g}"
    _describe(graded, facts, problems)
    facts["problems"] = problems
    return facts


def draft_mapping(source: Source, path: str | os.PathLike[str], **said: Any) -> None:
    """Write a mapping with what can be told about a file; what cannot is left to fill in.

    Columns whose names could be somebody's are not written, so that the draft names nobody.
    """
    choices = choices_from(None, **said)
    known: dict[str, Any] = {key: value for key, value in said.items() if value not in (None, [], ())}
    comments = {}
    kind, why = detect(look(source), choices.format)
    known["format"] = kind
    comments["format"] = f"the file's format: {why}"
    if kind in FORMATS:
        table = read_table(source, format=choices.format, wanted=lambda _: False)
        for role, names in (("paper", PAPER_NAMES), ("reviewer", table.reviewer_names()), ("score", SCORE_NAMES)):
            matches = table.matches(names)
            if role not in known and len(matches) == 1:
                known[role] = matches[0]
        headings = ", ".join(repr(" ".join(name.split())) for name in table.header())
        comments["paper"] = f"the column of papers; the file has {headings or 'only columns that could be names'}"
    write_mapping(path, known, comments=comments)


def _is_private(source: Source, choices: Choices) -> bool:
    """Whether a file tells who reviewed what: a platform's does, a table if it has a column of reviewers."""
    if isinstance(source, str) and source.startswith(PREFIX):
        return True
    if choices.format is None and is_path(source) and os.path.isdir(source):  # noqa: PTH112 - a name may be no path
        return False
    seen = look(source)
    kind, _ = detect(seen, choices.format)
    if kind not in FORMATS:
        return True
    if choices.reviewer is not None:
        return True
    heading = _heading(source, choices)
    return not recognise(seen)[0] and bool(heading.matches(heading.reviewer_names()))


def _private_facts(reviews: Reviews) -> dict[str, Any]:
    report = reviews.report
    facts: dict[str, Any] = {"content": "private reviews", "papers": len(reviews.papers), "reviews": reviews.score.size}
    if reviews.whole is None:
        facts |= {"reviewers": reviews.reviewers, "loads": reviews.loads().describe()}
    else:  # loads that are stated are those of the whole conference
        whole = reviews.whole.loads()
        facts |= {"reviewers": whole.reviewers, "loads": whole.describe()}
        facts["loads among kept reviews"] = reviews.loads().describe()
    facts["left out"] = list(report.left_out)
    facts["public"] = [*report.shows, "you say what is public (--public); nothing is assumed"]
    return facts


def _table_facts(source: Source, choices: Choices, kind: str) -> dict[str, Any]:
    """The format, why it is taken for it, and the columns that may be shown."""
    why = "you said so" if choices.format else "it is a venue of OpenReview"
    if not (isinstance(source, str) and source.startswith(PREFIX)):
        why = detect(look(source), choices.format)[1]
    facts: dict[str, Any] = {"format": kind, "because": why}
    if kind in FORMATS:
        table = _heading(source, choices)
        facts["format"] = table.kind
        header = table.header((choices.paper, choices.reviewer, choices.score, *choices.criteria))
        facts |= _columns(header, len(table.columns) - len(header))
    return facts


def _heading(source: Source, choices: Choices) -> Table:
    """A table of which only the columns' names are wanted: a CSV shows them at once."""
    seen = look(source)
    if seen.kind == "csv" and choices.format is None and seen.first:
        kind = "tsv" if separator_of(first_line(seen.start)) == "\t" else "csv"
        return Table(seen.name, kind, {name.strip(): [] for name in seen.first})
    return read_table(source, format=choices.format, wanted=lambda _: False)


def _columns(shown: list[str], others: int) -> dict[str, Any]:
    facts: dict[str, Any] = {"columns": shown}
    if others:
        facts["other columns"] = f"{others}, not shown here as they could be names"
    return facts


def _describe(graded: Mapping[str, Floats], facts: dict[str, Any], problems: list[str]) -> None:
    """The range of each criterion; reviews that lack one are a problem."""
    for name, column in graded.items():
        known = column[~np.isnan(column)]
        facts[f"criterion {name!r}"] = f"{known.min():g} to {known.max():g}" if known.size else "empty"
        if known.size < column.size:
            problems.append(f"{column.size - known.size} of {column.size} reviews lack the criterion {name!r}")
