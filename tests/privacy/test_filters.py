"""Reviews left out by public labels: all neighbours of small whole conferences, for every choice of labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from random import Random

import polars as pl
import pytest

import peerveil as pv
from marks import slow
from peerveil.privacy.guarantee import UNITS, Unit
from peerveil.privacy.sensitivity import Sensitivity, sensitivity
from peerveil.private.release import prepare_release
from peerveil.private.true_vector import true_vector
from reference.neighbours import neighbours_up_to_names
from reference.theta import Assignment, assignments

Rows = list[list[float]]
Place = tuple[int, int]  # a review: its paper, and which of its reviews
View = tuple[tuple[Fraction, ...], tuple[int, ...]]  # the kept means, and the kept loads


def filtered(rows: Rows, assignment: Assignment, kept: set[Place]) -> pv.Reviews:
    """The kept reviews of a conference, by a filter on a column that is public for every review."""
    places = [(p, k) for p, row in enumerate(rows) for k in range(len(row))]
    frame = pl.DataFrame(
        {
            "paper": [f"p{p}" for p, _ in places],
            "reviewer": [f"r{assignment[p][k]}@x.org" for p, k in places],
            "score": [rows[p][k] for p, k in places],
            "Type": ["Review" if place in kept else "Meta" for place in places],
        }
    )
    return pv.read(frame, scale=(0, 1), ids="people", only="Type=Review", visible_column="Type=review")


def view(rows: Rows, assignment: Assignment, kept: Iterable[Place]) -> View:
    """What is seen of an assignment, in exact numbers; independent of the package."""
    held: dict[int, list[Fraction]] = {}
    for p, k in kept:
        held.setdefault(assignment[p][k], []).append(Fraction(rows[p][k]))
    means = sorted(sum(mine, Fraction(0)) / len(mine) for mine in held.values())
    return tuple(means), tuple(sorted(map(len, held.values())))


def counts_apart(one: Sequence[Fraction], other: Sequence[Fraction], people: int) -> int:
    """How far counts in the finest bins are apart, with those who have no kept review counted as well."""
    cells = Counter([*one, *[Fraction(-1)] * (people - len(one))])
    cells.subtract([*other, *[Fraction(-1)] * (people - len(other))])
    return sum(map(abs, cells.values()))


def exceeds(one: Sequence[Fraction], other: Sequence[Fraction], bound: Sensitivity) -> bool:
    moves = [abs(x - y) for x, y in zip(one, other, strict=True)]
    squares = sum((move * move for move in moves), Fraction(0))
    return sum(moves) > bound.l1 or squares > Fraction(bound.l2) ** 2 or max(moves) > bound.linf


def check(rows: Rows, loads: list[int], unit: Unit, label_sets: Iterable[set[Place]]) -> tuple[int, int]:
    """No pair exceeds a bound; returns the numbers of label sets, and of those whose bound on counts is attained."""
    pairs = list(neighbours_up_to_names(list(assignments(rows, loads)), loads, unit))
    assert pairs
    tried = attained = 0
    for kept in label_sets:
        views = {each: view(rows, each, kept) for each in {each for pair in pairs for each in pair}}
        seen = {(views[one], views[other]): one for one, other in pairs}
        bounds: dict[tuple[int, ...] | None, tuple[pv.PublicWeights, Sensitivity]] = {}
        furthest = 0
        for ((before, loads_before), (after, loads_after)), one in seen.items():
            declared = loads_before if loads_before == loads_after else None
            for key in {None, declared} - bounds.keys():
                record = filtered(rows, one, kept).public("all", declare_kept=key is not None)
                assert record.part is not None
                weights = pv.weigh(record)
                bounds[key] = weights, sensitivity(weights, unit)
            apart = counts_apart(before, after, len(loads))
            furthest = max(furthest, apart)
            for key in {None, declared}:
                weights, bound = bounds[key]
                assert bound.counts is not None
                assert apart <= bound.counts
                if not weights.open:
                    assert len(before) == len(after) == weights.reviewers
                    assert not exceeds(before, after, bound)
        tried += 1
        attained += furthest == bounds[None][1].counts
    return tried, attained


def every_label(rows: Rows) -> Iterator[set[Place]]:
    """Every choice of reviews to keep that keeps some and leaves some out."""
    places = [(p, k) for p, row in enumerate(rows) for k in range(len(row))]
    for count in range(1, len(places)):
        yield from map(set, combinations(places, count))


SMALL: list[tuple[Rows, list[int]]] = [
    ([[0.0, 1.0], [0.25, 1.0], [0.5, 1.0]], [2, 2, 2]),
    ([[0.0, 1.0], [0.25, 1.0], [0.5, 1.0]], [3, 2, 1]),
    ([[0.0, 0.5, 1.0], [0.25, 0.75, 1.0]], [1, 1, 2, 2]),
    ([[0.0, 1.0], [0.25, 0.75], [0.5, 1.0]], [2, 2, 1, 1]),
]


# Theorem S16.
@pytest.mark.promise("P-PARTS-1", by="exhaustion")
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(("rows", "loads"), [SMALL[0], *(slow(*small) for small in SMALL[1:])])
def test_no_neighbours_exceed_the_bounds_of_what_any_labels_keep(rows: Rows, loads: list[int], unit: Unit) -> None:
    tried, attained = check(rows, loads, unit, every_label(rows))
    assert tried == 2 ** sum(map(len, rows)) - 2
    assert attained


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("seed", range(6))
def test_random_labels_of_random_conferences(seed: int, unit: Unit) -> None:
    rng = Random(seed)
    rows = [[rng.choice([0.0, 0.3, 0.6, 1.0]) for _ in range(rng.choice([2, 2, 3]))] for _ in range(3)]
    loads = [0] * rng.choice([3, 4, 5])
    for _ in range(sum(map(len, rows))):
        loads[rng.choice([j for j, load in enumerate(loads) if load < len(rows)])] += 1
    loads = sorted((load for load in loads if load), reverse=True)
    places = [(p, k) for p, row in enumerate(rows) for k in range(len(row))]
    labels = [set(rng.sample(places, rng.randrange(1, len(places)))) for _ in range(12)]
    assert any(True for _ in assignments(rows, loads))  # of these seeds all have one
    tried, _ = check(rows, loads, unit, labels)
    assert tried == 12


def kept_means(rows: Rows, assignment: Assignment, kept: Sequence[Place], quantity: str) -> list[Fraction]:
    """The means of the kept reviews, each weighed by the kept reviews of its paper alone."""
    held: dict[int, list[Fraction]] = {}
    for p, k in kept:
        others = [Fraction(rows[p][j]) for q, j in kept if q == p and j != k]
        weight = Fraction(rows[p][k]) - (sum(others, Fraction(0)) / len(others) if quantity == "miscalibration" else 0)
        held.setdefault(assignment[p][k], []).append(weight)
    return sorted(sum(mine, Fraction(0)) / len(mine) for mine in held.values())


@pytest.mark.parametrize("quantity", ["ratings", "miscalibration"])
@pytest.mark.parametrize("unit", UNITS)
def test_hidden_scores_of_what_labels_keep(unit: Unit, quantity: str) -> None:
    """Two reviews of each paper are kept; exchanged reviews, kept or not, have other scores at an end of the scale."""
    rows, loads = [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]], [2, 2, 1, 1]
    listed = list(assignments(rows, loads))
    pairs = list(neighbours_up_to_names(listed, loads, unit))
    pairs = pairs[:: max(1, len(pairs) // 40)]
    room = 1 + Fraction(2) ** -40
    for out in product(range(3), repeat=2):
        kept = [(p, k) for p in range(2) for k in range(3) if k != out[p]]
        reviews = filtered(rows, listed[0], set(kept))
        weights = pv.weigh(reviews.public("none"), quantity)
        bound = sensitivity(weights, unit)
        for one, other in pairs:
            moved = [(p, k) for p, row in enumerate(one) for k in range(len(row)) if one[p][k] != other[p][k]]
            before = kept_means(rows, one, kept, quantity)
            for ends in product((0.0, 1.0), repeat=len(moved)):
                changed = [list(row) for row in rows]
                for (p, k), end in zip(moved, ends, strict=True):
                    changed[p][k] = end
                after = kept_means(changed, other, kept, quantity)
                none = [[Fraction(-100)] * (len(loads) - len(side)) for side in (before, after)]
                cells = Counter([*before, *none[0]])
                cells.subtract([*after, *none[1]])
                assert sum(map(abs, cells.values())) <= bound.counts  # type: ignore[operator]
                if not weights.open:
                    assert not exceeds(before, after, replace(bound, l1=bound.l1 * room, l2=bound.l2 * room))


def crossing(b: int, largest: int) -> tuple[list[pv.Reviews], int]:
    """Two neighbouring conferences in which ``1 + min(2b, L)`` means change, and no paper is left out whole.

    z holds b kept reviews. In p exchanges a kept review goes for a kept one, in b - p a kept one to somebody who has
    b - 1, and in b - p a kept one comes from somebody who has b. Whoever else reviews a paper does nothing else.
    """
    rng = Random(b * 100 + largest)
    both = max(0, 2 * b - largest)
    papers: list[tuple[str, str, float, str]] = []  # holder before, holder after, score, type

    def give(holder: str, count: int, kind: str) -> list[int]:
        papers.extend((holder, holder, rng.random(), kind) for _ in range(count))
        return list(range(len(papers) - count, len(papers)))

    def exchange(one: int, other: int) -> None:
        papers[one], papers[other] = (
            (papers[i][0], papers[j][0], *papers[i][2:]) for i, j in ((one, other), (other, one))
        )

    mine, others = give("z", b, "Review"), give("z", b - both, "Meta")
    for i in range(both):
        exchange(mine[i], give(f"both{i}", b, "Review")[0])
    for i in range(b - both):
        (theirs,) = give(f"gets{i}", 1, "Meta")
        give(f"gets{i}", b - 1, "Review")
        exchange(mine[both + i], theirs)
        exchange(others[i], give(f"gives{i}", b, "Review")[0])
    give("busy", b, "Review")
    give("busy", largest - b, "Meta")
    give("aside", 1, "Meta")
    worlds = []
    for side in (0, 1):
        table = [(f"p{i}", row[side], row[2], row[3]) for i, row in enumerate(papers)]
        table += [(f"p{i}", f"beside{i}", 0.5, "Review") for i, row in enumerate(papers) if row[3] == "Meta"]
        frame = pl.DataFrame(table, schema=["paper", "reviewer", "score", "Type"], orient="row")
        worlds.append(
            pv.read(frame, scale=(0, 1), ids="people", leave_out="Type=Meta", visible_column={"Type": "review"})
        )
    return worlds, 1 + both + 2 * (b - both)


@pytest.mark.parametrize(("b", "largest"), [(2, 2), (2, 3), (2, 4), (3, 4), (3, 6), (4, 5), (4, 8), (4, 9)])
def test_the_bound_on_counts_is_attained_without_leaving_out_papers(b: int, largest: int) -> None:
    worlds, moved = crossing(b, largest)
    assert worlds[0].papers == worlds[1].papers
    assert len(worlds[0].papers) == len(set(worlds[0].whole.paper.tolist()))  # type: ignore[union-attr]
    assert worlds[0].loads() == worlds[1].loads()
    assert moved == 1 + min(2 * b, largest)
    records = [world.public("all", declare_kept=True) for world in worlds]
    assert pv.weigh(records[0]).digest() == pv.weigh(records[1]).digest()
    one, other = (Counter(true_vector(world, "ratings").tolist()) for world in worlds)
    one.subtract(other)
    assert sum(map(abs, one.values())) == sensitivity(pv.weigh(records[0]), "reviewer").counts == 2 * moved
    # Without the declaration, the bound is that of the largest load; it is no smaller.
    assert sensitivity(pv.weigh(worlds[0].public("all")), "reviewer").counts == 2 * (1 + largest)


def test_the_pair_loses_no_more_than_epsilon() -> None:
    """At the noise that is really drawn, with the cell of those who have no kept review."""
    worlds, _ = crossing(3, 6)
    ready = [
        prepare_release(
            world,
            public="all",
            quantity="ratings",
            mechanism=pv.Histogram(epsilon=1.0, bins=4096),
            unit="reviewer",
            declare_kept=False,
        )
        for world in worlds
    ]
    scale = ready[0].noise.mechanism.describe()["scale"]
    truths = [each.protected().truth for each in ready]
    assert abs(truths[0] - truths[1]).sum() / scale == pytest.approx(1)
