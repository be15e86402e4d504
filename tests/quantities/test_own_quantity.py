"""Quantities defined here, outside the package, and found everywhere once they are registered."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import peerveil as pv
from own_quantities import OWN, Boldness
from peerveil.cli import main
from peerveil.privacy.guarantee import UNITS, Unit
from peerveil.privacy.sensitivity import sensitivity
from peerveil.private.true_vector import true_vector
from peerveil.quantities import HiddenReach, Quantity, register, unregister
from peerveil.quantities.base import names, words_of
from peerveil.web.cases import Case as PageCase
from peerveil.web.jobs import Jobs
from peerveil.web.page import Page
from peerveil.web.work import Task
from reference.neighbours import flat, neighbours
from reference.theta import Assignment, assignments
from strategies import PAPERS, Case, hidden_cases, hidden_variants, visible


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    for quantity in OWN:
        register(quantity)
    yield
    for quantity in OWN:
        if quantity.name in names():
            unregister(quantity.name)


REVIEWS = "paper,reviewer,score\n" + "".join(
    f"p{i},r{j},{1 + (3 * i + 2 * j) % 4}\n" for i in range(8) for j in range(8) if (i + j) % 8 in (0, 3, 5)
)
PUBLIC = "paper,ratings\n" + "".join(
    f"p{i},{';'.join(str(1 + (3 * i + 2 * j) % 4) for j in range(8) if (i + j) % 8 in (0, 3, 5))}\n" for i in range(8)
)
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """The command line, in a folder with a private and a public file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    Path("reviews.csv").write_text(REVIEWS)
    Path("public.csv").write_text(PUBLIC)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["peerveil", *arguments])
        try:
            main()
        except SystemExit as stop:
            return int(stop.code or 0), *capsys.readouterr()
        return 0, *capsys.readouterr()

    return call


def made(quantity: Quantity, public: Any) -> tuple[pv.Release, pv.PublicWeights, pv.Reviews]:
    columns = [line.split(",") for line in REVIEWS.splitlines()[1:]]
    papers, reviewers, scores = zip(*columns, strict=True)
    reviews = pv.Reviews.from_columns(papers, reviewers, [float(score) for score in scores], scale=(1, 4))
    release = pv.release(reviews, public=public, quantity=quantity.name, mechanism=pv.Laplace(epsilon=1.0))
    return release, pv.weigh(reviews.public(public), quantity.name), reviews


@pytest.mark.parametrize("public", ["all", "none"])
@pytest.mark.parametrize("quantity", OWN, ids=lambda quantity: quantity.name)
def test_it_is_released_and_verified_with_public_and_hidden_scores(quantity: Quantity, public: str) -> None:
    release, weights, reviews = made(quantity, public)
    assert release.quantity == weights.quantity == quantity.name
    assert weights.reach == quantity.reach
    assert pv.verify(release, weights)
    for kind in ("baseline", "envelope", "tight"):
        assert pv.region(weights, kind).contains(true_vector(reviews, quantity.name))


def test_it_is_planned_in_its_unit() -> None:
    _, weights, _ = made(OWN[0], "all")
    made_plan = pv.plan(weights, epsilons=[1.0], draws=2, workers=1)
    assert made_plan.quantity == "boldness"
    assert all(" steps (" in sentence for sentence in made_plan.sentences)


@pytest.mark.parametrize("command", ["plan", "release", "refine"])
def test_the_command_line_lists_them(run: Run, command: str) -> None:
    assert f"subjectivity | {OWN[0].name} | {OWN[1].name}" in run(command, "--help")[1]


@pytest.mark.parametrize("quantity", OWN, ids=lambda quantity: quantity.name)
def test_the_command_line_uses_it(run: Run, quantity: Quantity) -> None:
    options = ["--public", "all", "--noise-scale", "1", "--quantity", quantity.name, "-o", "out"]
    code, _, problem = run("release", "reviews.csv", *options)
    assert code == 0, problem
    report = Path("out/report.html").read_text()
    assert f"<h1>{quantity.words.title.replace(chr(39), '&#39;')}</h1>" in report
    assert quantity.words.short_axis in report
    assert run("verify", "out", "--public", "public.csv")[0] == 0
    code, printed, _ = run(
        "refine", "out/release.json", "--public", "public.csv", "-o", "again", "--json", "--no-report"
    )
    assert (code, json.loads(printed)["quantity"]) == (0, quantity.name)


@pytest.mark.parametrize("quantity", OWN, ids=lambda quantity: quantity.name)
def test_a_release_of_a_quantity_that_is_not_known_here_still_renders(run: Run, quantity: Quantity) -> None:
    options = ["--public", "all", "--noise-scale", "1", "--quantity", quantity.name, "-o", "out", "--no-report"]
    assert run("release", "reviews.csv", *options)[0] == 0
    unregister(quantity.name)
    release = pv.Release.load("out")
    release.save("rendered")
    report = Path("rendered/report.html").read_text()
    assert f"<h1>Reviewers: {quantity.name}</h1>" in report
    assert f"each reviewer&#39;s mean {quantity.name}" in report
    assert f">mean {quantity.name}<" in report
    code, _, problem = run("verify", "out", "--public", "public.csv")
    assert code == 2
    assert f"the release is of '{quantity.name}'" in problem


@pytest.mark.slow
def test_the_page_offers_and_releases_it(tmp_path: Path) -> None:
    quantity = OWN[1]
    (tmp_path / "reviews.csv").write_text(REVIEWS)
    page = Page(jobs=Jobs())
    try:
        choices = page.show("chair_choices.html", case=PageCase(tmp_path), here="choices", picture="")
        text = bytes(choices.body).decode()
        assert f'value="{quantity.name}"' in text
        assert quantity.words.label in text
        assert quantity.words.explanation in text.replace("&#39;", "'")
        study = bytes(page.show("researcher.html", case=None).body).decode()
        assert f'<option value="{quantity.name}"' in study
        said: dict[str, Any] = {
            "file": "reviews.csv",
            "score_scale": "1,4",
            "public": "none",
            "quantity": quantity.name,
        }
        said |= {"unit": "reviewer", "epsilon": 1.0, "mechanism": "laplace"}
        task = Task(kind="release", folder=str(tmp_path), options=said, output=str(tmp_path / "made"))
        job = page.jobs.start(task, title="Releasing", ahead="", back="")
        assert job.finished.wait(600)
        assert job.state == "done", job.message
        assert pv.Release.load(tmp_path / "made" / "bundle").quantity == quantity.name
        assert quantity.words.title in (tmp_path / "made/bundle/report.html").read_text().replace("&#39;", "'")
    finally:
        page.close()


@given(hidden_cases(), st.sampled_from(UNITS), st.sampled_from(OWN))
@settings(max_examples=30)
def test_no_neighbours_with_hidden_scores_are_further_apart_than_its_reach_allows(
    pair: tuple[Case, list[list[bool]]], unit: Unit, quantity: Quantity
) -> None:
    case, hidden = pair
    bound = sensitivity(pv.weigh(visible(case, hidden), quantity.name), unit)
    assert bound.counts is not None
    flags = [h for row in hidden for h in row]
    papers = [PAPERS[p] for p, row in enumerate(case.rows) for _ in row]
    variants = [[x for row in filled for x in row] for filled in hidden_variants(case.rows, hidden, [1, 3])]

    def vector(assignment: Assignment, scores: list[float]) -> list[Fraction]:
        holders = [f"r{j}" for j in flat(assignment)]
        return [Fraction(x) for x in true_vector(pv.Reviews.from_columns(papers, holders, scores), quantity.name)]

    for one, other in neighbours(list(assignments(case.rows, case.loads))[:6], unit):
        free = [h and a != b for h, a, b in zip(flags, flat(one), flat(other), strict=True)]
        for first, second in product(variants, repeat=2):
            if all(f or x == y for f, x, y in zip(free, first, second, strict=True)):
                moves = [abs(x - y) for x, y in zip(vector(one, first), vector(other, second), strict=True)]
                assert sum(moves) <= Fraction(bound.l1)
                assert sum(m * m for m in moves) <= Fraction(bound.l2) ** 2
                assert max(moves) <= Fraction(bound.linf)


def test_the_reach_decides_on_the_sensitivity() -> None:
    record = pv.PublicRecord.from_rows([[None, 3.0, 4.0, 1.0] for _ in range(8)], load=2, scale=(1, 4))
    alone, shared = (pv.weigh(record, quantity.name) for quantity in OWN)
    assert [sensitivity(alone, unit).counts for unit in UNITS] == [
        sensitivity(pv.weigh(record), unit).counts for unit in UNITS
    ]
    like = pv.weigh(record, "miscalibration")
    assert [sensitivity(shared, unit).counts for unit in UNITS] == [sensitivity(like, unit).counts for unit in UNITS]
    unknown = pv.PublicWeights(
        quantity="elsewhere", paper=alone.paper, low=alone.low, high=alone.high, loads=alone.loads, hidden_span=3.0
    )
    assert unknown.reach == HiddenReach(co_reviews=True), "nothing is assumed of what is not known"
    for unit in UNITS:
        assert sensitivity(unknown, unit).l1 > sensitivity(alone, unit).l1


def test_names_are_unique_and_can_be_forgotten() -> None:
    with pytest.raises(pv.InputError, match="'boldness' is a quantity already"):
        register(Boldness())
    with pytest.raises(pv.InputError, match="is a quantity already"):
        pv.weigh(made(OWN[0], "all")[2].public("all"), lambda record: record.score, name="boldness")
    unregister("boldness")
    assert "boldness" not in names()
    assert words_of("boldness").label == "boldness"
    with pytest.raises(pv.InputError, match=r"quantity must be one of 'ratings', .*'contrast', got 'boldness'"):
        unregister("boldness")
