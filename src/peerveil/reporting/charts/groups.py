"""A chart that compares groups of reviewers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from peerveil.reporting.charts import look
from peerveil.reporting.charts.look import WIDTH, Picture, ticks, tip
from peerveil.reporting.words import quantity_words, say

#: Colours of groups, in order; more groups than colours repeat them.
_COLOURS = (look.BLUE, look.RED, look.GREEN, look.PURPLE, look.ORANGE, look.MUTED)

#: Height of the axis and the space around, of a line of text, of a group in a bin, and between bins.
_FRAME, _TEXT, _LINE, _BETWEEN = 46, 19, 17, 7

#: Width of a letter of a wide font.
_LETTER = 8.8

#: The most characters of a group's name in the chart, and the space around names.
_LONG, _AROUND = 14, 30


@look.unvalidated
def shares_by_group(
    rows: Sequence[dict[str, Any]], quantity: str, *, title: str, level: float, width: int = WIDTH
) -> Picture:
    """Return a chart of the share of each group's reviewers in each bin, with intervals.

    Each row has the ``group``, the ends of the bin, ``from`` and ``to``, and ``share``, ``share_lower`` and
    ``share_upper``. Bins differ in width, so they are rows below each other, from the largest numbers to the
    smallest, and each group has a line of its own in them.
    """
    names = list(dict.fromkeys(row["group"] for row in rows))
    ends = sorted({(row["from"], row["to"]) for row in rows}, reverse=True)
    points = [
        {"what": row["group"], "bin": _span(row["from"], row["to"])}
        | {name: 100 * row[key] for name, key in zip(("share", "low", "high"), _SHARES, strict=True)}
        for row in rows
    ]
    tops = {name: max((p for p in points if p["what"] == name), key=lambda point: point["share"]) for name in names}
    shown = [top | {"name": look.wrapped(name, _LONG)[0]} for name, top in tops.items()]
    axis = say("chart.axis_group_share")
    extent = _LETTER * max(len(_span(*each)) for each in ends)
    domain = [0, max([1.05 * max(point["high"] for point in points), *(_room(top, width - extent) for top in shown)])]
    marks = ticks(5)
    if domain[1] > 100:  # the rest is room for names
        marks.values = [0, 25, 50, 75, 100]
    x = alt.X("low:Q", title=look.below(axis), scale=alt.Scale(domain=domain, nice=False), axis=marks)
    y = alt.Y(
        "bin:N",
        sort=[_span(*each) for each in ends],
        title=None,
        axis=alt.Axis(minExtent=extent),
        scale=alt.Scale(paddingInner=_BETWEEN / (_BETWEEN + _LINE * len(names))),
    )
    lines = {"y": y, "yOffset": alt.YOffset("what:N", sort=names)}
    colours = {name: _COLOURS[place % len(_COLOURS)] for place, name in enumerate(names)}
    words = {name: look.WORDS.get(colour, colour) for name, colour in colours.items()}
    tooltip = [tip("what", say("chart.group"), kind="N"), tip("share", axis, ".1f")]
    base = look.chart(points)
    layers = [
        base.mark_rule(strokeWidth=1.6).encode(x=x, x2="high:Q", color=_named(colours), **lines),
        base.mark_point(filled=True, size=60, opacity=1).encode(
            x=alt.X("share:Q"), color=_named(colours), tooltip=tooltip, **lines
        ),
        *(
            look.chart([each])
            .mark_text(align="left", dx=6, color=words[each["what"]])
            .encode(x=alt.X("high:Q"), text="name:N", **lines)
            for each in shown
        ),
    ]
    explained = [
        say("chart.group_rows", axis=quantity_words(quantity).short_axis),
        say("chart.noise_intervals", level=100 * level),
    ]
    frame = _FRAME + _TEXT * look.text_rows(title, explained, axis)
    return look.finished(
        alt.layer(*layers),
        title=title,
        explained=explained,
        description=f"{title}: {', '.join(names)}",
        width=width,
        height=frame + len(ends) * (_LINE * len(names) + _BETWEEN),
    )


def _room(top: dict[str, Any], width: float) -> float:
    """How far the axis must go for the name of a group to fit beside its largest share."""
    left = width - _LETTER * len(top["name"]) - _AROUND
    return float(top["high"] * (width - _AROUND) / left)


def _named(colours: dict[str, str]) -> alt.Color:
    """The colours of groups, which have their names beside them instead of a legend."""
    return alt.Color(
        "what:N", scale=alt.Scale(domain=list(colours), range=list(colours.values())), legend=None, sort=list(colours)
    )


def _span(low: float, high: float) -> str:
    """The ends of a bin, or its only value."""
    ends = f"{low:.3g}", f"{high:.3g}"
    return ends[0] if ends[0] == ends[1] else say("report.between", low=ends[0], high=ends[1])


_SHARES = ("share", "share_lower", "share_upper")
