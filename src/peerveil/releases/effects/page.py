"""The report of an effect: one self-contained HTML page that runs no script, rendered from published data alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerveil.quantities.base import words_of
from peerveil.reporting.report import template

if TYPE_CHECKING:
    from peerveil.releases.effects.published import Effect

# The picture of an interval, in its own units.
_WIDTH, _MARGIN = 560.0, 60.0


def effect_html(effect: Effect) -> str:
    """Return the report of an effect."""
    html: str = template("effect.html").render(
        effect=effect,
        about=effect.terms.about,
        unit=words_of(effect.quantity).unit,
        meaning=words_of(effect.quantity).meaning,
        picture=interval_places(effect.low, effect.estimate, effect.high),
        numbers=[f"{number:.3f}" for number in (effect.low, effect.estimate, effect.high)],
        sizes=[f"{size:,.0f}" for size in effect.estimated.sizes],
        level=f"{100 * effect.question.level:.4g} %",
        day=effect.created.strftime("%Y-%m-%d"),
    )
    return html


def interval_places(low: float, value: float, high: float) -> dict[str, str]:
    """Return the places of an interval, its estimate and zero on a line, for a picture.

    >>> interval_places(-1.0, 0.0, 1.0)
    {'low': '60.0', 'value': '280.0', 'high': '500.0', 'zero': '280.0'}
    """
    start, end = min(low, 0.0), max(high, 0.0)
    step = (_WIDTH - 2 * _MARGIN) / ((end - start) or 1.0)
    places = {"low": low, "value": value, "high": high, "zero": 0.0}
    return {name: f"{_MARGIN + (number - start) * step:.1f}" for name, number in places.items()}
