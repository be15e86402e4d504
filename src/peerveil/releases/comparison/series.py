"""Comparison of many releases of one quantity: findings and deciles over the years, and which changes are real.

See docs/mathematics.md, "Changes between years". Published data only.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from peerveil.errors import InputError
from peerveil.inference.expected_error import LEVEL
from peerveil.inference.findings import ACCEPTED, Finding
from peerveil.quantities.base import possible_range, words_of
from peerveil.record.public_record import Floats
from peerveil.releases.release import Release
from peerveil.support.atomic_files import write_new
from peerveil.support.frames import Backend, csv_text, make_frame
from peerveil.support.html_tables import table

if TYPE_CHECKING:
    from peerveil.reporting.plots import Plot

#: The deciles that are followed over the years.
DECILES = (0.1, 0.5, 0.9)

#: The columns of a table of a series.
COLUMNS = ("what", "release", "value", "lower", "upper", "wider_lower", "wider_upper")

_WORDS = {
    "leniency_share": "share of the variance that reviewers explain",
    "reliability": "correlation with other reviews by the same reviewers",
    "changed_decisions": "share of accepted papers that leniency decides",
    "paper_shift": "points by which leniency moves a paper",
}

_PERCENT = ("leniency_share", "changed_decisions")

#: The most releases whose numbers a sentence lists.
_LISTED = 3

#: The ranges of findings, which no interval exceeds.
_POSSIBLE = {name: (0.0, math.inf if name == "paper_shift" else 1.0) for name in _WORDS}


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A number of one release, with two intervals of the same level, truncated at what is possible.

    Attributes:
        value: the number.
        noise: the ends of its interval for the number that the true assignment gives: noise alone.
        wider: the ends of its interval for the number that such reviewers and papers give in the long run: noise and
            sampling.
    """

    value: float
    noise: tuple[float, float]
    wider: tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Change:
    """The change of a number from one release to a later one.

    Attributes:
        first: the name of the earlier release.
        second: the name of the later release.
        difference: the second number minus the first.
        noise: the ends of its interval given the noise of both.
        wider: the ends of its interval given noise and sampling of both.
    """

    first: str
    second: str
    difference: float
    noise: tuple[float, float]
    wider: tuple[float, float]

    @property
    def tells(self) -> str:
        """What the intervals say: whether the change is more than noise, and more than sampling as well.

        >>> Change(first="a", second="b", difference=1.0, noise=(0.5, 1.5), wider=(-0.1, 2.1)).tells
        'more than noise'
        """
        for ends, words in ((self.wider, "more than noise and sampling"), (self.noise, "more than noise")):
            if ends[0] > 0 or ends[1] < 0:
                return words
        return "no clear change"


@dataclass(frozen=True, kw_only=True)
class Trend:
    """A number of all releases: a finding, or a decile of the reviewers' means.

    Attributes:
        name: the name of the finding, or the share of reviewers at or below the decile, such as ``"50 %"``.
        names: the names of the releases that have the number, in order.
        estimates: their numbers.
        level: the level of all intervals, each taken alone.
    """

    name: str
    names: tuple[str, ...]
    estimates: tuple[Estimate, ...]
    level: float = LEVEL

    @property
    def label(self) -> str:
        """The number in words."""
        return _WORDS.get(self.name, f"{self.name} of the reviewers are at or below")

    def changes(self, *, together: bool = False) -> tuple[Change, ...]:
        """Return the changes between all pairs of releases; ``together`` widens intervals so that all hold at once.

        The intervals of a difference follow from those of both numbers (the MOVER method): to each side, the distances
        from the numbers to the ends of their intervals are added as squares.
        """
        pairs = list(combinations(range(len(self.estimates)), 2))
        wide = _z(1 - (1 - self.level) / len(pairs)) / _z(self.level) if together and pairs else 1.0
        return tuple(self._change(i, j, wide) for i, j in pairs)

    def _change(self, i: int, j: int, wide: float) -> Change:
        a, b = self.estimates[i], self.estimates[j]
        difference = b.value - a.value

        def ends(first: tuple[float, float], second: tuple[float, float]) -> tuple[float, float]:
            down = math.hypot(b.value - second[0], first[1] - a.value)
            up = math.hypot(second[1] - b.value, a.value - first[0])
            return difference - wide * down, difference + wide * up

        return Change(
            first=self.names[i],
            second=self.names[j],
            difference=difference,
            noise=ends(a.noise, b.noise),
            wider=ends(a.wider, b.wider),
        )

    @property
    def sentence(self) -> str:
        """The numbers in order, of many the ends, and the clearest change if one is more than noise."""
        numbers = [(each.value, name) for name, each in zip(self.names, self.estimates, strict=True)]
        listed = ", ".join(f"{self.number(value)} ({name})" for value, name in numbers)
        if len(numbers) > _LISTED:
            (least, first), (greatest, last) = (
                (self.number(value), name) for value, name in (min(numbers), max(numbers))
            )
            listed = (
                f"between {least} ({first}) and {greatest} ({last})" if least != greatest else f"about {least} in each"
            )
        most = self.clearest
        if most is None:
            return f"{_capital(self.label)}: {listed}; no change is more than noise."
        what = f"from {most.first} to {most.second} it changed by {self.step(most.difference)}"
        return f"{_capital(self.label)}: {listed}; {what}, {most.tells}."

    @property
    def clearest(self) -> Change | None:
        """The largest change that is more than noise and sampling or, if none is, more than noise."""
        changes = self.changes(together=True)
        for kind in ("more than noise and sampling", "more than noise"):
            clear = [change for change in changes if change.tells == kind]
            if clear:
                return max(clear, key=lambda change: abs(change.difference))
        return None

    def number(self, value: float, *, unit: str = " %") -> str:
        """Return one of its numbers as text, shares with a unit."""
        return f"{100 * value:.0f}{unit}" if self.name in _PERCENT else f"{value + 0.0:.2f}"

    def step(self, change: float) -> str:
        """Return a change of its numbers as text."""
        return f"{100 * change:+.0f} percentage points" if self.name in _PERCENT else f"{change:+.2f}"

    def to_document(self) -> dict[str, Any]:
        """Return the trend as JSON."""
        releases = [
            {"release": name, "value": each.value, "noise": list(each.noise), "wider": list(each.wider)}
            for name, each in zip(self.names, self.estimates, strict=True)
        ]
        changes = [
            {name: getattr(change, name) for name in ("first", "second", "difference", "tells")}
            | {"noise": list(change.noise), "wider": list(change.wider)}
            for change in self.changes()
        ]
        document = {"name": self.name, "label": self.label, "level": self.level}
        return document | {"releases": releases, "changes": changes, "sentence": self.sentence}


@dataclass(frozen=True, kw_only=True)
class Series:
    """The comparison of many releases of one quantity, from :func:`peerveil.compare`.

    Attributes:
        quantity: the quantity of all releases.
        releases: the releases by name, in order.
        trends: the findings and deciles that at least two releases have.
        words: which conclusions are justified, and which are not.

    >>> import peerveil as pv
    >>> weights = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
    >>> release = pv.refine([1.0, 2.0, 3.0, 4.0], weights, mechanism=pv.Laplace(scale=1.0))
    >>> pv.compare(release, release, release)
    Series(weights of 3 releases: 0 of 3 numbers change by more than noise and sampling)
    """

    quantity: str
    releases: Mapping[str, Release] = field(repr=False)
    trends: tuple[Trend, ...]
    words: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the releases, in order."""
        return tuple(self.releases)

    def sentences(self) -> list[str]:
        """Return each trend in a sentence."""
        return [trend.sentence for trend in self.trends]

    def cells(self) -> list[tuple[str, ...]]:
        """Return the rows of a table: one per trend, with a column per release."""
        rows = []
        for trend in self.trends:
            shown = {
                name: f"{trend.number(each.value)} ({trend.number(each.noise[0], unit='')} to "
                f"{trend.number(each.noise[1])})"
                for name, each in zip(trend.names, trend.estimates, strict=True)
            }
            rows.append((trend.label, *(shown.get(name, "") for name in self.names)))
        return rows

    def to_frame(self, backend: Backend = "polars") -> Any:
        """Return one row per number and release as a frame of polars, pandas or pyarrow."""
        rows = list(self._rows())
        return make_frame({name: [row[place] for row in rows] for place, name in enumerate(COLUMNS)}, backend)

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        for trend in self.trends:
            for name, each in zip(trend.names, trend.estimates, strict=True):
                yield (trend.name, name, each.value, *each.noise, *each.wider)

    def to_document(self) -> dict[str, Any]:
        """Return the series as JSON."""
        releases = [
            {"release": name, "reviewers": each.reviewers, "record": each.record_digest}
            for name, each in self.releases.items()
        ]
        trends = [trend.to_document() for trend in self.trends]
        return {"quantity": self.quantity, "releases": releases, "trends": trends, "words": list(self.words)}

    def plot(self, kind: str = "deciles") -> Plot:
        """Return a chart over the releases: of ``"deciles"``, or of a finding such as ``"leniency_share"``."""
        from peerveil.reporting.plots import series_plot  # noqa: PLC0415 - slow to load

        deciles = tuple(trend for trend in self.trends if trend.name not in _WORDS)
        chosen = deciles if kind == "deciles" else tuple(trend for trend in self.trends if trend.name == kind)
        if not chosen:
            kinds = ", ".join(
                ["deciles"] * bool(deciles) + [trend.name for trend in self.trends if trend.name in _WORDS]
            )
            raise InputError(f"kind must be one of {kinds}, got {kind!r}")
        lines = {
            trend.name: [
                (name, each.value, *each.noise) for name, each in zip(trend.names, trend.estimates, strict=True)
            ]
            for trend in chosen
        }
        percent = chosen[0].name in _PERCENT
        title = _found(chosen)
        return series_plot(lines, self.quantity, title=title, names=self.names, level=LEVEL, percent=percent)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a new file and return its path: a page (``.html``), a chart (``.svg``), ``.json`` or ``.csv``."""
        place = Path(path)
        if place.suffix == ".json":
            text = json.dumps(self.to_document(), indent=1, allow_nan=False) + "\n"
        elif place.suffix == ".csv":
            text = csv_text(COLUMNS, self._rows())
        elif place.suffix == ".svg":
            text = self.plot().svg
        elif place.suffix == ".html":
            text = self._page()
        else:
            kinds = ".html, .svg, .json or .csv"
            raise InputError(f"a comparison is written as {kinds}, not as {place.suffix or place.name!r}")
        write_new(place, text)
        return place

    def _page(self) -> str:
        from peerveil.reporting.comparison_page import comparison_html  # noqa: PLC0415 - slow to load
        from peerveil.reporting.plots import comparison_plot  # noqa: PLC0415 - slow to load
        from peerveil.reporting.words import say  # noqa: PLC0415 - used here alone

        kinds = list(dict.fromkeys(trend.name if trend.name in _WORDS else "deciles" for trend in self.trends))
        kinds.sort(key="deciles".__ne__)  # first
        pictures = [self.plot(kind).svg for kind in kinds]
        if len(self.releases) <= _DRAWN:
            pictures.append(comparison_plot(self.releases).svg)
        first, *_, last = self.names
        few = len(self.names) <= _LISTED
        names = ", ".join(self.names) if few else say("comparison.first_to_last", first=first, last=last)
        cells = self.cells()
        if few or not cells:
            header, rows = ("", *self.names), cells
        else:  # a row per release
            columns = zip(*(row[1:] for row in cells), strict=True)
            header = (say("comparison.release"), *(row[0] for row in cells))
            rows = [(name, *map(_unbroken, numbers)) for name, numbers in zip(self.names, columns, strict=True)]
        return comparison_html(
            title=say("comparison.series", names=names, quantity=self.quantity),
            sentences=self.sentences(),
            picture="</figure><figure>".join(pictures),
            tables={say("comparison.over_years"): (header, rows)},
            words=self.words,
        )

    def __repr__(self) -> str:
        clear = sum(trend.sentence.endswith("more than noise and sampling.") for trend in self.trends)
        change = f"{clear} of {len(self.trends)} numbers change by more than noise and sampling"
        return f"Series({self.quantity} of {len(self.releases)} releases: {change})"

    def _repr_html_(self) -> str:
        return table(f"{self.quantity} of {len(self.releases)} releases", self.cells(), header=("", *self.names))


def _found(trends: Sequence[Trend]) -> str:
    """What a chart of numbers over the releases shows: the clearest of their changes, or that there is none."""
    from peerveil.reporting.words import say  # noqa: PLC0415 - used here alone

    what = trends[0].label if len(trends) == 1 else say("comparison.these_deciles")
    clear = [(trend, change) for trend in trends if (change := trend.clearest) is not None]
    if not clear:
        return say("comparison.no_change", what=_capital(what))
    trend, change = max(clear, key=lambda each: abs(each[1].difference))
    step = trend.step(change.difference).replace("-", "\N{MINUS SIGN}")
    which = what if len(trends) == 1 else say("comparison.decile", share=trend.name)
    return say("comparison.change", what=_capital(which), step=step, first=change.first, second=change.second)


#: The maximal number of releases whose distributions are drawn side by side.
_DRAWN = 6


def series(releases: Sequence[Release], names: Sequence[str] | None = None) -> Series:
    """Return the comparison of two or more releases of one quantity, given in order.

    Args:
        releases: the releases.
        names: their names; by default conference and year, as far as they are stated.
    """
    quantities = sorted({release.quantity for release in releases})
    if len(quantities) > 1:
        raise InputError(f"the releases are of {' and '.join(quantities)}; compare releases of the same quantity")
    called = _names(releases, names)
    named = dict(zip(called, releases, strict=True))
    return Series(
        quantity=quantities[0], releases=named, trends=tuple(_trends(named)), words=tuple(_words(list(releases)))
    )


def _names(releases: Sequence[Release], names: Sequence[str] | None) -> list[str]:
    if names is not None:
        if len(names) != len(releases) or len(set(names)) < len(names) or not all(names):
            raise InputError(f"names must be {len(releases)} different names, got {list(names)}")
        return list(names)
    numbered = [f"release {place}" for place in range(1, len(releases) + 1)]
    stated = [name or number for name, number in zip(_stated(releases), numbered, strict=True)]
    return stated if len(set(stated)) == len(stated) else numbered


def stated_names(releases: Sequence[Release]) -> list[str] | None:
    """Return what releases state that they are of, such as their years; ``None`` unless all do, and differently."""
    names = [name for name in _stated(releases) if name]
    return names if len(set(names)) == len(releases) else None


def _stated(releases: Sequence[Release]) -> list[str]:
    """What each release states that it is of: its year, its conference if they differ, or its title."""
    abouts = [release.terms.about for release in releases]
    several = len({about.conference for about in abouts}) > 1
    stated = []
    for about in abouts:
        words = (about.conference if several else None, about.year)
        stated.append(" ".join(str(word) for word in words if word is not None) or about.title or "")
    return stated


def _trends(releases: Mapping[str, Release]) -> Iterator[Trend]:
    for name in _WORDS:
        held = {called: _finding(release, name) for called, release in releases.items()}
        shown = {called: each for called, each in held.items() if each is not None}
        if len(shown) > 1:
            yield Trend(name=name, names=tuple(shown), estimates=tuple(shown.values()))
    for share in DECILES:
        known = {called: release for called, release in releases.items() if release.outlook is not None}
        if len(known) > 1:
            deciles = tuple(_decile(release, share) for release in known.values())
            yield Trend(name=f"{100 * share:.0f} %", names=tuple(known), estimates=deciles)


def _finding(release: Release, name: str) -> Estimate | None:
    """A finding of a release, with its intervals at the common level."""
    for each in release.findings:
        if each.name == name and (each.accepted is None or each.accepted == ACCEPTED):
            sampled = _z(LEVEL) * sampling_error(each, release)
            ends = (each.lower, each.upper)
            return _estimate(each.value, ends, each.level, (sampled, sampled), possible=_POSSIBLE[name])
    return None


def _decile(release: Release, share: float) -> Estimate:
    """A decile of the means of a release, with its intervals at the common level."""
    assert release.outlook is not None  # noqa: S101 - checked by the caller
    rank = math.ceil(round(share * release.reviewers, 9)) - 1
    ends = (float(release.outlook.lower[rank]), float(release.outlook.upper[rank]))
    sampled, possible = quantile_reach(release.values, share), possible_range(release.quantity)
    return _estimate(float(release.values[rank]), ends, release.outlook.level, sampled, possible=possible)


def _estimate(
    value: float,
    ends: tuple[float, float],
    level: float,
    sampled: tuple[float, float],
    *,
    possible: tuple[float, float],
) -> Estimate:
    """A number with both intervals; ``sampled`` is how far sampling reaches below and above it."""

    def within(down: float, up: float) -> tuple[float, float]:
        return min(max(value - down, possible[0]), value), max(min(value + up, possible[1]), value)

    scale = _z(LEVEL) / _z(level)
    down, up = scale * max(value - ends[0], 0.0), scale * max(ends[1] - value, 0.0)
    wider = within(math.hypot(down, sampled[0]), math.hypot(up, sampled[1]))
    return Estimate(value=value, noise=within(down, up), wider=wider)


def quantile_reach(values: Floats, share: float, level: float = LEVEL) -> tuple[float, float]:
    """Return how far a quantile of a sample reaches below and above itself by sampling, by order statistics.

    The number of sampled people below the true quantile is binomial.

    >>> below, above = quantile_reach(np.arange(100.0), 0.5)
    >>> round(below, 1), round(above, 1)
    (8.2, 8.2)
    """
    n = values.size
    reach = _z(level) * math.sqrt(share * (1 - share) / n)
    at = (np.arange(n) + 0.5) / n
    low, middle, high = np.interp((share - reach, share, share + reach), at, values).tolist()
    return middle - low, high - middle


def sampling_error(finding: Finding, release: Release) -> float:
    """Return the standard error that a finding has by the sampling of reviewers and papers, if their number is large.

    That of the intraclass correlation ``s`` of ``n`` reviewers with ``k`` reviews each is Fisher's,
    ``(1 - s)(1 + (k - 1) s) sqrt(2 / (k (k - 1)(n - 1)))``; the other findings are functions of it.
    """
    n, k = release.loads.reviewers, release.loads.reviews / release.loads.reviewers
    shares = [each.value for each in release.findings if each.name == "leniency_share"]
    share = min(max(shares[0] if shares else 0.0, 0.0), 1.0)
    if n < 2 or k <= 1:
        return 0.0
    of_share = (1 - share) * (1 + (k - 1) * share) * math.sqrt(2 / (k * (k - 1) * (n - 1)))
    if finding.name == "leniency_share":
        return of_share
    if finding.name == "reliability":  # k s / (1 + (k - 1) s)
        return of_share * k / (1 + (k - 1) * share) ** 2
    # These go with the deviation of leniency, the root of its share; where that is small, so is what it can move.
    return finding.value * min(of_share / (2 * share), 1.0) if share > 0 else 0.0


def _z(level: float) -> float:
    return float(ndtri((1 + level) / 2))


def _unbroken(cell: str) -> str:
    """A number with its interval, which stays on one line.

    >>> len(_unbroken("5 % (3 to 8 %)").split(" "))
    3
    """
    number, bracket, interval = cell.partition("(")
    return number + bracket + interval.replace(" ", "\N{NO-BREAK SPACE}")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _words(releases: Sequence[Release]) -> Iterator[str]:
    yield (
        f"An interval contains the number of its release with probability {LEVEL:.0%} under the releases' assumptions, "
        "given the noise. A change is called more than noise, or more than noise and sampling, only if that holds for "
        "all pairs of releases at once with this probability."
    )
    yield (
        "More than noise: the reviewers of both years did differ. More than noise and sampling: other reviewers and "
        "papers of the same kind would differ as well, as if each year's had been drawn at random. No clear change "
        "does not mean that there is none."
    )
    if len({release.loads.brief() for release in releases}) > 1:
        numbers = words_of(releases[0].quantity).numbers
        yield f"Loads differ: {numbers} of fewer reviews vary more, so deciles may change though reviewers do not."
    digests = [release.record_digest for release in releases]
    if len(set(digests)) < len(digests):
        yield "Some releases have the same public record: their differences come from noise or refinement."
    if any(release.prior is not None and not release.prior.unlike for release in releases):
        yield (
            "Some releases rest on a prior pooled from earlier ones, which draws their numbers towards those: changes "
            "are understated rather than overstated. Their noisy data are as published; refine them without a prior to "
            "compare years that know nothing of each other."
        )
    yield (
        "A change does not reveal its cause: papers, forms, scales and reviewers may all differ. Ranks do not identify "
        "people, so nothing follows about anyone who reviewed in several years."
    )
