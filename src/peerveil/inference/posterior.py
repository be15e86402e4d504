"""What is likely once the noisy vector is seen: empirical Bayes over leniency and over how far the model may be off.

See docs/mathematics.md, "Prior and posterior". Public data and the noisy vector only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from peerveil.inference.gaussians import Normals, Posterior, together
from peerveil.inference.likelihood import Evidence
from peerveil.inference.prior import Ensemble, prior
from peerveil.quantities.weights import PublicWeights
from peerveil.record.public_record import Floats

#: The ways in which assignments may lean, as ``s / sqrt(1 + s^2)``: how strongly keys and weights are correlated.
CORRELATIONS = np.array([-0.8, -0.5, -0.25, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.88, 0.95, 0.99])

#: Before anything is seen, correlations are thought to be half-normal with this deviation; and, with this chance,
#: negative: means that differ less than by random dealing.
TYPICAL, NARROWER = 0.65, 0.05

#: Into so many parts the ways in which hidden scores may lean are cut, each as likely, where this share is hidden.
LEANINGS, MANY_HIDDEN = 6, 0.1

#: How far the truth may be from the draws, as a multiple of the deviation of the means; and how likely that is.
DISCREPANCIES = {0.0: 0.85, 0.03: 0.08, 0.1: 0.04, 0.3: 0.02, 1.0: 0.01}

#: The most columns of a covariance, from the draws and for what these do not know.
_MODES, _UNKNOWN_MODES = 24, 16

#: The most rows of these columns: longer vectors are cut into so many blocks.
_BLOCKS = 4_000

#: Up to this many entries, all laws are treated at once.
_SMALL = 500


class Model(Protocol):
    """What is likely of each entry of the sorted vector."""

    @property
    def mean(self) -> Floats:
        """The mean of each entry."""

    @property
    def variance(self) -> Floats:
        """The variance of each entry."""

    def band(self, level: float) -> tuple[Floats, Floats]:
        """Bounds that hold each entry with this probability, as much being cut off on either side."""


#: What was drawn from weights that are still in use: bins and estimates of many releases rest on the same draws.
_DRAWN: WeakKeyDictionary[PublicWeights, tuple[Ensemble, ...]] = WeakKeyDictionary()

#: The most numbers that are kept of one record.
_KEPT = 5_000_000


def ensembles(weights: PublicWeights, *, draws: int | None = None) -> tuple[Ensemble, ...]:
    """Vectors drawn from a public record at each of :data:`CORRELATIONS`: what every family of it rests on.

    Where many scores are hidden, that is done for each way in which these may lean, one after the other: normal laws
    would not hold all of them at once.

    >>> drawn = ensembles(PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2), draws=10)
    >>> len(drawn) == CORRELATIONS.size, drawn[0].vectors.shape
    (True, (10, 4))
    """
    if draws is None and weights in _DRAWN:
        return _DRAWN[weights]
    many = not weights.reach.centred and np.mean(weights.low != weights.high) >= MANY_HIDDEN
    ends = np.linspace(0.0, 1.0, (LEANINGS if many else 1) + 1).tolist()
    found = tuple(
        drawn.ensemble(float(s))
        for drawn in (prior(weights, draws=draws, leaning=part) for part in pairwise(ends))
        for s in CORRELATIONS / np.sqrt(1 - CORRELATIONS**2)
    )
    for ensemble in found:
        ensemble.vectors.flags.writeable = False  # they are for everybody
    if draws is None and sum(ensemble.vectors.size for ensemble in found) <= _KEPT:
        _DRAWN[weights] = found
    return found


def steps_along(means: Floats) -> Floats:
    """From the mean of each ensemble, the step to the next leniency, of unit deviation within a cell of the grid.

    Between two values of the grid means are in between: within its cell, leniency is a direction like any other.
    """
    by_leaning = means.reshape(-1, CORRELATIONS.size, means.shape[1])
    return np.asarray(np.gradient(by_leaning, axis=1)).reshape(means.shape) / math.sqrt(12)


@dataclass(frozen=True, eq=False)
class Family:
    """What the public record makes likely: normal laws of the sorted vector for each leniency.

    Attributes:
        laws: for each correlation of :data:`CORRELATIONS`, one law for each of :data:`DISCREPANCIES`, in this order;
            where many scores are hidden, all of these for each way to lean.
    """

    laws: tuple[Normals, ...]

    @classmethod
    def of(cls, weights: PublicWeights, *, draws: int | None = None) -> Family:
        """The family of a public record.

        >>> weights = PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
        >>> sum(len(laws.scales) for laws in Family.of(weights).laws) == CORRELATIONS.size * len(DISCREPANCIES)
        True
        """
        return cls.of_ensembles(ensembles(weights, draws=draws))

    @classmethod
    def of_ensembles(cls, drawn: Sequence[Ensemble]) -> Family:
        """The family of what was drawn already, by :func:`ensembles`."""
        along = steps_along(np.array([ensemble.mean for ensemble in drawn]))
        laws = tuple(_laws(ensemble, step) for ensemble, step in zip(drawn, along, strict=True))
        return cls(laws if drawn[0].mean.size > _SMALL else (together(laws),))

    def given(self, evidence: Evidence) -> Posterior | None:
        """The posterior, given evidence; ``None`` if it is out of the reach of floating point."""
        with np.errstate(all="ignore"):
            try:
                found = [laws.given(evidence) for laws in self.laws]
            except np.linalg.LinAlgError:
                return None
        bounds, means, variances = (np.concatenate([part[i] for part in found]) for i in range(3))
        good = np.isfinite(bounds) & np.isfinite(means).all(axis=1) & np.isfinite(variances).all(axis=1)
        if not good.any():
            return None
        keep, shares = shares_of(bounds, good)
        return Posterior(
            shares,
            means[keep],
            variances[keep],
            *grid_at(keep),
        )


def shares_of(bounds: Floats, good: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.int64], Floats]:
    """Which laws of a family matter once likelihoods are known, and how likely these are."""
    chances = np.outer(correlation_chances(), list(DISCREPANCIES.values())).ravel()
    chances = np.tile(chances, bounds.size // chances.size)  # leanings are as likely as each other
    logs = np.where(good, np.log(chances) + np.where(good, bounds, 0.0), -np.inf)
    shares = np.exp(logs - logs.max())
    keep = np.flatnonzero(shares > 1e-5 * shares.sum())
    return keep, shares[keep] / shares[keep].sum()


def grid_at(places: npt.NDArray[np.intp]) -> tuple[Floats, Floats]:
    """The correlation and the discrepancy that the laws at some places of a family stand for."""
    sizes = np.array(list(DISCREPANCIES))
    return CORRELATIONS[places // sizes.size % CORRELATIONS.size], sizes[places % sizes.size]


def _laws(ensemble: Ensemble, along: Floats) -> Normals:
    modes, rest = ensemble.modes(_MODES)
    columns, left = _unknown(ensemble.mean)
    both = np.column_stack((modes, along, columns))
    width = -(-len(both) // _BLOCKS)
    starts = np.arange(0, len(both), width)
    blocks = np.add.reduceat(both, starts, axis=0) / np.diff(np.append(starts, len(both)))[:, None]
    sizes = np.array(list(DISCREPANCIES))[:, None]
    known = np.ones((sizes.size, modes.shape[1] + 1))
    scales = np.column_stack((known, np.repeat(sizes, columns.shape[1], axis=1)))
    return Normals(ensemble.mean[None], blocks[None], scales, rest + sizes**2 * left)


def correlation_chances() -> Floats:
    """How likely each of the correlations is before anything is seen.

    >>> round(float(correlation_chances().sum()), 9)
    1.0
    """
    wider = CORRELATIONS[CORRELATIONS >= 0]
    cells = np.diff(np.concatenate(([0.0], (wider[1:] + wider[:-1]) / 2, [1.0])))
    size = cells * np.exp(-0.5 * (wider / TYPICAL) ** 2)
    narrower = CORRELATIONS.size - wider.size
    return np.concatenate((np.full(narrower, NARROWER / narrower), (1 - NARROWER) * size / size.sum()))


def _unknown(mean: Floats) -> tuple[Floats, Floats]:
    """Covariance of what the family does not know, of unit size: smooth columns, and what each entry has for itself.

    As if the distribution of means were itself drawn at random around the family's: a Brownian bridge in the ranks,
    as steep as the quantiles of a normal law are, so that tails may differ more than the middle.
    """
    n = mean.size
    u = (np.arange(n) + 0.5) / n
    normal = np.exp(-0.5 * ndtri(u) ** 2) / math.sqrt(2 * math.pi)
    steep = float(mean.std()) * np.minimum(1 / normal, 2 / np.sqrt(u * (1 - u)))
    j = np.arange(1, min(n, _UNKNOWN_MODES) + 1)
    columns = math.sqrt(2) / math.pi * np.sin(math.pi * np.outer(u, j)) / j
    left = np.maximum(u * (1 - u) - np.sum(columns**2, axis=1), 0.0)
    return steep[:, None] * columns, steep**2 * left
