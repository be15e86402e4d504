"""Posteriors of counts and of splits into groups, against enumeration or weighted draws from the prior."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import exp, lgamma

import numpy as np
import pytest

import peerveil as pv
from peerveil.mechanisms.bin_choice import bins_of
from peerveil.record.public_record import Floats
from peerveil.sampling.cells import fine_bins
from peerveil.sampling.counts import CountLaws, CountPosterior, Observed
from peerveil.sampling.splits import _CONCENTRATIONS, Split
from reference.chi_squared import assert_law

ROWS = np.random.default_rng(1).integers(1, 8, (40, 3)).tolist()


def laws_of(statistic: str, seen: list[tuple[int, list[float], float]]) -> CountLaws:
    """The laws of a small record with noisy counts, given by the number of bins, the counts and the noise scale."""
    weights = pv.weigh(pv.PublicRecord.from_rows(ROWS, load=3), statistic)
    observed = [Observed(bins_of(weights, bins), np.array(counts), scale) for bins, counts, scale in seen]
    return CountLaws.of(weights, observed)


def from_the_prior(laws: CountLaws, leniency: int, number: int, rng: np.random.Generator) -> Floats:
    """Counts of a leniency, drawn from the prior given what is known, one row each."""
    width, number_seen = laws.discrepancies.size, laws.scale.size
    known, total = laws.sums[number_seen:], laws.seen[number_seen:]
    chosen = rng.choice(width, number, p=np.exp(laws.discrepancies))
    counts = np.empty((number, laws.bins.number))
    for d in range(width):
        law, those = leniency * width + d, np.flatnonzero(chosen == d)
        covariance = laws.columns[law] @ laws.columns[law].T + np.diag(laws.rest[law])
        drawn = rng.multivariate_normal(laws.mean[law], covariance, those.size, method="eigh")
        inverse = np.linalg.inv(known @ covariance @ known.T + np.diag(laws.known))
        around = total + np.sqrt(laws.known) * rng.standard_normal((those.size, total.size))
        counts[those] = drawn + (around - drawn @ known.T) @ inverse @ known @ covariance
    return counts


def log_likelihood(laws: CountLaws, counts: Floats) -> Floats:
    """The log-likelihood of Laplace noise."""
    off = (laws.seen - counts @ laws.sums.T)[:, : laws.scale.size]
    return np.asarray(-np.abs(off / laws.scale).sum(axis=1))


def weighted(each: list[CountLaws], number: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Draws from the joint prior of several statistics, side by side, with their posterior probabilities."""
    leniencies = rng.choice(each[0].leniencies.size, number, p=np.exp(each[0].leniencies))
    size = sum(laws.bins.number for laws in each)
    draws, logs = np.empty((number, size)), np.zeros(number)
    for k in np.unique(leniencies).tolist():
        those = np.flatnonzero(leniencies == k)
        parts = [from_the_prior(laws, k, those.size, rng) for laws in each]
        draws[those] = np.hstack(parts)
        logs[those] = sum(log_likelihood(laws, part) for laws, part in zip(each, parts, strict=True))
    weight = np.exp(logs - logs.max())
    return draws, weight / weight.sum()


CASES = {
    "one": [("ratings", [(4, [2.0, 25.0, 9.0, 6.0], 4.0)])],
    "twice": [("ratings", [(4, [2.0, 25.0, 9.0, 6.0], 4.0), (3, [9.0, 18.0, 11.0], 6.0)])],
    "means and spreads": [
        ("ratings", [(4, [2.0, 25.0, 9.0, 6.0], 4.0)]),
        ("spread of ratings", [(3, [12.0, 8.0, 17.0], 4.0)]),
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_draws_of_counts_are_those_of_weighted_draws_from_the_prior(name: str) -> None:
    each = [laws_of(statistic, seen) for statistic, seen in CASES[name]]
    draws, weight = weighted(each, 200_000, np.random.default_rng(3))
    effective = 1 / np.sum(weight**2)
    assert effective > 2_000
    posterior, rng, number = CountPosterior.of(each), np.random.default_rng(4), 250
    ours = np.array([np.concatenate(posterior.draw(rng)) for _ in range(number)])
    # Running sums within each statistic, where the release says most.
    starts = np.cumsum([0, *(laws.bins.number for laws in each)])
    for first, last in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        reference, mine = (np.cumsum(side[:, first:last], axis=1)[:, :-1] for side in (draws, ours))
        mean = weight @ reference
        deviation = np.sqrt(weight @ (reference - mean) ** 2)
        error = deviation * np.sqrt(1 / number + 1 / effective)
        assert (np.abs(mine.mean(axis=0) - mean) < 4 * error + 1e-9).all()
        assert (np.abs(mine.std(axis=0) / deviation - 1) < 0.22).all()


def test_draws_keep_the_public_sum_of_means() -> None:
    """With equal loads and public scores the mean of all reviewers' means is that of all scores, whatever the noise."""
    laws = laws_of("ratings", [(4, [30.0, -8.0, 2.0, 25.0], 9.0)])
    posterior, rng = CountPosterior.of([laws]), np.random.default_rng(5)
    value = (laws.bins.low + laws.bins.high) / 2 - np.mean(ROWS)
    drawn = np.array([posterior.draw(rng)[0] for _ in range(60)])
    assert len(laws.known) == 2
    assert np.abs(drawn.sum(axis=1) - 40).max() < 0.1
    assert np.abs(drawn @ value).max() < 4
    assert np.std(drawn @ np.abs(value)) > 4  # how far means are spread is free
    # Neither a sum over other statistics nor one over means of unequal loads is public.
    assert len(laws_of("spread of ratings", [(3, [12.0, 8.0, 17.0], 4.0)]).known) == 1
    unequal = pv.weigh(pv.PublicRecord.from_rows(ROWS, loads={2: 20, 4: 20}))
    assert len(CountLaws.of(unequal, [Observed(bins_of(unequal, 3), np.array([9.0, 18.0, 11.0]), 6.0)]).known) == 1


def test_cells_refine_bins() -> None:
    weights = pv.weigh(pv.PublicRecord.from_rows(ROWS, load=3))
    given = [bins_of(weights, 4), bins_of(weights, 3)]
    fine = fine_bins(weights, given)
    assert fine.number > 4
    for bins in given:
        assert (bins.place(fine.low) == bins.place(fine.high)).all()


def split_law(split: Split, totals: list[int], sizes: list[int] | None) -> tuple[list[tuple[int, ...]], list[float]]:
    """All counts of two groups in two bins (those of the first group), and their probabilities."""
    states, density = [], []
    shares = split.shares.tolist()
    for first in product(*(range(total + 1) for total in totals)):
        counts = [list(first), [total - n for n, total in zip(first, totals, strict=True)]]
        if sizes is not None and [sum(row) for row in counts] != sizes:
            continue
        prior = 0.0
        for concentration, chance in _CONCENTRATIONS.items():
            log = 0.0
            for place, total in enumerate(totals):
                log += lgamma(concentration) - lgamma(total + concentration) + lgamma(total + 1)
                for row, share in zip(counts, shares, strict=True):
                    alpha = concentration * share
                    log += lgamma(row[place] + alpha) - lgamma(alpha) - lgamma(row[place] + 1)
            prior += chance * exp(log)
        noise = float(np.abs(split.noisy - np.array(counts)).sum())
        states.append(first)
        density.append(prior * exp(-noise / split.scale))
    return states, [value / sum(density) for value in density]


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [None, [5, 8]])
def test_splits_have_the_law_of_enumeration(sizes: list[int] | None) -> None:
    split = Split(np.array([[4, 1], [1, 5]]), 2.0)
    totals = np.array([6, 7])
    states, chances = split_law(split, totals.tolist(), sizes)
    rng, seen = np.random.default_rng(6), Counter[tuple[int, ...]]()
    for _ in range(400):
        drawn = split.draw(totals, rng, sizes)
        assert (drawn.sum(axis=0) == totals).all()
        assert sizes is None or drawn.sum(axis=1).tolist() == sizes
        seen[tuple(drawn[0].tolist())] += 1
    if sizes is None:
        assert_law(states, chances, seen)
    else:  # six states
        assert all(
            abs(seen[state] - 400 * chance) < 4 * (400 * chance) ** 0.5 + 1
            for state, chance in zip(states, chances, strict=True)
        )
