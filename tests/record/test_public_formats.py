"""Public scores in every form in which they come."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import peerveil as pv
from peerveil.record.public_scores import PublicScores, public_scores
from peerveil.simulation.conferences import Conference
from peerveil.simulation.exports import KINDS, PRIVATE, Style, export
from private.test_readers import STYLES, conferences, graded

PUBLIC = tuple(kind for kind in KINDS if kind not in PRIVATE)


@contextmanager
def exported(conference: Conference, kind: str, style: Style) -> Iterator[Path]:
    """The path of an export, without decimal commas."""
    name, content = export(conference, kind, style=replace(style, comma=False))
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / name).write_bytes(content)
        yield Path(folder) / name


def by_paper(scores: PublicScores) -> dict[str, list[tuple[float, ...]]]:
    """Score and criteria of the reviews of each paper."""
    reviews: dict[str, list[tuple[float, ...]]] = {}
    for paper, *values in zip(scores.paper.tolist(), scores.score, *scores.criteria.values(), strict=True):
        reviews.setdefault(scores.papers[paper], []).append(tuple(values))
    return reviews


@pytest.mark.parametrize("kind", PUBLIC)
@settings(max_examples=25)
@given(data=st.data())
def test_what_is_exported_is_read_back(kind: str, data: st.DataObject) -> None:
    conference, style = data.draw(conferences()), data.draw(STYLES)
    expected: dict[str, list[float]] = {}
    for p, x in zip(conference.paper.tolist(), conference.score.tolist(), strict=True):
        expected.setdefault(str(p + 1), []).append(x)
    with exported(conference, kind, style) as path:
        found = public_scores(path)
    read = {p: sorted(x for (x,) in xs) for p, xs in by_paper(found).items()}
    assert read == {p: sorted(xs) for p, xs in expected.items()}
    assert found.without == (kind == "paperlists")
    papers = len(expected)
    assert found.left_out == ({"metareviews": papers, "reviews without a score": papers} if kind == "peerread" else {})
    if kind in ("paperlists", "peerread"):
        assert found.format == kind


@pytest.mark.parametrize("kind", PUBLIC)
@settings(max_examples=10)
@given(data=st.data())
def test_criteria_are_read_back(kind: str, data: st.DataObject) -> None:
    conference, style = graded(data.draw(conferences()), data), data.draw(STYLES)
    expected: dict[str, list[tuple[float, ...]]] = {}
    for p, *review in zip(conference.paper.tolist(), conference.score, *conference.criteria.values(), strict=True):
        expected.setdefault(str(p + 1), []).append(tuple(review))
    names = list(conference.criteria)
    with exported(conference, kind, style) as path:
        reviews = by_paper(public_scores(path, criteria=names))
        assert {p: sorted(xs) for p, xs in reviews.items()} == {p: sorted(xs) for p, xs in expected.items()}
        with pytest.raises(pv.FileError, match="criterion 'novelty'"):
            pv.read_public(path, load=1, criteria=["novelty"])


def test_a_criterion_that_peerread_lacks_is_missing(tmp_path: Path) -> None:
    papers = [
        {"id": str(p), "reviews": [{"RECOMMENDATION": "4", "is_meta_review": False, "CLARITY": c} for c in "35"]}
        for p in range(3)
    ]
    del papers[1]["reviews"][0]["CLARITY"]  # type: ignore[attr-defined]
    (tmp_path / "a.json").write_text(json.dumps(papers))
    with pytest.raises(pv.FileError, match=r"a\.json: 1 of 6 reviews lack a criterion"):
        pv.read_public(tmp_path / "a.json", load=2, criteria=["clarity"])
    record = pv.read_public(tmp_path / "a.json", load=2, criteria=["clarity"], missing_criteria="leave-out")
    assert (record.papers, len(record.notes)) == (("0", "2"), 1)
    with pytest.raises(pv.InputError, match="no criterion can be called 'ratings' here"):
        pv.read_public(tmp_path / "a.json", load=2, criteria=["ratings"])


def test_commas_in_criteria_are_as_unclear_as_in_scores(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("paper;ratings;clarity\na;4;3,5\n")
    with pytest.raises(pv.FileError, match="line 2, column 'clarity': a comma could"):
        pv.read_public(tmp_path / "a.csv", load=1, criteria=["clarity"])


def test_peerread_comes_in_folders(tmp_path: Path) -> None:
    papers: list[list[str | int]] = [["4", "3"], ["5", 2]]
    for i, scores in enumerate(papers):
        reviews = [{"RECOMMENDATION": x, "is_meta_review": False} for x in scores]
        paper = {"id": str(i), "title": "T", "reviews": reviews}
        (tmp_path / f"{i}.json").write_text(json.dumps(paper))
    record = pv.read_public(tmp_path, load=2)
    assert record.rows() == [[3, 4], [2, 5]]
    for text, message in (
        ('{"id": "x", "reviews": 5}', "a paper has no list of reviews"),
        ("[1]", "is not a JSON object"),
    ):
        (tmp_path / "2.json").write_text(text)
        with pytest.raises(pv.FileError, match=rf"2\.json, line 1: {message}"):
            pv.read_public(tmp_path, load=2)
    (tmp_path / "empty").mkdir()
    with pytest.raises(pv.FileError, match="holds no papers"):
        pv.read_public(tmp_path / "empty", load=2)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("id,ratings\na,\"[5, 6.5, 8]\"\nb,[]\nc,\"['3: weak', '4']\"\n", [[5, 6.5, 8], [3, 4]]),
        ("paper;ratings\na;6,5|7\n", None),
        ("paper|ratings\na|6,5;7\nb|8: good;2 bad\n", [[6.5, 7], [2, 8]]),
        ("paper;ratings\na;6,5\nb;7\n", None),
        ("paper\tratings\na\t6, 8, 5\n", None),
        ("paper;score\na;6,5\na;7\n", [[6.5, 7]]),
        ("paper_id\t0\t1\t2\tdecision\na\t3\t4\t\tno\nb\t\t\t\tno\nc\t1\t?\t2\tyes\n", [[3, 4], [1, 2, None]]),
        ('paper,ratings\na,"[5, x]"\n', None),
        ('paper,ratings\na,"[5, ]"\n', None),
    ],
)
def test_scores_of_a_paper(text: str, rows: list[list[float | None]] | None, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(text)
    if rows is None:
        with pytest.raises(pv.FileError, match=r"line 2, column 'ratings': (a comma could|text|an empty cell)"):
            public_scores(tmp_path / "a.csv")
        return
    record = pv.read_public(tmp_path / "a.csv", loads=(1, 9), reviewers=max(map(len, rows)), scale=(1, 10))
    assert [[None if x != x else x for x in row] for row in record.rows()] == rows  # noqa: PLR0124 - not-a-number


@pytest.mark.parametrize(
    ("text", "how", "message"),
    [
        ("a,6;8;5\nb,3", {"load": 3}, "load=3 does not divide the 4 reviews"),
        ("a,6;8;5\nb,3", {}, "load"),
        ("a,6;8;5\nb,3", {"load": 4}, "a paper has 3 reviews but there are only 1 reviewers"),
        ("a,6;8;5\nb,3", {"loads": {3: 1, 1: 1}}, "a paper has 3 reviews but there are only 2 reviewers"),
        ("a,6;?;5\nb,3", {"load": 1}, "1 scores are hidden: state the scale"),
        ("a,6;8;5\nb,3", {"load": 1, "scale": (1, 5)}, "2 of 4 scores lie outside the declared scale"),
        ("a,6;8;5\nb,3", {"load": 1, "scale": (5, 1)}, "scale must be two finite numbers"),
        ("a,6;8;5\nb,\nc,x", {"load": 1}, "line 4, column 'ratings': text"),
    ],
)
def test_every_refusal_names_the_file(text: str, how: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "public.csv"
    path.write_text(f"paper,ratings\n{text}\n")
    with pytest.raises(pv.FileError, match=message) as caught:
        pv.read_public(path, **how)
    assert str(caught.value).startswith(str(path))
    assert caught.value.__context__ is None  # it would hold what was read


@pytest.mark.parametrize("bad", [1, 3, 14])
def test_all_bad_lines_are_told_at_once(bad: int, tmp_path: Path) -> None:
    rows = ["p0,6;8"] + [f"p{number},6;x{number}" for number in range(1, bad + 1)] + ["q,3;4"]
    (tmp_path / "public.csv").write_text("\n".join(["paper,ratings", *rows]))
    with pytest.raises(pv.FileError) as raised:
        public_scores(tmp_path / "public.csv")
    message = str(raised.value)
    assert "line 3, column 'ratings': " in message
    assert ("In all" in message) == (bad > 1)
    if bad > 1:
        listed = ", ".join(f"line {2 + number} ('ratings')" for number in range(1, min(bad, 10) + 1))
        assert message.endswith(f"In all, {bad} lines cannot be used: {listed}" + " and 4 more lines" * (bad > 10))
    assert "x1" not in message


def test_missing_criteria_are_refused_with_the_name_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "public.csv"
    path.write_text("paper,ratings,clarity\na,6;8,3;\nb,3,\n")
    with pytest.raises(pv.FileError, match=r"public\.csv: 2 of 3 reviews lack a criterion, in 2 of 2 papers"):
        pv.read_public(path, load=1, criteria=["clarity"])
    with pytest.raises(pv.FileError, match=r"public\.csv: every paper has a review that lacks a criterion"):
        pv.read_public(path, load=1, criteria=["clarity"], missing_criteria="leave-out")
    with pytest.raises(pv.InputError, match="missing_criteria must be"):
        pv.read_public(path, load=1, criteria=["clarity"], missing_criteria="guess")  # type: ignore[arg-type]


def test_equal_cells_of_different_types_stay_different() -> None:
    frame = pd.DataFrame({"paper": ["a", "b"], "score": pd.Series([1, True], dtype=object)})
    with pytest.raises(pv.FileError, match="line 2, column 'score': text"):
        pv.read_public(frame, load=1)


def test_a_column_a_review_holds_one_score_a_cell(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("paper_id\t0\na\t6;8\n")
    with pytest.raises(pv.FileError, match="line 2, column '0': text"):
        pv.read_public(tmp_path / "a.tsv", load=1)


def test_formats_can_be_forced(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[{"id": "p", "rating": "3;4"}]')
    for kind in ("paperlists", "json", None):
        assert pv.read_public(tmp_path / "a.json", load=1, format=kind).rows() == [[3, 4]]
    with pytest.raises(pv.FileError, match=r"format must be one of csv, .*peerread, got 'docx'"):
        pv.read_public(tmp_path / "a.json", load=1, format="docx")


@given(st.lists(st.lists(st.sampled_from([1, 2.5, 3, 6.1, 1e50, None]), max_size=5), min_size=1, max_size=9), st.data())
def test_public_rows_are_arranged_like_any_record(rows: list[list[float | None]], data: st.DataObject) -> None:
    names = data.draw(st.permutations([f"p{i}" for i in range(len(rows))]))
    grades = [[None if x is None else data.draw(st.integers(1, 3)) for x in row] for row in rows]

    def text(row: list[float | None] | list[int | None]) -> str:
        return ";".join("?" if x is None else str(x) for x in row)

    frame = pl.DataFrame(
        {"paper": names, "ratings": list(map(text, rows)), "clarity": list(map(text, grades)), "x": [0] * len(rows)}
    )
    kept = [i for i, row in enumerate(rows) if row]
    if not kept:
        with pytest.raises(pv.FileError, match="holds no scores"):
            pv.read_public(frame, load=1)
        return
    expected = pv.PublicRecord.from_rows(
        [rows[i] for i in kept],
        papers=[names[i] for i in kept],
        load=1,
        scale=(0, 1e60),
        criteria={"clarity": [grades[i] for i in kept]},
    )
    found = pv.read_public(frame, load=1, scale=(0, 1e60), criteria=["clarity"])
    assert found.papers == expected.papers
    assert found.criteria is not None
    assert expected.criteria is not None
    for ours, theirs in ((found.paper, expected.paper), (found.score, expected.score)):
        assert np.array_equal(ours, theirs, equal_nan=ours.dtype.kind == "f")
    assert np.array_equal(found.criteria, expected.criteria, equal_nan=True)
