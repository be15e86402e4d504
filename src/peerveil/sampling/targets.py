"""Targets of tables: numbers of reviewers by statistic, drawn from the posterior of a release, discrepancies included.

Public data and the release's noisy data only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.optimize import isotonic_regression

from peerveil.errors import InputError
from peerveil.inference.count_posterior import CountLikelihood, CountPrior
from peerveil.inference.gaussians import VariationalFit
from peerveil.inference.likelihood import EntryLikelihood
from peerveil.inference.model import RecordModel
from peerveil.inference.posterior import EntryPrior, components
from peerveil.privacy.bins import MOST, Bins, attainable_means
from peerveil.privacy.law import Law
from peerveil.quantities.weights import PublicWeights
from peerveil.record.public_record import Floats, Ints
from peerveil.releases.refinement import law_of
from peerveil.releases.release import Release

#: The number of cells that a bin with several means is cut into, at most, and of a vector that has no bins.
_CELLS_IN_BIN, _CELLS = 4, 64

_BEYOND = "the release's posterior exceeds floating-point range, or the record has no valid assignment"


class Targets(Protocol):
    """Posterior of the number of reviewers in cells of the statistic."""

    @property
    def cuts(self) -> Floats:
        """The boundaries between cells, ascending."""

    def draw(self, rng: np.random.Generator) -> Ints:
        """Return drawn numbers of reviewers, one per cell."""


def targets_of(release: Release, weights: PublicWeights) -> Targets:
    """Return the posterior of a release, given its public weights."""
    law = law_of(release.mechanism)
    if law is None:
        raise InputError(
            "the release does not state the distribution of its noise, so there is no posterior to draw tables from"
        )
    model = weights.derived(RecordModel)
    if release.histogram is not None:
        counts = CountLikelihood(release.histogram, law)
        return CountTargets.of(model.count_prior(release.histogram.bins), counts)
    if model.long:
        raise InputError(
            "tables of more than 20,000 reviewers are drawn from histograms only; this release has noise on its vector"
        )
    return EntryTargets.of(model.entry_prior(), release, weights, law)


def whole_counts(running: Floats, entries: int) -> Ints:
    """Return whole numbers whose running sums are nearest to given ones, among those that ascend from 0.

    >>> whole_counts(np.array([2.2, 1.4, 4.1, 9.0]), 5).tolist()
    [2, 0, 2, 1]
    """
    ascending = isotonic_regression(np.append(running[:-1], entries)).x
    return np.diff(np.rint(np.clip(ascending, 0, entries)), prepend=0.0).astype(np.int64)


@dataclass(frozen=True, eq=False)
class CountTargets:
    """Posterior given noisy counts: a mixture of Gaussian laws of the counts, and the model's shares within bins.

    Attributes:
        cuts: the boundaries between cells.
        entries: the number of reviewers.
        probabilities: the probability of each law.
        mean, own, shared: the laws ``N(mean, diag(own) + shared shared')`` of the counts.
        first: the first cell of each bin.
        shares: for each law, the chance of each cell, given its bin.
    """

    cuts: Floats
    entries: int
    probabilities: Floats
    mean: Floats
    own: Floats
    shared: Floats
    first: Ints
    shares: Floats

    @classmethod
    def of(cls, prior: CountPrior, likelihood: CountLikelihood) -> CountTargets:
        """The posterior of noisy counts."""
        with np.errstate(all="ignore"):
            fit = prior.laws.fit(likelihood.on_counts())
        keep, probabilities = _kept(prior, fit)
        own, shared = (part[keep] for part in fit.covariance())
        share = prior.steps.share[keep // len(prior.family.discrepancies)]
        cuts, first, shares = _cells(prior.bins, prior, probabilities, share)
        return cls(cuts, prior.entries, probabilities, fit.mean[keep], own, shared, first, shares)

    def draw(self, rng: np.random.Generator) -> Ints:
        """Return drawn numbers of reviewers, one per cell."""
        k = rng.choice(self.probabilities.size, p=self.probabilities)
        counts = _drawn(rng, self.mean[k], self.own[k], self.shared[k])
        # Given their sum: the excess is taken from each count as far as it varies with the sum.
        with_total = self.own[k] + self.shared[k] @ self.shared[k].sum(axis=0)
        counts = counts + with_total / with_total.sum() * (self.entries - counts.sum())
        whole = whole_counts(np.cumsum(counts), self.entries)
        parts = np.split(self.shares[k], self.first[1:])
        return np.concatenate([rng.multinomial(n, p / p.sum()) for n, p in zip(whole.tolist(), parts, strict=True)])


def _kept(prior: CountPrior | EntryPrior, fit: VariationalFit) -> tuple[Ints, Floats]:
    """The laws with non-negligible probability, and their probabilities."""
    finite = np.isfinite(fit.bound) & np.isfinite(fit.mean).all(axis=1)
    if not finite.any():
        raise InputError(_BEYOND)
    keep, probabilities, _ = components(prior.family, fit.bound, finite, prior.pooled)
    return keep, probabilities


def _drawn(rng: np.random.Generator, mean: Floats, own: Floats, shared: Floats) -> Floats:
    """A draw from ``N(mean, diag(own) + shared shared')``."""
    alone = np.sqrt(np.maximum(own, 0.0)) * rng.standard_normal(mean.size)
    return np.asarray(mean + alone + shared @ rng.standard_normal(shared.shape[1]))


def _cells(bins: Bins, prior: CountPrior, probabilities: Floats, share: Floats) -> tuple[Floats, Ints, Floats]:
    """Boundaries of cells of about equal probability in each bin, the first cell of each, and the cells' chances."""
    steps = prior.steps
    middle = bins.low[0] + np.cumsum(steps.width) - steps.width / 2
    pooled = probabilities @ share
    cuts, first, shares = [np.empty(0)], [], []
    number = 0
    for place in range(bins.number):
        inside = np.flatnonzero(steps.bin == place)
        inside = inside[:-1][pooled[inside[:-1]] < 1 - 1e-9]
        wanted = np.arange(1, _CELLS_IN_BIN) / _CELLS_IN_BIN
        near = np.unique(np.searchsorted(pooled[inside], wanted)) if inside.size else inside
        at = inside[near[near < inside.size]]
        low, high = (bins.cuts[place - 1] if place else -np.inf), (np.append(bins.cuts, np.inf)[place])
        at = at[(middle[at] > low) & (middle[at] < high)]
        below = np.column_stack((np.zeros(len(share)), share[:, at], np.ones(len(share))))
        shares.append(np.maximum(np.diff(np.maximum.accumulate(below, axis=1), axis=1), 1e-12))
        cuts += [middle[at], bins.cuts[place : place + 1]]
        first.append(number)
        number += at.size + 1
    return np.concatenate(cuts), np.array(first), np.concatenate(shares, axis=1)


@dataclass(frozen=True, eq=False)
class EntryTargets:
    """Posterior given a noisy vector: a mixture of Gaussian laws of the vector, which is sorted and counted in cells.

    Attributes:
        cuts: the boundaries between cells.
        probabilities: the probability of each law.
        mean, own, shared: the laws ``N(mean, diag(own) + S S')``, where ``S`` is ``shared``, with a row for each block
            of entries, times ``damped`` in each entry.
        damped: a factor of each entry.
        width: the number of entries in a block.
    """

    cuts: Floats
    probabilities: Floats
    mean: Floats
    own: Floats
    shared: Floats
    damped: Floats
    width: int

    @classmethod
    def of(cls, prior: EntryPrior, release: Release, weights: PublicWeights, law: Law) -> EntryTargets:
        """The posterior of a noisy vector, counted in cells that hold about equally many released values."""
        likelihood = EntryLikelihood(release.noisy, law)
        with np.errstate(all="ignore"):
            fits = [laws.fit(likelihood) for laws in prior.laws]
        bounds, means = (np.concatenate([getattr(fit, name) for fit in fits]) for name in ("bound", "mean"))
        finite = np.isfinite(bounds) & np.isfinite(means).all(axis=1)
        if not finite.any():
            raise InputError(_BEYOND)
        keep, probabilities, _ = components(prior.family, bounds, finite, prior.pooled)
        own, shared, damped = (np.concatenate(part)[keep] for part in zip(*map(_covariance, fits), strict=True))
        cuts = _vector_cuts(release.values, weights)
        return cls(cuts, probabilities, means[keep], own, shared, damped, prior.laws[0].width)

    def draw(self, rng: np.random.Generator) -> Ints:
        """Return drawn numbers of reviewers, one per cell."""
        k = rng.choice(self.probabilities.size, p=self.probabilities)
        alone = np.sqrt(np.maximum(self.own[k], 0.0)) * rng.standard_normal(self.mean.shape[1])
        together = self.shared[k] @ rng.standard_normal(self.shared.shape[2])
        spread = np.repeat(together, self.width)[: alone.size] * self.damped[k]
        place = np.searchsorted(self.cuts, self.mean[k] + alone + spread, side="right")
        return np.bincount(place, minlength=self.cuts.size + 1)


def _covariance(fit: VariationalFit) -> tuple[Floats, Floats, Floats]:
    """Covariances of entries as in :class:`EntryTargets`, for vectors that may be cut into blocks."""
    laws = fit.laws
    damped = 1 / (1 + fit.precision * laws.rest)
    root = np.linalg.inv(np.linalg.cholesky(fit.gram)).swapaxes(1, 2)
    return laws.rest * damped, laws.columns @ (laws.scales[:, :, None] * root), damped


def _vector_cuts(values: Floats, weights: PublicWeights) -> Floats:
    """Boundaries between cells that hold about equally many released values, between attainable means."""
    ranks = np.unique(np.arange(1, _CELLS) * values.size // _CELLS)
    cuts = np.unique(np.sort(values)[ranks[ranks > 0]])
    means = attainable_means(weights, MOST)
    if means is None or means.size < 2:
        return cuts
    between = (means[1:] + means[:-1]) / 2
    return np.unique(between[np.clip(np.searchsorted(between, cuts), 0, between.size - 1)])
