"""The page of a comparison: one self-contained HTML file without scripts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from peerveil.reporting.report import rendered
from peerveil.support.version import software

#: The header and the rows of a table.
Rows = tuple[Iterable[str], Iterable[Iterable[str]]]


def comparison_html(
    *, title: str, sentences: Iterable[str], picture: str, tables: Mapping[str, Rows], words: Iterable[str]
) -> str:
    """Return the page of a comparison, with its chart as SVG and tables by their headings.

    >>> page = comparison_html(title="a < b", sentences=[], picture="<svg></svg>", tables={}, words=["No cause."])
    >>> "<h1>a &lt; b</h1>" in page, "<svg></svg>" in page, "<p>No cause.</p>" in page
    (True, True, True)
    """
    listed = [(heading, list(header), rows) for heading, (header, rows) in tables.items()]
    return rendered(
        "comparison.html",
        title=title,
        sentences=sentences,
        picture=picture,
        tables=listed,
        words=words,
        software=software(),
    )
