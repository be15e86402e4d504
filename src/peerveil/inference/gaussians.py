"""Normal laws of long vectors, what evidence makes of them, and mixtures of what it made.

See docs/mathematics.md, "Prior and posterior".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from peerveil.inference.likelihood import Evidence
from peerveil.record.public_record import Floats

#: The most steps towards the nearest normal law.
_STEPS = 30


@dataclass(frozen=True, eq=False)
class Normals:
    """Normal laws of vectors: ``N(mean, B B' + diag(rest))``, with the columns of ``B`` scaled.

    Long vectors are cut into blocks of neighbours that share a row of ``B``.

    Attributes:
        mean: their means, a row a law, or one for all.
        columns: ``B`` before scaling, for each law or once for all; one row a block.
        scales: how each column is scaled, a row a law.
        rest: the variance that each entry has for itself, a row a law.
    """

    mean: Floats
    columns: Floats
    scales: Floats
    rest: Floats

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

    def given(self, evidence: Evidence) -> tuple[Floats, Floats, Floats]:
        """For each law, the log of how likely the evidence is, and mean and variances of the entries given it.

        The normal law nearest to the true posterior, and a lower bound on the likelihood, by the variational
        principle. Where noise is normal both are exact.
        """
        found = self.fitted(evidence)
        return found.bound, found.mean, found.variance

    def fitted(self, evidence: Evidence) -> Fit:
        """The approximations themselves."""
        found = Fit.start(self, evidence)
        step = np.ones((len(self.scales), 1))
        for _ in range(_STEPS):
            tried = found.moved(step)
            gain = (tried.bound - found.bound)[:, None]
            matters = found.bound > found.bound.max() - 20  # the others are out of the question
            found = found.replaced(tried, gain > 0)
            if not (np.abs(gain[matters]) > 0.01).any():
                break
            step = np.where(gain > 0, np.minimum(1.0, 1.5 * step), step / 3)
        return found


@dataclass(frozen=True, eq=False)
class Fit:
    """Normal approximations, a row a law: as if each entry had been seen with normal noise of its own precision."""

    laws: Normals
    evidence: Evidence
    precision: Floats
    pull: Floats

    @classmethod
    def start(cls, laws: Normals, evidence: Evidence) -> Fit:
        """As if the noise were normal."""
        precision = np.full(laws.rest.shape, np.float64(evidence.reach) ** -2)
        return cls(laws, evidence, precision, precision * (evidence.centre - laws.mean))

    def moved(self, step: Floats) -> Fit:
        """A step to where the bound is greatest, as far as its derivatives tell."""
        _, gradient, bent = self._expected
        pull = bent * (self.mean - self.laws.mean) + gradient
        precision = (1 - step) * self.precision + step * bent
        return Fit(self.laws, self.evidence, precision, (1 - step) * self.pull + step * pull)

    def replaced(self, other: Fit, where: npt.NDArray[np.bool_]) -> Fit:
        """The other's rows where these are wanted."""
        if where.all():
            return other
        precision = np.where(where, other.precision, self.precision)
        return Fit(self.laws, self.evidence, precision, np.where(where, other.pull, self.pull))

    @cached_property
    def _gram(self) -> Floats:
        laws, B, scale = self.laws, self.laws.columns, self.laws.scales
        seen = self.precision / (1 + self.precision * laws.rest)
        M = scale[:, :, None] * ((B.swapaxes(1, 2) * laws.gather(seen)[:, None, :]) @ B) * scale[:, None, :]
        M[:, range(B.shape[2]), range(B.shape[2])] += 1.0
        return np.asarray(M)

    @cached_property
    def _solved(self) -> tuple[Floats, Floats, Floats]:
        """Mean, variances, and how far the approximation is from the law (Kullback and Leibler)."""
        laws, B, scale = self.laws, self.laws.columns, self.laws.scales
        Bt = B.swapaxes(1, 2)

        def onto(entries: Floats) -> Floats:
            return np.asarray((laws.gather(entries)[:, None, :] @ B)[:, 0])

        def out_of(columns: Floats) -> Floats:
            return laws.spread((columns[:, None, :] @ Bt)[:, 0])

        damped = 1 + self.precision * laws.rest
        seen, M = self.precision / damped, self._gram
        inverse = scale[:, :, None] * np.linalg.inv(M) * scale[:, None, :]
        pull = self.pull / damped
        dual = pull - seen * out_of(np.einsum("jk,jkl->jl", onto(pull), inverse))
        moved = laws.rest * dual + out_of(scale**2 * onto(dual))
        shared = np.maximum(np.sum((B @ inverse) * B, axis=2), 0.0)
        variance = laws.rest / damped + laws.spread(shared) / damped**2
        far = np.sum(moved * dual - self.precision * variance + np.log(damped), axis=1)
        return laws.mean + moved, variance, 0.5 * (far + np.linalg.slogdet(M)[1])

    @property
    def mean(self) -> Floats:
        """Means of the entries, a row a law."""
        return self._solved[0]

    @property
    def variance(self) -> Floats:
        """Variances of the entries, a row a law."""
        return self._solved[1]

    def covariance(self) -> tuple[Floats, Floats]:
        """Covariances as ``diag(own) + shared shared'``, for vectors that are not cut into blocks."""
        laws = self.laws
        damped = 1 + self.precision * laws.rest
        root = np.linalg.inv(np.linalg.cholesky(self._gram)).swapaxes(1, 2)
        return laws.rest / damped, (laws.columns / damped[:, :, None]) @ (laws.scales[:, :, None] * root)

    @cached_property
    def _expected(self) -> tuple[Floats, Floats, Floats]:
        return self.evidence.expected(self.mean, self.variance)

    @cached_property
    def bound(self) -> Floats:
        """The lower bounds on the log likelihood of the evidence, one a law."""
        return self._expected[0] - self._solved[2]


def together(laws: Sequence[Normals]) -> Normals:
    """The laws of all as one object: for short vectors that is quicker."""
    return Normals(
        np.concatenate([np.repeat(one.mean, len(one.scales), axis=0) for one in laws]),
        np.concatenate([np.repeat(one.columns, len(one.scales), axis=0) for one in laws]),
        np.concatenate([one.scales for one in laws]),
        np.concatenate([one.rest for one in laws]),
    )


@dataclass(frozen=True, eq=False)
class Posterior:
    """A mixture of normal laws for each entry.

    Attributes:
        shares: how likely each of them is.
        means: their means, a row each.
        variances: their variances, a row each.
        correlations: the correlation of keys and weights that each stands for.
        discrepancies: how far each lets the truth be from the draws.
    """

    shares: Floats
    means: Floats
    variances: Floats
    correlations: Floats
    discrepancies: Floats

    @cached_property
    def mean(self) -> Floats:
        """The mean of each entry."""
        return np.asarray(self.shares @ self.means)

    @cached_property
    def variance(self) -> Floats:
        """The variance of each entry."""
        return np.asarray(self.shares @ (self.variances + (self.means - self.mean) ** 2))

    def band(self, level: float) -> tuple[Floats, Floats]:
        """Bounds that hold each entry with this probability, as much being cut off on either side."""
        tail = (1 - level) / 2
        return self._quantile(tail), self._quantile(1 - tail)

    def _quantile(self, p: float) -> Floats:
        root = np.sqrt(np.maximum(self.variances, 1e-300))
        ends = self.means + ndtri(p) * root
        low, high = ends.min(axis=0), ends.max(axis=0)
        for _ in range(40):
            middle = (low + high) / 2
            below = self.shares @ ndtr((middle - self.means) / root) < p
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.asarray((low + high) / 2)
