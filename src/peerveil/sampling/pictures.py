"""Charts of how draws of tables went: their fit to what was released, and their mixing."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import numpy as np

from peerveil.reporting.charts import look, to_svg
from peerveil.reporting.plots import Plot
from peerveil.reporting.words import say
from peerveil.sampling.tables import SampledTables

#: Width and height of a panel, and the characters of a line above them.
_WIDTH, _HEIGHT, _LINE = 280, 210, 76


def fit_rows(tables: SampledTables) -> list[dict[str, Any]]:
    """Return, for each cell of what was released, the number of reviewers in the tables and in the posterior's draws.

    Both are means over the tables; ``low`` and ``high`` are the ends of what is in nine tenths of them.
    """
    counts = np.array([drawn.counts for drawn in tables.draws])
    first = tables.cells.first
    rows = []
    for number, margin in enumerate(tables.cells.margins):
        for place in range(margin.size):
            cell = int(first[number]) + place
            low, high = np.quantile(counts[:, cell], (0.05, 0.95)).tolist()
            rows.append(
                {
                    "margin": number,
                    "cell": place + 1,
                    "wanted": float(tables.wanted[:, cell].mean()),
                    "tables": float(counts[:, cell].mean()),
                    "low": low,
                    "high": high,
                }
            )
    return rows


def mixing_rows(tables: SampledTables) -> list[dict[str, float]]:
    """Return the share of misplaced reviewers after each sweep: the mean over tables, the least and the greatest."""
    trace = np.array(tables.trace)
    return [
        {"sweep": k + 1, "misplaced": float(each.mean()), "low": float(each.min()), "high": float(each.max())}
        for k, each in enumerate(100 * trace.T)
    ]


def finding(tables: SampledTables) -> str:
    """Return how far the tables are from what was drawn from the release, and whether their chains have settled."""
    off = max(abs(row["tables"] - row["wanted"]) for row in fit_rows(tables))
    return say(
        "title.tables",
        off=f"{math.ceil(10 * off - 1e-9) / 10:.1f}",
        settled=say("title.settled" if tables.settling.settled else "title.not_settled"),
    )


@look.unvalidated
def diagnostics(tables: SampledTables) -> look.Picture:
    """Return a chart with two panels: wanted and drawn numbers of reviewers, and misplaced ones by sweep."""
    fit, mixing = look.chart(fit_rows(tables)), look.chart(mixing_rows(tables))
    x = alt.X("wanted:Q", title=say("chart.axis_asked"))
    y = alt.Y("tables:Q", title=say("chart.axis_in_tables"))
    ends = fit.mark_rule(color=look.SKY).encode(x=x, y=alt.Y("low:Q"), y2="high:Q")
    points = fit.mark_point(color=look.BLUE, filled=True, size=30).encode(x=x, y=y)
    same = fit.mark_line(color=look.GREY, strokeDash=[4, 4]).encode(x=x, y=alt.Y("wanted:Q"))
    sweep = alt.X("sweep:Q", title=say("chart.axis_round"))
    band = mixing.mark_area(color=look.SKY, opacity=0.4).encode(x=sweep, y=alt.Y("low:Q"), y2="high:Q")
    line = mixing.mark_line(color=look.BLUE).encode(x=sweep, y=alt.Y("misplaced:Q", title=say("chart.axis_misplaced")))
    fixed = tables.draws[0].fixed
    since = look.chart([{"sweep": len(tables.draws[0].trace) - fixed}])
    rule = since.mark_rule(color=look.RED, strokeDash=[4, 4]).encode(x=sweep)
    title = finding(tables)
    renewed, drift = f"{100 * min(tables.diagnostics['renewed']):.0f}", f"{100 * abs(tables.settling.drift):.2g}"
    told = say("chart.tables_settled", renewed=renewed, drift=drift)
    explained = " ".join((say("chart.tables_left"), say("chart.tables_right"), told))
    panels = [
        panel.properties(width=_WIDTH, height=_HEIGHT) for panel in ((same + ends + points), (band + line + rule))
    ]
    heading = alt.TitleParams(text=look.wrapped(title, _LINE), subtitle=look.wrapped(explained, _LINE))
    picture: look.Picture = alt.hconcat(*panels).properties(title=heading, description=title)
    return picture


def diagnostics_plot(tables: SampledTables) -> Plot:
    """Return the chart of the diagnostics."""
    return Plot(to_svg(diagnostics(tables)))
