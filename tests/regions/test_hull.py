from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, pairwise, product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

import peerveil as pv
from peerveil.errors import InputError, RecordError
from peerveil.record.loads import Loads
from peerveil.regions.hull import Hull, hull
from peerveil.regions.oracles import IntegerProgramme, Kinds, Walk, oracle_for
from reference.theta import Rows, assignments, theta, theta_among
from strategies import Case, cases

SEEDS = st.integers(0, 2**32)


def enumerated(vectors: set[tuple[Fraction, ...]]) -> np.ndarray:
    return np.array(sorted([float(x) for x in vector] for vector in vectors))


def size_of(vectors: np.ndarray) -> tuple[float, float]:
    """How far apart the entries lie, and their round-off."""
    return float(np.ptp(vectors)), 1e-14 * float(np.abs(vectors).max())


def directions(seed: int, n: int) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(seed)
    yield from (
        rng.normal(size=n),
        np.sort(rng.normal(size=n))[::-1],
        rng.integers(-1, 2, n) * 10.0 ** rng.integers(-6, 7),
    )


def nearest(r: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """The nearest point of a convex hull, by non-negative least squares with a heavy row for the sum of the shares."""
    unit = max(float(np.ptp(vectors)), float(np.abs(r - vectors[0]).max())) or 1.0
    centred = (vectors - vectors[0]) / unit
    system = np.vstack((centred.T, np.full(len(vectors), 1e5)))
    shares = nnls(system, np.append((r - vectors[0]) / unit, 1e5), maxiter=1000)[0]
    return np.asarray(vectors[0] + shares @ centred * unit / shares.sum())


def noisy(vectors: np.ndarray, seed: int, size: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    truth = vectors[rng.integers(len(vectors))]
    return np.asarray(truth + rng.laplace(scale=size * (float(np.ptp(vectors)) or 1.0), size=truth.size))


@given(cases(most_reviews=6), SEEDS)
@settings(max_examples=60)
def test_both_oracles_are_exact(case: Case, seed: int) -> None:
    weights = case.weights()
    vectors = enumerated(theta(case.rows, case.loads))
    spread, roundoff = size_of(vectors)
    kinds = Kinds.of(weights)
    walk, programme = Walk(kinds, weights.loads), IntegerProgramme(kinds, weights.loads)
    range_of_weights = np.ptp(weights.low)
    for d in directions(seed, case.reviewers):
        best = float(np.max(vectors @ d))
        reach = float(np.abs(d).sum())
        found, excess = walk.furthest(d)
        assert excess == 0
        assert found @ d == pytest.approx(best, rel=0, abs=reach * (1e-14 * spread + 4 * roundoff))
        assert np.abs(vectors - found).sum(axis=1).min() <= case.reviewers * roundoff
        found, excess = programme.furthest(d)
        assert found @ d == pytest.approx(best, rel=0, abs=reach * (1e-8 * range_of_weights + 4 * roundoff))
        assert found @ d + excess >= best - reach * (1e-9 * range_of_weights + 4 * roundoff)
        assert excess <= 1e-8 * reach * range_of_weights


@given(cases(most_reviews=6), SEEDS)
@settings(max_examples=60)
def test_the_hull_holds_all_vectors_and_its_bounds_are_exact(case: Case, seed: int) -> None:
    region = hull(case.weights())
    vectors = enumerated(theta(case.rows, case.loads))
    spread, roundoff = size_of(vectors)
    exact = case.reviewers * (1e-14 * spread + 4 * roundoff)
    sums = np.cumsum(vectors, axis=1)
    assert region.lower == pytest.approx(vectors.min(axis=0), rel=0, abs=exact)
    assert region.upper == pytest.approx(vectors.max(axis=0), rel=0, abs=exact)
    assert region.cumulative_lower[1:] == pytest.approx(sums.min(axis=0), rel=0, abs=exact)
    assert region.cumulative_upper[1:] == pytest.approx(sums.max(axis=0), rel=0, abs=exact)
    assert region.total == pytest.approx((sums[:, -1].min(), sums[:, -1].max()), rel=0, abs=exact)
    shares = np.random.default_rng(seed).dirichlet(np.ones(len(vectors)))
    for member in (*vectors[:50], shares @ vectors):
        assert region.contains(member)
    for d in directions(seed, case.reviewers):
        best = float(np.max(vectors @ d))
        assert region.support(d) == pytest.approx(best, rel=0, abs=float(np.abs(d).sum()) * exact)


@given(cases(most_reviews=6), SEEDS, st.sampled_from([1e-6, 0.1, 1.0, 1e4]))
@settings(max_examples=80)
def test_projection_agrees_with_least_squares_over_all_vectors(case: Case, seed: int, size: float) -> None:
    region = hull(case.weights())
    vectors = enumerated(theta(case.rows, case.loads))
    spread, roundoff = size_of(vectors)
    r = noisy(vectors, seed, size)
    t, gap = region.project(r)
    scale = float(np.abs(r - t).max()) + spread
    assert 0 <= gap <= 1e-11 * case.reviewers * scale**2 + scale * roundoff
    assert np.all(np.diff(t) >= 0)
    assert t == pytest.approx(nearest(r, vectors), rel=0, abs=1e-7 * scale + 10 * roundoff)
    # The gap by its definition
    d = r - t
    assert float(np.max((vectors - t) @ d)) <= gap + 1e-12 * scale**2 + scale * roundoff
    assert region.violation(r) == pytest.approx(np.linalg.norm(d) / np.sqrt(r.size), abs=1e-9 * scale + 10 * roundoff)
    for truth in vectors:
        before, after = np.linalg.norm(r - truth), np.linalg.norm(t - truth)
        assert after <= before + 1e-9 * np.linalg.norm(d) + 10 * roundoff


@given(cases(most_reviews=6, uniform=False), SEEDS)
@settings(max_examples=30)
def test_loads_known_only_as_a_range(case: Case, seed: int) -> None:
    most = len(case.rows)
    weights = pv.PublicWeights.from_rows(case.rows, loads=(1, most), reviewers=case.reviewers)
    vectors = enumerated(theta_among(case.rows, case.reviewers, range(1, most + 1)))
    spread, roundoff = size_of(vectors)
    programme = IntegerProgramme(Kinds.of(weights), weights.loads)
    for d in directions(seed, case.reviewers):
        best, reach = float(np.max(vectors @ d)), float(np.abs(d).sum())
        assert oracle_for(weights).furthest(d)[0] @ d == pytest.approx(
            best, rel=0, abs=reach * (1e-14 * spread + 4 * roundoff)
        )
        assert programme.furthest(d)[0] @ d == pytest.approx(
            best, rel=0, abs=reach * (1e-8 * np.ptp(weights.low) + 4 * roundoff)
        )
    r = noisy(vectors, seed, 0.3)
    t, _ = hull(weights).project(r)
    assert t == pytest.approx(nearest(r, vectors), rel=0, abs=1e-7 * (spread + np.abs(r - t).max()) + 10 * roundoff)


def interval_weights(rows: Rows, width: float, seed: int, case: Case) -> pv.PublicWeights:
    """Some scores hidden: their weights are known to a width; ends ascend within a paper."""
    exact = pv.PublicWeights.from_rows(rows, loads=case.stated())
    hidden = np.random.default_rng(seed).random(exact.low.size) < 0.4
    high = exact.low + width * hidden
    high = high[np.lexsort((high, exact.paper))]
    return pv.PublicWeights(quantity="weights", paper=exact.paper, low=exact.low, high=high, loads=exact.loads)


def interval_vectors(weights: pv.PublicWeights, loads: list[int]) -> np.ndarray:
    """Vectors whose hull is the hull of Theta.

    The best means of an assignment come in groups of equal ones, each at an end of the range of one of its members;
    all ends of all reviewers that lie in a reviewer's own range are tried.
    """
    low, high = weights.rows_low(), weights.rows_high()
    found = set()
    for assignment in assignments(low, loads):
        ends = np.zeros((2, len(loads)))
        for end, rows in zip(ends, (low, high), strict=True):
            for row, holders in zip(rows, assignment, strict=True):
                for x, j in zip(row, holders, strict=True):
                    end[j] += x / loads[j]
        found.add(tuple(sorted(map(tuple, ends.T.tolist()))))
    vectors = set()
    for ranges in found:
        points = {x for pair in ranges for x in pair}
        vectors |= {tuple(sorted(v)) for v in product(*([x for x in points if a <= x <= b] for a, b in ranges))}
    return np.array(sorted(vectors))


@given(cases(most_reviews=5), SEEDS, st.sampled_from([0.3, 1.0]))
@settings(max_examples=40)
def test_hidden_scores(case: Case, seed: int, width: float) -> None:
    scale = max((abs(x) for row in case.rows for x in row), default=0.0) or 1.0
    rows = [[x / scale for x in row] for row in case.rows]
    weights = interval_weights(rows, width, seed, case)
    ends = np.unique([weights.low, weights.high])
    assume(ends.size < 2 or np.diff(ends).min() > 1e-5 * np.ptp(ends))  # HiGHS takes smaller differences for zero
    vectors = interval_vectors(weights, case.loads)
    oracle = oracle_for(weights)
    for d in list(directions(seed, case.reviewers))[:2]:
        found, excess = oracle.furthest(d)
        assert found @ d == pytest.approx(float(np.max(vectors @ d)), rel=0, abs=1e-8)
        assert excess <= 1e-7
    if case.reviewers <= 2:
        region = hull(weights)
        assert region.lower == pytest.approx(vectors.min(axis=0), rel=0, abs=1e-8)
        assert region.upper == pytest.approx(vectors.max(axis=0), rel=0, abs=1e-8)
        r = noisy(vectors, seed, 1.0)
        t, gap = region.project(r)
        assert gap <= 1e-8 * (1 + float(np.abs(r - t).max()))
        assert t == pytest.approx(nearest(r, vectors), rel=0, abs=1e-6 * (1 + float(np.abs(r - t).max())))


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize(
    ("rows", "load", "answer"),
    [
        pytest.param([[0.1] * 3] * 4, 3, [0.1] * 4, id="A1"),
        pytest.param([[5.0]], 1, [5.0], id="one-reviewer"),
        pytest.param([[3.0], [-1.0], [7.0]], 3, [3.0], id="one-reviewer-of-three"),
        pytest.param([[3.0, 1e6], [-2.0], [0.1, 0.1]], 1, [-2.0, 0.1, 0.1, 3.0, 1e6], id="A2"),
        pytest.param([[1, 2, 3], *[[0, 0, 0]] * 3], 3, [0, 1 / 3, 2 / 3, 1], id="A3"),
        pytest.param([[-1, -1, 1, 1], *[[0] * 4] * 2], 2, [-0.5, -0.5, 0, 0, 0.5, 0.5], id="A3-mixed-signs"),
        pytest.param([[-3, 0, 2], *[[0, 0, 0]] * 3], 2, [-1.5, 0, 0, 0, 0, 1], id="A3-a-zero"),
    ],
)
def test_axioms(rows: list[list[float]], load: int, answer: list[float], size: float) -> None:
    region = hull(pv.PublicWeights.from_rows(rows, load=load))
    r = np.array(answer) + np.random.default_rng(1).laplace(scale=size, size=len(answer))
    t, gap = region.project(r)
    assert t.tolist() == region.lower.tolist() == region.upper.tolist() == answer
    assert gap == 0


@pytest.mark.parametrize(
    ("integers", "can"),
    [
        ((1, 2, 3, 4, 5, 6), False),  # the sum is odd
        ((1, 2, 3, 4, 5, 7), True),  # 1 + 3 + 7 = 2 + 4 + 5
        ((0, 0, 0, 0, 4, 4), True),
        ((0, 0, 1, 1, 1, 5), False),  # the sum is even, and yet
        ((2, 2, 2, 2, 2, 2), True),
        ((1, 1, 1, 9, 9, 9), False),
    ],
)
def test_projecting_decides_the_partition_problem(integers: tuple[int, ...], can: bool) -> None:
    # The paper's reduction: one weight a paper from the multiset, the others zero, and (0, ..., 0, a, a) to project.
    assert can == any(2 * sum(triple) == sum(integers) for triple in combinations(integers, 3))
    region = hull(pv.PublicWeights.from_rows([[x, 0, 0] for x in integers], load=3))
    v = np.array([0.0] * 4 + [sum(integers) / 6] * 2)
    t, gap = region.project(v)
    assert gap <= 1e-12
    assert region.contains(v) == can
    if can:
        assert t == pytest.approx(v, rel=0, abs=1e-12)
    else:
        assert np.abs(t - v).max() > 1e-3


def test_what_dynamic_programming_cannot_do_the_integer_programme_does(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = pv.PublicWeights.from_rows([[1, 5, 2], [4, 4, 3], [2, 6, 1]], load=3)
    r = np.array([3.5, 3.0, 2.0])
    first = hull(weights)
    monkeypatch.setattr("peerveil.regions.oracles._MOST_UPDATES", 0)
    second = hull(weights)
    assert isinstance(first.oracle, Walk)
    assert isinstance(second.oracle, IntegerProgramme)
    assert second.lower.tolist() == first.lower.tolist()
    assert second.project(r)[0] == pytest.approx(first.project(r)[0], abs=1e-9)


def test_the_hull_is_the_smallest_region() -> None:
    weights = pv.PublicWeights.from_rows([[1, 5], [4, 2], [2, 6], [3, 3]], load=2)
    small, large = hull(weights), pv.region(weights, "chain")
    rng = np.random.default_rng(3)
    for _ in range(20):
        d = rng.normal(size=4)
        assert small.support(d) <= large.support(d) + 1e-9
    assert small.name == "hull"
    assert all(a <= b for bounds in (small.lower, small.upper) for a, b in pairwise(bounds))
    assert not small.vertices.flags.writeable


@pytest.mark.parametrize(
    ("rows", "loads", "said"),
    [
        ([[1.0, 2.0]] * 13, {"load": 2}, "26 reviews, 13 reviewers and 1 such loads"),
        ([[1.0, 2.0]] * 12, {"load": 1}, r"24 reviews, 24 reviewers and 1 such loads \(576\)"),
        ([[1.0, 2.0, 3.0]] * 8, {"reviewers": 8}, "24 reviews, 8 reviewers and 8 such loads"),
    ],
)
def test_large_records_are_refused(rows: list[list[float]], loads: dict[str, int], said: str) -> None:
    weights = pv.PublicWeights.from_rows(rows, **loads)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=f"at most 20 reviews, and at most 400 .* {said}.* Use region 'tight'"):
        hull(weights)


@pytest.mark.parametrize("oracle", [Walk, IntegerProgramme])
def test_records_without_an_assignment_are_refused(oracle: type[Walk] | type[IntegerProgramme]) -> None:
    # Two reviewers, loads 1 and 3 (or 2 and 2), two papers with two reviews each: only 2 and 2 can be.
    kinds = Kinds.of(pv.PublicWeights.from_rows([[1, 2], [3, 4]], load=2))
    loads = Loads(reviewers=2, reviews=4, sizes=(1, 3), counts=(1, 1))
    with pytest.raises(RecordError, match="no valid assignment exists"):
        oracle(kinds, loads).furthest(np.ones(2))


def test_vectors_of_the_wrong_length_are_refused() -> None:
    region: Hull = hull(pv.PublicWeights.from_rows([[1, 2], [3, 4]], load=2))
    for call in (region.support, region.violation, region.project):
        with pytest.raises(InputError, match="must be 2 finite numbers"):
            call([1.0])
        with pytest.raises(InputError, match="must be 2 finite numbers"):
            call([1.0, np.nan])
