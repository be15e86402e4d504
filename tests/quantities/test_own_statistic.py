"""A reviewer statistic defined outside the package, and found everywhere once it is registered."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import peerveil as pv
from marks import slow
from own_quantities import Median
from peerveil.inference.prior import prior
from peerveil.privacy.guarantee import UNITS, Unit
from peerveil.privacy.sensitivity import sensitivity
from peerveil.private.true_vector import true_vector
from peerveil.quantities import statistics
from peerveil.quantities.base import words_of
from peerveil.record.public_record import Floats
from peerveil.web.cases import Case as PageCase
from peerveil.web.jobs import Jobs
from peerveil.web.page import Page
from peerveil.web.work import Task
from quantities.test_own_quantity import REVIEWS, Run, run
from quantities.test_statistics import apart, check_norms, conference
from reference.neighbours import flat, neighbours_up_to_names
from reference.theta import assignments
from releases.test_effect import conference as with_attributes

__all__ = ["run"]  # a fixture


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    statistics.register(Median())
    yield
    for name in [each for each in statistics.names() if each in ("median", "own")]:
        statistics.unregister(name)


class Own:
    """A statistic of any function."""

    name = noun = "own"
    meaning, plural = "something", "owns"

    def __init__(self, function: Callable[[Floats], Any], reach: tuple[float, float] = (0.0, 10.0)) -> None:
        self.of, self.ends = function, reach

    def reach(self, low: float, high: float) -> tuple[float, float]:
        return self.ends


@pytest.mark.parametrize("public", ["all", slow("none")])
def test_it_is_released_and_verified_with_public_and_hidden_scores(public: str) -> None:
    reviews = conference()
    release = pv.release(reviews, public=public, statistic="median", mechanism=pv.Histogram(epsilon=3.0))
    assert release.quantity == "median of ratings"
    assert "the median of each reviewer's scores" in words_of(release.quantity).meaning
    assert pv.verify(release, pv.weigh(reviews.public(public), release.quantity))
    by_hand: dict[int, list[float]] = {}
    for reviewer, score in zip(reviews.reviewer.tolist(), reviews.score.tolist(), strict=True):
        by_hand.setdefault(reviewer, []).append(score)
    assert true_vector(reviews, "median of ratings").tolist() == sorted(map(np.median, by_hand.values()))


def test_it_is_counted_by_an_attribute_planned_and_promised() -> None:
    reviews = with_attributes()
    asked: dict[str, Any] = {"public": "all", "statistic": "median"}
    table: pv.Crosstab = pv.release(reviews, epsilon=3.0, by="arm", values=("treated", "control"), **asked)
    assert (table.quantity, table.title) == ("median of ratings", "Reviewers by the median of their scores, by arm")
    assert pv.verify(table, pv.weigh(reviews.public("all"), "median of ratings"))
    how: dict[str, Any] = {"epsilons": [2.0], "mechanisms": ["histogram"], "draws": 1, "workers": 1}
    planned = pv.plan(reviews.public("all"), statistic="median", **how)
    assert "median" in planned.answer[0]
    promised = pv.promise(reviews, mechanism=pv.Histogram(epsilon=2.0), **asked)
    assert promised.accuracy.partition(";")[0].endswith("points of a median")


def test_draws_of_it_are_the_draws_of_assignments() -> None:
    weights = pv.weigh(conference().public("all"), "median of ratings")
    drawn = prior(weights, draws=3).ensemble(0.4).vectors
    assert set(np.unique(drawn * 2) % 1) == {0.0}
    assert (drawn.min(), drawn.max()) >= (1, 1)
    assert drawn.shape == (3, 80)


def test_the_command_line_lists_and_uses_it(run: Run) -> None:
    for command in ("plan", "release"):
        assert "highest | median" in run(command, "--help")[1]
    options = ["--public", "all", "--noise-scale", "1", "--statistic", "median", "-o", "out"]
    code, _, problem = run("release", "reviews.csv", *options)
    assert code == 0, problem
    report = Path("out/report.html").read_text()
    assert "<h1>Reviewers by the median of their scores</h1>" in report
    assert run("verify", "out", "--public", "public.csv")[0] == 0
    statistics.unregister("median")
    pv.Release.load("out").save("rendered")
    assert "the median of each reviewer&#39;s scores" in Path("rendered/report.html").read_text()
    code, _, problem = run("verify", "out", "--public", "public.csv")
    assert code == 2
    assert "the release is of 'median of ratings'" in problem


@pytest.mark.slow
def test_the_page_offers_and_releases_it(tmp_path: Path) -> None:
    (tmp_path / "reviews.csv").write_text(REVIEWS)
    page = Page(jobs=Jobs())
    try:
        choices = page.show("chair_choices.html", case=PageCase(tmp_path), here="choices", picture="")
        assert '<option value="median" >median: the median</option>' in bytes(choices.body).decode()
        said: dict[str, Any] = {"file": "reviews.csv", "score_scale": "1,4", "public": "none", "statistic": "median"}
        said |= {"quantity": "ratings", "unit": "reviewer", "epsilon": 1.0, "mechanism": "laplace"}
        task = Task(kind="release", folder=str(tmp_path), options=said, output=str(tmp_path / "made"))
        job = page.jobs.start(task, title="Releasing", ahead="", back="")
        assert job.finished.wait(600)
        assert job.state == "done", job.message
        assert pv.Release.load(tmp_path / "made" / "bundle").quantity == "median of ratings"
    finally:
        page.close()


@pytest.mark.parametrize("unit", UNITS)
def test_no_neighbour_moves_it_by_more_than_claimed(unit: Any) -> None:
    rows, loads = [[0.0, 1.0], [0.0, 3.0], [1.0, 0.7], [2.0]], [3, 2, 2]
    weights = pv.PublicWeights.from_rows(rows, loads={3: 1, 2: 2}, quantity="median of weights")
    bound = sensitivity(weights, unit)
    for one, other in neighbours_up_to_names(list(assignments(rows, loads)), loads, unit):
        values = []
        for assignment in (one, other):
            held: dict[int, list[float]] = {}
            for weight, holder in zip(itertools.chain(*rows), flat(assignment), strict=True):
                held.setdefault(holder, []).append(weight)
            values.append([float(np.median(own)) for own in held.values()])
        before, after = values
        assert apart(before, after) <= (bound.counts or 0)
        check_norms(before, after, bound)


def test_what_is_no_function_of_a_reviewers_weights_is_refused_where_it_can_be_told() -> None:
    calls = itertools.count()
    seen: list[float] = []

    def remembers(weights: Floats) -> float:
        seen.append(float(weights[0]))
        return float(np.mean(seen))

    def spoils(weights: Floats) -> float:
        weights[0] = 10.0
        return float(weights[-1])

    refused: list[tuple[Own, str]] = [
        (Own(lambda _: float(next(calls))), "another number for the same weights"),
        (Own(remembers), "another number for the same weights"),
        (Own(spoils), "changed the weights"),
        (Own(lambda weights: weights.max() * 2), "not in its reach from 0.0 to 10.0"),
        (Own(lambda _: float("nan")), "nan, which is not a finite number"),
        (Own(lambda _: "much"), "failed with ValueError"),
        (Own(lambda weights: weights[99]), "failed with IndexError"),
        (Own(np.max, (1.0, float("inf"))), "its reach must be two finite numbers"),
        (Own(np.max, (2.0, 1.0)), "its reach must be two finite numbers"),
    ]
    for statistic, problem in refused:
        statistics.register(statistic)
        with pytest.raises(pv.InputError, match=rf"statistic='own' cannot be released: .*({problem})"):
            pv.release(conference(), public="all", statistic="own", mechanism=pv.Histogram(epsilon=1.0))
        statistics.unregister("own")


def test_failures_on_private_data_are_not_seen() -> None:
    """What public data does not bring about, such as a hidden score, must not show by an error or a wild number."""
    reviews = pv.Reviews.from_columns(list("ppqqrr"), list("abbcca"), [3, 5, 4, 4, 8, 6], scale=(1, 10))

    def fails(weights: Floats) -> float:
        if weights[-1] == 8:
            raise ValueError(str(weights))
        return 1e9 if weights[-1] == 5 else float("nan") if weights[-1] == 6 else float(weights[-1])

    statistics.register(Own(fails))
    vector = true_vector(reviews, "own of ratings", span=(1.0, 10.0))
    assert vector.tolist() == [0, 0, 10]  # a has 3 and 6: not a number; b 4 and 5; c 4 and 8


def test_warnings_on_private_data_are_not_seen() -> None:
    reviews = pv.Reviews.from_columns(list("ppqqrr"), list("abbcca"), [3, 5, 4, 4, 8, 6], scale=(1, 10))

    def warns(weights: Floats) -> float:
        warnings.warn(str(weights), stacklevel=1)
        return 1.0

    statistics.register(Own(warns))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        true_vector(reviews, "own of ratings", span=(1.0, 10.0))
    assert not caught


@pytest.mark.parametrize("unit", UNITS)
def test_a_number_of_kept_reviews_is_not_released_without_noise(unit: Unit) -> None:
    """Equal weights have equal means, but another statistic may depend on how many of them a reviewer has."""
    statistics.register(Own(len))
    papers, score = list("ppqqqrr"), [5.0, float("nan"), 5.0, 5.0, 5.0, 5.0, 5.0]
    one, other = (
        pv.Reviews.from_columns(papers, list(people), score, scale=(1, 10), missing_score="absent")
        for people in ("abacbca", "baacbca")  # a and b exchange their reviews of p, of which one has no score
    )
    assert weigh_own(one).digest() == weigh_own(other).digest()
    assert true_vector(one, "own of ratings").tolist() != true_vector(other, "own of ratings").tolist()
    with pytest.raises(pv.InputError, match="how many kept reviews each reviewer has"):
        sensitivity(weigh_own(one), unit)
    with pytest.raises(pv.InputError, match="how many kept reviews each reviewer has"):
        pv.release(one, public="all", statistic="own", mechanism=pv.Laplace(epsilon=1.0), unit=unit)
    assert not sensitivity(pv.weigh(one.public("all"), "range of ratings"), unit)
    # Declared loads are those of all neighbours.
    assert not sensitivity(pv.weigh(one.public("all", declare_kept=True), "own of ratings"), unit)


def weigh_own(reviews: pv.Reviews) -> pv.PublicWeights:
    return pv.weigh(reviews.public("all"), "own of ratings")


def test_it_is_computed_for_weights_in_ascending_order() -> None:
    statistics.register(Own(lambda weights: float(weights[0])))
    reviews = pv.Reviews.from_columns(list("ppqqrr"), list("abbcca"), [3, 5, 4, 4, 8, 6], scale=(1, 10))
    assert true_vector(reviews, "own of ratings").tolist() == true_vector(reviews, "lowest of ratings").tolist()
    drawn = [prior(pv.weigh(reviews.public("all"), f"{name} of ratings"), draws=4) for name in ("own", "lowest")]
    seeds = [each.seed for each in drawn]
    assert seeds[0].entropy != seeds[1].entropy  # other draws, as the name is part of the record's digest
    weight, loads = np.array([[5.0, 3.0, 4.0, 9.0, 8.0]]), np.array([[2, 3]])
    assert statistics.of_each(statistics.named("own"), weight, loads).tolist() == [[3, 4]]


def test_names_are_unique() -> None:
    with pytest.raises(pv.InputError, match="'median' is a statistic already"):
        statistics.register(Median())
