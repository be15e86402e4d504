"""Exports of OpenReview."""

from __future__ import annotations

from typing import Any

from peerveil.simulation.conferences import Conference
from peerveil.simulation.exports.style import TEXT, WORDS, Cast, Style, reviews_of, title

_VENUE = "Example.org/2026/Conference"


def notes(conference: Conference, cast: Cast, style: Style, *, version: int) -> bytes:
    """Return notes and groups in the format of a version of the API."""
    part, replies = ("Submission", "replies") if version == 2 else ("Paper", "directReplies")
    settings = _content({"review_name": "Official_Review", "review_rating": "rating"})
    groups: list[dict[str, Any]] = [{"id": _VENUE, "members": [], "content": settings}]
    submissions: dict[int, dict[str, Any]] = {}
    for i, (p, a, x, grades) in enumerate(reviews_of(conference)):
        signature = _signature(p, a, part)
        groups.append({"id": signature, "members": [cast.emails[a]], "content": {}})
        submission = _note(f"paper{p + 1}", p, "Submission", [_VENUE], version=version) | {"details": {replies: []}}
        rating: Any = x if version == 2 else f"{style.score(x)}: {WORDS[int(x) % 6]}"
        given = grades if version == 2 else [f"{grade}: {WORDS[0]}" for grade in style.scores(grades)]
        content = {
            "rating": rating,
            "confidence": 4,
            "summary": TEXT,
            **dict(zip(conference.criteria, given, strict=True)),
        }
        review = _note(f"note{i + 1}", p, "Official_Review", [signature], content, version=version)
        submissions.setdefault(p, submission)["details"][replies].append(review)
    base: list[dict[str, Any]] = submissions[min(submissions)]["details"][replies]
    chair = [f"{_VENUE}/Paper1/Area_Chair_1"]
    meta = _note("meta", 0, "Meta_Review", chair, {"recommendation": "Accept"}, version=version)
    base += [meta, base[0] | {"id": "gone", "ddate": 1}]
    return style.json({"groups": groups, "notes": list(submissions.values())})


def _signature(paper: int, reviewer: int, part: str) -> str:
    letters = "".join(chr(65 + (1009 * paper + 9176 * reviewer) // 26**k % 26) for k in range(4))
    return f"{_VENUE}/{part}{paper + 1}/Reviewer_{letters}{reviewer}"


def _note(
    name: str, paper: int, kind: str, signatures: list[str], content: dict[str, Any] | None = None, *, version: int
) -> dict[str, Any]:
    fields = content or {"title": title(paper)}
    part = "Submission" if version == 2 else "Paper"
    invitation = f"{_VENUE}/{part}{paper + 1}/-/{kind}"
    return {
        "id": name,
        "forum": f"paper{paper + 1}",
        "replyto": None if kind == "Submission" else f"paper{paper + 1}",
        "signatures": signatures,
        "readers": ["everyone"],
        "tcdate": 1_772_366_400_000,
        **({"invitations": [invitation, f"{_VENUE}/-/Edit"]} if version == 2 else {"invitation": invitation}),
        "content": _content(fields) if version == 2 else fields,
    }


def _content(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: {"value": value} for name, value in fields.items()}
