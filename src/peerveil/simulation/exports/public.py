"""Public scores, in the forms they come in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from peerveil.simulation.conferences import Conference
from peerveil.simulation.exports.style import TEXT, Cast, Style, as_json, grades_of, reviews_of, title


def _by_paper(conference: Conference) -> dict[int, list[float]]:
    papers: dict[int, list[float]] = {}
    for p, _, x in reviews_of(conference):
        papers.setdefault(p, []).append(x)
    return papers


def _grades(conference: Conference) -> dict[int, dict[str, list[float]]]:
    """For each paper its reviews' criteria, in the order of their scores."""
    papers: dict[int, dict[str, list[float]]] = {}
    for (p, _, _), grades in zip(reviews_of(conference), grades_of(conference), strict=True):
        paper = papers.setdefault(p, {name: [] for name in conference.criteria})
        for name, grade in zip(conference.criteria, grades, strict=True):
            paper[name].append(grade)
    return papers


def _joined(conference: Conference, style: Style) -> dict[int, dict[str, str]]:
    """For each paper its criteria, as they are written in a cell."""
    return {
        p: {name: ";".join(style.scores(column)) for name, column in paper.items()}
        for p, paper in _grades(conference).items()
    }


def rows(conference: Conference, cast: Cast, style: Style) -> bytes:
    """A row a paper, scores parted by semicolons."""
    grades = _joined(conference, style)
    rows = [(p + 1, ";".join(style.scores(scores)), *grades[p].values()) for p, scores in _by_paper(conference).items()]
    return style.csv([("paper", "ratings", *conference.criteria), *rows])


def numbered_tsv(conference: Conference, cast: Cast, style: Style) -> bytes:
    """A row a paper, a column a review."""
    papers, grades = _by_paper(conference), _joined(conference, style)
    most = max(map(len, papers.values()))
    rows = [
        (
            p + 1,
            *map(style.score, scores),
            *[""] * (most - len(scores)),
            "Accept" if p % 3 else "Reject",
            *grades[p].values(),
        )
        for p, scores in papers.items()
    ]
    return replace(style, separator="\t").csv([("paper_id", *range(most), "decision", *conference.criteria), *rows])


def lists(conference: Conference, cast: Cast, style: Style) -> bytes:
    """A row a paper, scores in a list."""
    grades = _grades(conference)
    rows = [
        (p + 1, title(p), str(scores), "Poster", *map(str, grades[p].values()))
        for p, scores in _by_paper(conference).items()
    ]
    return style.csv([("id", "title", "ratings", "decision", *conference.criteria), *rows])


def paperlists(conference: Conference, cast: Cast, style: Style) -> bytes:
    """Paperlists' JSON."""
    grades = _joined(conference, style)
    papers: list[dict[str, Any]] = [
        {"id": str(p + 1), "title": title(p), "status": "Poster", "rating": ";".join(map(style.score, scores)),
         "confidence": ";".join("4" for _ in scores), "rating_avg": [float(np.mean(scores)), 0.5],
         **grades[p]}
        for p, scores in _by_paper(conference).items()
    ]  # fmt: skip
    return style.text(
        as_json([*papers, {"id": "1000000", "title": "Desk rejected", "status": "Withdraw", "rating": ""}])
    )


def peerread(conference: Conference, cast: Cast, style: Style) -> bytes:
    """PeerRead's JSON."""
    papers = []
    graded = _grades(conference)
    for p, scores in _by_paper(conference).items():
        reviews: list[dict[str, Any]] = [
            {"RECOMMENDATION": style.score(x), "CLARITY": "3", "comments": TEXT}
            | {name.upper(): style.score(column[i]) for name, column in graded[p].items()}
            for i, x in enumerate(scores)
        ]
        reviews += [{"RECOMMENDATION": "5", "is_meta_review": True, "comments": ""}, {"comments": "Without a score"}]
        papers.append({"id": str(p + 1), "title": title(p), "reviews": reviews})
    return style.text(as_json(papers))
