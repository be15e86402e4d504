"""Releases of other columns than the score, and of shares of reviews with a property."""

from __future__ import annotations

import html
import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import peerveil as pv
from peerveil.inference.prior import prior
from peerveil.privacy.guarantee import UNITS, Unit
from peerveil.privacy.sensitivity import sensitivity
from peerveil.private.true_vector import true_vector
from peerveil.quantities.base import is_known, named, words_of
from peerveil.quantities.columns import Column, Share, column_of
from quantities.test_own_quantity import Run, run
from quantities.test_statistics import apart, check_norms
from reference.neighbours import flat, neighbours
from reference.theta import Assignment, assignments
from strategies import PAPERS, Case, cases, hidden_cases, hidden_variants, visible

__all__ = ["run"]  # a fixture


def frame() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    papers = [f"p{i // 3:02}" for i in range(120)]
    scores, confidence = rng.integers(1, 11, 120), rng.integers(1, 6, 120)
    columns = {"paper": papers, "reviewer": [f"r{i % 40}" for i in range(120)], "score": scores}
    return pl.DataFrame(columns | {"confidence": confidence})


def share_by_hand(column: str, least: float) -> list[float]:
    held: dict[str, list[bool]] = {}
    for reviewer, value in zip(frame()["reviewer"].to_list(), frame()[column].to_list(), strict=True):
        held.setdefault(reviewer, []).append(value >= least)
    return sorted(sum(own) / len(own) for own in held.values())


@pytest.mark.parametrize("public", ["all", "none"])
def test_a_share_of_scores_is_released_and_verified(public: str) -> None:
    reviews = pv.read(frame(), scale=(1, 10))
    release = pv.release(reviews, public=public, statistic=pv.Share("score >= 6"), mechanism=pv.Histogram(epsilon=3.0))
    assert release.quantity == "share of score>=6"
    assert true_vector(reviews, release.quantity).tolist() == pytest.approx(share_by_hand("score", 6))
    assert pv.verify(release, pv.weigh(reviews.public(public), release.quantity))
    assert (release.values >= 0).all()
    assert (release.values <= 1).all()
    assert release.outlook is not None
    assert ("not public" in release.outlook.assumption) == (public == "none")


def test_other_columns_are_criteria_or_read_as_the_score() -> None:
    quantity = "share of confidence>=4"
    as_criterion = pv.read(frame(), scale=(1, 10), criteria=["confidence"])
    as_score = pv.read(frame(), score="confidence", scale=(1, 5))
    expected = pytest.approx(share_by_hand("confidence", 4))
    assert true_vector(as_criterion, quantity).tolist() == expected
    assert true_vector(as_score, quantity).tolist() == expected
    weights = [pv.weigh(reviews.public("all"), quantity) for reviews in (as_criterion, as_score)]
    assert weights[0].digest() == weights[1].digest()
    spread = [pv.weigh(reviews.public("all"), "spread of column confidence") for reviews in (as_criterion, as_score)]
    assert spread[0].digest() == spread[1].digest()
    hidden = as_score.public("none")
    assert pv.weigh(hidden, quantity).span == (0, 1)
    assert pv.weigh(hidden, "column confidence").span == (1, 5)
    partly = pv.PublicRecord.from_rows([[3, None]], load=1, scale=(1, 10), criteria={"confidence": [[3, None]]})
    with pytest.raises(
        pv.InputError, match=r"criterion 'confidence', of which 1 values are hidden; read it as the score"
    ):
        pv.weigh(partly, quantity)


@pytest.mark.parametrize(("public", "stated"), [("all", "all values of confidence, and"), ("none", "no values of")])
def test_a_release_states_what_is_public_of_its_column(public: str, stated: str) -> None:
    """Scores may be public where another column is not."""
    reviews = pv.read(frame(), score="confidence", scale=(1, 5))
    release = pv.release(
        reviews, public=public, quantity="column confidence", statistic="range", mechanism=pv.Histogram(epsilon=3.0)
    )
    weights = pv.weigh(reviews.public(public), release.quantity)
    assert release.public.startswith(stated)
    assert pv.verify(release, weights).verified
    for other in ("scores", "values of words"):
        forged = replace(release, public=release.public.replace("values of confidence", other))
        assert pv.verify(forged, weights).failed == ("document",)
    graded = pv.read(frame(), criteria=["confidence"], scale=(1, 10))
    of_criterion = pv.release(
        graded, public="all", quantity="column confidence", mechanism=pv.Laplace(epsilon=3.0), estimator="projection"
    )
    assert of_criterion.public == "all scores and criteria (confidence), and load counts"
    assert pv.verify(of_criterion, pv.weigh(graded.public("all"), "column confidence")).verified


def test_a_column_that_was_not_read_is_refused() -> None:
    reviews = pv.read(frame(), scale=(1, 10))
    with pytest.raises(pv.InputError, match=r"the column 'confidence', which was not read; .*score='confidence'"):
        pv.release(reviews, public="all", quantity="column confidence", mechanism=pv.Laplace(epsilon=1.0))
    graded = pv.read(frame(), scale=(1, 10), criteria=["confidence"])
    with pytest.raises(pv.InputError, match=r"the column 'confidence', a criterion that is not public; read it as the"):
        pv.release(graded, public="none", quantity="column confidence", mechanism=pv.Laplace(epsilon=1.0))
    renamed = pv.read(frame().rename({"confidence": "Confidence"}), score="Confidence", scale=(1, 5))
    pv.release(renamed, public="all", quantity="column confidence", mechanism=pv.Laplace(epsilon=1.0))


@pytest.mark.parametrize("condition", ["score>=6 and confidence>=4", "score >= 6 | score < 2", "a=1&b=2"])
def test_a_share_of_several_conditions_is_refused(condition: str) -> None:
    with pytest.raises(pv.InputError, match="must compare one column with a number; for several columns define"):
        pv.Share(condition)
    assert pv.Share("Quality (bad=1, good=5) >= 3").column == "Quality (bad=1, good=5)"


def test_names_and_conditions() -> None:
    assert Share("Days late > -1.5").name == "share of Days late>-1.5"
    assert Share("score == 6.0") == Share("score=6")
    assert named("spread of share of score>=6").name == "spread of share of score>=6"
    assert is_known("share of score>=6")
    assert not is_known("share of score")
    assert column_of("mean") is None
    for text in ("score", "score>=", ">=6", "score>=six", "score>=nan", "score>=inf", "a\nb>=3", "score=>6", ""):
        with pytest.raises(pv.InputError, match="share must"):
            Share(text)
    for text in ("", " ", "a\nb", "x" * 101):
        with pytest.raises(pv.InputError, match="weight must name a column"):
            Column(text)
    with pytest.raises(pv.InputError, match=r"share.*needs a condition"):
        pv.release(pv.read(frame()), public="all", statistic="share", epsilon=1.0)
    with pytest.raises(pv.InputError, match="quantity of its own"):
        pv.release(pv.read(frame()), public="all", quantity="miscalibration", statistic=Share("score>1"), epsilon=1.0)
    with pytest.raises(pv.InputError, match="is a quantity already"):
        pv.weigh(pv.read(frame()).public("all"), lambda record: record.score, name="column own")
    words = words_of("share of score>=6")
    assert (words.a_number, words.numbers) == ("a share", "shares")


@given(st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), st.integers(0, 6), st.lists(st.integers(1, 5), min_size=2))
def test_bounds_of_hidden_values_are_those_of_all_possible_ones(sign: str, value: int, scores: list[int]) -> None:
    share = Share(f"score{sign}{value}")
    rows: list[list[float | None]] = [[float(score), None] for score in scores]
    record = pv.PublicRecord.from_rows(rows, loads={1: 2 * len(rows)}, scale=(1, 5))
    low, high = share.hidden_bounds(record, lone="refuse")
    for seen, least, most in zip(record.score.tolist(), low.tolist(), high.tolist(), strict=True):
        possible = [seen] if seen == seen else np.linspace(1, 5, 81).tolist()  # noqa: PLR0124 - NaN is hidden
        truths = {
            {"=": x == value, "!=": x != value, "<": x < value, "<=": x <= value, ">": x > value, ">=": x >= value}[
                sign
            ]
            for x in possible
        }
        assert (min(truths), max(truths)) == (bool(least), bool(most))


def test_hidden_properties_are_drawn_as_they_are() -> None:
    """Each hidden review has the property or has it not; how many have it may be anything."""
    record = pv.PublicRecord.from_rows([[None] * 3 for _ in range(40)], load=3, scale=(1, 10))
    drawn = prior(pv.weigh(record, "share of score>=6"), draws=60)
    assert set(np.unique(drawn.weight)) == {0.0, 1.0}
    shares = drawn.weight.mean(axis=1)
    assert shares.min() < 0.2
    assert shares.max() > 0.8
    assert set(np.unique(drawn.ensemble(0.0).vectors.round(6))) == {0.0, 0.333333, 0.666667, 1.0}


@given(cases(most_reviews=6), st.sampled_from(UNITS))
@settings(max_examples=30)
def test_no_neighbour_moves_a_share_by_more_than_claimed(case: Case, unit: Unit) -> None:
    middle = float(np.median([x for row in case.rows for x in row]))
    quantity = Share(f"score>={middle:.15g}").name
    record = pv.PublicRecord.from_rows(case.rows, loads=case.stated())
    bound = sensitivity(pv.weigh(record, quantity), unit)
    papers = [PAPERS[p] for p, row in enumerate(case.rows) for _ in row]
    scores = [x for row in case.rows for x in row]

    def vector(assignment: Assignment) -> list[float]:
        holders = [f"r{j}" for j in flat(assignment)]
        return list(true_vector(pv.Reviews.from_columns(papers, holders, scores), quantity).tolist())

    for one, other in neighbours(list(assignments(case.rows, case.loads))[:20], unit):
        before, after = vector(one), vector(other)
        assert apart(before, after) <= (bound.counts or 0)
        check_norms(before, after, bound)


@given(hidden_cases(), st.sampled_from(UNITS), st.sampled_from(["share of score>=2", "range of column score"]))
@settings(max_examples=30)
def test_hidden_columns_may_change_with_the_exchange(
    pair: tuple[Case, list[list[bool]]], unit: Unit, quantity: str
) -> None:
    case, hidden = pair
    bound = sensitivity(pv.weigh(visible(case, hidden), quantity), unit)
    flags = [h for row in hidden for h in row]
    papers = [PAPERS[p] for p, row in enumerate(case.rows) for _ in row]
    variants = [[x for row in filled for x in row] for filled in hidden_variants(case.rows, hidden, [1, 3])]

    def vector(assignment: Assignment, scores: list[float]) -> list[float]:
        holders = [f"r{j}" for j in flat(assignment)]
        return list(true_vector(pv.Reviews.from_columns(papers, holders, scores), quantity).tolist())

    for one, other in neighbours(list(assignments(case.rows, case.loads))[:8], unit):
        free = [h and a != b for h, a, b in zip(flags, flat(one), flat(other), strict=True)]
        for first, second in itertools.product(variants, repeat=2):
            if all(f or x == y for f, x, y in zip(free, first, second, strict=True)):
                before, after = vector(one, first), vector(other, second)
                assert apart(before, after) <= (bound.counts or 0)
                check_norms(before, after, bound)


def test_the_bound_on_counts_of_shares_is_attained() -> None:
    """A reviewer without the property gets a review with it from each of three: from 0 to 1, and from 2/3 to 1/3."""
    papers = [f"p{i:02}" for i in range(12)]
    before = [*"zzzaaabbbccc"]
    after = [*"abczaazbbzcc"]
    scores = [0.0] * 3 + [1.0, 1.0, 0.0] * 3
    sides = [pv.Reviews.from_columns(papers, side, scores) for side in (before, after)]
    moved = apart(*(true_vector(side, "share of score>=1").tolist() for side in sides))
    assert moved == 8 == sensitivity(pv.weigh(sides[0].public("all"), "share of score>=1"), "reviewer").counts


@pytest.mark.slow
def test_the_command_line_releases_and_verifies_both(run: Run, tmp_path: Path) -> None:
    frame().write_csv("mine.csv")
    public = frame().group_by("paper", maintain_order=True).agg(pl.col("score", "confidence").cast(str))
    public.select("paper", *(pl.col(name).list.join(";") for name in ("score", "confidence"))).write_csv("seen.csv")
    noise = ["--public", "all", "--mechanism", "laplace", "--epsilon", "5"]
    for place, what in (
        ("a", ["--share", "score >= 6"]),
        ("b", ["--share", "confidence>=4"]),
        ("c", ["--weight", "confidence", "--statistic", "spread", "--score-scale", "1,5"]),
    ):
        code, _, problem = run("release", "mine.csv", *noise, *what, "-o", place)
        assert code == 0, problem
        columns = ["--ratings", "score"] if place == "a" else []
        code, printed, problem = run("verify", place, "--public", "seen.csv", *columns)
        assert code == 0, printed + problem
    report = html.unescape(Path("b/report.html").read_text()).replace("\u00a0", " ")
    assert "<h1>Reviewers by the share of their reviews with confidence >= 4</h1>" in report
    assert "A tenth of the reviewers have a share of" in report
    assert "of the variance of whether confidence >= 4" in report
    assert pv.Release.load("c").quantity == "spread of column confidence"
    code, printed, problem = run(
        *("plan", "seen.csv", "--load", "3", "--weight", "confidence", "--epsilon", "3", "--draws", "2")
    )
    assert code == 0, problem
    assert "expected error of a mean value" in printed
    for wrong, words in (
        (["--share", "score>=6", "--statistic", "spread"], "--share is a statistic of its own"),
        (["--share", "score>=6", "--quantity", "miscalibration"], "leave out --quantity"),
        (["--weight", "confidence", "--score", "score"], "name different columns"),
        (["--weight", "mood"], "mood"),
    ):
        code, _, problem = run("release", "mine.csv", *noise, *wrong, "-o", "wrong")
        assert code != 0
        assert words in " ".join(problem.split()), problem


def test_agreement_is_the_mean_distance_from_the_others() -> None:
    reviews = pv.Reviews.from_columns(list("ppqqrr"), list("abbcca"), [3, 5, 4, 4, 8, 6], scale=(1, 10))
    assert true_vector(reviews, "disagreement").tolist() == [1, 1, 2]
    release = pv.release(reviews, public="all", statistic="agreement", mechanism=pv.Laplace(epsilon=1.0))
    assert release.quantity == "disagreement"
    assert "the mean of the other scores" in words_of(release.quantity).meaning
