"""Claims: conversions against numerical divergences, composition against numerical convolution, and the words."""

from __future__ import annotations

import json
import math
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import opendp.prelude as dp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import fftconvolve

import peerveil as pv
from peerveil.mechanisms import OwnMechanism
from peerveil.privacy.accounting import delta_at, epsilon_at, rho_for
from peerveil.privacy.budget import Budget, Spend
from peerveil.privacy.guarantee import UNITS, Guarantee, Unit
from peerveil.privacy.noise_laws import LaplaceLaw, Law, NormalLaw, SinhNormalLaw
from peerveil.privacy.sensitivity import Sensitivity, sensitivity

Floats = npt.NDArray[np.float64]

rhos = st.floats(1e-6, 50)
deltas = st.floats(1e-12, 0.5)
omegas = st.one_of(st.just(math.inf), st.floats(1.01, 1e4))


def divergence(law: Law, shift: float, order: float) -> float:
    """The Rényi divergence of a law and the same law shifted, on a fine grid with a point at each of their middles."""
    fine = max(20, math.ceil(abs(shift) / law.deviation * 1000))
    step = shift / fine
    reach = math.ceil(40 * law.deviation / abs(step))
    x: Floats = step * np.arange(-reach, reach + fine, dtype=np.float64)
    logs = order * law.log_density(x) + (1 - order) * law.log_density(x - shift)
    logs = np.where(np.isnan(logs), -np.inf, logs)
    top = logs.max()
    return float((top + np.log(np.sum(np.exp(logs - top)) * abs(step))) / (order - 1))


def hockey_stick(first: Law, shift: float, epsilon: float) -> float:
    """The exact delta of one entry at an epsilon: the mass by which one law exceeds e^epsilon times the other."""
    reach = 60 * first.deviation + abs(shift)
    x = np.linspace(-reach, reach, 200_001)
    gap = np.exp(first.log_density(x)) - np.exp(epsilon + first.log_density(x - shift))
    return float(np.clip(gap, 0, None).sum() * (x[1] - x[0]))


@pytest.mark.parametrize("order", [1.1, 1.5, 2.0, 5.0, 20.0])
@pytest.mark.parametrize("shift", [0.1, 0.7, 2.0])
def test_normal_noise_has_the_rho_it_claims(order: float, shift: float) -> None:
    claim = pv.Gaussian(scale=1.3).guarantee(Sensitivity(l1=shift, l2=shift, linf=shift), "review")
    assert claim.rho is not None
    assert divergence(NormalLaw(sigma=1.3), shift, order) == pytest.approx(order * claim.rho, rel=1e-6)


@pytest.mark.parametrize("order", [1.1, 1.5, 2.0, 5.0, 20.0, 80.0])
@pytest.mark.parametrize("shift", [0.01, 0.3, 1.0, 3.0])
def test_pure_claims_are_concentrated_ones(order: float, shift: float) -> None:
    claim = pv.Laplace(scale=1.0).guarantee(Sensitivity(l1=shift, l2=shift, linf=shift), "review")
    rho = claim.as_concentrated().rho
    assert rho is not None
    assert divergence(LaplaceLaw(scale=1.0), shift, order) <= order * rho + 1e-7


@pytest.mark.promise("P-CLAIM-3")
@pytest.mark.parametrize("ratio", [0.02, 0.3, 0.9, 1.4])  # of sensitivity to scale: the theorem needs less than sqrt(2)
@pytest.mark.parametrize("width", [1.001, 3.0, 40.0])  # of the bound, relative to what the theorem needs
def test_sinh_normal_noise_keeps_the_claim_of_its_theorem(ratio: float, width: float) -> None:
    scale = 1.0
    shift = ratio * scale
    bound = max(math.sqrt(2) * scale, 8 * shift) * width
    both = Sensitivity(l1=shift, l2=shift, linf=shift)
    claim = pv.SinhNormal(scale=scale, bound=bound).guarantee(both, "review")
    assert claim.rho is not None
    assert claim.omega is not None
    law = SinhNormalLaw(sigma=scale, bound=bound)
    for order in np.geomspace(1.0009, claim.omega, 12):
        for sign in (-1, 1):
            assert divergence(law, sign * shift, float(order)) <= order * claim.rho


# Theorem C1.
@given(rhos, deltas, omegas)
@settings(max_examples=300)
def test_conversion_is_the_best_order_of_a_fine_grid(rho: float, delta: float, omega: float) -> None:
    orders = 1 + np.geomspace(1e-6, min(omega - 1, 1e8), 20_000)
    grid = orders * rho + np.log1p(-1 / orders) + (-math.log(delta) - np.log(orders)) / (orders - 1)
    found = epsilon_at(delta, rho, omega)
    assert found == pytest.approx(max(0.0, float(grid.min())), rel=1e-4, abs=1e-9)
    # never above the common formula, which is a weaker one
    log = math.log(1 / delta)
    common = rho + 2 * math.sqrt(rho * log) if log <= (omega - 1) ** 2 * rho else rho * omega + log / (omega - 1)
    assert found <= common * (1 + 1e-9)


@given(rhos, deltas, omegas)
@settings(max_examples=150)
def test_conversions_there_and_back(rho: float, delta: float, omega: float) -> None:
    epsilon = epsilon_at(delta, rho, omega)
    if epsilon > 1e-9:
        assert rho_for(epsilon, delta, omega) == pytest.approx(rho, rel=1e-6)
        assert epsilon_at(delta, rho_for(epsilon, delta, omega), omega) <= epsilon
        assert delta_at(epsilon, rho, omega) == pytest.approx(delta, rel=1e-3)
        assert delta_at(epsilon, rho, omega) >= delta * (1 - 1e-6)


@pytest.mark.promise("P-CLAIM-3")
@given(st.floats(0.05, 3.0), st.floats(1e-9, 0.1))
@settings(max_examples=60)
def test_conversions_are_never_below_the_true_loss_of_normal_noise(ratio: float, delta: float) -> None:
    epsilon = epsilon_at(delta, ratio**2 / 2)
    assert hockey_stick(NormalLaw(sigma=1.0), ratio, epsilon) <= delta * (1 + 1e-6)


@pytest.mark.parametrize("rho", [0.01, 0.3, 2.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-8])
def test_opendp_converts_no_lower(rho: float, delta: float) -> None:
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=2)
    gaussian = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=1 / math.sqrt(2 * rho))
    approximate: Any = dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(gaussian), delta)
    theirs, _ = approximate.map(1.0)
    assert epsilon_at(delta, rho) == pytest.approx(theirs, rel=1e-3)


def test_no_loss_is_no_loss() -> None:
    for claim in (
        Guarantee(kind="zcdp", unit="review", rho=0.0),
        Guarantee(kind="tcdp", unit="review", rho=0.0, omega=2.0),
        Guarantee(kind="pure", unit="review", epsilon=0.0),
    ):
        assert claim.epsilon_at(1e-9) == 0
        assert claim.delta_at(0.0) == 0


# Composition, by convolving the losses themselves.

STEP = 1e-3
PARTS: dict[str, tuple[OwnMechanism, Sensitivity]] = {
    "laplace": (pv.Laplace(scale=2.0), Sensitivity(l1=1.0, l2=1.0, linf=1.0)),
    "small laplace": (pv.Laplace(scale=20.0), Sensitivity(l1=1.0, l2=1.0, linf=1.0)),
    "gaussian": (pv.Gaussian(scale=4.0), Sensitivity(l1=1.0, l2=1.0, linf=1.0)),
    "sinh-normal": (pv.SinhNormal(scale=8.0, bound=160.0), Sensitivity(l1=1.0, l2=1.0, linf=1.0)),
}


def loss_distribution(law: Law, shift: float) -> tuple[int, Floats]:
    """The distribution of the loss ln p/q under p, on whole steps: the first step, and the masses. Rounded down."""
    reach = 12 * law.deviation
    x = np.linspace(-reach, reach, 400_001)
    mass = np.exp(law.log_density(x))
    loss = law.log_density(x) - law.log_density(x - shift)
    places = np.floor(loss / STEP).astype(np.int64)
    low = int(places.min())
    return low, np.bincount(places - low, weights=mass / mass.sum()).astype(np.float64)


def true_delta(names: list[str], epsilon: float) -> float:
    """A lower bound on the exact delta of releases together, as losses are rounded down."""
    parts = [
        loss_distribution(law, 1.0)
        for law in (mechanism.settle(bound).law for mechanism, bound in (PARTS[n] for n in names))
    ]
    assert len(parts) == len(names)
    low, masses = reduce(lambda one, two: (one[0] + two[0], fftconvolve(one[1], two[1])), parts)
    losses = STEP * (low + np.arange(masses.size))
    return float(np.sum(masses * np.clip(1 - np.exp(epsilon - losses), 0, None)))


@pytest.mark.promise("P-LEDGER-9")
@pytest.mark.parametrize(
    "names",
    [
        ["laplace"] * 2,
        ["small laplace"] * 6,
        ["gaussian"] * 3,
        ["laplace", "gaussian"],
        ["sinh-normal", "gaussian", "small laplace"],
        ["laplace", "sinh-normal", "gaussian"],
    ],
    ids=", ".join,
)
@pytest.mark.parametrize("delta", [1e-2, 1e-5])
def test_composition_is_never_below_the_true_loss(names: list[str], delta: float) -> None:
    claims = [mechanism.guarantee(bound, "reviewer") for mechanism, bound in (PARTS[n] for n in names)]
    together = pv.compose(claims)
    assert true_delta(names, together.epsilon_at(delta)) <= delta
    plain = pv.compose([claim.as_approximate(delta / len(claims)) for claim in claims])
    assert true_delta(names, plain.epsilon_at(delta)) <= delta
    budget = Budget.of(epsilon=4.0, delta=delta, omega=10.0)
    assert true_delta(names, budget.total([Spend.of(claim) for claim in claims])) <= delta
    assert true_delta(names, 0.5 * together.epsilon_at(delta)) > 0  # the loss is there to be found


# Theorem C4.
@given(st.lists(st.floats(0.01, 2), min_size=1, max_size=6), st.floats(1e-9, 1e-2))
@settings(max_examples=60)
def test_budgets_of_epsilon_and_delta_never_cost_more_than_adding_up(epsilons: list[float], delta: float) -> None:
    spends = [Spend.of(Guarantee(kind="pure", unit="review", epsilon=e)) for e in epsilons]
    total = Budget.of(epsilon=3.0, delta=delta).total(spends)
    assert total <= math.fsum(epsilons)
    assert Budget.of(epsilon=3.0).total(spends) == math.fsum(epsilons)
    assert Budget.of(rho=3.0).total(spends) == math.fsum(e**2 / 2 for e in epsilons)


@pytest.mark.promise("P-LEDGER-9")
def test_many_small_pure_releases_cost_less_where_delta_is_given() -> None:
    small = Spend.of(Guarantee(kind="pure", unit="review", epsilon=0.01))
    assert Budget.of(epsilon=1.0, delta=1e-6).total([small] * 400) < 1.5  # added up, 4


@pytest.mark.promise("P-PROTECTED-3")
def test_an_epsilon_for_reviews_is_another_one_for_reviewers() -> None:
    """Composition across units goes by way of the noise."""
    weights = pv.PublicWeights.from_rows([[0, 1]] * 8, load=4)
    mechanism = pv.Laplace(epsilon=1.0).settle(sensitivity(weights, "review"))
    both = {unit: mechanism.guarantee(sensitivity(weights, unit), unit).epsilon or 0.0 for unit in UNITS}
    assert both["review"] == pytest.approx(1.0)
    assert both["reviewer"] == pytest.approx(2 * (1 - 1 / 4) / (2 / 4))
    with pytest.raises(pv.InputError, match="must be for one unit"):
        pv.compose([Guarantee(kind="pure", unit=unit, epsilon=1.0) for unit in UNITS])


@pytest.mark.promise("P-CLAIM-4")
@pytest.mark.parametrize("unit", UNITS)
def test_the_promise_is_worded_as_it_must_be(unit: Unit) -> None:
    neighbours = {
        "reviewer": "differ only in that one reviewer's reviews were exchanged, one for one, with other reviewers'",
        "review": "differ only in that two reviewers exchanged one review each",
    }[unit]
    assert Guarantee(kind="pure", unit=unit, epsilon=1.0).promise == (
        f"Take any two assignments that fit the public record and {neighbours}. Whatever someone already knows, this "
        "release changes their odds between these two assignments by at most a factor e^1 = 2.72. Knowledge that ties "
        "many reviewers' assignments together can gain more."
    )
    assert Guarantee(kind="zcdp", unit=unit, rho=0.05).promise == (
        f"Take any two assignments that fit the public record and {neighbours}. Between these two, whatever someone "
        "already knows, the probability of any conclusion from this release rises from p to at most e^1.472 p + 1e-06, "
        "where e^1.472 = 4.36. Knowledge that ties many reviewers' assignments together can gain more."
    )
    careful = Guarantee(kind="tcdp", unit=unit, rho=0.05, omega=30.0, float_safe=False)
    assert "holds for ideal arithmetic" in careful.promise


@given(rhos, deltas)
def test_numbers_in_words_are_rounded_up(rho: float, delta: float) -> None:
    claim = Guarantee(kind="zcdp", unit="review", rho=rho, delta=delta)
    shown = float(claim.summary.split("epsilon = ")[1].split(" at")[0])
    assert claim.epsilon is not None
    assert claim.epsilon <= shown <= claim.epsilon * 1.0011


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "magic"}, "kind must be one of"),
        ({"kind": "pure", "unit": "paper", "epsilon": 1.0}, "unit must be"),
        ({"kind": "pure", "unit": "review"}, "epsilon must be a finite number of at least 0, got None"),
        ({"kind": "pure", "unit": "review", "epsilon": math.nan}, "got nan"),
        ({"kind": "pure", "unit": "review", "epsilon": 1.0, "delta": 0.1}, "has delta 0"),
        ({"kind": "pure", "unit": "review", "epsilon": 1.0, "rho": 0.1}, "belong to concentrated"),
        ({"kind": "approximate", "unit": "review", "epsilon": 1.0}, "delta must be a number between"),
        ({"kind": "zcdp", "unit": "review"}, "rho must be a finite number"),
        ({"kind": "zcdp", "unit": "review", "rho": 0.1, "omega": 3.0}, "has no omega"),
        ({"kind": "zcdp", "unit": "review", "rho": 0.1, "epsilon": 0.1}, "less than rho=0.1 comes to"),
        ({"kind": "zcdp", "unit": "review", "rho": 0.1, "delta": 0.0}, "delta must be a number between"),
        ({"kind": "tcdp", "unit": "review", "rho": 0.1}, "omega must be a finite number > 1, got None"),
        ({"kind": "stated", "unit": "review", "statement": "x"}, "no numbers of its own"),
        ({"kind": "pure", "unit": "review", "epsilon": 1.0, "statement": "x"}, "only a stated guarantee"),
    ],
)
def test_claims_that_make_no_sense_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(pv.InputError, match=message):
        Guarantee(**options)  # type: ignore[arg-type]


def test_what_cannot_be_added_up_or_converted_says_so() -> None:
    stated = Guarantee(kind="stated", statement="By us.")
    approximate = Guarantee(kind="approximate", unit="review", epsilon=1.0, delta=0.6)
    for call, message in (
        (lambda: pv.compose([]), "at least one"),
        (lambda: pv.compose([stated]), "no numbers of its own"),
        (lambda: stated.delta_at(1.0), "no numbers of its own"),
        (lambda: stated.epsilon_at(0.1), "says nothing"),
        (lambda: approximate.epsilon_at(0.1), "says nothing"),
        (approximate.as_concentrated, "cannot be made a concentrated one"),
        (lambda: pv.compose([approximate, approximate]), "promises nothing"),
    ):
        with pytest.raises(pv.InputError, match=message):
            call()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "one of the two"),
        ({"epsilon": 1.0, "rho": 1.0}, "one of the two"),
        ({"epsilon": 0.0}, "epsilon must be a finite number > 0"),
        ({"rho": math.inf}, "rho must be a finite number > 0"),
        ({"epsilon": 1.0, "delta": 1.0}, "delta must be"),
        ({"rho": 1.0, "omega": 1.0}, "omega must be a finite number > 1"),
        ({"epsilon": 1.0, "omega": 3.0}, "takes pure releases only"),
        ({"epsilon": 0.01, "delta": 1e-9, "omega": 1.5}, "cannot be reached with omega=1.5"),
    ],
)
def test_budgets_that_make_no_sense_are_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(pv.InputError, match=message):
        Budget.of(**options)


def test_budgets_refuse_claims_of_another_kind() -> None:
    truncated = Spend.of(Guarantee(kind="tcdp", unit="review", rho=0.1, omega=5.0))
    smooth = Spend.of(Guarantee(kind="zcdp", unit="review", rho=0.1))
    for budget, spend, message in (
        (Budget.of(epsilon=1.0), smooth, "use Laplace noise"),
        (Budget.of(rho=1.0), truncated, "omega of at least inf"),
        (Budget.of(rho=1.0, omega=6.0), truncated, "omega of at least 6"),
        (Budget.of(epsilon=1.0, delta=1e-6), truncated, "omega above"),
    ):
        with pytest.raises(pv.BudgetError, match=message):
            budget.total([spend])
    assert Budget.of(rho=1.0, omega=4.0).total([truncated, smooth]) == pytest.approx(0.2)


def test_a_small_loss_is_not_said_to_be_none() -> None:
    """At a large delta a small rho comes to epsilon 0; the release depends on the assignment all the same."""
    claim = Guarantee(kind="zcdp", unit="review", rho=1e-4, delta=0.05)
    assert claim.epsilon == 0
    assert "rises from p to at most e^0 p + 0.05, where e^0 = 1." in claim.promise


@pytest.mark.parametrize("number", [np.float64(0.5), np.float32(0.5), np.int64(1), 1])
def test_numbers_of_other_libraries_are_numbers(number: float) -> None:
    bound = Sensitivity(l1=1.0, l2=1.0, linf=1.0)
    for mechanism in (pv.Laplace(epsilon=number), pv.Gaussian(epsilon=number, delta=0.01), pv.Gaussian(rho=number)):
        claim = mechanism.guarantee(bound, "review")
        assert "np." not in claim.promise + claim.summary
        assert type(claim.epsilon) is float
        json.dumps(mechanism.describe())


@pytest.mark.parametrize("number", [True, "1", [1.0], None])
def test_what_is_no_number_is_refused(number: Any) -> None:
    with pytest.raises(pv.InputError, match=r"must be a number|one of the two"):
        pv.Laplace(epsilon=number)


def test_extremes_are_no_crash() -> None:
    assert epsilon_at(1e-6, 1e26) >= 1e26
    assert epsilon_at(1e-6, 1e-320) >= 0
    assert pv.Gaussian(scale=1e-13).guarantee(Sensitivity(l1=1.0, l2=1.0, linf=1.0), "review").rho is not None
    with pytest.raises(pv.InputError, match="of a sensible size"):
        rho_for(1e308, 1e-6)
    with pytest.raises(pv.InputError, match="at least 1"):
        epsilon_at(1e-6, 0.1, 1 + 1e-12)
