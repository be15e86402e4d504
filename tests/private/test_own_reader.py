"""A reader that is defined and registered here is found in every part of the program, which knows nothing of it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import peerveil as pv
from peerveil.app.formats import TABLES, format_labels
from peerveil.errors import FileError
from peerveil.private.inspection import inspect
from peerveil.private.readers import READERS
from peerveil.private.readers.protocol import Choices, Extract
from peerveil.tables.opening import Source
from peerveil.tables.reading import FORMATS
from peerveil.tables.sniffing import Look
from peerveil.tables.table import Table
from peerveil.web.cases import Case
from peerveil.web.jobs import Jobs
from peerveil.web.page import Page
from peerveil.web.work import Task

WHY = "its first line is Paperflow's"
EXPORT = "#paperflow\n" + "".join(
    f"P{paper}|rev-{(paper + place) % 6}|grade {1 + (paper * place) % 4}|{'draft' if paper == 7 else 'final'}\n"
    for paper in range(8)
    for place in (0, 2, 3)
)


class Paperflow:
    """Lines such as ``P12|rev-7|accept 4|final``; drafts are left out."""

    label = "Paperflow <3"

    def recognise(self, look: Look) -> str:
        return WHY if look.first[:1] == ("#paperflow",) else ""

    def extract(self, source: Source, choices: Choices) -> Extract:
        records = [line.split("|") for line in source.text().read().splitlines()[1:]]
        if not all(len(record) == 4 for record in records):
            raise FileError("must have four cells per line", file=source.name)
        kept = [(line, record) for line, record in enumerate(records, 2) if record[3] != "draft"]
        columns = {
            "paper": [record[0] for _, record in kept],
            "reviewer": [record[1] for _, record in kept],
            "score": [record[2].split()[-1] for _, record in kept],
        }
        table = Table.of(source.name, "paperflow", columns, [line for line, _ in kept])
        return Extract(table=table, left_out={"drafts": len(records) - len(kept)}, certain=True)


def install() -> None:
    """Register the reader, as a user's module does when it is imported."""
    READERS["paperflow"] = Paperflow()


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The reader is registered here, and by an extension in every process that the test starts."""
    (tmp_path / "extension").mkdir()
    (tmp_path / "extension" / "own_format.py").write_text(
        "import importlib.util, sys\n"
        f"spec = importlib.util.spec_from_file_location('own_reader', {str(Path(__file__))!r})\n"
        "module = sys.modules['own_reader'] = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(module)\n"
        "module.install()\n"
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path / "extension"), *filter(None, sys.path)]))
    monkeypatch.setenv("PEERVEIL_EXTENSIONS", "own_format")
    monkeypatch.syspath_prepend(tmp_path / "extension")
    (tmp_path / "export.txt").write_text(EXPORT)
    install()
    yield
    del READERS["paperflow"]


def peerveil(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own, which knows the reader only as an extension."""
    command = [sys.executable, "-m", "peerveil", *arguments]
    environment = os.environ | {"COLUMNS": "200"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


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


def test_the_command_line_lists_and_reads_it(tmp_path: Path) -> None:
    assert "json | paperflow; detected" in peerveil(tmp_path, "inspect", "--help").stdout
    for options in ([], ["--format", "paperflow"]):
        done = peerveil(tmp_path, "inspect", "export.txt", *options)
        assert done.returncode == 0, done.stderr
        assert "paperflow" in done.stdout
        assert "3 drafts" in done.stdout
    options = ["--format", "paperflow", "--public", "all", "--epsilon", "1", "--no-report", "-o", "out"]
    done = peerveil(tmp_path, "release", "export.txt", *options)
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
