"""A dry run tells what the release would state and cost, and neither draws noise nor charges a budget."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import peerveil as pv
from cli.test_cli import GOOD, Run, run
from peerveil.errors import BudgetError
from peerveil.inference.verdict import short
from peerveil.mechanisms import Asked
from peerveil.planning.plans import expected_errors
from peerveil.private.charging import pending
from peerveil.private.noise import Prepared
from peerveil.private.promises import promise_groups

__all__ = ["run"]  # a fixture

PAPERS = [f"p{i}" for i in range(12) for _ in range(2)]
REVIEWERS = [f"r{(i * 3 + j) % 8}" for i in range(12) for j in range(2)]
SCORES = [float((i + 2 * j) % 9 + 1) for i in range(12) for j in range(2)]


@pytest.fixture
def reviews() -> pv.Reviews:
    return pv.Reviews.from_columns(PAPERS, REVIEWERS, SCORES)


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any draw of noise fails."""

    def refuse(*_: Any) -> None:
        raise AssertionError("noise was drawn")

    monkeypatch.setattr(Prepared, "draw_often", refuse)


@pytest.fixture
def ledger(tmp_path: Path) -> str:
    place = str(tmp_path / "budgets.db")
    pv.Ledger.create(place).open("conf", "reviewer", epsilon=3.0)
    return place


@pytest.mark.parametrize(
    "mechanism",
    [
        pv.Laplace(epsilon=1.0),
        pv.Histogram(epsilon=0.5, bins=3),
        pv.Gaussian(rho=0.5),
        pv.Auto(epsilon=2.0, mechanisms=("laplace",)),
    ],
    ids=lambda mechanism: mechanism.name,
)
def test_a_promise_is_what_the_release_states(reviews: pv.Reviews, mechanism: Asked) -> None:
    promise = pv.promise(reviews, public="all", mechanism=mechanism)
    release = pv.release(reviews, public="all", mechanism=mechanism)
    assert promise.guarantee == release.guarantee
    assert promise.mechanism == release.mechanism
    assert (promise.estimator, promise.public) == (release.estimator, release.public)
    assert set(promise.notes) <= set(release.notes)
    if mechanism.chooses:
        assert promise.expected_rmse is not None
        assert f"±{short(promise.expected_rmse)}" in promise.notes[0]


@pytest.mark.promise("P-BUDGET-7")
def test_nothing_is_drawn_or_charged(reviews: pv.Reviews, ledger: str, undrawn: None) -> None:
    before = Path(ledger).read_bytes()
    promise = pv.promise(reviews, public="all", mechanism=pv.Laplace(epsilon=1.0), ledger=ledger)
    assert Path(ledger).read_bytes() == before
    assert not pv.Ledger(ledger).history()
    assert not pending(ledger)
    assert {path.name for path in Path(ledger).parent.iterdir()} == {"budgets.db"}
    (quote,) = promise.quotes
    assert (quote.dataset, quote.unit, quote.currency) == ("conf", "reviewer", "epsilon")
    assert (quote.cost, quote.left, quote.after) == (1.0, 3.0, 2.0)
    with pytest.raises(AssertionError, match="noise was drawn"):  # the release would draw
        pv.release(reviews, public="all", mechanism=pv.Laplace(epsilon=1.0))


@pytest.mark.promise("P-BUDGET-7")
def test_the_quoted_cost_is_the_one_charged(reviews: pv.Reviews, tmp_path: Path) -> None:
    place = str(tmp_path / "both.db")
    book = pv.Ledger.create(place)
    book.open("conf", "reviewer", epsilon=3.0, delta=1e-6)
    book.open("conf", "review", rho=1.0)
    for mechanism in (pv.Gaussian(rho=0.05), pv.Laplace(epsilon=0.5), pv.Gaussian(rho=0.02)):
        promise = pv.promise(reviews, public="all", mechanism=mechanism, ledger=place, dataset="conf")
        left = [account.left for account in book.accounts()]
        assert [quote.left for quote in promise.quotes] == left
        pv.release(reviews, public="all", mechanism=mechanism, ledger=place)
        assert [quote.after for quote in promise.quotes] == [account.left for account in book.accounts()]
        assert promise.quotes[0].unit == "reviewer"


@pytest.mark.promise("P-BUDGET-7")
def test_what_a_release_would_refuse_is_refused(reviews: pv.Reviews, ledger: str, undrawn: None) -> None:
    laplace = pv.Laplace(epsilon=1.0)
    with pytest.raises(BudgetError, match=r"costs epsilon 4, and of the budget of 'conf' \(reviewer\) 3 of 3"):
        pv.promise(reviews, public="all", mechanism=pv.Laplace(epsilon=4.0), ledger=ledger)
    with pytest.raises(pv.InputError, match="which scores are public must be stated"):
        pv.promise(reviews, epsilon=1.0)
    with pytest.raises(pv.InputError, match="no ledger is given"):
        pv.promise(reviews, public="all", mechanism=laplace, dataset="conf")
    book = pv.Ledger(ledger)
    book.state("conf", pv.Statement(public="none", scale=(1, 10)))
    with pytest.raises(BudgetError, match="fixes more than was stated"):
        pv.promise(reviews, public="all", mechanism=laplace, ledger=ledger)


def test_expected_errors_are_those_of_a_plan(reviews: pv.Reviews) -> None:
    weights = pv.weigh(reviews.public("all"))
    for name, estimator in (("laplace", "safe"), ("histogram", "bayes")):
        plan = pv.plan(weights, epsilons=[2], mechanisms=[name], estimators=[estimator], draws=2, workers=1)
        choice = plan.choices[0]
        errors = expected_errors(weights, choice.make(), estimator, unit="reviewer", draws=2)
        assert errors == pytest.approx((choice.rmse, plan.alone), rel=1e-12)


def test_a_release_without_noise_is_exact() -> None:
    same = pv.Reviews.from_columns(list("ppqq"), ["ann", "bob"] * 2, [4.0] * 4)
    promise = pv.promise(same, public="all", mechanism=pv.Laplace(epsilon=1.0))
    assert (promise.deviation, promise.expected_rmse, promise.public_rmse) == (0.0, 0.0, 0.0)
    assert ("noise", "none: public data alone determines what is released") in promise.facts()


def test_promises_of_groups_are_joined(reviews: pv.Reviews, ledger: str, undrawn: None) -> None:
    groups = {paper: "a" if int(paper[1:]) < 6 else "b" for paper in reviews.papers}
    how: dict[str, Any] = {"public": "all", "quantity": "ratings", "unit": "reviewer"}
    made = promise_groups(
        reviews, groups, mechanism=pv.Laplace(epsilon=0.5), shared=True, ledger=ledger, dataset=None, **how
    )
    assert set(made.promises) == {"a", "b"}
    assert made.guarantee.epsilon == 1.0
    assert [quote.cost for quote in made.quotes] == [1.0]
    assert json.loads(json.dumps(made.to_document()))["groups"][1]["group"] == "b"


@pytest.mark.promise("P-BUDGET-7")
def test_the_command_writes_nothing(run: Run, tmp_path: Path, undrawn: None) -> None:
    (tmp_path / "reviews.csv").write_text(GOOD)
    command = ["release", "reviews.csv", "--public", "all", "--mechanism", "laplace", "--epsilon", "1", "--dry-run"]
    done = run(*command)
    assert done.code == 0, done.err
    for words in ("nothing was drawn, charged or written", "epsilon = 1 per reviewer", "expected error", "no ledger"):
        assert words in done.out
    document = json.loads(run(*command, "--json").out)
    assert (document["drawn"], document["charged"], document["costs"]) == (False, False, [])
    assert document["expected_rmse"] > 0
    assert run(*command, "--region", "cube").code == 2
    assert {path.name for path in tmp_path.iterdir()} == {"reviews.csv"}


def test_displays_are_short_and_name_nobody(reviews: pv.Reviews) -> None:
    promise = pv.promise(reviews, public="all", mechanism=pv.Laplace(epsilon=1.0))
    assert len(repr(promise)) < 250
    assert repr(promise).startswith("Promise(ratings of 8 reviewers; epsilon = 1 per reviewer")
    assert "nothing was drawn or charged" in promise._repr_html_()
    assert not {"r1", "p1"} & set(promise._repr_html_().replace("<", " ").replace(">", " ").split())
