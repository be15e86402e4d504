"""Records that are parts of a conference: all neighbours of small whole conferences, seen through what was kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import peerveil as pv
from marks import slow
from peerveil.cli.options import option
from peerveil.privacy.guarantee import UNITS, Unit
from peerveil.privacy.joint_claims import joint_epsilon
from peerveil.privacy.sensitivity import Sensitivity, sensitivity
from peerveil.private.release import prepare_release
from peerveil.private.true_vector import true_vector
from peerveil.record.loads import Loads, declare_loads
from peerveil.record.parts import ABSENT, NO_CRITERION, LeftOut, Part
from reference.neighbours import neighbours_up_to_names
from reference.theta import Assignment, assignments

Rows = list[list[float]]
Place = tuple[int, int]  # a review: its paper, and which of its reviews


def reviews_of(rows: Rows, assignment: Assignment, absent: Iterable[Place] = ()) -> pv.Reviews:
    """A conference; absent reviews have no score."""
    gone = set(absent)
    columns = [
        (f"p{p}", f"r{j}", np.nan if (p, k) in gone else rows[p][k])
        for p, holders in enumerate(assignment)
        for k, j in enumerate(holders)
    ]
    papers, people, scores = zip(*columns, strict=True)
    return pv.Reviews.from_columns(papers, people, np.array(scores), scale=(0, 1), missing_score="absent")


def held(rows: Rows, assignment: Assignment, kept: set[Place]) -> dict[int, list[Fraction]]:
    """The kept weights of each reviewer who has any."""
    mine: dict[int, list[Fraction]] = {}
    for p, k in sorted(kept):
        mine.setdefault(assignment[p][k], []).append(Fraction(rows[p][k]))
    return mine


def means(rows: Rows, assignment: Assignment, kept: set[Place]) -> list[Fraction]:
    return sorted(sum(x, Fraction(0)) / len(x) for x in held(rows, assignment, kept).values())


def kept_loads(rows: Rows, assignment: Assignment, kept: set[Place]) -> tuple[int, ...]:
    return tuple(sorted(map(len, held(rows, assignment, kept).values())))


def counts_apart(one: Sequence[Fraction], other: Sequence[Fraction]) -> int:
    """How far counts are apart in the finest bins; in coarser ones they are nearer."""
    before = Counter(one)
    before.subtract(other)
    return sum(map(abs, before.values()))


def norms(one: Sequence[Fraction], other: Sequence[Fraction]) -> tuple[Fraction, Fraction, Fraction]:
    moves = [abs(x - y) for x, y in zip(one, other, strict=True)]
    return sum(moves, Fraction(0)), sum((m * m for m in moves), Fraction(0)), max(moves)


def check_vectors(one: Sequence[Fraction], other: Sequence[Fraction], bound: Sensitivity) -> None:
    l1, l2, linf = norms(one, other)
    assert l1 <= Fraction(bound.l1)
    assert l2 <= Fraction(bound.l2) ** 2
    assert linf <= Fraction(bound.linf)


def all_places(rows: Rows) -> set[Place]:
    return {(p, k) for p, row in enumerate(rows) for k in range(len(row))}


WHOLE: list[tuple[Rows, list[int]]] = [
    ([[0.0, 1.0], [0.0, 1.0], [0.5, 1.0]], [2, 2, 2]),
    ([[0.0, 1.0], [0.0, 1.0], [0.5, 1.0]], [3, 2, 1]),
    ([[0.0, 1.0], [0.0, 1.0], [0.0, 0.75]], [2, 2, 1, 1]),
    ([[0.0, 0.25, 1.0], [0.0, 0.5, 1.0], [1.0]], [2, 2, 2, 1]),
    ([[0.0, 1.0], [0.25, 1.0], [0.0, 0.75], [0.5, 1.0]], [3, 3, 2]),
    ([[0.0, 1.0], [0.25], [0.75], [0.5, 1.0]], [3, 2, 1]),
    ([[0.0, 0.5, 1.0], [0.25, 0.75, 1.0]], [1, 1, 2, 2]),
]


def ways_to_leave_out(rows: Rows) -> Iterator[set[Place]]:
    """Every choice of whole papers, and every choice of one or two single reviews."""
    everything = all_places(rows)
    for count in range(1, len(rows)):
        for gone in combinations(range(len(rows)), count):
            yield {(p, k) for p, k in everything if p not in gone}
    for count in (1, 2):
        for places in combinations(sorted(everything), count):
            yield everything - set(places)


Seen = tuple[tuple[Fraction, ...], tuple[int, ...]]  # the kept means, and the kept loads


def seen_pairs(
    rows: Rows, pairs: Sequence[tuple[Assignment, Assignment]], kept: set[Place]
) -> dict[tuple[Seen, Seen], Assignment]:
    """What of neighbours is seen in a part: each pair of means and loads once, with an assignment of the first."""
    views: dict[Assignment, Seen] = {}
    for assignment in {assignment for pair in pairs for assignment in pair}:
        views[assignment] = tuple(means(rows, assignment, kept)), kept_loads(rows, assignment, kept)
    return {(views[one], views[other]): one for one, other in pairs}


# Theorem S11 and Theorem S12.
@pytest.mark.promise("P-PARTS-1", by="exhaustion")
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(
    ("rows", "loads"), [*WHOLE[:4], *(pytest.param(*case, marks=pytest.mark.slow) for case in WHOLE[4:])]
)
def test_no_neighbours_of_whole_conferences_exceed_the_bounds_of_a_part(
    rows: Rows, loads: list[int], unit: Unit
) -> None:
    """With the number of kept reviewers following, open and declared; by counts and, where there is one, by vector."""
    pairs = list(neighbours_up_to_names(list(assignments(rows, loads)), loads, unit))
    assert pairs
    whole = declare_loads(sum(loads), loads={load: loads.count(load) for load in set(loads)})
    for kept in ways_to_leave_out(rows):
        gone = all_places(rows) - kept
        bounds: dict[tuple[int, ...] | None, tuple[pv.PublicWeights, Sensitivity]] = {}
        for ((before, loads_before), (after, loads_after)), one in seen_pairs(rows, pairs, kept).items():
            declared = loads_before if loads_before == loads_after else None
            for key in {None, declared} - bounds.keys():
                weights = pv.weigh(reviews_of(rows, one, gone).public("all", declare_kept=key is not None))
                bounds[key] = weights, sensitivity(weights, unit)
            weights, bound = bounds[None]
            assert weights.part is not None
            assert weights.part.whole == whole
            none = [(Fraction(-1),) * (len(loads) - len(side)) for side in (before, after)]
            assert counts_apart(before + none[0], after + none[1]) <= bound.counts  # type: ignore[operator]
            if not weights.open:
                assert len(before) == len(after) == weights.reviewers
                assert {*loads_before, *loads_after} <= set(weights.loads.sizes)
                check_vectors(before, after, bound)
            if declared is not None:
                weights, bound = bounds[declared]
                assert weights.part is not None
                assert weights.part.number == "declared"
                check_vectors(before, after, bound)
                assert counts_apart(before, after) <= bound.counts  # type: ignore[operator]


def hidden_worlds(rows: Rows, one: Assignment, other: Assignment) -> Iterator[Rows]:
    """The scores of the reviews that changed hands, at either end of the scale."""
    concerned = [(p, k) for p, row in enumerate(one) for k in range(len(row)) if one[p][k] != other[p][k]]
    for ends in product((0.0, 1.0), repeat=len(concerned)):
        after = [list(row) for row in rows]
        for (p, k), end in zip(concerned, ends, strict=True):
            after[p][k] = end
        yield after


def weighed(rows: Rows, quantity: str) -> list[list[Fraction]]:
    exact = [[Fraction(x) for x in row] for row in rows]
    if quantity == "ratings":
        return exact
    return [[x - (sum(row) - x) / (len(row) - 1) for x in row] for row in exact]


@pytest.mark.promise("P-CLAIM-2", by="exhaustion")
@pytest.mark.parametrize("quantity", ["ratings", "miscalibration"])
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(
    ("rows", "loads"),
    [
        ([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]], [2, 2, 2]),
        ([[0.0, 1.0], [0.0, 0.0], [1.0, 0.0]], [3, 2, 1]),
        ([[0.0, 1.0, 1.0], [0.0, 1.0, 0.0]], [2, 2, 1, 1]),
    ],
)
def test_hidden_scores_of_a_part(rows: Rows, loads: list[int], unit: Unit, quantity: str) -> None:
    """Papers left out, no score public: what was exchanged may have other scores, or one hidden score alone."""
    listed = list(assignments(rows, loads))
    pairs = list(neighbours_up_to_names(listed, loads, unit))
    pairs = pairs[:: max(1, len(pairs) // 60)]
    for gone in range(len(rows)):
        kept = {(p, k) for p, k in all_places(rows) if p != gone}
        papers = [f"p{p}" for p in range(len(rows)) if p != gone]

        def bound_of(one: Assignment, papers: list[str] = papers) -> tuple[pv.PublicWeights, Sensitivity]:
            weights = pv.weigh(reviews_of(rows, one).only(papers).public("none"), quantity)
            return weights, sensitivity(weights, unit)

        weights, bound = bound_of(listed[0])
        room = 1 + Fraction(2) ** -40
        worlds = [(one, other, after) for one, other in pairs for after in hidden_worlds(rows, one, other)]
        for one in listed[:3]:  # one hidden score alone
            for p, k in all_places(rows):
                for end in (0.0, 1.0):
                    after = [list(row) for row in rows]
                    after[p][k] = end
                    worlds.append((one, one, after))
        for one, other, after in worlds:
            before_means = means_of(weighed(rows, quantity), one, kept)
            after_means = means_of(weighed(after, quantity), other, kept)
            none = [[Fraction(-100)] * (len(loads) - len(side)) for side in (before_means, after_means)]
            assert counts_apart(before_means + none[0], after_means + none[1]) <= bound.counts  # type: ignore[operator]
            if not weights.open:
                l1, l2, linf = norms(before_means, after_means)
                assert l1 / room <= Fraction(bound.l1)
                assert l2 / room <= Fraction(bound.l2) ** 2
                assert linf / room <= Fraction(bound.linf)


def means_of(weights: list[list[Fraction]], assignment: Assignment, kept: set[Place]) -> list[Fraction]:
    mine: dict[int, list[Fraction]] = {}
    for p, k in sorted(kept):
        mine.setdefault(assignment[p][k], []).append(weights[p][k])
    return sorted(sum(x, Fraction(0)) / len(x) for x in mine.values())


def construction(b: int, largest: int, *, seed: int = 1) -> tuple[pv.Reviews, pv.Reviews, list[str], int]:
    """Two neighbouring conferences in which as many kept means move as ever can: ``1 + min(2b, L)``.

    z holds b kept reviews. In p exchanges a kept review goes for a kept one, in b - p a kept one to somebody who has
    b - 1, and in b - p a kept one comes from somebody who has b. Every review has a paper and a score of its own.
    """
    rng = Random(seed)
    p = max(0, 2 * b - largest)
    one_sided = b - p
    before: dict[str, list[tuple[str, float]]] = {}
    number = 0

    def review(*, kept: bool) -> tuple[str, float]:
        nonlocal number
        number += 1
        return f"{'kept' if kept else 'gone'}{number:04d}", rng.random()

    def some(count: int, *, kept: bool) -> list[tuple[str, float]]:
        return [review(kept=kept) for _ in range(count)]

    before["z"] = some(b, kept=True) + some(one_sided, kept=False)
    partners: list[tuple[str, int, int]] = []  # who, the place of z's review, the place of theirs
    for i in range(p):
        before[f"both{i}"] = some(b, kept=True)
        partners.append((f"both{i}", i, 0))
    for i in range(one_sided):
        before[f"gets{i}"] = some(1, kept=False) + some(b - 1, kept=True)
        partners.append((f"gets{i}", p + i, 0))
        before[f"gives{i}"] = some(b, kept=True)
        partners.append((f"gives{i}", b + i, 0))
    before["aside"] = some(1, kept=True) + some(1, kept=False)  # something is left out, whatever z does
    if largest > len(before["z"]):  # the largest load is somebody's who takes no part
        before["busy"] = some(b, kept=True) + some(largest - b, kept=False)
    after = {who: list(mine) for who, mine in before.items()}
    for who, mine, theirs in partners:
        after["z"][mine], after[who][theirs] = after[who][theirs], after["z"][mine]
    worlds = []
    for world in (before, after):
        rows = [(paper, who, score) for who, mine in world.items() for paper, score in mine]
        papers, people, scores = zip(*rows, strict=True)
        worlds.append(pv.Reviews.from_columns(papers, people, list(scores), scale=(0, 1)))
    kept = sorted(name for name in worlds[0].papers if name.startswith("kept"))
    return worlds[0], worlds[1], kept, 1 + len(partners)


# Theorem S11.
@pytest.mark.parametrize(("b", "largest"), [(2, 2), (2, 3), (2, 4), (3, 4), (3, 6), (4, 5), (4, 8), (4, 9)])
@pytest.mark.parametrize("declare", [False, True])
def test_the_bound_on_counts_is_attained(b: int, largest: int, declare: bool) -> None:
    one, other, kept, moved = construction(b, largest)
    assert moved == 1 + min(2 * b, largest)
    weights = pv.weigh(one.only(kept).public("all", declare_kept=declare))
    assert weights.part is not None
    bound = sensitivity(weights, "reviewer")
    vectors = [true_vector(world.only(kept), "ratings") for world in (one, other)]
    cells = Counter(vectors[0].tolist())
    cells.subtract(vectors[1].tolist())
    # The declared counts of kept loads are the same in both, or these were no neighbours.
    assert one.only(kept).loads() == other.only(kept).loads()
    real_b = weights.loads.largest
    uniform = declare and weights.loads.uniform
    expected = 1 + (b if uniform else min(2 * real_b, largest))
    assert bound.counts == 2 * expected
    assert sum(map(abs, cells.values())) <= bound.counts
    if real_b == b:  # without a declaration the largest kept load is only known to be at most the largest load
        assert sum(map(abs, cells.values())) == bound.counts


@pytest.mark.parametrize("b", [2, slow(3), slow(4)])
@pytest.mark.parametrize("way", ["only", "leave-out", "absent", "tracks", "auto"])
def test_the_construction_loses_no_more_than_epsilon(b: int, way: str) -> None:
    """Through each way to leave something out, at the noise that is really drawn."""
    one, other, kept, _ = construction(b, 2 * b)
    mechanism = pv.Auto(epsilon=1.0) if way == "auto" else pv.Histogram(epsilon=1.0, bins=4096)
    ready = [
        prepare_release(
            _reduced(world, kept, way),
            public="all",
            quantity="ratings",
            mechanism=mechanism,
            unit="reviewer",
            declare_kept=way == "tracks",
        )
        for world in (one, other)
    ]
    assert ready[0].noise == replace(ready[1].noise, _add=ready[0].noise._add)
    settled = ready[0].noise.mechanism
    assert isinstance(settled, pv.Histogram)
    vectors = [true_vector(_reduced(world, kept, way), "ratings") for world in (one, other)]
    cells = Counter(vectors[0].tolist())
    cells.subtract(vectors[1].tolist())
    apart = sum(map(abs, cells.values())) + abs(len(vectors[0]) - len(vectors[1]))
    assert apart == 2 * (1 + 2 * b)
    assert settled.scale is not None
    assert apart / settled.scale <= (ready[0].noise.guarantee.epsilon or 0.0) * (1 + 1e-12)


def _reduced(world: pv.Reviews, kept: list[str], way: str) -> pv.Reviews:
    """The kept part, by a way to leave the rest out."""
    if way in ("only", "tracks", "auto"):
        return world.only(kept)
    papers = [world.papers[p] for p in world.paper.tolist()]
    people = [f"r{j}" for j in world.reviewer.tolist()]
    gone = np.array([paper not in kept for paper in papers])
    if way == "absent":
        scores = np.where(gone, np.nan, world.score)
        return pv.Reviews.from_columns(papers, people, scores, scale=(0, 1), missing_score="absent")
    criteria = {"clarity": np.where(gone, np.nan, 1.0)}
    return pv.Reviews.from_columns(
        papers, people, world.score, scale=(0, 1), criteria=criteria, missing_criteria="leave-out"
    )


# Theorem S14.
@given(st.lists(st.floats(0.01, 1e6), min_size=1, max_size=9), st.integers(1, 6))
def test_the_joint_bound_is_stated_by_digits_that_are_not_less(scales: list[float], largest: int) -> None:
    moved = [1 + number % 4 for number in range(len(scales))]
    partners, loss = 2 * largest, Fraction(0)
    for rank, (scale, most) in enumerate(sorted(zip(scales, moved, strict=True))):
        others = min(most - 1, partners)
        partners -= others
        loss += Fraction(2 * others + (2 if rank < 2 * largest else 0)) / Fraction(scale)
    stated = repr(joint_epsilon(scales, moved, largest))
    assert loss <= Fraction(stated) <= loss * (1 + Fraction(1, 2**51))


# Theorem S14.
@pytest.mark.parametrize(("tracks", "largest"), [(2, 2), (2, 3), (3, 3), (3, 4), (4, 4)])
def test_tracks_together_attain_the_joint_bound(tracks: int, largest: int) -> None:
    """z exchanges, in a cycle, a review of each track for one of the next; each partner moves in two tracks."""
    rng = Random(tracks + 10 * largest)
    before = {"z": [(i % tracks, rng.random()) for i in range(largest)]}
    for i in range(largest):
        mine, theirs = i % tracks, (i + 1) % tracks
        before[f"partner{i}"] = [(theirs, rng.random()), (theirs, rng.random()), (mine, rng.random())]
    after = {who: list(held_reviews) for who, held_reviews in before.items()}
    for i in range(largest):
        after["z"][i], after[f"partner{i}"][0] = after[f"partner{i}"][0], after["z"][i]
    moved = []
    for t in range(tracks):
        sides = [[[x for track, x in mine if track == t] for mine in world.values()] for world in (before, after)]
        values = [Counter(sum(x) / len(x) for x in side if x) for side in sides]
        values[0].subtract(values[1])
        moved.append(sum(map(abs, values[0].values())))
    bound = 2 * (min(tracks, 2 * largest) + 2 * largest)
    limits = [count // 2 for count in moved]
    if largest % tracks == 0:  # else z is twice in some track, and leaves none of them
        assert sum(moved) == bound
    assert sum(moved) <= joint_epsilon([1.0] * tracks, limits, largest) + 1e-9 <= bound + 2e-9


@given(seed=st.integers(0, 2**32))
@settings(max_examples=150)
def test_tracks_together_at_random(seed: int) -> None:
    """However reviews are exchanged between tracks, no more means move than the joint bound allows."""
    random = Random(seed)
    tracks, people = random.randint(1, 6), random.randint(2, 7)
    before: dict[int, list[tuple[int, int]]] = {j: [] for j in range(people)}
    for number in range(random.randint(people, 20)):
        before[random.randrange(people)].append((random.randrange(tracks), number))
    z = random.randrange(people)
    others = [(j, k) for j in range(people) if j != z for k in range(len(before[j]))]
    count = random.randint(0, min(len(before[z]), len(others)))
    after = {j: list(mine) for j, mine in before.items()}
    for mine, (j, k) in zip(random.sample(range(len(before[z])), count), random.sample(others, count), strict=True):
        after[z][mine], after[j][k] = after[j][k], after[z][mine]
    largest = max(map(len, before.values()))
    moved = []
    for t in range(tracks):
        # A mean changes only if the set of reviews does: counted for weights in general position.
        sets = [
            Counter(frozenset(n for its, n in mine if its == t) for mine in world.values()) for world in (before, after)
        ]
        sets[0].subtract(sets[1])
        moved.append(sum(abs(times) for held_set, times in sets[0].items() if held_set))
    limits = [1 + min(2 * largest, largest)] * tracks
    assert sum(moved) <= joint_epsilon([1.0] * tracks, limits, largest) + 1e-9
    assert sum(moved) <= 2 * (min(tracks, 2 * largest) + 2 * largest)


# Theorem S13.
class TestWhatFollows:
    def test_few_papers_leave_everybody_a_review(self) -> None:
        part = Part(
            whole=declare_loads(12, load=3),
            left_out=(LeftOut(papers=2, reviews=2, why=ABSENT),),
            number="follows",
        )
        assert part.following(4) == declare_loads(10, loads=(1, 3), reviewers=4, papers=4)

    def test_one_paper_tells_how_many_have_one_less(self) -> None:
        part = Part(
            whole=declare_loads(12, load=3),
            left_out=(LeftOut(papers=1, reviews=2, why=NO_CRITERION),),
            number="follows",
        )
        assert part.following(4) == declare_loads(10, loads={3: 2, 2: 2})

    def test_otherwise_nothing_follows(self) -> None:
        gone = (LeftOut(papers=3, reviews=3, why=ABSENT),)
        assert Part(whole=declare_loads(12, load=3), left_out=gone, number="open").following(4) is None

    @given(
        st.lists(st.integers(1, 4), min_size=2, max_size=5),
        st.integers(0, 2**32),
        st.integers(1, 4),
    )
    @settings(max_examples=150)
    def test_what_follows_holds_for_every_assignment(self, loads: list[int], seed: int, gone: int) -> None:
        """Kept loads of random assignments are among those that are said to follow."""
        random = Random(seed)
        papers = max(loads) + random.randint(0, 3)
        rows = [(p, j) for j, load in enumerate(loads) for p in random.sample(range(papers), load)]
        used = sorted({p for p, _ in rows})
        out = set(random.sample(used, min(gone, len(used) - 1)))
        if not out:
            return
        kept = [(p, j) for p, j in rows if p not in out]
        whole = declare_loads(len(rows), loads=dict(Counter(loads)))
        left = LeftOut(papers=len(out), reviews=len(rows) - len(kept), why=NO_CRITERION)
        following = Part(whole=whole, left_out=(left,), number="follows").following(len({p for p, _ in kept}))
        if following is None:
            return
        own = Counter(j for _, j in kept)
        assert following.reviewers == len(own)
        assert set(own.values()) <= set(following.sizes)
        if following.counts is not None:
            assert dict(zip(following.sizes, following.counts, strict=True)) == dict(Counter(own.values()))


def conference(people: int = 60, papers: int = 60, seed: int = 3) -> pv.Reviews:
    rng = np.random.default_rng(seed)
    names, who = [], []
    for i in range(papers):
        for k in range(3):
            names.append(f"p{i:02d}")
            who.append(f"person {(7 * i + 11 * k) % people}")
    return pv.Reviews.from_columns(names, who, rng.integers(1, 11, len(names)).astype(float), scale=(1, 10))


class TestReleases:
    @pytest.mark.promise("P-PARTS-2")
    def test_an_open_part_is_released_by_a_histogram_that_counts_the_others(self) -> None:
        reviews = conference()
        part = reviews.only(reviews.papers[:30])
        made = pv.release(part, public="all", mechanism=pv.Histogram(epsilon=50.0))
        assert made.histogram is not None
        assert made.histogram.outside is not None
        assert abs(made.reviewers - part.reviewers) <= 5
        assert made.part is not None
        assert made.part.number == "open"
        assert made.part.whole == reviews.loads()

    @pytest.mark.promise("P-PARTS-3")
    @pytest.mark.parametrize("mechanism", [pv.Laplace(epsilon=1.0), pv.Gaussian(rho=0.5)])
    def test_noise_on_the_vector_needs_the_number(self, mechanism: pv.Laplace | pv.Gaussian) -> None:
        part = conference().only([f"p{i:02d}" for i in range(30)])
        with pytest.raises(pv.InputError, match="how many of the 60 reviewers have a kept review is not public"):
            pv.release(part, public="all", mechanism=mechanism)
        made = pv.release(part, public="all", mechanism=mechanism, declare_kept=True)
        assert made.reviewers == part.reviewers
        assert made.part is not None
        assert made.part.number == "declared"

    def test_few_blanks_need_no_declaration(self) -> None:
        whole = conference()
        scores = whole.score.copy()
        scores[[0, 40]] = np.nan
        papers, people = [whole.papers[p] for p in whole.paper], [f"r{j}" for j in whole.reviewer]
        reviews = pv.Reviews.from_columns(papers, people, scores, scale=(1, 10), missing_score=None)
        made = pv.release(reviews, public="all", mechanism=pv.Laplace(epsilon=1.0))
        assert (made.reviewers, made.loads.sizes, made.loads.counts) == (60, (1, 2, 3), None)
        assert made.part is not None
        assert made.part.number == "follows"
        assert any("having no score" in note for note in made.notes)
        with pytest.raises(pv.RecordError, match="it is not stated that everyone can see which"):
            pv.release(reviews, public="none", mechanism=pv.Laplace(epsilon=1.0))

    def test_a_record_that_does_not_know_what_was_left_out_is_refused(self) -> None:
        whole = conference()
        part = whole.only(whole.papers[:30])
        alone = replace(whole.public("all"), part=None)
        rows = [alone.rows()[i] for i in range(30)]
        record = pv.PublicRecord.from_rows(
            rows, papers=whole.papers[:30], reviewers=part.reviewers, loads=(1, 3), scale=(1, 10)
        )
        with pytest.raises(pv.RecordError, match="the reviews are a part of a conference"):
            pv.release(part, public=record, mechanism=pv.Histogram(epsilon=1.0))


@pytest.mark.parametrize("quantity", ["ratings", "miscalibration"])
@pytest.mark.parametrize(("people", "load", "papers"), [(1000, 4, 8), (400, 10, 7), (300, 10, 10), (100, 4, 3)])
def test_few_kept_reviews_of_many_reviewers_do_not_shrink_the_bound(
    people: int, load: int, papers: int, quantity: str
) -> None:
    """How many reviewers have a kept review is guessed for choosing bins; of the bound, the guess says nothing."""
    kept = [f"kept{i}" for i in range(papers)]
    rows = [(paper, f"r{3 * i + k}") for i, paper in enumerate(kept) for k in range(3)]
    rows += [(f"gone{j}-{k}", f"r{j}") for j in range(people) for k in range(load - (j < 3 * papers))]
    names, who = zip(*rows, strict=True)
    scores = np.random.default_rng(1).integers(1, 10, len(rows)).astype(float)
    reviews = pv.Reviews.from_columns(names, who, scores, scale=(1, 10)).only(kept)
    visible = "all" if quantity == "ratings" else "none"
    weights = pv.weigh(reviews.public(visible), quantity)
    assert weights.open
    b = min(load, papers)
    moved = 1 + min(2 * b, load) + (0 if quantity == "ratings" else 2 * b * (3 - 1))
    assert sensitivity(weights, "reviewer").counts == 2 * min(people, moved)
    # An estimate that is as small as can be changes nothing.
    assert sensitivity(weights.counted(1), "reviewer") == sensitivity(weights, "reviewer")


def test_a_pair_in_a_small_part_of_a_large_conference_loses_no_more_than_is_claimed() -> None:
    """Five people with one kept review each get another one from z, or give theirs to z."""
    people, load = 1000, 10
    counter = iter(range(10**6))

    def world(held_kept: dict[str, list[str]]) -> pv.Reviews:
        rows = [(paper, who) for who, mine in held_kept.items() for paper in mine]
        score = {paper: float(1 + i % 9) for i, paper in enumerate(sorted({paper for paper, _ in rows}))}
        rest = [(f"gone{next(counter)}", f"r{j}") for j in range(people) for _ in range(load)]
        held_now = Counter(who for _, who in rows)
        dropped: Counter[str] = Counter()
        others = []
        for paper, who in rest:
            if dropped[who] < held_now[who]:
                dropped[who] += 1
            else:
                others.append((paper, who))
        names, who_all = zip(*(rows + others), strict=True)
        return pv.Reviews.from_columns(names, who_all, [score.get(paper, 5.0) for paper in names], scale=(1, 10)).only(
            [paper for paper in names if paper.startswith("kept")]
        )

    before = {f"r{j}": [f"kept{j}a", f"kept{j}b"][: 1 + (j < 6)] for j in range(1, 11)} | {
        "r0": [f"kept0{c}" for c in "vwxyz"]
    }
    after = {who: list(mine) for who, mine in before.items()}
    for j in range(1, 6):  # z exchanges every kept review with one of five people who have two
        after["r0"][j - 1], after[f"r{j}"][0] = after[f"r{j}"][0], after["r0"][j - 1]
    vectors = [true_vector(world(held_kept), "ratings") for held_kept in (before, after)]
    cells = Counter(vectors[0].tolist())
    cells.subtract(vectors[1].tolist())
    made = prepare_release(
        world(before), public="all", quantity="ratings", mechanism=pv.Histogram(epsilon=1.0), unit="reviewer"
    )
    scale = made.noise.mechanism.describe()["scale"]
    assert scale == pytest.approx(2 * (1 + load))
    assert sum(map(abs, cells.values())) / scale <= 1


def test_loads_are_public_loads() -> None:
    """The loads of an open part carry nothing of the private file: two assignments give the same public record."""
    one, other, kept, _ = construction(3, 6)
    records = [world.only(kept).public("all") for world in (one, other)]
    assert isinstance(records[0].loads, Loads)
    assert records[0].loads == records[1].loads
    assert records[0].part == records[1].part
    assert pv.weigh(records[0]).digest() == pv.weigh(records[1]).digest()


def test_papers_left_out_for_a_missing_score_need_public_scores() -> None:
    """How many papers are left out is published without noise; with hidden scores that would tell of one of them."""
    scores = np.array([3.0, 5.0, 4.0, np.nan, 8.0, 6.0])
    people = ["ann", "bob", "bob", "cem", "cem", "ann"]
    reviews = pv.Reviews.from_columns(list("ppqqrr"), people, scores, scale=(1, 10), missing_score="leave-out")
    assert reviews.public("all").papers == ("p", "r")
    with pytest.raises(
        pv.RecordError, match=r"1 papers were left out.*without noise.*missing_score='absent'.*public='all'"
    ) as caught:
        reviews.public("none")
    assert "(--missing-score absent)" in caught.value.spelled(option)
    assert "(--public all)" in caught.value.spelled(option)
    stated = pv.Reviews.from_columns(list("ppqqrr"), people, scores, scale=(1, 10), missing_score="absent")
    assert stated.public("none").papers == ("p", "q", "r")
