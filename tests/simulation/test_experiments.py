"""Simulations: the paper's order of methods, the same bytes wherever they run, sweeps that go on."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import peerveil as pv
from cli.test_cli import Run, run
from marks import slow
from peerveil.reporting.sweep_files import sweep_folder, write_sweep
from peerveil.simulation.experiments import EXPERIMENTS, simulate, simulate_record

__all__ = ["run"]  # a fixture


def test_the_papers_eight_experiments_are_there() -> None:
    assert list(EXPERIMENTS) == [
        *("beta-5-1", "beta-2-5", "beta-1-3", "beta-2-2", "beta-0.5-0.5"),
        *("beta-a-a", "beta-12-i", "beta-i-j"),
    ]
    assert EXPERIMENTS["beta-a-a"].points == tuple(i / 2 for i in range(1, 21))
    assert all(e.points[0] == 10 and e.points[-1] == 50 for n, e in EXPERIMENTS.items() if n != "beta-a-a")


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_records_are_as_the_paper_says(name: str) -> None:
    experiment = EXPERIMENTS[name]
    rng = np.random.default_rng(3)
    draws = [experiment.draw(10, rng) for _ in range(150)]
    for weights, truth in draws[:20]:
        assert weights.reviewers == truth.size == 10
        assert weights.sizes().tolist() == [2] * 10
        assert pv.region(weights, "envelope").contains(truth)
    lows = np.array([weights.rows_low() for weights, _ in draws])  # draws, papers, the two sorted weights
    sums = lows.sum(axis=2).mean(axis=0)
    expected = {
        "beta-5-1": np.full(10, 2 * 5 / 6),
        "beta-2-5": np.full(10, 2 * 2 / 7),
        "beta-1-3": np.full(10, 2 * 1 / 4),
        "beta-12-i": np.array([1 / (1 + i) + 2 / (2 + i) for i in range(1, 11)]),
        "beta-i-j": np.array([2 * np.mean([i / (i + j) for j in range(1, 11)]) for i in range(1, 11)]),
    }.get(name, np.full(10, 1.0))
    assert np.abs(sums - expected).max() < 0.2
    assert abs(sums.mean() - expected.mean()) < 0.04


@pytest.mark.parametrize("point", [10.0, slow(20.0)])
def test_methods_come_in_the_papers_order(point: float) -> None:
    sweep = simulate("beta-2-2", draws=40, points=[point], workers=1)
    for worse, better in (("noisy", "baseline"), ("baseline", "chain"), ("chain", "tight"), ("tight", "safe")):
        gap, error = sweep.difference(point, worse, better)
        assert gap > -2 * error, (worse, better)
    noisy = [p for p in sweep.table() if p.method == "noisy"]
    assert all(abs(p.mean - 2 * p.point) < 4 * p.error for p in noisy)  # Laplace noise of scale 1 has variance 2


@pytest.mark.slow
def test_the_same_bytes_with_one_worker_and_two(tmp_path: Path) -> None:
    files = []
    for workers in (1, 2):
        folder = tmp_path / str(workers)
        folder.mkdir()
        sweep = simulate("beta-i-j", draws=12, points=[10], seed=4, workers=workers)
        files.append([path.read_bytes() for path in write_sweep(sweep, folder)])
    assert files[0] == files[1]
    other = simulate("beta-i-j", draws=12, points=[10], seed=5, workers=1)
    assert other.errors[10.0].tolist() != sweep.errors[10.0].tolist()


def test_real_records_with_invented_reviewers() -> None:
    rng = np.random.default_rng(1)
    weights = pv.PublicWeights.from_rows(rng.integers(1, 11, size=(30, 3)).astype(float), load=3)
    sweep = simulate_record(
        weights, leniency=(0.0, 2.0), mechanism=pv.Laplace(scale=1.0), draws=8, methods=("noisy", "tight"), workers=1
    )
    assert sweep.axis == "leniency"
    assert list(sweep.errors) == [0.0, 2.0]
    for worse, better in (("noisy", "tight"),):
        assert all(sweep.difference(s, worse, better)[0] > 0 for s in (0.0, 2.0))
    with pytest.raises(pv.InputError, match="leniency must be finite numbers"):
        simulate_record(weights, leniency=(-1.0,), mechanism=pv.Laplace(scale=1.0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"experiment": "beta"}, "experiment must be one of"),
        ({"experiment": "beta-2-2", "draws": 0}, "draws must be a whole number of at least 1"),
        ({"experiment": "beta-2-2", "methods": ("magic",)}, "methods must be among"),
        ({"experiment": "beta-2-2", "methods": ()}, "at least one"),
    ],
)
def test_what_cannot_be_simulated_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(pv.InputError, match=message):
        simulate(**options)  # type: ignore[arg-type]


def test_folders_of_sweeps(tmp_path: Path) -> None:
    tasks = sweep_folder(tmp_path / "new", {"draws": 5})
    assert tasks.is_dir()
    assert sweep_folder(tmp_path / "new", {"draws": 5}) == tasks
    with pytest.raises(pv.OutputError, match="a sweep with other settings"):
        sweep_folder(tmp_path / "new", {"draws": 6})
    sweep_folder(tmp_path / "new", {"draws": 6}, overwrite=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").touch()
    with pytest.raises(pv.OutputError, match="not of a sweep"):
        sweep_folder(tmp_path / "other", {"draws": 5}, overwrite=True)


def test_the_command_line(run: Run, tmp_path: Path) -> None:
    arguments = [
        "simulate",
        "beta-a-a",
        "--draws",
        "2",
        "--methods",
        "noisy,baseline,tight",
        "--workers",
        "1",
        "-o",
        "s",
    ]
    first = run(*arguments)
    assert first.code == 0, first.err
    table = (tmp_path / "s" / "beta-a-a.csv").read_text()
    rows = list(csv.DictReader(table.splitlines()))
    assert len(rows) == 20 * 3
    assert rows[0]["experiment"] == "beta-a-a"
    picture = (tmp_path / "s" / "beta-a-a.svg").read_text()
    assert picture.startswith("<svg")
    assert "tight projection" in picture
    assert json.loads(run(*arguments, "--json").out)[0]["draws"] == 2  # nothing is run again
    assert (tmp_path / "s" / "beta-a-a.csv").read_text() == table
    assert run(*arguments[:3], "3", *arguments[4:]).code == 2
    assert "name an experiment" in run("simulate", "-o", "t").err
    assert "experiment must be" in run("simulate", "nope", "-o", "t").err
    (tmp_path / "iclr.csv").write_text(
        "paper,ratings\n" + "".join(f"p{i},{i % 5 + 1};{i % 7 + 2}\n" for i in range(20))
    )
    real = ["simulate", "--public", "iclr.csv", "--load", "2", "--draws", "2", "--leniency", "0,1", "--workers", "1"]
    found = run(*real, "--epsilon", "1", "-o", "r")
    assert found.code == 0, found.err
    assert (tmp_path / "r" / "iclr.svg").exists()
    assert "give a budget" in run(*real, "-o", "q").err
    assert run(*real, "--epsilon", "1", "--cluster", "nonsense://x", "-o", "q2").code == 2
