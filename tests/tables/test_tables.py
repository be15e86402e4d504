from __future__ import annotations

import gzip
import json
import os
from contextlib import nullcontext
from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import peerveil as pv
from peerveil.private.inspection import inspect
from peerveil.private.true_vector import true_vector
from peerveil.releases.noisy_files import read_noisy
from peerveil.simulation.conferences import Conference

COLUMNS = {"paper": ["p", "p", "q", "q"], "reviewer": ["ann", "bob", "bob", "ann"], "score": [3.0, 5.5, 4.0, 8.0]}
TRUTH = [4.75, 5.5]


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def csv_text(separator: str = ",", newline: str = "\n", header: str = "paper,reviewer,score") -> str:
    lines = [header.replace(",", separator)]
    lines += [separator.join(map(str, row)) for row in zip(*COLUMNS.values(), strict=True)]
    return newline.join(lines) + newline


def test_every_generic_form_reads_alike(tmp_path: Path) -> None:
    frame = pl.DataFrame(COLUMNS)
    frame.write_parquet(tmp_path / "a.parquet")
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]
    sources = [
        write(tmp_path / "a.csv", csv_text()),
        write(tmp_path / "b.csv", csv_text(";")),
        write(tmp_path / "c.tsv", csv_text("\t", "\r\n")),
        write(tmp_path / "d.txt", "\ufeff" + csv_text()),
        write(tmp_path / "e.csv", csv_text(header="Paper ID,E-Mail,Overall Score")),
        write(tmp_path / "f.csv", "\n" + csv_text(newline="\n\n")),
        write(tmp_path / "g.jsonl", "\n".join(map(json.dumps, rows))),
        write(tmp_path / "g.json", json.dumps(rows, indent=1)),
        *(write(tmp_path / f"u{bits}.csv", csv_text().encode(f"utf-{bits}")) for bits in (16, 32)),
        write(tmp_path / "a.csv.gz", gzip.compress(csv_text().encode())),
        tmp_path / "a.parquet",
        frame,
        pd.DataFrame(COLUMNS),
        str(tmp_path / "a.csv"),
    ]
    for source in sources:
        assert true_vector(pv.read(source, scale=(1, 10)), "ratings").tolist() == TRUTH


def test_cells_with_newlines_keep_their_lines(tmp_path: Path) -> None:
    text = 'paper,reviewer,score,comment\np,ann,3,"two\nlines"\np,bob,x,\n'
    with pytest.raises(pv.FileError, match="line 4, column 'score': text"):
        pv.read(write(tmp_path / "a.csv", text))


def test_columns_can_be_named() -> None:
    frame = pl.DataFrame({"id": ["p", "q"], "who": ["a", "b"], "overall": [1, 2], "rating": [3, 4]})
    with pytest.raises(
        pv.FileError, match="no column for the paper; its columns are 'id', 'who', 'overall', 'rating'; say"
    ):
        pv.read(frame)
    with pytest.raises(pv.FileError, match="several columns could be the score: 'overall', 'rating'"):
        pv.read(frame, paper="id", reviewer="who")
    with pytest.raises(pv.FileError, match="has no column 'x' for the score"):
        pv.read(frame, paper="id", reviewer="who", score="x")
    reviews = pv.read(frame, paper="id", reviewer="who", score="rating")
    assert true_vector(reviews, "ratings").tolist() == [3, 4]


@pytest.mark.promise("P-KEPT-9")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        (" \n\n", "is empty"),
        ("paper,reviewer,score\n", "has no rows below its header"),
        ("paper,reviewer\np,ann\n", "has no column for the score"),
        ("paper,reviewer,score\np,ann,high\n", "line 2, column 'score': text .not shown here"),
        ("paper,reviewer,score\np,ann,3\n\nq,bob,nan\n", "line 4, column 'score': 'nan' is not a number"),
        ("paper,reviewer,score\np,ann,inf\n", "'inf' is not a number"),
        ("paper,reviewer,score\np,ann,1e999\n", "is not a finite number"),
        ("paper,reviewer,score\np,ann,1_0\n", "is not a number"),
        ("paper,reviewer,score\np,ann,3,4\n", "line 2: has 4 cells where the header has 3"),
        ("paper,reviewer,score\np,ann,3\nq, ,3\n", "line 3, column 'reviewer': the cell is empty"),
        ("paper,reviewer,score\np,ann,3\nq,bob,3\np, ann,5\n", "line 4, column 'reviewer': the same .* in line 2"),
        ("paper,reviewer,score\np,ann,11\n", "line 2, column 'score': 11 lies outside the declared scale 1 to 10"),
        ("paper,score,score\np,1,2\n", "columns 2 and 3 have the same name"),
        ('paper,reviewer,score\np,"ann"x,3\n', "line 2: is not well-formed"),
        (
            "p,ann@x.org,3\nq,bob@x.org,4\n",
            "3 columns are not shown here, as they could be names .is the first line a header",
        ),
        ('{"paper": "p"}\n[1]\n', "line 2: is not a JSON object"),
        ('{"paper": "p", "reviewer": "a", "score": [3]}\n', "line 1, column 'score': text"),
        ("PAR1 nonsense", "is not a Parquet file"),
        ("p\x00,q\n1,2\n", "no column for the paper|not well-formed"),
        ("paper,reviewer,score\np,ann,3\np,bob,4" + "," * 20_000 + "\n", "line 3: has more than 16384 cells in a line"),
        ("paper,reviewer,score\np,ann,0000-0002-1825-0097\n", "line 2, column 'score': text .not shown here"),
        ("paper,reviewer,score\np,ann,+49 30 123456\n", "line 2, column 'score': text .not shown here"),
        ("paper,reviewer,score\np,ann,4711000\n", "line 2, column 'score': a number .not shown here.* lies outside"),
        ("paper,reviewer,score\np,ann,12.25\n", "line 2, column 'score': 12.25 lies outside"),
        ("paper,reviewer,score\np,ann,1e101\n", "line 2, column 'score': a number .* is too large, above 1e.100"),
        ("paper,reviewer,score\np,ann,n/a\n", "1 of 1 reviews have no score; nothing would be left"),
        (f'{{"paper": "p", "reviewer": "a", "score": 1{"0" * 400}}}\n', "line 1, column 'score': a number .* finite"),
        (
            '{"paper": "p", "reviewer": "a", "score": 1}\n{"paper": "q", "reviewer": "a", "score": true}',
            "line 2, .* text",
        ),
        ('[{"paper": "p", "reviewer": "a", "score": 1}, 2]', "line 1: is not a JSON object"),
        ('[{"paper": "p", "reviewer": "a", "score": 1},\n{"paper": ]', "line 2: is not well-formed JSON"),
        ("paper-1,~Ann_Smith1,6: good\npaper-2,~Ann_Smith1,5: bad\n", "its 3 columns are not shown here"),
        ("paper,Ann Smith,Bob Jones\np,3,4\n", "its columns are 'paper' and 2 others, not shown here as they could"),
        ('{"paper": "p", "~Ann_Smith1": 3}\n', "its columns are 'paper' and 1 other, not shown here as it could"),
    ],
)
def test_bad_tables_say_where_and_what(text: str, message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "reviews.csv", text)
    with pytest.raises(pv.FileError, match=message) as caught:
        pv.read(path, scale=(1, 10))
    assert str(caught.value).startswith(str(path))
    for secret in ("ann", "smith", "0002", "4711", "123456"):
        assert secret not in str(caught.value).removeprefix(str(path)).replace("cannot", "").lower()
    assert caught.value.__context__ is None


@pytest.mark.promise("P-KEPT-9")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Nr;Gutachter;Note\n1;ann;3\n2;bob;4\n", "its columns are 'Nr', 'Gutachter', 'Note'; say which it is"),
        (
            "paper,Initial Rating,Final Rating,email\np,3,4,ann@x\n",
            "'paper', 'Initial Rating', 'Final Rating', 'email'",
        ),
        ("paper,Initial,Final\np,3,4\n", "its columns are 'paper' and 2 others, not shown here as they could be names"),
        ("1,Ann Smith,3\n2,Bob,4\n", "its 3 columns are not shown here"),
        ("p1,Ann Smith,accept\nq1,Bob,reject\n", "its 3 columns are not shown here"),
        ("Nr,Ann Smith,Bob Jones\np,3,4\nq,3,\n", "its 3 columns are not shown here"),
    ],
)
def test_headings_are_shown_unless_they_could_be_people(text: str, shown: str, tmp_path: Path) -> None:
    with pytest.raises(pv.FileError, match=shown):
        pv.read(write(tmp_path / "a.csv", text))


def test_all_bad_lines_are_told_at_once(tmp_path: Path) -> None:
    lines = ["paper,reviewer,score", *(f"p{i},ann,{i}" for i in range(1, 31))]
    for line, cells in {4: "p,secret,x", 7: "p, ,3", 8: ",bob,3", 9: "p,secret,11", 12: "p,bob,2026-01-02"}.items():
        lines[line - 1] = cells
    path = write(tmp_path / "a.csv", "\n".join(lines))
    with pytest.raises(pv.FileError) as caught:
        pv.read(path, scale=(1, 10))
    message = str(caught.value)
    assert (caught.value.line, caught.value.column) == (4, "score")
    assert "line 4, column 'score': text (not shown here, as it could be a name) is not a number; give" in message
    told = (
        *("line 4 ('score': text)", "line 7 ('reviewer': empty)", "line 8 ('paper': empty)"),
        *("line 9 ('score': outside the scale)", "line 12 ('score': a date)", "line 13 ('score': outside the scale)"),
    )
    # Rows 11 and up lie outside the scale too: lines 13 to 31.
    assert f". In all, 24 lines cannot be used: {', '.join(told)}" in message
    assert message.endswith(" and 14 more lines")
    assert message.count("line 1") == 6
    assert "secret" not in message


TOTALS = {
    "word": ("p,ann,3\nq,bob,5\nAverage,,4\n", "line 4, a row of totals below the reviews, was left out"),
    "nothing": ("p,ann,3\nq,bob,5\n,,4\n", "line 4, a row of totals below the reviews, was left out"),
    "in the place of people": ("p,ann,3\nq,bob,5\n,Mittelwert:,4\n", "line 4, a row of totals"),
    "two rows": (
        "p,ann,3\nq,bob,5\n\nSum,,8\nMean,,4\n",
        "lines 5 to 6, rows of totals below the reviews, were left out",
    ),
}


@pytest.mark.parametrize(("rows", "notice"), TOTALS.values(), ids=TOTALS)
def test_rows_of_totals_are_left_out_with_a_notice(rows: str, notice: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", f"paper,reviewer,score\n{rows}")
    with pytest.warns(pv.FileWarning, match=notice):
        assert pv.read(path).score.tolist() == [3, 5]


@pytest.mark.parametrize("row", ["Total,cem,4", ",cem,4", "Summary,,4"])
def test_rows_that_may_be_reviews_are_not_left_out(row: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", f"paper,reviewer,score\np,ann,3\nq,bob,5\n{row}\n")
    if row.startswith("Total"):
        assert pv.read(path).score.tolist() == [4, 3, 5]
    else:
        with pytest.raises(pv.FileError, match=r"line 4, column '(paper|reviewer)': the cell is empty"):
            pv.read(path)


def test_totals_below_public_scores_are_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "paper,ratings\np,3;5\nq,4\nAverage,4\n")
    with pytest.warns(pv.FileWarning, match="line 4, a row of totals"):
        assert pv.read_public(path, load=1).rows() == [[3, 5], [4]]


@pytest.mark.parametrize(
    ("text", "notice"),
    [
        (
            "Reviews of 2026, final\n\npaper;reviewer;score\np;ann;3,5\n",
            "line 1 was skipped, above the headings in line 3",
        ),
        ("Reviews;;\n2026;;\npaper;reviewer;score\np;ann;3,5\n", "lines 1 to 2 were skipped"),
        ("sep=;\npaper;reviewer;score\np;ann;3,5\n", ""),
        ("paper;reviewer;score;;\np;ann;3,5;;\n", ""),
    ],
)
def test_titles_above_headings_of_text(text: str, notice: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", text)
    with pytest.warns(pv.FileWarning, match=notice) if notice else nullcontext():
        assert pv.read(path).score.tolist() == [3.5]


def test_private_reviews_are_not_taken_for_public_ones(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "paper,who,score\np,ann,3\np,bob,4\n")
    assert "no column of reviewers was found" in inspect(path)["problems"][0]
    for asked in ({"ids": "people"}, {"symbols": "3<4"}, {"person": "member"}):
        with pytest.raises(
            pv.FileError, match="has no column for the reviewer; its columns are 'paper', 'who', 'score'"
        ):
            inspect(path, **asked)
    assert inspect(path, reviewer="who")["content"] == "private reviews"


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(pv.FileError, match="No such file"):
        pv.read(tmp_path / "absent.csv")
    with pytest.raises(pv.FileError, match="cannot be read"):
        pv.read(tmp_path)
    (tmp_path / "latin.csv").write_bytes(b"paper,reviewer,score\np,J\xff\xf6,3\n")
    for read in (pv.read, pv.read_public, pv.Release.load, read_noisy):
        with pytest.raises(pv.FileError, match="not UTF-8") as caught:
            read(tmp_path / "latin.csv")
        assert caught.value.__context__ is None  # it would hold the file's bytes
        for name in ("", "a\0b"):
            with pytest.raises(pv.FileError, match="is no name of a file"):
                read(name)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(pv.FileError, match="a pipe or a device"):
        pv.read(tmp_path / "pipe")
    with pytest.raises(pv.InputError, match=r"format must be one of openreview, .*csv, .*ods, got"):
        pv.read(tmp_path / "latin.csv", format="docx")
    with pytest.raises(pv.FileError, match="neither a path, bytes, an open file nor a polars, pandas or pyarrow frame"):
        pv.read(3)


@pytest.mark.parametrize("nothing", [None, pd.NA, pd.NaT, float("nan"), " "], ids=repr)
def test_what_a_frame_holds_for_nothing_is_no_reviewer(nothing: object) -> None:
    frame = pd.DataFrame({"paper": ["p", "q"], "reviewer": ["a", nothing], "score": [1, 2]})
    with pytest.raises(pv.FileError, match="line 2, column 'reviewer': the cell is empty"):
        pv.read(frame)
    frame = pd.DataFrame({"paper": ["p", "q"], "reviewer": ["a", "b"], "score": pd.Series([1, nothing], dtype=object)})
    with pytest.raises(pv.FileError, match=r"1 of 2 reviews have no score; .*missing_score='absent'"):
        pv.read(frame, missing_score="refuse")
    assert pv.read(frame).absent == (1, 1)


@pytest.mark.parametrize(
    "scores",
    [
        pd.Series([np.int64(3), np.float32(5.5), np.int8(4), 8], dtype=object),
        pd.Series([3, 5.5, 4, 8], dtype="Float64"),
        pl.Series([Decimal("3.0"), Decimal("5.5"), Decimal("4.0"), Decimal("8.0")]),
        ["3", " 5.5 ", "4", "8"],
    ],
    ids=["numpy in objects", "nullable", "decimals", "text"],
)
def test_numbers_of_every_kind_are_numbers(scores: object, tmp_path: Path) -> None:
    if isinstance(scores, pl.Series):
        pl.DataFrame(COLUMNS | {"score": scores}).write_parquet(tmp_path / "a.parquet")
        reviews = pv.read(tmp_path / "a.parquet")
    else:
        reviews = pv.read(pd.DataFrame(COLUMNS | {"score": scores}))
    assert true_vector(reviews, "ratings").tolist() == TRUTH


@pytest.mark.parametrize("cell", [[3], {"a": 3}, np.array([3]), date(2026, 1, 2), b"3", True], ids=repr)
def test_cells_that_are_no_number_are_refused_in_frames_too(cell: object, tmp_path: Path) -> None:
    frame = pd.DataFrame(COLUMNS | {"score": pd.Series([3, 4, 5, cell], dtype=object)})
    with pytest.raises(pv.FileError, match=r"line 4, column 'score': (text|a date)"):
        pv.read(frame)
    if not isinstance(cell, np.ndarray):
        pl.DataFrame({"paper": ["p"], "reviewer": ["ann"], "score": [cell]}).write_parquet(tmp_path / "a.parquet")
        with pytest.raises(pv.FileError, match=r"line 1, column 'score': (text|a date)"):
            pv.read(tmp_path / "a.parquet")


def test_columns_of_one_name_are_refused_in_frames_too() -> None:
    for names in (["paper", "reviewer", "score", "score"], ["paper", "reviewer", "score", 1, "1"]):
        frame = pd.DataFrame([["p", "a", 1, 2, 3][: len(names)]], columns=names)
        with pytest.raises(pv.FileError, match="two columns have the same name"):
            pv.read(frame)


def test_long_cells_are_read(tmp_path: Path) -> None:
    text = csv_text(header="paper,reviewer,score,comment").replace("\n", f',"{"long " * 40_000}"\n')
    path = write(tmp_path / "a.csv", text.replace(text.split("\n")[0], "paper,reviewer,score,comment"))
    assert true_vector(pv.read(path), "ratings").tolist() == TRUTH


@pytest.mark.parametrize("scale", [(10, 1), (float("nan"), float("nan")), (1, float("inf"))])
def test_a_scale_that_is_none_is_said_to_be(scale: tuple[float, float]) -> None:
    with pytest.raises(pv.RecordError, match="scale must be two finite numbers, the lower first"):
        pv.read(pd.DataFrame(COLUMNS), scale=scale)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"[1, 1{'0' * 400}]", "entry 2 is too large"),
        ("[1, 1e200]", "entry 2 is too large"),
        ("[1, true]", "entry 2 is not a number"),
        ('[1, "2"]', "entry 2 is not a number"),
        ("[1, NaN]", "is not well-formed JSON"),
        ("1\n1e200\n", "line 2: is too large"),
        ("rank,level\n1,2\n", "no column for the noisy vector; .*; call it 'noisy'"),
    ],
)
def test_noisy_vectors_that_are_none(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(pv.FileError, match=message) as caught:
        read_noisy(write(tmp_path / "noisy", text))
    assert caught.value.__context__ is None


def test_public_records_come_with_a_row_a_paper_or_a_row_a_review(tmp_path: Path) -> None:
    wide = write(tmp_path / "wide.csv", "paper,ratings\nb,6;8\na,3 ; 4.5\nc,\n")
    long = write(tmp_path / "long.csv", "paper,score\nb,8\na,3\na,4.5\nb,6\n")
    for path in (wide, long):
        record = pv.read_public(path, load=2, scale=(1, 10))
        assert record.papers == ("a", "b")
        assert record.rows() == [[3, 4.5], [6, 8]]
    assert pv.read_public(wide, load=2).notes == ("1 papers without a score were left out",)
    partly = write(tmp_path / "partly.csv", "paper,ratings,reviews\nb,6;?,2\na,,2\n")
    record = pv.read_public(partly, load=2, scale=(1, 10))
    assert (record.hidden, record.papers) == (3, ("a", "b"))
    assert record.score[2] == 6
    mixed = write(tmp_path / "mixed.csv", "paper,ratings,reviews\nb,6;8,\na,,2\n")
    assert pv.read_public(mixed, load=2, scale=(1, 10)).hidden == 2
    for count in ("1e15", "2.5", "-2"):
        with pytest.raises(pv.FileError, match="line 2, column 'reviews': the number of reviews must be a"):
            pv.read_public(write(tmp_path / "c.csv", f"paper,ratings,reviews\na,,{count}\n"), load=1, scale=(1, 10))
    with pytest.raises(pv.FileError, match="states 5 reviews but shows 2 scores"):
        pv.read_public(write(tmp_path / "c.csv", "paper,ratings,reviews\na,?;4,5\n"), load=1, scale=(1, 10))
    for text, message in {
        "paper,ratings\na,3;x\n": "line 2, column 'ratings': text",
        "paper,ratings\na,3;\n": "an empty cell is not a number",
        "paper,ratings\na,3;4\na,4\n": "one row per paper, or one row per review",
        "paper,score\na,3\na,\n": "the score is missing; leave the row out, or write '.' if the score is hidden",
        "paper,ratings\na,\n": "holds no scores",
        "paper,decision\na,yes\n": "no column for the ratings",
    }.items():
        with pytest.raises(pv.FileError, match=message):
            pv.read_public(write(tmp_path / "bad.csv", text), load=1)


@pytest.mark.data("iclr2021.csv")
def test_a_real_public_record(data: Path) -> None:
    record = pv.read_public(data / "iclr2021.csv", load=4, scale=(1, 10))
    assert record.loads.reviewers == 2863
    region = pv.region(pv.weigh(record), "chain")
    assert region.lower[1431] == 1.25
    assert not region.notes


def test_synthetic_conferences_are_valid(tmp_path: Path) -> None:
    from peerveil.simulation.conferences import synthetic_conference

    for reviewers, load, per_paper in ((300, 4, 4), (2, 2, 2), (4, 3, 4), (6, 5, 5), (1, 3, 1)):
        made = synthetic_conference(
            reviewers=reviewers, load=load, reviews_per_paper=per_paper, rng=np.random.default_rng(0)
        )
        assert isinstance(made, Conference)
        made.write_csv(tmp_path / "made.csv")
        reviews = pv.read(tmp_path / "made.csv", scale=made.scale)  # refuses a reviewer twice on a paper
        assert reviews.loads().counts == (reviewers,)
        assert reviews.loads().sizes == (load,)
        np.testing.assert_allclose(true_vector(reviews, "ratings"), made.means())
    with pytest.raises(pv.InputError, match="does not divide"):
        synthetic_conference(reviewers=3, load=1, reviews_per_paper=2, rng=np.random.default_rng(0))
    with pytest.raises(pv.InputError, match="do not fit"):
        synthetic_conference(reviewers=2, load=2, reviews_per_paper=4, rng=np.random.default_rng(0))
