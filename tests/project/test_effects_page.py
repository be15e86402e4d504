"""Pages on effects and correlations work as they are written, and print what they show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import forks
import results
from cli.test_cli import Run, run
from forks import Python
from project.test_first_steps import ROOT, follow, steps

__all__ = ["run"]  # a fixture


@pytest.fixture(scope="module")
def python() -> Iterator[Python]:
    with forks.python() as runner:
        yield runner


PAGES = {
    "effects": (9, ("instructions", "seniority", "countries", "by-seniority", "effect")),
    "linked": (6, ("both", "table", "charged")),
}


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_the_page_is_true_word_by_word(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, python: Python, page: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    def command(line: str, folder: Path, _: str) -> str:
        monkeypatch.chdir(folder)
        done = run(*line.split()[1:])
        assert done.code == 0, f"{line}: {done.err}"
        return done.out

    def code(text: str, folder: Path) -> None:
        status, words = python.run(text, folder)
        assert status == 0, words

    outputs, places = PAGES[page]
    assert sum(step.output is not None for step in steps(page)) == outputs
    follow(page, command, code, tmp_path)
    for place in places:
        assert (tmp_path / place / "report.html").is_file()


@pytest.mark.promise("P-EFFECT-6")
def test_the_coverage_on_the_page_is_the_one_measured() -> None:
    page = (ROOT / "docs" / "effects.md").read_text(encoding="utf-8")
    stated = re.search(r"contained the true effect in (\d+) to (\d+) %", re.sub(r"<!--.*?-->", "", page))
    assert stated
    tables = [table for table in results.load_all()["effects"] if table.name in ("ratings", "miscalibration")]
    cells = [table.cell(table.row_key(row), "covered")[1] for table in tables for row in table.rows]
    shares = sorted(cell.value for cell in cells if isinstance(cell, results.Measured))
    assert len(shares) == 10
    assert [f"{shares[0]:.0f}", f"{shares[-1]:.0f}"] == [stated[1], stated[2]]
