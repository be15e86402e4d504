"""Prior of the sorted vector: random valid assignments of the public record, at a given leniency.

At leniency ``s`` each review gets the key ``N(0, 1) + s (x - mean) / sd``, reviews are sorted by key, and reviewers
take them in blocks. At 0 that is random dealing; above, reviewers differ more. Below 0, each reviewer takes reviews
from all over the order instead, so that means differ less than by chance. Clashes (two reviews of one paper) are
removed by swaps with near keys.

Public data only. Draws are seeded, and all leniencies share their random numbers, so that vectors change smoothly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv

from peerveil.errors import RecordError
from peerveil.inference.assignments import deal
from peerveil.inference.family import family_of
from peerveil.inference.pooling.shapes import Shape
from peerveil.privacy.bins import Bins
from peerveil.quantities.statistics import MEAN, Statistic, of_each
from peerveil.quantities.weights import PublicWeights
from peerveil.record.loads import Loads
from peerveil.record.public_record import Floats, Ints

#: The maximal number of keys drawn for each leniency, which determines the number of draws.
_NUMBERS = 300_000
_MOST_DRAWS, _FEWEST_DRAWS = 120, 4

#: Above this number of reviewers, so many draws would be too few for a covariance. There may be more keys then, unless
#: there are several ranges of offsets, and more drawn means.
_LARGE, _NUMBERS_LARGE, _MEANS_LARGE = 2_500, 700_000, 180_000

#: The share of hidden scores that is called many.
MANY_HIDDEN = 0.1

#: How concentrated hidden weights about zero may be, as the sum of the parameters of a beta law.
_MOST_CONCENTRATED = 300.0

#: How strongly leniency may go with load: the deviation of a reviewer's turn per deviation of the loads.
_TILT = 0.5

#: Rounds of swaps before a draw with clashes is dealt paper by paper instead.
_ROUNDS = 20

#: The maximal number of vectors drawn paper by paper.
_FEW = 25


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Sorted vectors drawn at one leniency.

    Attributes:
        leniency: how strongly reviewers differ.
        vectors: the draws, one per row.
        by_load: draws in which reviewers with many reviews are more lenient, and the same with those more severe;
            empty where loads are equal.
    """

    leniency: float
    vectors: Floats
    by_load: tuple[Floats, ...] = ()

    @cached_property
    def mean(self) -> Floats:
        """The mean vector."""
        return np.asarray(self.vectors.mean(axis=0))

    @property
    def tilt(self) -> Floats:
        """The directions in which the mean moves if leniency goes with load, one per row; none with equal loads."""
        if not self.by_load:
            return np.empty((0, self.vectors.shape[1]))
        busy_lenient, busy_severe = (vectors.mean(axis=0) for vectors in self.by_load)
        return np.asarray(busy_lenient - busy_severe)[None] / 2

    def counted(self, bins: Bins) -> Ensemble:
        """The number of entries in each bin, for each draw."""
        vectors, *by_load = (bins.counts(drawn).astype(np.float64) for drawn in (self.vectors, *self.by_load))
        return Ensemble(self.leniency, vectors, tuple(by_load))

    def modes(self, most: int) -> tuple[Floats, Floats]:
        """The covariance as ``B B' + diag(rest)`` with at most ``most`` columns ``B``."""
        centred = (self.vectors - self.mean) / np.sqrt(max(len(self.vectors) - 1, 1))
        draws, n = centred.shape
        if draws < n:
            modes = centred.T @ np.linalg.eigh(centred @ centred.T)[1][:, ::-1][:, :most]
        else:
            size, axes = np.linalg.eigh(centred.T @ centred)
            modes = (axes * np.sqrt(np.maximum(size, 0.0)))[:, ::-1][:, :most]
        rest = np.sum(centred**2, axis=0) - np.sum(modes**2, axis=1)
        return modes, np.maximum(rest, 0.0)


@dataclass(frozen=True, eq=False)
class Prior:
    """The random numbers behind all ensembles of a record, one row per draw. Create it with :func:`prior`.

    Attributes:
        paper: the paper of each review.
        weight: the weights; a single row where all are public.
        loads: the loads.
        noise: the random part of each review's key.
        places: the places of each reviewer, in order, at negative leniencies.
        turns: the random part of each reviewer's turn to take a block of reviews.
        seed: the seed of the swaps.
        statistic: what is computed from each reviewer's weights.
    """

    paper: Ints
    weight: Floats
    loads: Ints
    noise: Floats
    places: Ints
    turns: Floats
    seed: np.random.SeedSequence
    statistic: Statistic = MEAN

    def ensemble(self, leniency: float, *, by_load: bool = False, shape: Shape | None = None) -> Ensemble:
        """Return vectors drawn at a leniency; if asked for, also some in which leniency goes with load.

        Leniency is normal, unless it has another ``shape``.
        """
        vectors = self.vectors(leniency, shape)
        if not (by_load and np.ptp(self.loads)):
            return Ensemble(leniency, vectors)
        tilted = (self.by_load(sign * _TILT).vectors(leniency, shape) if leniency > 0 else vectors for sign in (1, -1))
        return Ensemble(leniency, vectors, tuple(tilted))

    def by_load(self, tilt: float) -> Prior:
        """A part of the draws, with reviewers who take their turn by load, in part: those with many reviews later.

        The greater the tilt, the more; if it is negative, they take their turn earlier.
        """
        few = slice(max(_FEWEST_DRAWS, len(self.loads) // 4))
        loads = self.loads[few]
        deviation = loads.std(axis=1, keepdims=True)
        standard = (loads - loads.mean(axis=1, keepdims=True)) / np.where(deviation > 0, deviation, 1.0)
        order = np.argsort(self.turns[few] + tilt * standard, axis=1, kind="stable")
        loads = np.take_along_axis(loads, order, axis=1)
        weight = self.weight if len(self.weight) == 1 else self.weight[few]
        return replace(self, weight=weight, loads=loads, noise=self.noise[few])

    def vectors(self, leniency: float, shape: Shape | None = None) -> Floats:
        """Return sorted vectors drawn at a leniency, which is normal unless it has a shape; one per row."""
        rng = np.random.default_rng(self.seed)
        deviation = self.weight.std(axis=1, keepdims=True)
        standard = (self.weight - self.weight.mean(axis=1, keepdims=True)) / np.where(deviation > 0, deviation, 1.0)
        keys = self.noise + abs(leniency) * standard
        if shape is not None:
            keys = shape.keys(standard[0], self.noise, leniency)
        order = held = _stable_order(keys)
        if leniency < 0:
            held = np.empty_like(order)
            np.put_along_axis(held, self.places, order, axis=1)
        stuck = self._remove_clashes(held, rng)
        weight = np.take_along_axis(np.broadcast_to(self.weight, held.shape), held, axis=1)
        means = of_each(self.statistic, weight, self.loads)
        if stuck.size:
            means = np.delete(means, stuck, axis=0)
            if 4 * len(means) < len(self.noise):
                others = [self._paper_by_paper(row, max(leniency, 0.0)) for row in stuck[:_FEW].tolist()]
                means = np.vstack((means, others))
        return np.sort(means, axis=1)

    @cached_property
    def owner(self) -> Ints:
        """The reviewer of each place, ascending."""
        reviewers = np.tile(np.arange(self.loads.shape[1]), len(self.loads))
        return np.repeat(reviewers, self.loads.ravel()).reshape(len(self.loads), -1)

    @cached_property
    def start(self) -> Ints:
        """The first place of each reviewer."""
        return np.cumsum(self.loads, axis=1) - self.loads

    def _remove_clashes(self, held: Ints, rng: np.random.Generator) -> Ints:
        """Swap clashing reviews with near ones, in all draws at once; return the draws in which clashes are left."""
        if self.paper[-1] == self.paper.size - 1:
            return np.arange(0)  # no two reviews are of one paper
        places, most = held.shape[1], int(self.loads.max())
        rows = np.arange(len(held))
        for round_ in range(_ROUNDS):
            # Places in order of reviewer and paper: clashes are adjacent.
            code = self.owner[rows] * (int(self.paper[-1]) + 1) + self.paper[held[rows]]
            order = np.argsort(code, axis=1, kind="stable")
            ordered = np.take_along_axis(code, order, axis=1)
            which, after = np.nonzero(ordered[:, 1:] == ordered[:, :-1])
            row, place = rows[which], order[which, after + 1]
            rows = np.unique(row)
            if not rows.size:
                break
            reach = min(places, most * (2 + round_))
            other = (place + rng.integers(1, reach + 1, place.size) * rng.choice((-1, 1), place.size)) % places
            a, b = self.owner[row, place], self.owner[row, other]
            p, q = self.paper[held[row, place]], self.paper[held[row, other]]
            valid = (a != b) & (p != q) & ~self._holds(held, row, a, q) & ~self._holds(held, row, b, p)
            # Each reviewer swaps at most once in a round, as validity is judged by the current holdings.
            code = (row[:, None] * self.loads.shape[1] + np.column_stack((a, b)))[valid].ravel()
            _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
            alone = (first[inverse].reshape(-1, 2) // 2 == np.arange(code.size // 2)[:, None]).all(axis=1)
            row, place, other = (side[valid][alone] for side in (row, place, other))
            held[row, place], held[row, other] = held[row, other], held[row, place]
        return rows

    def _holds(self, held: Ints, row: Ints, reviewer: Ints, paper: Ints) -> npt.NDArray[np.bool_]:
        """Whether each reviewer, in its draw, holds a review of a paper."""
        nth = np.arange(int(self.loads.max()))
        theirs = nth < self.loads[row, reviewer][:, None]
        place = np.where(theirs, self.start[row, reviewer][:, None] + nth, 0)
        return np.asarray(((self.paper[held[row[:, None], place]] == paper[:, None]) & theirs).any(axis=1))

    @cached_property
    def _dealt(self) -> dict[int, Ints]:
        return {}

    def _paper_by_paper(self, row: int, leniency: float) -> Floats:
        """The means where few assignments are valid: first the holders, then scores within papers by leniency."""
        few = min(_FEW, max(1, 20_000 // self.paper.size))  # slow to draw, so assignments are reused
        rng = np.random.default_rng([row, *self.seed.generate_state(4).tolist()])
        loads = self.loads[row % few]
        if row % few not in self._dealt:
            first = np.random.default_rng([row % few, *self.seed.generate_state(4).tolist()])
            self._dealt[row % few] = deal(self.paper, loads, first)
        holder = self._dealt[row % few]
        key = rng.standard_normal(holder.size) + leniency * rng.standard_normal(loads.size)[holder]
        weight = self.weight[row % len(self.weight)]
        by_key, by_weight = np.lexsort((key, self.paper)), np.lexsort((weight, self.paper))
        if self.statistic is MEAN:
            return np.asarray(np.bincount(holder[by_key], weights=weight[by_weight], minlength=loads.size) / loads)
        by_holder = np.argsort(holder[by_key], kind="stable")
        return np.asarray(of_each(self.statistic, weight[by_weight][by_holder][None], loads[None])[0])


def _stable_order(keys: Floats) -> Ints:
    """The stable order of each row. Where keys differ, as random ones do, any order is stable; others are faster."""
    order = np.argsort(keys, axis=1)
    ordered = np.take_along_axis(keys, order, axis=1)
    return np.argsort(keys, axis=1, kind="stable") if (ordered[:, 1:] == ordered[:, :-1]).any() else order


def prior(
    weights: PublicWeights,
    *,
    draws: int | None = None,
    seed: np.random.SeedSequence | None = None,
    offsets: tuple[float, float] = (0.0, 1.0),
    whole: bool = False,
) -> Prior:
    """Return the prior of a public record.

    Args:
        weights: the public weights.
        draws: number of draws for each leniency; by default as many as a few seconds allow.
        seed: the seed; by default derived from the record, so that the same record always gives the same draws.
        offsets: range of the common offset of hidden weights within their intervals, from 0 (low) to 1 (high).
        whole: whether hidden weights are taken to be whole numbers.

    >>> weights = PublicWeights.from_rows([[0, 1], [0, 1]], load=2)
    >>> prior(weights).ensemble(0.0).vectors.min(axis=0).tolist()
    [0.0, 0.5]

    Raises:
        RecordError: if no valid assignment is found.
    """
    if draws is None:
        draws = _usual_draws(weights, ranged=offsets != (0.0, 1.0))
    if seed is None:
        seed = np.random.SeedSequence([int(weights.digest().removeprefix("sha256:"), 16), weights.reviewers])
    of_weights, of_loads, of_noise, of_places, of_swaps, of_turns = seed.spawn(6)
    loads = _draw_loads(weights, draws, np.random.default_rng(of_loads))
    noise = np.random.default_rng(of_noise).standard_normal((draws, weights.low.size))
    return Prior(
        paper=weights.paper,
        weight=_draw_weights(weights, draws, np.random.default_rng(of_weights), offsets, whole=whole),
        loads=loads,
        noise=noise,
        places=_spread_places(loads, np.random.default_rng(of_places)),
        turns=np.random.default_rng(of_turns).standard_normal(loads.shape),
        seed=of_swaps,
        statistic=weights.statistic,
    )


def _usual_draws(weights: PublicWeights, *, ranged: bool) -> int:
    """The number of draws for each leniency; if ``ranged``, for each of several ranges of offsets."""
    most, number = _MOST_DRAWS // 3 if ranged else _MOST_DRAWS, _NUMBERS // weights.low.size
    if weights.reviewers > _LARGE and family_of(weights).more_draws and not ranged:
        number = max(number, min(_NUMBERS_LARGE // weights.low.size, _MEANS_LARGE // weights.reviewers))
    return int(np.clip(number, _FEWEST_DRAWS, most))


def _spread_places(loads: Ints, rng: np.random.Generator) -> Ints:
    """All places in an order that spreads each reviewer's evenly, with reviewers in random order."""
    per_place = np.repeat(loads.ravel(), loads.ravel()).reshape(len(loads), -1)
    start = np.cumsum(loads, axis=1) - loads
    nth = np.arange(per_place.shape[1]) - np.repeat(start.ravel(), loads.ravel()).reshape(per_place.shape)
    return np.argsort((nth + rng.random(per_place.shape)) / per_place, axis=1, kind="stable")


def _draw_weights(
    weights: PublicWeights, draws: int, rng: np.random.Generator, offsets: tuple[float, float], *, whole: bool
) -> Floats:
    """Weights, one row per draw: hidden ones are drawn from the visible ones in their interval, if any.

    Hidden scores may be higher or lower than the others: each row draws a common offset. Those without visible ones to
    be compared with are ``whole`` numbers, if so asked, or any.
    """
    if weights.exact:
        return weights.low[None]
    low, high = pair_ends(weights)
    visible = np.sort(low[low == high])
    first = np.searchsorted(visible, low, side="left")
    behind = np.searchsorted(visible, high, side="right")
    drawn = np.empty((draws, low.size))
    centred, doubt = weights.reach.centred or weights.reach.folded, family_of(weights).hidden_doubt
    for row in drawn:
        share = _shares(rng, offsets, compared=behind > first, centred=centred, doubt=doubt)
        place = np.minimum((first + share * (behind - first)).astype(np.int64), np.maximum(behind - 1, 0))
        alike = visible[np.minimum(place, visible.size - 1)] if visible.size else low
        if weights.reach.binary:
            share = (rng.random(share.size) < share).astype(np.float64)
        if weights.reach.folded:
            share = np.abs(2 * share - 1)
        anywhere = low + share * (high - low)
        if whole:
            anywhere = np.minimum(np.floor(low + share * (high - low + 1)), high)
        row[:] = np.where(behind > first, alike, anywhere)
        row[:] = row[np.lexsort((row, weights.paper))]
    return drawn


def placed(weights: PublicWeights) -> npt.NDArray[np.bool_]:
    """Return which weights are public, or have public ones in their interval to be compared with."""
    if weights.exact:
        return np.ones(weights.low.size, dtype=np.bool_)
    low, high = pair_ends(weights)
    visible = np.sort(low[low == high])
    return np.asarray(np.searchsorted(visible, high, side="right") > np.searchsorted(visible, low, side="left"))


def _shares(
    rng: np.random.Generator,
    offsets: tuple[float, float],
    *,
    compared: npt.NDArray[np.bool_],
    centred: bool,
    doubt: bool,
) -> Floats:
    """The position of each hidden weight in its interval, from 0 to 1: beta laws with a common mean.

    Weights that are compared with visible ones are on average half-way up their order; the others may be anywhere, with
    a random concentration. Where the weights of a paper add up to 0 (``centred``), there is no offset: it is how
    concentrated they are about 0, if there is ``doubt`` about that.
    """
    offset = float(np.clip(rng.uniform(*offsets), 0.01, 0.99))
    means = (0.5, 0.5) if centred else (float(betaincinv(3, 3, offset)), offset)
    place = rng.uniform()
    about, most = (offset, _MOST_CONCENTRATED) if centred and doubt else (place, 15.0)
    least = math.log(2)
    concentrations = (2.0, math.exp(least + (math.log(most) - least) * about))
    like_others, anywhere = (
        rng.beta(mean * k, (1 - mean) * k, compared.size) for mean, k in zip(means, concentrations, strict=True)
    )
    return np.where(compared, like_others, anywhere)


def pair_ends(weights: PublicWeights) -> tuple[Floats, Floats]:
    """The ends of each weight's interval, paired such that values among both ends of a paper become points.

    The public ends are sorted independently: a paper with the score 5 and a hidden one on a scale from 1 to 10 has the
    lower ends 1, 5 and the upper ends 5, 10.
    """
    hidden = weights.low != weights.high
    if hidden.all() and weights.low.max() < weights.high.min():  # all is hidden: no end is on both sides
        return weights.low, weights.high
    some = np.isin(weights.paper, weights.paper[hidden])
    paper, ends = weights.paper[some], (weights.low[some], weights.high[some])
    values = np.intersect1d(*ends)
    if not values.size:
        return weights.low, weights.high
    numbers = [_numbered(paper, end, values) for end in ends]
    paired = []
    for whole, end, own, other in zip((weights.low, weights.high), ends, numbers, reversed(numbers), strict=True):
        point = (own >= 0) & np.isin(own, other)
        side = whole.copy()
        side[some] = end[np.lexsort((end, ~point, paper))]  # points first
        paired.append(side)
    return paired[0], paired[1]


def _numbered(paper: Ints, end: Floats, values: Floats) -> Ints:
    """A number for each end among the values, by its paper, its value, and how often it came before; -1 for others."""
    order = np.lexsort((end, paper))
    order = order[np.isin(end[order], values)]
    code = paper[order] * values.size + np.searchsorted(values, end[order])
    numbers = np.full(end.size, -1, dtype=np.int64)
    numbers[order] = code * end.size + np.arange(code.size) - np.searchsorted(code, code)
    return numbers


def _draw_loads(weights: PublicWeights, draws: int, rng: np.random.Generator) -> Ints:
    """Loads that fit the public statement, one row per draw, in random order."""
    loads = weights.loads
    if loads.uniform:
        return np.full((draws, loads.reviewers), loads.smallest, dtype=np.int64)
    if loads.counts is not None:
        return rng.permuted(np.tile(loads.per_reviewer(), (draws, 1)), axis=1)
    chance = flattest_chances(loads)
    return np.array([_fitting_loads(loads, weights.sizes(), chance, rng) for _ in range(draws)])


def flattest_chances(loads: Loads) -> Floats:
    """The maximum-entropy probabilities of the loads given their mean, by bisection."""
    sizes = np.array(loads.sizes, dtype=np.float64)
    wanted = loads.reviews / loads.reviewers
    low, high = -50.0, 50.0
    for _ in range(200):
        tilt = (low + high) / 2
        chance = np.exp(tilt * (sizes - wanted) - np.max(tilt * (sizes - wanted)))
        chance /= chance.sum()
        low, high = (tilt, high) if chance @ sizes < wanted else (low, tilt)
    return np.asarray(chance)


def _fitting_loads(loads: Loads, papers: Ints, chance: Floats, rng: np.random.Generator) -> Ints:
    for last in (False,) * 20 + (True,):
        adjusted = _adjusted(rng.choice(loads.sizes, size=loads.reviewers, p=chance), loads, rng)
        drawn = _by_remainders(loads, chance, rng) if adjusted is None else adjusted
        if last:
            drawn = _flattened(drawn, loads)
        if _assignable(drawn, papers):
            return drawn
    raise RecordError("no valid assignment was found for these papers and loads")


def _adjusted(drawn: Ints, loads: Loads, rng: np.random.Generator) -> Ints | None:
    """Change loads of random reviewers until they sum to the number of reviews; ``None`` on failure."""
    sizes = np.array(loads.sizes)
    missing = loads.reviews - int(drawn.sum())
    for j in np.tile(rng.permutation(drawn.size), 4).tolist():
        if missing == 0:
            return drawn
        place = int(np.searchsorted(sizes, drawn[j])) + (1 if missing > 0 else -1)
        if 0 <= place < sizes.size and abs(int(sizes[place] - drawn[j])) <= abs(missing):
            missing -= int(sizes[place] - drawn[j])
            drawn[j] = sizes[place]
    return drawn if missing == 0 else None


def _by_remainders(loads: Loads, chance: Floats, rng: np.random.Generator) -> Ints:
    """Draw each reviewer's load among those that the remaining reviewers can complete."""
    reachable = [1]  # for each number of reviewers, their possible sums, as bits
    for _ in range(loads.reviewers):
        bits = 0
        for size in loads.sizes:
            bits |= reachable[-1] << size
        reachable.append(bits & ((1 << (loads.reviews + 1)) - 1))
    left, drawn = loads.reviews, []
    for rest in range(loads.reviewers - 1, -1, -1):
        fits = np.array([left >= size and reachable[rest] >> (left - size) & 1 for size in loads.sizes], dtype=bool)
        p = np.where(fits, np.maximum(chance, 1e-12), 0.0)
        drawn.append(int(rng.choice(loads.sizes, p=p / p.sum())))
        left -= drawn[-1]
    return rng.permutation(np.array(drawn, dtype=np.int64))


def _flattened(drawn: Ints, loads: Loads) -> Ints:
    """Loads with the same sum that differ less: reviews move from high to low loads."""
    sizes = set(loads.sizes)
    flat = np.sort(drawn)
    low, high = 0, flat.size - 1
    while low < high:
        if flat[high] - flat[low] > 1 and {int(flat[low]) + 1, int(flat[high]) - 1} <= sizes:
            flat[low] += 1
            flat[high] -= 1
            flat.sort()
            low, high = 0, flat.size - 1
        else:
            low, high = (low + 1, high) if int(flat[low]) + 1 not in sizes else (low, high - 1)
    return flat


def _assignable(drawn: Ints, papers: Ints) -> bool:
    """Whether a valid assignment exists for these loads (Gale-Ryser theorem)."""
    busiest = np.cumsum(np.sort(drawn)[::-1])
    at_least = np.cumsum(np.bincount(papers, minlength=drawn.size + 1)[::-1])[::-1]
    return bool((busiest <= np.cumsum(at_least[1 : drawn.size + 1])).all())
