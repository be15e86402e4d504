"""Pictures of what public data proves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np

from peerveil.quantities.base import words_of
from peerveil.record.public_record import Floats
from peerveil.regions import Region
from peerveil.reporting.charts.look import (
    BLUE,
    GREEN,
    GREY,
    HEIGHT,
    INK,
    ORANGE,
    RED,
    WIDTH,
    Picture,
    data,
    finished,
    line_named,
    quickly,
    shade_named,
    together,
)
from peerveil.reporting.charts.shapes import thinned
from peerveil.reporting.published import Published
from peerveil.reporting.wording import count

_PROVEN = "possible by public data"


@quickly
def proven(release: Published, *, width: int = WIDTH, height: int = HEIGHT) -> Picture:
    """What public data alone proves of the mean of each rank, what is likely, and what was released."""
    n = release.values.size
    places = thinned(n)
    areas = {_PROVEN: (GREY, release.lower, release.upper)}
    if release.outlook is not None:
        likely = f"likely ({100 * release.outlook.level:g} %)"
        areas[likely] = (BLUE, release.outlook.lower, release.outlook.upper)
    x = alt.X(
        "rank:Q",
        title="rank of the reviewer (1 has the smallest mean)",
        scale=alt.Scale(domain=[1, max(n, 2)], nice=False),
        axis=alt.Axis(tickMinStep=1, tickCount=max(3, width // 80)),
    )
    y: dict[str, Any] = {"title": words_of(release.quantity).short_axis, "scale": alt.Scale(zero=False)}
    layers = []
    for name, (colour, low, high) in areas.items():
        rows = [{"rank": int(i) + 1, "low": float(low[i]), "high": float(high[i]), "what": name} for i in places]
        layers.append(
            alt.Chart(data(rows))
            .mark_area(opacity=0.28)
            .encode(x=x, y=alt.Y("low:Q", **y), y2="high:Q", color=shade_named({name: colour}))
        )
    rows = [{"rank": int(i) + 1, "value": float(release.values[i]), "what": "released"} for i in places]
    tooltip = [alt.Tooltip("rank:Q", format=",d"), alt.Tooltip("value:Q", title="released mean", format=".3~f")]
    layers.append(
        alt.Chart(data(rows))
        .mark_line(strokeWidth=2)
        .encode(x=x, y=alt.Y("value:Q"), color=line_named({"released": INK}), tooltip=tooltip)
    )
    words = f"What is proven, likely and released of the means of {count(n, 'reviewer')}, by rank: {release.quantity}."
    return finished(
        together(*layers), title="What is possible, likely and released", description=words, width=width, height=height
    )


@quickly
def envelope(
    regions: Mapping[str, Region],
    *,
    truth: Floats | None = None,
    title: str = "What public data proves about sums of means",
    width: int = WIDTH,
    height: int = HEIGHT,
) -> Picture:
    """The least sum of the smallest means that each region allows, below that of equal means; and a truth, if known.

    Sums are measured from those of equal means, so that a straight line is zero and curves can be told apart. Only a
    synthetic truth may be drawn.

    >>> import peerveil as pv
    >>> from peerveil.reporting.charts import specification
    >>> weights = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
    >>> picture = envelope({"tight": pv.region(weights, "tight")})
    >>> sorted({row["what"] for row in specification(picture)["data"]["values"]})
    ['equal means (most)', 'tight (least)']
    """
    n = next(iter(regions.values())).reviewers
    total = next(iter(regions.values())).total[0]
    ranks = np.arange(n + 1)
    level = ranks * (total / n)
    curves = {"equal means (most)": np.zeros(n + 1)}
    if truth is not None:
        curves["the truth"] = np.concatenate(([0.0], np.cumsum(np.sort(truth)))) - level
    for name, found in regions.items():
        curves[f"{name} (least)"] = _least_sums(found) - level
    looks = dict(zip(curves, (GREY, *((INK,) if truth is not None else ()), BLUE, RED, GREEN, ORANGE), strict=False))
    rows = [
        {"reviewers": int(i), "sum": float(curve[i]), "what": name}
        for name, curve in curves.items()
        for i in thinned(n + 1)
    ]
    line = (
        alt.Chart(data(rows))
        .mark_line(strokeWidth=2.2)
        .encode(
            x=alt.X("reviewers:Q", title="number of reviewers with the smallest means", scale=alt.Scale(nice=False)),
            y=alt.Y("sum:Q", title="sum of their means, above equal means (points)"),
            color=line_named(looks),
        )
    )
    words = f"Bounds on the sums of the smallest means of {count(n, 'reviewer')}."
    return finished(alt.layer(line), title=title, description=words, width=width, height=height)


def _least_sums(found: Region) -> Floats:
    """The least sum of the i smallest entries that bounds on entries, on sums and on the total allow."""
    below = np.concatenate(([0.0], np.cumsum(found.lower)))
    above = np.concatenate(([0.0], np.cumsum(found.upper[::-1])))[::-1]
    tops = found.top_upper[::-1]
    least: Floats = np.maximum.reduce([below, found.total[0] - above, found.cumulative_lower, found.total[0] - tops])
    return least
