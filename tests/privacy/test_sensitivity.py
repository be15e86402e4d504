from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import peerveil as pv
from peerveil.privacy.guarantee import UNITS, Unit
from peerveil.privacy.sensitivity import NONE, Sensitivity, _turned_over, sensitivity
from peerveil.private.true_vector import true_vector
from reference.neighbours import flat, neighbours, neighbours_up_to_names
from reference.theta import Assignment, assignments, means
from strategies import PAPERS, Case, cases, hidden_cases, hidden_variants, visible

Norms = tuple[Fraction, Fraction, Fraction, int]  # L1, the square of L2, Linf, and counts in the finest bins


def norms(one: Iterable[Fraction], other: Iterable[Fraction]) -> Norms:
    before, after = list(one), list(other)
    moves = [abs(x - y) for x, y in zip(before, after, strict=True)]
    # Whatever the bins, counts differ by no more than the numbers of each value.
    counts = Counter(before)
    counts.subtract(after)
    moved = sum(map(abs, counts.values()))
    return sum(moves, Fraction(0)), sum((m * m for m in moves), Fraction(0)), max(moves), moved


def largest(rows: list[list[float]], loads: list[int], unit: str) -> Norms:
    """The greatest norms over all neighbours of all assignments."""
    listed = list(assignments(rows, loads))
    vectors = {a: means(rows, a, loads) for a in listed}
    found = [norms(vectors[a], vectors[b]) for a, b in neighbours_up_to_names(listed, loads, unit)]
    if not found:
        return Fraction(0), Fraction(0), Fraction(0), 0
    l1, l2, linf, counts = zip(*found, strict=True)
    return max(l1), max(l2), max(linf), max(counts)


def within(found: Norms, bound: Sensitivity) -> bool:
    l1, l2, linf, counts = found
    assert bound.counts is not None
    vector = l1 <= Fraction(bound.l1) and l2 <= Fraction(bound.l2) ** 2 and linf <= Fraction(bound.linf)
    return vector and counts <= bound.counts


@pytest.mark.promise("P-CLAIM-1", "P-BUDGET-1", by="exhaustion")
@given(cases(most_reviews=6))
@settings(max_examples=120)
def test_no_neighbours_of_any_assignment_are_further_apart(case: Case) -> None:
    for unit in UNITS:
        assert within(largest(case.rows, case.loads, unit), sensitivity(case.weights(), unit))


@pytest.mark.promise("P-CLAIM-1", "P-BUDGET-1", by="exhaustion")
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
        assert within(largest(rows, loads, unit), sensitivity(weights, unit))


def held(rows: list[list[float]], assignment: Assignment, loads: list[int]) -> list[Fraction]:
    """The exact mean of each reviewer, in their own order: moves do not cancel as in the sorted vector."""
    totals = [Fraction(0)] * len(loads)
    for x, j in zip((Fraction(x) for row in rows for x in row), flat(assignment), strict=True):
        totals[j] += x
    return [total / load for total, load in zip(totals, loads, strict=True)]


@pytest.mark.parametrize(
    ("rows", "loads"),
    [
        ([[0.0, 0.0, 5.0], [5.0, 10.0], [5.0, 10.0]], [2, 2, 2, 1]),
        ([[0.0], [1.0], [3.0], [3.0], [3.0], [7.0], [12.0]], [2, 2, 3]),
    ],
)
def test_means_move_by_no_more_than_the_largest_differences(rows: list[list[float]], loads: list[int]) -> None:
    weights = pv.PublicWeights.from_rows(rows, loads={load: loads.count(load) for load in set(loads)})
    turned = _turned_over(weights, max(loads))
    for one, other in neighbours(list(assignments(rows, loads)), "reviewer"):
        moves = [abs(a - b) for a, b in zip(held(rows, one, loads), held(rows, other, loads), strict=True)]
        totals = [move * load for move, load in zip(moves, loads, strict=True)]
        exchanged = Counter(j for pair in zip(flat(one), flat(other), strict=True) if len({*pair}) == 2 for j in pair)
        own = [j for j, times in exchanged.items() if 2 * times == sum(exchanged.values())]
        assert own
        for j in own:
            most = Fraction(turned[sum(exchanged.values()) // 4 - 1])
            assert totals[j] <= most
            assert sum(totals) - totals[j] <= most


def test_few_weights_that_are_far_from_the_others_decide() -> None:
    """Not the range of the weights: a reviewer of two reviews exchanges the far one and a near one."""
    weights = pv.PublicWeights.from_rows([[x] for x in (1.0, *5 * (0.1,), *6 * (0.0,))], loads={2: 3, 6: 1})
    differences = {2: 1.0 + 0.1, 6: 1.0 + 5 * 0.1}
    expected = max(total / load + total / 2 for load, total in differences.items())
    assert sensitivity(weights, "reviewer").l1 == pytest.approx(expected, rel=1e-12)


def mixed_loads_pair(a: int, b: int) -> tuple[list[list[float]], list[list[float]]]:
    """Holdings before and after the exchange that moves the means of reviewers with loads from a to b the most.

    A reviewer of b zeros gets a one from each of b reviewers of a ones; somebody with one and a half for loads 1 and 2.
    """
    if (a, b) == (1, 2):
        return [[0.0, 0.5], [1.0, 1.0], [0.0]], [[1.0, 0.0], [0.0, 1.0], [0.5]]
    before = [[0.0] * b, *([1.0] * a for _ in range(b))]
    after = [[1.0] * b, *([0.0] + [1.0] * (a - 1) for _ in range(b))]
    return before, after


# Theorem S4.
@pytest.mark.parametrize(("a", "b"), [(1, 2), (1, 3), (2, 3), (1, 4), (2, 4), (3, 4), (2, 5), (4, 5), (3, 7)])
def test_the_bound_for_mixed_loads_is_attained(a: int, b: int) -> None:
    before, after = mixed_loads_pair(a, b)
    one, other = (sorted(Fraction(sum(x)) / len(x) for x in world) for world in (before, after))
    counts = Counter(map(len, before))
    weights = pv.PublicWeights.from_rows([[x] for mine in before for x in mine], loads=dict(counts))
    bound = sensitivity(weights, "reviewer")
    l1, l2, linf, moved = norms(one, other)
    assert within((l1, l2, linf, moved), bound)
    assert float(l1) == pytest.approx(1.25 if b == 2 else 1 + (b - 2) / a, rel=1e-12)
    assert bound.l1 <= (1.25 if b == 2 else 1 + (b - 2) / a) * (1 + 1e-12)


# Theorem S3 and Theorem S4.
@given(st.data())
@settings(max_examples=200)
def test_no_exchanges_of_mixed_loads_exceed_the_bound(data: st.DataObject) -> None:
    """Any partners with any loads, weights at the ends of the scale more often than between."""
    a = data.draw(st.integers(1, 4), label="a")
    b = data.draw(st.integers(a + 1, 6), label="b")
    weight = st.sampled_from([Fraction(0), Fraction(0), Fraction(1), Fraction(1), Fraction(1, 2), Fraction(1, 3)])
    own = data.draw(st.integers(a, b), label="load")
    exchanged = data.draw(st.integers(1, own), label="exchanges")
    before = [data.draw(st.lists(weight, min_size=own, max_size=own))]
    room: list[tuple[int, int]] = []
    while len(room) < exchanged:
        load = data.draw(st.integers(a, b))
        before.append(data.draw(st.lists(weight, min_size=load, max_size=load)))
        room += [(len(before) - 1, k) for k in range(data.draw(st.integers(1, load)))]
    after = [list(mine) for mine in before]
    for place, (j, k) in enumerate(room[:exchanged]):
        after[0][place], after[j][k] = after[j][k], after[0][place]
    one, other = (sorted(sum(x, Fraction(0)) / len(x) for x in world) for world in (before, after))
    l1, _, _, _ = norms(one, other)
    assert l1 <= (Fraction(5, 4) if b == 2 else 1 + Fraction(b - 2, a))


# Theorem S1, Theorem S6, Theorem S7.
@pytest.mark.parametrize("unit", UNITS)
def test_the_bounds_for_equal_loads_are_attained(unit: Unit) -> None:
    rows, loads = [[0.0, 1.0]] * 4, [2, 2, 2, 2]
    bound = sensitivity(pv.PublicWeights.from_rows(rows, load=2), unit)
    l1, l2, linf, _ = largest(rows, loads, unit)
    assert (float(l1), float(l2), float(linf)) == pytest.approx((bound.l1, bound.l2**2, bound.linf), rel=1e-12)


# Theorem S6 and Theorem S7.
@pytest.mark.parametrize("load", [2, 3, 4, 7])
def test_the_bounds_for_a_whole_reviewer_are_attained_at_any_load(load: int) -> None:
    """A reviewer of zeros exchanges all but one of them with as many reviewers of ones."""
    others = [f"b{i}" for i in range(load - 1)]
    papers = [f"p{i}" for i in range(load * load)]
    holders = [*["a"] * load, *(name for name in others for _ in range(load))]
    scores = [0.0] * load + [1.0] * (load * (load - 1))
    swapped = holders.copy()
    for i in range(load - 1):
        swapped[i], swapped[load * (i + 1)] = others[i], "a"
    one, other = (
        [
            Fraction(x).limit_denominator(10**6)
            for x in true_vector(pv.Reviews.from_columns(papers, who, scores), "ratings")
        ]
        for who in (holders, swapped)
    )
    bound = sensitivity(pv.PublicWeights.from_rows([[x] for x in scores], load=load), "reviewer")
    l1, l2, linf, _ = norms(one, other)
    assert (float(l1), float(l2), float(linf)) == pytest.approx((bound.l1, bound.l2**2, bound.linf), rel=1e-12)


# Theorem S9.
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("loads", [[2, 2, 2], [3, 1, 1, 1], [1, 2, 3]])
def test_the_bounds_on_counts_are_attained(loads: list[int], unit: Unit) -> None:
    rows = [[1.0], [2.0], [4.0], [8.0], [16.0], [32.0]]  # sums of different reviews differ
    bound = sensitivity(pv.PublicWeights.from_rows(rows, loads=dict(Counter(loads))), unit)
    assert largest(rows, loads, unit)[3] == bound.counts


def test_the_bounds_on_counts_follow_the_loads() -> None:
    rows = [[1.0, 5.0], [2.0, 4.0], [3.0, 3.0], [1.0, 2.0], [9.0, 8.0]]
    even = pv.PublicWeights.from_rows(rows, load=2)
    mixed = pv.PublicWeights.from_rows(rows, loads={1: 2, 2: 1, 3: 2})
    assert [sensitivity(weights, "review").counts for weights in (even, mixed)] == [4, 4]
    assert [sensitivity(weights, "reviewer").counts for weights in (even, mixed)] == [6, 8]


@pytest.mark.parametrize("quantity", ["ratings", "miscalibration"])
def test_the_bounds_on_counts_with_hidden_scores(quantity: str) -> None:
    """A hidden score that changes moves everybody with a review of its paper, if weights compare scores."""
    rows: list[list[float | None]] = [[None, 3.0, 4.0, 1.0] for _ in range(8)]
    weights = pv.weigh(pv.PublicRecord.from_rows(rows, load=2, scale=(1, 5)), quantity)
    review, reviewer = (sensitivity(weights, unit).counts for unit in ("review", "reviewer"))
    assert (review, reviewer) == ((4, 6) if quantity == "ratings" else (2 * 2 * 4, 2 * min(16, 1 + 2 * 7)))


# Theorem S5, Theorem S6, Theorem S7.
@pytest.mark.slow
@given(
    st.integers(2, 6).flatmap(
        lambda load: st.tuples(
            st.just(load),
            st.integers(1, load),
            st.lists(st.sampled_from([0.0, 0.0, 0.25, 0.5, 1.0, 1.0]), min_size=load * (load + 1), max_size=99),
            st.lists(st.integers(0, load - 1), min_size=load, max_size=load),
        )
    )
)
@settings(max_examples=600)
def test_one_load_for_all_however_large_records(drawn: tuple[int, int, list[float], list[int]]) -> None:
    """Where all neighbours cannot be listed: random exchanges of one reviewer, each review on its own paper."""
    load, exchanges, scores, partners = drawn
    scores = scores[: load * (load + 1)]
    holdings = [scores[i * load : (i + 1) * load] for i in range(load + 1)]
    after = [list(row) for row in holdings]
    used = dict.fromkeys(range(load), 0)
    for i in range(exchanges):
        b = 1 + partners[i]
        place = used[partners[i]]
        used[partners[i]] += 1
        after[0][i], after[b][place] = holdings[b][place], holdings[0][i]
    before_means, after_means = (
        sorted(sum(map(Fraction, row), Fraction(0)) / load for row in rows) for rows in (holdings, after)
    )
    weights = pv.PublicWeights.from_rows([[x] for x in scores], load=load)
    assert within(norms(before_means, after_means), sensitivity(weights, "reviewer"))


@pytest.mark.promise("P-KEPT-7")
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
        bound = sensitivity(case.weights(), unit)
        for one, other in neighbours(listed, unit):
            assert within(norms(*(map(Fraction, computed[a].tolist()) for a in (one, other))), bound)


def test_what_every_assignment_shares_has_no_sensitivity() -> None:
    for rows, load in (([[1, 5, 2]], 1), ([[3, 3], [3, 3]], 2)):
        for unit in UNITS:
            assert sensitivity(pv.PublicWeights.from_rows(rows, load=load), unit) == NONE


# Theorem S17.
@pytest.mark.promise("P-KEPT-7")
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
        found = norms(*(map(Fraction, vector.tolist()) for vector in (one, other)))
        exact = 2 * (Fraction(weights.span[1]) - Fraction(weights.span[0])) / 3
        assert within(found, sensitivity(weights, "review"))
        worst = max(worst, float(found[0] / exact)) if exact else worst
    assert worst > 1  # without the widening it would not hold


# Theorem S2 and Theorem S8.
@pytest.mark.promise("P-CLAIM-2", by="exhaustion")
@given(hidden_cases(), st.sampled_from(UNITS), st.sampled_from(["ratings", "miscalibration"]))
@settings(max_examples=40)
def test_hidden_scores_may_change_with_the_exchange(
    pair: tuple[Case, list[list[bool]]], unit: Unit, quantity: str
) -> None:
    case, hidden = pair
    bound = sensitivity(pv.weigh(visible(case, hidden), quantity, lone="zero"), unit)
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
                assert within(norms(vector(one, first), vector(other, second)), bound)
    for one in listed[:3]:
        for first, second in product(variants, repeat=2):
            if sum(x != y for x, y in zip(first, second, strict=True)) == 1:  # one hidden score alone
                assert within(norms(vector(one, first), vector(one, second)), bound)


@pytest.mark.promise("P-CLAIM-2")
def test_the_bounds_are_attained_by_a_reviewer_who_exchanges_nothing() -> None:
    """Two reviewers exchange their reviews of two papers, and both hidden scores change from 1 to 5.

    The third one holds the other review of both papers, and moves twice as far as either of the two. All other means
    are above or below those of these three, which keep their order, so that nothing cancels.
    """
    one = {
        "ann": {"p": 1.0, "a": 4.0, "b": 4.0, "c": 4.0},
        "bob": {"q": 1.0, "d": 4.0, "e": 4.0, "f": 4.0},
        "cem": {"p": 3.0, "q": 3.0, "r": 3.0, "s": 3.0},
        "dea": {"r": 3.0, "a": 2.0, "b": 2.0, "c": 2.0},
        "eve": {"s": 3.0, "d": 2.0, "e": 2.0, "f": 2.0},
    }
    other = one | {
        "ann": {"q": 5.0, "a": 4.0, "b": 4.0, "c": 4.0},
        "bob": {"p": 5.0, "d": 4.0, "e": 4.0, "f": 4.0},
    }
    rows: list[list[float | None]] = [[None, 3.0], [None, 3.0], [3.0, 3.0], [3.0, 3.0]]
    rows += [[2.0, 4.0] for _ in "abcdef"]
    weights = pv.weigh(pv.PublicRecord.from_rows(rows, load=4, scale=(1, 5)), "miscalibration")
    vectors = []
    for assignment in (one, other):
        reviews = [(p, name, score) for name, held in assignment.items() for p, score in held.items()]
        vectors.append(true_vector(pv.Reviews.from_columns(*zip(*reviews, strict=True)), "miscalibration"))
    bound = sensitivity(weights, "review")
    l1, l2, linf, counts = norms(*(map(Fraction, vector.tolist()) for vector in vectors))
    assert within((l1, l2, linf, counts), bound)
    assert (float(l1), float(linf)) == (4.0, 2.0)
    assert (bound.l1, bound.linf) == pytest.approx((4.0, 2.0), rel=1e-12)


def test_numbers_that_cannot_be_protected_in_floating_point_are_refused() -> None:
    for rows in ([[0.0, 5e-324]] * 3, [[0.0, 1e200]] * 3):
        with pytest.raises(pv.InputError, match="too small or too large"):
            sensitivity(pv.PublicWeights.from_rows(rows, load=2), "review")
