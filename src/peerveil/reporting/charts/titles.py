"""The findings that charts of a release have as titles, and their text alternatives."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from peerveil.mechanisms import mechanism_from
from peerveil.reporting.published import Published
from peerveil.reporting.words import quantity_words, reviewers, say, say_of

#: The least number of reviewers of whom shares are told.
_FEWEST = 10

#: The most characters of a name in a title.
_LONG = 12


def half(release: Published) -> str:
    """Return between which means half of the reviewers lie."""
    n = release.values.size
    if n < _FEWEST:
        return say_of(release.quantity)("title.histogram")
    low, high = (_number(release, math.ceil(share * n) - 1) for share in (0.25, 0.75))
    if low == high:
        return say_of(release.quantity)("title.alike", low=low)
    return say_of(release.quantity)(f"title.half_{_kind(release)}", low=low, high=high)


def tenths(release: Published) -> str:
    """Return the means of the lowest and the highest tenth of the reviewers, those of their findings."""
    n = release.values.size
    if n < _FEWEST:
        return say_of(release.quantity)("title.cumulative")
    low, high = _number(release, n // 10 - 1), _number(release, n - n // 10)
    return say(f"title.tenth_{_kind(release)}", low=low, high=high)


def reduction(release: Published) -> str:
    """Return how large the noise was, and the expected error once public data was used."""
    known = mechanism_from(release.mechanism)
    noise = None if known is None else known.stated
    if noise is None or noise.law is None or release.outlook is None:
        return say("title.refinement")
    key = "vector" if release.histogram is None else "counts"
    deviation, error = map(_two_digits, (float(noise.law.deviation), release.outlook.expected_rmse))
    return say_of(release.quantity)(f"title.{key}", noise=deviation, error=error, unit=_unit(release))


def widths(release: Published) -> str:
    """Return how wide credible bands and proven bounds are on average."""
    unit = _unit(release)
    proven = _two_digits(float(np.mean(release.upper - release.lower)))
    if release.outlook is None:
        return say("title.proven_width", proven=proven, unit=unit)
    band = _two_digits(float(np.mean(release.outlook.upper - release.outlook.lower)))
    return say("title.widths", band=band, proven=proven, unit=unit)


def errors(
    least: Mapping[float, float], *, chosen: float | None = None, alone: float | None = None, unit: str = ""
) -> str:
    """Return the least expected errors at the chosen budget, or at the smallest and the largest one.

    >>> errors({1.0: 0.21, 3.0: 0.12}, chosen=1.0, alone=0.4, unit=" points")
    'At epsilon 1: expected error 0.21 points, without a release 0.40'
    >>> errors({0.3: 0.5, 1.0: 0.41}, alone=0.4)
    'No budget up to epsilon 1 gives less error than no release'
    """
    shown = [each for each in least.items() if each[0] == chosen] or [*least.items()]
    (low, first), (high, last) = shown[0], shown[-1]
    facts = {
        "low": f"{low:g}",
        "first": _two_digits(first),
        "high": f"{high:g}",
        "last": _two_digits(last),
        "unit": unit,
    }
    if alone is not None and min(first, last) >= alone:
        return say("title.errors_useless", **facts)
    if low == high and alone is not None:
        return say("title.errors_chosen", **facts, alone=_two_digits(alone))
    return say("title.errors_one" if low == high else "title.errors", **facts)


def errors_described(mechanisms: Sequence[str], budgets: Sequence[float], *, alone: float | None) -> str:
    """Return the text alternative of a chart of expected errors."""
    low, high = f"{budgets[0]:g}", f"{budgets[-1]:g}"
    words = say("description.errors", mechanisms=", ".join(mechanisms), low=low, high=high)
    return words if alone is None else f"{words} {say('description.alone', alone=f'{alone:.2g}')}"


def spans(releases: Mapping[str, Published]) -> str:
    """Return how far the middle 80 % of the reviewers reach in each release."""
    if min(release.values.size for release in releases.values()) < _FEWEST:
        return say_of(next(iter(releases.values())).quantity)("title.compared")
    widths = {name: _middle(release) for name, release in releases.items()}
    unit = _unit(next(iter(releases.values())))
    if len(widths) > 2 or max(map(len, widths)) > _LONG:
        least, most = (_two_digits(end(widths.values())) for end in (min, max))
        return say("title.spans_of_many", least=least, most=most, unit=unit)
    each = (say("title.span", width=_two_digits(width), unit=unit, name=name) for name, width in widths.items())
    return say("title.spans", spans=", ".join(each))


def _middle(release: Published) -> float:
    """The distance between the means of the lowest and the highest tenth of the reviewers."""
    tenth = release.values.size // 10
    return float(release.values[-tenth] - release.values[tenth - 1])


def described(key: str, release: Published) -> str:
    """Return the text alternative of a chart."""
    told, people = say_of(release.quantity), reviewers(release.values.size)
    return told(f"description.{key}", reviewers=people, quantity=release.quantity)


def unit_of(quantity: str) -> str:
    """Return the unit of a quantity's numbers, with a leading space; empty for shares, or if it is not known.

    >>> unit_of("ratings"), unit_of("share of ratings >= 8")
    (' points', '')
    """
    words = quantity_words(quantity)
    return "" if words.number == "share" else words.unit


def _unit(release: Published) -> str:
    """The unit of a release's numbers, with a leading space; empty if it is not known."""
    return unit_of(release.quantity)


def _kind(release: Published) -> str:
    if release.quantity == "ratings":
        return "ratings"
    return "means" if quantity_words(release.quantity).sides is None else "difference"


def _two_digits(number: float) -> str:
    """A number with two significant digits, or all of its digits before the point.

    >>> [_two_digits(number) for number in (1.0, 0.2, 0.096, 13.7, 1234.5, 0.0)]
    ['1.0', '0.20', '0.096', '14', '1,234', '0']
    """
    if number == 0:
        return "0"
    return f"{number:#.2g}".removesuffix(".") if number < 100 else f"{number:,.0f}"


def _number(release: Published, rank: int) -> str:
    """The released mean of a rank, counted from 0, with the digits that its expected error leaves."""
    reach = float(release.values[-1] - release.values[0])
    error = release.outlook.expected_rmse if release.outlook else reach / 100
    digits = min(max(-math.floor(math.log10(error)), 0), 4) if error > 0 else 4
    number = round(float(release.values[rank]), digits) + 0.0
    sign = "+" if _kind(release) == "difference" else ""
    return f"{number:{sign},.{digits}f}".replace("-", "\N{MINUS SIGN}")
