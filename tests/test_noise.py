from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import peerveil as pv
from peerveil.private import noise

VALID = np.array([1.0, 2.0])


@pytest.mark.parametrize(
    "vector",
    [
        np.array([1.0, np.nan]),
        np.array([np.inf, 1.0]),
        np.array([[1.0, 2.0]]),
        np.array([1, 2]),
        np.array([1.0, 2.0], dtype=np.float32),
        np.array([]),
    ],
)
def test_doubtful_vectors_never_reach_opendp(vector: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object) -> None:
        raise AssertionError("reached OpenDP")

    monkeypatch.setattr(noise, "_laplace", forbidden)
    with pytest.raises(pv.PeerveilError, match="nothing was released"):
        noise.perturb(vector, pv.Laplace(epsilon=1.0), 1.0)


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e3), st.integers(1, 50))
@settings(max_examples=200)
def test_the_loss_opendp_reports_is_within_the_claim(sensitivity: float, amount: float, length: int) -> None:
    vector = np.zeros(length)
    for mechanism in (pv.Laplace(epsilon=amount), pv.Laplace(scale=amount)):
        _, scale = noise.perturb(vector, mechanism, sensitivity)
        claim = mechanism.guarantee(sensitivity, "reviewer").epsilon
        assert claim is not None
        assert noise._laplace(length, scale, sensitivity)[1] <= claim
        assert scale == pytest.approx(mechanism.noise_scale(sensitivity), rel=1e-9)


def test_the_noise_is_laplace_of_the_right_scale() -> None:
    noisy, scale = noise.perturb(np.full(20_000, 3.0), pv.Laplace(epsilon=0.5), 2.0)
    assert scale == pytest.approx(4)
    assert stats.kstest(noisy - 3.0, stats.laplace(scale=4).cdf).pvalue > 1e-6  # one false alarm in a million


def test_noise_cannot_be_repeated() -> None:
    first, second = (noise.perturb(VALID, pv.Laplace(epsilon=1.0), 1.0)[0] for _ in range(2))
    assert first.tolist() != second.tolist()


def test_a_public_vector_needs_no_noise() -> None:
    noisy, scale = noise.perturb(VALID, pv.Laplace(epsilon=1.0), 0.0)
    assert (noisy.tolist(), scale) == ([1, 2], 0)
    assert pv.Laplace(epsilon=1.0).guarantee(0.0, "reviewer").epsilon == 0


@pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("argument", ["epsilon", "scale"])
def test_budgets_that_make_no_sense_are_refused(argument: str, value: float) -> None:
    with pytest.raises(pv.InputError, match=f"{argument} must be a finite number > 0, got"):
        pv.Laplace(**{argument: value})


def test_a_budget_or_a_scale_but_not_both_or_neither() -> None:
    for options in ({}, {"epsilon": 1.0, "scale": 1.0}):
        with pytest.raises(pv.InputError, match="one of the two"):
            pv.Laplace(**options)
    with pytest.raises(pv.InputError, match="words must say"):
        pv.External(words=" ")
