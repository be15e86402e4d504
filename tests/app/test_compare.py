"""Comparison of releases as the command line and the page use it."""

from __future__ import annotations

from pathlib import Path

import pytest

import peerveil as pv
from peerveil.app.compare import compare, comparison_chart
from peerveil.app.requests import CompareRequest
from peerveil.releases.release import Release
from peerveil.reporting import charts

WEIGHTS = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)


@pytest.fixture
def releases(tmp_path: Path) -> dict[str, Release]:
    """Two releases by name, each written into the folder of its name."""
    noisy = {"earlier": [1.2, 2.1, 3.0, 4.8], "later": [1.5, 2.0, 2.9, 5.0]}
    made = {name: pv.refine(vector, WEIGHTS, mechanism=pv.Laplace(scale=0.1)) for name, vector in noisy.items()}
    for name, release in made.items():
        release.save(tmp_path / name, report=False)
    return made


def test_differences_are_those_of_the_second_release_from_the_first(
    releases: dict[str, Release], tmp_path: Path
) -> None:
    first, second = tmp_path / "earlier", tmp_path / "later" / "release.json"
    comparison = compare(CompareRequest(releases=[str(first), str(second)]))
    assert comparison == pv.compare(releases["earlier"], releases["later"])
    assert [quantile.first for quantile in comparison.quantiles] != [
        quantile.second for quantile in comparison.quantiles
    ]


def test_a_chart_shows_earlier_releases_before_the_new_one(releases: dict[str, Release], tmp_path: Path) -> None:
    picture = comparison_chart({"2025": str(tmp_path / "earlier")}, "2026", releases["later"])
    expected = charts.comparison({"2025": releases["earlier"], "2026": releases["later"]})
    assert charts.specification(picture) == charts.specification(expected)
