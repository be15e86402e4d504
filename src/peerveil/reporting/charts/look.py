"""How pictures look, and how they become files.

Colours can be told apart by colour-blind people (they are Okabe and Ito's), and lines also by their dashes, in print
too. Each colour has a brother for dark backgrounds; an SVG carries both and follows the reader's setting by itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec
from xml.sax.saxutils import quoteattr

import altair as alt
from altair.utils.schemapi import debug_mode

#: What every function that draws returns: an Altair chart.
Picture = alt.TopLevelMixin

INK, MUTED, GRID = "#1b1f24", "#57606a", "#dfe3e8"
BLUE, SKY, ORANGE, RED, GREEN, GREY = "#0072b2", "#56b4e9", "#e69f00", "#d55e00", "#009e73", "#80868f"
PURPLE = "#b0578d"

#: What stands for each colour on a dark background.
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
}
_PAPER, _NIGHT = "#ffffff", "#15181c"

#: Width and height of what is drawn, without axes: two pictures stand side by side on a page, one on a telephone.
WIDTH, HEIGHT = 360, 210

#: Fonts whose letters have the widths that legends are laid out with; others are a little wider at most.
_FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"

_CONFIG: dict[str, Any] = {
    "aria": False,  # a picture is described as a whole
    "background": "transparent",
    "font": _FONT,
    "padding": 6,
    "view": {"stroke": None},
    "title": {"anchor": "start", "color": INK, "fontSize": 13, "fontWeight": 600, "offset": 10, "subtitleColor": MUTED},
    "axis": {
        "labelColor": MUTED,
        "titleColor": MUTED,
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "gridColor": GRID,
        "domainColor": GREY,
        "tickColor": GREY,
        "tickSize": 4,
        "labelOverlap": True,
    },
    "axisX": {"grid": False},
    "axisY": {"domain": False, "ticks": False, "labelPadding": 6},
    "legend": {
        "orient": "top",
        "direction": "horizontal",
        "columns": 3,
        "title": None,
        "labelColor": INK,
        "labelFontSize": 11,
        "labelLimit": 260,
        "symbolStrokeWidth": 2,
        "symbolSize": 90,
        "offset": 6,
        "padding": 0,
        "columnPadding": 22,
    },
}


Args = ParamSpec("Args")


def quickly(draw: Callable[Args, Picture]) -> Callable[Args, Picture]:
    """A function that draws, without the checks on every part of a picture: tests make them, and they are slow."""

    @wraps(draw)
    def drawn(*args: Args.args, **options: Args.kwargs) -> Picture:
        with debug_mode(False):
            return draw(*args, **options)

    return drawn


def finished(chart: Any, *, title: Any, description: str, width: int, height: int) -> Picture:
    """A picture with its title, its words for those who cannot see it, and its size."""
    done: Picture = chart.properties(title=title, description=description, width=width, height=height)
    return done


def data(rows: Sequence[dict[str, Any]]) -> Any:
    """Rows to draw, with numbers short enough to read in a file.

    They are handed to Altair as text: it copies everything it holds again and again, and a text is copied for nothing.
    """
    short = [{key: round_off(value) for key, value in row.items()} for row in rows]
    return alt.Data(values=json.dumps(short), format=alt.DataFormat(type="json"))  # type: ignore[no-untyped-call]


def round_off(value: Any) -> Any:
    """A number to six digits, which no eye and no screen can tell from all of them; anything else as it is."""
    return float(f"{value:.6g}") if isinstance(value, float) else value


def line_named(colours: Mapping[str, str], field: str = "what:N") -> Any:
    """Colours of lines by what they show, with a legend of lines."""
    return _named(colours, field, "stroke")


def shade_named(colours: Mapping[str, str], field: str = "what:N") -> Any:
    """Colours of areas by what they show, with a legend of squares."""
    return _named(colours, field, "square")


def dot_named(colours: Mapping[str, str], field: str = "what:N") -> Any:
    """Colours of dots by what they show, with a legend of dots."""
    return _named(colours, field, "circle")


def _named(colours: Mapping[str, str], field: str, symbol: str) -> Any:
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    return alt.Color(field, sort=list(colours), title=None, scale=scale, legend=alt.Legend(symbolType=symbol))


def together(*layers: Any) -> Any:
    """Layers with a legend each: a line is shown as a line there, and an area as an area."""
    return alt.layer(*layers).resolve_scale(color="independent")


def specification(chart: Picture) -> dict[str, Any]:
    """The Vega-Lite specification of a picture, with the look that all share.

    >>> specification(alt.Chart(data([{"x": 1.0}])).mark_point())["data"]
    {'values': [{'x': 1.0}]}
    """
    found: dict[str, Any] = chart.to_dict(validate=False)  # tests validate every picture; releases need not
    for place in (found, *found.get("layer", ())):
        if "data" in place:
            place["data"] = {"values": json.loads(place["data"]["values"])}
    return found | {"config": _CONFIG}


def to_svg(chart: Picture) -> str:
    """A picture as SVG, made offline, light or dark as the reader prefers; the same picture gives the same text."""
    import vl_convert  # noqa: PLC0415 - only where a file is made

    spec = specification(chart)
    drawn = vl_convert.vegalite_to_svg(json.dumps(spec), allowed_base_urls=[])
    drawn = re.sub(r' (?:role|aria-[a-z]+)="[^"]*"', "", drawn)  # described as a whole, not part by part
    words = quoteattr(str(spec.get("description", "")))
    opening = f'<svg role="img" aria-label={words} '
    return re.sub(r"^<svg ([^>]*)>", lambda m: f"{opening}{m[1]}><style>{dark_css()}</style>", drawn, count=1)


def to_png(chart: Picture, *, dark: bool = False, scale: float = 2.0) -> bytes:
    """A picture as PNG, made offline, for places that take no SVG."""
    import vl_convert  # noqa: PLC0415 - only where a file is made

    spec = specification(chart)
    spec = darkened(spec) if dark else spec
    spec["config"] = spec["config"] | {"background": _NIGHT if dark else _PAPER}
    return vl_convert.vegalite_to_png(json.dumps(spec), scale=scale, allowed_base_urls=[])


def write_svg(chart: Picture, file: Path) -> None:
    """Write a picture as SVG; the same picture gives the same bytes."""
    file.write_text(to_svg(chart), encoding="utf-8")


def write_png(chart: Picture, file: Path, *, dark: bool = False) -> None:
    """Write a picture as PNG."""
    file.write_bytes(to_png(chart, dark=dark))


def darkened(spec: Any) -> Any:
    """A specification with each colour replaced by its brother for dark backgrounds.

    >>> darkened({"mark": {"color": BLUE}, "width": 3})
    {'mark': {'color': '#4aa8e0'}, 'width': 3}
    """
    if isinstance(spec, dict):
        return {key: darkened(value) for key, value in spec.items()}
    if isinstance(spec, list):
        return [darkened(value) for value in spec]
    return DARK.get(spec, spec) if isinstance(spec, str) else spec


def dark_css() -> str:
    """The style that turns an SVG's colours dark where the reader prefers that, but never on paper."""
    rules = "".join(
        f'svg.marks [{kind}="{light}"]{{{kind}:{dark}}}' for light, dark in DARK.items() for kind in ("fill", "stroke")
    )
    return f"@media screen and (prefers-color-scheme:dark){{{rules}}}"
