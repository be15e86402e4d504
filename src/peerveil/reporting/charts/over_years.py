"""Charts of numbers over several releases, such as those of several years."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt

from peerveil.reporting.charts import look
from peerveil.reporting.charts.look import HEIGHT, WIDTH, Picture, ticks, tip
from peerveil.reporting.words import quantity_words, say

_COLOURS = (look.BLUE, look.RED, look.GREEN, look.PURPLE, look.ORANGE, look.MUTED)

#: The most releases whose distance is room enough for the name of a line.
_FEW = 5

#: Pixels between the names of releases.
_APART = 8

#: A release's name, its number, and the ends of the number's interval.
Point = tuple[str, float, float, float]


@look.unvalidated
def over_years(
    lines: Mapping[str, Sequence[Point]],
    quantity: str,
    *,
    title: str,
    names: Sequence[str],
    level: float,
    percent: bool = False,
    width: int = WIDTH,
    height: int = HEIGHT,
) -> Picture:
    """Return a chart of numbers with their intervals over the releases, one line per number.

    >>> lines = {"50 %": [("2024", 5.0, 4.8, 5.1), ("2025", 5.4, 5.2, 5.7)]}
    >>> over_years(lines, "ratings", title="Medians", names=("2024", "2025"), level=0.9).to_dict()["title"]["text"]
    ['Medians']
    """
    scale = 100.0 if percent else 1.0
    colours = {name: _COLOURS[place % len(_COLOURS)] for place, name in enumerate(lines)}
    rows = [
        {"what": what, "release": release, "value": scale * value, "low": scale * low, "high": scale * high}
        for what, points in lines.items()
        for release, value, low, high in points
    ]
    base = look.chart(rows)
    # Lines have their names behind the last release.
    room = [" " * place for place in range(1, 2 + (len(names) > _FEW))] if len(lines) > 1 else []
    places = [*names, *room]
    space = alt.Scale(padding=0.3, domain=places)
    # Where the names of all releases do not fit beside each other, some are left out.
    axis_of_names = alt.Axis(labelAngle=0, ticks=False, labelOverlap="greedy", labelSeparation=_APART)
    x = alt.X("release:N", sort=places, title=None, scale=space, axis=axis_of_names)
    axis = say("chart.axis_percent") if percent else quantity_words(quantity).short_axis if len(lines) > 1 else None
    y = alt.Y("value:Q", title=axis and look.beside(axis), scale=alt.Scale(zero=percent), axis=ticks(height // 60))
    shades = alt.Scale(domain=list(colours), range=list(colours.values()))
    colour = alt.Color("what:N", scale=shades, legend=None, sort=list(colours))
    tooltip = [tip("release", say("chart.release"), kind="N"), tip("value", None, ".3~f")]
    tooltip += [tip("low", say("chart.from"), ".3~f"), tip("high", say("chart.to"), ".3~f")]
    layers = [
        base.mark_rule(strokeWidth=1.6).encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour),
        base.mark_line(point=True, strokeWidth=2).encode(x=x, y=y, color=colour, tooltip=tooltip),
    ]
    if len(lines) > 1:
        layers += [
            look.chart([{"release": names[-1], "value": scale * points[-1][1], "what": what}])
            .mark_text(color=look.WORDS.get(colours[what], colours[what]), align="left", dx=8)
            .encode(x=x, y=alt.Y("value:Q"), text="what:N")
            for what, points in lines.items()
        ]
    return look.finished(
        alt.layer(*layers),
        title=title,
        explained=[say("chart.noise_intervals", level=100 * level)],
        description=f"{title}: {', '.join(names)}",
        width=width,
        height=height,
    )
