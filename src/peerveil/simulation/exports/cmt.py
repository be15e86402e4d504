"""Microsoft CMT's export."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from peerveil.simulation.conferences import Conference
from peerveil.simulation.exports.style import TEXT, WORDS, Cast, Style, grades_of, reviews_of, title


def workbook(conference: Conference, cast: Cast, style: Style) -> bytes:
    """The workbook of reviews, a sheet a track."""
    people = (
        "Paper ID",
        "Paper Title",
        "Reviewer Name",
        "Reviewer Email",
        "Reviewer Number",
        "Created",
        "Last Modified",
    )
    questions = ("Q1 (Comments\nto authors)", "Q2 (Overall\nrating)", "Q2 (Overall\nrating - Value)")
    asked = [f"Q{i} ({name}{end})" for i, name in enumerate(conference.criteria, 4) for end in ("", " - Value")]
    header = (*people, *questions, "Q3 (Confidence)", "Q3 (Confidence - Value)", *asked)
    place: dict[int, int] = {}
    tracks: tuple[list[Sequence[Any]], ...] = ([], [])
    for (p, a, x), grades in zip(reviews_of(conference), grades_of(conference), strict=True):
        place[p] = place.get(p, 0) + 1
        who = (p + 1, title(p), cast.names[a], cast.emails[a], place[p], _CMT_TIME, _CMT_TIME)
        answers = [cell for grade in grades for cell in (WORDS[int(grade) % 6], style.score(grade))]
        tracks[p % 2].append((*who, TEXT, WORDS[int(x) % 6], style.score(x), "Fairly sure", 4, *answers))
    tracks[0].append((10**6, "A paper", cast.names[0], cast.emails[0], 1, "", "", "Unfinished", "", "", "", ""))
    sheets = "".join(
        _sheet(f"Track {i}", [("Example Conference 2026",), (), header, *rows]) for i, rows in enumerate(tracks, 1)
    )
    namespaces = (
        'xmlns="urn:schemas-microsoft-com:office:spreadsheet" xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet"'
    )
    return style.text(f'<?xml version="1.0"?>\n<Workbook {namespaces}>\n{sheets}</Workbook>\n')


_CMT_TIME = "3/1/2026 4:05:06 AM -08:00"


def _sheet(name: str, rows: Iterable[Sequence[Any]]) -> str:
    lines = [f"<Worksheet ss:Name={quoteattr(name)}><Table>"]
    for row in rows:
        cells, gap = [], False
        for place, value in enumerate(row, 1):
            index = f' ss:Index="{place}"' if gap else ""
            kind = "Number" if isinstance(value, int | float) else "String"
            gap = value == ""  # an empty cell is left out, and the next one says where it stands
            text = escape(str(value), {"\n": "&#10;", "\r": "&#13;"})
            cells += [f'<Cell{index}><Data ss:Type="{kind}">{text}</Data></Cell>'] * (not gap)
        lines.append(f"<Row>{''.join(cells)}</Row>")
    return "\n".join([*lines, "</Table></Worksheet>", ""])
