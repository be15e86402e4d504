"""Plans: their errors come true, they cost nothing private, and a release can follow them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import peerveil as pv
from cli.test_cli import Run, run
from peerveil.cli import show
from peerveil.inference.prior import prior
from peerveil.inference.verdict import PROMISES, Verdict, short
from peerveil.mechanisms import OwnMechanism
from peerveil.planning import plans as planning
from peerveil.planning.choices import Choice
from peerveil.planning.rehearsal import Rehearsal
from peerveil.planning.rounds import LENIENCIES
from peerveil.privacy.guarantee import caution
from peerveil.record.public_record import Floats
from peerveil.releases.plan_files import FILES, write_plan
from peerveil.releases.refinement import assemble
from peerveil.simulation.conferences import synthetic_conference
from peerveil.simulation.experiments import EXPERIMENTS

__all__ = ["run"]  # a fixture


def whole_scores(papers: int = 40, load: int = 4, seed: int = 3) -> pv.PublicWeights:
    rng = np.random.default_rng(seed)
    return pv.PublicWeights.from_rows(rng.integers(1, 11, (papers, load)).astype(float), load=load)


WEIGHTS = whole_scores()


@pytest.fixture(scope="module")
def made() -> pv.Plan:
    return pv.plan(WEIGHTS, epsilons=[1, 4], draws=3, seed=5, workers=1)


def realised(weights: pv.PublicWeights, mechanism: OwnMechanism, estimator: str, seed: int, draws: int) -> float:
    """The error of releases as they are made, of invented assignments whose leniency is drawn as a plan assumes."""
    rng = np.random.default_rng(seed)
    region = pv.region(weights)
    rehearsal = Rehearsal.of(weights, mechanism)
    squares = []
    for _ in range(draws):
        dealt = np.random.SeedSequence(int(rng.integers(2**32)))
        truth = prior(weights, draws=1, seed=dealt).ensemble(float(rng.choice(LENIENCIES))).vectors[0]
        released = assemble(
            rehearsal.perturb(truth, rng),
            weights,
            mechanism=rehearsal.mechanism,
            guarantee=pv.Guarantee(kind="pure", unit="reviewer", epsilon=1.0),
            public="all scores",
            bounds=region,
            estimator=estimator,
        )
        squares.append(np.mean((released.values - truth) ** 2))
    return float(np.sqrt(np.mean(squares)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["whole scores", "beta-2-2", "beta-5-1"])
def test_predicted_errors_come_true(name: str) -> None:
    rng = np.random.default_rng(1)
    weights = WEIGHTS if name == "whole scores" else EXPERIMENTS[name].draw(30, rng)[0]
    plan = pv.plan(weights, epsilons=[1], draws=6, seed=2, workers=1)
    for choice in (plan.best(1.0), plan.best(1.0, guaranteed=False)):
        error = realised(weights, choice.make(), choice.estimator, seed=8, draws=40)
        assert choice.rmse / error == pytest.approx(1, abs=0.25), choice


def best(choices: list[Choice]) -> Choice:
    """The least error; with the default number of bins if it is as good, up to a standard error."""
    least = min(choices, key=lambda choice: choice.rmse)
    alike = [choice for choice in choices if (choice.mechanism, choice.estimator) == (least.mechanism, least.estimator)]
    usual = next(choice for choice in alike if choice.bins is None)
    return usual if usual.rmse <= least.rmse + least.rmse_error else least


def test_the_best_is_recommended_and_bayes_is_shown_beside_it(made: pv.Plan) -> None:
    assert made.epsilons == (1.0, 4.0)
    for epsilon, chosen in zip(made.epsilons, made.recommended, strict=True):
        at = [choice for choice in made.choices if choice.epsilon == epsilon]
        assert {choice.mechanism for choice in at} == {"laplace", "histogram"}
        assert {choice.estimator for choice in at} == {"projection", "safe", "bayes"}
        guaranteed = best([choice for choice in at if choice.estimator != "bayes"])
        accurate = best(at)
        assert (made.best(epsilon), made.best(epsilon, guaranteed=False)) == (guaranteed, accurate)
        assert chosen == made.choose(epsilon) == (guaranteed if guaranteed.rmse < 1.05 * accurate.rmse else accurate)
        assert made.choose(epsilon, estimator="safe").estimator == "safe"
        assert made.both(epsilon) == (f"guaranteed ±{short(guaranteed.rmse)}", f"most accurate ±{short(accurate.rmse)}")
    assert made.recommended[1].rmse < made.recommended[0].rmse


@pytest.mark.promise("P-BUDGET-4")
@pytest.mark.parametrize(("above", "estimator"), [(1.0, "safe"), (1.049, "safe"), (1.05, "bayes"), (1.5, "bayes")])
def test_the_guarantee_is_kept_where_it_costs_less_than_five_percent(above: float, estimator: str) -> None:
    safe = Choice("histogram", 9, "safe", 1.0, 0.0, above, 0.01, 0.1, 0.01, 0.1, 0.2, guaranteed=True)
    bayes = safe._replace(estimator="bayes", rmse=1.0, guaranteed=False)
    worse = safe._replace(mechanism="laplace", rmse=2.0)
    rows = {"choices": (worse, bayes, safe), "leniencies": LENIENCIES, "draws": 8, "seed": 1, "alone": 3.0}
    plan = pv.Plan(quantity="ratings", unit="reviewer", reviewers=9, **rows)  # type: ignore[arg-type]
    assert plan.choose(1.0) == (safe if estimator == "safe" else bayes)
    assert plan.recommended == (plan.choose(1.0),)
    assert plan.choose(1.0, estimator="safe") == safe
    only = pv.Plan(quantity="ratings", unit="reviewer", reviewers=9, **rows | {"choices": (bayes,)})  # type: ignore[arg-type]
    assert only.choose(1.0) == bayes
    assert only.both(1.0) == ("most accurate ±1.0",)


def test_what_public_data_alone_tell_is_what_a_tiny_budget_buys(made: pv.Plan) -> None:
    tiny = pv.plan(WEIGHTS, epsilons=[1e-6], mechanisms=["laplace"], estimators=["bayes"], draws=3, seed=5, workers=1)
    assert tiny.alone == made.alone
    assert tiny.choices[0].rmse == pytest.approx(made.alone, rel=0.1)
    assert made.answer[-2] == f"Public data alone, without any release: ±{short(made.alone)}."
    assert tiny.verdict(1e-6).word == "adds nothing"


def test_the_answer_is_errors_the_guess_and_a_verdict(made: pv.Plan) -> None:
    one, four = made.recommended
    assert made.answer[:-2] == made.sentences
    recommended = f"(recommended: {one.title}, {one.estimator})."
    assert made.sentences[0] == f"At epsilon 1, expected error of a mean: {', '.join(made.both(1.0))} {recommended}"
    assert made.verdict(1.0) == Verdict.of(one.rmse, made.alone)
    some = replace(made, choices=(one._replace(rmse=0.7), four._replace(rmse=0.45)), alone=1.0)
    assert some.advice == "Epsilon 1: adds some. Epsilon 4: informative."
    assert replace(some, alone=0.7, span=9.0).advice == (
        "Epsilon 1: adds nothing: do not spend budget on this. Epsilon 4: adds some. With 40 reviewers, the noise of "
        "epsilon 1 leaves these numbers no better known than public data do (±0.70). A larger budget, more "
        "reviewers (tracks or years together) or another quantity would tell more."
    )
    nearly_all = replace(some, alone=0.1, span=9.0)
    assert nearly_all.verdict(4.0).why.startswith("Public data already tell nearly all (to ±0.10)")
    assert nearly_all.advice.endswith(nearly_all.verdict(4.0).why)
    single = replace(some, choices=some.choices[1:])
    assert single.answer[2:] == (Verdict(0.45).sentence,)
    assert len(single.answer) == 3
    high = replace(some, choices=(four._replace(rmse=0.45, epsilon=8.0),))
    assert high.advice == f"{Verdict(0.45).sentence} {caution(8.0)}"
    assert caution(8.0).endswith("by a factor of 2,981.")


def test_errors_have_standard_errors_and_a_range(made: pv.Plan) -> None:
    for choice in made.choices:
        assert 0 < choice.rmse_error < choice.rmse
        assert choice.rmse_least <= choice.rmse <= choice.rmse_most
        assert choice.decile > 0 < choice.decile_error
    frame = made.table
    assert frame.columns == list(Choice._fields)
    assert frame.height == len(made.choices)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_the_same_seed_gives_the_same_plan(made: pv.Plan, workers: int) -> None:
    assert pv.plan(WEIGHTS, epsilons=[4.0, 1.0, 1.0], draws=3, seed=5, workers=workers).choices == made.choices
    other = pv.plan(WEIGHTS, epsilons=[1, 4], draws=3, seed=6, workers=1)
    assert other.choices != made.choices


def test_a_delta_admits_gaussian_noise_and_only_if_stated() -> None:
    plan = pv.plan(WEIGHTS, epsilons=[1], delta=1e-6, estimators=["projection"], draws=1, workers=1)
    assert {choice.mechanism for choice in plan.choices} == {"gaussian", "histogram", "laplace"}
    gaussian = [choice for choice in plan.choices if choice.mechanism == "gaussian"]
    assert {choice.delta for choice in gaussian} == {1e-6}
    assert gaussian[0].make() == pv.Gaussian(epsilon=1.0, delta=1e-6)
    with pytest.raises(pv.InputError, match="give delta="):
        pv.plan(WEIGHTS, mechanisms=["gaussian"])


def test_what_is_clearly_worse_is_not_rehearsed_on_and_on() -> None:
    cheap, dear = pv.Histogram(epsilon=1.0), pv.Laplace(epsilon=1.0)
    shape = (len(LENIENCIES), 2, 2, 2)  # leniency, draw, estimator, which error
    errors: dict[OwnMechanism, Floats] = {cheap: np.full(shape, 1.0), dear: np.full(shape, 2.1)}
    assert planning._kept([cheap, dear], errors) == [cheap]
    errors[dear][..., 1, 0] = 1.9  # one estimator of it is not far off
    assert planning._kept([cheap, dear], errors) == [cheap, dear]


@pytest.mark.promise("P-BUDGET-2")
def test_a_plan_is_the_same_whoever_wrote_which_review() -> None:
    papers = [f"p{i:02d}" for i in range(24) for _ in range(3)]
    scores = [float(1 + 7 * i * i % 10) for i in range(len(papers))]
    plans = []
    for step, order in ((1, 1), (5, -1)):  # other reviewers of each paper, and the rows in another order
        people = [f"r{(i + k * step) % 24}" for i in range(24) for k in range(3)]
        columns = (column[::order] for column in (papers, people, scores))
        record = pv.Reviews.from_columns(*columns, scale=(1, 10)).public("all")  # type: ignore[arg-type]
        plans.append(pv.plan(record, epsilons=[1], mechanisms=["histogram"], draws=1, workers=1))
    assert repr(plans[0]) == repr(plans[1])


@pytest.mark.promise("P-BUDGET-2")
def test_a_public_record_will_do() -> None:
    rng = np.random.default_rng(1)
    conference = synthetic_conference(reviewers=24, rng=rng)
    record = pv.read(conference.frame(), scale=conference.scale).public("all")
    plan = pv.plan(record, quantity="miscalibration", epsilons=[1], mechanisms=["histogram"], draws=1, workers=1)
    assert plan.quantity == "miscalibration"
    assert plan.unit == "reviewer"
    assert f"most accurate ±{short(plan.best(1.0, guaranteed=False).rmse)} points (" in plan.sentences[0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epsilons": []}, "above 0, got none"),
        ({"epsilons": [0.0]}, "above 0"),
        ({"epsilons": [float("nan")]}, "epsilons"),
        ({"unit": "paper"}, "unit"),
        ({"draws": 0}, "draws"),
        ({"estimators": ["magic"]}, "estimators"),
        ({"mechanisms": ["magic"]}, "mechanisms"),
        ({"workers": 0}, "workers"),
    ],
)
def test_what_cannot_be_planned_is_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(pv.InputError, match=words):
        pv.plan(WEIGHTS, **options)  # type: ignore[arg-type]


def test_nothing_to_plan_where_the_record_tells_all(made: pv.Plan) -> None:
    with pytest.raises(pv.InputError, match="nothing to plan"):
        pv.plan(pv.PublicWeights.from_rows([[1.0, 2.0], [3.0, 4.0]], load=1))
    with pytest.raises(pv.InputError, match="is not in the plan"):
        made.best(2.0)


@pytest.fixture(scope="module")
def conference() -> pv.Reviews:
    invented = synthetic_conference(reviewers=40, rng=np.random.default_rng(2))
    return pv.read(invented.frame(), scale=invented.scale)


def note_of(release: pv.Release) -> str:
    """The note on what was chosen."""
    (note,) = (note for note in release.notes if ", chosen from public data: " in note)
    return note


def test_a_release_leaves_the_mechanism_to_a_plan(conference: pv.Reviews) -> None:
    weights = pv.weigh(conference.public("all"), "ratings")
    released = pv.release(conference, public="all", epsilon=2.0)
    planned = pv.Auto(epsilon=2.0).plan(weights)
    choice = planned.choose(2.0)
    assert choice == pv.Auto(epsilon=2.0, planned=planned).choose(weights)
    assert (released.mechanism["name"], released.estimator) == (choice.mechanism, choice.estimator)
    assert released.estimator == "bayes"  # 40 reviewers: a guarantee costs more than 5 %
    assert released.guarantee.epsilon == 2.0
    assert released.histogram is not None
    assert note_of(released) == (
        f"Histogram with {released.histogram.bins.number} bins and the estimator bayes, chosen from public data: "
        f"most accurate ±{short(choice.rmse)}, guaranteed ±{short(planned.best(2.0).rmse)}."
    )
    assert pv.verify(released, weights).verified
    asked = pv.release(conference, public="all", mechanism=pv.Auto(epsilon=2.0, planned=planned), estimator="safe")
    assert asked.estimator == "safe"
    assert "and the estimator safe, chosen from public data: guaranteed ±" in note_of(asked)
    assert pv.refine(released, weights, estimator="bayes").notes == released.notes
    again = pv.refine(released, weights)
    assert again.estimator == "safe"
    assert not any("chosen from public data" in note for note in again.notes)
    assert pv.verify(again, weights).verified


def test_a_named_mechanism_keeps_the_guarantee(conference: pv.Reviews) -> None:
    released = pv.release(conference, public="all", mechanism=pv.Histogram(epsilon=2.0))
    assert released.estimator == "safe"
    assert not any("chosen from public data" in note for note in released.notes)
    with pytest.raises(pv.InputError, match="give mechanism= or epsilon=, not both"):
        pv.release(conference, public="all", mechanism=pv.Laplace(epsilon=1.0), epsilon=1.0)
    with pytest.raises(pv.InputError, match="give a budget with epsilon="):
        pv.release(conference, public="all")


def test_nothing_is_planned_where_no_noise_is_needed() -> None:
    known = pv.Reviews.from_columns(["p", "q", "r"], ["ann", "bob", "cem"], [3, 4, 5])
    released = pv.release(known, public="all", epsilon=1.0)
    assert released.mechanism["name"] == "laplace"  # and no bins, which would lose digits
    assert released.values.tolist() == [3.0, 4.0, 5.0]


def test_a_record_without_drawn_assignments_gets_a_histogram(
    conference: pv.Reviews, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise pv.RecordError("no valid assignment was found")

    monkeypatch.setattr(planning, "plausible", fails)
    monkeypatch.setattr("peerveil.planning.rounds.plausible", fails)
    released = pv.release(conference, public="all", epsilon=1.0)
    assert (released.mechanism["name"], released.estimator) == ("histogram", "safe")
    assert any("no valid assignment was found on which to compare" in note for note in released.notes)


@pytest.mark.usefixtures("quick_plans")
def test_each_group_gets_its_own_choice_of_one_kind_of_noise(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    invented = synthetic_conference(reviewers=32, rng=rng)
    reviews = pv.read(invented.frame(), scale=invented.scale)
    tracks = {paper: f"track {number % 2}" for number, paper in enumerate(reviews.papers)}
    place = str(tmp_path / "ledger.db")
    pv.Ledger.create(place).open("conf", epsilon=10.0)
    made = pv.release_groups(reviews, tracks, public="all", epsilon=1.0, ledger=place, dataset="conf")
    assert {release.mechanism["name"] for release in made.releases.values()} == {"histogram"}
    for release in made.releases.values():
        assert release.histogram is not None
        bins = release.histogram.bins.number
        assert note_of(release).startswith(f"Histogram with {bins} bins and the estimator {release.estimator}, chosen")
    first = reviews.only([paper for paper, track in tracks.items() if track == "track 0"])
    weights = pv.weigh(first.public("all", declare_kept=True), "ratings")
    choice = pv.Auto(epsilon=1.0, mechanisms=("histogram",)).choose(weights)
    assert made.releases["track 0"].estimator == choice.estimator
    (entry,) = pv.Ledger(place).history("conf")
    assert entry.mechanism["name"] == "histogram"


PUBLIC = "paper,ratings\n" + "".join(f"p{i},{1 + i % 9};{2 + i % 7};{3 + i % 5}\n" for i in range(12))


def test_the_command_tells_and_writes(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(show.out, "width", 80)  # as most terminals have
    (tmp_path / "scores.csv").write_text(PUBLIC)
    options = ["plan", "scores.csv", "--load", "3", "--epsilon", "1,3", "--draws", "2", "--workers", "1"]
    told = run(*options, "-o", "plan")
    assert told.code == 0, told.err
    assert "At epsilon 3, expected error of a mean: guaranteed ±" in told.out
    assert "Public data alone, without any release: ±" in told.out
    assert len(told.out.splitlines()) < 12
    assert "worst decile" not in told.out
    everything = run(*options, "--all").out
    marked = [line for line in everything.splitlines() if line.startswith(">") and "recommended" not in line]
    assert len(marked) == 2
    assert all(line.count("±") == 2 and " to " in line for line in marked)
    assert {path.name for path in (tmp_path / "plan").iterdir()} == {"plan.json", "plan.csv", "plan.svg"}
    document = json.loads((tmp_path / "plan" / "plan.json").read_text())
    again = run(*options, "--json")
    assert json.loads(again.out) == document
    assert [choice["epsilon"] for choice in document["recommended"]] == [1.0, 3.0]
    for choice in document["recommended"]:
        verdict, expected = choice["verdict"], Verdict.of(choice["rmse"], document["alone"])
        assert (verdict["word"], verdict["ratio"]) == (expected.word, expected.ratio)
        assert verdict["sentence"].startswith(expected.sentence)
    assert document["answer"][:2] == document["sentences"]
    assert "public data alone" in (tmp_path / "plan" / "plan.svg").read_text()
    refused = run("plan", "scores.csv", "--load", "3", "--epsilon", "one")
    assert refused.code == 2
    assert "--epsilon must be numbers" in refused.err


@pytest.mark.usefixtures("quick_plans")
def test_the_command_line_chooses_unless_told(run: Run, tmp_path: Path) -> None:
    conference = synthetic_conference(reviewers=12, rng=np.random.default_rng(1))
    conference.write_csv(tmp_path / "conference.csv")
    options = ["release", "conference.csv", "--public", "all", "--score-scale", "1,10", "--no-report"]
    done = run(*options, "--epsilon", "1", "--json")
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["folder"] == "conference-release"
    released = pv.Release.load(tmp_path / "conference-release")
    assert document["mechanism"] == released.mechanism
    assert document["accuracy"] == PROMISES[released.estimator]
    assert any("chosen from public data" in note for note in document["notes"])
    for more in ((), ("--overwrite",)):
        refused = run(*options, "--epsilon", "1", *more)
        assert refused.code == 2
        assert "conference-release already exists; name another output folder with --output (-o)" in refused.err
    refused = run(*options, "--mechanism", "auto", "--noise-scale", "1", "-o", "other")
    assert refused.code == 2
    assert "--mechanism auto goes with a budget" in refused.err
    shown = run(*options, "--noise-scale", "1", "-o", "other", "--score-scale", "1,10")
    assert shown.code == 0, shown.err
    assert pv.Release.load(tmp_path / "other").mechanism == {"name": "laplace", "epsilon": None, "scale": 1.0}
    assert "never less accurate than the noise alone (estimator safe)" in " ".join(shown.out.replace("│", "").split())
    assert run("audit", "--mechanism", "auto", "--noise-scale", "1").code == 2


@pytest.mark.usefixtures("quick_plans")
def test_an_interrupted_release_goes_on_with_the_same_choice(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synthetic_conference(reviewers=12, rng=np.random.default_rng(1)).write_csv(tmp_path / "conference.csv")
    assert run("ledger", "open", "l.db", "--dataset", "conf", "--epsilon", "1").code == 0
    options = ["release", "conference.csv", "--public", "all", "--score-scale", "1,10", "--no-report"]
    options += ["--epsilon", "1", "--ledger", "l.db"]

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(pv.Release, "write_into", full)
        assert run(*options).code == 1
    done = run(*options)
    assert done.code == 0, done.err
    assert "charged before, nothing more was charged" in done.err
    assert len(pv.Ledger(str(tmp_path / "l.db")).history("conf")) == 1
    assert note_of(pv.Release.load(tmp_path / "conference-release"))


@pytest.mark.usefixtures("quick_plans")
def test_a_batch_plans_away_from_the_reviews(run: Run, tmp_path: Path) -> None:
    conference = synthetic_conference(reviewers=12, rng=np.random.default_rng(1))
    conference.write_csv(tmp_path / "conference.csv")
    venue = '[[venue]]\nname = "a"\nfile = "conference.csv"\npublic = "all"\nepsilon = 1\n'
    (tmp_path / "venues.toml").write_text(venue + "score-scale = [1, 10]\n")
    done = run("batch", "venues.toml", "-o", "out")
    assert done.code == 0, done.out
    assert note_of(pv.Release.load(tmp_path / "out" / "a"))


def test_a_plan_of_one_draw_is_written_without_standard_errors(tmp_path: Path) -> None:
    single = pv.plan(WEIGHTS, epsilons=[1, 3], mechanisms=["laplace"], draws=1, workers=1)
    assert np.isnan(single.choices[0].rmse_error)
    write_plan(single, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(FILES)
    text = (tmp_path / "plan.json").read_text(encoding="utf-8")
    assert "NaN" not in text
    assert json.loads(text)["choices"][0]["rmse_error"] is None
    assert "NaN" not in (tmp_path / "plan.svg").read_text(encoding="utf-8")


def test_a_plan_and_its_chart_state_the_same_error(made: pv.Plan) -> None:
    """Also where more bins are better by less than a standard error, and the default ones are recommended."""
    usual = made.choose(1.0)
    finer = usual._replace(bins=17, rmse=0.9 * usual.rmse, rmse_error=usual.rmse)
    usual = usual._replace(bins=None, mechanism="histogram")
    other = usual._replace(epsilon=4.0, rmse=usual.rmse / 4)
    plan = replace(made, choices=(usual, finer._replace(mechanism="histogram"), other))
    assert plan.choose(1.0) == usual
    shown = str(plan.plot().svg).replace("\N{NO-BREAK SPACE}", " ")
    words = " ".join(re.findall(r">([^<>]+)</(?:text|tspan)>", shown))
    assert short(finer.rmse) != short(usual.rmse)
    assert f"Expected error: {short(usual.rmse)} at epsilon 1," in words
