"""Sensitivity of sums, counts and squares of groups of reviewers: all neighbours of small conferences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np
import pytest

import peerveil as pv
from peerveil.errors import InputError
from peerveil.privacy.group_sums import MIXED_UNIT, SQUARES_SHARE, GroupSums, default_limits
from peerveil.privacy.guarantee import UNITS, Unit
from peerveil.private.effects import true_numbers
from peerveil.record.loads import declare_loads
from peerveil.record.parts import LeftOut, Part
from reference.theta import Assignment, assignments

Scores = tuple[tuple[float, ...], ...]
Groups = tuple[int, ...]


@dataclass(frozen=True)
class State:
    """A whole conference: who holds which review, the scores, and the group of each reviewer."""

    held: Assignment
    scores: Scores
    groups: Groups


@dataclass(frozen=True)
class Small:
    """All conferences of a small record: its scores, the loads of reviewers, and what is public.

    Only the first ``kept`` papers are released. ``values`` are the groups that reviewers may be in. If papers have
    ``properties``, the first group is that of reviews whose reviewer has the paper's.
    """

    name: str
    scores: Scores
    loads: tuple[int, ...]
    quantity: str = "ratings"
    values: tuple[int, ...] = (1, 2)
    hidden: bool = False
    randomised: bool = False
    kept: int | None = None
    limits: tuple[float, float] | None = None
    sizes: tuple[int, ...] | None = None
    properties: tuple[int, ...] | None = None

    @property
    def papers(self) -> int:
        return len(self.scores) if self.kept is None else self.kept

    def sums(self) -> GroupSums:
        rows = self.scores[: self.papers]
        reviews = sum(map(len, rows))
        whole = declare_loads(sum(map(len, self.scores)), loads=_counts(self.loads))
        flat = [x for row in rows for x in row]
        paper = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        loads, part = whole, None
        if self.kept is not None:
            left = LeftOut(papers=len(self.scores) - self.kept, reviews=whole.reviews - reviews, why="withdrawn")
            loads = declare_loads(reviews, loads=(1, max(self.loads)), reviewers=min(reviews, len(self.loads)))
            part = Part(whole=whole, left_out=(left,), number="open")
        record = pv.PublicRecord.from_reviews(
            [f"p{p}" for p in range(len(rows))],
            paper,
            np.full(reviews, np.nan) if self.hidden else np.array(flat),
            loads,
            scale=(0.0, 1.0),
            part=part,
        )
        weights = pv.weigh(record, self.quantity)
        return GroupSums(
            weights=weights,
            limits=self.limits or default_limits(weights),
            others=0 in self.values and self.properties is None,
            randomised=self.randomised,
            sizes=None if self.sizes is None else (self.sizes[0], self.sizes[1]),
            pairs=self.properties is not None,
        )

    def of_review(self, paper: int, group: int) -> int:
        """The group of a review, given that of its reviewer."""
        if self.properties is None:
            return group
        return 1 if group == self.properties[paper] else 2

    def states(self) -> Iterator[State]:
        shape = [len(row) for row in self.scores]
        scores = [self.scores]
        if self.hidden:
            cells = product((0.0, 1.0), repeat=sum(shape))
            ends = np.cumsum([0, *shape])
            scores = [tuple(flat[a:b] for a, b in pairwise(ends)) for flat in cells]
        for held, each, groups in product(
            list(assignments(self.scores, self.loads)), scores, product(self.values, repeat=len(self.loads))
        ):
            if self.sizes is None or tuple(map(groups.count, (1, 2))) == self.sizes:
                yield State(held, each, groups)


def _counts(loads: Sequence[int]) -> dict[int, int]:
    return {load: loads.count(load) for load in loads}


def neighbours(one: State, other: State, unit: Unit, *, sizes: bool = False) -> bool:
    """By the words of the promise: exchanges of one reviewer's reviews, that reviewer's group, and hidden scores.

    If sizes of groups are public, a group changes by an exchange with another reviewer.
    """
    places = [(p, k) for p, row in enumerate(one.held) for k in range(len(row))]
    moved = {(p, k) for p, k in places if one.held[p][k] != other.held[p][k]}
    scored = {(p, k) for p, k in places if one.scores[p][k] != other.scores[p][k]}
    if not scored <= moved and not (not moved and len(scored) == 1):
        return False
    regrouped = [j for j, (a, b) in enumerate(zip(one.groups, other.groups, strict=True)) if a != b]
    if unit == "review":
        holders = [(one.held[p][k], other.held[p][k]) for p, k in sorted(moved)]
        exchanged = len(holders) == 2 and holders[0] == holders[1][::-1]
        return not regrouped and (exchanged or not holders)
    exchanged = len(regrouped) == 2 and sorted(one.groups) == sorted(other.groups)
    if not moved and not scored:
        return exchanged if sizes else len(regrouped) == 1
    if not moved:
        return not regrouped
    return any(
        all((one.held[p][k] == z) != (other.held[p][k] == z) for p, k in moved)
        and (not regrouped or (exchanged and z in regrouped if sizes else regrouped == [z]))
        for z in range(len(one.groups))
    )


def numbers(small: Small, sums: GroupSums, state: State) -> dict[str, float]:
    """The numbers of a conference, by their definition."""
    low, high = sums.limits
    middle = (low + high) / 2
    found = dict.fromkeys(("sum_1", "sum_2", "reviews_1", "reviews_2", "mixed"), 0.0)
    own = [0.0] * len(state.groups)
    for p in range(small.papers):
        row = state.scores[p]
        here = [small.of_review(p, state.groups[j]) for j in state.held[p]]
        for k, score in enumerate(row):
            weight = score
            if small.quantity == "miscalibration":
                weight = score - (sum(row) - score) / (len(row) - 1)
            weight = min(max(weight, low), high) - middle
            own[state.held[p][k]] += weight - sums.mean
            if here[k]:
                found[f"sum_{here[k]}"] += weight
                found[f"reviews_{here[k]}"] += 1
        if len(row) > 1:
            found["mixed"] += here.count(1) * (len(row) - here.count(1)) / (len(row) - 1)
    squares = [min(x * x, sums.cap) for x in own]
    found["squares"] = sum(squares)
    for g in (1, 2):
        found[f"squares_{g}"] = sum(x for x, group in zip(squares, state.groups, strict=True) if group == g)
    return {name: found[name] * unit for name, unit in sums.units.items()}


SMALL = [
    Small("two groups", ((0, 1), (0, 1), (0, 1)), (2, 2, 2)),
    Small("loads differ", ((0, 1), (0, 1), (0.5, 1)), (3, 2, 1)),
    Small("others", ((0, 1), (0, 1)), (2, 1, 1), values=(0, 1, 2)),
    Small("one review each", ((0, 1, 0.5),), (1, 1, 1), values=(0, 1, 2)),
    Small("clipped", ((0, 1), (0.5, 1)), (2, 1, 1), limits=(0.25, 1)),
    Small("miscalibration", ((0, 1), (0, 1)), (2, 1, 1), "miscalibration", randomised=True),
    Small("miscalibration, groups not random", ((0, 1, 1), (0, 1)), (2, 1, 1, 1), "miscalibration"),
    Small("hidden", ((0, 1), (0, 1)), (2, 1, 1), hidden=True),
    Small("hidden, others", ((0, 1), (0, 1)), (2, 2), values=(0, 1, 2), hidden=True),
    Small("sizes", ((0, 1), (0, 1), (0, 1)), (2, 2, 2), sizes=(1, 2)),
    Small("sizes, others", ((0, 1), (0, 1), (0, 1)), (2, 2, 2), values=(0, 1, 2), sizes=(1, 1)),
    Small("sizes, one review each", ((0, 1, 0.5),), (1, 1, 1), values=(0, 1, 2), sizes=(1, 1)),
    Small("sizes, miscalibration", ((0, 1, 1), (0, 1, 0)), (2, 2, 2), "miscalibration", sizes=(2, 1)),
    Small("sizes, hidden", ((0, 1, 1),), (1, 1, 1), sizes=(1, 2), hidden=True),
    Small("pairs", ((0, 1), (1, 0)), (2, 1, 1), "miscalibration", properties=(1, 2)),
    Small("pairs, more values", ((0, 1), (0, 1)), (2, 1, 1), "miscalibration", (0, 1, 2), properties=(1, 1)),
    Small("pairs, one review each", ((0, 1), (0, 1)), (1, 1, 1, 1), "miscalibration", properties=(1, 2)),
    Small("pairs, left out", ((0, 1), (0, 1), (1,)), (2, 2, 1), "miscalibration", properties=(1, 2, 1), kept=2),
    Small("left out", ((1, 1), (0,), (1,)), (2, 1, 1), kept=1, limits=(0, 1)),
    Small("left out, others", ((1, 1), (0,), (1,)), (2, 1, 1), values=(0, 1, 2), kept=1, limits=(0, 1)),
    Small("left out, hidden", ((1, 1), (0,)), (2, 1), kept=1, hidden=True),
]

#: The bound of all numbers but the squares, where some pair of these conferences attains it, in units of the range.
ATTAINED = {
    ("two groups", "reviewer"): 2,
    ("two groups", "review"): 1,
    ("loads differ", "reviewer"): 3,
    ("others", "reviewer"): 4,
    ("others", "review"): 2,
    ("one review each", "reviewer"): 2,
    ("clipped", "reviewer"): 2,
    ("miscalibration", "reviewer"): 2,
    ("hidden", "reviewer"): 5,
    ("hidden", "review"): 2,
    ("hidden, others", "reviewer"): 6,
    ("sizes", "reviewer"): 2,
    ("sizes, others", "reviewer"): 4,
    ("sizes, one review each", "reviewer"): 2,
    ("sizes, hidden", "reviewer"): 3,
    ("pairs, one review each", "review"): 1.25,
    ("pairs, one review each", "reviewer"): 1.25,
    ("left out", "reviewer"): 2,
    ("left out, others", "reviewer"): 4,
}


#: Where some pair attains the bound of the squares: everybody concerned goes from none to the cap, or back.
SQUARES_ATTAINED = {
    ("two groups", "reviewer"),
    ("two groups", "review"),
    ("one review each", "review"),
    ("hidden, others", "review"),
    ("sizes", "review"),
    ("pairs, left out", "review"),
}


# Theorem E1 to Theorem E7, by the features of the case: Theorem E2, Theorem E3, Theorem E4, Theorem E5, Theorem E6.
@pytest.mark.promise("P-EFFECT-1", by="exhaustion")
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("small", SMALL, ids=[small.name for small in SMALL])
def test_no_neighbour_moves_the_numbers_by_more_than_claimed(small: Small, unit: Unit) -> None:
    sums = small.sums()
    bound = sums.sensitivity(unit)
    rest = sums._exchanged(unit)
    states = list(small.states())
    vectors = [numbers(small, sums, state) for state in states]
    rows = np.array([list(vector.values()) for vector in vectors])
    square = np.array([name.startswith("squares") for name in sums.units])
    greatest = np.zeros(2)  # of all numbers but the squares, and of these
    for i, one in enumerate(states):
        apart = np.abs(rows[i + 1 :] - rows[i])
        parts = np.column_stack((apart[:, ~square].sum(axis=1), apart[:, square].sum(axis=1)))
        # Only pairs that are farther apart than any before need to be looked at.
        for j in np.flatnonzero((parts > greatest + 1e-12).any(axis=1) | (apart.sum(axis=1) > bound.l1)):
            if neighbours(one, states[i + 1 + j], unit, sizes=small.sizes is not None):
                assert apart[j].sum() <= bound.l1, (one, states[i + 1 + j])
                greatest = np.maximum(greatest, parts[j])
    assert 0 < greatest[0] <= rest * (1 + 1e-12)
    assert greatest[1] <= (bound.l1 - rest) * (1 + 1e-9)
    if (small.name, unit) in ATTAINED:
        assert greatest[0] == pytest.approx(ATTAINED[small.name, unit] * sums.width)
        assert greatest[0] == pytest.approx(rest)
    if (small.name, unit) in SQUARES_ATTAINED:
        assert greatest[1] == pytest.approx(bound.l1 - rest, rel=1e-6)


@pytest.mark.parametrize("small", [s for s in SMALL if s.kept is None], ids=lambda small: small.name)
def test_the_program_computes_the_numbers_by_their_definition(small: Small) -> None:
    sums = small.sums()
    for state in list(small.states())[::37]:
        columns = [
            (f"p{p}", f"r{j}", score)
            for p, (holders, row) in enumerate(zip(state.held, state.scores, strict=True))
            for j, score in zip(holders, row, strict=True)
        ]
        papers, people, scores = zip(*columns, strict=True)
        reviews = pv.Reviews.from_columns(papers, people, scores, scale=(0, 1))
        weight = reviews.score
        if small.quantity == "miscalibration":
            total, size = np.bincount(reviews.paper, weights=weight), np.bincount(reviews.paper)
            weight = weight - (total[reviews.paper] - weight) / (size[reviews.paper] - 1)
        pairs = zip(reviews.paper.tolist(), reviews.reviewer.tolist(), strict=True)
        mine = np.array([small.of_review(p, state.groups[j]) for p, j in pairs])
        ours = true_numbers(sums, reviews, weight, mine)
        assert ours == pytest.approx(list(numbers(small, sums, state).values()), abs=1e-12)


def test_the_squares_cost_a_fifth_of_the_budget() -> None:
    sums = SMALL[0].sums()
    assert sums._exchanged("reviewer") == pytest.approx(sums.sensitivity("reviewer").l1 * (1 - SQUARES_SHARE))
    stated = GroupSums(weights=sums.weights, limits=sums.limits, icc=0.2)
    assert not any(name.startswith("squares") for name in stated.units)
    assert stated.sensitivity("reviewer").l1 == pytest.approx(stated._exchanged("reviewer"))


def test_the_mixture_of_groups_within_papers_is_released_only_where_it_is_not_known() -> None:
    weights = pv.weigh(pv.PublicRecord.from_rows([[1, 2], [2, 3]], load=2), "miscalibration")
    sums = GroupSums(weights=weights, limits=(-1, 1))
    assert list(sums.units) == ["sum_1", "reviews_1", "mixed", "squares_1", "squares_2"]
    assert sums.units["mixed"] == MIXED_UNIT * 2
    assert "mixed" not in GroupSums(weights=weights, limits=(-1, 1), randomised=True).units


def test_what_cannot_be_compared_is_refused() -> None:
    record = pv.PublicRecord.from_rows([[None, 2], [2, 3]], load=2, scale=(1, 5))
    with pytest.raises(InputError, match="needs public scores"):
        GroupSums(weights=pv.weigh(record, "miscalibration"), limits=(-1, 1))
    public = pv.weigh(pv.PublicRecord.from_rows([[1, 2], [2, 3]], load=2), "miscalibration")
    with pytest.raises(InputError, match="neither group"):
        GroupSums(weights=public, limits=(-1, 1), others=True)
    for limits in ((1.0, 1.0), (2.0, 1.0), (0.0, math.inf)):
        with pytest.raises(InputError, match="limits must be"):
            GroupSums(weights=public, limits=limits)
    with pytest.raises(InputError, match="icc must be a number between 0 and 1"):
        GroupSums(weights=public, limits=(-1, 1), icc=1.5, randomised=True)
    with pytest.raises(InputError, match="all public weights are equal"):
        default_limits(pv.PublicWeights.from_rows([[1, 1]], load=1))


def test_weights_at_few_places_lose_nothing_where_none_is_clipped() -> None:
    for rows in ([[0, 1]] * 9, [[0, 0], [0, 1]], [[2, 4], [4, 4]]):
        weights = pv.PublicWeights.from_rows(rows, load=2)
        assert GroupSums(weights=weights, limits=(-1, 5)).passing == 1
    rng = np.random.default_rng(4)
    uniform = pv.PublicWeights.from_rows(rng.random((5_000, 2)).tolist(), load=2)
    assert GroupSums(weights=uniform, limits=(0.1, 0.8)).passing == pytest.approx(0.7, abs=0.03)


@pytest.mark.parametrize(("limits", "spread"), [((2, 9), 1.76), ((3, 8), 1.5), ((2.5, 9), 2.5), ((1, 10), 2.5)])
def test_the_mean_of_clipped_scores_shows_the_stated_part_of_a_shift(
    limits: tuple[float, float], spread: float
) -> None:
    """Scores are rounded normal variables on a scale; a shift of these by 0.1 is computed exactly."""

    def chances(shift: float) -> list[float]:
        ends = [0.5 * (1 + math.erf((cut - 0.5 - 5.3 - shift) / spread / math.sqrt(2))) for cut in range(2, 11)]
        return [float(chance) for chance in np.diff([0.0, *ends, 1.0])]

    scores = np.arange(1.0, 11.0)
    before, after = np.array(chances(-0.05)), np.array(chances(0.05))
    whole = float((after - before) @ scores)
    part = float((after - before) @ np.clip(scores, *limits))
    public = np.repeat(scores, np.rint(30_000 * (before + after)).astype(int))
    weights = pv.PublicWeights.from_rows(public[: public.size // 2 * 2].reshape(-1, 2).tolist(), load=2)
    assert GroupSums(weights=weights, limits=limits).passing == pytest.approx(part / whole, abs=0.003)
