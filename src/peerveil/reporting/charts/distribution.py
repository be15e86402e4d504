"""Charts of the released means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import altair as alt
import numpy as np

from peerveil.record.public_record import Floats
from peerveil.reporting.charts import look, titles
from peerveil.reporting.charts.line_ends import End, Span, end_labels, with_room
from peerveil.reporting.charts.look import BLUE, HEIGHT, WIDTH, Picture, ticks, tip
from peerveil.reporting.charts.shapes import bins_for, chance_counts, counted, thinned
from peerveil.reporting.published import Published
from peerveil.reporting.words import quantity_words, say, say_of


@look.unvalidated
def histogram(release: Published, *, width: int = WIDTH, height: int = HEIGHT) -> Picture:
    """Return a histogram of the released means; thin lines show the counts that the credible bands allow.

    A dashed outline shows what random dealing would give, if that is known. If the quantity is a difference, the two
    sides of zero have different colours.

    >>> import peerveil as pv
    >>> weights = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2, quantity="ratings")
    >>> release = pv.refine([1.0, 2.5, 2.0, 4.5], weights, mechanism=pv.Laplace(scale=1.0))
    >>> histogram(release).to_dict()["title"]["text"]
    ['Reviewers by their released mean']
    """
    words = quantity_words(release.quantity)
    edges = bins_for(release)
    if words.sides is not None and edges[0] < 0 < edges[-1] and not np.isclose(edges, 0.0).any():
        edges = np.unique(np.append(edges, 0.0))  # split a single bin at zero
    bins, sides = counted(release, edges), words.sides
    chance = chance_counts(release, edges)
    rows = []
    for place, number in enumerate(bins.counts.tolist()):
        low, high = float(edges[place]), float(edges[place + 1])
        row: dict[str, Any] = {"low": low, "high": high, "reviewers": number, "middle": (low + high) / 2}
        row["colour"] = look.RED if sides is not None and high <= 1e-9 * (high - low) else BLUE
        if bins.least is not None and bins.most is not None:
            row |= {"least": int(bins.least[place]), "most": int(bins.most[place])}
        rows.append(row)
    x = alt.X(
        "low:Q",
        bin="binned",
        title=look.below(words.short_axis),
        scale=alt.Scale(zero=False, nice=False, padding=8),
        axis=ticks(width // 70, labelFlush=False),
    )
    top = float(max(bins.counts.max(), 0 if bins.most is None else bins.most.max(), chance.max(initial=0.0)))
    y = alt.Y(
        "reviewers:Q",
        title=look.beside(say("chart.axis_reviewers")),
        scale=alt.Scale(domain=[0, top * (1.3 if sides else 1.05)], nice=False),
        axis=ticks(height // 60, tickMinStep=1),
    )
    tooltip = [tip("low", say("chart.from"), ".3~f"), tip("high", say("chart.to"), ".3~f")]
    tooltip += [tip("reviewers", say("chart.reviewers"), ",d")]
    base = look.chart(rows)
    colour = alt.Color("colour:N", scale=None, legend=None)
    layers = [base.mark_bar(binSpacing=1.5, opacity=0.85).encode(x=x, x2="high:Q", y=y, color=colour, tooltip=tooltip)]
    explained = []
    if chance.size:
        layers.append(_outline(edges, chance))
        explained.append(say("chart.by_chance"))
    if release.outlook is not None:
        rule = base.mark_rule(color=look.INK, strokeWidth=1.2, opacity=0.6)
        layers.append(rule.encode(x="middle:Q", y=alt.Y("least:Q"), y2="most:Q"))
        explained.append(say("chart.counts_band", level=100 * release.outlook.level))
    if sides is not None:
        layers.append(look.chart([{"zero": 0}]).mark_rule(color=look.INK, strokeDash=[3, 3]).encode(x="zero:Q"))
        layers += _sides(sides)
    return look.finished(
        alt.layer(*layers),
        title=titles.half(release),
        explained=explained,
        description=titles.described("histogram", release),
        width=width,
        height=height,
    )


#: The name of the histogram of a difference in version 0.1.
miscalibration = histogram

_DASHES = [5, 4]

#: The room that a name needs to the left of a curve, as a share of the width.
_ROOM = 0.3


def _outline(edges: Floats, counts: Floats) -> Any:
    """The dashed outline of a histogram, from the ground and back to it."""
    points = zip(edges[[0, *range(edges.size)]].tolist(), [0.0, *counts.tolist(), 0.0], strict=True)
    rows = [{"low": edge, "reviewers": height, "place": place} for place, (edge, height) in enumerate(points)]
    line = look.chart(rows).mark_line(interpolate="step-after", color=look.INK, strokeDash=_DASHES, strokeWidth=1.8)
    return line.encode(x="low:Q", y="reviewers:Q", order="place:Q")


def _sides(sides: tuple[str, str]) -> list[Any]:
    """The meanings of both sides of zero, in the upper corners of a chart."""
    layers = []
    places: tuple[dict[str, Any], ...] = ({"align": "left"}, {"align": "right"})
    for text, colour, place, x in zip(sides, (look.RUST, BLUE), places, (2, "width"), strict=True):
        words = look.chart([{"label": look.wrapped(text, 14)}])
        mark = words.mark_text(**place, baseline="top", lineHeight=17, color=colour)
        layers.append(mark.encode(text="label:N", x=alt.value(x), y=alt.value(2)))
    return layers


@look.unvalidated
def cumulative(release: Published, *, width: int = WIDTH, height: int = HEIGHT) -> Picture:
    """Return a chart of the share of reviewers at or below each mean, with its band and random dealing."""
    n, outlook = release.values.size, release.outlook
    low, high = (release.lower, release.upper) if outlook is None else (outlook.lower, outlook.upper)
    rows = [
        {
            "mean": float(release.values[i]),
            "share": 100 * (int(i) + 1) / n,
            "low": float(low[i]),
            "high": float(high[i]),
        }
        for i in thinned(n)
    ]
    title = look.below(quantity_words(release.quantity).short_axis)
    x = alt.X("mean:Q", title=title, scale=alt.Scale(zero=False), axis=ticks(width // 70))
    y = alt.Y(
        "share:Q",
        title=say("chart.axis_share"),
        scale=alt.Scale(domain=[0, 100]),
        axis=alt.Axis(values=[0, 25, 50, 75, 100]),
    )
    keys = {"share": "share", "mean": "mean", "low": "from", "high": "to"}
    named = {field: say_of(release.quantity)(f"chart.{key}") for field, key in keys.items()}
    base = look.chart(rows)
    shaded = base.mark_area(orient="horizontal", opacity=0.22, color=look.GREY if outlook is None else BLUE).encode(
        x=alt.X("low:Q"), x2="high:Q", y=y, tooltip=[tip(field, title, ".3~f") for field, title in named.items()]
    )
    line = base.mark_line(strokeWidth=2.2, color=BLUE).encode(x=x, y=y, order="share:Q")
    layers = [shaded, line]
    if release.chance is not None:
        shares = (100 * (thinned(n, release.chance.size) + 1) / n).tolist()
        rows = [{"mean": m, "share": share} for m, share in zip(release.chance.tolist(), shares, strict=True)]
        dashed = look.chart(rows).mark_line(strokeWidth=1.8, color=look.INK, strokeDash=_DASHES)
        layers.append(dashed.encode(x=x, y=y, order="share:Q"))
    layers += _named(release, low, high)
    band = say("chart.proven_band") if outlook is None else say("chart.band", level=100 * outlook.level)
    return look.finished(
        alt.layer(*layers),
        title=titles.tenths(release),
        explained=[band],
        description=titles.described("cumulative", release),
        width=width,
        height=height,
    )


def _named(release: Published, low: Floats, high: Floats) -> list[Any]:
    """The names of the curves, beside them where they are furthest apart.

    Curves ascend: above and to the left of them there is room for words, and below to the right.
    """
    n, chance = release.values.size, release.chance
    if n == 1:  # there is no room before a curve of a single point
        return [look.corner(say("chart.released"), BLUE, top=False)]
    dealt = release.values if chance is None else np.interp(np.arange(n), thinned(n, chance.size), chance)
    left, right = np.minimum(low, dealt), np.maximum(high, dealt)
    ranks = np.arange(max(round(0.2 * n) - 1, 0), max(round(0.7 * n), 1))
    roomy = ranks[left[ranks] - left[0] >= _ROOM * (right[-1] - left[0])]
    ranks = roomy if roomy.size else ranks[-1:]
    if chance is None:
        rank = int(ranks[np.argmin(np.abs(ranks - 0.3 * n))])
        return [look.label(say("chart.released"), BLUE, x=float(low[rank]), y=100 * (rank + 1) / n, up=True)]
    apart = release.values - dealt
    early = ranks[ranks < max(round(0.45 * n), ranks[0] + 1)]
    rank = int(early[np.argmax(np.abs(apart[early]))])
    share, before = 100 * (rank + 1) / n, bool(apart[rank] < 0)
    ends = {True: float(left[rank]), False: float(right[rank])}
    return [
        look.label(say("chart.released"), BLUE, x=ends[before], y=share, up=before),
        look.label(say("chart.chance"), look.INK, x=ends[not before], y=share, up=not before),
    ]


#: Colours and dashes of compared releases, in order, and how many have their bands shaded.
_COLOURS = (BLUE, look.RED, look.GREEN, look.PURPLE, look.ORANGE, look.MUTED)
_DASHED = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 2], [1, 3])
_SHADED = 2


@look.unvalidated
def comparison(releases: Mapping[str, Published], *, width: int = WIDTH, height: int = HEIGHT) -> Picture:
    """Return a chart of up to six releases of the same quantity, by share of reviewers."""
    first, names = next(iter(releases.values())), list(releases)
    levels = {None if release.outlook is None else release.outlook.level for release in releases.values()}
    shaded = len(names) <= _SHADED and len(levels - {None}) == len(levels) == 1
    rows = [row for release in zip(releases.items(), _COLOURS, strict=False) for row in _curve(*release)]
    ends = [
        End(name, colour, float(release.values[-1]))
        for (name, release), colour in zip(releases.items(), _COLOURS, strict=False)
    ]
    drawn = [row[key] for row in rows for key in (("value", "low", "high") if shaded else ("value",))]
    x = with_room(Span(0.0, 102.0), ends, width)
    y = Span(min(drawn), max(drawn) if max(drawn) > min(drawn) else min(drawn) + 1)
    told = say_of(first.quantity)
    order, title = told("chart.axis_order"), titles.spans(releases)
    explained = [say("chart.bands", level=100 * (first.outlook.level))] if shaded and first.outlook else []
    quarters = alt.Axis(values=[0, 25, 50, 75, 100], domain=False)
    at = alt.X("share:Q", title=look.below(order), scale=x.scale(), axis=quarters)
    mean = look.mean_axis(first.quantity, height, domain=(y.low, y.high))
    base, colour = look.chart(rows), alt.Color("colour:N", scale=None)
    dashes = alt.Scale(domain=names, range=list(_DASHED[: len(names)]))
    dash = alt.StrokeDash("what:N", sort=names, scale=dashes, legend=None)
    tooltip = [tip("what", say("chart.release"), kind="N"), tip("value", told("chart.mean"), ".3~f")]
    layers: list[Any] = []
    if shaded:
        area = base.mark_area(opacity=0.2).encode(x=at, y=alt.Y("low:Q", scale=y.scale()), y2="high:Q", color=colour)
        layers.append(area.encode(detail="what:N"))
    layers.append(base.mark_line(strokeWidth=2).encode(x=at, y=mean, color=colour, strokeDash=dash, tooltip=tooltip))
    text_rows = look.text_rows(title, explained, order)
    return look.finished(
        alt.layer(*layers, *end_labels(ends, x=x, until=100.0, y=y, height=height, rows=text_rows)),
        title=title,
        explained=explained,
        description=told("description.compared", names=", ".join(names), quantity=first.quantity),
        width=width,
        height=height,
    )


def _curve(named: tuple[str, Published], colour: str) -> Iterator[dict[str, Any]]:
    """The points of a release's curve, with its band if that is known."""
    name, release = named
    for i in thinned(release.values.size):
        share, value = 100 * (int(i) + 0.5) / release.values.size, float(release.values[i])
        row: dict[str, Any] = {"share": share, "value": value, "what": name, "colour": colour}
        if release.outlook is not None:
            row |= {"low": float(release.outlook.lower[i]), "high": float(release.outlook.upper[i])}
        yield row
