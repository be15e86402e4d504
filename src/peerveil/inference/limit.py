"""The prior of long vectors: the limit of many reviewers, and fluctuations drawn from a part of the record.

In the limit, the reviews of a reviewer are independent draws given the key at which the reviewer stands, so the law of
a reviewer's mean is a mixture of convolutions: no draw of the whole record is needed. How much the sorted vector varies
around its limit is seen in draws of a small part of the record: the share of reviewers below a mean varies as the root
of their number. See docs/mathematics.md, "Many reviewers". Public data only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.fft import next_fast_len
from scipy.special import ndtr

from peerveil.inference.family import LENIENCIES, family_of
from peerveil.inference.gaussians import GaussianMixture
from peerveil.inference.likelihood import EntryLikelihood, Likelihood
from peerveil.inference.posterior import EntryPrior, discrepancy
from peerveil.inference.prior import Ensemble, flattest_chances, pair_ends, prior
from peerveil.privacy.bins import Bins, common_step
from peerveil.privacy.noise_laws import NormalLaw
from peerveil.quantities.distinct import Distinct
from peerveil.quantities.statistics import MEAN
from peerveil.quantities.weights import PublicWeights
from peerveil.record.loads import Loads
from peerveil.record.public_record import Floats, Ints

#: Above this number of reviewers, the limit is used if no paper is reviewed by more than this share of them.
MANY, LARGEST_PAPER = 20_000, 0.01

#: Ranks at which long vectors are computed.
RANKS = 4_096

#: The number of reviewers in the part of a record that is drawn.
_PART = 500

#: Draws of it: where all weights are public; where some are not, of which each has a limit of its own; and of each of
#: several ranges of offsets.
_DRAWS, _DRAWS_HIDDEN, _DRAWS_IN_RANGE = 40, 8, 4

_RANK = (np.arange(RANKS) + 0.5) / RANKS

#: The maximal number of values of a weight, if drawn, of a reviewer's total, and the minimal number of a weight.
_WEIGHTS, _WEIGHTS_DRAWN, _TOTALS, _FEWEST_WEIGHTS = 512, 128, 2_048, 32

#: The keys at which reviewers are taken to stand: how far beyond all weights' own, how far apart at most, and at most
#: how many.
_TAIL, _WIDEST_GAP, _MOST_NODES = 6.0, 0.8, 1_000

#: How often noise is replaced by normal noise: first of the same deviation, then at the last posterior mean.
_ROUNDS = 3

#: The number of ranks whose entries are looked at together.
_AT_A_TIME = 64

#: Keys of less density are left out.
_NEGLIGIBLE = 1e-12


def in_limit(weights: PublicWeights) -> bool:
    """Whether a record has so many reviewers, and papers so small, that the limit describes its vectors."""
    return (
        family_of(weights).limit
        and weights.statistic is MEAN
        and weights.reviewers > MANY
        and int(weights.sizes().max()) <= LARGEST_PAPER * weights.reviewers
    )


def limit_ensembles(weights: PublicWeights, ranges: Iterable[tuple[float, float]]) -> Iterator[Ensemble]:
    """Vectors at :data:`RANKS` equidistant ranks, which vary as long ones do: at each correlation, for each range.

    Where scores are hidden, each draw has other weights, and so a limit of its own.
    """
    some, most = part_of(weights), max(_TOTALS // weights.loads.largest, _FEWEST_WEIGHTS)
    shrink = math.sqrt(some.reviewers / weights.reviewers)
    for offsets in ranges:
        draws = _DRAWS if weights.exact else _DRAWS_HIDDEN if offsets == (0.0, 1.0) else _DRAWS_IN_RANGE
        drawn = prior(some, draws=draws, offsets=offsets)
        laws = (
            [WeightLaw.of(weights.distinct, min(most, _WEIGHTS))]
            if weights.exact
            else [WeightLaw.of(Distinct(row), min(most, _WEIGHTS_DRAWN)) for row in drawn.weight]
        )
        for leniency in LENIENCIES.tolist():
            ensemble = drawn.ensemble(leniency, by_load=family_of(weights).by_load)
            vectors = ensemble.vectors
            pooled = np.sort(vectors, axis=None)
            limits = [law.means(some.loads, leniency) for law in laws]
            each = [vectors] if weights.exact else vectors[:, None]
            varied = [limit.varied(own, pooled, shrink) for limit, own in zip(limits, each, strict=True)]
            at_ranks = np.concatenate([law.quantiles() for law in varied])
            by_load = tuple(stretched(part.mean(axis=0), RANKS)[None] for part in ensemble.by_load)
            yield LimitEnsemble(leniency, at_ranks, by_load, laws=tuple(varied), entries=weights.reviewers)


@dataclass(frozen=True, eq=False, kw_only=True)
class LimitEnsemble(Ensemble):
    """Long vectors, given at :data:`RANKS`.

    Attributes:
        laws: the law of a reviewer's mean in all draws that share its values.
        entries: the number of entries of a vector.
    """

    laws: tuple[MeanLaw, ...]
    entries: int

    def counted(self, bins: Bins) -> Ensemble:
        """The number of entries in each bin, for each draw."""
        counts = self.entries * np.concatenate([law.shares(bins) for law in self.laws])
        each = np.float64(self.entries / RANKS)
        by_load = tuple(np.asarray(each * bins.counts(drawn), dtype=np.float64) for drawn in self.by_load)
        return Ensemble(self.leniency, counts, by_load)


def part_of(weights: PublicWeights) -> PublicWeights:
    """A small record with the same shares of weights and loads; each of its reviews is of another paper."""
    loads = _part_of_loads(weights.loads)
    if weights.exact:
        values = weights.distinct.at(_spread(weights.low.size, loads.reviews))
        return replace(weights, paper=np.arange(loads.reviews), low=values, high=values, loads=loads, part=None)
    low, high = pair_ends(weights)
    shown = low == high
    hidden = round(loads.reviews * float(np.mean(~shown)))
    order = np.flatnonzero(~shown)[np.argsort((low + high)[~shown], kind="stable")]
    visible = np.sort(low[shown])
    some = visible[_spread(visible.size, loads.reviews - hidden)] if visible.size else visible
    others = order[_spread(order.size, hidden)] if hidden else order[:0]
    return replace(
        weights,
        paper=np.arange(loads.reviews),
        low=np.append(some, low[others]),
        high=np.append(some, high[others]) if hidden else np.append(some, low[others]),
        loads=loads,
        part=None,
    )


def _spread(size: int, number: int) -> Ints:
    return ((np.arange(number) + 0.5) * size / number).astype(np.int64)


def _part_of_loads(loads: Loads) -> Loads:
    shares = flattest_chances(loads) if loads.counts is None else np.array(loads.counts) / loads.reviewers
    counts = np.maximum(np.rint(shares * _PART).astype(np.int64), 1)
    reviews = int(counts @ np.array(loads.sizes))
    return Loads(reviewers=int(counts.sum()), reviews=reviews, sizes=loads.sizes, counts=tuple(counts.tolist()))


@dataclass(frozen=True, eq=False)
class MeanLaw:
    """The law of a reviewer's mean, or several laws with the same values.

    Attributes:
        value: the values, ascending.
        below: the chance to have at most each; where there are several laws, one row per law.
        known: whether means have no other values; otherwise each stands for those around it.
    """

    value: Floats
    below: Floats
    known: bool

    def varied(self, drawn: Floats, others: Floats, shrink: float) -> MeanLaw:
        """Laws, one per row of drawn means, with chances that differ as theirs from those of others, times a factor."""
        shares = np.array([self.shares_below(row) for row in drawn])
        moved = shrink * (shares - self.shares_below(others))
        return replace(self, below=np.maximum.accumulate(self.below + moved, axis=1).clip(0.0, 1.0))

    def shares_below(self, means: Floats) -> Floats:
        """The shares of ascending means up to the end of what each value stands for."""
        return np.asarray(np.searchsorted(means, self._ends, side="right") / means.size)

    def quantiles(self) -> Floats:
        """The values at :data:`RANKS`, one row per law."""
        rows = np.atleast_2d(self.below)
        if not self.known:
            return np.array([np.interp(_RANK, below, self._ends) for below in rows])
        ranks = np.searchsorted(_RANK, rows, side="right")  # up to each value
        ranks[:, -1] = RANKS
        value = np.tile(self.value, len(rows))
        return np.repeat(value, np.diff(ranks, axis=1, prepend=0).ravel()).reshape(len(rows), RANKS)

    def shares(self, bins: Bins) -> Floats:
        """The chance of each bin, one row per law."""
        chance = np.diff(np.atleast_2d(self.below), axis=1, prepend=0.0)
        place = bins.place(self.value) + bins.number * np.arange(len(chance))[:, None]
        shares = np.bincount(place.ravel(), weights=chance.ravel(), minlength=bins.number * len(chance))
        return np.asarray(shares.reshape(len(chance), bins.number), dtype=np.float64)

    @cached_property
    def _ends(self) -> Floats:
        """The ends of what each value stands for."""
        return np.append((self.value[1:] + self.value[:-1]) / 2, self.value[-1])


@dataclass(frozen=True, eq=False)
class WeightLaw:
    """The law of a weight.

    Attributes:
        least: the least value.
        step: the distance to the next one.
        chance: the chance of each value.
        known: whether weights have no other values.
    """

    least: float
    step: float
    chance: Floats
    known: bool

    @classmethod
    def of(cls, weights: Distinct, most: int) -> WeightLaw:
        """The law of a weight drawn at random, with at most so many values, to which others are moved."""
        weight, count = weights.counted or (weights.array, np.ones(weights.array.size, dtype=np.int64))
        least, greatest = float(weight.min()), float(weight.max())
        if least == greatest:
            return cls(least, 1.0, np.ones(1), known=True)
        step = None if weights.counted is None or weight.size > most else common_step(weight)
        number = most + 1 if step is None else round((greatest - least) / step) + 1
        known, number = number <= most, min(number, most)
        place = (weight - least) * ((number - 1) / (greatest - least))
        if known:
            place = np.rint(place)
        below = np.minimum(place.astype(np.int64), number - 2)
        chance = np.bincount(below, weights=count * (1 - (place - below)), minlength=number)
        chance[1:] += np.bincount(below, weights=count * (place - below), minlength=number - 1)
        return cls(least, (greatest - least) / (number - 1), chance / weights.array.size, known)

    def means(self, loads: Loads, leniency: float) -> MeanLaw:
        """The law of a reviewer's mean."""
        assert loads.counts is not None  # noqa: S101 - as in a part of a record
        parts = [
            (
                self.least + self.step * np.arange(size * (self.chance.size - 1) + 1) / size,
                count * self._totals(size, leniency),
            )
            for size, count in zip(loads.sizes, loads.counts, strict=True)
        ]
        value, mass = (np.concatenate([part[i] for part in parts]) for i in range(2))
        order = np.argsort(value, kind="stable")
        value, below = value[order], np.cumsum(mass[order])
        last = np.append(np.diff(value) > 1e-9 * self.step, True)  # the same mean of several loads
        return MeanLaw(value[last], below[last] / below[-1], self.known)

    def _totals(self, load: int, leniency: float) -> Floats:
        """The chance of each total of a reviewer's weights, in steps."""
        length = load * (self.chance.size - 1) + 1
        padded = next_fast_len(length, real=True)
        if leniency >= 0:
            centre = leniency * self._standard
            nodes = min(_MOST_NODES, math.ceil((centre[-1] - centre[0] + 2 * _TAIL) / _key_gap(centre)) + 1)
            key = np.linspace(centre[0] - _TAIL, centre[-1] + _TAIL, nodes)
            held = np.exp(-0.5 * (key[:, None] - centre) ** 2) * self.chance
            density = held.sum(axis=1)
            held, density = held[density > _NEGLIGIBLE], density[density > _NEGLIGIBLE]
            total = density / density.sum() @ np.fft.rfft(held / density[:, None], padded) ** load
        else:
            ends = self._key(np.arange(1, load) / load, -leniency)
            ends = np.concatenate(([-np.inf], ends, [np.inf]))
            held = np.diff(ndtr(ends[:, None] + leniency * self._standard), axis=0) * self.chance
            total = np.prod(np.fft.rfft(held * load, padded), axis=0)
        return np.maximum(np.fft.irfft(total, padded)[:length], 0.0)

    @cached_property
    def _standard(self) -> Floats:
        """The weights, with mean 0 and deviation 1."""
        place = np.arange(self.chance.size)
        mean = place @ self.chance
        deviation = math.sqrt((place - mean) ** 2 @ self.chance)
        return np.asarray((place - mean) / (deviation or 1.0))

    def _key(self, share: Floats, leniency: float) -> Floats:
        """Quantiles of the keys ``N(0, 1) + leniency * standard``."""
        centre = leniency * self._standard
        low, high = np.full(share.shape, centre[0] - _TAIL), np.full(share.shape, centre[-1] + _TAIL)
        for _ in range(60):
            middle = (low + high) / 2
            below = ndtr(middle[:, None] - centre) @ self.chance < share
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return np.asarray((low + high) / 2)


def _key_gap(centre: Floats) -> float:
    """How close keys must be for a sum over them to replace an integral.

    The sum's error is ``exp(-2 pi d / gap)`` for an integrand whose nearest pole is ``i d`` away: here ``pi`` over the
    distance of neighbouring weights' keys; and ``exp(-2 pi^2 / gap^2)`` for the density of the keys.
    """
    distance = float(np.max(np.diff(centre), initial=0.0))
    return min(_WIDEST_GAP, 0.45 * math.pi / distance) if distance > 0 else _WIDEST_GAP


def limit_posterior(prior: EntryPrior, likelihood: Likelihood) -> LongPosterior | None:
    """Posterior of a long vector, given the prior at :data:`RANKS`; ``None`` beyond floating-point range.

    Entries around a rank are taken as one, observed with normal noise: that of an efficient estimate, which the
    likelihood's gradient at the last posterior mean gives.
    """
    n = likelihood.centre.size
    first = np.arange(RANKS) * n // RANKS
    sizes, entries = np.diff(np.append(first, n)), n / RANKS
    centre = np.add.reduceat(likelihood.centre, first) / sizes
    information = float(likelihood.deviation) ** -2
    mixture: GaussianMixture | None = None
    for further in reversed(range(_ROUNDS)):
        sigma = (information * entries) ** -0.5 if information > 0 else math.inf
        if not (math.isfinite(sigma) and sigma > 0 and np.isfinite(centre).all()):
            return None
        mixture = prior.posterior(EntryLikelihood(centre, NormalLaw(sigma=sigma)), steps=0)
        if mixture is None:
            return None
        if not further:
            break
        gradient, information = _slopes(likelihood, mixture, first)
        centre = mixture.mean + gradient / sizes / information
    assert mixture is not None  # noqa: S101 - as there are rounds
    sizes_, chosen = np.array(list(prior.family.discrepancies)), mixture.laws
    laws, inverse = np.unique(chosen // sizes_.size, return_inverse=True)
    left = np.array([discrepancy(prior.laws[i].mean[0], 0.0)[1] for i in laws.tolist()])[inverse]
    own = left * sizes_[chosen % sizes_.size, None] ** 2
    variances = mixture.variances + (1 - 1 / entries) * own / (1 + information * own)
    return LongPosterior(replace(mixture, variances=variances), n)


def _slopes(likelihood: Likelihood, mixture: GaussianMixture, first: Ints) -> tuple[Floats, float]:
    """The likelihood's gradient at a posterior, summed for each rank, and its mean curvature over all entries.

    They are computed for some ranks at a time, which is faster than passes over long arrays.
    """
    n = likelihood.centre.size
    sums, curved = [], 0.0
    starts = [int(first[rank]) for rank in range(0, RANKS, _AT_A_TIME)]
    for start, end in pairwise([*starts, n]):
        mean, variance = (stretched(part, n, start, end)[None] for part in (mixture.mean, mixture.variance))
        _, gradient, curvature = likelihood.part(start, end).expected(mean, variance)
        inside = first[(first >= start) & (first < end)] - start
        sums.append(np.add.reduceat(gradient[0], inside))
        curved += float(curvature.sum())
    return np.concatenate(sums), curved / n


def stretched(values: Floats, entries: int, start: int = 0, end: int | None = None) -> Floats:
    """Values at equidistant ranks, interpolated at more of them; those from ``start`` up to ``end``."""
    if values.size == entries:
        return values[start:end]
    ranks = np.arange(start, entries if end is None else end)
    return np.interp((ranks + 0.5) / entries, (np.arange(values.size) + 0.5) / values.size, values)


@dataclass(frozen=True, eq=False)
class LongPosterior:
    """Posterior of a long vector, interpolated between ranks.

    Attributes:
        ranks: the posterior at :data:`RANKS`.
        entries: the number of entries.
    """

    ranks: GaussianMixture
    entries: int

    @property
    def evidence(self) -> Floats | None:
        """The log-likelihood of the noisy data on the grid of the family."""
        return self.ranks.evidence

    @cached_property
    def mean(self) -> Floats:
        """The mean of each entry."""
        return stretched(self.ranks.mean, self.entries)

    @cached_property
    def variance(self) -> Floats:
        """The variance of each entry."""
        return stretched(self.ranks.variance, self.entries)

    def band(self, level: float) -> tuple[Floats, Floats]:
        """The equal-tailed credible band of each entry."""
        return self._stretched(self.ranks.band(level))

    def shortest_band(self, level: float) -> tuple[Floats, Floats]:
        """A credible band of each entry that is as short as possible."""
        return self._stretched(self.ranks.shortest_band(level))

    def _stretched(self, band: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
        return stretched(band[0], self.entries), stretched(band[1], self.entries)
