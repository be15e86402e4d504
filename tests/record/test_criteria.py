"""Criteria on their way: from files, through both sides, to a release."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import peerveil as pv
from peerveil.private.inspection import inspect
from peerveil.private.true_vector import true_vector
from peerveil.quantities import QUANTITIES
from peerveil.quantities.monotone import fit_monotone
from peerveil.record.criteria import canonical_order, in_canonical_order
from peerveil.record.public_files import write_public
from peerveil.simulation.conferences import synthetic_conference
from strategies import Graded, graded_cases

PRIVATE = {
    "paper": ["p", "p", "q", "q", "r", "r"],
    "reviewer": ["ann", "bob", "bob", "cem", "cem", "ann"],
    "score": [5, 5, 4, 4, 8, 6],
    "soundness": [2, 1, 3, 3, 5, 4],
    "clarity": [1, 2, 3, 2, 4, 5],
}
CRITERIA = ["soundness", "clarity"]


def private(**changes: list[Any]) -> pl.DataFrame:
    return pl.DataFrame(PRIVATE | changes)


def public(**changes: list[str]) -> pl.DataFrame:
    columns = {"ratings": ["5;5", "4;4", "8;6"], "soundness": ["1;2", "3;3", "5;4"], "clarity": ["2;1", "3;2", "4;5"]}
    return pl.DataFrame({"paper": ["p", "q", "r"]} | columns | changes)


def test_both_readers_and_both_shapes_of_public_files_agree() -> None:
    reviews = pv.read(private(), criteria=CRITERIA)
    record = reviews.public("all")
    assert record.criteria_names == ("clarity", "soundness")
    assert record.criteria is not None
    assert record.criteria.tolist() == [[1, 2], [2, 1], [2, 3], [3, 3], [5, 4], [4, 5]]  # by paper, score, clarity
    for source in (public(), private().drop("reviewer")):
        for names in (CRITERIA, CRITERIA[::-1]):
            read = pv.read_public(source, load=2, criteria=names)
            assert reviews.public(read) is read
            for quantity in QUANTITIES:
                assert pv.weigh(read, quantity).digest() == pv.weigh(record, quantity).digest()


@given(graded=graded_cases())
def test_what_is_written_is_read_again(graded: Graded, tmp_path_factory: pytest.TempPathFactory) -> None:
    record = graded.record()
    path = tmp_path_factory.mktemp("public") / "public.csv"
    write_public(record, path)
    again = pv.read_public(path, loads=graded.case.stated(), criteria=record.criteria_names)
    assert again.papers == record.papers
    assert again.score.tolist() == record.score.tolist()
    assert again.criteria is not None
    assert record.criteria is not None
    assert again.criteria.tolist() == record.criteria.tolist()


def test_hidden_reviews_are_written_and_read_whole(tmp_path: Path) -> None:
    frame = public(ratings=["5;?", "4;4", "?;?"], soundness=["1;?", "3;3", ""], clarity=["2;?", "3;2", "?;?"])
    record = pv.read_public(frame, load=2, scale=(1, 10), criteria=CRITERIA)
    assert record.hidden == 3
    write_public(record, tmp_path / "public.csv")
    again = pv.read_public(tmp_path / "public.csv", load=2, scale=(1, 10), criteria=CRITERIA)
    assert pv.weigh(again, "subjectivity").digest() == pv.weigh(record, "subjectivity").digest()
    # f is learnt from three reviews: (clarity, soundness) = (2, 1): 5; (2, 3): 4; (3, 3): 4
    assert pv.weigh(record, "normalized").low.tolist() == [4, 4, 4, 4, 4, 4]
    assert pv.weigh(record, "subjectivity").rows_high() == [[1, 6], [0, 0], [6, 6]]
    for bounds in ("baseline", "tight"):
        made = pv.release(
            pv.read(private(), scale=(1, 10), criteria=CRITERIA),
            public=record,
            quantity="subjectivity",
            mechanism=pv.Laplace(epsilon=1.0),
            region=bounds,
        )
        assert made.public == (
            "a public record: scores and criteria (clarity, soundness) as far as it shows them, loads as declared"
        )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"clarity": ["2;1", "3", "4;5"]}, "row 2, column 'clarity': has 1 values for 2 scores"),
        ({"clarity": ["2;1", "3;?", "4;5"]}, "row 2, column 'clarity': score and criteria of a review must be all"),
        ({"ratings": ["5;5", "4;?", "8;6"]}, "row 2, column 'soundness': score and criteria of a review must be all"),
        ({"clarity": ["2;1", "3;good", "4;5"]}, "row 2, column 'clarity': text .not shown here"),
        ({"clarity": ["2;1", "3;", "4;5"]}, "1 of 6 reviews lack a criterion, in 1 of 3 papers"),
        ({"clarity": ["2;1", "", "4;5"]}, "2 of 6 reviews lack a criterion, in 1 of 3 papers"),
    ],
)
def test_public_criteria_that_cannot_be_used_are_refused(changes: dict[str, list[str]], message: str) -> None:
    with pytest.raises(pv.InputError, match=message.replace("row 2", "(line|row) 2")):
        pv.read_public(public(**changes), load=2, scale=(1, 10), criteria=CRITERIA)


def test_whole_papers_are_left_out_on_both_sides() -> None:
    gap = [1, None, 3, 2, 4, 5]
    with pytest.raises(
        pv.FileError, match=r"^the frame: 1 of 6 reviews lack a criterion, in 1 of 3 papers; .*'leave-out'"
    ):
        pv.read(private(clarity=gap), criteria=CRITERIA)
    reviews = pv.read(private(clarity=gap), scale=(1, 10), criteria=CRITERIA, missing_criteria="leave-out")
    assert reviews.papers == ("q", "r")
    assert reviews.loads().counts == (2, 1)  # ann and bob hold one review now, cem two
    record = pv.read_public(
        public(clarity=["2;", "3;2", "4;5"]), load=2, criteria=CRITERIA, missing_criteria="leave-out"
    )
    assert record.loads == reviews.loads()  # which follows from the load of all: one paper takes one review each
    note = "2 reviews of 1 paper were left out with their papers, for a missing criterion"
    assert record.notes == reviews.notes == (note,)
    made = pv.release(reviews, public=record, quantity="normalized", mechanism=pv.Laplace(epsilon=1.0))
    assert note in made.notes
    # Where reviews are hidden, nobody knows which criteria are missing: it is no public ground.
    without = pv.read_public(pl.DataFrame({"paper": ["q", "r"], "ratings": ["4;4", "8;6"]}), loads={1: 2, 2: 1})
    for visible in ("none", without):
        with pytest.raises(pv.RecordError, match="no public ground if criteria are not public"):
            reviews.public(visible)
    with pytest.raises(pv.RecordError, match="papers of the public record are not in the private one"):
        reviews.public(pv.read_public(public(), load=2, criteria=CRITERIA))
    with pytest.raises(pv.FileError, match="nothing would be left"):
        pv.read(private(clarity=[None] * 6), criteria=["clarity"], missing_criteria="leave-out")
    with pytest.raises(pv.InputError, match="missing_criteria must be 'refuse' or 'leave-out', got 'drop'"):
        pv.read(private(), criteria=CRITERIA, missing_criteria="drop")  # type: ignore[arg-type]


def test_public_and_private_criteria_are_checked_against_each_other() -> None:
    reviews = pv.read(private(), criteria=CRITERIA)
    other = pv.read_public(public(clarity=["1;2", "3;2", "4;5"]), load=2, criteria=CRITERIA)
    with pytest.raises(pv.RecordError, match="1 papers have other scores or criteria in the public record"):
        reviews.public(other)
    fewer = pv.read_public(public(), load=2, criteria=["clarity"])
    with pytest.raises(pv.RecordError, match="has the criteria clarity, the private one has clarity, soundness"):
        reviews.public(fewer)
    with pytest.raises(pv.RecordError, match="the private one has none"):
        pv.read(private()).public(fewer)
    partly = {"ratings": ["5;?", "4;4", "8;6"], "soundness": ["1;?", "3;3", "5;4"], "clarity": ["1;?", "3;2", "4;5"]}
    wrong = pv.read_public(public(**partly), load=2, scale=(1, 10), criteria=CRITERIA)
    with pytest.raises(pv.RecordError, match="1 papers have other scores or criteria"):
        reviews.public(wrong)
    # Criteria need not be public for quantities that do without.
    without = pv.read_public(public(), load=2)
    made = pv.release(reviews, public=without, mechanism=pv.Laplace(epsilon=1.0))
    assert made.public == "a public record: scores as far as it shows them, loads as declared"
    with pytest.raises(pv.RecordError, match="needs criteria"):
        pv.release(reviews, public=without, quantity="normalized", mechanism=pv.Laplace(epsilon=1.0))


def test_criteria_that_are_none_are_refused() -> None:
    with pytest.raises(pv.InputError, match="criteria must name different columns"):
        pv.read(private(), criteria="clarity")
    with pytest.raises(pv.InputError, match="criteria must name different columns"):
        pv.read(private(), criteria=["clarity", "clarity"])
    columns = (["p", "p"], ["a", "b"], [3, 4])
    with pytest.raises(pv.RecordError, match="criterion 'clarity' has 1 values for 2 reviews"):
        pv.Reviews.from_columns(*columns, criteria={"clarity": [1]})
    for missing in ("refuse", "leave-out"):
        with pytest.raises(pv.RecordError, match="criteria must be finite"):
            pv.Reviews.from_columns(
                *columns,
                criteria={"clarity": [1, float("inf")], "soundness": [1, -float("inf")]},
                missing_criteria=missing,
            )
    with pytest.raises(pv.RecordError, match="a criterion is not a number") as caught:
        pv.Reviews.from_columns(*columns, criteria={"clarity": [1, "ann"]})  # type: ignore[list-item]
    assert "ann" not in str(caught.value)
    assert caught.value.__context__ is None
    with pytest.raises(pv.RecordError, match="one row per paper"):
        pv.PublicRecord.from_rows([[3, 4], [5, 5]], load=2, criteria={"clarity": [[1, 2, 3], [4]]})
    with pytest.raises(pv.RecordError, match="hidden exactly where the score is"):
        pv.PublicRecord.from_rows([[3, 4]], load=1, criteria={"clarity": [[1, None]]})


def test_records_of_one_public_part_are_the_same_bit_for_bit() -> None:
    rng = np.random.default_rng(3)
    frame = private()
    digests = set()
    for _ in range(5):
        shuffled = frame[rng.permutation(6).tolist()]
        record = pv.read(shuffled, criteria=CRITERIA).public("all")
        assert record.criteria is not None
        digests.add((record.score.tobytes(), record.criteria.tobytes(), pv.weigh(record, "subjectivity").digest()))
    assert len(digests) == 1


def test_every_quantity_of_a_conference_whose_reviewers_weigh_criteria_differently() -> None:
    names = ["soundness", "clarity", "originality"]
    made = synthetic_conference(reviewers=40, criteria=names, rng=np.random.default_rng(2))
    reviews = pv.read(made.frame(), scale=made.scale, criteria=names)
    for quantity in QUANTITIES:
        released = pv.release(reviews, public="all", quantity=quantity, mechanism=pv.Laplace(epsilon=1.0))
        truth = true_vector(reviews, quantity)
        assert released.public == "all scores and criteria (clarity, originality, soundness), and load counts"
        assert released.quantity == quantity
        assert np.linalg.norm(released.values - truth) <= np.linalg.norm(released.noisy - truth)
        assert json.loads(released.to_json())["quantity"] == quantity
    # Tastes differ: what the reviewers together think does not explain every score, yet most of what criteria say.
    marks = np.column_stack([made.criteria[name] for name in names])
    learnt = fit_monotone(marks, made.score)
    left = np.abs(made.score - learnt(marks)).sum()
    assert 0 < left < 0.8 * np.abs(made.score - np.median(made.score)).sum()
    taste = synthetic_conference(reviewers=40, rng=np.random.default_rng(2))
    assert taste.criteria == {}


def test_inspect_tells_of_criteria() -> None:
    facts = inspect(private(clarity=[1, None, 3, 2, 4, 5]), criteria=CRITERIA)
    assert facts["criterion 'soundness'"] == "1 to 5"
    assert "1 of 6 reviews lack the criterion 'clarity'" in facts["problems"]
    facts = inspect(public(ratings=["5;?", "4;4", "8;6"], soundness=["1;?", "3;3", "5;"]), criteria=["soundness"])
    assert facts["criterion 'soundness'"] == "1 to 5"
    assert "1 of 5 reviews lack the criterion 'soundness'" in facts["problems"]


FEW = st.sampled_from([1.0, 2.0, float("nan"), 0.0, -0.0])


@given(st.lists(st.tuples(st.integers(0, 2), FEW, FEW, FEW, st.integers(0, 2)), max_size=6), st.booleans())
def test_the_canonical_order_is_told_without_sorting(rows: list[tuple[float, ...]], sort: bool) -> None:
    paper, reviewer = (np.array([row[i] for row in rows], dtype=np.int64) for i in (0, 4))
    score, criteria = np.array([row[1] for row in rows]), np.array([row[2:4] for row in rows]).reshape(-1, 2)
    if sort:
        order = canonical_order(paper, score, criteria, reviewer)
        paper, score, criteria, reviewer = paper[order], score[order], criteria[order], reviewer[order]
    order = canonical_order(paper, score, criteria, reviewer)
    stands = order.tolist() == list(range(len(rows)))
    assert in_canonical_order(paper, score, criteria, reviewer) == stands
    assert stands or not sort
