"""Who holds what, and counts of reviewers in cells of what is released: finer than bins, from public data alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from peerveil.inference.assignments import deal
from peerveil.inference.family import CORRELATIONS, family_of
from peerveil.inference.model import RecordModel
from peerveil.privacy.bins import MOST, Bins, attainable_means
from peerveil.quantities.statistics import Statistic, of_each
from peerveil.quantities.weights import PublicWeights
from peerveil.record.public_record import Floats, Ints

Bools = npt.NDArray[np.bool_]

#: The number of cells that a bin is cut into, at most, and the least expected number of reviewers in each of them.
_CELLS_IN_BIN, _IN_CELL = 6, 2.0


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

    @cached_property
    def blocks(self) -> Ints:
        """The first cell of each cell's block, which has the cells of a margin for one value of its attribute."""
        sizes = [margin.cuts.size + 1 for margin in self.margins for _ in range(margin.values)]
        return np.repeat(np.cumsum(sizes) - sizes, sizes)

    def running(self, numbers: Floats) -> Floats:
        """Return running sums of numbers in cells, over each block."""
        sums = np.cumsum(numbers)
        return np.asarray(sums - (sums - numbers)[self.blocks])

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


def fine_bins(weights: PublicWeights, given: Sequence[Bins]) -> Bins:
    """Return bins that refine all given ones: each is cut into a few that draws from the prior fill about equally.

    >>> weights = PublicWeights.from_rows([[1, 2, 3, 4]] * 20, load=2)
    >>> given = Bins.even(np.array([1.0, 2.5]), np.array([2.0, 4.0]))
    >>> fine = fine_bins(weights, [given])
    >>> fine.number, given.place(fine.low).tolist()
    (6, [0, 0, 0, 1, 1, 1])
    """
    values = drawn_values(weights)
    released = np.unique(np.concatenate([bins.cuts for bins in given]))
    ends = np.concatenate(([0], np.searchsorted(values, released), [values.size]))
    cuts = [released]
    for first, last in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        expected = (last - first) / values.size * weights.reviewers
        parts = int(np.clip(expected / _IN_CELL, 1, _CELLS_IN_BIN))
        cuts.append(values[first + np.arange(1, parts) * (last - first) // parts])
    low, high = min(bins.low[0] for bins in given), max(bins.high[-1] for bins in given)
    return _bins_between(np.unique(np.concatenate(cuts)), attainable_means(weights, MOST), low, high)


def drawn_values(weights: PublicWeights) -> Floats:
    """Return values of the statistic in draws from the prior, sorted, at likely leniencies."""
    ensembles = weights.derived(RecordModel).ensembles
    chances = family_of(weights).correlation_chances
    likely = np.flatnonzero(chances >= np.median(chances))
    each = [np.ravel(ensembles[k].vectors) for k in range(len(ensembles)) if k % CORRELATIONS.size in likely]
    return np.sort(np.concatenate(each))


def _bins_between(cuts: Floats, means: Floats | None, low: float, high: float) -> Bins:
    """Bins between cuts: from the first to the last attainable value there, if these are known."""
    if means is not None:
        place = np.searchsorted(cuts, means, side="right")
        first = np.flatnonzero(np.diff(place, prepend=-1))
        return Bins.even(means[first], means[np.append(first[1:], means.size) - 1])
    slack = 1e-9 * (high - low)
    cuts = cuts[(cuts > low + slack) & (cuts < high - slack)]
    return Bins.even(np.concatenate(([low], cuts)), np.concatenate((cuts, [high])))
