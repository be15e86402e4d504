from __future__ import annotations

import math
import pickle
import weakref
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm
from threadpoolctl import threadpool_info, threadpool_limits

import peerveil as pv
from made_up import few_draws
from marks import mostly_slow
from peerveil.inference.family import CORRELATIONS, FAMILIES
from peerveil.inference.gaussians import GaussianMixture, LowRankGaussians
from peerveil.inference.likelihood import EntryLikelihood
from peerveil.inference.model import RecordModel
from peerveil.inference.posterior import EntryPrior
from peerveil.inference.prior import Ensemble
from peerveil.mechanisms.bin_choice import bins_of
from peerveil.planning.rehearsal import Rehearsal
from peerveil.privacy.noise_laws import LaplaceLaw, Law, NormalLaw, SinhNormalLaw
from reference.leniency import lean

LAWS = [LaplaceLaw(scale=0.7), NormalLaw(sigma=1.3), SinhNormalLaw(sigma=1.0, bound=2.0)]


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("off", "variance"), [(0.0, 0.5), (0.3, 0.01), (-2.0, 1.0), (1.5, 1e-4)])
def test_expected_likelihoods_and_their_derivatives(law: Law, off: float, variance: float) -> None:
    likelihood = EntryLikelihood(np.array([1.0]), law)

    def literal(mean: float) -> float:
        def integrand(z: float) -> float:
            x = mean + math.sqrt(variance) * z - 1.0
            return float(law.log_density(np.array([x]))[0]) * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)

        kink = (1.0 - mean) / math.sqrt(variance)
        return quad(integrand, -9, 9, points=[kink] if abs(kink) < 9 else None, limit=200, epsabs=1e-12)[0]

    value, gradient, bent = likelihood.expected(np.array([[1.0 + off]]), np.array([[variance]]))
    h = 0.05 * math.sqrt(variance)
    around = [literal(1.0 + off + k * h) for k in (-2, -1, 0, 1, 2)]
    assert value[0] == pytest.approx(around[2], abs=1e-6)
    assert gradient[0, 0] == pytest.approx(np.dot(around, [1, -8, 0, 8, -1]) / (12 * h), abs=2e-4)
    second = np.dot(around, [-1, 16, -30, 16, -1]) / (12 * h * h)
    assert bent[0, 0] == pytest.approx(max(-second, 0.0), abs=2e-3 * max(1.0, abs(second)))


def test_far_points_stay_within_floating_point() -> None:
    likelihood = EntryLikelihood(np.zeros(1), SinhNormalLaw(sigma=1.0, bound=1.5))
    value, gradient, bent = likelihood.expected(np.array([[1e6]]), np.array([[1e-3]]))
    assert np.isfinite([value[0], gradient[0, 0], bent[0, 0]]).all()
    assert gradient[0, 0] < 0 < bent[0, 0]


@pytest.mark.parametrize(("n", "blocks"), [(7, 7), (12, 4), (11, 4)])
def test_normal_noise_is_treated_exactly(n: int, blocks: int) -> None:
    rng = np.random.default_rng(n)
    columns = rng.standard_normal((1, blocks, 3))
    scales = np.array([[1.0, 1.0, 1.0], [1.0, 0.5, 0.0]])
    rest = rng.random((2, n))
    laws = LowRankGaussians(rng.standard_normal((1, n)), columns, scales, rest)
    r = rng.standard_normal(n)
    fit = laws.fit(EntryLikelihood(r, NormalLaw(sigma=0.6)))
    for j in range(2):
        B = np.repeat(columns[0], -(-n // blocks), axis=0)[:n] * scales[j]
        K = B @ B.T + np.diag(rest[j])
        seen = K + 0.36 * np.eye(n)
        assert fit.bound[j] == pytest.approx(multivariate_normal(laws.mean[0], seen).logpdf(r))
        gain = K @ np.linalg.inv(seen)
        np.testing.assert_allclose(fit.mean[j], laws.mean[0] + gain @ (r - laws.mean[0]), atol=1e-9)
        np.testing.assert_allclose(fit.variance[j], np.diag(K - gain @ K), atol=1e-9)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("r", [-3.0, 0.2, 1.0])
def test_a_single_entry_against_integration(law: Law, r: float) -> None:
    laws = LowRankGaussians(np.array([[0.5]]), np.array([[[0.6]]]), np.ones((1, 1)), np.array([[0.28]]))

    def moment(power: int) -> float:
        def integrand(x: float) -> float:
            likely = math.exp(float(law.log_density(np.array([r - x]))[0]))
            return x**power * likely * math.exp(-((x - 0.5) ** 2) / 1.28) / math.sqrt(1.28 * math.pi)

        return quad(integrand, -8, 8, points=[r], limit=200)[0]

    total, first, second = (moment(power) for power in range(3))
    mean, variance = first / total, second / total - (first / total) ** 2
    fit = laws.fit(EntryLikelihood(np.array([r]), law))
    assert math.log(total) - 0.05 <= fit.bound[0] <= math.log(total) + 1e-6
    assert fit.mean[0, 0] == pytest.approx(mean, abs=0.05)
    assert fit.variance[0, 0] == pytest.approx(variance, rel=0.15)


def test_laplace_noise_tells_twice_as_much_as_normal_noise_of_its_variance() -> None:
    """One unknown shift of many entries: the posterior's variance is the inverse of the Fisher information."""
    n, scale = 4000, 5.0
    laws = LowRankGaussians(np.zeros((1, n)), np.full((1, n, 1), 1.0), np.ones((1, 1)), np.full((1, n), 1e-12))
    errors = []
    for seed in range(30):
        r = 0.3 + np.random.default_rng(seed).laplace(scale=scale, size=n)
        fit = laws.fit(EntryLikelihood(r, LaplaceLaw(scale=scale)))
        errors.append(fit.mean[0, 0] - 0.3)
        assert fit.variance[0, 0] == pytest.approx(scale**2 / n, rel=0.5)
    assert np.mean(np.square(errors)) < 1.5 * scale**2 / n


def test_bands_cut_off_as_much_as_they_say() -> None:
    rng = np.random.default_rng(1)
    shares = rng.dirichlet(np.ones(4))
    mixture = GaussianMixture(shares, rng.normal(size=(4, 3)), rng.random((4, 3)), np.arange(4))
    lower, upper = mixture.band(0.9)
    which = rng.choice(4, p=shares, size=200_000)
    drawn = mixture.means[which] + np.sqrt(mixture.variances[which]) * rng.standard_normal((200_000, 3))
    np.testing.assert_allclose(np.mean(drawn < lower, axis=0), 0.05, atol=0.003)
    np.testing.assert_allclose(np.mean(drawn > upper, axis=0), 0.05, atol=0.003)
    np.testing.assert_allclose(drawn.mean(axis=0), mixture.mean, atol=0.02)
    np.testing.assert_allclose(drawn.var(axis=0), mixture.variance, rtol=0.02)


@pytest.mark.parametrize("apart", [0.0, 1.0, 100.0, 1e9])
@pytest.mark.parametrize("variance", [0.0, 1e-12, 1.0, 1e12])
def test_quantiles_of_far_and_narrow_components(apart: float, variance: float) -> None:
    means, variances = np.array([[-apart], [apart], [0.3]]), np.array([[variance], [1.0], [1e-4]])
    mixture = GaussianMixture(np.array([0.3, 0.5, 0.2]), means, variances, np.arange(3))
    for p in (0.05, 0.299, 0.5, 0.501, 0.95):
        at = mixture.quantile(p)[0]
        step = 1e-9 * max(1.0, abs(at))
        below, above = (norm.cdf(at + side, means[:, 0], np.sqrt(variances[:, 0]) + 1e-150) for side in (-step, step))
        assert mixture.probabilities @ below <= p + 1e-9
        assert mixture.probabilities @ above >= p - 1e-9


def test_chances_are_chances() -> None:
    chances = FAMILIES[2].correlation_chances
    assert chances.sum() == pytest.approx(1)
    assert chances[CORRELATIONS < 0].sum() == pytest.approx(0.05)


@pytest.mark.slow
def test_bands_cover_where_the_assumption_holds() -> None:
    covered: dict[float, list[float]] = {0.03: [], 0.3: [], 3.0: []}
    positive = CORRELATIONS >= 0
    chances = FAMILIES[2].correlation_chances[positive] / FAMILIES[2].correlation_chances[positive].sum()
    for seed in range(50):
        rng = np.random.default_rng(seed)
        weights = pv.PublicWeights.from_rows(rng.random((20, 3)), load=3)
        rho = rng.choice(CORRELATIONS[positive], p=chances)
        truth = lean(weights.paper, weights.low, 3, rho / math.sqrt(1 - rho**2), rng)
        model = RecordModel(weights, draws=40)
        for scale, shares in covered.items():
            r = truth + rng.laplace(scale=scale, size=20)
            posterior = model.posterior(EntryLikelihood(r, LaplaceLaw(scale=scale)))
            assert posterior is not None
            lower, upper = posterior.band(0.9)
            shares.append(float(np.mean((lower <= truth) & (truth <= upper))))
    for shares in covered.values():
        assert 0.85 <= np.mean(shares) <= 0.95


NOISE = (pv.Laplace(epsilon=1.0), pv.Histogram(epsilon=1.0))


@pytest.mark.parametrize(("mechanism", "centre"), mostly_slow([*product(NOISE, (2.5, 5.5, 8.5))], 3))
def test_hidden_scores_may_be_anywhere_on_the_scale(mechanism: pv.Laplace | pv.Histogram, centre: float) -> None:
    """Nothing says that scores nobody sees lie in the middle: errors and bands must allow for it."""
    rng = np.random.default_rng(int(10 * centre))
    weights = pv.weigh(pv.PublicRecord.from_rows([[None] * 4] * 30, load=4, scale=(1, 10)))
    rehearsal = Rehearsal.of(few_draws(weights, 20), mechanism)
    covered, expected, actual = [], [], []
    for _ in range(5):
        truth = np.sort(np.clip(centre + rng.normal(size=(30, 4)) + 0.7 * rng.normal(size=(30, 1)), 1, 10).mean(axis=1))
        safe = rehearsal.estimates(rehearsal.perturb(truth, rng), ["safe"])["safe"]
        assert safe.outlook is not None
        assert "anywhere on the scale" in safe.outlook.assumption
        covered.append(np.mean((safe.outlook.lower <= truth) & (truth <= safe.outlook.upper)))
        expected.append(safe.outlook.expected_rmse**2)
        actual.append(np.mean((safe.values - truth) ** 2))
    assert np.mean(covered) > 0.75
    assert np.mean(actual) < 2 * np.mean(expected)


def test_hidden_scores_may_be_lower_than_the_visible_ones() -> None:
    """As those of rejected papers are."""
    rng = np.random.default_rng(5)
    scores = np.clip(np.round(rng.normal(5.5, 1.5, (60, 4))), 1, 10)
    rejected = scores.mean(axis=1) < np.median(scores.mean(axis=1))
    rows = [[None] * 4 if out else row.tolist() for row, out in zip(scores, rejected, strict=True)]
    weights = pv.weigh(pv.PublicRecord.from_rows(rows, load=4, scale=(1, 10)))
    truth = np.sort(scores.ravel()[rng.permutation(240)].reshape(60, 4).mean(axis=1))
    drawn = np.concatenate([ensemble.vectors for ensemble in RecordModel(weights, draws=20).ensembles])
    assert drawn.mean(axis=1).min() < truth.mean() < np.quantile(drawn.mean(axis=1), 0.4)


def test_leniency_is_found_where_the_noise_allows() -> None:
    rng = np.random.default_rng(2)
    weights = pv.PublicWeights.from_rows(rng.random((200, 4)), load=4)
    prior = RecordModel(weights).entry_prior()
    for leniency in (0.0, 0.75, 2.0):
        truth = lean(weights.paper, weights.low, 4, leniency, rng)
        posterior = prior.posterior(EntryLikelihood(truth + rng.laplace(scale=0.05, size=200), LaplaceLaw(scale=0.05)))
        assert posterior is not None
        correlation = CORRELATIONS[posterior.laws // len(FAMILIES[2].discrepancies)]
        assert posterior.probabilities @ correlation == pytest.approx(leniency / math.sqrt(1 + leniency**2), abs=0.12)


def test_noise_beyond_floating_point_gives_nothing_rather_than_nonsense() -> None:
    weights = pv.PublicWeights.from_rows(np.random.default_rng(3).random((6, 2)), load=2)
    prior = RecordModel(weights).entry_prior()
    for scale in (1e-200, 1e200):
        posterior = prior.posterior(EntryLikelihood(np.zeros(6), LaplaceLaw(scale=scale)))
        assert posterior is None or np.isfinite(posterior.mean).all()


def test_a_model_is_computed_once_and_kept_with_the_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = pv.PublicWeights.from_rows(np.random.default_rng(4).random((6, 2)), load=2)
    model = weights.derived(RecordModel)
    bins = bins_of(weights, 3)
    assert weights.derived(RecordModel) is model
    assert model.ensembles is model.ensembles
    assert model.entry_prior() is model.entry_prior()
    assert bins_of(weights, 3) is bins
    assert model.count_prior(bins) is model.count_prior(bins_of(weights, 3))
    assert model.count_prior(bins_of(weights, 2)) is not model.count_prior(bins)

    copied = pickle.loads(pickle.dumps(weights))  # noqa: S301 - our own bytes
    assert copied.digest() == weights.digest()
    assert copied.derived(RecordModel) is not model
    np.testing.assert_array_equal(copied.derived(RecordModel).ensembles[3].vectors, model.ensembles[3].vectors)

    freed = weakref.ref(model)
    del model, weights
    assert freed() is None  # without waiting for the garbage collector

    monkeypatch.setattr("peerveil.inference.model.MOST_KEPT", 1_000)
    large = copied.derived(lambda same: RecordModel(same, draws=40))
    assert large.ensembles is not large.ensembles
    np.testing.assert_array_equal(large.ensembles[3].vectors, large.ensembles[3].vectors)
    large.most_kept = math.inf
    assert large.ensembles is large.ensembles


def test_a_model_is_computed_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the last digits of a release would depend on whether a plan was made before it."""
    weights = pv.PublicWeights.from_rows(np.random.default_rng(4).random((6, 2)), load=2)
    seen: set[int] = set()

    def watched(_: Sequence[Ensemble], **__: object) -> EntryPrior:
        seen.update(library["num_threads"] for library in threadpool_info())
        return EntryPrior(FAMILIES[2], ())

    monkeypatch.setattr(EntryPrior, "of", watched)
    with threadpool_limits(2):
        weights.derived(RecordModel).entry_prior()
    assert seen == {1}
