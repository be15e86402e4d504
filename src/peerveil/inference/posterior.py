"""Posterior of the sorted vector given a noisy vector: empirical Bayes over leniency and model discrepancy.

See docs/mathematics.md, "Prior and posterior". Public data and the noisy vector only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from peerveil.inference.family import CORRELATIONS, MODES, Family, family_of
from peerveil.inference.gaussians import STEPS, GaussianMixture, LowRankGaussians
from peerveil.inference.likelihood import Likelihood
from peerveil.inference.pooling import YearPrior, grid, used_prior, usual
from peerveil.inference.prior import Ensemble
from peerveil.quantities.weights import PublicWeights
from peerveil.record.public_record import Floats

#: The maximal number of columns of the Brownian bridge of a discrepancy.
BRIDGE_MODES = 16

#: From this discrepancy on, leniency may fully go with load.
_BY_LOAD = 0.05

#: The maximal number of blocks that long vectors are cut into, and vectors of which only some ranks are computed.
_BLOCKS, _BLOCKS_OF_RANKS = 4_000, 512

#: Up to this many entries, all laws are fitted at once.
_SMALL = 500


class Posterior(Protocol):
    """Posterior of each entry of the sorted vector."""

    @property
    def mean(self) -> Floats:
        """The mean of each entry."""

    @property
    def variance(self) -> Floats:
        """The variance of each entry."""

    def band(self, level: float) -> tuple[Floats, Floats]:
        """The equal-tailed credible band of each entry."""

    def shortest_band(self, level: float) -> tuple[Floats, Floats]:
        """A credible band of each entry that is as short as possible."""

    @property
    def evidence(self) -> Floats | None:
        """The log-likelihood of the noisy data on the grid of the family (:mod:`peerveil.inference.pooling`)."""


def steps_along(means: Floats) -> Floats:
    """Directions from each ensemble's mean to the next leniency, of unit deviation within a cell of the grid."""
    by_offset = means.reshape(-1, CORRELATIONS.size, means.shape[1])
    return np.asarray(np.gradient(by_offset, axis=1)).reshape(means.shape) / math.sqrt(12)


def with_known_sum(columns: Floats, values: Floats, uncertainty: float) -> Floats:
    """The columns ``B`` of a covariance ``B B'``, which then move the sum of entries times values by a share only.

    >>> columns = np.array([[1.0, 0.0], [1.0, 1.0]])
    >>> (np.ones(2) @ with_known_sum(columns, np.ones(2), 0.0)).round(12).tolist()
    [0.0, 0.0]
    """
    moves = values @ columns
    size = float(np.linalg.norm(moves))
    if size == 0:
        return columns
    return np.asarray(columns - (1 - uncertainty) * np.outer(columns @ (moves / size), moves / size))


def discrepancy_laws(
    ensemble: Ensemble,
    along: Floats,
    columns: Floats,
    left: Floats,
    sizes: Sequence[float],
    *,
    modes: int = MODES,
    floor: float = 0.0,
    blocks: int | None = None,
) -> LowRankGaussians:
    """The laws of an ensemble, one for each size of a discrepancy.

    A discrepancy of size 1 has the covariance ``columns columns' + diag(left)``; ``along`` is the direction to the next
    leniency, ``modes`` the maximal number of columns from the draws, and ``floor`` is added to every variance.
    Where a number of ``blocks`` is given, entries keep the variance that a common row of their block leaves out.
    """
    drawn, rest = ensemble.modes(modes)
    both = np.column_stack((drawn, along, ensemble.tilt.T, columns))
    starts = np.arange(0, len(both), -(-len(both) // (blocks or _BLOCKS)))
    shared = np.add.reduceat(both, starts, axis=0) / np.diff(np.append(starts, len(both)))[:, None]
    size = np.array(sizes)[:, None]
    counts = (drawn.shape[1] + 1, len(ensemble.tilt), columns.shape[1])
    scales = np.repeat(np.column_stack((size**0, np.minimum(size / _BY_LOAD, 1.0), size)), counts, axis=1)
    if blocks is not None:
        unshared = both - np.repeat(shared, np.diff(np.append(starts, len(both))), axis=0)
        rest = rest + np.sum(unshared[:, : drawn.shape[1] + 1] ** 2, axis=1)
    return LowRankGaussians(ensemble.mean[None], shared[None], scales, rest + size**2 * left + floor)


@dataclass(frozen=True, eq=False)
class EntryPrior:
    """Prior of the sorted vector: Gaussian laws for each leniency and discrepancy.

    Attributes:
        family: the prior assumptions.
        laws: for each correlation of :data:`CORRELATIONS`, one law for each discrepancy, in this order; where many
            scores are hidden, all of these for each range of hidden-score offsets.
        pooled: what earlier releases say about leniency and discrepancy, if it is known.
        shaped: whether there are all of these for each shape of leniency (:mod:`peerveil.inference.pooling.shapes`).
    """

    family: Family
    laws: tuple[LowRankGaussians, ...]
    pooled: YearPrior | None = None
    shaped: bool = False

    @classmethod
    def of(
        cls,
        ensembles: Sequence[Ensemble],
        weights: PublicWeights,
        blocks: int | None = None,
        *,
        shaped: bool = False,
    ) -> EntryPrior:
        """The prior of the ensembles that a :class:`~peerveil.inference.model.RecordModel` drew from the weights.

        Where vectors are shorter than the number of reviewers, each of their ranks stands for the mean of several
        entries. A smaller number of ``blocks`` than the default is faster and slightly less exact.
        """
        ranks = ensembles[0].mean.size
        each = weights.reviewers / ranks
        blocks = _BLOCKS_OF_RANKS if each > 1 else blocks
        family = family_of(weights)
        uncertainty, sizes = family.sum_uncertainty(weights), tuple(family.discrepancies)
        along = steps_along(np.array([ensemble.mean for ensemble in ensembles]))
        bridges = [discrepancy(ensemble.mean, uncertainty) for ensemble in ensembles]
        modes = min(MODES, *(len(ensemble.vectors) for ensemble in ensembles)) if shaped else MODES
        laws = tuple(
            discrepancy_laws(ensemble, step, columns, left / each, sizes, modes=modes, blocks=blocks)
            for ensemble, step, (columns, left) in zip(ensembles, along, bridges, strict=True)
        )
        parts = laws if ranks > _SMALL else (LowRankGaussians.stacked(laws),)
        return cls(family, parts, used_prior(weights), shaped)

    @property
    def size(self) -> int:
        """The number of floating-point numbers that the prior takes."""
        return sum(laws.size for laws in self.laws)

    def posterior(self, likelihood: Likelihood, steps: int = STEPS) -> GaussianMixture | None:
        """The posterior given a likelihood, fitted in so many steps; ``None`` if it exceeds floating-point range."""
        with np.errstate(all="ignore"):
            try:
                fits = (laws.fit(likelihood, steps) for laws in self.laws)
                parts = [(fit.bound, fit.mean, fit.variance) for fit in fits]
            except np.linalg.LinAlgError:
                return None
        bounds, means, variances = (np.concatenate([part[i] for part in parts]) for i in range(3))
        finite = np.isfinite(bounds) & np.isfinite(means).all(axis=1) & np.isfinite(variances).all(axis=1)
        if not finite.any():
            return None
        keep, probabilities, evidence = components(self.family, bounds, finite, self.pooled, shaped=self.shaped)
        return GaussianMixture(probabilities, means[keep], variances[keep], keep, evidence)


def components(
    family: Family,
    bounds: Floats,
    finite: npt.NDArray[np.bool_],
    pooled: YearPrior | None,
    *,
    shaped: bool = False,
    kinds: Floats | None = None,
) -> tuple[npt.NDArray[np.int64], Floats, Floats]:
    """The laws with non-negligible posterior probability, these probabilities, and the evidence.

    Laws are all those of one kind of reviewers after the other, if prior probabilities of several ``kinds``, at each
    correlation, are given.
    """
    evidence = grid(bounds, finite, shaped=shaped or kinds is not None)
    if kinds is not None:
        chances = np.multiply.outer(kinds, list(family.discrepancies.values()))
    elif pooled is not None:
        chances = pooled.chances_for(evidence)
    elif shaped:
        chances = usual()
    else:
        chances = np.outer(family.correlation_chances, list(family.discrepancies.values()))
    chances = np.tile(chances.ravel(), bounds.size // chances.size)  # all ranges of offsets are equally probable
    with np.errstate(divide="ignore"):  # the usual prior has one shape
        logs = np.where(finite, np.log(chances) + np.where(finite, bounds, 0.0), -np.inf)
    odds = np.exp(logs - logs.max())
    keep = np.flatnonzero(odds > 1e-5 * odds.sum())
    return keep, odds[keep] / odds[keep].sum(), evidence


def discrepancy(mean: Floats, uncertainty: float) -> tuple[Floats, Floats]:
    """Covariance of a discrepancy of size 1: low-rank columns, and the diagonal that they leave.

    A Brownian bridge in the ranks, as steep as the quantiles of a normal law, so that tails may differ more than the
    middle: as if the distribution of means were itself random around the prior's.
    """
    columns, left = _bridge(mean.size)
    deviation = float(mean.std())
    return with_known_sum(deviation * columns, np.ones(mean.size), uncertainty), deviation**2 * left


@lru_cache(maxsize=4)
def _bridge(n: int) -> tuple[Floats, Floats]:
    """The discrepancy of means whose deviation is 1."""
    u = (np.arange(n) + 0.5) / n
    normal = np.exp(-0.5 * ndtri(u) ** 2) / math.sqrt(2 * math.pi)
    steep = np.minimum(1 / normal, 2 / np.sqrt(u * (1 - u)))
    j = np.arange(1, min(n, BRIDGE_MODES) + 1)
    columns = math.sqrt(2) / math.pi * np.sin(math.pi * np.outer(u, j)) / j
    left = steep**2 * np.maximum(u * (1 - u) - np.sum(columns**2, axis=1), 0.0)
    columns *= steep[:, None]
    columns.flags.writeable = left.flags.writeable = False  # shared by all users
    return columns, left
