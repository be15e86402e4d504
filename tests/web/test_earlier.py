"""Earlier releases on the page: dropped by a chair, pooled, used by the release, and verified with it."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import peerveil as pv
from asked import Answer, Chair
from peerveil.errors import FileError, InputError
from peerveil.record.public_files import write_public
from peerveil.releases.documents import document_digest
from peerveil.releases.withdrawal import withdraw
from peerveil.web import work
from peerveil.web.cases import Case
from peerveil.web.earlier import PRIOR, add_earlier, forget_earlier
from peerveil.web.published import is_prior, sort_file
from peerveil.web.work import Task, pack
from peerveil.web.workspace import safe_name

ANSWERS = {"quantity": "ratings", "unit": "reviewer", "epsilon": "2"}


@pytest.fixture(scope="module")
def years(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of three years of a conference; of one there are two releases, and one of another quantity."""
    folder = tmp_path_factory.mktemp("years")
    for year in (2023, 2024, 2025):
        scores = np.random.default_rng(year).integers(1, 10, (12, 3))
        weights = pv.PublicWeights.from_rows(scores, load=3, quantity="ratings")
        made = pv.refine(np.linspace(3, 7, 12), weights, mechanism=pv.Laplace(scale=0.5))
        about = pv.About() if year == 2024 else pv.About(conference="Conf", year=year)
        replace(made, terms=replace(made.terms, about=about)).save(folder / str(year), report=False)
    pv.refine(np.linspace(4, 6, 12), weights, mechanism=pv.Laplace(scale=0.5)).save(folder / "again", report=False)
    other = pv.PublicWeights.from_rows(scores, load=3, quantity="normalized")
    pv.refine(np.linspace(3, 7, 12), other, mechanism=pv.Laplace(scale=0.5)).save(folder / "other", report=False)
    pack(folder / "2024", folder / "2024.zip")
    return folder


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


def drop(case: Case, source: Path, *, name: str = "", several: bool = False) -> str:
    arrived = case.folder / "arriving" / source.name
    arrived.parent.mkdir(exist_ok=True)
    shutil.copyfile(source, arrived)
    return add_earlier(case, arrived, name=name or source.name, several=several)


def test_dropped_releases_are_pooled_as_the_command_pools_them(years: Path, case: Case) -> None:
    assert drop(case, years / "2023" / "release.json", name="2023/release.json", several=True) == "Conf 2023"
    assert drop(case, years / "2023" / "release.csv", name="2023/release.csv", several=True) == "Conf 2023"
    assert drop(case, years / "2024.zip") == "Conf 2023, 2024"
    assert drop(case, years / "2025" / "release.json") == "Conf 2023, 2024, Conf 2025"
    folders = [years / year for year in ("2023", "2024", "2025")]
    assert (case.folder / PRIOR).read_bytes() == pv.pool(folders).save(case.folder / "own.json").read_bytes()
    assert case.options()["prior"] == PRIOR
    assert (
        drop(case, years / "again" / "release.json") == "Conf 2023, release 2, Conf 2025"
    )  # of one record: one of both
    assert len(pv.read_prior(case.folder / PRIOR).releases) == 3
    forget_earlier(case)
    assert "prior" not in case.options()
    assert drop(case, years / "2024.zip") == "2024"


def test_a_file_of_reviews_may_have_the_name_of_a_prior(years: Path, case: Case) -> None:
    case.files["file"] = "prior.json"
    (case.folder / "prior.json").write_text("private reviews")
    drop(case, years / "2023" / "release.json")
    assert (case.folder / case.files["file"]).read_text() == "private reviews"
    assert "private" not in (case.folder / case.files["prior"]).read_text()
    assert safe_name(PRIOR.partition("/")[0]) != PRIOR.partition("/")[0]


def test_a_prior_takes_the_place_of_all(years: Path, case: Case) -> None:
    drop(case, years / "2025" / "release.json")
    file = pv.pool([years / "2023", years / "2024"]).save(case.folder / "two.json")
    assert is_prior(file)
    assert not is_prior(years / "2023" / "release.json")
    assert drop(case, file) == "Conf 2023, release 2"
    assert (case.folder / PRIOR).read_bytes() == file.read_bytes()
    assert not case.releases


@pytest.mark.parametrize(
    ("file", "error", "words"),
    [
        ("2024/release.csv", FileError, "neither a release.json"),
        ("other/release.json", InputError, "releases of normalized and of ratings cannot be pooled"),
        ("changed.json", InputError, "was changed after it was written"),
        ("forged.json", FileError, "^forged.json: .*the file was changed"),
        ("withdrawn.zip", FileError, "^withdrawn.zip: was withdrawn"),
        ("old.json", InputError, "does not hold what pooling needs"),
    ],
)
def test_what_cannot_be_pooled_changes_nothing(
    file: str, error: type[Exception], words: str, years: Path, tmp_path: Path
) -> None:
    text = (years / "2025" / "release.json").read_text()
    (tmp_path / "changed.json").write_text(text.replace('"year": 2025', '"year": 2024'))
    old = json.loads(text)
    del old["extension"]["evidence"]
    old["digest"] = document_digest(old)
    (tmp_path / "old.json").write_text(json.dumps(old))
    shutil.copytree(years / "2025", tmp_path / "withdrawn")
    withdraw(tmp_path / "withdrawn", reason="a mistake")
    pack(tmp_path / "withdrawn", tmp_path / "withdrawn.zip")
    prior = json.loads(pv.pool([years / "2025"]).save(tmp_path / "prior-2025.json").read_text())
    prior["releases"][0]["evidence"][3][2] /= 2
    (tmp_path / "forged.json").write_text(json.dumps(prior))
    case = Case(tmp_path)
    drop(case, years / "2023" / "release.json")
    before = (case.folder / PRIOR).read_bytes()
    place = tmp_path / file if (tmp_path / file).exists() else years / file
    with pytest.raises(error, match=words):
        drop(case, place)
    assert (case.folder / PRIOR).read_bytes() == before
    assert (case.pooled, list(case.releases)) == ("Conf 2023", ["earlier-1"])


def put(chair: Chair, file: Path, more: str = "") -> Answer:
    return chair.put(f"{chair.here}/files/prior?file={file.name}{more}", file.read_text())


def test_a_chair_uses_and_forgets_earlier_releases(
    years: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chair = Chair(tmp_path, monkeypatch)
    assert b'data-address="' in chair.ask("GET", f"{chair.here}/choices").body
    answer = put(chair, years / "2023" / "release.json")
    assert json.loads(answer.body)["name"] == "Conf 2023"
    refused = put(chair, years / "2023" / "release.csv")
    assert refused.status == 422
    assert b"neither a release.json" in refused.body
    for step in ("/plan", "/choices"):
        assert chair.post(step, **ANSWERS).status == 303
        assert chair.jobs.tasks[-1].options["prior"] == PRIOR
    assert b"Conf 2023. They make estimates more accurate" in chair.ask("GET", f"{chair.here}/promise").body
    assert chair.release(chair.read()) == 303
    assert chair.jobs.released()[0]["prior"] == PRIOR
    served = chair.ask("GET", f"{chair.here}/prior.json").body
    assert served == (chair.case.folder / PRIOR).read_bytes()

    turn = chair.case.turn
    assert chair.post("/choices", **ANSWERS, earlier="none").status == 303
    assert "prior" not in chair.jobs.tasks[-1].options
    assert chair.case.turn > turn
    assert chair.ask("GET", f"{chair.here}/prior.json").status == 404


def test_earlier_releases_do_not_go_with_groups(years: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chair = Chair(tmp_path, monkeypatch)
    put(chair, years / "2023" / "release.json")
    answer = chair.post("/choices", **ANSWERS, question="shares", by="Rank", values="a,b")
    assert answer.status == 422
    assert "“Earlier releases of this conference” does not go with".encode() in answer.body


def test_another_quantity_is_refused_at_its_field(years: Path, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    drop(case, years / "2023" / "release.json")
    rows = [(p, (3 * p + j) % 12, (p + j) % 9 + 1) for p in range(12) for j in range(3)]
    text = "\n".join(["paper,reviewer,score", *(f"{p},{r},{s}" for p, r, s in rows)])
    (case.folder / "reviews.csv").write_text(text)
    monkeypatch.chdir(case.folder)
    options = {"file": "reviews.csv", "public": "all", "epsilon": 1.0, "mechanism": "laplace", "prior": PRIOR}
    task = Task(kind="promise", folder=str(case.folder), options=options | {"quantity": "miscalibration"})
    state, problem = work._outcome(task, lambda _: None)
    assert (state, problem.field) == ("failed", "prior")
    assert "it is pooled from releases of ratings" in problem.words


@pytest.mark.promise("P-YEARS-4")
def test_the_page_verifies_a_pooled_release_with_its_prior_only(
    years: Path, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    prior = pv.pool([years / "2023", years / "2024"])
    prior.save(case.folder / "published.json")
    scores = np.random.default_rng(2025).integers(1, 10, (12, 3))
    record = pv.PublicRecord.from_rows(scores.tolist(), load=3, scale=(1, 10))
    made = pv.refine(np.linspace(3, 7, 12), pv.weigh(record), mechanism=pv.Laplace(scale=0.5), prior=prior)
    made.save(case.folder / "made", report=False)
    write_public(record, case.folder / "public.csv")
    pv.pool([years / "2024"]).save(case.folder / "another.json")
    monkeypatch.chdir(case.folder)
    for file in ("made/release.json", "published.json"):  # dropped together, as they were published
        arrived = case.folder / "arriving" / Path(file).name
        arrived.parent.mkdir(exist_ok=True)
        shutil.copyfile(case.folder / file, arrived)
        sort_file(case, arrived, name=file, role="release", first="made" in file, several=True)
    assert (case.files["release"], case.files["prior"]) == ("release-folder", "published.json")

    def verified(prior: str) -> dict[str, Any]:
        options = {"release": case.files["release"], "public": "public.csv", "score_scale": "1,10", "signed_by": ""}
        task = Task(kind="verify", folder=str(case.folder), options=options | {"prior": prior})
        state, result = work._outcome(task, lambda _: None)
        assert state == "done", result
        checks: dict[str, Any] = result
        return checks

    assert verified("published.json")["verified"]
    for other in ("", "another.json"):
        result = verified(other)
        assert not result["verified"]
        assert "prior" in {check["name"] for check in result["checks"] if check["result"] == "fails"}
