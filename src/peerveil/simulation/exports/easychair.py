"""EasyChair's exports."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from typing import Any

from peerveil.simulation.conferences import Conference
from peerveil.simulation.exports.style import TEXT, Cast, Style, grades_of, reviews_of


def _rows(conference: Conference, cast: Cast, style: Style) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    names = tuple(conference.criteria)
    graded = grades_of(conference)
    for i, (p, a, x) in enumerate(reviews_of(conference)):
        member = cast.members[a]
        first, _, last = cast.names[a].partition(" ") if member != a else ("", "", "")
        writer = (first, last, cast.emails[a], 5000 + a) if member != a else ("", "", "", "")
        for version in range(1, 2 + (i == 0)):  # the first review was changed once
            score = x if version == 1 + (i == 0) else x + 1
            scores = f"Overall evaluation: {style.score(score)}\nReviewer's confidence: 4"
            scores += "".join(f"\n{name}: {grade}" for name, grade in zip(names, style.scores(graded[i]), strict=True))
            when = (f"2026-03-{1 + i % 28:02d}", f"{i % 24:02d}:30", "no")
            review = (len(rows) + 1, p + 1, member + 1, cast.names[member], i + 1, version, TEXT, scores)
            rows.append((*review, style.score(score), *writer, *when))
    return rows


_EASYCHAIR = (
    *("#", "submission #", "member #", "member name", "number", "version", "text", "scores", "total score"),
    *(
        "reviewer first name",
        "reviewer last name",
        "reviewer email",
        "reviewer person #",
        "date",
        "time",
        "attachment?",
    ),
)


def review_csv(conference: Conference, cast: Cast, style: Style) -> bytes:
    """review.csv with its header."""
    return style.csv([_EASYCHAIR, *_rows(conference, cast, style)])


def bare_csv(conference: Conference, cast: Cast, style: Style) -> bytes:
    """review.csv without a header, and without the total score."""
    return style.csv([(*row[:8], *row[9:]) for row in _rows(conference, cast, style)])


def review_zip(conference: Conference, cast: Cast, style: Style) -> bytes:
    """The zip that review.csv comes in."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in (
            ("submission.csv", b"#,title\n1,A paper\n"),
            ("review.csv", review_csv(conference, cast, replace(style, packed=False))),
        ):
            archive.writestr(zipfile.ZipInfo(name, (2026, 3, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
