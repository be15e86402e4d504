"""Estimates of effects where noise is larger than what it hides, and where papers have thousands of reviews."""

from __future__ import annotations

import numpy as np

import peerveil as pv
from peerveil.inference.effects import estimate
from peerveil.privacy.group_sums import GroupSums
from peerveil.record.public_record import Floats


def drawn(sums: GroupSums, epsilon: float, rng: np.random.Generator) -> tuple[Floats, float]:
    """Numbers of a conference without an effect, half of whose reviews are of each group, with Laplace noise."""
    reviews, scale = sums.weights.low.size, sums.sensitivity("reviewer").l1 / epsilon
    truth = {
        "reviews_1": reviews / 2,
        "reviews_2": reviews / 2,
        "mixed": reviews / 4,
        **dict.fromkeys(("squares_1", "squares_2"), reviews * sums.variance / 2),
    }
    numbers = [truth.get(name, 0.0) * unit for name, unit in sums.units.items()]
    return np.array(numbers) + rng.laplace(scale=scale, size=len(numbers)), scale


def test_the_estimate_is_in_its_interval_however_large_the_noise_is() -> None:
    rng, rows = np.random.default_rng(3), [[1.0, 2.0, 5.0]] * 40
    sums = GroupSums(weights=pv.PublicWeights.from_rows(rows, load=4, quantity="ratings"), limits=(1.0, 5.0))
    made = [estimate(sums, *drawn(sums, 0.05, rng)) for _ in range(100)]
    assert all(-8 <= one.low <= one.value <= one.high <= 8 for one in made)
    assert any(abs(one.value) == 8 for one in made)  # some would be beyond


def test_a_paper_may_have_thousands_of_reviews() -> None:
    rows = [np.linspace(-1, 1, 1200), np.linspace(-1, 1, 1200)]
    weights = pv.PublicWeights.from_rows(rows, load=2, quantity="miscalibration")
    sums = GroupSums(weights=weights, limits=(-1.0, 1.0), randomised=True)
    made = estimate(sums, *drawn(sums, 1.0, np.random.default_rng(4)))
    assert made.low <= 0 <= made.high
