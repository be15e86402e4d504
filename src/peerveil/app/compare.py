"""Several published releases: their comparison, and the prior that they give for the next one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from peerveil.app.requests import CompareRequest, PoolRequest
from peerveil.errors import Argument, InputError
from peerveil.inference.pooling import PooledPrior
from peerveil.releases.comparison import Comparison
from peerveil.releases.comparison import compare as compare_releases
from peerveil.releases.comparison.series import Series, series, stated_names
from peerveil.releases.pooling import pool as pool_releases
from peerveil.releases.release import Release

if TYPE_CHECKING:
    from peerveil.reporting.charts.look import Picture


def compare(request: CompareRequest) -> Comparison:
    """Return the comparison of two published releases; write it if the request names a file."""
    labels = _labels(request)
    if labels is not None and len(labels) != 2:
        raise InputError(Argument("labels"), f" must be two names, got {request.labels!r}")
    places = _several(request)
    releases = [Release.load(place) for place in places]
    comparison = compare_releases(releases[0], releases[1])
    if request.output is not None:
        own = None if request.names == CompareRequest.names else request.names
        names = labels or own or _folders(places, releases) or stated_names(releases) or request.names
        comparison.save(request.output, first=names[0], second=names[1])
    return comparison


def compare_many(request: CompareRequest) -> Series:
    """Return the comparison of three or more published releases; write it if the request names a file."""
    places = _several(request)
    releases = [Release.load(place) for place in places]
    made = series(releases, _labels(request) or _folders(places, releases))
    if request.output is not None:
        made.save(request.output)
    return made


def _several(request: CompareRequest) -> list[str]:
    """Return the places of the releases; one alone cannot be compared."""
    if len(request.releases) < 2:
        raise InputError("give two releases or more to compare, the earlier one first; got one")
    return request.releases


def _labels(request: CompareRequest) -> list[str] | None:
    return None if request.labels is None else [name.strip() for name in request.labels.split(",")]


def _folders(places: Sequence[str], releases: Sequence[Release]) -> list[str] | None:
    """The names of the folders, if they differ and no release says what it is of."""
    paths = [Path(place).resolve() for place in places]
    names = [path.parent.name if path.suffix == ".json" else path.name for path in paths]
    stated = any(release.terms.about.to_document() for release in releases)
    return None if stated or len(set(names)) < len(names) or not all(names) else names


def pool(request: PoolRequest) -> PooledPrior:
    """Return the prior pooled from published releases, written into a new file."""
    prior = pool_releases(request.releases)
    prior.save(request.output)
    return prior


def comparison_chart(earlier: Mapping[str, str], title: str, release: Release) -> Picture:
    """Return a chart of a release after earlier ones, which are given by their titles and folders."""
    from peerveil.reporting import charts  # noqa: PLC0415 - slow to load

    return charts.comparison({name: Release.load(place) for name, place in earlier.items()} | {title: release})
