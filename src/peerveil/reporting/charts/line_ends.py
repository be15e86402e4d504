"""Labels at the right ends of lines, moved apart where they would overlap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import altair as alt
import numpy as np
from scipy.optimize import isotonic_regression

from peerveil.record.public_record import Floats
from peerveil.reporting.charts import look

#: Pixels per line and per character of a label, its distance from the end of its line, and characters of a line.
_LINE, _LETTER, _AWAY, _MOST = 17, 8.2, 16, 13

#: Pixels of a chart beside and below the lines: padding and axes without their titles, and each line of a title.
_BESIDE, _BELOW, _ROW = 70, 66, 18


@dataclass(frozen=True)
class Span:
    """The range of an axis.

    >>> Span(1.0, 100.0, log=True).at(0.5), Span(1.0, 100.0, log=True).place(10.0)
    (10.0, 0.5)
    """

    low: float
    high: float
    log: bool = False

    def at(self, place: float) -> float:
        """Return the number at a place between 0 and 1, or beyond."""
        if self.log:
            return float(self.low * (self.high / self.low) ** place)
        return self.low + place * (self.high - self.low)

    def place(self, number: float) -> float:
        """Return the place of a number."""
        if self.log:
            return math.log(number / self.low) / math.log(self.high / self.low)
        return (number - self.low) / (self.high - self.low)

    def scale(self) -> alt.Scale:
        """Return the scale of this range."""
        kind: dict[str, Any] = {"type": "log"} if self.log else {}
        ends = [float(f"{end:.6g}") for end in (self.low, self.high)]
        return alt.Scale(**kind, domain=ends, nice=False, zero=False)


class End(NamedTuple):
    """The label of a line, its colour, and the height at which the line ends."""

    text: str
    colour: str
    y: float

    @property
    def lines(self) -> list[str]:
        """The lines of the label."""
        return look.wrapped(self.text, _MOST)


def with_room(x: Span, ends: Sequence[End], width: int) -> Span:
    """Return the range of lines, extended to the right such that their labels fit in a chart of a width."""
    letters = max(len(line) for end in ends for line in end.lines)
    share = min((_LETTER * letters + _AWAY) / (width - _BESIDE), 0.6)
    return Span(x.low, x.at(1 / (1 - share)), x.log)


def end_labels(ends: Sequence[End], *, x: Span, until: float, y: Span, height: int, rows: int) -> list[Any]:
    """Return the layers of labels and thin lines that lead to them.

    Args:
        ends: the labels.
        x: the range of the horizontal axis, from :func:`with_room`.
        until: where the lines end.
        y: the range of the vertical axis.
        height: the height of the chart.
        rows: the number of lines of its titles.
    """
    room = height - _BELOW - _ROW * rows
    sizes = np.array([_LINE * len(end.lines) for end in ends], dtype=np.float64)
    wanted = np.array([room * (1 - y.place(end.y)) for end in ends])
    middles = spread(wanted, sizes, room)
    near, far = (x.at(x.place(until) + pixels / 260) for pixels in (3, _AWAY - 3))
    leads, words = [], []
    for number, (end, middle, size) in enumerate(zip(ends, middles.tolist(), sizes.tolist(), strict=True)):
        label = {"label": end.lines, "colour": look.WORDS.get(end.colour, end.colour)}
        words.append(label | {"x": far, "y": y.at(1 - (middle - size / 2) / room)})
        for at, level in ((near, end.y), (far, y.at(1 - middle / room))):
            leads.append({"x": at, "y": level, "line": number, "colour": end.colour})
    place = {"x": alt.X("x:Q", scale=x.scale()), "y": alt.Y("y:Q", scale=y.scale())}
    colour = alt.Color("colour:N", scale=None, legend=None)
    line = look.chart(leads).mark_line(strokeWidth=1).encode(**place, detail="line:N", color=colour)
    text = look.chart(words).mark_text(align="left", baseline="top", lineHeight=_LINE, dx=3, dy=1)
    return [line, text.encode(**place, text="label:N", color=colour)]


def spread(wanted: Floats, sizes: Floats, room: float) -> Floats:
    """Return the middles of intervals, nearest to wanted ones, that do not overlap and lie within a room.

    If they are too long for the room together, they begin at 0 without gaps.

    >>> spread(np.array([10.0, 12.0, 50.0]), np.array([10.0, 10.0, 10.0]), 100.0).tolist()
    [6.0, 16.0, 50.0]
    """
    order = np.argsort(wanted, kind="stable")
    stacked = np.cumsum(sizes[order]) - sizes[order] / 2
    free = isotonic_regression(wanted[order] - stacked).x
    middles = np.empty(wanted.size)
    middles[order] = np.clip(free, 0.0, max(room - float(sizes.sum()), 0.0)) + stacked
    return middles
