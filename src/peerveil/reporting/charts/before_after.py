"""Charts of noisy data before refinement and of the released means after it."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from peerveil.privacy.bins import NoisyCounts
from peerveil.reporting.charts import look, titles
from peerveil.reporting.charts.look import BLUE, HEIGHT, WIDTH, Picture, rank_axis, ticks, tip
from peerveil.reporting.charts.shapes import BARS, DOTS, thinned
from peerveil.reporting.published import Published
from peerveil.reporting.words import quantity_words, say, say_of


@look.unvalidated
def refinement(release: Published, *, width: int = WIDTH, height: int = HEIGHT) -> Picture:
    """Return a chart of the noisy data and the released means: counts per bin, or means by rank."""
    if release.histogram is not None:
        return _counts(release, release.histogram, width, height)
    n = release.values.size
    low, high = _window(release)
    explained = [say_of(release.quantity)("chart.dots", shown=f"{DOTS:,}", number=f"{n:,}")] if n > DOTS else []
    beyond = float(np.mean((release.noisy < low) | (release.noisy > high)))
    if beyond:
        share = f"{max(100 * beyond, 1):.0f}\N{NO-BREAK SPACE}%"
        explained.append(say_of(release.quantity)("chart.beyond", share=share))
    y = look.mean_axis(release.quantity, height, domain=(low, high))
    rows = [{"rank": int(i) + 1, "value": float(release.values[i])} for i in thinned(n)]
    after = look.chart(rows).mark_line(strokeWidth=2.4, color=BLUE)
    tooltip = [tip("rank", format=",d"), tip("value", say_of(release.quantity)("chart.mean"), ".4~g")]
    x = rank_axis(release.quantity, n, width)
    at = int(0.45 * n)
    layers = [
        _before(release, (low, high), x, y),
        after.encode(x=x, y=y, tooltip=tooltip),
        look.corner(say("chart.before"), look.RUST, top=True),
        look.label(say("chart.after"), BLUE, x=at + 1, y=float(release.values[at]), up=False),
    ]
    return look.finished(
        alt.layer(*layers),
        title=titles.reduction(release),
        explained=explained,
        description=titles.described("refinement", release),
        width=width,
        height=height,
    )


def _window(release: Published) -> tuple[float, float]:
    """The range of means to draw: what is possible or released, and up to half as much again of the noisy ones."""
    low = min(float(release.lower.min()), float(release.values[0]))
    high = max(float(release.upper.max()), float(release.values[-1]))
    more = (high - low) / 2 or 0.5
    least, most = float(release.noisy.min()), float(release.noisy.max())
    return min(low, max(least, low - more)), max(high, min(most, high + more), low + more)  # never an empty range


def _before(release: Published, window: tuple[float, float], x: alt.X, y: alt.Y) -> Any:
    """The noisy means as dots, those of evenly spread ranks if there are many.

    Those beyond the axis are left out here, because the cuts of a picture have numbers that other pictures share.
    """
    noisy, (low, high) = release.noisy, window
    places = [int(i) for i in thinned(noisy.size, DOTS) if low <= noisy[i] <= high]
    rows = [{"rank": place + 1, "value": float(noisy[place])} for place in places]
    dots = look.chart(rows).mark_point(filled=True, size=22, opacity=0.75, color=look.ORANGE)
    tooltip = [tip("rank", format=",d"), tip("value", say("chart.noisy"), ".4~g")]
    return dots.encode(x=x, y=y, tooltip=tooltip)


def _counts(release: Published, noisy: NoisyCounts, width: int, height: int) -> Picture:
    """The noisy number of reviewers in each bin, as dots, and that of the released means, as bars."""
    bins = noisy.bins
    edges = np.concatenate((bins.low[:1], bins.cuts, bins.high[-1:]))
    if edges[0] == edges[-1]:
        edges = np.array([edges[0] - 0.5, edges[0] + 0.5])
    first = np.unique(np.linspace(0, bins.number, min(BARS, bins.number), endpoint=False).astype(np.int64))
    before, after = (np.add.reduceat(counts, first) for counts in (noisy.counts, bins.counts(release.values)))
    ends = np.append(edges[first], edges[-1])
    rows = [
        {"low": low, "high": high, "middle": (low + high) / 2, "after": int(a), "before": int(b)}
        for low, high, a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), after, before, strict=True)
    ]
    x = alt.X(
        "low:Q",
        bin="binned",
        title=look.below(quantity_words(release.quantity).short_axis),
        scale=alt.Scale(zero=False, nice=False, padding=8),
        axis=ticks(width // 70, labelFlush=False),
    )
    least, most = (float(end) for end in (min(before.min(), 0), max(before.max(), after.max(), 1)))
    y = alt.Y(
        "after:Q",
        title=look.beside(say("chart.axis_reviewers")),
        scale=alt.Scale(domain=[least * 1.05, most + 0.3 * (most - least)], nice=False),
        axis=ticks(height // 60, tickMinStep=1),
    )
    base = look.chart(rows)
    tooltip = [tip("low", say("chart.from"), ".3~f"), tip("high", say("chart.to"), ".3~f")]
    tooltip += [tip(when, say(f"chart.tip_{when}"), ",d") for when in ("before", "after")]
    bars = base.mark_bar(binSpacing=1.5, opacity=0.7, color=BLUE).encode(x=x, x2="high:Q", y=y, tooltip=tooltip)
    moved = base.mark_rule(color=look.ORANGE, strokeWidth=2).encode(x="middle:Q", y=alt.Y("after:Q"), y2="before:Q")
    dots = base.mark_point(filled=True, size=60, opacity=1, color=look.ORANGE).encode(x="middle:Q", y=alt.Y("before:Q"))
    layers = [bars, moved, dots, look.corner(say("chart.before"), look.RUST, top=True)]
    layers.append(look.corner(say("chart.after"), BLUE, top=True, row=1))
    return look.finished(
        alt.layer(*layers),
        title=titles.reduction(release),
        description=titles.described("counts", release),
        width=width,
        height=height,
    )
