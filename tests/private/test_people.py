"""Reviewers with several ids, and their attributes."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import peerveil as pv
from peerveil.cli import app
from peerveil.private.inspection import inspect
from peerveil.private.readers.identities import plain_id

ROWS = [
    ("p", "Zoë Müller", 3),
    ("p", "bob@x.org", 5),
    ("q", "zoe  muller ", 4),
    ("q", "Bob@X.org", 2),
    ("r", "ZOE\u0308 MÜLLER", 6),
    ("r", "cem", 6),
    ("s", "Cem", 7),
]


def table(rows: list[tuple[str, str, int]] = ROWS) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["paper", "reviewer", "score"], orient="row")


def test_addresses_that_differ_in_case_are_one_person_and_other_ids_on_request() -> None:
    reviews = pv.read(table())
    assert reviews.reviewers == 6
    same, alike = reviews.report.problems
    assert same == "1 address that differs from another only in case was taken for the same person"
    assert alike.startswith("3 reviewers have the id of another but for case, blanks or accents: if they are the same")
    merged = pv.read(table(), merge_names=True)
    assert sorted(np.bincount(merged.reviewer).tolist()) == [2, 2, 3]
    assert (
        merged.report.problems[1]
        == "3 ids that differ from another only in case, blanks or accents were merged with it"
    )
    assert not any(name in str(reviews.report).lower() for name in ("zo", "bob", "cem"))


def test_merged_reviewers_hold_the_reviews_of_all_their_ids() -> None:
    """Against a plain grouping by letters alone."""

    def letters(name: str) -> str:
        return "".join(c for c in unicodedata.normalize("NFD", name.strip().lower()) if "a" <= c <= "z" or c in "@.")

    expected = sorted(
        sorted(score for _, who, score in ROWS if letters(who) == each) for each in {letters(who) for _, who, _ in ROWS}
    )
    merged = pv.read(table(), merge_names=True)
    held = [sorted(merged.score[merged.reviewer == j].tolist()) for j in range(merged.reviewers)]
    assert sorted(held) == expected


@pytest.mark.parametrize("one", ["Straße", "José  Núñez", "ann@X.ORG", "Ⅳ Lee", "İnci"])
def test_plain_ids_do_not_change_again(one: str) -> None:
    for merge in (False, True):
        once = plain_id(one, merge=merge)
        assert plain_id(once, merge=merge) == once
    assert plain_id(one.upper(), merge=True) == plain_id(unicodedata.normalize("NFD", one), merge=True)


def test_two_reviews_of_a_paper_by_one_person_under_two_ids_are_refused() -> None:
    twice = table([*ROWS, ("q", "ZOE MULLER", 5)])
    assert pv.read(twice).reviewers == 7
    with pytest.raises(
        pv.FileError, match=r"line 8, .*same reviewer has a review of the same paper in row 3"
    ) as caught:
        pv.read(twice, merge_names=True)
    assert "zoe" not in str(caught.value).lower()


def test_names_are_merged_in_mappings_and_on_the_command_line(tmp_path: Path) -> None:
    table().write_csv(tmp_path / "reviews.csv")
    (tmp_path / "map.toml").write_text("merge_names = true\n")
    assert inspect(tmp_path / "reviews.csv", mapping=tmp_path / "map.toml")["reviewers"] == 3
    (tmp_path / "map.toml").write_text('merge_names = "yes"\n')
    with pytest.raises(pv.FileError, match="merge_names must be true if"):
        pv.read(tmp_path / "reviews.csv", mapping=tmp_path / "map.toml")
    shown = CliRunner().invoke(app, ["inspect", str(tmp_path / "reviews.csv"), "--merge-names", "--json"])
    assert json.loads(shown.stdout)["reviewers"] == 3


def people(*names: str) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "Reviewer": list(names),
            "name": [f"Dr {name}" for name in names],
            "seniority": [f"{len(name)} years " for name in names],
            "area": ["ml" if name < "c" else "" for name in names],
        }
    )


PLAIN = [("p", "ann", 3), ("p", "bob", 4), ("q", "bob", 5), ("q", "cem", 6), ("r", "cem", 7), ("r", "ann", 8)]


def values(reviews: pv.Reviews, name: str) -> list[tuple[tuple[float, ...], str]]:
    """The scores and the attribute of each reviewer."""
    assert reviews.attributes is not None
    column = reviews.attributes.values[reviews.attributes.names.index(name)]
    return sorted(
        (tuple(sorted(reviews.score[reviews.reviewer == j].tolist())), column[j]) for j in range(reviews.reviewers)
    )


def test_attributes_are_joined_by_id() -> None:
    reviews = pv.read(table(PLAIN), attributes=people("cem", "ann", "bob"))
    assert reviews.attributes is not None
    assert reviews.attributes.names == ("seniority", "area")  # nothing that identifies
    assert values(reviews, "area") == [((3.0, 8.0), "ml"), ((4.0, 5.0), "ml"), ((6.0, 7.0), "")]
    assert repr(reviews.attributes) == "Attributes(2 of 3 reviewers; contents private)"


def test_attributes_stay_with_their_reviewers_when_reviews_are_left_out() -> None:
    frame = table([*PLAIN, ("s", "abe", 9)]).with_columns(Decision=pl.Series(["in"] * 4 + ["out"] * 3))
    how: dict[str, Any] = {"attributes": people("bob", "cem", "ann", "abe").with_columns(area=pl.col("Reviewer"))}
    reviews = pv.read(frame, **how, leave_out="Decision=out", visible_column="Decision=paper")
    assert values(reviews, "area") == [((3.0,), "ann"), ((4.0, 5.0), "bob"), ((6.0,), "cem")]
    assert values(reviews.only(["q"]), "area") == [((5.0,), "bob"), ((6.0,), "cem")]


def test_attributes_are_joined_as_ids_are_merged() -> None:
    attributes = people("zoe muller", "BOB@x.org", "cem")
    assert values(pv.read(table(), attributes=attributes, merge_names=True), "seniority")[0] == ((2.0, 5.0), "9 years")
    with pytest.raises(
        pv.FileError, match=r"4 of 6 reviewers have no row .*\(reviews in rows 1, 3, 5, 7\).*merge_names=Tr"
    ):
        pv.read(table(), attributes=attributes)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        (people("ann", "bob"), r"1 of 3 reviewers have no row in the table of attributes \(reviews in row 4\)"),
        (people("ann", "bob", "cem", "dan", "eve"), r"2 of 5 rows are of reviewers without a review \(rows 4, 5\)"),
        (people("ann", "bob", "cem", "bob"), r"line 4, .*the same reviewer is in row 2; one row each is needed"),
        (people("ann", "bob", "cem").select("Reviewer", "name"), "no columns that describe reviewers"),
        (people("ann", "bob", "cem").drop("Reviewer", "name"), "has no column for the reviewer"),
    ],
)
def test_attributes_without_partner_are_refused_by_number_and_line(attributes: pl.DataFrame, message: str) -> None:
    with pytest.raises(pv.FileError, match=message) as caught:
        pv.read(table(PLAIN), attributes=attributes)
    assert not any(name in str(caught.value) for name in ("ann", "bob", "cem", "dan", "eve"))


def test_many_lines_are_not_all_shown() -> None:
    rows = [(f"p{i}", f"r{i % 30}@x.org", i % 9) for i in range(60)]
    with pytest.raises(pv.FileError, match=r"29 of 30 .*rows 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 19 more\)"):
        pv.read(table(rows), attributes=people("r0@x.org"))


def test_attributes_on_the_command_line_leave_no_trace(tmp_path: Path) -> None:
    table(PLAIN).write_csv(tmp_path / "reviews.csv")
    people("cem", "ann", "bob").write_csv(tmp_path / "people.csv")
    arguments = [str(tmp_path / "reviews.csv"), "--attributes", str(tmp_path / "people.csv"), "--public", "all"]
    arguments += ["--mechanism", "laplace", "--epsilon", "1", "--no-report", "-o", str(tmp_path / "out")]
    done = CliRunner().invoke(app, ["release", *arguments])
    assert done.exit_code == 0, done.output
    written = "".join(file.read_text() for file in (tmp_path / "out").iterdir())
    assert not any(word in written + done.output for word in ("seniority", "3 years", "Dr ", "cem"))
