"""Whatever interrupts a release, its charge is not lost: it is written, or goes on without another charge."""

from __future__ import annotations

import json

import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import moments
import peerveil as pv
from peerveil.private import charging, journal
from peerveil.private.charging import pending
from peerveil.private.fingerprint import key_file
from peerveil.private.ledger import Ledger
from peerveil.private.noise import Prepared
from test_cli import GOOD, Run, run

__all__ = ["run"]  # a fixture

REVIEWS = pv.Reviews.from_columns([*"ppqqrr"], ["ann", "bob", "bob", "cem", "cem", "ann"], [3, 5, 4, 4, 8, 6])
RELEASE = (
    "release reviews.csv --public all --epsilon 1 --score-scale 1,10 --region baseline --estimator projection "
    "--ledger budgets.db -o out --no-report"
).split()
GROUPED = [*RELEASE, "--group-column", "track"]
CODES = {"SIGKILL": -signal.SIGKILL, "SIGINT": 130, "SIGTERM": 143}


@pytest.fixture(scope="module")
def runner() -> Iterator[moments.Runner]:
    with moments.running() as runner:
        yield runner


@pytest.fixture
def place(tmp_path: Path) -> str:
    (tmp_path / "reviews.csv").write_text(
        "\n".join(f"{line},{'track' if i == 0 else 'ab'[i > 4]}" for i, line in enumerate(GOOD.splitlines())) + "\n"
    )
    place = str(tmp_path / "budgets.db")
    Ledger.create(place).open("conf", epsilon=5.0)
    return place


def spread(count: int, total: int) -> list[int]:
    """So many moments of a run, evenly spread."""
    return [1 + total * place // count for place in range(count)]


def fresh(folder: Path, number: int) -> Path:
    """A folder with the same reviews and a ledger of its own, so that every moment begins alike."""
    made = folder / f"at-{number}"
    made.mkdir()
    (made / "reviews.csv").write_text((folder / "reviews.csv").read_text())
    Ledger.create(str(made / "budgets.db")).open("conf", epsilon=5.0)
    return made


def noise_of(out: Path) -> list[list[float]]:
    """The noisy vectors of a release, or of the releases of groups; each must be whole."""
    folders = [out] if (out / "release.json").exists() else sorted(out.iterdir())
    assert folders
    return [pv.Release.load(folder).noisy.tolist() for folder in folders]


def kept_noise(folder: Path) -> list[list[float]] | None:
    """The noisy vectors that are kept of an interrupted release."""
    held = [journal.look(file) for file in (folder / "budgets.db.pending").glob("*.json")]
    assert len(held) <= 1
    if not held or held[0] is None or held[0][1] is None:
        return None
    drawn = held[0][1]
    return [drawn["noisy"]] if "noisy" in drawn else [drawn[group]["noisy"] for group in sorted(drawn)]


def check_moment(runner: moments.Runner, folder: Path, command: list[str], happening: str, moment: int) -> str:
    """Let something happen to a release, then run it again; returns what became of the first run."""
    place, out = str(folder / "budgets.db"), folder / "out"
    first = runner.run(folder, command, happening, moment)
    charges = Ledger(place).history()
    assert len(charges) <= 1
    if happening in CODES:
        assert first.code == CODES[happening], first
    else:
        assert first.code in (0, 1), first
        assert first.code == 1 or out.exists(), first
    if first.code > 0:  # it could still speak
        assert "Traceback" not in first.said
        if happening in CODES:
            assert first.said.startswith("peerveil: Cancelled. "), first
        if charges:
            assert f"Release {charges[0].release} was charged (epsilon " in first.said, first
            end = "it is written to out." if out.exists() else "to finish it without another charge."
            assert end in first.said, first
        else:
            assert "Nothing was charged." in first.said, first
    kept = kept_noise(folder)

    again = runner.run(folder, command)
    if out.exists() and again.code == 2:
        assert "holds files already" in again.said
        state = "written"
    else:
        assert again.code == 0, (first, again)
        assert ("resumed release" in again.said) == bool(charges), (first, again)
        assert not (folder / "budgets.db.pending").exists()
        state = "resumed" if charges else "not charged"
    charges = Ledger(place).history()
    assert len(charges) == 1
    assert {release["charge"] for release in documents(out)} == {charges[0].release}
    if kept is not None:
        assert noise_of(out) == kept
    assert not list(folder.glob(".peerveil-*"))
    assert not list(folder.rglob(".reserved"))
    return state


def documents(out: Path) -> list[dict[str, Any]]:
    return [json.loads(file.read_text()) for file in out.rglob("release.json")]


def check_moments(runner: moments.Runner, folder: Path, command: list[str], happening: str, count: int) -> set[str]:
    whole = runner.run(fresh(folder, 0), command)
    assert whole.code == 0
    assert whole.moments > 300
    places = spread(count, whole.moments)
    return {check_moment(runner, fresh(folder, 1 + n), command, happening, m) for n, m in enumerate(places)}


@pytest.mark.parametrize("happening", moments.HAPPENINGS)
def test_a_release_that_is_interrupted_goes_on(
    runner: moments.Runner, tmp_path: Path, place: str, happening: str
) -> None:
    assert "not charged" in check_moments(runner, tmp_path, RELEASE, happening, 8)


@pytest.mark.slow
@pytest.mark.parametrize("happening", moments.HAPPENINGS)
@pytest.mark.parametrize("command", [RELEASE, GROUPED], ids=["release", "groups"])
def test_at_three_hundred_moments_no_charge_is_lost(
    runner: moments.Runner, tmp_path: Path, place: str, command: list[str], happening: str
) -> None:
    seen = check_moments(runner, tmp_path, command, happening, 60 if command is RELEASE else 20)
    assert {"not charged", "resumed"} <= seen
