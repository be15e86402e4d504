"""Platforms' exports: what is written is read back, what is not a review is left out, what is no export is refused."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import peerveil as pv
from marks import examples
from peerveil.private.inspection import draft_mapping, inspect
from peerveil.private.readers import openreview_live, read
from peerveil.private.readers.finish import finish
from peerveil.private.readers.protocol import Choices
from peerveil.simulation.conferences import Conference, synthetic_conference
from peerveil.simulation.exports import KINDS, PRIVATE, Cast, Style, export

EASYCHAIR = tuple(kind for kind in PRIVATE if kind.startswith("easychair"))
ABSENT_ONE = "1 review of 1 paper was left out of all means, having no score, as everyone can see"
LEFT_OUT = {
    "table": (),
    "openreview": ("1 metareviews", "1 reviews that were deleted"),
    "openreview-v1": ("1 metareviews", "1 reviews that were deleted"),
    "hotcrp": (ABSENT_ONE,),
    "hotcrp-scores": (),
    "hotcrp-batch": ("1 reviews that were not submitted",),
    "hotcrp-json": ("1 metareviews", "1 reviews that were not submitted", ABSENT_ONE),
    "hotcrp-rqc": ("1 metareviews", "1 reviews that were not submitted", ABSENT_ONE),
    **dict.fromkeys(EASYCHAIR, ("1 older versions of reviews",)),
    "cmt": (ABSENT_ONE,),
}

# Anything a name may hold, but for what no XML can: control characters, half characters.
NAMES = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc"), include_characters="\n\"',;\t"),
    min_size=1,
    max_size=12,
).filter(lambda name: name.strip())
STYLES = st.builds(
    Style,
    separator=st.sampled_from(",;\t|"),
    newline=st.sampled_from(["\n", "\r\n"]),
    mark=st.booleans(),
    packed=st.booleans(),
    comma=st.booleans(),
)


@st.composite
def conferences(draw: st.DrawFn) -> Conference:
    """Any assignment of up to five papers to up to six reviewers, with whole or half points."""
    papers, reviewers = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    pairs = [(p, a) for p in range(papers) for a in range(reviewers)]
    chosen = set(draw(st.lists(st.sampled_from(pairs)))) | {(p, p % reviewers) for p in range(papers)}
    chosen |= {(a % papers, a) for a in range(reviewers)}
    points = st.sampled_from([1.0, 2.0, 3.0, 4.0, 5.0, 1.5, 2.5])
    rows = [(p, a, draw(points)) for p, a in draw(st.permutations(sorted(chosen)))]
    paper, reviewer, score = zip(*rows, strict=True)
    return Conference(paper=np.array(paper), reviewer=np.array(reviewer), score=np.array(score), scale=(1, 5))


@st.composite
def casts(draw: st.DrawFn, conference: Conference) -> Cast:
    count = int(conference.reviewer.max()) + 1
    names = draw(
        st.lists(NAMES, min_size=count, max_size=count, unique_by=lambda name: " ".join(name.casefold().split()))
    )
    parts = st.from_regex(r"[a-zA-Z0-9.é+]{1,6}", fullmatch=True)
    local = draw(st.lists(parts, min_size=count, max_size=count, unique_by=str.casefold))
    emails = [f"{part}@ex.org" for part in local]
    return replace(Cast.invent(conference), names=names, emails=emails)


Holdings = Counter[frozenset[tuple[int, float]]]


def holdings(reviews: pv.Reviews) -> Holdings:
    """The papers (by number) and scores of each reviewer, whatever the reviewers are called."""
    number = [int(re.sub(r"\D", "", name)) for name in reviews.papers]
    return by_reviewer((number[paper] for paper in reviews.paper), reviews.reviewer.tolist(), reviews.score)


def expected(conference: Conference, owner: Any = None) -> Holdings:
    owners = [reviewer if owner is None else owner[reviewer] for reviewer in conference.reviewer.tolist()]
    return by_reviewer(conference.paper + 1, owners, conference.score)


def by_reviewer(papers: Iterable[int], reviewers: list[int], scores: Iterable[float]) -> Holdings:
    holdings: dict[int, set[tuple[int, float]]] = {}
    for paper, reviewer, score in zip(papers, reviewers, scores, strict=True):
        holdings.setdefault(reviewer, set()).add((int(paper), float(score)))
    return Counter(map(frozenset, holdings.values()))


def text_file(folder: Path, text: str, name: str = "file") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def written(folder: str | Path, conference: Conference, kind: str, **how: Any) -> Path:
    name, data = export(conference, kind, **how)
    path = Path(folder) / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("kind", PRIVATE)
@examples(25)
@given(data=st.data())
def test_what_is_exported_is_read_back(kind: str, data: st.DataObject) -> None:
    conference = data.draw(conferences())
    cast, style = data.draw(casts(conference)), data.draw(STYLES)
    with tempfile.TemporaryDirectory() as folder:
        path = written(folder, conference, kind, cast=cast, style=style)
        person = "subreviewer" if kind in EASYCHAIR else None
        reviews = read(path, person=person, scale=(1, 5))
        assert holdings(reviews) == expected(conference)
        assert reviews.report.left_out == LEFT_OUT[kind]
        assert reviews.report.format == ("csv" if kind == "table" else kind.partition("-")[0])
        if kind in EASYCHAIR:
            assert holdings(read(path, person="member")) == expected(conference, cast.members)
            if len(set(cast.members)) < len(cast.members):
                with pytest.raises(pv.FileError, match=r"person='member'.*person='subreviewer'"):
                    read(path)
            else:
                assert holdings(read(path)) == expected(conference)


def graded(conference: Conference, data: st.DataObject) -> Conference:
    """The same conference with two criteria."""
    size = conference.score.size
    columns = st.lists(st.sampled_from([1.0, 2.0, 3.5, 5.0]), min_size=size, max_size=size).map(np.array)
    return replace(conference, criteria={name: data.draw(columns) for name in ("soundness", "Clarity of it")})


@pytest.mark.slow
@pytest.mark.parametrize("kind", PRIVATE)
@settings(max_examples=10)
@given(data=st.data())
def test_criteria_are_read_back(kind: str, data: st.DataObject) -> None:
    conference = graded(data.draw(conferences()), data)
    style, person = data.draw(STYLES), "subreviewer" if kind in EASYCHAIR else None
    names = list(conference.criteria)
    rows = zip(conference.paper + 1, conference.score, *conference.criteria.values(), strict=True)
    with tempfile.TemporaryDirectory() as folder:
        path = written(folder, conference, kind, style=style)
        reviews = read(path, person=person, criteria=names)
        assert holdings(reviews) == expected(conference)
        assert reviews.criteria is not None
        assert reviews.criteria_names == ("Clarity of it", "soundness")
        number = [int(re.sub(r"\D", "", name)) for name in reviews.papers]
        back = zip([number[p] for p in reviews.paper], reviews.score, *reviews.criteria.T[::-1], strict=True)
        assert sorted(back) == sorted(rows)
        facts = inspect(path, person=person, criteria=names)
        for name, column in conference.criteria.items():
            assert facts[f"criterion {name!r}"] == f"{column.min():g} to {column.max():g}"
        with pytest.raises(pv.FileError, match=r"'novelty'"):
            read(path, person=person, criteria=["novelty"])


@pytest.mark.parametrize("gone", [None, False, "n/a"])
def test_a_criterion_without_an_entry_is_missing(gone: Any, tmp_path: Path) -> None:
    people = [(1, "a"), (1, "b"), (2, "a"), (2, "b"), (3, "a"), (3, "c")]
    reviews: list[dict[str, Any]] = [
        {"pid": p, "rid": i, "reviewer_email": f"{a}@x.org", "OveMer": i, "Nov": i}
        for i, (p, a) in enumerate(people, 1)
    ]
    reviews[0]["Nov"] = gone
    path = text_file(tmp_path, json.dumps({"reviews": reviews}), "hotcrp.json")
    with pytest.raises(pv.FileError, match=r"hotcrp\.json: 1 of 6 reviews lack a criterion, in 1 of 3 papers"):
        read(path, criteria=["nov"])
    assert "1 of 6 reviews lack the criterion 'nov'" in inspect(path, criteria=["nov"])["problems"]
    kept = read(path, criteria=["nov"], missing_criteria="leave-out")
    assert (kept.papers, kept.ungraded, kept.report.left_out) == (
        ("2", "3"),
        1,
        ("2 reviews of 1 paper were left out with their papers, for a missing criterion",),
    )
    with pytest.raises(pv.RecordError, match="no public ground"):
        kept.public("none")
    reviews[1]["reviewer_email"] = "a@x.org"  # twice, in the paper that is left out
    path.write_text(json.dumps({"reviews": reviews}))
    with pytest.raises(pv.FileError, match="the same reviewer has a review of the same paper"):
        read(path, criteria=["nov"], missing_criteria="leave-out")
    reviews[1] |= {"reviewer_email": "b@x.org", "Nov": "Ann"}
    path.write_text(json.dumps({"reviews": reviews}))
    with pytest.raises(pv.FileError, match=r"column 'criterion nov': text .* give the criterion as a number") as caught:
        read(path, criteria=["nov"])
    assert "Ann" not in str(caught.value)


def with_clarity(folder: Path, kind: str) -> Path:
    made = synthetic_conference(reviewers=8, load=2, criteria=["clarity"], rng=np.random.default_rng(1))
    return written(folder, made, kind)


def test_openreview_tells_whether_everyone_can_read_the_criteria(tmp_path: Path) -> None:
    path = with_clarity(tmp_path, "openreview")
    tree = json.loads(path.read_text(encoding="utf-8"))
    tree["notes"][1]["details"]["replies"][0]["content"]["clarity"]["readers"] = ["Example.org/Chairs"]
    path.write_text(json.dumps(tree), encoding="utf-8")
    assert read(path).report.shows[0].startswith("everyone can read the score of 16 of 16 reviews")
    with_criteria = read(path, criteria=["clarity"]).report
    assert with_criteria.shows[0].startswith("everyone can read the score and the criteria of 15 of 16 reviews")


def test_questions_of_cmt_go_by_number_or_text(tmp_path: Path) -> None:
    path = with_clarity(tmp_path, "cmt")
    by_text, by_number = read(path, criteria=["Clarity"]), read(path, criteria=["Q4"])
    assert by_text.criteria is not None
    assert by_number.criteria is not None
    assert by_text.criteria.tolist() == by_number.criteria.tolist()


def test_a_mapping_may_name_criteria(tmp_path: Path) -> None:
    path = with_clarity(tmp_path, "hotcrp")
    mapping = text_file(tmp_path, 'criteria = ["clarity"]\n', "mapping.toml")
    assert read(path, mapping=mapping).criteria_names == ("clarity",)
    assert "criterion 'clarity'" in inspect(path, mapping=mapping)
    mapping.write_text('criteria = "clarity"\n')
    with pytest.raises(pv.FileError, match="criteria must be the columns"):
        read(path, mapping=mapping)


@pytest.fixture(scope="module")
def conference() -> Conference:
    return synthetic_conference(reviewers=20, load=3, reviews_per_paper=3, rng=np.random.default_rng(3))


def test_every_export_has_a_name_of_its_own() -> None:
    assert len({name for name, _ in KINDS.values()}) == len(KINDS)
    with pytest.raises(pv.InputError, match="export must be one of table, openreview"):
        export(synthetic_conference(reviewers=4, rng=np.random.default_rng(0)), "word")


ANONYMOUS = {
    "OpenReview's": [f"Ex.org/2026/Conference/Submission{p}/Reviewer_Ab{c}d" for p in range(6) for c in "XY"],
    "bare": [f"Reviewer_{p}b{c}d" for p in range(6) for c in "XY"],
    "numbers": [f"{i}" for _ in range(6) for i in (1, 2)],
    "numbered": [f"Reviewer #{i}" for _ in range(6) for i in (1, 2)],
    "letters": [c for _ in range(6) for c in "AB"],
    "by paper": [f"{p}{c}" for p in range(6) for c in "AB"],
    "opaque": [f"{p:08x}{c}" for p in range(700, 706) for c in "AB"],
    "old": [f"AnonReviewer{i}" for _ in range(6) for i in (1, 2)],
}


@pytest.mark.promise("P-KEPT-3")
@pytest.mark.parametrize("kind", ANONYMOUS)
def test_ids_given_anew_on_every_paper_are_refused(kind: str) -> None:
    frame = pl.DataFrame({"paper": [p for p in range(6) for _ in "AB"], "reviewer": ANONYMOUS[kind], "score": [3] * 12})
    with pytest.raises(pv.FileError, match=r"column 'reviewer': .*people=.*ids='people'") as caught:
        read(frame)
    assert not any(name in str(caught.value) for name in ANONYMOUS[kind] if len(name) > 1)
    assert read(frame, ids="people").score.size == 12
    with pytest.raises(pv.InputError, match="ids must be 'people'"):
        read(frame, ids="robots")


@pytest.mark.promise("P-KEPT-3")
def test_few_numbers_on_many_papers_are_refused_even_with_gaps() -> None:
    papers = [p for p in range(30) for _ in range(2)]
    frame = pl.DataFrame({"paper": papers, "reviewer": [1, 2, 1, 3] * 15, "score": [3] * 60})
    with pytest.raises(pv.FileError, match="numbered on each paper"):
        read(frame)


def test_anonymous_names_that_are_alike_by_chance_are_refused() -> None:
    names = [f"Reviewer_{i:04x}" for i in range(60)]
    names[7] = names[3] = "Reviewer_AbCd"  # on two papers, among many
    frame = pl.DataFrame({"paper": [i // 2 for i in range(60)], "reviewer": names, "score": [3] * 60})
    with pytest.raises(pv.FileError, match="anonymous names, hardly any of which occurs on two papers"):
        read(frame)
    people = pl.DataFrame({"paper": frame["paper"], "reviewer": [f"reviewer_{i % 20}" for i in range(60)], "score": 3})
    assert read(people).reviewers == 20


def test_a_chair_among_numbered_reviewers_does_not_hide_them() -> None:
    papers = [p for p in range(8) for _ in range(3)]
    frame = pl.DataFrame({"paper": papers, "reviewer": ["R1", "R2", "Chair"] * 8, "score": [3] * 24})
    with pytest.raises(pv.FileError, match="numbered on each paper"):
        read(frame)
    named = frame.with_columns(pl.col("reviewer").replace("Chair", "chair@x.org"))
    assert read(named).reviewers == 3


@pytest.mark.parametrize(
    "reviewers", [["a@x.org", "b@x.org"] * 6, [f"p{i}@x.org" for i in range(12)], list("xyz") * 4, [7, 9, 13, 22] * 3]
)
def test_ids_of_people_are_taken(reviewers: list[Any]) -> None:
    papers = [p for p in range(6) for _ in "AB"]
    assert read(pl.DataFrame({"paper": papers, "reviewer": reviewers, "score": [3] * 12})).score.size == 12


def test_letters_need_a_declared_order(tmp_path: Path) -> None:
    rows = "".join(
        f'{p},T,{p}A,N,{n}@x.org,"{s}"\n'
        for p, n, s in [(1, "a", "A"), (1, "b", "C. Weak"), (2, "a", "B"), (2, "b", "")]
    )
    path = text_file(tmp_path, "paper,title,review,reviewername,email,Overall merit\n" + rows)
    with pytest.raises(pv.FileError, match=r"line 2, column 'Overall merit': text .*symbols='D<C<B<A'"):
        read(path)
    with pytest.raises(pv.FileError, match=r"line 3, column 'Overall merit': text .* none of the declared symbols"):
        read(path, symbols="B<A")
    for symbols in ("D<C<B<A", ["D", "C", "B", "A"], {"A": 4, "B": 3, "C": 2, "D": 1}, "A=4, B=3, C=2, D=1"):
        reviews = read(path, symbols=symbols)
        assert (reviews.score.tolist(), reviews.scale) == ([2, 4, 3], (1, 4))
        assert reviews.report.left_out == (ABSENT_ONE,)
    for wrong in ("A", "A<A", "A=1,A=2", "A=x,B=1", {"A": 1, "B": 1}, 5, [1, 2]):
        with pytest.raises(pv.InputError, match="symbols must be"):
            read(path, symbols=wrong)  # type: ignore[arg-type]


def test_reversed_numbers_can_be_declared_too() -> None:
    frame = pl.DataFrame({"paper": [1, 1, 2], "reviewer": ["a", "b", "a"], "score": ["1: best", "3", "2.0"]})
    assert read(frame, symbols="3<2<1").score.tolist() == [1, 3, 2]


@pytest.mark.parametrize("cell", ["1.5", "1,5", "2.5: between", "12", "1.0.1"])
def test_half_points_are_no_symbols_with_labels(cell: str) -> None:
    frame = pl.DataFrame({"paper": [1, 1, 2], "reviewer": ["a", "b", "a"], "score": ["1: best", "3", cell]})
    with pytest.raises(pv.FileError, match=r"line 3, column 'score': .* is none of the declared symbols"):
        read(frame, symbols="3<2<1")


@pytest.mark.parametrize("cell", ["7,5", " 7,5 ", "7.5", "7,5: good", "7.5 good", "7,50"])
def test_decimal_commas(cell: str, tmp_path: Path) -> None:
    path = text_file(tmp_path, f"paper;reviewer;score\np;ann;{cell}\np;bob;3\n")
    assert read(path).score.tolist() == [3, 7.5]


def test_addresses_differ_by_more_than_case(tmp_path: Path) -> None:
    text = "pid,review,email,Overall merit\n1,1A,Ann@X.org,3\n2,2A,ann@x.org,4\n2,2B,bob@x.org,4\n"
    assert read(text_file(tmp_path, text)).reviewers == 2


def test_openreview_needs_to_know_who_is_behind_a_signature(tmp_path: Path, conference: Conference) -> None:
    dump = json.loads(export(conference, "openreview")[1])
    notes = text_file(tmp_path, json.dumps(dump["notes"]), "notes.json")
    groups = text_file(tmp_path, json.dumps({"groups": dump["groups"]}), "groups.json")
    with pytest.raises(pv.FileError, match=r"60 of 60 reviews have anonymous signatures.*groups.*people=") as caught:
        read(notes)
    assert "Reviewer_" not in str(caught.value)
    assert holdings(read(notes, people=groups)) == expected(conference)
    pairs = [(group["id"], group["members"][0]) for group in dump["groups"] if group["members"]]
    table = pl.DataFrame(pairs, schema=["signature", "profile"], orient="row")
    assert holdings(read(notes, people=table)) == expected(conference)
    groups.write_text(json.dumps(dict(pairs)))
    assert holdings(read(notes, people=groups)) == expected(conference)
    lines = "\n".join(map(json.dumps, dump["notes"]))
    flat = json.dumps([reply for note in dump["notes"] for reply in note["details"]["replies"]])
    for text in (lines, flat):
        assert holdings(read(text_file(tmp_path, text), people=table)) == expected(conference)


def test_openreview_profiles_make_people_one(tmp_path: Path, conference: Conference) -> None:
    dump = json.loads(export(conference, "openreview")[1])
    for i, group in enumerate(dump["groups"][1:]):
        if i % 2:
            group["members"] = [f"~{group['members'][0].partition('@')[0]}1"]
    names = {f"reviewer-{j:04d}" for j in range(1, 21)}
    path = text_file(tmp_path, json.dumps(dump))
    split = read(path)
    assert split.reviewers > 20
    assert "some reviewers go by a profile" in split.report.problems[0]
    dump["profiles"] = [
        {"id": f"~{n}1", "content": {"names": [{"username": f"~{n}2"}], "emails": [f"{n.upper()}@example.org"]}}
        for n in names
    ]
    path.write_text(json.dumps(dump))
    assert holdings(read(path)) == expected(conference)


def test_openreview_shows_who_can_read_what(tmp_path: Path, conference: Conference) -> None:
    dump = json.loads(export(conference, "openreview")[1])
    replies = [reply for note in dump["notes"] for reply in note["details"]["replies"] if "rating" in reply["content"]]
    replies[1]["readers"] = ["Ex.org/Program_Chairs"]
    replies[5]["content"]["rating"]["readers"] = ["Ex.org/Program_Chairs"]
    path = text_file(tmp_path, json.dumps(dump))
    shows = read(path).report.shows
    assert "everyone can read the score of 58 of 60 reviews" in shows[0]
    assert "all scores of 18 of 20 papers are among them; the others must be hidden ('?')" in shows[1]
    for reply in replies:
        del reply["readers"]
    path.write_text(json.dumps(dump))
    assert "do not say who can read them" in read(path).report.shows[0]


def test_openreview_venues_name_their_reviews(tmp_path: Path, conference: Conference) -> None:
    text = export(conference, "openreview")[1].decode()
    text = text.replace('/-/Official_Review"', '/-/Judgement"').replace('"rating"', '"verdict"')
    path = text_file(tmp_path, text)
    with pytest.raises(pv.FileError, match=r"holds no review with a score: .* other replies"):
        read(path)
    assert holdings(read(path, review_name="Judgement")) == expected(conference)
    path.write_text(text.replace('"Official_Review"', '"Judgement"'))
    assert holdings(read(path)) == expected(conference)
    dump = json.loads(path.read_text())
    path.write_text(json.dumps({"notes": dump["notes"], "groups": dump["groups"]}))
    assert holdings(read(path, review_name="Judgement", score="verdict")) == expected(conference)


@dataclass
class Thing:
    """A note, group or profile as openreview-py gives it."""

    id: str
    content: dict[str, Any]
    members: list[str] = field(default_factory=list)
    forum: str | None = None
    replyto: str | None = None
    invitations: list[str] | None = None
    signatures: list[str] | None = None
    readers: list[str] | None = None
    ddate: int | None = None
    details: dict[str, Any] | None = None


class Client:
    """Stands in for openreview-py's client, and answers from a dump."""

    def __init__(self, dump: dict[str, Any]) -> None:
        self.groups = [Thing(**group) for group in dump["groups"]]
        self.notes = [Thing(**{key: note[key] for key in note if key != "tcdate"}) for note in dump["notes"]]
        self.asked: list[Any] = []

    def get_group(self, id: str) -> Thing:  # noqa: A002 - openreview-py's name
        for group in self.groups:
            if group.id == id:
                return group
        raise ValueError("~Ann_Smith1 may not see it")

    def get_all_groups(self, *, prefix: str, domain: str) -> list[Thing]:
        assert prefix == f"{domain}/Submission"
        return [group for group in self.groups if group.id.startswith(prefix)]

    def get_all_notes(self, *, invitation: str, details: str) -> list[Thing]:
        self.asked.append((invitation, details))
        return self.notes

    def search_profiles(self, *, ids: list[str] | None = None, confirmedEmails: list[str] | None = None) -> Any:
        if ids is not None:
            return [Thing(id=name, content={"names": [{"username": name}]}) for name in ids]
        return {email: Thing(id=f"~{email.partition('@')[0]}1", content={}) for email in confirmedEmails or []}


def test_openreview_live(conference: Conference) -> None:
    dump = json.loads(export(conference, "openreview")[1])
    for i, group in enumerate(dump["groups"][1:]):
        if i % 2:
            group["members"] = [f"~{group['members'][0].partition('@')[0]}1"]
    client = Client(dump)
    extract = openreview_live.extract("Example.org/2026/Conference", Choices(), client)
    reviews = finish(extract, Choices(), format="openreview", why="")
    assert holdings(reviews) == expected(conference)
    assert client.asked == [("Example.org/2026/Conference/-/Submission", "replies")]
    with pytest.raises(pv.VenueError, match=r"openreview:Nowhere could not be read \(ValueError\)") as caught:
        openreview_live.extract("Nowhere", Choices(), client)
    assert caught.value.__context__ is None
    assert "Smith" not in str(caught.value)


def test_openreview_live_needs_its_extra_and_an_account(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openreview.api", None)
    with pytest.raises(pv.InputError, match=r"pip install 'peerveil\[openreview\]'"):
        read("openreview:Ex.org/2026")


def test_cmt_needs_addresses_and_one_question(tmp_path: Path, conference: Conference) -> None:
    text = export(conference, "cmt")[1].decode()
    path = text_file(tmp_path, text.replace("Reviewer Email", "Reviewer Mail"))
    with pytest.raises(pv.FileError, match="line 6: has no column 'Reviewer Email'"):
        read(path)
    path.write_text(text.replace("(Confidence", "(Score of confidence"))
    with pytest.raises(pv.FileError, match=r"line 6: several questions could be the score; .* of Q2, Q3, with score="):
        read(path)
    assert holdings(read(path, score="Q2")) == expected(conference)
    assert set(read(path, score="q3").score.tolist()) == {4}
    with pytest.raises(pv.FileError, match=r"no question is called 'Q9'; .* of Q1, Q2, Q3"):
        read(path, score="Q9")


ENTITIES = '<!DOCTYPE w [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("?>", f"?>{ENTITIES}"), "line 1: has a document type or entities"),
        (("?>", '?><!DOCTYPE w SYSTEM "file:///etc/passwd">'), "has a document type"),
        (("</Table>", ""), "is not well-formed XML: mismatched tag"),
        (("Paper ID", "Paper"), "sheet 1 has no header 'Paper ID'"),
        (("<Row>", '<Row ss:Index="99999999">'), "at a place where none can be"),
        (("<Cell>", '<Cell ss:Index="0">'), "at a place where none can be"),
        (("<Cell>", '<Cell ss:Index="20000">'), "at a place where none can be"),
        (('"1.0"?', '"1.0" encoding="martian"?'), "unknown encoding"),
    ],
)
def test_spreadsheets_that_are_none(
    change: tuple[str, str], message: str, tmp_path: Path, conference: Conference
) -> None:
    with pytest.raises(pv.FileError, match=message):
        read(text_file(tmp_path, export(conference, "cmt")[1].decode().replace(*change)))


def test_hotcrp_without_addresses_is_refused(tmp_path: Path) -> None:
    with pytest.raises(pv.FileError, match=r"has no addresses of reviewers, .* download it as an administrator"):
        read(text_file(tmp_path, "paper,title,review,Overall merit\n1,T,1A,3\n"))
    with pytest.raises(pv.FileError, match="line 1, column 'reviewer_email': a review has no addresses"):
        read(text_file(tmp_path, '[{"pid": 1, "rid": 3,\n"rtype": 2, "OveMer": 3}]'))


def test_the_narrow_form_of_hotcrp_is_refused(tmp_path: Path) -> None:
    narrow = "pid,review,email,round,field,format,data\n1,1A,a@x.org,R1,Overall merit,,3\n"
    with pytest.raises(pv.FileError, match=r"has one row per field; run .* without --narrow"):
        read(text_file(tmp_path, narrow))


def test_hotcrp_csv_cannot_tell_metareviews(tmp_path: Path, conference: Conference) -> None:
    for kind in ("hotcrp", "hotcrp-scores", "hotcrp-batch"):
        assert "cannot be told from reviews" in read(written(tmp_path, conference, kind)).report.problems[0]
    assert not read(written(tmp_path, conference, "hotcrp-json")).report.problems


def test_hotcrp_tells_of_decisions(tmp_path: Path, conference: Conference) -> None:
    shows = read(written(tmp_path, conference, "hotcrp-scores")).report.shows
    assert shows[1] == "13 of 20 papers have a decision that begins with 'accept'"


def test_files_of_other_kinds(tmp_path: Path) -> None:
    for data, message in {
        b"\xd0\xcf\x11\xe0\xa1\xb1": "is a document of an office program, but no workbook",
        b'<?xml version="1.0"?><html/>': "is XML of a kind that no platform here writes",
    }.items():
        (tmp_path / "file").write_bytes(data)
        with pytest.raises(pv.FileError, match=message):
            read(tmp_path / "file")
    for kind in ("openreview", "cmt"):
        with pytest.raises(pv.FileError, match="is no file, which this format needs"):
            read(pl.DataFrame({"paper": [1]}), format=kind)


def test_subreviewers_who_are_members_are_one_person(tmp_path: Path) -> None:
    people = "reviewer first name,reviewer last name,reviewer email,reviewer person #"
    header = f"#,submission #,member #,member name,number,version,text,scores,{people}"
    rows = [
        "1,1,1,Ann Lee,1,1,t,Overall evaluation: 2,,,,",
        "2,2,2,Bob Ray,2,1,t,Overall evaluation: 1, ANN ,Lee,ann@x.org,77",
        "3,1,2,Bob Ray,3,1,t,Overall evaluation: 0,,,,",
    ]
    path = text_file(tmp_path, "\n".join([header, *rows]))
    reviews = read(path, person="subreviewer")
    assert reviews.reviewers == 2
    assert reviews.report.problems == ("1 subreviewers have the name of a PC member and are taken for the same people",)
    with pytest.raises(pv.InputError, match="person must be 'member' or 'subreviewer', got 'cat'"):
        read(path, person="cat")


def test_numbers_of_each_paper_are_found_on_two_papers_and_beside_chairs(tmp_path: Path) -> None:
    def file(*others: str) -> Path:
        rows = [f"{paper},{who},3" for paper in (1, 2) for who in (1, 2)]
        rows += [f"{1 + place % 2},{who},3" for place, who in enumerate(others)]
        return text_file(tmp_path, "\n".join(["paper,reviewer,score", *rows]))

    for others in ((), ("chair", "chair")):  # one of three ids is no number
        with pytest.raises(pv.FileError, match="reviewers are numbered on each paper"):
            read(file(*others))
    assert read(file("ann", "bob")).reviewers == 4  # two of four are none: these are names
    assert read(text_file(tmp_path, "paper,reviewer,score\n1,1,3\n1,2,4")).reviewers == 2  # one paper shows nothing


def test_the_latest_version_of_a_review_counts_in_any_order(tmp_path: Path) -> None:
    header = "#,submission #,member #,member name,number,version,text,scores"
    rows = [f"{i},1,1,Ann Lee,1,{version},t,Overall evaluation: {version}" for i, version in enumerate((2, 3, 1))]
    reviews = read(text_file(tmp_path, "\n".join([header, *rows])))
    assert reviews.score.tolist() == [3]
    assert reviews.report.left_out == ("2 older versions of reviews",)
    with pytest.raises(
        pv.FileError, match="line 5, column 'version': the same version of the same review occurs twice"
    ):
        read(text_file(tmp_path, "\n".join([header, *rows, rows[1]])))


def test_mappings_say_how_to_read(tmp_path: Path) -> None:
    path = text_file(tmp_path, "nr,who,mark\n1,ann,A\n1,bob,B\n2,ann,C\n")
    names = 'paper = "nr"\nreviewer = "who"\nscore = "mark"\n'
    mapping = text_file(tmp_path, f'{names}symbols = ["C", "B", "A"]\nscale = [1, 5]\n', "m.toml")
    reviews = read(path, mapping=mapping)
    assert (reviews.score.tolist(), reviews.scale) == ([2, 3, 1], (1, 5))
    assert read(path, mapping=mapping, symbols={"A": 1, "B": 2, "C": 3}).score.tolist() == [1, 2, 3]
    for text, message in {
        "paper = ": "is not well-formed TOML",
        "papers = 'x'": "has the unknown key 'papers'; the keys of a mapping are format, sheet, encoding, paper",
        "paper = 3": "paper must be text",
        "scale = [1]": r"scale must be the lowest and highest",
        "scale = [true, 2]": r"scale must be the lowest and highest",
        "format = 'docx'": "format must be one of",
        "symbols = 3": "symbols must be declared",
        "person = 'cat'": "person must be 'member'",
        "people = 'gone.csv'\nformat = 'openreview'": "gone|JSON",
    }.items():
        mapping.write_text(text)
        with pytest.raises(pv.InputError, match=message):
            read(path, mapping=mapping)


@pytest.mark.promise("P-KEPT-2")
@pytest.mark.parametrize("kind", PRIVATE)
def test_nobody_is_named(kind: str, tmp_path: Path, conference: Conference) -> None:
    count = int(conference.reviewer.max()) + 1
    cast = replace(
        Cast.invent(conference),
        names=[f"Zyxwvut Number{j}" for j in range(count)],
        emails=[f"zyxwvut{j}@example.org" for j in range(count)],
    )
    path = written(tmp_path, conference, kind, cast=cast)
    facts = inspect(path, person="member")
    assert "zyxwvut" not in str(facts).lower()
    assert facts["because"]
    assert facts["content"] == "private reviews"
    draft_mapping(path, tmp_path / "m.toml")
    assert "zyxwvut" not in (tmp_path / "m.toml").read_text().lower()
    assert holdings(read(path, person="subreviewer", mapping=tmp_path / "m.toml")) == expected(conference)
    with pytest.raises(pv.InputError, match="already exists"):
        draft_mapping(path, tmp_path / "m.toml")
    with pytest.raises(pv.FileError) as caught:
        read(path, person="member", scale=(1, 2))
    assert "zyxwvut" not in str(caught.value).lower()
    assert caught.value.line is not None


@pytest.mark.promise("P-KEPT-4")
def test_what_is_left_out_is_never_published(tmp_path: Path, conference: Conference) -> None:
    reviews = read(written(tmp_path, conference, "hotcrp-json"), scale=(1, 10))
    assert reviews.report.left_out
    made = pv.release(reviews, public="all", mechanism=pv.Laplace(epsilon=1.0))
    assert made.notes == (ABSENT_ONE,)
    assert "metareview" not in made.to_json()


HOSTILE = {
    "brackets": ("[" + "[]," * 5000 + "[]]", "hardly anything but brackets"),
    "deep": ('{"notes": ' + "[" * 100_000, "hardly anything but brackets|not well-formed"),
    "deep with text": ('{"signatures": 1, "invitation": ' + "[ 12345678" * 5000, "line 1: is not well-formed JSON"),
    "digits": ('[{"paper": 1,\n"score": ' + "9" * 5000 + "}]", "line 1: is not well-formed JSON"),
    "sparse": ("\n".join(f'{{"key{i}": 1}}' for i in range(500)), "line .*: its objects have too little in common"),
    "long": ("paper,reviewer,score\np,ann," + "1" * 200_000 + "x\n", "line 2, column 'score': text"),
    "longer": ("paper,reviewer,score\np,ann," + "1" * 200_000 + "\n", "line 2, column 'score': text"),
    "large": ("paper,reviewer,score\np,ann," + "1" * 900 + "\n", "line 2, column 'score': a number .* finite"),
    "blank rows": ("paper,reviewer,score\n" + " , ,\n" * 600, "has no rows below its header"),
    "blank": ("\n" * 600, "is empty"),
    "blanks": ("paper,reviewer,score\np,ann,8" + " " * 200_000 + ";\n", "line 2, column 'score': text"),
    "open quote": ('paper,reviewer,score\np,"' + "x\n" * 1000, "line 2: is not well-formed"),
    "half": ('[{"paper": "p", "reviewer": "\\ud800", "score": 1}]', "line 1, column 'reviewer': the cell holds half a"),
}


@pytest.mark.parametrize(("text", "message"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts_are_refused(text: str, message: str, tmp_path: Path) -> None:
    path = text_file(tmp_path, text)
    with pytest.raises(pv.FileError, match=message) as caught:
        read(path)
    assert str(caught.value).startswith(str(path))
    assert caught.value.__context__ is None


def with_members_twice(text: str) -> dict[str, str]:
    """For each name of members in a JSON text the same text, with the first such member there twice."""
    found = {match[1]: match.start() for match in reversed(list(re.finditer(r'"([^"\\]+)":', text)))}
    return {name: f'{text[:place]}"{name}": null, {text[place:]}' for name, place in found.items()}


@pytest.mark.parametrize("kind", [kind for kind, (name, _) in KINDS.items() if name.endswith("json")])
def test_members_that_stand_twice_are_refused(kind: str, tmp_path: Path, conference: Conference) -> None:
    path = written(tmp_path, conference, kind)
    reading = read if kind in PRIVATE else lambda path: pv.read_public(path, load=1)
    texts = with_members_twice(path.read_text())
    assert len(texts) > 3
    for name, text in texts.items():
        assert json.loads(text) == json.loads(path.read_text()), "without a check, nobody would see it"
        with pytest.raises(pv.FileError, match=f"two members ('{name}'|of the same name)") as caught:
            reading(text_file(tmp_path, text))
        assert caught.value.line is not None
        assert caught.value.__context__ is None


PLAIN_LINE = '{"paper": "p", "reviewer": "ann", "score": 3}'


TWICE = {
    "lines": (f'{PLAIN_LINE}\n{{"paper": "q", "score": 8, "score": 3}}', "line 2: .* two members 'score'"),
    "array": (f'[{PLAIN_LINE},\n{{"paper": "q", "paper": "r"}}]', "line 2: .* two members 'paper'"),
    "within": (f'[{PLAIN_LINE},\n{{"paper": {{"Ann Secret": 1, "Ann Secret": 2}}}}]', "line 2: .* of the same name"),
    "outermost": (f'{{"notes": [],\n"signatures": 1,\n"notes": [{PLAIN_LINE}]}}', "line 3: .* two members 'notes'"),
    "value": ('{"paper": "p", "reviewer": "Ann Secret", "reviewer": "bob"}', "line 1: .* two members 'reviewer'"),
}


@pytest.mark.parametrize(("text", "message"), TWICE.values(), ids=TWICE)
def test_members_that_stand_twice_are_named_without_their_values(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(pv.FileError, match=message) as caught:
        read(text_file(tmp_path, text), format="openreview" if "notes" in text else None)
    assert "Secret" not in str(caught.value)


@pytest.mark.parametrize("kind", ["table", "openreview", "hotcrp", "hotcrp-batch", "hotcrp-json", "hotcrp-rqc"])
def test_a_nul_in_an_id_is_refused(kind: str, tmp_path: Path, conference: Conference) -> None:
    cast = Cast.invent(conference)
    cast = replace(cast, emails=[f"secret\0{email}" for email in cast.emails])
    with pytest.raises(pv.FileError, match=r"line \d+, column '\w+': the cell holds a NUL character") as caught:
        read(written(tmp_path, conference, kind, cast=cast))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("column", ["paper", "reviewer"])
def test_a_nul_is_found_in_every_column_of_ids(column: str, tmp_path: Path) -> None:
    cells: dict[str, list[Any]] = {"paper": ["p", "p", "q"], "reviewer": ["ann", "bob", "ann"], "score": [1, 2, 3]}
    cells[column][2] = "secret\0"
    frame = pl.DataFrame(cells)
    frame.write_csv(tmp_path / "f.csv")
    frame.write_parquet(tmp_path / "f.parquet")
    frame.write_ndjson(tmp_path / "f.jsonl")
    sources: dict[str, Any] = {name: tmp_path / name for name in ("f.csv", "f.parquet", "f.jsonl")} | {"": frame}
    for name, source in sources.items():
        with pytest.raises(pv.FileError, match=f"column '{column}': the cell holds a NUL character") as caught:
            read(source)
        assert caught.value.line == (4 if name == "f.csv" else 3)
        assert "secret" not in str(caught.value)
    if column == "paper":
        public = frame.select("paper", pl.col("score").alias("rating"))
        public.write_csv(tmp_path / "public.csv")
        papers = json.dumps([{"id": paper, "title": "", "rating": "5"} for paper in cells["paper"]])
        reviews = [{"id": paper, "reviews": [{"RECOMMENDATION": "5"}]} for paper in cells["paper"]]
        paperlists = text_file(tmp_path, papers, "paperlists.json")
        peerread = text_file(tmp_path, "\n".join(map(json.dumps, reviews)), "peerread.json")
        for source in (public, tmp_path / "public.csv", paperlists, peerread):
            with pytest.raises(pv.FileError, match="column 'paper': the cell holds a NUL character"):
                pv.read_public(source, load=1)
        with pytest.raises(pv.FileError, match="column 'paper': the cell holds a NUL character"):
            pv.read_groups(frame.with_columns(track=pl.lit("a")))
