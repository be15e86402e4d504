"""Public scores in every form in which they come."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import peerveil as pv
from peerveil.exports import KINDS, PRIVATE, export
from peerveil.public_files import scores_by_paper
from peerveil.public_forms import public_table
from test_readers import STYLES, conferences

PUBLIC = tuple(kind for kind in KINDS if kind not in PRIVATE)


@pytest.mark.parametrize("kind", PUBLIC)
@settings(max_examples=25)
@given(data=st.data())
def test_what_is_exported_is_read_back(kind: str, data: st.DataObject) -> None:
    conference = data.draw(conferences())
    style = replace(data.draw(STYLES), comma=False)
    expected: dict[str, list[float]] = {}
    for p, x in zip(conference.paper.tolist(), conference.score.tolist(), strict=True):
        expected.setdefault(str(p + 1), []).append(x)
    with tempfile.TemporaryDirectory() as folder:
        name, content = export(conference, kind, style=style)
        (Path(folder) / name).write_bytes(content)
        found = public_table(Path(folder) / name)
        scores, without = scores_by_paper(found.table)
    assert {p: sorted(xs) for p, xs in scores.items()} == {p: sorted(xs) for p, xs in expected.items()}
    assert without == (kind == "paperlists")
    papers = len(expected)
    assert found.left_out == ({"metareviews": papers, "reviews without a score": papers} if kind == "peerread" else {})
    if kind in ("paperlists", "peerread"):
        assert found.format == kind


def test_peerread_comes_in_folders(tmp_path: Path) -> None:
    papers: list[list[str | int]] = [["4", "3"], ["5", 2]]
    for i, scores in enumerate(papers):
        paper = {
            "id": str(i),
            "title": "T",
            "reviews": [{"RECOMMENDATION": x, "is_meta_review": False} for x in scores],
        }
        (tmp_path / f"{i}.json").write_text(json.dumps(paper))
    record = pv.read_public(tmp_path, load=2)
    assert record.rows() == [[3, 4], [2, 5]]
    (tmp_path / "2.json").write_text('{"id": "x", "reviews": 5}')
    with pytest.raises(pv.FileError, match=r"2\.json, line 1: a paper has no list of reviews"):
        pv.read_public(tmp_path, load=2)
    (tmp_path / "2.json").write_text("[1]")
    with pytest.raises(pv.FileError, match=r"2\.json, line 1: is not a JSON object"):
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
            scores_by_paper(public_table(tmp_path / "a.csv").table)
        return
    record = pv.read_public(tmp_path / "a.csv", loads=(1, 9), reviewers=max(map(len, rows)), scale=(1, 10))
    assert [[None if x != x else x for x in row] for row in record.rows()] == rows  # noqa: PLR0124 - not-a-number


def test_formats_can_be_forced(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[{"id": "p", "rating": "3;4"}]')
    for kind in ("paperlists", "json", None):
        assert pv.read_public(tmp_path / "a.json", load=1, format=kind).rows() == [[3, 4]]
    with pytest.raises(pv.FileError, match=r"format must be one of csv, .*peerread, got 'xls'"):
        pv.read_public(tmp_path / "a.json", load=1, format="xls")
