"""Notebooks run from their first cell to their last, and what they show names nobody."""

from __future__ import annotations

import copy
import dataclasses
import re
import runpy
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import numpy as np
import pytest

import peerveil as pv
from peerveil.inference.verdict import short
from peerveil.simulation.conferences import synthetic_conference

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
MAKE = runpy.run_path(str(ROOT / "docs" / "notebooks" / "make.py"))
NAMED = re.compile(r"(Reviews|PublicRecord|Region|Promise|Plan|Release|Comparison|Plot)\(")
HOSTILE = "<script>alert('&')</script>"


class Tags(HTMLParser):
    """The tags that a piece of HTML opens and closes, and its words."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.closed: list[str] = []
        self.words: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.opened.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self.closed.append(tag)

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def shown(thing: object) -> Tags:
    html = thing._repr_html_()  # type: ignore[attr-defined]
    assert "@example.org" not in html
    tags = Tags(html)
    assert sorted(tag for tag in tags.opened if tag != "img") == sorted(tags.closed)
    assert "script" not in tags.opened
    return tags


@pytest.fixture(scope="module")
def reviews() -> pv.Reviews:
    conference = synthetic_conference(reviewers=20, rng=np.random.default_rng(2))
    return pv.read(conference.frame(), scale=conference.scale)


def test_records_and_regions_are_shown(reviews: pv.Reviews) -> None:
    record = reviews.public("all")
    words = shown(record).words
    for number in (len(record.papers), record.score.size, record.loads.reviewers):
        assert str(number) in words
    assert "1 to 10" in words
    region = pv.region(pv.weigh(record))
    words = shown(region).words
    for bound in (region.lower[0], region.upper[0], region.lower[-1], region.upper[-1]):
        assert f"{bound:.4g}" in words


def test_releases_are_shown_with_a_picture(reviews: pv.Reviews) -> None:
    release = pv.release(reviews, public="all", mechanism=pv.Laplace(epsilon=1.0))
    tags = shown(release)
    assert release.guarantee.summary in tags.words
    assert "img" in tags.opened


def test_private_reviews_are_shown_by_their_numbers_alone() -> None:
    scores = [3.25, 5.5, 4.75, 3.25]
    read = pv.Reviews.from_columns(["paper x"] * 2 + ["paper y"] * 2, ["ann", "bob", "ann", "cem"], scores)
    assert read._repr_html_() == (
        "<table><caption>Reviews; contents private</caption><tbody><tr><th>papers</th><td>2</td></tr>"
        "<tr><th>reviews</th><td>4</td></tr><tr><th>reviewers</th><td>3</td></tr></tbody></table>"
    )
    assert "reviews left out</th><td>2" in read.only(["paper x"])._repr_html_()


def test_words_of_others_are_escaped(reviews: pv.Reviews) -> None:
    groups = {paper: HOSTILE if place % 2 else "other" for place, paper in enumerate(reviews.papers)}
    made = pv.release_groups(reviews, groups, public="all", mechanism=pv.Laplace(epsilon=1.0))
    hostile = dataclasses.replace(made.releases[HOSTILE], public=HOSTILE, notes=(HOSTILE,))
    assert HOSTILE not in hostile._repr_html_()
    assert shown(hostile).words.count(HOSTILE) == 3


def test_plans_are_shown(reviews: pv.Reviews) -> None:
    made = pv.plan(reviews.public("all"), epsilons=[1], draws=2, workers=1, mechanisms=["laplace"])
    words = shown(made).words
    assert made.recommended[0].title in words
    assert any(f"±{short(made.recommended[0].rmse)}" in word for word in words)


def texts(notebook: nbformat.NotebookNode) -> list[str]:
    """What a notebook prints, and how it names what Peerveil returns: the same on every machine.

    What a cell prints may arrive in several pieces, which are joined.
    """
    found: list[str] = []
    for cell in notebook.cells:
        printed = False
        for output in cell.get("outputs", ()):
            plain = output.get("data", {}).get("text/plain", output.get("text", ""))
            stream = output.output_type == "stream"
            if stream and printed:
                found[-1] += plain
            elif stream or NAMED.match(plain):
                found.append(plain)
            printed = stream
    return found


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.name for path in NOTEBOOKS])
def test_notebooks_run_and_show_what_is_stored(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"):  # nothing is left in anybody's home
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    stored = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    notebook = copy.deepcopy(stored)
    MAKE["run"](notebook, tmp_path)
    assert texts(notebook)
    if path.stem != "first-release":  # which draws noise
        assert texts(notebook) == texts(stored), "run `python docs/notebooks/make.py --releases --all`"
    assert "@example.org" not in str(notebook)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.name for path in NOTEBOOKS])
def test_notebooks_have_the_outputs_of_their_code(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(notebook)
    assert notebook.metadata["peerveil"]["code"] == MAKE["digest"](notebook), "run `python docs/notebooks/make.py`"
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    shown = [output for cell in cells for output in cell.outputs]
    assert sum(bool(cell.outputs) for cell in cells) >= len(cells) - 1  # all but one that writes a file
    assert not any(output.output_type == "error" or output.get("name") == "stderr" for output in shown)
    assert any("image/svg+xml" in output.get("data", {}) for output in shown)
    assert not re.search(r"@example\.org|/tmp/|/home/|0x[0-9a-f]{6}", str(notebook))


def test_the_releases_that_notebooks_read_are_verified() -> None:
    for year in MAKE["YEARS"]:
        record = pv.read_public(MAKE["RELEASES"] / f"public-{year}.csv", load=4, scale=(1, 10))
        found = pv.verify(MAKE["RELEASES"] / str(year), pv.weigh(record))
        assert found.verified, f"{found.failed}: run `python docs/notebooks/make.py --releases --all`"


def test_there_are_notebooks_on_each_step() -> None:
    assert [path.stem for path in NOTEBOOKS] == [
        "calibration",
        "comparing-years",
        "first-release",
        "planning",
        "reading-a-release",
    ]
