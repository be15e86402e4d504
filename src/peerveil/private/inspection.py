"""Facts about a file that identify nobody."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from peerveil.errors import FileError
from peerveil.private.readers import choices_from, detect, extract
from peerveil.private.readers.attributes import identifies
from peerveil.private.readers.finish import finish, grades
from peerveil.private.readers.mapping import write_mapping
from peerveil.private.readers.openreview_live import is_venue
from peerveil.private.readers.protocol import Choices
from peerveil.private.reviews import Reviews
from peerveil.record.loads import Loads
from peerveil.record.oddities import outlying_loads, placeholders
from peerveil.record.public_formats import PAPERLISTS, PEERREAD, is_folder, recognise
from peerveil.record.public_record import Floats, check_scale
from peerveil.record.public_scores import public_scores
from peerveil.tables.cells import to_number
from peerveil.tables.conditions import IdleFilter
from peerveil.tables.headings import PAPER_NAMES, REVIEWER_NAMES, REVIEWER_NAMES_ELSE, wanted_columns
from peerveil.tables.layout import PAPER, SCORE
from peerveil.tables.opening import Opening, Readable, Source, located, open_source
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
    opened = _opened(source, choices)
    file = opened.name if isinstance(opened, Source) else str(source)
    private = not public and _is_private(opened, choices)
    found = _private_contents(opened, choices) if private else _public_contents(opened, choices, public, file)
    facts, problems, sizes, scores = found.facts, found.problems, found.sizes, found.scores
    if alone := sum(size == 1 for size in sizes):
        problems.append(f"{alone} of {len(sizes)} papers have a single review: their miscalibration is not defined")
    facts["reviews per paper"] = f"{min(sizes)} to {max(sizes)}" if min(sizes) < max(sizes) else f"{min(sizes)}"
    different = f"{np.unique(scores).size} different values"
    facts["scores"] = f"{scores.min():g} to {scores.max():g}, {different}" if scores.size else "all hidden"
    facts["declared scale"] = "none; state the lowest and the highest possible score"
    if found.scale is not None:
        facts["declared scale"] = f"{found.scale[0]:g} to {found.scale[1]:g}"
    elif scores.size:
        problems += placeholders(scores)
    for name, column in found.graded.items():
        values = column[~np.isnan(column)]
        facts[f"criterion {name!r}"] = f"{values.min():g} to {values.max():g}" if values.size else "empty"
        if values.size < column.size:
            problems.append(f"{column.size - values.size} of {column.size} reviews lack the criterion {name!r}")
    lists = {"notices": list(found.notices), "idle filters": [asdict(one) for one in found.idle]}
    return (
        {"file": file} | facts | {name: entries for name, entries in lists.items() if entries} | {"problems": problems}
    )


@dataclass(frozen=True, kw_only=True)
class _Contents:
    """Contents of a file: facts, problems, reviews per paper, scores, scale, criteria by name, and how it was read."""

    facts: dict[str, Any]
    problems: list[str]
    sizes: Sequence[int]
    scores: Floats
    scale: tuple[float, float] | None
    graded: Mapping[str, Floats]
    notices: tuple[str, ...] = ()
    idle: tuple[IdleFilter, ...] = ()


def _private_contents(opened: Readable, choices: Choices) -> _Contents:
    """Return the contents of a file of private reviews."""
    extracted, kind, why = extract(opened, choices)
    reviews = finish(replace(extracted, criteria={}), choices, format=kind, why=why)
    taken: Mapping[str, str] = extracted.taken or {
        **dict.fromkeys(extracted.labels.values(), "filter"),
        extracted.paper: "paper",
        extracted.reviewer: "reviewer",
        extracted.score: "score",
        **dict.fromkeys(extracted.criteria.values(), "criterion"),
    }
    facts: dict[str, Any] = {"format": kind, "because": why}
    header: tuple[str, ...] = ()
    if kind in FORMATS:
        header = extracted.table.header
        facts |= {"format": extracted.table.kind, "columns": list(header)}
    facts["taken"] = _taken(taken, header, choices)
    problems = [*reviews.report.problems]
    if reviews.reviewers < 2:
        problems.append("one reviewer only: nothing can be released")
    return _Contents(
        facts=facts | _private_facts(reviews),
        problems=problems + outlying_loads(np.bincount(reviews.reviewer)),
        sizes=np.bincount(reviews.paper).tolist(),
        scores=reviews.score,
        scale=reviews.scale,
        graded=grades(extracted),
        notices=reviews.report.notices,
        idle=reviews.report.idle,
    )


def _public_contents(opened: Readable, choices: Choices, asked: str | None, file: str) -> _Contents:
    """Return the contents of a file of public scores."""
    names: dict[str, Any] = {"paper": choices.paper, "ratings": choices.score, "criteria": choices.criteria}
    names |= {"only": choices.only, "leave_out": choices.leave_out}
    shown = public_scores(opened, format=asked or choices.format, **names)
    scores, hidden = shown.score, np.isnan(shown.score)
    check_scale(np.empty(0), choices.scale)  # an invalid scale is not an error of the file
    located(lambda: check_scale(scores, choices.scale), file)
    sizes = shown.sizes.tolist()
    facts: dict[str, Any] = {"format": shown.format, "because": shown.why}
    if shown.format in _PUBLIC_NAMES:
        facts["taken"] = _taken(_PUBLIC_NAMES[shown.format], (), choices)
    else:
        facts |= {"columns": list(shown.columns), "taken": _taken(shown.taken, shown.columns, choices)}
    facts |= {"content": "public scores", "papers": len(sizes), "reviews": scores.size}
    if shown.left_out or shown.filtered:
        left_out = [f"{count} {reason}" for reason, count in shown.left_out.items()]
        facts["left out"] = [*left_out, *(entry.words for entry in shown.filtered)]
    if hidden.any():
        facts["hidden scores"] = int(np.count_nonzero(hidden))
    problems = [f"{shown.without} papers have no score and are left out"] if shown.without else []
    if shown.doubled:
        copies = f"{shown.doubled} of {scores.size} reviews repeat another review of their paper, text and score"
        problems.append(f"{copies}: every copy counts, unless copies are dropped (--drop-copies)")
    if shown.others and shown.format in FORMATS:
        problems.append(
            "no column of reviewers was found, so the file is read as public scores; if it holds reviews, name the "
            "column of reviewers (--reviewer)"
        )
    return _Contents(
        facts=facts,
        problems=problems,
        sizes=sizes,
        scores=scores[~hidden],
        scale=choices.scale,
        graded={name: column[~hidden] for name, column in shown.criteria.items()},
        notices=shown.notices,
    )


#: The members of public JSON formats that hold papers and scores.
_PUBLIC_NAMES = {
    PAPERLISTS: {"id": "paper", "rating": "score"},
    PEERREAD: {"id": "paper", "RECOMMENDATION": "score"},
}


def draft_mapping(source: Readable, path: str | os.PathLike[str], **arguments: Any) -> None:
    """Write a mapping with the arguments that a file determines; the others are left to fill in.

    Names of columns that could be people's are not written, so that the draft identifies nobody.
    """
    choices = choices_from(None, **arguments)
    opened = open_source(source, _opening(choices))
    kind, why = detect(opened.look, choices.format)
    known: dict[str, Any] = {key: value for key, value in arguments.items() if value not in (None, [], (), False)}
    known["format"] = kind
    if opened.workbook is not None and len(opened.sheet.others) > 1:
        known["sheet"] = opened.sheet.name
    comments = {"format": f"the file's format: {why}"}
    if kind in FORMATS:
        table = _heading(opened, choices)
        known = _usual(table) | known
        headings = ", ".join(repr(" ".join(name.split())) for name in table.showable())
        comments["paper"] = f"the column of papers; the file has {headings or 'only columns that could be names'}"
    write_mapping(path, known, comments)


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The headings of a table, which only its owner may see, and those with a usual name by their role."""

    headings: tuple[str, ...]
    usual: Mapping[str, str]


def columns(source: Readable, *, mapping: str | os.PathLike[str] | None = None, **arguments: Any) -> Columns:
    """Return the headings of a table with one row per review; a platform's export, or a table without any, is refused.

    >>> import polars as pl
    >>> columns(pl.DataFrame({"Paper": [1], "Gutachter": ["ann"], "Note": [3]})).usual
    {'paper': 'Paper'}
    """
    choices = choices_from(mapping, **arguments)
    opened = open_source(source, _opening(choices))
    kind, why = detect(opened.look, choices.format)
    if kind not in FORMATS:
        raise FileError(f"is an export that is read as it is ({why}); its columns need no names", file=opened.name)
    table = read_table(opened, format=choices.format)
    if len(table.header) < _FEWEST or any(_is_cell(table, name) for name in table.header):
        raise table.error(
            "its first line looks like a review, not like headings; add a line with a name for each column"
        )
    return Columns(headings=table.header, usual=_usual(table))


def attribute_columns(source: Readable) -> tuple[str, ...]:
    """Return the headings of a table of reviewers that do not identify them, to be shown to its owner only.

    >>> import polars as pl
    >>> attribute_columns(pl.DataFrame({"Reviewer": ["ann"], "Name": ["Ann"], "Seniority": ["senior"]}))
    ('Seniority',)
    """
    table = read_table(source)
    if any(_is_cell(table, name) for name in table.header):
        raise table.error("its first line looks like a reviewer, not like headings")
    return tuple(name for name in table.header if not identifies(name))


#: The columns that reviews need: paper, reviewer and score.
_FEWEST = 3


def _is_cell(table: Table, heading: str) -> bool:
    """Return whether a heading looks like a cell of a table without headings, which must not be shown."""
    if "@" in heading or heading.startswith("~") or (table.cells[heading] == heading).any():
        return True
    return to_number(heading) is not None and not table.showable()


def _usual(table: Table) -> dict[str, str]:
    """Return the column of each role that exactly one column has a usual name for."""
    roles = {"paper": PAPER_NAMES, "reviewer": table.reviewer_names(), "score": table.score_names()}
    matches = {role: table.matches(names) for role, names in roles.items()}
    return {role: columns[0] for role, columns in matches.items() if len(columns) == 1}


def _opened(source: Readable, choices: Choices) -> Readable:
    """Return an opened file or frame; a venue or a folder is returned as it is."""
    if is_venue(source) or (choices.format is None and is_folder(source)):
        return source
    return open_source(source, _opening(choices))


def _opening(choices: Choices) -> Opening:
    """Return what is known about a file that may hold private reviews or public scores."""
    opening = choices.opening()
    public = frozenset({choices.paper or PAPER, choices.score or SCORE})
    return replace(opening, needs=(*opening.needs, public))


def _is_private(source: Readable, choices: Choices) -> bool:
    """Return whether a file holds private reviews: a platform's export, or a table with a column of reviewers."""
    if not isinstance(source, Source):
        return is_venue(source)
    kind, _ = detect(source.look, choices.format)
    private = (choices.reviewer, choices.person, choices.ids, choices.people, choices.review_name, choices.symbols)
    if kind not in FORMATS or any(stated is not None for stated in private):
        return True
    look = source.look
    header = look.first if look.tabular and choices.format is None else _heading(source, choices).header
    return not recognise(look)[0] and any(map(_NAMES_REVIEWERS, header))


_NAMES_REVIEWERS = wanted_columns((*REVIEWER_NAMES, *REVIEWER_NAMES_ELSE))


def _heading(source: Source, choices: Choices) -> Table:
    """Return a table of which only the header is read."""
    return read_table(source, format=choices.format, wanted=lambda _: False)


def _private_facts(reviews: Reviews) -> dict[str, Any]:
    report = reviews.report
    facts: dict[str, Any] = {"content": "private reviews", "papers": len(reviews.papers), "reviews": reviews.score.size}
    loads = (reviews.whole or reviews).loads()  # stated loads are those of the whole conference
    facts |= {"reviewers": loads.reviewers, "loads": loads.brief(), "load counts": _counts(loads)}
    if reviews.whole is not None:
        facts["loads among kept reviews"] = reviews.loads().brief()
    facts["left out"] = list(report.left_out)
    facts["public"] = [*report.shows, "you say what is public (--public); nothing is assumed"]
    return facts


def _counts(loads: Loads) -> str:
    """Return the number of reviewers with each load, as users state it."""
    return ",".join(f"{load}:{count}" for load, count in loads.stated()["loads"].items())


def _taken(taken: Mapping[str, str], header: Sequence[str], choices: Choices) -> list[dict[str, str]]:
    """Return for each column what it was taken for, and why."""
    named = (choices.paper, choices.reviewer, choices.score, *choices.criteria, *choices.labels)
    addressed = any(map(wanted_columns(REVIEWER_NAMES_ELSE), header))

    def why(column: str, role: str) -> str:
        if column in named:
            return "you named it"
        if role == "reviewer" and addressed and not wanted_columns(REVIEWER_NAMES_ELSE)(column):
            return "a usual name; an id or address identifies people better than a name"
        if column.isdecimal():
            return "one column per review"
        return "a usual name" if header else "its name in this format"

    order = {role: place for place, role in enumerate(("paper", "reviewer", "score", "criterion", "filter"))}
    rows = sorted(taken.items(), key=lambda item: order[item[1]])
    used = [{"column": column, "taken as": role, "why": why(column, role)} for column, role in rows]
    others = [{"column": column, "taken as": "", "why": ""} for column in header if column not in taken]
    return used + others
