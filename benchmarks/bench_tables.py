"""Sampled tables: coverage of the 90 % intervals of `pv.combine` in five worlds, and the time of many large tables.

Histogram noise, epsilon 1 per reviewer, loads of 4, all scores public. Each of 25 conferences is released 8 times, and
20 tables are drawn from each release; standard errors are over conferences. Truths are computed from the true
assignment. The first three functions follow from the reviewers' means, which the release tells; the last two do not,
and ``combine`` flags them: their coverage shows why.

Arguments: ``coverage [reviewers] [conferences] [releases]`` (100, 25, 8), the same with ``laplace`` for noise on the
vector, or ``time [reviewers]`` (10,000).
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from functools import partial

for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(threads, "1")  # small matrices: threads only get in each other's way

import numpy as np  # noqa: E402

import peerveil as pv  # noqa: E402
from peerveil.inference.assignments import deal  # noqa: E402
from peerveil.inference.count_posterior import CountLikelihood  # noqa: E402
from peerveil.inference.model import RecordModel  # noqa: E402
from peerveil.mechanisms import Mechanism  # noqa: E402
from peerveil.planning.rehearsal import Rehearsal  # noqa: E402
from peerveil.privacy.bins import NoisyCounts  # noqa: E402
from peerveil.privacy.guarantee import Guarantee  # noqa: E402
from peerveil.record.public_record import Floats, Ints  # noqa: E402
from peerveil.regions import region  # noqa: E402
from peerveil.releases.refinement import Perturbed  # noqa: E402
from peerveil.sampling.chain import Cells, draw  # noqa: E402
from peerveil.sampling.combining import interval  # noqa: E402
from peerveil.sampling.targets import CountTargets, Targets, targets_of  # noqa: E402
from peerveil.simulation.worlds import world  # noqa: E402

SEED = 211

#: Worlds: random dealing of scores, one with lenient reviewers, two camps, flat scorers, topics.
WORLDS = ("random", "family", "camps", "flat", "topics")

TABLES = 20

Function = Callable[[Floats, Ints], float]


def means(score: Floats, reviewer: Ints) -> Floats:
    return np.bincount(reviewer, weights=score) / np.bincount(reviewer)


def spreads(score: Floats, reviewer: Ints) -> Floats:
    return np.sqrt(np.maximum(means(score**2, reviewer) - means(score, reviewer) ** 2, 0.0))


def variance(score: Floats, reviewer: Ints) -> float:
    return float(means(score, reviewer).var(ddof=1))


def strictest(score: Floats, reviewer: Ints) -> float:
    ordered = np.sort(means(score, reviewer))
    return float(ordered[: ordered.size // 10].mean())


def lenient(score: Floats, reviewer: Ints) -> float:
    return float(np.mean(means(score, reviewer) >= 7))


def flat(score: Floats, reviewer: Ints) -> float:
    return float(np.mean(spreads(score, reviewer) < 1))


def spread(score: Floats, reviewer: Ints) -> float:
    return float(spreads(score, reviewer).mean())


FITTED: tuple[Function, ...] = (variance, strictest, lenient)
NOT_FITTED: tuple[Function, ...] = (flat, spread)
FUNCTIONS = (*FITTED, *NOT_FITTED)


def conference_of(name: str, reviewers: int, seeds: np.random.SeedSequence) -> tuple[Ints, Floats, Ints]:
    """Paper, score and reviewer of each review, by paper and score."""
    made = world("family" if name == "random" else name, reviewers=reviewers, loads=4, seed=seeds)
    order = np.lexsort((made.score, made.paper))
    paper, score, reviewer = made.paper[order], made.score[order], made.reviewer[order]
    if name == "random":  # the same scores, dealt to reviewers at random
        reviewer = deal(paper, np.bincount(reviewer), np.random.default_rng(seeds.spawn(1)[0]))
    return paper, score, reviewer


def record_of(paper: Ints, score: Floats) -> pv.PublicRecord:
    return pv.PublicRecord.from_rows(np.split(score, np.flatnonzero(np.diff(paper)) + 1), load=4)


def targets_from(noisy: Floats | NoisyCounts, weights: pv.PublicWeights, rehearsal: Rehearsal) -> Targets:
    """The posterior of a release, without its region and report where it has counts."""
    if isinstance(noisy, NoisyCounts):
        prior = weights.derived(RecordModel).count_prior(noisy.bins)
        return CountTargets.of(prior, CountLikelihood(noisy, rehearsal.noise.law))
    release = pv.refine(noisy, weights, mechanism=rehearsal.noise.mechanism, region="baseline", estimator="bayes")
    return targets_of(release, weights)


def covered(name: str, reviewers: int, k: int, *, releases: int, mechanism: Mechanism, seed: int) -> Floats:
    """For each function the share of its intervals that hold the truth, for one conference."""
    seeds = np.random.SeedSequence([seed, WORLDS.index(name), reviewers, k])
    paper, score, reviewer = conference_of(name, reviewers, seeds)
    weights = pv.weigh(record_of(paper, score))
    rehearsal = Rehearsal.of(weights, mechanism)
    rng = np.random.default_rng(seeds.spawn(1)[0])
    true = [function(score, reviewer) for function in FUNCTIONS]
    held = np.zeros((releases, len(FUNCTIONS)))
    for row in held:
        noisy = rehearsal.perturb(np.sort(means(score, reviewer)), rng)
        targets = targets_from(noisy, weights, rehearsal)
        cells = Cells(paper, score, weights.loads.per_reviewer(), weights.statistic, targets.cuts)
        holders = [draw(cells, targets.draw(rng), rng).holder for _ in range(TABLES)]
        for i, function in enumerate(FUNCTIONS):
            _, lower, upper = interval(np.array([function(score, holder) for holder in holders]), 0.9)
            row[i] = lower - 1e-9 <= true[i] <= upper + 1e-9
    return np.asarray(held.mean(axis=0))


def coverage(mechanism: Mechanism, reviewers: int, conferences: int, releases: int, seed: int = SEED) -> None:
    draws = f"{conferences} conferences x {releases} releases, seed {seed}"
    print(f"coverage in percent, {mechanism.name}, {reviewers} reviewers, {draws}")
    print(f"{'':8}" + "".join(f"{function.__name__:>14}" for function in FUNCTIONS), flush=True)
    for name in WORLDS:
        share = partial(covered, name, reviewers, releases=releases, mechanism=mechanism, seed=seed)
        held = np.array([share(k) for k in range(conferences)])
        error = held.std(axis=0, ddof=1) / conferences**0.5
        shares = zip(held.mean(axis=0), error, strict=True)
        print(f"{name:8}" + "".join(f"{f'{100 * p:.1f} ± {100 * e:.1f}':>14}" for p, e in shares), flush=True)


def timed(reviewers: int, seed: int = SEED) -> None:
    paper, score, reviewer = conference_of("family", reviewers, np.random.SeedSequence(seed))
    record = record_of(paper, score)
    weights = pv.weigh(record)
    rehearsal = Rehearsal.of(weights, pv.Histogram(epsilon=1.0))
    noisy = rehearsal.perturb(np.sort(means(score, reviewer)), np.random.default_rng(seed))
    assert isinstance(noisy, NoisyCounts)
    release = Perturbed(
        noisy=noisy,
        weights=weights,
        mechanism=rehearsal.noise.mechanism,
        guarantee=Guarantee(kind="stated", statement="a benchmark"),
        public="all",
        notes=(),
    ).refined(region(weights), "bayes")
    start, used = time.perf_counter(), os.times()
    tables = pv.sample_tables(release, record, seed=seed)
    elapsed, cpu = time.perf_counter() - start, sum(os.times()[:4]) - sum(used[:4])
    print(f"{reviewers:,} reviewers, {len(tables)} tables: {elapsed:.1f} s; {cpu:.1f} s of processors")
    print({name: round(float(np.mean(each)), 3) for name, each in tables.diagnostics.items()})


if __name__ == "__main__":
    what, numbers = (sys.argv[1:2] or ["coverage"])[0], [int(number) for number in sys.argv[2:]]
    if what == "time":
        timed(*(numbers or [10_000]))
    else:
        noise = pv.Laplace(epsilon=1.0) if what == "laplace" else pv.Histogram(epsilon=1.0)
        coverage(noise, *(numbers + [100, 25, 8][len(numbers) :]))
