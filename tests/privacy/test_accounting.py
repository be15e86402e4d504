"""Conversions and compositions against Google's dp_accounting, which computes losses in other ways.

Its *privacy loss distributions*, rounded to the optimistic side, are lower bounds on the true loss, whatever the
accounting; no claim may be below. Its Rényi accountant converts by the same theorem; given orders near ours it must
find the same.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache, reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import peerveil as pv
from peerveil.mechanisms import OwnMechanism
from peerveil.privacy.accounting import best_order, delta_at, epsilon_at, rho_for
from peerveil.privacy.budget import Budget, Spend
from peerveil.privacy.gdp import gaussian_epsilon, gaussian_mu
from peerveil.privacy.guarantee import Guarantee
from peerveil.privacy.sensitivity import Sensitivity

reference = pytest.importorskip("dp_accounting", reason="dp-accounting is not installed; it comes with peerveil[dev]")
pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
rdp = pytest.importorskip("dp_accounting.rdp.rdp_privacy_accountant")

#: A part of a release: which noise, and the scale that it has at sensitivity 1.
Part = tuple[str, float]

ONE = Sensitivity(l1=1.0, l2=1.0, linf=1.0, counts=2)
MECHANISMS: dict[str, type[pv.Laplace | pv.Gaussian | pv.Histogram]] = {
    "laplace": pv.Laplace,
    "gaussian": pv.Gaussian,
    "histogram": pv.Histogram,
}

rhos = st.floats(math.log(1e-5), math.log(20)).map(math.exp)
deltas = st.floats(math.log(1e-12), math.log(0.2)).map(math.exp)
omegas = st.one_of(st.just(math.inf), st.floats(1.1, 500))
SCALES = {"laplace": (1.0, 4.0, 15.0), "gaussian": (1.5, 4.0, 9.0), "histogram": (2.0, 7.0)}
parts = st.sampled_from([(name, scale) for name, scales in SCALES.items() for scale in scales])


def claim_of(part: Part) -> Guarantee:
    mechanism: OwnMechanism = MECHANISMS[part[0]](scale=part[1])
    return mechanism.guarantee(ONE, "reviewer")


@lru_cache
def distribution(part: Part, step: float) -> Any:
    """What dp_accounting makes of a part, rounded so that the loss is not overstated."""
    name, scale = part
    options: dict[str, Any] = {
        "pessimistic_estimate": False,
        "value_discretization_interval": step,
        "use_connect_dots": False,
    }
    if name == "laplace":
        return pld.from_laplace_mechanism(scale, **options)
    if name == "gaussian":
        return pld.from_gaussian_mechanism(scale, **options)
    return pld.from_discrete_laplace_mechanism(1 / scale, sensitivity=ONE.counts, **options)


def true_delta(composed: Sequence[Part], epsilon: float, step: float = 1e-3) -> float:
    """A lower bound on the true delta of releases together."""
    together = reduce(lambda one, two: one.compose(two), (distribution(part, step) for part in composed))
    return float(together.get_delta_for_epsilon(epsilon))


def orders_near(order: float, omega: float = math.inf) -> list[float]:
    """Orders for dp_accounting, dense around one; it takes none below 1.01."""
    assume(order > 1.02)
    near = 1 + (order - 1) * np.exp(np.linspace(-2e-3, 2e-3, 401))
    wide = 1 + np.geomspace(1e-2, 1e6, 400)
    inside = [float(a) for a in np.concatenate([near, wide]) if 1.01 < a < omega]
    return [*inside, omega] if math.isfinite(omega) else inside


# Conversions.


@given(rhos, deltas, omegas)
@settings(max_examples=150, deadline=None)
def test_renyi_conversions_are_those_of_the_reference(rho: float, delta: float, omega: float) -> None:
    epsilon = epsilon_at(delta, rho, omega)
    assume(epsilon > 1e-6)
    orders = orders_near(best_order(epsilon, delta, omega), omega)
    curve = [order * rho for order in orders]
    theirs, _ = rdp.compute_epsilon(orders, curve, delta)
    assert epsilon >= theirs * (1 - 1e-9)
    # Theirs also knows that a small divergence is epsilon 0 at a large delta.
    assert theirs == 0 or epsilon <= theirs * (1 + 1e-9)
    their_delta, _ = rdp.compute_delta(orders, curve, epsilon)
    ours = delta_at(epsilon, rho, omega)
    assert ours >= min(their_delta, delta) * (1 - 1e-9)


@given(st.floats(math.log(0.01), math.log(30)).map(math.exp), deltas, omegas)
@settings(max_examples=100, deadline=None)
def test_no_rho_is_more_than_the_reference_admits(epsilon: float, delta: float, omega: float) -> None:
    try:
        rho = rho_for(epsilon, delta, omega)
    except pv.InputError:  # out of reach for this omega
        assume(False)
    orders = orders_near(best_order(epsilon, delta, omega), omega)
    theirs, _ = rdp.compute_epsilon(orders, [order * rho for order in orders], delta)
    assert theirs <= epsilon * (1 + 1e-9)
    assert true_delta_of_normal(math.sqrt(2 * rho), epsilon) <= delta * (1 + 1e-9)


def true_delta_of_normal(mu: float, epsilon: float) -> float:
    """The exact delta of normal noise, by dp_accounting's own formula."""
    return float(np.exp(reference.gaussian_mechanism._get_log_delta(1 / mu, epsilon)))


@given(st.floats(math.log(0.01), math.log(20)).map(math.exp), deltas)
@settings(max_examples=200, deadline=None)
def test_normal_noise_is_that_of_the_reference(epsilon: float, delta: float) -> None:
    mu = gaussian_mu(epsilon, delta)
    theirs = reference.get_sigma_gaussian(epsilon, delta)
    assert 1 / mu == pytest.approx(theirs, rel=1e-7)
    assert 1 / mu >= theirs * (1 - 1e-9)
    settled = pv.Gaussian(epsilon=epsilon, delta=delta).settle(ONE)
    assert settled.law.deviation >= theirs * (1 - 1e-9)
    assert gaussian_epsilon(delta, mu) == pytest.approx(reference.get_epsilon_gaussian(1 / mu, delta), rel=1e-6)
    assert gaussian_epsilon(delta, mu) >= reference.get_epsilon_gaussian(1 / mu, delta) * (1 - 1e-8)


@pytest.mark.parametrize("part", [("laplace", 1.0), ("laplace", 0.3), ("histogram", 2.0), ("gaussian", 1.0)])
def test_single_releases_are_never_below_the_true_loss(part: Part) -> None:
    claim = claim_of(part)
    for delta in (1e-9, 1e-6, 1e-3, 0.1):
        assert true_delta([part], claim.epsilon_at(delta), 1e-4) <= delta
        assert true_delta([part], claim.as_concentrated().epsilon_at(delta), 1e-4) <= delta
    for epsilon in (0.01, 0.1, 0.5, 0.99, 1.0, 2.0):
        assert true_delta([part], epsilon, 1e-4) <= claim.delta_at(epsilon) + 1e-15
        assert true_delta([part], epsilon, 1e-4) <= claim.as_concentrated().delta_at(epsilon) + 1e-15
    if claim.kind == "pure":
        assert true_delta([part], claim.epsilon or 0.0, 1e-4) <= 1e-15
        assert true_delta([part], 0.99 * (claim.epsilon or 0.0), 1e-4) > 0  # the claim is no larger than it must be


# Compositions.


@pytest.mark.promise("P-LEDGER-9")
@given(st.lists(parts, min_size=1, max_size=6), st.sampled_from([1e-9, 1e-6, 1e-3, 1e-1]))
@settings(max_examples=60, deadline=None)
def test_compositions_are_never_below_the_true_loss(composed: list[Part], delta: float) -> None:
    claims = [claim_of(part) for part in composed]
    together = pv.compose(claims)
    basic = pv.compose([claim.as_approximate(delta / len(claims)) for claim in claims])
    assert basic.kind == "approximate"
    assert basic.delta == pytest.approx(delta)
    spends = [Spend.of(claim) for claim in claims]
    totals = [
        together.epsilon_at(delta),
        together.as_concentrated().epsilon_at(delta),
        together.as_approximate(delta).epsilon or 0.0,
        basic.epsilon or 0.0,
        *(Budget.of(epsilon=epsilon, delta=delta).total(spends) for epsilon in (0.1, 1.0, 5.0)),
        Budget.of(rho=1.0, delta=delta).spent_epsilon(spends),
    ]
    for epsilon in totals:
        assert true_delta(composed, epsilon) <= delta


@pytest.mark.parametrize("count", [2, 5, 20])
@pytest.mark.parametrize("part", [("laplace", 5.0), ("gaussian", 5.0), ("histogram", 10.0)], ids=lambda part: part[0])
@pytest.mark.parametrize("delta", [1e-8, 1e-5, 1e-2])
def test_many_alike_are_never_below_the_true_loss(part: Part, count: int, delta: float) -> None:
    together = pv.compose([claim_of(part)] * count)
    composed = distribution(part, 1e-4).self_compose(count)
    for epsilon in (together.epsilon_at(delta), together.as_concentrated().epsilon_at(delta)):
        assert composed.get_delta_for_epsilon(epsilon) <= delta
    if part[0] == "gaussian":  # exact, so the true loss is right below
        assert composed.get_delta_for_epsilon(together.epsilon_at(delta) * 0.999) > delta * (1 - 1e-3)


@given(st.lists(parts, min_size=1, max_size=6), deltas)
@settings(max_examples=60, deadline=None)
def test_compositions_are_never_below_the_renyi_accountant(composed: list[Part], delta: float) -> None:
    """As concentrated claims: dp_accounting knows each noise's divergence exactly, and we bound it."""
    together = pv.compose([claim_of(part) for part in composed]).as_concentrated()
    epsilon = together.epsilon_at(delta)
    assume(epsilon > 1e-6)
    accountant = rdp.RdpAccountant(orders=orders_near(best_order(epsilon, delta)))
    for name, scale in composed:
        if name != "histogram":  # it has no event of its own there; Laplace noise of the same epsilon loses no less
            events = {"laplace": reference.LaplaceDpEvent, "gaussian": reference.GaussianDpEvent}
            accountant.compose(events[name](scale))
        else:
            accountant.compose(reference.LaplaceDpEvent(scale / (ONE.counts or 1)))
    assert accountant.get_epsilon(delta) <= epsilon * (1 + 1e-9)


@given(st.lists(st.floats(1e-3, 2), min_size=1, max_size=8), deltas)
@settings(max_examples=60, deadline=None)
def test_concentrated_claims_compose_as_in_the_reference(losses: list[float], delta: float) -> None:
    together = pv.compose([Guarantee(kind="zcdp", unit="review", rho=rho) for rho in losses])
    epsilon = together.epsilon_at(delta)
    accountant = rdp.RdpAccountant(orders=orders_near(best_order(epsilon, delta)))
    for rho in losses:
        accountant.compose(reference.ZCDpEvent(rho=rho))
    theirs = accountant.get_epsilon(delta)
    assert theirs * (1 - 1e-9) <= epsilon
    assert theirs == 0 or epsilon <= theirs * (1 + 1e-9)
