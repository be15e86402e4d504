"""Sensitivity of the sums over people who reviewed for two conferences: all neighbours of small ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest

import peerveil as pv
from peerveil.errors import InputError
from peerveil.privacy.bins import Bins
from peerveil.privacy.guarantee import UNITS, Unit
from peerveil.privacy.linked.counts import LinkedCounts
from peerveil.privacy.linked.sums import (
    DIFFERENCE_UNIT,
    PRODUCTS_UNIT,
    SQUARES_UNIT,
    SUMS_UNIT,
    LinkedSums,
    Side,
    side_of,
    tilted,
)
from peerveil.private.audit.pairs_of_groups import linked_conferences, linked_table
from peerveil.private.linked.correlation import linked_noise, prepare_correlation
from peerveil.quantities.weights import PublicWeights
from peerveil.record.loads import declare_loads
from peerveil.record.parts import LeftOut, Part
from reference.neighbours import is_neighbour
from reference.theta import Assignment, assignments

Rows = tuple[tuple[float, ...], ...]
Positions = tuple[
    tuple[float, float], ...
]  # of each reviewer: the position, and the load relative to the largest; (9, 0) if none counts


@dataclass(frozen=True)
class Small:
    """All assignments of a small conference; only the first ``kept`` papers are released."""

    rows: Rows
    loads: tuple[int, ...]
    least: int = 1
    kept: int | None = None

    def side(self) -> Side:
        rows = self.rows[: self.kept]
        counts = {load: self.loads.count(load) for load in self.loads}
        whole = declare_loads(sum(map(len, self.rows)), loads=counts)
        if self.kept is None:
            weights = PublicWeights.from_rows(rows, loads=counts, quantity="ratings")
        else:
            reviews = sum(map(len, rows))
            left = LeftOut(papers=len(self.rows) - self.kept, reviews=whole.reviews - reviews, why="withdrawn")
            part = Part(whole=whole, left_out=(left,), number="open")
            weights = PublicWeights.from_rows(
                rows, loads=(1, max(self.loads)), reviewers=min(reviews, len(self.loads)), quantity="ratings", part=part
            )
        return side_of(weights, (0.0, 1.0), least=self.least)

    def listed(self) -> list[Assignment]:
        return list(assignments(self.rows, self.loads))

    def held_by(self, reviewer: int, held: Assignment) -> list[float]:
        return [
            x
            for row, holders in zip(self.rows[: self.kept], held, strict=False)
            for x, holder in zip(row, holders, strict=True)
            if holder == reviewer
        ]

    def positions(self, side: Side, held: Assignment) -> Positions:
        """By their definition."""
        found = []
        for reviewer in range(len(self.loads)):
            mine = self.held_by(reviewer, held)
            if len(mine) < self.least:
                found.append((9.0, 0.0))
                continue
            total = sum(min(max(x, side.limits[0]), side.limits[1]) - side.centre for x in mine)
            found.append((min(max(total / side.reach, -1.0), 1.0), len(mine) / side.largest))
        return tuple(found)

    def cells(self, bins: Bins, held: Assignment) -> Positions:
        """The bin of each reviewer's mean, by its definition; (9, 0) if the reviewer does not count."""
        found = []
        for reviewer in range(len(self.loads)):
            mine = self.held_by(reviewer, held)
            low = [sum(mine) / len(mine) >= end - 1e-9 for end in bins.low[1:]] if len(mine) >= self.least else None
            found.append((9.0, 0.0) if low is None else (float(sum(low)), 1.0))
        return tuple(found)


def contribution(sums: LinkedSums, one: tuple[float, float], other: tuple[float, float]) -> np.ndarray:
    """The numbers of one person, in their units, by their definition."""
    (x, a), (y, b) = one, other
    if x == 9 or y == 9:
        return np.zeros(len(sums.units))
    each = {"people": 1.0, "loads_1": a * a, "loads_2": b * b, "loads": a * b, "sum_1": x, "sum_2": y}
    each |= {"alike": ((x + y) / 2) ** 2, "apart": ((x - y) / 2) ** 2, "difference": (x * x - y * y) / 2}
    return np.array([each[name] * unit for name, unit in sums.units.items()])


def changes(
    small: Small, show: Callable[[Assignment], Positions], unit: Unit
) -> dict[int, set[tuple[Positions, Positions]]]:
    """For each person the distinct positions of all before and after an exchange of theirs, or none."""
    listed = small.listed()
    shown = {held: show(held) for held in listed}
    found: dict[int, set[tuple[Positions, Positions]]] = {z: set() for z in range(len(small.loads))}
    for one, other in product(listed, repeat=2):
        if one == other or is_neighbour(one, other, unit):
            for z, pairs in found.items():
                moved = [(a, b) for p, q in zip(one, other, strict=True) for a, b in zip(p, q, strict=True) if a != b]
                if all(z in pair for pair in moved):
                    pairs.add((shown[one], shown[other]))
    return found


CASES = {
    "load one": (Small(((0.0,), (1.0,), (0.5,)), (1, 1, 1)), Small(((0.0,), (1.0,)), (1, 1))),
    "load two": (Small(((0.0,), (0.0,), (1.0,), (1.0,)), (2, 2)), Small(((0.0,), (1.0,), (1.0,), (0.0,)), (2, 2))),
    "shared papers": (Small(((0.0, 1.0), (0.2, 0.9), (1.0, 0.0)), (2, 2, 2), 2), Small(((0.0,), (1.0,)), (1, 1))),
    "mixed": (Small(((0.0,), (1.0,), (0.3,), (0.8,)), (1, 1, 2)), Small(((0.0,), (1.0,), (1.0,)), (1, 2))),
    "least two": (
        Small(((0.0,), (1.0,), (0.3,), (1.0,), (0.0,)), (1, 2, 2), 2),
        Small(((0.0,), (1.0,)) * 2, (2, 2), 2),
    ),
    "mixed, both": (
        Small(((0.0,), (1.0,), (0.0,), (1.0,), (1.0,)), (1, 1, 3)),
        Small(((1.0,), (1.0,), (0.0,), (0.0,)), (1, 1, 2)),
    ),
    "two left out": (
        Small(((0.0,), (1.0,), (1.0,), (0.0,)), (1, 1, 2), 1, 3),
        Small(((0.0,), (1.0,), (0.0,), (1.0,)), (1, 1, 2), 1, 3),
    ),
    "left out": (Small(((0.0,), (1.0,), (1.0,), (0.0,)), (1, 1, 2), 1, 2), Small(((0.0,), (1.0,)), (1, 1))),
}


def _largest(
    small: tuple[Small, Small],
    shows: Sequence[Callable[[Assignment], Positions]],
    unit: Unit,
    of: Callable[[tuple[float, float], tuple[float, float]], np.ndarray],
) -> float:
    """The largest distance between neighbours, given the numbers of a person by their positions."""
    both = min(len(small[0].loads), len(small[1].loads))  # the first people of both conferences are the same
    moved = [changes(one, show, unit) for one, show in zip(small, shows, strict=True)]
    nothing = np.zeros_like(of((9.0, 0.0), (9.0, 0.0)))
    largest = 0.0
    for z in range(max(len(each.loads) for each in small)):
        pairs = [each.get(z) or {(p, p) for changed in each.values() for p, _ in changed} for each in moved]
        for (x, x_after), (y, y_after) in product(*pairs):
            if unit == "review" and x != x_after and y != y_after:
                continue
            parts = [(of(x[j], y[j]), of(x_after[j], y_after[j])) for j in range(both)]
            rest = sum((after - before for j, (before, after) in enumerate(parts) if j != z), nothing)
            ends = [parts[z]] if z < both else [(nothing, nothing)]
            if z < both and unit == "reviewer":  # who is known to have reviewed for both
                ends += [(nothing, parts[z][1]), (parts[z][0], nothing)]
            largest = max(largest, *(float(np.abs(rest + after - before).sum()) for before, after in ends))
    return largest


# Theorem L3.
@pytest.mark.promise("P-LINKED-1", by="exhaustion")
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("name", CASES)
def test_no_pair_of_neighbours_exceeds_the_bound(name: str, unit: Unit) -> None:
    small = CASES[name]
    sides = small[0].side(), small[1].side()
    sums = LinkedSums(sides=sides)
    bound = sums.sensitivity(unit).l1
    shows = [partial(each.positions, side) for each, side in zip(small, sides, strict=True)]
    largest = _largest(small, shows, unit, lambda one, other: contribution(sums, one, other))
    assert 0 < largest <= bound
    assert largest > bound / 4  # with few people, not all of them move


# Theorem L4.
@pytest.mark.promise("P-LINKED-1", by="exhaustion")
@pytest.mark.parametrize("number", [2, 3])
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("name", CASES)
def test_no_counts_of_neighbours_exceed_the_bound(name: str, unit: Unit, number: int) -> None:
    small = CASES[name]
    table = LinkedCounts(sides=(small[0].side(), small[1].side()), number=number)

    def counted(one: tuple[float, float], other: tuple[float, float]) -> np.ndarray:
        cells = np.zeros((number, number))
        if 9.0 not in (one[0], other[0]):
            cells[int(one[0]), int(other[0])] = 1
        return cells.ravel()

    shows = [partial(each.cells, bins) for each, bins in zip(small, table.bins, strict=True)]
    largest = _largest(small, shows, unit, counted)
    bound = table.sensitivity(unit).counts
    assert bound is not None
    assert 0 < largest <= bound
    if name == "load one" and unit == "review":
        assert largest == bound


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("load", [1, 2, 3, 5])
def test_the_bound_is_attained(load: int, unit: Unit) -> None:
    pair = linked_conferences(unit, load, 0)
    assert pair.seconds is not None
    truths = []
    for first, second in zip(pair.records, pair.seconds, strict=True):
        ready = prepare_correlation(
            first,
            second,
            mechanism=pv.Laplace(epsilon=1.0),
            public="none",
            quantity="ratings",
            least=min(load, 2),
            unit=unit,
        )
        truths.append(ready.protected().truth)
        bound = ready.bound(unit).l1
    assert float(np.abs(truths[0] - truths[1]).sum()) == pytest.approx(bound, rel=1e-9)
    assert float(np.abs(truths[0] - truths[1]).sum()) <= bound


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("load", [1, 2, 4])
def test_the_bound_of_counts_is_attained(load: int, unit: Unit) -> None:
    """Hidden ratings: everybody whose review is exchanged enters a cell of high means."""
    pair = linked_table(unit, load, 0)
    assert pair.seconds is not None
    asked: dict[str, Any] = {"public": "none", "quantity": "ratings", "least": 1, "bins": 2, "unit": unit}
    readies = [
        prepare_correlation(one, other, mechanism=linked_noise(1.0, 2), **asked)
        for one, other in zip(pair.records, pair.seconds, strict=True)
    ]
    before, after = (ready.protected().truth for ready in readies)
    people = 2 if unit == "review" else 1 + 2 * load
    assert np.abs(after - before).sum() == readies[0].bound(unit).counts == 2 * people


# Theorem L1.
def test_a_person_moves_the_numbers_by_at_most_two_units_and_those_of_the_sums() -> None:
    """The bound of the proof, on a grid of all positions before and after, and of not counting at all."""
    grid = np.linspace(-1, 1, 17)
    x, y = (axis.ravel() for axis in np.meshgrid(grid, grid))
    u, q = SUMS_UNIT, DIFFERENCE_UNIT
    assert 2 * u + q <= 1  # both of the proof's conditions
    assert 2 * SQUARES_UNIT + PRODUCTS_UNIT < 1
    points = np.column_stack(
        [np.ones(x.size), u * x, u * y, ((x + y) / 2) ** 2, ((x - y) / 2) ** 2, q * (x**2 - y**2) / 2]
    )
    points = np.vstack([points, np.zeros(6)])
    apart = np.abs(points[:, None] - points[None]).sum(axis=2)
    assert apart.max() == pytest.approx(2 + 2 * u)
    steps = np.abs(x[:, None] - x[None])
    moved = apart[:-1, :-1][(y[:, None] == y[None])]
    step = steps[(y[:, None] == y[None])]
    assert (moved <= step * (1 + u + q * (1 - step / 2)) + 1e-12).all()


def test_what_is_refused() -> None:
    weights = PublicWeights.from_rows([[0, 1]] * 4, load=2, quantity="ratings")
    with pytest.raises(InputError, match="least must be a whole number"):
        side_of(weights, least=0)
    with pytest.raises(InputError, match="more than any reviewer's load, which is at most 2"):
        side_of(weights, least=3)
    with pytest.raises(InputError, match="two finite numbers"):
        side_of(weights, (1.0, 0.0))
    with pytest.raises(InputError, match="at least half of the public weights"):
        side_of(weights, (0.1, 0.2))


@pytest.mark.parametrize("mean", [1.2, 2.0, 5.5])
def test_tilted_shares_have_the_mean(mean: float) -> None:
    values, shares = np.array([1.0, 2.0, 6.0]), np.array([0.2, 0.5, 0.3])
    found = tilted(values, shares, mean)
    assert found.sum() == pytest.approx(1)
    assert found @ values == pytest.approx(mean, abs=1e-9)
    odds = np.log(found / shares)  # an exponential tilt: their logarithms are linear in the values
    assert (odds[2] - odds[1]) / 4 == pytest.approx(odds[1] - odds[0])
    assert tilted(values, shares, 100.0) @ values < 6


# Theorem L2.
def test_one_review_moves_the_total_of_every_load_alike() -> None:
    """A small load does not raise the noise: the bound depends on loads only by the largest and by the reach."""
    few, many = ({2: 500, 6: 500}, {5: 500, 3: 500})
    sides = [
        side_of(PublicWeights.from_rows([[0, 1]] * 2000, loads=loads, quantity="ratings")) for loads in (few, many)
    ]
    assert [side.step for side in sides] == [side.width / side.reach for side in sides]
    assert sides[0].reach > sides[1].reach
