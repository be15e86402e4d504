"""Who holds what, and counts of reviewers in cells of what is released."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from peerveil.inference.assignments import deal
from peerveil.quantities.statistics import Statistic, of_each
from peerveil.record.public_record import Floats, Ints

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Holding:
    """A table: who holds what.

    Attributes:
        held: the review at each place; the first places belong to the first reviewer, and so on.
        score: the score of each review, drawn where it is hidden.
        labels: the value of each attribute, as a number, for each reviewer; one row per attribute.
    """

    held: Ints
    score: Floats
    labels: Ints

    def holders(self, owner: Ints) -> Ints:
        """Return the reviewer of each review, given that of each place."""
        holder = np.empty(self.held.size, dtype=np.int64)
        holder[self.held] = owner
        return holder


#: A number for each reviewer of a table.
Tilt = Callable[[Holding], Floats]


@dataclass(frozen=True, eq=False)
class Margin:
    """What is counted: reviewers by a statistic of the reviews that they hold, and by an attribute if there is one.

    Attributes:
        statistic: what is computed from the weights of a reviewer.
        cuts: boundaries between cells, ascending; a value at a boundary lies in the upper cell.
        weight: the weight of each review; ``None`` for its score.
        attribute: the row of the attribute; ``None`` without one.
        values: the number of values of the attribute; the cells of its first value come first.
    """

    statistic: Statistic
    cuts: Floats
    weight: Floats | None = None
    attribute: int | None = None
    values: int = 1

    @property
    def size(self) -> int:
        """The number of cells."""
        return self.values * (self.cuts.size + 1)

    def of(self, table: Holding, loads: Ints) -> Floats:
        """Return the statistic of each reviewer."""
        weight = table.score if self.weight is None else self.weight
        return np.asarray(of_each(self.statistic, weight[table.held][None], loads[None])[0])

    def cell(self, table: Holding, loads: Ints) -> Ints:
        """Return the cell of each reviewer."""
        place = np.searchsorted(self.cuts, self.of(table, loads), side="right")
        return place if self.attribute is None else place + (self.cuts.size + 1) * table.labels[self.attribute]


@dataclass(frozen=True, eq=False)
class Cells:
    """Counts of reviewers in the cells of one or several margins.

    Attributes:
        paper: the paper of each review, ascending.
        score: the score of each review; NaN where it is hidden.
        loads: the number of places of each reviewer.
        margins: what is counted.
        support: the scores that a hidden one may have, all equally likely; a score may occur several times.
    """

    paper: Ints
    score: Floats
    loads: Ints
    margins: tuple[Margin, ...]
    support: Floats = field(default_factory=lambda: np.empty(0))

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

    @cached_property
    def hidden(self) -> Bools:
        """Whether the score of each review is hidden."""
        return np.isnan(self.score)

    @cached_property
    def first(self) -> Ints:
        """The first cell of each margin, and the number of all cells."""
        return np.cumsum([0, *(margin.size for margin in self.margins)])

    def cell(self, table: Holding) -> Ints:
        """Return the cells of each reviewer, one column per margin."""
        cells = [margin.cell(table, self.loads) for margin in self.margins]
        return np.column_stack(cells) + self.first[:-1]

    def counts(self, table: Holding) -> Ints:
        """Return the number of reviewers in each cell."""
        return self.counted(self.cell(table))

    def counted(self, cell: Ints) -> Ints:
        """Return the number of reviewers in each cell, given the cells of each."""
        return np.bincount(cell.ravel(), minlength=int(self.first[-1]))

    def dealt(self, rng: np.random.Generator, labels: Ints | None = None) -> Holding:
        """Return some valid table: reviews dealt at random, hidden scores drawn, and attributes shuffled.

        Raises:
            ValueError: if there is none.
        """
        held = np.asarray(np.argsort(deal(self.paper, self.loads, rng), kind="stable"))
        score = self.score
        if self.hidden.any():
            score = np.where(self.hidden, rng.choice(self.support, score.size), score)
        given = np.empty((0, self.loads.size), dtype=np.int64) if labels is None else rng.permuted(labels, axis=1)
        return Holding(held, score, given)
