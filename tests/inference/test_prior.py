from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import peerveil as pv
from peerveil.inference.model import RecordModel
from peerveil.inference.prior import _draw_loads, pair_ends, prior
from reference.leniency import lean
from reference.theta import theta
from strategies import Case, cases, hidden_cases, visible


@given(cases(most_reviews=7), st.sampled_from([-3.0, -0.5, 0.0, 0.7, 20.0]))
@settings(max_examples=60)
def test_every_draw_is_a_vector_that_some_assignment_gives(case: Case, leniency: float) -> None:
    possible = np.array([[float(x) for x in vector] for vector in theta(case.rows, case.loads)])
    drawn = prior(case.weights(), draws=12).ensemble(leniency).vectors
    size = np.abs(possible).max() or 1.0
    assert len(drawn)
    for vector in drawn:
        assert np.abs(possible - vector).max(axis=1).min() <= 1e-12 * size


@given(hidden_cases(), st.sampled_from(["ratings", "miscalibration"]), st.sampled_from([-1.0, 0.0, 1.0]))
@settings(max_examples=40)
def test_hidden_scores_are_drawn_within_what_the_record_allows(
    drawn: tuple[Case, list[list[bool]]], quantity: str, leniency: float
) -> None:
    weights = pv.weigh(visible(*drawn), quantity, lone="zero")
    region = pv.region(weights, "envelope")
    for vector in prior(weights, draws=10).ensemble(leniency).vectors:
        assert region.contains(vector)


def test_hidden_scores_look_like_visible_ones() -> None:
    rng = np.random.default_rng(1)
    scores = rng.choice([2.0, 3.0, 9.0], size=(40, 3))
    rows = [[None if rng.random() < 0.3 else float(x) for x in row] for row in scores]
    weights = pv.weigh(pv.PublicRecord.from_rows(rows, load=3, scale=(1, 10)))
    low, high = pair_ends(weights)
    seen = sorted(x for row in rows for x in row if x is not None)
    assert sorted(low[low == high]) == seen
    assert set(np.unique(prior(weights, draws=5).weight)) <= {2.0, 3.0, 9.0}
    blind = pv.weigh(pv.PublicRecord.from_rows([[None] * 3] * 40, load=3, scale=(1, 10)))
    drawn = prior(blind, draws=20).weight
    assert 1 <= drawn.min() < 1.5
    assert 9.5 < drawn.max() <= 10


@pytest.mark.parametrize("stated", [(1, 6), {2, 5, 9}, {1, 7, 8}, None])
def test_loads_are_drawn_as_far_as_they_are_stated(stated: tuple[int, int] | set[int] | None) -> None:
    rows = np.random.default_rng(2).random((40, 4))
    weights = pv.PublicWeights.from_rows(rows, loads=stated, reviewers=40)
    assert weights.loads.counts is None
    drawn = _draw_loads(weights, 8, np.random.default_rng(0))
    assert (drawn.sum(axis=1) == 160).all()
    assert set(np.unique(drawn)) <= set(weights.loads.sizes)
    assert len({tuple(sorted(row)) for row in drawn.tolist()}) > 1
    region = pv.region(weights, "envelope")
    assert all(region.contains(v) for s in (-1.0, 0.0, 1.0) for v in prior(weights, draws=8).ensemble(s).vectors)


def test_crowded_records_are_drawn_from_too() -> None:
    """Everybody reviews nearly every paper: swaps cannot mend what dealing breaks."""
    rng = np.random.default_rng(3)
    rows = rng.integers(1, 11, size=(12, 11))
    weights = pv.PublicWeights.from_rows(rows, load=11)
    region = pv.region(weights, "envelope")
    drawn = [prior(weights, draws=20).ensemble(s) for s in (0.0, 3.0)]
    assert all(region.contains(vector) for ensemble in drawn for vector in ensemble.vectors)
    assert drawn[0].mean.std() < drawn[1].mean.std()


@pytest.mark.parametrize("leniency", [0.0, 0.4, 0.9, 2.0])
def test_leniency_means_what_its_definition_says(leniency: float) -> None:
    rng = np.random.default_rng(4)
    scores = rng.integers(1, 11, size=(150, 4)).astype(float)
    weights = pv.PublicWeights.from_rows(scores, load=4)
    slow = np.array([lean(weights.paper, weights.low, 4, leniency, rng) for _ in range(60)])
    fast = prior(weights, draws=60).ensemble(leniency)
    error = np.sqrt((slow.var(axis=0) + fast.vectors.var(axis=0)) / 60)
    assert np.mean(np.abs(slow.mean(axis=0) - fast.mean) / (error + 1e-3)) < 1.5
    assert np.sum(fast.vectors.var(axis=0)) == pytest.approx(np.sum(slow.var(axis=0)), rel=0.35)


def test_means_differ_the_more_the_stronger_the_leniency_and_less_than_by_chance_below_0() -> None:
    rows = np.random.default_rng(5).random((60, 3))
    for loads in ({"load": 3}, {"loads": {2: 30, 4: 30}}):
        drawn = prior(pv.PublicWeights.from_rows(rows, **loads), draws=40)
        spread = [drawn.ensemble(s).mean.std() for s in (-5, -1, -0.4, 0, 0.4, 1, 5)]
        assert spread == sorted(spread)
        assert spread[0] < 0.75 * spread[3]
        assert spread[-1] > 1.3 * spread[3]


def test_the_same_record_gives_the_same_draws() -> None:
    rows = np.random.default_rng(6).random((20, 3))
    first, again = (prior(pv.PublicWeights.from_rows(rows, load=3)).ensemble(0.5).vectors for _ in range(2))
    assert first.tobytes() == again.tobytes()
    rows[0, 0] += 1e-9
    assert prior(pv.PublicWeights.from_rows(rows, load=3)).ensemble(0.5).vectors.tobytes() != first.tobytes()


@pytest.mark.parametrize(
    ("reviewers", "load", "model", "offsets", "draws"),
    [
        (2_500, 4, 2, (0.0, 1.0), 30),
        (2_501, 4, 2, (0.0, 1.0), 69),  # by reviews
        (2_501, 2, 2, (0.0, 1.0), 71),  # by reviewers
        (3_000, 1, 2, (0.0, 1.0), 100),  # not fewer than if it were small
        (2_501, 4, 1, (0.0, 1.0), 29),  # as in version 0.2
        (2_501, 4, 2, (0.0, 0.5), 29),  # for each of several ranges
    ],
)
def test_large_records_are_drawn_more_often_than_in_earlier_versions(
    reviewers: int, load: int, model: int, offsets: tuple[float, float], draws: int
) -> None:
    low = np.zeros(reviewers * load)
    loads = pv.Loads(reviewers=reviewers, reviews=low.size, sizes=(load,), counts=(reviewers,))
    paper = np.repeat(np.arange(reviewers), load)
    weights = pv.PublicWeights(quantity="ratings", paper=paper, low=low, high=low, loads=loads, model=model)
    assert len(prior(weights, offsets=offsets).loads) == draws


def test_modes_and_rest_make_up_the_variance() -> None:
    for n, most in ((8, 3), (60, 5), (60, 24)):
        weights = pv.PublicWeights.from_rows(np.random.default_rng(7).random((n, 2)), load=2)
        ensemble = prior(weights, draws=30).ensemble(0.3)
        modes, rest = ensemble.modes(most)
        full = np.cov(ensemble.vectors.T)
        np.testing.assert_allclose(np.sum(modes**2, axis=1) + rest, np.diag(full), rtol=1e-9, atol=1e-15)
        best = np.linalg.eigvalsh(full)[::-1][:most].sum()
        assert np.sum(modes**2) == pytest.approx(best, rel=1e-9)


def test_the_expected_vector_of_random_dealing_is_that_of_shuffled_reviews() -> None:
    """Against shuffling until nobody holds two reviews of one paper; leniency gives another vector."""
    rng = np.random.default_rng(3)
    rows = rng.integers(1, 11, (30, 2)).astype(float)
    weights = pv.PublicWeights.from_rows(rows.tolist(), load=3)
    paper = np.repeat(np.arange(30), 2)
    shuffled: list[np.ndarray] = []
    while len(shuffled) < 1500:
        order = rng.permutation(60).reshape(20, 3)
        if all(len(set(paper[held])) == 3 for held in order):
            shuffled.append(np.sort(rows.ravel()[order].mean(axis=1)))
    model = RecordModel(weights)
    draws = model.ensembles[0].vectors.shape[0]
    slack = 4 * np.std(shuffled, axis=0) * np.sqrt(1 / draws + 1 / 1500)
    assert (np.abs(np.mean(shuffled, axis=0) - model.dealt) <= slack).all()
    assert not (np.abs(np.mean(shuffled, axis=0) - model.ensembles[-5].mean) <= slack).all()
