"""What is likely once noisy counts are seen: empirical Bayes as for noisy vectors, but on counts in bins.

See docs/mathematics.md, "Histograms". Public data and the noisy counts only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from peerveil.inference.gaussians import Fit, Normals, Posterior, together
from peerveil.inference.likelihood import EntryNoise
from peerveil.inference.posterior import DISCREPANCIES, ensembles, grid_at, shares_of, steps_along
from peerveil.inference.prior import Ensemble
from peerveil.privacy.bins import MOST, Bins, NoisyCounts, attainable_means
from peerveil.privacy.noise_laws import LaplaceLaw, Law
from peerveil.quantities.weights import PublicWeights
from peerveil.record.public_record import Floats, Ints

#: The most columns of a covariance, from the draws and for what these do not know.
_MODES, _UNKNOWN_MODES = 24, 16

#: Which share of what the draws do not know may be anywhere, even where none of them has an entry.
_ANYWHERE = 0.02

#: The least number of cells that bins of some width are cut into, all together.
_CELLS = 256

#: Points that stand for a normal law.
_NODES = ndtri((np.arange(32) + 0.5) / 32)

#: Noise below this leaves no doubt about a whole number.
_LEAST_NOISE = 0.05


@dataclass(frozen=True, eq=False)
class CountNoise:
    """Evidence from independent noise of a known law on each count.

    Attributes:
        seen: the noisy counts, with their bins.
        law: the law of the noise.
    """

    seen: NoisyCounts
    law: Law

    def on_counts(self) -> EntryNoise:
        """The same for the vector of counts. Whole numbers are taken for real ones, so noise is never too small."""
        scale = max(self.law.deviation / math.sqrt(2), _LEAST_NOISE)
        return EntryNoise(self.seen.counts.astype(np.float64), LaplaceLaw(scale=scale))


@dataclass(frozen=True, eq=False)
class Steps:
    """The places where entries are counted: between attainable means, or in cells of each bin.

    An entry is the least mean plus the widths of all steps that it is above.

    Attributes:
        width: how wide each step is.
        bin: the bin in which it is, or at whose end.
        share: which share of the bin's entries is below it; a row a correlation.
    """

    width: Floats
    bin: Ints
    share: Floats

    @classmethod
    def of(cls, drawn: Sequence[Ensemble], bins: Bins, means: Floats | None) -> Steps:
        """The steps of bins, with what draws say about places within.

        Where all attainable means are known, entries step from one to the next; elsewhere bins are cut into cells.
        """
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
        return cls(width, bin_, np.array([_shares_below(one, bins, bin_, *at) for one in drawn]))


def _shares_below(ensemble: Ensemble, bins: Bins, bin_: Ints, start: Floats, end: Floats) -> Floats:
    """Which share of a bin's entries is below a place, on average from one to another; even where draws have none."""
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


@dataclass(frozen=True, eq=False)
class CountFamily:
    """What the public record makes likely: normal laws of the counts for each leniency.

    Attributes:
        bins: the bins.
        entries: how many entries are counted.
        laws: for each of the correlations, one law for each of the discrepancies, in this order.
        steps: what is likely within bins.
    """

    bins: Bins
    entries: int
    laws: Normals
    steps: Steps

    @classmethod
    def of(cls, weights: PublicWeights, bins: Bins, *, draws: int | None = None) -> CountFamily:
        """The family of a public record.

        >>> from peerveil.mechanisms.bin_choice import bins_of
        >>> from peerveil.inference.posterior import CORRELATIONS
        >>> weights = PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
        >>> CountFamily.of(weights, bins_of(weights, 9)).laws.mean.shape == (CORRELATIONS.size * len(DISCREPANCIES), 9)
        True
        """
        return cls.of_ensembles(ensembles(weights, draws=draws), bins, weights)

    @classmethod
    def of_ensembles(cls, drawn: Sequence[Ensemble], bins: Bins, weights: PublicWeights) -> CountFamily:
        """The family of ensembles that :func:`peerveil.inference.posterior.ensembles` drew from the same weights."""
        n = drawn[0].mean.size
        counted = [Ensemble(one.leniency, bins.counts(one.vectors).astype(np.float64)) for one in drawn]
        means = np.array([one.mean for one in counted])
        along = steps_along(means)
        anywhere = means.mean(axis=0) / 2 + n / bins.number / 2
        laws = [_laws(one, step, anywhere) for one, step in zip(counted, along, strict=True)]
        return cls(bins, n, together(laws), Steps.of(drawn, bins, attainable_means(weights, MOST)))

    def given(self, evidence: CountNoise) -> CountPosterior | None:
        """The posterior of the sorted vector, given evidence; ``None`` if it is out of the reach of floating point."""
        with np.errstate(all="ignore"):
            try:
                fit = self.laws.fitted(evidence.on_counts())
                good = np.isfinite(fit.bound) & np.isfinite(fit.mean).all(axis=1)
                if not good.any():
                    return None
                keep, shares = shares_of(fit.bound, good)
                running, spread, of_bins = _running(fit, keep, self.entries)
            except np.linalg.LinAlgError:
                return None
            if not (np.isfinite(running).all() and np.isfinite(spread).all()):
                return None
        share, bin_ = self.steps.share[keep // len(DISCREPANCIES)], self.steps.bin
        # Within a bin, entries below a place are a share of the bin's, as if each were drawn for itself.
        below, variance = (np.column_stack((np.zeros(len(keep)), side)) for side in (running, spread))
        held = np.maximum(np.diff(below, axis=1)[:, bin_], 0.0)
        mean = (1 - share) * below[:, bin_] + share * below[:, bin_ + 1]
        own = share * (1 - share) * (held - of_bins[:, bin_])
        variance = np.maximum((1 - share) * variance[:, bin_] + share * variance[:, bin_ + 1] + own, 0.0)
        return CountPosterior(
            Posterior(
                shares,
                mean,
                variance,
                *grid_at(keep),
            ),
            self.steps.width,
            float(self.bins.low[0]),
            self.entries,
        )


def _laws(counted: Ensemble, along: Floats, anywhere: Floats) -> Normals:
    """Counts as drawn; and, for what draws do not know, as if shares were drawn around theirs: a Brownian bridge."""
    modes, rest = counted.modes(_MODES)
    n = float(anywhere.sum())
    share = ((1 - _ANYWHERE) * counted.mean + _ANYWHERE * anywhere) / n
    ends = np.concatenate(([0.0], np.cumsum(share)))
    j = np.arange(1, min(share.size, _UNKNOWN_MODES) + 1)
    columns = n * math.sqrt(2) / math.pi * np.diff(np.sin(math.pi * np.outer(ends, j)), axis=0) / j
    left = np.maximum(n**2 * share * (1 - share) - np.sum(columns**2, axis=1), 0.0)
    sizes = np.array(list(DISCREPANCIES))[:, None]
    known = np.ones((sizes.size, modes.shape[1] + 1))
    scales = np.column_stack((known, np.repeat(sizes, columns.shape[1], axis=1)))
    both = np.column_stack((modes, along, columns))
    return Normals(counted.mean[None], both[None], scales, rest + sizes**2 * left + 1e-6)


def _running(fit: Fit, keep: Ints, total: int) -> tuple[Floats, Floats, Floats]:
    """Means and variances of the running sums of counts, whose total is known, and variances of the counts."""
    own, shared = (part[keep] for part in fit.covariance())
    running, alone, together_ = np.cumsum(fit.mean[keep], axis=1), np.cumsum(own, axis=1), np.cumsum(shared, axis=1)
    with_total = alone + np.sum(together_ * together_[:, -1:], axis=2)
    whole = with_total[:, -1:]
    mean = running + with_total / whole * (total - running[:, -1:])
    variance = alone + np.sum(together_**2, axis=2) - with_total**2 / whole
    of_bins = own + np.sum(shared**2, axis=2) - np.diff(with_total, axis=1, prepend=0.0) ** 2 / whole
    return mean, np.maximum(variance, 0.0), np.maximum(of_bins, 0.0)


@dataclass(frozen=True, eq=False)
class CountPosterior:
    """What is likely of each entry of the sorted vector, from how many entries are likely to be below each step.

    Attributes:
        below: a mixture of normal laws for the number of entries below each step.
        width: how wide the steps are.
        least: the least mean.
        entries: the number of entries.
    """

    below: Posterior
    width: Floats
    least: float
    entries: int

    @cached_property
    def _ranks(self) -> Ints:
        """The first rank above each step, for points that stand for the mixture."""
        below = self.below
        points = below.means[:, :, None] + np.sqrt(below.variances)[:, :, None] * _NODES
        return np.clip(np.rint(points), 0, self.entries).astype(np.int64)

    def _expected(self, width: Floats) -> Floats:
        """The expected sum of the widths of the steps that each entry is above."""
        chance = np.repeat(np.outer(self.below.shares, width).ravel() / _NODES.size, _NODES.size)
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
        return np.asarray(np.maximum(square - (self.mean - self.least - middle) ** 2, 0.0))

    def band(self, level: float) -> tuple[Floats, Floats]:
        """Bounds that hold each entry with this probability, as much being cut off on either side."""
        few, many = (np.maximum.accumulate(side) for side in self.below.band(level))
        ranks = (np.clip(np.rint(side), 0, self.entries).astype(np.int64) for side in (many, few))
        lower, upper = (self.least + _stairs(rank, self.width, self.entries) for rank in ranks)
        return np.minimum(lower, upper), upper  # sums in another order may differ in their last digit


def _stairs(ranks: Ints, width: Floats, entries: int) -> Floats:
    """For each entry the widths of all steps with fewer entries below them than its rank."""
    return np.asarray(np.cumsum(np.bincount(ranks, weights=width, minlength=entries + 1))[:entries], dtype=np.float64)
