"""The chain of assignments: its law against enumeration, connectedness, validity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from statistics import fmean, pstdev

import numpy as np
import pytest
from scipy.stats import chisquare

from peerveil.quantities.statistics import MEAN, named
from peerveil.record.public_record import Floats, Ints
from peerveil.sampling.chain import Cells, Chain, draw
from reference.labelled_assignments import Holders, assignments, components, law

#: Records: the scores of each paper, the loads, and the boundaries between cells.
RECORDS = {
    "equal loads": ([[1, 4], [2, 3], [1, 2]], [2, 2, 2], "mean", [1.75, 2.25]),
    "other loads": ([[1, 2, 5], [2, 4], [3]], [3, 2, 1], "mean", [2.4, 3.1]),
    "more papers": ([[1, 2], [3, 5], [2], [4]], [2, 2, 1, 1], "mean", [1.9, 3.2]),
    "spread": ([[1, 4], [2, 3], [1, 2]], [2, 2, 2], "spread", [0.4, 0.9]),
}


OF: dict[str, Callable[[list[float]], float]] = {"mean": fmean, "spread": pstdev}


def cells_of(rows: list[list[int]], loads: list[int], statistic: str, cuts: list[float]) -> Cells:
    paper = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    return Cells(
        paper, np.array([x for row in rows for x in row], float), np.array(loads), named(statistic), np.array(cuts)
    )


def pooled(expected: list[float], seen: list[int]) -> tuple[list[float], list[int]]:
    """Cells, the smallest first and regardless of what was seen, pooled until each has five expected."""
    sums: list[list[float]] = [[0.0, 0]]
    for chance, number in sorted(zip(expected, seen, strict=True), key=lambda pair: pair[0]):
        if sums[-1][0] >= 5:
            sums.append([0.0, 0])
        sums[-1][0] += chance
        sums[-1][1] += number
    if sums[-1][0] < 5:
        last = sums.pop()
        sums[-1] = [a + b for a, b in zip(sums[-1], last, strict=True)]
    return [pair[0] for pair in sums], [int(pair[1]) for pair in sums]


def assert_law(states: list[Holders], chances: list[float], seen: Counter[Holders]) -> None:
    assert set(seen) <= set(states)
    draws = sum(seen.values())
    expected, counted = pooled([draws * chance for chance in chances], [seen[state] for state in states])
    assert len(expected) > 5
    assert chisquare(counted, expected).pvalue > 1e-3


def target_of(name: str) -> tuple[Cells, Floats, list[Holders], list[float]]:
    """The cells of a record, a fixed centre, all assignments, and the probability of each."""
    rows, loads, statistic, cuts = RECORDS[name]
    cells, centre = cells_of(rows, loads, statistic, cuts), np.array([0.3, 2.1, 0.9])
    states = assignments([len(row) for row in rows], loads)
    of = OF[statistic]
    chances = law(states, cells.weight.tolist(), of, cuts, centre.tolist())
    assert max(chances) > 3 * min(chances)  # not uniform, so that a wrong density shows
    return cells, centre, states, chances


def held_by(holders: Holders) -> Ints:
    return np.argsort(np.array(holders), kind="stable")


@pytest.mark.parametrize("name", RECORDS)
def test_law_of_enumeration_is_kept(name: str) -> None:
    """Independent draws from the enumerated law still have it after a few sweeps of a chain of their own."""
    cells, centre, states, chances = target_of(name)
    rng, seen = np.random.default_rng(2), Counter[Holders]()
    for start in rng.choice(len(states), size=1_500, p=chances).tolist():
        chain = Chain(cells, held_by(states[start]), rng)
        for _ in range(3):
            chain.sweep(centre)
        seen[tuple(chain.holders().tolist())] += 1
    assert_law(states, chances, seen)


@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDS)
def test_law_is_that_of_enumeration(name: str) -> None:
    """Draws from one chain, so far apart that they are independent: the second eigenvalue of a sweep is below 0.97."""
    cells, centre, states, chances = target_of(name)
    rng, seen = np.random.default_rng(2), Counter[Holders]()
    chain = Chain(cells, cells.dealt(rng), rng)
    for _ in range(400):
        for _ in range(100):
            chain.sweep(centre)
        seen[tuple(chain.holders().tolist())] += 1
    assert_law(states, chances, seen)


def test_law_with_a_tilt_is_kept() -> None:
    cells, centre, states, chances = target_of("more papers")

    def tilt(held: Ints) -> Floats:
        return 0.2 * np.maximum.reduceat(cells.weight[held], cells.start) * np.arange(4)

    def factor(state: Holders) -> float:
        hands = [[x for x, holder in zip(cells.weight, state, strict=True) if holder == person] for person in range(4)]
        return float(np.exp(sum(0.2 * person * max(hand) for person, hand in enumerate(hands))))

    tilted = np.array(chances) * list(map(factor, states))
    tilted /= tilted.sum()
    rng, seen = np.random.default_rng(2), Counter[Holders]()
    for start in rng.choice(len(states), size=1_500, p=tilted).tolist():
        chain = Chain(cells, held_by(states[start]), rng, tilt)
        for _ in range(3):
            chain.sweep(centre)
        seen[tuple(chain.holders().tolist())] += 1
    assert_law(states, tilted.tolist(), seen)


@pytest.mark.parametrize(
    ("sizes", "loads"),
    [([2, 2], [2, 2]), ([2, 2, 2], [2, 2, 2]), ([3, 2, 1], [3, 2, 1]), ([3, 3], [2, 2, 2]), ([1, 2, 2], [3, 1, 1])],
)
def test_every_assignment_is_reached(sizes: list[int], loads: list[int]) -> None:
    states = assignments(sizes, loads)
    paper = np.repeat(np.arange(len(sizes)), sizes)
    assert components(states, paper.tolist(), within=True) == 1
    cells = Cells(paper, np.zeros(paper.size), np.array(loads), MEAN, np.empty(0))
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


@pytest.mark.parametrize("loads", [[3] * 8, [6, 5, 4, 3, 2, 2, 1, 1]])
def test_sweeps_keep_papers_and_loads_and_counts(loads: list[int]) -> None:
    rng = np.random.default_rng(3)
    paper = np.repeat(np.arange(8), 3)
    score = rng.integers(1, 6, paper.size).astype(float)
    cells = Cells(paper, score, np.array(loads), MEAN, np.array([2.2, 2.9, 3.4]))
    chain = Chain(cells, cells.dealt(rng), rng)
    for _ in range(200):
        chain.sweep(np.array([3.0, 2.0, 1.0, 2.0]))
        holder = chain.holders().tolist()
        assert len(set(zip(paper.tolist(), holder, strict=True))) == paper.size
        assert [holder.count(person) for person in range(8)] == loads
        hands = [[x for x, h in zip(score.tolist(), holder, strict=True) if h == person] for person in range(8)]
        assert (
            np.searchsorted(cells.cuts, [fmean(hand) for hand in hands], side="right").tolist() == chain.cell.tolist()
        )
    assert 0 < chain.accepted < chain.proposed


def test_a_draw_has_the_wanted_counts() -> None:
    """Wanted counts far from those of random dealing: the centre must move to keep them."""
    rng = np.random.default_rng(4)
    paper = np.repeat(np.arange(200), 3)
    score = rng.integers(1, 11, paper.size).astype(float)
    cells = Cells(paper, score, np.full(200, 3), MEAN, np.array([2.5, 4.0, 5.5, 7.0, 8.5]))
    dealt = cells.counts(cells.dealt(rng))
    wanted = dealt + np.array([12, 8, -20, -20, 8, 12])
    counts = np.zeros(6)
    for _ in range(10):
        drawn = draw(cells, wanted, rng)
        assert drawn.misplaced <= 6
        assert drawn.renewed > 0.5
        held = np.argsort(drawn.holder, kind="stable")
        counts += cells.counts(held) / 10
    assert np.abs(counts - wanted).max() < 1
