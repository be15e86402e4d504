"""Dumps of OpenReview."""

from __future__ import annotations

from typing import Any

from peerveil.simulation.conferences import Conference
from peerveil.simulation.exports.style import TEXT, WORDS, Cast, Style, as_json, grades_of, reviews_of, title

_VENUE = "Example.org/2026/Conference"


def _signature(paper: int, reviewer: int, part: str) -> str:
    letters = "".join(chr(65 + (1009 * paper + 9176 * reviewer) // 26**k % 26) for k in range(4))
    return f"{_VENUE}/{part}{paper + 1}/Reviewer_{letters}{reviewer}"


def notes_2(conference: Conference, cast: Cast, style: Style) -> bytes:
    """A dump of notes and groups, as version 2 of the API gives them."""
    return _notes(conference, cast, style, version=2)


def _notes(conference: Conference, cast: Cast, style: Style, *, version: int) -> bytes:
    part, replies = ("Submission", "replies") if version == 2 else ("Paper", "directReplies")
    groups = [
        {
            "id": _VENUE,
            "members": [],
            "content": _content({"review_name": "Official_Review", "review_rating": "rating"}),
        }
    ]
    submissions: dict[int, dict[str, Any]] = {}
    graded = grades_of(conference)
    for i, (p, a, x) in enumerate(reviews_of(conference)):
        signature = _signature(p, a, part)
        groups.append({"id": signature, "members": [cast.emails[a]], "content": {}})
        forum = submissions.setdefault(
            p, _note(f"paper{p + 1}", p, "Submission", [_VENUE], version=version) | {"details": {replies: []}}
        )
        rating = x if version == 2 else f"{style.score(x)}: {WORDS[int(x) % 6]}"
        grades = graded[i] if version == 2 else [f"{grade}: {WORDS[0]}" for grade in style.scores(graded[i])]
        content = {
            "rating": rating,
            "confidence": 4,
            "summary": TEXT,
            **dict(zip(conference.criteria, grades, strict=True)),
        }
        review = _note(f"note{i + 1}", p, "Official_Review", [signature], content, version=version)
        forum["details"][replies].append(review)
    base: list[dict[str, Any]] = submissions[min(submissions)]["details"][replies]
    meta = _note(
        "meta", 0, "Meta_Review", [f"{_VENUE}/Paper1/Area_Chair_1"], {"recommendation": "Accept"}, version=version
    )
    base += [meta, base[0] | {"id": "gone", "ddate": 1}]
    return style.text(as_json({"groups": groups, "notes": list(submissions.values())}))


def _note(
    name: str, paper: int, kind: str, signatures: list[str], content: dict[str, Any] | None = None, *, version: int
) -> dict[str, Any]:
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
        "content": _content(content or {"title": title(paper)}) if version == 2 else content or {"title": title(paper)},
    }


def _content(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: {"value": value} for name, value in fields.items()}


def notes_1(conference: Conference, cast: Cast, style: Style) -> bytes:
    """A dump of notes and groups, as version 1 of the API gives them."""
    return _notes(conference, cast, style, version=1)
