"""Reviewer statistics: their values, their bounds by exhaustion, and releases of them."""

from __future__ import annotations

import html
import itertools
import math
import pickle
import re
import statistics as reference
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TypeVar, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import peerveil as pv
from marks import mostly_slow
from peerveil.cli.show import out, plan_columns, release_panel
from peerveil.inference.model import RecordModel
from peerveil.inference.prior import prior
from peerveil.planning.rehearsal import Rehearsal
from peerveil.privacy.guarantee import UNITS, Unit
from peerveil.privacy.sensitivity import Sensitivity, sensitivity
from peerveil.private.true_vector import true_vector
from peerveil.quantities import statistics
from peerveil.quantities.base import named, words_of
from peerveil.record.public_record import Floats
from privacy.test_parts import WHOLE, Rows, all_places, held, kept_loads, reviews_of, ways_to_leave_out
from reference.neighbours import flat, neighbours, neighbours_up_to_names
from reference.theta import Assignment, assignments
from strategies import PAPERS, Case, hidden_cases, hidden_variants, visible

T = TypeVar("T")

OTHERS = tuple(name for name in statistics.names() if name != "mean")

#: The statistics, computed in another way.
REFERENCE: dict[str, Callable[[list[float]], float]] = {
    "spread": reference.pstdev,
    "range": lambda held: max(held) - min(held),
    "lowest": min,
    "highest": max,
}


def conference() -> pv.Reviews:
    rng = np.random.default_rng(7)
    scores = np.clip(np.rint(rng.normal(5, 2, 240)), 1, 10)
    papers = [f"p{i // 3}" for i in range(240)]
    return pv.Reviews.from_columns(papers, [f"r{i % 80}" for i in range(240)], scores, scale=(1, 10))


# Theorem S17.
@pytest.mark.promise("P-KEPT-7")
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=4))
def test_the_mean_is_one_rounded_sum_and_one_division_in_any_order(weights: list[float]) -> None:
    exact = sum(map(Fraction, weights), Fraction(0))
    expected = weights[0] if len(set(weights)) == 1 else float(exact) / len(weights)
    for order in itertools.permutations(weights):
        assert statistics.named("mean").of(np.array(order)) == expected


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=4))
def test_no_bit_of_a_statistic_depends_on_the_order(weights: list[float]) -> None:
    for name in OTHERS:
        statistic = statistics.named(name)
        values = {statistic.of(np.array(order)) for order in itertools.permutations(weights)}
        assert len(values) == 1
        (value,) = values
        assert value == pytest.approx(REFERENCE[name](weights), abs=1e-6, rel=1e-9)
        least, greatest = statistic.reach(min(weights), max(weights))
        assert least <= value <= greatest * (1 + 1e-12) + 1e-300 or value <= greatest


@given(st.lists(st.lists(st.floats(-100, 100), min_size=1, max_size=5), min_size=1, max_size=6))
def test_all_reviewers_at_once_as_one_by_one(held: list[list[float]]) -> None:
    loads, weight = np.array([[len(own) for own in held]] * 2), np.array([[x for own in held for x in own]] * 2)
    for name in (*OTHERS, "mean"):
        statistic = statistics.named(name)
        expected = [statistic.of(np.array(own)) for own in held]
        for row in statistics.of_each(statistic, weight, loads):
            np.testing.assert_allclose(row, expected, atol=1e-9)


def test_attainable_values_are_those_of_all_choices() -> None:
    weight = np.array([1.0, 2.0, 2.0, 5.0, 9.0])
    for name in ("range", "lowest", "highest"):
        statistic = statistics.named(name)
        listed = statistics.attainable(statistic, weight)
        assert listed is not None
        every = {statistic.of(np.array(own)) for size in range(1, 6) for own in itertools.combinations(weight, size)}
        assert set(listed.tolist()) == every


def apart(before: Sequence[float], after: Sequence[float]) -> int:
    """How far counts are apart in the finest bins; in coarser ones they are nearer."""
    counts = Counter(before)
    counts.subtract(after)
    return sum(map(abs, counts.values()))


def check_norms(before: Sequence[float], after: Sequence[float], bound: Sensitivity) -> None:
    moves = np.abs(np.sort(before) - np.sort(after))
    assert moves.sum() <= bound.l1
    assert moves @ moves <= bound.l2**2
    assert moves.max() <= bound.linf


# Theorem S10.
@pytest.mark.parametrize(
    ("rows", "loads"),
    [
        pytest.param([[0.0, 1.0], [0.3, 2.0], [0.5, 4.0], [7.0, 8.0]], [2, 2, 2, 2], marks=pytest.mark.slow),
        ([[0.0, 1.0, 5.0], [0.2, 3.0, 9.0], [2.0, 4.0]], [2, 2, 2, 2]),
        ([[0.0, 1.0], [0.0, 3.0], [1.0, 0.7]], [3, 2, 1]),
        ([[0.0, 1.0], [0.2, 1.5], [1.0, 0.7]], [3, 1, 1, 1]),
    ],
)
def test_no_neighbour_moves_a_statistic_by_more_than_claimed(rows: list[list[float]], loads: list[int]) -> None:
    listed = list(assignments(rows, loads))
    flat_rows = [x for row in rows for x in row]
    by_load = {load: loads.count(load) for load in set(loads)}
    attained = set()
    for name in OTHERS:
        statistic = statistics.named(name)
        weights = pv.PublicWeights.from_rows(rows, loads=by_load, quantity=f"{name} of weights")
        assert weights.statistic is statistic
        values = {}
        for assignment in listed:
            held: list[list[float]] = [[] for _ in loads]
            for x, j in zip(flat_rows, flat(assignment), strict=True):
                held[j].append(x)
            values[assignment] = [statistic.of(np.array(own)) for own in held]
        for unit in UNITS:
            bound = sensitivity(weights, unit)
            assert bound.counts is not None
            for one, other in neighbours_up_to_names(listed, loads, unit):
                moved = apart(values[one], values[other])
                assert moved <= bound.counts
                check_norms(values[one], values[other], bound)
                if moved == bound.counts:
                    attained.add(unit)
    if len(set(loads)) == 1:
        assert attained == set(UNITS)


@pytest.mark.promise("P-PARTS-1", by="exhaustion")
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(
    ("rows", "loads"), [WHOLE[1], *(pytest.param(*case, marks=pytest.mark.slow) for case in (WHOLE[0], *WHOLE[2:]))]
)
def test_no_neighbour_of_a_whole_conference_moves_a_part_by_more_than_claimed(
    rows: Rows, loads: list[int], unit: Unit
) -> None:
    """For every choice of what is left out, with the number of reviewers of the rest following, open and declared."""
    pairs = list(neighbours_up_to_names(list(assignments(rows, loads)), loads, unit))
    listed = {each for pair in pairs for each in pair}
    for kept in ways_to_leave_out(rows):
        gone = all_places(rows) - kept
        own = {each: held(rows, each, kept) for each in listed}
        sizes = {each: kept_loads(rows, each, kept) for each in listed}
        for name in OTHERS:
            of = statistics.named(name).of
            values = {each: tuple(sorted(of(np.array(x, dtype=float)) for x in own[each].values())) for each in listed}
            seen = {(values[one], sizes[one], values[other], sizes[other]): one for one, other in pairs}
            bounds: dict[object, tuple[pv.PublicWeights, Sensitivity]] = {}
            for (before, loads_before, after, loads_after), one in seen.items():
                declared = loads_before if loads_before == loads_after else None
                for key in {None, declared} - bounds.keys():
                    record = reviews_of(rows, one, gone).public("all", declare_kept=key is not None)
                    weights = pv.weigh(record, f"{name} of ratings")
                    bounds[key] = weights, sensitivity(weights, unit)
                none = [(-1.0,) * (len(loads) - len(side)) for side in (before, after)]  # without a kept review
                for weights, bound in {bounds[None], bounds[declared]}:
                    assert apart(before + none[0], after + none[1]) <= bound.counts  # type: ignore[operator]
                    if not weights.open:
                        check_norms(before, after, bound)


def test_the_bound_on_counts_of_a_part_is_attained() -> None:
    """A reviewer gives three kept reviews for left-out ones, and gets three others: 1 + 2b spreads change."""
    holders = {f"k{i}": "z" for i in range(3)} | {f"o{i}": "z" for i in range(3)}
    after: dict[str, str] = {}
    for i in range(3):
        holders |= {f"x{i}": f"a{i}", f"y{i}": f"a{i}", f"p{i}": f"a{i}"}  # p is left out, and gets k for it
        holders |= {f"u{i}": f"c{i}", f"v{i}": f"c{i}", f"w{i}": f"c{i}"}  # w is given for o
        after |= {f"k{i}": f"a{i}", f"p{i}": "z", f"w{i}": "z", f"o{i}": f"c{i}"}
    scores = np.random.default_rng(1).random(len(holders))
    kept = [paper for paper in holders if paper[0] not in "op"]
    one, other = (
        pv.Reviews.from_columns(list(who), list(who.values()), scores).only(kept) for who in (holders, holders | after)
    )
    weights = pv.weigh(one.public("all", declare_kept=True), "spread of ratings")
    assert weights.digest() == pv.weigh(other.public("all", declare_kept=True), "spread of ratings").digest()
    values = [set(true_vector(side, "spread of ratings").tolist()) for side in (one, other)]
    assert len(values[0] ^ values[1]) == 14 == sensitivity(weights, "reviewer").counts


@given(hidden_cases(), st.sampled_from(UNITS), st.sampled_from(OTHERS), st.sampled_from(["ratings", "disagreement"]))
@settings(max_examples=60)
def test_hidden_scores_may_change_with_the_exchange(
    pair: tuple[Case, list[list[bool]]], unit: Unit, name: str, of: str
) -> None:
    case, hidden = pair
    quantity = f"{name} of {of}"
    bound = sensitivity(pv.weigh(visible(case, hidden), quantity, lone="zero"), unit)
    flags = [h for row in hidden for h in row]
    papers = [PAPERS[p] for p, row in enumerate(case.rows) for _ in row]
    variants = [[x for row in filled for x in row] for filled in hidden_variants(case.rows, hidden, [1, 3])]

    def vector(assignment: Assignment, scores: list[float]) -> Floats:
        holders = [f"r{j}" for j in flat(assignment)]
        return true_vector(pv.Reviews.from_columns(papers, holders, scores), quantity, lone="zero")

    for one, other in neighbours(list(assignments(case.rows, case.loads))[:8], unit):
        free = [h and a != b for h, a, b in zip(flags, flat(one), flat(other), strict=True)]
        for first, second in itertools.product(variants, repeat=2):
            if all(f or x == y for f, x, y in zip(free, first, second, strict=True)):
                before, after = vector(one, first).tolist(), vector(other, second).tolist()
                assert apart(before, after) <= bound.counts  # type: ignore[operator]
                check_norms(before, after, bound)


#: Where words of a release of another statistic may speak of a mean: of errors and of posteriors.
ABOUT_ERRORS = re.compile(
    r"root mean squared?|mean squared error|posterior mean|does not mean|Errors of mean, deviation|"
    r"figures/means|>mean</th>"
)


def spoken_of(text: str) -> list[str]:
    """The places of a text that speak of means or leniency."""
    plain = ABOUT_ERRORS.sub("", html.unescape(re.sub(r"(?s)<style.*?</style>|base64,[^\"]*", "", text)))
    plain = plain.replace("differ in leniency by an unknown amount", "").replace("differences in leniency from", "")
    return [plain[max(0, m.start() - 40) : m.end() + 40] for m in re.finditer(r"(?i)\bmeans?\b|lenien|strict", plain)]


@pytest.mark.parametrize("name", mostly_slow(OTHERS, 0))
def test_nothing_about_it_speaks_of_means(name: str, tmp_path: Path) -> None:
    made = pv.release(conference(), public="all", statistic=name, mechanism=pv.Histogram(epsilon=5.0))
    noisy = pv.release(conference(), public="all", statistic=name, mechanism=pv.Laplace(epsilon=5.0))
    few = pv.release(
        pv.Reviews.from_columns(list("ppqqrr"), list("abbcca"), [3, 5, 4, 4, 8, 6]),
        public="all",
        statistic=name,
        mechanism=pv.Laplace(epsilon=5.0),
    )
    for number, release in enumerate((made, noisy, few)):
        release.save(tmp_path / str(number))
        for file in (tmp_path / str(number)).rglob("*.*"):
            assert spoken_of(file.read_text(encoding="utf-8")) == [], file.name
        assert spoken_of(release._repr_html_() + repr(release)) == []
        with out.capture() as shown:
            out.print(release_panel(release, everything=True))
        assert spoken_of(shown.get()) == []
    assert [finding.name for finding in made.findings] == ["lowest_tenth", "highest_tenth"]
    compared = pv.compare(made, few)
    compared.save(tmp_path / "both.html")
    assert spoken_of((tmp_path / "both.html").read_text(encoding="utf-8")) == []
    assert compared.summary_columns[0] == f"of the {words_of(made.quantity).numbers}"


@pytest.mark.slow
def test_a_plan_and_a_promise_speak_of_it() -> None:
    reviews = conference()
    plan = pv.plan(
        reviews.public("all"), statistic="spread", epsilons=[2.0], mechanisms=["histogram"], draws=2, workers=1
    )
    assert plan.quantity == "spread of ratings"
    shown = [*plan.answer, plan._repr_html_(), plan.plot().svg, *plan_columns(plan)]
    assert all("spread" in words for words in (plan.answer[0], shown[-3], plan.plot().svg))
    promised = pv.promise(reviews, public="all", statistic="spread", mechanism=pv.Histogram(epsilon=2.0))
    assert promised.accuracy.partition(";")[0].endswith("points of a spread")
    assert [spoken_of(words) for words in (*shown[:-1], str(promised.facts()))] == [[]] * len(shown)


def test_a_statistic_that_is_not_known_here_has_neutral_words() -> None:
    assert words_of("entropy of ratings").meaning == "the entropy of each reviewer's scores"
    assert words_of("entropy of ratings").numbers == "entropys"
    assert words_of("entropy of nothing").numbers == "means"


def copied(value: T) -> T:
    """What another process receives."""
    return cast("T", pickle.loads(pickle.dumps(value)))  # noqa: S301 - pickled here


def test_weights_keep_their_statistic_in_other_processes() -> None:
    weights = pv.weigh(conference().public("all"), "spread of ratings")
    assert type(copied(weights).statistic) is type(weights.statistic)
    assert copied(statistics.MEAN) is statistics.MEAN


@pytest.mark.parametrize(("name", "public"), mostly_slow([*itertools.product(OTHERS, ("all", "none"))], 0, 3, 6))
def test_it_is_released_verified_and_described(name: str, public: str, tmp_path: Path) -> None:
    reviews = conference()
    release = pv.release(reviews, public=public, statistic=name, mechanism=pv.Histogram(epsilon=5.0))
    assert release.quantity == f"{name} of ratings"
    least, greatest = statistics.named(name).reach(1, 10)
    assert release.outlook is not None
    assert (release.values >= least).all()
    assert (release.values <= greatest).all()
    truth = true_vector(reviews, f"{name} of ratings")
    if public == "all":
        assert np.sqrt(np.mean((release.values - truth) ** 2)) < 3 * release.outlook.expected_rmse
    release.save(tmp_path / "out")
    weights = pv.weigh(reviews.public(public), release.quantity)
    assert pv.verify(tmp_path / "out", weights).verified
    report = html.unescape((tmp_path / "out" / "report.html").read_text(encoding="utf-8"))
    assert words_of(release.quantity).meaning in report


def test_expected_errors_come_true() -> None:
    """Statistics of synthetic assignments, which the prior's family holds."""
    reviews = conference()
    for name in OTHERS:
        weights = pv.weigh(reviews.public("all"), f"{name} of ratings")
        ratios = []
        for seed in range(8):
            truth = prior(weights, draws=1, seed=np.random.SeedSequence(seed)).ensemble(0.4).vectors[0]
            rehearsal = Rehearsal.of(weights, pv.Histogram(epsilon=2.0))
            made = rehearsal.estimates(rehearsal.perturb(truth, np.random.default_rng(seed)), ["bayes"])["bayes"]
            assert made.outlook is not None
            ratios.append(np.mean((made.values - truth) ** 2) / made.outlook.expected_rmse**2)
        assert 0.3 < math.sqrt(np.mean(ratios)) < 1.4


@pytest.mark.parametrize("name", mostly_slow(OTHERS, 2))
def test_expected_errors_allow_for_hidden_scores_that_are_whole_numbers(name: str) -> None:
    """The least of a few whole scores is a whole number, which nothing public tells: errors must allow for it."""
    reviews = conference()
    truth, weights = true_vector(reviews, f"{name} of ratings"), pv.weigh(reviews.public("none"), f"{name} of ratings")
    rehearsal = Rehearsal.of(weights, pv.Histogram(epsilon=5.0))
    made = [
        rehearsal.estimates(rehearsal.perturb(truth, np.random.default_rng(seed)), ["bayes"])["bayes"]
        for seed in range(5)
    ]
    errors = [np.mean((each.values - truth) ** 2) / each.outlook.expected_rmse**2 for each in made if each.outlook]
    assert len(errors) == 5
    assert math.sqrt(np.mean(errors)) < 2


def test_draws_of_hidden_scores_are_whole_or_any_and_of_distances_near_zero() -> None:
    record = pv.PublicRecord.from_rows([[None] * 3 for _ in range(40)], load=3, scale=(1, 10))
    weights = pv.weigh(record, "lowest of ratings")
    for whole in (True, False):
        drawn = prior(weights, draws=20, whole=whole).weight
        assert ((drawn == np.rint(drawn)).all(), drawn.min() >= 1, drawn.max() <= 10) == (whole, True, True)
    assert set(np.unique(prior(weights, draws=20, whole=True).weight)) == set(range(1, 11))
    model = RecordModel(weights, draws=4)
    whole_ones = [(each.vectors == np.rint(each.vectors)).all() for each in model.ensembles]
    assert sum(whole_ones) * 2 == len(whole_ones)
    far = prior(pv.weigh(record, "disagreement"), draws=60).weight
    assert far.min() >= 0
    assert far.max() <= 9
    assert np.mean(far < 4.5) > 0.6, "distances are those of numbers around zero"


def test_unknown_statistics_are_refused_with_the_known_ones() -> None:
    with pytest.raises(pv.InputError, match=r"statistic must be one of 'mean', 'spread'.*got 'mode'"):
        pv.release(conference(), public="all", statistic="mode", epsilon=1.0)


def test_names_that_would_be_taken_for_a_statistic_are_refused() -> None:
    with pytest.raises(pv.InputError, match="quantity already"):
        pv.weigh(conference().public("all"), lambda record: record.score, name="spread of everything")
    assert named("spread of ratings").name == "spread of ratings"


def test_tracks_are_released_with_one_charge_for_all() -> None:
    reviews = conference()
    tracks = {paper: "theory" if paper < "p5" else "systems" for paper in reviews.papers}
    made = pv.release_groups(reviews, tracks, public="all", statistic="range", mechanism=pv.Histogram(epsilon=2.0))
    means = pv.release_groups(reviews, tracks, public="all", mechanism=pv.Histogram(epsilon=2.0))
    assert {release.quantity for release in made.releases.values()} == {"range of ratings"}
    assert made.guarantee == means.guarantee  # as many people move
