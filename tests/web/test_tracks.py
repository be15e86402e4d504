"""Tracks on the page: one release for each, one promise and one charge for all."""

from __future__ import annotations

import html
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

import peerveil as pv
from asked import Chair
from peerveil.private import noise
from peerveil.releases.release import FILES, OWN_FILES
from peerveil.web import work
from peerveil.web.labels import Problem
from peerveil.web.work import PACKED, Task

TRACK = {f"p{i}": ("Théorie", "Systems & nets")[i % 2] for i in range(12)}
ROWS = [(f"p{i}", f"r{(i * 3 + j) % 8}", (i + 2 * j) % 9 + 1) for i in range(12) for j in range(2)]
REVIEWS = "paper,reviewer,score,Primary Area\n" + "".join(f"{p},{r},{s},{TRACK[p]}\n" for p, r, s in ROWS)
TABLE = "paper,track\n" + "".join(f"{paper},{track}\n" for paper, track in TRACK.items())
ANSWERS = {"quantity": "ratings", "unit": "reviewer", "mechanism": "laplace", "epsilon": "0.5"}

pytestmark = pytest.mark.filterwarnings("ignore:.*fewer than 20 reviewers")


@pytest.fixture
def chair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Chair:
    return Chair(tmp_path, monkeypatch, reviews=REVIEWS)


def do(kind: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> tuple[str, Any]:
    monkeypatch.chdir(folder)
    (folder / "reviews.csv").write_text(REVIEWS)
    answers = {"file": "reviews.csv", "public": "all", "group_column": "Primary Area"} | ANSWERS | {"epsilon": 0.5}
    return work._outcome(
        Task(kind=kind, folder=str(folder), options=answers | options, output=str(folder / "made")), lambda _: None
    )


def test_the_promise_states_each_track_and_all_and_one_charge_pays_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = str(tmp_path / "b.db")
    ledger = pv.Ledger.create(place)
    ledger.open("x", epsilon=5)
    with monkeypatch.context() as patch:
        patch.setattr(noise.Prepared, "draw", lambda *_: pytest.fail("noise was drawn"))
        state, promised = do("promise", tmp_path, patch, ledger=place)
    assert state == "done", promised
    assert not ledger.history()
    assert promised["costs"] == ["epsilon 1 is charged to the budget of 'x' (per reviewer): 5 left now, 4 afterwards"]
    assert promised["remark"].startswith("2 of 2 groups have fewer than 20 reviewers: 'Systems & nets' (")

    state, result = do("release", tmp_path, monkeypatch, ledger=place)
    assert state == "done", result
    (charge,) = ledger.history()
    assert (charge.quantity, charge.spend.epsilon) == (promised["charged_as"], 1.0)
    assert any("fewer than 20 reviewers" in remark for remark in result["remarks"])
    assert (result["summary"], result["promise"]) == (promised["summary"], promised["promise"])
    folders = {"Systems & nets": "Systems-nets", "Théorie": "Théorie"}
    assert {group["name"]: group["folder"] for group in result["groups"]} == folders
    for group in promised["groups"]:
        made = pv.Release.load(tmp_path / "made" / folders[group["name"]] / "bundle")
        stated = (made.guarantee.summary, made.promise, made.not_protected, made.reviewers)
        assert stated == tuple(group[name] for name in ("summary", "promise", "not_protected", "reviewers"))


def test_zip_files_hold_each_track_and_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state, result = do("release", tmp_path, monkeypatch)
    assert state == "done", result
    made = tmp_path / "made"
    with zipfile.ZipFile(made / PACKED) as packed:
        names = packed.namelist()
        assert sorted(names) == sorted(
            f"release/{folder}/{file}" for folder in ("Systems-nets", "Théorie") for file in FILES
        )
        for name in names:
            _, folder, *parts = name.split("/")
            assert packed.read(name) == (made / folder / "bundle" / "/".join(parts)).read_bytes()
    with zipfile.ZipFile(made / "Théorie" / PACKED) as packed:
        assert set(packed.namelist()) == {f"release/{file}" for file in FILES}


def test_a_track_may_be_called_as_a_zip_file_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.csv").write_text(TABLE.replace("Systems & nets", PACKED).replace("Théorie", "bundle.zip 2"))
    state, result = do("release", tmp_path, monkeypatch, groups="t.csv", group_column="")
    assert state == "done", result
    assert {group["folder"] for group in result["groups"]} == {"bundle.zip", "bundle.zip-2"}
    with zipfile.ZipFile(tmp_path / "made" / PACKED) as packed:
        assert {name.split("/")[1] for name in packed.namelist()} == {"bundle.zip", "bundle.zip-2"}


@pytest.mark.parametrize(
    ("options", "field", "words"),
    [
        ({"groups": "t.csv", "group_column": ""}, "groups", "11 of 12 papers are in no group of “The table of tracks”"),
        ({"groups": "twice.csv", "group_column": ""}, "groups", "a paper is in two groups"),
        ({"groups": "unnamed.csv", "group_column": ""}, "groups", "has no column for the group"),
        ({"group_column": "score"}, "group_column", "a paper is in two groups"),
        ({"no_shared_reviewers": True}, "no_shared_reviewers", "(“Reviewers and tracks”), but some have"),
        ({"region": "hull", "file": "large.csv"}, "", "hull"),
    ],
)
def test_what_is_wrong_with_tracks_is_shown_at_the_field(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], field: str, words: str
) -> None:
    large = "".join(f"q{i},s{(i + j) % 40},{(i + j) % 9 + 1},large\n" for i in range(40) for j in range(3))
    (tmp_path / "large.csv").write_text(REVIEWS + large)
    (tmp_path / "t.csv").write_text("paper,track\np1,theory\n")
    (tmp_path / "twice.csv").write_text(TABLE + "p1,Théorie\n")
    (tmp_path / "unnamed.csv").write_text(TABLE.replace("track", "what", 1))
    state, problem = do("promise", tmp_path, monkeypatch, **options)
    assert state == "failed"
    assert words in problem.words
    assert problem.field == field
    assert do("release", tmp_path, monkeypatch, **options) == (state, problem), "refused alike, and before any charge"


def test_a_chair_names_tracks_by_a_column_or_by_a_table(chair: Chair) -> None:
    shown = chair.ask("GET", f"{chair.here}/choices").body.decode()
    assert '<option value="Primary Area" selected>' in shown, "a usual name is offered"
    assert chair.post("/choices", tracks="column", group_column="Primary Area", **ANSWERS).status == 303
    chair.release(chair.read())
    assert chair.put(f"{chair.here}/files/groups?file=tracks.csv", TABLE).status == 200
    assert chair.post("/choices", tracks="file", no_shared_reviewers="yes", **ANSWERS).status == 303
    chair.release(chair.read())
    assert chair.post("/choices", tracks="", group_column="Primary Area", no_shared_reviewers="yes", **ANSWERS).status
    chair.release(chair.read())
    names = ("groups", "group_column", "no_shared_reviewers")
    assert [{name: made[name] for name in names if name in made} for made in chair.jobs.released()] == [
        {"group_column": "Primary Area", "no_shared_reviewers": False},
        {"groups": "tracks.csv", "no_shared_reviewers": True},
        {},
    ]


def test_a_table_or_a_column_that_is_not_given_is_asked_for_and_nothing_typed_is_lost(chair: Chair) -> None:
    for tracks, field in (("file", "The table of tracks"), ("column", "Column of tracks")):
        refused = chair.post("/choices", tracks=tracks, group_column="", title="Our <title>", **ANSWERS)
        text = refused.body.decode()
        assert refused.status == 422
        assert f"Give “{field}”, or choose all papers together" in text
        assert f'value="{tracks}" id="t-{tracks}" checked' in text
        assert 'value="Our &lt;title&gt;"' in text
    assert chair.post("/choices", tracks="/etc/passwd", **ANSWERS).status == 422
    assert chair.post("/file", lowest="0", highest="10").status == 303, "other steps can still be answered"
    assert not [task for task in chair.jobs.tasks if task.kind == "promise"]


def test_no_form_names_a_file_of_this_machine(chair: Chair) -> None:
    chair.post("/choices", tracks="", groups="/etc/passwd", **ANSWERS)
    chair.release(chair.read())
    assert "/etc/passwd" not in map(str, chair.jobs.released()[0].values())


def test_another_table_of_tracks_voids_a_promise(chair: Chair) -> None:
    chair.put(f"{chair.here}/files/groups?file=tracks.csv", TABLE)
    chair.post("/choices", tracks="file", **ANSWERS)
    read = chair.read()
    chair.put(f"{chair.here}/files/groups?file=tracks.csv", TABLE.replace("Théorie", "other"))
    assert chair.release(read) == 422
    assert not chair.jobs.released()


HOSTILE = "\"'></main><script>alert(1)</script>"


def test_each_track_has_a_page_and_files_and_no_other_folder_is_reached(chair: Chair) -> None:
    folder = chair.page.result_folder("m")
    facts = dict.fromkeys(("record", "error", "summary", "promise", "estimator", "accuracy", "verdict"), HOSTILE)
    group = facts | {"name": HOSTILE, "folder": "Théorie+", "findings": [HOSTILE], "notes": [], "remarks": []}
    chair.case.results["m"] = {"groups": [group], "summary": HOSTILE, "promise": HOSTILE, "remarks": [HOSTILE]}
    chair.jobs["m"] = chair.jobs["job1"]
    for file in OWN_FILES:
        path = folder / "Théorie+" / "bundle" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("<svg>")
    for place in (folder, folder / "Théorie+"):
        (place / PACKED).write_bytes(b"zip")
    shown = chair.ask("GET", f"{chair.here}/result/m").body.decode()
    assert "&lt;script&gt;alert(1)" in shown
    assert "<script>alert" not in shown
    links = [html.unescape(link) for link in re.findall(r'href="([^"]+)"', shown)]
    own = [link for link in links if "Th%C3%A9orie%2B" in link]
    assert [link.rpartition("/")[2] for link in own] == [
        *("Th%C3%A9orie%2B", "report.html", "reviews-main-script-alert-1-script-release.zip"),
    ]
    at = chair.page.at
    page, report, packed = (link.removeprefix(at).replace("Th%C3%A9orie%2B", "Théorie+") for link in own)
    assert chair.ask("GET", page).status == 200
    assert "script" not in chair.ask("GET", report).headers["content-security-policy"]
    assert chair.ask("GET", packed).body == b"zip"
    assert "alert-1-script-release.zip" in chair.ask("GET", packed).headers["content-disposition"]
    for wrong in ("..", "bundle", "Théorie", "."):
        assert chair.ask("GET", f"/made/m/{wrong}/report.html").status == 404
        assert chair.ask("GET", f"{chair.here}/result/m/{wrong}").status == 404


def test_problems_of_tracks_know_their_step() -> None:
    problem = Problem.of(pv.InputError("x (", pv.errors.Argument("shared", False), ")"))
    assert problem.field == "no_shared_reviewers"


def test_tracks_after_an_undivided_release_are_refused_in_the_words_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = str(tmp_path / "b.db")
    pv.Ledger.create(place).open("x", epsilon=5)
    state, result = do("release", tmp_path, monkeypatch, ledger=place, group_column=None)
    assert state == "done", result
    state, problem = do("promise", tmp_path, monkeypatch, ledger=place)
    assert (state, problem.field) == ("failed", "tracks")
    assert "how many reviewers each track (“One release or several”) or the papers that are kept have" in problem.words
    assert "declare it for the data set with the button below" in problem.words
    assert problem.words.endswith("nothing was charged")
    assert not re.search(r"peerveil|--|`|[0-9a-f]{8}|b\.db|/", problem.words), problem.words
