"""The posterior given a noisy vector against all assignments of tiny records, weighted by prior and likelihood."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import peerveil as pv
from peerveil.inference.family import CORRELATIONS, family_of
from peerveil.sampling.tables import source_of
from peerveil.sampling.targets import targets_of
from peerveil.sampling.vectors import EntryTargets
from reference.enumerated_posterior import posterior

#: Scores, load, noisy means, the scale of their noise, and cuts between attainable means.
CASES = {
    "apart": ([1, 2, 3, 4, 5, 6, 7, 9], 2, [2.0, 4.0, 5.5, 7.0], 1.0, [2.75, 6.25]),
    "close": ([1, 2, 3, 4, 5, 6, 7, 9], 2, [4.5, 4.5, 4.8, 5.0], 1.0, [3.25, 6.25]),
    "clear": ([1, 1, 2, 3, 4, 4, 5, 6, 7, 8, 9, 9], 3, [1.5, 4.0, 5.5, 8.5], 0.5, [2.5, 7.5]),
    "people": ([1, 1, 2, 3, 4, 4, 5, 6, 7, 8, 9, 9, 3, 5, 7], 3, [3.5, 4.0, 5.0, 5.5, 6.5], 0.8, [3.5, 6.5]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_counts_have_the_posterior_of_all_assignments(name: str) -> None:
    """Numbers of reviewers below cuts: within a fifth of a reviewer.

    The model has normal laws and discrepancies, which assignments of four or five reviewers do not follow exactly.
    """
    scores, load, noisy, scale, cuts = CASES[name]
    record = pv.PublicRecord.from_rows([[x] for x in scores], load=load)
    weights = pv.weigh(record)
    chances = dict(zip(CORRELATIONS.tolist(), family_of(weights).correlation_chances.tolist(), strict=True))
    rng = np.random.default_rng(1)
    exact = posterior([float(x) for x in scores], load, chances, noisy, scale, draws=1_500, rng=rng)
    release = pv.refine(np.array(noisy), weights, mechanism=pv.Laplace(scale=scale))
    (vector,) = targets_of([source_of(release, record, "refuse")]).blocks
    assert isinstance(vector, EntryTargets)
    vector = replace(vector, cuts=np.array(cuts))
    ours = np.array([np.cumsum(vector.draw(rng))[:-1] for _ in range(3_000)])
    probability = np.array(list(exact.values()))
    below = np.array([[sum(np.mean(hand) < cut for hand in hands) for cut in vector.cuts] for hands in exact])
    mean = probability @ below
    deviation = np.sqrt(probability @ (below - mean) ** 2)
    off = np.abs(ours.mean(axis=0) - mean)
    assert (off < 0.2).all()
    assert (np.abs(ours.std(axis=0) - deviation) < 0.12).all()
    # The prior alone is much farther away.
    prior = posterior([float(x) for x in scores], load, chances, noisy, 1e9, draws=1_500, rng=rng)
    alone = np.array(list(prior.values())) @ np.array(
        [[sum(np.mean(hand) < cut for hand in hands) for cut in vector.cuts] for hands in prior]
    )
    assert np.abs(alone - mean).max() > 2 * off.max()
