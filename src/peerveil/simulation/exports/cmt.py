"""Exports of Microsoft CMT."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from peerveil.simulation.conferences import Conference
from peerveil.simulation.exports.style import TEXT, WORDS, Cast, Style, reviews_of, title

_TIME = "3/1/2026 4:05:06 AM -08:00"
_NAMESPACE = "urn:schemas-microsoft-com:office:spreadsheet"
_COLUMNS = (
    *("Paper ID", "Paper Title", "Reviewer Name", "Reviewer Email", "Reviewer Number", "Created", "Last Modified"),
    *("Q1 (Comments\nto authors)", "Q2 (Overall\nrating)", "Q2 (Overall\nrating - Value)"),
    *("Q3 (Confidence)", "Q3 (Confidence - Value)"),
)


def workbook(conference: Conference, cast: Cast, style: Style) -> bytes:
    """Return the workbook of reviews, one sheet per track."""
    criteria = [f"Q{i} ({name}{end})" for i, name in enumerate(conference.criteria, 4) for end in ("", " - Value")]
    number: Counter[int] = Counter()
    tracks: tuple[list[Sequence[Any]], ...] = ([], [])
    for p, a, x, grades in reviews_of(conference):
        number[p] += 1
        who = (p + 1, title(p), cast.names[a], cast.emails[a], number[p], _TIME, _TIME)
        answers = [cell for grade in grades for cell in (WORDS[int(grade) % 6], style.score(grade))]
        tracks[p % 2].append((*who, TEXT, WORDS[int(x) % 6], style.score(x), "Fairly sure", 4, *answers))
    tracks[0].append((10**6, "A paper", cast.names[0], cast.emails[0], 1, "", "", "Unfinished", "", "", "", ""))
    top = (("Example Conference 2026",), (), (*_COLUMNS, *criteria))
    sheets = "".join(_sheet(f"Track {i}", [*top, *rows]) for i, rows in enumerate(tracks, 1))
    namespaces = f'xmlns="{_NAMESPACE}" xmlns:ss="{_NAMESPACE}"'
    return style.text(f'<?xml version="1.0"?>\n<Workbook {namespaces}>\n{sheets}</Workbook>\n')


def _sheet(name: str, rows: Iterable[Sequence[Any]]) -> str:
    lines = [f"<Worksheet ss:Name={quoteattr(name)}><Table>"]
    for row in rows:
        cells, gap = [], False
        for column, value in enumerate(row, 1):
            index = f' ss:Index="{column}"' if gap else ""
            kind = "Number" if isinstance(value, int | float) else "String"
            gap = value == ""  # an empty cell is left out, and the next one states its column
            text = escape(str(value), {"\n": "&#10;", "\r": "&#13;"})
            cells += [f'<Cell{index}><Data ss:Type="{kind}">{text}</Data></Cell>'] * (not gap)
        lines.append(f"<Row>{''.join(cells)}</Row>")
    return "\n".join([*lines, "</Table></Worksheet>", ""])
