"""Releases of groups of papers: neighbours of small conferences are exhausted, and what all groups cost is added up."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import peerveil as pv
from marks import slow
from peerveil.mechanisms import OwnMechanism
from peerveil.privacy.guarantee import UNITS, Guarantee, Unit
from peerveil.privacy.joint_claims import Group, GroupClaim, compose_groups, group_claim, group_sensitivity, joint_claim
from peerveil.privacy.neighbours import Neighbours
from peerveil.privacy.sensitivity import Sensitivity, sensitivity
from peerveil.private.promises import promise_groups
from peerveil.private.tracks import prepare_groups
from peerveil.private.true_vector import true_vector
from peerveil.record.tracks import folder_names, papers_by_group, part_of, read_groups
from reference.neighbours import is_neighbour
from reference.theta import Assignment, assignments

Rows = list[list[float]]
EPSILONS = (Fraction(1), Fraction(1, 2), Fraction(1, 4))


def held(rows: Rows, assignment: Assignment, papers: Iterable[int]) -> list[list[Fraction]]:
    """The weights of each reviewer in some papers, of those who have any."""
    mine: dict[int, list[Fraction]] = {}
    for p in papers:
        for x, j in zip(rows[p], assignment[p], strict=True):
            mine.setdefault(j, []).append(Fraction(x))
    return list(mine.values())


def vector(rows: Rows, assignment: Assignment, papers: Iterable[int]) -> list[Fraction]:
    return sorted(sum(x, Fraction(0)) / len(x) for x in held(rows, assignment, papers))


def loads_in(rows: Rows, assignment: Assignment, papers: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(map(len, held(rows, assignment, papers))))


def apart(assignment: Assignment, groups: Sequence[Sequence[int]]) -> bool:
    """Whether no reviewer has reviews in two groups."""
    people = [{j for p in papers for j in assignment[p]} for papers in groups]
    return sum(map(len, people)) == len(set().union(*people))


def norms(one: list[Fraction], other: list[Fraction]) -> tuple[Fraction, Fraction, Fraction]:
    moves = [abs(x - y) for x, y in zip(one, other, strict=True)]
    return sum(moves, Fraction(0)), sum((m * m for m in moves), Fraction(0)), max(moves)


def check_counts(one: Sequence[Fraction], other: Sequence[Fraction], bound: Sensitivity) -> None:
    """Counts in the finest bins, one for each mean, move no further; in coarser bins less."""
    before, after = Counter(one), Counter(other)
    assert bound.counts is not None
    assert sum(abs(before[mean] - after[mean]) for mean in before | after) <= bound.counts


def check_bound(moved: tuple[Fraction, Fraction, Fraction], bound: Sensitivity) -> None:
    l1, l2, linf = moved
    assert l1 <= Fraction(bound.l1)
    assert l2 <= Fraction(bound.l2) ** 2
    assert linf <= Fraction(bound.linf)


def pairs_of(
    rows: Rows, loads: list[int], groups: Sequence[Sequence[int]], unit: str
) -> Iterator[tuple[Assignment, Assignment, list[tuple[int, ...]]]]:
    """All neighbours that give every group the same multiset of loads, and that one."""
    by_record: dict[tuple[tuple[int, ...], ...], list[Assignment]] = {}
    for assignment in assignments(rows, loads):
        key = tuple(loads_in(rows, assignment, papers) for papers in groups)
        by_record.setdefault(key, []).append(assignment)
    for key, listed in by_record.items():
        for place, one in enumerate(listed):
            for other in listed[:place]:
                if is_neighbour(one, other, unit):
                    yield one, other, list(key)


SMALL_CONFERENCES: list[tuple[Rows, list[int], list[list[int]]]] = [
    ([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]], [2, 2, 2], [[0, 1], [2]]),
    ([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [2, 2, 1, 1], [[0], [1], [2]]),
    ([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, 1.0]], [3, 3, 2], [[0, 1], [2, 3]]),
    ([[0.0, 1.0], [0.0, 1.0], [0.5, 1.0]], [2, 2, 1, 1], [[0, 1], [2]]),
    ([[0.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0]], [2, 2, 2, 1], [[0, 1], [2]]),
    ([[0.0, 1.0], [0.0, 1.0]], [1, 1, 1, 1], [[0], [1]]),
]


# Theorem S14 and Theorem S15.
@pytest.mark.promise("P-TRACKS-5", by="exhaustion")
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(("rows", "loads", "groups"), SMALL_CONFERENCES)
def test_exhaustively_with_load_counts(rows: Rows, loads: list[int], groups: list[list[int]], unit: Unit) -> None:
    """No neighbours exceed a group's bound, nor do all groups together exceed what is charged."""
    claims = [Guarantee(kind="pure", unit=unit, epsilon=float(e)) for e in EPSILONS[: len(groups)]]
    charged = {shared: Fraction(compose_groups(claims, shared=shared).epsilon or 0.0) for shared in (True, False)}
    bounds: dict[tuple[int, tuple[int, ...], bool], Sensitivity] = {}

    def bound_of(g: int, key: tuple[int, ...], *, shared: bool) -> Sensitivity:
        if (g, key, shared) not in bounds:
            part = [rows[p] for p in groups[g]]
            weights = pv.PublicWeights.from_rows(part, loads={size: key.count(size) for size in set(key)})
            bounds[g, key, shared] = (group_sensitivity if shared else sensitivity)(weights, unit)
        return bounds[g, key, shared]

    seen = 0
    for one, other, keys in pairs_of(rows, loads, groups, unit):
        seen += 1
        pairs = [(vector(rows, one, papers), vector(rows, other, papers)) for papers in groups]
        moved = [norms(*pair) for pair in pairs]
        for shared in (True, False):
            if not shared and not (apart(one, groups) and apart(other, groups)):
                continue
            loss = Fraction(0)
            for g, key in enumerate(keys):
                bound = bound_of(g, key, shared=shared)
                check_bound(moved[g], bound)
                check_counts(*pairs[g], bound)
                if bound:
                    loss += EPSILONS[g] * moved[g][0] / Fraction(bound.l1)
            assert loss <= charged[shared]
    assert seen or unit == "review"


@pytest.mark.promise("P-TRACKS-5")
def test_the_sum_is_attained_where_reviewers_are_shared() -> None:
    """One reviewer of zeros exchanges a zero for a one in two groups at once: each loses all that it claims."""
    rows: Rows = [[0.0, 1.0]] * 8
    before: Assignment = ((0, 2), (0, 2), (3, 1), (3, 1)) * 2
    after: Assignment = ((1, 2), (0, 2), (3, 0), (3, 1)) * 2
    assert is_neighbour(before, after, "reviewer")
    for papers in (range(4), range(4, 8)):
        bound = group_sensitivity(pv.PublicWeights.from_rows(rows[:4], load=2), "reviewer")
        l1, _, _ = norms(vector(rows, before, papers), vector(rows, after, papers))
        assert float(l1) == pytest.approx(bound.l1, rel=1e-12)


def random_conference(random: Random) -> tuple[Rows, Assignment, list[list[int]]]:
    """Papers in two groups, given out at random, with scores at the ends of the scale more often than between."""
    papers, people = random.randint(2, 9), random.randint(2, 7)
    rows, assignment = [], []
    for _ in range(papers):
        size = random.randint(1, min(4, people))
        rows.append([random.choice([0.0, 0.0, 1.0, 1.0, 0.5]) for _ in range(size)])
        assignment.append(tuple(random.sample(range(people), size)))
    cut = random.randint(1, papers - 1)
    return rows, tuple(assignment), [list(range(cut)), list(range(cut, papers))]


def random_neighbour(random: Random, assignment: Assignment, unit: str) -> tuple[Assignment, list[tuple[int, int]]]:
    """One reviewer's reviews, or one, exchanged one for one with others'; and which reviews changed hands."""
    places = [(p, k) for p, row in enumerate(assignment) for k in range(len(row))]
    z = random.choice([assignment[p][k] for p, k in places])
    mine = [place for place in places if assignment[place[0]][place[1]] == z]
    others = [place for place in places if assignment[place[0]][place[1]] != z]
    count = 1 if unit == "review" else random.randint(1, min(len(mine), len(others)) or 1)
    given, taken = random.sample(mine, min(count, len(mine))), random.sample(others, min(count, len(others)))
    changed = [list(row) for row in assignment]
    concerned = []
    for (p, k), (q, m) in zip(given, taken, strict=False):
        changed[p][k], changed[q][m] = changed[q][m], changed[p][k]
        concerned += [(p, k), (q, m)]
    return tuple(map(tuple, changed)), concerned


@pytest.mark.promise("P-TRACKS-5", by="sweep")
@pytest.mark.parametrize("quantity", ["ratings", "miscalibration"])
@pytest.mark.parametrize("hidden", [False, True])
@given(seed=st.integers(0, 2**32))
@settings(max_examples=150)
def test_at_random_with_ranges_of_loads_and_hidden_scores(seed: int, hidden: bool, quantity: str) -> None:
    random = Random(seed)
    rows, one, groups = random_conference(random)
    unit: Unit = random.choice(UNITS)
    other, concerned = random_neighbour(random, one, unit)
    if any(len(set(row)) < len(row) for row in other):
        return  # somebody would review a paper twice
    after = [list(row) for row in rows]
    if hidden:
        for p, k in concerned:
            after[p][k] = random.choice([0.0, 1.0])
    for papers in groups:
        loads = [loads_in(rows, assignment, papers) for assignment in (one, other)]
        if len(loads[0]) != len(loads[1]):
            return  # the number of a group's reviewers is public
        stated = {"loads": (min(map(min, loads)), max(map(max, loads))), "reviewers": len(loads[0])}
        if quantity == "miscalibration" and any(len(rows[p]) == 1 for p in papers):
            return
        shown = [[None if hidden else x for x in rows[p]] for p in papers]
        weights = pv.weigh(pv.PublicRecord.from_rows(shown, scale=(0, 1), **stated), quantity)  # type: ignore[arg-type]
        vectors = [
            vector(weighed(scores, quantity), assignment, papers)
            for scores, assignment in ((rows, one), (after, other))
        ]
        bound = group_sensitivity(weights, unit)
        l1, l2, linf = norms(*vectors)
        # Miscalibrations are rounded when they are computed; the bound has room for that.
        room = 1 + Fraction(2) ** -40
        check_bound((l1 / room, l2 / room, linf / room), bound)
        check_counts(vectors[0], vectors[1], bound)


def weighed(rows: Rows, quantity: str) -> Rows:
    if quantity == "ratings":
        return rows
    return [[x if len(row) == 1 else x - (sum(row) - x) / (len(row) - 1) for x in row] for row in rows]


def test_exchanges_across_groups_exceed_none_of_the_bounds_when_many_loads_change() -> None:
    """One reviewer's three zeros go to reviewers of two ones; in return, ones come from reviewers who then have two."""
    before = [[0, 0, 0], [1, 1], [1, 1], [1, 1], [1, 0, 0], [1, 0, 0], [1, 0, 0]]
    after = [[1, 1, 1], [1, 1, 0], [1, 1, 0], [1, 1, 0], [0, 0], [0, 0], [0, 0]]
    one, other = (sorted(Fraction(sum(x), len(x)) for x in state) for state in (before, after))
    rows = [[float(x)] for state in before for x in state]
    weights = pv.PublicWeights.from_rows(rows, loads={2: 3, 3: 4})
    check_bound(norms(one, other), group_sensitivity(weights, "reviewer"))
    check_counts(one, other, group_sensitivity(weights, "reviewer"))


class TestComposition:
    def test_pure(self) -> None:
        def total(unit: Unit, *, shared: bool) -> float | None:
            return compose_groups(
                [Guarantee(kind="pure", unit=unit, epsilon=e) for e in (1, 3, 2)], shared=shared
            ).epsilon

        assert total("reviewer", shared=True) == 6
        assert total("review", shared=True) == 5
        assert total("reviewer", shared=False) == total("review", shared=False) == 3

    def test_concentrated(self) -> None:
        normal = [Guarantee(kind="zcdp", unit="review", rho=r, delta=1e-5) for r in (0.1, 0.3, 0.2)]
        assert compose_groups(normal, shared=True).rho == pytest.approx(0.5)
        assert compose_groups(normal, shared=False).rho == 0.3
        assert compose_groups(normal, shared=False).delta == 1e-5
        sinh = [
            Guarantee(kind="tcdp", unit="review", rho=r, omega=o, float_safe=False) for r, o in ((0.1, 2.0), (0.3, 9.0))
        ]
        claim = compose_groups([*sinh, Guarantee(kind="zcdp", unit="review", rho=0.0)], shared=False)
        assert (claim.kind, claim.rho, claim.omega, claim.float_safe) == ("tcdp", 0.3, 2.0, False)

    def test_what_does_not_go_together_is_refused_and_what_cannot_be_ranked_is_added(self) -> None:
        mixed = [Guarantee(kind="pure", unit=unit, epsilon=1.0) for unit in UNITS]
        with pytest.raises(pv.InputError, match="one unit"):
            compose_groups(mixed, shared=False)
        with pytest.raises(pv.InputError, match="at least one"):
            compose_groups([], shared=False)
        plain = [Guarantee(kind="approximate", unit="review", epsilon=1.0, delta=1e-6)] * 3
        assert compose_groups(plain, shared=False).epsilon == 3.0


def pure(epsilon: float, unit: Unit = "reviewer") -> Guarantee:
    return Guarantee(kind="pure", unit=unit, epsilon=epsilon)


def dearest(scales: list[int], moved: list[int], largest: int) -> Fraction:
    """The most that means can cost together, by trying every number of means that move in each group.

    In a group that is touched the reviewer moves, and with the reviewer some partners; a partner moves in two groups.
    """
    best = Fraction(0)
    for others in product(*(range(most + 1) for most in moved)):  # none: the group is not touched; else 1 + partners
        touched = [count for count in others if count]
        if len(touched) <= 2 * largest and sum(touched) - len(touched) <= 2 * largest:
            best = max(best, sum((Fraction(2 * n, s) for n, s in zip(others, scales, strict=True)), Fraction(0)))
    return best


class TestJointClaim:
    @given(
        st.lists(st.tuples(st.integers(1, 9), st.integers(0, 4)), min_size=1, max_size=5),
        st.integers(1, 3),
    )
    @settings(max_examples=150)
    def test_histograms_against_trying_everything(self, groups: list[tuple[int, int]], largest: int) -> None:
        claims = [
            GroupClaim(claim=pure(2 * moved / scale * (1 + 2.0**-50)), scale=scale if moved else None, moved=moved)
            for scale, moved in groups
        ]
        found = joint_claim(claims, shared=True, largest_load=largest).epsilon
        expected = dearest([scale for scale, _ in groups], [moved for _, moved in groups], largest)
        assert Fraction(repr(found or 0.0)) >= expected  # as its digits state it
        if sum(moved > 0 for _, moved in groups) <= 2 * largest:
            assert found == pytest.approx(float(expected), rel=1e-12)
        assert joint_claim(claims, shared=True, largest_load=None).epsilon == pytest.approx(
            sum(2 * moved / scale for scale, moved in groups)
        )

    def test_the_bound_is_for_counts_and_whole_reviewers_only(self) -> None:
        counted = [GroupClaim(claim=pure(1.0), scale=10.0, moved=5)] * 10
        assert joint_claim(counted, shared=True, largest_load=4).epsilon == pytest.approx(3.2)
        assert joint_claim(counted, shared=False, largest_load=None).epsilon == 1.0
        third = GroupClaim(claim=pure(1.0), scale=10.0)
        assert joint_claim([*counted, third], shared=True, largest_load=4).epsilon == 11.0
        assert joint_claim([*counted, third], shared=False, largest_load=None).epsilon == 2.0
        review = [GroupClaim(claim=pure(0.4, "review"), scale=10.0, moved=2)] * 10
        assert joint_claim(review, shared=True, largest_load=4).epsilon == 0.8

    @pytest.mark.parametrize(
        ("claim", "numbers", "match"),
        [
            (pure(1.0), {"scale": 10.0, "moved": 4}, "pays for"),
            (pure(1.0), {"moved": 0}, "pays for"),
            (pure(1.0), {"moved": 3}, "no noise on counts"),
            (pure(1.0), {"scale": 0.0}, "finite number > 0"),
            (pure(1.0), {"scale": 10**400}, "too large"),
            (Guarantee(kind="gdp", unit="review", rho=0.1), {"scale": 1.0}, "pure"),
            (Guarantee(kind="gdp", unit="review", rho=0.1, epsilon=9.0), {}, "comes to"),
            (Guarantee(kind="stated", statement="By the chairs."), {}, "words"),
        ],
    )
    def test_a_claim_has_the_numbers_that_belong_to_it(
        self, claim: Guarantee, numbers: dict[str, Any], match: str
    ) -> None:
        with pytest.raises(pv.InputError, match=match):
            GroupClaim(claim=claim, **numbers)

    def test_claims_of_all_groups_belong_together(self) -> None:
        one, other = GroupClaim(claim=pure(1.0)), GroupClaim(claim=pure(1.0, "review"))
        total = pure(2.0)
        for claims in ((one,), (one, other), ()):
            with pytest.raises(pv.InputError):
                Group(name="a", groups=2, shared=True, claims=claims, together=total)
        with pytest.raises(pv.InputError):
            Group(name="a", groups=2, shared=True, claims=(one, one))

    def test_two_who_change_groups_may_cost_both_where_hidden_scores_move_third_parties(self) -> None:
        """Ann and cem exchange all they have, and two hidden scores change: two means move in both groups."""
        tracks = {"p": "theory", "q": "systems"}
        worlds = [
            pv.Reviews.from_columns(list("ppqq"), people, scores, scale=(0, 1))
            for people, scores in (
                (["ann", "bob", "cem", "dan"], [0.0, 0.0, 0.0, 0.0]),
                (["cem", "bob", "ann", "dan"], [1.0, 0.0, 1.0, 0.0]),
            )
        ]
        ready = prepare_groups(
            worlds[0],
            tracks,
            public="none",
            quantity="miscalibration",
            mechanism=pv.Histogram(scale=8.0),
            unit="reviewer",
            shared=False,
        )
        moved = 0
        for paper in tracks:
            one, other = (Counter(true_vector(world.only([paper]), "miscalibration").tolist()) for world in worlds)
            moved += sum(abs(one[mean] - other[mean]) for mean in one | other)
        each = [one.claim_for("reviewer").epsilon for one in ready.ready.values()]
        assert moved / 8.0 > max(epsilon or 0.0 for epsilon in each)
        assert ready.claim_for("reviewer").epsilon == pytest.approx(moved / 8.0)


PEOPLE = 24
PAPERS = [f"p{i:02d}" for i in range(PEOPLE)]
TRACKS = {paper: "theory" if i < PEOPLE // 2 else "systems" for i, paper in enumerate(PAPERS)}


def conference(*, shared: bool) -> pv.Reviews:
    """Three reviews a paper; reviewers in both tracks, or in one each."""
    rng = np.random.default_rng(7)
    papers, people = [], []
    for i, paper in enumerate(PAPERS):
        base = 0 if shared or TRACKS[paper] == "theory" else PEOPLE
        for k in range(3):
            papers.append(paper)
            people.append(f"person {base + (5 * i + 7 * k) % PEOPLE}")
    return pv.Reviews.from_columns(papers, people, rng.integers(1, 11, len(papers)).astype(float), scale=(1, 10))


@pytest.fixture
def ledger(tmp_path: Path) -> str:
    place = str(tmp_path / "ledger.db")
    for unit in UNITS:
        pv.Ledger.create(place).open("conf", unit, epsilon=100.0)
    return place


class TestReleases:
    @pytest.mark.parametrize("public", ["all", slow("none"), slow("record")])
    def test_one_each_and_all_are_verified(self, public: str, tmp_path: Path) -> None:
        reviews = conference(shared=True)
        shown = reviews.public("all")
        visible = shown if public == "record" else public
        made = pv.release_groups(reviews, TRACKS, public=visible, mechanism=pv.Laplace(epsilon=1.0))
        related = Neighbours(hidden=public == "none", part=True, declared=True)
        assert made.guarantee == Guarantee(kind="pure", unit="reviewer", epsilon=2.0, neighbours=related)
        for name, release in made.releases.items():
            assert release.group is not None
            assert (release.group.name, release.group.groups, release.group.shared) == (name, 2, True)
            assert release.group.together == made.guarantee
            assert [one.claim for one in release.group.claims] == [r.guarantee for r in made.releases.values()]
            assert "together, epsilon = 2 per reviewer" in release.notes[-1]
            papers = [paper for paper in PAPERS if TRACKS[paper] == name]
            part = reviews.only(papers)
            record = (
                part_of(shown, papers, part=release.part, reviewers=part.reviewers, loads=(1, shown.loads.largest))
                if public == "record"
                else part.public(public, declare_kept=True)
            )
            found = pv.verify(release.save(tmp_path / name, report=public == "all"), pv.weigh(record))
            assert found, found.checks
            assert pv.verify(pv.refine(release, pv.weigh(record), region="baseline"), pv.weigh(record))
            again = pv.Release.load(tmp_path / name)
            assert again.group == release.group
            assert again.to_json() == release.to_json()

    @pytest.mark.promise("P-TRACKS-1")
    @pytest.mark.parametrize("unit", UNITS)
    @pytest.mark.parametrize("shared", [True, False])
    def test_the_ledger_is_charged_once_for_all(self, unit: Unit, shared: bool, ledger: str) -> None:
        reviews = conference(shared=shared)
        made = pv.release_groups(
            reviews, TRACKS, public="all", mechanism=pv.Laplace(epsilon=0.5), unit=unit, shared=shared, ledger=ledger
        )
        accounts = {account.unit: account for account in pv.Ledger(ledger).accounts("conf")}
        assert accounts[unit].spent == pytest.approx(1.0 if shared else 0.5)
        assert made.guarantee.epsilon == pytest.approx(accounts[unit].spent)
        other = accounts["review" if unit == "reviewer" else "reviewer"]
        scales = [release.mechanism["scale"] for release in made.releases.values()]
        claims = []
        for (name, _), scale in zip(made.releases.items(), scales, strict=True):
            part = reviews.only([p for p in PAPERS if TRACKS[p] == name])
            weights = pv.weigh((part if shared else replace(part, whole=None)).public("all", declare_kept=shared))
            bound = sensitivity(weights, other.unit)
            claims.append(pv.Laplace(scale=scale).guarantee(bound, other.unit))
        assert other.spent == pytest.approx(compose_groups(claims, shared=shared).epsilon)
        (entry,) = [e for e in pv.Ledger(ledger).history("conf") if e.unit == unit]
        assert entry.quantity == "ratings in 2 groups"

    @pytest.mark.promise("P-TRACKS-1")
    def test_nothing_is_charged_or_drawn_if_a_group_cannot_be_released(self, ledger: str) -> None:
        reviews = conference(shared=True)
        with pytest.raises(pv.BudgetError):
            pv.release_groups(reviews, TRACKS, public="all", mechanism=pv.Laplace(epsilon=51.0), ledger=ledger)
        lonely = pv.Reviews.from_columns(["p", "p", "q"], ["ann", "bob", "ann"], [1, 2, 3])
        with pytest.raises(pv.InputError, match="group 'b': the file has one reviewer only"):
            pv.release_groups(
                lonely, {"p": "a", "q": "b"}, public="all", mechanism=pv.Laplace(epsilon=1.0), ledger=ledger
            )
        assert all(not account.spends for account in pv.Ledger(ledger).accounts())

    def test_a_declaration_is_about_one_division_of_the_papers(self, ledger: str) -> None:
        """Nobody is in two tracks, and nobody in two areas; both have the same names, and are other facts."""
        papers = [f"{place}{number}" for place in "1234" for number in range(6) for _ in range(2)]
        people = [f"{place}r{(number + k) % 6}" for place in "1234" for number in range(6) for k in range(2)]
        reviews = pv.Reviews.from_columns(papers, people, [float(k % 5) for k in range(len(papers))], scale=(0, 4))
        how: dict[str, Any] = {"public": "all", "mechanism": pv.Laplace(epsilon=1.0), "shared": False, "ledger": ledger}
        tracks = {paper: "ab"[paper[0] in "34"] for paper in papers}
        areas = {paper: "ab"[paper[0] in "24"] for paper in papers}
        with warnings.catch_warnings(action="ignore", category=pv.GroupWarning):  # some are small
            for division in (tracks, tracks):
                pv.release_groups(reviews, division, **how)
            promised = partial(promise_groups, dataset=None, quantity="ratings", unit="reviewer")
            for refused in (pv.release_groups, promised):
                with pytest.raises(pv.BudgetError, match=r"of the groups 'a', 'b' of the division \w+. is declared"):
                    refused(reviews, areas, **how)

    @pytest.mark.promise("P-TRACKS-2")
    def test_a_false_declaration_is_refused_without_naming_anyone(self) -> None:
        with pytest.raises(pv.RecordError, match="but some have") as caught:
            pv.release_groups(
                conference(shared=True), TRACKS, public="all", mechanism=pv.Laplace(epsilon=1.0), shared=False
            )
        assert "person" not in str(caught.value)

    @pytest.mark.promise("P-TRACKS-3")
    def test_forged_sharing_changes_the_claim(self, tmp_path: Path) -> None:
        """With loads that differ and are above one, noise for reviewers in one group each is too little for others."""
        rng = np.random.default_rng(1)
        papers, people = [], []
        for j in range(24):
            for k in range(2 + j % 2):
                papers.append(f"p{(5 * j + 3 * k) % 15:02d}")
                people.append(f"person {j}")
        reviews = pv.Reviews.from_columns(papers, people, rng.integers(1, 9, len(papers)).astype(float))
        tracks = dict.fromkeys(reviews.papers, "only")
        made = pv.release_groups(
            reviews, tracks, public="all", mechanism=pv.Laplace(epsilon=1.0), shared=False
        ).releases["only"]
        weights = pv.weigh(reviews.public("all"))
        assert pv.verify(made, weights)
        document = json.loads(made.to_json())
        document["group"]["shared_reviewers"] = True
        with pytest.raises(pv.FileError, match="claim is not what the numbers"):
            pv.Release.from_document(document)
        document["claim"]["invariants"].pop()  # that no reviewer is in two groups
        assert set(pv.verify(pv.Release.from_document(document), weights).failed) == {"digest", "guarantee", "groups"}
        document["group"] |= {"groups": 2, "claims": 2 * document["group"]["claims"]}
        assert {"guarantee", "groups"} < set(pv.verify(pv.Release.from_document(document), weights).failed)

    @pytest.mark.slow
    @pytest.mark.parametrize("public", ["all", "none"])
    def test_words_say_that_no_reviewer_is_in_two_groups(self, public: str) -> None:
        reviews = conference(shared=False)
        made = pv.release_groups(reviews, TRACKS, public=public, mechanism=pv.Laplace(epsilon=1.0), shared=False)
        fact = "have no reviewer with reviews in two groups of papers"
        assert fact in made.guarantee.promise
        for name, release in made.releases.items():
            assert fact in release.promise
            assert fact in release.human
            assert "no reviewer has reviews in two of the groups of papers" in release.not_protected
            part = replace(reviews.only([paper for paper in PAPERS if TRACKS[paper] == name]), whole=None)
            weights = pv.weigh(part.public(public))
            assert pv.verify(release, weights)
            silent = replace(
                release, guarantee=release.guarantee.about(replace(release.guarantee.neighbours, apart=False))
            )
            assert fact not in silent.promise + silent.human
            assert {"guarantee", "groups"} <= set(pv.verify(silent, weights).failed)

    @pytest.mark.filterwarnings("ignore::peerveil.private.tracks.GroupWarning")
    @pytest.mark.parametrize("shared", [True, False])
    def test_histograms_state_what_is_charged(self, shared: bool, ledger: str, tmp_path: Path) -> None:
        """Every release has the numbers of all; what follows from them is what the ledger is charged."""
        reviews = conference(shared=shared)
        tracks = {paper: f"{TRACKS[paper]} {i % 4}" for i, paper in enumerate(PAPERS)} if shared else TRACKS
        made = pv.release_groups(
            reviews, tracks, public="all", mechanism=pv.Histogram(epsilon=0.5), shared=shared, ledger=ledger
        )
        spent = next(a.spent for a in pv.Ledger(ledger).accounts("conf") if a.unit == "reviewer")
        count = len(set(tracks.values()))
        assert spent < 0.5 * count
        for number, release in enumerate(made.releases.values()):
            group = pv.Release.load(release.save(tmp_path / f"{number}", report=False)).group
            assert group is not None
            assert group.together is not None
            assert group.together.epsilon == pytest.approx(spent)
            assert len(group.claims) == count
            assert group.note == release.notes[-1]

    @pytest.mark.promise("P-TRACKS-4")
    def test_small_groups_are_warned_of(self) -> None:
        reviews = conference(shared=True)
        tracks = TRACKS | {PAPERS[0]: "tiny", PAPERS[1]: "tiny"}
        with pytest.warns(pv.GroupWarning, match=r"1 of 3 groups have fewer than 20 reviewers: 'tiny' \(\d\)"):
            pv.release_groups(reviews, tracks, public="all", mechanism=pv.Laplace(epsilon=1.0), estimator="projection")

    @pytest.mark.parametrize(
        "mechanism", [pv.Gaussian(rho=0.1), pv.SinhNormal(rho=0.5, omega=30.0)], ids=["gaussian", "sinh-normal"]
    )
    def test_other_mechanisms(self, mechanism: OwnMechanism) -> None:
        reviews = conference(shared=True)
        made = pv.release_groups(
            reviews, TRACKS, public="all", mechanism=mechanism, accept_float_noise=True, estimator="projection"
        )
        assert made.guarantee.rho == pytest.approx(0.2 if mechanism.name == "gaussian" else 1.0)


class TestReading:
    def test_groups_from_tables(self, tmp_path: Path) -> None:
        place = tmp_path / "tracks.csv"
        place.write_text("Submission ID,Track\n1,theory\n2,systems\n1,theory\n")
        assert read_groups(place) == {"1": "theory", "2": "systems"}
        place.write_text("paper,reviewer,track\n1,ann,theory\n2,bob,systems\nAverage,,\n")
        with pytest.warns(pv.FileWarning, match=r"line 4, a row of totals below the reviews, was left out"):
            assert read_groups(place) == {"1": "theory", "2": "systems"}
        place.write_text("pid,about\n1,theory\n")
        assert read_groups(place, paper="pid", group="about") == {"1": "theory"}
        place.write_text("paper,group\n1,theory\n1,systems\n")
        with pytest.raises(pv.FileError, match="line 3, column 'group': a paper is in two groups"):
            read_groups(place)

    def test_every_paper_needs_a_group(self) -> None:
        with pytest.raises(pv.RecordError, match="1 of 2 papers are in no group"):
            papers_by_group(["p", "q"], {"p": "a"})

    def test_names_and_folders(self) -> None:
        with pytest.raises(pv.InputError, match="several groups would get the folder"):
            folder_names(["a b", "A  b"])
        assert folder_names(["../../etc", "…"]) == {"../../etc": "etc", "…": "group"}
        with pytest.raises(pv.InputError, match="printable"):
            Group(name="two\nlines", groups=1, shared=True)
        with pytest.raises(pv.InputError, match="groups must be at least 1"):
            Group(name="a", groups=0, shared=True)

    def test_parts_of_reviews_and_records(self) -> None:
        reviews = conference(shared=True)
        papers = PAPERS[3:9]
        part, record = reviews.only(papers), reviews.public("all")
        assert part.papers == tuple(papers)
        for p, name in enumerate(papers):
            whole = record.papers.index(name)
            assert part.score[part.paper == p].tolist() == record.rows()[whole]
        same = part_of(record, papers, **part.loads().stated())
        assert same.rows() == part.public("all").rows()
        with pytest.raises(pv.RecordError, match="1 papers are not in the public record"):
            part_of(record, ["nowhere"], load=1)
        with pytest.raises(pv.RecordError, match="1 of 1 papers asked for"):
            reviews.only(["nowhere"])
        with pytest.raises(pv.RecordError, match="0 of 0"):
            reviews.only([])

    def test_who_holds_what_is_kept_in_a_part(self) -> None:
        reviews = pv.Reviews.from_columns(
            list("ppqqrr"), ["ann", "bob", "bob", "cem", "cem", "ann"], [3, 5, 4, 4, 8, 6]
        )
        part = reviews.only(["q", "r"])
        held_by = sorted(sorted(part.score[part.reviewer == j].tolist()) for j in range(part.reviewers))
        assert held_by == [[4.0], [4.0, 8.0], [6.0]]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert reviews.only(reviews.papers).loads() == reviews.loads()


def test_counts_with_other_noise_have_no_joint_claim() -> None:
    weights = pv.PublicWeights.from_rows([[0, 1]] * 5, loads={2: 2, 3: 2})
    claim = pv.Guarantee(kind="pure", unit="reviewer", epsilon=1.0)
    with pytest.raises(pv.InputError, match="only counts with Laplace noise can be released by groups"):
        group_claim(claim, weights, counted=True, scale=None)
