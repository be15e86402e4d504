"""HTML tables for notebooks (``_repr_html_``)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def table(title: str, rows: Iterable[Sequence[object]], *, header: Sequence[str] = (), below: str = "") -> str:
    """Return an HTML table with escaped cells, followed by the HTML ``below``.

    >>> table("A <record>", [("papers", 3)])
    '<table><caption>A &lt;record&gt;</caption><tbody><tr><th>papers</th><td>3</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(word)}</th>" for word in header)
    body = "".join(
        f"<tr><th>{escape(str(first))}</th>{''.join(f'<td>{escape(str(cell))}</td>' for cell in rest)}</tr>"
        for first, *rest in rows
    )
    top = f"<thead><tr>{head}</tr></thead>" if head else ""
    return f"<table><caption>{escape(title)}</caption>{top}<tbody>{body}</tbody></table>{below}"
