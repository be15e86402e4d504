"""What researchers drop on the page: releases are recognised, unpacked, verified and compared."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import numpy as np
import pytest

import peerveil as pv
from asked import KEYS, Answer, AtOnce, answered
from peerveil.record.public_files import write_public
from peerveil.releases import verification
from peerveil.releases.release import FILES
from peerveil.releases.withdrawal import withdraw
from peerveil.simulation.conferences import synthetic_conference
from peerveil.web import work
from peerveil.web.app import create_app
from peerveil.web.cases import Case
from peerveil.web.labels import CHECKS
from peerveil.web.page import Page
from peerveil.web.published import is_release, sort_file
from peerveil.web.work import Task, pack
from peerveil.web.workspace import file_name

CRITERIA = ("clarity", "soundness")

#: The modules that check releases.
MODULES = ("verification", "checking/means", "checking/files", "withdrawal")


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two releases of a synthetic conference, a zip file of the first, and the public scores."""
    folder = tmp_path_factory.mktemp("published")
    conference = synthetic_conference(reviewers=12, criteria=CRITERIA, rng=np.random.default_rng(1))
    conference.write_csv(folder / "reviews.csv")
    reviews = pv.read(folder / "reviews.csv", scale=conference.scale, criteria=CRITERIA)
    write_public(reviews.public("all"), folder / "public.csv")
    for year in ("2025", "2026"):
        estimator = {"2025": "safe", "2026": "bayes"}[year]
        made = pv.release(reviews, public="all", mechanism=pv.Laplace(epsilon=1.0), estimator=estimator)
        made.save(folder / year)
    other = pv.release(reviews, public="all", quantity="normalized", mechanism=pv.Laplace(epsilon=1.0))
    other.save(folder / "normalized", report=False)
    pack(folder / "2025", folder / "2025.zip")
    return folder


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


def drop(case: Case, source: Path, role: str, *, first: bool = True, several: bool = False, name: str = "") -> str:
    """Drop a copy of a file."""
    arrived = case.folder / "arriving" / source.name
    arrived.parent.mkdir(exist_ok=True)
    shutil.copyfile(source, arrived)
    return sort_file(case, arrived, name=name or source.name, role=role, first=first, several=several)


def do(task_kind: Any, case: Case, monkeypatch: pytest.MonkeyPatch, **options: Any) -> tuple[str, Any]:
    monkeypatch.chdir(case.folder)
    task = Task(
        kind=task_kind,
        folder=str(case.folder),
        options=options,
        output=str(case.folder / "made"),
        others={title: folder for folder, title in case.releases.items()},
    )
    return work._outcome(task, lambda _: None)


def test_releases_are_recognised_and_other_files_are_not(published: Path, tmp_path: Path) -> None:
    assert is_release(published / "2025" / "release.json")
    assert is_release(published / "2025.zip")
    (tmp_path / "sorted.json").write_text(json.dumps({"schema_version": 2, "a": 1}))
    assert is_release(tmp_path / "sorted.json")
    for name, data in {"list.json": b"[1, 2]", "empty": b"", "text": b"schema_version", "no.json": b"{}"}.items():
        (tmp_path / name).write_bytes(data)
        assert not is_release(tmp_path / name), name
    assert not is_release(published / "public.csv")


def test_our_own_files_are_refined_without_a_question(
    published: Path, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dropped together in one place, of a quantity that needs criteria, with whatever else the form sends."""
    assert drop(case, published / "normalized" / "release.json", "noisy", several=True) == "noisy"
    assert drop(case, published / "normalized" / "release.csv", "noisy", first=False, several=True) == "noisy"
    assert drop(case, published / "public.csv", "noisy", first=False, several=True) == "public_file"
    assert case.published
    form = {"law": "known", "mechanism": "laplace", "load": 7}
    files = {"noisy": case.files["noisy"], "public": case.files["public_file"]}
    state, result = do("refine", case, monkeypatch, **form, **files)
    assert state == "done", result
    made = pv.Release.load(case.folder / "made" / "bundle")
    assert (made.quantity, made.guarantee.epsilon) == ("normalized", 1.0)


@pytest.mark.parametrize("estimator", ["", "projection", "bayes"])
def test_a_release_is_refined_as_it_was_published_unless_told_otherwise(
    estimator: str, published: Path, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library's own default is the safe one, which would look worse than what was published."""
    source = pv.Release.load(published / "2026")
    drop(case, published / "2026" / "release.json", "noisy")
    drop(case, published / "public.csv", "public_file")
    files = {"noisy": case.files["noisy"], "public": case.files["public_file"]}
    state, result = do("refine", case, monkeypatch, estimator=estimator, number=2, **files)
    assert state == "done", result
    used = estimator or "bayes"
    assert (result["estimator"], result["called"]) == (used, f"2: {used}, tight")
    told = result["published"]
    assert (told["estimator"], told["same"]) == (source.estimator, used == source.estimator)
    assert told["better"] == (told["error"] < result["expected_rmse"])


@pytest.mark.parametrize(
    ("named", "download"),
    [("Conf 2026-release.zip", "Conf-2026-refined.zip"), ("release.json", "peerveil-refined.zip")],
)
def test_what_is_refined_is_named_after_the_release(
    named: str, download: str, published: Path, researcher: Researcher
) -> None:
    data = (published / ("2025.zip" if named.endswith("zip") else "2025/release.json")).read_bytes()
    researcher.ask("PUT", f"/researcher?role=noisy&first=1&name={quote(named)}", data)
    (case,) = researcher.page.studies.values()
    assert file_name(case.named, "refined.zip") == download
    case.answers |= {"conference": "Conf", "year": 2027}
    assert file_name(case.named, "refined.zip") == "Conf-2027-refined.zip"


def test_a_release_is_recognised_wherever_it_is_dropped_and_replaced_as_a_whole(published: Path, case: Case) -> None:
    assert drop(case, published / "2025.zip", "public_file") == "noisy"
    assert case.published
    assert "public_file" not in case.files
    folder = case.folder / case.files["noisy"]
    assert {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()} == set(FILES)
    drop(case, published / "2026" / "release.json", "noisy")
    assert [file.name for file in folder.rglob("*") if file.is_file()] == ["release.json"]
    (case.folder / "numbers.txt").write_text("1\n2\n")
    assert drop(case, case.folder / "numbers.txt", "noisy") == "noisy"
    assert not case.published


def test_files_that_are_no_release_are_refused_where_one_is_wanted(published: Path, case: Case) -> None:
    for role in ("release", "releases"):
        with pytest.raises(pv.InputError, match=r"neither a release\.json nor a zip file"):
            drop(case, published / "public.csv", role)
    with zipfile.ZipFile(case.folder / "two.zip", "w") as packed:
        for year in ("2025", "2026"):
            packed.write(published / year / "release.json", f"{year}/release.json")
    with pytest.raises(pv.InputError, match="several releases"):
        drop(case, case.folder / "two.zip", "release")


def test_nothing_leaves_the_folder_of_a_case(published: Path, case: Case) -> None:
    with zipfile.ZipFile(case.folder / "evil.zip", "w") as packed:
        packed.write(published / "2025" / "release.json", "../../release.json")
        packed.writestr("../../report.html", "<p>")
        packed.writestr("/etc/passwd", "x")
    drop(case, case.folder / "evil.zip", "release")
    inside = {file.relative_to(case.folder).as_posix() for file in case.folder.rglob("*") if file.is_file()}
    assert inside == {"evil.zip", "release-folder/release.json", "release-folder/report.html"}
    assert not (case.folder.parent / "release.json").exists()


def test_every_check_is_shown_in_words(published: Path, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    drop(case, published / "2025.zip", "release")
    drop(case, published / "public.csv", "public_file")
    files = {"release": case.files["release"], "public": case.files["public_file"], "signed_by": ""}
    state, result = do("verify", case, monkeypatch, **files)
    assert state == "done", result
    assert (result["verified"], result["against"]) == (True, True)
    assert all(CHECKS[check["name"]] == check["title"] for check in result["checks"])

    alone = do("verify", case, monkeypatch, **files | {"public": ""})[1]
    assert (alone["verified"], alone["against"]) == (True, False)
    results = {check["name"]: check["result"] for check in alone["checks"]}
    assert {name for name, found in results.items() if found == "holds"} >= {
        "schema",
        "digest",
        "release.csv",
        "report.html",
    }
    assert results["record"] == results["values"] == "not checked"
    assert {check["name"] for check in alone["checks"]} == {check["name"] for check in result["checks"]}

    shutil.copyfile(published / "2026" / "release.csv", case.folder / case.files["release"] / "release.csv")
    changed = do("verify", case, monkeypatch, **files | {"public": ""})[1]
    assert [check["name"] for check in changed["checks"] if check["result"] == "fails"] == ["release.csv"]


def test_every_check_has_a_title() -> None:
    folder = Path(verification.__file__).parent
    source = "".join((folder / f"{name}.py").read_text(encoding="utf-8") for name in MODULES)
    named = re.findall(r'\b(?:checked|failed|unchecked)\("([\w.]+)"', source)
    assert {"digest", "withdrawal", "signature"} <= set(named)
    assert {*named, "release.csv", "report.html", "pictures", "croissant.json"} <= set(CHECKS)


def test_releases_are_compared_with_the_first(published: Path, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    drop(case, published / "2025.zip", "releases")
    drop(case, published / "2026" / "release.json", "releases", name="2026/release.json")
    drop(case, published / "2026" / "release.csv", "releases", name="2026/release.csv")
    drop(case, published / "2026" / "release.json", "releases")
    assert list(case.releases.values()) == ["2025", "2026", "Release 3"]
    state, result = do("compare", case, monkeypatch)
    assert state == "done", result
    assert [pair["title"] for pair in result["pairs"]] == ["2026", "Release 3"]
    assert result["first"] == "2025"
    comparison = pv.compare(pv.Release.load(published / "2025"), pv.Release.load(published / "2026"))
    assert result["pairs"][0]["sentences"] == comparison.sentences("2026")
    assert [row[1] for row in result["pairs"][0]["rows"]] == [f"{q.first:.3f}" for q in comparison.quantiles]
    assert all(title in result["svg"] for title in ("2025", "2026", "Release 3"))
    drop(case, published / "normalized" / "release.json", "releases")
    state, problem = do("compare", case, monkeypatch)
    assert (state, "same quantity" in problem.words) == ("failed", True)


class Researcher:
    """A researcher at the page, past the guard."""

    def __init__(self) -> None:
        self.jobs = AtOnce()
        self.page = Page(jobs=self.jobs, at=KEYS.at)
        self.app = create_app(self.page)

    def ask(self, method: str, address: str, body: bytes = b"") -> Answer:
        return asyncio.run(answered(self.app, method, KEYS.at + address, body))

    def post(self, address: str, **form: str) -> str:
        return str(self.ask("POST", address, urlencode(form).encode()).body, "utf-8")


@pytest.fixture
def researcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Researcher]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("peerveil.web.page._PATIENCE", 0)
    found = Researcher()
    yield found
    found.page.workspace.remove()


@pytest.mark.parametrize(
    ("address", "field", "typed"),
    [("/researcher/refine", "noisy", "words"), ("/verify", "release", "criteria"), ("/compare", "releases", "")],
)
def test_what_is_missing_is_said_at_its_field_and_nothing_typed_is_lost(
    researcher: Researcher, address: str, field: str, typed: str
) -> None:
    page = researcher.post(address, **({typed: "what I typed"} if typed else {}))
    assert f'id="{field}" multiple aria-invalid="true" aria-describedby="e-{field}"' in page
    assert f'<p class="error" id="e-{field}">Give ' in page
    assert not typed or 'value="what I typed"' in page


def test_uploads_say_what_they_were_taken_for(researcher: Researcher, published: Path) -> None:
    file = (published / "2025" / "release.json").read_bytes()
    said = json.loads(researcher.ask("PUT", "/researcher?role=noisy&name=a/release.json&first=1", file).body)
    assert (said["role"], said["published"], said["name"]) == ("noisy", True, "release.json")
    form = researcher.ask("GET", f"/researcher/{said['study']}").body.decode()
    assert 'data-published="yes"' in form
    assert researcher.ask("PUT", "/researcher?role=verify&name=x", b"").status == 404


@pytest.mark.parametrize(
    ("tells", "finding", "words"),
    [
        ("no clear difference", "no clear difference", "no clear difference. The releases may differ all the same"),
        ("higher, likely", "no clear difference", "differences of the means at 10\N{NO-BREAK SPACE}% of reviewers"),
        ("no clear difference", "lower, likely", "A finding. In the second release: less, lower, likely."),
    ],
)
def test_a_comparison_begins_with_what_is_more_than_noise(
    tells: str, finding: str, words: str, researcher: Researcher
) -> None:
    case = researcher.page.new_case(researcher.page.studies)
    sentence = f"A finding. In the second release: less, {finding}."
    pair = {"title": "2026", "sentences": [sentence], "rows": [("10%", "1", "2", "+1", "", tells)], "words": []}
    case.results["m"] = {"releases": {"2025": {}, "2026": {}}, "first": "2025", "pairs": [pair], "svg": ""}
    shown = researcher.ask("GET", f"/compare/{case.id}/result/m").body.decode()
    told = shown.partition('id="clear"')[2].partition("</section>")[0]
    assert words in told
    assert ("no clear difference" in told) == (tells == finding)


def test_a_comparison_says_that_a_release_was_withdrawn(
    researcher: Researcher, published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    places = {"last year": str(published / "2025"), "this year": str(tmp_path / "2026")}
    shutil.copytree(published / "2026", places["this year"])
    withdraw(places["this year"], reason="The file was of last year.")
    state, result = work._outcome(Task(kind="compare", folder=str(tmp_path), others=places), lambda _: None)
    assert state == "done", result
    (words,) = result["withdrawn"]
    assert words.startswith("this year: withdrawn by its publishers on ")
    case = researcher.page.new_case(researcher.page.studies)
    case.results["m"] = result
    shown = researcher.ask("GET", f"/compare/{case.id}/result/m").body.decode()
    assert "Do not rely on this" in shown
    assert "The file was of last year." in shown
    assert all("In the second release" not in sentence for pair in result["pairs"] for sentence in pair["sentences"])


def test_a_release_without_a_name_is_called_what_it_is_of(researcher: Researcher, published: Path) -> None:
    about = pv.About(conference="Conf", year=2026)
    release = pv.Release.load(published / "2026")
    text = replace(release, terms=replace(release.terms, about=about)).to_json()
    said = json.loads(researcher.ask("PUT", "/researcher?role=releases&name=release.json", text.encode()).body)
    assert list(researcher.page.studies[said["study"]].releases.values()) == ["Conf 2026"]
