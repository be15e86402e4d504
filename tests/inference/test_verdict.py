"""Verdicts against no release: their words, the numbers behind them, and whether they come true."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

import peerveil as pv
from bench_verdicts import outcome, right
from cli.test_cli import Run, run
from marks import slow
from peerveil.inference.family import CORRELATIONS, family_of
from peerveil.inference.gaussians import GaussianMixture
from peerveil.inference.likelihood import EntryLikelihood
from peerveil.inference.model import RecordModel
from peerveil.inference.verdict import Grounds, Verdict
from peerveil.planning.rounds import plausible
from peerveil.privacy.noise_laws import LaplaceLaw
from peerveil.simulation.conferences import synthetic_conference

__all__ = ["run"]  # a fixture

WEIGHTS = pv.PublicWeights.from_rows(np.random.default_rng(3).integers(1, 11, (20, 4)).astype(float), load=4)


@pytest.mark.promise("P-BUDGET-5")
@pytest.mark.parametrize(
    ("expected", "public", "word"),
    [
        (0.0, 1.0, "informative"),
        (0.599, 1.0, "informative"),
        (0.6, 1.0, "adds some"),
        (0.9, 1.0, "adds some"),
        (0.901, 1.0, "adds nothing"),
        (3.0, 1.0, "adds nothing"),
        (0.0, 0.0, "adds nothing"),  # the guess is exact
    ],
)
def test_words_follow_from_the_ratio(expected: float, public: float, word: str) -> None:
    verdict = Verdict.of(expected, public)
    assert verdict.word == word
    assert verdict.sentence.lower().startswith(word)
    assert ("do not spend budget on this" in verdict.sentence) == (word == "adds nothing")
    assert verdict.to_document() == {"word": word, "ratio": verdict.ratio, "sentence": verdict.sentence}


@pytest.mark.parametrize(
    ("ratio", "public", "why"),
    [
        (0.5, 0.4, ""),
        (0.9, 0.4, ""),
        (
            1.0,
            0.4,
            "With 118 reviewers, the noise of this budget leaves these numbers no better known than public data do",
        ),
        (1.0, 0.18, "Public data already tell nearly all (to ±0.18 points)."),
        (1.0, 0.19, "With 118 reviewers, the noise of this budget"),
        (1.0, 0.0, "Public data determine these numbers."),
    ],
)
def test_a_release_that_adds_nothing_is_told_why_and_what_would_help(ratio: float, public: float, why: str) -> None:
    grounds = Grounds(people="118 reviewers", public=public, span=9.0, unit=" points")
    determined = not public
    for released in (False, True):
        verdict = Verdict(ratio, released, grounds)
        confirmed = released and bool(why) and not determined
        assert verdict.why.startswith("As far as the noisy data tell, that guess is within ±0." if confirmed else why)
        assert bool(verdict.why) == bool(why)
        assert verdict.why.endswith("would tell more.") == bool(why)
        assert verdict.sentence == " ".join(filter(None, (Verdict(ratio, released).sentence, verdict.why)))


@pytest.mark.parametrize("ratio", [-0.1, math.nan, math.inf])
def test_a_ratio_of_no_errors_is_refused(ratio: float) -> None:
    with pytest.raises(pv.InputError, match="ratio"):
        Verdict(ratio)


def test_the_guess_is_the_mean_of_all_draws_by_their_probability() -> None:
    model = RecordModel(WEIGHTS, draws=7)
    total, weight = np.zeros(WEIGHTS.reviewers), 0.0
    for ensemble, chance in zip(model.ensembles, family_of(WEIGHTS).correlation_chances, strict=True):
        for vector in ensemble.vectors:
            total, weight = total + chance * vector, weight + chance
    assert len(model.ensembles) == CORRELATIONS.size
    assert model.guess == pytest.approx(total / weight)
    assert RecordModel(WEIGHTS, draws=7).guess == pytest.approx(model.guess)  # asked for before the draws


def test_the_error_without_a_release_is_that_of_vectors_drawn_from_the_posterior() -> None:
    """Averages over sampled vectors, instead of moments."""
    rng = np.random.default_rng(1)
    noisy, mechanism = np.linspace(3, 8, 20) + rng.laplace(scale=0.5, size=20), pv.Laplace(scale=0.5)
    released = pv.refine(noisy, WEIGHTS, mechanism=mechanism)
    posterior = WEIGHTS.derived(RecordModel).posterior(EntryLikelihood(noisy, LaplaceLaw(scale=0.5)))
    assert isinstance(posterior, GaussianMixture)
    chosen = rng.choice(posterior.probabilities.size, size=40_000, p=posterior.probabilities)
    sampled = posterior.means[chosen] + np.sqrt(posterior.variances[chosen]) * rng.normal(size=(chosen.size, 20))
    guess = WEIGHTS.derived(RecordModel).guess
    assert released.outlook is not None
    expected = float(np.sqrt(np.mean((sampled - guess) ** 2)))
    assert released.outlook.public_rmse == pytest.approx(expected, rel=0.01)
    stated = released.outlook.expected_rmse, released.outlook.public_rmse or 0.0
    assert released.verdict == Verdict.of(*stated, released=True)


def test_useless_noise_leaves_the_guess_and_little_noise_beats_it() -> None:
    truth, verdicts = plausible(WEIGHTS, leniency=3, draw=0, seed=1), {}
    for scale in (1000.0, 0.01):
        noisy = truth + np.random.default_rng(2).laplace(scale=scale, size=20)
        released = pv.refine(noisy, WEIGHTS, mechanism=pv.Laplace(scale=scale), estimator="bayes")
        assert released.verdict is not None
        verdicts[scale] = released.verdict
    assert verdicts[1000.0].ratio == pytest.approx(1, abs=0.02)
    assert verdicts[0.01].word == "informative"


def test_promise_release_and_report_tell_why_a_release_adds_nothing(run: Run, tmp_path: Path) -> None:
    synthetic_conference(reviewers=12, rng=np.random.default_rng(1)).write_csv(tmp_path / "conf.csv")
    options = ["conf.csv", "--public", "all", "--score-scale", "1,10", "--mechanism", "laplace", "--epsilon", "0.01"]
    before = "With 12 reviewers, the noise of this budget leaves these numbers no better known than public data do"
    after = "As far as the noisy data tell, that guess is within ±"
    for more, words in ((["--dry-run"], before), (["-o", "made"], after)):
        told = run("release", *options, *more)
        assert told.code == 0, told.err
        assert words in " ".join(told.out.replace("│", "").split())
        assert "A larger budget, more reviewers" in " ".join(told.out.replace("│", "").split())
    assert after in " ".join((tmp_path / "made" / "report.html").read_text().split())


def test_unknown_noise_has_no_verdict() -> None:
    assert pv.refine(np.linspace(3, 8, 20), WEIGHTS).verdict is None


@pytest.fixture(scope="module")
def released() -> pv.Release:
    return pv.refine(np.linspace(3, 8, 20), WEIGHTS, mechanism=pv.Laplace(scale=0.5))


def test_files_hold_it_and_are_checked(released: pv.Release) -> None:
    document = json.loads(released.to_json())
    assert released.outlook is not None
    assert document["outlook"]["public_rmse"] == released.outlook.public_rmse
    assert pv.Release.from_document(document).verdict == released.verdict
    assert pv.verify(released, WEIGHTS).verified
    for public in (None, 2 * (released.outlook.public_rmse or 0.0)):
        forged = replace(released, outlook=replace(released.outlook, public_rmse=public))
        assert pv.verify(forged, WEIGHTS).failed == ("outlook",)
    # Versions before 0.3 do not state it; with other versions of packages it is stated.
    without = replace(released, outlook=replace(released.outlook, public_rmse=None))
    without = replace(without, rendered=without.rendered | {"numpy": "1.0.0"})
    assert without.verdict is None
    assert "public_rmse" not in without.to_json()
    assert pv.verify(without, WEIGHTS).failed == ("outlook",)


@pytest.mark.parametrize("public", [-1.0, math.nan])
def test_an_error_that_is_none_is_refused(released: pv.Release, public: float) -> None:
    assert released.outlook is not None
    with pytest.raises(pv.InputError, match="public_rmse"):
        replace(released.outlook, public_rmse=public)


@pytest.mark.promise("P-README-2")
def test_it_is_told_wherever_a_release_is(run: Run, tmp_path: Path) -> None:
    synthetic_conference(reviewers=12, rng=np.random.default_rng(1)).write_csv(tmp_path / "conf.csv")
    options = ["conf.csv", "--public", "all", "--score-scale", "1,10", "--mechanism", "laplace", "--epsilon", "8"]
    shown = run("release", *options, "-o", "shown")
    assert shown.code == 0, shown.err
    release = pv.Release.load(tmp_path / "shown")
    assert release.verdict is not None
    text = " ".join(shown.out.replace("│", "").split())
    report = " ".join((tmp_path / "shown" / "report.html").read_text().split())
    for told in (text, report):
        assert release.verdict.sentence in told
        assert "Epsilon 8 promises little" in told
        assert "never less accurate than the noise alone" in told
    assert release.verdict.sentence in release._repr_html_()
    facts = json.loads(run("release", *options, "-o", "json", "--json", "--no-report").out)
    again = pv.Release.load(tmp_path / "json").verdict
    assert again is not None
    assert facts["verdict"] == again.to_document()
    assert facts["caution"] == release.caution
    venue = '[[venue]]\nname = "a"\nfile = "conf.csv"\npublic = "all"\nmechanism = "laplace"\nepsilon = 1\n'
    (tmp_path / "venues.toml").write_text(venue + "score-scale = [1, 10]\n")
    batch = run("batch", "venues.toml", "-o", "out", "--no-report")
    assert batch.code == 0, batch.out
    one = pv.Release.load(tmp_path / "out" / "a")
    assert one.verdict is not None
    assert json.loads((tmp_path / "out" / "batch.json").read_text())["outcomes"][0]["verdict"] == one.verdict.word
    assert f"{one.verdict.word}: 1 (a)" in batch.out
    assert not one.caution


def check_verdicts(number: int, *, most: int, planned: bool) -> None:
    """At least nine of ten verdicts come true, as far as so few can tell."""
    outcomes = [outcome(np.random.SeedSequence([1, k]), most=most, planned=planned) for k in range(number)]
    for word in ("informative", "adds nothing"):
        held = [right(word, one.realised) for one in outcomes if one.after.word == word]
        assert len(held) >= number / 10
        assert binom.cdf(sum(held), len(held), 0.9) > 0.05, (word, sum(held), len(held))


@pytest.mark.parametrize("number", [slow(14), slow(28)])
def test_verdicts_come_true(number: int) -> None:
    check_verdicts(number, most=3_000, planned=False)


@pytest.mark.promise("P-BUDGET-5")
@pytest.mark.slow
def test_verdicts_come_true_for_conferences_of_all_sizes() -> None:
    check_verdicts(100, most=3_000, planned=True)
