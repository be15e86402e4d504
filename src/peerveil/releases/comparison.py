"""Two releases side by side: how their distributions differ, and how much of that may be noise."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import numpy as np

from peerveil.errors import Argument, InputError
from peerveil.privacy.guarantee import compose
from peerveil.record.public_record import Floats
from peerveil.releases.release import Release
from peerveil.support.html_tables import table

#: What a table of quantiles shows.
QUANTILE_COLUMNS = ("share", "first", "second", "difference", "its band", "found")

#: The shares of reviewers at which distributions are compared.
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True, kw_only=True)
class Quantile:
    """The mean below or at which a share of the reviewers lie, in both releases.

    Attributes:
        share: the share of the reviewers.
        first: in the first release.
        second: in the second.
        band: least and greatest difference, in all likelihood; ``None`` where either noise's law is not known.
        proven: least and greatest difference that public data alone leaves possible, whatever the noise.
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
        """What the bands say of the difference.

        >>> Quantile(share=0.5, first=5.0, second=5.5, band=(0.2, 0.8), proven=(-1.0, 2.0)).tells
        'higher, in all likelihood'
        """
        for ends, how in ((self.proven, "proven"), (self.band, "in all likelihood")):
            if ends is not None and (ends[0] > 0 or ends[1] < 0):
                return f"{'higher' if ends[0] > 0 else 'lower'}, {how}"
        return "not told apart"

    def cells(self) -> tuple[str, ...]:
        """A row of a table whose columns are :data:`QUANTILE_COLUMNS`.

        >>> Quantile(share=0.5, first=5.0, second=5.5, band=(0.2, 0.8), proven=(-1.0, 2.0)).cells()[3:]
        ('+0.500', '+0.200 to +0.800', 'the second is higher, in all likelihood')
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
    """One number that describes a distribution, in both releases.

    Attributes:
        name: which one.
        first: in the first release.
        second: in the second.
        first_error: its error is at most this, in root mean square; ``None`` where the law of the noise is not known.
        second_error: the same of the second.
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
        """The error of the difference is at most this, in root mean square."""
        if self.first_error is None or self.second_error is None:
            return None
        return self.first_error + self.second_error


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What two releases of one quantity say about each other.

    Attributes:
        quantity: what the means are of.
        reviewers: how many there are in each.
        summaries: mean and standard deviation of the means.
        quantiles: the means at every tenth of the reviewers.
        distance: the mean distance of equal shares' means, and its error as in a summary.
        level: a band of a difference holds it with this probability at least; ``None`` where there are no bands.
        words: what may be concluded, and what may not.

    >>> import peerveil as pv
    >>> weights = pv.PublicWeights.from_rows([[1, 5], [2, 2]], load=2)
    >>> release = pv.refine([2.0, 3.0], weights)
    >>> pv.compare(release, release).distance
    (0.0, None)
    """

    quantity: str
    reviewers: tuple[int, int]
    summaries: tuple[Summary, ...]
    quantiles: tuple[Quantile, ...]
    distance: tuple[float, float | None]
    level: float | None
    words: tuple[str, ...]

    def to_document(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {
            "quantity": self.quantity,
            "reviewers": list(self.reviewers),
            "summaries": [asdict(s) | {"difference": s.difference, "error": s.error} for s in self.summaries],
            "quantiles": [asdict(q) | {"difference": q.difference, "tells": q.tells} for q in self.quantiles],
            "distance": {"value": self.distance[0], "error": self.distance[1]},
            "level": self.level,
            "words": list(self.words),
        }

    def _repr_html_(self) -> str:
        rows = [quantile.cells() for quantile in self.quantiles]
        title = f"Comparison: {self.quantity} of {self.reviewers[0]} and of {self.reviewers[1]} reviewers"
        return table(
            title, rows, header=QUANTILE_COLUMNS, below="".join(f"<p>{escape(words)}</p>" for words in self.words)
        )


def compare(first: Release, second: Release) -> Comparison:
    """Two releases of the same quantity side by side, such as those of two years or of two tracks.

    Args:
        first: a release.
        second: another; differences are its minus the first's.

    >>> import peerveil as pv
    >>> weights = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
    >>> harsh = pv.refine([1.2, 2.1, 3.0, 4.8], weights, mechanism=pv.Laplace(scale=0.1))
    >>> weights = pv.PublicWeights.from_rows([[6, 9], [7, 7], [8, 8], [6, 9]], load=2)
    >>> kind = pv.refine([6.3, 7.4, 7.6, 8.7], weights, mechanism=pv.Laplace(scale=0.1))
    >>> found = pv.compare(harsh, kind)
    >>> found.quantiles[4].tells
    'higher, proven'
    >>> round(found.summaries[0].difference, 6), found.summaries[0].name
    (4.625, 'mean')
    """
    for name, release in (("first", first), ("second", second)):
        if not isinstance(release, Release):
            raise InputError(
                Argument(name), f" must be a release, got {type(release).__name__}; Release.load reads one"
            )
    if first.quantity != second.quantity:
        raise InputError(
            f"the first release is of {first.quantity}, the second of {second.quantity}; only releases of one quantity "
            "can be compared"
        )
    error_of_both = None
    if first.outlook is not None and second.outlook is not None:
        error_of_both = first.outlook.expected_rmse + second.outlook.expected_rmse
    return Comparison(
        quantity=first.quantity,
        reviewers=(first.reviewers, second.reviewers),
        summaries=(
            _summary("mean", first, second, float(first.values.mean()), float(second.values.mean())),
            _summary("standard deviation", first, second, float(first.values.std()), float(second.values.std())),
        ),
        quantiles=tuple(_quantile(share, first, second) for share in SHARES),
        distance=(_distance(first.values, second.values), error_of_both),
        level=_level(first, second),
        words=tuple(_words(first, second)),
    )


def _summary(name: str, first: Release, second: Release, one: float, other: float) -> Summary:
    # Mean and standard deviation move by no more than the root mean square of what the entries move by.
    errors = [None if r.outlook is None else r.outlook.expected_rmse for r in (first, second)]
    return Summary(name=name, first=one, second=other, first_error=errors[0], second_error=errors[1])


def _quantile(share: float, first: Release, second: Release) -> Quantile:
    i, j = (math.ceil(round(share * release.reviewers, 9)) - 1 for release in (first, second))
    band = None
    if first.outlook is not None and second.outlook is not None:
        band = (
            float(second.outlook.lower[j] - first.outlook.upper[i]),
            float(second.outlook.upper[j] - first.outlook.lower[i]),
        )
    return Quantile(
        share=share,
        first=float(first.values[i]),
        second=float(second.values[j]),
        band=band,
        proven=(float(second.lower[j] - first.upper[i]), float(second.upper[j] - first.lower[i])),
    )


def _level(first: Release, second: Release) -> float | None:
    """Both bands hold with this probability at least, however the two releases hang together."""
    if first.outlook is None or second.outlook is None:
        return None
    return round(first.outlook.level + second.outlook.level - 1, 9)


def _distance(one: Floats, other: Floats) -> float:
    """The area between two distributions' quantile functions."""
    ends = np.unique(np.concatenate([np.arange(1, v.size + 1) / v.size for v in (one, other)]))
    middle = (np.concatenate(([0.0], ends[:-1])) + ends) / 2
    at = [v[np.minimum((middle * v.size).astype(np.int64), v.size - 1)] for v in (one, other)]
    return float(np.sum(np.diff(ends, prepend=0.0) * np.abs(at[0] - at[1])))


def _words(first: Release, second: Release) -> list[str]:
    words = []
    level = _level(first, second)
    if level is None:
        words.append(
            "The law of the noise is not known of both, so nothing is said about which differences are noise; only "
            "what is proven by public data holds."
        )
    elif level <= 0:
        words.append("The bands are so narrow that those of differences promise nothing.")
    else:
        words.append(
            f"A difference whose band excludes 0 is there in all likelihood: each band holds it with a probability of "
            f"at least {level:.0%}, one by one, not all together, if what the releases assume is true."
        )
    words.append(
        "Where a difference is not told apart, that does not show that there is none. Errors of mean, deviation and "
        "distance are upper bounds, in root mean square."
    )
    if first.record_digest == second.record_digest:
        words.append("Both releases are of the same public record: whatever differs is noise, or how it was refined.")
    if not (first.loads.uniform and first.loads.sizes == second.loads.sizes):
        words.append(
            f"Loads differ, or may ({first.loads.describe()}; {second.loads.describe()}): means of fewer reviews "
            "spread more, so a difference of spread need not be one of reviewers."
        )
    words.append(
        "A difference is no cause: papers, forms, scales and reviewers may all differ. Weights lie between "
        f"{first.lower[0]:.3g} and {first.upper[-1]:.3g} in the first, between {second.lower[0]:.3g} and "
        f"{second.upper[-1]:.3g} in the second; whether both used the same scale, you must know. Ranks are not people: "
        "nothing is said about anyone who reviewed in both."
    )
    claims = (first.guarantee, second.guarantee)
    if all(claim.kind != "stated" for claim in claims) and claims[0].unit == claims[1].unit:
        words.append(f"Whoever reviewed in both is protected by the two together: {compose(claims).summary}.")
    return words
