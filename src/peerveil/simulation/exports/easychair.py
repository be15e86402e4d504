"""Exports of EasyChair."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from typing import Any

from peerveil.simulation.conferences import Conference
from peerveil.simulation.exports.style import TEXT, Cast, Style, reviews_of

_COLUMNS = (
    *("#", "submission #", "member #", "member name", "number", "version", "text", "scores", "total score"),
    *("reviewer first name", "reviewer last name", "reviewer email", "reviewer person #"),
    *("date", "time", "attachment?"),
)


def _rows(conference: Conference, cast: Cast, style: Style) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for i, (p, a, x, grades) in enumerate(reviews_of(conference)):
        member = cast.members[a]
        first, _, last = cast.names[a].partition(" ")
        writer = (first, last, cast.emails[a], 5000 + a) if member != a else ("", "", "", "")
        when = (f"2026-03-{1 + i % 28:02d}", f"{i % 24:02d}:30", "no")
        given = "".join(
            f"\n{name}: {style.score(grade)}" for name, grade in zip(conference.criteria, grades, strict=True)
        )
        versions = [x + 1, x] if i == 0 else [x]  # the first review was changed once
        for version, score in enumerate(map(style.score, versions), 1):
            scores = f"Overall evaluation: {score}\nReviewer's confidence: 4{given}"
            review = (len(rows) + 1, p + 1, member + 1, cast.names[member], i + 1, version, TEXT, scores)
            rows.append((*review, score, *writer, *when))
    return rows


def review_csv(conference: Conference, cast: Cast, style: Style) -> bytes:
    """Return review.csv with its header."""
    return style.csv([_COLUMNS, *_rows(conference, cast, style)])


def bare_csv(conference: Conference, cast: Cast, style: Style) -> bytes:
    """Return review.csv without a header, and without the total score."""
    return style.csv([(*row[:8], *row[9:]) for row in _rows(conference, cast, style)])


def review_zip(conference: Conference, cast: Cast, style: Style) -> bytes:
    """Return the zip archive that contains review.csv."""
    reviews = review_csv(conference, cast, replace(style, packed=False))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in (("submission.csv", b"#,title\n1,A paper\n"), ("review.csv", reviews)):
            archive.writestr(zipfile.ZipInfo(name, (2026, 3, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()
