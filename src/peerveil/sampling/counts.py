"""Posterior of the number of reviewers in cells of a statistic, given noisy counts, discrepancies included.

The prior is that of the estimates (docs/mathematics.md, "Histograms"), but for cells that are finer than the released
bins, so that a discrepancy may move reviewers within a bin, too. Several releases of one statistic are observations of
the same counts. Different statistics of one quantity have a common leniency; given that, they are independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import isotonic_regression

from peerveil.errors import InputError
from peerveil.inference.family import family_of
from peerveil.inference.model import RecordModel
from peerveil.privacy.bins import Bins
from peerveil.quantities.weights import PublicWeights
from peerveil.record.public_record import Floats, Ints
from peerveil.sampling.cells import drawn_values, fine_bins

#: Steps of the Gibbs sampler before a draw.
_STEPS = 20

#: The variance that stands for none, in sums that are known.
_NONE = 1e-4

#: Laws with less than this share of the probability are left out, judged as if the noise were normal.
_NEGLIGIBLE = 1e-12


@dataclass(frozen=True, eq=False)
class Observed:
    """Noisy counts of reviewers in bins of a statistic.

    Attributes:
        bins: the bins.
        counts: the noisy counts.
        scale: the scale of their noise, which is taken to be Laplace noise.
    """

    bins: Bins
    counts: Floats
    scale: float


@dataclass(frozen=True, eq=False)
class CountLaws:
    """Prior laws of the counts in cells of one statistic, with the observations of them.

    Attributes:
        bins: the cells.
        entries: the number of reviewers.
        leniencies: the logarithm of the prior probability of each leniency.
        discrepancies: the logarithm of the prior probability of each discrepancy.
        mean, columns, rest: the laws ``N(mean, columns columns' + diag(rest))``, by leniency, then discrepancy.
        sums: which cells an observation adds up, one row per noisy count; then what is known, with weights of cells.
        seen: the noisy counts, then what is known: the number of reviewers, and 0 for the sum of their means from the
            public one.
        scale: the scale of the noise in each noisy count.
        known: the variance of each known sum, given the counts.
    """

    bins: Bins
    entries: int
    leniencies: Floats
    discrepancies: Floats
    mean: Floats
    columns: Floats
    rest: Floats
    sums: Floats
    seen: Floats
    scale: Floats
    known: Floats

    @classmethod
    def of(cls, weights: PublicWeights, observed: Sequence[Observed]) -> CountLaws:
        """The laws of the model of a public record."""
        bins = fine_bins(weights, [one.bins for one in observed])
        prior = weights.derived(RecordModel).count_prior(bins, shaped=False)
        laws, family = prior.laws, prior.family
        ranges = len(laws.scales) // (family.correlation_chances.size * len(family.discrepancies))
        middle = (bins.low + bins.high) / 2
        sums = [np.arange(one.bins.number)[:, None] == one.bins.place(middle) for one in observed]
        known = [(np.ones(bins.number), float(weights.reviewers), _NONE), *_public_sum(weights, bins)]
        return cls(
            bins=bins,
            entries=weights.reviewers,
            leniencies=np.tile(np.log(family.correlation_chances), ranges),  # all ranges of offsets are equally likely
            discrepancies=np.log(list(family.discrepancies.values())),
            mean=laws.mean,
            columns=laws.columns * laws.scales[:, None, :],
            rest=laws.rest,
            sums=np.concatenate((*sums, [values for values, _, _ in known])).astype(np.float64),
            seen=np.concatenate((*(one.counts for one in observed), [total for _, total, _ in known])),
            scale=np.concatenate([np.full(one.bins.number, one.scale) for one in observed]),
            known=np.array([variance for _, _, variance in known]),
        )

    @property
    def normal(self) -> Floats:
        """The variance of each observation."""
        return np.concatenate((np.maximum(2 * self.scale**2, _NONE), self.known))

    def likely(self) -> Ints:
        """Return the laws of non-negligible probability.

        Raises:
            InputError: if there is none.
        """
        logs = self.log_evidence(np.arange(len(self.mean)), self.normal)
        logs = np.where(np.isfinite(logs), logs, -np.inf) + np.add.outer(self.leniencies, self.discrepancies).ravel()
        if not np.isfinite(logs).any():
            raise InputError("the release's posterior exceeds floating-point range")
        return np.flatnonzero(logs > logs.max() + np.log(_NEGLIGIBLE))

    @cached_property
    def _observable(self) -> tuple[Floats, Floats]:
        """Means and covariances, under each law given what is known, of the noisy counts without their noise.

        What is known is no evidence: it is the same whatever the law.
        """
        spread, number = self.sums @ self.columns, self.scale.size
        covariance = spread @ spread.swapaxes(1, 2) + (self.sums * self.rest[:, None, :]) @ self.sums.T
        mean = self.mean @ self.sums.T
        of_known = covariance[:, number:, number:] + np.diag(self.known)
        gain = np.linalg.solve(of_known, covariance[:, number:, :number]).swapaxes(1, 2)
        off = self.seen[number:] - mean[:, number:]
        moved = mean[:, :number] + (gain @ off[:, :, None])[:, :, 0]
        return moved, covariance[:, :number, :number] - gain @ covariance[:, number:, :number]

    def log_evidence(self, laws: Ints, variance: Floats) -> Floats:
        """Return the log-likelihood of the noisy counts under each law, with normal noise of these variances."""
        mean, covariance = (part[laws] for part in self._observable)
        number = self.scale.size
        covariance[:, range(number), range(number)] += variance[:number]
        root = np.linalg.cholesky(covariance)
        solved = np.linalg.solve(root, (self.seen[:number] - mean)[:, :, None])[:, :, 0]
        volume = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
        return np.asarray(-0.5 * np.sum(solved**2, axis=1) - volume)

    def draw(self, law: int, variance: Floats, rng: np.random.Generator) -> Floats:
        """Return counts in cells, drawn from a law given what was seen, with normal noise of these variances.

        A draw from the law is moved by what the difference between its observation and what was seen implies.
        """
        columns, rest = self.columns[law], self.rest[law]
        counts = self.mean[law] + columns @ rng.standard_normal(columns.shape[1])
        counts += np.sqrt(rest) * rng.standard_normal(rest.size)
        with_seen = columns @ (self.sums @ columns).T + rest[:, None] * self.sums.T
        off = self.seen - self.sums @ counts - np.sqrt(variance) * rng.standard_normal(variance.size)
        return np.asarray(counts + with_seen @ np.linalg.solve(self.sums @ with_seen + np.diag(variance), off))

    def variances(self, counts: Floats, rng: np.random.Generator) -> Floats:
        """Return variances of normal noise that make Laplace noise, drawn given the counts."""
        number = self.scale.size
        off = np.maximum(np.abs(self.seen - self.sums @ counts)[:number], 1e-9 * self.scale)
        return np.concatenate((1 / rng.wald(1 / (self.scale * off), self.scale**-2.0), self.known))


def _public_sum(weights: PublicWeights, bins: Bins) -> list[tuple[Floats, float, float]]:
    """What is known of the sum of reviewers' means, if scores are public and loads equal: it follows from all scores.

    The distance of each cell from the mean score, the sum of these over reviewers, and its variance given the counts.
    """
    if family_of(weights).sum_uncertainty(weights) > 0:
        return []
    drawn = drawn_values(weights)
    place, mean = bins.place(drawn), drawn.mean()  # the mean is the same in each draw
    drawn = drawn - mean
    number = np.bincount(place, minlength=bins.number)
    value = np.bincount(place, weights=drawn, minlength=bins.number) / np.maximum(number, 1)
    value = np.where(number > 0, value, (bins.low + bins.high) / 2 - mean)
    variance = weights.reviewers * float(np.mean((drawn - value[place]) ** 2))
    return [(value, 0.0, max(variance, _NONE))]


@dataclass(frozen=True, eq=False)
class CountPosterior:
    """Joint posterior of the counts of several statistics with a common leniency.

    Attributes:
        laws: the laws of each statistic.
        likely: which of these have a non-negligible probability.
    """

    laws: tuple[CountLaws, ...]
    likely: tuple[Ints, ...]

    @classmethod
    def of(cls, laws: Sequence[CountLaws]) -> CountPosterior:
        """The posterior of statistics with equally many leniencies."""
        return cls(tuple(laws), tuple(one.likely() for one in laws))

    def draw(self, rng: np.random.Generator, steps: int = _STEPS) -> list[Floats]:
        """Return counts in the cells of each statistic, after so many steps of a Gibbs sampler.

        Laplace noise is normal noise whose variance has an exponential law. Given the variances, leniency and
        discrepancies are drawn, then the counts; given the counts, the variances.
        """
        variances, counts = [one.normal for one in self.laws], list[Floats]()
        for _ in range(steps):
            drawn = self._laws(variances, rng)
            each = zip(self.laws, drawn, variances, strict=True)
            counts = [one.draw(law, own, rng) for one, law, own in each]
            variances = [one.variances(own, rng) for one, own in zip(self.laws, counts, strict=True)]
        return counts

    def _laws(self, variances: Sequence[Floats], rng: np.random.Generator) -> list[int]:
        """A law of each statistic, all of one leniency, given the variances of the noise."""
        chances = []
        for one, likely, variance in zip(self.laws, self.likely, variances, strict=True):
            logs = np.full(len(one.mean), -np.inf)
            logs[likely] = one.log_evidence(likely, variance)
            chances.append(logs.reshape(one.leniencies.size, -1) + one.discrepancies)
        together = self.laws[0].leniencies + np.sum([_log_sums(each) for each in chances], axis=0)
        if not np.isfinite(together).any():
            raise InputError("these releases contradict each other: no leniency of reviewers fits all of them")
        leniency = _chosen(together, rng)
        return [leniency * each.shape[1] + _chosen(each[leniency], rng) for each in chances]


def _log_sums(logs: Floats) -> Floats:
    """The logarithms of the sums of exponentials, row by row."""
    most = np.maximum(logs.max(axis=1), -1e300)
    with np.errstate(divide="ignore"):
        return np.asarray(most + np.log(np.exp(logs - most[:, None]).sum(axis=1)))


def _chosen(logs: Floats, rng: np.random.Generator) -> int:
    """An index, drawn with probabilities given by their logarithms up to a constant."""
    odds = np.exp(logs - logs.max())
    return int(rng.choice(odds.size, p=odds / odds.sum()))


def whole_counts(running: Floats, entries: int) -> Ints:
    """Return whole numbers whose running sums are nearest to given ones, among those that ascend from 0.

    >>> whole_counts(np.array([2.2, 1.4, 4.1, 9.0]), 5).tolist()
    [2, 0, 2, 1]
    """
    ascending = isotonic_regression(np.append(running[:-1], entries)).x
    return np.diff(np.rint(np.clip(ascending, 0, entries)), prepend=0.0).astype(np.int64)
