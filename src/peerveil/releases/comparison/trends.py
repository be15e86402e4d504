"""Numbers of many releases of one quantity: findings and deciles, their intervals, and their changes over the years.

See docs/mathematics.md, "Changes between years". Published data only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.special import ndtri

from peerveil.inference.expected_error import LEVEL
from peerveil.inference.findings import ACCEPTED, Finding
from peerveil.quantities.base import possible_range
from peerveil.record.public_record import Floats
from peerveil.releases.release import Release

#: The deciles that are followed over the years.
DECILES = (0.1, 0.5, 0.9)

#: The findings that are followed, in words.
FINDINGS = {
    "leniency_share": "share of the variance that reviewers explain",
    "reliability": "correlation with other reviews by the same reviewers",
    "changed_decisions": "share of accepted papers that leniency decides",
    "paper_shift": "points by which leniency moves a paper",
}

#: Those of them that are shares.
PERCENT = ("leniency_share", "changed_decisions")

#: The most releases whose numbers a sentence lists.
LISTED = 3

#: The ranges of findings, which no interval exceeds.
_POSSIBLE = {name: (0.0, math.inf if name == "paper_shift" else 1.0) for name in FINDINGS}


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
        return FINDINGS.get(self.name, f"{self.name} of the reviewers are at or below")

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
        if len(numbers) > LISTED:
            (least, first), (greatest, last) = (
                (self.number(value), name) for value, name in (min(numbers), max(numbers))
            )
            listed = (
                f"between {least} ({first}) and {greatest} ({last})" if least != greatest else f"about {least} in each"
            )
        most = self.clearest
        if most is None:
            return f"{capital(self.label)}: {listed}; no change is more than noise."
        what = f"from {most.first} to {most.second} it changed by {self.step(most.difference)}"
        return f"{capital(self.label)}: {listed}; {what}, {most.tells}."

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
        return f"{100 * value:.0f}{unit}" if self.name in PERCENT else f"{value + 0.0:.2f}"

    def step(self, change: float) -> str:
        """Return a change of its numbers as text."""
        return f"{100 * change:+.0f} percentage points" if self.name in PERCENT else f"{change:+.2f}"

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


def trends_of(releases: Mapping[str, Release]) -> Iterator[Trend]:
    """Yield the findings and deciles that at least two of the named releases have."""
    for name in FINDINGS:
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


def capital(text: str) -> str:
    """Return a text that begins with a capital."""
    return text[:1].upper() + text[1:]
