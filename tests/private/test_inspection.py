"""What `inspect` says about a file: columns and why they were taken, and numbers that look unintended."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.test_cli import Run, files, run
from peerveil.errors import FileError
from peerveil.private.inspection import inspect
from peerveil.record.oddities import outlying_loads, placeholders
from peerveil.simulation.conferences import synthetic_conference
from peerveil.simulation.exports import KINDS, PRIVATE, export

__all__ = ["files", "run"]  # fixtures

OWN = """Submission ID,Reviewer Name,Email,Initial Rating,Final Rating,Secret remark
7,Planted Person,planted@example.org,3,4,to ann
7,Another Planted,another@example.org,5,5,to bob
8,Planted Person,planted@example.org,6,6,to cem
"""


def taken(facts: dict[str, Any]) -> list[tuple[str, ...]]:
    return [tuple(row.values()) for row in facts["taken"]]


def test_each_column_is_shown_with_what_it_was_taken_for_and_why(run: Run, tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text(OWN)
    facts = inspect(tmp_path / "own.csv", score="Final Rating")
    assert taken(facts) == [
        ("Submission ID", "paper", "a usual name"),
        ("Email", "reviewer", "a usual name; an id or address identifies people better than a name"),
        ("Final Rating", "score", "you named it"),
        ("Reviewer Name", "", ""),
        ("Initial Rating", "", ""),
        ("Secret remark", "", ""),
    ]
    shown = run("inspect", "own.csv", "--score", "Final Rating").out
    assert "not used: Reviewer Name, Initial Rating, Secret remark" in shown
    for cell in ("lanted", "Another", "to ann"):
        assert cell not in shown + json.dumps(facts)


@pytest.mark.parametrize("kind", KINDS)
def test_the_score_of_every_format_is_named(kind: str, tmp_path: Path) -> None:
    name, data = export(synthetic_conference(reviewers=12, rng=np.random.default_rng(1)), kind)
    (tmp_path / name).write_bytes(data)
    facts = inspect(tmp_path / name, person="subreviewer" if kind in PRIVATE else None)
    scores = [column for column, role, why in taken(facts) if role == "score" and why]
    assert len(scores) == (4 if kind == "public-tsv" else 1)
    assert ("reviewers" in facts) == (kind in PRIVATE)


def peerread(*reviews: dict[str, Any]) -> dict[str, Any]:
    return {"id": "1", "title": "A title", "reviews": list(reviews)}


def test_reviews_that_are_listed_twice_are_counted(tmp_path: Path) -> None:
    first = {"RECOMMENDATION": 6, "comments": "A long text about the paper.", "IS_META_REVIEW": False}
    again = {"comments": "A long text about the paper.", "RECOMMENDATION": 6, "TITLE": "annotated", "CLARITY": 3}
    others = [
        {"RECOMMENDATION": 6, "comments": "Another text.", "is_meta_review": False},
        {"RECOMMENDATION": 7, "comments": "A long text about the paper."},  # the score was raised
        {"RECOMMENDATION": 3, "comments": ""},
        {"RECOMMENDATION": 3, "comments": ""},  # without a text, nothing tells that it is the same
    ]
    (tmp_path / "papers.json").write_text(json.dumps([peerread(first, *others, again), {**peerread(first), "id": "2"}]))
    (tmp_path / "single.json").write_text(json.dumps([peerread(first, *others)]))
    problem = "1 of 7 reviews repeat another review of their paper, text and score: every copy counts"
    assert any(text.startswith(problem) for text in inspect(tmp_path / "papers.json", format="peerread")["problems"])
    assert not any("repeat" in text for text in inspect(tmp_path / "single.json", format="peerread")["problems"])


def test_placeholders_are_told_unless_the_scale_says_that_they_are_scores(tmp_path: Path) -> None:
    (tmp_path / "public.csv").write_text("paper,ratings\na,0;0;7;7;7\nb,5;6;0\n")
    problems = inspect(tmp_path / "public.csv")["problems"]
    assert problems[0].startswith("0 stands apart: 3 of 8 scores, the others are 5 to 7.")
    assert inspect(tmp_path / "public.csv", scale=(0, 10))["problems"] == []


def apart(scores: list[int]) -> set[int]:
    """The ends of the scores that stand apart, found with sets: independent of numpy's differences."""
    values = set(scores)
    ends = set()
    for end in (min(values), max(values)):
        others = sorted(values - {end})
        if not others:
            continue
        away = min(abs(end - other) for other in others)
        widest = max((b - a for a, b in pairwise(others)), default=0)
        if (len(others) >= 3 and away > 2 * widest) or (end == 0 and others[0] >= 1):
            ends.add(end)
    return ends


@given(st.lists(st.integers(-3, 30), min_size=1, max_size=9))
def test_scores_that_stand_apart_are_those_of_the_definition(scores: list[int]) -> None:
    told = {int(text.split()[0]) for text in placeholders(np.array(scores, dtype=float)) if "stands apart" in text}
    assert told == apart(scores)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=30))
def test_outlying_loads_are_those_of_the_definition(loads: list[int]) -> None:
    ordered = sorted(loads)
    half = len(loads) // 2
    median = ordered[half] if len(loads) % 2 else (ordered[half - 1] + ordered[half]) / 2
    many = [load for load in loads if load > 3 * median and load >= median + 5]
    told = outlying_loads(np.array(loads))
    assert bool(told) == bool(many)
    if many:
        assert told[0].startswith(f"{len(many)} of {len(loads)} reviewers ha")
        assert all(str(end) in told[0] for end in (min(many), max(many)))


def test_metareviewers_are_noticed_by_their_loads(tmp_path: Path) -> None:
    rows = [f"p{paper},r{(paper + 7 * k) % 40},{5 + k}" for paper in range(40) for k in range(3)]
    rows += [f"p{paper},chair,6" for paper in range(40)]
    (tmp_path / "reviews.csv").write_text("paper,reviewer,score\n" + "\n".join(rows))
    facts = inspect(tmp_path / "reviews.csv")
    assert facts["problems"] == [
        "1 of 41 reviewers has 40 reviews, where the median is 3: are these metareviews, or a chair or bot?"
    ]
    counts = Counter(Counter(row.split(",")[1] for row in rows).values())
    assert facts["load counts"] == ",".join(f"{load}:{count}" for load, count in sorted(counts.items()))
    assert facts["loads"] == "3 to 40 reviews each, median 3"


def test_rows_that_occur_twice_are_counted(tmp_path: Path) -> None:
    rows = ["p,ann,3", "p,bob,5", "q,bob,4", "q,cem,4"]
    (tmp_path / "reviews.csv").write_text("\n".join(["paper,reviewer,score", *rows, *rows[:2], "q,bob,7"]))
    with pytest.raises(
        FileError, match=r"line 6.*in line 2; keep one of them .3 rows repeat one, 2 with the same score"
    ):
        inspect(tmp_path / "reviews.csv")


@pytest.mark.parametrize(
    ("heading", "score"),
    [("Overall Merit", "Overall Merit"), ("overall evaluation", "overall evaluation"), ("Score", "Score")],
)
def test_the_overall_question_is_the_score_if_no_column_is_called_so(heading: str, score: str, tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text(f"Paper #,Reviewer,{heading},Overall merit \n1,ann,3,1\n1,bob,4,2\n2,ann,5,1\n")
    if heading == "Score":
        assert taken(inspect(tmp_path / "own.csv"))[2][:2] == ("Score", "score")
        return
    with pytest.raises(FileError, match="several columns could be the score"):
        inspect(tmp_path / "own.csv")
    (tmp_path / "own.csv").write_text(
        f"All reviews\nPaper #,Reviewer,{heading},Type\n1,ann,3,x\n1,bob,4,x\n2,ann,5,x\n"
    )
    assert taken(inspect(tmp_path / "own.csv"))[2] == (score, "score", "a usual name")
