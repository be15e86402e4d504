"""Joint claims about groups of reviewers in several tracks: all neighbours of small conferences, and random ones."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest

import peerveil as pv
from peerveil.errors import InputError
from peerveil.privacy.guarantee import UNITS, Unit
from peerveil.privacy.joint_claims import GroupClaim, SumCosts, joint_claim, joint_sums_epsilon
from peerveil.private.columns import Attributes
from peerveil.private.crosstabs import prepare_crosstab
from peerveil.private.effects import prepare_effect
from peerveil.private.grouped.tracks import ReadyTracks, prepare_tracks
from peerveil.record.public_record import Floats
from privacy.test_group_sums import Scores, State, neighbours
from reference.theta import assignments

ARMS = ("a", "b")


@dataclass(frozen=True)
class Tracks:
    """All conferences of a small record whose papers are in tracks; ``others`` may be in neither group."""

    name: str
    scores: Scores
    loads: tuple[int, ...]
    tracks: tuple[int, ...]
    others: bool = False
    quantity: str = "ratings"
    public: str = "all"

    def states(self) -> list[State]:
        groups = list(product((1, 2, 3) if self.others else (1, 2), repeat=len(self.loads)))
        both = [group for group in groups if {1, 2} <= set(group)]
        return [State(held, self.scores, group) for held in assignments(self.scores, self.loads) for group in both]

    def reviews(self, state: State) -> pv.Reviews:
        columns = [
            (f"p{p}", f"r{j}", score)
            for p, (holders, row) in enumerate(zip(state.held, state.scores, strict=True))
            for j, score in zip(holders, row, strict=True)
        ]
        papers, people, scores = zip(*columns, strict=True)
        arms = tuple({1: "a", 2: "b", 3: "c"}[group] for group in state.groups)
        attributes = Attributes(names=("arm",), values=(arms,))
        return pv.Reviews.from_columns(papers, people, scores, scale=(0, 1), attributes=attributes)

    def prepared(self, state: State, kind: str, unit: Unit) -> ReadyTracks[Any]:
        tracks = {f"p{p}": f"t{track}" for p, track in enumerate(self.tracks)}
        how: dict[str, Any] = {"by": "arm", "public": self.public, "quantity": self.quantity, "unit": unit}
        how |= {"others": self.others, "lone": "zero"}
        if kind == "effect":
            how |= {"compare": ARMS, "mechanism": pv.Laplace(epsilon=1.0), "limits": (0, 1)}
            return prepare_tracks(prepare_effect, self.reviews(state), tracks, **how)
        how |= {"values": ARMS, "mechanism": pv.Histogram(epsilon=1.0, bins=12)}
        return prepare_tracks(prepare_crosstab, self.reviews(state), tracks, **how)

    def kept(self, state: State) -> tuple[tuple[tuple[int, int], ...], ...]:
        """How many reviewers have which load in each track, which is declared public."""
        found = []
        for track in sorted(set(self.tracks)):
            held = [row for row, mine in zip(state.held, self.tracks, strict=True) if mine == track]
            loads = Counter(j for row in held for j in row)
            found.append(tuple(sorted(Counter(loads.values()).items())))
        return tuple(found)


def scaled(ready: ReadyTracks[Any]) -> Floats:
    """The true numbers of all tracks, in units of their noise's scale."""
    parts = [one.protected() for one in ready.ready.values()]
    return np.concatenate([part.truth / part.noise.settled.law.scale for part in parts if part.noise.settled])


CASES = [
    Tracks("two tracks", ((0, 1), (0, 1), (1, 0)), (2, 2, 2), (0, 0, 1)),
    Tracks("three tracks", ((0, 1), (0, 1), (1, 0)), (2, 2, 2), (0, 1, 2)),
    Tracks("loads differ", ((0, 1), (1,), (0.5, 0)), (3, 1, 1), (0, 1, 1)),
    Tracks("all of one for all of the other", ((1, 0), (1, 0)), (1, 1, 1, 1), (0, 1)),
    Tracks("others", ((0, 1), (0, 1)), (2, 1, 1), (0, 1), others=True),
]


# Theorem E8 and Theorem G3.
@pytest.mark.promise("P-EFFECT-5", by="exhaustion")
@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("kind", ["effect", "crosstab"])
@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_no_neighbour_moves_all_tracks_by_more_than_claimed(case: Tracks, kind: str, unit: Unit) -> None:
    states = case.states()[:700]
    ready = [case.prepared(state, kind, unit) for state in states]
    kept, rows = [case.kept(state) for state in states], [scaled(one) for one in ready]
    greatest = 0.0
    for i, one in enumerate(states):
        claim = ready[i].claim_for(unit).epsilon
        assert claim is not None
        for j in range(i + 1, len(states)):
            loss = float(np.abs(rows[j] - rows[i]).sum()) if kept[i] == kept[j] else 0.0
            if loss > greatest + 1e-9 and neighbours(one, states[j], unit):
                assert loss <= claim * (1 + 1e-9), (one, states[j])
                greatest = loss
    assert greatest > 0


def test_an_effect_in_two_tracks_may_cost_both_their_claims() -> None:
    """Somebody exchanges all reviews of a track for all of a reviewer's of the other: only the squares move less."""
    costs = SumCosts(exchange=0.25, exchanges=4)
    claim = pv.Guarantee(kind="pure", unit="reviewer", epsilon=1.0)
    two, ten = ([GroupClaim(claim=claim, sums=costs)] * number for number in (2, 10))
    assert joint_claim(two, shared=True, largest_load=4).epsilon == pytest.approx(2.0)
    assert joint_claim(ten, shared=True, largest_load=4).epsilon == pytest.approx(2.0)  # of 10.0
    with pytest.raises(InputError, match="not what its noise pays for"):
        GroupClaim(claim=claim, sums=SumCosts(exchange=0.2, exchanges=4))
    with pytest.raises(InputError, match="on sums or on counts, not on both"):
        GroupClaim(claim=claim, sums=SumCosts(exchange=0.25, exchanges=4), scale=1.0)


def test_the_joint_cost_is_that_of_the_worst_choice_of_tracks() -> None:
    """By trying all ways to spread exchanges, partners and the reviewer's own squares over tracks."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        costs = [
            SumCosts(exchange=rng.random(), exchanges=int(rng.integers(1, 4)), square=rng.random(), own=2)
            for _ in range(3)
        ]
        load, best = int(rng.integers(1, 4)), 0.0
        ranges = [range(each.exchanges + 1) for each in costs]
        ways = [way for way in product(*ranges) if sum(way) <= 2 * load]
        for way, partners in product(ways, ways):
            loss = sum(n * each.exchange for n, each in zip(way, costs, strict=True))
            loss += sum(n * each.square for n, each in zip(partners, costs, strict=True))
            best = max(best, loss)
        own = sorted((2 * each.square for each in costs), reverse=True)[: 2 * load]
        assert joint_sums_epsilon(costs, load) == pytest.approx(best + sum(own))


def random_pair(rng: np.random.Generator) -> tuple[Tracks, State, State]:
    """Two neighbouring conferences that have the same loads in every track."""
    papers, size, people = int(rng.integers(3, 7)), 2, int(rng.integers(4, 8))
    while True:
        held = tuple(tuple(rng.choice(people, size, replace=False).tolist()) for _ in range(papers))
        loads = np.bincount(np.array(held).ravel(), minlength=people)
        if (loads > 0).all():
            break
        papers += 1
    scores = tuple(tuple(rng.choice((0.0, 0.5, 1.0), size).tolist()) for _ in range(papers))
    case = Tracks("random", scores, tuple(loads.tolist()), tuple((rng.permutation(papers) % 2).tolist()))
    groups = rng.integers(1, 3, people)
    groups[:2] = (1, 2)
    one = State(held, scores, tuple(groups.tolist()))
    z = int(rng.integers(people))
    places = [(p, k) for p in range(papers) for k in range(size)]
    mine = [place for place in places if held[place[0]][place[1]] == z]
    theirs = [place for place in places if held[place[0]][place[1]] != z]
    after = [list(row) for row in held]
    given = [mine[i] for i in rng.permutation(len(mine))[: rng.integers(0, len(mine) + 1)]]
    for (p, k), i in zip(given, rng.permutation(len(theirs)), strict=False):
        q, m = theirs[i]
        after[p][k], after[q][m] = held[q][m], z
    if z > 1:
        groups[z] = rng.integers(1, 3)
    return case, one, State(tuple(map(tuple, after)), scores, tuple(groups.tolist()))


@pytest.mark.parametrize("seed", range(2))
def test_random_neighbours_stay_within_the_joint_claim(seed: int) -> None:
    rng, tried = np.random.default_rng([81, seed]), 0
    while tried < 12:
        case, one, other = random_pair(rng)
        if any(len(set(row)) < len(row) for row in other.held) or case.kept(one) != case.kept(other):
            continue
        if not neighbours(one, other, "reviewer"):
            continue
        tried += 1
        for kind in ("effect", "crosstab"):
            first, second = (case.prepared(state, kind, "reviewer") for state in (one, other))
            claim = first.claim_for("reviewer").epsilon
            assert claim is not None
            assert claim == second.claim_for("reviewer").epsilon
            assert np.abs(scaled(first) - scaled(second)).sum() <= claim * (1 + 1e-9)
