from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings

import peerveil as pv
from peerveil.guarantee import UNITS
from peerveil.private.truth import true_vector
from peerveil.sensitivity import l1_sensitivity
from reference.neighbours import neighbours
from reference.theta import assignments, means
from strategies import PAPERS, Case, cases


def largest_l1(rows: list[list[float]], loads: list[int], unit: str) -> Fraction:
    listed = list(assignments(rows, loads))
    vectors = {a: means(rows, a, loads) for a in listed}
    return max(
        (
            sum((abs(x - y) for x, y in zip(vectors[one], vectors[other], strict=True)), Fraction(0))
            for one, other in neighbours(listed, unit)
        ),
        default=Fraction(0),
    )


@given(cases(most_reviews=6))
@settings(max_examples=120)
def test_no_neighbours_of_any_assignment_are_further_apart(case: Case) -> None:
    for unit in UNITS:
        assert largest_l1(case.rows, case.loads, unit) <= Fraction(l1_sensitivity(case.weights(), unit))


@pytest.mark.parametrize(
    ("rows", "loads"),
    [
        ([[0.0, 1.0]] * 4, [2, 2, 2, 2]),
        ([[0.0, 0.0, 1.0], [0.0, 1.0, 1.0]], [1, 1, 1, 1, 2]),
        ([[0.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 1.0]], [2, 2, 2, 2]),
        ([[0.0, 0.0, 1.0]] * 3, [3, 3, 3]),
        ([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [3, 2, 1]),
        ([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [3, 1, 1, 1]),
    ],
)
def test_exhaustively_on_whole_records(rows: list[list[float]], loads: list[int]) -> None:
    weights = pv.PublicWeights.from_rows(rows, loads={load: loads.count(load) for load in set(loads)})
    for unit in UNITS:
        assert largest_l1(rows, loads, unit) <= Fraction(l1_sensitivity(weights, unit))


@pytest.mark.parametrize("unit", UNITS)
def test_the_bound_for_equal_loads_is_attained(unit: str) -> None:
    rows, loads = [[0.0, 1.0]] * 4, [2, 2, 2, 2]
    bound = l1_sensitivity(pv.PublicWeights.from_rows(rows, load=2), unit)  # type: ignore[arg-type]
    assert float(largest_l1(rows, loads, unit)) == pytest.approx(bound, rel=1e-12)


@given(cases(most_reviews=6))
@settings(max_examples=60)
def test_vectors_as_computed_in_floating_point_obey_it_too(case: Case) -> None:
    listed = list(assignments(case.rows, case.loads))[:60]
    scores = [x for row in case.rows for x in row]
    papers = [PAPERS[p] for p, row in enumerate(case.rows) for _ in row]
    computed = {
        a: true_vector(pv.Reviews.from_columns(papers, [f"r{j}" for row in a for j in row], scores), "ratings")
        for a in listed
    }
    for unit in UNITS:
        bound = Fraction(l1_sensitivity(case.weights(), unit))
        for one, other in neighbours(listed, unit):
            pairs = zip(computed[one].tolist(), computed[other].tolist(), strict=True)
            assert sum(abs(Fraction(x) - Fraction(y)) for x, y in pairs) <= bound


def test_what_every_assignment_shares_has_no_sensitivity() -> None:
    for rows, load in (([[1, 5, 2]], 1), ([[3, 3], [3, 3]], 2)):
        for unit in UNITS:
            assert l1_sensitivity(pv.PublicWeights.from_rows(rows, load=load), unit) == 0
