"""The chain of tables: its law against enumeration, connectedness, validity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, pstdev

import numpy as np
import pytest

from peerveil.quantities.statistics import MEAN, named
from peerveil.record.public_record import Floats
from peerveil.sampling.cells import Cells, Holding, Margin
from peerveil.sampling.chain import Chain
from peerveil.sampling.drawing import draw
from peerveil.simulation.worlds import world
from reference.chi_squared import assert_law
from reference.labelled_assignments import Whole, assignments, components, law, tables

OF: dict[str, Callable[[list[float]], float]] = {"mean": fmean, "spread": pstdev}


@dataclass(frozen=True)
class Example:
    """A small record with what is counted.

    Attributes:
        rows: the scores of each paper; ``None`` for hidden ones.
        loads: the loads.
        counted: statistics with the boundaries between their cells, and whether cells are by label.
        centres: the centres of the target.
        support: the scores that a hidden one may have.
        labels: the value of an attribute for each reviewer.
    """

    rows: Sequence[Sequence[float | None]]
    loads: Sequence[int]
    counted: Sequence[tuple[str, Sequence[float], bool]]
    centres: Sequence[Sequence[float]]
    support: Sequence[float] = ()
    labels: Sequence[int] = ()

    @property
    def score(self) -> list[float | None]:
        return [x for row in self.rows for x in row]

    def cells(self) -> Cells:
        margins = [
            Margin(named(name), np.array(cuts), attribute=0 if by_label else None, values=2 if by_label else 1)
            for name, cuts, by_label in self.counted
        ]
        score = np.array([np.nan if x is None else x for x in self.score], dtype=float)
        paper = np.repeat(np.arange(len(self.rows)), [len(row) for row in self.rows])
        return Cells(paper, score, np.array(self.loads), tuple(margins), np.array(self.support, dtype=float))

    def states(self) -> list[Whole]:
        return tables([len(row) for row in self.rows], self.loads, self.score, self.support, self.labels)

    def law(self, states: list[Whole], factor: Callable[[Whole], float] = lambda _: 1.0) -> list[float]:
        counted = [(OF[name], cuts, by_label) for name, cuts, by_label in self.counted]
        return law(states, counted, self.centres, score=self.score, support=self.support, factor=factor)

    @property
    def centre(self) -> Floats:
        return np.concatenate(list(map(np.array, self.centres))).astype(float)


MEANS = [("mean", [1.9, 3.2], False)]
ONE = [[0.3, 2.1, 0.9]]
TWO = [[0.3, 2.1, 0.9], [1.8, 0.2]]

EXAMPLES = {
    "equal loads": Example([[1, 4], [2, 3], [1, 2]], [2, 2, 2], [("mean", [1.75, 2.25], False)], ONE),
    "other loads": Example([[1, 2, 5], [2, 4], [3]], [3, 2, 1], [("mean", [2.4, 3.1], False)], ONE),
    "more papers": Example([[1, 2], [3, 5], [2], [4]], [2, 2, 1, 1], MEANS, ONE),
    "spread": Example([[1, 4], [2, 3], [1, 2]], [2, 2, 2], [("spread", [0.4, 0.9], False)], ONE),
    "means and spreads": Example([[1, 4], [2, 3], [1, 2]], [2, 2, 2], [*MEANS, ("spread", [0.9], False)], TWO),
    "by attribute": Example(
        [[1, 4], [2, 3], [1, 2]],
        [2, 2, 2],
        [("mean", [2.1], False), ("mean", [2.1], True)],
        [[1.2, 1.8], [0.9, 0.2, 0.1, 1.9]],
        labels=[0, 1, 1],
    ),
    "hidden": Example([[1, None], [2, 3]], [2, 1, 1], MEANS, ONE, support=[1, 2, 2, 5]),
    "all hidden": Example([[None, None], [None]], [2, 1], [*MEANS, ("spread", [0.9], False)], TWO, support=[1, 3, 4]),
}


#: The examples that are tried each time.
OFTEN = ("other loads", "means and spreads", "by attribute", "hidden")


def held_by(state: Whole) -> Holding:
    holders, scores, labels = state
    rows = np.array([labels] if labels else [], dtype=np.int64).reshape(-1, max(holders) + 1)
    return Holding(np.argsort(np.array(holders), kind="stable"), np.array(scores, dtype=float), rows)


def state_of(chain: Chain) -> Whole:
    labels = chain.table.labels[0].tolist() if len(chain.table.labels) else ()
    return tuple(chain.holders().tolist()), tuple(chain.table.score.tolist()), tuple(labels)


def target_of(name: str) -> tuple[Example, list[Whole], list[float]]:
    """An example, all of its tables, and the probability of each."""
    example = EXAMPLES[name]
    states = example.states()
    chances = example.law(states)
    assert max(chances) > 3 * min(chances)  # not uniform, so that a wrong density shows
    return example, states, chances


# Theorem T1.
@pytest.mark.parametrize(
    "name", [name if name in OFTEN else pytest.param(name, marks=pytest.mark.slow) for name in EXAMPLES]
)
def test_law_of_enumeration_is_kept(name: str) -> None:
    """Independent draws from the enumerated law still have it after a few sweeps of a chain of their own."""
    example, states, chances = target_of(name)
    cells, rng, seen = example.cells(), np.random.default_rng(2), Counter[Whole]()
    for start in rng.choice(len(states), size=500, p=chances).tolist():
        chain = Chain(cells, held_by(states[start]), rng)
        for _ in range(3):
            chain.sweep(example.centre)
        seen[state_of(chain)] += 1
    assert_law(states, chances, seen)


@pytest.mark.promise("P-TABLES-3", by="exhaustion")
@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_law_is_that_of_enumeration(name: str) -> None:
    """Draws from one chain, far apart: after 100 sweeps nothing of the start is left."""
    example, states, chances = target_of(name)
    cells, rng, seen = example.cells(), np.random.default_rng(2), Counter[Whole]()
    labels = np.array([example.labels], dtype=np.int64) if example.labels else None
    chain = Chain(cells, cells.dealt(rng, labels), rng)
    for _ in range(250):
        for _ in range(100):
            chain.sweep(example.centre)
        seen[state_of(chain)] += 1
    assert_law(states, chances, seen)


def test_law_with_a_tilt_is_kept() -> None:
    example, states, _ = target_of("more papers")
    cells = example.cells()

    def tilt(table: Holding) -> Floats:
        return 0.2 * np.maximum.reduceat(table.score[table.held], cells.start) * np.arange(4)

    def factor(state: Whole) -> float:
        hands = [[x for x, holder in zip(state[1], state[0], strict=True) if holder == person] for person in range(4)]
        return float(np.exp(sum(0.2 * person * max(hand) for person, hand in enumerate(hands))))

    tilted = example.law(states, factor)
    rng, seen = np.random.default_rng(2), Counter[Whole]()
    for start in rng.choice(len(states), size=500, p=tilted).tolist():
        chain = Chain(cells, held_by(states[start]), rng, tilt)
        for _ in range(3):
            chain.sweep(example.centre)
        seen[state_of(chain)] += 1
    assert_law(states, tilted, seen)


# Theorem T2.
@pytest.mark.promise("P-TABLES-3", by="exhaustion")
@pytest.mark.parametrize(
    ("sizes", "loads"),
    [([2, 2], [2, 2]), ([2, 2, 2], [2, 2, 2]), ([3, 2, 1], [3, 2, 1]), ([3, 3], [2, 2, 2]), ([1, 2, 2], [3, 1, 1])],
)
def test_every_assignment_is_reached(sizes: list[int], loads: list[int]) -> None:
    states = assignments(sizes, loads)
    paper = np.repeat(np.arange(len(sizes)), sizes)
    assert components(states, paper.tolist(), within=True) == 1
    cells = Cells(paper, np.zeros(paper.size), np.array(loads), (Margin(MEAN, np.empty(0)),))
    rng = np.random.default_rng(5)
    chain = Chain(cells, cells.dealt(rng), rng)
    seen = set()
    for _ in range(60 * len(states)):
        chain.sweep(np.zeros(1))
        seen.add(tuple(chain.holders().tolist()))
    assert seen == set(states)


def test_swaps_between_papers_alone_would_not_reach_all() -> None:
    paper = [0, 0, 1, 1]
    assert components(assignments([2, 2], [2, 2]), paper, within=False) > 1


@pytest.mark.parametrize("name", ["by attribute", "all hidden"])
def test_every_table_is_reached(name: str) -> None:
    example, states, _ = target_of(name)
    cells, rng = replace(example.cells(), margins=(Margin(MEAN, np.empty(0)),)), np.random.default_rng(5)
    labels = np.array([example.labels], dtype=np.int64) if example.labels else None
    chain = Chain(cells, cells.dealt(rng, labels), rng)
    seen = set()
    for _ in range(15 * len(states)):
        chain.sweep(np.zeros(1))
        seen.add(state_of(chain))
    assert seen == set(states)


@pytest.mark.promise("P-TABLES-1")
@pytest.mark.parametrize("loads", [[3] * 8, [6, 5, 4, 3, 2, 2, 1, 1]])
def test_sweeps_keep_papers_and_loads_and_counts(loads: list[int]) -> None:
    rng = np.random.default_rng(3)
    paper = np.repeat(np.arange(8), 3)
    score = rng.integers(1, 6, paper.size).astype(float)
    score[[2, 5, 23]] = np.nan
    margins = (Margin(MEAN, np.array([2.2, 2.9, 3.4])), Margin(MEAN, np.array([3.0]), attribute=0, values=2))
    cells = Cells(paper, score, np.array(loads), margins, np.array([1.0, 5.0]))
    chain = Chain(cells, cells.dealt(rng, np.array([[0, 0, 0, 1, 1, 1, 1, 1]])), rng)
    for _ in range(150):
        chain.sweep(np.array([3.0, 2.0, 1.0, 2.0, 1.0, 2.0, 3.0, 2.0]))
        holder, drawn, labels = (list(part) for part in state_of(chain))
        assert len(set(zip(paper.tolist(), holder, strict=True))) == paper.size
        assert [holder.count(person) for person in range(8)] == loads
        assert sorted(labels) == [0, 0, 0, 1, 1, 1, 1, 1]
        assert all(b in (1, 5) if np.isnan(a) else a == b for a, b in zip(score.tolist(), drawn, strict=True))
        hands = [[x for x, h in zip(drawn, holder, strict=True) if h == person] for person in range(8)]
        means = [fmean(hand) for hand in hands]
        first = Counter(int(np.searchsorted([2.2, 2.9, 3.4], mean, side="right")) for mean in means)
        second = Counter(int(mean >= 3) + 2 * label for mean, label in zip(means, labels, strict=True))
        assert chain.counts.tolist() == [first[b] for b in range(4)] + [second[b] for b in range(4)]


def test_a_draw_has_the_wanted_counts() -> None:
    """Wanted counts far from those of random dealing: the centre must move to keep them."""
    rng = np.random.default_rng(4)
    paper = np.repeat(np.arange(200), 3)
    score = rng.integers(1, 11, paper.size).astype(float)
    cells = Cells(paper, score, np.full(200, 3), (Margin(MEAN, np.array([2.5, 4.0, 5.5, 7.0, 8.5])),))
    wanted = cells.counts(cells.dealt(rng)) + np.array([12, 8, -20, -20, 8, 12])
    counts = np.zeros(6)
    for _ in range(10):
        drawn = draw(cells, wanted, rng)
        assert drawn.misplaced <= 6
        assert drawn.renewed > 0.5
        assert drawn.trace[-1] == drawn.misplaced
        assert len(drawn.trace) == 3 * drawn.fixed
        held = np.argsort(drawn.holder, kind="stable")
        assert np.array_equal(cells.counts(Holding(held, drawn.score, drawn.labels)), drawn.counts)
        counts += drawn.counts / 10
    assert np.abs(counts - wanted).max() < 1


def test_errors_do_not_add_up_over_cells() -> None:
    """Numbers of reviewers below each of 25 cuts are off by about 0.7 reviewers, as the density says."""
    made = world("camps", reviewers=200, loads=4, seed=3)
    cells = Cells(made.paper, made.score, np.full(200, 4), (Margin(MEAN, np.arange(2.625, 8.75, 0.25)),))
    held = np.argsort(made.reviewer, kind="stable")
    wanted = cells.counts(Holding(held, made.score, np.empty((0, 200), dtype=np.int64)))
    rng = np.random.default_rng(6)
    off = np.array([np.cumsum(draw(cells, wanted, rng).counts - wanted)[:-1] for _ in range(10)])
    assert wanted.size == 26
    assert np.sqrt(np.mean(off**2)) < 0.95
    assert np.abs(off.mean(axis=0)).max() < 4 * 0.75 / np.sqrt(10)
