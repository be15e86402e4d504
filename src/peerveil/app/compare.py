"""Comparison of published releases: of two in numbers and words, of several in a chart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from peerveil.app.requests import CompareRequest
from peerveil.releases.comparison import Comparison
from peerveil.releases.comparison import compare as compare_releases
from peerveil.releases.release import Release

if TYPE_CHECKING:
    from peerveil.reporting.charts.look import Picture


def compare(request: CompareRequest) -> Comparison:
    """Return the comparison of two published releases; write it if the request names a file."""
    comparison = compare_releases(Release.load(request.first), Release.load(request.second))
    if request.output is not None:
        comparison.save(request.output, first=request.names[0], second=request.names[1])
    return comparison


def comparison_chart(earlier: Mapping[str, str], title: str, release: Release) -> Picture:
    """Return a chart of a release after earlier ones, which are given by their titles and folders."""
    from peerveil.reporting import charts  # noqa: PLC0415 - slow to load

    return charts.comparison({name: Release.load(place) for name, place in earlier.items()} | {title: release})
