"""The files of answers about groups of people: report, table and metadata, from published data alone."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from peerveil.privacy.guarantee import Guarantee
from peerveil.reporting.charts.look import Picture, dark_css, to_svg
from peerveil.reporting.metadata import Described, bibtex_entry, croissant_of, dataset_of, licence_address
from peerveil.reporting.report import rendered, symbols
from peerveil.reporting.terms import Terms
from peerveil.reporting.words import say

#: Columns of texts; all others hold numbers.
_TEXTS = ("first", "second", "group", "what")


class Answered(Protocol):
    """What a report shows of an answer."""

    @property
    def quantity(self) -> str:
        """The weight of a review."""

    @property
    def guarantee(self) -> Guarantee:
        """The privacy claim."""

    @property
    def terms(self) -> Terms:
        """Licence, citation, and what it is about."""

    @property
    def venue(self) -> str:
        """Conference, year and group of papers, as far as stated."""

    @property
    def created(self) -> datetime:
        """Time of the release."""

    @property
    def software(self) -> str:
        """Name and version of the program."""

    @property
    def record_digest(self) -> str:
        """Fingerprint of the public record."""

    @property
    def title(self) -> str:
        """The title of the report."""

    @property
    def citation(self) -> str:
        """How to cite the release."""

    def statements(self) -> tuple[str, ...]:
        """What the report states."""

    def rows(self) -> list[dict[str, Any]]:
        """The rows of release.csv."""


def answer_html(
    template: str,
    answer: Answered,
    picture: Picture,
    *,
    columns: str,
    findings: Sequence[str],
    **values: Any,
) -> str:
    """Return the report of an answer.

    Args:
        template: the name of its template.
        answer: the answer.
        picture: its chart.
        columns: the words of the columns of its table.
        findings: what it says, the most important first.
        **values: what else the template shows.
    """
    described = _described(answer)
    variables = {name: say(f"{columns}.{name}") for name in answer.rows()[0]}
    # The page has the style of the chart, which has its own only in a file.
    svg = to_svg(picture).replace(f"<style>{dark_css()}</style>", "", 1)
    return rendered(
        template,
        answer=answer,
        about=answer.terms.about,
        venue=answer.venue,
        findings=findings,
        picture=svg,
        picture_style=dark_css(),
        symbols=symbols(answer.guarantee),
        day=answer.created.strftime("%Y-%m-%d"),
        time=answer.created.strftime("%Y-%m-%dT%H:%M:%SZ"),
        licence_address=licence_address(answer.terms.licence),
        bibtex=bibtex_entry(described),
        metadata=dataset_of(described, variables, ("release.csv", "release.json")),
        **values,
    )


def answer_csv(answer: Answered) -> str:
    """Return the text of release.csv: one row per number, or per group and range."""
    rows = answer.rows()
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def answer_croissant(answer: Answered, files: Mapping[str, bytes], *, columns: str) -> str:
    """Return the Croissant description of an answer, given the contents of its data files."""
    fields = {
        name: ("sc:Text" if name in _TEXTS else "sc:Float", say(f"{columns}.{name}")) for name in answer.rows()[0]
    }
    return croissant_of(_described(answer), fields, files, rows="numbers", words=say("answer.download_csv"))


def _described(answer: Answered) -> Described:
    claim = answer.guarantee
    words = say("answer.description", sentence=answer.statements()[0], claim=claim.summary, human=claim.human)
    return Described(
        title=answer.title,
        words=words,
        note=say("answer.note", quantity=answer.quantity, software=answer.software),
        claim=claim.summary,
        citation=answer.citation,
        terms=answer.terms,
        venue=answer.venue,
        created=answer.created,
        record_digest=answer.record_digest,
    )
