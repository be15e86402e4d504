"""Estimates on ratings by real people, and in worlds that the prior does not hold; the benchmark has all rows."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from bench_raters import REAL, errors, ratings

RATERS = [*(pytest.param(name, marks=pytest.mark.data(str(ratings(name)))) for name in REAL), "camps", "flat", "topics"]


@pytest.mark.slow
@pytest.mark.parametrize("quantity", ["ratings", "miscalibration"])
@pytest.mark.parametrize("loads", ["4", "1 to 6"])
@pytest.mark.parametrize("raters", RATERS)
def test_what_is_chosen_beats_the_projection_and_knows_its_error(raters: str, loads: str, quantity: str) -> None:
    rows = [row for row in errors((raters, loads, quantity, 1, 8, (1.0,), False), None) if row[0][-1] == "auto"]
    square, projected, expected, inside = (np.array([row[i] for row in rows]) for i in range(2, 6))
    assert np.sqrt(square.mean()) <= 1.05 * np.sqrt(projected.mean())
    assert 0.5 <= np.sqrt(square.mean() / expected.mean()) <= 1.25
    assert inside.mean() >= 0.85
