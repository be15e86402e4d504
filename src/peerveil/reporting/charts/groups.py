"""A chart that compares groups of reviewers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import altair as alt

from peerveil.reporting.charts import look
from peerveil.reporting.charts.look import Picture, ticks, tip
from peerveil.reporting.words import quantity_words, say

#: Colours of groups, in order; more groups than colours repeat them.
_COLOURS = (look.BLUE, look.RED, look.GREEN, look.PURPLE, look.ORANGE, look.MUTED)

#: Width and height, and the part of the smallest bin over which the intervals of groups are spread.
_WIDTH, _HEIGHT, _APART = 640, 380, 0.35


@look.unvalidated
def shares_by_group(
    rows: Sequence[dict[str, Any]], quantity: str, *, title: str, level: float, width: int = _WIDTH
) -> Picture:
    """Return a chart of the share of each group's reviewers in each bin, with intervals.

    Each row has the ``group``, the ends of the bin, ``from`` and ``to``, and ``share``, ``share_lower`` and
    ``share_upper``.
    """
    names = list(dict.fromkeys(row["group"] for row in rows))
    middles = sorted({(row["from"] + row["to"]) / 2 for row in rows})
    gap = min((b - a for a, b in pairwise(middles)), default=1.0)
    points = []
    for row in rows:
        shift = _APART * gap * (names.index(row["group"]) - (len(names) - 1) / 2) / len(names)
        point = {"what": row["group"], "value": (row["from"] + row["to"]) / 2 + shift}
        points.append(
            point | {name: 100 * row[key] for name, key in zip(("share", "low", "high"), _SHARES, strict=True)}
        )
    axis = quantity_words(quantity).short_axis
    x = alt.X("value:Q", title=look.below(axis), scale=alt.Scale(zero=False), axis=ticks(width // 70))
    y = alt.Y("share:Q", title=look.beside(say("chart.axis_group_share")), scale=alt.Scale(zero=True), axis=ticks(6))
    colours = {name: _COLOURS[place % len(_COLOURS)] for place, name in enumerate(names)}
    base, colour = look.chart(points), look.line_named(colours)
    tooltip = [tip("what", say("chart.group"), kind="N"), tip("share", say("chart.axis_group_share"), ".1f")]
    layers = [
        base.mark_rule(strokeWidth=1.4).encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour),
        base.mark_line(point=True, strokeWidth=2).encode(x=x, y=y, color=colour, tooltip=tooltip),
    ]
    return look.finished(
        alt.layer(*layers),
        title=title,
        explained=[say("chart.noise_intervals", level=100 * level)],
        description=f"{title}: {', '.join(names)}",
        width=width,
        height=_HEIGHT,
    )


_SHARES = ("share", "share_lower", "share_upper")
