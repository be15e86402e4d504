"""Posterior of the sorted vector given noisy counts in bins: empirical Bayes as for noisy vectors.

See docs/mathematics.md, "Histograms". Public data and the noisy counts only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from peerveil.inference.family import Family, family_of
from peerveil.inference.gaussians import GaussianMixture, LowRankGaussians, VariationalFit
from peerveil.inference.likelihood import EntryLikelihood
from peerveil.inference.pooling import YearPrior, used_prior
from peerveil.inference.posterior import BRIDGE_MODES, components, discrepancy_laws, steps_along, with_known_sum
from peerveil.inference.prior import MANY_HIDDEN, Ensemble, placed
from peerveil.privacy.bins import MOST, Bins, NoisyCounts, attainable_means
from peerveil.privacy.law import Law
from peerveil.privacy.noise_laws import LaplaceLaw
from peerveil.quantities.statistics import MEAN
from peerveil.quantities.weights import PublicWeights
from peerveil.record.public_record import Floats, Ints

#: The share of a discrepancy that may lie in any bin, even where no draw has an entry.
_ANYWHERE = 0.02

#: The minimal number of cells that the bins are cut into, in total.
_CELLS = 256

#: Quantiles that represent a normal law.
_NODES = ndtri((np.arange(32) + 0.5) / 32)

#: Shares of the probability outside a band that may be below it, beside a half.
_TAIL_SHARES = (0.05, 0.25, 0.75, 0.95)

#: The least noise scale: whole numbers are treated as real ones.
_LEAST_NOISE = 0.05


@dataclass(frozen=True, eq=False)
class CountLikelihood:
    """The likelihood for independent noise with a known law on each count."""

    noisy: NoisyCounts
    law: Law

    def on_counts(self) -> EntryLikelihood:
        """The likelihood of the vector of counts, with Laplace noise of the same deviation."""
        scale = max(self.law.deviation / math.sqrt(2), _LEAST_NOISE)
        return EntryLikelihood(self.noisy.counts.astype(np.float64), LaplaceLaw(scale=scale))


@dataclass(frozen=True, eq=False)
class Steps:
    """Places where entries are counted: between attainable means, or in cells of each bin.

    An entry is the least mean plus the widths of all steps below it.

    Attributes:
        width: the width of each step.
        bin: the bin that holds the step, or ends with it.
        share: the expected share of the bin's entries below the step; one row per ensemble.
    """

    width: Floats
    bin: Ints
    share: Floats

    @classmethod
    def of(cls, ensembles: Sequence[Ensemble], bins: Bins, means: Floats | None) -> Steps:
        """The steps between all attainable means if these are known, else between cells of the bins."""
        if means is not None:
            width = np.append(np.diff(means), 0.0)
            bin_ = bins.place(means)
            at = (means + width / 2, means + width / 2)
        else:
            cells = -(-_CELLS // bins.number)
            bin_ = np.repeat(np.arange(bins.number), cells)
            width = (bins.high - bins.low)[bin_] / cells
            start = bins.low[bin_] + np.tile(np.arange(cells), bins.number) * width
            at = (start, start + width)
        return cls(width, bin_, np.array([_shares_below(ensemble, bins, bin_, *at) for ensemble in ensembles]))


def _shares_below(ensemble: Ensemble, bins: Bins, bin_: Ints, start: Floats, end: Floats) -> Floats:
    """The share of a bin's entries below a place, averaged from ``start`` to ``end``; uniform without draws."""
    values = np.sort(ensemble.vectors, axis=None)
    cuts = np.searchsorted(values, bins.cuts, side="left")
    first, last = np.append(0, cuts)[bin_], np.append(cuts, values.size)[bin_]
    sums = np.concatenate(([0.0], np.cumsum(values - bins.low[0])))

    def area(at: Floats) -> Floats:
        """The integral of the number of the bin's entries below, up to a place."""
        below = np.clip(np.searchsorted(values, at, side="right"), first, last)
        return np.asarray((below - first) * (at - bins.low[0]) - (sums[below] - sums[first]))

    if (end > start).any():
        below = (area(end) - area(start)) / np.where(end > start, end - start, 1.0)
    else:
        below = np.clip(np.searchsorted(values, start, side="right"), first, last) - first
    width = (bins.high - bins.low)[bin_]
    even = np.divide((start + end) / 2 - bins.low[bin_], width, out=np.ones_like(width), where=width > 0)
    return np.asarray(np.clip((below + np.clip(even, 0.0, 1.0)) / (last - first + 1), 0.0, 1.0))


@dataclass(frozen=True)
class PlaceDoubt:
    """How far an entry may be from where draws have it in its bin, because nothing public tells which values occur.

    Attributes:
        half: half the width of the interval of values that are not told apart, within a bin.
        uniform: 2 if both the place in draws and the true one are uniform there, independent of each other; 1 if
            draws have entries at its middle.
    """

    half: float
    uniform: int

    @classmethod
    def of(cls, weights: PublicWeights, bins: Bins) -> PlaceDoubt | None:
        """The doubt about entries of a public record; ``None`` if the record shows what values occur.

        Whole scores have means on a grid, where draws have any: both are in the same step. Of other statistics nothing
        is known but their bin.
        """
        if np.mean(~placed(weights)) < MANY_HIDDEN:
            return None
        widest = float((bins.high - bins.low).max())
        if weights.statistic is not MEAN:
            return cls(widest, 1)
        return cls(min(max(0.5 / weights.loads.smallest, widest / 6), widest), 2)

    def variance(self, width: Floats) -> Floats:
        """The variance of the distance from an entry's place, given the widths of the bins."""
        return np.asarray(self.uniform * np.minimum(self.half, width / 2) ** 2 / 3)

    def reach(self, level: float) -> float:
        """A distance from an entry's place that is kept with a probability: that of a triangular law, or any.

        >>> PlaceDoubt(0.5, 1).reach(0.9), round(PlaceDoubt(0.5, 2).reach(0.99), 6)
        (0.5, 0.9)
        """
        return self.half if self.uniform == 1 else 2 * self.half * (1 - math.sqrt(1 - level))


@dataclass(frozen=True, eq=False)
class CountPrior:
    """Prior of the counts: Gaussian laws for each leniency and discrepancy.

    Attributes:
        family: the prior assumptions.
        bins: the bins.
        entries: the number of entries counted.
        laws: the laws, in the order of :class:`~peerveil.inference.posterior.EntryPrior`.
        steps: the distribution within bins.
        pooled: what earlier releases say about leniency and discrepancy, if it is known.
        doubt: how far an entry may be from its place in its bin, if nothing public tells which values occur.
        shaped: whether there are laws for each shape of leniency.
        kinds: prior probabilities of several kinds of reviewers and correlations, if there are laws for each of them.
    """

    family: Family
    bins: Bins
    entries: int
    laws: LowRankGaussians
    steps: Steps
    pooled: YearPrior | None = None
    doubt: PlaceDoubt | None = None
    shaped: bool = False
    kinds: Floats | None = None

    @classmethod
    def of(
        cls,
        ensembles: Sequence[Ensemble],
        bins: Bins,
        weights: PublicWeights,
        *,
        shaped: bool = False,
        kinds: Floats | None = None,
    ) -> CountPrior:
        """The prior of the ensembles that a :class:`~peerveil.inference.model.RecordModel` drew from the weights."""
        n = weights.reviewers
        counted = [ensemble.counted(bins) for ensemble in ensembles]
        means = np.array([counts.mean for counts in counted])
        anywhere = means.mean(axis=0) / 2 + n / bins.number / 2
        family, typical = family_of(weights), _typical_values(ensembles, bins)
        uncertainty, sizes = family.sum_uncertainty(weights), tuple(family.discrepancies)
        laws, modes = [], family.modes(min(len(counts.vectors) for counts in counted))  # some have fewer draws
        for counts, step in zip(counted, steps_along(means), strict=True):
            columns, left = _discrepancy(counts.mean, anywhere)
            columns = with_known_sum(columns, typical - typical @ counts.mean / n, uncertainty)
            laws.append(discrepancy_laws(counts, step, columns, left, sizes, modes=modes, floor=1e-6))
        steps = Steps.of(ensembles, bins, attainable_means(weights, MOST))
        doubt = PlaceDoubt.of(weights, bins) if family.hidden_doubt else None
        pooled = None if kinds is not None else used_prior(weights)
        return cls(family, bins, n, LowRankGaussians.stacked(laws), steps, pooled, doubt, shaped, kinds)

    def posterior(self, likelihood: CountLikelihood) -> CountPosterior | None:
        """Posterior of the sorted vector; ``None`` if it exceeds floating-point range."""
        with np.errstate(all="ignore"):
            try:
                fit = self.laws.fit(likelihood.on_counts())
                finite = np.isfinite(fit.bound) & np.isfinite(fit.mean).all(axis=1)
                if not finite.any():
                    return None
                keep, probabilities, evidence = components(
                    self.family, fit.bound, finite, self.pooled, shaped=self.shaped, kinds=self.kinds
                )
                running, spread, of_bins = _running(fit, keep, self.entries)
            except np.linalg.LinAlgError:
                return None
            if not (np.isfinite(running).all() and np.isfinite(spread).all()):
                return None
        share, bin_ = self.steps.share[keep // len(self.family.discrepancies)], self.steps.bin
        # Within a bin, the number of entries below a place is taken to be binomial.
        below, variance = (np.column_stack((np.zeros(len(keep)), side)) for side in (running, spread))
        count = np.maximum(np.diff(below, axis=1)[:, bin_], 0.0)
        mean = (1 - share) * below[:, bin_] + share * below[:, bin_ + 1]
        own = share * (1 - share) * (count - of_bins[:, bin_])
        variance = np.maximum((1 - share) * variance[:, bin_] + share * variance[:, bin_ + 1] + own, 0.0)
        below_steps = GaussianMixture(probabilities, mean, variance, keep, evidence)
        return CountPosterior(below_steps, self.steps.width, self.bins, self.entries, self.doubt)


def _typical_values(ensembles: Sequence[Ensemble], bins: Bins) -> Floats:
    """The mean of all drawn entries in each bin; the middle of a bin without any."""
    drawn = np.concatenate([ensemble.vectors.ravel() for ensemble in ensembles])
    place = bins.place(drawn)
    number = np.bincount(place, minlength=bins.number)
    total = np.bincount(place, weights=drawn, minlength=bins.number)
    return np.where(number > 0, total / np.maximum(number, 1), (bins.low + bins.high) / 2)


def _discrepancy(mean: Floats, anywhere: Floats) -> tuple[Floats, Floats]:
    """Covariance of a discrepancy of size 1: a Brownian bridge over the shares of the counts."""
    n = float(anywhere.sum())
    share = ((1 - _ANYWHERE) * mean + _ANYWHERE * anywhere) / n
    ends = np.concatenate(([0.0], np.cumsum(share)))
    j = np.arange(1, min(share.size, BRIDGE_MODES) + 1)
    columns = n * math.sqrt(2) / math.pi * np.diff(np.sin(math.pi * np.outer(ends, j)), axis=0) / j
    return columns, np.maximum(n**2 * share * (1 - share) - np.sum(columns**2, axis=1), 0.0)


def _running(fit: VariationalFit, keep: Ints, total: int) -> tuple[Floats, Floats, Floats]:
    """Means and variances of the running sums of counts given their total, and variances of the counts."""
    own, shared = (part[keep] for part in fit.covariance())
    running, diagonal, columns = np.cumsum(fit.mean[keep], axis=1), np.cumsum(own, axis=1), np.cumsum(shared, axis=1)
    with_total = diagonal + np.sum(columns * columns[:, -1:], axis=2)
    of_total = with_total[:, -1:]
    mean = running + with_total / of_total * (total - running[:, -1:])
    variance = diagonal + np.sum(columns**2, axis=2) - with_total**2 / of_total
    of_bins = own + np.sum(shared**2, axis=2) - np.diff(with_total, axis=1, prepend=0.0) ** 2 / of_total
    return mean, np.maximum(variance, 0.0), np.maximum(of_bins, 0.0)


@dataclass(frozen=True, eq=False)
class CountPosterior:
    """Posterior of each entry of the sorted vector, from the number of entries below each step.

    Attributes:
        below: the posterior of the number of entries below each step.
        width: the widths of the steps.
        bins: the bins.
        entries: the number of entries.
        doubt: how far an entry may be from its place in its bin, if nothing public tells which values occur.
        cases: the same posterior in cases that neither public data nor counts tell apart; bands hold those of each.
    """

    below: GaussianMixture
    width: Floats
    bins: Bins
    entries: int
    doubt: PlaceDoubt | None = None
    cases: tuple[GaussianMixture, ...] = ()

    @property
    def least(self) -> float:
        """The least mean."""
        return float(self.bins.low[0])

    @property
    def evidence(self) -> Floats | None:
        """The log-likelihood of the noisy data on the grid of the family."""
        return self.below.evidence

    def told(self, evidence: Floats) -> CountPosterior:
        """The same posterior with other evidence."""
        return replace(self, below=self.below.told(evidence))

    @cached_property
    def _ranks(self) -> Ints:
        """The first rank above each step, at the nodes of each component."""
        below = self.below
        points = below.means[:, :, None] + np.sqrt(below.variances)[:, :, None] * _NODES
        return np.clip(np.rint(points), 0, self.entries).astype(np.int64)

    def _expected(self, width: Floats) -> Floats:
        """The expected sum of the widths of the steps below each entry."""
        chance = np.repeat(np.outer(self.below.probabilities, width).ravel() / _NODES.size, _NODES.size)
        return _stairs(self._ranks.ravel(), chance, self.entries)

    @cached_property
    def mean(self) -> Floats:
        """The mean of each entry."""
        return np.asarray(self.least + self._expected(self.width))

    @cached_property
    def variance(self) -> Floats:
        """The variance of each entry."""
        height = np.concatenate(([0.0], np.cumsum(self.width)))
        middle = height[-1] / 2
        square = middle**2 + self._expected(np.diff((height - middle) ** 2))
        variance = np.maximum(square - (self.mean - self.least - middle) ** 2, 0.0)
        if self.doubt is None:
            return np.asarray(variance)
        width = self.bins.high - self.bins.low
        return np.asarray(variance + self.doubt.variance(width)[self.bins.place(self.mean)])

    def band(self, level: float) -> tuple[Floats, Floats]:
        """The equal-tailed credible band of each entry."""
        return self._shortest(level, (0.5,))

    def shortest_band(self, level: float) -> tuple[Floats, Floats]:
        """The shortest of several credible bands of each entry."""
        return self._shortest(level, (0.5, *_TAIL_SHARES))

    def _shortest(self, level: float, shares: Sequence[float]) -> tuple[Floats, Floats]:
        """The shortest of the bands with shares of the probability outside below them; computed where any changes."""
        ranks = [self._ranks_between(share * (1 - level), level) for share in shares]
        starts = np.unique(np.concatenate([[0], *(side for pair in ranks for side in pair)]))
        starts = starts[starts < self.entries]
        lower, upper = self._between(ranks[0], starts, level)
        for pair in ranks[1:]:
            low, high = self._between(pair, starts, level)
            shorter = high - low < upper - lower
            lower, upper = np.where(shorter, low, lower), np.where(shorter, high, upper)
        times = np.diff(starts, append=self.entries)
        return np.repeat(lower, times), np.repeat(upper, times)

    def _ranks_between(self, tail: float, level: float) -> tuple[Ints, Ints]:
        """The first ranks above each step at a lower tail, and at the level above it."""
        laws = (self.below, *self.cases)
        few = np.maximum.accumulate(np.min([law.quantile(1 - tail - level) for law in laws], axis=0))
        many = np.maximum.accumulate(np.max([law.quantile(1 - tail) for law in laws], axis=0))
        few, many = (np.clip(np.rint(side), 0, self.entries).astype(np.int64) for side in (few, many))
        return many, few

    def _between(self, ranks: tuple[Ints, Ints], starts: Ints, level: float) -> tuple[Floats, Floats]:
        """The band between the quantiles with these ranks, of the entries at some ranks."""
        lower, upper = (self.least + _stairs_at(starts, rank, self.width) for rank in ranks)
        lower = np.minimum(lower, upper)  # sums in another order may differ in their last digit
        if self.doubt is not None:
            bins, slack = self.bins, 1e-9 * (self.bins.high[-1] - self.bins.low[0])
            last = np.searchsorted(bins.high[:-1], upper - slack)  # a common end is that of the lower bin
            reach = self.doubt.reach(level)
            lower = np.maximum(lower - reach, bins.low[bins.place(lower)])
            upper = np.minimum(upper + reach, bins.high[last])
        return lower, upper


def _stairs(ranks: Ints, width: Floats, entries: int) -> Floats:
    """For each entry the total width of the steps whose rank is at most its own."""
    if ranks.size > entries // 4:
        return np.asarray(np.cumsum(np.bincount(ranks, weights=width, minlength=entries + 1))[:entries])
    starts = np.unique(np.append(ranks, 0))  # the same sums, without a pass over all entries
    starts = starts[starts < entries]
    return np.repeat(_stairs_at(starts, ranks, width), np.diff(starts, append=entries))


def _stairs_at(at: Ints, ranks: Ints, width: Floats) -> Floats:
    """The total width of the steps whose rank is at most each of the ranks at which it is asked for."""
    start, stair = np.unique(ranks, return_inverse=True)
    height = np.concatenate(([0.0], np.cumsum(np.bincount(stair, weights=width))))
    return np.asarray(height[np.searchsorted(start, at, side="right")])
