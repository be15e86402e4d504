"""Changed tables with the released statistics of a given one: led back to their values after all else was changed.

The chain of these tables has no stationary law that matters: any table with the same statistics will do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from peerveil.quantities.statistics import MEAN
from peerveil.record.public_record import Floats, Ints
from peerveil.sampling.cells import Cells, Holding, Margin, Tilt
from peerveil.sampling.chain import Chain

#: Rounds in which the statistics are pulled to their values ever more strongly, while something else is favoured; and
#: rounds at most in which nothing else counts.
_ROUNDS, _LAST_ROUNDS = 60, 300

#: The first and the last strength of the pull: the logarithm of the density's factor for one standard deviation.
_WEAKEST, _STRONGEST = 1.0, 1e8

#: Batches of swaps of similar scores in each round.
_BATCHES = 4

#: A mean distance from the wanted values, in standard deviations, that is near enough.
_ENOUGH = 1e-3


@dataclass(frozen=True, eq=False)
class Led:
    """A changed table.

    Attributes:
        table: who holds what.
        distance: how far reviewers' statistics are from their values in the original on average, in standard
            deviations; the greatest over margins.
    """

    table: Holding
    distance: float


def led(cells: Cells, table: Holding, rng: np.random.Generator, tilt: Tilt | None = None, *, by_load: bool) -> Led:
    """Return a table whose margins' statistics have nearly the values of a given table, and that differs otherwise.

    Args:
        cells: what was released, with the loads of the table's reviewers.
        table: the given table.
        rng: the source of randomness.
        tilt: what the changed table should have much of.
        by_load: whether reviewers of each load keep their values, which whole scores can meet exactly.
    """
    load = cells.loads if by_load else np.zeros_like(cells.loads)
    labels = table.labels.copy()
    for group in np.unique(load):
        labels[:, load == group] = rng.permuted(labels[:, load == group], axis=1)
    pull = _Pull.of(cells, table, load, labels)
    chain = _LedChain(cells, replace(table, labels=table.labels[:0]), rng, pull, tilt)
    for strength in np.geomspace(_WEAKEST, _STRONGEST, _ROUNDS).tolist():
        chain.round(strength)
    chain.tilt = None
    for _ in range(_LAST_ROUNDS):
        if pull.distance(chain.table) <= _ENOUGH:
            break
        chain.round(_STRONGEST)
    return Led(replace(chain.table, labels=pull.labels), pull.distance(chain.table))


@dataclass(frozen=True, eq=False)
class _Wanted:
    """The values that a margin's statistic should have: sorted, for each group of reviewers."""

    margin: Margin
    groups: tuple[tuple[Ints, Floats], ...]
    deviation: float

    def targets(self, values: Floats) -> Floats:
        """The wanted value of each reviewer: the one of the same rank in the group."""
        targets = np.empty(values.size)
        for members, wanted in self.groups:
            targets[members[np.argsort(values[members], kind="stable")]] = wanted
        return targets


@dataclass(frozen=True, eq=False)
class _Pull:
    """The pull to the statistics of a table, whose attributes are now those of others."""

    loads: Ints
    wanted: tuple[_Wanted, ...]
    labels: Ints

    @classmethod
    def of(cls, cells: Cells, table: Holding, load: Ints, labels: Ints) -> _Pull:
        wanted = []
        for margin in cells.margins:
            values = margin.of(table, cells.loads)
            before, after = (
                load if margin.attribute is None else load * margin.values + of[margin.attribute]
                for of in (table.labels, labels)
            )
            groups = tuple(
                (np.flatnonzero(after == group), np.sort(values[before == group])) for group in np.unique(before)
            )
            wanted.append(_Wanted(margin, groups, float(values.std()) or 1.0))
        return cls(cells.loads, tuple(wanted), labels)

    def targets(self, table: Holding) -> list[Floats]:
        return [wanted.targets(wanted.margin.of(table, self.loads)) for wanted in self.wanted]

    def off(self, table: Holding, targets: list[Floats]) -> list[Floats]:
        """How far each reviewer's statistics are from targets, in standard deviations."""
        pairs = zip(self.wanted, targets, strict=True)
        return [(wanted.margin.of(table, self.loads) - target) / wanted.deviation for wanted, target in pairs]

    def distance(self, table: Holding) -> float:
        return max(float(np.abs(off).mean()) for off in self.off(table, self.targets(table)))


class _LedChain(Chain):
    """A chain that is pulled to statistics; batches swap random reviews, reviews of a paper, and similar scores."""

    def __init__(self, cells: Cells, table: Holding, rng: np.random.Generator, pull: _Pull, tilt: Tilt | None) -> None:
        super().__init__(replace(cells, margins=(Margin(MEAN, np.empty(0)),)), table, rng, self._favoured)
        self.tilt, self._pull, self._strength = tilt, pull, 0.0
        self._targets: list[Floats] = []

    def round(self, strength: float) -> None:
        """Propose a batch of each kind, and some of similar scores."""
        self._strength, centre = strength, np.zeros(1)
        self._targets = self._pull.targets(self.table)
        self.sweep(centre)
        for _ in range(_BATCHES):
            self._targets = self._pull.targets(self.table)
            self._swap_reviews(*self._places_of_similar_scores(), centre)

    def _favoured(self, table: Holding) -> Floats:
        pulled = sum(off**2 for off in self._pull.off(table, self._targets))
        other = 0.0 if self.tilt is None else self.tilt(table)
        return np.asarray(other - self._strength * pulled)

    def _places_of_similar_scores(self) -> tuple[Ints, Ints]:
        """Places of disjoint pairs of reviewers, whose scores are some ranks apart."""
        held, size = self.table.held, self.table.held.size
        order = np.lexsort((self._rng.random(size), self.table.score[held]))
        apart = math.ceil(math.exp(self._rng.random() * math.log(max(size / 2, 1.0))))
        first = np.arange(size - apart)
        first = first[(first + self._rng.integers(2 * apart)) // apart % 2 == 0]
        return self._disjoint(self._rng.permutation(np.column_stack((order[first], order[first + apart]))))
