"""The second opinion on noisy counts: other kinds of reviewers are followed where the data prefer them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import peerveil as pv
from inference.test_pooling import around, pooled
from marks import slow
from peerveil.inference import model
from peerveil.inference.count_posterior import CountLikelihood, CountPosterior
from peerveil.inference.family import CORRELATIONS, FAMILIES
from peerveil.inference.gaussians import GaussianMixture
from peerveil.inference.model import RecordModel
from peerveil.inference.pooling import used_prior, with_prior
from peerveil.inference.pooling.opinions import Tails, Within
from peerveil.inference.prior import prior
from peerveil.inference.second_opinion import chance_of_others, heavier, other_kinds, tilted
from peerveil.planning.rehearsal import Rehearsal
from peerveil.privacy.bins import NoisyCounts
from peerveil.private.true_vector import true_vector
from peerveil.record.public_record import Floats
from peerveil.simulation.worlds import world


def reviews_of(name: str, seed: int, loads: tuple[int, ...] = (4,)) -> pv.Reviews:
    made = world(name, reviewers=400, loads=loads, seed=np.random.SeedSequence([31, seed]))
    papers, people = ([str(one) for one in column.tolist()] for column in (made.paper, made.reviewer))
    return pv.Reviews.from_columns(papers, people, made.score.tolist(), scale=made.scale)


def noisy_counts(
    reviews: pv.Reviews, public: str = "all", epsilon: float = 4.0, seed: int = 1
) -> tuple[pv.PublicWeights, CountLikelihood, Floats]:
    weights = pv.weigh(reviews.public(public))
    rehearsal, truth = Rehearsal.of(weights, pv.Histogram(epsilon=epsilon)), true_vector(reviews, "ratings")
    noisy = rehearsal.perturb(truth, np.random.default_rng(seed))
    assert isinstance(noisy, NoisyCounts)
    return weights, CountLikelihood(noisy, rehearsal.noise.law), truth


def both(weights: pv.PublicWeights, likelihood: CountLikelihood) -> tuple[CountPosterior, CountPosterior]:
    """The posterior of the family, and the one with a second opinion."""
    drawn = weights.derived(RecordModel)
    alone, second = drawn.posterior(likelihood, blocks=10_000), drawn.posterior(likelihood)
    assert isinstance(alone, CountPosterior)
    assert isinstance(second, CountPosterior)
    return alone, second


def test_the_chance_of_other_kinds_is_a_sum_over_all_laws() -> None:
    rng = np.random.default_rng(3)
    kinds, family = rng.dirichlet(np.ones(3 * CORRELATIONS.size)).reshape(3, -1), FAMILIES[2]
    evidence = rng.normal(0.0, 2.0, (3, CORRELATIONS.size, len(family.discrepancies)))
    sums = [0.0, 0.0, 0.0]
    for kind, row, column in np.ndindex(evidence.shape):
        chance = kinds[kind, row] * list(family.discrepancies.values())[column]
        sums[kind] += chance * math.exp(evidence[kind, row, column])
    expected = (sums[1] + sums[2]) / sum(sums)
    assert chance_of_others(evidence, kinds, family) == pytest.approx(expected, rel=1e-9)


def test_camps_are_followed_where_the_counts_show_them() -> None:
    weights, likelihood, truth = noisy_counts(reviews_of("camps", 1))
    alone, second = both(weights, likelihood)
    errors = [float(np.sum((one.mean - truth) ** 2)) for one in (alone, second)]
    assert errors[1] < errors[0]
    assert second.evidence is not None
    assert second.evidence.tolist() == (alone.evidence.tolist() if alone.evidence is not None else None)


def test_the_family_is_followed_where_nothing_tells_against_it(monkeypatch: pytest.MonkeyPatch) -> None:
    weights, likelihood, _ = noisy_counts(reviews_of("camps", 1))
    monkeypatch.setattr(model, "MOST_DOUBTED", 1.0)
    alone, second = both(weights, likelihood)
    assert second.mean.tolist() == alone.mean.tolist()
    monkeypatch.undo()
    weights, likelihood, _ = noisy_counts(reviews_of("family", 1), epsilon=1.0)
    alone, second = both(weights, likelihood)
    assert second.mean.tolist() == alone.mean.tolist()
    assert second.band(0.9)[0].tolist() == alone.band(0.9)[0].tolist()


def test_hidden_scores_and_many_reviewers_get_no_second_opinion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "MOST_DOUBTED", -1.0)  # would always be followed
    reviews = reviews_of("camps", 1)
    for most, public, changed in ((2_000, "all", True), (399, "all", False), (2_000, "none", False)):
        monkeypatch.setattr(model, "MOST_COUNTED", most)
        alone, second = both(*noisy_counts(reviews, public)[:2])
        assert (second.mean.tolist() != alone.mean.tolist()) == changed


@pytest.mark.parametrize("tilt", [1.0, -1.0])
def test_reviewers_take_their_turn_by_load(tilt: float) -> None:
    weights = pv.weigh(reviews_of("family", 2, loads=(1, 2, 3, 4, 5, 6)).public("all"))
    tilted = prior(weights, draws=20).by_load(tilt)
    turns = np.arange(tilted.loads.shape[1])
    found = np.mean([np.corrcoef(turns, loads)[0, 1] for loads in tilted.loads])
    assert found == pytest.approx(tilt / math.sqrt(2), abs=0.05)  # of a sum of two laws of one deviation
    kinds, ensembles = other_kinds(weights, RecordModel(weights, draws=20).ensembles)
    assert len(ensembles) == kinds.size
    assert kinds.sum() == pytest.approx(1)


def test_mixed_loads_always_get_all_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "MOST_DOUBTED", 1.0)  # would never be followed
    weights, likelihood, _ = noisy_counts(reviews_of("family", 2, loads=(1, 2, 3, 4, 5, 6)), epsilon=1.0)
    alone, second = both(weights, likelihood)
    assert second.mean.tolist() != alone.mean.tolist()
    assert np.sum(second.variance) > 0.9 * np.sum(alone.variance)


def rows_of(deviations: Floats) -> list[list[float]]:
    """Papers of four reviews with the same mean, and deviations whose powers are known."""
    return [(5 + deviation - np.mean(deviation)).tolist() for deviation in deviations.reshape(-1, 4)]


def test_tails_of_opinions_are_weighed_by_hand() -> None:
    rng = np.random.default_rng(5)
    rows = rows_of(rng.standard_t(5, 400))
    flat = np.array(rows).ravel() - 5
    # A deviation of a paper with four reviews keeps 7/12 of an opinion's excess kurtosis and 1/sqrt(3) of its skewness.
    kurtosis = (np.mean(flat**4) / np.mean(flat**2) ** 2 - 3) * 12 / 7
    skewness = np.mean(flat**3) / np.mean(flat**2) ** 1.5 * math.sqrt(3)
    found = max(kurtosis - 1.5 * skewness**2, 0.0)
    variance = 24 / flat.size * (12 / 7) ** 2 + 0.35**2
    weights = pv.PublicWeights.from_rows(rows, load=4)
    within = Within.of(weights)
    assert within is not None
    for rho, ratio in zip(CORRELATIONS.tolist(), heavier(weights).tolist(), strict=True):
        part = min(max(rho, 0.0) ** 2 / within.share, 1.0)
        heavy, normal = (0.9 * math.exp(-((found - k * part**2) ** 2) / variance / 2) + 0.1 for k in (3, 0))
        assert ratio == pytest.approx(heavy / normal, rel=1e-3)
    assert found > 0.5
    assert heavier(weights).max() > 1


@pytest.mark.parametrize("law", ["flat", "camps", "skewed"])
def test_light_and_skewed_tails_do_not_tell_of_heavy_leniency(law: str) -> None:
    rng = np.random.default_rng(6)
    drawn = {
        "flat": rng.uniform(-1, 1, 2_000),
        "camps": rng.choice([-1.0, 1.0], 2_000) + rng.normal(0, 0.5, 2_000),
        "skewed": rng.gamma(4.0, 1.0, 2_000),
    }[law]
    assert heavier(pv.PublicWeights.from_rows(rows_of(drawn), load=4)).max() < 1.2


def test_differences_from_co_reviewers_have_the_tails_of_scores() -> None:
    record = reviews_of("heavy", 3).public("all")
    scores, differences = pv.weigh(record), pv.weigh(record, "miscalibration")
    found, expected = Tails.of(differences, differences=True), Tails.of(scores)
    assert found is not None
    assert expected is not None
    assert found.to_document() == pytest.approx(expected.to_document(), abs=1e-5)
    assert Tails.of(differences) is None  # pools compare the tails of scores alone
    assert heavier(pv.weigh(reviews_of("heavy", 3).public("none"))).tolist() == [1.0] * CORRELATIONS.size
    assert heavier(scores).max() > 3 * heavier(pv.weigh(reviews_of("family", 3).public("all"))).max()


@pytest.mark.parametrize("name", [slow("heavy"), slow("camps"), slow("load")])
def test_errors_are_smaller_in_worlds_that_the_family_does_not_hold(name: str) -> None:
    loads = (1, 2, 3, 4, 5, 6) if name == "load" else (4,)
    errors = []
    for seed in range(8):
        weights, likelihood, truth = noisy_counts(reviews_of(name, seed, loads), seed=seed)
        errors.append([float(np.mean((one.mean - truth) ** 2)) for one in both(weights, likelihood)])
    alone, second = np.mean(errors, axis=0)
    assert second < alone


def test_a_tilt_is_a_case_of_its_own_unless_the_data_rule_it_out() -> None:
    family, rng = FAMILIES[2], np.random.default_rng(8)
    kinds = np.outer((0.5, 0.1, 0.3, 0.05, 0.05), np.full(CORRELATIONS.size, 1 / CORRELATIONS.size))
    each = CORRELATIONS.size * len(family.discrepancies)
    laws = rng.permutation(5 * each)[: 4 * each]  # as if those of no account had been left out
    share = np.array([0.5, 0.1, 0.3, 0.096, 0.004])[laws // each]
    share /= np.bincount(laws // each)[laws // each]
    mixture = GaussianMixture(share, rng.normal(size=(laws.size, 3)), rng.random((laws.size, 3)), laws)
    (case,) = tilted(mixture, kinds, family)  # the other has less than a tenth of its prior probability
    own = [number for number, law in enumerate(laws.tolist()) if law // each == 3]
    assert case.laws.tolist() == laws[own].tolist()
    assert case.probabilities.sum() == pytest.approx(1)
    assert case.mean == pytest.approx(np.average(mixture.means[own], axis=0, weights=share[own]))


@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_bands_hold_those_of_each_tilt_where_loads_differ(epsilon: float) -> None:
    weights, likelihood, _ = noisy_counts(reviews_of("load", 3, loads=(1, 2, 3, 4, 5, 6)), epsilon=epsilon)
    posterior = weights.derived(RecordModel).posterior(likelihood)
    assert isinstance(posterior, CountPosterior)
    assert posterior.cases
    without = replace(posterior, cases=())
    for level in (0.5, 0.9):
        lower, upper = posterior.band(level)
        bands = [replace(without, below=law).band(level) for law in (posterior.below, *posterior.cases)]
        assert lower.tolist() == np.min([low for low, _ in bands], axis=0).tolist()
        assert upper.tolist() == np.max([high for _, high in bands], axis=0).tolist()
        assert (np.diff(lower) >= 0).all()
        assert (np.diff(upper) >= 0).all()
    assert posterior.mean.tolist() == without.mean.tolist()


def test_equal_loads_have_no_such_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "MOST_DOUBTED", -1.0)  # always followed
    weights, likelihood, _ = noisy_counts(reviews_of("camps", 1))
    assert both(weights, likelihood)[1].cases == ()


def of_earlier_years(weights: pv.PublicWeights, correlation: float) -> pv.PublicWeights:
    """The weights with a prior from earlier years that all knew this correlation."""
    return with_prior(weights, pooled(*[around(correlation, 0.03)] * 5, quantity="ratings"))


def test_a_year_unlike_earlier_ones_gets_the_second_opinion_that_it_would_have_had() -> None:
    weights, likelihood, _ = noisy_counts(reviews_of("camps", 1, loads=(2, 4)))
    usual = weights.derived(RecordModel).posterior(likelihood)
    unlike = of_earlier_years(weights, 0.0)
    year = used_prior(unlike)
    assert year is not None
    found = unlike.derived(RecordModel).posterior(likelihood)
    assert isinstance(usual, CountPosterior)
    assert isinstance(found, CountPosterior)
    assert found.evidence is not None
    assert year.disagrees(found.evidence)
    assert found.mean.tolist() == usual.mean.tolist()
    assert [end.tolist() for end in found.band(0.9)] == [end.tolist() for end in usual.band(0.9)]
    assert len(found.cases) == len(usual.cases) > 0


def test_bands_with_a_pooled_prior_hold_those_of_each_tilt_where_loads_differ() -> None:
    weights, likelihood, _ = noisy_counts(reviews_of("family", 2, loads=(1, 2, 3, 4, 5, 6)), epsilon=0.3)
    like = of_earlier_years(weights, 0.4)
    year, found = used_prior(like), like.derived(RecordModel).posterior(likelihood)
    assert year is not None
    assert isinstance(found, CountPosterior)
    assert found.evidence is not None
    assert not year.disagrees(found.evidence)
    assert found.cases
    lower, upper = found.band(0.9)
    for case in found.cases:
        low, high = replace(found, below=case, cases=()).band(0.9)
        assert (lower <= low + 1e-12).all()
        assert (upper >= high - 1e-12).all()
