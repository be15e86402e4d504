from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import peerveil as pv
from peerveil.private.true_vector import true_vector
from peerveil.quantities import statistics
from peerveil.record.public_record import Floats


class Range:
    """The difference between the greatest and the least weight."""

    name = "range"

    def of(self, weights: Floats) -> float:
        return float(weights.max() - weights.min())


@pytest.fixture
def _range() -> Iterator[None]:
    statistics.register(Range())
    yield
    statistics.unregister("range")


@pytest.mark.usefixtures("_range")
def test_a_registered_statistic_is_found_by_its_name() -> None:
    reviews = pv.Reviews.from_columns(["p", "p", "q", "q"], ["a", "b", "a", "b"], [3, 5, 4, 8])
    assert true_vector(reviews, "ratings", statistic="range").tolist() == [1, 3]
    with pytest.raises(pv.InputError, match="'range' is a statistic already"):
        statistics.register(Range())


def test_unknown_statistics_are_refused_with_the_known_ones() -> None:
    reviews = pv.Reviews.from_columns(["p", "p"], ["a", "b"], [3, 5])
    with pytest.raises(pv.InputError, match="statistic must be one of 'mean', got 'range'"):
        true_vector(reviews, "ratings", statistic="range")


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=4))
def test_the_mean_is_one_rounded_sum_and_one_division_in_any_order(weights: list[float]) -> None:
    exact = sum(map(Fraction, weights), Fraction(0))
    expected = weights[0] if len(set(weights)) == 1 else float(exact) / len(weights)
    for order in itertools.permutations(weights):
        assert statistics.named("mean").of(np.array(order)) == expected
