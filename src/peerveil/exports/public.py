"""Public scores, in the forms they come in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from peerveil.exports.style import TEXT, Cast, Style, as_json, reviews_of, title
from peerveil.simulate import Conference


def _by_paper(conference: Conference) -> dict[int, list[float]]:
    papers: dict[int, list[float]] = {}
    for p, _, x in reviews_of(conference):
        papers.setdefault(p, []).append(x)
    return papers


def rows(conference: Conference, cast: Cast, style: Style) -> bytes:
    """A row a paper, scores parted by semicolons."""
    rows = [(p + 1, ";".join(map(style.score, scores))) for p, scores in _by_paper(conference).items()]
    return style.csv([("paper", "ratings"), *rows])


def numbered_tsv(conference: Conference, cast: Cast, style: Style) -> bytes:
    """A row a paper, a column a review."""
    papers = _by_paper(conference)
    most = max(map(len, papers.values()))
    rows = [
        (p + 1, *map(style.score, scores), *[""] * (most - len(scores)), "Accept" if p % 3 else "Reject")
        for p, scores in papers.items()
    ]
    return replace(style, separator="\t").csv([("paper_id", *range(most), "decision"), *rows])


def lists(conference: Conference, cast: Cast, style: Style) -> bytes:
    """A row a paper, scores in a list."""
    rows = [(p + 1, title(p), str(scores), "Poster") for p, scores in _by_paper(conference).items()]
    return style.csv([("id", "title", "ratings", "decision"), *rows])


def paperlists(conference: Conference, cast: Cast, style: Style) -> bytes:
    """Paperlists' JSON."""
    papers: list[dict[str, Any]] = [
        {"id": str(p + 1), "title": title(p), "status": "Poster", "rating": ";".join(map(style.score, scores)),
         "confidence": ";".join("4" for _ in scores), "rating_avg": [float(np.mean(scores)), 0.5]}
        for p, scores in _by_paper(conference).items()
    ]  # fmt: skip
    return style.text(
        as_json([*papers, {"id": "1000000", "title": "Desk rejected", "status": "Withdraw", "rating": ""}])
    )


def peerread(conference: Conference, cast: Cast, style: Style) -> bytes:
    """PeerRead's JSON."""
    papers = []
    for p, scores in _by_paper(conference).items():
        reviews: list[dict[str, Any]] = [
            {"RECOMMENDATION": style.score(x), "CLARITY": "3", "comments": TEXT} for x in scores
        ]
        reviews += [{"RECOMMENDATION": "5", "is_meta_review": True, "comments": ""}, {"comments": "Without a score"}]
        papers.append({"id": str(p + 1), "title": title(p), "reviews": reviews})
    return style.text(as_json(papers))
