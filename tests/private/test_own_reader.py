"""A reader that is registered here is found in every part of the program, which knows nothing of it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import peerveil as pv
from cli.test_cli import Run, run
from own_reader import WHY, Paperflow, install
from peerveil.app.options import TABLES, format_labels
from peerveil.errors import FileError
from peerveil.private.inspection import inspect
from peerveil.private.readers import READERS
from peerveil.tables.reading import FORMATS
from peerveil.web.cases import Case
from peerveil.web.jobs import Jobs
from peerveil.web.page import Page
from peerveil.web.work import Task

__all__ = ["run"]  # a fixture

EXPORT = "#paperflow\n" + "".join(
    f"P{paper}|rev-{(paper + place) % 6}|grade {1 + (paper * place) % 4}|{'draft' if paper == 7 else 'final'}\n"
    for paper in range(8)
    for place in (0, 2, 3)
)


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The reader is registered here, and by an extension in every process that the test starts."""
    (tmp_path / "extension").mkdir()
    (tmp_path / "extension" / "own_format.py").write_text("from own_reader import install\n\ninstall()\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "extension"), *filter(None, sys.path)]))
    monkeypatch.setenv("PEERVEIL_EXTENSIONS", "own_format")
    monkeypatch.syspath_prepend(tmp_path / "extension")
    (tmp_path / "export.txt").write_text(EXPORT)
    install()
    yield
    del READERS["paperflow"]


@pytest.mark.parametrize("asked", [None, "paperflow"])
def test_read_and_inspect_find_it(tmp_path: Path, asked: str | None) -> None:
    reviews = pv.read(tmp_path / "export.txt", scale=(1, 4), format=asked)
    assert (len(reviews.papers), reviews.score.size, reviews.reviewers) == (7, 21, 6)
    assert reviews.report.format == "paperflow"
    assert reviews.report.why == ("it was specified" if asked else WHY)
    assert reviews.report.left_out == ("3 drafts",)
    facts = inspect(tmp_path / "export.txt", format=asked)
    assert (facts["format"], facts["content"], facts["left out"]) == ("paperflow", "private reviews", ["3 drafts"])


def test_common_checks_apply_to_it(tmp_path: Path) -> None:
    (tmp_path / "twice.txt").write_text("#paperflow\nP1|rev-1|grade 2|final\nP1|rev-1|grade 3|final\n")
    with pytest.raises(FileError, match=r"twice\.txt, line 3, .*the same paper in line 2"):
        pv.read(tmp_path / "twice.txt")
    (tmp_path / "short.txt").write_text("#paperflow\nP1|rev-1\n")
    with pytest.raises(FileError, match=r"short\.txt: must have four cells per line"):
        pv.read(tmp_path / "short.txt")


def test_files_of_other_formats_are_not_taken_for_it(tmp_path: Path) -> None:
    (tmp_path / "reviews.csv").write_text("paper,reviewer,score\n1,ann,3\n1,bob,4\n2,ann,2\n")
    assert pv.read(tmp_path / "reviews.csv").report.format == "csv"
    with pytest.raises(pv.InputError, match=r"format must be one of openreview, .*, paperflow, got 'unheard-of'"):
        pv.read(tmp_path / "reviews.csv", format="unheard-of")


def test_the_command_line_lists_and_reads_it(run: Run, tmp_path: Path) -> None:
    assert "ods | paperflow; detected" in run("inspect", "--help").out
    shown = run("inspect", "export.txt")
    assert shown.code == 0, shown.err
    assert "paperflow" in shown.out
    assert "3 drafts" in shown.out
    options = ["--format", "paperflow", "--public", "all", "--noise-scale", "1", "--no-report", "-o", "out"]
    command = [sys.executable, "-m", "peerveil", "release", "export.txt", *options]  # knows it only as an extension
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert pv.Release.load(tmp_path / "out").values.size == 6


def test_the_page_offers_and_reads_it(tmp_path: Path) -> None:
    page = Page(jobs=Jobs())
    try:
        case = Case(tmp_path)
        text = bytes(page.show("chair_file.html", case=case, here="file").body).decode()
        assert '<option value="paperflow" >Paperflow &lt;3</option>' in text
        task = Task(kind="inspect", folder=str(tmp_path), options={"file": "export.txt", "format": "paperflow"})
        job = page.jobs.start(task, title="Reading", ahead="", back="")
        assert job.finished.wait(600)
        assert job.state == "done", job.message
        assert job.result["facts"]["left out"] == ["3 drafts"]
    finally:
        page.close()


def test_every_format_has_a_label() -> None:
    assert set(format_labels()) == set(READERS)
    assert set(TABLES) == set(FORMATS)
    assert (format_labels()["cmt"], format_labels()["paperflow"]) == ("Microsoft CMT", Paperflow.label)
