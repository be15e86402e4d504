"""Statements: what they fix, and when the claims of releases add up."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import peerveil as pv
from peerveil.privacy.stated_facts import Statement, additional, attribute_facts, unheard

ONE, TWO = (1.0, 10.0), (0.0, 20.0)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"public": "some"}, "public must be"),
        ({"public": "record"}, "record must be the digest"),
        ({"public": "all", "record": "sha256:0"}, "record must be the digest"),
        ({"public": "none", "scale": (2, 1)}, "the lower one first"),
        ({"public": "none", "scale": (1, float("inf"))}, "finite"),
        ({"public": "none", "scale": (1, 2, 3)}, "two finite numbers"),
        ({"public": "none", "scale": ("1", 2)}, "scale must be a number"),
        ({"public": "all", "invariants": "one fact"}, "several texts"),
        ({"public": "all", "invariants": (" ",)}, "printable"),
        ({"public": "all", "left_out": ("a\nb",)}, "printable"),
        ({"public": "all", "score": "x" * 501}, "up to 500"),
    ],
)
def test_what_is_no_statement_is_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(pv.InputError, match=message):
        Statement(**fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "document",
    [
        None,
        [],
        {},
        Statement(public="all").to_document() | {"more": 1},
        Statement(public="all").to_document() | {"public": 1},
        Statement(public="all").to_document() | {"scale": "1,10"},
        Statement(public="all").to_document() | {"scale": [1]},
        Statement(public="all").to_document() | {"scale": [1, "x"]},
        Statement(public="all").to_document() | {"left_out": "x"},
        Statement(public="all").to_document() | {"invariants": [1]},
    ],
)
def test_what_is_no_document_of_a_statement_is_refused(document: object) -> None:
    with pytest.raises(pv.InputError):
        Statement.from_document(document)


FACTS = st.sampled_from(["kept loads of theory", "kept loads of systems", "24 reviewers in theory"])


@st.composite
def statements(draw: st.DrawFn, scores: tuple[str, ...] = ("",)) -> Statement:
    public = draw(st.sampled_from(["all", "none", "record"]))
    return Statement(
        public=public,
        record=draw(st.sampled_from(["sha256:a", "sha256:b"])) if public == "record" else "",
        scale=draw(st.sampled_from([ONE, TWO])),
        score=draw(st.sampled_from(scores)),
        invariants=tuple(draw(st.lists(FACTS, max_size=3))),
    )


@given(statements(scores=("", "rating", "confidence")))
def test_statements_survive_their_document(statement: Statement) -> None:
    assert Statement.from_document(json.loads(json.dumps(statement.to_document()))) == statement


# A reference that knows nothing of the rule: worlds are scores of two reviews, one shown by the record "a", the other
# by "b", and the truth of each declared fact. A statement fixes part of a world; a pair of worlds are its neighbours if
# they agree on that part, and if hidden scores lie on its scale.
WORLDS = list(itertools.product((2.0, 5.0, 15.0), (2.0, 5.0, 15.0), (0, 1), (0, 1), (0, 1)))
NAMES = ("kept loads of theory", "kept loads of systems", "24 reviewers in theory")


def fixed(statement: Statement, world: tuple[float, ...]) -> tuple[object, ...]:
    shown = {"all": (0, 1), "none": (), "record": (0,) if statement.record == "sha256:a" else (1,)}[statement.public]
    facts = [world[2 + place] for place, name in enumerate(NAMES) if name in statement.invariants]
    return (*(world[place] for place in shown), *facts)


def possible(statement: Statement, world: tuple[float, ...]) -> bool:
    low, high = statement.scale or (0, 0)
    return statement.public == "all" or all(low <= score <= high for score in world[:2])


def neighbours(stated: list[Statement]) -> set[tuple[tuple[float, ...], tuple[float, ...]]]:
    """Pairs of worlds that share what all of the statements fix."""
    return {
        (one, other)
        for one, other in itertools.product(WORLDS, WORLDS)
        if all(
            fixed(each, one) == fixed(each, other) and ((possible(each, one) and possible(each, other)) or one == other)
            for each in stated
        )
    }


# Theorem C6.
@pytest.mark.promise("P-FACTS-1", by="exhaustion")
@given(st.lists(statements(), min_size=1, max_size=2), statements())
def test_a_release_is_admitted_only_if_its_neighbours_include_the_data_sets(
    stated: list[Statement], new: Statement
) -> None:
    before = [stated[0]]
    for one in stated[1:]:
        if not additional(one, before):
            before.append(one)
    mine, theirs = neighbours([new]), neighbours(before)
    if additional(new, before):
        everything = any(one.public == "all" for one in before)
        scales = {one.scale for one in before}
        # What is refused fixes more, or states another scale, which is refused even where it is wider.
        assert not theirs <= mine or (not everything and new.scale not in scales)
    elif any(one.public == "all" for one in before):
        # Scores that are fixed to what they are lie on every scale that was stated truly.
        true = {(one, other) for one, other in theirs if possible(new, one) and possible(new, other)}
        assert true <= mine
    else:
        assert theirs <= mine


@given(statements())
def test_the_same_statement_is_always_admitted(statement: Statement) -> None:
    assert additional(statement, [statement]) == ()
    assert additional(statement, []) == ()


def test_what_is_stated_of_one_column_is_stated_of_the_reviews_but_scales_are_each_columns_own() -> None:
    hidden = Statement(public="none", scale=ONE, score="rating")
    for column in ("confidence", "Rating", "ra ting", ""):
        assert additional(Statement(public="all", score=column), [hidden])
        assert additional(hidden, [Statement(public="all", score=column)]) == ()
    wider = (ONE[0], ONE[1] + 1)
    assert additional(Statement(public="none", scale=wider, score="confidence"), [hidden]) == ()
    for column in ("rating", "Rating", "ra-ting", ""):
        assert additional(Statement(public="none", scale=wider, score=column), [hidden])


def test_what_is_additional_is_named() -> None:
    before = [Statement(public="record", record="sha256:a", scale=ONE)]
    new = Statement(public="record", record="sha256:b", scale=ONE, invariants=("kept loads of theory",))
    scores, fact = additional(new, before)
    assert "sha256:b" in scores
    assert "sha256:a" in scores
    assert "kept loads of theory" in fact
    (scale,) = additional(Statement(public="none", scale=TWO), before)
    assert "0 to 20" in scale
    assert "1 to 10" in scale


# A reference for attributes: who wrote a review, and the value of an attribute for each of three reviewers.
PEOPLE = [(wrote, values) for wrote in (0, 1) for values in itertools.product("abc", repeat=3)]
ASKED = [
    (values, others, sizes)
    for values, others in ((("a", "b"), False), (("a", "b", "c"), False), (("a",), True), (("c",), True))
    for sizes in (None, (1,) * len(values))
]


def agreed(question: tuple[tuple[str, ...], bool, tuple[int, ...] | None], values: tuple[str, ...]) -> tuple[bool, ...]:
    """The truth of what a release by an attribute declares, by its words."""
    named, others, sizes = question
    every = others or set(values) <= set(named)
    counted = (
        () if sizes is None else tuple(values.count(name) == size for name, size in zip(named, sizes, strict=True))
    )
    return (every, *(name in values for name in named), *counted)


@pytest.mark.promise("P-FACTS-3", by="exhaustion")
@pytest.mark.parametrize("first", [None, *ASKED], ids=str)
@pytest.mark.parametrize("second", ASKED, ids=str)
def test_facts_about_an_attribute_are_admitted_if_no_protected_pair_is_lost(
    first: tuple[tuple[str, ...], bool, tuple[int, ...] | None] | None,
    second: tuple[tuple[str, ...], bool, tuple[int, ...] | None],
) -> None:
    def stated(question: tuple[tuple[str, ...], bool, tuple[int, ...] | None] | None) -> Statement:
        if question is None:
            return Statement(public="all")
        named, others, sizes = question
        return Statement(public="all", invariants=attribute_facts("x", named, others=others, sizes=sizes))

    more = additional(stated(second), [stated(first)])
    # True worlds fit what both state. Before the first facts about it, an attribute is no part of what is promised.
    fitting = [
        world for world in PEOPLE if all(agreed(second, world[1])) and (not first or all(agreed(first, world[1])))
    ]
    lost = [
        (one, other)
        for one in fitting
        for other in PEOPLE
        if (one[1] == other[1] if first is None else agreed(first, one[1]) == agreed(first, other[1]))
        and agreed(second, one[1]) != agreed(second, other[1])
    ]
    assert more or not lost
    assert not (more and first in (None, second))


@pytest.mark.promise("P-FACTS-3")
def test_the_first_facts_about_an_attribute_are_admitted_and_remembered() -> None:
    whole = Statement(public="all", invariants=attribute_facts("x", ("a", "b"), others=False))
    assert additional(whole, [Statement(public="all")]) == ()
    assert unheard(whole, [Statement(public="all")])
    assert not unheard(whole, [whole])
    other = Statement(public="all", invariants=attribute_facts("y", ("a", "b"), others=False))
    assert additional(other, [whole]) == ()


def test_facts_about_long_names_are_short_and_different() -> None:
    long = ["\\" * 199 + end for end in "ab"]
    facts = {fact for name in long for fact in attribute_facts(name, long, others=False, sizes=(1, 2))}
    assert len(facts) == 10
    assert Statement(public="all", invariants=tuple(facts))
