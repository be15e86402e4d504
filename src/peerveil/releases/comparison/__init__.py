"""Comparison of the distributions in releases, taking the noise into account: of two, and of many (series)."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from peerveil.errors import Argument, InputError
from peerveil.inference.findings import Finding
from peerveil.privacy.guarantee import compose
from peerveil.quantities.base import words_of
from peerveil.quantities.statistics import MEAN, split
from peerveil.record.public_record import Floats
from peerveil.releases.comparison.series import Series, series
from peerveil.releases.release import Release
from peerveil.support.atomic_files import write_new
from peerveil.support.frames import Backend, make_frame
from peerveil.support.html_tables import table

if TYPE_CHECKING:
    from peerveil.reporting.plots import Plot

#: The columns of a table of quantiles.
QUANTILE_COLUMNS = ("share", "first", "second", "difference", "its band", "found")

#: The columns of a table of summaries of means.
SUMMARY_COLUMNS = ("of the means", "first", "second", "difference")

#: The shares of reviewers at which distributions are compared.
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True, kw_only=True)
class Quantile:
    """A quantile of the reviewers' means in both releases.

    Attributes:
        share: the share of reviewers at or below it.
        first: its value in the first release.
        second: its value in the second.
        band: credible band of the difference; ``None`` if either noise distribution is unknown.
        proven: bounds of the difference that public data alone proves.
    """

    share: float
    first: float
    second: float
    band: tuple[float, float] | None
    proven: tuple[float, float]

    @property
    def difference(self) -> float:
        """The second minus the first."""
        return self.second - self.first

    @property
    def tells(self) -> str:
        """The conclusion about the difference.

        >>> Quantile(share=0.5, first=5.0, second=5.5, band=(0.2, 0.8), proven=(-1.0, 2.0)).tells
        'higher, likely'
        """
        for ends, certainty in ((self.proven, "proven"), (self.band, "likely")):
            if ends is not None and (ends[0] > 0 or ends[1] < 0):
                return f"{'higher' if ends[0] > 0 else 'lower'}, {certainty}"
        return "no clear difference"

    def cells(self) -> tuple[str, ...]:
        """Return the row of a table with :data:`QUANTILE_COLUMNS`.

        >>> Quantile(share=0.5, first=5.0, second=5.5, band=(0.2, 0.8), proven=(-1.0, 2.0)).cells()[3:]
        ('+0.500', '+0.200 to +0.800', 'the second is higher, likely')
        """
        return (
            f"{self.share:.0%}",
            f"{self.first:.3f}",
            f"{self.second:.3f}",
            f"{self.difference:+.3f}",
            "" if self.band is None else f"{self.band[0]:+.3f} to {self.band[1]:+.3f}",
            f"the second is {self.tells}" if "," in self.tells else self.tells,
        )


@dataclass(frozen=True, kw_only=True)
class Summary:
    """A summary statistic of both releases.

    Attributes:
        name: its name.
        first: its value in the first release.
        second: its value in the second.
        first_error: upper bound of the first value's root mean squared error; ``None`` if the noise distribution is
            unknown.
        second_error: the same for the second value.
    """

    name: str
    first: float
    second: float
    first_error: float | None
    second_error: float | None

    @property
    def difference(self) -> float:
        """The second minus the first."""
        return self.second - self.first

    @property
    def error(self) -> float | None:
        """Upper bound of the root mean squared error of the difference."""
        if self.first_error is None or self.second_error is None:
            return None
        return self.first_error + self.second_error


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """The comparison of two releases of the same quantity.

    Attributes:
        quantity: the averaged quantity.
        reviewers: the number of reviewers in each.
        findings: the findings that both releases state, in pairs; those about ranks are among the quantiles.
        summaries: mean and standard deviation of the means.
        quantiles: the deciles of the means.
        distance: the area between the quantile functions, and its error bound as in a summary.
        level: least probability that the band of a difference contains it; ``None`` without bands.
        words: which conclusions are justified, and which are not.
        releases: both releases.

    >>> import peerveil as pv
    >>> weights = pv.PublicWeights.from_rows([[1, 5], [2, 2]], load=2)
    >>> release = pv.refine([2.0, 3.0], weights)
    >>> pv.compare(release, release).distance
    (0.0, None)
    """

    quantity: str
    reviewers: tuple[int, int]
    findings: tuple[tuple[Finding, Finding], ...]
    summaries: tuple[Summary, ...]
    quantiles: tuple[Quantile, ...]
    distance: tuple[float, float | None]
    level: float | None
    words: tuple[str, ...]
    releases: tuple[Release, Release] = field(compare=False)

    def to_frame(self, backend: Backend = "polars") -> Any:
        """Return one row per decile as a frame of polars, pandas or pyarrow.

        >>> import peerveil as pv
        >>> weights = pv.PublicWeights.from_rows([[1, 5], [2, 2]], load=2)
        >>> release = pv.refine([2.0, 3.0], weights)
        >>> pv.compare(release, release).to_frame()["difference"].to_list()[:2]
        [0.0, 0.0]
        """
        columns: dict[str, list[Any]] = {
            name: [getattr(quantile, name) for quantile in self.quantiles]
            for name in ("share", "first", "second", "difference")
        }
        for name in ("band", "proven"):
            ends = [getattr(quantile, name) or (None, None) for quantile in self.quantiles]
            columns |= {f"{name}_lower": [low for low, _ in ends], f"{name}_upper": [high for _, high in ends]}
        return make_frame(columns | {"tells": [quantile.tells for quantile in self.quantiles]}, backend)

    def plot(self, first: str = "first", second: str = "second") -> Plot:
        """Return a chart of both distributions under these names; notebooks display it."""
        from peerveil.reporting.plots import comparison_plot  # noqa: PLC0415 - slow to load

        if first == second:
            raise InputError(f"first and second must be different names, got {first!r} twice")
        return comparison_plot(dict(zip((first, second), self.releases, strict=True)))

    def __repr__(self) -> str:
        clear = sum("," in quantile.tells for quantile in self.quantiles)
        of = f"{self.quantity} of {self.reviewers[0]} and of {self.reviewers[1]} reviewers"
        return f"Comparison({of}: clear differences at {clear} of {len(self.quantiles)} deciles)"

    def to_document(self) -> dict[str, Any]:
        """Return the comparison as JSON."""
        return {
            "quantity": self.quantity,
            "reviewers": list(self.reviewers),
            "findings": [[finding.to_document() for finding in pair] for pair in self.findings],
            "summaries": [asdict(s) | {"difference": s.difference, "error": s.error} for s in self.summaries],
            "quantiles": [asdict(q) | {"difference": q.difference, "tells": q.tells} for q in self.quantiles],
            "distance": {"value": self.distance[0], "error": self.distance[1]},
            "level": self.level,
            "words": list(self.words),
        }

    @property
    def summary_columns(self) -> tuple[str, ...]:
        """The columns of a table of summaries."""
        return (f"of the {words_of(self.quantity).numbers}", *SUMMARY_COLUMNS[1:])

    def summary_cells(self) -> list[tuple[str, ...]]:
        """Return the rows of a table with :attr:`summary_columns`: the summaries and the distance."""
        rows = []
        for s in self.summaries:
            numbers = ((s.first, s.first_error), (s.second, s.second_error), (s.difference, s.error))
            rows.append((s.name, *starmap(_with_error, numbers)))
        return [*rows, ("distance", "", "", _with_error(*self.distance))]

    def save(self, path: str | os.PathLike[str], *, first: str = "first", second: str = "second") -> Path:
        """Write a new file and return its path: a page (``.html``), a chart (``.svg``) or all numbers (``.json``).

        ``first`` and ``second`` are the names of the releases in the chart.
        """
        place = Path(path)
        if place.suffix == ".json":
            text = json.dumps(self.to_document(), indent=1, allow_nan=False) + "\n"
        elif place.suffix == ".svg":
            text = self.plot(first, second).svg
        elif place.suffix == ".html":
            text = self._page(first, second)
        else:
            raise InputError(f"a comparison is written as .html, .svg or .json, not as {place.suffix or place.name!r}")
        write_new(place, text)
        return place

    def _page(self, first: str, second: str) -> str:
        from peerveil.reporting.comparison_page import comparison_html  # noqa: PLC0415 - slow to load
        from peerveil.reporting.words import say  # noqa: PLC0415 - used here alone

        def named(columns: tuple[str, ...]) -> tuple[str, ...]:
            return tuple({"first": first, "second": second}.get(column, column) for column in columns)

        sizes = self.reviewers
        return comparison_html(
            title=say(
                "comparison.title_alike" if sizes[0] == sizes[1] else "comparison.title",
                first=first,
                second=second,
                quantity=self.quantity,
                reviewers=f"{sizes[0]:,}",
                others=f"{sizes[1]:,}",
            ),
            sentences=self.sentences("the second release" if second == "second" else second),
            picture=self.plot(first, second).svg,
            tables={
                say("comparison.summary"): (named(self.summary_columns), self.summary_cells()),
                say("comparison.deciles"): (named(QUANTILE_COLUMNS), [quantile.cells() for quantile in self.quantiles]),
            },
            words=self.words,
        )

    @property
    def _title(self) -> str:
        return f"Comparison: {self.quantity} of {self.reviewers[0]} and of {self.reviewers[1]} reviewers"

    def _repr_html_(self) -> str:
        rows = [quantile.cells() for quantile in self.quantiles]
        below = "".join(f"<p>{escape(words)}</p>" for words in (*self.sentences(), *self.words))
        return table(self._title, rows, header=QUANTILE_COLUMNS, below=below)

    def sentences(self, second: str = "the second release") -> list[str]:
        """Return the findings of both releases in words, and whether their intervals tell them apart.

        ``second`` is what the second release is called.
        """
        return [f"{a.sentence} In {second}: {b.clause}, {_apart(a, b)}." for a, b in self.findings]


@overload
def compare(first: Release, second: Release, *, names: Sequence[str] | None = None) -> Comparison: ...
@overload
def compare(
    first: Release, second: Release, third: Release, /, *others: Release, names: Sequence[str] | None = None
) -> Series: ...
def compare(
    first: Release, second: Release, *others: Release, names: Sequence[str] | None = None
) -> Comparison | Series:
    """Return the comparison of releases of the same quantity, such as those of two years or tracks.

    Differences are the second release minus the first. Three or more releases, given in order, are compared by their
    findings and deciles over the years (:class:`Series`).

    Args:
        first: a release.
        second: a release.
        others: further releases.
        names: the names of three or more releases; by default conference and year, as far as they are stated.

    >>> import peerveil as pv
    >>> weights = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
    >>> harsh = pv.refine([1.2, 2.1, 3.0, 4.8], weights, mechanism=pv.Laplace(scale=0.1))
    >>> weights = pv.PublicWeights.from_rows([[6, 9], [7, 7], [8, 8], [6, 9]], load=2)
    >>> kind = pv.refine([6.3, 7.4, 7.6, 8.7], weights, mechanism=pv.Laplace(scale=0.1))
    >>> comparison = pv.compare(harsh, kind)
    >>> comparison.quantiles[4].tells
    'higher, proven'
    >>> round(comparison.summaries[0].difference, 6), comparison.summaries[0].name
    (4.625, 'mean')
    """
    given = (("first", first), ("second", second), *(("others", other) for other in others))
    for name, release in given:
        if not isinstance(release, Release):
            got = type(release).__name__
            raise InputError(Argument(name), f" must be a release, got {got}; Release.load reads one")
    if others:
        return series((first, second, *others), names)
    if first.quantity != second.quantity:
        raise InputError(
            f"the first release is of {first.quantity}, the second of {second.quantity}; compare releases of "
            "the same quantity"
        )
    a, b = first.outlook, second.outlook
    # The least probability that both bands hold, whatever the dependence of the two releases.
    level = None if a is None or b is None else round(a.level + b.level - 1, 9)
    # Mean and standard deviation change by at most the root mean square of the entries' changes.
    rmses = [None if outlook is None else outlook.expected_rmse for outlook in (a, b)]
    errors = dict(zip(("first_error", "second_error"), rmses, strict=True))
    summaries = tuple(
        Summary(name=name, first=float(statistic(first.values)), second=float(statistic(second.values)), **errors)
        for name, statistic in (("mean", np.mean), ("standard deviation", np.std))
    )
    return Comparison(
        quantity=first.quantity,
        reviewers=(first.reviewers, second.reviewers),
        findings=tuple(_pairs(first, second)),
        summaries=summaries,
        quantiles=tuple(_quantile(share, first, second) for share in SHARES),
        distance=(_distance(first.values, second.values), summaries[0].error),
        level=level,
        words=tuple(_words(first, second, level)),
        releases=(first, second),
    )


def _with_error(value: float, error: float | None) -> str:
    return f"{value:.3f}" if error is None else f"{value:.3f} ± {error:.2g}"


def _pairs(first: Release, second: Release) -> Iterator[tuple[Finding, Finding]]:
    """The findings that both releases state, other than those about ranks."""
    for one in first.findings:
        for other in second.findings:
            if (one.name, one.accepted) == (other.name, other.accepted) and not one.name.endswith("_tenth"):
                yield one, other


def _apart(first: Finding, second: Finding) -> str:
    """Whether two intervals overlap, in words."""
    if first.upper < second.lower or second.upper < first.lower:
        return "higher, likely" if first.upper < second.lower else "lower, likely"
    return "no clear difference"


def _quantile(share: float, first: Release, second: Release) -> Quantile:
    i, j = (math.ceil(round(share * release.reviewers, 9)) - 1 for release in (first, second))
    a, b = first.outlook, second.outlook
    band = None if a is None or b is None else (float(b.lower[j] - a.upper[i]), float(b.upper[j] - a.lower[i]))
    return Quantile(
        share=share,
        first=float(first.values[i]),
        second=float(second.values[j]),
        band=band,
        proven=(float(second.lower[j] - first.upper[i]), float(second.upper[j] - first.lower[i])),
    )


def _distance(first: Floats, second: Floats) -> float:
    """The area between the quantile functions of two samples."""
    ends = np.unique(np.concatenate([np.arange(1, v.size + 1) / v.size for v in (first, second)]))
    middle = (np.concatenate(([0.0], ends[:-1])) + ends) / 2
    at = [v[np.minimum((middle * v.size).astype(np.int64), v.size - 1)] for v in (first, second)]
    return float(np.sum(np.diff(ends, prepend=0.0) * np.abs(at[0] - at[1])))


def _words(first: Release, second: Release, level: float | None) -> list[str]:
    words = []
    if level is None:
        words.append(
            "The noise distribution is not known for both releases, so only the bounds that public data proves show "
            "which differences are not noise."
        )
    elif level <= 0:
        words.append("The levels of the bands are too low to give bands of differences.")
    else:
        words.append(
            f"A difference whose band excludes 0 is likely real: each band, taken alone, contains the true difference "
            f"with probability at least {level:.0%} under the releases' assumptions."
        )
    words.append(
        "No clear difference does not mean that there is none. Errors of mean, deviation and distance are upper bounds "
        "of root mean squared errors."
    )
    if first.record_digest == second.record_digest:
        words.append("Both releases have the same public record: all differences come from noise or refinement.")
    if not (first.loads.uniform and first.loads.sizes == second.loads.sizes):
        numbers, follows = words_of(first.quantity).numbers, "a difference in spread may not be one between reviewers"
        vary = f"{numbers} of fewer reviews vary more, so {follows}."
        if split(first.quantity)[0] is not MEAN:
            vary = f"{numbers} depend on the number of reviews, so a difference may not be one between reviewers."
        words.append(f"Loads differ, or may differ ({first.loads.describe()}; {second.loads.describe()}): {vary}")
    words.append(
        "A difference does not reveal its cause: papers, forms, scales and reviewers may all differ. Weights lie "
        f"between {first.lower[0]:.3g} and {first.upper[-1]:.3g} in the first, between {second.lower[0]:.3g} and "
        f"{second.upper[-1]:.3g} in the second; check that both used the same scale. Ranks do not identify people, so "
        "nothing follows about anyone who reviewed in both."
    )
    claims = (first.guarantee, second.guarantee)
    if all(claim.kind != "stated" for claim in claims) and claims[0].unit == claims[1].unit:
        words.append(f"The joint guarantee for reviewers in both is: {compose(claims).summary}.")
    return words
