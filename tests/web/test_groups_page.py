"""Groups of reviewers on the page: each for itself, or the difference of two, from a table of reviewers."""

from __future__ import annotations

import html
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

import peerveil as pv
from asked import Chair
from peerveil.private import noise
from peerveil.releases.effects.answers import FILES
from peerveil.web import work
from peerveil.web.work import PACKED, Task

ROWS = [(f"p{i}", f"zqx-{(i * 3 + j) % 8}@uni.example", (i + 2 * j) % 9 + 1) for i in range(12) for j in range(2)]
REVIEWS = "paper,reviewer,score,confidence\n" + "".join(f"{p},{r},{s},{s % 5 + 1}\n" for p, r, s in ROWS)
PEOPLE = "Reviewer,Name,Seniority\n" + "".join(
    f"zqx-{j}@uni.example,Zqx {j},{('senior', 'junior')[j % 2]}\n" for j in range(8)
)
ANSWERS = {"quantity": "ratings", "unit": "reviewer", "epsilon": "2"}
GROUPS = {"question": "shares", "by": "Seniority", "values": "senior,junior"}

#: Of a person, or a value of the table that nobody typed.
PRIVATE = "zqx"


@pytest.fixture
def chair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Chair:
    return Chair(tmp_path, monkeypatch, reviews=REVIEWS)


def do(kind: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> tuple[str, Any]:
    monkeypatch.chdir(folder)
    (folder / "reviews.csv").write_text(REVIEWS)
    (folder / "people.csv").write_text(PEOPLE)
    answers = {"file": "reviews.csv", "public": "all", "attributes": "people.csv", "compare": "senior,junior"}
    answers |= GROUPS | ANSWERS
    task = Task(
        kind=kind, folder=str(folder), options=answers | {"epsilon": 2.0} | options, output=str(folder / "made")
    )
    return work._outcome(task, lambda _: None)


@pytest.mark.parametrize("question", ["shares", "difference"])
def test_a_promise_states_precision_and_cost_and_one_charge_pays(
    question: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = str(tmp_path / "b.db")
    ledger = pv.Ledger.create(place)
    ledger.open("x", epsilon=5)
    with monkeypatch.context() as patch:
        patch.setattr(noise.Prepared, "draw_often", lambda *_: pytest.fail("noise was drawn"))
        for kind in ("plan", "promise"):
            state, promised = do(kind, tmp_path, patch, question=question, ledger=place)
            assert state == "done", promised
    assert not ledger.history()
    assert promised["costs"] == ["epsilon 2 is charged to the budget of 'x' (per reviewer): 5 left now, 3 afterwards"]
    assert promised["summary"] == "epsilon = 2 per reviewer (pure differential privacy)"
    assert all(len(row) == len(promised["header"]) for row in promised["rows"])
    assert "senior" in promised["released"]
    assert promised["worth"].startswith("Not worth its budget: "), "of eight reviewers"

    state, result = do("release", tmp_path, monkeypatch, question=question, ledger=place)
    assert state == "done", result
    (charge,) = ledger.history()
    assert (charge.quantity, charge.spend.epsilon) == (promised["charged_as"], 2.0)
    assert (result["summary"], result["promise"]) == (promised["summary"], promised["promise"])
    assert result["picture"].startswith("<svg")
    assert ("precision" in dict(result["facts"])) == (question == "shares")
    bundle = tmp_path / "made" / "bundle"
    with zipfile.ZipFile(tmp_path / "made" / PACKED) as packed:
        assert set(packed.namelist()) == {f"release/{name}" for name in FILES}
        assert all(packed.read(f"release/{name}") == (bundle / name).read_bytes() for name in FILES)
    assert pv.verify(bundle, pv.weigh(pv.read("reviews.csv").public("all"))).verified
    assert PRIVATE not in (json.dumps([promised, result]) + (bundle / "report.html").read_text()).casefold()


@pytest.mark.parametrize(
    ("options", "field", "words"),
    [
        ({"by": "Rank"}, "by", "“Column of groups” must be a column of the table"),
        ({"values": "senior"}, "values", "at least two different groups are needed (“The groups”)"),
        ({"values": "senior,chief"}, "values", "no reviewer is in the group 'chief'"),
        ({"question": "difference", "compare": "senior"}, "values", "“The groups” must name two groups"),
        ({"question": "difference", "compare": "senior,senior"}, "values", "two different groups are needed"),
        ({"question": "difference", "compare": "senior,chief"}, "values", "no reviewer is in the group 'chief'"),
        ({"question": "difference", "limits": "9"}, "limits", "“Limits of scores” must look like '-4,4'"),
        ({"sizes": "4"}, "sizes", "“Size of each group” must be 2 whole numbers separated by commas, got '4'"),
        ({"sizes": "5,3"}, "sizes", "does not have the stated numbers of reviewers"),
        ({"sizes": "5,5"}, "sizes", "“Size of each group” must add up to the 8 reviewers, got 10"),
        ({"sizes": "4,4", "groups": "tracks.csv"}, "sizes", "go with whole conferences"),
        ({"attributes": "none.csv"}, "attributes", "none.csv"),
        ({"attributes": "short.csv"}, "merge_names", "7 of 8 reviewers have no row in the table of attributes"),
        ({"mechanism": "laplace"}, "by", "releases counts, with “Epsilon” and “Bins” only"),
    ],
)
def test_what_is_wrong_with_groups_is_shown_at_the_field(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], field: str, words: str
) -> None:
    (tmp_path / "short.csv").write_text("reviewer,Seniority\nzqx-0@uni.example,senior\n")
    (tmp_path / "tracks.csv").write_text(TRACKS)
    state, problem = do("promise", tmp_path, monkeypatch, **options)
    assert (state, words in problem.words) == ("failed", True), problem
    assert problem.field == field
    assert PRIVATE not in problem.words
    assert do("release", tmp_path, monkeypatch, **options) == (state, problem), "refused alike, and before any charge"


def test_a_promise_without_a_ledger_tells_how_often_these_reviews_were_released(chair: Chair) -> None:
    for words in (
        "If these reviews were released before",
        "released these reviews once",
        "these reviews 2\N{NO-BREAK SPACE}times",
    ):
        chair.choose("1")
        assert words in chair.ask("GET", f"{chair.here}/promise").body.decode()
        assert chair.release(chair.read()) == 303


def test_the_first_step_tells_what_was_left_out(chair: Chair) -> None:
    shown = chair.ask("GET", f"{chair.here}/file").body.decode()
    assert "<dt>Left out</dt>" not in shown
    chair.case.inspected["left out"] = ["5 metareviews", "1 bot"]
    assert "<dt>Left out</dt><dd>5 metareviews; 1 bot</dd>" in chair.ask("GET", f"{chair.here}/file").body.decode()
    chair.choose("1")
    chair.release(chair.read())
    (made,) = chair.case.results
    texts = dict.fromkeys(("record", "picture", "human", "summary", "promise", "answer"), "")
    told = {"remarks": ["left out: 5 metareviews", "left out: a paper"]}
    chair.case.results[made] |= {"question": "shares", "facts": [], "notes": []} | texts | told
    said = chair.ask("GET", f"{chair.here}/result/{made}").body.decode()
    assert "Left out: a paper" in said
    assert "metareviews" not in said, "what the first step told is no news"


def test_a_chair_asks_about_groups_and_the_headings_are_offered(chair: Chair) -> None:
    uploaded = chair.put(f"{chair.here}/files/attributes?file=people.csv", PEOPLE)
    assert json.loads(uploaded.body) == {"name": "people.csv", "columns": ["Seniority"]}
    shown = chair.ask("GET", f"{chair.here}/choices").body.decode()
    assert '<option value="Seniority">' in shown
    fields = re.findall(r'<input[^>]* name="(by|values|limits|sizes)"[^>]* value="([^"]*)"', shown)
    assert sorted(fields) == [("by", ""), ("limits", ""), ("sizes", ""), ("values", "")], "nothing was answered yet"
    assert PRIVATE not in shown
    assert chair.post("/choices", **GROUPS, **ANSWERS, others="yes", bins="3", limits="2,8", sizes="3,4").status == 303
    chair.release(chair.read())
    assert chair.post("/choices", **GROUPS | {"question": "difference"}, **ANSWERS, randomised="yes").status == 303
    chair.release(chair.read())
    assert (
        chair.post("/choices", **GROUPS | {"question": ""}, **ANSWERS, others="yes", weight="confidence").status == 303
    )
    chair.release(chair.read())
    first, second, third = chair.jobs.released()
    asked = ("question", "by", "values", "attributes", "others", "bins", "sizes")
    assert [first[name] for name in asked] == ["shares", "Seniority", "senior,junior", "people.csv", True, 3, "3,4"]
    assert [second[name] for name in ("question", "compare", "randomised")] == ["difference", "senior,junior", True]
    assert not set(third) & {"question", "by", "values", "compare", "attributes", "others", "sizes"}
    assert third["weight"] == "confidence"


def test_headings_that_look_like_cells_are_not_offered(chair: Chair) -> None:
    rows = PEOPLE.partition("\n")[2]
    assert json.loads(chair.put(f"{chair.here}/files/attributes?file=people.csv", rows).body)["columns"] == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"by": ""}, "Give “Column of groups”, or choose all reviewers together"),
        ({"values": ""}, "Give “The groups”, or choose all reviewers together"),
        ({"question": "/etc/passwd"}, "Choose one of “Groups of reviewers”"),
        ({"estimator": "safe"}, "“Estimator” does not go with “Groups of reviewers”: Each group for itself"),
        (
            {"tracks": "column", "group_column": "paper", "no_shared_reviewers": "yes"},
            "“Reviewers and tracks” does not go with “Groups of reviewers”: Each group for itself",
        ),
        ({"tracks": "file"}, "Give “The table of tracks”, or choose all papers together"),
        ({"question": "difference", "share": "score>=6"}, "“Share of reviews with” does not go with"),
        ({"question": "difference", "weight": "confidence"}, "“Column instead of the score” does not go with"),
    ],
)
def test_what_is_missing_or_does_not_fit_is_told_and_nothing_typed_is_lost(
    chair: Chair, given: dict[str, str], words: str
) -> None:
    refused = chair.post("/choices", **GROUPS, **ANSWERS)
    assert "Give “The table of reviewers”, or choose all reviewers together" in refused.body.decode()
    chair.put(f"{chair.here}/files/attributes?file=people.csv", PEOPLE)
    refused = chair.post("/choices", **GROUPS | ANSWERS | {"title": "Our <title>"} | given)
    assert refused.status == 422
    assert words in refused.body.decode()
    assert 'value="Our &lt;title&gt;"' in refused.body.decode()
    assert not [task for task in chair.jobs.tasks if task.kind == "promise"]


HOSTILE = "\"'></main><script>alert(1)</script>"


def test_a_result_about_groups_is_text(chair: Chair) -> None:
    facts = dict.fromkeys(("answer", "record", "summary", "human", "promise"), HOSTILE)
    lists = {"facts": [(HOSTILE, HOSTILE)], "remarks": [HOSTILE], "notes": [HOSTILE]}
    chair.case.results["m"] = facts | lists | {"picture": "<svg></svg>"}
    shown = chair.ask("GET", f"{chair.here}/result/m").body.decode()
    assert "&lt;script&gt;alert(1)" in shown
    assert "<script>alert" not in shown


TRACKS = "paper,track\n" + "".join(f"p{i},{('Théorie', 'Systems & nets')[i % 2]}\n" for i in range(12))
FOLDERS = {"Systems & nets": "Systems-nets", "Théorie": "Théorie"}


@pytest.mark.parametrize("question", ["shares", "difference"])
def test_groups_in_each_track_are_promised_and_paid_together(
    question: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = str(tmp_path / "b.db")
    ledger = pv.Ledger.create(place)
    ledger.open("x", epsilon=9)
    (tmp_path / "tracks.csv").write_text(TRACKS)
    asked = {"question": question, "ledger": place, "groups": "tracks.csv"}
    with monkeypatch.context() as patch:
        patch.setattr(noise.Prepared, "draw_often", lambda *_: pytest.fail("noise was drawn"))
        state, planned = do("plan", tmp_path, patch, **asked)
        assert (state, "rows" in planned, "groups" in planned) == ("done", True, False), "of all papers"
        state, promised = do("promise", tmp_path, patch, **asked)
    assert state == "done", promised
    assert not ledger.history()
    assert promised["costs"] == ["epsilon 4 is charged to the budget of 'x' (per reviewer): 9 left now, 5 afterwards"]
    assert "for each of 2 tracks" in promised["released"]
    assert promised["remark"].startswith("2 of 2 groups have fewer than 20 reviewers: 'Systems & nets' (")
    assert [(track["name"], track["reviewers"]) for track in promised["groups"]] == [
        ("Systems & nets", 8),
        ("Théorie", 8),
    ]
    assert all(track["precision"] for track in promised["groups"])

    state, result = do("release", tmp_path, monkeypatch, **asked)
    assert state == "done", result
    (charge,) = ledger.history()
    assert (charge.quantity, charge.spend.epsilon) == (promised["charged_as"], 4.0)
    assert (result["summary"], result["promise"]) == (promised["summary"], promised["promise"])
    assert {track["name"]: track["folder"] for track in result["groups"]} == FOLDERS
    made, kind = tmp_path / "made", pv.Crosstab if question == "shares" else pv.Effect
    for before, track in zip(promised["groups"], result["groups"], strict=True):
        bundle = made / track["folder"] / "bundle"
        read = kind.load(bundle)
        stated = (read.guarantee.summary, read.guarantee.promise, read.public, read.loads.reviewers)
        assert stated == tuple(before[name] for name in ("summary", "promise", "public", "reviewers"))
        assert track["picture"].startswith("<svg")
        for packed, within in ((made / track["folder"] / PACKED, ""), (made / PACKED, f"{track['folder']}/")):
            with zipfile.ZipFile(packed) as files:
                assert all(files.read(f"release/{within}{name}") == (bundle / name).read_bytes() for name in FILES)
                assert len(files.namelist()) == len(FILES) * (2 if within else 1)
    assert PRIVATE not in json.dumps([promised, result]).casefold()


def spaceless(text: str) -> str:
    """A text, or one of a page, without spaces, of which those before units do not break."""
    return re.sub(r"\s", "", html.unescape(text))


@pytest.mark.parametrize("question", ["shares", "difference"])
def test_a_chair_reads_the_promise_and_the_page_of_each_track(
    question: str, chair: Chair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chair.put(f"{chair.here}/files/attributes?file=people.csv", PEOPLE)
    chair.put(f"{chair.here}/files/groups?file=tracks.csv", TRACKS)
    assert chair.post("/choices", **GROUPS | {"question": question}, **ANSWERS, tracks="file").status == 303
    options = {task.kind: task.options for task in chair.jobs.tasks}["promise"]
    assert [options[name] for name in ("question", "groups", "no_shared_reviewers")] == [question, "tracks.csv", False]
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "tracks.csv").write_text(TRACKS)
    asked = {"question": question, "groups": "tracks.csv"}
    state, promised = do("promise", tmp_path / "work", monkeypatch, **asked)
    assert state == "done", promised
    chair.case.promised |= promised
    shown = chair.ask("GET", f"{chair.here}/promise").body.decode()
    assert "How precise it will be" in shown
    assert "Expected error</th>" not in shown
    assert all(spaceless(track["precision"]) in spaceless(shown) for track in promised["groups"])
    assert "All tracks together: epsilon" in shown

    state, result = do("release", tmp_path / "work", monkeypatch, **asked)
    assert state == "done", result
    chair.case.results["m"] = result
    chair.jobs["m"] = chair.jobs["job1"]
    shown = chair.ask("GET", f"{chair.here}/result/m").body.decode()
    assert "Released: 2 tracks" in shown
    facts = [words for track in result["groups"] for name, words in track["facts"] if name in ("effect", "senior")]
    assert len(facts) == 2
    assert all(spaceless(words) in spaceless(shown) for words in facts)
    track = chair.ask("GET", f"{chair.here}/result/m/Théorie").body.decode()
    assert "All tracks</a>" in track
    assert f"reviews-Th%C3%A9orie-{question}.zip" in track
    assert "<svg" in track
