"""The common style of charts, and their conversion to SVG and PNG.

Colours are Okabe and Ito's palette for colour-blind readers, and lines also differ in dashes. Each colour has a
counterpart for dark backgrounds; an SVG carries both and follows the reader's setting. Charts of a release all have one
size, whatever their titles and axes need of it; texts are wrapped such that wide fonts fit, too.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import altair as alt
from altair.utils.schemapi import debug_mode

from peerveil.reporting.typography import unbroken
from peerveil.reporting.words import quantity_words, say_of

#: The type of every chart.
Picture = alt.TopLevelMixin

INK, MUTED, GRID = "#1b1f24", "#57606a", "#dfe3e8"
BLUE, SKY, ORANGE, RED, GREEN, GREY = "#0072b2", "#56b4e9", "#e69f00", "#d55e00", "#009e73", "#80868f"
PURPLE = "#b0578d"

#: Colours of words, which need more contrast than lines.
RUST = "#a35200"
WORDS = {ORANGE: "#8a6000", RED: "#b84f00", GREEN: "#007a59", PURPLE: "#a34c80", SKY: "#0f74a8", GREY: MUTED}

#: The counterpart of each colour on a dark background.
DARK = {
    INK: "#e8eaed",
    MUTED: "#aab2bd",
    GRID: "#363d46",
    BLUE: "#4aa8e0",
    SKY: "#2b74a8",
    ORANGE: "#f0b429",
    RED: "#ff8a4c",
    GREEN: "#2fc79a",
    GREY: "#969ea8",
    PURPLE: "#dd8fbf",
    RUST: "#f5bd4f",
    WORDS[ORANGE]: "#f4c04a",
    WORDS[RED]: "#ff9a63",
    WORDS[GREEN]: "#45d3a8",
    WORDS[PURPLE]: "#e5a3cb",
    WORDS[SKY]: "#58a6dc",
}

#: The ground of charts, light and dark: words have an outline of its colour where they stand on dots or areas.
PAPER, _NIGHT = "#ffffff", "#15181c"
DARK[PAPER] = _NIGHT
_OUTLINE: dict[str, Any] = {"stroke": PAPER, "strokeWidth": 3.5, "strokeJoin": "round"}

#: Width and height of a chart with its titles and axes: two fit side by side on a page, one on a phone, where words are
#: about as large as the text around them.
WIDTH, HEIGHT = 350, 340

#: The most characters of a line of a title, of a subtitle or horizontal axis, and of a vertical axis.
_TITLE, _LINE, _SIDE = 32, 38, 22

#: Fonts with the letter widths that legends are laid out with.
_FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"

_CONFIG: dict[str, Any] = {
    "aria": False,  # the chart has one description as a whole
    "background": "transparent",
    "font": _FONT,
    "padding": {"left": 4, "right": 8, "top": 4, "bottom": 4},
    "view": {"stroke": None},
    "title": {
        "anchor": "start",
        "frame": "bounds",
        "color": INK,
        "fontSize": 16,
        "fontWeight": 600,
        "offset": 10,
        "subtitleColor": MUTED,
        "subtitleFontSize": 14,
        "subtitlePadding": 6,
    },
    "axis": {
        "labelColor": MUTED,
        "titleColor": MUTED,
        "labelFontSize": 14,
        "titleFontSize": 14,
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "gridColor": GRID,
        "domainColor": GREY,
        "tickColor": GREY,
        "tickSize": 4,
        "labelOverlap": True,
    },
    "axisX": {"grid": False, "labelFlush": False, "labelPadding": 4, "labelSeparation": 10},
    "axisY": {"domain": False, "ticks": False, "labelPadding": 6},
    "text": {"fontSize": 14, "fontWeight": 600},
    "legend": {
        "orient": "top",
        "direction": "horizontal",
        "columns": 2,
        "title": None,
        "labelColor": INK,
        "labelFontSize": 14,
        "labelLimit": 260,
        "symbolStrokeWidth": 2,
        "symbolSize": 90,
        "offset": 6,
        "padding": 0,
        "columnPadding": 30,
    },
}


#: Decorates drawing functions, without Altair's slow validation of every part; the tests validate each chart.
unvalidated = debug_mode(False)


def finished(
    layers: Any,
    *,
    title: str,
    description: str,
    width: int,
    height: int,
    explained: Sequence[str] = (),
    fit: bool = True,
) -> Picture:
    """Return a chart with its title, text alternative and size.

    Args:
        layers: the drawing.
        title: what the chart shows, best as a sentence.
        description: the text alternative.
        width: the width, with titles and axes if ``fit``, otherwise without.
        height: the height, likewise.
        explained: what needs to be said about its parts, below the title.
        fit: whether the size is that of the whole.
    """
    if not fit:
        return _sized(layers, title=title, description=description, width=width, height=height)
    wider = max(width / WIDTH, 1.0)
    heading: dict[str, Any] = {"text": wrapped(title, int(wider * _TITLE))}
    if explained:
        heading["subtitle"] = [line for each in explained for line in wrapped(each, int(wider * _LINE))]
    size = alt.AutoSizeParams(type="fit", contains="padding")
    parts = {"title": alt.TitleParams(**heading), "description": description, "autosize": size}
    return _sized(layers, **parts, width=width, height=height)


def _sized(layers: Any, **properties: Any) -> Picture:
    picture: Picture = layers.properties(**properties)
    return picture


def wrapped(text: str, width: int) -> list[str]:
    """Return the lines of a text of at most so many characters, about equally long.

    >>> wrapped("Half of the reviewers average between 4.7 and 6.4", 32)
    ['Half of the reviewers', 'average between 4.7 and 6.4']
    """
    text = unbroken(text)
    lines = textwrap.wrap(text, width) or [""]
    widths = range(max(len(text) // len(lines), 1), width)
    narrower = (textwrap.wrap(text, narrow, break_long_words=False) for narrow in widths)
    return next((equal for equal in narrower if len(equal) == len(lines) and max(map(len, equal)) <= width), lines)


def text_rows(title: str, explained: Sequence[str], axis: str) -> int:
    """Return how many lines title, explanations and horizontal axis take in a chart of :func:`finished`."""
    return len(wrapped(title, _TITLE)) + sum(len(wrapped(each, _LINE)) for each in explained) + len(below(axis))


def below(title: str) -> list[str]:
    """Return the lines of a title of a horizontal axis."""
    return wrapped(title, _TITLE)


def beside(title: str) -> list[str]:
    """Return the lines of a title of a vertical axis."""
    return wrapped(title, _SIDE)


def label(text: str, colour: str, *, x: float, y: float, up: bool) -> Any:
    """Return words beside a point of an ascending curve: above to the left of it, or below to the right."""
    side: dict[str, Any] = {"align": "right", "baseline": "bottom", "dx": -5, "dy": -3}
    if not up:
        side = {"align": "left", "baseline": "top", "dx": 5, "dy": 3}
    mark = chart([{"x": x, "y": y, "label": text}]).mark_text(fill=colour, **_OUTLINE, **side)
    return mark.encode(x=alt.X("x:Q"), y=alt.Y("y:Q"), text="label:N")


def corner(text: str, colour: str, *, top: bool, row: int = 0) -> Any:
    """Return words in the upper left or lower right corner of a chart, one row below or above others."""
    if top:
        mark = chart([{"label": text}]).mark_text(align="left", baseline="top", fill=colour, **_OUTLINE)
        return mark.encode(text="label:N", x=alt.value(4), y=alt.value(2 + 18 * row))
    mark = chart([{"label": text}]).mark_text(
        align="right", baseline="bottom", dy=-4 - 18 * row, fill=colour, **_OUTLINE
    )
    return mark.encode(text="label:N", x=alt.value("width"), y=alt.value("height"))


def chart(rows: Sequence[dict[str, Any]]) -> alt.Chart:
    """Return a chart of rows, with floats rounded to six digits to keep files short.

    The rows are passed as one text, because Altair copies its data often and copies of a text cost nothing.
    """
    short = [
        {key: float(f"{value:.6g}") if isinstance(value, float) else value for key, value in row.items()}
        for row in rows
    ]
    return alt.Chart(alt.Data(values=json.dumps(short), format=alt.DataFormat(type="json")))  # type: ignore[no-untyped-call]


def tip(field: str, title: str | None = None, format: str | None = None, *, kind: str = "Q") -> alt.Tooltip:  # noqa: A002
    """Return a tooltip of a field, by default a number."""
    options: dict[str, Any] = {"title": title, "format": format}
    return alt.Tooltip(f"{field}:{kind}", **{key: value for key, value in options.items() if value is not None})


def ticks(number: int, **options: Any) -> alt.Axis:
    """Return an axis with about so many ticks, at least three."""
    return alt.Axis(tickCount=max(3, number), **options)


def rank_axis(quantity: str, n: int, width: int) -> alt.X:
    """Return the axis of ranks 1 to n."""
    scale = alt.Scale(domain=[1, max(n, 2)], nice=False)
    title = below(say_of(quantity)("chart.axis_rank"))
    return alt.X("rank:Q", title=title, scale=scale, axis=ticks(width // 80, tickMinStep=1))


def mean_axis(quantity: str, height: int, *, domain: tuple[float, float] | None = None) -> alt.Y:
    """Return the vertical axis of means, by default as far as they reach."""
    scale = alt.Scale(zero=False) if domain is None else alt.Scale(domain=list(domain), nice=False)
    return alt.Y("value:Q", title=beside(quantity_words(quantity).short_axis), scale=scale, axis=ticks(height // 60))


def line_named(colours: Mapping[str, str], field: str = "what:N", *, columns: int = 2) -> alt.Color:
    """Return a colour encoding of lines, with a legend."""
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    legend = alt.Legend(symbolType="stroke", columns=columns)
    return alt.Color(field, sort=list(colours), title=None, scale=scale, legend=legend)


def specification(picture: Picture) -> dict[str, Any]:
    """Return the Vega-Lite specification of a chart, with the common style.

    >>> specification(chart([{"x": 1.0}]).mark_point())["data"]
    {'values': [{'x': 1.0}]}
    """
    spec: dict[str, Any] = picture.to_dict(validate=False)
    for part in (spec, *spec.get("layer", ())):
        if "data" in part:
            part["data"] = {"values": json.loads(part["data"]["values"])}
    return spec | {"config": _CONFIG}


def to_svg(picture: Picture) -> str:
    """Return a chart as SVG, in light or dark colours as the reader prefers; equal charts give equal text."""
    spec = specification(picture)
    drawn = re.sub(r' (?:role|aria-[a-z]+)="[^"]*"', "", _drawn(spec))
    words = quoteattr(str(spec.get("description", "")))
    opening = f'<svg role="img" aria-label={words} '
    return re.sub(r"^<svg ([^>]*)>", lambda m: f"{opening}{m[1]}><style>{dark_css()}</style>", drawn, count=1)


def to_png(picture: Picture, *, dark: bool = False, scale: float = 2.0) -> bytes:
    """Return a chart as PNG."""
    import vl_convert  # noqa: PLC0415 - slow to load

    spec = darkened(specification(picture)) if dark else specification(picture)
    spec["config"] = spec["config"] | {"background": _NIGHT if dark else PAPER}
    return vl_convert.svg_to_png(_drawn(spec), scale=scale)


def _drawn(spec: dict[str, Any]) -> str:
    """The SVG of a specification; the outlines of words are below them."""
    import vl_convert  # noqa: PLC0415 - slow to load

    drawn = vl_convert.vegalite_to_svg(json.dumps(spec), allowed_base_urls=[])
    return re.sub(r'(<text [^>]*?)(?= stroke=")', r'\1 paint-order="stroke"', drawn)


def write_svg(picture: Picture, file: Path) -> None:
    """Write a chart as SVG."""
    file.write_text(to_svg(picture), encoding="utf-8")


def write_png(picture: Picture, file: Path, *, dark: bool = False) -> None:
    """Write a chart as PNG."""
    file.write_bytes(to_png(picture, dark=dark))


def darkened(spec: Any) -> Any:
    """Return a specification with each colour replaced by its dark counterpart.

    >>> darkened({"mark": {"color": BLUE}, "width": 3})
    {'mark': {'color': '#4aa8e0'}, 'width': 3}
    """
    if isinstance(spec, dict):
        return {key: darkened(value) for key, value in spec.items()}
    if isinstance(spec, list):
        return [darkened(value) for value in spec]
    return DARK.get(spec, spec) if isinstance(spec, str) else spec


def dark_css() -> str:
    """Return the CSS that gives an SVG dark colours if the reader prefers them, except in print."""
    rules = "".join(
        f'svg.marks [{kind}="{light}"]{{{kind}:{dark}}}' for light, dark in DARK.items() for kind in ("fill", "stroke")
    )
    return f"@media screen and (prefers-color-scheme:dark){{{rules}}}"
