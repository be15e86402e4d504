"""Bands where no score is public: they allow for what nothing public tells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import peerveil as pv
from bench_hidden import WORLDS, bands, conference
from peerveil.inference.count_posterior import CountLikelihood, CountPosterior
from peerveil.inference.model import RecordModel
from peerveil.inference.prior import placed
from peerveil.mechanisms.bin_choice import bins_of
from peerveil.privacy.bins import NoisyCounts
from peerveil.privacy.noise_laws import LaplaceLaw


def posterior(weights: pv.PublicWeights) -> CountPosterior:
    bins = bins_of(weights, 8)
    counts = NoisyCounts(bins=bins, counts=np.full(bins.number, weights.reviewers // bins.number))
    made = weights.derived(RecordModel).posterior(CountLikelihood(counts, LaplaceLaw(scale=0.5)))
    assert isinstance(made, CountPosterior)
    return made


def weights_of(quantity: str, visible: float | None = None) -> pv.PublicWeights:
    rows = [[visible, None]] * 24
    return pv.weigh(pv.PublicRecord.from_rows(rows, load=2, scale=(1, 9)), quantity)


@pytest.mark.parametrize("quantity", ["ratings", "lowest of ratings"])
def test_a_band_is_widened_within_the_bins_of_its_ends(quantity: str) -> None:
    made = posterior(weights_of(quantity))
    low, high = made.band(0.9)
    sure = replace(made, doubt=None)
    narrow = sure.band(0.9)
    assert made.doubt is not None
    assert (low <= narrow[0]).all()
    assert (narrow[1] <= high).all()
    assert (low < narrow[0]).any()
    assert (narrow[1] < high).any()
    if quantity != "ratings":  # whole bins
        assert np.isin(low, made.bins.low).all()
        assert np.isin(high, made.bins.high).all()
    assert (made.bins.place(low) == made.bins.place(narrow[0])).all()
    assert (made.variance >= sure.variance).all()


def test_public_scores_beside_hidden_ones_tell_which_values_occur() -> None:
    assert not placed(weights_of("ratings")).any()
    assert placed(weights_of("ratings", visible=4.0)).all()
    assert posterior(weights_of("ratings", visible=4.0)).doubt is None


def test_version_one_of_the_model_is_as_it_was() -> None:
    assert posterior(replace(weights_of("lowest of ratings"), model=1)).doubt is None


def test_the_size_of_hidden_disagreements_is_not_taken_for_known() -> None:
    """A typical disagreement may be a twentieth of the scale, or half of it."""
    ensembles = weights_of("disagreement").derived(RecordModel).ensembles
    typical = [float(np.median(one.vectors)) for one in ensembles]
    assert min(typical) < 0.1 * 8
    assert max(typical) > 0.4 * 8


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("quantity", ["ratings", "miscalibration", "disagreement", "lowest of ratings"])
def test_bands_hold_true_numbers_with_nothing_public(quantity: str, world: str) -> None:
    held = []
    for epsilon in (1.0, 4.0):
        rng = np.random.default_rng([71, int(epsilon)])
        held += [bands(rng, conference(rng, world, reviewers=150), quantity, epsilon)[0] for _ in range(2)]
    assert float(np.mean(held)) >= 0.85


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_means_on_a_grid_are_not_taken_for_smooth_where_counts_are_nearly_exact(world: str) -> None:
    rng = np.random.default_rng([7, 30_000])
    held, ratio = bands(rng, conference(rng, world, reviewers=30_000), "ratings", 1.0)
    assert 0.85 <= held <= 0.99
    assert 0.75 <= ratio <= 1.25
