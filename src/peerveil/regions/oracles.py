"""Oracles: exact maxima of linear functions over the vectors of all valid assignments, for small records.

By dynamic programming over the sets of reviews that the lowest reviewers may hold, where weights are public and these
sets are few; else by a mixed-integer programme.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, LinearConstraint, milp

from peerveil.errors import PeerveilError, RecordError
from peerveil.quantities.weights import PublicWeights
from peerveil.record.loads import Loads
from peerveil.record.public_record import Floats, Ints

#: Limits of dynamic programming, some seconds per answer; beyond, HiGHS is used.
_MOST_UPDATES, _MOST_STATES, _MOST_SETS = 1_000_000_000, 12_000_000, 50_000

#: The range that weights are scaled to, as HiGHS treats 1e-6 as zero, which SciPy cannot change.
_RANGE = 1e3

_NO_ASSIGNMENT = "no valid assignment exists: nobody reviews a paper twice, and loads must be as stated"


def oracle_for(weights: PublicWeights) -> Oracle:
    """The oracle of a record: dynamic programming where weights are public and states few, else integer programming."""
    kinds = Kinds.of(weights)
    sets = sum(math.comb(kinds.paper.size, size) for size in weights.loads.sizes)
    if weights.exact and sets <= _MOST_SETS and math.prod((_most(kinds, weights.loads) + 1).tolist()) <= _MOST_STATES:
        walk = Walk(kinds, weights.loads)
        if walk.updates <= _MOST_UPDATES:
            return walk
    return IntegerProgramme(kinds, weights.loads)


@dataclass(frozen=True, eq=False)
class Kinds:
    """Kinds of reviews: paper, least and greatest weight, and number of the equal reviews of each kind."""

    paper: Ints
    low: Floats
    high: Floats
    copies: Ints

    @classmethod
    def of(cls, weights: PublicWeights) -> Kinds:
        """The kinds of a record, sorted by paper."""
        columns = np.column_stack((weights.paper, weights.low, weights.high))
        kinds, copies = np.unique(columns, axis=0, return_counts=True)
        paper, low, high = kinds.T
        return cls(paper.astype(np.int64), low, high, copies)

    @property
    def centre(self) -> float:
        """The middle of the range of weights."""
        return float(self.low.min() / 2 + self.high.max() / 2)


#: A set of reviews for one reviewer: the axes of a state that it increments, the change of its index, and the mean.
_Step = tuple[tuple[int, ...], int, float]


class Walk:
    """An oracle by dynamic programming, for public weights.

    The sets of reviews that one reviewer may hold are visited in ascending order of their means, and each is given to
    the next reviewer or to nobody; so ``d_i`` times the `i`-th mean is known when it is given. A state is the number of
    reviews of each kind given so far, and of reviewers by load (or in total, where only the set of loads is public).
    """

    def __init__(self, kinds: Kinds, loads: Loads) -> None:
        self.reviewers, self.centre = loads.reviewers, kinds.centre
        K, most = kinds.paper.size, _most(kinds, loads)
        sizes, per_load, self.shape = np.array(loads.sizes), most[K:], tuple((most + 1).tolist())
        # The reviews given must be what these reviewers hold; other states are left out.
        given = _sums([np.arange(c + 1) for c in kinds.copies])
        rank = _sums([np.arange(c + 1) for c in per_load])
        held = [
            _sums([np.arange(c + 1) * s for c, s in zip(per_load, ends, strict=False)])
            for ends in ((sizes, sizes) if loads.counts else (sizes[:1], sizes[-1:]))
        ]
        possible = (held[0] <= given[:, None]) & (given[:, None] <= held[1])
        states = np.flatnonzero(possible)
        self.place = np.full(possible.size, -1, dtype=np.int32)
        self.place[states] = np.arange(states.size)
        self.state, self.rank = states, rank[states % rank.size]
        self.room = [axis < c for axis, c in zip(np.unravel_index(states, self.shape), most, strict=True)]
        strides = [math.prod(self.shape[axis + 1 :]) for axis in range(len(self.shape))]
        self.steps: list[_Step] = [
            (axes, sum(strides[axis] for axis in axes), mean) for axes, mean in _bundles(kinds, loads, K)
        ]
        self.updates = len(self.steps) * states.size  # an upper bound on the work of one answer

    def furthest(self, direction: Floats) -> tuple[Floats, float]:
        """A maximiser, and 0.

        Only values are stored. The last set is found at the last state; a shorter walk to the state before it finds the
        one before, and so on.
        """
        state, steps = self.state.size - 1, self.steps
        means = np.zeros(self.reviewers)
        for rank in reversed(range(self.reviewers)):
            last = self._last(direction, state, steps)
            _, offset, means[rank] = steps[last]
            state = int(self.place[self.state[state] - offset])
            gone = {axis for axis, given in enumerate(np.unravel_index(self.state[state], self.shape)) if not given}
            steps = [step for step in steps[:last] if gone.isdisjoint(step[0])]
        return means, 0.0

    def _last(self, direction: Floats, end: int, steps: list[_Step]) -> int:
        """The last of the steps of the best walk to a state."""
        value = np.full(self.state.size, -np.inf)
        value[0] = 0.0
        last, best = -1, -np.inf
        for i, (axes, offset, mean) in enumerate(steps):
            room = reduce(np.logical_and, [self.room[axis] for axis in axes])
            before = np.flatnonzero(room & (value > -np.inf))
            after = self.place[self.state[before] + offset]
            # Centred, so that large offsets do not cancel.
            gain = (direction * (mean - self.centre))[self.rank[before]]
            value[after] = np.maximum(value[after], value[before] + gain)
            if value[end] > best:
                last, best = i, value[end]
        if last < 0:
            raise RecordError(_NO_ASSIGNMENT)
        return last


def _most(kinds: Kinds, loads: Loads) -> Ints:
    """The greatest number of reviews of each kind, and of reviewers by load."""
    return np.concatenate((kinds.copies, (loads.reviewers,) if loads.counts is None else loads.counts))


def _sums(parts: list[Ints]) -> Ints:
    """Sums of one entry of each part, in the order of :func:`numpy.ravel_multi_index`."""
    return reduce(lambda sums, part: np.add.outer(sums, part.astype(np.int16)).ravel(), parts, np.zeros(1, np.int16))


def _bundles(kinds: Kinds, loads: Loads, first: int) -> list[tuple[tuple[int, ...], float]]:
    """What one reviewer may hold: kinds, then the axis of the load, and the mean; ascending in the mean."""
    exact = [Fraction(x) for x in kinds.low.tolist()]
    bundles = []
    for i, size in enumerate(loads.sizes):
        axis = first if loads.counts is None else first + i
        for held in combinations(range(first), size):
            if np.diff(kinds.paper[list(held)]).all():
                # With several copies of each, several reviewers may hold the same.
                times = int(min(kinds.copies[list(held)]))
                bundles += [(sum(exact[e] for e in held) / Fraction(size), (*held, axis))] * times
    return [(axes, float(mean)) for mean, axes in sorted(bundles)]


_Matrix = npt.NDArray[np.floating] | None


class IntegerProgramme:
    """An oracle by mixed-integer programming.

    Binary variables: whether the reviewer of a rank has a load, and holds a review of a kind at that load. Where
    weights are intervals, continuous variables are the weights of held reviews.
    """

    def __init__(self, kinds: Kinds, loads: Loads) -> None:
        self.low, self.high, self.copies = kinds.low, kinds.high, kinds.copies
        self.reviewers, self.sizes, self.counts = loads.reviewers, np.array(loads.sizes), loads.counts
        self.centre = kinds.centre
        self.unit = float(self.high.max() - self.low.min()) / _RANGE or 1.0
        self._write(kinds.paper, exact=bool((self.low == self.high).all()))

    def furthest(self, direction: Floats) -> tuple[Floats, float]:
        """A maximiser, and the solver's optimality gap."""
        scale = float(np.max(np.abs(direction)))
        d = direction / (scale or 1.0)
        solution = milp(
            -(d @ self.means),
            integrality=self.binary,
            bounds=Bounds(self.least, self.most),
            constraints=self.constraints,
            options={"mip_rel_gap": 0.0},
        )
        if solution.status == 2:
            raise RecordError(_NO_ASSIGNMENT)
        if solution.status != 0 or solution.mip_dual_bound is None:
            raise PeerveilError(f"the integer programme of the hull failed: {solution.message}")
        theta = self._vector(solution.x)
        reached = math.fsum(d * (theta - self.centre))
        excess = max(-float(solution.mip_dual_bound) * self.unit - reached, 0.0)
        return theta, excess * scale

    def _vector(self, solution: Floats) -> Floats:
        """The sorted means of the assignment in a solution, recomputed without the solver's rounding."""
        held = np.rint(solution[: self.places].reshape(self.low.size, self.reviewers, -1).sum(axis=2)).astype(bool)
        low, high = ([statistics.mean(end[own].tolist()) for own in held.T] for end in (self.low, self.high))
        return np.sort(np.clip(self.means @ solution * self.unit + self.centre, low, high))

    def _write(self, paper: Ints, *, exact: bool) -> None:
        """Set the programme, in centred and scaled weights."""
        n, S, K = self.reviewers, self.sizes.size, paper.size
        self.places, slots = K * n * S, n * S
        extra = 0 if exact else self.places
        columns = np.cumsum([0, self.places, slots, extra])
        self.binary = np.repeat([1, 1, 0], np.diff(columns))
        low, high = (self.low - self.centre) / self.unit, (self.high - self.centre) / self.unit
        self.least = np.concatenate((np.zeros(columns[2]), np.repeat(np.minimum(low, 0.0), slots)[:extra]))
        self.most = np.concatenate((np.ones(columns[2]), np.repeat(np.maximum(high, 0.0), slots)[:extra]))

        def block(held: _Matrix = None, sized: _Matrix = None, counted: _Matrix = None) -> Floats:
            parts = (held, sized, counted)
            rows = next(len(part) for part in parts if part is not None)
            blank = [np.zeros((rows, width)) for width in np.diff(columns)]
            return np.hstack([zero if part is None else part for part, zero in zip(parts, blank, strict=True)])

        slot, review = np.eye(slots), np.eye(K)
        papers = (np.arange(paper[-1] + 1)[:, None] == paper).astype(np.float64)
        mean = np.kron(np.eye(n), 1 / self.sizes)
        self.means = block(np.kron(low, mean)) if exact else block(counted=np.kron(np.ones(K), mean))
        once = block(np.kron(review, np.ones(slots)))
        full = block(np.kron(np.ones(K), slot), -np.kron(np.eye(n), np.diag(self.sizes)))
        sized = block(sized=np.kron(np.eye(n), np.ones(S)))
        distinct = block(np.kron(papers, slot), -np.kron(np.ones((len(papers), 1)), slot))
        self.constraints = [
            LinearConstraint(once, self.copies, self.copies),
            LinearConstraint(full, 0, 0),
            LinearConstraint(sized, 1, 1),
            LinearConstraint(distinct, -np.inf, 0),
        ]
        if n > 1:
            self.constraints.append(LinearConstraint(np.diff(self.means, axis=0), 0, np.inf))
        if self.counts is not None:
            counts = block(sized=np.kron(np.ones(n), np.eye(S)))
            self.constraints.append(LinearConstraint(counts, self.counts, self.counts))
        if not exact:
            identity = np.eye(self.places)
            for end, lower, upper in ((low, 0, np.inf), (high, -np.inf, 0)):
                rows = block(-np.diag(np.repeat(end, slots)), counted=identity)
                self.constraints.append(LinearConstraint(rows, lower, upper))


#: Maximises linear functions over the vectors of all valid assignments. ``furthest`` returns a maximiser ``v`` of
#: ``d·v``, and the optimality gap: the maximum is at most ``d·v`` plus that.
Oracle = Walk | IntegerProgramme
