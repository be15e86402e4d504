from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

import peerveil as pv
from peerveil.inference.assignments import deal
from peerveil.regions.isotonic import Curves
from peerveil.regions.projection import GAP_TOLERANCE
from peerveil.regions.quadratic_programme import Programme
from reference.support import support
from reference.theta import theta
from strategies import Case, cases

KINDS = ("baseline", "chain")


def noise_for(case: Case, seed: int, size: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    low, high = case.weights().span
    return np.array(case.truth()) + rng.laplace(scale=size * ((high - low) or 1.0), size=case.reviewers)


@given(cases(), st.integers(0, 2**32), st.sampled_from([1e-6, 1e-3, 0.1, 1.0, 100.0]), st.sampled_from(KINDS))
@settings(max_examples=300)
def test_projection_is_optimal_by_an_independent_programme(case: Case, seed: int, size: float, kind: str) -> None:
    region = pv.region(case.weights(), kind)
    r = noise_for(case, seed, size)
    projection = pv.project(r, region)
    assert region.contains(projection.values)
    # h(r - t) <= (r - t)·t, in coordinates centred on t so that large offsets do not cancel
    d = r - projection.values
    unit = max(float(np.max(np.abs(d))), region.spread)
    if unit > 1e-200:
        centred = pv.Region(
            name="centred",
            lower=(region.lower - projection.values[0]) / unit,
            upper=(region.upper - projection.values[0]) / unit,
            cumulative_lower=region.cumulative_lower,
            cumulative_upper=region.cumulative_upper,
            total=tuple((side - case.reviewers * projection.values[0]) / unit for side in region.total),
        )
        gap = support(centred, d / unit) - (d / unit) @ ((projection.values - projection.values[0]) / unit)
        assert gap <= 1e-6 * case.reviewers  # HiGHS works to 1e-7
        # Entries far from 0 are rounded themselves, which the residual multiplies.
        rounded = float(np.spacing(np.abs(projection.values).max()) * np.abs(d).sum())
        assert projection.gap <= GAP_TOLERANCE * case.reviewers * (unit + np.abs(d).max()) ** 2 + rounded


# Theorem R1.
@pytest.mark.promise("P-BUDGET-3")
@given(cases(most_reviews=7), st.integers(0, 2**32), st.sampled_from([1e-3, 0.1, 1.0, 100.0]), st.sampled_from(KINDS))
@settings(max_examples=200)
def test_never_less_accurate_whatever_the_truth(case: Case, seed: int, size: float, kind: str) -> None:
    r = noise_for(case, seed, size)
    t = pv.project(r, pv.region(case.weights(), kind)).values
    for vector in theta(case.rows, case.loads):
        truth = np.array([float(x) for x in vector])
        before, after = np.linalg.norm(r - truth), np.linalg.norm(t - truth)
        assert after <= before + 1e-7 * np.linalg.norm(r - t) + 1e-12 * np.abs(truth).max()


@given(cases())
def test_members_are_left_as_they_are(case: Case) -> None:
    region = pv.region(case.weights(), "chain")
    member = pv.project(np.linspace(region.upper[-1], region.lower[0], case.reviewers), region).values
    again = pv.project(member, region)
    assert np.sum((again.values - member) ** 2) <= again.gap + (case.reviewers * region.slack(1e-9)) ** 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e4])
def test_a_conference_sized_projection_is_certified(kind: str, size: float) -> None:
    rng = np.random.default_rng(5)
    rows = rng.beta(2, 2, size=(2000, 3))
    region = pv.region(pv.PublicWeights.from_rows(rows, load=3), kind)
    truth = np.sort(rng.permutation(rows.ravel()).reshape(2000, 3).mean(axis=1))
    r = truth + rng.laplace(scale=size, size=2000)
    projection = pv.project(r, region)
    assert region.contains(projection.values)
    assert np.linalg.norm(projection.values - truth) <= np.linalg.norm(r - truth)


def test_bounds_on_running_sums_bind() -> None:
    # theta_1 + theta_2 >= 3 of ascending vectors with total 6: the nearest to (0, 0, 6) is (1.5, 1.5, 3).
    region = pv.Region(
        name="sums",
        lower=np.zeros(3),
        upper=np.full(3, 6.0),
        cumulative_lower=np.array([-np.inf, -np.inf, 3, -np.inf]),
        cumulative_upper=np.array([np.inf, 1.6, np.inf, np.inf]),
        total=(6.0, 6.0),
    )
    for r, expected in (([0, 0, 6], [1.5, 1.5, 3]), ([4, 4, 4], [1.6, 2.2, 2.2])):
        projection = pv.project(r, region)
        assert projection.gap < 1e-9
        assert np.sum((projection.values - expected) ** 2) <= projection.gap + 1e-15
    assert support(region, np.array([0, 0, 1.0])) == pytest.approx(3)


def test_a_free_total_is_left_free() -> None:
    weights = pv.PublicWeights.from_rows([[0, 1], [0, 1]], loads={1: 2, 2: 1})
    region = pv.region(weights, "baseline")
    assert region.total == (1, 2)  # 0 + 0 + (1 + 1)/2 at the least, 1 + 1 + (0 + 0)/2 at the most
    assert pv.project([0.1, 0.3, 0.9], region).values.tolist() == [0.1, 0.3, 0.9]


def test_projecting_on_a_set_that_is_not_convex_can_hurt() -> None:
    """The paper's counter-example: the nearest possible value is worse on average than the noisy one."""
    possible = np.array([-4.0, -2, 0, 2, 4])

    def expected(process: object) -> float:
        def integrand(x: float) -> float:
            return float(0.5 * np.exp(-abs(x)) * process(x) ** 2)  # type: ignore[operator]

        return sum(quad(integrand, a, b)[0] for a, b in ((-60, -3), (-3, -1), (-1, 0), (0, 1), (1, 3), (3, 60)))

    hull = pv.Region(
        name="hull",
        lower=np.array([-4.0]),
        upper=np.array([4.0]),
        cumulative_lower=np.array([-np.inf, -np.inf]),
        cumulative_upper=np.array([np.inf, np.inf]),
        total=(-4.0, 4.0),
    )
    nearest = expected(lambda x: possible[np.argmin(np.abs(possible - x))])
    assert nearest == pytest.approx(2.06896, abs=5e-6)
    assert expected(lambda x: x) == pytest.approx(2)
    assert expected(lambda x: np.clip(x, -4, 4)) < 2
    for x in (-9.0, -4.0, 1.3, 7.7):
        np.testing.assert_allclose(pv.project([x], hull).values, np.clip(x, -4, 4), atol=1e-8)


@pytest.mark.parametrize(
    ("noisy", "message"),
    [
        ([0.1, 0.2, 0.3], "noisy has 3 entries, but the record has 2 reviewers"),
        ([0.1, float("nan")], "noisy must be finite: entry 2 is nan"),
        ([float("-inf"), 1.0], "noisy must be finite: entry 1 is -inf"),
        ([[0.1, 0.2]], "got an array of shape"),
        (["a", "b"], "noisy must be a list of 2 numbers"),
    ],
)
def test_vectors_that_cannot_be_projected_are_refused(noisy: list[float], message: str) -> None:
    region = pv.region(pv.PublicWeights.from_rows([[0, 1], [0, 1]], load=2), "baseline")
    with pytest.raises(pv.InputError, match=message):
        pv.project(noisy, region)


def test_an_answer_without_its_certificate_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = pv.PublicWeights.from_rows(np.random.default_rng(1).random((30, 2)), load=2)
    region = pv.region(weights, "chain")
    r = np.linspace(1, 0, 30)

    def sabotaged(programme: Programme) -> tuple[np.ndarray, np.ndarray]:
        return region.lower + 1e-3, np.zeros(programme.right.size)

    assert pv.project(r, region).gap < 1e-9
    monkeypatch.setattr(Curves, "project", lambda *_: None)
    monkeypatch.setattr(Programme, "solve", sabotaged)
    with pytest.raises(pv.ProjectionError, match="missed its certificate"):
        pv.project(r, region)


@pytest.mark.parametrize("kind", ["baseline", "chain", "envelope", "tight"])
@pytest.mark.parametrize("size", [1e-12, 1e-9, 1e-7, 1e-3, 1.0, 1e4, 1e7])
def test_never_less_accurate_at_any_noise(kind: str, size: float) -> None:
    rng = np.random.default_rng(3)
    for n in (6, 50):
        scores = rng.integers(1, 11, size=(n, 2)).astype(float)
        region = pv.region(pv.PublicWeights.from_rows(scores, load=2), kind)
        for _ in range(4):
            holder = deal(np.repeat(np.arange(n), 2), np.full(n, 2), rng)
            truth = np.sort(np.bincount(holder, weights=scores.ravel()) / 2)
            r = truth + rng.laplace(scale=size, size=n)
            t = pv.project(r, region).values
            assert np.linalg.norm(t - truth) <= np.linalg.norm(r - truth) * (1 + 1e-6) + 1e-14


def test_a_large_offset_hides_nothing() -> None:
    """Numbers near 1e9 that differ in the fifth decimal: what looks like round-off is the region."""
    region = pv.region(pv.PublicWeights.from_rows([[1e9, 1e9 + 4e-5]] * 3, load=2), "baseline")
    truth = np.array([1e9, 1e9 + 2e-5, 1e9 + 4e-5])
    r = truth + np.array([1e-6, -1e-6, 1e-6])
    assert np.linalg.norm(pv.project(r, region).values - truth) <= np.linalg.norm(r - truth) + 1e-6


@pytest.mark.parametrize("kind", ["envelope", "tight"])
@pytest.mark.parametrize("offset", [0.0, 100.0, 1e5])
def test_a_region_of_one_point_is_found_at_any_offset_and_noise(kind: str, offset: float) -> None:
    """Loads of one: the sums meet from below and above, and nothing but the point is left."""
    rng = np.random.default_rng(4)
    for n in (4, 3000):
        scores = offset + (rng.integers(1, 11, n) if n == 4 else rng.beta(2, 2, n))
        region = pv.region(pv.PublicWeights.from_rows(scores.reshape(-1, 2).tolist(), load=1), kind)
        truth = np.sort(scores)
        assert region.contains(truth)
        for size in (1e-9, 1e-7, 1e-3, 1.0, 100.0):
            projection = pv.project(truth + rng.laplace(scale=size, size=n), region)
            np.testing.assert_allclose(projection.values, truth, atol=1e-7 + 1e-11 * offset)


def test_never_less_accurate_with_mixed_loads_and_little_noise() -> None:
    rng = np.random.default_rng(43)
    loads = np.repeat([1, 2, 3], 10)
    for _ in range(12):
        scores = rng.integers(1, 11, 60).astype(float)
        paper = np.arange(60) // 3
        weights = pv.PublicWeights.from_rows(scores.reshape(20, 3), loads={1: 10, 2: 10, 3: 10})
        holder = deal(paper, loads, rng)
        truth = np.sort(np.bincount(holder, weights=np.sort(scores.reshape(20, 3), axis=1).ravel()) / loads)
        for kind in ("chain", "tight"):
            region = pv.region(weights, kind)
            for size in (1e-9, 1e-8, 1e-6):
                r = truth + rng.laplace(scale=9 * size, size=30)
                t = pv.project(r, region).values
                assert np.linalg.norm(t - truth) <= np.linalg.norm(r - truth) * (1 + 1e-6) + 1e-13


def test_a_single_absurd_entry_does_not_stop_a_release() -> None:
    """Noise with the heaviest tails: round-off of the largest entry must not spoil the others."""
    rng = np.random.default_rng(8)
    loads = np.repeat([1, 2, 3], 30)
    for _ in range(6):
        scores = rng.random((60, 3))
        region = pv.region(pv.PublicWeights.from_rows(scores, loads={1: 30, 2: 30, 3: 30}), "tight")
        holder = deal(np.repeat(np.arange(60), 3), loads, rng)
        truth = np.sort(np.bincount(holder, weights=np.sort(scores, axis=1).ravel()) / loads)
        r = truth + rng.standard_cauchy(size=90) * 1e4
        projection = pv.project(r, region)
        assert region.contains(projection.values)
        assert np.linalg.norm(projection.values - truth) <= np.linalg.norm(r - truth)


def test_bounds_that_meet_up_to_round_off_are_no_contradiction() -> None:
    """Three entries are fixed, sums touch their bounds, and the offset is large: the free entry must not run away."""
    rows = [[1000000.8], [1000000.5, 1000000.8, 1000000.5], [1000000.5]]
    region = pv.region(pv.PublicWeights.from_rows(rows, reviewers=4), "tight")
    truth = np.array([1000000.5, 1000000.5, 1000000.65, 1000000.8])
    r = truth + np.array([-3.9e-5, -2.2e-6, 1.1e-4, -1.4e-5])
    assert np.linalg.norm(pv.project(r, region).values - truth) <= np.linalg.norm(r - truth)


def test_multipliers_that_prove_nothing_are_no_certificate() -> None:
    region = pv.region(pv.PublicWeights.from_rows([[0, 1], [0, 1]], load=2), "baseline")
    r = np.array([0.4, 0.9])
    programme = Programme(r, region, 1.0)
    values, multipliers = programme.solve()
    assert programme.gap(values, multipliers, r) < 1e-9
    wild = multipliers.copy()
    wild[: programme.equalities] -= 1e6 * np.sign(programme.right[0] or 1.0)
    assert programme.gap(values, wild, r) > 1.0


def test_a_solver_without_an_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    region = pv.region(pv.PublicWeights.from_rows([[0, 1], [0, 1]], load=2), "baseline")
    monkeypatch.setattr(Curves, "project", lambda *_: None)
    monkeypatch.setattr(Programme, "solve", lambda programme: (np.full(2, np.nan), np.zeros(programme.right.size)))
    with pytest.raises(pv.ProjectionError, match="the solver gave no answer"):
        pv.project([3.0, -1.0], region)
