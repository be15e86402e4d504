"""Budgets on the page: opened there, and interrupted releases finished."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

import peerveil as pv
from asked import KEYS, Answer, AtOnce, Chair, answered
from peerveil.app.ledger import ledger_name, ledger_view, open_budget, pending_view
from peerveil.errors import LedgerWarning
from peerveil.reporting.typography import unbroken
from peerveil.web import serving
from peerveil.web.app import create_app
from peerveil.web.page import Page
from peerveil.web.work import Task
from peerveil.web.work.tasks import remarks_on
from private.test_ledger_migration import old_ledger


class Visitor:
    """Somebody at the page, past the guard."""

    def __init__(self, ledger: str | None) -> None:
        self.page = Page(ledger=ledger, jobs=AtOnce(), at=KEYS.at)
        self.app = create_app(self.page)

    def ask(self, method: str, **form: str) -> Answer:
        return asyncio.run(answered(self.app, method, f"{KEYS.at}/ledger", urlencode(form).encode()))

    def shown(self) -> str:
        return str(self.ask("GET").body, "utf-8")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return str(tmp_path / "b.db")


@pytest.fixture
def visitor(place: str) -> Iterator[Visitor]:
    found = Visitor(place)
    yield found
    found.page.workspace.remove()


def test_a_budget_is_opened_in_a_ledger_that_is_created_then(visitor: Visitor, place: str) -> None:
    assert "There are no budgets yet" in visitor.shown()
    assert not Path(place).exists(), "looking creates nothing"
    assert visitor.ask("POST", dataset=" conf ", epsilon="3", unit="review", delta="").status == 303
    (account,) = pv.Ledger(place).accounts()
    assert (account.dataset, account.unit, account.budget.limit) == ("conf", "review", 3.0)
    assert f"{unbroken('epsilon 3')}</strong> left of 3" in visitor.shown()


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({"dataset": "", "epsilon": "3", "unit": "reviewer"}, "dataset"),
        ({"dataset": "conf", "epsilon": "", "unit": "reviewer"}, "epsilon"),
        ({"dataset": "conf", "epsilon": "much", "unit": "reviewer"}, "epsilon"),
        ({"dataset": "conf", "epsilon": "-1", "unit": "reviewer"}, "epsilon"),
        ({"dataset": "conf", "epsilon": "3", "unit": "paper"}, "unit"),
        ({"dataset": "conf", "epsilon": "3", "unit": "reviewer", "delta": "2"}, "delta"),
    ],
)
def test_a_wrong_budget_is_refused_at_its_field(visitor: Visitor, place: str, form: dict[str, str], field: str) -> None:
    answer = visitor.ask("POST", **form)
    shown = str(answer.body, "utf-8")
    assert answer.status == 422
    assert f'<p class="error" id="e-{field}">' in shown
    assert f'value="{form["dataset"]}"' in shown, "nothing typed is lost"
    assert not Path(place).exists() or not pv.Ledger(place).accounts()


def test_a_migrated_ledger_is_told_by_the_names_of_files(
    place: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old_ledger(Path(place))
    made: list[Page] = []
    monkeypatch.setattr(serving, "_serve", lambda page, *_, **__: made.append(page))
    serving.run(ledger=place, port=0, browser=False)
    remark = "was written by 0.1.0 and has been migrated; its backup: "
    assert f"the ledger at {place} {remark}{place}.0.1.0.backup" in capsys.readouterr().out, (
        "the terminal is its owner's"
    )
    visitor = Visitor(place)
    visitor.page.remarks = made[0].remarks
    assert f"The ledger at b.db {remark}b.db.0.1.0.backup</p>" in visitor.shown()
    assert str(Path(place).parent) not in visitor.shown()
    visitor.page.workspace.remove()


def test_remarks_beside_a_release_name_files_without_their_folder(place: str) -> None:
    task = Task(kind="release", folder="", options={"ledger": place})
    told = remarks_on(task, [LedgerWarning(f"its backup: {place}.0.1.0.backup")], ["left out: x/y"])
    assert told == ["its backup: b.db.0.1.0.backup", "left out: x/y"]
    assert remarks_on(Task(kind="release", folder=""), [], ["a/b"]) == ["a/b"]


def test_the_page_of_a_ledger_shows_no_password(visitor: Visitor) -> None:
    assert ledger_name("postgresql://kim:secret@host/budgets") == "postgresql://host/budgets"
    assert "Ledger: b.db</p>" in visitor.shown()


def test_a_release_without_a_budget_leads_to_opening_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    chair = Chair(tmp_path, monkeypatch, ledger=place)
    chair.choose("1")
    shown = chair.ask("GET", f"{chair.here}/promise").body.decode()
    assert ">Open the budget</button>" in shown
    assert ">Release</button>" not in shown
    assert 'id="read"' not in shown
    for wrong, field in (({"epsilon": "3"}, "dataset"), ({"dataset": "conf"}, "epsilon")):
        refused = chair.post("/budget", **wrong)
        assert refused.status == 422
        told = refused.body.decode()
        assert re.search(rf'id="f-{field}"[^>]*aria-invalid="true"', told)
        assert all(f'value="{value}"' in told for value in wrong.values()), "nothing typed is lost"
    assert chair.post("/budget", dataset="conf", epsilon="0").status == 422
    assert not Path(place).exists()
    opened = chair.post("/budget", dataset="conf", epsilon="3", unit="review")
    assert opened.status == 303
    assert [(account["dataset"], account["unit"]) for account in ledger_view(place)[0]] == [("conf", "reviewer")]
    ledger = chair.ask("GET", "/ledger").body.decode()
    assert f'href="{KEYS.at}{chair.here}/promise">Go on with the release of ' in ledger
    shown = chair.ask("GET", f"{chair.here}/promise").body.decode()
    assert ">Release</button>" in shown
    assert ">Open the budget</button>" not in shown
    assert "3 of 3 left" in shown


def test_a_budget_that_is_opened_with_a_promise_allows_its_delta(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    chair = Chair(tmp_path, monkeypatch, ledger=place)
    assert chair.post("/budget", dataset="conf", epsilon="3").status == 303
    assert not Path(place).exists(), "without a promise, one is led back to the choices"
    chosen = {"quantity": "ratings", "unit": "reviewer", "mechanism": "gaussian", "epsilon": "1", "delta": "1e-6"}
    assert chair.post("/choices", **chosen).status == 303
    assert 'id="f-delta"' in chair.ask("GET", f"{chair.here}/promise").body.decode()
    assert chair.post("/budget", dataset="conf", epsilon="3", delta="1e-5").status == 303
    (account,) = pv.Ledger(place).accounts()
    assert account.budget.delta == 1e-5
    assert ">Release</button>" in chair.ask("GET", f"{chair.here}/promise").body.decode()


def test_without_a_ledger_the_page_says_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    visitor = Visitor(None)
    try:
        assert "peerveil serve --ledger budgets.db" in visitor.shown()
        assert visitor.ask("POST", dataset="conf", epsilon="3", unit="reviewer").status == 422
    finally:
        visitor.page.workspace.remove()


def test_an_interrupted_release_is_listed_and_leads_back_to_its_choices(
    visitor: Visitor, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_budget(place, "conf", "reviewer", epsilon=3.0, delta=None)
    papers = ["p", "p", "q", "q", "r", "r"]
    reviews = pv.Reviews.from_columns(papers, ["ann", "bob", "bob", "cem", "cem", "ann"], [3, 5, 4, 4, 8, 6])

    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("peerveil.private.release.Ready.draw", interrupted)
        with pytest.raises(KeyboardInterrupt):
            pv.release(reviews, public="all", mechanism=pv.Laplace(epsilon=1.0), ledger=place)
    (begun,) = pending_view(place)
    shown = visitor.shown()
    assert "Interrupted releases" in shown
    assert unbroken("ratings: epsilon = 1 per reviewer") in shown
    assert "Open its file again" in shown, "the page that began it has ended"
    case = visitor.page.new_case(visitor.page.chairs)
    case.unfinished.add(begun["release"])
    assert f'href="{KEYS.at}/chair/{case.id}/choices">Finish it<' in visitor.shown()
    with pytest.warns(LedgerWarning, match="nothing more was charged"):
        pv.release(reviews, public="all", mechanism=pv.Laplace(epsilon=1.0), ledger=place)
    assert "Interrupted releases" not in visitor.shown()
    assert len(pv.Ledger(place).history()) == 1
