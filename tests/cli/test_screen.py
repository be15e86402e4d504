"""What commands print fits on one screen, and their help is complete as shown."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer.main
from rich.console import Console

import peerveil as pv
from cli.test_cli import RELEASE, Run, files, run
from peerveil.cli import app, show
from peerveil.privacy.guarantee import Guarantee
from peerveil.private.ledger import Ledger

__all__ = ["files", "run"]  # fixtures

SCREEN = 40
CLAIM = Guarantee(kind="pure", unit="reviewer", epsilon=0.001)


@pytest.fixture(params=[80, 60])
def narrow(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """A terminal of few columns."""
    width: int = request.param
    monkeypatch.setattr(show, "out", Console(markup=False, emoji=False, highlight=False, width=width))
    return width


def large_release() -> pv.Release:
    """A release with everything that is ever shown: findings, a verdict, a caution, notes, and many loads."""
    reviews = pv.Reviews.from_columns(
        *zip(
            *(
                (f"p{paper}", f"r{(paper * 7 + k * k) % 23}", (paper + 3 * k) % 9 + 1)
                for paper in range(40)
                for k in range(3)
            ),
            strict=True,
        ),
        scale=(1, 9),
    )
    made = pv.release(reviews, public="all", mechanism=pv.Histogram(epsilon=9.0, bins=5), estimator="bayes")
    assert made.findings
    assert made.caution
    assert made.verdict
    return replace(made, notes=(*made.notes, "A note that fills two lines of a terminal, because it is long. " * 2))


def test_a_release_fits_on_one_screen_and_all_shows_the_rest(
    narrow: int, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    release = large_release()
    release.save(tmp_path / "out", report=False)
    for everything in (False, True):
        show.report_release(release, "out", as_json=False, everything=everything)
        shown = capsys.readouterr().out
        lines = shown.splitlines()
        assert all(len(line) <= narrow for line in lines)
        assert (len(lines) <= SCREEN) is not everything
        text = words(shown)
        assert release.guarantee.summary in text
        assert words(release.human) in text
        assert words(release.caution) in text
        for rest in (release.promise, release.not_protected, *(finding.sentence for finding in release.findings)):
            assert words(rest) in text or not everything
    assert release.loads.brief() in text
    assert re.fullmatch(r"\d to \d reviews each, median [\d.]+", release.loads.brief())


def words(text: str) -> str:
    """The words of a text, without frames and line ends."""
    return " ".join(re.sub(r"[│╭╮╰╯─]", " ", text).split())


def test_a_comparison_fits_on_one_screen(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    release = large_release()
    release.save(tmp_path / "a", report=False)
    release.save(tmp_path / "b", report=False)
    monkeypatch.setattr(show, "out", Console(markup=False, emoji=False, highlight=False, width=80))
    short, full = run("compare", "a", "b").out, run("compare", "a", "b", "--all").out
    assert len(short.splitlines()) <= SCREEN
    assert "Every decile: --all" in short
    assert "20%" not in short
    for decile in range(1, 10):
        assert re.search(rf"^{decile}0% ", full, re.MULTILINE)


def test_many_years_are_rows_that_a_narrow_terminal_shows_whole(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    release, years = large_release(), [str(year) for year in range(2017, 2027)]
    for year in years:
        release.save(year, report=False)
    monkeypatch.setattr(show, "out", Console(markup=False, emoji=False, highlight=False, width=80))
    lines = run("compare", *years, "--all").out.splitlines()
    for year in years:
        rows = [line for line in lines if re.match(rf"{year}  +\S", line)]
        assert [len(re.findall(r"\(\S+(?: %)? to \S+(?: %)?\)", row)) for row in rows] == [3, 3], rows


def test_ledgers_fit_on_one_screen(run: Run, narrow: int, tmp_path: Path) -> None:
    ledger = Ledger.create("budgets.db")
    for number in range(50):
        ledger.open(f"conference-{number}", "reviewer", epsilon=3.0)
    charges = [
        ledger.charge(
            "conference-1", lambda _: CLAIM, quantity="ratings", unit="reviewer", mechanism=pv.Laplace(scale=1.0)
        )
        for _ in range(20)
    ]
    for command in (["show", "budgets.db"], ["history", "budgets.db"], ["check", "budgets.db", "."]):
        short, full = run("ledger", *command).out, run("ledger", *command, "--all").out
        assert len(short.splitlines()) <= SCREEN < len(full.splitlines())
        assert "--all" in short
        assert "--all" not in full
        if command[0] != "check":
            assert max(map(len, full.splitlines())) <= narrow  # a hash is longer than 60 columns
    history = run("ledger", "history", "budgets.db").out
    assert charges[-1].release in history
    assert charges[0].release not in history
    stamps = re.findall(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC  [0-9a-f]{16}  epsilon 0.001$", history, re.MULTILINE)
    assert len(stamps) == 13
    checked = run("ledger", "check", "budgets.db", ".").out
    assert "last hash: " in checked
    assert checked.rstrip().endswith("No problem.")


def test_a_cut_says_how_much_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    show.print_screenful(*map(str, range(40)), everything=False)
    assert capsys.readouterr().out.split() == [*map(str, range(40))]
    show.print_screenful(*map(str, range(41)), everything=False, after=3)
    assert capsys.readouterr().out.splitlines() == [*map(str, range(36)), "… and 5 more lines: --all"]


def test_a_release_without_a_ledger_is_warned_about(run: Run) -> None:
    assert "peerveil: warning: no ledger is charged." in run(*RELEASE).err
    assert run("ledger", "open", "budgets.db", "--dataset", "c", "--epsilon", "3").code == 0
    charged = run(*RELEASE, "--overwrite", "--ledger", "budgets.db", "--dataset", "c")
    assert (charged.code, charged.err) == (0, "")


@pytest.mark.parametrize(
    ("started", "on_path", "program"),
    [
        ("bin/peerveil", False, "bin/peerveil"),
        ("bin/peerveil", True, "peerveil"),
        ("/somewhere/__main__.py", False, f"{sys.executable} -m peerveil"),
    ],
)
def test_commands_are_shown_as_they_can_be_typed(
    started: str, on_path: bool, program: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "peerveil").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin") if on_path else str(tmp_path))
    monkeypatch.setattr(sys, "argv", [started, "demo"])
    assert show.typed("inspect", "my reviews.csv") == f"{program} inspect 'my reviews.csv'"
    assert shlex.split(show.typed("inspect", "my reviews.csv"))[-1] == "my reviews.csv"


def commands(command: Any, *names: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield names, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, *names, name)


COMMANDS = dict(commands(typer.main.get_command(app)))


@pytest.mark.parametrize("names", COMMANDS, ids=" ".join)
def test_help_is_complete_as_shown(names: tuple[str, ...], run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "2000")  # every text on one line
    shown = run(*names, "--help").out
    command = COMMANDS[names]
    for paragraph in command.help.split("\n\n"):
        assert " ".join(paragraph.split()) in shown
    for parameter in command.params:
        assert parameter.help
        assert parameter.help in shown
    for name, inner in getattr(command, "commands", {}).items():
        summary = " ".join(inner.help.split("\n\n")[0].split())
        assert re.search(rf"│ {name} +{re.escape(summary)}", shown)
    monkeypatch.setenv("COLUMNS", "80")
    lines = run(*names, "--help").out.splitlines()
    assert max(map(len, lines)) <= 80
    wrapped = iter(words("\n".join(lines)).split())
    assert all(word in wrapped for word in command.help.split())  # in this order
