"""Long vectors: the limit of many reviewers is that of draws, and estimates are those of whole assignments."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import peerveil as pv
from marks import slow
from peerveil.inference.limit import LARGEST_PAPER, MANY, RANKS, WeightLaw, in_limit, part_of, stretched
from peerveil.inference.model import RecordModel
from peerveil.inference.prior import pair_ends, prior
from peerveil.mechanisms import Mechanism
from peerveil.planning.rehearsal import Rehearsal
from peerveil.privacy.sensitivity import sensitivity
from peerveil.quantities.distinct import Distinct
from peerveil.record.public_record import Floats
from peerveil.releases.refinement import assemble

SCORES = np.array([1.0, 2.0, 2.0, 3.0, 4.0, 4.0, 4.0, 5.0, 6.0, 9.0])


def whole_scores(n: int, load: int) -> pv.PublicWeights:
    rng = np.random.default_rng(n)
    scores = np.clip(np.rint(rng.normal(5.5, 1.2, n)[:, None] + rng.normal(0, 1.3, (n, load))), 1, 10)
    return pv.PublicWeights.from_rows(np.sort(scores, axis=1), load=load)


@pytest.fixture(scope="module")
def long() -> pv.PublicWeights:
    return whole_scores(MANY + 1, 2)


def loads(sizes: dict[int, int]) -> pv.Loads:
    reviews = sum(size * count for size, count in sizes.items())
    return pv.Loads(reviewers=sum(sizes.values()), reviews=reviews, sizes=tuple(sizes), counts=tuple(sizes.values()))


def test_without_leniency_the_limit_is_the_law_of_independent_weights() -> None:
    law = WeightLaw.of(Distinct(SCORES), 100).means(loads({2: 1, 3: 3}), 0.0)
    chances: Counter[float] = Counter()
    for size, share in ((2, 0.25), (3, 0.75)):
        for held in product(SCORES.tolist(), repeat=size):
            chances[round(sum(held) / size, 9)] += share / SCORES.size**size
    reached = dict(zip(law.value.round(9).tolist(), np.diff(law.below, prepend=0.0).tolist(), strict=True))
    for value, chance in chances.items():
        assert reached[value] == pytest.approx(chance, abs=1e-12)
    assert law.known


@pytest.mark.parametrize("leniency", [0.1, 1.0, 7.0])
@pytest.mark.parametrize("weight", [[0.0, 1.0], [1.0, 1.0, 9.0, 9.5], SCORES, np.linspace(0, 1, 128) ** 2])
def test_the_keys_are_as_close_as_they_must_be(weight: Floats, leniency: float) -> None:
    law = WeightLaw.of(Distinct(np.asarray(weight)), 128)
    place = np.arange(law.chance.size) - np.arange(law.chance.size) @ law.chance
    centre = leniency * place / np.sqrt(place**2 @ law.chance)
    expected = np.zeros(2 * law.chance.size - 1)
    for key in np.arange(centre[0] - 9, centre[-1] + 9, 0.004):  # an integral in very small steps
        held = np.exp(-0.5 * (key - centre) ** 2) * law.chance
        if held.sum() > 0:
            expected += np.convolve(held, held) / held.sum()
    reached = np.diff(law.means(loads({2: 10}), leniency).below, prepend=0.0)
    np.testing.assert_allclose(reached, expected / expected.sum(), atol=1e-5)


@pytest.mark.parametrize("kind", ["whole", "real", "heavy"])
@pytest.mark.parametrize("leniency", [-1.3, -0.3, 0.0, 0.4, 2.0, 7.0])
def test_the_limit_is_that_of_draws(kind: str, leniency: float) -> None:
    rng = np.random.default_rng(3)
    stated = loads({2: 1_000, 3: 2_000, 5: 3_000})
    weight = {
        "whole": rng.integers(1, 11, stated.reviews).astype(np.float64),
        "real": rng.beta(2, 5, stated.reviews),
        "heavy": rng.standard_t(3, stated.reviews),
    }[kind]
    weights = pv.PublicWeights(
        quantity="ratings", paper=np.arange(stated.reviews), low=weight, high=weight, loads=stated
    )
    drawn = np.sort(prior(weights, draws=20).ensemble(leniency).vectors, axis=None)
    law = WeightLaw.of(Distinct(weight), 400).means(stated, leniency)
    ends = np.append((law.value[1:] + law.value[:-1]) / 2, np.inf)
    share = np.searchsorted(drawn, ends, side="right") / drawn.size
    # Kolmogorov's distance exceeds this once in a million times for independent means; dealt ones vary less.
    assert np.abs(share - law.below).max() < 2.7 / np.sqrt(drawn.size)


def test_a_part_has_the_shares_of_the_whole() -> None:
    n = 30_000
    rng = np.random.default_rng(1)
    low = np.sort(rng.integers(1, 11, (n, 3)), axis=1).astype(np.float64)
    hidden = rng.random(n) < 0.2
    high = np.where(hidden[:, None], 10.0, low)
    low = np.where(hidden[:, None], 1.0, low)
    stated = loads({2: 15_000, 4: 15_000})
    weights = pv.PublicWeights(
        quantity="ratings", paper=np.repeat(np.arange(n), 3), low=low.ravel(), high=high.ravel(), loads=stated,
        hidden_span=9.0,
    )  # fmt: skip
    some = part_of(weights)
    assert some.loads.counts == (250, 250)
    assert np.mean(some.low != some.high) == pytest.approx(hidden.mean(), abs=1 / some.low.size)
    shown, all_shown = some.low[some.low == some.high], low[~hidden].ravel()
    for score in range(1, 11):
        assert np.mean(shown == score) == pytest.approx(np.mean(all_shown == score), abs=2 / shown.size)


def pair_slowly(weights: pv.PublicWeights) -> tuple[Floats, Floats]:
    """Paper by paper: values among both ends of a paper become points, and go first."""
    low, high = weights.low.copy(), weights.high.copy()
    for p in np.unique(weights.paper[low != high]).tolist():
        own = weights.paper == p
        lows, highs = Counter(low[own].tolist()), Counter(high[own].tolist())
        points = sorted((lows & highs).elements())
        low[own] = points + sorted((lows - highs).elements())
        high[own] = points + sorted((highs - lows).elements())
    return low, high


def test_ends_of_hidden_weights_are_paired_as_paper_by_paper() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        paper = np.repeat(np.arange(6), rng.integers(1, 7, 6))
        low = rng.integers(1, 6, paper.size)
        high = np.where(rng.random(paper.size) < rng.random(), rng.integers(low, 7), low)
        weights = pv.PublicWeights(
            quantity="ratings",
            paper=paper,
            low=low[np.lexsort((low, paper))].astype(np.float64),
            high=high[np.lexsort((high, paper))].astype(np.float64),
            loads=loads({1: paper.size}),
            hidden_span=6.0,
        )
        for fast, reference in zip(pair_ends(weights), pair_slowly(weights), strict=True):
            np.testing.assert_array_equal(fast, reference)


def test_where_the_limit_is_used(long: pv.PublicWeights) -> None:
    assert in_limit(long)
    assert long.derived(RecordModel).ensembles[0].vectors.shape[1] == RANKS
    assert not in_limit(whole_scores(MANY, 2))
    # A paper that many review is in the hands of many: nobody may hold two reviews of it.
    largest = int(LARGEST_PAPER * long.reviewers)
    for size, limit in ((largest, True), (largest + 1, False)):
        paper = np.concatenate((np.zeros(size, dtype=np.int64), np.arange(1, long.low.size - size + 1)))
        flat = np.ones(long.low.size)
        assert in_limit(replace(long, paper=paper, low=flat, high=flat)) is limit


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", [pv.Laplace(epsilon=1.0), pv.Histogram(epsilon=1.0)])
def test_estimates_are_those_of_many_whole_assignments(long: pv.PublicWeights, mechanism: Mechanism) -> None:
    rehearsals = [Rehearsal.of(replace(long), mechanism) for _ in range(2)]
    rehearsals[1].weights._derived[RecordModel] = RecordModel(long, draws=40)
    truth = prior(long, draws=1, seed=np.random.SeedSequence(1)).ensemble(0.9).vectors[0]
    noisy = rehearsals[0].perturb(truth, np.random.default_rng(1))
    limit, whole = (rehearsal.estimates(noisy, ["safe", "bayes"]) for rehearsal in rehearsals)
    for name in ("safe", "bayes"):
        first, second = limit[name].outlook, whole[name].outlook
        assert first is not None
        assert second is not None
        errors = [float(np.sqrt(np.mean((made[name].values - truth) ** 2))) for made in (limit, whole)]
        assert errors[0] < 1.05 * errors[1]
        assert first.expected_rmse == pytest.approx(second.expected_rmse, rel=0.05)
        covered = [np.mean((bands.lower <= truth) & (truth <= bands.upper)) for bands in (first, second)]
        assert covered[0] == pytest.approx(covered[1], abs=0.02)


@pytest.mark.parametrize("mechanism", [slow(pv.Laplace(scale=0.5)), slow(pv.Histogram(epsilon=0.5))])
def test_releases_of_earlier_versions_are_verified_as_they_were_made(
    long: pv.PublicWeights, mechanism: Mechanism
) -> None:
    rehearsal = Rehearsal.of(replace(long), mechanism)
    truth = prior(long, draws=1).ensemble(0.4).vectors[0]
    noisy = rehearsal.perturb(truth, np.random.default_rng(1))
    for model, programs in ((2, ["peerveil 0.3.0"]), (1, ["peerveil 0.2.0", "peerveil 0.3.0"])):
        weights = replace(long, model=model)
        assert weights.derived(RecordModel).long is (model == 2)
        release = assemble(
            noisy,
            weights,
            mechanism=rehearsal.mechanism,
            guarantee=rehearsal.mechanism.guarantee(sensitivity(long, "reviewer"), "reviewer"),
            public="all scores, and load counts",
            bounds=pv.region(weights),
            estimator="safe",
        )
        for software in programs:
            verified = pv.verify(replace(release, software=software), long)
            refused = {check.name for check in verified.checks if check.result == "fails"}
            assert ("values" in refused) is (software == "peerveil 0.3.0" and model == 1)


def test_interpolation() -> None:
    np.testing.assert_allclose(stretched(np.array([1.0, 2.0]), 4), [1.0, 1.25, 1.75, 2.0])
    np.testing.assert_array_equal(stretched(np.array([1.0, 2.0]), 2), [1.0, 2.0])
