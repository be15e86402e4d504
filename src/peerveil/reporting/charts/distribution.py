"""Pictures of what was released."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np

from peerveil.quantities.base import Words, words_of
from peerveil.record.public_record import Floats
from peerveil.reporting.charts.look import (
    BLUE,
    GREEN,
    GREY,
    HEIGHT,
    INK,
    MUTED,
    ORANGE,
    PURPLE,
    RED,
    WIDTH,
    Picture,
    data,
    dot_named,
    finished,
    line_named,
    quickly,
    shade_named,
    together,
)
from peerveil.reporting.charts.shapes import DOTS, Counts, bins_for, counted, grouped, thinned
from peerveil.reporting.published import Published
from peerveil.reporting.wording import count

_SHARE = "reviewers with at most this mean (%)"
_RANK = "rank of the reviewer (1 has the smallest mean)"


@quickly
def histogram(release: Published, *, width: int = WIDTH, height: int = HEIGHT) -> Picture:
    """Number of reviewers by mean; thin lines show how far counts may be off, if every mean is in its band.

    If the quantity is a difference, both sides of zero are told apart.

    >>> import peerveil as pv
    >>> weights = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2, quantity="ratings")
    >>> release = pv.refine([1.0, 2.5, 2.0, 4.5], weights, mechanism=pv.Laplace(scale=1.0))
    >>> histogram(release).to_dict()["title"]
    'Reviewers by their released mean'
    """
    words = words_of(release.quantity)
    edges = bins_for(release)
    if words.sides is not None and edges[0] < 0 < edges[-1] and not np.isclose(edges, 0.0).any():
        edges = np.unique(np.append(edges, 0.0))  # one bin only: part it
    return _bars(release, words, counted(release, edges), width, height)


def _bars(release: Published, words: Words, found: Counts, width: int, height: int) -> Picture:
    sides = words.sides
    rows = []
    for place, number in enumerate(found.counts.tolist()):
        low, high = float(found.edges[place]), float(found.edges[place + 1])
        row: dict[str, Any] = {"low": low, "high": high, "reviewers": number, "middle": (low + high) / 2}
        row["what"] = "released mean" if sides is None else sides[0] if high <= 1e-9 * (high - low) else sides[1]
        if found.least is not None and found.most is not None:
            row |= {"least": int(found.least[place]), "most": int(found.most[place])}
        rows.append(row)
    x = alt.X(
        "low:Q",
        bin="binned",
        title=words.axis,
        scale=alt.Scale(zero=False, nice=False, padding=8),
        axis=_ticks(width // 70, labelFlush=False),
    )
    y = alt.Y("reviewers:Q", title="number of reviewers", axis=_ticks(height // 45, tickMinStep=1))
    tooltip = [
        alt.Tooltip("low:Q", title="from", format=".3~f"),
        alt.Tooltip("high:Q", title="to", format=".3~f"),
        alt.Tooltip("reviewers:Q", title="reviewers", format=",d"),
    ]
    colour: Any = alt.value(BLUE)
    if sides is not None:
        colour = shade_named(dict(zip(sides, (RED, BLUE), strict=True)))
    base = alt.Chart(data(rows))
    layers = [base.mark_bar(binSpacing=1.5, opacity=0.85).encode(x=x, x2="high:Q", y=y, color=colour, tooltip=tooltip)]
    if found.least is not None:
        layers.append(
            base.mark_rule(color=INK, strokeWidth=1, opacity=0.5).encode(x="middle:Q", y=alt.Y("least:Q"), y2="most:Q")
        )
    if sides is not None:
        zero = alt.Chart(data([{"zero": 0}]))
        layers.append(zero.mark_rule(color=INK, strokeDash=[3, 3]).encode(x="zero:Q"))
    text = f"Histogram of the released means of {count(release.values.size, 'reviewer')}: {release.quantity}."
    title = "Reviewers by their released mean" if sides is None else "Reviewers on either side of zero"
    return finished(alt.layer(*layers), title=title, description=text, width=width, height=height)


#: The name that version 0.1 gave the histogram of a difference.
miscalibration = histogram


@quickly
def cumulative(release: Published, *, width: int = WIDTH, height: int = HEIGHT) -> Picture:
    """Which share of reviewers has at most which mean, with the band of each."""
    n = release.values.size
    band, low, high = _band(release)
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
    base = alt.Chart(data(rows))
    x = alt.X("mean:Q", title=words_of(release.quantity).axis, scale=alt.Scale(zero=False), axis=_ticks(width // 70))
    y = alt.Y("share:Q", title=_SHARE, scale=alt.Scale(domain=[0, 100]), axis=alt.Axis(values=[0, 25, 50, 75, 100]))
    colour = shade_named({band: BLUE if release.outlook else GREY}, "band:N")
    tooltip = [
        alt.Tooltip("share:Q", title="share (%)", format=".3~f"),
        alt.Tooltip("mean:Q", title="mean", format=".3~f"),
        alt.Tooltip("low:Q", title="from", format=".3~f"),
        alt.Tooltip("high:Q", title="to", format=".3~f"),
    ]
    shade = base.mark_area(orient="horizontal", opacity=0.22).encode(
        x=alt.X("low:Q"), x2="high:Q", y=y, color=colour, tooltip=tooltip
    )
    line = base.mark_line(strokeWidth=2.2).encode(x=x, y=y, order="share:Q", color=line_named({"released": BLUE}))
    words = f"Share of {count(n, 'reviewer')} with at most each mean, with bands: {release.quantity}."
    return finished(
        together(shade, line), title="How many have at most which mean", description=words, width=width, height=height
    )


def _band(release: Published) -> tuple[str, Floats, Floats]:
    """What a band is called, and its ends: likely where the noise is known, else only proven."""
    likely = release.outlook
    if likely is not None:
        return f"{100 * likely.level:g} % band of each mean", likely.lower, likely.upper
    return "possible by public data", release.lower, release.upper


@quickly
def refinement(release: Published, *, width: int = WIDTH, height: int = HEIGHT) -> Picture:
    """Before and after post-processing: the noisy vector, and what public data makes of it, by rank."""
    n = release.values.size
    title = alt.TitleParams("Before and after public data is used")
    before = _dots(release, width, height)
    if n > DOTS:
        before = _spread(release, width, height)
        title.subtitle = ["noisy: from the first to the last decile of neighbouring ranks"]
    rows = [{"rank": int(i) + 1, "value": float(release.values[i]), "what": "after: released"} for i in thinned(n)]
    after = alt.Chart(data(rows)).mark_line(strokeWidth=2.2)
    line = after.encode(
        x=_ranks(n, width),
        y=_value(release, height),
        color=line_named({"after: released": BLUE}),
        tooltip=[alt.Tooltip("rank:Q", format=",d"), alt.Tooltip("value:Q", title="mean", format=".4~g")],
    )
    words = f"The noisy vector of {count(n, 'reviewer')} and the released one, by rank: {release.quantity}."
    return finished(together(before, line), title=title, description=words, width=width, height=height)


_BEFORE = {"before: noisy": ORANGE}


def _dots(release: Published, width: int, height: int) -> Any:
    """The noisy vector, a dot an entry."""
    (name,) = _BEFORE
    rows = [{"rank": i + 1, "value": v, "what": name} for i, v in enumerate(release.noisy[:DOTS].tolist())]
    dots = alt.Chart(data(rows)).mark_point(filled=True, size=22, opacity=0.85)
    return dots.encode(
        x=_ranks(release.noisy.size, width),
        y=_value(release, height),
        color=dot_named(_BEFORE),
        tooltip=[alt.Tooltip("rank:Q"), alt.Tooltip("value:Q", title="noisy", format=".4~g")],
    )


def _spread(release: Published, width: int, height: int) -> Any:
    """The noisy vector in groups of ranks, from decile to decile."""
    (name,) = _BEFORE
    rows = [{"rank": r, "value": low, "high": high, "what": name} for r, low, _, high in grouped(release.noisy)]
    area = alt.Chart(data(rows)).mark_area(opacity=0.4, interpolate="step")
    return area.encode(
        x=_ranks(release.noisy.size, width),
        y=_value(release, height),
        y2="high:Q",
        color=shade_named(_BEFORE),
        tooltip=[
            alt.Tooltip("rank:Q", format=",.0f"),
            alt.Tooltip("value:Q", title="a tenth is below", format=".4~g"),
            alt.Tooltip("high:Q", title="a tenth is above", format=".4~g"),
        ],
    )


#: Colour and dashes of the first, second, … of several releases.
_SEVERAL = (
    (BLUE, [1, 0]),
    (RED, [6, 3]),
    (GREEN, [2, 2]),
    (PURPLE, [8, 3, 2, 3]),
    (ORANGE, [4, 2]),
    (MUTED, [1, 3]),
)


@quickly
def comparison(releases: Mapping[str, Published], *, width: int = WIDTH, height: int = HEIGHT) -> Picture:
    """Several releases of the same quantity, at most six, by the share of reviewers."""
    rows: list[dict[str, Any]] = []
    for name, release in releases.items():
        n = release.values.size
        rows += [
            {"share": 100 * (int(i) + 0.5) / n, "value": float(release.values[i]), "what": name} for i in thinned(n)
        ]
    first = next(iter(releases.values()))
    names = list(releases)
    looks = dict(zip(names, _SEVERAL, strict=False))
    dashes = alt.Scale(domain=names, range=[dash for _, dash in looks.values()])
    line = alt.Chart(data(rows)).mark_line(strokeWidth=2)
    drawn = line.encode(
        x=alt.X("share:Q", title="reviewers in order of their mean (%)", scale=alt.Scale(domain=[0, 100])),
        y=_value(first, height),
        color=line_named({name: colour for name, (colour, _) in looks.items()}),
        strokeDash=alt.StrokeDash("what:N", sort=names, title=None, scale=dashes),
        tooltip=[alt.Tooltip("what:N", title="release"), alt.Tooltip("value:Q", title="mean", format=".3~f")],
    )
    words = f"Released means of {', '.join(names)} side by side: {first.quantity}."
    return finished(
        alt.layer(drawn), title="Released means side by side", description=words, width=width, height=height
    )


def _ranks(n: int, width: int) -> Any:
    scale = alt.Scale(domain=[1, max(n, 2)], nice=False)
    return alt.X("rank:Q", title=_RANK, scale=scale, axis=_ticks(width // 80, tickMinStep=1))


def _value(release: Published, height: int) -> Any:
    return alt.Y(
        "value:Q", title=words_of(release.quantity).short_axis, scale=alt.Scale(zero=False), axis=_ticks(height // 45)
    )


def _ticks(about: int, **options: Any) -> Any:
    return alt.Axis(tickCount=max(3, about), **options)
