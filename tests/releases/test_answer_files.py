"""The files of answers about groups of people: table, metadata and chart, beside release.json and the report."""

from __future__ import annotations

import csv
import json
import math
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import peerveil as pv
from made_up import reviews_of_groups
from marks import slow
from peerveil.releases.effects.answers import FILES, Answer
from peerveil.reporting.terms import Terms

ABOUT = pv.About(conference="Conf", year=2026, authors=["Ada Lovelace"], url="https://conf.example/reviewers/")


def answer(kind: str, given: pv.Reviews) -> Answer:
    asked: dict[str, Any] = {"public": "all", "epsilon": 5.0}
    if kind == "effect":
        return pv.effect(given, by="seniority", compare=GROUPS, randomised=True, **asked)
    if kind == "crosstab":
        return pv.release_by(given, by="seniority", values=GROUPS, **asked)
    return pv.correlate(given, given, names=("2025", "2026"), **asked)


GROUPS = ("senior programme committee", "junior")
KINDS = ("effect", "crosstab", "correlation")


@pytest.fixture(scope="module", params=KINDS)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Answer, Path]:
    folder = tmp_path_factory.mktemp(request.param)
    one = replace(answer(request.param, reviews_of_groups(folder)), terms=Terms(licence="CC-BY-4.0", about=ABOUT))
    return one, one.save(folder / "out")


def test_the_table_holds_the_numbers(made: tuple[Answer, Path]) -> None:
    release, folder = made
    assert {file.name for file in folder.iterdir()} == set(FILES)
    with (folder / "release.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    expected = [{name: "" if value is None else str(value) for name, value in row.items()} for row in release.rows()]
    assert rows == expected
    assert not any(b"uni.example" in (folder / name).read_bytes() for name in FILES)


def test_the_report_says_whose_it_is_and_describes_itself_to_search_engines(made: tuple[Answer, Path]) -> None:
    release, folder = made
    page = (folder / "report.html").read_text(encoding="utf-8")
    (text,) = re.findall(r'<script type="application/ld\+json">(.*?)</script>', page, flags=re.DOTALL)
    found = json.loads(text)
    assert found["@type"] == "Dataset"
    assert found["creator"] == [{"@type": "Person", "name": "Ada Lovelace"}]
    assert found["license"] == "https://creativecommons.org/licenses/by/4.0/"
    assert [part["name"] for part in found["variableMeasured"]] == list(release.rows()[0])
    assert [part["contentUrl"] for part in found["distribution"]] == [
        "https://conf.example/reviewers/release.csv",
        "https://conf.example/reviewers/release.json",
    ]
    assert page.index('class="human"') < page.index('id="promise"')
    assert "@misc{conf2026-" in page
    described = json.loads((folder / "croissant.json").read_text(encoding="utf-8"))
    assert described["citeAs"].startswith("@misc{conf2026-")


def test_the_chart_of_the_report_can_be_had_alone(made: tuple[Answer, Path], tmp_path: Path) -> None:
    release, folder = made
    plot = release.plot()
    assert plot.description
    assert plot.description.split(".")[0] in (folder / "report.html").read_text(encoding="utf-8").replace("&#39;", "'")
    assert plot.save(tmp_path / "chart.svg").read_text(encoding="utf-8") == plot.svg


@pytest.mark.parametrize("name", ["release.csv", "croissant.json"])
def test_a_changed_file_is_refused(made: tuple[Answer, Path], tmp_path: Path, name: str) -> None:
    _, folder = made
    copied = Path(shutil.copytree(folder, tmp_path / "out"))
    assert pv.verify(copied, None).failed == ()
    text = (copied / name).read_text(encoding="utf-8")
    (copied / name).write_text(
        re.sub(r"\d(?=\D*$)", lambda digit: str((int(digit[0]) + 1) % 10), text), encoding="utf-8"
    )
    assert pv.verify(copied, None).failed == (name,)
    (copied / name).unlink()
    assert pv.verify(copied, None).failed == ()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of rdflib, which mlcroissant uses
@pytest.mark.parametrize("kind", [slow(kind) for kind in KINDS])
def test_croissant_is_valid_and_leads_to_the_numbers(tmp_path: Path, kind: str) -> None:
    mlcroissant = pytest.importorskip("mlcroissant")
    release = answer(kind, reviews_of_groups(tmp_path))
    found = mlcroissant.Dataset(release.save(tmp_path / "out") / "croissant.json")
    assert not found.metadata.issues.errors
    rows = list(found.records("numbers"))
    assert len(rows) == len(release.rows())
    for row, due in zip(rows, release.rows(), strict=True):
        for name, value in due.items():
            read = row[f"numbers/{name}"]
            if value is None:
                assert read is None or math.isnan(read)
            else:
                assert read == (value.encode() if isinstance(value, str) else value)
