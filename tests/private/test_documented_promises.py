"""Promises of the documents that are about several modules at once."""

from __future__ import annotations

import io
import json
import math
import socket
from pathlib import Path
from typing import Any, Literal, NoReturn

import grimp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import peerveil as pv
from peerveil.inference.verdict import PROMISES
from peerveil.privacy.guarantee import Guarantee
from peerveil.private.noise import Prepared
from peerveil.record.public_record import Ints
from peerveil.releases.documents import document_digest
from peerveil.simulation.conferences import synthetic_conference

#: Packages that regions, estimates and everything published are made by.
PUBLIC = (
    *("errors", "support", "tables", "record", "quantities", "privacy", "regions", "inference", "mechanisms"),
    *("planning", "simulation", "reporting", "releases", "sampling"),
)


def conference(reviewers: int = 24) -> pv.Reviews:
    made = synthetic_conference(reviewers=reviewers, rng=np.random.default_rng(3))
    return pv.read(made.frame(), scale=made.scale)


@pytest.mark.promise("P-KEPT-1")
def test_no_public_package_reaches_private_code_by_any_chain_of_imports() -> None:
    graph = grimp.build_graph("peerveil", cache_dir=None)
    for name in PUBLIC:
        package = f"peerveil.{name}"
        assert package in graph.modules
        assert not graph.find_shortest_chains(package, "peerveil.private", as_packages=name != "errors"), name
    assert graph.find_shortest_chains("peerveil.app", "peerveil.private")  # chains are found where there are some
    # Nothing else makes what is published: the rest are private code, its fronts, and old names of modules.
    others = {f"peerveil.{name}" for name in ("private", "app", "cli", "web", "moved", "__main__")}
    assert graph.find_children("peerveil") == {f"peerveil.{name}" for name in PUBLIC} | others


@pytest.mark.promise("P-README-6")
def test_a_release_says_that_all_scores_and_loads_were_declared_public_and_guesses_no_other_record() -> None:
    """What is stated is all that is published as public: of a record without load counts, none are."""
    reviews, noise = conference(), pv.Laplace(epsilon=1.0)
    made = pv.release(reviews, public="all", mechanism=noise, estimator="projection")
    assert made.claim is not None
    assert "all scores, and load counts" in " ".join(made.claim["invariants"])
    assert made.loads.counts is not None
    shown = reviews.public("all")
    record = pv.PublicRecord.from_rows(shown.rows(), papers=shown.papers, loads=(1, 9), reviewers=24, scale=(1, 10))
    careful = pv.release(reviews, public=record, mechanism=noise, estimator="projection")
    assert careful.loads.counts is None
    assert careful.mechanism["scale"] > made.mechanism["scale"]


@pytest.mark.promise("P-CLAIM-4")
@pytest.mark.parametrize(
    "mechanism", [pv.Laplace(epsilon=1.0), pv.Histogram(epsilon=1.0), pv.Gaussian(rho=0.05)], ids=lambda one: one.name
)
@pytest.mark.parametrize("place", ["human", "promise", "claim"])
def test_none_of_the_three_statements_can_be_changed(
    tmp_path: Path, mechanism: pv.Laplace | pv.Histogram | pv.Gaussian, place: str
) -> None:
    reviews = conference()
    made = pv.release(reviews, public="all", mechanism=mechanism, estimator="projection")
    document, weights = json.loads(made.to_json()), pv.weigh(reviews.public("all"))
    held = document if place == "claim" else document["guarantee"]
    assert held[place]
    for changed in changes_of(held[place]):
        held[place] = changed
        document["digest"] = document_digest(document)
        (tmp_path / "release.json").write_text(json.dumps(document))
        assert not pv.verify(tmp_path / "release.json", weights), changed


def changes_of(statement: Any) -> list[Any]:
    """Statements that say a little more: another word, and of the claim in standard terms any other value."""
    if isinstance(statement, str):
        return [statement + " In no case more.", statement.replace(" at most", " not even"), ""]
    return [statement | {key: [*value, "x"] if isinstance(value, list) else "x"} for key, value in statement.items()]


@pytest.mark.promise("P-PARTS-2")
def test_the_count_of_reviewers_without_a_kept_review_is_noisy_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    reviews = conference(60)
    part = reviews.only(reviews.papers[:20])
    seen: list[Ints] = []

    def draw(self: Prepared, counts: Ints) -> Ints:
        seen.append(counts)
        noisy = drawn(self, counts)
        noisy[-1] += 1000
        return noisy

    drawn = Prepared.draw_counts
    monkeypatch.setattr(Prepared, "draw_counts", draw)
    mechanism = pv.Histogram(epsilon=0.01, bins=4)
    made = pv.release(part, public="all", mechanism=mechanism, estimator="projection")
    (counts,) = seen
    assert made.histogram is not None
    assert made.histogram.outside is not None
    assert counts.size == made.histogram.bins.number + 1  # all are drawn at once
    assert counts.sum() == 60
    assert counts[-1] == 60 - part.reviewers
    assert made.histogram.outside > 500  # what was drawn is what is published


@pytest.mark.promise("P-PUBLIC-1")
def test_hidden_scores_need_a_scale() -> None:
    with pytest.raises(pv.RecordError, match="1 scores are hidden: state the scale"):
        pv.PublicRecord.from_rows([[8, None], [3, 5]], load=2)
    unscaled = pv.Reviews.from_columns([*"ppqq"], ["ann", "bob", "ann", "bob"], [3, 5, 4, 4])
    with pytest.raises(pv.InputError, match="state the scale"):
        pv.release(unscaled, public="none", mechanism=pv.Laplace(epsilon=1.0))


@pytest.mark.promise("P-MECH-1")
def test_noise_in_floating_point_must_be_accepted() -> None:
    noise, reviews = pv.SinhNormal(rho=0.5, omega=20.0), conference()
    with pytest.raises(pv.InputError, match="last digits of what is published may reveal more") as refused:
        pv.release(reviews, public="all", mechanism=noise)
    assert refused.value.spelled(lambda one: f"--{one.name}").count("--accept_float_noise") == 1
    made = pv.release(reviews, public="all", mechanism=noise, accept_float_noise=True, estimator="projection")
    assert not made.guarantee.float_safe


@pytest.mark.promise("P-CLAIM-5")
@given(st.floats(1e-3, 30.0))
def test_how_sure_someone_can_become_is_rounded_up(epsilon: float) -> None:
    words = Guarantee(kind="pure", unit="reviewer", epsilon=epsilon).human
    stated = float(words.partition("at most ")[2].partition(" %")[0]) / 100
    assert stated >= 1 / (1 + math.exp(-epsilon))
    assert stated - 1 / (1 + math.exp(-epsilon)) < 0.01


@pytest.mark.promise("P-BUDGET-6")
def test_plans_and_releases_warn_of_budgets_that_promise_little() -> None:
    reviews = conference()
    plan = pv.plan(reviews.public("all"), epsilons=[5, 6], mechanisms=["histogram"], draws=1, workers=1)
    assert "Epsilon 6 promises little" in plan.advice
    assert "Epsilon 5 promises" not in plan.advice
    for epsilon, told in ((5.0, False), (6.0, True)):
        made = pv.release(reviews, public="all", mechanism=pv.Laplace(epsilon=epsilon), estimator="projection")
        assert ("promises little" in made.caution) == told


@pytest.mark.promise("P-README-7")
@pytest.mark.parametrize("estimator", ["safe", "projection", "bayes"])
def test_the_report_says_what_its_estimator_promises(tmp_path: Path, estimator: str) -> None:
    made = pv.release(conference(), public="all", mechanism=pv.Histogram(epsilon=1.0), estimator=estimator)
    made.save(tmp_path / "out")
    report = " ".join((tmp_path / "out" / "report.html").read_text(encoding="utf-8").split())
    other = next(words for words in PROMISES.values() if words != PROMISES[estimator])
    assert PROMISES[estimator] in report
    assert other not in report


@pytest.mark.promise("P-YEARS-6")
def test_pooling_the_same_releases_again_gives_the_same_file(tmp_path: Path) -> None:
    releases = [
        pv.release(conference(size), public="all", mechanism=pv.Histogram(epsilon=1.0), estimator="bayes")
        for size in (24, 30)
    ]
    for number, release in enumerate(releases):
        release.save(tmp_path / str(number), report=False)
    places = [tmp_path / "0", tmp_path / "1"]
    files = [pv.pool(places).save(tmp_path / f"{name}.json") for name in "ab"]
    assert files[0].read_bytes() == files[1].read_bytes()
    other = pv.pool(places[::-1]).save(tmp_path / "c.json")
    assert other.read_bytes() != files[0].read_bytes()  # in the same order


@pytest.mark.promise("P-PARTS-5")
@pytest.mark.parametrize(("how", "told"), [("absent", "1 review of 1 paper"), ("leave-out", "3 reviews of 1 paper")])
def test_a_release_says_what_was_done_with_reviews_without_a_score(
    how: Literal["absent", "leave-out"], told: str
) -> None:
    rows = [
        f"p{p},r{(2 * p + 3 * k) % 8},{'' if p == k == 0 else 1 + (p + 2 * k) % 9}" for p in range(8) for k in range(3)
    ]
    file = io.BytesIO("\n".join(["paper,reviewer,score", *rows]).encode())
    reviews = pv.read(file, scale=(1, 10), missing_score=how)
    made = pv.release(reviews, public="all", mechanism=pv.Histogram(epsilon=1.0), estimator="projection")
    assert [note for note in made.notes if note.startswith(told)]
    assert made.part is not None
    assert made.part.whole is not None
    assert made.part.whole.reviews == 24  # the review without a score is one of them: it is never dropped alone


@pytest.mark.promise("P-TABLES-6", "P-PARTS-2")
def test_a_number_of_reviewers_that_is_not_public_is_said_to_be_an_estimate_and_gives_no_tables() -> None:
    reviews = conference(60)
    part = reviews.only(reviews.papers[:20])
    made = pv.release(part, public="all", mechanism=pv.Histogram(epsilon=1.0), estimator="projection")
    assert made.part is not None
    assert made.part.number == "open"
    assert f"{made.reviewers} is an estimate from the noisy counts" in " ".join(made.notes)
    with pytest.raises(pv.InputError, match="number of reviewers"):
        pv.sample_tables(made, part.public("all"))


@pytest.mark.promise("P-README-1")
def test_a_release_with_its_report_connects_to_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading, releasing, writing and verifying: nothing leaves the machine, with noise or without."""

    def connects(*_: object) -> NoReturn:
        raise AssertionError("a connection was opened")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, connects)
    monkeypatch.setattr(socket, "getaddrinfo", connects)
    with pytest.raises(AssertionError, match="a connection was opened"):
        socket.create_connection(("127.0.0.1", 9))
    reviews = conference()
    made = pv.release(reviews, public="all", mechanism=pv.Histogram(epsilon=1.0))
    made.save(tmp_path / "out")
    assert (tmp_path / "out" / "report.html").exists()
    assert pv.verify(tmp_path / "out", pv.weigh(reviews.public("all")))


@pytest.mark.promise("P-README-2")
@pytest.mark.parametrize("mechanism", [pv.Histogram(epsilon=1.0), pv.Laplace(epsilon=1.0)], ids=["counts", "vector"])
@pytest.mark.parametrize("estimator", ["safe", "projection", "bayes"])
def test_each_release_states_expected_error_bands_and_verdict(
    tmp_path: Path, mechanism: pv.Histogram | pv.Laplace, estimator: str
) -> None:
    made = pv.release(conference(), public="all", mechanism=mechanism, estimator=estimator)
    made.save(tmp_path / "out", report=False)
    stated = pv.Release.load(tmp_path / "out")
    assert stated.outlook is not None
    assert stated.outlook.expected_rmse > 0
    assert stated.outlook.lower.shape == stated.outlook.upper.shape == stated.values.shape
    assert (stated.outlook.lower <= stated.values).all()
    assert (stated.values <= stated.outlook.upper).all()
    assert stated.verdict is not None
    assert stated.verdict.word in ("informative", "adds some", "adds nothing")
