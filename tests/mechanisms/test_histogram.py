"""The histogram: bins from public data alone, counts back to vectors, and never worse than the histogram alone."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

import peerveil as pv
from cli.test_cli import Run, files, run
from made_up import few_draws
from marks import mostly_slow
from peerveil.inference.count_posterior import CountLikelihood
from peerveil.inference.model import RecordModel
from peerveil.mechanisms.bin_choice import bins_of, default_number
from peerveil.planning.rehearsal import Rehearsal
from peerveil.privacy.bins import MOST, Bins, NoisyCounts, attainable_means, fitted_counts
from peerveil.privacy.noise_laws import DiscreteLaplaceLaw
from peerveil.privacy.sensitivity import NONE, Sensitivity, sensitivity
from peerveil.private import noise
from peerveil.private.noise import Prepared
from peerveil.private.release import prepare_release
from peerveil.private.true_vector import true_vector
from peerveil.record.public_record import Floats, Ints
from reference.leniency import lean
from reference.theta import assignments, means
from strategies import PAPERS, Case, cases, hidden_cases, hidden_variants, visible

__all__ = ["files", "run"]  # fixtures

UNIT = Sensitivity(l1=1.0, l2=1.0, linf=1.0, counts=6)


def protectable(case: Case) -> bool:
    """Whether a release of it is possible: somebody to hide among, and numbers that floating point can part."""
    low, high = case.weights().span
    return case.reviewers > 1 and not 0 < high - low < 1e-90


# Bins


@given(cases(most_reviews=7), st.sampled_from([2, 3, 7, MOST]))
@settings(max_examples=60)
def test_every_mean_of_every_assignment_has_its_bin(case: Case, number: int) -> None:
    weights = case.weights()
    bins = bins_of(few_draws(weights, 5), number)
    assert bins.number <= number
    width = float(bins.high[-1] - bins.low[0])
    slack = 1e-9 * width + 1e-12 * float(np.abs(bins.high).max())
    for assignment in list(assignments(case.rows, case.loads))[:100]:
        found = np.array([float(x) for x in means(case.rows, assignment, case.loads)])
        place = bins.place(found)
        assert (bins.low[place] - slack <= found).all()
        assert (found <= bins.high[place] + slack).all()
        assert bins.counts(found).sum() == found.size


@given(cases(most_reviews=7))
@settings(max_examples=100)
def test_attainable_means_are_all_that_can_occur(case: Case) -> None:
    attainable = attainable_means(case.weights(), 1000)
    assume(attainable is not None)
    assert attainable is not None
    slack = 1e-9 * max(1e-300, float(attainable[-1] - attainable[0])) + 1e-12 * float(np.abs(attainable).max())
    for assignment in list(assignments(case.rows, case.loads))[:50]:
        for mean in means(case.rows, assignment, case.loads):
            assert np.abs(attainable - float(mean)).min() <= slack


def test_whole_scores_have_a_bin_for_each_mean() -> None:
    rows = [[1, 10], [1, 10], [2, 9], [5, 5], [1, 10], [1, 10]]
    one_load = bins_of(pv.PublicWeights.from_rows(rows, load=4), 37)
    assert one_load.low.tolist() == one_load.high.tolist() == np.arange(1, 10.01, 0.25).tolist()
    mixed = bins_of(pv.PublicWeights.from_rows(rows, loads={1: 2, 2: 2, 3: 2}), MOST)
    halves = set(np.arange(1, 10.01, 0.5).round(9)) | {round(1 + k / 3, 9) for k in range(28)}
    assert set(mixed.low.round(9)) == halves
    hidden = pv.PublicRecord.from_rows([[None, 3], [4, 5]], load=2, scale=(1, 10))
    bins = bins_of(pv.weigh(hidden), 30)
    assert (bins.high > bins.low).all()  # nobody said that hidden scores are whole


@pytest.mark.parametrize("whole", [True, False])
def test_bins_are_fine_where_means_are(whole: bool) -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(5.5, 1.3, (200, 3))
    weights = pv.PublicWeights.from_rows(np.clip(np.rint(x), 1, 10) if whole else x, load=3)
    before, ensemble = bins_of(weights, 5), weights.derived(RecordModel).ensembles[3]
    for number in (8, 14):
        bins = bins_of(weights, number)
        assert before.number < bins.number <= number
        before = bins
        least, greatest = np.sort(weights.low)[:3].mean(), np.sort(weights.low)[-3:].mean()
        assert bins.low[0] <= least + 1e-9
        assert bins.high[-1] >= greatest - 1e-9
        width, share = bins.high - bins.low, bins.counts(ensemble.vectors).mean(axis=0) / 200
        middle = int(np.argmax(share))
        assert width[middle] < 0.5 * width[0]
        assert width[middle] < 0.5 * width[-1]
        # Where entries are thought to be in a bin is where they are on average.
        counts = np.rint(bins.counts(ensemble.vectors).mean(axis=0)).astype(np.int64)
        off = bins.vector(counts, 200) - ensemble.mean
        assert np.sqrt(np.mean(off**2)) < 0.15


@pytest.mark.parametrize("factor", [1e-80, 1e-9, 1.0, 1e9, 1e80])
@pytest.mark.parametrize("offset", [0.0, -3.0, 7.5])
def test_bins_follow_the_scale(factor: float, offset: float) -> None:
    rows = np.array([[1, 4], [2, 2], [3, 1], [4, 4]]) + offset
    plain, scaled = (bins_of(pv.PublicWeights.from_rows(x, load=2), 7) for x in (rows, rows * factor))
    np.testing.assert_allclose(scaled.low, plain.low * factor, rtol=1e-12, atol=1e-12 * factor)


def test_numbers_that_are_too_fine_for_bins_are_refused() -> None:
    plain = pv.PublicWeights.from_rows([[1.0, 1.0], [1.0, 1.0]], load=2)
    weights = replace(plain, high=plain.low + 4e-16, hidden_span=1e-15)
    with pytest.raises(pv.InputError, match="cannot be told apart"):
        bins_of(weights, 64)


def test_more_reviewers_or_less_noise_make_more_bins() -> None:
    assert default_number(2863, 10.0) < default_number(2863, 1.0) < default_number(28_630, 1.0)
    assert default_number(1, 1e9) == 2
    assert default_number(10**6, 1e-6) == MOST


@pytest.mark.parametrize("number", [0, 1, -3, 2.5, True, 5000])
def test_numbers_of_bins_that_make_no_sense_are_refused(number: int) -> None:
    with pytest.raises(pv.InputError, match="bins must be a whole number between 2 and 4096"):
        pv.Histogram(epsilon=1.0, bins=number)
    with pytest.raises(pv.InputError, match="bins must be"):
        bins_of(pv.PublicWeights.from_rows([[1, 2]], load=1), number)


def test_bins_that_make_no_sense_are_refused() -> None:
    for low, high in (([], []), ([1.0, 1.0], [1.0, 1.0]), ([1.0, 2.0], [2.5, 3.0]), ([2.0], [1.0]), ([np.nan], [1.0])):
        ends = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
        with pytest.raises(pv.InputError, match=r"bins must|to 4096 bins"):
            Bins(*ends, ends[0][:, None])
    for inside in ([[0.5]], [[2.5]], [[1.6, 1.4]]):
        with pytest.raises(pv.InputError, match="places inside bins must"):
            Bins(np.array([1.0]), np.array([2.0]), np.array(inside))
    with pytest.raises(pv.InputError, match="2 whole numbers"):
        NoisyCounts(bins=Bins.even(np.array([1.0, 2.0]), np.array([1.0, 2.0])), counts=np.array([1.0, 2.0]))


@pytest.mark.promise("P-PUBLIC-4")
@given(case=cases(most_reviews=7).filter(protectable), number=st.sampled_from([None, 2, 5]))
@settings(max_examples=8)
def test_bins_and_all_else_do_not_depend_on_the_assignment(case: Case, number: int | None) -> None:
    """Two assignments with one public part, the same noisy counts: the same bins, the same bytes."""
    scores = [x for row in case.rows for x in row]
    papers = [PAPERS[p] for p, row in enumerate(case.rows) for _ in row]
    listed = list(assignments(case.rows, case.loads))
    seen: set[str] = set()

    def fixed(_: Prepared, counts: Ints) -> Ints:
        assert counts.sum() == case.reviewers
        return np.arange(counts.size)[::-1] - 1

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Prepared, "draw_counts", fixed)
        for quantity in ("ratings", "miscalibration"):
            seen.clear()
            for assignment in (listed[0], listed[-1], listed[len(listed) // 2]):
                reviews = pv.Reviews.from_columns(papers, [f"r{j}" for row in assignment for j in row], scores)
                made = pv.release(
                    reviews,
                    public="all",
                    quantity=quantity,
                    mechanism=pv.Histogram(epsilon=1.0, bins=number),
                    lone="zero",
                )
                document = json.loads(made.to_json())
                del document["created"], document["digest"]  # which holds the time, too
                seen.add(json.dumps(document))
            assert len(seen) == 1


@pytest.mark.promise("P-PUBLIC-2")
@given(pair=hidden_cases().filter(lambda pair: pair[0].reviewers > 1))
@settings(max_examples=6)
def test_hidden_scores_do_not_shape_bins(pair: tuple[Case, list[list[bool]]]) -> None:
    case, hidden = pair
    papers = [PAPERS[p] for p, row in enumerate(case.rows) for _ in row]
    variants = list(hidden_variants(case.rows, hidden, [1, 3]))
    listed = list(assignments(case.rows, case.loads))
    record = pv.PublicRecord.from_rows(
        [[None if h else x for x, h in zip(r, f, strict=True)] for r, f in zip(case.rows, hidden, strict=True)],
        papers=PAPERS[: len(case.rows)],
        loads=case.stated(),
        scale=(1, 3),
    )
    found = set()
    for assignment, filled in ((listed[0], variants[0]), (listed[-1], variants[-1])):
        reviews = pv.Reviews.from_columns(
            papers, [f"r{j}" for row in assignment for j in row], [x for row in filled for x in row], scale=(1, 3)
        )
        for public in (record, "none"):
            made = prepare_release(
                reviews, public=public, quantity="ratings", mechanism=pv.Histogram(epsilon=1.0), unit="reviewer"
            ).draw()
            assert isinstance(made.noisy, NoisyCounts)
            bins = made.noisy.bins
            found.add((public == "none", tuple(bins.low), tuple(bins.high), tuple(bins.inside.ravel())))
    assert len(found) == 2


# Counts and vectors


@given(st.lists(st.integers(-50, 60), min_size=1, max_size=8), st.integers(1, 40))
@settings(max_examples=150)
def test_fitted_counts_are_the_nearest(counts: list[int], total: int) -> None:
    noisy = np.array(counts, dtype=np.float64)
    fitted = fitted_counts(noisy, total)
    assert (fitted >= 0).all()
    assert fitted.sum() == pytest.approx(total)
    # No feasible direction leads nearer: moving weight from one bin to another does not help.
    off = fitted - noisy
    for i, j in product(range(noisy.size), repeat=2):
        if fitted[i] > 1e-9:
            assert off[i] <= off[j] + 1e-9


def slow_vector(bins: Bins, counts: Floats, entries: int) -> Floats:
    """The quantile function on a fine grid of ranks."""
    fitted = fitted_counts(counts, entries)
    ranks = (np.arange(entries * 2000) + 0.5) / 2000
    ends = np.cumsum(fitted)
    bin_ = np.minimum(np.searchsorted(ends, ranks), bins.number - 1)
    share = np.clip((ranks - (ends - fitted)[bin_]) / np.maximum(fitted[bin_], 1e-300), 0, 1 - 1e-9)
    places = bins.inside.shape[1]
    return np.asarray(bins.inside[bin_, (share * places).astype(int)].reshape(entries, -1).mean(axis=1))


@given(
    st.lists(st.integers(-20, 30), min_size=2, max_size=6), st.integers(1, 15), st.booleans(), st.sampled_from([0, 0.3])
)
@settings(max_examples=100)
def test_counts_become_quantiles(counts: list[int], entries: int, wide: bool, gap: float) -> None:
    low = np.arange(len(counts), dtype=np.float64) - 2
    bins = Bins.even(low, low + (1 - gap) if wide else low)
    vector = bins.vector(counts, entries)
    assert vector.shape == (entries,)
    assert (np.diff(vector) >= 0).all()
    np.testing.assert_allclose(vector, slow_vector(bins, np.array(counts, dtype=float), entries), atol=3e-3)


@given(cases(most_reviews=8))
@settings(max_examples=100)
def test_counts_without_noise_give_the_vector_back_where_bins_are_means(case: Case) -> None:
    found_means = attainable_means(case.weights(), MOST)
    assume(found_means is not None)
    bins = bins_of(case.weights(), MOST)
    truth = np.array(case.truth())
    vector = bins.vector(bins.counts(truth), truth.size)
    np.testing.assert_allclose(vector, truth, rtol=1e-12, atol=1e-12 * float(bins.high[-1] - bins.low[0]))


# Noise


@pytest.mark.promise("P-CLAIM-1")
@given(st.integers(1, 60), st.floats(1e-3, 1e3), st.integers(1, 50))
@settings(max_examples=100)
def test_the_loss_opendp_reports_is_within_the_claim(moved: int, amount: float, length: int) -> None:
    bound = replace(UNIT, counts=moved)
    for mechanism in (pv.Histogram(epsilon=amount), pv.Histogram(scale=amount)):
        prepared = noise.prepare(mechanism, bound, "reviewer", length)
        assert prepared.settled is not None
        loss = noise._DRAWS[mechanism.name](prepared.settled.law, length).loss(bound)
        claimed = prepared.guarantee.epsilon if prepared.guarantee.rho is None else prepared.guarantee.rho
        assert claimed is not None
        assert 0 < loss <= claimed
        assert claimed == pytest.approx(amount if mechanism.epsilon else moved / amount, rel=1e-12)
    back = pv.Histogram(epsilon=amount).settle(bound).guarantee(bound, "review")
    assert back.epsilon is not None
    assert amount <= back.epsilon <= amount * (1 + 1e-12)


def test_the_noise_has_its_law() -> None:
    prepared = noise.prepare(pv.Histogram(scale=1.5), UNIT, "reviewer", 4000)
    drawn = prepared.draw_counts(np.full(4000, 7)) - 7
    law = DiscreteLaplaceLaw(scale=1.5)
    edges = np.arange(-4, 5)
    chance = np.exp(law.log_density(edges.astype(float)))
    tails = (1 - chance.sum()) / 2
    seen = [(drawn < -4).sum(), *((drawn == k).sum() for k in edges), (drawn > 4).sum()]
    assert stats.chisquare(seen, 4000 * np.array([tails, *chance, tails])).pvalue > 1e-6


@pytest.mark.parametrize("scale", [0.2, 1.5, 12.0])
def test_simulated_noise_has_the_same_law(scale: float) -> None:
    law = DiscreteLaplaceLaw(scale=scale)
    numbers = np.arange(-2000, 2001)
    chance = np.exp(law.log_density(numbers.astype(float)))
    assert chance.sum() == pytest.approx(1)
    assert np.sqrt(chance @ numbers**2) == pytest.approx(law.deviation)
    drawn = law.draw(np.random.default_rng(1), 40_000)
    assert drawn.std() == pytest.approx(law.deviation, rel=0.05)
    assert (drawn == 0).mean() == pytest.approx(chance[2000], abs=0.01)


@pytest.mark.parametrize(
    "counts",
    [np.array([1, 2, 3]), np.array([1.0, 2.0]), np.array([1, -2]), np.array([[1, 2]]), np.array([0])],
)
def test_doubtful_counts_never_reach_opendp(counts: Ints, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(_: object) -> list[int]:
        raise AssertionError("reached OpenDP")

    monkeypatch.setitem(noise._DRAWS, "histogram", lambda *_: noise.Source(forbidden))
    prepared = noise.prepare(pv.Histogram(epsilon=1.0), UNIT, "reviewer", 2)
    with pytest.raises(pv.PeerveilError, match="nothing was released"):
        prepared.draw_counts(counts)
    with pytest.raises(pv.PeerveilError, match="noise is for counts"):
        prepared.draw(np.array([1.0, 2.0]))
    with pytest.raises(AssertionError):
        prepared.draw_counts(np.array([1, 2]))


def test_noise_that_whole_numbers_cannot_hold_is_refused() -> None:
    for scale in (1e13, 1e-7):
        with pytest.raises(pv.InputError, match="cannot be drawn faithfully"):
            noise.prepare(pv.Histogram(scale=scale), UNIT, "reviewer", 2)
    with pytest.raises(pv.InputError, match="which is not stated"):
        pv.Histogram(epsilon=1.0).settle(replace(UNIT, counts=None))


def test_a_public_vector_needs_no_noise() -> None:
    prepared = noise.prepare(pv.Histogram(epsilon=1.0), NONE, "reviewer", 2)
    assert prepared.draw_counts(np.array([3, 4])).tolist() == [3, 4]
    assert prepared.guarantee.epsilon == 0
    reviews = pv.Reviews.from_columns(["p", "q", "r"], ["a", "b", "c"], [3.0, 1.5, 2.0])
    made = pv.release(reviews, public="all", mechanism=pv.Histogram(epsilon=1.0, bins=2))
    assert made.values.tolist() == pytest.approx([1.5, 2.0, 3.0], abs=1e-12)
    same = pv.Reviews.from_columns(["p", "p", "q", "q"], ["a", "b", "a", "b"], [3.0] * 4)
    assert pv.release(same, public="all", mechanism=pv.Histogram(epsilon=1.0)).values.tolist() == [3.0, 3.0]


# Releases


def conference(reviewers: int = 30, load: int = 3, *, seed: int = 1) -> pv.Reviews:
    rng = np.random.default_rng(seed)
    papers = [f"p{i:03d}" for i in range(reviewers) for _ in range(load)]
    holders = [f"r{(i + d) % reviewers}" for i in range(reviewers) for d in range(load)]
    scores = rng.integers(1, 11, reviewers * load).astype(float).tolist()
    return pv.Reviews.from_columns(papers, holders, scores, scale=(1, 10))


@pytest.mark.parametrize(
    ("unit", "public", "quantity"),
    mostly_slow([*product(("reviewer", "review"), ("all", "none"), ("ratings", "miscalibration"))], 0, 3, 5, 6),
)
def test_a_release_goes_all_the_way(unit: str, public: str, quantity: str, tmp_path: Path) -> None:
    reviews = conference()
    made = pv.release(reviews, public=public, quantity=quantity, mechanism=pv.Histogram(epsilon=0.7), unit=unit)
    assert made.guarantee.epsilon == 0.7
    assert made.guarantee.unit == unit
    assert made.estimator == "safe"
    assert made.outlook is not None
    assert made.histogram is not None
    moved = 2 if unit == "review" else 4
    if public == "none" and quantity == "miscalibration":
        moved = 6 if unit == "review" else 16
    assert made.mechanism["scale"] == pytest.approx(2 * moved / 0.7)
    made.save(tmp_path / "out", report=False)
    again = pv.Release.load(tmp_path / "out")
    assert again.to_json() == made.to_json()
    # Everybody can repeat what followed the noise.
    weights = pv.weigh(reviews.public(public), quantity)
    assert pv.refine(again, weights).values.tolist() == made.values.tolist()
    assert made.histogram.vector(30).tolist() == made.noisy.tolist()
    for estimator in ("projection", "bayes"):
        other = pv.refine(again, weights, estimator=estimator)
        assert other.estimator == estimator
        assert other.guarantee == made.guarantee
        assert other.histogram is not None


def test_a_file_that_was_changed_is_refused(tmp_path: Path) -> None:
    reviews = conference()
    made = pv.release(reviews, public="all", mechanism=pv.Histogram(epsilon=1.0))
    document = json.loads(made.to_json())
    assert document["mechanism"]["bins"] is None

    def loaded(**changes: object) -> pv.Release:
        return pv.Release.from_document(document | {"histogram": document["histogram"] | changes})

    counts = document["histogram"]["counts"]
    with pytest.raises(pv.FileError, match="noisy is not the vector"):
        loaded(counts=[counts[0] + 500, *counts[1:]])
    with pytest.raises(pv.FileError, match="one entry per bin"):
        loaded(counts=counts[1:])
    with pytest.raises(pv.FileError, match="histogram"):
        loaded(counts=[0.5, *counts[1:]])
    with pytest.raises(pv.FileError, match="bins must ascend"):
        loaded(low=document["histogram"]["low"][::-1])
    with pytest.raises(pv.FileError, match="exactly if the mechanism"):
        pv.Release.from_document(document | {"histogram": None})
    with pytest.raises(pv.FileError, match="exactly if the mechanism"):
        pv.Release.from_document(document | {"mechanism": pv.Laplace(scale=1.0).describe()})
    inside = document["histogram"]["inside"]
    with pytest.raises(pv.FileError, match="one entry per bin"):
        loaded(inside=[inside[0][1:], *inside[1:]])
    with pytest.raises(pv.FileError, match="places inside bins must"):
        loaded(inside=[[x - 9 for x in row] for row in inside])


def test_a_vector_alone_does_not_tell_counts() -> None:
    weights = pv.PublicWeights.from_rows([[1, 5], [2, 2]], load=2)
    with pytest.raises(pv.InputError, match=r"refine the release\.json"):
        pv.refine([1.0, 2.0], weights, mechanism=pv.Histogram(scale=1.0))
    with pytest.raises(pv.InputError, match="law must state the noise on the vector itself"):
        pv.External(words="By us.", law=pv.Histogram(scale=1.0))


def test_the_command_line(run: Run, tmp_path: Path) -> None:
    release = ["release", "reviews.csv", "--public", "all", "--mechanism", "histogram", "--epsilon", "1"]
    done = run(*release, "--bins", "4", "--no-report", "-o", "out")
    assert done.code == 0, done.err
    document = json.loads((tmp_path / "out" / "release.json").read_text())
    assert document["mechanism"] == {"name": "histogram", "epsilon": None, "scale": 6.0, "bins": 4}
    assert len(document["histogram"]["counts"]) <= 4
    again = run(
        "refine", "out", "--public", "public.csv", "--load", "2", "--estimator", "bayes", "--no-report", "-o", "again"
    )
    assert again.code == 0, again.err
    assert json.loads((tmp_path / "again" / "release.json").read_text())["histogram"] == document["histogram"]
    simulate = ["simulate", "--public", "public.csv", "--load", "2", "--epsilon", "1", "--draws", "2", "--workers", "1"]
    done = run(*simulate, "--mechanism", "histogram", "--methods", "noisy,safe,bayes", "-o", "sim")
    assert done.code == 0, done.err
    audit = ["audit", "--mechanism", "histogram", "--epsilon", "1", "--draws", "200", "--workers", "1"]
    done = run(*audit, "--case", "mixed-loads", "--json")
    assert json.loads(done.out)["passed"] is True


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["release", "reviews.csv", "--public", "all", "--mechanism", "laplace", "--epsilon", "1", "--bins", "4"],
            "--bins does not go with laplace",
        ),
        (
            ["release", "reviews.csv", "--public", "all", "--mechanism", "histogram", "--epsilon", "1", "--bins", "1"],
            "--bins must be a whole number between 2 and 4096, got 1",
        ),
        (
            [
                "refine",
                "noisy.txt",
                "--public",
                "public.csv",
                "--load",
                "2",
                "--mechanism",
                "histogram",
                "--noise-scale=1",
            ],
            "refine the release.json",
        ),
        (["simulate", "beta-2-2", "--mechanism", "histogram"], "go with --public"),
        (
            ["simulate", "--public", "public.csv", "--load", "2", "--epsilon", "1", "--mechanism", "gaussian"],
            "--mechanism must be 'laplace' or 'histogram' in a simulation, got 'gaussian'",
        ),
    ],
)
def test_what_the_command_line_refuses(run: Run, arguments: list[str], words: str, tmp_path: Path) -> None:
    done = run(*arguments, "-o", "out")
    assert done.code == 2
    assert words in done.err
    assert not (tmp_path / "out").exists()


# Estimates


# Theorem P4, for a vector that is made of counts.
@pytest.mark.promise("P-BUDGET-3")
@given(
    cases(most_reviews=8).filter(protectable),
    st.sampled_from([0.01, 0.3, 2.0, 30.0]),
    st.sampled_from([None, 2, 6]),
    st.integers(0, 10**6),
)
@settings(max_examples=40)
def test_never_further_from_the_truth_than_the_histogram_alone(
    case: Case, scale: float, number: int | None, seed: int
) -> None:
    """On every draw, whatever the truth: all assignments' vectors are tried against the same noisy counts."""
    weights = case.weights()
    if not sensitivity(weights, "reviewer"):
        return
    rehearsal = Rehearsal.of(few_draws(weights, 10), pv.Histogram(scale=scale, bins=number))
    truth = np.array(case.truth())
    noisy = rehearsal.perturb(truth, np.random.default_rng(seed))
    answers = rehearsal.answers(noisy, ["noisy", "projection", "safe", "bayes"])
    r = answers["noisy"]
    spread = weights.span[1] - weights.span[0]
    size = max(abs(weights.span[0]), abs(weights.span[1]))
    for assignment in list(assignments(case.rows, case.loads))[:40]:
        theta = np.array([float(x) for x in means(case.rows, assignment, case.loads)])
        allowed = float(np.sum((r - theta) ** 2))
        for name in ("projection", "safe"):
            # in exact comparison, up to the round-off of means
            assert np.sum((answers[name] - theta) ** 2) <= allowed * (1 + 1e-9) + (1e-9 * spread + 1e-14 * size) ** 2


@pytest.mark.slow
@given(hidden_cases().filter(lambda pair: pair[0].reviewers > 1), st.sampled_from([0.1, 3.0]), st.integers(0, 10**6))
@settings(max_examples=12)
def test_never_further_with_hidden_scores(pair: tuple[Case, list[list[bool]]], scale: float, seed: int) -> None:
    case, hidden = pair
    weights = pv.weigh(visible(case, hidden))
    rehearsal = Rehearsal.of(few_draws(weights, 10), pv.Histogram(scale=scale))
    noisy = rehearsal.perturb(np.array(case.truth()), np.random.default_rng(seed))
    answers = rehearsal.answers(noisy, ["noisy", "projection", "safe"])
    for filled in hidden_variants(case.rows, hidden, [1, 3]):
        theta = np.array([float(x) for x in means(filled, tuple(map(tuple, case.holders)), case.loads)])
        allowed = float(np.sum((answers["noisy"] - theta) ** 2))
        for name in ("projection", "safe"):
            assert np.sum((answers[name] - theta) ** 2) <= allowed * (1 + 1e-9) + 1e-16


def world(seed: int, *, load: int = 3, reviewers: int = 400, leniency: float = 0.5) -> tuple[pv.PublicWeights, Floats]:
    rng = np.random.default_rng(seed)
    quality = rng.normal(5.5, 1.2, reviewers)
    rows = np.clip(np.rint(quality[:, None] + rng.normal(0, 1.3, (reviewers, load))), 1, 10)
    weights = pv.PublicWeights.from_rows(rows, load=load)
    return weights, lean(weights.paper, weights.low, load, leniency, rng)


def square(values: Floats, truth: Floats) -> float:
    return float(np.sum((values - truth) ** 2))


@pytest.mark.slow
def test_estimates_are_far_better_than_the_histogram_and_bands_hold() -> None:
    errors: dict[str, list[float]] = {name: [] for name in ("noisy", "projection", "safe", "bayes", "expected")}
    covered = []
    for leniency in (0.0, 0.5, 2.0):
        weights, _ = world(5, leniency=leniency)
        rehearsal = Rehearsal.of(weights, pv.Histogram(epsilon=1.0))
        for seed in range(8):
            rng = np.random.default_rng([7, seed])
            truth = lean(weights.paper, weights.low, 3, leniency, rng)
            noisy = rehearsal.perturb(truth, rng)
            found = rehearsal.estimates(noisy)
            errors["noisy"].append(square(rehearsal.noisy_vector(noisy), truth))
            for name in ("projection", "safe", "bayes"):
                errors[name].append(square(found[name].values, truth))
            outlook = found["bayes"].outlook
            assert outlook is not None
            errors["expected"].append(truth.size * outlook.expected_rmse**2)
            covered.append(np.mean((outlook.lower <= truth + 1e-9) & (truth <= outlook.upper + 1e-9)))
    mean = {name: float(np.mean(found)) for name, found in errors.items()}
    assert mean["bayes"] < mean["safe"] < mean["projection"] < mean["noisy"]
    assert mean["bayes"] < 0.6 * mean["noisy"]
    assert 0.5 * mean["bayes"] < mean["expected"] < 2.5 * mean["bayes"]
    assert np.mean(covered) > 0.85


@pytest.mark.parametrize(
    ("kind", "scale"),
    mostly_slow([*product(("two camps", "few extreme", "strong"), (0.05, 1.0, 8.0))], 0, 4, 8),
)
def test_worlds_that_the_prior_does_not_know(kind: str, scale: float) -> None:
    """With little noise the counts are followed, whatever the prior says; with much, `safe` still beats projection."""
    safe: list[float] = []
    projection: list[float] = []
    bayes: list[float] = []
    for seed in range(4 if scale < 0.1 else 10):
        rng = np.random.default_rng([3, seed])
        n, load = 150, 3
        lenient = {
            "two camps": np.where(rng.random(n) < 0.5, -1.5, 1.5),
            "few extreme": np.where(rng.random(n) < 0.05, rng.choice((-5.0, 5.0), n), 0.0),
            "strong": 2 * rng.standard_normal(n),
        }[kind]
        holder = (np.arange(n)[:, None] + rng.permutation(n)[:load]) % n
        x = np.clip(np.rint(5.5 + rng.normal(0, 1, (n, 1)) + lenient[holder] + rng.normal(0, 1, (n, load))), 1, 10)
        truth = np.sort(np.bincount(holder.ravel(), weights=x.ravel()) / load)
        weights = pv.PublicWeights.from_rows(x, load=load)
        rehearsal = Rehearsal.of(few_draws(weights, 30), pv.Histogram(scale=scale))
        answers = rehearsal.answers(rehearsal.perturb(truth, rng), ["projection", "safe", "bayes"])
        for name, errors in (("safe", safe), ("projection", projection), ("bayes", bayes)):
            errors.append(square(answers[name], truth))
    if scale < 0.1:
        assert max(safe) < 1e-6 * n
        assert max(bayes) < 0.05
    else:
        assert np.mean(safe) < np.mean(projection)


def test_the_posterior_of_counts_against_brute_force() -> None:
    """Two bins, one load: the number below the cut is one number; its posterior follows by summation."""
    rng = np.random.default_rng(2)
    weights = pv.PublicWeights.from_rows(rng.random((200, 2)), load=2)
    bins = bins_of(weights, 2)
    prior = RecordModel(weights, draws=60).count_prior(bins)
    law = DiscreteLaplaceLaw(scale=5.0)
    seen = NoisyCounts(bins=bins, counts=np.array([90, 118]))
    posterior = prior.posterior(CountLikelihood(seen, law))
    assert posterior is not None
    below = posterior.below.means[:, -1]
    assert ((below > 199) & (below <= 200)).all()  # the total is known; the last step is in the middle of a cell
    at_cut = posterior.below.means[:, posterior.width.size // 2 - 1]
    mean = float(posterior.below.probabilities @ at_cut)
    assert 84 < mean < 95
    assert (np.diff(posterior.mean) >= 0).all()
    lower, upper = posterior.band(0.9)
    assert (lower <= upper).all()
    assert (lower <= posterior.mean + 1e-9).mean() > 0.95


def test_a_flat_prior_leaves_counts_as_they_are_and_entries_follow() -> None:
    """Whatever the laws, the expected entries are those of the expected counts when these are certain."""
    weights, truth = world(9, reviewers=120)
    bins = bins_of(weights, 28)
    assert (bins.low == bins.high).all()
    prior = RecordModel(weights).count_prior(bins)
    seen = NoisyCounts(bins=bins, counts=bins.counts(truth))
    posterior = prior.posterior(CountLikelihood(seen, DiscreteLaplaceLaw(scale=0.01)))
    assert posterior is not None
    np.testing.assert_allclose(posterior.mean, truth, atol=0.02)
    assert posterior.variance.sum() < 0.1


def test_noise_beyond_all_bounds_gives_the_prior_rather_than_nonsense() -> None:
    weights, truth = world(4, reviewers=60)
    for scale in (1e-5, 1e9, 1e12):
        rehearsal = Rehearsal.of(few_draws(weights, 10), pv.Histogram(scale=scale))
        noisy = rehearsal.perturb(truth, np.random.default_rng(1))
        for found in rehearsal.answers(noisy, ["noisy", "safe", "bayes"]).values():
            assert np.isfinite(found).all()


@given(cases(most_reviews=8).filter(protectable))
@settings(max_examples=8)
def test_rehearsed_and_real_releases_are_made_alike(case: Case) -> None:
    """The same noisy counts give the same values in a rehearsal and in a refinement of a release."""
    reviews = pv.Reviews.from_columns(*case.columns())
    weights = pv.weigh(reviews.public("all"))
    if not sensitivity(weights, "reviewer"):
        return
    rehearsal = Rehearsal.of(weights, pv.Histogram(epsilon=1.0))
    made = pv.release(reviews, public="all", mechanism=pv.Histogram(epsilon=1.0))
    assert made.histogram is not None
    assert made.mechanism == rehearsal.mechanism.describe()
    truth = true_vector(reviews, "ratings")
    assert rehearsal.bins is not None
    assert rehearsal.bins.same(made.histogram.bins)
    assert rehearsal.bins.counts(truth).sum() == truth.size
    np.testing.assert_array_equal(rehearsal.answers(made.histogram, ["safe"])["safe"], made.values)


def test_vector_noise_is_rehearsed_too() -> None:
    weights, truth = world(3, reviewers=40)
    rng = np.random.default_rng(1)
    rehearsal = Rehearsal.of(weights, pv.Laplace(epsilon=1.0))
    noisy = rehearsal.perturb(truth, rng)
    assert not isinstance(noisy, NoisyCounts)
    answers = rehearsal.answers(noisy, ["noisy", "baseline", "projection", "tight", "safe"])
    assert answers["projection"].tolist() == answers["tight"].tolist()
    again = pv.refine(noisy, weights, mechanism=rehearsal.mechanism)
    np.testing.assert_array_equal(answers["safe"], again.values)
    assert square(answers["tight"], truth) <= square(answers["baseline"], truth) <= square(answers["noisy"], truth)
    with pytest.raises(pv.InputError, match="region must be one of"):
        rehearsal.answers(noisy, ["magic"])
    with pytest.raises(pv.InputError, match="alone determines the means"):
        Rehearsal.of(pv.PublicWeights.from_rows([[1, 2]], load=1), pv.Laplace(epsilon=1.0))


@pytest.mark.data("iclr2021.csv")
def test_a_large_conference(data: Path) -> None:
    """ICLR 2021, one draw at each leniency: far below what noise on the vector allows, in every one."""
    weights = pv.weigh(pv.read_public(data / "iclr2021.csv", load=4))
    rehearsal = Rehearsal.of(weights, pv.Histogram(epsilon=1.0))
    assert rehearsal.bins is not None
    assert rehearsal.bins.number == 13
    safe, bayes = [], []
    for leniency in (0.0, 0.4, 0.9, 2.0):
        rng = np.random.default_rng([2, int(10 * leniency)])
        truth = lean(weights.paper, weights.low, 4, leniency, rng)
        answers = rehearsal.answers(rehearsal.perturb(truth, rng), ["noisy", "safe", "bayes"])
        assert square(answers["safe"], truth) <= square(answers["noisy"], truth)
        safe.append(square(answers["safe"], truth))
        bayes.append(square(answers["bayes"], truth))
    assert np.mean(safe) < 60
    assert np.mean(bayes) < 28
