"""Releases of conferences in a series: they state what the series promises a person, and verify checks it."""

from __future__ import annotations

import json
import shutil
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import peerveil as pv
from cli.test_cli import Run, run
from peerveil.app.ledger import ledger_view, series_view
from peerveil.privacy.guarantee import Guarantee
from peerveil.privacy.neighbours import Neighbours
from peerveil.private.ledger import Ledger
from peerveil.private.reviews import Reviews
from peerveil.releases.documents import document_digest
from peerveil.releases.effects.answers import Answer
from peerveil.releases.release import Release
from peerveil.reporting.typography import unbroken
from peerveil.simulation.conferences import synthetic_conference
from web.test_ledger_page import Visitor

__all__ = ["run"]  # a fixture

HISTOGRAM = pv.Histogram(epsilon=1.0)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A synthetic conference."""
    path = tmp_path_factory.mktemp("data") / "reviews.csv"
    synthetic_conference(reviewers=24, rng=np.random.default_rng(5)).write_csv(path)
    return path


@pytest.fixture
def ledger(tmp_path: Path) -> str:
    """A ledger with a series of two conferences."""
    book = Ledger.create(str(tmp_path / "ledger.db"))
    book.open_series("Conf", epsilon=2.5)
    for name in ("2025", "2026"):
        book.open(name, epsilon=2.0)
        book.join("Conf", name)
    return str(tmp_path / "ledger.db")


def released(file: Path, ledger: str, dataset: str = "2025", **how: Any) -> Release:
    how = {"mechanism": HISTOGRAM} | how
    return pv.release(pv.read(file, scale=(1, 10)), public="all", ledger=ledger, dataset=dataset, **how)


@pytest.mark.promise("P-SERIES-10")
def test_a_release_states_the_promise_of_its_series_and_verify_checks_it(
    file: Path, ledger: str, tmp_path: Path
) -> None:
    made = released(file, ledger)
    (claim,) = made.series
    assert claim.summary == "series Conf: epsilon = 2.5 per person (pure differential privacy)"
    made.save(tmp_path / "out")
    report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "All conferences of the series Conf" in report
    assert unbroken(claim.guarantee.human) in report.replace("&#39;", "'")
    assert Release.load(tmp_path / "out").series == made.series
    weights = pv.weigh(pv.read(file, scale=(1, 10)).public("all"), "ratings")
    again = pv.verify(tmp_path / "out", weights)
    assert again.verified, again
    assert [check.result for check in again.checks if check.name == "series"] == ["holds"]
    assert pv.refine(made, weights).series == made.series
    assert Ledger(ledger).check([tmp_path]).ok
    document = json.loads((tmp_path / "out" / "release.json").read_text(encoding="utf-8"))
    series = document["extension"]["series"][0]
    forged = [
        series | {"epsilon": 0.5},
        series | {"promise": series["promise"].replace("one person", "nobody")},
        series | {"human": series["human"].replace("at most", "not even")},
        series | {"claim": series["claim"] | {"unit": "everyone"}},
        series | {"lists": True},
        series | {"name": " "},
        small(0.5).to_document(),  # consistent, but less than this release costs
    ]
    for one in forged:
        document["extension"]["series"] = [one]
        assert not verified(document, weights)
    document["extension"]["series"] = [series]
    assert verified(document, weights)
    assert not verified(document | {"charge": None}, weights)
    del document["extension"]["series"]
    assert verified(document, weights)  # as a release without one, or of an earlier version
    document["extension"]["series"] = [small(1.5).to_document()]
    document["digest"] = document_digest(document)
    (tmp_path / "out" / "release.json").write_text(json.dumps(document))
    (problem,) = Ledger(ledger).check([tmp_path]).problems
    assert "epsilon = 1.5 per person" in problem.words
    assert "which the ledger does not have" in problem.words
    listed = replace(made.series[0].guarantee, neighbours=Neighbours(lists=True))
    inexact = replace(made.series[0].guarantee, float_safe=False)
    for other in (listed, inexact):  # with words that follow from it
        document["extension"]["series"] = [replace(made.series[0], guarantee=other).to_document()]
        document["digest"] = document_digest(document)
        (tmp_path / "out" / "release.json").write_text(json.dumps(document))
        (problem,) = Ledger(ledger).check([tmp_path]).problems
        assert "which the ledger does not have" in problem.words


def small(epsilon: float) -> Any:
    from peerveil.privacy.budget import Budget
    from peerveil.privacy.neighbours import Neighbours
    from peerveil.privacy.series_claims import SeriesClaim

    return SeriesClaim(name="Conf", guarantee=Budget.of(epsilon=epsilon).claim("person", Neighbours()))


def verified(document: dict[str, Any], weights: pv.PublicWeights) -> bool:
    """Whether a changed release.json, with a digest that fits, is verified."""
    document = document | {"digest": document_digest(document)}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "release.json").write_text(json.dumps(document))
        return pv.verify(folder, weights).verified


@pytest.mark.promise("P-SERIES-3")
def test_a_release_per_review_costs_a_person_what_it_costs_a_reviewer(file: Path, ledger: str, tmp_path: Path) -> None:
    made = released(file, ledger, unit="review", mechanism=pv.Histogram(epsilon=0.5))
    assert made.guarantee.unit == "review"
    (series,) = Ledger(ledger).series("Conf")
    assert series.spent == pytest.approx(0.5 * (1 + made.loads.largest) / 2)
    made.save(tmp_path / "out", report=False)
    weights = pv.weigh(pv.read(file, scale=(1, 10)).public("all"), "ratings")
    assert [check.result for check in pv.verify(tmp_path / "out", weights).checks if check.name == "series"] == [
        "holds"
    ]


def test_the_promise_before_the_release_names_the_series_and_its_cost(file: Path, ledger: str) -> None:
    released(file, ledger)
    promise = pv.promise(pv.read(file, scale=(1, 10)), public="all", mechanism=HISTOGRAM, ledger=ledger, dataset="2026")
    costs = [words for name, words in promise.facts() if name == "cost"]
    assert costs[1] == "epsilon 1 is charged to the series 'Conf' (per person): 1.5 left now, 0.5 afterwards"
    with pytest.raises(pv.BudgetError, match="of the series 'Conf'"):
        pv.promise(
            pv.read(file, scale=(1, 10)),
            public="all",
            mechanism=pv.Histogram(epsilon=2.0),
            ledger=ledger,
            dataset="2026",
        )


def test_tracks_are_counted_together(file: Path, ledger: str) -> None:
    reviews = pv.read(file, scale=(1, 10))
    groups = {paper: "ab"[number % 2] for number, paper in enumerate(reviews.papers)}
    noise = pv.Histogram(epsilon=0.5)
    made = pv.release_groups(reviews, groups, public="all", mechanism=noise, ledger=ledger, dataset="2025")
    assert {claim.name for one in made.releases.values() for claim in one.series} == {"Conf"}
    assert Ledger(ledger).series("Conf")[0].spent == pytest.approx(made.guarantee.epsilon)


def with_arms(tmp_path: Path, **how: Any) -> Reviews:
    rows = [f"p{i // 2},r{(i * 5) % 8},{1 + i % 5}" for i in range(32)]
    (tmp_path / "r.csv").write_text("paper,reviewer,score\n" + "\n".join(rows))
    (tmp_path / "a.csv").write_text("reviewer,arm\n" + "".join(f"r{j},{'new' if j < 4 else 'old'}\n" for j in range(8)))
    return pv.read(tmp_path / "r.csv", attributes=tmp_path / "a.csv", scale=(1, 5), ids="people", **how)


def answers(reviews: Reviews, ledger: str, **how: Any) -> list[Answer]:
    asked: dict[str, Any] = {"public": "all", "by": "arm", "ledger": ledger, "dataset": "2025"} | how
    return [
        pv.effect(reviews, compare=("new", "old"), **asked),
        pv.release_by(reviews, values=("new", "old"), **asked),
    ]


def test_effects_and_releases_by_an_attribute_are_counted_and_say_so(ledger: str, tmp_path: Path) -> None:
    reviews = with_arms(tmp_path)
    made = answers(reviews, ledger, epsilon=0.5)
    weights = pv.weigh(reviews.public("all"), "ratings")
    for number, answer in enumerate(made):
        assert any("counted in the series Conf: epsilon = 2.5 per person" in note for note in answer.notes)
        folder = answer.save(tmp_path / str(number))
        assert pv.verify(folder, weights).verified
        assert type(answer).load(folder).series == answer.series != ()
    assert Ledger(ledger).series("Conf")[0].spent == 1
    assert Ledger(ledger).check([tmp_path / "0", tmp_path / "1"]).ok


@pytest.mark.parametrize("unit", ["reviewer", "review"])
def test_a_forged_promise_of_a_series_in_an_answer_is_refused(unit: str, ledger: str, tmp_path: Path) -> None:
    """In words or in numbers, with all words and notes that follow from these."""
    reviews = with_arms(tmp_path)
    weights = pv.weigh(reviews.public("all"), "ratings")
    for honest in answers(reviews, ledger, epsilon=0.5 if unit == "reviewer" else 0.2, unit=unit):
        assert pv.verify(honest, weights).verified
        *others, note = honest.notes
        other_words = replace(honest, notes=(*others, note.replace("2.5", "0.01")))
        assert pv.verify(other_words, weights).failed == ("document",)
        assert pv.verify(replace(honest, notes=tuple(others)), weights).failed == ("document",)
        assert pv.verify(replace(honest, series=()), weights).failed == ("document",)
        assert pv.verify(replace(honest, charge=None), weights).failed == ("series",)
        less = Guarantee(kind="pure", unit="person", epsilon=0.01)
        forged = replace(honest, series=(), notes=tuple(others)).of_series(
            [replace(claim, guarantee=less) for claim in honest.series]
        )
        assert pv.verify(forged, weights).failed == ("series",)


def test_a_promise_of_a_series_in_the_notes_of_means_is_refused(file: Path, ledger: str) -> None:
    made = released(file, ledger)
    weights = pv.weigh(pv.read(file, scale=(1, 10)).public("all"))
    assert pv.verify(made, weights).verified
    forged = replace(made, notes=(*made.notes, made.series[0].note.replace("2.5", "0.01")))
    assert pv.verify(forged, weights).failed == ("notes",)


def test_tracks_of_groups_are_compared_with_the_list_of_the_series(tmp_path: Path) -> None:
    book = Ledger.create(str(tmp_path / "lists.db"))
    book.open("2025", epsilon=2.0)
    book.open_series("Conf", epsilon=2.0)
    people, more = (tmp_path / name for name in ("people.txt", "more.txt"))
    people.write_text("".join(f"r{j}\n" for j in range(8)))
    more.write_text(people.read_text() + "r9\n")
    book.join("Conf", "2025", people)
    how: dict[str, Any] = {"by": "arm", "epsilon": 0.25, "public": "all", "ledger": book.name, "dataset": "2025"}

    def tracks(committee: Path | None) -> list[str]:
        reviews = with_arms(tmp_path, committee=committee)
        groups = {paper: "ab"[number % 2] for number, paper in enumerate(reviews.papers)}
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            pv.effect_groups(reviews, groups, compare=("new", "old"), **how)
        return [str(warning.message) for warning in told]

    assert not any("not compared" in remark for remark in tracks(people))
    assert any("not compared" in remark for remark in tracks(None))
    with pytest.raises(pv.BudgetError, match="names people who are not on that of '2025'"):
        tracks(more)


def test_the_same_reviews_under_a_name_outside_of_the_series_are_told(file: Path, ledger: str) -> None:
    Ledger(ledger).open("again", epsilon=2.0)
    released(file, ledger)
    with pytest.warns(pv.LedgerWarning) as told:
        released(file, ledger, "again")
    assert any("let 'again' join it" in str(warning.message) for warning in told)
    assert Ledger(ledger).series("Conf")[0].spent == 1
    Ledger(ledger).join("Conf", "again")
    assert Ledger(ledger).series("Conf")[0].spent == 2


def test_a_restored_backup_is_found_by_the_series_that_releases_state(file: Path, ledger: str, tmp_path: Path) -> None:
    book = Ledger(ledger)
    book.open_series("All", epsilon=9.0)
    shutil.copy(ledger, tmp_path / "backup.db")
    book.join("All", "2025")
    made = released(file, ledger)
    made.save(tmp_path / "out", report=False)
    assert {claim.name for claim in made.series} == {"Conf", "All"}
    assert Ledger(ledger).check([tmp_path / "out"]).ok
    restored = Ledger(str(tmp_path / "backup.db"))
    (lost,) = restored.check([tmp_path / "out"]).problems
    assert "is not in the ledger" in lost.words
    statement = pv.Statement(public="all", scale=(1, 10))
    claim = made.guarantee
    restored.charge(  # charged again by hand, under its number: the series is still not told
        "2025",
        lambda _: claim,
        quantity="ratings",
        unit="reviewer",
        mechanism=pv.Histogram(**{key: made.mechanism[key] for key in ("epsilon", "scale", "bins")}),
        release=made.charge,
        statement=statement,
    )
    (uncounted,) = restored.check([tmp_path / "out"]).problems
    assert "series All: epsilon = 9 per person" in uncounted.words


def test_the_page_shows_the_series_that_a_budget_belongs_to(
    ledger: str, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    released(file, ledger)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    visitor = Visitor(ledger)
    try:
        shown = visitor.shown()
    finally:
        visitor.page.workspace.remove()
    assert "counted in the series Conf" in shown
    assert "<h2>Series Conf</h2>" in shown
    assert f"{unbroken('epsilon 1.5')}</strong> left of 2.5" in shown
    assert {account["dataset"] for account in ledger_view(ledger)[0]} == {"2025", "2026"}, "a series is not charged"
    assert series_view(ledger)[0]["members"][0] == {"dataset": "2025", "people": None}


def test_a_batch_states_the_series(file: Path, ledger: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "venues.toml").write_text(
        f'[[venue]]\nname = "one"\nfile = "{file}"\nepsilon = 0.5\ndataset = "2026"\n'
        'public = "all"\nscore_scale = [1, 10]\nmechanism = "laplace"\n'
    )
    done = run("batch", "venues.toml", "--ledger", ledger, "--no-report", "--workers", "1", "-o", "out")
    assert done.code == 0, done.err
    assert Release.load(tmp_path / "out" / "one").series[0].name == "Conf"
