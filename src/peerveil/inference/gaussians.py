"""Gaussian priors of long vectors, their variational posteriors, and mixtures of these.

See docs/mathematics.md, "Prior and posterior".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from peerveil.inference.likelihood import Likelihood
from peerveil.record.public_record import Floats

#: The maximal number of steps of a variational fit.
STEPS = 30

#: The maximal number of steps towards a quantile of a mixture.
_QUANTILE_STEPS = 60


@dataclass(frozen=True, eq=False)
class LowRankGaussians:
    """Gaussian laws of vectors: ``N(mean, B B' + diag(rest))``, with the columns of ``B`` scaled.

    Long vectors are cut into blocks of adjacent entries that share a row of ``B``.

    Attributes:
        mean: the means, one row per law, or a single row for all.
        columns: ``B`` before scaling, one matrix per law, or one for all; one row per block.
        scales: factors of the columns, one row per law.
        rest: the variance that each entry has on its own, one row per law.
    """

    mean: Floats
    columns: Floats
    scales: Floats
    rest: Floats

    @classmethod
    def stacked(cls, laws: Sequence[LowRankGaussians]) -> LowRankGaussians:
        """All laws in one object, which is faster for short vectors."""
        return cls(
            np.concatenate([np.repeat(part.mean, len(part.scales), axis=0) for part in laws]),
            np.concatenate([np.repeat(part.columns, len(part.scales), axis=0) for part in laws]),
            np.concatenate([part.scales for part in laws]),
            np.concatenate([part.rest for part in laws]),
        )

    @property
    def size(self) -> int:
        """The number of floating-point numbers that the laws take."""
        return self.mean.size + self.columns.size + self.scales.size + self.rest.size

    @property
    def width(self) -> int:
        """The number of entries in a block; the last one may have fewer."""
        return -(-int(self.mean.shape[1]) // int(self.columns.shape[1]))

    def gather(self, entries: Floats) -> Floats:
        """Sums over blocks, row by row."""
        return np.add.reduceat(entries, np.arange(0, self.mean.shape[1], self.width), axis=-1)

    def spread(self, blocks: Floats) -> Floats:
        """The value of its block for each entry, row by row."""
        return np.repeat(blocks, self.width, axis=-1)[..., : self.mean.shape[1]]

    def fit(self, likelihood: Likelihood, steps: int = STEPS) -> VariationalFit:
        """The Gaussian approximation of each posterior that maximises the evidence lower bound.

        Exact where the noise is normal, even without a step.
        """
        precision = np.full(self.rest.shape, np.float64(likelihood.deviation) ** -2)  # as for normal noise
        fit = VariationalFit(self, likelihood, precision, precision * (likelihood.centre - self.mean))
        step = np.ones((len(self.scales), 1))
        for _ in range(steps):
            candidate = fit.moved(step)
            gain = (candidate.bound - fit.bound)[:, None]
            relevant = fit.bound > fit.bound.max() - 20  # the others have negligible posterior probability
            fit = fit.replaced(candidate, gain > 0)
            if not (np.abs(gain[relevant]) > 0.01).any():
                break
            step = np.where(gain > 0, np.minimum(1.0, 1.5 * step), step / 3)
        return fit


@dataclass(frozen=True, eq=False)
class VariationalFit:
    """Gaussian approximations, one row per law: as if each entry had been observed with its own normal noise."""

    laws: LowRankGaussians
    likelihood: Likelihood
    precision: Floats
    pull: Floats

    def moved(self, step: Floats) -> VariationalFit:
        """The fit after a natural-gradient step."""
        _, gradient, curvature = self._expected
        pull = curvature * (self.mean - self.laws.mean) + gradient
        precision = (1 - step) * self.precision + step * curvature
        return VariationalFit(self.laws, self.likelihood, precision, (1 - step) * self.pull + step * pull)

    def replaced(self, other: VariationalFit, where: npt.NDArray[np.bool_]) -> VariationalFit:
        """This fit with some rows of another one."""
        if where.all():
            return other
        precision = np.where(where, other.precision, self.precision)
        return VariationalFit(self.laws, self.likelihood, precision, np.where(where, other.pull, self.pull))

    @cached_property
    def gram(self) -> Floats:
        """The precision of the columns' coefficients, one matrix per law."""
        laws, B, scale = self.laws, self.laws.columns, self.laws.scales
        observed = self.precision / (1 + self.precision * laws.rest)
        M = scale[:, :, None] * ((B.swapaxes(1, 2) * laws.gather(observed)[:, None, :]) @ B) * scale[:, None, :]
        M[:, range(B.shape[2]), range(B.shape[2])] += 1.0
        return np.asarray(M)

    @cached_property
    def _solved(self) -> tuple[Floats, Floats, Floats]:
        """Means, variances, and the Kullback-Leibler divergences of the approximations from the laws."""
        laws, B, scale = self.laws, self.laws.columns, self.laws.scales
        Bt = B.swapaxes(1, 2)

        def onto(entries: Floats) -> Floats:
            return np.asarray((laws.gather(entries)[:, None, :] @ B)[:, 0])

        def out_of(columns: Floats) -> Floats:
            return laws.spread((columns[:, None, :] @ Bt)[:, 0])

        damped = 1 + self.precision * laws.rest
        observed, M = self.precision / damped, self.gram
        inverse = scale[:, :, None] * np.linalg.inv(M) * scale[:, None, :]
        pull = self.pull / damped
        dual = pull - observed * out_of(np.einsum("jk,jkl->jl", onto(pull), inverse))
        moved = laws.rest * dual + out_of(scale**2 * onto(dual))
        shared = np.maximum(np.sum((B @ inverse) * B, axis=2), 0.0)
        variance = laws.rest / damped + laws.spread(shared) / damped**2
        divergence = np.sum(moved * dual - self.precision * variance + np.log(damped), axis=1)
        return laws.mean + moved, variance, 0.5 * (divergence + np.linalg.slogdet(M)[1])

    @property
    def mean(self) -> Floats:
        """Means of the entries, one row per law."""
        return self._solved[0]

    @property
    def variance(self) -> Floats:
        """Variances of the entries, one row per law."""
        return self._solved[1]

    def covariance(self) -> tuple[Floats, Floats]:
        """Covariances as ``diag(own) + shared shared'``, for vectors that are not cut into blocks."""
        laws = self.laws
        damped = 1 + self.precision * laws.rest
        root = np.linalg.inv(np.linalg.cholesky(self.gram)).swapaxes(1, 2)
        return laws.rest / damped, (laws.columns / damped[:, :, None]) @ (laws.scales[:, :, None] * root)

    @cached_property
    def _expected(self) -> tuple[Floats, Floats, Floats]:
        return self.likelihood.expected(self.mean, self.variance)

    @cached_property
    def bound(self) -> Floats:
        """Evidence lower bounds: lower bounds on the log marginal likelihood, one per law."""
        return self._expected[0] - self._solved[2]


@dataclass(frozen=True, eq=False)
class GaussianMixture:
    """A mixture of Gaussian laws for each entry, one row per component.

    Attributes:
        probabilities: the probability of each component.
        means: means of the entries.
        variances: variances of the entries.
        laws: the index of the law that each component comes from.
        evidence: the log-likelihood of the noisy data on a grid of laws, if it is known.
    """

    probabilities: Floats
    means: Floats
    variances: Floats
    laws: npt.NDArray[np.int64]
    evidence: Floats | None = None

    def told(self, evidence: Floats) -> GaussianMixture:
        """The same mixture with other evidence."""
        return replace(self, evidence=evidence)

    def only(self, chosen: npt.NDArray[np.bool_]) -> GaussianMixture:
        """The mixture given that the component is one of the chosen, which must have a probability."""
        probabilities = self.probabilities[chosen] / self.probabilities[chosen].sum()
        return GaussianMixture(probabilities, self.means[chosen], self.variances[chosen], self.laws[chosen])

    @cached_property
    def mean(self) -> Floats:
        """The mean of each entry."""
        return np.asarray(self.probabilities @ self.means)

    @cached_property
    def variance(self) -> Floats:
        """The variance of each entry."""
        return np.asarray(self.probabilities @ (self.variances + (self.means - self.mean) ** 2))

    def band(self, level: float) -> tuple[Floats, Floats]:
        """The equal-tailed credible band of each entry."""
        tail = (1 - level) / 2
        return self.quantile(tail), self.quantile(1 - tail)

    def shortest_band(self, level: float) -> tuple[Floats, Floats]:
        """The credible band of each entry, nearly the shortest: these laws are nearly symmetric."""
        return self.band(level)

    def quantile(self, p: float) -> Floats:
        """The quantile of each entry."""
        root = np.sqrt(np.maximum(self.variances, 1e-300))
        ends = self.means + ndtri(p) * root
        low, high = ends.min(axis=0), ends.max(axis=0)
        at = self.probabilities @ ends
        for _ in range(_QUANTILE_STEPS):  # of Newton, or to the middle of what is left
            standard = (at - self.means) / root
            below = self.probabilities @ ndtr(standard)
            low, high = np.where(below < p, at, low), np.where(below < p, high, at)
            density = self.probabilities @ (np.exp(-0.5 * np.clip(standard, -40, 40) ** 2) / root)
            density /= math.sqrt(2 * math.pi)
            step = (p - below) / np.maximum(density, 1e-290)
            last, at = at, np.where((at + step >= low) & (at + step <= high), at + step, (low + high) / 2)
            if (np.abs(at - last) <= 1e-13 * np.maximum(np.abs(at), high - low)).all():
                break
        return np.asarray(at)
