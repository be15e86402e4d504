"""Distinct values of long arrays: the same as by sorting."""

from __future__ import annotations

import numpy as np
import pytest

from peerveil.quantities.distinct import MOST_DISTINCT, Distinct, greatest
from peerveil.record.public_record import Floats

RNG = np.random.default_rng(12)
FEW = RNG.integers(-3, 4, 30_000) / 2
MANY = RNG.random(30_000)
ARRAYS = (FEW, MANY, np.sort(MANY), np.zeros(20_000), np.array([2.0]), np.empty(0))


@pytest.mark.parametrize("array", ARRAYS)
def test_entries_are_those_of_the_sorted_array(array: Floats) -> None:
    ranks = np.arange(0, array.size, 7)
    np.testing.assert_array_equal(Distinct(array).ascending(), np.sort(array))
    np.testing.assert_array_equal(Distinct(array).values(), np.unique(array))
    np.testing.assert_array_equal(Distinct(array).at(ranks), np.sort(array)[ranks])


@pytest.mark.parametrize(("number", "told"), [(MOST_DISTINCT, True), (MOST_DISTINCT + 1, False)])
def test_many_distinct_values_are_not_told(number: int, told: bool) -> None:
    array = np.tile(np.arange(float(number))[::-1], 2)
    counted = Distinct(array).counted
    assert (counted is not None) == told
    if counted is not None:
        for side, expected in zip(counted, np.unique(array, return_counts=True), strict=True):
            np.testing.assert_array_equal(side, expected)


@pytest.mark.parametrize("array", [*ARRAYS, np.append(np.zeros(20_000), 5.0), -np.arange(20_000.0)])
@pytest.mark.parametrize("number", [0, 1, 3, 15_000, 40_000])
def test_the_greatest_are_the_last_of_the_sorted_array(array: Floats, number: int) -> None:
    np.testing.assert_array_equal(greatest(array, number), np.sort(array)[::-1][:number])
