"""Reports about groups of reviewers: self-contained HTML pages that run no script, rendered from published data."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from peerveil.privacy.bins import Bins
from peerveil.quantities.base import words_of
from peerveil.releases.effects.answers import percent
from peerveil.reporting.charts import shares_by_group, to_svg
from peerveil.reporting.report import template

if TYPE_CHECKING:
    from peerveil.releases.effects.crosstabs import Crosstab
    from peerveil.releases.effects.published import Effect

# The picture of an interval, in its own units.
_WIDTH, _MARGIN = 560.0, 60.0


def effect_html(effect: Effect) -> str:
    """Return the report of an effect."""
    html: str = template("effect.html").render(
        **_shared(effect),
        unit=words_of(effect.quantity).unit,
        picture=interval_places(effect.low, effect.estimate, effect.high),
        numbers=[f"{number:.3f}" for number in (effect.low, effect.estimate, effect.high)],
        sizes=[f"{size:,.0f}" for size in effect.estimated.sizes],
    )
    return html


def crosstab_html(release: Crosstab) -> str:
    """Return the report of a release by an attribute."""
    bins, words = release.bins, words_of(release.quantity)
    groups = [
        {
            "name": name,
            "size": f"{one.size:,.0f}",
            "between": f"{one.size_low:,.0f} to {one.size_high:,.0f}",
            "shares": [
                f"{100 * share:.1f} ({100 * low:.1f} to {100 * high:.1f})"
                for share, low, high in zip(one.shares, one.low, one.high, strict=True)
            ],
        }
        for name, one in zip(release.groups, release.estimated, strict=True)
    ]
    html: str = template("crosstab.html").render(
        **_shared(release),
        picture=to_svg(
            shares_by_group(release.rows(), release.quantity, title=release.title, level=release.question.level)
        ),
        groups=groups,
        axis=words.short_axis,
        bins=[_range(bins, place) for place in range(bins.number)],
        deviation=f"{math.sqrt(2) * release.noise_scale:.3g}",
    )
    return html


def _range(bins: Bins, place: int) -> str:
    """The ends of a bin, or its only value."""
    low, high = (f"{float(end[place]):.3g}" for end in (bins.low, bins.high))
    return low if low == high else f"{low} to {high}"


def _shared(answer: Effect | Crosstab) -> dict[str, Any]:
    """What all reports show."""
    return {
        "answer": answer,
        "about": answer.terms.about,
        "meaning": words_of(answer.quantity).meaning,
        "level": percent(answer.question.level),
        "day": answer.created.strftime("%Y-%m-%d"),
    }


def interval_places(low: float, value: float, high: float) -> dict[str, str]:
    """Return the places of an interval, its estimate and zero on a line, for a picture.

    >>> interval_places(-1.0, 0.0, 1.0)
    {'low': '60.0', 'value': '280.0', 'high': '500.0', 'zero': '280.0'}
    """
    start, end = min(low, 0.0), max(high, 0.0)
    step = (_WIDTH - 2 * _MARGIN) / ((end - start) or 1.0)
    places = {"low": low, "value": value, "high": high, "zero": 0.0}
    return {name: f"{_MARGIN + (number - start) * step:.1f}" for name, number in places.items()}
