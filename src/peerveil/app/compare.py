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
from peerveil.releases.comparison.series import Series, series
from peerveil.releases.pooling import pool as pool_releases
from peerveil.releases.release import Release

if TYPE_CHECKING:
    from peerveil.reporting.charts.look import Picture


def compare(request: CompareRequest) -> Comparison:
    """Return the comparison of two published releases; write it if the request names a file."""
    names = _labels(request) or request.names
    if len(names) != 2:
        raise InputError(Argument("labels"), f" must be two names, got {request.labels!r}")
    comparison = compare_releases(Release.load(request.first), Release.load(request.second))
    if request.output is not None:
        comparison.save(request.output, first=names[0], second=names[1])
    return comparison


def compare_many(request: CompareRequest) -> Series:
    """Return the comparison of three or more published releases; write it if the request names a file."""
    places = (request.first, request.second, *(request.others or ()))
    releases = [Release.load(place) for place in places]
    made = series(releases, _labels(request) or _folders(places, releases))
    if request.output is not None:
        made.save(request.output)
    return made


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
