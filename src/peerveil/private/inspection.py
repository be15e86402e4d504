"""What is in a file, in numbers that name nobody."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from peerveil.private.readers import read
from peerveil.public_files import reviews_by_paper
from peerveil.record import Floats, check_scale
from peerveil.table_files import Source, read_table
from peerveil.tables import REVIEWER_NAMES, Table, criteria_columns


def inspect(
    source: Source,
    *,
    scale: tuple[float, float] | None = None,
    paper: str | None = None,
    reviewer: str | None = None,
    score: str | None = None,
    criteria: Sequence[str] = (),
    format: str | None = None,  # noqa: A002 - the name users know
) -> dict[str, Any]:
    """Counts, loads, the scores' range and problems of a private or public file; no identity, no mean.

    >>> import polars as pl
    >>> inspect(pl.DataFrame({"paper": ["a", "b"], "ratings": ["6;8;5", "3"]}))["problems"]
    ['1 of 2 papers have a single review: their miscalibration is not defined']
    """
    table = read_table(source, format=format)
    shown = table.header((paper, reviewer, score, *criteria))
    facts: dict[str, Any] = {"file": table.name, "format": table.kind, "columns": shown}
    if len(shown) < len(table.columns):
        facts["other columns"] = f"{len(table.columns) - len(shown)}, not shown here as they could be names"
    problems: list[str] = []
    if reviewer is not None or table.matches(REVIEWER_NAMES):
        reviews = read(source, scale=scale, paper=paper, reviewer=reviewer, score=score, format=format)
        facts |= {"content": "private reviews", "papers": len(reviews.papers), "reviews": reviews.score.size}
        facts |= {"reviewers": reviews.reviewers, "loads": reviews.loads().describe()}
        if reviews.reviewers < 2:
            problems.append("one reviewer only: nothing can be released")
        twins = _twins(table, table.find("reviewer", REVIEWER_NAMES, reviewer))
        if twins:
            problems.append(
                f"{twins} reviewers have the e-mail address of another but for upper and lower case: if they are the "
                "same people, write their addresses alike"
            )
        sizes: Sequence[int] = np.bincount(reviews.paper).tolist()
        scores = reviews.score
        grades = [table.numbers(name, gaps=True) for name in criteria_columns(table, criteria)]
    else:
        by_paper, without = reviews_by_paper(table, paper, score, criteria)
        scores, *grades = np.array([review for reviews in by_paper.values() for review in reviews]).T
        grades = [column[~np.isnan(scores)] for column in grades]
        check_scale(scores, scale)
        sizes = [len(row) for row in by_paper.values()]
        facts |= {"content": "public scores", "papers": len(sizes), "reviews": scores.size}
        if np.isnan(scores).any():
            facts["hidden scores"] = int(np.count_nonzero(np.isnan(scores)))
            scores = scores[~np.isnan(scores)]
        if without:
            problems.append(f"{without} papers have no score and are left out")
    alone = sum(size == 1 for size in sizes)
    if alone:
        problems.append(f"{alone} of {len(sizes)} papers have a single review: their miscalibration is not defined")
    facts["reviews per paper"] = f"{min(sizes)} to {max(sizes)}"
    different = f"{np.unique(scores).size} different values"
    facts["scores"] = f"{scores.min():g} to {scores.max():g}, {different}" if scores.size else "all hidden"
    facts["declared scale"] = "none" if scale is None else f"{scale[0]:g} to {scale[1]:g}"
    _describe(criteria, grades, facts, problems)
    facts["problems"] = problems
    return facts


def _describe(names: Sequence[str], grades: Sequence[Floats], facts: dict[str, Any], problems: list[str]) -> None:
    """The range of each criterion; reviews that lack one are a problem."""
    for name, column in zip(names, grades, strict=True):
        known = column[~np.isnan(column)]
        facts[f"criterion {name!r}"] = f"{known.min():g} to {known.max():g}" if known.size else "empty"
        if known.size < column.size:
            problems.append(f"{column.size - known.size} of {column.size} reviews lack the criterion {name!r}")


def _twins(table: Table, column: str) -> int:
    """How many reviewers' addresses are another one's, but for case."""
    addresses = {name for name in table.text(column) if "@" in name}
    return len(addresses) - len({address.casefold() for address in addresses})
