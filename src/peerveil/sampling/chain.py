"""Metropolis chain of whole assignments: swaps of reviews keep papers, scores and loads, and nobody twice on a paper.

The density of an assignment ``a`` is ``exp(-sum_b (c_b(a) - centre_b)^2)`` up to a constant, where ``c_b(a)`` is the
number of reviewers whose statistic lies in cell ``b``. See docs/mathematics.md, "Sampled tables", for the proofs of
detailed balance and connectedness.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from peerveil.inference.assignments import deal
from peerveil.quantities.statistics import Statistic, of_each
from peerveil.record.public_record import Floats, Ints

Bools = npt.NDArray[np.bool_]

#: A number for each reviewer, given the review at each place.
Tilt = Callable[[Ints], Floats]

#: The chance that a pair of a batch is left out, so that a batch may consist of any single swap, or of none.
_LEFT_OUT = 1 / 16

#: Sweeps with a fixed target: at least so many, and so many for each review that a reviewer has on average. Twice as
#: many come before, of which so many move the centre by all that is missing.
_FEWEST_SWEEPS, _SWEEPS_PER_REVIEW, _FULL_STEPS = 20, 5, 10


@dataclass(frozen=True, eq=False)
class Cells:
    """Counts of reviewers by a statistic of the reviews that they hold.

    An assignment is the review at each place; the first places belong to the first reviewer, and so on.

    Attributes:
        paper: the paper of each review.
        weight: the weight of each review.
        loads: the number of places of each reviewer.
        statistic: what is computed from the weights of a reviewer.
        cuts: boundaries between cells, ascending; a value at a boundary lies in the upper cell.
    """

    paper: Ints
    weight: Floats
    loads: Ints
    statistic: Statistic
    cuts: Floats

    @cached_property
    def owner(self) -> Ints:
        """The reviewer of each place, ascending."""
        return np.repeat(np.arange(self.loads.size), self.loads)

    @cached_property
    def start(self) -> Ints:
        """The first place of each reviewer."""
        return np.cumsum(self.loads) - self.loads

    @cached_property
    def several(self) -> tuple[Ints, Ints]:
        """The first review and the number of reviews of each paper with more than one; reviews are by paper."""
        sizes = np.bincount(self.paper)
        return (np.cumsum(sizes) - sizes)[sizes > 1], sizes[sizes > 1]

    def cell(self, held: Ints) -> Ints:
        """The cell of each reviewer."""
        values = of_each(self.statistic, self.weight[held][None], self.loads[None])[0]
        return np.asarray(np.searchsorted(self.cuts, values, side="right"))

    def counts(self, held: Ints) -> Ints:
        """The number of reviewers in each cell."""
        return np.bincount(self.cell(held), minlength=self.cuts.size + 1)

    def dealt(self, rng: np.random.Generator) -> Ints:
        """Some valid assignment: reviews dealt at random.

        Raises:
            ValueError: if there is none.
        """
        return np.asarray(np.argsort(deal(self.paper, self.loads, rng), kind="stable"))


class Chain:
    """A chain that starts at a valid assignment and moves by batches of swaps between disjoint pairs of reviewers.

    Attributes:
        cells: what is counted.
        held: the review at each place.
        cell: the cell of each reviewer.
        counts: the number of reviewers in each cell.
        proposed: the number of valid swaps proposed so far.
        accepted: the number of swaps made so far.

    With a tilt, the density has the further factor ``exp(sum of the tilt over reviewers)``. With ``exact``,
    counts stay as they are.
    """

    def __init__(
        self, cells: Cells, held: Ints, rng: np.random.Generator, tilt: Tilt | None = None, *, exact: bool = False
    ) -> None:
        self.cells, self.held, self._rng, self._tilt, self._exact = cells, held.copy(), rng, tilt, exact
        self.cell = cells.cell(held)
        self.counts = np.bincount(self.cell, minlength=cells.cuts.size + 1)
        self.proposed = self.accepted = 0

    def holders(self) -> Ints:
        """Return the reviewer of each review."""
        holder = np.empty(self.held.size, dtype=np.int64)
        holder[self.held] = self.cells.owner
        return holder

    def sweep(self, centre: Floats) -> None:
        """Propose swaps between random pairs of reviewers, then between two reviewers of each paper."""
        self._swap(*self._random_places(), centre)
        self._swap(*self._places_in_papers(), centre)

    def _random_places(self) -> tuple[Ints, Ints]:
        """Places of disjoint pairs of reviewers, chosen regardless of who holds what."""
        order = self._rng.permutation(self.cells.loads.size)
        half = order.size // 2
        reviewers = order[: 2 * half]
        nth = (self._rng.random(reviewers.size) * self.cells.loads[reviewers]).astype(np.int64)
        places = self.cells.start[reviewers] + nth
        kept = self._rng.random(half) >= _LEFT_OUT
        return places[:half][kept], places[half:][kept]

    def _places_in_papers(self) -> tuple[Ints, Ints]:
        """Places of two random reviews of each paper, as far as the pairs of their reviewers are disjoint.

        Which pairs are kept depends on the holders of both reviews together, so swapping them does not change it.
        """
        first, sizes = self.cells.several
        order = self._rng.permutation(first.size)
        first, sizes = first[order], sizes[order]
        one = (self._rng.random(first.size) * sizes).astype(np.int64)
        other = (one + 1 + (self._rng.random(first.size) * (sizes - 1)).astype(np.int64)) % sizes
        place = np.empty(self.held.size, dtype=np.int64)
        place[self.held] = np.arange(self.held.size)
        pairs = np.column_stack((place[first + one], place[first + other]))
        pairs = pairs[self._rng.random(first.size) >= _LEFT_OUT]
        owners = self.cells.owner[pairs]
        last = np.empty(self.cells.loads.size, dtype=np.int64)
        last[owners.ravel()] = np.repeat(np.arange(len(pairs)), 2)  # of several pairs, the last one
        kept = (last[owners] == np.arange(len(pairs))[:, None]).all(axis=1)
        return pairs[kept, 0], pairs[kept, 1]

    def _swap(self, one: Ints, other: Ints, centre: Floats) -> None:
        """Decide on swaps of the reviews at these places, one after another; no reviewer occurs twice."""
        valid = self._valid(one, other)
        one, other = one[valid], other[valid]
        trial = self.held.copy()
        trial[one], trial[other] = self.held[other], self.held[one]
        cell = self.cells.cell(trial)
        pairs = self.cells.owner[np.column_stack((one, other))]
        before, after = self.cell[pairs], cell[pairs]
        moves = (np.sort(before, axis=1) != np.sort(after, axis=1)).any(axis=1)
        limits = np.log(1 - self._rng.random(one.size))
        if self._tilt is not None:
            limits -= (self._tilt(trial) - self._tilt(self.held))[pairs].sum(axis=1)
        accepted = ~moves & (limits <= 0)
        if not self._exact:
            changes = np.column_stack((before, after))[moves]
            accepted[moves] = _decisions(self.counts - centre, changes, limits[moves])
        made = pairs[accepted].ravel()
        self.cell[made] = cell[made]
        self.held[one[accepted]], self.held[other[accepted]] = trial[one[accepted]], trial[other[accepted]]
        self.counts = np.bincount(self.cell, minlength=self.counts.size)
        self.proposed += one.size
        self.accepted += int(accepted.sum())

    def _valid(self, one: Ints, other: Ints) -> Bools:
        """Whether nobody would hold two reviews of a paper after each swap."""
        owner, paper = self.cells.owner, self.cells.paper[self.held]
        incoming = np.full(self.cells.loads.size, -1, dtype=np.int64)
        incoming[owner[one]], incoming[owner[other]] = paper[other], paper[one]
        clash = paper == incoming[owner]
        clash[one] = clash[other] = False  # these reviews are given away
        refused = np.zeros(self.cells.loads.size, dtype=bool)
        refused[owner[clash]] = True
        return ~(refused[owner[one]] | refused[owner[other]])


def _decisions(excess: Floats, changes: Ints, limits: Floats) -> list[bool]:
    """Whether each swap is made, given those before it: by Metropolis' rule for the sum of squared excesses.

    Args:
        excess: the counts minus their centre.
        changes: for each swap the cells of its two reviewers before and after it.
        limits: logarithms of uniform random numbers.
    """
    x, made = excess.tolist(), []
    for (a, b, c, d), limit in zip(changes.tolist(), limits.tolist(), strict=True):
        gain = 2 * x[a] - 1  # the change of the log density if one leaves the cell
        x[a] -= 1
        gain += 2 * x[b] - 1
        x[b] -= 1
        gain -= 2 * x[c] + 1
        x[c] += 1
        gain -= 2 * x[d] + 1
        x[d] += 1
        made.append(gain >= limit)
        if gain < limit:
            x[a] += 1
            x[b] += 1
            x[c] -= 1
            x[d] -= 1
    return made


@dataclass(frozen=True, eq=False)
class Drawn:
    """An assignment drawn by a chain, with diagnostics.

    Attributes:
        holder: the reviewer of each review.
        misplaced: the number of reviewers in other cells than wanted, the least number whose moves would mend it.
        acceptance: the share of valid proposals that were accepted while the target was fixed.
        renewed: the share of reviews that changed hands while the target was fixed.
    """

    holder: Ints
    misplaced: int
    acceptance: float
    renewed: float


def draw(
    cells: Cells,
    wanted: Ints,
    rng: np.random.Generator,
    *,
    held: Ints | None = None,
    tilt: Tilt | None = None,
    exact: bool = False,
) -> Drawn:
    """Return an assignment whose counts are near the wanted ones, and otherwise as random as these leave it.

    The centre of the target first moves until the counts are on average the wanted ones; then it stays fixed.

    Args:
        cells: what is counted.
        wanted: the wanted number of reviewers in each cell.
        rng: the source of randomness.
        held: the assignment to start from; dealt at random by default.
        tilt: what else the density favours.
        exact: whether to keep the counts of ``held`` exactly.
    """
    chain = Chain(cells, cells.dealt(rng) if held is None else held, rng, tilt, exact=exact)
    centre = wanted.astype(np.float64)
    fixed = max(_FEWEST_SWEEPS, math.ceil(_SWEEPS_PER_REVIEW * cells.paper.size / cells.loads.size))
    for k in range(2 * fixed):
        chain.sweep(centre)
        centre += (wanted - chain.counts) * min(1.0, _FULL_STEPS / (k + 1))
    chain.proposed = chain.accepted = 0
    before = chain.holders()
    for _ in range(fixed):
        chain.sweep(centre)
    holder = chain.holders()
    return Drawn(
        holder=holder,
        misplaced=int(np.abs(chain.counts - wanted).sum()) // 2,
        acceptance=chain.accepted / max(chain.proposed, 1),
        renewed=float(np.mean(holder != before)),
    )
