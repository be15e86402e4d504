"""Gaussian differential privacy: the exact curve, budgets that add up mu squared, and the noise it speaks of."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import opendp.prelude as dp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

import peerveil as pv
from peerveil.privacy.accounting import epsilon_at, rho_for
from peerveil.privacy.budget import Budget, Spend
from peerveil.privacy.gdp import _log_delta, gaussian_delta, gaussian_epsilon, gaussian_mu, mu_of_pure
from peerveil.privacy.guarantee import Guarantee
from peerveil.privacy.sensitivity import NONE, Sensitivity
from peerveil.private.ledger import Ledger

Floats = npt.NDArray[np.float64]

BOUND = Sensitivity(l1=3.0, l2=2.0, linf=1.5)
REVIEWS = pv.Reviews.from_columns([*"ppqqrr"], ["ann", "bob", "bob", "cem", "cem", "ann"], [3, 5, 4, 4, 8, 6])

mus = st.floats(math.log(1e-9), math.log(1e3)).map(math.exp)
deltas = st.floats(math.log(1e-300), math.log(0.9)).map(math.exp)


def gdp(rho: float, delta: float | None = None) -> Guarantee:
    return Guarantee(kind="gdp", unit="reviewer", rho=rho, delta=delta)


def exact_log_delta(mpmath: Any, epsilon: Any, mu: Any) -> Any:
    """The logarithm of Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2), in many digits."""
    mu = mpmath.mpf(mu)
    here, there = ((epsilon / mu - half) / mpmath.sqrt(2) for half in (mu / 2, -mu / 2))
    return mpmath.log(mpmath.erfc(here) / 2 - mpmath.exp(epsilon) * mpmath.erfc(there) / 2)


# Theorem C2.
@given(mus, st.floats(-1, 38))
@settings(max_examples=300)
def test_the_curve_is_exact_to_far_more_digits_than_it_is_rounded_by(mu: float, a: float) -> None:
    mpmath = pytest.importorskip("mpmath", reason="exact digits need mpmath, which comes with dp-accounting")
    a = max(a, -mu / 2)
    with mpmath.workdps(80):
        exact = exact_log_delta(mpmath, mpmath.mpf(mu) * (mpmath.mpf(a) + mpmath.mpf(mu) / 2), mu)
        assert abs(mpmath.mpf(_log_delta(a, mu)) - exact) < 1e-12


@given(mus, deltas)
@settings(max_examples=300)
def test_conversions_are_rounded_to_the_safe_side(mu: float, delta: float) -> None:
    mpmath = pytest.importorskip("mpmath", reason="exact digits need mpmath, which comes with dp-accounting")
    epsilon = gaussian_epsilon(delta, mu)
    with mpmath.workdps(80):
        assert exact_log_delta(mpmath, mpmath.mpf(epsilon), mu) <= mpmath.log(mpmath.mpf(delta))
        if epsilon > 0:
            assert exact_log_delta(mpmath, mpmath.mpf(epsilon) * (1 - mpmath.mpf(10) ** -9), mu) > mpmath.log(delta)
            asked = gaussian_mu(epsilon, delta)
            assert exact_log_delta(mpmath, mpmath.mpf(epsilon), asked) <= mpmath.log(mpmath.mpf(delta))
            assert gaussian_epsilon(delta, asked) <= epsilon
            # at epsilon near 0 delta hardly depends on it, so a little mu is much epsilon
            assert asked == pytest.approx(mu, rel=1e-8) or epsilon < 1e-3 * mu
        assert mpmath.mpf(gaussian_delta(epsilon, mu)) >= mpmath.exp(exact_log_delta(mpmath, mpmath.mpf(epsilon), mu))


@given(mus, deltas)
@settings(max_examples=200)
def test_a_gaussian_claim_is_never_above_the_concentrated_one(mu: float, delta: float) -> None:
    assert gaussian_epsilon(delta, mu) <= epsilon_at(delta, mu**2 / 2) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("epsilon", "delta", "saved"),
    [(0.5, 1e-6, 7.1), (1, 1e-6, 6.8), (3, 1e-6, 6.1), (0.5, 1e-9, 5.1), (1, 1e-9, 4.9), (3, 1e-9, 4.5)],
)
def test_how_much_deviation_is_saved(epsilon: float, delta: float, saved: float) -> None:
    """The numbers of docs/mathematics.md, in percent."""
    before = BOUND.l2 / math.sqrt(2 * rho_for(epsilon, delta))
    now = pv.Gaussian(epsilon=epsilon, delta=delta).settle(BOUND).law.deviation
    assert round(100 * (1 - now / before), 1) == saved


@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.4])
def test_extremes_are_no_crash(delta: float) -> None:
    assert gaussian_epsilon(delta, 0.0) == gaussian_delta(0.0, 0.0) == 0
    for mu in (1e-320, 1e-160, 1e-9):
        assert 0 <= gaussian_epsilon(delta, mu) < 1e-7
        assert 0 < gaussian_delta(0.0, mu) <= mu
    for mu in (1e13, 1e100):
        assert gaussian_epsilon(delta, mu) == pytest.approx(mu**2 / 2)
        assert gaussian_delta(1.0, mu) == 1
    assert gaussian_delta(1e300, 1.0) > 0  # less than any number, and not nothing
    assert gaussian_delta(1e300, 1e-140) > 0
    with pytest.raises(pv.InputError, match="of a sensible size"):
        gaussian_mu(1e308, delta)


def test_kinds_of_claims() -> None:
    one, other = gdp(0.02, 1e-5), gdp(0.03, 1e-5)
    both = pv.compose([one, other])
    assert (both.kind, both.rho, both.delta) == ("gdp", 0.05, 1e-5)
    assert both.epsilon == gaussian_epsilon(1e-5, math.sqrt(0.1))
    assert both.epsilon_at(1e-9) == gaussian_epsilon(1e-9, math.sqrt(0.1))
    assert both.delta_at(1.0) == gaussian_delta(1.0, math.sqrt(0.1))
    plain = one.as_concentrated()
    assert (plain.kind, plain.rho, plain.delta, plain.mu) == ("zcdp", 0.02, 1e-5, None)
    assert (plain.epsilon or 0) > (one.epsilon or math.inf)
    assert pv.compose([one, plain]).kind == "zcdp"
    assert pv.compose([one, Guarantee(kind="pure", unit="reviewer", epsilon=0.1)]).kind == "zcdp"
    assert pv.compose([one, Guarantee(kind="tcdp", unit="reviewer", rho=0.1, omega=5.0)]).kind == "tcdp"
    assert pv.compose([one, one.as_approximate()]).epsilon == 2 * (one.epsilon or 0)
    free = [Guarantee(kind="pure", unit="reviewer", epsilon=0.0), pv.Gaussian(rho=1.0).guarantee(NONE, "reviewer")]
    assert pv.compose([one, *free]).kind == "gdp"
    assert pv.compose(free).epsilon == 0
    with pytest.raises(pv.InputError, match="has no omega"):
        Guarantee(kind="gdp", unit="review", rho=0.1, omega=3.0)
    with pytest.raises(pv.InputError, match=r"less than rho=0\.1 comes to"):
        Guarantee(kind="gdp", unit="review", rho=0.1, epsilon=0.1)


# Theorem C3.
@given(st.floats(1e-6, 30), st.floats(1e-9, 1 - 1e-9))
def test_every_pure_loss_is_a_gaussian_one(epsilon: float, share: float) -> None:
    """Whatever test tells neighbours apart from a pure release tells two normal laws apart at least as well."""
    allowed = min(math.exp(epsilon) * share, 1 - math.exp(-epsilon) * (1 - share))
    assert allowed <= ndtr(ndtri(share) + mu_of_pure(epsilon)) * (1 + 1e-9)
    touched = 1 / (1 + math.exp(epsilon))  # where both are equal: mu is the least
    assert 1 - touched == pytest.approx(float(ndtr(ndtri(touched) + mu_of_pure(epsilon))), rel=1e-9)


# Budgets.


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-2])
def test_one_release_may_take_all_of_its_budget(epsilon: float, delta: float) -> None:
    budget = Budget.of(epsilon=epsilon, delta=delta)
    most = Spend.of(pv.Gaussian(epsilon=epsilon, delta=delta).guarantee(BOUND, "reviewer"))
    assert epsilon * (1 - 1e-9) <= budget.total([most]) <= epsilon * (1 + 1e-12)
    assert budget.total([most, most]) > epsilon * 1.2
    assert budget.total([most, Spend.of(Guarantee(kind="pure", unit="reviewer", epsilon=0.1))]) > epsilon * (1 + 1e-4)


def test_the_first_release_decides_how_a_budget_adds_up() -> None:
    """Which rule holds must not depend on what was released: see the adaptive chair below."""
    budget = Budget.of(epsilon=1.0, delta=1e-6)
    least, most = rho_for(1.0, 1e-6), gaussian_mu(1.0, 1e-6) ** 2 / 2
    pure = Spend.of(Guarantee(kind="pure", unit="reviewer", epsilon=0.01))
    nothing = Spend.of(Guarantee(kind="pure", unit="reviewer", epsilon=0.0))
    whole, part = Spend.of(gdp(most * 0.999)), Spend.of(gdp(least / 2))
    assert budget.adds_mu([nothing, whole, pure])
    assert not budget.adds_mu([pure, whole])
    assert not budget.adds_mu([part, part, part])
    assert not budget.adds_mu([])
    assert not Budget.of(rho=0.01).adds_mu([whole])
    assert not Budget.of(epsilon=1.0).adds_mu([pure])
    # By its divergence, a release that comes later is worth as much as a concentrated one.
    assert budget.total([part, Spend.of(gdp(most - least / 2))]) > 1.01
    assert budget.total([part, part]) == pytest.approx(1.0)
    truncated = Spend.of(Guarantee(kind="tcdp", unit="reviewer", rho=1e-6, omega=50.0))
    assert budget.total([part, truncated]) < 1
    with pytest.raises(pv.BudgetError, match="its first release, with normal noise, took most of it"):
        budget.total([whole, truncated])
    assert budget.total([whole, Spend.of(gdp(most * 0.001))]) == pytest.approx(1.0)
    mu = math.sqrt(2 * most * 0.999 + mu_of_pure(0.01) ** 2)
    assert budget.total([whole, pure]) == pytest.approx(gaussian_epsilon(1e-6, mu))


def worst_delta(cost: Callable[[float], float], epsilon: float, delta: float, parts: int) -> float:
    """The largest delta that a chair can reach who chooses each release in the light of those before it.

    A budget of mu squared is spent in whole parts, on normal noise or on randomised response (of all pure releases the
    one with the largest loss), whose price is ``cost``. By backward induction over the loss so far, on a grid.
    """
    whole = gaussian_mu(epsilon, delta) ** 2
    z = np.arange(-5, 6, 2e-3)
    x = np.arange(-7, 7.01, 0.04)
    weights = np.exp(-(x**2) / 2)
    weights /= weights.sum()

    def normal(value: Floats, squared: float) -> Floats:
        moves = squared / 2 + math.sqrt(squared) * x
        found: Floats = np.sum(
            [w * np.interp(z + move, z, value) for w, move in zip(weights, moves, strict=True)], axis=0
        )
        return found

    def response(value: Floats, loss: float) -> Floats:
        truth = 1 / (1 + math.exp(-loss))
        return truth * np.interp(z + loss, z, value) + (1 - truth) * np.interp(z - loss, z, value)

    prices = [whole * number / parts for number in range(1, parts + 1)]
    losses = [float(brentq(lambda loss, due=price: cost(loss) - due, 1e-9, 9)) for price in prices]
    values = [np.clip(1 - np.exp(epsilon - z), 0, None)]
    for left in range(1, parts + 1):
        choices = [values[-1]]
        for number in range(left):
            rest = values[left - number - 1]
            choices += [normal(rest, prices[number]), response(rest, losses[number])]
        values.append(np.max(choices, axis=0))
    return float(np.interp(0.0, z, values[-1]))


# Theorem C5.
def test_no_chair_overspends_a_budget_that_adds_up_mu_squared() -> None:
    assert worst_delta(lambda loss: mu_of_pure(loss) ** 2, 1.0, 1e-3, 5) == pytest.approx(1e-3, rel=1e-3)
    # At the price that pure releases have in rho, a chair would.
    assert worst_delta(lambda loss: loss**2, 1.0, 1e-3, 5) > 1.15e-3


def test_a_ledger_takes_a_release_as_large_as_its_budget(tmp_path: Path) -> None:
    place = str(tmp_path / "ledger.db")
    ledger = Ledger.create(place)
    ledger.open("conf", epsilon=1.0, delta=1e-6)
    whole = pv.Gaussian(epsilon=1.0, delta=1e-6)
    made = pv.release(REVIEWS, public="all", mechanism=whole, ledger=place)
    assert made.guarantee.kind == "gdp"
    (account,) = ledger.accounts()
    assert account.spent == pytest.approx(1.0)
    assert account.left == 0
    assert account.spends[0].gaussian
    for mechanism in (whole, pv.Gaussian(rho=1e-4), pv.Laplace(epsilon=0.01)):
        with pytest.raises(pv.BudgetError, match="0 of 1 is left; nothing was released"):
            pv.release(REVIEWS, public="all", mechanism=mechanism, ledger=place)


# Releases.


@pytest.mark.parametrize(
    "mechanism", [pv.Gaussian(epsilon=1.0, delta=1e-6), pv.Gaussian(rho=0.1)], ids=["epsilon", "rho"]
)
def test_releases_state_the_kind_of_their_version(mechanism: pv.Gaussian, tmp_path: Path) -> None:
    made = pv.release(REVIEWS, public="all", mechanism=mechanism)
    made.save(tmp_path / "made", report=False)
    weights = pv.weigh(REVIEWS.public("all"))
    assert pv.Release.load(tmp_path / "made").guarantee == made.guarantee
    assert pv.verify(tmp_path / "made", weights)
    weaker = replace(made, guarantee=made.guarantee.as_concentrated())
    weaker.save(tmp_path / "weaker", report=False)
    assert pv.verify(tmp_path / "weaker", weights).failed == ("guarantee",)
    # Version 0.1.0 knew no other kind.
    replace(weaker, schema=1, chance=None, evidence=None, within=None, shapes=None, tails=None).save(
        tmp_path / "earlier", report=False
    )
    assert pv.verify(tmp_path / "earlier", weights)


# The noise itself.


@pytest.mark.parametrize("scale", [1e-150, 0.3, 1e150])
def test_opendp_draws_on_the_finest_grid_there_is(scale: float) -> None:
    """Noise is normal to within its rounding only if the grid on which it is drawn is far finer than its deviation."""
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=3), dp.l2_distance(T=float)

    def rho(k: int | None = None) -> float:
        noise: Any = dp.m.make_gaussian(*space, scale=scale, k=k)
        return float(noise.map(scale))

    assert rho() == rho(k=-1074) == 0.5  # the grid of the smallest number there is: no vector is rounded to it
    if scale == 1e-150:
        assert rho(k=-520) > 0.5
