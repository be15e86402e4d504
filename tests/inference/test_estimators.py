from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

import peerveil as pv
from marks import mostly_slow, slow
from peerveil.inference import estimators as estimation
from peerveil.inference.assignments import deal
from peerveil.inference.estimators import degrees_of_freedom, estimate, nearest_safe
from peerveil.inference.likelihood import EntryLikelihood
from peerveil.inference.model import RecordModel
from peerveil.privacy.noise_laws import LaplaceLaw, Law, NormalLaw, SinhNormalLaw
from peerveil.record.public_record import Floats
from peerveil.regions.convex import Region
from peerveil.regions.projection import Projection
from reference.theta import theta
from strategies import Case, cases, hidden_cases, hidden_variants, visible

SCALES = [1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0]


def law_like(name: str, size: float) -> Law:
    if name == "laplace":
        return LaplaceLaw(scale=size)
    return NormalLaw(sigma=size) if name == "normal" else SinhNormalLaw(sigma=size, bound=2 * size)


def never_further(values: np.ndarray, r: np.ndarray, truth: np.ndarray) -> bool:
    """Exact but for the round-off of the numbers compared."""
    size = float(np.abs(truth).max())
    before, after = float(np.linalg.norm(r - truth)), float(np.linalg.norm(values - truth))
    return bool(after <= before * (1 + 1e-12) + 1e-7 * min(before, 1e-6 * size) + 1e-13 * size)


# Theorem P4.
@pytest.mark.promise("P-BUDGET-3", by="exhaustion")
@given(
    cases(most_reviews=7),
    st.integers(0, 2**32),
    st.sampled_from(SCALES),
    st.sampled_from(["laplace", "normal", "sinh"]),
    st.sampled_from(["baseline", "envelope", "tight", "hull"]),
)
@settings(max_examples=80)
def test_safe_is_never_further_from_any_possible_truth(
    case: Case, seed: int, size: float, name: str, kind: str
) -> None:
    """Every vector that some assignment gives, vertices of the hull and extremes of the envelope among them."""
    weights = case.weights()
    low, high = weights.span
    law = law_like(name, size * ((high - low) or 1.0))
    region = pv.region(weights, kind)
    r = np.array(case.truth()) + law.draw(np.random.default_rng(seed), case.reviewers)
    found = estimate(r, weights, region, EntryLikelihood(r, law))
    assert region.contains(found.values, tolerance=1e-7)
    assert (np.diff(found.values) >= 0).all()
    for vector in theta(case.rows, case.loads):
        assert never_further(found.values, r, np.array([float(x) for x in vector]))


@pytest.mark.slow
@given(hidden_cases(), st.integers(0, 2**32), st.sampled_from([0.01, 0.5, 20.0]))
@settings(max_examples=25)
def test_safe_keeps_its_promise_with_hidden_scores(
    drawn: tuple[Case, list[list[bool]]], seed: int, size: float
) -> None:
    case, hidden = drawn
    weights = pv.weigh(visible(case, hidden))
    r = np.array(case.truth()) + np.random.default_rng(seed).laplace(scale=size, size=case.reviewers)
    found = estimate(r, weights, pv.region(weights), EntryLikelihood(r, LaplaceLaw(scale=size)))
    for rows in hidden_variants(case.rows, hidden, [1.0, 3.0]):
        for vector in theta(rows, case.loads):
            assert never_further(found.values, r, np.array([float(x) for x in vector]))


@pytest.mark.parametrize("size", SCALES)
@pytest.mark.parametrize("loads", [slow({3: 30}), {2: 20, 3: 10, 5: 4}])
def test_safe_keeps_its_promise_at_the_extremes_of_the_envelope(size: float, loads: dict[int, int]) -> None:
    rng = np.random.default_rng(8)
    rows = rng.integers(1, 11, size=(30, 3)).astype(float)
    weights = pv.PublicWeights.from_rows(rows, loads=loads)
    region, model = pv.region(weights), RecordModel(weights, draws=20)
    per_reviewer = weights.loads.per_reviewer()
    extremes = [pv.project(v, region).values for v in np.eye(weights.reviewers)[[0, 9, -1]] * 1e4]
    extremes += [pv.project(-v, region).values for v in np.eye(weights.reviewers)[[0, 9, -1]] * 1e4]
    for truth in extremes:
        holder = deal(weights.paper, per_reviewer, rng)
        dealt = np.sort(np.bincount(holder, weights=weights.low) / per_reviewer)
        for centre in (truth, dealt):
            r = centre + rng.laplace(scale=9 * size, size=truth.size)
            likelihood = EntryLikelihood(r, LaplaceLaw(scale=9 * size))
            found = estimate(r, weights, region, likelihood, posterior=model.posterior(likelihood))
            assert never_further(found.values, r, truth)
            assert never_further(found.values, r, dealt)


@pytest.mark.promise("P-BUDGET-3")
def test_safe_keeps_its_promise_whatever_the_guess() -> None:
    """The promise rests on the test, not on the model: even absurd guesses end nowhere worse."""
    rng = np.random.default_rng(9)
    rows = rng.random((5, 2))
    weights = pv.PublicWeights.from_rows(rows, load=2)
    possible = [np.array([float(x) for x in v]) for v in theta(rows.tolist(), [2] * 5)]
    for kind, size in product(("baseline", "tight"), (1e-3, 0.05, 0.3, 2.0)):
        region = pv.region(weights, kind)
        for _ in range(6):
            r = possible[rng.integers(len(possible))] + rng.laplace(scale=size, size=5)
            projected = pv.project(r, region)
            guess = pv.project(100 * rng.standard_normal(5), region)
            found = nearest_safe(guess, projected, region, r)
            assert all(never_further(found.values, r, truth) for truth in possible)


def furthest(region: Region, d: np.ndarray) -> np.ndarray:
    """The point of a region, with a fixed total, that goes furthest in a direction."""
    n = d.size
    sums = np.tril(np.ones((n, n)))
    order = -np.diff(np.eye(n), axis=0)
    found = linprog(
        -d,
        A_ub=np.vstack((order, -sums[:-1])),
        b_ub=np.concatenate((np.zeros(n - 1), -region.cumulative_lower[1:-1])),
        A_eq=np.ones((1, n)),
        b_eq=[region.total[0]],
        bounds=list(zip(region.lower, region.upper, strict=True)),
    )
    return np.asarray(found.x)


def nearest_in_balls(guess: np.ndarray, points: list[np.ndarray], r: np.ndarray, start: np.ndarray) -> np.ndarray:
    def room(x: np.ndarray) -> np.ndarray:
        return np.array([np.sum((r - p) ** 2) - np.sum((x - p) ** 2) for p in points])

    found = minimize(  # type: ignore[call-overload]
        lambda x: float(np.sum((x - guess) ** 2)),
        start,
        constraints={"type": "ineq", "fun": room},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return np.asarray(found.x)


# Theorem P5.
@pytest.mark.parametrize("seed", mostly_slow(range(6), 1, 2))
def test_the_safe_point_is_the_nearest_one(seed: int) -> None:
    """Against a general solver that knows the balls of the points that matter, found one by one."""
    rng = np.random.default_rng(seed)
    weights = pv.PublicWeights.from_rows(rng.random((6, 2)), load=2)
    full = pv.region(weights, "envelope")
    low, high = weights.span
    region = pv.Region(
        name="lower curve",
        lower=np.full(6, low),
        upper=np.full(6, high),
        cumulative_lower=full.cumulative_lower,
        total=full.total,
    )
    truth = furthest(region, rng.standard_normal(6))
    r = truth + rng.laplace(scale=0.05, size=6)
    guess = pv.project(furthest(region, rng.standard_normal(6)), region)
    mine = nearest_safe(guess, pv.project(r, region), region, r).values
    points: list[np.ndarray] = [truth]
    t = guess.values
    for _ in range(60):
        worst = furthest(region, r - t)
        if np.sum((t - worst) ** 2) <= np.sum((r - worst) ** 2) + 1e-9:
            break
        points.append(worst)
        t = nearest_in_balls(guess.values, points, r, pv.project(r, region).values)
    assert np.linalg.norm(mine - guess.values) <= np.linalg.norm(t - guess.values) + 1e-4
    np.testing.assert_allclose(mine, t, atol=5e-3)


def test_a_guess_that_is_safe_is_kept() -> None:
    rng = np.random.default_rng(1)
    weights = pv.PublicWeights.from_rows(rng.random((10, 2)), load=2)
    region = pv.region(weights)
    guess = pv.project(RecordModel(weights).entry_prior().laws[0].mean[20], region)
    r = guess.values + rng.laplace(scale=100.0, size=10)
    assert nearest_safe(guess, pv.project(r, region), region, r) is guess


@pytest.mark.parametrize("integers", [True, False])
@pytest.mark.parametrize("size", [1e-3, 1e-2])
def test_with_tiny_noise_safe_is_about_as_good_as_the_projection(integers: bool, size: float) -> None:
    ours, theirs = 0.0, 0.0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        paper = np.repeat(np.arange(40), 3)
        holder = deal(paper, np.full(40, 3), rng)
        camps = np.where(rng.random(40) < 0.5, -1.5, 1.5)
        x = rng.standard_normal(40)[paper] + camps[holder] + rng.standard_normal(120)
        x = np.clip(np.rint(5.5 + 1.2 * x), 1, 10) if integers else x
        truth = np.sort(np.bincount(holder, weights=x) / 3)
        weights = pv.PublicWeights.from_rows(x.reshape(40, 3), load=3)
        scale = size * (weights.span[1] - weights.span[0])
        r = truth + rng.laplace(scale=scale, size=40)
        region = pv.region(weights)
        ours += float(
            np.sum((estimate(r, weights, region, EntryLikelihood(r, LaplaceLaw(scale=scale))).values - truth) ** 2)
        )
        theirs += float(np.sum((pv.project(r, region).values - truth) ** 2))
    assert ours <= 1.1 * theirs


def test_the_papers_setting_is_far_more_accurate() -> None:
    errors = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        rows = rng.beta(2, 2, size=(50, 2))
        weights = pv.PublicWeights.from_rows(rows, load=2)
        holder = deal(weights.paper, np.full(50, 2), rng)
        truth = np.sort(np.bincount(holder, weights=weights.low) / 2)
        r = truth + rng.laplace(size=50)
        made = pv.refine(r, weights, mechanism=pv.Laplace(scale=1.0))
        chain = pv.project(r, pv.region(weights, "chain")).values
        errors.append([np.sum((v - truth) ** 2) for v in (made.values, chain)])
        assert made.outlook is not None
        assert made.outlook.expected_rmse < 0.1
    safe, paper = np.mean(errors, axis=0)
    assert safe <= paper / 10


def test_what_a_projection_follows_is_what_it_moves_with() -> None:
    """Degrees of freedom are the sum of the derivatives of each entry by its own noisy one."""
    rng = np.random.default_rng(5)
    for rows, loads in ((rng.random((8, 2)), {2: 8}), (rng.random((9, 2)), {1: 4, 2: 7})):
        weights = pv.PublicWeights.from_rows(rows, loads=loads)
        for kind in ("baseline", "envelope"):
            region = pv.region(weights, kind)
            for size in (0.05, 0.3):
                n = weights.reviewers
                r = np.linspace(0.1, 0.9, n) + rng.laplace(scale=size, size=n)
                t = pv.project(r, region).values
                h = 1e-5
                moved = [pv.project(r + h * e, region).values[i] - t[i] for i, e in enumerate(np.eye(n))]
                assert degrees_of_freedom(t, region) == pytest.approx(sum(moved) / h, abs=0.6)


def test_the_axioms_hold() -> None:
    """What the record decides is exact: loads of one, equal weights, one reviewer, papers that decide everything."""
    law = LaplaceLaw(scale=2.0)
    for rows, load, truth in (
        ([[1, 4], [2, 3]], 1, [1, 2, 3, 4]),
        ([[5, 5], [5, 5]], 2, [5, 5]),
        ([[1], [2], [6]], 3, [3]),
        ([[1, 2, 3], [0, 0, 0], [0, 0, 0], [0, 0, 0]], 4, [0.25, 0.5, 0.75]),
    ):
        weights = pv.PublicWeights.from_rows(rows, load=load)
        r = np.array(truth) + np.random.default_rng(1).laplace(scale=2.0, size=len(truth))
        for estimator in ("safe", "bayes"):
            found = estimate(r, weights, pv.region(weights), EntryLikelihood(r, law), estimator=estimator)
            np.testing.assert_allclose(found.values, truth, atol=1e-9)
            assert found.outlook is not None
            assert found.outlook.expected_rmse <= 1e-9


class TestReleases:
    ROWS = ([1, 5], [2, 2], [4, 5], [3, 1])

    def weights(self) -> pv.PublicWeights:
        return pv.PublicWeights.from_rows(self.ROWS, load=2)

    def test_safe_is_the_default_where_the_law_is_known(self) -> None:
        noisy = [-1.0, 2.5, 2.0, 9.5]
        stated = pv.External(words="by the chairs", law=pv.Laplace(scale=1.0))
        for mechanism in (pv.Laplace(scale=1.0), stated):
            made = pv.refine(noisy, self.weights(), mechanism=mechanism)
            assert made.estimator == "safe"
            assert made.outlook is not None
        assert "drawn at random" in made.to_json()
        unknown = pv.refine(noisy, self.weights(), mechanism=pv.External(words="by the chairs"))
        assert unknown.estimator == "projection"
        assert unknown.outlook is None
        with pytest.raises(pv.InputError, match="needs the law of the noise"):
            pv.refine(noisy, self.weights(), estimator="safe")
        with pytest.raises(pv.InputError, match="needs the law of the noise"):
            pv.refine(unknown, self.weights(), estimator="bayes")
        with pytest.raises(pv.InputError, match="estimator must be one of"):
            pv.refine(noisy, self.weights(), estimator="magic")

    @pytest.mark.promise("P-README-2")
    def test_a_projection_has_an_outlook_too(self) -> None:
        noisy = [-1.0, 2.5, 2.0, 9.5]
        made = pv.refine(noisy, self.weights(), mechanism=pv.Laplace(scale=1.0), estimator="projection")
        np.testing.assert_array_equal(made.values, pv.project(noisy, pv.region(self.weights())).values)
        assert made.outlook is not None
        safe = pv.refine(noisy, self.weights(), mechanism=pv.Laplace(scale=1.0))
        assert safe.outlook is not None
        assert safe.outlook.expected_rmse <= made.outlook.expected_rmse

    def test_the_same_inputs_give_the_same_bytes(self) -> None:
        then = datetime(2026, 1, 2, tzinfo=UTC)
        first, again = (
            replace(pv.refine([1.0, 0, 5, 2], self.weights(), mechanism=pv.Laplace(scale=1.0)), created=then).to_json()
            for _ in range(2)
        )
        assert first == again
        assert pv.Release.from_document(json.loads(first)).to_json() == first

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"lower": [9, 9, 9, 9]}, "must not exceed its upper end"),
            ({"lower": [0]}, "must have 4 entries"),
            ({"upper": [1, 2, 3, 10**400]}, "outlook/upper holds a number that is too large"),
            ({"level": 2}, "violates the schema"),
            ({"expected_rmse": -1}, "violates the schema"),
        ],
    )
    def test_outlooks_that_are_none(self, change: dict[str, object], message: str) -> None:
        made = pv.refine([1.0, 0, 5, 2], self.weights(), mechanism=pv.Laplace(scale=1.0))
        document = json.loads(made.to_json())
        document["outlook"] |= change
        with pytest.raises(pv.FileError, match=message):
            pv.Release.from_document(document)

    @pytest.mark.parametrize("size", [1e-12, 1e-8, 1e6, 1e12])
    def test_absurd_noise_does_not_stop_a_refinement(self, size: float) -> None:
        rng = np.random.default_rng(2)
        for offset in (0.0, 1e6):
            rows = offset + rng.random((6, 2))
            weights = pv.PublicWeights.from_rows(rows, load=2)
            truth = np.sort(np.bincount(deal(weights.paper, np.full(6, 2), rng), weights=weights.low) / 2)
            r = truth + rng.laplace(scale=size, size=6)
            made = pv.refine(r, weights, mechanism=pv.Laplace(scale=size))
            assert np.linalg.norm(made.values - truth) <= np.linalg.norm(r - truth) * (1 + 1e-6) + 1e-13 * (1 + offset)
            assert pv.region(weights).contains(made.values, tolerance=1e-6)

    def test_where_no_assignment_is_found_the_projection_is_returned(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fails(*_: object, **__: object) -> None:
            raise pv.RecordError("no valid assignment was found")

        monkeypatch.setattr("peerveil.inference.model.prior", fails)
        made = pv.refine([1.0, 0, 5, 2], self.weights(), mechanism=pv.Laplace(scale=1.0))
        assert made.outlook is None
        assert any("No expected error" in note for note in made.notes)
        assert made.values.tolist() == pv.project([1.0, 0, 5, 2], pv.region(self.weights())).values.tolist()

    def test_a_safe_point_without_a_certificate_falls_back(self, monkeypatch: pytest.MonkeyPatch) -> None:
        rng = np.random.default_rng(3)
        weights = pv.PublicWeights.from_rows(rng.random((8, 2)), load=2)
        region = pv.region(weights)
        r = np.sort(rng.random(8))
        projected = pv.project(r, region)
        wild = Projection(values=region.lower + 0.0, gap=0.0, violation=0.0)

        def fails(*_: object) -> None:
            raise pv.ProjectionError("missed its certificate")

        monkeypatch.setattr("peerveil.inference.estimators.project", fails)
        assert nearest_safe(wild, projected, region, r) is projected
        assert math.isfinite(projected.gap)


def test_bands_without_doubt_survive_round_off() -> None:
    """Both ends are the same number, computed in two ways."""

    class Certain:
        mean = np.array([1.5, 2.0, 3.0, 5.0])
        variance = np.zeros(4)
        evidence = None

        def band(self, _: float) -> tuple[Floats, Floats]:
            return np.nextafter(self.mean, np.inf), self.mean.copy()

        shortest_band = band

    weights = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
    found = estimation._expected_error(Certain.mean, Certain(), pv.region(weights), weights, "")
    assert (found.lower <= found.upper).all()
    assert np.abs(found.lower - Certain.mean).max() < 1e-12
