"""Exports of HotCRP."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from peerveil.simulation.conferences import Conference
from peerveil.simulation.exports.style import TEXT, Cast, Review, Style, reviews_of, title

_TIMES = ("2026-03-01T12:00:00Z", "2026-03-01T14:00:00+02:00", "2026-02-28T19:30:00-16:30", "1772366400")


def _reviews(conference: Conference) -> list[tuple[Review, str]]:
    """Return each review with the name that HotCRP gives it: its paper's number and a letter."""
    return [
        (review, f"{paper + 1}{chr(65 + count % 26) * (1 + count // 26)}")
        for paper, reviews in groupby(reviews_of(conference), key=lambda review: review.paper)
        for count, review in enumerate(reviews)
    ]


def reviews_csv(conference: Conference, cast: Cast, style: Style) -> bytes:
    """Return the reviews CSV."""
    columns = ("paper", "title", "review", "reviewername", "email", "Overall merit", "Reviewer expertise")
    rows = [
        (p + 1, title(p), name, cast.names[a], cast.emails[a], style.score(x), 3, TEXT, *style.scores(grades))
        for (p, a, x, grades), name in _reviews(conference)
    ]
    unfinished = (10**6, "A paper with an unfinished review", "1000000A", cast.names[0], cast.emails[0], "", "", "")
    return style.csv(
        [(*columns, "Comments\nfor PC", *conference.criteria), *rows, (*unfinished, *[""] * len(conference.criteria))]
    )


def scores_csv(conference: Conference, cast: Cast, style: Style) -> bytes:
    """Return the scores CSV."""
    header = ("paper", "title", "decision", "review", "reviewername", "email", "OveMer", "RevExp", *conference.criteria)
    rows = []
    for (p, a, x, grades), name in _reviews(conference):
        paper = (p + 1, title(p), "Accepted" if p % 3 else "Rejected")
        rows.append((*paper, name, cast.names[a], cast.emails[a], style.score(x), 2, *style.scores(grades)))
    return style.csv([header, *rows])


def batch_csv(conference: Conference, cast: Cast, style: Style) -> bytes:
    """Return the CSV of batch/reviewcsv.php."""
    columns = ("pid", "review", "email", "round", "submitted_at", "vtag", "status", "Overall merit", "Paper summary")
    rows = [
        (p + 1, name, cast.emails[a], "R1", _TIMES[i % 4], i, "complete", style.score(x), TEXT, *style.scores(grades))
        for i, ((p, a, x, grades), name) in enumerate(_reviews(conference))
    ]
    draft = (10**6, "1000000A", cast.emails[0], "R1", "", 0, "draft", "3", "", *[""] * len(conference.criteria))
    return style.csv([(*columns, *conference.criteria), *rows, draft])


def _objects(conference: Conference, cast: Cast) -> list[dict[str, Any]]:
    reviews: list[dict[str, Any]] = [
        {
            "object": "review",
            "pid": p + 1,
            "rid": i + 1,
            "ordinal": name.lstrip("0123456789"),
            "rtype": 2,
            "round": "R1",
            "status": "complete",
            "reviewer": cast.names[a],
            "reviewer_email": cast.emails[a],
            "OveMer": x,
            "RevExp": False,
            **dict(zip(conference.criteria, grades, strict=True)),
        }
        for i, ((p, a, x, grades), name) in enumerate(_reviews(conference))
    ]
    base = reviews[0] | {"pid": 10**6}
    return [*reviews, base | {"rtype": 5}, base | {"status": "draft"}, base | {"OveMer": False}]


def api_json(conference: Conference, cast: Cast, style: Style) -> bytes:
    """Return the JSON of the API."""
    return style.json({"ok": True, "reviews": _objects(conference, cast)})


def rqc_json(conference: Conference, cast: Cast, style: Style) -> bytes:
    """Return rqc.json, in which reviews are nested in papers."""
    papers: dict[int, dict[str, Any]] = {}
    for review in _objects(conference, cast):
        paper = papers.setdefault(review["pid"], {"pid": review["pid"], "title": title(review["pid"]), "reviews": []})
        paper["reviews"].append({key: value for key, value in review.items() if key != "pid"})
    return style.json({"hotcrp_version": "3.1", "reviewform": {}, "papers": list(papers.values())})
