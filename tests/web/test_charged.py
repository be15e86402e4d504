"""The page with the promise says which budget is charged, and by how much, or that none is."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import pytest

import peerveil as pv
from asked import Chair
from peerveil.app.ledger import ledger_view


def charged(chair: Chair, accounts: list[dict[str, Any]] | None, costs: list[str]) -> str:
    """What the page with the promise says is charged."""
    chair.case.promised = {"summary": "epsilon = 1 per reviewer", "costs": costs, "turn": chair.case.turn}
    shown = chair.page.show("chair_promise.html", case=chair.case, here="promise", accounts=accounts, series=[])
    text = " ".join(html.unescape(bytes(shown.body).decode()).split())
    return text.partition("<dt>Charged</dt><dd>")[2].partition("</dd>")[0]


@pytest.fixture
def chair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Chair:
    return Chair(tmp_path, monkeypatch)


def test_the_promise_says_which_budget_is_charged(chair: Chair, tmp_path: Path) -> None:
    assert charged(chair, None, []).startswith("Nothing, because there is no ledger. This release has epsilon = 1")
    assert charged(chair, [], []).startswith("Nothing yet: the ledger has no budget, so open one below.")
    place = str(tmp_path / "b.db")
    ledger = pv.Ledger.create(place)
    ledger.open("x", epsilon=5)
    words = "epsilon 1 is charged to the budget of 'x' (per reviewer): 5 left now, 4 afterwards"
    assert charged(chair, ledger_view(place)[0], [words]) == f"{words}."
    later = charged(chair, ledger_view(place)[0], [])  # the budget was opened after the promise was computed
    assert later.startswith("The budget of x is charged with this release (epsilon = 1 per reviewer), and so is each s")
    ledger.open("y", epsilon=5)
    chosen = charged(chair, ledger_view(place)[0], [])
    assert chosen.startswith("The budget that you choose below is charged with this release (epsilon = 1 per reviewer)")


def test_a_series_is_named_with_what_it_is_charged(tmp_path: Path) -> None:
    place = str(tmp_path / "b.db")
    ledger = pv.Ledger.create(place)
    ledger.open("x", epsilon=5)
    ledger.open_series("trio", epsilon=2)
    ledger.join("trio", "x")
    papers = [f"p{number}" for number in range(8) for _ in range(2)]
    people = [f"r{(number + place) % 8}" for number in range(8) for place in (0, 3)]
    reviews = pv.Reviews.from_columns(papers, people, [number % 9 + 1.0 for number in range(16)])
    promise = pv.promise(reviews, public="all", mechanism=pv.Laplace(epsilon=0.5), ledger=place, dataset="x")
    assert [words for name, words in promise.facts() if name == "cost"] == [
        "epsilon 0.5 is charged to the budget of 'x' (per reviewer): 5 left now, 4.5 afterwards",
        "epsilon 0.5 is charged to the series 'trio' (per person): 2 left now, 1.5 afterwards",
    ]
    without = pv.promise(reviews, public="all", mechanism=pv.Laplace(epsilon=0.5))
    (cost,) = [words for name, words in without.facts() if name == "cost"]
    assert cost.startswith("no budget is charged: no ledger is named")
