"""Ctrl-C in a terminal, at several moments: one line says what happened and what was charged."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from marks import slow
from peerveil.cli.working import Stopped, tidy_ending
from peerveil.private.ledger import Ledger
from peerveil.simulation.conferences import synthetic_conference

RELEASE = ["release", "reviews.csv", "--public", "all", "--epsilon", "1", "--ledger", "budgets.db", "-o", "out"]
PLAN = ["plan", "public.csv", "--load", "4", "--workers", "2"]
STARTED = r"\b[1-9]\d*/\d+"  # tasks that are finished, where others are running
NOTHING = r"Cancelled\. Nothing was charged\."
CHARGED = r"Cancelled\. Release [0-9a-f]{16} was charged .*run the same command again.*"


def interrupted(arguments: list[str], shown: str, folder: Path) -> tuple[int, str]:
    """Run a command in a terminal of its own, and press Ctrl-C as soon as it shows a text; how it ended."""
    terminal, inside = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "peerveil", *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=inside,
        stderr=inside,
        start_new_session=True,  # Ctrl-C reaches all processes of a terminal, workers included
        env=os.environ | {"COLUMNS": "200", "TERM": "xterm"},
    )
    os.close(inside)
    printed, pressed = "", False
    try:
        while piece := os.read(terminal, 2**16):
            printed += piece.decode(errors="replace")
            if not pressed and re.search(shown, printed):
                os.killpg(process.pid, signal.SIGINT)
                pressed = True
    except OSError:  # the terminal is closed when the last process has ended
        pass
    os.close(terminal)
    assert pressed, f"{shown} was not shown in {printed}"
    return process.wait(), re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", printed).replace("\r", "\n")


@pytest.mark.parametrize(
    ("arguments", "shown", "words"),
    [
        slow(PLAN, STARTED, NOTHING),
        slow(["inspect", "reviews.csv"], "Reading the file", NOTHING),
        slow(PLAN, "Rehearsing", NOTHING),
        slow(RELEASE, "Reading the reviews", NOTHING),
        slow(RELEASE, "Choosing the noise", NOTHING),
        slow(RELEASE, "Drawing charts", CHARGED),
        slow(["demo"], "Releasing miscalibration", NOTHING),
        slow(["audit", "--mechanism", "laplace", "--epsilon", "1"], "worst-case", NOTHING),
        slow(["simulate", "beta-5-1", "-o", "out"], STARTED, NOTHING),
    ],
)
def test_ctrl_c_ends_a_command_with_one_line(arguments: list[str], shown: str, words: str, tmp_path: Path) -> None:
    conference = synthetic_conference(reviewers=60, rng=np.random.default_rng(1))
    conference.write_csv(tmp_path / "reviews.csv")
    (tmp_path / "public.csv").write_text(
        "paper,score\n" + "".join(f"{p},{s}\n" for p, s in conference.frame().select("paper", "score").rows())
    )
    Ledger.create(str(tmp_path / "budgets.db")).open("conf", epsilon=3.0)
    code, printed = interrupted(arguments, shown, tmp_path)
    assert code == 128 + signal.SIGINT, printed
    messages = [line for line in printed.splitlines() if line.startswith("peerveil:")]
    assert len(messages) == 1
    assert re.fullmatch(f"peerveil: {words}", messages[0])
    assert "Traceback" not in printed
    assert "Exception" not in printed
    spent = Ledger(str(tmp_path / "budgets.db")).accounts()[0].spent
    assert spent == (1 if words == CHARGED else 0)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".peerveil")]


def test_an_interrupt_that_falls_into_a_finalizer_is_not_lost(capsys: pytest.CaptureFixture[str]) -> None:
    class Last:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    def work() -> None:
        with tidy_ending():
            Last()
            time.sleep(60)

    with pytest.raises(Stopped) as stopped:
        work()
    assert stopped.value.exit_code == 130
    assert capsys.readouterr().err == ""


def test_ctrl_c_while_the_command_line_is_loaded_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("import signal; signal.raise_signal(signal.SIGINT)")
    source = Path(__file__).parents[2] / "src"
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{source}"}
    command = [sys.executable, "-m", "peerveil", "demo"]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode in (130, -signal.SIGINT)
    assert done.stderr == "peerveil: Cancelled. Nothing was charged.\n"
