"""Batches of many venues: shared plans, bounded numbers under way, time limits, lost workers, tables of venues."""

from __future__ import annotations

import inspect
import json
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

import peerveil as pv
from cli.test_cli import GOOD, Run, run
from marks import slow
from peerveil.app.requests import BatchRequest
from peerveil.errors import UnreachableError
from peerveil.planning import auto
from peerveil.planning.alike import likeness
from peerveil.private.batch.run import run_batch
from peerveil.private.batch.venue import Venue
from peerveil.private.journal import look
from peerveil.private.ledger import Ledger
from peerveil.private.noise import Prepared
from peerveil.private.reviews import Reviews
from peerveil.releases import refinement

__all__ = ["run"]  # a fixture


def reviews(number: int, reviewers: int = 12) -> Reviews:
    """Reviews that differ little from one number to another."""
    papers = [f"p{i}" for i in range(reviewers) for _ in range(2)]
    people = [f"r{(i + k) % reviewers}" for i in range(reviewers) for k in range(2)]
    scores = [1 + (i * (3 + number % 2) + i // 5) % 9 for i in range(2 * reviewers)]
    return Reviews.from_columns(papers, people, scores, scale=(1, 10))


def venue(name: str, number: int = 0, **options: Any) -> Venue:
    given: dict[str, Any] = {"mechanism": auto.Auto(epsilon=1.0), "region": "envelope"}
    size = options.pop("reviewers", 12)
    return Venue(name=name, read=lambda: (reviews(number, size), "all"), **given | options)


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of venues that were planned; plans take few draws."""
    made: list[str] = []
    usual = auto.decide

    def counted(task: Any, seeds: object) -> Any:
        made.append(task.name)
        return usual(task, seeds)

    monkeypatch.setattr(auto, "_DRAWS", 1)
    monkeypatch.setattr(refinement, "decide", counted)
    return made


@pytest.mark.promise("P-PLATFORM-10")
@pytest.mark.slow
def test_venues_that_are_alike_share_a_plan_and_say_so(tmp_path: Path, plans: list[str]) -> None:
    venues = [venue("a"), venue("b"), venue("large", reviewers=40), venue("c", estimator="projection")]
    outcomes = run_batch(venues, tmp_path / "out", share_plans=True, workers=1, report=False)
    assert [outcome.status for outcome in outcomes] == ["released"] * 4, outcomes
    assert plans == ["a", "large"]
    releases = {each.name: pv.Release.load(tmp_path / "out" / each.name) for each in venues}
    told = {
        name: any("a plan for a venue with a similar number" in note for note in r.notes)
        for name, r in releases.items()
    }
    assert told == {"a": False, "b": True, "large": False, "c": True}
    assert releases["c"].estimator == "projection"
    for name, release in releases.items():
        weights = pv.weigh(reviews(0, 40 if name == "large" else 12).public("all"))
        assert pv.verify(release, weights).verified, name
        assert release.guarantee.epsilon == 1.0


@pytest.mark.slow
def test_each_venue_is_planned_for_itself_by_default(tmp_path: Path, plans: list[str]) -> None:
    run_batch([venue("a"), venue("b")], tmp_path / "out", workers=1, report=False)
    assert plans == ["a", "b"]


@pytest.mark.slow
def test_a_shared_plan_is_kept_for_a_batch_that_is_resumed(
    tmp_path: Path, plans: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A venue that was charged by the plan of another is drawn by that plan, whatever has become of the other."""
    place = str(tmp_path / "budgets.db")
    venues = [venue(name, budget={"epsilon": 1.0}) for name in ("a", "b")]
    drawn: list[int] = []
    usual = Prepared.draw_counts

    def killed(self: Prepared, *arguments: Any) -> Any:
        if len(drawn) == 1:
            raise KeyboardInterrupt
        drawn.append(1)
        return usual(self, *arguments)

    with monkeypatch.context() as patch:
        for draw in ("draw", "draw_counts"):
            patch.setattr(Prepared, draw, killed)
        with pytest.raises(KeyboardInterrupt):
            run_batch(venues, tmp_path / "out", ledger=place, share_plans=True, workers=1, report=False)
    outcomes = run_batch(venues[::-1], tmp_path / "out", ledger=place, share_plans=True, workers=1, report=False)
    assert {outcome.status for outcome in outcomes} <= {"released", "stands"}, outcomes
    assert plans == ["a"]
    assert [account.spent for account in Ledger(place).accounts()] == [1.0, 1.0]


@pytest.mark.promise("P-PLATFORM-1")
def test_a_venue_that_was_drawn_by_a_shared_plan_is_published_by_it(
    tmp_path: Path, plans: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan of its own may choose another mechanism, and what was drawn would be refused after it was charged."""
    place = str(tmp_path / "budgets.db")
    venues = [venue(name, budget={"epsilon": 1.0}) for name in ("a", "b")]

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    def run() -> Any:
        return run_batch(venues, tmp_path / "out", ledger=place, share_plans=True, workers=1, report=False)

    with monkeypatch.context() as patch:
        patch.setattr(pv.Release, "write_into", killed)
        with pytest.raises(KeyboardInterrupt):
            run()
    drawn = [look(tmp_path / "out.private" / "states" / f"{each.name}.json") for each in venues]
    assert any(content is not None and content[1] is not None for content in drawn)
    monkeypatch.setattr(auto, "plan", killed)
    assert [outcome.status for outcome in run()] == ["released"] * 2
    assert plans == ["a"]
    assert [account.spent for account in Ledger(place).accounts()] == [1.0, 1.0]


def test_what_makes_venues_alike() -> None:
    record: dict[str, Any] = {"load": 2}
    rows = [[1, 5], [2, 3], [4, 5], [3, 1]] * 10
    usual = likeness(pv.PublicWeights.from_rows(rows, **record))
    for other in (
        pv.PublicWeights.from_rows(rows * 2, **record),
        pv.PublicWeights.from_rows(rows, load=4),
        pv.PublicWeights.from_rows([[3 * x for x in row] for row in rows], **record),
        pv.PublicWeights.from_rows([[1, 5], [3, 3], [3, 3], [3, 3]] * 10, **record),
        pv.PublicWeights.from_rows(rows, quantity="other", **record),
        pv.PublicWeights.from_rows([[*one, *two] for one, two in zip(rows[::2], rows[1::2], strict=True)], **record),
    ):
        assert likeness(other) != usual


class Slow(Executor):
    """An executor that runs nothing until as many tasks as allowed are under way."""

    def __init__(self, most: int) -> None:
        self.most, self.peak = most, 0
        self.waiting: list[tuple[Future[Any], Callable[[], Any]]] = []

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.waiting.append((future, lambda: function(*args, **kwargs)))
        self.peak = max(self.peak, len(self.waiting))
        if len(self.waiting) == self.most:
            self.run()
        return future

    def run(self) -> None:
        for future, call in self.waiting:
            future.set_result(call())
        self.waiting.clear()


@pytest.mark.promise("P-PLATFORM-9")
def test_a_bounded_number_of_venues_is_under_way(tmp_path: Path) -> None:
    begun: list[str] = []
    released: list[str] = []

    def read(name: str) -> Any:
        begun.append(name)
        assert len(begun) - len(released) <= 3, "more was read than may be under way"
        return reviews(0), "all"

    venues = [
        Venue(name=f"v{i}", read=lambda i=i: read(f"v{i}"), mechanism=pv.Laplace(epsilon=1.0), estimator="projection")  # type: ignore[misc]
        for i in range(9)
    ]
    slowly = Slow(3)
    outcomes = run_batch(
        venues,
        tmp_path / "out",
        executor=slowly,
        in_flight=3,
        report=False,
        told=lambda done: released.append(done.name),
    )
    assert [outcome.status for outcome in outcomes] == ["released"] * 9
    assert slowly.peak == 3
    assert inspect.signature(run_batch).parameters["in_flight"].default == BatchRequest.in_flight == 64
    with pytest.raises(pv.InputError, match="in_flight must be"):
        run_batch(venues, tmp_path / "out", in_flight=0)


class Unlucky(Executor):
    """An executor on which the workers of one venue die a number of times."""

    def __init__(self, deaths: float = float("inf")) -> None:
        self.deaths = deaths

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if args[0].name == "poison" and self.deaths > 0:
            self.deaths -= 1
            future.set_exception(RuntimeError("KilledWorker"))
        else:
            future.set_result(function(*args, **kwargs))
        return future


@pytest.mark.promise("P-PLATFORM-12")
@pytest.mark.slow
def test_a_venue_whose_workers_die_does_not_stop_the_others(tmp_path: Path) -> None:
    place = str(tmp_path / "budgets.db")
    options: dict[str, Any] = {
        "mechanism": pv.Laplace(epsilon=1.0),
        "estimator": "projection",
        "budget": {"epsilon": 1.0},
    }
    venues = [venue(name, **options) for name in ("a", "poison", "b")]
    outcomes = run_batch(venues, tmp_path / "out", executor=Unlucky(), ledger=place, report=False)
    assert [outcome.status for outcome in outcomes] == ["released", "failed", "released"]
    assert "the cluster could not run it" in outcomes[1].reason
    assert "its noisy vector is kept" in outcomes[1].reason
    outcomes = run_batch(venues, tmp_path / "out", ledger=place, report=False)
    assert [outcome.status for outcome in outcomes] == ["stands", "released", "stands"]
    assert [account.spent for account in Ledger(place).accounts()] == [1.0] * 3


def test_a_venue_that_its_workers_lost_is_tried_again(tmp_path: Path) -> None:
    venues = [venue(name, mechanism=pv.Laplace(epsilon=1.0), estimator="projection") for name in ("a", "poison", "b")]
    outcomes = run_batch(venues, tmp_path / "out", executor=Unlucky(deaths=3), report=False)
    assert [outcome.status for outcome in outcomes] == ["released"] * 3


def test_a_release_is_written_when_the_ledger_is_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    series_claims = Ledger.series_claims

    def restarted(self: Ledger, release: str) -> Any:
        asked.append(release)
        if len(asked) == 1:
            raise UnreachableError("the server is restarted")
        return series_claims(self, release)

    monkeypatch.setattr(Ledger, "series_claims", restarted)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    one = venue("a", mechanism=pv.Laplace(epsilon=1.0), estimator="projection", budget={"epsilon": 1.0})
    (outcome,) = run_batch([one], tmp_path / "out", ledger=str(tmp_path / "budgets.db"), report=False)
    assert (outcome.status, len(asked)) == ("released", 2)


@pytest.mark.promise("P-PLATFORM-11")
@pytest.mark.parametrize("where", [slow("reading"), slow("estimate")])
def test_a_venue_that_takes_too_long_fails_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    def endless(*_: object) -> Any:
        until = time.monotonic() + 3600
        while time.monotonic() < until:
            time.sleep(0.001)

    options: dict[str, Any] = {"mechanism": pv.Laplace(epsilon=1.0), "estimator": "projection"}
    venues = [venue("quick", **options), venue("slow", **options)]
    if where == "reading":
        venues[1] = Venue(name="slow", read=endless, **options)
    else:
        usual = refinement.finish
        monkeypatch.setattr(
            refinement, "finish", lambda task, seeds: (usual if task.name == "quick" else endless)(task, seeds)
        )
    outcomes = run_batch(venues, tmp_path / "out", workers=1, time_limit=2.0, report=False)
    assert [outcome.status for outcome in outcomes] == ["released", "failed"]
    assert "it took longer than the limit of 2 seconds" in outcomes[1].reason
    assert outcomes[1].error in ("TimeLimitError", "PeerveilError")


@pytest.mark.slow
def test_a_table_of_venues(run: Run, tmp_path: Path) -> None:
    (tmp_path / "reviews.csv").write_text(GOOD)
    table = "name,file,epsilon,budget,no-report,only,unknown\n"
    table += "one,reviews.csv,,2,true,,\ntwo,reviews.csv,0.5,,,,\nthree,absent.csv,,,,,\nfour,reviews.csv,much,,,,\n"
    (tmp_path / "venues.csv").write_text(table + "five,reviews.csv,,,,,x\nsix,reviews.csv,1,1,true,,,more\n")
    stated = [
        "--public",
        "all",
        "--mechanism",
        "laplace",
        "--epsilon",
        "1",
        "--score-scale",
        "1,10",
        "--ledger",
        "l.db",
    ]
    run("ledger", "open", "l.db", "--dataset", "two", "--epsilon", "1")
    result = run("batch", "venues.csv", *stated, "-o", "out", "--json")
    outcomes = {outcome["name"]: outcome for outcome in json.loads(result.out)["outcomes"]}
    assert outcomes["one"]["claim"].startswith("epsilon = 1 ")
    assert outcomes["two"]["claim"].startswith("epsilon = 0.5 ")
    assert "absent.csv" in outcomes["three"]["reason"]
    assert "epsilon must be a number, got 'much'" in outcomes["four"]["reason"]
    assert "'unknown' is no option of a release" in outcomes["five"]["reason"]
    assert "it needs a name" in outcomes["venue 6"]["reason"]
    assert {account.dataset: account.budget.epsilon for account in Ledger("l.db").accounts()} == {
        "one": 2.0,
        "two": 1.0,
    }
    page = (tmp_path / "out" / "batch.html").read_text()
    assert '<a href="one/">one</a>' in page, "it has no report"
    assert '<a href="two/report.html">two</a>' in page
    assert "6 venues: 2 released, 0 released before, 4 failed." in page
    assert "absent.csv" not in page
    written = (tmp_path / "out" / "batch.csv").read_text().splitlines()
    assert written[1].startswith("one,released,")
    assert written[3] == "three,failed,,,,,failed: see the private log"
    (tmp_path / "venues.csv").write_text("paper,score\n")
    refused = run("batch", "venues.csv", *stated, "-o", "new")
    assert refused.code == 2
    assert "it needs the columns name and file" in refused.err
