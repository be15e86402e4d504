"""Filters on rows: what they keep, what they refuse, and what releases state about them."""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import peerveil as pv
from peerveil.cli import app
from peerveil.cli.options import option
from peerveil.private.inspection import inspect
from peerveil.private.ledger.release_facts import release_statement
from peerveil.private.release import prepare_release
from peerveil.simulation.conferences import synthetic_conference
from peerveil.simulation.exports import PRIVATE, export

STATED = {"Type": "review", "Decision": "paper", "Confidence": "review"}


def conference(papers: int = 24, people: int = 18, seed: int = 3) -> pl.DataFrame:
    """Three reviews and a summary of each paper; every sixth paper is withdrawn. Summaries have no score."""
    rng = np.random.default_rng(seed)
    rows = []
    for p in range(papers):
        decision = "Withdrawn" if p % 6 == 5 else ("Accept" if p % 3 else "Reject")
        for k in range(3):
            who = (3 * p + k) % people
            score, sure = int(rng.integers(1, 10)), f"{int(rng.integers(1, 5))}: sure"
            rows.append((f"p{p:03d}", f"r{who}@x.org", str(score), "Review", decision, sure, f"c{who % 4}"))
        rows.append((f"p{p:03d}", f"m{p % 3}@x.org", "", "Summary", decision, "", f"c{p % 3}"))
    names = ["paper", "email", "score", "Type", "Decision", "Confidence", "Country"]
    return pl.DataFrame(rows, schema=names, orient="row")


def read(frame: Any = None, **how: Any) -> pv.Reviews:
    stated = {"visible_column": STATED, "scale": (1, 10), "missing_score": "refuse"}
    return pv.read(conference() if frame is None else frame, **(stated | how))


def kept_by_hand(keep: pl.Expr) -> list[tuple[str, float]]:
    """Papers and scores of the rows that an expression of polars keeps."""
    left = conference().filter(keep)
    return sorted(zip(left["paper"], left["score"].cast(pl.Float64), strict=True))


def contents(reviews: pv.Reviews) -> list[tuple[str, float]]:
    return sorted((reviews.papers[p], float(s)) for p, s in zip(reviews.paper, reviews.score, strict=True))


REVIEW = pl.col("Type") == "Review"
SURE = pl.col("Confidence").str.slice(0, 1).cast(pl.Int64, strict=False)


@pytest.mark.parametrize(
    ("how", "keep"),
    [
        ({"only": "Type=Review"}, REVIEW),
        ({"only": "type == review "}, REVIEW),
        ({"leave_out": "Type=Summary"}, REVIEW),
        ({"only": "Type!=Summary"}, REVIEW),
        ({"only": ["Type=Review", "Decision!=Withdrawn"]}, REVIEW & (pl.col("Decision") != "Withdrawn")),
        ({"only": "Type=Review", "leave_out": ["Decision=Withdrawn", "Decision=Reject"]},
         REVIEW & (pl.col("Decision") == "Accept")),
        ({"only": "Confidence>=3"}, SURE >= 3),
        ({"only": "Confidence=3"}, SURE == 3),
        ({"only": "Confidence!="}, REVIEW),
        ({"leave_out": ["Confidence<3", "Type=Summary"]}, REVIEW & (SURE >= 3)),
        ({"only": ["Confidence>1", "Confidence<=3"]}, (SURE > 1) & (SURE <= 3)),
    ],
)  # fmt: skip
def test_filters_keep_what_they_say(how: dict[str, Any], keep: pl.Expr) -> None:
    reviews = read(**how)
    assert contents(reviews) == kept_by_hand(keep)
    frame = conference()
    assert reviews.whole is not None
    assert reviews.whole.paper.size == frame.height
    assert reviews.whole.loads().reviewers == frame["email"].n_unique()
    gone = [(part.papers, part.reviews) for part in reviews.filtered]
    assert sum(reviews for _, reviews in gone) == frame.height - reviews.score.size
    assert all(part.words in reviews.report.left_out for part in reviews.filtered)


def test_each_filter_states_what_it_left_out() -> None:
    reviews = read(only="Type=Review", leave_out="Decision=Withdrawn")
    assert reviews.notes == (
        "24 reviews of 24 papers were left out as not 'Type=Review', which everyone can see",
        "12 reviews of 4 papers were left out by 'Decision=Withdrawn', which everyone can see",
    )
    record = reviews.public("all")
    assert record.part is not None
    assert record.part.number == "open"
    assert tuple(part.words for part in record.part.left_out) == reviews.notes


@pytest.mark.promise("P-PARTS-4")
@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"only": "Type=Review"}, r"'Type=Review' chooses reviews by a column that is not stated to be public"),
        ({"leave_out": "Decision=Reject"}, r"of every paper, .* state that \(--visible-column Decision=paper\)"),
        ({"only": "Confidence>=3"}, r"of every review, .* state that \(--visible-column Confidence=review\)"),
        ({"only": "Country=c1"}, r"Every reviewer has one value of it.*would reveal who wrote which review"),
        ({"only": "Country=c1", "visible_column": "Country=reviewer"}, "--visible-column is not for columns about rev"),
        ({"only": "Country=c1", "visible_column": "Country=paper"}, r"line 2, .*earlier review of the same paper"),
        ({"only": "Type=Review", "visible_column": "Type=paper"}, r"line 4, .*\(--visible-column Type=review\)"),
        ({"only": "email=r1@x.org", "visible_column": "email=review"}, "chooses by reviewers: a filter on a column ab"),
        ({"only": "Typ=Review"}, r"has no column 'Typ' for the filter \(--only Typ=Review\); its columns are 'paper'"),
        ({"only": "Type=Revue", "visible_column": "Type=review"},
         r"--only Type=Revue leaves no review: none of the 96 rows has this value \(values of"),
        ({"only": ["Type=Review", "Type=Summary"], "visible_column": "Type=review"},
         "--only Type=Summary leaves no review: other conditions"),
        ({"leave_out": "Decision=Withdrawm", "only": "Decision=Accepted", "visible_column": "Decision=paper"},
         r"--only Decision=Accepted leaves no review: none of the 96 rows has this value; the column has 'Accept'"),
        ({"leave_out": "Type!=Revue", "visible_column": "Type=review"},
         r"--leave-out 'Type!=Revue' leaves no review: all \d+ rows"),
        ({"only": "Type>3", "visible_column": "Type=review"}, "is not a number, which 'Type>3' compares"),
        ({"only": "Type>x"}, "--only must compare with a number where the sign is >"),
        ({"leave_out": "Type"}, "--leave-out must be a column, a sign"),
        ({"only": "Type=a\nb"}, "--only must be a column, a sign"),
        ({"only": "Type=Review", "visible_column": "Type"}, "--visible-column must be a column and what it describes"),
    ],
)  # fmt: skip
def test_refusals_name_the_remedy_and_no_cell(how: dict[str, Any], message: str) -> None:
    with pytest.raises(pv.InputError) as caught:
        pv.read(conference(), scale=(1, 10), **how)
    spelled = caught.value.spelled(option)
    assert re.search(message, spelled), spelled
    assert "r1@" not in spelled.replace("email=r1@x.org", "")


def test_every_remedy_works() -> None:
    """What a refusal advises to state, stated."""
    for how in ({"leave_out": "Decision=Reject"}, {"only": "Confidence>=3"}, {"only": "Type=Review"}):
        with pytest.raises(pv.FileError) as caught:
            pv.read(conference(), scale=(1, 10), **how)  # type: ignore[arg-type]
        (advice,) = caught.value.arguments
        reviews = pv.read(conference(), scale=(1, 10), **how, visible_column=str(advice.value))  # type: ignore[arg-type]
        assert reviews.filtered


def test_a_column_like_one_of_reviewers_is_warned_of_even_if_stated() -> None:
    others = read(only="Type=Review", leave_out="Decision=Withdrawn").report.problems
    assert not any("Decision" in problem for problem in others)
    (problem,) = read(only="Type=Review").report.problems
    assert problem.startswith("every reviewer has one value of 'Type'; if it describes reviewers, do not filter by it")


def test_a_condition_that_leaves_nothing_out_is_mentioned() -> None:
    reviews = read(leave_out=["Type=Summary", "Decision=Retracted"])
    assert any(words.startswith("no review is left out by 'Decision=Retracted': ") for words in reviews.report.problems)
    assert len(reviews.filtered) == 1
    (idle,) = reviews.report.idle
    assert (idle.argument, idle.condition) == ("leave_out", "Decision=Retracted")
    assert idle.why == "none of the 96 rows has this value; the column has 'Accept', 'Reject' and 'Withdrawn'"
    (idle,) = read(only=["Type=Review", "Decision!=Retracted"]).report.idle
    assert (idle.argument, idle.condition) == ("only", "Decision!=Retracted")


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        ("Score", [str(number % 9 + 1) for number in range(96)]),  # a true value
        ("Signed", [f"ann{number % 7}@x.org" for number in range(96)]),
        ("Signed", ["r1@x.org" if number % 7 else "Nobody" for number in range(96)]),
        ("Assigned by", ["Jo Doe" if number % 5 else "Al Roe" for number in range(96)]),
        ("Who", [f"Name {number % 5}{'.' * (number % 7)}" for number in range(96)]),  # spelt in several ways
    ],
)
def test_values_that_could_tell_about_people_or_scores_are_not_shown(column: str, cells: list[str]) -> None:
    frame = conference().with_columns(pl.Series(column, cells))
    if column == "Score":
        frame = frame.drop("score")
    with pytest.raises(pv.FileError) as caught:
        pv.read(frame, scale=(1, 10), only=f"{column}=77", visible_column=f"{column}=review")
    assert "none of the 96 rows has this value (values of this column are not shown" in str(caught.value)


def test_values_are_not_shown_if_papers_have_one_review_and_reviewers_one_value() -> None:
    rows = {"paper": range(20), "reviewer": [f"r{k % 5}" for k in range(20)], "score": [3] * 20}
    frame = pl.DataFrame(rows | {"Who": [f"Person {'ABC'[k % 5 % 3]}" for k in range(20)]})
    (idle,) = pv.read(frame, scale=(1, 5), leave_out="Who=Ann", visible_column="Who=paper").report.idle
    assert "not shown" in idle.why
    assert "Person" not in idle.why


def test_people_who_review_on_behalf_of_others_are_no_ground() -> None:
    frame = conference().with_columns(Subreviewer=pl.Series(["Jo Doe" if k % 5 else "" for k in range(96)]))
    with pytest.raises(pv.FileError, match="would reveal who wrote which review"):
        read(frame, leave_out="Subreviewer=", visible_column={"Subreviewer": "review"})


def test_scores_are_a_ground_only_if_all_are_public() -> None:
    """Who is left would tell a hidden score."""
    frame = conference().filter(REVIEW)
    for name in ("score", "twin"):
        twin = frame.with_columns(twin=pl.col("score"))
        reviews = read(twin, leave_out=f"{name}=5", visible_column={name: "review"})
        assert reviews.public("all").part is not None
        with pytest.raises(pv.RecordError, match="left out by their scores or criteria, which is no public ground"):
            reviews.public("none")
    read(only="Type=Review", leave_out="Decision=Withdrawn").public("none")  # other columns are


def test_a_person_with_two_reviews_of_a_paper_is_refused_also_if_one_is_left_out() -> None:
    """Neighbours are assignments of the whole conference, in which nobody reviews a paper twice."""
    frame = conference()
    twice = pl.concat([frame, frame.head(1).with_columns(Type=pl.lit("Draft"))])
    with pytest.raises(pv.FileError, match="the same reviewer has a review of the same paper in row 1; keep one"):
        read(twice, only="Type=Review")


@pytest.mark.parametrize("kind", PRIVATE)
def test_exports_of_platforms_are_filtered_by_their_fields(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    conference = synthetic_conference(reviewers=12, load=3, reviews_per_paper=3, rng=rng)
    clarity = rng.integers(1, 6, conference.score.size).astype(float)
    conference = replace(conference, criteria={"clarity": clarity})
    name, data = export(conference, kind)
    (tmp_path / name).write_bytes(data)
    how: dict[str, Any] = {"only": "Clarity>=3", "visible_column": "clarity=review", "person": "subreviewer"}
    reviews = pv.read(tmp_path / name, **how)
    kept = [
        (int(p) + 1, float(s)) for p, s, c in zip(conference.paper, conference.score, clarity, strict=True) if c >= 3
    ]
    assert sorted((int("".join(filter(str.isdigit, p))), s) for p, s in contents(reviews)) == sorted(kept)
    assert reviews.whole is not None
    assert reviews.whole.paper.size >= clarity.size  # some exports also have a review without a score
    with pytest.raises(pv.FileError, match="'novelty'"):
        pv.read(tmp_path / name, **how | {"only": "novelty=3"})


def test_a_release_states_its_filters_and_is_verified(tmp_path: Path) -> None:
    reviews = read(only="Type=Review", leave_out="Decision=Withdrawn")
    made = pv.release(reviews, public="all", mechanism=pv.Histogram(epsilon=1.0))
    left_out = [part.words for part in reviews.filtered]
    assert made.part is not None
    assert [part.words for part in made.part.left_out] == left_out
    assert set(left_out) <= set(made.notes)
    document = json.loads(made.to_json())
    assert [f"{words}; which ones these are" for words in left_out] == document["claim"]["invariants"][3:5]
    assert "of the whole conference" in made.promise
    weights = pv.weigh(reviews.public("all"))
    assert pv.verify(made, weights).verified
    made.save(tmp_path / "out")
    report = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "which everyone can see" in report
    # The same reviews, left out on other grounds than the release states, are refused.
    other = read(leave_out=["Type=Summary", "Decision=Withdrawn"])
    assert "record" in pv.verify(made, pv.weigh(other.public("all"))).failed


def test_the_ledger_knows_what_was_left_out() -> None:
    """Two filters that keep as many reviews of each paper declare different facts."""
    rows = [(f"p{i}", f"r{(i + k) % 5}", 1 + (i * k) % 9, "AB"[k]) for i in range(10) for k in range(2)]
    frame = pl.DataFrame(rows, schema=["paper", "reviewer", "score", "Type"], orient="row")
    facts = []
    for kept in "AB":
        reviews = pv.read(frame, scale=(1, 10), ids="people", only=f"Type={kept}", visible_column="Type=review")
        statement = release_statement("all", reviews.public("all", declare_kept=True))
        assert statement.left_out == (
            f"10 reviews of 10 papers were left out as not 'Type={kept}', which everyone can see",
        )
        facts.append(statement.invariants)
    assert not set(facts[0]) & set(facts[1])


def test_the_ledger_tells_columns_apart_that_lack_other_scores(tmp_path: Path) -> None:
    """Reviews without a score and those without a confidence are as many of each paper, but others wrote them."""
    ledger = str(tmp_path / "b.db")
    pv.Ledger.create(ledger).open("conf", epsilon=9)
    rows = [
        (f"p{i}", f"r{(i * 3 + k) % 6}", *(None if (i < 3 and k == j) else 1.0 + (i + k) % 5 for j in (0, 1)))
        for i in range(8)
        for k in (0, 1)
    ]
    frame = pl.DataFrame(rows, schema=["paper", "reviewer", "score", "Confidence"], orient="row")
    how: dict[str, Any] = {"public": "all", "declare_kept": True, "ledger": ledger}
    noise = pv.Laplace(epsilon=1.0)
    with warnings.catch_warnings(action="ignore", category=pv.LedgerWarning):  # other scores are other data
        for column in (None, "Confidence", "Confidence"):
            reviews = pv.read(frame, scale=(1, 5), ids="people", score=column, missing_score="absent")
            if len(pv.Ledger(ledger).history()) == 1:
                explained = r"fixes more than was stated .* \(a part: the papers of a track, or what filters keep\)\. "
                with pytest.raises(pv.BudgetError, match=explained) as refused:
                    pv.release(reviews, mechanism=noise, **how)
                assert refused.value.declares is not None
                pv.Ledger(ledger).state(*refused.value.declares)
            pv.release(reviews, mechanism=noise, **how)
    assert len(pv.Ledger(ledger).history()) == 3


def test_filters_and_tracks(tmp_path: Path) -> None:
    reviews = read(only="Type=Review", leave_out="Decision=Withdrawn")
    groups = {f"p{i:03d}": "ab"[i % 2] for i in range(24)}
    with warnings.catch_warnings(action="ignore"):
        made = pv.release_groups(reviews, groups, public="all", mechanism=pv.Histogram(epsilon=1.0, bins=8))
    for release in made.releases.values():
        assert release.part is not None
        assert [part.reviews for part in release.part.left_out[:2]] == [24, 12]


def test_the_bound_is_that_of_a_part() -> None:
    """Reviewers have 4 reviews, chairs 8 summaries; b is at most 8, or 4 if declared."""
    reviews = read(only="Type=Review")
    how: dict[str, Any] = {"public": "all", "quantity": "ratings", "unit": "reviewer"}
    scales = [
        prepare_release(reviews, mechanism=pv.Histogram(epsilon=1.0), declare_kept=declared, **how)
        .noise.mechanism.describe()["scale"]
        for declared in (False, True)
    ]  # fmt: skip
    assert scales == pytest.approx([2 * (1 + 8), 2 * (1 + 4)])  # all have 4 kept reviews: one declared load


class TestPublicFiles:
    """Filters on public scores, whose columns are public."""

    def test_a_table_per_review(self) -> None:
        frame = conference().filter(REVIEW).drop("email")
        record = pv.read_public(frame, loads=(1, 30), reviewers=21, leave_out="Decision=Withdrawn")
        assert record.part is not None
        assert [(p.papers, p.reviews) for p in record.part.left_out] == [(4, 12)]
        assert len(record.papers) == 20
        assert record.part.whole.reviews == 72

    def test_a_table_per_paper(self) -> None:
        frame = pl.DataFrame(
            {"paper": ["a", "b", "c"], "ratings": ["6;8", "3;4;5", ""], "status": ["in", "out", "out"]}
        )
        record = pv.read_public(frame, load=1, only="status=in")
        assert record.papers == ("a",)
        assert record.part is not None
        assert [part.words for part in record.part.left_out] == [
            "3 reviews of 1 paper were left out as not 'status=in', which everyone can see"
        ]

    def test_one_kept_review_per_paper_is_still_one_row_per_review(self) -> None:
        frame = pl.DataFrame({"paper": ["a", "a", "b", "b"], "score": ["5", "x", "3", ""], "Type": list("RMRM")})
        record = pv.read_public(frame, load=1, only="Type=R")
        assert record.rows() == [[5.0], [3.0]]

    @pytest.mark.parametrize("columns", [True, False])
    def test_a_release_with_a_file_of_public_scores(self, columns: bool, tmp_path: Path) -> None:
        """The file has the columns of the filters, or holds only what is kept."""
        frame = conference()
        frame.write_csv(tmp_path / "private.csv")
        public = frame.drop("email").with_columns(pl.col("score").replace("", "1"))
        if not columns:
            public = public.filter(REVIEW & (pl.col("Decision") != "Withdrawn")).drop("Type", "Decision")
        public.write_csv(tmp_path / "public.csv")
        filters = ["--only", "Type=Review", "--leave-out", "Decision=Withdrawn"]
        stated = ["--visible-column", "Type=review", "--visible-column", "Decision=paper"]
        out = tmp_path / "out"
        arguments = [str(tmp_path / "private.csv"), "--public", str(tmp_path / "public.csv"), "--loads", "1-8"]
        arguments += ["--reviewers", "21", "--mechanism", "histogram", "--epsilon", "1", "--no-report", "-o", str(out)]
        done = CliRunner().invoke(app, ["release", *arguments, *filters, *stated])
        assert done.exit_code == 0, done.output
        public_file = ["--public", str(tmp_path / "public.csv")]
        done = CliRunner().invoke(app, ["verify", str(out), *public_file, *(filters if columns else [])])
        assert done.exit_code == 0, done.output
        if columns:  # the same reviews, but left out on other grounds than the release states
            other = ["--leave-out", "Type=Summary", "--leave-out", "Decision=Withdrawn"]
            done = CliRunner().invoke(app, ["verify", str(out), *public_file, *other])
            assert done.exit_code == 1
            assert "another part" in done.output

    def test_a_plan_of_a_file(self, tmp_path: Path) -> None:
        frame = conference().filter(REVIEW).drop("email")
        frame.write_csv(tmp_path / "public.csv")
        arguments = [str(tmp_path / "public.csv"), "--loads", "4:18", "--epsilon", "1", "--draws", "2", "--json"]
        done = CliRunner().invoke(app, ["plan", *arguments, "--leave-out", "Decision=Withdrawn"])
        assert done.exit_code == 0, done.output


class TestFronts:
    def test_a_mapping_holds_filters(self, tmp_path: Path) -> None:
        mapping = tmp_path / "map.toml"
        mapping.write_text(
            'only = ["Type=Review"]\nvisible_column = ["Type=review", "Decision=paper"]\nscale = [1, 10]\n'
        )
        frame = conference()
        assert contents(pv.read(frame, mapping=mapping)) == kept_by_hand(REVIEW)
        both = pv.read(frame, mapping=mapping, leave_out="Decision=Withdrawn")
        assert len(both.filtered) == 2
        mapping.write_text('only = "Type=Review"\n')
        with pytest.raises(pv.FileError, match="only must be what to keep by columns"):
            pv.read(frame, mapping=mapping)

    def test_inspect_says_what_filters_leave_out(self) -> None:
        facts = inspect(conference(), only="Type=Review", visible_column="Type=review", scale=(1, 10))
        assert facts["left out"] == [
            "24 reviews of 24 papers were left out as not 'Type=Review', which everyone can see"
        ]
        assert facts["loads among kept reviews"] == "4 reviews each"

    def test_a_batch_holds_filters(self, tmp_path: Path) -> None:
        conference().write_csv(tmp_path / "a.csv")
        (tmp_path / "venues.toml").write_text(
            '[defaults]\npublic = "all"\nmechanism = "histogram"\nepsilon = 1\nno_report = true\n'
            'only = ["Type=Review"]\nvisible-column = "Type=review"\n[[venue]]\nname = "a"\nfile = "a.csv"\n'
        )
        done = CliRunner().invoke(app, ["batch", str(tmp_path / "venues.toml"), "-o", str(tmp_path / "out")])
        assert done.exit_code == 0, done.output
        made = json.loads((tmp_path / "out" / "a" / "release.json").read_text())
        assert made["part"]["left_out"][0]["reviews"] == 24


class TestMarks:
    """Rows that are marked as no reviews by people are never read as reviews."""

    @pytest.mark.parametrize(
        ("column", "yes"), [("is_meta_review", "True"), ("IS_META_REVIEW", "1"), ("Meta-Review", "x")]
    )
    def test_metareviews_in_a_table(self, column: str, yes: str) -> None:
        frame = conference().with_columns(pl.when(REVIEW).then(pl.lit("")).otherwise(pl.lit(yes)).alias(column))
        reviews = pv.read(frame.drop("Type"), scale=(1, 10))
        assert reviews.report.left_out == ("24 metareviews",)
        assert reviews.whole is None
        assert contents(reviews) == kept_by_hand(REVIEW)

    def test_bots_in_a_table(self) -> None:
        frame = conference().filter(REVIEW).with_columns(is_bot=pl.col("email") == "r1@x.org")
        reviews = pv.read(frame, scale=(1, 10))
        assert reviews.report.left_out == ("4 reviews by bots",)
        assert reviews.reviewers == 17

    @pytest.mark.parametrize("mark", [{"rtype": 5}, {"rtype": "meta"}, {"reviewer_bot": True}])
    def test_hotcrp(self, mark: dict[str, Any], tmp_path: Path) -> None:
        plain = {"rtype": 2, "OveMer": 3}
        pairs = [(p, k) for p in (1, 2) for k in (1, 2)]
        reviews = [plain | {"pid": p, "rid": 10 * p + k, "reviewer_email": f"r{k}@x.org"} for p, k in pairs]
        extra = reviews[0] | {"rid": 99, "reviewer_email": "other@x.org"} | mark
        (tmp_path / "hotcrp.json").write_text(json.dumps([*reviews, extra]))
        found = pv.read(tmp_path / "hotcrp.json")
        assert (found.score.size, found.reviewers) == (4, 2)
        assert found.report.left_out == ("1 reviews by bots" if "reviewer_bot" in mark else "1 metareviews",)

    @pytest.mark.parametrize(
        ("column", "value"),
        [
            ("Type", "Meta-Review"),
            ("kind", "metareview"),
            ("Review Type", "Meta"),
            ("rtype", "META"),
            ("type", "Meta reviewer"),
        ],
    )
    def test_types_of_metareviews(self, column: str, value: str) -> None:
        """They are no reviews, with or without a filter on their column."""
        typed = pl.when(REVIEW).then(pl.lit("Review")).otherwise(pl.lit(value)).alias(column)
        frame = conference().select(pl.exclude("Type"), typed)
        for how in ({}, {"only": f"{column}=Review", "visible_column": f"{column}=review"}):
            reviews = pv.read(frame, scale=(1, 10), **how)  # type: ignore[arg-type]
            assert reviews.report.left_out == ("24 metareviews",)
            assert reviews.whole is None
            assert contents(reviews) == kept_by_hand(REVIEW)

    def test_a_type_that_may_be_that_of_papers_is_pointed_out(self) -> None:
        frame = conference().with_columns(pl.col("Type").replace("Summary", "Meta"))
        (problem,) = pv.read(frame, scale=(1, 10)).report.problems
        assert problem.startswith("24 of 96 rows may be metareviews, as their 'Type' is 'Meta'")
        assert not any("metareviews" in problem for problem in read(frame, only="Type=Review").report.problems)

    @pytest.mark.parametrize("cell", ["1", "x", "true", "5"])
    def test_other_types_are_types_of_reviews(self, cell: str) -> None:
        frame = conference().filter(REVIEW).with_columns(Type=pl.lit(cell), rtype=pl.lit(cell))
        assert pv.read(frame, scale=(1, 10)).score.size == 72


@pytest.mark.parametrize("nested", [True, False])
@pytest.mark.parametrize("condition", ["venue=Withdrawn", "decision=Reject", "rating=1"])
def test_openreview_filters_by_fields_of_papers(nested: bool, condition: str, tmp_path: Path) -> None:
    """Fields of the submission and of its decision describe papers, those of a review the review."""
    notes, flat = [], []
    for p in range(6):
        forum = f"forum{p}"
        paper = {"id": forum, "forum": forum, "invitations": ["V/-/Submission"], "signatures": ["V/Authors"]}
        paper["content"] = {"venue": {"value": "Withdrawn" if p % 3 == 0 else "Poster"}}  # type: ignore[assignment]
        replies: list[dict[str, Any]] = [
            {"id": f"{p}{k}", "forum": forum, "replyto": forum, "invitations": [f"V/Submission{p}/-/Official_Review"]}
            | {"signatures": [f"~R_{(p + k) % 4}1"], "content": {"rating": {"value": 1 + (p + 2 * k) % 5}}}
            for k in range(2)
        ]
        decided = {"decision": {"value": "Reject" if p % 2 else "Accept"}}
        replies.append(
            {"id": f"{p}d", "forum": forum, "replyto": forum, "invitations": [f"V/Submission{p}/-/Decision"]}
            | {"signatures": ["V/Chairs"], "content": decided}
        )
        notes.append(paper | {"details": {"replies": replies}})
        flat += [*replies, paper]
    (tmp_path / "notes.json").write_text(json.dumps(notes if nested else flat))
    name = condition.partition("=")[0]
    kind = "review" if name == "rating" else "paper"
    reviews = pv.read(tmp_path / "notes.json", leave_out=condition, visible_column={name: kind})
    kept = [
        (f"forum{p}", 1.0 + (p + 2 * k) % 5)
        for p in range(6)
        for k in range(2)
        if {"venue": p % 3 != 0, "decision": p % 2 == 0, "rating": (p + 2 * k) % 5 != 0}[name]
    ]
    assert contents(reviews) == sorted(kept)
