"""Mistakes on the command line: each is told with option, value and remedy, and nothing beside the point."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cli.test_cli import Run, run
from peerveil.simulation.conferences import synthetic_conference

__all__ = ["run"]  # a fixture

MADE = ["release", "conf.csv", "--public", "all", "--score-scale", "1,10", "--mechanism", "histogram"]


@pytest.fixture(autouse=True)
def conference(run: Run, tmp_path: Path) -> None:
    synthetic_conference(reviewers=12, rng=np.random.default_rng(1)).write_csv(tmp_path / "conf.csv")


def test_a_column_that_is_not_there_is_told_with_its_option(run: Run) -> None:
    for option in ("--paper", "--reviewer", "--score"):
        told = run("inspect", "conf.csv", option, "Rating")
        assert told.code == 2
        assert f"has no column 'Rating' for the {option[2:]} ({option}); its columns are 'paper', 'rev" in told.err


def test_columns_are_listed_only_where_they_help(run: Run) -> None:
    scale = run("inspect", "conf.csv", "--score-scale", "1,3")
    assert "lies outside the declared scale 1 to 3" in scale.err
    assert "--ask" not in scale.err
    assert "--ask" in run("inspect", "conf.csv", "--score", "Rating").err


def test_a_misspelt_mechanism_is_not_taken_for_a_number_of_bins(run: Run) -> None:
    misspelt = run(*MADE[:-1], "histogramm", "--epsilon", "1")
    assert "--mechanism must be one of laplace, histogram, gaussian, sinh-normal, got 'histogramm'" in misspelt.err
    assert "--bins" not in misspelt.err
    assert "say how many bins with --bins" in run(*MADE[:-1], "histogram:9", "--epsilon", "1").err


def test_a_ledger_that_is_not_there_is_told_with_the_whole_command(run: Run) -> None:
    for command in (["ledger", "show", "b.db"], [*MADE, "--epsilon", "1", "--ledger", "b.db"]):
        told = run(*command)
        assert told.code == 1
        assert "make one with `peerveil ledger open b.db --dataset NAME --epsilon TOTAL`" in told.err


def test_a_batch_with_a_venue_that_fails_tells_the_next_step(run: Run, tmp_path: Path) -> None:
    venue = '[[venue]]\nname = "a"\nfile = "conf.csv"\n'
    defaults = '[defaults]\npublic = "all"\nscore-scale = [1, 10]\nmechanism = "histogram"\nepsilon = 1\n'
    (tmp_path / "venues.toml").write_text(defaults + venue + venue.replace('"a"', '"b"').replace("conf", "cnf"))
    told = run("batch", "venues.toml", "-o", "batch", "--workers", "1")
    assert told.code == 1
    assert "cnf.csv: cannot be read" in told.out
    assert "Correct these, and start the same command again: what is released is kept" in told.out
    (tmp_path / "conf.csv").rename(tmp_path / "cnf.csv")
    (tmp_path / "conf.csv").write_bytes((tmp_path / "cnf.csv").read_bytes())
    again = run("batch", "venues.toml", "-o", "batch", "--workers", "1")
    assert "2 venues: 1 released, 1 released before, 0 failed" in again.out
    assert "Correct these" not in again.out


def test_a_second_release_says_what_is_left_of_every_budget(run: Run) -> None:
    ledger = ["--ledger", "b.db"]
    assert run("ledger", "open", "b.db", "--dataset", "conf", "--epsilon", "3").code == 0
    first = run(*MADE, "--epsilon", "1", *ledger, "-o", "first")
    assert "Left of the budget of 'conf' (per reviewer) after 1 release: epsilon 2 of 3." in first.out
    assert run("ledger", "open-series", "b.db", "--series", "Conf", "--epsilon", "4").code == 0
    assert run("ledger", "join", "b.db", "--series", "Conf", "--dataset", "conf").code == 0
    second = run(*MADE, "--epsilon", "1", *ledger, "-o", "second")
    assert "Left of the budget of 'conf' (per reviewer) after 2 releases: epsilon 1 of 3." in second.out
    assert "Left of the series 'Conf' (per person) after 2 releases: epsilon 2 of 4." in second.out
    refused = run(*MADE, "--epsilon", "2", *ledger, "-o", "third")
    assert "1 of 3 is left; nothing was released. A smaller --epsilon may fit" in refused.err
    run(*MADE, "--epsilon", "1", *ledger, "-o", "third")
    assert "0 of 3 is left; nothing was released. It is used up" in run(*MADE, "--epsilon", "1", *ledger, "-o", "x").err
