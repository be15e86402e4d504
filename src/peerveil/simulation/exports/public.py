"""Public scores in common formats."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from peerveil.simulation.conferences import Conference
from peerveil.simulation.exports.style import TEXT, Cast, Style, reviews_of, title


@dataclass(frozen=True)
class _Paper:
    """The scores of a paper, and for each criterion its grades in the same order."""

    index: int
    scores: list[float]
    grades: dict[str, list[float]]

    def joined(self, style: Style) -> dict[str, str]:
        """Return the grades of each criterion as one cell."""
        return {name: ";".join(style.scores(column)) for name, column in self.grades.items()}


def _papers(conference: Conference) -> list[_Paper]:
    papers: dict[int, _Paper] = {}
    for p, _, x, grades in reviews_of(conference):
        paper = papers.setdefault(p, _Paper(p, [], {name: [] for name in conference.criteria}))
        paper.scores.append(x)
        for column, grade in zip(paper.grades.values(), grades, strict=True):
            column.append(grade)
    return list(papers.values())


def rows(conference: Conference, cast: Cast, style: Style) -> bytes:
    """Return one row per paper, with scores separated by semicolons."""
    rows = [(p.index + 1, ";".join(style.scores(p.scores)), *p.joined(style).values()) for p in _papers(conference)]
    return style.csv([("paper", "ratings", *conference.criteria), *rows])


def numbered_tsv(conference: Conference, cast: Cast, style: Style) -> bytes:
    """Return one row per paper, with one column per review."""
    papers = _papers(conference)
    most = max(len(p.scores) for p in papers)
    rows = []
    for p in papers:
        scores = [*style.scores(p.scores), *[""] * (most - len(p.scores))]
        rows.append((p.index + 1, *scores, "Accept" if p.index % 3 else "Reject", *p.joined(style).values()))
    return replace(style, separator="\t").csv([("paper_id", *range(most), "decision", *conference.criteria), *rows])


def lists(conference: Conference, cast: Cast, style: Style) -> bytes:
    """Return one row per paper, with scores in a list."""
    rows = [
        (p.index + 1, title(p.index), str(p.scores), "Poster", *map(str, p.grades.values()))
        for p in _papers(conference)
    ]
    return style.csv([("id", "title", "ratings", "decision", *conference.criteria), *rows])


def paperlists(conference: Conference, cast: Cast, style: Style) -> bytes:
    """Return the JSON of Paperlists."""
    papers: list[dict[str, Any]] = [
        {
            "id": str(p.index + 1),
            "title": title(p.index),
            "status": "Poster",
            "rating": ";".join(style.scores(p.scores)),
            "confidence": ";".join("4" for _ in p.scores),
            "rating_avg": [float(np.mean(p.scores)), 0.5],
            **p.joined(style),
        }
        for p in _papers(conference)
    ]
    return style.json([*papers, {"id": "1000000", "title": "Desk rejected", "status": "Withdraw", "rating": ""}])


def peerread(conference: Conference, cast: Cast, style: Style) -> bytes:
    """Return the JSON of PeerRead."""
    papers = []
    for p in _papers(conference):
        reviews: list[dict[str, Any]] = [
            {"RECOMMENDATION": style.score(x), "CLARITY": "3", "comments": f"{TEXT} {i}"}
            | {name.upper(): style.score(column[i]) for name, column in p.grades.items()}
            for i, x in enumerate(p.scores)
        ]
        reviews += [{"RECOMMENDATION": "5", "is_meta_review": True, "comments": ""}, {"comments": "Without a score"}]
        papers.append({"id": str(p.index + 1), "title": title(p.index), "reviews": reviews})
    return style.json(papers)
