"""Facts about a file that identify nobody."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from peerveil.private.readers import choices_from, detect, extract
from peerveil.private.readers.finish import finish, grades
from peerveil.private.readers.mapping import write_mapping
from peerveil.private.readers.openreview_live import is_venue
from peerveil.private.readers.protocol import Choices
from peerveil.private.reviews import Reviews
from peerveil.record.public_formats import PAPERLISTS, PEERREAD, is_folder, recognise
from peerveil.record.public_record import check_scale
from peerveil.record.public_scores import public_scores
from peerveil.tables.headings import PAPER_NAMES, REVIEWER_NAMES, REVIEWER_NAMES_ELSE, SCORE_NAMES, wanted_columns
from peerveil.tables.opening import Readable, Source, located, open_source
from peerveil.tables.reading import FORMATS, read_table
from peerveil.tables.table import Table


def inspect(
    source: Readable,
    *,
    format: str | None = None,  # noqa: A002 - the name users know
    mapping: str | os.PathLike[str] | None = None,
    **arguments: Any,
) -> dict[str, Any]:
    """Return counts, loads, the range of scores and problems of a private or public file; no identity and no mean.

    The arguments are those of :func:`peerveil.read`.

    >>> import polars as pl
    >>> inspect(pl.DataFrame({"paper": ["a", "b"], "ratings": ["6;8;5", "3"]}))["problems"]
    ['1 of 2 papers have a single review: their miscalibration is not defined']
    """
    public = format if format in (PAPERLISTS, PEERREAD) else None
    choices = choices_from(mapping, format=None if public else format, **arguments)
    opened = source if is_venue(source) or (choices.format is None and is_folder(source)) else open_source(source)
    facts: dict[str, Any] = {"file": opened.name if isinstance(opened, Source) else str(source)}
    if not public and _is_private(opened, choices):
        extracted, kind, why = extract(opened, choices)
        reviews = finish(replace(extracted, criteria={}), choices, format=kind, why=why)
        graded = grades(extracted)
        facts |= {"format": kind, "because": why}
        if kind in FORMATS:
            header = extracted.table.showable((choices.paper, choices.reviewer, choices.score, *choices.criteria))
            others = len(extracted.table.header) - len(header)
            facts |= {"format": extracted.table.kind} | _columns(header, others)
        facts |= _private_facts(reviews)
        sizes: Sequence[int] = np.bincount(reviews.paper).tolist()
        scores, declared = reviews.score, reviews.scale
        problems = [*reviews.report.problems]
        if reviews.reviewers < 2:
            problems.append("one reviewer only: nothing can be released")
    else:
        names: dict[str, Any] = {"paper": choices.paper, "ratings": choices.score, "criteria": choices.criteria}
        shown = public_scores(opened, format=public or choices.format, **names)
        scores = shown.score
        graded = {name: column[~np.isnan(scores)] for name, column in shown.criteria.items()}
        declared = choices.scale
        check_scale(np.empty(0), declared)  # an invalid scale is not an error of the file
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
                "no column of reviewers was found, so the file is read as public scores; if it holds reviews, name the "
                "column of reviewers (--reviewer)"
            )
    if alone := sum(size == 1 for size in sizes):
        problems.append(f"{alone} of {len(sizes)} papers have a single review: their miscalibration is not defined")
    facts["reviews per paper"] = f"{min(sizes)} to {max(sizes)}"
    different = f"{np.unique(scores).size} different values"
    facts["scores"] = f"{scores.min():g} to {scores.max():g}, {different}" if scores.size else "all hidden"
    facts["declared scale"] = "none" if declared is None else f"{declared[0]:g} to {declared[1]:g}"
    for name, column in graded.items():
        values = column[~np.isnan(column)]
        facts[f"criterion {name!r}"] = f"{values.min():g} to {values.max():g}" if values.size else "empty"
        if values.size < column.size:
            problems.append(f"{column.size - values.size} of {column.size} reviews lack the criterion {name!r}")
    return facts | {"problems": problems}


def draft_mapping(source: Readable, path: str | os.PathLike[str], **arguments: Any) -> None:
    """Write a mapping with the arguments that a file determines; the others are left to fill in.

    Names of columns that could be people's are not written, so that the draft identifies nobody.
    """
    choices = choices_from(None, **arguments)
    opened = open_source(source)
    kind, why = detect(opened.look, choices.format)
    known: dict[str, Any] = {key: value for key, value in arguments.items() if value not in (None, [], ())}
    known["format"] = kind
    comments = {"format": f"the file's format: {why}"}
    if kind in FORMATS:
        table = _heading(opened, choices)
        for role, names in (("paper", PAPER_NAMES), ("reviewer", table.reviewer_names()), ("score", SCORE_NAMES)):
            matches = table.matches(names)
            if role not in known and len(matches) == 1:
                known[role] = matches[0]
        headings = ", ".join(repr(" ".join(name.split())) for name in table.showable())
        comments["paper"] = f"the column of papers; the file has {headings or 'only columns that could be names'}"
    write_mapping(path, known, comments)


def _is_private(source: Readable, choices: Choices) -> bool:
    """Return whether a file holds private reviews: a platform's export, or a table with a column of reviewers."""
    if not isinstance(source, Source):
        return is_venue(source)
    kind, _ = detect(source.look, choices.format)
    if kind not in FORMATS or choices.reviewer is not None:
        return True
    look = source.look
    header = look.first if look.kind == "csv" and choices.format is None else _heading(source, choices).header
    return not recognise(look)[0] and any(map(_NAMES_REVIEWERS, header))


_NAMES_REVIEWERS = wanted_columns((*REVIEWER_NAMES, *REVIEWER_NAMES_ELSE))


def _heading(source: Source, choices: Choices) -> Table:
    """Return a table of which only the header is read."""
    return read_table(source, format=choices.format, wanted=lambda _: False)


def _private_facts(reviews: Reviews) -> dict[str, Any]:
    report = reviews.report
    facts: dict[str, Any] = {"content": "private reviews", "papers": len(reviews.papers), "reviews": reviews.score.size}
    loads = (reviews.whole or reviews).loads()  # stated loads are those of the whole conference
    facts |= {"reviewers": loads.reviewers, "loads": loads.describe()}
    if reviews.whole is not None:
        facts["loads among kept reviews"] = reviews.loads().describe()
    facts["left out"] = list(report.left_out)
    facts["public"] = [*report.shows, "you say what is public (--public); nothing is assumed"]
    return facts


def _columns(shown: list[str], others: int) -> dict[str, Any]:
    hidden = {"other columns": f"{others}, not shown here as they could be names"} if others else {}
    return {"columns": shown, **hidden}
