"""Findings against slow references: an analysis of variance, simulated rankings, grids of densities; and coverage."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import peerveil as pv
from marks import mostly_slow
from peerveil.errors import FileError, InputError
from peerveil.inference import findings as module
from peerveil.inference.assignments import deal
from peerveil.inference.count_posterior import CountLikelihood
from peerveil.inference.findings import Finding, components, findings, interval, load_moments, share_changed
from peerveil.inference.likelihood import EntryLikelihood
from peerveil.inference.model import RecordModel
from peerveil.mechanisms import Histogram
from peerveil.planning.rehearsal import Rehearsal
from peerveil.privacy.bins import NoisyCounts
from peerveil.privacy.noise_laws import LaplaceLaw, NormalLaw
from peerveil.record.loads import Loads
from peerveil.record.public_record import Floats, Ints
from peerveil.releases.refinement import assemble
from peerveil.reporting.typography import unbroken
from peerveil.simulation.conferences import Conference
from peerveil.simulation.worlds import WORLDS, world


def made(
    name: str = "family",
    *,
    reviewers: int = 100,
    loads: int | tuple[int, ...] = 4,
    quantity: str = "ratings",
    seed: int | list[int] = 1,
) -> tuple[pv.PublicWeights, Conference, Floats]:
    """The public weights of a world's conference, the reviewer of each review, and the weight of each."""
    conference = world(name, reviewers=reviewers, loads=loads, seed=np.random.SeedSequence(seed))
    load, number = np.unique(np.bincount(conference.reviewer), return_counts=True)
    rows = np.split(conference.score, np.flatnonzero(np.diff(conference.paper)) + 1)
    record = pv.PublicRecord.from_rows(
        rows, loads=dict(zip(load.tolist(), number.tolist(), strict=True)), scale=(1, 10)
    )
    weight = conference.score
    if quantity == "miscalibration":
        weight = np.array([
            score - conference.score[(conference.paper == paper) & (np.arange(weight.size) != review)].mean()
            for review, (paper, score) in enumerate(zip(conference.paper, conference.score, strict=True))
        ])  # fmt: skip
    return pv.weigh(record, quantity), conference, weight


def anova(reviewer: Ints, weight: Floats) -> tuple[float, float]:
    """Variance components of equal loads, by the table of an analysis of variance."""
    groups = [weight[reviewer == j] for j in np.unique(reviewer)]
    load = groups[0].size
    between = load * sum((group.mean() - weight.mean()) ** 2 for group in groups) / (len(groups) - 1)
    within = sum(np.sum((group - group.mean()) ** 2) for group in groups) / (weight.size - len(groups))
    return float(between - within) / load, float(within)


def noiseless(weights: pv.PublicWeights, means: Floats) -> CountLikelihood:
    """Noisy counts with next to no noise, in as many bins as there are means."""
    rehearsal = Rehearsal.of(weights, Histogram(scale=0.01, bins=400))
    assert rehearsal.bins is not None
    return CountLikelihood(NoisyCounts(bins=rehearsal.bins, counts=rehearsal.bins.counts(means)), rehearsal.noise.law)


@pytest.mark.parametrize("quantity", ["ratings", "miscalibration"])
def test_components_are_those_of_an_analysis_of_variance(quantity: str) -> None:
    weights, conference, weight = made(quantity=quantity)
    means = np.array([weight[conference.reviewer == j].mean() for j in range(100)])
    ((inverse, square),) = load_moments(weights.loads)
    found = components(weights, means.var(ddof=1), inverse, square)
    leniency, rest = anova(conference.reviewer, weight)
    assert found.reviewers == pytest.approx(leniency)
    assert found.rest == pytest.approx(rest)
    assert found.of_means == pytest.approx(means.var(ddof=1))
    correlation = leniency / (leniency + rest)
    assert found.share == pytest.approx(correlation)
    assert found.reliability == pytest.approx(4 * correlation / (1 + 3 * correlation))  # Spearman and Brown
    half = 2 * correlation / (1 + correlation)  # the correlation of the means of two halves
    assert found.reliability == pytest.approx(2 * half / (1 + half))


def test_components_of_mixed_loads_are_unbiased() -> None:
    rng, loads = np.random.default_rng(5), np.repeat([1, 2, 3, 6], 15)
    reviewer = np.repeat(np.arange(60), loads)
    drawn = []
    for _ in range(1000):
        weight = rng.normal(0, 0.7, 60)[reviewer] + rng.normal(0, 1.1, reviewer.size)
        means = np.bincount(reviewer, weights=weight) / loads
        weights = pv.PublicWeights.from_rows(np.sort(weight)[:, None], loads={1: 15, 2: 15, 3: 15, 6: 15})
        drawn.append(components(weights, means.var(ddof=1), *load_moments(weights.loads)[0])[:2])
    mean, error = np.mean(drawn, axis=0), np.std(drawn, axis=0) / math.sqrt(1000)
    assert np.abs(mean - [0.49, 1.21]) / error == pytest.approx(0, abs=3)
    assert error[0] < 0.01


def test_load_moments_hold_those_of_every_statement_of_loads() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        loads = rng.integers(2, 7, 12)
        stated = Loads(reviewers=12, reviews=int(loads.sum()), sizes=(2, 3, 4, 5, 6), counts=None)
        least, most = load_moments(stated)
        true = (np.mean(1 / loads), np.sum(loads**2) / loads.sum())
        assert all(low - 1e-12 <= number <= high + 1e-12 for low, number, high in zip(least, true, most, strict=True))


@pytest.mark.parametrize("leniency", [0.05, 0.2, 0.6])
@pytest.mark.parametrize("accepted", [0.1, 0.25, 0.5])
def test_share_changed_is_that_of_simulated_rankings(leniency: float, accepted: float) -> None:
    rng, papers = np.random.default_rng(11), 400_000
    fair = rng.normal(0, math.sqrt(1 - leniency), papers)
    given = fair + rng.normal(0, math.sqrt(leniency), papers)
    number = int(accepted * papers)
    first, second = (set(np.argsort(-score)[:number].tolist()) for score in (given, fair))
    assert share_changed(leniency, accepted) == pytest.approx(len(first - second) / number, abs=0.004)


@pytest.mark.parametrize("spread", [0.3, 0.7, 1.2])
def test_share_changed_is_that_of_whole_scores_with_known_leniency(spread: float) -> None:
    rng, n = np.random.default_rng(1), 3000
    paper = np.repeat(np.arange(n), 4)
    reviewer = deal(paper, np.full(n, 4), rng)
    leniency = rng.normal(0, spread, n)[reviewer]
    score = np.clip(np.rint(5.5 + rng.normal(0, 1.2, n)[paper] + leniency + rng.normal(0, 0.9, 4 * n)), 1, 10)
    given, fair = (each.reshape(n, 4).mean(axis=1) for each in (score, score - leniency))
    lots = 1e-6 * rng.random(n)  # ties are broken alike in both rankings
    first, second = (set(np.argsort(-(mean + lots))[: n // 4].tolist()) for mean in (given, fair))
    found = share_changed(anova(reviewer, score)[0] / 4 / given.var(ddof=1), 0.25)
    assert found == pytest.approx(len(first - second) / (n // 4), abs=0.02)


@pytest.mark.parametrize("observed", [-3.0, -0.5, 0.4, 1.2, 2.0, 5.0])
def test_interval_without_offset_is_the_shortest_credible_one(observed: float) -> None:
    grid = np.linspace(0, 15, 150_001)
    density = norm.pdf(grid, observed)
    order = np.argsort(-density)
    inside = grid[order[: np.searchsorted(np.cumsum(density[order]) / density.sum(), 0.9)]]
    lower, value, upper = interval(observed, observed, observed, 1.0, least=0.0)
    assert (lower, upper) == pytest.approx((inside.min(), inside.max()), abs=2e-3)
    assert value == pytest.approx(max(observed, 0.0))


@pytest.mark.parametrize("observed", [3.0, 4.9, 5.001, 5.4, 7.0, 9.0, 60.0])
def test_interval_of_what_noise_moved_beyond_the_possible_has_width(observed: float) -> None:
    free, cut = (interval(observed, observed, observed, 1.0, least=0.0, most=most) for most in (np.inf, 5.0))
    assert cut[1:] == free[1:]
    if observed <= 5:
        assert cut == free
        return
    assert cut[0] < min(5.0, free[0])
    if observed < 20:  # beyond, a normal density on a grid is 0
        grid = np.linspace(0, 5, 500_001)
        below = np.cumsum(norm.pdf(grid, observed))
        assert cut[0] == pytest.approx(grid[np.searchsorted(below, 0.1 * below[-1])], abs=1e-3)


def test_reviewers_who_may_explain_everything_are_told_with_an_interval() -> None:
    for quantity in ("ratings", "miscalibration"):
        weights = made(reviewers=60, quantity=quantity)[0]
        far = np.linspace(-40.0, 40.0, 60) + weights.low.mean()
        share = module._of_variance(weights, EntryLikelihood(far, LaplaceLaw(scale=3.0)), 0.25)[0]
        assert share.name == "leniency_share"
        assert share.lower < share.upper == share.value == 1.0


@pytest.mark.parametrize("wide", [0.0, 0.5, 1.0, 3.0, 20.0])
def test_interval_holds_the_number_whatever_the_offset(wide: float) -> None:
    observed = 100 + norm.ppf((np.arange(400) + 0.5) / 400)
    for offset in (0.0, wide):
        ends = [interval(x - offset, x, x + wide - offset, 1.0, least=0.0) for x in observed]
        held = np.mean([lower <= 100 <= upper for lower, _, upper in ends])
        assert held == pytest.approx(0.9, abs=0.005)


def test_moments_in_bins_are_those_of_the_draws() -> None:
    weights, _, _ = made(reviewers=300)
    rehearsal = Rehearsal.of(weights, Histogram(epsilon=1.0))
    assert rehearsal.bins is not None
    noisy = NoisyCounts(bins=rehearsal.bins, counts=np.zeros(rehearsal.bins.number, dtype=np.int64))
    first, second = module._moments_in_bins(weights, CountLikelihood(noisy, rehearsal.noise.law))
    for row, ensemble in enumerate(weights.derived(RecordModel).ensembles):
        off = ensemble.vectors.ravel() - weights.low.mean()
        place = rehearsal.bins.place(ensemble.vectors.ravel())
        for b in range(rehearsal.bins.number):
            inside = off[place == b]
            if inside.size > 500:
                assert first[row, b] == pytest.approx(inside.mean(), abs=0.01)
                assert second[row, b] == pytest.approx(np.mean(inside**2), rel=0.01, abs=0.01)


@pytest.mark.parametrize("loads", [4, (1, 2, 3, 4, 5, 6)])
@pytest.mark.parametrize("quantity", ["ratings", "miscalibration"])
def test_without_noise_findings_are_the_truth(quantity: str, loads: int | tuple[int, ...]) -> None:
    weights, conference, weight = made("camps", loads=loads, quantity=quantity, seed=4)
    load = np.bincount(conference.reviewer)
    means = np.sort(np.bincount(conference.reviewer, weights=weight) / load)
    likelihood = noiseless(weights, means)
    outlook = pv.refine(means, weights, mechanism=pv.Laplace(scale=1e-3)).outlook
    assert outlook is not None
    found = {each.name: each for each in findings(weights, likelihood, means, outlook)}
    moment = [[1, np.mean(1 / load)], [weight.size - np.sum(load**2) / weight.size, weight.size - 1]]
    total = np.sum((weight - weight.mean()) ** 2)
    leniency, rest = np.linalg.solve(np.array(moment), [means.var(ddof=1), total])
    size = np.bincount(conference.paper)
    paper = np.bincount(conference.paper, weights=conference.score) / size
    inside = np.sum((conference.score - paper[conference.paper]) ** 2) / (weight.size - size.size)
    moved = leniency * np.mean(1 / size)
    true = {
        "leniency_share": leniency / (leniency + rest) if quantity == "ratings" else leniency / inside,
        "reliability": leniency / means.var(ddof=1),
        "strictest_tenth": means[9],
        "most_lenient_tenth": means[-10],
    }
    if quantity == "ratings":
        true["changed_decisions"] = share_changed(moved / paper.var(ddof=1), 0.25)
    else:
        true["paper_shift"] = math.sqrt(moved)
    assert {name: each.value for name, each in found.items()} == pytest.approx(true, abs=0.01)
    place = likelihood.noisy.bins.place(np.unique(means))
    apart = np.unique(place).size == place.size  # a bin for each mean; otherwise their places in it remain unknown
    assert apart or quantity == "miscalibration"
    for name, each in found.items():
        assert not apart or each.lower - 1e-9 <= true[name] <= each.upper + 1e-9
        assert each.upper - each.lower < 0.1


def test_findings_of_noise_on_the_vector_hold_the_truth() -> None:
    held = []
    for seed in range(20):
        weights, conference, weight = made("heavy", seed=seed)
        means = np.sort(np.bincount(conference.reviewer, weights=weight) / 4)
        leniency, rest = anova(conference.reviewer, weight)
        true = max(leniency, 0) / (max(leniency, 0) + rest)
        for law in (LaplaceLaw(scale=0.5), NormalLaw(sigma=0.1)):
            noisy = means + law.draw(np.random.default_rng(seed), means.size)
            lower, value, upper = module._variance_of_means(
                weights, EntryLikelihood(noisy, law), 0.25 * weights.low.var(ddof=1), math.inf
            )
            ends = [components(weights, end, 0.25, 4.0).share for end in (lower, value, upper)]
            held.append(ends[0] <= true <= ends[2])
            assert ends == sorted(ends)
            assert ends[2] - ends[0] < 0.35
    assert np.mean(held) >= 0.8


@pytest.mark.parametrize("name", mostly_slow([*WORLDS]))
def test_intervals_hold_the_truth_in_every_world(name: str) -> None:
    """A small version of benchmarks/bench_findings.py."""
    held: dict[str, list[bool]] = {}
    for seed in range(9):
        weights, conference, weight = made(name, loads=(1, 2, 3, 4, 5, 6) if name == "load" else 4, seed=[9, seed])
        load = np.bincount(conference.reviewer)
        means = np.sort(np.bincount(conference.reviewer, weights=weight) / load)
        true = {"strictest_tenth": means[9], "most_lenient_tenth": means[-10]}
        true["leniency_share"] = components(weights, means.var(ddof=1), *load_moments(weights.loads)[0]).share
        rehearsal = Rehearsal.of(weights, Histogram(epsilon=1.0))
        for draw in range(4):
            noisy = rehearsal.perturb(means, np.random.default_rng([seed, draw]))
            estimate = rehearsal.estimates(noisy, ["bayes"])["bayes"]
            assert isinstance(noisy, NoisyCounts)
            assert estimate.outlook is not None
            likelihood = CountLikelihood(noisy, rehearsal.noise.law)
            for found in findings(weights, likelihood, estimate.values, estimate.outlook):
                if found.name in true:
                    ends = (found.lower - 1e-9, found.upper + 1e-9)
                    held.setdefault(found.name, []).append(ends[0] <= true[found.name] <= ends[1])
    assert all(np.mean(each) >= 0.8 for each in held.values()), {name: np.mean(each) for name, each in held.items()}
    assert np.mean(held["leniency_share"]) < 1


def test_intervals_narrow_with_the_noise() -> None:
    weights, conference, weight = made("camps")
    means = np.sort(np.bincount(conference.reviewer, weights=weight) / 4)
    widths = []
    for epsilon in (2.0, 8.0, 32.0):
        shares = [released(weights, means, epsilon, seed).findings[0] for seed in range(3)]
        widths.append(np.mean([share.upper - share.lower for share in shares]))
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < widths[0] / 4


def released(weights: pv.PublicWeights, means: Floats, epsilon: float = 1.0, seed: int = 1) -> pv.Release:
    rehearsal = Rehearsal.of(weights, Histogram(epsilon=epsilon))
    return assemble(
        rehearsal.perturb(means, np.random.default_rng(seed)),
        weights,
        mechanism=rehearsal.mechanism,
        guarantee=pv.Guarantee(kind="pure", unit="reviewer", epsilon=epsilon),
        public="all scores, and load counts",
        bounds=rehearsal.region("tight"),
        estimator="bayes",
    )


def test_what_is_not_public_is_not_found() -> None:
    names = {"strictest_tenth", "most_lenient_tenth"}
    rows = np.random.default_rng(1).integers(1, 11, (40, 4)).astype(float).tolist()
    hidden = pv.PublicRecord.from_rows([[None] * 4, *rows[1:]], load=4, scale=(1, 10))
    ones = pv.PublicRecord.from_rows(rows, load=1)
    for record in (hidden, ones):
        weights = pv.weigh(record)
        noisy = np.sort(np.random.default_rng(2).normal(5, 1, weights.reviewers))
        release = pv.refine(noisy, weights, mechanism=pv.Laplace(scale=0.5))
        assert {found.name for found in release.findings} == names
    few = pv.weigh(pv.PublicRecord.from_rows(rows[:9], load=4))
    assert pv.refine(np.full(9, 5.0), few, mechanism=pv.Laplace(scale=0.5)).findings == ()
    weights = pv.weigh(pv.PublicRecord.from_rows(rows, load=4))
    assert pv.refine(np.full(40, 5.0), weights).findings == ()  # the law of the noise is not known


def test_sentences_say_what_is_not_clear_and_what_is_certain() -> None:
    share = Finding(name="leniency_share", quantity="ratings", value=0.04, lower=0.0, upper=0.15)
    assert share.sentence.startswith("It is not clear whether reviewers differ: leniency explains 4 % (0 to 15 %)")
    for lower, said in ((0.0049, "It is not clear whether reviewers differ"), (0.0051, "Reviewers differ")):
        share = Finding(name="leniency_share", quantity="ratings", value=0.19, lower=lower, upper=1.0)
        assert share.sentence.startswith(said), "who reads '0 to 100 %' is not told that reviewers differ"
    again = Finding(name="reliability", quantity="ratings", value=0.5, lower=0.42, upper=0.6)
    assert again.sentence == (
        "If the same people reviewed as many other papers, their new means would have a correlation of "
        "0.50 (0.42 to 0.60) with these."
    )
    tenth = Finding(name="strictest_tenth", quantity="miscalibration", value=-1.0, lower=-1.0, upper=-1.0)
    assert "-1.00 or less (almost certainly)" in tenth.sentence
    own = Finding(name="leniency_share", quantity="extremity", value=0.1, lower=0.05, upper=0.2)
    assert "who reviews explains 10 % (5 to 20 %) of the variance of extremity" in own.sentence
    assert "papers of like quality" in share.assumption
    assert "papers of like quality" not in tenth.assumption


@pytest.mark.parametrize(
    "change",
    [{"name": "wealth"}, {"value": 0.3}, {"lower": math.nan}, {"level": 1.0}, {"accepted": 0.2}, {"upper": math.inf}],
)
def test_a_finding_is_valid_by_construction(change: dict[str, Any]) -> None:
    valid: dict[str, Any] = {"name": "leniency_share", "quantity": "ratings", "value": 0.1, "lower": 0.05, "upper": 0.2}
    Finding(**valid)
    with pytest.raises(InputError):
        Finding(**valid | change)


def test_findings_are_stored_and_verified(tmp_path: Path) -> None:
    weights, conference, weight = made()
    release = released(weights, np.sort(np.bincount(conference.reviewer, weights=weight) / 4))
    assert len(release.findings) == 5
    release.save(tmp_path / "out")
    loaded = pv.Release.load(tmp_path / "out")
    assert loaded.findings == release.findings
    assert pv.refine(loaded, weights, estimator="bayes").findings == release.findings
    report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8").replace("&#39;", "'")
    assert all(unbroken(found.sentence) in report for found in release.findings)
    assert pv.verify(loaded, weights).failed == ()
    first, *others = release.findings
    nicer = replace(first, lower=first.value)
    assert pv.verify(replace(release, findings=(nicer, *others)), weights).failed == ("findings",)
    assert pv.verify(replace(release, findings=tuple(others)), weights).failed == ("findings",)
    assert pv.verify(replace(release, findings=()), weights).failed == ("findings",)
    older = replace(release, findings=(), software="peerveil 0.2.0")
    assert "findings" not in json.loads(older.to_json())
    assert "findings" not in pv.verify(older, weights).failed
    document = json.loads(release.to_json())
    document["findings"][0]["sentence"] = "Reviewers are all alike."
    with pytest.raises(FileError, match="words of a finding"):
        pv.Release.from_document(document)


def test_another_acceptance_rate() -> None:
    weights, conference, weight = made()
    means = np.sort(np.bincount(conference.reviewer, weights=weight) / 4)
    outlook = pv.refine(means, weights, mechanism=pv.Laplace(scale=1e-3)).outlook
    assert outlook is not None
    changed = [
        next(each for each in findings(weights, noiseless(weights, means), means, outlook, accepted=rate)
             if each.name == "changed_decisions")
        for rate in (0.1, 0.5)
    ]  # fmt: skip
    assert changed[0].value > changed[1].value
    assert changed[0].sentence.endswith("at an acceptance rate of 10 %.")
