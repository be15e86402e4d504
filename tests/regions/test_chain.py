from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import peerveil as pv
from peerveil.regions.chain import lower_bounds
from peerveil.regions.tuples import TupleOrder
from reference.chain import Tuple, chain_bounds, valid_tuples
from reference.theta import theta, theta_among
from strategies import Case, cases


def fast(rows: list[list[float]], reviewers: int, sizes: list[int], effort: int | None = None) -> list[list[float]]:
    lower, _ = lower_bounds(rows, reviewers, sizes, effort=effort)
    mirrored, _ = lower_bounds([[-x for x in row] for row in rows], reviewers, sizes, effort=effort)
    return [lower.tolist(), (-mirrored[::-1]).tolist()]


def random_record(rng: np.random.Generator, reviewers: int, load: int) -> list[list[float]]:
    """Rows of different lengths that sum to reviewers * load."""
    left, rows = reviewers * load, []
    while left:
        size = int(rng.integers(1, min(reviewers, left) + 1))
        rows.append(rng.random(size).tolist())
        left -= size
    return rows if len(rows) >= load else random_record(rng, reviewers, load)


def test_worked_example_of_the_paper() -> None:
    weights = pv.PublicWeights.from_rows([[0, 0, 0], [0, 0, 0], [0, 0, 0], [1, 2, 3]], load=3)
    region = pv.region(weights, "chain")
    assert region.lower.tolist() == region.upper.tolist() == [0, 1 / 3, 2 / 3, 1]
    assert pv.project([5, -5, 0.2, 7], region).values.tolist() == [0, 1 / 3, 2 / 3, 1]


@pytest.mark.data("chain_bounds_authors.json")
def test_equals_the_authors_program(data: Path) -> None:
    found = json.loads((data / "chain_bounds_authors.json").read_text())["cases"]
    assert len(found) >= 7
    for case in found:
        region = pv.region(pv.PublicWeights.from_rows(case["rows"], load=case["load"]), "chain")
        np.testing.assert_allclose(region.lower, case["lower"], rtol=0, atol=1e-12)
        np.testing.assert_allclose(region.upper, case["upper"], rtol=0, atol=1e-12)
        assert not region.notes


@pytest.mark.parametrize("seed", range(40))
def test_equals_the_literal_algorithm_without_ties(seed: int) -> None:
    rng = np.random.default_rng(seed)
    reviewers, load = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    rows = random_record(rng, reviewers, load)
    assert fast(rows, reviewers, [load]) == list(map(list, chain_bounds(rows, reviewers, [load])))


@given(cases(most_reviews=9))
@settings(max_examples=150)
def test_equals_the_literal_algorithm_with_ties_in_the_same_order(case: Case) -> None:
    sizes = sorted(set(case.loads))
    for sign, side in ((1, 0), (-1, 1)):
        rows = [sorted(sign * x for x in row) for row in case.rows]
        tie = tie_order(rows, sizes)
        lower, _ = lower_bounds(rows, case.reviewers, sizes)
        expected = chain_bounds([sorted(row) for row in sorted(rows)], case.reviewers, sizes, tie)[0]
        assert lower.tolist() == expected, side


def tie_order(rows: list[list[float]], sizes: list[int]) -> Callable[[Tuple], Fraction]:
    """The package's tie-breaking keys, for rows in sorted order; everything else of the reference stays its own."""
    order = TupleOrder.of(rows, sizes)
    low_bits = (1 << order.shift) - 1
    # Rows of the order are sorted by cost, which is by content, then by key: match them by content.
    by_content: dict[tuple[int, ...], list[list[int]]] = {}
    for row in order.rows:
        by_content.setdefault(tuple(cost >> order.shift for cost in row), []).append([c & low_bits for c in row])
    unit = order.unit // max(order.factors.values()) // min(order.factors)
    keys = [by_content[tuple(int(Fraction(x) * unit) for x in row)].pop() for row in sorted(map(sorted, rows))]

    def tie(chosen: Tuple) -> Fraction:
        return Fraction(sum(keys[p][i] for p, i in chosen), len(chosen))

    return tie


def test_search_continues_after_the_tuple_taken_before() -> None:
    # Loads {1, 3}: marking alone would allow 5.33 for the third entry.
    rows = [[4.0], [8.0 + 1e-7], [1.0], [9.0, 7.0 + 1e-6]]
    assert round(fast(rows, 3, [1, 3])[0][2], 4) == 6.0


@pytest.mark.parametrize("seed", range(15))
def test_tuples_come_once_each_in_ascending_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = sorted(set(rng.integers(1, 4, size=2).tolist()))
    rows = [rng.integers(0, 3, size=rng.integers(1, 4)).astype(float).tolist() for _ in range(5)]
    listed = list(TupleOrder.of(rows, sizes).ascending())
    assert len({reviews for _, reviews in listed}) == len(listed) == len(valid_tuples(rows, sizes))
    assert [cost for cost, _ in listed] == sorted(cost for cost, _ in listed)


@given(cases())
def test_neither_order_of_papers_nor_of_reviews_matters(case: Case) -> None:
    turned = [row[::-1] for row in case.rows[::-1]]
    a = pv.region(case.weights(), "chain")
    b = pv.region(pv.PublicWeights.from_rows(turned, loads=case.stated()), "chain")
    assert a.lower.tolist() == b.lower.tolist()
    assert a.upper.tolist() == b.upper.tolist()


# Theorem R3.
@given(cases(most_reviews=7))
@settings(max_examples=200)
def test_no_possible_vector_is_excluded(case: Case) -> None:
    possible = theta(case.rows, case.loads)
    for kind in ("baseline", "chain"):
        region = pv.region(case.weights(), kind)
        for vector in possible:
            assert region.contains([float(x) for x in vector])


@given(cases(most_reviews=6, uniform=False), st.integers(0, 2))
@settings(max_examples=100)
def test_no_possible_vector_is_excluded_when_only_a_range_of_loads_is_known(case: Case, extra: int) -> None:
    low, high = min(case.loads), min(max(case.loads) + extra, len(case.rows))
    possible = theta_among(case.rows, case.reviewers, range(low, high + 1))
    weights = pv.PublicWeights.from_rows(case.rows, loads=(low, high), reviewers=case.reviewers)
    for kind in ("baseline", "chain"):
        region = pv.region(weights, kind)
        for vector in possible:
            assert region.contains([float(x) for x in vector])


@given(cases(most_reviews=8), st.integers(0, 12))
@settings(max_examples=150)
def test_bounds_of_less_effort_are_weaker_and_valid(case: Case, effort: int) -> None:
    sizes = sorted(set(case.loads))
    exact = fast(case.rows, case.reviewers, sizes)
    short = fast(case.rows, case.reviewers, sizes, effort=effort)
    assert all(a <= b for a, b in zip(short[0], exact[0], strict=True))
    assert all(a >= b for a, b in zip(short[1], exact[1], strict=True))
    assert short[0] == sorted(short[0])


def test_large_and_mixed_loads_work_and_say_what_they_left_out() -> None:
    rng = np.random.default_rng(3)
    scores = rng.random(size=(60, 20))
    for loads in ({20: 60}, {15: 20, 20: 20, 25: 20}):
        region = pv.region(pv.PublicWeights.from_rows(scores, loads=loads), "chain")
        assert any("weaker bound" in note for note in region.notes)
        sample = np.sort(rng.permutation(scores.ravel()).reshape(60, 20).mean(axis=1))
        assert (region.lower <= sample).all()
        assert (sample <= region.upper).all()
        assert region.lower[1] > region.lower[0]  # the weaker bound still says something
    region = pv.region(pv.PublicWeights.from_rows(np.ones((100, 2)), reviewers=5, loads=(1, 90)), "chain")
    assert region.notes


@given(st.floats(-10, 10), st.integers(1, 5), st.integers(1, 3))
def test_axiom_a1_identical_weights(z: float, reviewers: int, load: int) -> None:
    rows = [[z] * reviewers] * load
    for kind in ("baseline", "chain"):
        values = pv.project(np.arange(reviewers) * 7.0, pv.region(pv.PublicWeights.from_rows(rows, load=load), kind))
        assert values.values.tolist() == [z] * reviewers


@given(cases(uniform=True).filter(lambda case: case.loads[0] == 1))
def test_axiom_a2_loads_of_one(case: Case) -> None:
    region = pv.region(case.weights(), "chain")
    values = pv.project([0.5] * case.reviewers, region).values
    assert values.tolist() == sorted(x for row in case.rows for x in row)


@given(
    st.sampled_from([1.0, -1.0]),
    st.lists(st.integers(0, 4), min_size=1, max_size=4),
    st.integers(1, 3),
    st.integers(0, 2),
)
def test_axiom_a3_all_papers_but_one_are_zero(sign: float, row: list[int], load: int, more: int) -> None:
    size = len(row)
    papers = load + more
    if papers * size % load:
        papers += load - papers % load
    reviewers = papers * size // load
    rows = [[sign * x for x in row], *([[0.0] * size] * (papers - 1))]
    region = pv.region(pv.PublicWeights.from_rows(rows, load=load), "chain")
    values = pv.project(np.linspace(3, -3, reviewers), region).values
    expected = sorted([sign * x / load for x in row] + [0.0] * (reviewers - size))
    np.testing.assert_allclose(values, expected, atol=1e-15)


def test_axiom_a3_is_not_promised_for_mixed_signs() -> None:
    rows = [[-1.0, -1, 1, 1], [0.0] * 4, [0.0] * 4]
    region = pv.region(pv.PublicWeights.from_rows(rows, load=2), "chain")
    assert region.lower.tolist() != region.upper.tolist()


def test_the_order_of_huge_and_tiny_weights_is_exact() -> None:
    rows = [[1e300, 1e-300], [5e-324, -1e300], [0.1, 0.2], [0.3, 0.1 + 0.2]]
    assert fast(rows, 4, [2]) == list(map(list, chain_bounds(rows, 4, [2])))


def test_enumeration_is_lazy() -> None:
    rows = [[1.0] * 4] * 5000  # 5,000 choose 4 times 256 tuples: more than could ever be listed
    assert len(list(islice(TupleOrder.of(rows, [4]).ascending(), 10))) == 10
