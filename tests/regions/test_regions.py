"""Regions beyond the paper: envelope, packing, tight; hidden scores; the two-pass projection."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

import peerveil as pv
from peerveil.inference.assignments import deal
from peerveil.regions import isotonic as twopass
from peerveil.regions import sums
from peerveil.regions.isotonic import Curves
from peerveil.regions.packing import pigeonhole_bounds, programme_bounds
from peerveil.regions.quadratic_programme import Programme
from peerveil.regions.sums import Rows, least_totals, pinned_totals, pins_may_tell
from reference.support import support
from reference.theta import theta, theta_among
from strategies import Case, cases, hidden_cases, hidden_variants, visible

SMALL = ("baseline", "chain", "envelope", "tight")


def floats(vector: tuple[Fraction, ...]) -> list[float]:
    return [float(x) for x in vector]


# Theorem R2, Theorem R4, Theorem R5, Theorem R6.
@given(cases(most_reviews=7))
@settings(max_examples=150)
def test_no_possible_vector_is_excluded(case: Case) -> None:
    regions = [pv.region(case.weights(), kind) for kind in ("envelope", "tight")]
    for vector in theta(case.rows, case.loads):
        for region in regions:
            assert region.contains(floats(vector)), region.name


# Theorem R2, Theorem R6.
@given(cases(most_reviews=6, uniform=False), st.integers(0, 2))
@settings(max_examples=80)
def test_no_possible_vector_is_excluded_when_only_a_range_of_loads_is_known(case: Case, extra: int) -> None:
    low, high = min(case.loads), min(max(case.loads) + extra, len(case.rows))
    weights = pv.PublicWeights.from_rows(case.rows, loads=(low, high), reviewers=case.reviewers)
    regions = [pv.region(weights, kind) for kind in ("envelope", "tight")]
    for vector in theta_among(case.rows, case.reviewers, range(low, high + 1)):
        for region in regions:
            assert region.contains(floats(vector)), region.name


# Theorem R4.
@given(cases(most_reviews=8, uniform=True))
@settings(max_examples=100)
def test_the_lower_curve_is_attained_for_equal_loads(case: Case) -> None:
    region = pv.region(case.weights(), "envelope")
    possible = theta(case.rows, case.loads)
    scale = max(1e-300, *(abs(x) for row in case.rows for x in row))
    for i in range(case.reviewers + 1):
        least = float(min(sum(vector[:i]) for vector in possible))
        assert region.cumulative_lower[i] == pytest.approx(least, rel=1e-9, abs=1e-9 * scale)
        most = float(max(sum(vector[case.reviewers - i :]) for vector in possible))
        assert region.total[1] - region.cumulative_lower[case.reviewers - i] == pytest.approx(
            most, rel=1e-9, abs=1e-9 * scale
        )


def literal_least(rows: list[list[float]], reviewers: int, load: int) -> list[float]:
    """The least totals by dynamic programming over papers: how many reviews each gives."""
    totals = [0.0]
    for i in range(1, reviewers + 1):
        best = {0: 0.0}
        for row in map(sorted, rows):
            k = len(row)
            new: dict[int, float] = {}
            for count in range(max(0, k - (reviewers - i)), min(i, k) + 1):
                for taken, value in best.items():
                    total = value + sum(row[:count])
                    new[taken + count] = min(new.get(taken + count, total), total)
            best = new
        totals.append(best[i * load])
    return totals


@pytest.mark.parametrize("seed", range(60))
def test_least_totals_equal_a_dynamic_programme(seed: int) -> None:
    rng = np.random.default_rng(seed)
    reviewers, load = int(rng.integers(1, 16)), int(rng.integers(1, 4))
    left, rows, most = reviewers * load, [], int(rng.integers(1, reviewers + 1))
    while left:
        size = int(rng.integers(1, min(most, left) + 1))
        rows.append(sorted(rng.integers(-3, 4, size) + 0.25 * rng.random(size) * rng.integers(0, 2)))
        left -= size
    if len(rows) < load:
        return
    flat, sizes = np.array([x for row in rows for x in row]), np.array([len(row) for row in rows])
    record = Rows(flat, sizes, reviewers, load)
    np.testing.assert_allclose(least_totals(record), literal_least(rows, reviewers, load), atol=1e-12)
    top, bottom = pinned_totals(record)
    mirrored = pinned_totals(record.negated())
    np.testing.assert_allclose(top, -mirrored[1], atol=1e-12)
    np.testing.assert_allclose(bottom, -mirrored[0], atol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_few_papers_are_enough_where_limits_bind(seed: int) -> None:
    """The shortcut for large records gives what the whole record gives."""
    rng = np.random.default_rng(seed)
    load = int(rng.integers(1, 5))
    sizes = rng.integers(1, 5, size=240)
    sizes[0] += -sizes.sum() % load
    reviewers = int(sizes.sum()) // load
    weight = np.concatenate([np.sort(rng.integers(-2, 3, k) if seed % 2 else rng.normal(size=k)) for k in sizes])
    rows = Rows(weight.astype(float), sizes, reviewers, load)
    assert rows.sparse
    assert rows.extremes[0].size < sizes.size / 2
    np.testing.assert_allclose(least_totals(rows), sums._within_limits(rows, reviewers), atol=1e-9)
    top, bottom = pinned_totals(rows)
    mean = float(weight.sum()) / reviewers
    for count in range(1, rows.most):
        # where it says more than order and total do, it is the whole record's
        for value, whole, level in (
            (top[count], sums._pinned(rows, count), mean * count),
            (-bottom[count], sums._pinned(rows.negated(), count), -mean * count),
        ):
            assert value <= whole + 1e-9
            assert value == pytest.approx(whole) or whole <= level + 1e-9


def test_pins_are_left_out_only_where_they_say_nothing() -> None:
    outcomes = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        load = int(rng.integers(1, 7))
        sizes = rng.integers(1, int(rng.integers(2, 5)), size=int(rng.choice([40, 300])))
        sizes[0] += -sizes.sum() % load
        reviewers = int(sizes.sum()) // load
        shape = float(rng.choice([0.1, 0.5, 2.0]))
        drawn = rng.beta(shape, shape, sizes.sum())
        flat = 1e3 * float(rng.integers(0, 2)) + (np.round(9 * drawn) if seed % 2 else drawn)
        weight = np.concatenate([np.sort(row) for row in np.split(flat, np.cumsum(sizes)[:-1])])
        rows = Rows(weight, sizes, reviewers, load, centre=500.0)
        if not rows.sparse:
            continue
        outcomes.append((pins_may_tell(rows), rows.unlimited))
        if not pins_may_tell(rows):
            top = [0.0] + [sums._pinned(rows, q) for q in range(1, reviewers)]
            bottom = [0.0] + [-sums._pinned(rows.negated(), q) for q in range(1, reviewers)]
            level = np.arange(reviewers) * (np.sum(weight - 500.0) / reviewers)
            assert (np.array(top) <= level + 1e-9).all()
            assert (np.array(bottom) >= level - 1e-9).all()
    for seen in (True, False):
        assert sum(told == seen for told, _ in outcomes) > 20
        assert sum(unlimited == (seen, seen) for _, unlimited in outcomes) > 10


# Theorem R8.
@given(cases(most_reviews=8, uniform=True))
@settings(max_examples=100)
def test_packing_bounds_are_bounds_and_exact_for_pairs_of_different_papers(case: Case) -> None:
    possible = [floats(vector) for vector in theta(case.rows, case.loads)]
    least = np.min(possible, axis=0)
    flat = np.array([x for row in case.rows for x in row])
    slack = 1e-9 * max(1e-300, np.abs(flat).max())
    assert (pigeonhole_bounds(flat, case.reviewers, case.loads[0]) <= least + slack).all()
    loads = case.weights().loads
    assert (programme_bounds(case.rows, loads) <= least + slack).all()


@given(st.lists(st.integers(0, 9), min_size=2, max_size=10).filter(lambda x: len(x) % 2 == 0))
def test_pigeonhole_bounds_are_exact_for_pairs_where_every_review_has_its_own_paper(scores: list[int]) -> None:
    assume(len(scores) <= 8)
    rows = [[float(x)] for x in scores]
    loads = [2] * (len(rows) // 2)
    least = np.min([floats(vector) for vector in theta(rows, loads)], axis=0)
    assert pigeonhole_bounds(np.array(scores, dtype=float), len(loads), 2).tolist() == least.tolist()


@given(cases(most_reviews=8, uniform=True))
@settings(max_examples=60)
def test_the_linear_programme_is_exact_on_small_records(case: Case) -> None:
    least = np.min([floats(vector) for vector in theta(case.rows, case.loads)], axis=0)
    bounds = programme_bounds(case.rows, case.weights().loads)
    scale = max(1e-300, *(abs(x) for row in case.rows for x in row))
    np.testing.assert_allclose(bounds, least, rtol=1e-9, atol=1e-9 * scale)


@given(cases(most_reviews=8))
@settings(max_examples=100)
def test_tight_lies_in_chain_and_envelope(case: Case) -> None:
    weights = case.weights()
    tight, chain, envelope = (pv.region(weights, kind) for kind in ("tight", "chain", "envelope"))
    slack = tight.slack(1e-12)
    assert (tight.lower >= chain.lower - slack).all()
    assert (tight.upper <= chain.upper + slack).all()
    for mine, theirs in zip(tight.sums(), envelope.sums(), strict=True):
        assert mine.tolist() == theirs.tolist()


class TestAxioms:
    """A1 to A3 of the paper hold for envelope and tight, for weights of any sign."""

    @pytest.mark.parametrize("kind", ["envelope", "tight"])
    @given(z=st.floats(-10, 10), reviewers=st.integers(1, 5), load=st.integers(1, 3))
    def test_a1_identical_weights(self, kind: str, z: float, reviewers: int, load: int) -> None:
        region = pv.region(pv.PublicWeights.from_rows([[z] * reviewers] * load, load=load), kind)
        np.testing.assert_allclose(pv.project(np.arange(reviewers) * 7.0, region).values, z, rtol=1e-12)

    @pytest.mark.parametrize("kind", ["envelope", "tight"])
    @given(case=cases(uniform=True).filter(lambda case: case.loads[0] == 1))
    def test_a2_loads_of_one(self, kind: str, case: Case) -> None:
        region = pv.region(case.weights(), kind)
        expected = sorted(x for row in case.rows for x in row)
        values = pv.project([0.5] * case.reviewers, region).values
        np.testing.assert_allclose(values, expected, rtol=0, atol=10 * region.slack(1e-9))

    # Theorem R9.
    @pytest.mark.parametrize("kind", ["envelope", "tight"])
    @given(row=st.lists(st.integers(-3, 3), min_size=1, max_size=4), load=st.integers(1, 3), more=st.integers(0, 2))
    def test_a3_all_papers_but_one_are_zero(self, kind: str, row: list[int], load: int, more: int) -> None:
        size, papers = len(row), load + more
        if papers * size % load:
            papers += load - papers % load
        reviewers = papers * size // load
        rows = [row, *([[0] * size] * (papers - 1))]
        region = pv.region(pv.PublicWeights.from_rows(rows, load=load), kind)
        values = pv.project(np.linspace(3, -3, reviewers), region).values
        expected = sorted([x / load for x in row] + [0.0] * (reviewers - size))
        np.testing.assert_allclose(values, expected, atol=1e-9)


def random_curves(rng: np.random.Generator, n: int, *, free: bool) -> pv.Region:
    """A region of sums alone, with a fixed or a free total."""
    x = np.sort(rng.normal(size=4 * n))
    weights = pv.PublicWeights.from_rows(
        rng.permutation(x).reshape(n, 4), loads={3: n // 2, 5: n // 2} if free else {4: n}
    )
    return pv.region(weights, "envelope")


# Theorem P1, and Theorem P2 where the total is free.
@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_two_passes_agree_with_the_general_solver(seed: int, free: bool) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.choice([6, 10, 60]))
    region = random_curves(rng, n, free=free)
    r = rng.normal(size=n) * 10.0 ** rng.integers(-2, 2)
    two_passes = Curves.of(region).project(r)
    assert two_passes is not None
    fast, gap = two_passes
    assert gap <= 1e-8 * n * region.spread * max(region.spread, np.abs(r).max())
    slow = pv.project(r, region).values
    radius = np.abs(r).max() + region.spread
    general = Programme(r, region, radius).solve()[0]
    assert region.total[0] < region.total[1] or not free
    np.testing.assert_allclose(general, slow, atol=1e-5 * radius)
    if region.contains(fast):
        np.testing.assert_allclose(fast, slow, atol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_blocks_are_all_that_the_second_pass_needs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    region = random_curves(rng, 200, free=False)
    r = np.sort(rng.normal(size=200)) * rng.choice([0.1, 1.0]) + rng.laplace(
        size=200, scale=10.0 ** rng.integers(-4, 3)
    )
    z = isotonic_regression(r).x
    plain = z - isotonic_regression(z - np.diff(region.cumulative_lower)).x
    two_passes = Curves.of(region).project(r)
    assert two_passes is not None
    np.testing.assert_allclose(two_passes[0], plain, atol=1e-9 * max(1.0, np.abs(r).max()))


# Theorem P3.
@pytest.mark.parametrize("free", [False, True])
def test_a_wrong_first_or_second_pass_has_no_certificate(free: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    region = random_curves(rng, 60, free=free)
    r = np.sort(rng.normal(size=60)) / 2 + rng.laplace(size=60)
    right = pv.project(r, region)
    assert right.gap < 1e-9

    def too_few_blocks(values: np.ndarray, weights: np.ndarray | None = None) -> object:
        if weights is not None:
            return isotonic_regression(values, weights=weights)
        middle = 30
        means = [values[:middle].mean(), values[middle:].mean()]
        return SimpleNamespace(x=np.repeat(means, middle), blocks=np.array([0, middle, 60]))

    def too_steep(values: np.ndarray, weights: np.ndarray | None = None) -> object:
        fitted = isotonic_regression(values, weights=weights)
        return fitted if weights is None else SimpleNamespace(x=fitted.x + 0.01 * (fitted.x - fitted.x.mean()))

    for wrong in (too_few_blocks, too_steep):
        monkeypatch.setattr(twopass, "isotonic_regression", wrong)
        two_passes = Curves.of(region).project(r)
        assert two_passes is None or two_passes[1] > 1e-3 or region.violation(two_passes[0]) > 1e-4
        found = pv.project(r, region)  # by the general solver
        assert found.gap < 1e-6
        np.testing.assert_allclose(found.values, right.values, atol=1e-5)


@pytest.mark.parametrize("bound", ["cumulative_lower", "cumulative_upper", "top_lower", "top_upper"])
def test_a_bound_that_is_no_number_is_refused(bound: str) -> None:
    region = pv.Region(name="", lower=np.zeros(2), upper=np.ones(2), total=(0.0, 2.0))
    unknown: dict[str, Any] = {bound: np.array([0.0, np.nan, 1.0])}
    with pytest.raises(pv.InputError, match=f"{bound} must be numbers"):
        replace(region, **unknown)


def test_curves_that_are_not_convex_are_left_to_the_solver() -> None:
    region = pv.Region(
        name="bent",
        lower=np.zeros(4),
        upper=np.full(4, 9.0),
        cumulative_lower=np.array([0.0, 2.0, 2.5, 3.0, 12.0]),
        total=(12.0, 12.0),
    )
    r = np.array([-1.0, 0.0, 4.0, 9.0])
    assert Curves.of(region).project(r) is None
    projection = pv.project(r, region)
    assert region.contains(projection.values)
    general = Programme(r, region, 20.0).solve()[0]
    np.testing.assert_allclose(projection.values, general, atol=1e-6)


@pytest.mark.parametrize("free", [False, True])
def test_two_passes_agree_with_the_general_solver_at_ten_thousand(free: bool) -> None:
    rng = np.random.default_rng(7)
    n = 10_000
    region = random_curves(rng, n, free=free)
    r = np.sort(rng.normal(size=n)) / 2 + rng.laplace(size=n)
    projection = pv.project(r, region)
    general = Programme(r, region, np.abs(r).max() + region.spread).solve()[0]
    np.testing.assert_allclose(projection.values, general, atol=1e-6)
    assert projection.gap <= 1e-8 * n


@given(cases(most_reviews=7), st.integers(0, 2**32), st.sampled_from([1e-9, 1e-3, 0.1, 1.0, 1e4]))
@settings(max_examples=150)
def test_never_less_accurate_whatever_the_truth_and_smaller_regions_never_hurt(
    case: Case, seed: int, size: float
) -> None:
    rng = np.random.default_rng(seed)
    weights = case.weights()
    low, high = weights.span
    r = np.array(case.truth()) + rng.laplace(scale=size * ((high - low) or 1.0), size=case.reviewers)
    envelope, tight = pv.region(weights, "envelope"), pv.region(weights, "tight")
    first = pv.project(r, envelope).values
    second = pv.project(first, tight).values
    direct = pv.project(r, tight)
    assert tight.contains(direct.values)
    for vector in theta(case.rows, case.loads):
        truth = np.array(floats(vector))
        round_off = 1e-7 * (high - low) + 1e-12 * np.abs(truth).max()
        errors = [np.linalg.norm(t - truth) for t in (r, first, second, direct.values)]
        assert errors[1] <= errors[0] + round_off
        assert errors[2] <= errors[1] + round_off
        assert errors[3] <= errors[0] + round_off


@given(cases(most_reviews=7), st.sampled_from(SMALL), st.integers(0, 2**32))
@settings(max_examples=100)
def test_support_equals_an_independent_programme(case: Case, kind: str, seed: int) -> None:
    region = pv.region(case.weights(), kind)
    direction = np.random.default_rng(seed).normal(size=case.reviewers)
    size = max(abs(region.lower[0]), abs(region.upper[-1]))
    assume(1e-6 < size < 1e6)
    assert region.support(direction) == pytest.approx(support(region, direction), rel=1e-6, abs=1e-6 * size)


def test_loads_of_8_to_20_stay_possible() -> None:
    rng = np.random.default_rng(1)
    for loads in ({8: 100}, {20: 100}, {8: 50, 14: 40, 20: 10}):
        reviews = sum(load * count for load, count in loads.items())
        scores = rng.integers(1, 11, reviews)
        paper = np.arange(reviews) // 4
        rows = [scores[paper == p].tolist() for p in range(reviews // 4)]
        weights = pv.PublicWeights.from_rows(rows, loads=loads)
        held = np.repeat(list(loads), list(loads.values()))
        holder = deal(paper, held, rng)
        truth = np.sort(np.bincount(holder, weights=scores) / held)
        assert pv.region(weights, "tight").contains(truth)


# Theorem R7.
@given(hidden_cases())
@settings(max_examples=80)
def test_hidden_scores_no_possible_vector_is_excluded(pair: tuple[Case, list[list[bool]]]) -> None:
    case, hidden = pair
    weights = pv.weigh(visible(case, hidden))
    regions = [pv.region(weights, kind) for kind in SMALL]
    for filled in hidden_variants(case.rows, hidden, [1, 2, 3]):
        for vector in theta(filled, case.loads):
            for region in regions:
                assert region.contains(floats(vector)), region.name


@given(hidden_cases())
@settings(max_examples=80)
def test_hidden_scores_weights_lie_in_their_intervals(pair: tuple[Case, list[list[bool]]]) -> None:
    case, hidden = pair
    for quantity in ("ratings", "miscalibration"):
        public = pv.weigh(visible(case, hidden), quantity, lone="zero")
        for filled in hidden_variants(case.rows, hidden, [1, 3]):
            full = pv.PublicRecord.from_rows(filled, loads=case.stated(), scale=(1, 3))
            exact = pv.weigh(full, quantity, lone="zero")
            assert (public.low <= exact.low + 1e-12).all()
            assert (exact.high <= public.high + 1e-12).all()


def test_with_no_public_score_only_the_scale_is_left() -> None:
    record = pv.PublicRecord.from_rows([[None, None], [None, None], [None, None]], load=2, scale=(1, 10))
    region = pv.region(pv.weigh(record), "tight")
    assert region.contains([1.0, 1.0, 1.0])
    assert region.contains([1.0, 10.0, 10.0])
    assert not region.contains([0.5, 5.0, 5.0])
    assert region.total == (3, 30)
    with pytest.raises(pv.RecordError, match="1 scores are hidden: state the scale"):
        pv.PublicRecord.from_rows([[None, 3]], load=1)
    assert "1 hidden" in repr(pv.PublicRecord.from_rows([[None, 3]], load=1, scale=(1, 3)))


def test_describe_says_how_much_each_part_contributes() -> None:
    rng = np.random.default_rng(0)
    weights = pv.PublicWeights.from_rows(rng.beta(2, 2, size=(40, 3)), load=3)
    lines = pv.region(weights, "tight").describe().splitlines()
    widths = [float(line.split()[-1]) for line in lines[1:]]
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < widths[0] / 2
