"""Every picture, defined once. Made offline: nothing is fetched.

Colours can be told apart by colour-blind people, and lines also by their dashes, in print too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from peerveil.experiments import TITLES, Sweep

if TYPE_CHECKING:
    from pathlib import Path

#: Colour and dashes of each method, the same in every picture.
_LOOKS = {
    "noisy": ("#999999", [1, 0]),
    "baseline": ("#e69f00", [6, 3]),
    "chain": ("#d55e00", [2, 2]),
    "tight": ("#56b4e9", [8, 3, 2, 3]),
    "safe": ("#0072b2", [1, 0]),
    "bayes": ("#009e73", [4, 2]),
}

_AXES = {
    "reviewers": "number of reviewers",
    "a": "a",
    "leniency": "leniency: how strongly reviewers differ (0: not at all)",
}


def errors_against_setting(sweep: Sweep) -> alt.TopLevelMixin:
    """The error of each method against what varies, on a logarithmic axis, with standard errors.

    >>> from peerveil.experiments import simulate
    >>> sweep = simulate("beta-2-2", draws=3, points=[10, 20], methods=("noisy", "baseline"), workers=1)
    >>> errors_against_setting(sweep).to_dict()["title"]
    'Beta(2, 2)'
    """
    rows = [
        {
            "setting": point.point,
            "method": TITLES[point.method],
            "error": point.mean,
            "low": max(point.mean - point.error, point.mean / 10),
            "high": point.mean + point.error,
        }
        for point in sweep.table()
    ]
    titles = [TITLES[method] for method in sweep.methods]
    looks = [_LOOKS[method] for method in sweep.methods]
    data: Any = alt.Data
    base = alt.Chart(data(values=rows)).encode(
        x=alt.X("setting:Q", title=_AXES[sweep.axis], scale=alt.Scale(zero=False)),
        color=alt.Color(
            "method:N", sort=titles, title=None, scale=alt.Scale(domain=titles, range=[colour for colour, _ in looks])
        ),
    )
    dash = alt.StrokeDash(
        "method:N", sort=titles, title=None, scale=alt.Scale(domain=titles, range=[dashes for _, dashes in looks])
    )
    error = alt.Y("error:Q", title="summed squared error (mean)", scale=alt.Scale(type="log"))
    lines = base.mark_line(strokeWidth=2).encode(y=error, strokeDash=dash)
    dots = base.mark_point(filled=True, size=30, opacity=1).encode(y=error)
    bars = base.mark_rule(strokeWidth=1.2).encode(y=alt.Y("low:Q", scale=alt.Scale(type="log")), y2="high:Q")
    return alt.layer(lines, bars, dots).properties(width=420, height=300, title=sweep.title)


def write_svg(chart: alt.TopLevelMixin, file: Path) -> None:
    """Write a picture as SVG; the same picture gives the same bytes."""
    chart.save(file, format="svg")
