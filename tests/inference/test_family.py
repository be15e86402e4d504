"""Prior assumptions: what each version of the model assumes, and that a known sum stays known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import peerveil as pv
from peerveil.inference.family import CORRELATIONS, FAMILIES, family_of, model_of
from peerveil.inference.model import RecordModel
from peerveil.inference.posterior import with_known_sum
from peerveil.inference.prior import prior
from peerveil.mechanisms import Histogram, Laplace
from peerveil.planning.rehearsal import Rehearsal


@pytest.mark.parametrize("model", FAMILIES)
def test_probabilities_sum_to_one(model: int) -> None:
    family = FAMILIES[model]
    assert family.correlation_chances.sum() == pytest.approx(1)
    assert family.correlation_chances[CORRELATIONS < 0].sum() == pytest.approx(family.narrower)
    assert sum(family.discrepancies.values()) == pytest.approx(1)


def test_first_model_is_the_half_normal_one() -> None:
    chances = FAMILIES[1].correlation_chances[CORRELATIONS >= 0]
    assert chances[0] / 0.05 > chances[-1] / 0.025  # the widths of the first and last cell
    typical = FAMILIES[2].correlation_chances
    assert CORRELATIONS[typical.argmax()] == pytest.approx(0.4, abs=0.11)


@pytest.mark.parametrize(
    ("software", "model"), [("peerveil 0.1.0", 1), ("peerveil 0.2.3", 1), ("peerveil 0.3.0", 2), ("peerveil 0.20.0", 2)]
)
def test_model_follows_from_the_version(software: str, model: int) -> None:
    assert model_of(software) == model


@given(st.integers(1, 6), st.integers(1, 5), st.floats(0, 1), st.integers(0, 2**32))
def test_known_sum_leaves_the_covariance_given_the_sum(n: int, k: int, uncertainty: float, seed: int) -> None:
    """Compared with Gaussian conditioning, entry by entry, which knows nothing of columns."""
    rng = np.random.default_rng(seed)
    columns, values = rng.normal(size=(n, k)), rng.normal(size=n)
    covariance = columns @ columns.T
    along = covariance @ values
    given_sum = covariance - np.outer(along, along) / (values @ along)
    made = with_known_sum(columns, values, 0.0)
    assert made @ made.T == pytest.approx(given_sum, abs=1e-9)
    part = with_known_sum(columns, values, uncertainty)
    assert values @ part == pytest.approx(uncertainty * (values @ columns), abs=1e-9)


def test_sum_is_public_with_equal_loads_and_public_scores_only() -> None:
    equal = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
    mixed = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], loads={1: 2, 3: 2})
    assert family_of(equal).sum_uncertainty(equal) == 0
    assert family_of(mixed).sum_uncertainty(mixed) == pytest.approx(0.5)  # loads 1, 1, 3, 3
    assert FAMILIES[1].sum_uncertainty(equal) == 1
    hidden = replace(equal, high=equal.high + np.array([1.0, 0, 0, 0, 0, 0, 0, 0]))
    assert family_of(hidden).sum_uncertainty(hidden) == 1


def test_leniency_by_load_moves_means_in_opposite_directions() -> None:
    """Where busy reviewers are lenient, the plain mean of means is below the mean of all scores, and the reverse."""
    scores = np.random.default_rng(1).normal(5, 1.5, size=(120, 4))
    weights = pv.PublicWeights.from_rows(scores, loads={1: 60, 3: 60, 4: 60})
    ensemble = prior(weights).ensemble(1.0, by_load=True)
    lenient, severe = (vectors.mean() for vectors in ensemble.by_load)
    assert lenient < scores.mean() - 0.05
    assert severe > scores.mean() + 0.05
    assert ensemble.tilt.mean() == pytest.approx((lenient - severe) / 2)
    equal = pv.PublicWeights.from_rows(scores, load=4)
    assert prior(equal).ensemble(1.0, by_load=True).tilt.size == 0


@pytest.mark.parametrize("loads", [{"load": 3}, {"loads": {1: 30, 3: 30, 5: 6}}])
@pytest.mark.parametrize("mechanism", [Histogram(epsilon=1.0), Histogram(epsilon=20.0), Laplace(epsilon=4.0)])
@pytest.mark.parametrize("whole", [True, False])
def test_bands_hold_their_values_and_ascend(
    loads: dict[str, object], mechanism: Histogram | Laplace, whole: bool
) -> None:
    rng = np.random.default_rng(3)
    scores = rng.normal(5, 1.5, size=(50, 3))
    weights = pv.PublicWeights.from_rows(np.rint(scores) if whole else scores, **loads)  # type: ignore[arg-type]
    rehearsal = Rehearsal.of(weights, mechanism)
    truth = weights.derived(RecordModel).ensembles[7].vectors[0]
    for _ in range(3):
        for estimate in rehearsal.estimates(rehearsal.perturb(truth, rng)).values():
            outlook = estimate.outlook
            assert outlook is not None
            assert (outlook.lower <= estimate.values).all()
            assert (estimate.values <= outlook.upper).all()
            assert (np.diff(outlook.lower) >= 0).all()
            assert (np.diff(outlook.upper) >= 0).all()
            least, most = rehearsal.region("tight").implied()
            certain = np.isclose(least, most)
            assert (outlook.upper - outlook.lower > 0)[~certain].mean() > 0.9
