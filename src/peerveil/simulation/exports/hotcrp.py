"""HotCRP's exports."""

from __future__ import annotations

from typing import Any

from peerveil.simulation.conferences import Conference
from peerveil.simulation.exports.style import TEXT, Cast, Style, as_json, grades_of, reviews_of, title


def _letters(conference: Conference) -> list[str]:
    """The letter that HotCRP gives each review on its paper."""
    letters, seen = [], dict.fromkeys(range(int(conference.paper.max()) + 1), 0)
    for paper, _, _ in reviews_of(conference):
        letters.append(f"{paper + 1}{chr(65 + seen[paper] % 26) * (1 + seen[paper] // 26)}")
        seen[paper] += 1
    return letters


def _reviews(conference: Conference) -> list[tuple[tuple[int, int, float], str, tuple[float, ...]]]:
    """Each review with its letter and its criteria."""
    return list(zip(reviews_of(conference), _letters(conference), grades_of(conference), strict=True))


def reviews_csv(conference: Conference, cast: Cast, style: Style) -> bytes:
    """The reviews CSV."""
    header = (
        "paper",
        "title",
        "review",
        "reviewername",
        "email",
        "Overall merit",
        "Reviewer expertise",
        "Comments\nfor PC",
        *conference.criteria,
    )
    rows = [
        (p + 1, title(p), letter, cast.names[a], cast.emails[a], style.score(x), 3, TEXT, *style.scores(grades))
        for (p, a, x), letter, grades in _reviews(conference)
    ]
    without: tuple[Any, ...] = (
        10**6,
        "A paper with an unfinished review",
        "1000000A",
        cast.names[0],
        cast.emails[0],
        "",
        "",
        "",
    )
    without = (*without, *("" for _ in conference.criteria))
    return style.csv([header, *rows, without])


def scores_csv(conference: Conference, cast: Cast, style: Style) -> bytes:
    """The scores CSV."""
    header = ("paper", "title", "decision", "review", "reviewername", "email", "OveMer", "RevExp", *conference.criteria)
    rows = [
        (
            p + 1,
            title(p),
            "Accepted" if p % 3 else "Rejected",
            letter,
            cast.names[a],
            cast.emails[a],
            style.score(x),
            2,
            *style.scores(grades),
        )
        for (p, a, x), letter, grades in _reviews(conference)
    ]
    return style.csv([header, *rows])


def batch_csv(conference: Conference, cast: Cast, style: Style) -> bytes:
    """The CSV of batch/reviewcsv.php."""
    header = (
        "pid",
        "review",
        "email",
        "round",
        "submitted_at",
        "vtag",
        "status",
        "Overall merit",
        "Paper summary",
        *conference.criteria,
    )
    rows = [
        (p + 1, letter, cast.emails[a], "R1", _TIMES[i % 4], i, "complete", style.score(x), TEXT, *style.scores(grades))
        for i, ((p, a, x), letter, grades) in enumerate(_reviews(conference))
    ]
    draft = (10**6, "1000000A", cast.emails[0], "R1", "", 0, "draft", "3", "", *("" for _ in conference.criteria))
    return style.csv([header, *rows, draft])


_TIMES = ("2026-03-01T12:00:00Z", "2026-03-01T14:00:00+02:00", "2026-02-28T19:30:00-16:30", "1772366400")


def _objects(conference: Conference, cast: Cast) -> list[dict[str, Any]]:
    reviews: list[dict[str, Any]] = [
        {
            "object": "review",
            "pid": p + 1,
            "rid": i + 1,
            "ordinal": letter.lstrip("0123456789"),
            "rtype": 2,
            "round": "R1",
            "status": "complete",
            "reviewer": cast.names[a],
            "reviewer_email": cast.emails[a],
            "OveMer": x,
            "RevExp": False,
            **dict(zip(conference.criteria, grades, strict=True)),
        }
        for i, ((p, a, x), letter, grades) in enumerate(_reviews(conference))
    ]
    base = reviews[0] | {"pid": 10**6}
    return [*reviews, base | {"rtype": 5}, base | {"status": "draft"}, base | {"OveMer": False}]


def api_json(conference: Conference, cast: Cast, style: Style) -> bytes:
    """The JSON of the API."""
    return style.text(as_json({"ok": True, "reviews": _objects(conference, cast)}))


def rqc_json(conference: Conference, cast: Cast, style: Style) -> bytes:
    """rqc.json, where reviews hang on papers."""
    papers: dict[int, dict[str, Any]] = {}
    for review in _objects(conference, cast):
        paper = papers.setdefault(review["pid"], {"pid": review["pid"], "title": title(review["pid"]), "reviews": []})
        paper["reviews"].append({key: value for key, value in review.items() if key != "pid"})
    return style.text(as_json({"hotcrp_version": "3.1", "reviewform": {}, "papers": list(papers.values())}))
