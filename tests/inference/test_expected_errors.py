"""What stated errors cannot do where releases of two worlds are alike, and how alike they are."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

import bench_apart
from apart import distance, drawn, log_chances
from peerveil.privacy.noise_laws import DiscreteLaplaceLaw
from peerveil.record.public_record import Floats

A, B = 0.75, 1.25


def laws(rng: np.random.Generator, releases: int) -> tuple[Floats, Floats, float]:
    """The laws of a few releases in two worlds, and their total variation distance."""
    first, second = rng.dirichlet(np.ones(releases), 2)
    return first, second, float(np.abs(first - second).sum() / 2)


# Theorem I2.
@pytest.mark.parametrize("seed", range(5))
def test_no_stated_error_fits_two_worlds_that_releases_do_not_tell_apart(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second, t = laws(rng, 4)
    errors = np.array([B / A * (1.001 + rng.random()), 1.0])
    stated = [errors[0] / B, errors[0], errors[0] / A, errors[1] / B, errors[1], errors[1] / A, 10.0]
    found = []
    for each in product(stated, repeat=4):  # whatever a release states
        fits = (A * np.array(each) <= errors[:, None] * (1 + 1e-12)) & (errors[:, None] <= B * np.array(each) + 1e-12)
        found.append(float(first[fits[0]].sum() + second[fits[1]].sum()))
    assert max(found) == pytest.approx(1 + t)


# Theorem I2.
@pytest.mark.parametrize("seed", range(5))
def test_no_mean_of_stated_errors_fits_two_worlds_that_releases_do_not_tell_apart(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second, t = laws(rng, 6)
    most, small = 5.0, float(rng.uniform(0.1, 1.0))
    found = linprog(
        -first, A_ub=[second], b_ub=[small / A**2], bounds=(0, most)
    )  # the greatest mean in the first world
    assert found.fun is not None
    greatest = -(B**2) * found.fun
    assert (B / A) ** 2 * small < greatest <= (B / A) ** 2 * small + B**2 * t * most


def test_the_distance_of_noisy_releases_is_that_of_enumeration() -> None:
    rng, law = np.random.default_rng(1), DiscreteLaplaceLaw(scale=1.5)
    first, second = (rng.integers(0, 4, (3, 2)).astype(np.float64) for _ in range(2))
    grid = np.array(list(product(range(-40, 45), repeat=2)), dtype=np.float64)
    chances = [np.exp(log_chances(grid, truths, law)) for truths in (first, second)]
    assert [each.sum() for each in chances] == pytest.approx([1, 1])
    usual = math.tanh(1 / (2 * law.scale))  # the chance of no noise
    slow = [np.mean([np.prod(usual * np.exp(-np.abs(x - each) / law.scale)) for each in first]) for x in grid[:50]]
    assert chances[0][:50] == pytest.approx(slow, rel=1e-9, abs=0)
    exact = float(np.abs(chances[0] - chances[1]).sum() / 2)
    found = distance(first, second, law, 4_000, rng)
    assert 0.05 < exact < 0.95
    assert found.error < 0.01
    assert found.value == pytest.approx(exact, abs=4 * found.error)


def test_releases_are_drawn_from_the_set() -> None:
    law, rng = DiscreteLaplaceLaw(scale=0.01), np.random.default_rng(2)  # no noise at all
    truths = np.array([[1.0, 2.0], [3.0, 4.0]])
    noisy = drawn(truths, law, 400, rng)
    assert {tuple(each) for each in noisy.tolist()} == {(1.0, 2.0), (3.0, 4.0)}
    assert 150 < np.count_nonzero(noisy[:, 0] == 1) < 250


def test_sets_that_are_alike_have_no_distance() -> None:
    truths, law = np.arange(6.0).reshape(3, 2), DiscreteLaplaceLaw(scale=2.0)
    assert distance(truths, truths, law, 10, np.random.default_rng(3)).value == 0


@pytest.mark.slow
def test_laplace_noise_hides_leniency_that_makes_much_of_the_error() -> None:
    weights, truths = bench_apart.sets((4,))
    rehearsal, estimator = bench_apart.chosen(weights, "laplace", 0.3)
    rng = np.random.default_rng(5)
    none, typical = truths["none"], truths["typical"]
    t = distance(none, typical, rehearsal.noise.law, 200, rng)
    assert t.value + 4 * t.error < 0.1
    found = [bench_apart.errors(rehearsal, estimator, each, 8, rng) for each in (none, typical)]
    large, small = (float(np.sqrt(each.square.mean())) for each in found)
    assert large > B / A * small
    assert sum(each.within.mean() for each in found) <= 1 + t.value  # in these releases, not only on average
