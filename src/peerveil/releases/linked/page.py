"""Reports of correlations: self-contained HTML pages that run no script, rendered from published data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerveil.inference.linked import Interval
from peerveil.releases.effects.answers import Stated, percent
from peerveil.releases.linked.tables import shown_rows
from peerveil.reporting.answer_page import answer_html
from peerveil.reporting.charts.intervals import Row, intervals
from peerveil.reporting.charts.look import Picture
from peerveil.reporting.words import quantity_words, say

if TYPE_CHECKING:
    from peerveil.releases.linked.published import Correlation


def correlation_chart(release: Correlation) -> Picture:
    """Return the chart of correlations with their intervals."""
    names = dict(zip(("first", "second"), release.question.names, strict=True))
    made = release.estimated.observed
    if made.value is None:
        title = say("title.correlation_unknown", **names)
    elif made.low <= 0 <= made.high:
        title = say("title.not_correlated", **names)
    else:
        title = say("title.correlated", **names, value=f"{made.value:.2f}")
    return intervals(
        _rows(release),
        title=title,
        axis=say("chart.axis_correlation", **names),
        none=say("chart.no_correlation"),
        level=release.question.level,
        domain=(-1.0, 1.0),
    )


def correlation_html(release: Correlation) -> str:
    """Return the report of a correlation."""
    made = release.estimated
    names = release.question.names
    conferences: tuple[Stated, Stated] = (release, release.second)
    facts = [
        (
            name,
            say(
                "answer.conference_is",
                papers=f"{one.papers:,}",
                reviews=f"{one.loads.reviews:,}",
                loads=one.loads.describe(),
            ),
        )
        for name, one in zip(names, conferences, strict=True)
    ]
    declared = [(say("answer.declared", name=name), one.public) for name, one in zip(names, conferences, strict=True)]
    key = "answer.caption_correlation_observed" if made.trait is None else "answer.caption_correlation"
    return answer_html(
        "linked/correlation.html",
        release,
        correlation_chart(release),
        columns="correlation_column",
        findings=[release.sentence, *filter(None, [release.trait_sentence])],
        caption=say(key),
        made=[(say("answer.weight"), quantity_words(release.quantity).meaning), *facts, *declared],
        lead=say("answer.lead_both", first=names[0], second=names[1]),
        counts=[(say("answer.people"), say("report.about", reviewers=f"{made.people:,.0f}"))],
        records=[
            (say("answer.record_of", name=name), one.record_digest)
            for name, one in zip(names, conferences, strict=True)
        ],
        level=percent(release.question.level),
        rows=_rows(release),
        reliability="" if made.reliability is None else f"{100 * made.reliability:.0f} %",
        people=f"{made.people:,.0f}",
        table=shown_rows(release.cells) if release.cells else None,
    )


def _rows(release: Correlation) -> list[Row]:
    """The correlations, with their words."""
    shown = {"answer.observed": release.estimated.observed, "answer.trait": release.estimated.trait}
    return [_row(say(key), interval) for key, interval in shown.items() if interval is not None]


def _row(name: str, interval: Interval) -> Row:
    ends = {"low": f"{interval.low:.2f}", "high": f"{interval.high:.2f}"}
    if interval.value is None:
        return Row(name, None, interval.low, interval.high, say("answer.unknown", **ends))
    return Row(
        name, interval.value, interval.low, interval.high, say("answer.value", value=f"{interval.value:.2f}", **ends)
    )
