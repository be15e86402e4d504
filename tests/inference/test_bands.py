"""Bands hold their values, ascend, and have a width, for every mechanism, quantity and prior.

The rules are those of ``tests/bands.py``, which every estimate of every test is checked with.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attainable
import bands
import bench_pool
import peerveil as pv
from peerveil.inference import estimators, model
from peerveil.inference.count_posterior import CountLikelihood, CountPosterior
from peerveil.inference.estimators import ESTIMATORS
from peerveil.inference.expected_error import LEVEL, ExpectedError
from peerveil.inference.model import RecordModel
from peerveil.inference.pooling import SHAPE, Earlier, PooledPrior, YearPrior, with_prior
from peerveil.mechanisms.base import Mechanism
from peerveil.planning.rehearsal import Rehearsal
from peerveil.privacy.bins import NoisyCounts
from peerveil.quantities.weights import PublicWeights
from peerveil.record.public_record import Floats

MECHANISMS = ("laplace", "gaussian", "sinh-normal", "histogram")


def pooled(quantity: str, rng: np.random.Generator) -> PooledPrior:
    """A prior that is sure of something, whether or not it holds."""
    evidence = np.maximum(rng.normal(-20.0, 15.0, SHAPE), -50.0)
    evidence = np.minimum(evidence - evidence.max(), 0.0).clip(-50.0)
    earlier = Earlier(name="", record=f"sha256:{'0' * 64}", release=f"sha256:{'1' * 64}", evidence=evidence)
    return PooledPrior(quantity=quantity, releases=(earlier,))


def mechanism_of(name: str, size: float) -> Mechanism:
    """A mechanism with little or much noise."""
    if name == "gaussian":
        return pv.Gaussian(rho=1 / size)
    if name == "sinh-normal":
        return pv.SinhNormal(rho=min(0.5, 1 / size), omega=100.0)
    return pv.Laplace(epsilon=1 / size) if name == "laplace" else pv.Histogram(epsilon=1 / size)


@given(
    mechanism=st.sampled_from(MECHANISMS),
    size=st.sampled_from([0.01, 0.3, 3.0, 100.0]),
    quantity=st.sampled_from(["ratings", "miscalibration"]),
    hidden=st.sampled_from([0.0, 0.3, 1.0]),
    mixed=st.booleans(),
    prior=st.sampled_from(["usual", "kinds", "pooled"]),
    seed=st.integers(0, 2**16),
)
def test_bands_follow_their_rules(  # noqa: PLR0917 - Hypothesis names them
    mechanism: str, size: float, quantity: str, hidden: float, mixed: bool, prior: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    papers, size_of_paper = int(rng.integers(4, 9)), int(rng.integers(2, 4))
    scores = np.clip(np.rint(rng.normal(5, 2, (papers, size_of_paper))), 1, 10)
    rows = [[None if rng.random() < hidden else score for score in row] for row in scores.tolist()]
    reviews = papers * size_of_paper
    double = reviews // 2 - (int(rng.integers(1, 3)) if mixed else 0)
    loads = {2: double} | ({1: reviews - 2 * double} if reviews > 2 * double else {})
    record = pv.PublicRecord.from_rows(rows, loads=loads, scale=(1, 10))
    weights = pv.weigh(record, quantity)
    if prior == "pooled":
        weights = with_prior(weights, pooled(quantity, rng))
    with pytest.MonkeyPatch.context() as patch:
        if prior == "kinds":
            patch.setattr(model, "MOST_DOUBTED", -1.0)  # other kinds of reviewers always count
        rehearsal = Rehearsal.of(weights, mechanism_of(mechanism, size))
        vectors = weights.derived(RecordModel).ensembles[int(rng.integers(15))].vectors
        noisy = rehearsal.perturb(vectors[0], rng)
        made = rehearsal.estimates(noisy, ESTIMATORS)
    for name in ESTIMATORS:
        assert made[name].outlook is not None


def small() -> PublicWeights:
    return pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)


def far(mean: Floats, variance: float) -> Any:
    """A posterior that does not know what the region proves."""
    ends = mean - variance**0.5, mean + variance**0.5
    return SimpleNamespace(
        mean=mean,
        variance=np.full(mean.size, variance),
        evidence=None,
        band=lambda _: ends,
        shortest_band=lambda _: ends,
    )


def test_a_posterior_beyond_the_bounds_leaves_bands_with_a_width() -> None:
    weights = small()
    region = pv.region(weights)
    least, most = region.implied()
    for beyond in (least - 10, most + 10):
        values = pv.project(beyond, region).values
        made = estimators._expected_error(values, far(beyond, 0.01), region, weights, "")
        assert (made.upper - made.lower > 0.01).all()
        assert (made.lower >= least - 1e-9).all()
        assert (made.upper <= most + 1e-9).all()


def test_the_rules_can_fail() -> None:
    weights = small()
    region = pv.region(weights)
    values = np.array([1.5, 2.0, 3.0, 5.0])
    posterior = far(values, 0.04)
    good = ExpectedError(expected_rmse=0.2, lower=values - 0.3, upper=values + 0.3)
    bands.check(good, values, posterior, region)
    first = np.array([1.0, 0.0, 0.0, 0.0])
    spoilt = (
        {"lower": values - 0.3 + 0.5 * first},
        {"upper": values + 0.3 - 0.5 * first, "lower": values - 0.4},
        {"lower": values - 0.3 - 3 * first[::-1]},
        {"upper": values + 0.3 + 3 * first},
        {"lower": values.copy(), "upper": values.copy()},
    )
    for change in spoilt:
        with pytest.raises(AssertionError, match=r"band"):
            bands.check(replace(good, **change), values, posterior, region)
    assert estimators._expected_error is bands.checked


def slow_least(chances: Floats, level: float) -> float:
    """The least sum of adjacent chances that is at least a level."""
    sums = (
        chances[first:behind].sum() for first in range(chances.size) for behind in range(first + 1, chances.size + 1)
    )
    return min(float(each) for each in sums if each >= level)


@given(st.integers(0, 2**32), st.sampled_from([0.5, 0.9, 0.99]))
@settings(max_examples=20, deadline=None)
def test_the_least_probability_of_whole_steps_is_that_of_all_intervals(seed: int, level: float) -> None:
    rng = np.random.default_rng(seed)
    rehearsal = Rehearsal.of(small(), pv.Histogram(epsilon=float(rng.uniform(0.5, 5))))
    noisy = rehearsal.perturb(np.array([1.5, 2.0, 3.0, 5.0]), rng)
    assert isinstance(noisy, NoisyCounts)
    posterior = small().derived(RecordModel).posterior(CountLikelihood(noisy, rehearsal.noise.law))
    assert isinstance(posterior, CountPosterior)
    means, at_most = attainable.up_to(posterior)
    assert means == pytest.approx(posterior.least + np.append(0.0, np.cumsum(posterior.width)[:-1]))
    chances = np.diff(at_most, axis=0, prepend=0.0)
    assert chances.sum(axis=0) == pytest.approx(1)
    middle = chances.T @ means  # the product's mean, by 32 quantiles of each law
    assert middle == pytest.approx(posterior.mean, abs=0.05 * float(np.ptp(means)))
    least = attainable.least_chance(posterior, level)
    assert least == pytest.approx([slow_least(each, level - 1e-12) for each in chances.T])
    lower, upper = posterior.shortest_band(level)
    believed = attainable.chance_within(posterior, lower, upper)
    assert (believed >= least - 0.02).all()  # quantiles of the product end at whole ranks


def test_bands_hold_little_more_than_steps_force() -> None:
    """Means of four whole scores come in steps of a quarter, and a release knows them nearly as well."""
    years = [bench_pool.synthetic("typical (0.6)", 700 + k)[0] for k in range(6)]
    prior = PooledPrior(quantity="ratings", releases=tuple(year.earlier for year in years))
    for year in years[:3]:
        judged = year.judged(prior)
        assert judged.least > 0.94  # with a level of 0.9, whatever the bands are
        assert judged.least <= judged.believed < judged.least + 0.015
    made, posterior = years[2].estimated(YearPrior(prior.without(years[2].weights.digest()), years[2].within))
    assert made.outlook is not None
    by_probability = attainable.chance_within(posterior, *posterior.shortest_band(LEVEL)).mean()
    assert judged.believed == pytest.approx(by_probability, abs=0.002)  # a deviation to either side adds no step
    wider = attainable.chance_within(posterior, made.outlook.lower - 0.25, made.outlook.upper + 0.25)
    assert wider.mean() > judged.least + 0.015  # a step more is seen
