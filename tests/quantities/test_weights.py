from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import islice, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import peerveil as pv
from peerveil.privacy.guarantee import UNITS, Unit
from peerveil.privacy.sensitivity import sensitivity
from peerveil.private.true_vector import true_vector
from peerveil.quantities import QUANTITIES
from peerveil.quantities.base import HiddenReach, words_of
from peerveil.quantities.weights import review_weights
from peerveil.record.public_record import Floats
from reference.monotone import by_trying_all
from reference.neighbours import flat, neighbours
from reference.theta import Assignment, assignments
from strategies import Case, Graded, graded_cases, hidden_graded_cases


@given(graded_cases())
def test_private_and_public_weights_of_each_paper_are_the_same_to_the_last_bit(graded: Graded) -> None:
    reviews = graded.reviews()
    for quantity in QUANTITIES:
        for record in (reviews.public("all"), graded.record()):
            public = pv.weigh(record, quantity, lone="zero")
            private = review_weights(reviews, quantity, record=record, lone="zero")
            for p in range(len(reviews.papers)):
                assert sorted(private[reviews.paper == p]) == public.low[public.paper == p].tolist()


def expected_weight(graded: Graded, quantity: str) -> list[Fraction]:
    """The weights by their definitions, in the order of the case's columns."""
    papers, _, scores = graded.case.columns()
    exact = list(map(Fraction, scores))
    if quantity == "ratings":
        return exact
    if quantity in ("miscalibration", "disagreement"):
        weights = []
        for e, paper in enumerate(papers):
            others = [exact[i] for i, p in enumerate(papers) if p == paper and i != e]
            weights.append(exact[e] - sum(others, Fraction(0)) / len(others) if others else Fraction(0))
        return weights if quantity == "miscalibration" else list(map(abs, weights))
    criteria = list(zip(*graded.columns().values(), strict=True))
    (best,) = by_trying_all(criteria, scores)
    normal = [Fraction(best[vector]) for vector in criteria]
    return normal if quantity == "normalized" else [s - f for s, f in zip(exact, normal, strict=True)]


@given(graded_cases(most_reviews=5))
def test_the_true_vector_is_the_sorted_means_of_weights(graded: Graded) -> None:
    reviews = graded.reviews()
    for quantity in QUANTITIES:
        held: dict[str, list[Fraction]] = {}
        for reviewer, weight in zip(graded.case.columns()[1], expected_weight(graded, quantity), strict=True):
            held.setdefault(reviewer, []).append(weight)
        expected = sorted(float(sum(weights) / len(weights)) for weights in held.values())
        found = true_vector(reviews, quantity, lone="zero")
        size = max(abs(x) for row in graded.case.rows for x in row)
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14 * size)


@given(graded_cases())
def test_the_truth_lies_in_every_region(graded: Graded) -> None:
    reviews = graded.reviews()
    for quantity in QUANTITIES:
        weights = pv.weigh(reviews.public("all"), quantity, lone="zero")
        truth = true_vector(reviews, quantity, lone="zero")
        for kind in ("baseline", "chain", "envelope"):
            assert pv.region(weights, kind).contains(truth)


def filled(graded: Graded) -> Iterator[Graded]:
    """The case with every hidden review at the ends of the scale and of the grades."""
    places = [(p, i) for p, row in enumerate(graded.hidden) for i, h in enumerate(row) if h]
    ends = [(score, *grades) for score in (1.0, 3.0) for grades in product((0.0, 3.0), repeat=len(graded.grades))]
    for choice in product(ends, repeat=len(places)):
        rows = [list(row) for row in graded.case.rows]
        grades = {name: [list(row) for row in given] for name, given in graded.grades.items()}
        for (p, i), (score, *marks) in zip(places, choice, strict=True):
            rows[p][i] = score
            for name, mark in zip(grades, marks, strict=True):
                grades[name][p][i] = mark
        yield Graded(Case(rows, graded.case.holders), grades, graded.hidden)


@pytest.mark.promise("P-PUBLIC-2")
@given(hidden_graded_cases())
@settings(max_examples=40)
def test_hidden_reviews_shape_nothing_public_and_no_other_weight(graded: Graded) -> None:
    record = graded.record(scale=(1, 3))
    for quantity in ("normalized", "subjectivity"):
        public = pv.weigh(record, quantity)
        assert public.hidden_span == 2
        bounds = [pv.region(public, kind) for kind in ("baseline", "envelope", "tight")]
        others: set[tuple[float, ...]] = set()
        for possible in islice(filled(graded), 64):
            reviews = possible.reviews(scale=(1, 3))
            assert reviews.public(record) is record
            weight = review_weights(reviews, quantity, record=record)
            inside = weight[np.lexsort((weight, reviews.paper))]
            assert (public.low <= inside).all()
            assert (inside <= public.high).all()
            for region in bounds:
                assert region.contains(true_vector(reviews, quantity, record=record)), region.name
            # Visible reviews keep their weights whatever the hidden ones say.
            assert record.criteria is not None
            assert reviews.criteria is not None
            public_rows = zip(record.paper, record.score, *record.criteria.T, strict=True)
            private_rows = zip(reviews.paper, reviews.score, *reviews.criteria.T, strict=True)
            found = dict(zip(private_rows, weight.tolist(), strict=True))
            others.add(tuple(found[row] for row in public_rows if not np.isnan(row[1])))
        assert len(others) == 1


@given(hidden_graded_cases(), st.sampled_from(UNITS), st.sampled_from(["normalized", "subjectivity"]))
@settings(max_examples=25)
def test_hidden_reviews_may_change_with_the_exchange(graded: Graded, unit: Unit, quantity: str) -> None:
    record = graded.record(scale=(1, 3))
    bound = Fraction(sensitivity(pv.weigh(record, quantity), unit).l1)
    flags = [h for row in graded.hidden for h in row]
    listed = list(assignments(graded.case.rows, graded.case.loads))[:10]
    variants = list(islice(filled(graded), 16))
    contents = [list(zip(v.case.columns()[2], *v.columns().values(), strict=True)) for v in variants]

    def vector(assignment: Assignment, place: int) -> list[Fraction]:
        papers, _, scores = variants[place].case.columns()
        holders = [f"r{j}" for j in flat(assignment)]
        reviews = pv.Reviews.from_columns(papers, holders, scores, criteria=variants[place].columns(), scale=(1, 3))
        return list(map(Fraction, true_vector(reviews, quantity, record=record).tolist()))

    vectors = {(a, i): vector(a, i) for a in listed for i in range(len(variants))}
    for one, other in neighbours(listed, unit):
        moved = [a != b for a, b in zip(flat(one), flat(other), strict=True)]
        for i, j in product(range(len(variants)), repeat=2):
            changed = [x != y for x, y in zip(contents[i], contents[j], strict=True)]
            if all(m and h for m, h, c in zip(moved, flags, changed, strict=True) if c):
                pairs = zip(vectors[one, i], vectors[other, j], strict=True)
                assert sum(abs(x - y) for x, y in pairs) <= bound


def test_with_nothing_visible_nothing_is_learnt() -> None:
    record = pv.PublicRecord.from_rows([[None, None]], load=1, scale=(1, 3), criteria={"clarity": [[None, None]]})
    with pytest.raises(pv.RecordError, match="all are hidden; release ratings instead"):
        pv.weigh(record, "normalized")


def test_criteria_are_asked_for_where_they_are_needed() -> None:
    record = pv.PublicRecord.from_rows([[3, 6], [2, 2]], load=2)
    for quantity in ("normalized", "subjectivity"):
        with pytest.raises(pv.RecordError, match=r"needs criteria; name their columns \(criteria=\)"):
            pv.weigh(record, quantity)


def test_a_function_of_the_public_record_is_a_quantity() -> None:
    reviews = Graded(
        Case([[3.0, 5.0], [4.0, 4.0], [8.0, 6.0]], [[0, 1], [1, 2], [2, 0]]),
        {"clarity": [[1.0, 2.0], [3.0, 1.0], [2.0, 2.0]]},
        [[False] * 2] * 3,
    ).reviews()

    def clear_praise(record: pv.PublicRecord) -> Floats:
        assert record.criteria is not None
        return record.score * record.criteria[:, 0]

    weights = pv.weigh(reviews.public("all"), clear_praise)
    assert weights.quantity == "clear_praise"
    assert weights.rows_low() == [[3, 10], [4, 12], [12, 16]]
    assert true_vector(reviews, clear_praise).tolist() == [7.5, 10, 11]
    made = pv.release(reviews, public="all", quantity=clear_praise, mechanism=pv.Laplace(epsilon=1.0))
    assert made.quantity == "clear_praise"
    assert made.values.sum() == pytest.approx(28.5)
    again = pv.refine(made, weights)
    assert again.values.tolist() == made.values.tolist()
    named = pv.release(
        reviews, public="all", quantity=lambda record: record.score, name="marks", mechanism=pv.Laplace(epsilon=1.0)
    )
    assert named.quantity == "marks"


class Unhashable:
    __hash__ = None  # type: ignore[assignment]

    def __call__(self, record: pv.PublicRecord) -> Floats:
        return record.score


def fickle(drawn: Iterator[float]) -> Callable[[pv.PublicRecord], Floats]:
    return lambda record: record.score + next(drawn)


@pytest.mark.parametrize(
    ("quantity", "name", "message"),
    [
        (lambda record: record.score, None, "needs a name that can be published"),
        (lambda record: record.score, "", "needs a name"),
        (lambda record: record.score, "a\nb", "needs a name"),
        (lambda record: record.score, "miscalibration", "is a quantity already"),
        ("ratings", "marks", "name is for a quantity given as a function"),
        (3, None, "quantity must be a name or a function of a public record, got int"),
        (Unhashable(), "marks", "quantity must be a name or a function"),
        (lambda record: record.score[1:], "marks", r"one finite number for each of 4 reviews, got the shape \(3,\)"),
        (lambda record: record.score / 0 * 0, "marks", "got numbers that are not finite"),
        (lambda record: record.papers, "marks", "got no numbers"),
        (lambda record: range(4), "marks", "different weights to 1 pairs of reviews of the same paper that look alike"),
        (fickle(iter(range(9))), "marks", "other weights when asked again"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_functions_that_are_no_quantities_are_refused(quantity: Any, name: str | None, message: str) -> None:
    record = pv.PublicRecord.from_rows([[3, 6], [2, 2]], load=2)
    with pytest.raises(pv.InputError, match=message):
        pv.weigh(record, quantity, name=name)


def test_a_function_is_not_asked_where_scores_are_hidden() -> None:
    record = pv.PublicRecord.from_rows([[3, None]], load=1, scale=(1, 10))
    with pytest.raises(pv.InputError, match="only be released where all scores are public"):
        pv.weigh(record, lambda record: record.score, name="marks")


def test_both_sides_use_the_very_weights_a_function_gave() -> None:
    """A function that changes its mind later cannot make the sides differ."""
    calls = iter([0.0, 0.0, 5.0, 5.0])
    drifting = fickle(calls)
    reviews = pv.Reviews.from_columns(["p", "p", "q", "q"], ["a", "b", "a", "b"], [3, 5, 4, 8])
    record = reviews.public("all")
    assert pv.weigh(record, drifting, name="drift").rows_low() == [[3, 5], [4, 8]]
    assert true_vector(reviews, drifting, record=record).tolist() == [3.5, 6.5]


def test_miscalibration_of_a_single_review_is_refused_or_zero() -> None:
    record = pv.PublicRecord.from_rows([[4], [3, 6]], load=1)
    with pytest.raises(pv.RecordError, match=r"1 of 2 papers have a single review.*lone='zero'"):
        pv.weigh(record, "miscalibration")
    assert pv.weigh(record, "miscalibration", lone="zero").low.tolist() == [0, -3, 3]


def test_all_quantities_of_scores_are_in_points() -> None:
    for quantity in QUANTITIES:
        words = words_of(quantity)
        assert words.unit == " points"
        assert words.axis.endswith(" (points)")
        assert words.short_axis.endswith(" (points)")


def test_unknown_quantities_are_refused_by_name() -> None:
    record = pv.PublicRecord.from_rows([[3, 6]], load=1)
    with pytest.raises(pv.InputError, match=r"quantity must be one of 'ratings', .*, got 'mood'"):
        pv.weigh(record, "mood")
    with pytest.raises(pv.InputError, match="lone must be"):
        pv.weigh(record, "ratings", lone="drop")  # type: ignore[arg-type]


def test_a_stated_reach_is_kept() -> None:
    wide, own = HiddenReach(co_reviews=True, centred=False), pv.PublicWeights.from_rows([[1, 2]], load=1)
    stated = replace(own, quantity="ratings", reach=wide)
    assert stated.reach == wide
