"""The audit: real releases of worst-case neighbours keep their claims, tight ones nearly reach them, sabotage shows."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from scipy.integrate import quad

import peerveil as pv
from cli.test_cli import Run, run
from peerveil.mechanisms import OwnMechanism
from peerveil.mechanisms.bin_choice import bins_of
from peerveil.privacy.guarantee import UNITS, Unit
from peerveil.privacy.noise_laws import DiscreteLaplaceLaw, LaplaceLaw, Law, NormalLaw, SinhNormalLaw
from peerveil.privacy.sensitivity import sensitivity
from peerveil.private import tracks
from peerveil.private.audit import _SHARE, CASES, _Audited, audit, evidence, worst_neighbours, worst_neighbours_counted
from peerveil.private.audit.cases import settle
from peerveil.private.audit.conference import Pair
from peerveil.private.audit.evidence import Evidence, Part, _gaussian_rho, _rho
from peerveil.private.audit.laws import noise_differs
from peerveil.private.audit.loss import contradicts, gaussian_delta, loss_of
from peerveil.private.columns import Whole
from peerveil.private.release import prepare_release
from peerveil.private.reviews import Reviews
from peerveil.private.true_vector import true_vector
from peerveil.record.public_record import Floats
from reference.neighbours import is_neighbour
from reference.sabotage import BUDGETS, TERMS, Sabotage, mechanisms, smaller_noise
from reference.theta import Assignment

__all__ = ["run"]  # a fixture


@pytest.mark.parametrize("public", ["all", "none"])
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("load", [2, 3, 5])
def test_the_neighbours_are_neighbours_and_as_far_apart_as_can_be(unit: Unit, load: int, public: str) -> None:
    one, other = worst_neighbours(unit, load, public)
    record = one.public(public)
    assert record.loads.uniform
    weights = pv.weigh(record)
    moves = np.abs(true_vector(one, "ratings") - true_vector(other, "ratings"))
    bound = sensitivity(weights, unit)
    assert moves.sum() == pytest.approx(bound.l1)
    assert np.sqrt(moves @ moves) == pytest.approx(bound.l2)
    assert moves.max() == pytest.approx(bound.linf)


@pytest.mark.parametrize("public", ["all", "none"])
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(("load", "number"), [(2, 5), (3, 7), (5, 11), (3, 40)])
def test_counts_of_the_neighbours_are_as_far_apart_as_can_be(unit: Unit, load: int, number: int, public: str) -> None:
    one, other, bins = worst_neighbours_counted(unit, load, public, number)
    record = one.public(public)
    assert record.loads.uniform
    weights = pv.weigh(record)
    assert bins.same(bins_of(weights, number))
    counts = [bins.counts(true_vector(reviews, "ratings")) for reviews in (one, other)]
    assert np.abs(counts[0] - counts[1]).sum() == sensitivity(weights, unit).counts


def everything(record: Reviews) -> Reviews | Whole:
    """All reviews, those without a score included."""
    return record if record.whole is None else record.whole


def assignments(pair: Pair) -> tuple[Assignment, Assignment]:
    """Who holds which review, before and after; who has a review of a paper in both has the same one."""
    one, other = map(everything, pair.records)
    before, after = [], []
    for p in range(int(one.paper.max()) + 1):
        mine, theirs = (set(record.reviewer[record.paper == p].tolist()) for record in (one, other))
        before.append((*sorted(mine & theirs), *sorted(mine - theirs)))
        after.append((*sorted(mine & theirs), *sorted(theirs - mine)))
    return tuple(before), tuple(after)


def scores_by_paper(record: Reviews) -> list[Counter[float]]:
    return [Counter(record.score[record.paper == p].tolist()) for p in range(len(record.papers))]


@pytest.mark.parametrize("number", [0, 5], ids=["vector", "counts"])
@pytest.mark.parametrize("load", [2, 3])
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("case", CASES)
def test_every_case_is_a_pair_of_neighbours_with_the_same_public_record(
    case: str, unit: Unit, load: int, number: int
) -> None:
    pair = CASES[case].make(unit, load, number)
    one, other = pair.records
    assert one.papers == other.papers
    assert pair.public == CASES[case].public
    before, after = assignments(pair)
    moved = [p for p, (mine, theirs) in enumerate(zip(before, after, strict=True)) if mine != theirs]
    changed = [p for p, (a, b) in enumerate(zip(*map(scores_by_paper, pair.records), strict=True)) if a != b]
    if case == "hidden-score-alone":
        assert not moved
        assert len(changed) == 1
    else:
        assert is_neighbour(before, after, unit)
        assert set(changed) <= (set(moved) if pair.public == "none" else set())
    loads = [np.bincount(everything(record).reviewer).tolist() for record in pair.records]
    assert loads[0] == loads[1]
    assert (pair.part == "absent") == (one.absent != (0, 0))
    assert (pair.part == "filtered") == bool(one.filtered)
    parts = [pair.kept] if pair.tracks and pair.part != "pairs" else []  # properties of papers are no tracks there
    if pair.part in ("tracks", "apart"):
        parts = [[paper for paper in one.papers if pair.tracks[paper] == track] for track in set(pair.tracks.values())]
    if pair.part == "apart":
        held = [set(r.reviewer[np.isin(r.paper, [r.papers.index(p) for p in parts[0]])]) for r in pair.records]
        assert held[0] == held[1]
        assert all(len(held[0]) + r.only(parts[1]).reviewers == r.reviewers for r in pair.records)
    shown = [pv.weigh(record.public(pair.public, declare_kept=pair.declares)) for record in pair.records]
    assert shown[0].digest() == shown[1].digest()
    for papers in parts:
        seen, other_seen = (
            reviews.only(papers).public(pair.public, declare_kept=pair.part not in ("open", "by", "effect"))
            for reviews in pair.records
        )
        assert pv.weigh(seen, pair.quantity).digest() == pv.weigh(other_seen, pair.quantity).digest()


#: Which share of the claimed loss the pairs have at the stated noise: for vectors with Laplace noise, and for counts;
#: 0 where there is no vector. Every claim about counts is attained.
ATTAINED: dict[tuple[str, str], tuple[float, float]] = {
    ("one-load", "reviewer"): (1, 1),
    ("one-load", "review"): (1, 1),
    ("mixed-loads", "reviewer"): (1, 1),
    ("mixed-loads", "review"): (1, 1),
    ("ranges", "reviewer"): (1, 1),
    ("ranges", "review"): (1, 1),
    ("hidden-scores", "reviewer"): (1, 1),
    ("hidden-scores", "review"): (1, 1),
    ("hidden-score-alone", "reviewer"): (1 / 4, 1 / 2),
    ("hidden-score-alone", "review"): (1 / 2, 1 / 2),
    ("hidden-miscalibration", "reviewer"): (0.7, 1),
    ("hidden-miscalibration", "review"): (2 / 3, 1),
    ("hidden-disagreement", "reviewer"): (1, 1),
    ("hidden-disagreement", "review"): (1, 1),
    ("hidden-left-out", "reviewer"): (0.51, 1),
    ("hidden-left-out", "review"): (0.175, 3 / 4),
    ("left-out", "reviewer"): (4 / 5, 1),
    ("left-out", "review"): (1 / 2, 1),
    ("left-out-open", "reviewer"): (0, 1),
    ("left-out-open", "review"): (0, 1),
    ("absent-scores", "reviewer"): (4 / 5, 1),
    ("absent-scores", "review"): (1 / 2, 1),
    ("public-labels", "reviewer"): (4 / 5, 1),
    ("public-labels", "review"): (1 / 2, 1),
    ("track", "reviewer"): (4 / 5, 1),
    ("track", "review"): (1 / 2, 1),
    ("tracks", "reviewer"): (1, 1),
    ("tracks", "review"): (1 / 2, 1),
    ("three-tracks", "reviewer"): (1, 1),
    ("three-tracks", "review"): (1 / 2, 1),
    ("tracks-apart", "reviewer"): (1, 1),
    ("tracks-apart", "review"): (1, 1),
    ("by-attribute", "reviewer"): (0, 1),
    ("by-attribute", "review"): (0, 1),
    ("by-sizes", "reviewer"): (0, 1),
    ("by-sizes", "review"): (0, 1),
    ("effect-pairs", "reviewer"): (4 / 5, 0),
    ("effect-pairs", "review"): (3 / 4, 0),
    ("effect-sizes", "reviewer"): (38 / 45, 0),
    ("effect-sizes", "review"): (8 / 9, 0),
    ("effect", "reviewer"): (77 / 90, 0),
    ("effect", "review"): (8 / 9, 0),
    ("by-hidden", "reviewer"): (0, 1),
    ("by-hidden", "review"): (0, 1),
    ("effect-hidden", "reviewer"): (9 / 10, 0),
    ("effect-hidden", "review"): (1, 0),
    ("by-left-out", "reviewer"): (0, 1),
    ("by-left-out", "review"): (0, 1),
    ("effect-left-out", "reviewer"): (17 / 20, 0),
    ("effect-left-out", "review"): (17 / 20, 0),
    ("by-tracks", "reviewer"): (0, 1),
    ("by-tracks", "review"): (0, 1),
    ("effect-tracks", "reviewer"): (9 / 10, 0),
    ("effect-tracks", "review"): (11 / 13, 0),
    ("linked", "reviewer"): (1, 0),
    ("linked", "review"): (1, 0),
    ("linked-table", "reviewer"): (0, 1),
    ("linked-table", "review"): (0, 1),
}


def loss_share(case: str, mechanism: OwnMechanism, unit: Unit) -> tuple[float, bool]:
    """The loss of a case at the stated noise as a share of the claimed epsilon, and whether the claim covers it."""
    settled = settle(CASES[case], mechanism, unit, 2)
    (one, claim), (other, _) = settled.prepared(0), settled.prepared(1)
    laws = [part.noise.settled.law for part in one if part.noise.settled is not None]
    moves = [np.asarray(b.truth, float) - np.asarray(a.truth, float) for a, b in zip(one, other, strict=True)]
    loss = loss_of([(law, move) for law, move in zip(laws, moves, strict=True)])
    return (loss.epsilon if claim.rho is None else loss.rho) / (claim.rho or claim.epsilon or 0), not contradicts(
        loss, claim
    )


@pytest.mark.promise("P-AUDIT-4")
def test_counts_attain_their_claim_in_all_cases_but_two() -> None:
    assert {case for case, _ in ATTAINED} == CASES.keys()
    without = {case for (case, _), (_, counts) in ATTAINED.items() if not counts}
    assert without == {case for case in CASES if CASES[case].effect}  # nothing else releases no counts
    weaker = {key for key, (_, counts) in ATTAINED.items() if 0 < counts < 1}
    alone = {("hidden-score-alone", "reviewer"), ("hidden-score-alone", "review")}
    assert weaker == alone | {("hidden-left-out", "review")}


@pytest.mark.promise("P-AUDIT-4", by="audit")
@pytest.mark.slow
@pytest.mark.parametrize(("case", "unit"), ATTAINED)
def test_the_pairs_lose_what_is_claimed_or_nearly_and_never_more(case: str, unit: Unit) -> None:
    tight: tuple[OwnMechanism, ...] = (pv.Laplace(epsilon=1.0), pv.Histogram(epsilon=1.0))
    for mechanism, attained in zip(tight, ATTAINED[case, unit], strict=True):
        if not attained:
            continue  # this case is for counts alone, or for vectors
        share, covered = loss_share(case, mechanism, unit)
        assert share == pytest.approx(attained)
        assert covered
    others: tuple[OwnMechanism, ...] = (pv.Gaussian(rho=0.5), pv.SinhNormal(rho=0.5, omega=20.0))
    for other in others if ATTAINED[case, unit][0] and not CASES[case].effect else ():
        assert loss_share(case, other, unit)[1]


def test_three_tracks_attain_a_joint_bound_below_the_sum() -> None:
    parts, claim = settle(CASES["three-tracks"], pv.Histogram(epsilon=1.0), "reviewer", 2).prepared(0)
    assert len(parts) == 3
    assert claim.epsilon == pytest.approx((3 + 2 * 6) / 6)  # loads of at most 6; all 6 means of a track could move


LAWS: list[Law] = [
    LaplaceLaw(scale=0.7),
    NormalLaw(sigma=1.3),
    SinhNormalLaw(sigma=2.0, bound=3.0),
    DiscreteLaplaceLaw(scale=3.0),
    DiscreteLaplaceLaw(scale=0.2),
]


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_how_much_noise_is_within_a_limit_follows_from_its_density(law: Law, share: float) -> None:
    limit, chance = law.limit(share)
    if isinstance(law, DiscreteLaplaceLaw):
        whole = np.arange(-math.floor(limit), math.floor(limit) + 1.0)
        assert chance == pytest.approx(np.exp(law.log_density(whole)).sum())
    else:
        inside, _ = quad(lambda x: math.exp(law.log_density(np.array([x]))[0]), -limit, limit, points=[0.0])
        assert chance == share
        assert inside == pytest.approx(share)


@pytest.mark.promise("P-AUDIT-2")
@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_noise_as_stated_differs_from_its_law_as_rarely_as_is_said(law: Law) -> None:
    rng = np.random.default_rng(5)
    alarms = sum(bool(noise_differs(law, law.draw(rng, 100), 0.1)) for _ in range(500))
    assert alarms <= 0.1 * 500  # a risk of 0.1 is an upper limit: limits of the same noise are tested together


@pytest.mark.promise("P-AUDIT-2")
@pytest.mark.parametrize("name", ["laplace", "histogram", pytest.param("gaussian", marks=pytest.mark.slow)])
def test_honest_releases_contradict_their_claim_as_rarely_as_is_said(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All three tests together, at a risk of a half: the bound of the third exceeds the true loss as rarely."""
    monkeypatch.setattr(evidence, "_SIMULATED", 1_000)
    settled = settle(CASES["one-load"], mechanisms(1.0)[name], "reviewer", 2)
    audited, rng, alarms, found = _Audited(settled, 1_000, share=1.0), np.random.default_rng(8), 0, []
    for _ in range(40):
        blocks = []
        for truth in (side for part in audited.parts for side in (part.first, part.second)):
            law = audited.parts[0].noise.law
            blocks.append([truth + law.draw(rng, 1_000 * truth.size).reshape(1_000, truth.size)])
        drawn = audited.evidence(blocks, None)
        bounds = drawn.bounds(0.5)
        assert not contradicts(drawn.loss, drawn.guarantee)
        wrong = bounds.epsilon > drawn.loss.epsilon if drawn.guarantee.rho is None else bounds.rho > drawn.loss.rho
        alarms += bool(wrong or bounds.noise)
        found.append(bounds.epsilon or bounds.rho)
    assert alarms <= 0.5 * 40
    assert sum(one > 0 for one in found) > 20  # the bounds do say something


def test_the_loss_is_that_of_the_laws() -> None:
    moves = np.array([0.5, -1.0, 0.25])
    ratios = [np.abs(LAWS[0].log_density(np.array([9.0 - m])) - LAWS[0].log_density(np.array([9.0])))[0] for m in moves]
    assert loss_of([(LAWS[0], moves)]).epsilon == pytest.approx(sum(ratios))
    loss = loss_of([(LAWS[1], moves), (LAWS[1], moves)])
    assert loss.mu is not None
    assert loss.mu**2 == pytest.approx(2 * (moves @ moves) / 1.3**2)
    divergence = [  # order 2
        math.log(
            quad(lambda x, m=m: float(np.exp(2 * LAWS[1].log_density(x - m) - LAWS[1].log_density(x))), -30, 30)[0]
        )
        for m in moves
    ]
    assert 2 * loss.rho == pytest.approx(2 * sum(divergence))
    # delta at epsilon, by integration
    one, other = NormalLaw(sigma=1.0), 1.5
    excess = quad(
        lambda x: max(0.0, float(np.exp(one.log_density(x - other)) - math.e * np.exp(one.log_density(x)))), -10, 12
    )[0]
    assert gaussian_delta(1.5, 1.0) == pytest.approx(excess, rel=1e-6)


def test_rho_is_bounded_from_below_by_every_event() -> None:
    """Two normal laws that are mu apart: no event shows more than rho, the best ones most of 2/pi of it."""
    mu = 0.7
    at = np.linspace(-3, 3, 61)
    p, q = (np.array([0.5 * math.erfc((x - m) / math.sqrt(2)) for x in at]) for m in (mu, 0.0))
    rho = _rho(p, q, math.inf)
    assert (rho <= mu**2 / 2).all()
    assert rho.max() > 0.6 * mu**2 / 2
    assert (_rho(p, q, 1.5) <= rho + 1e-15).all()
    assert (_rho(q, p, math.inf) == 0).all()  # the event is rarer: it shows nothing
    assert _gaussian_rho(p, q) == pytest.approx(mu**2 / 2)  # of normal laws, every event shows all
    assert (_gaussian_rho(q, p) == 0).all()


@pytest.mark.slow
def test_a_histogram_keeps_its_claim_and_nearly_reaches_it() -> None:
    found = audit(pv.Histogram(epsilon=2.0), load=3, draws=5000, case="one-load")
    assert found.claimed == 2
    assert found.passed
    assert found.at(0.9).epsilon >= 0.5 * 2


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.slow
def test_laplace_keeps_its_claim_and_nearly_reaches_it(unit: str) -> None:
    # Real noise has no seed. What must not happen is judged with a risk of 1e-5; and with these draws the bound of 90 %
    # confidence falls short of 75 % of epsilon about once in several thousand runs.
    found = audit(pv.Laplace(epsilon=2.0), unit=unit, draws=7000, case="one-load")
    assert found.claimed == 2
    assert found.passed
    assert found.epsilon <= 2
    assert found.at(0.9).epsilon >= 0.75 * 2


#: Plans take their time, one a case; for `make test` one kind of noise on the vector and one on counts will do.
SLOW = ("auto", "gaussian", "gaussian 1e-3", "sinh-normal")
NAMES = [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in mechanisms(1.0)]


@pytest.mark.promise("P-CLAIM-1", "P-BUDGET-1", by="audit")
@pytest.mark.parametrize("unit", ["reviewer", pytest.param("review", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", NAMES)
def test_every_mechanism_keeps_its_claim_in_every_case(name: str, unit: str) -> None:
    found = audit(mechanisms(1.0)[name], unit=unit, draws=200, workers=1)
    applies = [case for case in CASES if name in ("histogram", "auto") or not CASES[case].counts_only]
    if name == "auto":
        applies = [case for case in applies if not CASES[case].tracks]
    if name != "laplace":
        applies = [case for case in applies if not CASES[case].effect]
    if name != "histogram":
        applies = [case for case in applies if not CASES[case].by]
    assert [finding.case for finding in found.findings] == applies
    assert found.passed, [finding for finding in found.findings if not finding.passed]
    assert found.confidence == 0.99999


OTHERS: list[tuple[OwnMechanism, str, str]] = [
    (pv.Laplace(scale=3.0), "reviewer", "none"),
    (pv.Gaussian(rho=0.5), "reviewer", "all"),
    (pv.Gaussian(epsilon=1.0, delta=0.01), "review", "all"),
    (pv.SinhNormal(rho=10.0, omega=20.0), "review", "none"),
    (pv.Histogram(epsilon=1.0, bins=3), "review", "none"),
    (pv.Histogram(scale=2.0), "review", "all"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "unit", "public"), OTHERS, ids=lambda x: getattr(x, "name", x))
def test_other_budgets_keep_their_claims(mechanism: OwnMechanism, unit: str, public: str) -> None:
    found = audit(mechanism, unit=unit, public=public, load=3, draws=300, workers=1)
    assert {CASES[finding.case].public for finding in found.findings} == {public}
    assert found.passed


@pytest.mark.promise("P-AUDIT-3", by="audit")
@pytest.mark.parametrize("epsilon", [*(pytest.param(e, marks=pytest.mark.slow) for e in BUDGETS if e != 1), 1.0])
@pytest.mark.parametrize("name", mechanisms(1.0))
def test_half_the_noise_is_caught_on_the_real_path(name: str, epsilon: float) -> None:
    with smaller_noise():
        found = audit(mechanisms(epsilon)[name], draws=500, case="one-load", workers=1)
    assert not found.passed
    assert found.worst.noise == "smaller"
    assert found.worst.supported  # what the release states would be right


#: Every term with its plainest mechanism, and every mechanism with mixed loads; the others are slow.
BROKEN = [
    pytest.param(
        sabotage,
        name,
        epsilon,
        id=f"{sabotage.name}-{sabotage.case}-{name}-{epsilon:g}",
        marks=()
        if epsilon == 1 and (name in sabotage.mechanisms[:1] or sabotage.case == "mixed-loads")
        else pytest.mark.slow,
    )
    for sabotage in TERMS
    for name in sabotage.mechanisms
    for epsilon in BUDGETS
]


@pytest.mark.promise("P-AUDIT-1", by="audit")
@pytest.mark.parametrize(("sabotage", "name", "epsilon"), BROKEN)
def test_a_bound_without_one_of_its_terms_is_caught(sabotage: Sabotage, name: str, epsilon: float) -> None:
    with sabotage.applied():
        found = audit(mechanisms(epsilon)[name], draws=100, case=sabotage.case, workers=1)
    assert not found.passed
    assert not found.worst.supported
    assert not found.worst.noise  # which is as the release states


def test_the_largest_claim_counts_where_tracks_share_no_reviewer() -> None:
    """With one scale for both, their claims differ."""
    mechanism = pv.Laplace(scale=1.0)
    assert audit(mechanism, case="tracks-apart", draws=100, workers=1).passed

    def smallest(claims: Any, **_: Any) -> Any:
        return min((group.claim for group in claims), key=lambda claim: claim.epsilon)

    with patch.object(tracks, "joint_claim", smallest):
        found = audit(mechanism, case="tracks-apart", draws=100, workers=1)
    assert not found.worst.supported


@pytest.mark.promise("P-AUDIT-5", by="audit")
@pytest.mark.parametrize(
    ("case", "name"),
    [("one-load", "laplace"), pytest.param("left-out-open", "histogram", marks=pytest.mark.slow)],
)
def test_what_a_plan_chooses_is_audited_by_the_path_that_releases_it(case: str, name: str) -> None:
    auto = pv.Auto(epsilon=1.0)
    settled = settle(CASES[case], auto, "reviewer", 2)
    for side, record in enumerate(settled.pair.records):
        (part,), claim = settled.prepared(side)
        assert part.noise.mechanism.name == name
        reviews = record.only(settled.pair.kept) if settled.pair.tracks else record
        ready = prepare_release(reviews, public="all", quantity="ratings", mechanism=auto, unit="reviewer")
        assert (ready.noise.mechanism, ready.noise.guarantee) == (part.noise.mechanism, claim)
        assert ready.protected().truth.tolist() == part.truth.tolist()


def test_a_plan_that_could_see_private_data_is_refused() -> None:
    def differing(unit: Unit, load: int, number: int) -> Pair:
        one, _ = worst_neighbours(unit, load, "all")
        return Pair(records=(one, worst_neighbours(unit, load + 1, "all")[1]))

    case = replace(CASES["one-load"], make=differing)
    with pytest.raises(pv.InputError, match="public records of the case 'one-load' differ"):
        settle(case, pv.Auto(epsilon=1.0), "reviewer", 2)


def test_the_first_case_gets_most_draws() -> None:
    settled = [settle(CASES[case], pv.Laplace(epsilon=1.0), "reviewer", 2) for case in ("one-load", "left-out")]
    assert [_Audited(one, None, share=1).draws for one in settled] == [12_500, 25_000 // 17]
    assert _Audited(settled[1], None, share=_SHARE).draws == 1250 // 17


def simulated(name: str, epsilon: float, share: float, draws: int) -> Evidence:
    """The evidence of the first case, with simulated noise of a share of what is stated."""
    settled = settle(CASES["one-load"], mechanisms(epsilon)[name], "reviewer", 2)
    ((one,), claim), ((other,), _) = settled.prepared(0), settled.prepared(1)
    assert one.noise.settled is not None
    part = Part(one.noise.settled, one.truth.astype(float), other.truth.astype(float))
    law, rng = one.noise.settled.widened(share).law, np.random.default_rng(3)

    def drawn(truth: Floats) -> Floats:
        return truth + law.draw(rng, draws * truth.size).reshape(-1, truth.size)

    delta = 0.0 if claim.kind == "pure" else claim.delta or 0.0
    return Evidence(guarantee=claim, parts=(part,), drawn=((drawn(part.first), drawn(part.second)),), delta=delta)


@pytest.mark.parametrize(
    ("name", "epsilon", "share", "draws"),
    [
        ("laplace", 0.5, 0.5, 12_500),
        ("laplace", 1.0, 0.5, 12_500),
        ("laplace", 3.0, 0.5, 12_500),
        ("laplace", 3.0, 0.001, 12_500),
        ("histogram", 0.5, 0.5, 20_000),
        ("histogram", 1.0, 0.5, 20_000),
        ("histogram", 3.0, 0.5, 20_000),
        ("gaussian", 1.0, 0.5, 12_500),
        ("gaussian", 3.0, 0.5, 12_500),
        ("gaussian", 0.5, 0.25, 12_500),
        ("sinh-normal", 1.0, 0.05, 12_500),  # its theorem is generous: the true loss is far smaller
    ],
)
def test_releases_alone_show_that_noise_is_too_small(name: str, epsilon: float, share: float, draws: int) -> None:
    """Whatever is stated about the noise: with as many releases as an audit makes unless told otherwise."""

    def contradicted(share: float) -> bool:
        evidence = simulated(name, epsilon, share, draws)
        bounds = evidence.bounds(1e-5 / len(CASES))
        claim = evidence.guarantee
        return bounds.epsilon > evidence.claimed or bounds.rho > (claim.rho or math.inf)

    assert contradicted(share)
    assert not contradicted(1.0)


@pytest.mark.slow
def test_releases_alone_show_a_bound_without_the_left_out_term() -> None:
    sabotage = next(one for one in TERMS if one.case == "left-out" and "histogram" in one.mechanisms)
    with sabotage.applied():
        found = audit(pv.Histogram(epsilon=1.0), case="left-out", workers=1)
    assert found.epsilon > found.claimed
    assert found.worst.loss == pytest.approx(9 / 5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unit": "paper"}, "unit must be"),
        ({"load": 1}, "load must be a whole number of at least 2, got 1"),
        ({"public": "some"}, "public must be 'all' or 'none', got 'some'"),
        ({"draws": 10}, "draws must be a whole number of at least 100, got 10"),
        ({"confidence": 1.0}, "confidence must be at least 0.5 and less than 1"),
        ({"delta": 0.0}, "delta must be"),
        ({"workers": 0}, "workers must be a whole number of at least 1, got 0"),
        ({"case": "worst"}, "case must be 'all' or one of 'one-load', .*, got 'worst'"),
        ({"case": "left-out-open"}, "case 'left-out-open' is for histograms alone"),
        ({"case": "one-load", "public": "none"}, "public must fit the case 'one-load', which states 'all'"),
        ({"case": "tracks", "mechanism": pv.Auto(epsilon=1.0)}, "case 'tracks' needs a mechanism that is named"),
    ],
)
def test_what_cannot_be_audited_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(pv.InputError, match=message):
        audit(**{"mechanism": pv.Laplace(epsilon=1.0), **options})


def test_the_command_line(run: Run) -> None:
    arguments = ["audit", "--epsilon", "1", "--draws", "100", "--workers", "1"]
    shown = run(*arguments)
    assert shown.code == 0, shown.err
    assert "the claim stands" in shown.out
    assert len(shown.out.splitlines()) <= 40  # one screenful, as of other commands: each case has a line
    applies = [name for name, case in CASES.items() if not (case.counts_only or case.by)]
    assert all(case in shown.out for case in applies)
    document = json.loads(run(*arguments, "--case", applies[1], "--json").out)
    assert document["passed"] is True
    assert [one["case"] for one in document["cases"]] == [applies[1]]
    assert run("audit", "--epsilon", "1", "--rho", "1").code == 2
    planned = run(*arguments, "--mechanism", "auto", "--case", "one-load")
    assert planned.code == 0, planned.err
    with smaller_noise(1 / 16):
        caught = run(*arguments, "--case", "one-load")
    assert caught.code == 1
    assert "CONTRADICTED" in caught.out
    assert "smaller" in caught.out
