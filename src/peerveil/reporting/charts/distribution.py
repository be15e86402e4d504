"""Charts of the released means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np

from peerveil.quantities.base import words_of
from peerveil.reporting.charts import look
from peerveil.reporting.charts.bounds import CREDIBLE, PROVEN
from peerveil.reporting.charts.look import BLUE, HEIGHT, WIDTH, Picture, rank_axis, ticks, tip
from peerveil.reporting.charts.shapes import DOTS, bins_for, counted, grouped, thinned
from peerveil.reporting.published import Published


@look.unvalidated
def histogram(release: Published, *, width: int = WIDTH, height: int = HEIGHT) -> Picture:
    """Return a histogram of the released means; thin lines show the counts that the credible bands allow.

    If the quantity is a difference, the two sides of zero have different colours.

    >>> import peerveil as pv
    >>> weights = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2, quantity="ratings")
    >>> release = pv.refine([1.0, 2.5, 2.0, 4.5], weights, mechanism=pv.Laplace(scale=1.0))
    >>> histogram(release).to_dict()["title"]
    'Reviewers by their released mean'
    """
    words = words_of(release.quantity)
    edges = bins_for(release)
    if words.sides is not None and edges[0] < 0 < edges[-1] and not np.isclose(edges, 0.0).any():
        edges = np.unique(np.append(edges, 0.0))  # split a single bin at zero
    bins, sides = counted(release, edges), words.sides
    rows = []
    for place, number in enumerate(bins.counts.tolist()):
        low, high = float(bins.edges[place]), float(bins.edges[place + 1])
        row: dict[str, Any] = {"low": low, "high": high, "reviewers": number, "middle": (low + high) / 2}
        row["what"] = "released mean" if sides is None else sides[0] if high <= 1e-9 * (high - low) else sides[1]
        if bins.least is not None and bins.most is not None:
            row |= {"least": int(bins.least[place]), "most": int(bins.most[place])}
        rows.append(row)
    scale = alt.Scale(zero=False, nice=False, padding=8)
    x = alt.X("low:Q", bin="binned", title=words.axis, scale=scale, axis=ticks(width // 70, labelFlush=False))
    y = alt.Y("reviewers:Q", title="number of reviewers", axis=ticks(height // 45, tickMinStep=1))
    tooltip = [tip("low", "from", ".3~f"), tip("high", "to", ".3~f"), tip("reviewers", "reviewers", ",d")]
    colour: Any = alt.value(BLUE)
    title = "Reviewers by their released mean"
    if sides is not None:
        colour = look.shade_named(dict(zip(sides, (look.RED, BLUE), strict=True)))
        title = "Reviewers on either side of zero"
    base = look.chart(rows)
    layers = [base.mark_bar(binSpacing=1.5, opacity=0.85).encode(x=x, x2="high:Q", y=y, color=colour, tooltip=tooltip)]
    if bins.least is not None:
        rule = base.mark_rule(color=look.INK, strokeWidth=1, opacity=0.5)
        layers.append(rule.encode(x="middle:Q", y=alt.Y("least:Q"), y2="most:Q"))
    if sides is not None:
        layers.append(look.chart([{"zero": 0}]).mark_rule(color=look.INK, strokeDash=[3, 3]).encode(x="zero:Q"))
    text = f"Histogram of the released means of {look.count(release.values.size, 'reviewer')}: {release.quantity}."
    return look.finished(alt.layer(*layers), title=title, description=text, width=width, height=height)


#: The name of the histogram of a difference in version 0.1.
miscalibration = histogram


@look.unvalidated
def cumulative(release: Published, *, width: int = WIDTH, height: int = HEIGHT) -> Picture:
    """Return a chart of the share of reviewers at or below each mean, with its band."""
    n = release.values.size
    band, low, high = PROVEN, release.lower, release.upper
    if (outlook := release.outlook) is not None:
        band, low, high = CREDIBLE.format(100 * outlook.level), outlook.lower, outlook.upper
    rows = [
        {
            "mean": float(release.values[i]),
            "share": 100 * (int(i) + 1) / n,
            "low": float(low[i]),
            "high": float(high[i]),
            "what": "released",
            "band": band,
        }
        for i in thinned(n)
    ]
    x = alt.X("mean:Q", title=words_of(release.quantity).axis, scale=alt.Scale(zero=False), axis=ticks(width // 70))
    y = alt.Y(
        "share:Q",
        title="reviewers at or below this mean (%)",
        scale=alt.Scale(domain=[0, 100]),
        axis=alt.Axis(values=[0, 25, 50, 75, 100]),
    )
    named = {"share": "share (%)", "mean": "mean", "low": "from", "high": "to"}
    base = look.chart(rows)
    shaded = base.mark_area(orient="horizontal", opacity=0.22).encode(
        x=alt.X("low:Q"),
        x2="high:Q",
        y=y,
        color=look.shade_named({band: look.GREY if outlook is None else BLUE}, "band:N"),
        tooltip=[tip(field, title, ".3~f") for field, title in named.items()],
    )
    line = base.mark_line(strokeWidth=2.2).encode(x=x, y=y, order="share:Q", color=look.line_named({"released": BLUE}))
    words = f"Share of {look.count(n, 'reviewer')} with at most each mean, with bands: {release.quantity}."
    title = "Share of reviewers at or below each mean"
    return look.finished(look.layered(shaded, line), title=title, description=words, width=width, height=height)


@look.unvalidated
def refinement(release: Published, *, width: int = WIDTH, height: int = HEIGHT) -> Picture:
    """Return a chart of the noisy vector and the released means by rank."""
    n = release.values.size
    title = alt.TitleParams("Before and after refinement")
    if n > DOTS:
        title.subtitle = ["noisy: first to ninth decile of neighbouring ranks"]
    rows = [{"rank": int(i) + 1, "value": float(release.values[i]), "what": "after: released"} for i in thinned(n)]
    line = look.chart(rows).mark_line(strokeWidth=2.2)
    after = line.encode(
        x=rank_axis(n, width),
        y=_mean_axis(release, height),
        color=look.line_named({"after: released": BLUE}),
        tooltip=[tip("rank", format=",d"), tip("value", "mean", ".4~g")],
    )
    words = f"The noisy vector of {look.count(n, 'reviewer')} and the released one, by rank: {release.quantity}."
    return look.finished(
        look.layered(_before(release, width, height), after), title=title, description=words, width=width, height=height
    )


_BEFORE = "before: noisy"


def _before(release: Published, width: int, height: int) -> Any:
    """The noisy vector: one dot per entry, or the area between the first and ninth decile of groups of ranks."""
    axes = {"x": rank_axis(release.noisy.size, width), "y": _mean_axis(release, height)}
    if release.noisy.size <= DOTS:
        rows = [{"rank": i + 1, "value": v, "what": _BEFORE} for i, v in enumerate(release.noisy.tolist())]
        dots = look.chart(rows).mark_point(filled=True, size=22, opacity=0.85)
        tooltip = [tip("rank"), tip("value", "noisy", ".4~g")]
        return dots.encode(**axes, color=look.dot_named({_BEFORE: look.ORANGE}), tooltip=tooltip)
    rows = [{"rank": r, "value": low, "high": high, "what": _BEFORE} for r, low, _, high in grouped(release.noisy)]
    area = look.chart(rows).mark_area(opacity=0.4, interpolate="step")
    named = {"value": "first decile", "high": "ninth decile"}
    tooltip = [tip("rank", format=",.0f"), *(tip(field, title, ".4~g") for field, title in named.items())]
    return area.encode(**axes, y2="high:Q", color=look.shade_named({_BEFORE: look.ORANGE}), tooltip=tooltip)


#: Colours and dashes of compared releases, in order.
_COLOURS = (BLUE, look.RED, look.GREEN, look.PURPLE, look.ORANGE, look.MUTED)
_DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 2], [1, 3])


@look.unvalidated
def comparison(releases: Mapping[str, Published], *, width: int = WIDTH, height: int = HEIGHT) -> Picture:
    """Return a chart of up to six releases of the same quantity, by share of reviewers."""
    rows = [
        {"share": 100 * (int(i) + 0.5) / release.values.size, "value": float(release.values[i]), "what": name}
        for name, release in releases.items()
        for i in thinned(release.values.size)
    ]
    first, names = next(iter(releases.values())), list(releases)
    dashes = alt.Scale(domain=names, range=list(_DASHES[: len(names)]))
    line = look.chart(rows).mark_line(strokeWidth=2)
    drawn = line.encode(
        x=alt.X("share:Q", title="reviewers in order of their mean (%)", scale=alt.Scale(domain=[0, 100])),
        y=_mean_axis(first, height),
        color=look.line_named(dict(zip(names, _COLOURS, strict=False))),
        strokeDash=alt.StrokeDash("what:N", sort=names, title=None, scale=dashes),
        tooltip=[tip("what", "release", kind="N"), tip("value", "mean", ".3~f")],
    )
    words = f"Released means of {', '.join(names)} side by side: {first.quantity}."
    title = "Released means side by side"
    return look.finished(alt.layer(drawn), title=title, description=words, width=width, height=height)


def _mean_axis(release: Published, height: int) -> Any:
    title = words_of(release.quantity).short_axis
    return alt.Y("value:Q", title=title, scale=alt.Scale(zero=False), axis=ticks(height // 45))
