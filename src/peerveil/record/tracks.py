"""Groups of papers, such as tracks and areas: which papers they contain, and the part of a record they make."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from peerveil.errors import Argument, InputError, RecordError
from peerveil.record.loads import declare_loads
from peerveil.record.parts import Part
from peerveil.record.public_record import PublicRecord
from peerveil.tables.headings import PAPER_NAMES
from peerveil.tables.layout import PAPER
from peerveil.tables.opening import Opening, Readable, announce, open_source
from peerveil.tables.reading import read_table
from peerveil.tables.totals import without_totals

#: Usual names of the column of groups.
GROUP_NAMES = ("group", "track", "area", "primary area", "subject area")

#: A group with fewer reviewers than this is small: estimates are poor, and its reviewers are easily guessed.
SMALL = 20


def check_group_name(name: str) -> str:
    """Return the name of a group if it can be published."""
    if not (name.strip() and name.isprintable() and len(name) <= 200):
        raise InputError("the name of a group must be 1 to 200 printable characters")
    return name


def folder_names(groups: Collection[str]) -> dict[str, str]:
    """Return, for each group, a folder name that is valid on every system.

    >>> folder_names(["Theory & proofs", "systems"])
    {'Theory & proofs': 'Theory-proofs', 'systems': 'systems'}
    """
    names = {group: re.sub(r"[^\w+.]+", "-", check_group_name(group)).strip("-._") or "group" for group in groups}
    name, count = Counter(map(str.casefold, names.values())).most_common(1)[0] if names else ("", 0)
    if count > 1:
        raise InputError(f"several groups would get the folder {name!r}; give them names that differ more")
    return names


def read_groups(
    source: Readable,
    *,
    paper: str | None = None,
    group: str | None = None,
    sheet: str | None = None,
    encoding: str | None = None,
) -> dict[str, str]:
    """Return the group of each paper, from a table with one row per paper or per review.

    Args:
        source: a CSV, TSV, Parquet or JSON file, a workbook, bytes, or a frame. The groups of papers must be public.
        paper: the column of papers, if its name is not a usual one.
        group: the column of groups, if its name is not a usual one.
        sheet: the sheet of a workbook, if several could be meant.
        encoding: the encoding of a text that is not UTF-8; detected where that is possible.

    >>> import polars as pl
    >>> read_groups(pl.DataFrame({"paper": ["p", "q", "q"], "track": ["theory", "systems", "systems"]}))
    {'p': 'theory', 'q': 'systems'}
    """
    columns = tuple(name for name in (paper, group) if name)
    needs = (frozenset({paper or PAPER, *((group,) if group else ())}),)
    opened = open_source(source, Opening(sheet=sheet, encoding=encoding, columns=columns, needs=needs))
    table = read_table(opened)
    named = table.find("paper", PAPER_NAMES, paper)
    column = table.find("group", GROUP_NAMES, group, remedy="call it 'group'")
    table = without_totals(table, named, column)
    announce(table.name, (*opened.notices, *table.notices))
    papers = table.text(named)
    groups: dict[str, str] = {}
    for row, (name, label) in enumerate(zip(papers, table.text(column), strict=True)):
        if groups.setdefault(name, label) != label:
            raise table.error("a paper is in two groups; it must be in one", row=row, column=column)
    return groups


def papers_by_group(papers: Sequence[str], groups: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the papers of each group; every paper must be in one.

    >>> papers_by_group(["p", "q"], {"p": "theory", "q": "systems", "z": "elsewhere"})
    {'systems': ['q'], 'theory': ['p']}
    """
    missing = sum(paper not in groups for paper in papers)
    if missing:
        raise RecordError(
            f"{missing} of {len(papers)} papers are in no group of ", Argument("groups"), "; each must be"
        )
    names = sorted({check_group_name(groups[paper]) for paper in papers})
    return {name: [paper for paper in papers if groups[paper] == name] for name in names}


def part_of(record: PublicRecord, papers: Collection[str], *, part: Part | None = None, **loads: Any) -> PublicRecord:
    """Return the part of a public record with some of its papers.

    Args:
        record: the record.
        papers: the papers to keep.
        part: the whole conference, if neighbouring assignments are those of the whole conference.
        loads: the public loads *in this part*, as in :func:`peerveil.record.loads.declare_loads`.

    >>> record = PublicRecord.from_rows([[8, 6], [3, 5], [1, 2]], papers=["p", "q", "r"], load=2)
    >>> part_of(record, ["p", "q"], reviewers=3, loads=(1, 2))
    PublicRecord(2 papers, 4 reviews, 3 reviewers: 2 reviewers with 1 review, 1 reviewer with 2 reviews)
    """
    wanted = set(papers)
    kept = [place for place, name in enumerate(record.papers) if name in wanted]
    if len(kept) < len(wanted):
        raise RecordError(f"{len(wanted) - len(kept)} papers are not in the public record")
    reviews = np.flatnonzero(np.isin(record.paper, kept))
    criteria = None
    if record.criteria is not None:
        criteria = dict(zip(record.criteria_names, record.criteria[reviews].T, strict=True))
    return PublicRecord.from_reviews(
        [record.papers[place] for place in kept],
        np.searchsorted(kept, record.paper[reviews]),
        record.score[reviews],
        declare_loads(reviews.size, papers=len(kept), **loads),
        scale=record.scale,
        notes=record.notes,
        criteria=criteria,
        part=part,
    )
