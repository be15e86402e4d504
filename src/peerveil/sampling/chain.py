"""Metropolis chain of whole tables: reviews change hands, attributes change owners, hidden scores are drawn anew.

Papers, public scores and loads stay as they are, and nobody holds two reviews of a paper. The density of a table ``t``
is ``q(t) exp(-sum_j (r_j(t) - centre_j)^2)`` up to a constant. Here ``r_j(t)`` is the number of reviewers below cut
``j`` of a margin (for each value of its attribute, if it has one), over all cuts and margins, and ``q(t)`` is the
chance of the hidden scores if each is drawn on its own. Centres are given as numbers in cells, which are added up. See
docs/mathematics.md, "Sampled tables", for the proofs of detailed balance and connectedness.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from peerveil.record.public_record import Floats, Ints
from peerveil.sampling.cells import Bools, Cells, Holding, Tilt

#: The chance that a move of a batch is left out, so that a batch may consist of any single move, or of none.
_LEFT_OUT = 1 / 16


class Chain:
    """A chain that starts at a valid table and moves by batches; no reviewer is touched by two moves of a batch.

    Attributes:
        cells: what is counted.
        table: who holds what.
        cell: the cells of each reviewer.
        counts: the number of reviewers in each cell.
        proposed: the number of valid moves proposed so far.
        accepted: the number of moves made so far.

    With a tilt, the density has the further factor ``exp(sum of the tilt over reviewers)``. With ``exact``,
    counts stay as they are.
    """

    def __init__(
        self, cells: Cells, table: Holding, rng: np.random.Generator, tilt: Tilt | None = None, *, exact: bool = False
    ) -> None:
        self.cells, self.table, self._rng, self._tilt, self._exact = cells, table, rng, tilt, exact
        self.cell = cells.cell(table)
        self.counts = cells.counted(self.cell)
        self.proposed = self.accepted = 0

    def holders(self) -> Ints:
        """Return the reviewer of each review."""
        return self.table.holders(self.cells.owner)

    # Theorem T2: every table is reached.
    def sweep(self, centre: Floats) -> None:
        """Propose a batch of each kind.

        Swaps of reviews between random pairs of reviewers, then between two reviewers of each paper; swaps of each
        attribute between random pairs of reviewers; and a new score for a hidden review of each reviewer.
        """
        self._swap_reviews(*self._random_places(), centre)
        self._swap_reviews(*self._places_in_papers(), centre)
        for attribute in range(len(self.table.labels)):
            self._swap_labels(attribute, centre)
        if self.cells.support.size:
            self._redraw(centre)

    def _pairs(self) -> Ints:
        """Disjoint pairs of reviewers, chosen regardless of who holds what."""
        order = self._rng.permutation(self.cells.loads.size)
        pairs = order[: 2 * (order.size // 2)].reshape(2, -1).T
        return pairs[self._rng.random(len(pairs)) >= _LEFT_OUT]

    def _some_place(self, reviewers: Ints) -> Ints:
        """A random place of each reviewer."""
        nth = (self._rng.random(reviewers.shape) * self.cells.loads[reviewers]).astype(np.int64)
        return np.asarray(self.cells.start[reviewers] + nth)

    def _random_places(self) -> tuple[Ints, Ints]:
        """Places of disjoint pairs of reviewers."""
        places = self._some_place(self._pairs())
        return places[:, 0], places[:, 1]

    # Theorem T1: the law is kept.
    def _places_in_papers(self) -> tuple[Ints, Ints]:
        """Places of two random reviews of each paper, as far as the pairs of their reviewers are disjoint.

        Which pairs are kept depends on the holders of both reviews together, so swapping them does not change it.
        """
        first, sizes = self.cells.several
        order = self._rng.permutation(first.size)
        first, sizes = first[order], sizes[order]
        one = (self._rng.random(first.size) * sizes).astype(np.int64)
        other = (one + 1 + (self._rng.random(first.size) * (sizes - 1)).astype(np.int64)) % sizes
        held = self.table.held
        place = np.empty(held.size, dtype=np.int64)
        place[held] = np.arange(held.size)
        pairs = np.column_stack((place[first + one], place[first + other]))
        pairs = pairs[self._rng.random(first.size) >= _LEFT_OUT]
        return self._disjoint(pairs)

    def _disjoint(self, pairs: Ints) -> tuple[Ints, Ints]:
        """Places of those pairs whose reviewers differ and are in no later pair."""
        owners = self.cells.owner[pairs]
        last = np.empty(self.cells.loads.size, dtype=np.int64)
        last[owners.ravel()] = np.repeat(np.arange(len(pairs)), 2)  # of several pairs, the last one
        kept = (last[owners] == np.arange(len(pairs))[:, None]).all(axis=1) & (owners[:, 0] != owners[:, 1])
        return pairs[kept, 0], pairs[kept, 1]

    def _swap_reviews(self, one: Ints, other: Ints, centre: Floats) -> None:
        """Decide on swaps of the reviews at these places."""
        valid = self._valid(one, other)
        one, other = one[valid], other[valid]

        def swapped(kept: Bools) -> Holding:
            held = self.table.held.copy()
            a, b = one[kept], other[kept]
            held[a], held[b] = held[b], held[a]
            return replace(self.table, held=held)

        self._move(swapped, self.cells.owner[np.column_stack((one, other))], centre)

    def _swap_labels(self, attribute: int, centre: Floats) -> None:
        """Decide on swaps of an attribute between random pairs of reviewers."""
        pairs = self._pairs()

        def swapped(kept: Bools) -> Holding:
            labels = self.table.labels.copy()
            a, b = pairs[kept].T
            labels[attribute, a], labels[attribute, b] = labels[attribute, b], labels[attribute, a]
            return replace(self.table, labels=labels)

        self._move(swapped, pairs, centre)

    def _redraw(self, centre: Floats) -> None:
        """Decide on new scores: for each reviewer at a random place, if its review is hidden."""
        everyone = np.arange(self.cells.loads.size)
        reviews = self.table.held[self._some_place(everyone)]
        chosen = self.cells.hidden[reviews] & (self._rng.random(everyone.size) >= _LEFT_OUT)
        reviews, drawn = reviews[chosen], self._rng.choice(self.cells.support, int(chosen.sum()))

        def redrawn(kept: Bools) -> Holding:
            score = self.table.score.copy()
            score[reviews[kept]] = drawn[kept]
            return replace(self.table, score=score)

        self._move(redrawn, everyone[chosen][:, None], centre)

    def _move(self, moved: Callable[[Bools], Holding], who: Ints, centre: Floats) -> None:
        """Decide on moves one after another by Metropolis' rule, given the reviewers whom each touches.

        ``moved`` returns the table after some of the moves. No reviewer occurs twice.
        """
        if not len(who):
            return
        trial = moved(np.ones(len(who), dtype=bool))
        cell = self.cells.cell(trial)
        before, after = (np.sort(side[who].reshape(len(who), -1), axis=1) for side in (self.cell, cell))
        changes = (before != after).any(axis=1)
        limits = np.log(1 - self._rng.random(len(who)))
        if self._tilt is not None:
            limits -= (self._tilt(trial) - self._tilt(self.table))[who].sum(axis=1)
        accepted = ~changes & (limits <= 0)
        if not self._exact:
            excess = self.cells.running(self.counts - centre)
            accepted[changes] = _decisions(excess, before[changes], after[changes], limits[changes])
        self.table = moved(accepted)
        made = who[accepted].ravel()
        self.cell[made] = cell[made]
        self.counts = self.cells.counted(self.cell)
        self.proposed += len(who)
        self.accepted += int(accepted.sum())

    def _valid(self, one: Ints, other: Ints) -> Bools:
        """Whether nobody would hold two reviews of a paper after each swap."""
        owner, paper = self.cells.owner, self.cells.paper[self.table.held]
        incoming = np.full(self.cells.loads.size, -1, dtype=np.int64)
        incoming[owner[one]], incoming[owner[other]] = paper[other], paper[one]
        clash = paper == incoming[owner]
        clash[one] = clash[other] = False  # these reviews are given away
        refused = np.zeros(self.cells.loads.size, dtype=bool)
        refused[owner[clash]] = True
        return ~(refused[owner[one]] | refused[owner[other]])


def _decisions(excess: Floats, before: Ints, after: Ints, limits: Floats) -> list[bool]:
    """Whether each move is made, given those before it: by Metropolis' rule for the sum of squared excesses.

    Args:
        excess: the running counts minus their centres.
        before: for each move the cells of its reviewers before it, ascending.
        after: the same after it. So cells of one block are paired.
        limits: logarithms of uniform random numbers.
    """
    low, high, sign = np.minimum(before, after), np.maximum(before, after), np.sign(before - after)
    most = (-(limits + _squares(low, high, sign)) / 2).tolist()
    columns = (
        zip(*(part.tolist() for part in column), strict=True) for column in zip(low.T, high.T, sign.T, strict=True)
    )
    x, made = excess.tolist(), []
    for steps, limit in zip(zip(*columns, strict=True), most, strict=True):
        change = 0.0
        for a, b, step in steps:
            change += step * sum(x[a:b])
        made.append(change <= limit)
        if change <= limit:
            for a, b, step in steps:
                x[a:b] = [value + step for value in x[a:b]]
    return made


def _squares(low: Ints, high: Ints, sign: Ints) -> Floats:
    """For each move the sum of the squared changes of running counts: each step changes those from low to high."""
    squares = np.sum(high - low, axis=1)
    for i in range(low.shape[1]):
        for k in range(i):
            common = np.minimum(high[:, i], high[:, k]) - np.maximum(low[:, i], low[:, k])
            squares += 2 * sign[:, i] * sign[:, k] * np.maximum(common, 0)
    return np.asarray(squares, dtype=np.float64)
