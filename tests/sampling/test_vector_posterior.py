"""Noise on the vector: drawn counts and whole tables against the posterior of tiny records, by enumeration.

With normal noise the posterior of the stated prior is drawn exactly, so that chi-squared decides. With Laplace noise it
is a variational one: how far it may be off follows from its bound on the evidence (Pinsker's inequality).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from functools import cache
from statistics import fmean

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import chisquare

import peerveil as pv
from peerveil.inference.gaussians import LowRankGaussians
from peerveil.inference.likelihood import EntryLikelihood
from peerveil.inference.model import RecordModel
from peerveil.quantities.statistics import MEAN
from peerveil.record.public_record import Floats
from peerveil.releases.refinement import law_of
from peerveil.sampling.cells import Cells, Margin
from peerveil.sampling.chain import Chain
from peerveil.sampling.drawing import draw
from peerveil.sampling.tables import source_of
from peerveil.sampling.targets import targets_of
from peerveil.sampling.vectors import EntryTargets
from reference.chi_squared import assert_law, pooled
from reference.labelled_assignments import Holders, assignments
from reference.vector_posterior import State, Weighted, drawn_from_prior, weighted


def noise_of(name: str, scale: float) -> pv.Gaussian | pv.Laplace:
    return pv.Gaussian(scale=scale) if name == "normal" else pv.Laplace(scale=scale)


#: Scores of papers with two reviews each, noisy means of reviewers of load 2, the scale of the noise, and cuts between
#: attainable means, which do not depend on the noise.
CASES = {
    "clear": ([[1, 4], [2, 3], [5, 7], [6, 9]], [2.0, 4.5, 5.0, 7.0], 0.5, [3.2, 4.7, 6.2]),
    "close": ([[1, 4], [2, 3], [5, 7], [6, 9]], [4.0, 4.2, 5.2, 5.1], 1.2, [3.2, 4.7, 6.2]),
    "people": ([[1, 2], [2, 3], [5, 7], [6, 9], [4, 5]], [2.5, 3.0, 4.5, 5.0, 8.0], 0.8, [3.2, 4.7, 6.2]),
}

#: Draws from the prior that are weighted, and draws of the sampler.
DRAWS, OURS = 400_000, 4_000


@dataclass(frozen=True, eq=False)
class Case:
    """A record and a release with its posterior.

    Attributes:
        record: the record.
        vector: the posterior that is drawn from.
        exact: the posterior by weighted draws from the prior.
        log_bound: the sampler's bound on the logarithm of the evidence.
    """

    record: pv.PublicRecord
    vector: EntryTargets
    exact: Weighted
    log_bound: float


@cache
def case(name: str, noise: str) -> Case:
    rows, noisy, scale, cuts = CASES[name]
    record = pv.PublicRecord.from_rows(rows, load=2)
    weights = pv.weigh(record)
    release = pv.refine(np.array(noisy), weights, mechanism=noise_of(noise, scale))
    (vector,) = targets_of([source_of(release, record, "refuse")]).blocks
    assert isinstance(vector, EntryTargets)
    prior = weights.derived(RecordModel).entry_prior()
    (laws,) = prior.laws
    assert isinstance(laws, LowRankGaussians)
    chances = np.outer(prior.family.correlation_chances, list(prior.family.discrepancies.values())).ravel()
    drawn = drawn_from_prior(laws, chances, DRAWS, np.random.default_rng(5))
    stated = law_of(release.mechanism)
    assert stated is not None
    exact = weighted(drawn, cuts, np.array(noisy), stated.log_density)
    bounds = laws.fit(EntryLikelihood(np.array(noisy), stated)).bound
    log_bound = float(logsumexp(bounds, b=chances / chances.sum()))
    return Case(record, replace(vector, cuts=np.array(cuts)), exact, log_bound)


def below(counts: np.ndarray) -> State:
    return tuple(np.cumsum(counts)[:-1].tolist())


@pytest.mark.promise("P-TABLES-3")
@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_counts_have_the_posterior_of_the_stated_prior_with_normal_noise(name: str) -> None:
    of, rng = case(name, "normal"), np.random.default_rng(7)
    assert of.exact.effective > 10 * OURS  # the reference's own error is small
    seen = Counter(below(of.vector.draw(rng)) for _ in range(OURS))
    assert set(seen) <= set(of.exact.chances)
    states = list(of.exact.chances)
    expected, counted = pooled([OURS * of.exact.chances[one] for one in states], [seen[one] for one in states])
    assert len(expected) > 5
    assert chisquare(counted, expected).pvalue > 1e-3
    # The bound is the evidence itself; the error of its reference is that of a mean of weights.
    error = math.sqrt(1 / of.exact.effective)
    assert of.log_bound == pytest.approx(of.exact.log_evidence, abs=4 * error)
    # The test has power: the prior alone, and a posterior of another release, are refused.
    for other in (case(name, "laplace"), case("close" if name != "close" else "clear", "normal")):
        wrong = [OURS * other.exact.chances.get(one, 0.0) + 1e-9 for one in states]
        total = sum(wrong) / OURS
        expected, counted = pooled([one / total for one in wrong], [seen[one] for one in states])
        assert chisquare(counted, expected).pvalue < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_counts_are_as_near_the_posterior_as_the_bound_says_with_laplace_noise(name: str) -> None:
    """The divergence of what is drawn from the posterior is the evidence minus its bound: at most so far apart."""
    of, rng = case(name, "laplace"), np.random.default_rng(7)
    error = math.sqrt(1 / of.exact.effective)
    gap = of.exact.log_evidence - of.log_bound
    assert gap > -4 * error  # a bound
    seen = Counter(below(of.vector.draw(rng)) for _ in range(OURS))
    chances = of.exact.chances
    apart = sum(abs(seen[one] / OURS - chances.get(one, 0.0)) for one in {*seen, *chances}) / 2
    by_chance = sum(
        math.sqrt(chance * (1 - chance) * (1 / OURS + 1 / of.exact.effective)) for chance in chances.values()
    )
    assert apart < math.sqrt(max(gap, 0.0) / 2) + by_chance


def cells_of(rows: list[list[int]], cuts: list[float], states: list[Holders]) -> Floats:
    """For each assignment, how many reviewers have a mean in each cell; one row each."""
    score = [x for row in rows for x in row]
    counts = np.zeros((len(states), len(cuts) + 1))
    for row, holders in zip(counts, states, strict=True):
        for person in range(max(holders) + 1):
            row[bisect_right(cuts, fmean(x for x, holder in zip(score, holders, strict=True) if holder == person))] += 1
    return counts


@pytest.mark.promise("P-TABLES-3", by="exhaustion")
@pytest.mark.slow
def test_whole_tables_have_the_law_that_is_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise to tables: all labelled assignments, weighted by the exact posterior of counts and the fixed targets."""
    rows, _, _, cuts = CASES["clear"]
    of, rng, draws = case("clear", "normal"), np.random.default_rng(3), 600
    states = assignments([2, 2, 2, 2], [2, 2, 2, 2])
    counts = cells_of(rows, cuts, states)
    cells = Cells(of.record.paper, of.record.score, np.full(4, 2), (Margin(MEAN, np.array(cuts)),))
    centres: list[Floats] = []
    sweep = Chain.sweep

    def watched(chain: Chain, centre: Floats) -> None:
        centres.append(centre.copy())
        sweep(chain, centre)

    monkeypatch.setattr(Chain, "sweep", watched)
    by_counts: defaultdict[State, list[Floats]] = defaultdict(list)
    seen = Counter[Holders]()
    for _ in range(draws):
        wanted = of.vector.draw(rng)
        drawn = draw(cells, wanted, rng)
        assert (np.array(centres[-drawn.fixed :]) == centres[-1]).all()
        off = np.cumsum(counts - centres[-1], axis=1)[:, :-1]  # below each cut
        density = np.exp(-(off**2).sum(axis=1))
        by_counts[below(wanted)].append(density / density.sum())
        seen[tuple(drawn.holder.tolist())] += 1
    chances = sum(of.exact.chances[one] * np.mean(laws, axis=0) for one, laws in by_counts.items())
    missed = 1 - sum(of.exact.chances[one] for one in by_counts)
    assert missed < 0.01
    assert_law(states, (chances / (1 - missed)).tolist(), seen)
