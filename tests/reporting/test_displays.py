"""Frames, plots and displays of releases, plans and comparisons hold the published numbers, and stay short."""

from __future__ import annotations

import csv
import io
import math
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

import peerveil as pv
from peerveil.planning.choices import Choice
from peerveil.releases.plan_files import write_plan
from peerveil.releases.release import COLUMNS
from peerveil.reporting.plots import KINDS
from peerveil.support.frames import Backend, make_frame

N = 400


@pytest.fixture(scope="module")
def release() -> pv.Release:
    rng = np.random.default_rng(3)
    weights = pv.PublicWeights.from_rows(rng.integers(1, 10, (N // 2, 4)).tolist(), load=2)
    return pv.refine(np.sort(rng.normal(5, 2, N)), weights, mechanism=pv.Laplace(scale=1.0))


@pytest.fixture(scope="module")
def unknown() -> pv.Release:
    return pv.refine([1.0, 2.5, 2.0, 4.5], pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2))


@pytest.fixture(scope="module")
def plan() -> pv.Plan:
    weights = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
    return pv.plan(weights, epsilons=[1, 3], draws=1, workers=1, mechanisms=["laplace", "histogram"])


def numbers(frame: Any) -> dict[str, list[Any]]:
    """The cells of a frame of any library by column, with ``None`` for what is missing."""
    columns = {
        name: frame[name].to_list() if hasattr(frame[name], "to_list") else frame[name].to_pylist()
        for name in names(frame)
    }
    return {
        name: [None if cell is None or (isinstance(cell, float) and math.isnan(cell)) else cell for cell in cells]
        for name, cells in columns.items()
    }


def names(frame: Any) -> list[str]:
    return list(getattr(frame, "column_names", None) or frame.columns)


def written(text: str) -> dict[str, list[str]]:
    """The columns of a CSV file."""
    header, *rows = csv.reader(io.StringIO(text))
    return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))


@pytest.fixture(params=["polars", "pandas", "pyarrow"])
def backend(request: pytest.FixtureRequest) -> Backend:
    pytest.importorskip(request.param)
    return request.param  # type: ignore[no-any-return]


def test_a_frame_of_a_release_is_its_table(release: pv.Release, unknown: pv.Release, backend: Backend) -> None:
    for made in (release, unknown):
        frame = made.to_frame(backend)
        assert type(frame).__module__.startswith(backend)
        assert names(frame) == list(COLUMNS)
        cells = {
            name: ["" if cell is None else repr(cell) for cell in column] for name, column in numbers(frame).items()
        }
        assert cells == written(made.to_csv())


def test_a_frame_without_bands_has_columns_of_numbers(unknown: pv.Release) -> None:
    frame = unknown.to_frame()
    assert [frame.schema[name] for name in ("rank", "value", "band_lower")] == [pl.Int64, pl.Float64, pl.Float64]
    assert frame["band_upper"].null_count() == 4


def test_a_frame_of_a_plan_is_its_table(plan: pv.Plan, backend: Backend, tmp_path: Path) -> None:
    write_plan(plan, tmp_path)
    cells = written((tmp_path / "plan.csv").read_text(encoding="utf-8"))
    frame = plan.to_frame(backend)
    assert names(frame) == list(Choice._fields)
    found = numbers(frame)
    assert [f"{number:g}" for number in found["rmse"]] == [f"{float(cell):g}" for cell in cells["rmse"]]
    assert found["mechanism"] == cells["mechanism"]
    assert found["rmse_error"] == [None] * len(plan.choices)  # there is a single draw
    assert plan.table["rmse"].to_list() == found["rmse"]


def test_a_frame_of_a_comparison_has_a_row_per_decile(
    release: pv.Release, unknown: pv.Release, backend: Backend
) -> None:
    for first, banded in ((release, True), (unknown, False)):
        comparison = pv.compare(first, release)
        found = numbers(comparison.to_frame(backend))
        assert found["share"] == [quantile.share for quantile in comparison.quantiles]
        assert found["difference"] == [quantile.second - quantile.first for quantile in comparison.quantiles]
        assert found["proven_upper"] == [quantile.proven[1] for quantile in comparison.quantiles]
        assert found["tells"] == [quantile.tells for quantile in comparison.quantiles]
        bands = [quantile.band[0] if quantile.band else None for quantile in comparison.quantiles]
        assert found["band_lower"] == bands
        assert (None not in bands) == banded


def test_unknown_and_missing_libraries_are_named(unknown: pv.Release, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(pv.InputError, match="backend must be one of polars, pandas, pyarrow, got 'excel'"):
        unknown.to_frame("excel")  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(pv.InputError, match="needs the package pandas, which is not installed"):
        make_frame({"rank": [1]}, "pandas")


def test_plots_of_a_release_are_those_of_its_report(unknown: pv.Release, tmp_path: Path) -> None:
    unknown.save(tmp_path / "out")
    written = {path.stem: path.read_text(encoding="utf-8") for path in (tmp_path / "out" / "figures").iterdir()}
    assert {kind: unknown.plot(kind).svg for kind in KINDS} == written
    assert unknown.plot().svg == written["means"]
    with pytest.raises(pv.InputError, match="kind must be one of means"):
        unknown.plot("pie")


def test_plots_of_plans_and_comparisons(plan: pv.Plan, unknown: pv.Release, tmp_path: Path) -> None:
    write_plan(plan, tmp_path)
    assert plan.plot().svg == (tmp_path / "plan.svg").read_text(encoding="utf-8")
    drawn = ElementTree.fromstring(pv.compare(unknown, unknown).plot("2025", "2026 & later").svg)  # noqa: S314 - our own
    texts = {element.text for element in drawn.iter("{http://www.w3.org/2000/svg}text")}
    assert {"2025", "2026 & later"} <= texts
    with pytest.raises(pv.InputError, match="different names, got '2025' twice"):
        pv.compare(unknown, unknown).plot("2025", "2025")


def test_plots_are_displayed_and_saved(unknown: pv.Release, tmp_path: Path) -> None:
    plot = unknown.plot("shares")
    assert plot._repr_svg_() == plot.svg
    assert plot._repr_html_() in unknown._repr_html_()
    assert plot.description in repr(plot)
    assert "4 reviewers" in plot.description
    assert plot.save(tmp_path / "shares.svg").read_text(encoding="utf-8") == plot.svg
    assert plot.save(tmp_path / "shares.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(pv.InputError, match=r"path must end in \.svg or \.png, got 'shares\.pdf'"):
        plot.save(tmp_path / "shares.pdf")
    assert {path.name for path in tmp_path.iterdir()} == {"shares.svg", "shares.png"}


def test_displays_are_short(release: pv.Release, unknown: pv.Release, plan: pv.Plan) -> None:
    weights = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]] * 300, load=2)
    region = pv.region(weights, "baseline")
    shown = [
        *(release, unknown, plan, pv.compare(unknown, release), release.outlook, weights, region),
        pv.project(np.arange(1200.0), region),
    ]
    for thing in shown:
        assert len(repr(thing)) < 450, type(thing)
        assert "array" not in repr(thing), type(thing)
    assert repr(unknown) == (
        "Release(weights of 4 reviewers; as stated by the source: nothing is known about how the vector was made "
        "private; expected error not known)"
    )
    assert repr(release).startswith(f"Release(weights of {N} reviewers; ")
    assert repr(plan).startswith("Plan(weights of 4 reviewers: ±")
    assert repr(plan).count(" at epsilon ") == 2
    assert repr(pv.compare(unknown, unknown)).startswith("Comparison(weights of 4 and of 4 reviewers: ")
