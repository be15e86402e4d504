from __future__ import annotations

import csv
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import peerveil as pv
from peerveil.quantities.criteria_maps import learnt_map
from peerveil.quantities.monotone import MonotoneMap, covers, fit_monotone
from peerveil.record.public_record import Floats
from reference.monotone import Vector, by_trying_all, dominated, least_loss, least_norm
from strategies import scores

Judged = tuple[list[Vector], list[float]]


@st.composite
def judged(draw: st.DrawFn, *, most: int = 7, vectors: int = 4) -> Judged:
    """A few reviews with few different criteria vectors: repeated, comparable or not; scores of any kind."""
    width = draw(st.integers(1, 3))
    vector = st.tuples(*[st.integers(0, 2).map(float)] * width)
    pool = draw(st.lists(vector, min_size=1, max_size=vectors, unique=True))
    criteria = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=most))
    return criteria, draw(st.one_of(scores(len(criteria)), _few(len(criteria))))


def _few(count: int) -> st.SearchStrategy[list[float]]:
    return st.lists(st.sampled_from([-2.0, -1.0, 1.0, 3.0]), min_size=count, max_size=count)


def table(learnt: MonotoneMap) -> dict[Vector, float]:
    return dict(zip(map(tuple, learnt.vectors.tolist()), learnt.values.tolist(), strict=True))


def conference(
    rng: np.random.Generator, reviews: int, criteria: int, levels: int, *, kind: str = "grades"
) -> tuple[Floats, Floats]:
    marks = np.clip(np.rint(rng.normal(levels / 2, levels / 4, (reviews, criteria))), 1, levels)
    taste = rng.dirichlet(np.ones(criteria), reviews)
    raw = (marks * taste).sum(axis=1) + rng.normal(0, levels / 6, reviews)
    return marks, {"grades": np.rint(raw), "reals": raw, "signed": np.rint(raw - raw.mean())}[kind]


# Theorem Q1.
@pytest.mark.slow
@given(judged())
@settings(max_examples=300)
def test_it_is_the_only_best_of_all_maps(case: Judged) -> None:
    best = by_trying_all(*case)
    assert best == [table(fit_monotone(*map(np.array, case)))]


@pytest.mark.parametrize("kind", ["grades", "reals", "signed"])
@pytest.mark.parametrize(("reviews", "criteria", "levels"), [(40, 1, 9), (60, 2, 5), (120, 3, 4), (150, 4, 6)])
def test_general_solvers_find_the_same(reviews: int, criteria: int, levels: int, kind: str) -> None:
    rng = np.random.default_rng(reviews)
    for _ in range(3):
        marks, score = conference(rng, reviews, criteria, levels, kind=kind)
        learnt = fit_monotone(marks, score)
        lost = float(np.abs(score - learnt(marks)).sum())
        least = least_loss(marks, score)
        assert lost == pytest.approx(least, rel=1e-9)
        # No map with that loss has a smaller norm: what the programme finds lies where ours does.
        np.testing.assert_allclose(least_norm(marks, score, least), learnt.values, atol=2e-3 * np.abs(score).max())


@given(judged(most=12, vectors=9))
def test_it_is_non_decreasing_and_takes_its_values_from_the_scores(case: Judged) -> None:
    found = table(fit_monotone(*map(np.array, case)))
    assert all(found[u] <= found[v] for u in found for v in found if dominated(u, v))
    assert set(found.values()) <= {*case[1], 0.0}
    assert min(case[1]) <= min(found.values()) <= max(found.values()) <= max(case[1])


@given(judged(most=12, vectors=9), st.randoms(use_true_random=False))
def test_the_order_of_reviews_and_criteria_does_not_matter(case: Judged, random: object) -> None:
    criteria, score = map(np.array, case)
    order = list(range(score.size))
    random.shuffle(order)  # type: ignore[attr-defined]
    fitted = fit_monotone(criteria, score)
    again = fit_monotone(criteria[order], score[order])
    assert table(fitted) == table(again)
    assert fit_monotone(criteria[:, ::-1], score)(criteria[:, ::-1]).tolist() == fitted(criteria).tolist()


@given(judged(most=12, vectors=9), st.sampled_from([0.125, 0.3, 3.0, 7.0, 1e6]))
def test_scores_times_a_positive_number_give_the_map_times_it(case: Judged, factor: float) -> None:
    criteria, score = map(np.array, case)
    if np.unique(score * factor).size == np.unique(score).size:  # rounding may make scores equal
        assert (
            fit_monotone(criteria, score * factor).values.tolist()
            == (fit_monotone(criteria, score).values * factor).tolist()
        )


@given(judged(most=12, vectors=9))
def test_upside_down_it_is_the_same_upside_down(case: Judged) -> None:
    criteria, score = map(np.array, case)
    assert (fit_monotone(-criteria, -score)(-criteria) == -fit_monotone(criteria, score)(criteria)).all()


@given(judged(most=12, vectors=9))
def test_only_the_order_of_grades_and_shares_of_reviews_matter(case: Judged) -> None:
    criteria, score = map(np.array, case)
    found = fit_monotone(criteria, score)(criteria).tolist()
    assert fit_monotone(np.exp(criteria), score)(np.exp(criteria)).tolist() == found
    assert fit_monotone(np.tile(criteria, (3, 1)), np.tile(score, 3))(criteria).tolist() == found


@given(judged(most=12, vectors=9))
def test_where_all_agree_and_order_is_kept_it_returns_the_scores(case: Judged) -> None:
    criteria = np.array(case[0])
    score = criteria.sum(axis=1) ** 3 - 4  # any function that is non-decreasing in every criterion
    assert fit_monotone(criteria, score)(criteria).tolist() == score.tolist()


@given(judged(most=12, vectors=9))
def test_covers_are_the_pairs_with_nothing_in_between(case: Judged) -> None:
    vectors = np.unique(np.array(case[0]), axis=0)
    listed = list(enumerate(map(tuple, vectors.tolist())))
    above = {(i, j) for i, u in listed for j, v in listed if i != j and dominated(u, v)}
    expected = {(i, j) for i, j in above if not any((i, k) in above and (k, j) in above for k, _ in listed)}
    lower, upper = covers(vectors)
    assert sorted(zip(lower.tolist(), upper.tolist(), strict=True)) == sorted(expected)


@given(judged(most=12, vectors=5))
def test_unseen_criteria_get_what_keeps_the_order_and_is_nearest_to_zero(case: Judged) -> None:
    learnt = fit_monotone(*map(np.array, case))
    grid = [tuple(map(float, v)) for v in product([-1, 0, 0.5, 1, 2, 3], repeat=learnt.vectors.shape[1])]
    found = dict(zip(grid, learnt(np.array(grid)).tolist(), strict=True))
    known = table(learnt)
    low, high = learnt.span
    for vector, value in found.items():
        least = max([low, *(x for v, x in known.items() if dominated(v, vector))])
        most = min([high, *(x for v, x in known.items() if dominated(vector, v))])
        assert value == min(max(0.0, least), most)
    if len(grid) < 40:
        assert all(found[u] <= found[v] for u in grid for v in grid if dominated(u, v))
    seen = learnt.vectors
    assert learnt(seen).tolist() == learnt.values.tolist()


def test_larger_conferences_pass_through_every_solver() -> None:
    """Hundreds of different vectors, so that flows take many roads; the linear programme knows all pairs."""
    rng = np.random.default_rng(7)
    marks, score = conference(rng, 900, 3, 9, kind="grades")
    learnt = fit_monotone(marks, score)
    assert len(learnt.vectors) > 250
    assert float(np.abs(score - learnt(marks)).sum()) == pytest.approx(least_loss(marks, score), rel=1e-9)


@pytest.mark.parametrize(
    ("criteria", "score", "message"),
    [
        ([[1.0], [2.0]], [1.0], "2 rows for 1 scores"),
        (np.empty((0, 1)), [], "at least one review"),
        ([[1.0], [np.nan]], [1.0, 2.0], "finite"),
        ([[1.0], [2.0]], [1.0, np.inf], "finite"),
        ([1.0, 2.0], [1.0, 2.0], "at least one column"),
        (np.empty((2, 0)), [1.0, 2.0], "at least one column"),
    ],
)
def test_what_is_no_set_of_reviews_is_refused(criteria: Floats, score: Floats, message: str) -> None:
    with pytest.raises(pv.RecordError, match=message):
        fit_monotone(criteria, score)


@pytest.mark.data("acl2017_criteria.csv")
def test_a_real_conference(data: Path) -> None:
    path = data / "acl2017_criteria.csv"
    with path.open() as handle:
        names = next(csv.reader(handle))[2:]
    assert len(names) == 7
    with pytest.raises(pv.FileError, match=r"6 of 275 reviews lack a criterion, in 4 of \d+ papers"):
        pv.read_public(path, reviewers=200, criteria=names)
    record = pv.read_public(path, reviewers=200, criteria=names, missing_criteria="leave-out")
    assert [one.papers for one in record.part.left_out] == [4]  # type: ignore[union-attr]
    assert record.criteria is not None
    learnt = learnt_map(record)
    lost = float(np.abs(record.score - learnt(record.criteria)).sum())
    assert lost == pytest.approx(least_loss(record.criteria, record.score), rel=1e-9)
    assert pv.weigh(record, "subjectivity").low.sum() == pytest.approx(
        record.score.sum() - pv.weigh(record, "normalized").low.sum()
    )
