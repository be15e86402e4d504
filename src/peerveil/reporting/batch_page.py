"""The public report of a batch as a table and as a page."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from peerveil.reporting.comparison_page import comparison_html
from peerveil.reporting.words import say
from peerveil.support.frames import csv_text

#: The columns of the table.
COLUMNS = ("name", "status", "claim", "expected_error", "verdict", "folder", "reason")

_STATUS = {"released": "batch.released", "stands": "batch.stands", "failed": "batch.failed"}


def batch_csv(report: Mapping[str, Any]) -> str:
    """Return the outcomes of a batch as CSV, from its public report.

    >>> print(batch_csv({"outcomes": [dict.fromkeys(COLUMNS, "") | {"name": "conf", "status": "failed"}]}).strip())
    name,status,claim,expected_error,verdict,folder,reason
    conf,failed,,,,,
    """
    return csv_text(COLUMNS, [[outcome[column] for column in COLUMNS] for outcome in report["outcomes"]])


def batch_html(report: Mapping[str, Any], *, reported: Container[str] = ()) -> str:
    """Return the outcomes of a batch as a page with links to the releases, from its public report.

    Args:
        report: the public report.
        reported: the folders that hold a report.html, which links lead to; otherwise they lead to the folder.
    """
    counts = say("batch.counts", **{name: report[name] for name in ("venues", "released", "stands", "failed")})
    header = tuple(map(say, ("batch.venue", "batch.status", "batch.claim", "batch.error", "batch.verdict")))
    status = {name: say(key) for name, key in _STATUS.items()}
    rows = [
        (
            _linked(outcome, "report.html" if outcome["folder"] in reported else ""),
            status[outcome["status"]],
            outcome["claim"],
            "" if outcome["expected_error"] is None else f"±{outcome['expected_error']:.2g}",
            outcome["verdict"],
        )
        for outcome in report["outcomes"]
    ]
    tables = {say("batch.venues"): (header, rows)}
    return comparison_html(title=say("batch.title"), sentences=[counts], picture="", tables=tables, words=())


def _linked(outcome: Mapping[str, Any], file: str) -> str:
    """The name of a venue, as a link to the folder of its release if it has one, or to a file in it."""
    if not outcome["folder"]:
        return str(outcome["name"])
    return Markup('<a href="{}/{}">{}</a>').format(quote(outcome["folder"]), file, outcome["name"])
