"""What is likely once the noisy vector is seen: empirical Bayes over leniency and over how far the model may be off.

See docs/mathematics.md, "The guess". Public data and the noisy vector only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import erf, ndtr, ndtri

from peerveil.laws import DiscreteLaplaceLaw, LaplaceLaw, Law, NormalLaw
from peerveil.prior import Ensemble, prior
from peerveil.record import Floats
from peerveil.weights import PublicWeights

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

_STEPS = 30

#: Laws of a mixture with less than this share of its largest one are left out of its quantiles.
_NEGLIGIBLE = 1e-9


class Evidence(Protocol):
    """What a mechanism's noise says about a vector: all that the posterior needs to know of the mechanism."""

    @property
    def reach(self) -> float:
        """The deviation of a normal law that tells about as much, for a first guess."""

    @property
    def centre(self) -> Floats:
        """The vector for a first guess."""

    def expected(self, mean: Floats, variance: Floats) -> tuple[Floats, Floats, Floats]:
        """The log likelihood of vectors with independent normal entries, in expectation.

        A row a vector. Returns its values, its gradients in the mean, and minus its second derivatives (at least 0).
        """


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


@dataclass(frozen=True, eq=False)
class EntryNoise:
    """Evidence from independent noise of a known law on each entry.

    >>> evidence = EntryNoise(np.array([1.0, 2.0]), NormalLaw(sigma=1.0))
    >>> evidence.expected(np.ones((1, 2)), np.zeros((1, 2)))[1].round(6).tolist()
    [[-0.0, 1.0]]
    """

    centre: Floats
    law: Law

    @cached_property
    def reach(self) -> float:
        """The noise's deviation."""
        return np.float64(self.law.deviation)  # which overflows to infinity, not to an exception

    def expected(self, mean: Floats, variance: Floats) -> tuple[Floats, Floats, Floats]:
        """The expected log likelihood, its gradient, and minus its second derivatives."""
        off = mean - self.centre
        v = np.maximum(variance, (1e-9 * self.reach) ** 2)
        if isinstance(self.law, NormalLaw):
            tau = self.law.sigma**-2
            value = np.sum(self.law.log_density(off) - 0.5 * tau * v, axis=-1)
            return value, -tau * off, np.full(off.shape, tau)
        if isinstance(self.law, LaplaceLaw | DiscreteLaplaceLaw):
            return _expected_laplace(off, v, self.law.scale)
        return _expected(self.law, self.reach, off, v)


def _expected_laplace(off: Floats, v: Floats, scale: float) -> tuple[Floats, Floats, Floats]:
    """In closed form: the kink of the law is smoothed by the spread of the entry."""
    root = np.sqrt(v)
    side = erf(off / (math.sqrt(2) * root))
    bell = np.exp(-0.5 * (off / root) ** 2) * (math.sqrt(2 / math.pi) / root)
    value = -np.sum(off * side + v * bell, axis=-1) / scale - off.shape[-1] * math.log(2 * scale)
    return value, -side / scale, bell / scale


_NODES, _SHARES = np.polynomial.hermite_e.hermegauss(15)
_SHARES = _SHARES / _SHARES.sum()


def _expected(law: Law, reach: float, off: Floats, v: Floats) -> tuple[Floats, Floats, Floats]:
    """For smooth laws, by Gauss-Hermite quadrature; beyond eight deviations the log density is continued as a parabola.

    Without that, far points would have likelihoods too small for floating point.
    """
    x = off + np.sqrt(v) * _NODES.reshape(-1, *(1,) * off.ndim)
    end, step = 8 * reach, 1e-3 * reach
    inside = np.clip(x, -end, end)
    beyond = x - inside
    below, middle, above = (law.log_density(inside + side) for side in (-step, 0.0, step))
    slope, bend = (above - below) / (2 * step), (above - 2 * middle + below) / step**2
    value = np.tensordot(_SHARES, middle + slope * beyond + 0.5 * bend * beyond**2, axes=1)
    gradient, bent = (np.tensordot(_SHARES, side, axes=1) for side in (slope + bend * beyond, bend))
    return np.sum(value, axis=-1), gradient, np.maximum(-bent, 0.0)


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
        likely = self.shares > _NEGLIGIBLE * self.shares.max()  # mostly a few: the others move no quantile
        shares = self.shares[likely] / self.shares[likely].sum()
        means, root = self.means[likely], np.sqrt(np.maximum(self.variances[likely], 1e-300))
        ends = means + ndtri(p) * root
        low, high = ends.min(axis=0), ends.max(axis=0)
        for _ in range(40):
            middle = (low + high) / 2
            below = shares @ ndtr((middle - means) / root) < p
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.asarray((low + high) / 2)


def ensembles(weights: PublicWeights, *, draws: int | None = None) -> tuple[Ensemble, ...]:
    """Vectors drawn from a public record at each of :data:`CORRELATIONS`: what every family of it rests on.

    Where many scores are hidden, that is done for each way in which these may lean, one after the other: normal laws
    would not hold all of them at once.

    >>> drawn = ensembles(PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2), draws=10)
    >>> len(drawn) == CORRELATIONS.size, drawn[0].vectors.shape
    (True, (10, 4))
    """
    many = weights.quantity != "miscalibration" and np.mean(weights.low != weights.high) >= MANY_HIDDEN
    ends = np.linspace(0.0, 1.0, (LEANINGS if many else 1) + 1).tolist()
    return tuple(
        drawn.ensemble(float(s))
        for drawn in (prior(weights, draws=draws, leaning=part) for part in pairwise(ends))
        for s in CORRELATIONS / np.sqrt(1 - CORRELATIONS**2)
    )


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


def together(laws: Sequence[Normals]) -> Normals:
    """The laws of all as one object: for short vectors that is quicker."""
    return Normals(
        np.concatenate([np.repeat(one.mean, len(one.scales), axis=0) for one in laws]),
        np.concatenate([np.repeat(one.columns, len(one.scales), axis=0) for one in laws]),
        np.concatenate([one.scales for one in laws]),
        np.concatenate([one.rest for one in laws]),
    )


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
