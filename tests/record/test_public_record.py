from __future__ import annotations

from collections import Counter
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import peerveil as pv
from peerveil.record.loads import declare_loads
from peerveil.record.public_record import check_assignable
from peerveil.regions.baseline import shares
from reference.theta import assignments, theta_among
from strategies import Case, cases


def test_loads_can_be_stated_in_four_ways() -> None:
    assert declare_loads(12, load=3).counts == (4,)
    assert declare_loads(11, loads={2: 1, 3: 3}).sizes == (2, 3)
    assert declare_loads(11, loads={2, 3}, reviewers=4) == declare_loads(11, loads={2: 1, 3: 3})
    assert declare_loads(11, loads=(1, 6), reviewers=4).sizes == (1, 2, 3, 4, 5, 6)
    assert declare_loads(11, reviewers=4, papers=5).sizes == (1, 2, 3, 4, 5)
    # arithmetic on public numbers narrows what was stated: three others hold at least one each
    assert declare_loads(5, loads=(1, 6), reviewers=4).counts == (3, 1)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ({"load": 4}, "load=4 does not divide the 10 reviews"),
        ({"load": 5, "reviewers": 3}, "reviewers=3 with load=5 make 15 reviews, but the record has 10"),
        ({"loads": {3: 2, 2: 1}}, "make 3 reviewers and 8 reviews, but the record has 3 reviewers and 10 reviews"),
        ({"loads": {3: 2, 4: 1}, "reviewers": 5}, "make 3 reviewers and 10 reviews, but the record has 5"),
        ({"loads": (3, 4), "reviewers": 2}, "hold between 6 and 8 reviews, but the record has 10"),
        ({"loads": {2, 5}, "reviewers": 3}, "no numbers of reviewers with loads 2, 5 make 3 reviewers and 10"),
        ({"loads": (4, 3), "reviewers": 3}, "needs low <= high"),
        ({"loads": (1, 3)}, "must be stated"),
        ({}, "must be stated"),
        ({"load": 0}, "load must be a whole number of at least 1, got 0"),
        ({"load": 2.5}, "load must be a whole number of at least 1, got 2.5"),
        ({"load": 2, "loads": {2: 5}}, "state load= or loads=, not both"),
        ({"loads": {2: -5, 4: 5}}, "the count of a load must be a whole number of at least 0, got -5"),
        ({"loads": {2: 5.0}}, "the count of a load must be a whole number"),
        ({"load": float("nan")}, "load must be a whole number"),
        ({"load": "2"}, "load must be a whole number"),
        ({"loads": set(), "reviewers": 3}, "loads must be counts"),
        ({"loads": 2, "reviewers": 3}, "loads must be counts"),
        ({"loads": [1, 6], "reviewers": 3}, "loads must be counts"),
        ({"loads": {2, 6, 8}, "reviewers": 3}, None),
        ({"loads": {1, 5, 9}, "reviewers": 3}, "no numbers of reviewers with loads 1, 5 make"),
        ({"reviewers": -1}, "reviewers must be a whole number"),
    ],
)
def test_loads_that_do_not_add_up_are_refused_with_the_numbers(
    statement: dict[str, object], message: str | None
) -> None:
    if message is None:
        declare_loads(10, **statement)  # type: ignore[arg-type]
        return
    with pytest.raises(pv.RecordError, match=message):
        declare_loads(10, **statement)  # type: ignore[arg-type]


@given(st.sets(st.integers(1, 9), min_size=1, max_size=4), st.integers(1, 5), st.integers(1, 40))
def test_sets_of_loads_are_refused_exactly_if_they_cannot_add_up(sizes: set[int], reviewers: int, reviews: int) -> None:
    possible = any(sum(loads) == reviews for loads in combinations_with_replacement(sorted(sizes), reviewers))
    if not possible:
        with pytest.raises(pv.RecordError):
            declare_loads(reviews, loads=sizes, reviewers=reviewers)
    else:
        stated = declare_loads(reviews, loads=sizes, reviewers=reviewers)
        assert set(stated.sizes) <= sizes


def test_a_stated_range_is_narrowed_to_the_number_of_papers() -> None:
    wide = pv.PublicWeights.from_rows([[0, 1, 2, 3]] * 3, loads=(1, 10**12), reviewers=5)
    narrow = pv.PublicWeights.from_rows([[0, 1, 2, 3]] * 3, loads=(1, 3), reviewers=5)
    assert wide.loads == narrow.loads
    assert declare_loads(12, loads=(1, 3), reviewers=np.int64(5)).reviewers == 5  # type: ignore[arg-type]


@given(cases(most_reviews=7, uniform=False))
def test_the_total_of_every_assignment_lies_in_the_stated_range(case: Case) -> None:
    low, high = min(case.loads), max(case.loads)
    open_loads = pv.PublicWeights.from_rows(case.rows, loads=(low, high), reviewers=case.reviewers)
    least, greatest = pv.region(open_loads, "baseline").total
    slack = 1e-9 * max(1e-300, *(abs(x) for row in case.rows for x in row))
    for vector in theta_among(case.rows, case.reviewers, range(low, high + 1)):
        assert least - slack <= sum(vector) <= greatest + slack


@given(st.lists(st.integers(1, 6), min_size=1, max_size=8))
def test_shares_of_a_range_majorise_the_true_ones(loads: list[int]) -> None:
    true = np.sort(np.repeat([1 / load for load in loads], loads))[::-1]
    stated = declare_loads(sum(loads), loads=(1, 6), reviewers=len(loads))
    widest = shares(stated)
    assert widest.sum() == pytest.approx(len(loads))
    assert (np.diff(widest) <= 1e-12).all()
    assert (np.cumsum(widest) >= np.cumsum(true) - 1e-9).all()


@given(st.lists(st.integers(1, 3), min_size=1, max_size=4), st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_records_nobody_can_have_are_refused_and_no_others(sizes: list[int], loads: list[int]) -> None:
    if sum(sizes) != sum(loads):
        return
    rows = [[1.0] * size for size in sizes]
    exists = next(iter(assignments(rows, loads)), None) is not None
    counts = {load: loads.count(load) for load in set(loads)}
    if exists:
        pv.PublicRecord.from_rows(rows, loads=counts)
    else:
        with pytest.raises(pv.RecordError):
            pv.PublicRecord.from_rows(rows, loads=counts)


def test_records_are_canonical_and_frozen() -> None:
    a = pv.PublicRecord.from_rows([[8, 6], [3, 5]], papers=["x", "y"], load=2)
    b = pv.PublicRecord.from_rows([[5, 3], [6, 8]], papers=["y", "x"], load=2)
    assert a.papers == b.papers
    assert a.rows() == b.rows() == [[6, 8], [3, 5]]
    assert pv.weigh(a).digest() == pv.weigh(b).digest()
    with pytest.raises(ValueError, match="read-only"):
        a.score[0] = 1
    with pytest.raises(AttributeError):
        a.scale = (0, 1)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([[1, float("nan")]], {"load": 1}, "finite"),
        ([[1, 11]], {"load": 1, "scale": (1, 10)}, "1 of 2 scores lie outside the declared scale 1 to 10"),
        ([[1, 2]], {"load": 1, "scale": (10, 1)}, "scale must be two finite numbers"),
        ([[1], []], {"load": 1}, "at least one score"),
        ([], {"load": 1}, "at least one paper"),
        ([[1], [2]], {"load": 1, "papers": ["a", "a"]}, "occurs twice"),
        ([[1], [2]], {"load": 1, "papers": ["a"]}, "1 names for 2 rows"),
        ([[1, 2, 3]], {"load": 3}, "a paper has 3 reviews but there are only 1 reviewers"),
        ([[1]] * 4, {"loads": {1: 1, 3: 1}, "reviewers": 2}, None),
        ([[1, 2], [1, 2]], {"loads": {1: 1, 3: 1}}, "load of 3 but there are only 2 papers"),
        ([[1, 2, 3], [1], [1], [1]], {"loads": {4: 1, 1: 2}}, None),
        ([[1, 2, 3], [1, 2, 3], [1], [1]], {"loads": {4: 1, 3: 1, 1: 1}}, "the 2 busiest reviewers would hold 7"),
    ],
)
def test_what_does_not_make_a_record(rows: list[list[float]], options: dict[str, object], message: str | None) -> None:
    if message is None:
        pv.PublicRecord.from_rows(rows, **options)  # type: ignore[arg-type]
    else:
        with pytest.raises(pv.RecordError, match=message):
            pv.PublicRecord.from_rows(rows, **options)  # type: ignore[arg-type]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=6), st.lists(st.integers(1, 5), min_size=1, max_size=6))
def test_a_record_is_taken_exactly_if_some_assignment_has_it(sizes: list[int], held: list[int]) -> None:
    if sum(sizes) != sum(held):
        return
    loads = declare_loads(sum(sizes), loads=dict(Counter(held)))
    most = sorted(held, reverse=True)
    possible = all(sum(most[:j]) <= sum(min(size, j) for size in sizes) for j in range(1, len(held) + 1))
    possible = possible and max(sizes) <= len(held)  # Gale and Ryser, with every j
    try:
        check_assignable(np.array(sizes), loads)
    except pv.RecordError:
        assert not possible
    else:
        assert possible


def test_lost_zeros_and_views_are_copied() -> None:
    score = np.array([-0.0, 1.0])
    view = score[:]
    score.flags.writeable = False
    record = pv.PublicRecord.from_rows([[0, 1]], load=1)
    again = pv.PublicRecord(papers=record.papers, paper=record.paper, score=score, loads=record.loads)
    assert not np.signbit(again.score).any()
    view[1] = 5
    assert again.score.tolist() == [0, 1]
    assert again.paper is record.paper  # it cannot change: no second copy
    with pytest.raises(pv.RecordError, match="papers that are not among the 1 named ones"):
        pv.PublicRecord(papers=record.papers, paper=np.array([0, 1]), score=score, loads=record.loads)
