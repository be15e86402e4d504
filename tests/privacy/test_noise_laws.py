"""Laws of noise: densities integrate to one, draws follow them, parameters are checked."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from peerveil.errors import InputError
from peerveil.privacy.noise_laws import LaplaceLaw, Law, NormalLaw, SinhNormalLaw

LAWS: list[Law] = [
    LaplaceLaw(scale=0.3),
    NormalLaw(sigma=2.0),
    SinhNormalLaw(sigma=1.0, bound=2.0),
    SinhNormalLaw(sigma=1.0, bound=30.0),
    SinhNormalLaw(sigma=5.0, bound=0.5),
]


def integral(law: Law, power: int, low: float = -math.inf, high: float = math.inf) -> float:
    reach = 40 * law.deviation
    knots = np.linspace(max(low, -reach), min(high, reach), 81)
    return sum(
        quad(lambda x: x**power * math.exp(law.log_density(np.array([x]))[0]), a, b, limit=200)[0]
        for a, b in pairwise(knots)
    )


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_densities_integrate_to_one_and_have_the_deviation(law: Law) -> None:
    assert integral(law, 0) == pytest.approx(1, abs=1e-9)
    assert math.sqrt(integral(law, 2)) == pytest.approx(law.deviation, rel=1e-6)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_draws_follow_the_density(law: Law) -> None:
    draws = law.draw(np.random.default_rng(5), 40_000)
    for cut in (-1.0, -0.3, 0.2, 1.5):
        expected = integral(law, 0, high=cut * law.deviation)
        deviation = math.sqrt(expected * (1 - expected) / draws.size)
        assert abs(np.mean(draws <= cut * law.deviation) - expected) < 4.5 * deviation


def test_far_out_densities_are_zero_and_not_an_error() -> None:
    assert SinhNormalLaw(sigma=1.0, bound=1.0).log_density(np.array([-1e4, 1e4])).tolist() == [-math.inf] * 2


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_parameters_are_checked(value: float) -> None:
    for make in (lambda: LaplaceLaw(scale=value), lambda: NormalLaw(sigma=value)):
        with pytest.raises(InputError, match=f"must be a finite number > 0, got {value}"):
            make()
    with pytest.raises(InputError, match="bound must be"):
        SinhNormalLaw(sigma=1.0, bound=value)
