"""The example on the page's first screen: a release of a synthetic conference."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

import peerveil as pv
from peerveil.web import work
from peerveil.web.common import _example_findings
from peerveil.web.page import EXAMPLE, HERE
from peerveil.web.work import Task

ROOT = Path(__file__).parents[2]


def test_the_picture_is_that_of_the_release() -> None:
    script = runpy.run_path(str(ROOT / "docs" / "figures" / "page_example.py"))
    remedy = "run `make figures` and commit what it writes"
    assert (HERE / "static" / "example.svg").read_text(encoding="utf-8") == script["svg"](), remedy


def test_its_findings_are_those_of_the_release() -> None:
    release = pv.Release.load(EXAMPLE)
    assert release.intact
    assert _example_findings() == [finding.sentence for finding in release.findings]
    shown = (HERE / "templates" / "home.html").read_text(encoding="utf-8")
    assert set(re.findall(r"([\d,]+) simulated reviewers", shown)) == {f"{release.reviewers:,}"}


def test_its_report_is_written_on_demand_and_says_that_it_is_synthetic(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a task goes into its folder; the test comes back
    task = Task(kind="example", folder=str(EXAMPLE), output=str(tmp_path / "example"))
    assert work._outcome(task, lambda _: None) == ("done", {})
    assert "synthetic conference" in (tmp_path / "example" / "report.html").read_text(encoding="utf-8")
