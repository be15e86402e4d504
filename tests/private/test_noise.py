from __future__ import annotations

import inspect
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import peerveil as pv
from peerveil.mechanisms import OWN, Described, Mechanism, mechanism_from
from peerveil.privacy.noise_laws import LaplaceLaw
from peerveil.privacy.sensitivity import NONE, Sensitivity
from peerveil.private import noise

VALID = np.array([1.0, 2.0])
UNIT = Sensitivity(l1=1.0, l2=1.0, linf=1.0)


def sensitivities(norm: float) -> Sensitivity:
    """Norms that fit together."""
    return Sensitivity(l1=norm, l2=norm * 0.75, linf=norm * 0.5)


@pytest.mark.parametrize(
    "vector",
    [
        np.array([1.0, np.nan]),
        np.array([np.inf, 1.0]),
        np.array([[1.0, 2.0]]),
        np.array([1, 2]),
        np.array([1.0, 2.0], dtype=np.float32),
        np.array([]),
        np.array([1.0, 2.0, 3.0]),
    ],
)
@pytest.mark.parametrize("mechanism", [pv.Laplace(epsilon=1.0), pv.Gaussian(rho=1.0)], ids=["laplace", "gaussian"])
def test_doubtful_vectors_never_reach_opendp(
    vector: np.ndarray, mechanism: Mechanism, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(_: object) -> list[float]:
        raise AssertionError("reached OpenDP")

    monkeypatch.setitem(noise._DRAWS, mechanism.name, lambda *_: noise.Source(forbidden))
    prepared = noise.prepare(mechanism, UNIT, "reviewer", 2)
    with pytest.raises(pv.PeerveilError, match="nothing was released"):
        prepared.draw(vector)
    with pytest.raises(AssertionError):  # a good one does: the check above is not vacuous
        prepared.draw(VALID)


def test_an_empty_vector_is_refused() -> None:
    with pytest.raises(pv.PeerveilError, match="nothing was released"):
        noise.prepare(pv.Laplace(epsilon=1.0), UNIT, "reviewer", 0)


@pytest.mark.promise("P-CLAIM-1")
@given(st.floats(1e-6, 1e6), st.floats(1e-6, 1e3), st.integers(1, 50))
@settings(max_examples=200)
def test_the_loss_opendp_reports_is_within_the_claim(norm: float, amount: float, length: int) -> None:
    bound = sensitivities(norm)
    for mechanism in (
        pv.Laplace(epsilon=amount),
        pv.Laplace(scale=amount),
        pv.Gaussian(rho=amount),
        pv.Gaussian(scale=amount),
    ):
        prepared = noise.prepare(mechanism, bound, "reviewer", length)
        assert prepared.settled is not None
        loss = noise._DRAWS[mechanism.name](prepared.settled.law, length).loss(bound)
        claimed = prepared.guarantee.epsilon if prepared.guarantee.rho is None else prepared.guarantee.rho
        assert claimed is not None
        assert 0 < loss <= claimed
        assert prepared.settled.law.deviation == pytest.approx(mechanism.settle(bound).law.deviation, rel=1e-9)


@pytest.mark.promise("P-KEPT-6")
@given(st.floats(1e-9, 1e9), st.floats(1e-6, 1e3), st.floats(1e-12, 0.5))
@settings(max_examples=100)
def test_budget_to_noise_and_back(norm: float, amount: float, delta: float) -> None:
    """A claim computed from noise is the budget that the noise was made for, and never less."""
    bound = sensitivities(norm)
    back = pv.Laplace(epsilon=amount).settle(bound).guarantee(bound, "review")
    assert back.epsilon is not None
    assert amount <= back.epsilon <= amount * (1 + 1e-12)
    back = pv.Gaussian(rho=amount).settle(bound).guarantee(bound, "review")
    assert back.rho is not None
    assert amount * (1 - 1e-15) <= back.rho <= amount * (1 + 1e-12)
    back = pv.Gaussian(epsilon=amount, delta=delta).settle(bound).guarantee(bound, "review")
    assert back.epsilon_at(delta) == pytest.approx(amount, rel=1e-8)
    omega = max(2.0, 2 * bound.l2 / bound.linf / math.sqrt(amount))
    try:
        back = pv.SinhNormal(rho=amount, omega=omega).settle(bound).guarantee(bound, "review")
    except pv.InputError:
        assert amount > 10  # noise smaller than the sensitivity is outside the theorem
    else:
        assert back.rho == pytest.approx(amount, rel=1e-12)
        assert back.omega == pytest.approx(omega, rel=1e-12)


DRAWN: list[tuple[Mechanism, Any]] = [
    (pv.Laplace(epsilon=0.5), stats.laplace(scale=4)),
    (pv.Gaussian(rho=0.5), stats.norm(scale=1.5)),
]


@pytest.mark.parametrize(("mechanism", "law"), DRAWN, ids=["laplace", "gaussian"])
def test_the_noise_has_its_law(mechanism: Mechanism, law: Any) -> None:
    drawn = noise.prepare(mechanism, sensitivities(2.0), "reviewer", 10_000).draw(np.full(10_000, 3.0))
    assert stats.kstest(drawn - 3.0, law.cdf).pvalue > 1e-6  # one false alarm in a million


def test_sinh_normal_noise_has_its_law() -> None:
    mechanism = pv.SinhNormal(scale=8.0, bound=12.0)
    drawn = noise.prepare(mechanism, UNIT, "reviewer", 10_000).draw(np.zeros(10_000))
    normal = 12.0 * np.sinh(drawn / 12.0)
    assert stats.kstest(normal, stats.norm(scale=8.0).cdf).pvalue > 1e-6


@pytest.mark.promise("P-KEPT-6")
@given(st.floats(1e-9, 1e9), st.floats(1e-6, 1e3))
@settings(max_examples=100)
def test_the_scale_is_never_below_sensitivity_divided_by_epsilon(norm: float, epsilon: float) -> None:
    """In exact arithmetic, of the noise that is drawn; and above by round-off alone."""
    bound = sensitivities(norm)
    prepared = noise.prepare(pv.Laplace(epsilon=epsilon), bound, "reviewer", 2)
    assert prepared.settled is not None
    assert isinstance(prepared.settled.law, LaplaceLaw)
    exact = Fraction(bound.l1) / Fraction(epsilon)
    assert exact <= Fraction(prepared.settled.law.scale) <= exact * (1 + Fraction(1, 10**12))


@pytest.mark.promise("P-KEPT-5")
def test_noise_cannot_be_repeated() -> None:
    for mechanism in (pv.Laplace(epsilon=1.0), pv.Gaussian(rho=1.0), pv.SinhNormal(scale=8.0, bound=12.0)):
        prepared = noise.prepare(mechanism, UNIT, "reviewer", 2)
        first, second = (prepared.draw(VALID) for _ in range(2))
        assert first.tolist() != second.tolist()
    counted = noise.prepare(pv.Histogram(scale=1e6), replace(UNIT, counts=2), "reviewer", 2)
    one, other = (counted.draw_counts(np.array([1, 2])) for _ in range(2))
    assert one.tolist() != other.tolist()
    for function in (pv.release, pv.release_groups, pv.release_by, pv.effect, pv.correlate, noise.prepare):
        assert not {"seed", "rng", "random_state"} & inspect.signature(function).parameters.keys(), function


@pytest.mark.parametrize(
    "mechanism",
    [pv.Laplace(epsilon=1.0), pv.Gaussian(rho=1.0), pv.SinhNormal(rho=1.0, omega=4.0)],
    ids=lambda m: m.name,
)
def test_a_public_vector_needs_no_noise(mechanism: Mechanism) -> None:
    prepared = noise.prepare(mechanism, NONE, "reviewer", 2)
    assert prepared.draw(VALID).tolist() == [1, 2]
    assert prepared.guarantee.epsilon == 0
    assert "says nothing more about who wrote which review" in prepared.guarantee.promise


@pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf")])
@pytest.mark.parametrize(
    ("make", "argument", "others"),
    [
        (pv.Laplace, "epsilon", {}),
        (pv.Laplace, "scale", {}),
        (pv.Histogram, "epsilon", {"bins": 4}),
        (pv.Histogram, "scale", {}),
        (pv.Gaussian, "rho", {}),
        (pv.Gaussian, "epsilon", {"delta": 1e-6}),
        (pv.Gaussian, "scale", {}),
        (pv.SinhNormal, "rho", {"omega": 3.0}),
        (pv.SinhNormal, "scale", {"bound": 3.0}),
        (pv.SinhNormal, "bound", {"scale": 3.0}),
    ],
)
def test_budgets_that_make_no_sense_are_refused(
    make: type, argument: str, others: dict[str, float], value: float
) -> None:
    with pytest.raises(pv.InputError, match=f"{argument} must be a finite number > 0, got"):
        make(**{argument: value}, **others)


@pytest.mark.parametrize("delta", [0, 1, -0.1, 2.0, float("nan")])
def test_delta_is_a_probability(delta: float) -> None:
    for make in (
        lambda: pv.Gaussian(epsilon=1.0, delta=delta),
        lambda: pv.Gaussian(rho=1.0, delta=delta),
        lambda: pv.SinhNormal(rho=1.0, omega=3.0, delta=delta),
        lambda: pv.Guarantee(kind="zcdp", unit="review", rho=0.1).epsilon_at(delta),
    ):
        with pytest.raises(pv.InputError, match="delta must be a number between 0 and 1, both excluded"):
            make()


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (pv.Laplace, {}),
        (pv.Laplace, {"epsilon": 1.0, "scale": 1.0}),
        (pv.Histogram, {}),
        (pv.Histogram, {"epsilon": 1.0, "scale": 1.0}),
        (pv.Gaussian, {}),
        (pv.Gaussian, {"rho": 1.0, "scale": 1.0}),
        (pv.Gaussian, {"epsilon": 1.0, "rho": 1.0, "delta": 0.1}),
        (pv.SinhNormal, {}),
        (pv.SinhNormal, {"rho": 1.0}),
        (pv.SinhNormal, {"rho": 1.0, "bound": 1.0}),
        (pv.SinhNormal, {"rho": 1.0, "omega": 2.0, "scale": 1.0}),
    ],
)
def test_a_budget_or_noise_but_not_both_or_neither(make: type, options: dict[str, float]) -> None:
    with pytest.raises(pv.InputError, match="one of the"):
        make(**options)


def test_what_goes_together_must_come_together() -> None:
    with pytest.raises(pv.InputError, match="needs delta= along with epsilon="):
        pv.Gaussian(epsilon=1.0)
    with pytest.raises(pv.InputError, match="words must say"):
        pv.External(words=" ")
    with pytest.raises(pv.InputError, match="law must state the noise on the vector itself"):
        pv.External(words="By us.", law=pv.Laplace(epsilon=1.0))
    for omega in (1.0, 0.5, math.inf, math.nan):
        with pytest.raises(pv.InputError, match="omega must be a finite number > 1"):
            pv.SinhNormal(rho=1.0, omega=omega)


@pytest.mark.parametrize(
    ("scale", "bound", "remedy"),
    [(0.7, 20.0, "larger scale"), (15.0, 20.0, "larger bound"), (1.0, 8.0, "above 8 times")],
)
def test_sinh_normal_outside_its_theorem_is_refused(scale: float, bound: float, remedy: str) -> None:
    with pytest.raises(pv.InputError, match=remedy):
        pv.SinhNormal(scale=scale, bound=bound).guarantee(UNIT, "reviewer")
    with pytest.raises(pv.InputError, match=remedy):
        noise.prepare(pv.SinhNormal(scale=scale, bound=bound), UNIT, "reviewer", 3)


@pytest.mark.parametrize(
    "mechanism",
    [
        pv.Laplace(scale=2.0),
        pv.Gaussian(scale=2.0, delta=1e-7),
        pv.Gaussian(epsilon=1.0, delta=1e-7),
        pv.SinhNormal(scale=2.0, bound=20.0),
        pv.Histogram(scale=2.0),
        pv.Histogram(epsilon=2.0, bins=12),
        pv.External(words="By us."),
        pv.External(words="By us.", law=pv.Gaussian(scale=3.0)),
    ],
    ids=lambda m: m.name,
)
def test_mechanisms_can_be_read_from_their_description(mechanism: Described) -> None:
    assert mechanism_from(mechanism.describe()) == mechanism


def test_unknown_descriptions_are_no_error() -> None:
    for described in ({"name": "magic"}, {}, {"name": "laplace", "scale": -1.0}, {"name": "laplace", "size": 1.0}):
        assert mechanism_from(described) is None
    assert sorted(OWN) == ["gaussian", "histogram", "laplace", "sinh-normal"]
