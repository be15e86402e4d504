"""Plans: their errors come true, they cost nothing private, and a release can follow them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import peerveil as pv
from cli.test_cli import Run, run
from peerveil.cli import show
from peerveil.inference.prior import prior
from peerveil.mechanisms import OwnMechanism
from peerveil.planning import plans as planning
from peerveil.planning.plans import Choice
from peerveil.planning.rehearsal import Rehearsal
from peerveil.planning.rounds import LENIENCIES
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


SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in ("beta-2-2", "beta-5-1")]


@pytest.mark.parametrize("name", ["whole scores", *SLOW])
def test_predicted_errors_come_true(name: str) -> None:
    rng = np.random.default_rng(1)
    weights = WEIGHTS if name == "whole scores" else EXPERIMENTS[name].draw(30, rng)[0]
    found = pv.plan(weights, epsilons=[1], draws=6, seed=2, workers=1)
    for choice in (found.best(1.0), found.best(1.0, guaranteed=False)):
        error = realised(weights, choice.make(), choice.estimator, seed=8, draws=40)
        assert choice.rmse / error == pytest.approx(1, abs=0.25), choice


def test_the_best_is_recommended_and_bayes_is_shown_beside_it(made: pv.Plan) -> None:
    assert made.epsilons == (1.0, 4.0)
    for epsilon, chosen in zip(made.epsilons, made.recommended, strict=True):
        at = [choice for choice in made.choices if choice.epsilon == epsilon]
        assert {choice.mechanism for choice in at} == {"laplace", "histogram"}
        assert {choice.estimator for choice in at} == {"projection", "safe", "bayes"}
        assert chosen.estimator in ("projection", "safe")
        assert chosen.rmse == min(choice.rmse for choice in at if choice.guaranteed)
        assert made.best(epsilon, guaranteed=False).rmse == min(choice.rmse for choice in at)
    assert made.recommended[1].rmse < made.recommended[0].rmse
    first = made.sentences[0]
    assert first.startswith("At epsilon 1 each rank's mean is known to about ±")
    assert f"±{made.recommended[0].rmse:.2g} ({made.recommended[0].title}, " in first


def test_what_public_data_alone_tell_is_what_a_tiny_budget_buys(made: pv.Plan) -> None:
    tiny = pv.plan(WEIGHTS, epsilons=[1e-6], mechanisms=["laplace"], estimators=["bayes"], draws=3, seed=5, workers=1)
    assert tiny.alone == made.alone
    assert tiny.choices[0].rmse == pytest.approx(made.alone, rel=0.1)
    assert f"the expected error of a guess from public data is ±{made.alone:.2g}" in made.assumption


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
    found = pv.plan(WEIGHTS, epsilons=[1], delta=1e-6, draws=2, workers=1)
    gaussian = [choice for choice in found.choices if choice.mechanism == "gaussian"]
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


def test_a_public_record_will_do() -> None:
    rng = np.random.default_rng(1)
    conference = synthetic_conference(reviewers=24, rng=rng)
    record = pv.read(conference.frame(), scale=conference.scale).public("all")
    found = pv.plan(record, quantity="miscalibration", epsilons=[1], draws=2, workers=1)
    assert found.quantity == "miscalibration"
    assert found.unit == "reviewer"
    assert f"±{found.recommended[0].rmse:.2g} points" in found.sentences[0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epsilons": []}, "at least one"),
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


def test_nothing_to_plan_where_the_record_tells_all() -> None:
    with pytest.raises(pv.InputError, match="nothing to plan"):
        pv.plan(pv.PublicWeights.from_rows([[1.0, 2.0], [3.0, 4.0]], load=1))
    with pytest.raises(pv.InputError, match="is not in the plan"):
        pv.plan(WEIGHTS, epsilons=[1], draws=1, workers=1).best(2.0)


@pytest.fixture(scope="module")
def conference() -> pv.Reviews:
    invented = synthetic_conference(reviewers=40, rng=np.random.default_rng(2))
    return pv.read(invented.frame(), scale=invented.scale)


def test_a_release_may_leave_the_mechanism_to_a_plan(conference: pv.Reviews) -> None:
    released = pv.release(conference, public="all", mechanism=pv.Auto(epsilon=2.0))
    choice = pv.Auto(epsilon=2.0).choose(pv.weigh(conference.public("all"), "ratings"))
    assert released.mechanism["name"] == choice.mechanism
    assert released.estimator == choice.estimator
    assert released.guarantee.epsilon == 2.0
    assert "The mechanism was chosen by a plan made from public data alone." in released.notes
    asked = pv.release(conference, public="all", mechanism=pv.Auto(epsilon=2.0), estimator="projection")
    assert asked.estimator == "projection"


def test_a_choice_and_its_bins_are_the_same_for_every_assignment(conference: pv.Reviews) -> None:
    """Reviewers exchange all they hold: the public record stays, and with it everything that is chosen."""
    columns = {"paper": [], "reviewer": [], "score": []}  # type: ignore[var-annotated]
    invented = synthetic_conference(reviewers=40, rng=np.random.default_rng(2))
    given = invented.columns()
    names = sorted(set(map(str, given["reviewer"])))
    others = dict(zip(names, np.random.default_rng(9).permutation(names).tolist(), strict=True))
    for paper, reviewer, score in zip(given["paper"], given["reviewer"], given["score"], strict=True):
        columns["paper"].append(paper)
        columns["reviewer"].append(others[str(reviewer)])
        columns["score"].append(score)
    # Besides, scores within each paper change hands.
    for paper in set(columns["paper"]):
        rows = [row for row, name in enumerate(columns["paper"]) if name == paper]
        scores = [columns["score"][row] for row in rows]
        for row, score in zip(rows, scores[1:] + scores[:1], strict=True):
            columns["score"][row] = score
    other = pv.Reviews.from_columns(*columns.values(), scale=invented.scale)
    one, two = (pv.release(reviews, public="all", mechanism=pv.Auto(epsilon=2.0)) for reviews in (conference, other))
    assert one.mechanism == two.mechanism
    assert one.estimator == two.estimator
    counted = [pv.release(r, public="all", mechanism=pv.Histogram(epsilon=1.0)).histogram for r in (conference, other)]
    assert counted[0] is not None
    assert counted[1] is not None
    assert counted[0].bins.low.tolist() == counted[1].bins.low.tolist()


PUBLIC = "paper,ratings\n" + "".join(f"p{i},{1 + i % 9};{2 + i % 7};{3 + i % 5}\n" for i in range(12))


def test_the_command_tells_and_writes(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(show.out, "width", 80)  # as most terminals have
    (tmp_path / "scores.csv").write_text(PUBLIC)
    options = ["plan", "scores.csv", "--load", "3", "--epsilon", "1,3", "--draws", "2", "--workers", "1"]
    told = run(*options, "-o", "plan")
    assert told.code == 0, told.err
    assert "At epsilon 3 each rank's mean is known to about ±" in told.out
    marked = [line for line in told.out.splitlines() if line.startswith(">") and "recommended" not in line]
    assert len(marked) == 2
    assert all(line.count("±") == 2 and " to " in line for line in marked)
    assert {path.name for path in (tmp_path / "plan").iterdir()} == {"plan.json", "plan.csv", "plan.svg"}
    document = json.loads((tmp_path / "plan" / "plan.json").read_text())
    again = run(*options, "--json")
    assert json.loads(again.out) == document
    assert [choice["epsilon"] for choice in document["recommended"]] == [1.0, 3.0]
    assert "svg" in (tmp_path / "plan" / "plan.svg").read_text()
    refused = run("plan", "scores.csv", "--load", "3", "--epsilon", "one")
    assert refused.code == 2
    assert "--epsilon must be numbers" in refused.err


def test_the_command_line_takes_auto(run: Run, tmp_path: Path) -> None:
    conference = synthetic_conference(reviewers=12, rng=np.random.default_rng(1))
    conference.write_csv(tmp_path / "conference.csv")
    options = ["release", "conference.csv", "--public", "all", "--score-scale", "1,10", "--mechanism", "auto"]
    done = run(*options, "--epsilon", "1", "-o", "auto", "--json")
    assert done.code == 0, done.err
    assert any("chosen by a plan" in note for note in json.loads(done.out)["notes"])
    refused = run(*options, "--noise-scale", "1", "-o", "other")
    assert refused.code == 2
    assert "--mechanism auto goes with a budget" in refused.err
    assert run("audit", "--mechanism", "auto", "--noise-scale", "1").code == 2


def test_a_batch_plans_away_from_the_reviews(run: Run, tmp_path: Path) -> None:
    conference = synthetic_conference(reviewers=12, rng=np.random.default_rng(1))
    conference.write_csv(tmp_path / "conference.csv")
    venue = '[[venue]]\nname = "a"\nfile = "conference.csv"\npublic = "all"\nmechanism = "auto"\nepsilon = 1\n'
    (tmp_path / "venues.toml").write_text(venue + "score-scale = [1, 10]\n")
    done = run("batch", "venues.toml", "-o", "out")
    assert done.code == 0, done.out
    assert any("chosen by a plan" in note for note in pv.Release.load(tmp_path / "out" / "a").notes)


def test_a_plan_of_one_draw_is_written_without_standard_errors(tmp_path: Path) -> None:
    single = pv.plan(WEIGHTS, epsilons=[1, 3], mechanisms=["laplace"], draws=1, workers=1)
    assert np.isnan(single.choices[0].rmse_error)
    write_plan(single, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(FILES)
    text = (tmp_path / "plan.json").read_text(encoding="utf-8")
    assert "NaN" not in text
    assert json.loads(text)["choices"][0]["rmse_error"] is None
    assert "NaN" not in (tmp_path / "plan.svg").read_text(encoding="utf-8")
