"""Tables on the page: for chairs and for researchers, the same bytes as by the command line and by Python."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest

import peerveil as pv
from asked import KEYS, Chair
from peerveil.cli import main
from peerveil.record.public_files import write_public
from peerveil.web import work
from peerveil.web.work import PACKED, Task

ROWS = [(f"p{i}", f"zqx-{(i * 3 + j) % 8}@uni.example", (i + 2 * j) % 9 + 1) for i in range(12) for j in range(2)]
REVIEWS = "paper,reviewer,score\n" + "".join(f"{p},{r},{s}\n" for p, r, s in ROWS)


def do(kind: Any, folder: Path, output: str, **options: Any) -> Any:
    task = Task(kind=kind, folder=str(folder), options=options, output=str(folder / output))
    state, result = work._outcome(task, lambda _: None)
    assert state == "done", result
    return result


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.slow
def test_page_command_line_and_python_write_the_same_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("reviews.csv").write_text(REVIEWS)
    asked = {"file": "reviews.csv", "public": "all", "mechanism": "histogram", "epsilon": 2.0, "score_scale": "1,9"}
    do("release", tmp_path, "made", **asked)
    release = str(tmp_path / "made" / "bundle")
    record = pv.read("reviews.csv", scale=(1, 9)).public("all")
    write_public(record, Path("public.csv"))

    chair = do("tables", tmp_path, "chair", release=release, **asked)
    researcher = do("tables", tmp_path, "researcher", release=release, public="public.csv")
    assert chair == researcher
    assert chair["number"] == 20
    monkeypatch.setattr("sys.argv", ["peerveil", "tables", release, "--public", "public.csv", "-o", "typed"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert not stop.value.code
    pv.sample_tables(pv.Release.load(release), record, workers=1).save("python")
    expected = files_of(Path("python"))
    assert len(expected) == 43
    for place in ("chair/bundle", "researcher/bundle", "typed"):
        assert files_of(Path(place)) == expected, place
    with zipfile.ZipFile(Path("chair", PACKED)) as packed:
        assert {name.removeprefix("tables/"): packed.read(name) for name in packed.namelist()} == expected
    assert not any(b"zqx" in contents for contents in expected.values())


@pytest.mark.slow
def test_tables_name_no_paper_if_nothing_is_public(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of papers are not public then: the chair's tables are those that anyone can draw."""
    monkeypatch.chdir(tmp_path)
    Path("reviews.csv").write_text(REVIEWS.replace("\np", "\nqzv-"))
    asked = {"file": "reviews.csv", "public": "none", "mechanism": "histogram", "epsilon": 2.0, "score_scale": "1,9"}
    do("release", tmp_path, "made", **asked)
    release = str(tmp_path / "made" / "bundle")
    do("tables", tmp_path, "chair", release=release, **asked)
    do("tables", tmp_path, "researcher", release=release, public="none", score_scale="1,9")
    files = files_of(Path("chair/bundle"))
    assert files == files_of(Path("researcher/bundle"))
    assert not any(b"qzv" in contents for contents in files.values())


def test_a_chair_draws_tables_of_a_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chair = Chair(tmp_path, monkeypatch)
    assert chair.choose("1") == 303
    assert chair.release(chair.read()) == 303
    (made,) = chair.case.results
    answer = chair.post(f"/tables/{made}")
    assert answer.status == 303
    task = chair.jobs.tasks[-1]
    assert (task.kind, task.options["file"], task.options["public"]) == ("tables", "reviews.csv", "all")
    assert task.options["release"] == str(chair.page.result_folder(made) / "bundle")
    (drawn,) = chair.case.drawn
    chair.case.drawn[drawn] |= {"number": 20, "told": "reviewers' means of ratings", "hidden": 0, "misplaced": 3.21}
    bundle = chair.page.result_folder(drawn) / "bundle"
    bundle.mkdir(parents=True)
    (bundle / "diagnostics.svg").write_text("<svg></svg>")
    (bundle.parent / PACKED).write_bytes(b"zip")
    shown = chair.ask("GET", f"{chair.here}/tables/result/{drawn}").body.decode()
    for words in ("20 possible tables", "None is the true one", "reviewers&#39; means of ratings", "3.2&nbsp;%"):
        assert words in shown
    assert chair.ask("GET", f"/made/{drawn}/peerveil-tables.zip").body == b"zip"
    assert chair.post("/tables/unknown").status == 404


def test_why_tables_could_not_be_drawn_is_told_where_they_were_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chair = Chair(tmp_path, monkeypatch)
    assert chair.choose("1") == 303
    assert chair.release(chair.read()) == 303
    (made,) = chair.case.results
    chair.case.results[made] |= {
        "number": "mean",
        "record": "12 papers",
        "summary": "epsilon = 1",
        "error": "about 0.2",
    }
    figures = chair.page.result_folder(made) / "bundle" / "figures"
    figures.mkdir(parents=True)
    for name in ("means", "shares", "refinement", "bounds"):
        (figures / f"{name}.svg").write_text("<svg></svg>")
    assert chair.post(f"/tables/{made}").status == 303
    job = list(chair.jobs.values())[-1]
    job.state, job.message, job.about = "failed", "The scores are not those of the release", "public"
    to = chair.ask("GET", f"/work/{job.id}").headers["location"]
    assert to.endswith(f"{chair.here}/result/{made}?failed={job.id}")
    shown = chair.ask("GET", to.removeprefix(KEYS.at))
    assert shown.status == 422
    assert 'role="alert"' in shown.body.decode()
    assert "The scores are not those of the release" in shown.body.decode()
