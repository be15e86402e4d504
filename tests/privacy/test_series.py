"""What the releases of several conferences reveal about a person who reviews for them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import peerveil as pv
from marks import slow
from peerveil.mechanisms import OwnMechanism
from peerveil.privacy.budget import Budget, Spend
from peerveil.privacy.guarantee import Guarantee
from peerveil.privacy.neighbours import Neighbours
from peerveil.privacy.series_claims import SeriesClaim
from peerveil.private.ledger import Ledger
from peerveil.private.ledger.series import Cost, Member, Series
from peerveil.private.release import Ready, prepare_release
from peerveil.record.committees import Committee
from reference.neighbours import exchanged
from reference.theta import Assignment, assignments

#: Two conferences: the scores of each paper, and who reviews for it. Two people review for both.
ROWS = {"first": [[0.0, 1.0], [0.0, 0.5], [0.25, 1.0]], "second": [[0.0, 1.0], [0.0, 0.75], [0.5, 1.0]]}
PEOPLE = {"first": ("ann", "bob", "cem"), "second": ("ann", "bob", "dan")}
ALL = pv.Statement(public="all")


def ready(name: str, assignment: Assignment, mechanism: OwnMechanism) -> Ready:
    """A conference with one of its assignments, as the program would release it."""
    places = [(p, k) for p, row in enumerate(ROWS[name]) for k in range(len(row))]
    reviews = pv.Reviews.from_columns(
        [f"p{p}" for p, _ in places],
        [PEOPLE[name][assignment[p][k]] for p, k in places],
        [ROWS[name][p][k] for p, k in places],
    )
    return prepare_release(reviews, public="all", quantity="ratings", mechanism=mechanism, unit="reviewer")


@cache
def released(name: str, mechanism: OwnMechanism) -> list[tuple[Assignment, Ready]]:
    listed = assignments(ROWS[name], [2, 2, 2])
    return [(one, ready(name, one, mechanism)) for one in listed]


def loss(one: Ready, other: Ready) -> Fraction:
    """The exact loss between two assignments: of Laplace noise, discrete or not, the distance divided by the scale."""
    here, there = (np.asarray(each.protected().truth) for each in (one, other))
    settled = one.noise.settled
    assert settled is not None
    distance = sum(
        (abs(Fraction(float(a)) - Fraction(float(b))) for a, b in zip(here, there, strict=True)), Fraction(0)
    )
    return distance / Fraction(float(settled.law.scale))  # type: ignore[attr-defined]


def worst(name: str, mechanism: OwnMechanism, person: str) -> Fraction:
    """The largest loss between two assignments that differ by exchanges of a person's reviews, by all pairs."""
    if person not in PEOPLE[name]:
        return Fraction(0)
    j = PEOPLE[name].index(person)
    pairs = combinations(released(name, mechanism), 2)
    return max(loss(one, other) for (here, one), (there, other) in pairs if exchanged(here, there, j))


@pytest.mark.promise("P-SERIES-1", by="exhaustion")
@pytest.mark.parametrize(
    "mechanisms",
    [
        slow((pv.Histogram(epsilon=0.75, bins=8), pv.Histogram(epsilon=0.5, bins=8))),
        (pv.Histogram(epsilon=0.75, bins=8), pv.Laplace(epsilon=0.5)),
        slow((pv.Laplace(epsilon=0.25), pv.Laplace(epsilon=0.5))),
    ],
    ids=["counts", "counts and means", "means"],
)
def test_the_claims_of_two_conferences_add_up_for_those_in_both_and_no_further(
    mechanisms: tuple[OwnMechanism, OwnMechanism], tmp_path: Path
) -> None:
    """All pairs of worlds that differ in one person's reviews, in one conference or both."""
    used = dict(zip(ROWS, mechanisms, strict=True))
    ledger = Ledger.create(str(tmp_path / "ledger.db"))
    ledger.open_series("conf", epsilon=1.25)
    for name, mechanism in used.items():
        ledger.open(name, epsilon=1.0)
        ledger.join("conf", name, Committee.of(PEOPLE[name]))
        made = released(name, mechanism)[0][1]
        ledger.charge(
            name, made.claim_for, quantity="ratings", unit="reviewer", mechanism=made.noise.mechanism, statement=ALL
        )
    (series,) = ledger.series("conf")
    costs = {name: float(mechanism.epsilon) for name, mechanism in used.items()}  # type: ignore[attr-defined]
    assert series.spent == pytest.approx(sum(costs.values()))
    found = {}
    for person in ("ann", "bob", "cem", "dan"):
        # The joint loss is over all pairs of pairs: one pair of assignments of each conference, noise drawn apart.
        joint = [worst(name, used[name], person) for name in ROWS]
        found[person] = float(sum(joint))
        claim = sum(costs[name] for name in ROWS if person in PEOPLE[name])
        assert found[person] <= claim * (1 + 1e-9)
        assert found[person] <= series.spent * (1 + 1e-9)
    assert max(found.values()) > 0.99 * series.spent  # attained by those in both
    assert max(found["cem"], found["dan"]) <= max(costs.values())
    # A series that counted only the larger of the two would promise too much.
    assert max(found.values()) > max(costs.values()) * 1.2


# Theorem C7.
@pytest.mark.promise("P-SERIES-1", by="exhaustion")
@pytest.mark.slow
def test_the_joint_loss_over_all_pairs_of_worlds_is_the_sum() -> None:
    """Literally: every pair of worlds, not conference by conference, on a part of the assignments."""
    mechanisms = {"first": pv.Histogram(epsilon=0.75, bins=8), "second": pv.Laplace(epsilon=0.5)}
    some = {name: released(name, mechanism)[:12] for name, mechanism in mechanisms.items()}
    worlds = list(product(some["first"], some["second"]))
    most = Fraction(0)
    for one, other in combinations(worlds, 2):
        for person in ("ann", "bob", "cem", "dan"):
            same = [here is there for here, there in zip(one, other, strict=True)]
            about = [
                same[at] or (person in PEOPLE[name] and exchanged(one[at][0], other[at][0], PEOPLE[name].index(person)))
                for at, name in enumerate(ROWS)
            ]
            if all(about):
                most = max(most, sum((loss(a, b) for (_, a), (_, b) in zip(one, other, strict=True)), Fraction(0)))
    assert float(most) <= 1.25 * (1 + 1e-9)
    assert float(most) > 1


LISTS = st.dictionaries(
    st.sampled_from("abcd"), st.one_of(st.none(), st.frozensets(st.sampled_from("pqrst"), min_size=1)), min_size=1
)


def series_of(lists: dict[str, frozenset[str] | None], spends: Sequence[tuple[str, Spend]], budget: Budget) -> Series:
    members = [Member(name, at, people) for at, (name, people) in enumerate(lists.items(), 1)]
    costs = [Cost(name, 10 + at, f"release {at}", spend, True) for at, (name, spend) in enumerate(spends)]
    return Series(name="s", budget=budget, members=tuple(members), costs=tuple(costs))


def pure(epsilon: float) -> Spend:
    return Spend.of(Guarantee(kind="pure", unit="reviewer", epsilon=epsilon))


@pytest.mark.promise("P-SERIES-6")
@given(LISTS, st.data())
@settings(max_examples=25)
def test_a_series_has_spent_what_the_person_who_paid_most_has(
    lists: dict[str, frozenset[str] | None], data: st.DataObject
) -> None:
    """The slow reference: person by person, charge by charge; also a person on no list."""
    some = st.lists(st.tuples(st.sampled_from(sorted(lists)), st.integers(1, 8)), max_size=6)
    charges = data.draw(some)
    series = series_of(lists, [(name, pure(k / 8)) for name, k in charges], Budget.of(epsilon=100.0))

    def paid(person: str) -> float:
        return sum(k / 8 for name, k in charges if lists[name] is None or person in (lists[name] or ()))

    everybody = [*"pqrst", "nobody"]
    assert series.spent == max(map(paid, everybody))
    for name, people in lists.items():
        there = [person for person in everybody if people is None or person in people]
        assert series.quote(name, pure(1.0)).left == 100 - max(map(paid, there))


@pytest.mark.promise("P-SERIES-1")
@given(LISTS, st.integers(1, 12))
@settings(max_examples=8, deadline=None)
def test_no_adaptive_choice_of_releases_costs_a_person_more_than_the_limit(
    lists: dict[str, frozenset[str] | None], limit: int
) -> None:
    """Every course of releases that the rule admits; of pure releases, the loss on a course is the sum of its costs."""
    budget = Budget.of(epsilon=limit / 4)
    names, prices = sorted(lists), (1, 3)
    courses: set[tuple[tuple[str, int], ...]] = set()
    todo: list[tuple[tuple[str, int], ...]] = [()]
    most = 0.0
    while todo and len(courses) < 150:
        course = todo.pop()
        key = tuple(sorted(course))
        if key in courses:
            continue
        courses.add(key)
        series = series_of(lists, [(name, pure(k / 4)) for name, k in course], budget)
        for person in [*"pqrst", "nobody"]:
            loss = sum(k / 4 for name, k in course if lists[name] is None or person in (lists[name] or ()))
            assert loss <= budget.epsilon * (1 + 1e-9)
            most = max(most, loss)
        for name, k in product(names, prices):
            try:
                series.check(name, pure(k / 4))
            except pv.BudgetError:
                continue
            todo.append((*course, (name, k)))
    assert most == budget.epsilon  # it can be used up


# Theorem C8.
@pytest.mark.promise("P-SERIES-5")
def test_the_order_in_which_conferences_join_decides_nothing() -> None:
    """A budget at delta adds squares of mu if its first release has normal noise; a series does not.

    Otherwise the rule could be chosen, by joining, when results are known.
    """
    budget = Budget.of(epsilon=1.0, delta=1e-6)
    normal = Spend.of(Guarantee(kind="gdp", unit="reviewer", rho=0.028))
    assert budget.adds_mu([normal])
    assert budget.total([normal]) < 1
    lists: dict[str, frozenset[str] | None] = {"a": None, "b": None}
    with pytest.raises(pv.BudgetError, match="the series 's'"):
        series_of(lists, [], budget).check("a", normal)
    small = [Spend.of(Guarantee(kind="gdp", unit="reviewer", rho=0.01)), pure(0.125), pure(0.0625)]
    series = [
        series_of(lists, [], budget).joined_by(Member("c", 9, None), costs_of(order)) for order in permutations(small)
    ]
    assert len({one.spent for one in series}) == 1
    assert series[0].spent > budget.total(small[:1])


def costs_of(spends: Sequence[Spend]) -> list[Cost]:
    return [Cost("c", at, f"release {at}", spend.in_any_order, True) for at, spend in enumerate(spends)]


def claim(**limit: float) -> SeriesClaim:
    budget = Budget.of(**limit)
    return SeriesClaim(name="Conf", guarantee=budget.claim("person", Neighbours(lists=True)))


@pytest.mark.parametrize(
    "limit", [{"epsilon": 5.0}, {"epsilon": 5.0, "delta": 1e-6}, {"rho": 1.0}, {"rho": 1.0, "omega": 9.0}]
)
def test_claims_of_series_are_stated_and_read_again(limit: dict[str, float]) -> None:
    stated = claim(**limit)
    document = json.loads(json.dumps(stated.to_document()))
    assert SeriesClaim.from_document(document) == stated
    for name, other in (("epsilon", 0.5), ("human", "nothing"), ("promise", ""), ("lists", False)):
        with pytest.raises(pv.InputError):
            SeriesClaim.from_document(document | {name: other})


def test_the_words_for_a_person_are_no_stronger_than_the_promise() -> None:
    stated = claim(epsilon=3.0)
    assert "at most 96 % sure" in stated.guarantee.human
    assert math.exp(3) / (1 + math.exp(3)) <= 0.96
    assert "all releases of the series together" in stated.guarantee.human
    assert "one person's reviews" in stated.guarantee.promise
    assert "on whose list" in stated.guarantee.promise
    assert stated.standard["parameters"] == {"epsilon": 3.0, "delta": 0.0}
    assert "who reviews for which" in stated.guarantee.not_protected
    with pytest.raises(pv.InputError, match="for the unit person"):
        SeriesClaim(name="c", guarantee=Guarantee(kind="pure", unit="reviewer", epsilon=1.0))
    with pytest.raises(pv.InputError, match="unit must be 'reviewer' or 'review', got 'person'"):
        pv.release(None, public="all", epsilon=1.0, unit="person")  # type: ignore[call-overload]
