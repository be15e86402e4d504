from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

import peerveil as pv
from peerveil.private.truth import true_vector
from peerveil.quantities import review_weights
from strategies import Case, cases

QUANTITIES = ("ratings", "miscalibration")


@given(cases())
def test_private_and_public_weights_of_each_paper_are_the_same_to_the_last_bit(case: Case) -> None:
    reviews = pv.Reviews.from_columns(*case.columns())
    for quantity in QUANTITIES:
        public = pv.weigh(reviews.public("all"), quantity, lone="zero")
        private = review_weights(reviews, quantity, record=reviews.public("all"), lone="zero")
        for p in range(len(reviews.papers)):
            assert sorted(private[reviews.paper == p]) == public.low[public.paper == p].tolist()


@given(cases())
def test_the_true_vector_is_the_sorted_means_of_weights(case: Case) -> None:
    reviews = pv.Reviews.from_columns(*case.columns())
    columns = list(zip(*case.columns(), strict=True))
    for quantity in QUANTITIES:
        held: dict[str, list[Fraction]] = {}
        for paper, reviewer, score in columns:
            others = [Fraction(s) for p, j, s in columns if p == paper and j != reviewer]
            weight = Fraction(score)
            if quantity == "miscalibration":
                weight = weight - sum(others, Fraction(0)) / len(others) if others else Fraction(0)
            held.setdefault(reviewer, []).append(weight)
        expected = sorted(float(sum(weights) / len(weights)) for weights in held.values())
        found = true_vector(reviews, quantity, lone="zero")
        size = max(abs(score) for *_, score in columns)
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14 * size)


@given(cases())
def test_the_truth_lies_in_every_region(case: Case) -> None:
    reviews = pv.Reviews.from_columns(*case.columns())
    for quantity in QUANTITIES:
        weights = pv.weigh(reviews.public("all"), quantity, lone="zero")
        truth = true_vector(reviews, quantity, lone="zero")
        for kind in ("baseline", "chain"):
            assert pv.region(weights, kind).contains(truth)


def test_miscalibration_of_a_single_review_is_refused_or_zero() -> None:
    record = pv.PublicRecord.from_rows([[4], [3, 6]], load=1)
    with pytest.raises(pv.RecordError, match=r"1 of 2 papers have a single review.*lone='zero'"):
        pv.weigh(record, "miscalibration")
    assert pv.weigh(record, "miscalibration", lone="zero").low.tolist() == [0, -3, 3]


def test_unknown_quantities_are_refused_by_name() -> None:
    record = pv.PublicRecord.from_rows([[3, 6]], load=1)
    with pytest.raises(pv.InputError, match=r"quantity must be one of 'ratings', .*, got 'mood'"):
        pv.weigh(record, "mood")
    with pytest.raises(pv.InputError, match="lone must be"):
        pv.weigh(record, "ratings", lone="drop")  # type: ignore[arg-type]
