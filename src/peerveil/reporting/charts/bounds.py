"""Charts of the bounds that public data proves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np

from peerveil.record.public_record import Floats
from peerveil.regions import Region
from peerveil.reporting.charts import look, titles
from peerveil.reporting.charts.look import HEIGHT, WIDTH, Picture, rank_axis, tip
from peerveil.reporting.charts.shapes import thinned
from peerveil.reporting.published import Published
from peerveil.reporting.words import reviewers, say, say_of

#: Where the names of curves begin or end, as a share of the ranks, and how much of the height they need beside them.
_LEFT, _RIGHT, _HEIGHT = 0.4, 0.55, 0.2

#: The last share of the ranks at which the longer name may begin, and the first at which the shorter one may end.
_LAST, _FIRST = 0.42, 0.3


def _rank(curve: Floats, share: float, *, below: bool) -> int | None:
    """The rank nearest to a share of all that leaves room for a name below or above the curve, if any does."""
    wanted, reach = int(share * curve.size), float(curve[-1] - curve[0])
    if reach == 0:  # there is room above and below all of it
        return wanted
    free = (curve - curve[0] if below else curve[-1] - curve) / reach
    shares = np.arange(curve.size) / curve.size
    roomy = np.flatnonzero((free >= _HEIGHT) & (shares <= _LAST if below else shares >= _FIRST))
    return None if roomy.size == 0 else int(roomy[np.argmin(np.abs(roomy - wanted))])


def _named(words: str, colour: str, curve: Floats, *, below: bool) -> Any:
    """The name of an ascending curve, right below or above it, or in the corner there if the curve leaves no room."""
    at = _rank(curve, _LEFT if below else _RIGHT, below=below)
    if at is None:
        return look.corner(words, colour, top=not below, row=0 if below else 1)  # below the name of the bounds
    return look.label(words, colour, x=at + 1, y=float(curve[at]), up=not below)


@look.unvalidated
def proven(release: Published, *, width: int = WIDTH, height: int = HEIGHT) -> Picture:
    """Return a chart of proven bounds, credible band and released mean by rank."""
    n, outlook = release.values.size, release.outlook
    places = thinned(n)
    areas = [(look.GREY, release.lower, release.upper)]
    if outlook is not None:
        areas.append((look.BLUE, outlook.lower, outlook.upper))
    x = rank_axis(release.quantity, n, width)
    layers: list[Any] = []
    for colour, low, high in areas:
        rows = [{"rank": int(i) + 1, "value": float(low[i]), "high": float(high[i])} for i in places]
        area = look.chart(rows).mark_area(opacity=0.28, color=colour)
        layers.append(area.encode(x=x, y=look.mean_axis(release.quantity, height), y2="high:Q"))
    rows = [{"rank": int(i) + 1, "value": float(release.values[i])} for i in places]
    line = look.chart(rows).mark_line(strokeWidth=2, color=look.INK)
    tooltip = [tip("rank", format=",d"), tip("value", say_of(release.quantity)("chart.mean"), ".3~f")]
    layers.append(line.encode(x=x, y="value:Q", tooltip=tooltip))
    layers.append(look.corner(say("chart.proven"), look.MUTED, top=True))
    ends = release.values, release.values
    if outlook is not None:
        ends = outlook.lower, outlook.upper
        words = say("chart.credible", level=100 * outlook.level)
        layers.append(_named(words, look.BLUE, ends[0], below=True))
    if n == 1:  # there is no room before a curve of a single point
        layers.append(look.corner(say("chart.released"), look.INK, top=False))
    else:
        layers.append(_named(say("chart.released"), look.INK, ends[1], below=False))
    return look.finished(
        alt.layer(*layers),
        title=titles.widths(release),
        description=titles.described("proven", release),
        width=width,
        height=height,
    )


@look.unvalidated
def envelope(
    regions: Mapping[str, Region],
    *,
    truth: Floats | None = None,
    title: str | None = None,
    width: int = 360,
    height: int = 210,
) -> Picture:
    """Return a chart of each region's lower bounds on the sums of the smallest means.

    Sums are shown relative to those of equal means, so that curves can be told apart. ``truth``, the true means, may
    only be drawn if it is synthetic.

    >>> import peerveil as pv
    >>> from peerveil.reporting.charts import specification
    >>> weights = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
    >>> picture = envelope({"tight": pv.region(weights, "tight")})
    >>> sorted({row["what"] for row in specification(picture)["data"]["values"]})
    ['equal means (most)', 'tight (least)']
    """
    first = next(iter(regions.values()))
    n = first.reviewers
    equal_sums = np.arange(n + 1) * (first.total[0] / n)
    curves = {say("chart.equal_means"): np.zeros(n + 1)}
    colours = [look.GREY, look.BLUE, look.RED, look.GREEN, look.ORANGE]
    if truth is not None:
        curves[say("chart.truth")] = np.concatenate(([0.0], np.cumsum(np.sort(truth)))) - equal_sums
        colours.insert(1, look.INK)
    for name, region in regions.items():
        curves[say("chart.least", region=name)] = _least_sums(region) - equal_sums
    rows = [
        {"reviewers": int(i), "sum": float(curve[i]), "what": name}
        for name, curve in curves.items()
        for i in thinned(n + 1)
    ]
    line = look.chart(rows).mark_line(strokeWidth=2.2)
    drawn = line.encode(
        x=alt.X("reviewers:Q", title=say("chart.axis_smallest"), scale=alt.Scale(nice=False)),
        y=alt.Y("sum:Q", title=say("chart.axis_sum").split("\n")),
        color=look.line_named(dict(zip(curves, colours, strict=False)), columns=1),
    )
    words = say("description.sums", reviewers=reviewers(n))
    title = say("title.sums") if title is None else title
    return look.finished(alt.layer(drawn), title=title, description=words, width=width, height=height, fit=False)


def _least_sums(region: Region) -> Floats:
    """The least sum of the i smallest entries that bounds on entries, on sums and on the total allow."""
    below = np.concatenate(([0.0], np.cumsum(region.lower)))
    above = np.concatenate(([0.0], np.cumsum(region.upper[::-1])))[::-1]
    total, tops = region.total[0], region.top_upper[::-1]
    least: Floats = np.maximum.reduce([below, total - above, region.cumulative_lower, total - tops])
    return least
