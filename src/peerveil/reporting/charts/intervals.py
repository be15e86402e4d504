"""Charts of a few numbers with their intervals, such as a difference between two groups or a correlation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import altair as alt

from peerveil.reporting.charts import look
from peerveil.reporting.charts.look import WIDTH, Picture, ticks
from peerveil.reporting.words import say

#: Height of the axis and the space around, of a line of text, of a row, and of its name.
_FRAME, _LINE, _ROW, _NAME = 55, 19, 56, 26

#: Height of the mark at zero, and how far its middle is below that of its row.
_MARK, _LOWER = 26, 10

#: The part of an axis that is left free at each of its ends, and where words at a place turn to its other side.
_FREE, _NEAR = 0.08, 0.35


Side = Literal["left", "center", "right"]

#: Which end of an interval words that are aligned to a side are above.
_END: dict[Side, str] = {"left": "low", "center": "value", "right": "high"}


class Row(NamedTuple):
    """A number with its interval; the number is ``None`` if it cannot be told."""

    name: str
    value: float | None
    low: float
    high: float
    words: str


@look.unvalidated
def intervals(
    rows: Sequence[Row],
    *,
    title: str,
    axis: str,
    none: str,
    level: float,
    domain: tuple[float, float] | None = None,
) -> Picture:
    """Return a chart of numbers with their intervals, and a mark at zero.

    Args:
        rows: the numbers, one below the other.
        title: what they say.
        axis: the title of the axis.
        none: what zero means, in words.
        level: the level of the intervals.
        domain: the ends of the axis; by default as far as intervals and zero reach.

    >>> row = Row("", 0.27, 0.18, 0.36, "0.27 (0.18 to 0.36)")
    >>> made = intervals([row], title="Higher", axis="difference", none="no difference", level=0.9)
    >>> made.to_dict()["title"]["text"]
    ['Higher']
    """
    ends = domain or _reach([end for row in rows for end in (row.low, row.high, 0.0)])
    scale = alt.Scale(domain=list(ends), nice=False)
    x = alt.X("low:Q", title=look.below(axis), scale=scale, axis=ticks(5, grid=False))
    names = [row.name for row in rows]
    y = alt.Y("name:N", sort=names, axis=None)
    points = [
        row._asdict() | {"value": _middle(row) if row.value is None else row.value, "words": _signed(row.words)}
        for row in rows
    ]
    base = look.chart(points)
    zero = alt.X("zero:Q", scale=scale)
    at_zero = look.chart([{"zero": 0.0, "label": none, "name": row.name} for row in rows])
    beside: dict[str, Any] = {"align": "right", "dx": -5} if _side(0.0, ends) == "right" else {"align": "left", "dx": 5}
    layers = [
        # One mark per row, which ends below the words of the row.
        at_zero.mark_tick(color=look.MUTED, orient="vertical", size=_MARK, thickness=1.5, yOffset=_LOWER).encode(
            x=zero, y=y
        ),
        look.chart([{"zero": 0.0, "label": none}])
        .mark_text(color=look.MUTED, baseline="bottom", dy=-4, **beside)
        .encode(x=zero, y=alt.value("height"), text="label:N"),
        base.mark_bar(height=7, color=look.BLUE, opacity=0.55, cornerRadius=3).encode(x=x, x2="high:Q", y=y),
    ]
    told = [point for point, row in zip(points, rows, strict=True) if row.value is not None]
    if told:
        layers.append(
            look.chart(told)
            .mark_point(filled=True, size=110, color=look.BLUE, opacity=1)
            .encode(x=alt.X("value:Q"), y=y)
        )
    layers += [
        look.chart([point])
        .mark_text(color=look.BLUE, baseline="bottom", dy=-9, align=_side(_middle(row), ends))
        .encode(x=alt.X(f"{_END[_side(_middle(row), ends)]}:Q"), y=y, text="words:N")
        for point, row in zip(points, rows, strict=True)
    ]
    if any(names):
        above = base.mark_text(color=look.INK, align="left", baseline="bottom", dy=-27)
        layers.append(above.encode(x=alt.value(0), y=y, text="name:N"))
    explained = [say("chart.interval_bars", level=100 * level)]
    frame = _FRAME + _LINE * look.text_rows(title, explained, axis)
    return look.finished(
        alt.layer(*layers),
        title=title,
        explained=explained,
        description=f"{title}. {' '.join(f'{_told(row)}.' for row in rows)}",
        width=WIDTH,
        height=frame + (_ROW + _NAME * any(names)) * len(rows),
    )


def _signed(words: str) -> str:
    """Words whose numbers have the minus signs of the axis."""
    return re.sub(r"-(?=\d)", "\N{MINUS SIGN}", words)


def _middle(row: Row) -> float:
    return (row.low + row.high) / 2


def _told(row: Row) -> str:
    """The number of a row in words, with its name if it has one."""
    return say("chart.named_value", name=row.name, value=row.words) if row.name else row.words


def _reach(numbers: Sequence[float]) -> tuple[float, float]:
    """The ends of an axis that has these numbers on it."""
    low, high = min(numbers), max(numbers)
    free = _FREE * ((high - low) or 1.0)
    return low - free, high + free


def _side(place: float, ends: tuple[float, float]) -> Side:
    """How words at a place are aligned, so that they stay within the chart."""
    share = (place - ends[0]) / (ends[1] - ends[0])
    return "left" if share < _NEAR else "right" if share > 1 - _NEAR else "center"
