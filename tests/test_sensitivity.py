from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import peerveil as pv
from peerveil.guarantee import UNITS, Unit
from peerveil.private.truth import true_vector
from peerveil.sensitivity import l1_sensitivity
from reference.neighbours import flat, neighbours, neighbours_up_to_names
from reference.theta import Assignment, assignments, means
from strategies import PAPERS, Case, cases, hidden_cases, hidden_variants, visible


def largest_l1(rows: list[list[float]], loads: list[int], unit: str) -> Fraction:
    listed = list(assignments(rows, loads))
    vectors = {a: means(rows, a, loads) for a in listed}
    return max(
        (
            sum((abs(x - y) for x, y in zip(vectors[one], vectors[other], strict=True)), Fraction(0))
            for one, other in neighbours_up_to_names(listed, loads, unit)
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


def test_round_off_is_part_of_the_bound() -> None:
    """Means near a large offset move by more than the exact ones: the bound must hold for what is computed."""
    rng = np.random.default_rng(5)
    worst = 0.0
    for _ in range(400):
        scores = (1e6 + rng.integers(0, 2, 9) * np.spacing(1e6)).tolist()
        papers = [*"pppqqqrrr"]
        base, swapped = [*"abcabcabc"], [*"bacabcabc"]
        one, other = (true_vector(pv.Reviews.from_columns(papers, who, scores), "ratings") for who in (base, swapped))
        weights = pv.PublicWeights.from_rows([scores[:3], scores[3:6], scores[6:]], load=3)
        distance = sum(abs(Fraction(x) - Fraction(y)) for x, y in zip(one.tolist(), other.tolist(), strict=True))
        bound = Fraction(l1_sensitivity(weights, "review"))
        exact = 2 * (Fraction(weights.span[1]) - Fraction(weights.span[0])) / 3
        assert distance <= bound
        worst = max(worst, float(distance / exact)) if exact else worst
    assert worst > 1  # without the widening it would not hold


@given(hidden_cases(), st.sampled_from(UNITS), st.sampled_from(["ratings", "miscalibration"]))
@settings(max_examples=40)
def test_hidden_scores_may_change_with_the_exchange(
    pair: tuple[Case, list[list[bool]]], unit: Unit, quantity: str
) -> None:
    case, hidden = pair
    bound = Fraction(l1_sensitivity(pv.weigh(visible(case, hidden), quantity, lone="zero"), unit))
    flags = [h for row in hidden for h in row]
    papers = [PAPERS[p] for p, row in enumerate(case.rows) for _ in row]
    listed = list(assignments(case.rows, case.loads))[:12]
    variants = [[x for row in filled for x in row] for filled in hidden_variants(case.rows, hidden, [1, 3])]

    def vector(assignment: Assignment, scores: list[float]) -> list[Fraction]:
        holders = [f"r{j}" for j in flat(assignment)]
        return [
            Fraction(x) for x in true_vector(pv.Reviews.from_columns(papers, holders, scores), quantity, lone="zero")
        ]

    for one, other in neighbours(listed, unit):
        moved = [a != b for a, b in zip(flat(one), flat(other), strict=True)]
        for first, second in product(variants, repeat=2):
            changed = [x != y for x, y in zip(first, second, strict=True)]
            # only hidden scores of the reviews concerned may differ
            if all(m and h for m, h, c in zip(moved, flags, changed, strict=True) if c):
                pairs = zip(vector(one, first), vector(other, second), strict=True)
                assert sum(abs(x - y) for x, y in pairs) <= bound


def test_numbers_that_cannot_be_protected_in_floating_point_are_refused() -> None:
    for rows in ([[0.0, 5e-324]] * 3, [[0.0, 1e200]] * 3):
        with pytest.raises(pv.InputError, match="too small or too large"):
            l1_sensitivity(pv.PublicWeights.from_rows(rows, load=2), "review")
