"""Library calls that use processes work wherever they stand: no main guard is needed, and main is run once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from marks import mostly_slow

#: A program without a guard: its own mechanism with its draw, and calls that use two processes each.
PROGRAM = """
import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import peerveil as pv
from peerveil.mechanisms import Laplace, register
from peerveil.private.audit import audit
from peerveil.private.noise import _laplace, draws
from peerveil.support.parallel import run

with Path("runs").open("a") as runs:
    runs.write("once ")


@register
@dataclass(frozen=True, kw_only=True)
class Own(Laplace):
    name: ClassVar[str] = "own"

    def needed(self, sensitivity):
        return Own(scale=sensitivity.l1 / self.epsilon)


@draws(Own)
def draw(law, length):
    return _laplace(law, length)


def where(mechanism, _seeds):
    return mechanism, os.getpid()


drawn = run(where, [Own(epsilon=1.0), Own(epsilon=2.0)], workers=2)
assert [made for made, _ in drawn] == [Own(epsilon=1.0), Own(epsilon=2.0)]
assert all(type(made) is Own and process != os.getpid() for made, process in drawn)

weights = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
assert "own" in {choice.mechanism for choice in pv.plan(weights, epsilons=[1.0], draws=1, workers=2).choices}
assert audit(Own(epsilon=1.0), draws=100, case="one-load", workers=2).findings
Path("done").touch()
"""


def script(folder: Path) -> None:
    (folder / "script.py").write_text(PROGRAM)
    subprocess.run([sys.executable, "script.py"], cwd=folder, check=True)


def command(folder: Path) -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], cwd=folder, check=True)


def standard_input(folder: Path) -> None:
    subprocess.run([sys.executable, "-"], cwd=folder, input=PROGRAM, text=True, check=True)


def notebook(folder: Path) -> None:
    cells = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(PROGRAM)])  # type: ignore[no-untyped-call]
    NotebookClient(cells, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()


@pytest.mark.parametrize("way", mostly_slow([script, command, standard_input, notebook]))
def test_processes_need_no_main_guard(way: Callable[[Path], None], tmp_path: Path) -> None:
    way(tmp_path)
    assert (tmp_path / "done").exists()
    assert (tmp_path / "runs").read_text() == "once "
