"""What a chair declares public on the page, where a release is refused without it."""

from __future__ import annotations

import html
import pickle
import re
from pathlib import Path
from typing import Any

import pytest

import peerveil as pv
from asked import KEYS, Chair
from peerveil.app.ledger import declare
from peerveil.app.requests import ReleaseRequest
from peerveil.privacy.stated_facts import Statement
from peerveil.web import work
from peerveil.web.jobs import Job
from peerveil.web.labels import Problem
from peerveil.web.work import Task

#: Withdrawn papers are left out; whether z1 and z2 have a review of another one is not public.
ROWS = [(f"p{i}", f"r{(i * 3 + j) % 8}", (i + 2 * j) % 9 + 1) for i in range(12) for j in range(2)]
ROWS += [("p3", "z1", 4), ("p5", "z1", 4), ("p3", "z2", 4), ("p6", "z2", 4)]
REVIEWS = "paper,reviewer,score,Decision\n" + "".join(
    f"{paper},{who},{score},{'Withdrawn' if paper in ('p3', 'p11') else 'Accept'}\n" for paper, who, score in ROWS
)
ANSWERS: dict[str, Any] = {"file": "reviews.csv", "score_scale": "1,9", "public": "all", "quantity": "ratings"}
ANSWERS |= {"unit": "reviewer", "epsilon": 1.0, "mechanism": "laplace"}
ANSWERS |= {"leave_out": "Decision=Withdrawn", "visible_column": "Decision=paper"}
FORM = {"quantity": "ratings", "unit": "reviewer", "mechanism": "laplace", "epsilon": "1"}


@pytest.fixture
def chair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Chair:
    ledger = str(tmp_path / "b.db")
    pv.Ledger.create(ledger).open("conf2026", epsilon=9)
    return Chair(tmp_path, monkeypatch, ledger=ledger, reviews=REVIEWS)


def do(kind: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> tuple[str, Any]:
    monkeypatch.chdir(folder)
    (folder / "reviews.csv").write_text(REVIEWS)
    task = Task(kind=kind, folder=str(folder), options=ANSWERS | options, output=str(folder / f"made-{len(options)}"))
    return work._outcome(task, lambda _: None)


def shown(chair: Chair, step: str) -> str:
    return html.unescape(chair.ask("GET", f"{chair.here}/{step}").body.decode())


def test_the_number_of_reviewers_who_are_left_is_declared_where_the_refusal_says_so(
    chair: Chair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, problem = do("promise", tmp_path, monkeypatch)
    assert (state, problem.field) == ("failed", "mechanism")
    assert "or declare the number to be public (“Reviewers with a kept review”)" in problem.words
    assert "(“Noise”: histogram), which counts the others" in problem.words
    assert "Reviewers with a kept review" not in shown(chair, "choices"), "nothing was left out"
    chair.case.inspected["left out"] = ["6 reviews of 2 papers"]
    assert '<option value="yes" >their number and loads are public</option>' in shown(chair, "choices")
    chair.post("/choices", declare_kept="yes", **FORM)
    assert '<option value="yes" selected>their number and loads are public</option>' in shown(chair, "choices")
    request = work.request_of(ReleaseRequest, chair.jobs.tasks[-1])
    assert request.what.declare_kept
    state, promised = do("promise", tmp_path, monkeypatch, declare_kept=request.what.declare_kept)
    assert (state, promised["people"]) == ("done", "10 reviewers")
    state, counted = do("promise", tmp_path, monkeypatch, mechanism="histogram")
    assert (state, counted["people"]) == ("done", f"an estimated {counted['reviewers']} reviewers")


def test_a_difference_of_groups_declares_no_number(chair: Chair) -> None:
    chair.put(f"{chair.here}/files/attributes?file=people.csv", "reviewer,Seniority\n")
    asked = {"question": "difference", "by": "Seniority", "values": "senior,junior"}
    answer = chair.post("/choices", declare_kept="yes", **FORM | asked | {"mechanism": ""})
    assert answer.status == 422
    assert "“Reviewers with a kept review” does not go with “Groups of reviewers”" in html.unescape(
        answer.body.decode()
    )


def refused(chair: Chair, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Problem:
    """A refusal for what was not stated for an earlier release, as the page shows it; its job is called ``refused``."""
    state, result = do("release", folder, monkeypatch, mechanism="histogram", ledger=chair.page.ledger)
    assert state == "done", result
    state, problem = do("promise", folder, monkeypatch, declare_kept=True, ledger=chair.page.ledger)
    assert (state, problem.field) == ("failed", "tracks")
    job = Job("refused", "Promise", "", f"{chair.here}/choices", state="failed")
    job.message, job.about, job.declares = problem.words, problem.field, problem.declares
    job.turn = chair.case.turn
    chair.jobs["refused"] = job
    return problem  # type: ignore[no-any-return]


def test_what_was_public_all_along_is_declared_at_the_refusal(
    chair: Chair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = refused(chair, tmp_path, monkeypatch)
    assert "declare it for the data set with the button below" in problem.words
    page = shown(chair, "choices?failed=refused")
    assert problem.words in page
    assert f'formaction="{KEYS.at}{chair.here}/declare/refused"' in page
    assert "You would declare for conf2026: all scores are public; scale 1 to 9" in page
    assert "reviews of this part" in page
    assert not re.search(r"the part [0-9a-f]|sha256|--|peerveil ledger", page.split("<main")[1].split("</main")[0])

    ledger = pv.Ledger(str(chair.page.ledger))
    before = ledger.statements("conf2026")
    unsure = chair.post("/declare/refused", title="Kept", **FORM)
    assert unsure.status == 422
    assert "Confirm first that all of this was public before" in unsure.body.decode()
    assert f'formaction="{KEYS.at}{chair.here}/declare/refused"' in unsure.body.decode()
    assert ledger.statements("conf2026") == before, "nothing is declared unless it is confirmed"
    done = chair.post("/declare/refused", declared="yes", title="Kept", **FORM)
    assert done.status == 200
    assert "Declared for conf2026" in done.body.decode()
    assert 'value="Kept"' in done.body.decode(), "nothing typed is lost"
    (*earlier, declared) = ledger.statements("conf2026")
    assert earlier == before
    assert declared.declared
    state, result = do("promise", tmp_path, monkeypatch, declare_kept=True, ledger=chair.page.ledger)
    assert state == "done", result
    assert ledger.check().ok


def test_nothing_else_is_declared(chair: Chair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused(chair, tmp_path, monkeypatch)
    chair.jobs["other"] = Job("other", "Promise", "", f"{chair.here}/choices", state="failed")
    assert chair.post("/declare/other", declared="yes").status == 404, "no declaration was asked for"
    assert chair.post("/declare/none", declared="yes").status == 404
    chair.put("/chair?name=reviews.csv", REVIEWS)
    (second,) = chair.page.chairs.keys() - {chair.case.id}
    assert chair.ask("POST", f"/chair/{second}/declare/refused", "declared=yes").status == 404, "another case"
    chair.page.ledger = None
    assert chair.post("/declare/refused", declared="yes").status == 404


def test_a_refusal_about_scores_is_declared_at_the_step_of_what_is_public(chair: Chair) -> None:
    job = Job("refused", "Promise", "", f"{chair.here}/choices", state="failed")
    job.message, job.about = "more is public", "public"
    job.declares, job.turn = ("conf2026", Statement(public="all", scale=(1, 9))), chair.case.turn
    chair.jobs["refused"] = job
    for page in (shown(chair, "public?failed=refused"), chair.post("/declare/refused", public="all").body.decode()):
        assert "What is already public?" in page
        assert f'formaction="{KEYS.at}{chair.here}/declare/refused"' in page


def test_a_refusal_keeps_what_it_asks_for_on_its_way_between_processes(
    chair: Chair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = refused(chair, tmp_path, monkeypatch)
    assert pickle.loads(pickle.dumps(problem)) == problem  # noqa: S301 - our own
    dataset, statement = problem.declares or ("", Statement(public="none"))
    assert dataset == "conf2026"
    declare(str(chair.page.ledger), dataset, statement)
    declare(str(chair.page.ledger), dataset, statement)
    assert sum(stated.declared for stated in pv.Ledger(str(chair.page.ledger)).statements(dataset)) == 1


def test_what_another_answer_would_declare_is_not_declared(
    chair: Chair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused(chair, tmp_path, monkeypatch)
    before = pv.Ledger(str(chair.page.ledger)).statements("conf2026")
    chair.case.changed()  # as when another file is opened in the meantime
    answer = chair.post("/declare/refused", declared="yes", **FORM)
    assert answer.status == 409
    assert "Your answers have changed since" in answer.body.decode()
    assert pv.Ledger(str(chair.page.ledger)).statements("conf2026") == before


@pytest.mark.parametrize("step", ["choices", "public"])
def test_the_enter_key_declares_nothing(
    chair: Chair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """A browser submits a form by the first of its buttons."""
    refused(chair, tmp_path, monkeypatch)
    chair.jobs["refused"].about = "public" if step == "public" else chair.jobs["refused"].about
    form = shown(chair, f"{step}?failed=refused").split("<form", 1)[1].split("</form>")[0]
    buttons = re.findall(r'<button type="submit"[^>]*>', form)
    assert any("/declare/refused" in button for button in buttons)
    assert "formaction" not in buttons[0]


def test_what_is_declared_for_one_part_is_not_kept_for_another(chair: Chair) -> None:
    chair.post("/choices", declare_kept="yes", **FORM)
    assert chair.case.answers["declare_kept"] == "yes"
    assert "Advanced options: more is declared public" in shown(chair, "choices")
    chair.post("/file", score_scale="1,9", leave_out="Decision=Withdrawn", visible_column="Decision=paper")
    assert not chair.case.answers.get("declare_kept")


def test_a_citation_makes_no_plan_stale(chair: Chair) -> None:
    chair.post("/choices", **FORM)
    chair.case.planned = {"options": chair.case.options()}
    chair.case.answers["citation"] = "Cite it so"
    assert "This plan is for other choices" not in shown(chair, "choices")
    chair.case.answers["epsilon"] = 2.0
    assert "This plan is for other choices" in shown(chair, "choices")
