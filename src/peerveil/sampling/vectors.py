"""Posterior of the number of reviewers in cells of a statistic, given a noisy vector, discrepancies included."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from peerveil.errors import InputError
from peerveil.inference.gaussians import VariationalFit
from peerveil.inference.likelihood import EntryLikelihood
from peerveil.inference.posterior import EntryPrior, components
from peerveil.privacy.bins import MOST, attainable_means
from peerveil.privacy.law import Law
from peerveil.quantities.weights import PublicWeights
from peerveil.record.public_record import Floats, Ints
from peerveil.releases.release import Release

#: The greatest number of cells, and the least number of reviewers in each on average.
_CELLS, _IN_CELL = 64, 4


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
            raise InputError(
                "the release's posterior exceeds floating-point range, or the record has no valid assignment"
            )
        keep, probabilities, _ = components(prior.family, bounds, finite, prior.pooled, shaped=prior.shaped)
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
    cells = int(np.clip(values.size // _IN_CELL, 2, _CELLS))
    ranks = np.unique(np.arange(1, cells) * values.size // cells)
    cuts = np.unique(np.sort(values)[ranks[ranks > 0]])
    means = attainable_means(weights, MOST)
    if means is None or means.size < 2:
        return cuts
    between = (means[1:] + means[:-1]) / 2
    return np.unique(between[np.clip(np.searchsorted(between, cuts), 0, between.size - 1)])
