"""Comparison of many releases of one quantity: findings and deciles over the years, and which changes are real.

See docs/mathematics.md, "Changes between years". Published data only.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerveil.errors import InputError
from peerveil.inference.expected_error import LEVEL
from peerveil.quantities.base import words_of
from peerveil.releases.comparison.trends import FINDINGS, LISTED, PERCENT, Trend, capital, trends_of
from peerveil.releases.release import Release
from peerveil.support.atomic_files import write_new
from peerveil.support.frames import Backend, csv_text, make_frame
from peerveil.support.html_tables import table

if TYPE_CHECKING:
    from peerveil.reporting.plots import Plot

#: The columns of a table of a series.
COLUMNS = ("what", "release", "value", "lower", "upper", "wider_lower", "wider_upper")


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

        deciles = tuple(trend for trend in self.trends if trend.name not in FINDINGS)
        chosen = deciles if kind == "deciles" else tuple(trend for trend in self.trends if trend.name == kind)
        if not chosen:
            kinds = ", ".join(
                ["deciles"] * bool(deciles) + [trend.name for trend in self.trends if trend.name in FINDINGS]
            )
            raise InputError(f"kind must be one of {kinds}, got {kind!r}")
        lines = {
            trend.name: [
                (name, each.value, *each.noise) for name, each in zip(trend.names, trend.estimates, strict=True)
            ]
            for trend in chosen
        }
        percent = chosen[0].name in PERCENT
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

        kinds = list(dict.fromkeys(trend.name if trend.name in FINDINGS else "deciles" for trend in self.trends))
        kinds.sort(key="deciles".__ne__)  # first
        pictures = [self.plot(kind).svg for kind in kinds]
        if len(self.releases) <= _DRAWN:
            pictures.append(comparison_plot(self.releases).svg)
        first, *_, last = self.names
        few = len(self.names) <= LISTED
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
        return say("comparison.no_change", what=capital(what))
    trend, change = max(clear, key=lambda each: abs(each[1].difference))
    step = trend.step(change.difference).replace("-", "\N{MINUS SIGN}")
    which = what if len(trends) == 1 else say("comparison.decile", share=trend.name)
    return say("comparison.change", what=capital(which), step=step, first=change.first, second=change.second)


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
        quantity=quantities[0], releases=named, trends=tuple(trends_of(named)), words=tuple(_words(list(releases)))
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


def _unbroken(cell: str) -> str:
    """A number with its interval, which stays on one line.

    >>> len(_unbroken("5 % (3 to 8 %)").split(" "))
    3
    """
    number, bracket, interval = cell.partition("(")
    return number + bracket + interval.replace(" ", "\N{NO-BREAK SPACE}")


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
