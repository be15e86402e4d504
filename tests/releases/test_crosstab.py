"""Releases by an attribute: estimates, files, what verify accepts, forgeries that it refuses, charges, commands."""

from __future__ import annotations

import copy
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import peerveil as pv
from cli.test_cli import Run, run
from peerveil.inference.effects.crosstabs import estimate_groups, share_deviation
from peerveil.privacy.bins import fitted_counts
from peerveil.privacy.noise_laws import DiscreteLaplaceLaw
from peerveil.private.charging import Spending
from peerveil.private.crosstabs import prepare_crosstab
from peerveil.releases.effects.crosstabs import publish
from private.test_effects import files
from releases.test_effect import FREE, changed, conference, leaves, write
from repeatable import make_repeatable

__all__ = ["run"]  # a fixture

ASKED: dict[str, dict[str, Any]] = {
    "means": {"by": "arm", "values": ("treated", "control"), "public": "all"},
    "range, others": {"by": "seniority", "values": ("senior",), "public": "all", "others": True, "statistic": "range"},
    "sizes": {"by": "seniority", "values": ("senior",), "public": "all", "others": True, "sizes": (30,)},
    "hidden": {"by": "arm", "values": ("treated", "control"), "public": "none", "unit": "review", "bins": 3},
}


def weights_of(reviews: pv.Reviews, made: pv.Crosstab, public: str) -> pv.PublicWeights:
    return pv.weigh(reviews.public(public), made.quantity)


@pytest.fixture(scope="module", params=ASKED)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pv.PublicWeights]:
    reviews, asked = conference(), ASKED[request.param]
    folder = tmp_path_factory.mktemp("crosstabs") / "out"
    release = pv.release_by(reviews, epsilon=30.0, **asked)
    release.save(folder)
    return folder, weights_of(reviews, release, asked["public"])


def test_a_written_release_is_read_as_it_was_and_verified(made: tuple[Path, pv.PublicWeights]) -> None:
    folder, weights = made
    release = pv.Crosstab.load(folder)
    assert release.intact
    assert release.to_json() == (folder / "release.json").read_text(encoding="utf-8")
    verification = pv.verify(folder, weights)
    assert verification.verified, verification.failed
    assert {check.name: check.result for check in verification.checks}["report.html"] == "holds"
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert re.findall(r"<script[^>]*>", page) == ['<script type="application/ld+json">']
    assert "<svg" in page
    frame = release.to_frame()
    assert frame.height == len(release.groups) * release.bins.number
    for group, one in zip(release.groups, release.estimated, strict=True):
        assert release[group] is one
        assert sum(one.shares) == pytest.approx(1)
        assert one.size_low <= one.size <= one.size_high
        assert all(low <= share <= high for low, share, high in zip(one.low, one.shares, one.high, strict=True))
    assert sum(one.size for one in release.estimated) == pytest.approx(weights.reviewers)
    with pytest.raises(pv.FileError, match="a release by an attribute, not of means"):
        pv.Release.load(folder)


@pytest.mark.slow
def test_every_changed_number_or_word_is_refused(made: tuple[Path, pv.PublicWeights], tmp_path: Path) -> None:
    folder, weights = made
    document = json.loads((folder / "release.json").read_text(encoding="utf-8"))
    paths = [path for path in leaves(document) if path[0] not in FREE | {"digest"}]
    assert len(paths) > 60
    for path in paths:
        forged = copy.deepcopy(document)
        place = forged
        for key in path[:-1]:
            place = place[key]
        counted = "noisy" in path
        place[path[-1]] = place[path[-1]] + 1 if counted else changed(place[path[-1]])
        write(tmp_path, forged)
        assert not pv.verify(tmp_path / "release.json", weights).verified, path


def test_consistent_forgeries_are_refused() -> None:
    reviews = conference()
    release = pv.release_by(reviews, epsilon=1.0, **ASKED["means"])
    weights = weights_of(reviews, release, "all")
    assert pv.verify(release, weights).verified
    assert pv.verify(replace(release, guarantee=replace(release.guarantee, epsilon=0.5)), weights).failed == (
        "guarantee",
    )
    unrelated = replace(release.guarantee, neighbours=replace(release.guarantee.neighbours, attributes=False))
    assert "guarantee" in pv.verify(replace(release, guarantee=unrelated), weights).failed
    facts: dict[str, Any] = {name: getattr(release, name) for name in ("mechanism", "guarantee", "public")}
    noisy = release.noisy.copy()
    noisy[0, 0] += 10_000
    absurd = publish(noisy, None, weights, release.question, **facts)
    assert pv.verify(absurd, weights).failed == ("noise",)
    spread = publish(release.noisy + 150, None, weights, release.question, **facts)  # the total is public
    assert pv.verify(spread, weights).failed == ("noise",)
    fewer = facts | {"mechanism": release.mechanism | {"scale": release.mechanism["scale"] / 2}}
    assert "guarantee" in pv.verify(publish(release.noisy, None, weights, release.question, **fewer), weights).failed
    other = pv.weigh(conference(seed=3).public("all"))
    assert pv.verify(release, other).failed == ("record",)


REFUSED = [
    ({"by": "country"}, "by must be a column of the table of attributes"),
    ({"values": ("treated",)}, "at least two different groups"),
    ({"values": ("treated", "treated")}, "at least two different groups"),
    ({"values": "treated"}, "values must be the values"),
    ({"values": ("treated", "placebo")}, "no reviewer is in the group 'placebo'"),
    ({"by": "seniority", "values": ("senior", "junior")}, "^some reviewers are in neither group"),
    ({"public": None}, "must be stated"),
    ({"epsilon": 0.0}, "epsilon must be"),
    ({"unit": "paper"}, "unit must be"),
    ({"level": 2.0}, "level must be"),
    ({"bins": 1}, "bins must be"),
]


@pytest.mark.parametrize(("other", "message"), REFUSED, ids=[message[:24] for _, message in REFUSED])
def test_what_cannot_be_released_is_refused(other: dict[str, Any], message: str) -> None:
    with pytest.raises(pv.InputError, match=message) as refused:
        pv.release_by(conference(), **{"epsilon": 1.0} | ASKED["means"] | other)
    assert "retired" not in str(refused.value)  # a value of the private table that nobody named


@pytest.mark.parametrize("name", ASKED)
def test_release_with_an_attribute_is_the_same_release(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reviews, asked = conference(), ASKED[name] | {"epsilon": 2.0, "licence": "CC0-1.0", "level": 0.8}
    make_repeatable(monkeypatch)
    first, second = pv.release(reviews, **asked), pv.release_by(reviews, **asked)
    assert first.to_json() == second.to_json()
    assert first.html() == second.html()
    noise = pv.Histogram(epsilon=asked.pop("epsilon"), bins=asked.pop("bins", None))
    assert pv.release(reviews, mechanism=noise, **asked).to_json() == first.to_json()


def test_release_with_an_attribute_charges_a_ledger_and_tells_its_caller_what_it_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = str(tmp_path / "budgets.db")
    book = pv.Ledger.create(place)
    book.open("conf", unit="reviewer", epsilon=1.0)
    asked: dict[str, Any] = {"epsilon": 1.0, "ledger": place, "dataset": "conf"} | ASKED["means"]
    with monkeypatch.context() as patch:
        patch.setattr(Spending, "done", lambda *_: pytest.fail("interrupted"))
        with pytest.raises(pytest.fail.Exception, match="interrupted"):
            pv.release(conference(), **asked)
    with pytest.warns(pv.LedgerWarning, match="charged before") as told:
        pv.release(conference(), **asked)
    assert [Path(warning.filename).name for warning in told] == [Path(__file__).name]
    (entry,) = book.history("conf")
    assert entry.quantity == "ratings by arm"


@pytest.mark.parametrize(("other", "message"), REFUSED, ids=[message[:24] for _, message in REFUSED])
def test_release_with_an_attribute_refuses_alike(other: dict[str, Any], message: str) -> None:
    with pytest.raises(pv.InputError, match=message):
        pv.release(conference(), **{"epsilon": 1.0} | ASKED["means"] | other)


NOT_FITTING = [
    ({"values": None}, "state the values of the attribute .values=.*they are published"),
    ({"region": "hull"}, "region does not go with by='arm'"),
    ({"estimator": "safe"}, "estimator does not go with by='arm'"),
    ({"name": "mine"}, "name does not go with by='arm'"),
    ({"accept_float_noise": True}, "accept_float_noise does not go with by='arm'"),
    ({"by": None}, "values goes with by="),
    ({"by": None, "values": None, "bins": 3}, "bins goes with by="),
    ({"by": None, "values": None, "sizes": np.array([1, 2])}, "sizes goes with by="),
    ({"by": None, "values": None, "others": True}, "others goes with by="),
    ({"by": None, "values": None, "level": 0.5}, "level goes with by="),
    ({"epsilon": None}, "give a budget with epsilon="),
    ({"mechanism": pv.Histogram(epsilon=1.0)}, "give mechanism= or epsilon=, not both"),
    ({"epsilon": None, "mechanism": pv.Laplace(epsilon=1.0)}, "a Histogram with both; got Laplace"),
    ({"epsilon": None, "mechanism": pv.Histogram(epsilon=1.0), "bins": 3}, "got Histogram and 3 bins"),
]


@pytest.mark.parametrize(("other", "message"), NOT_FITTING, ids=[message for _, message in NOT_FITTING])
def test_arguments_of_the_other_kind_of_release_are_refused(other: dict[str, Any], message: str) -> None:
    with pytest.raises(pv.InputError, match=message):
        pv.release(conference(), **{"epsilon": 1.0} | ASKED["means"] | other)


def test_papers_that_were_left_out_are_counted_in_the_claim() -> None:
    reviews = conference()
    part = reviews.only(reviews.papers[:60])
    release = pv.release_by(part, epsilon=1.0, **ASKED["means"])
    assert release.guarantee.neighbours.part
    assert release.outside is not None
    assert release.mechanism["scale"] == pytest.approx(2 * (1 + 4))  # 1 + min(2 b, L) reviewers, both loads at most 4
    assert pv.verify(release, pv.weigh(part.public("all"))).verified


def test_a_ledger_is_charged_once_and_an_unwritten_release_is_finished_for_free(tmp_path: Path) -> None:
    place = str(tmp_path / "budgets.db")
    book = pv.Ledger.create(place)
    book.open("conf", unit="reviewer", epsilon=1.0)
    asked = {key: value for key, value in ASKED["means"].items() if key != "statistic"}
    ready = prepare_crosstab(conference(), mechanism=pv.Histogram(epsilon=1.0), **asked)
    with Spending(place) as spending:
        first = ready.draw(spending, None)  # and not written
    with Spending(place) as spending:
        again = ready.draw(spending, None)
        spending.done("here")
    assert (again.noisy.tolist(), again.charge) == (first.noisy.tolist(), first.charge)
    again.save(tmp_path / "out" / "by")
    (entry,) = book.history("conf")
    assert (entry.quantity, entry.release) == ("ratings by arm", first.charge)
    assert entry.spend.epsilon == pytest.approx(1.0)
    assert book.check([tmp_path / "out"]).ok
    with pytest.raises(pv.BudgetError):
        pv.release_by(conference(), epsilon=1.0, ledger=place, **ASKED["means"])


def test_intervals_cover_the_true_shares_and_sizes_whatever_the_size_of_the_group() -> None:
    """Seed and sizes are fixed: 400 draws, 3 groups of which one is smaller than the noise."""
    truth = np.array([[200, 400, 300], [60, 100, 40], [6, 3, 1]])
    rng, law, total = np.random.default_rng(20261116), DiscreteLaplaceLaw(scale=10.0), int(truth.sum())
    shares, sizes = np.zeros(truth.shape), np.zeros(3)
    for _ in range(400):
        noisy = truth + law.draw(rng, truth.size).reshape(truth.shape).astype(np.int64)
        for g, one in enumerate(estimate_groups(noisy, total, 10.0, level=0.9)):
            share = truth[g] / truth[g].sum()
            shares[g] += (np.array(one.low) <= share) & (share <= np.array(one.high))
            sizes[g] += one.size_low <= truth[g].sum() <= one.size_high
    error = 3 * np.sqrt(0.9 * 0.1 / 400)
    assert (shares / 400 >= 0.9 - error).all(), shares / 400
    assert (sizes / 400 >= 0.9 - error).all(), sizes / 400
    assert (shares[0] / 400 <= 0.9 + error).all()  # no wider than needed, where the group is large


def test_intervals_of_shares_cover_where_sizes_are_public() -> None:
    """Seed and sizes are fixed: 400 draws, 3 groups of which one is smaller than the noise."""
    truth = np.array([[200, 400, 300], [60, 100, 40], [6, 3, 1]])
    rng, law = np.random.default_rng(20261117), DiscreteLaplaceLaw(scale=10.0)
    sizes = tuple(truth.sum(axis=1).tolist())
    shares = np.zeros(truth.shape)
    for _ in range(400):
        noisy = truth + law.draw(rng, truth.size).reshape(truth.shape).astype(np.int64)
        for g, one in enumerate(estimate_groups(noisy, sum(sizes), 10.0, level=0.9, sizes=sizes)):
            share = truth[g] / sizes[g]
            assert (one.size_low, one.size, one.size_high) == (sizes[g],) * 3
            assert sum(one.counts) == pytest.approx(sizes[g])
            shares[g] += (np.array(one.low) <= share) & (share <= np.array(one.high))
    error = 3 * np.sqrt(0.9 * 0.1 / 400)
    assert (shares / 400 >= 0.9 - error).all(), shares / 400
    assert (shares[:2] / 400 <= 0.9 + error).all(), shares / 400


SIZES = [
    ((31, 59), "does not have the stated numbers"),
    ((30, 61), "must add up to the 90 reviewers, got 91"),
    ((45,), "must be 2 whole numbers"),
    ((45.0, 45), "must be 2 whole numbers"),
    ((0, 90), "must be 2 whole numbers of at least 1"),
]


@pytest.mark.promise("P-EFFECT-7")
@pytest.mark.parametrize(("sizes", "message"), SIZES, ids=str)
def test_sizes_that_are_not_those_of_the_groups_are_refused(sizes: Any, message: str) -> None:
    with pytest.raises(pv.InputError, match=message) as refused:
        pv.release_by(conference(), epsilon=1.0, sizes=sizes, **ASKED["means"])
    assert "45" not in str(refused.value).replace("got (45", "")
    if len(sizes) == 2:
        with pytest.raises(pv.InputError, match=message):
            pv.effect(conference(), by="arm", compare=("treated", "control"), public="all", epsilon=1.0, sizes=sizes)


def test_sizes_go_with_whole_conferences_and_effects_with_one_load() -> None:
    reviews = conference()
    with pytest.raises(pv.InputError, match="sizes go with whole conferences"):
        pv.release_by(reviews.only(reviews.papers[:60]), epsilon=1.0, sizes=(45, 45), **ASKED["means"])
    weights = pv.PublicWeights.from_rows([[1, 2, 3], [1, 2]], loads={2: 2, 1: 1})
    with pytest.raises(pv.InputError, match="only if everybody has the same load"):
        pv.plan_effect(weights, sizes=(1, 2))


@pytest.mark.promise("P-EFFECT-7")
def test_public_sizes_are_exact_and_attributes_are_exchanged() -> None:
    asked: dict[str, Any] = {"by": "arm", "public": "all", "epsilon": 1.0, "sizes": (45, 45)}
    table = pv.release_by(conference(), values=("treated", "control"), **asked)
    assert table.mechanism["scale"] == pytest.approx(2 * (2 + 4))
    effect = pv.effect(conference(), compare=("treated", "control"), **asked)
    assert effect.estimated.sizes == (180, 180)
    assert "180 reviews by 'treated', 180 by 'control' (public)" in dict(effect.facts())["groups"]
    for made in (table, effect):
        assert made.public.endswith("and that 45 reviewers are 'treated' and 45 are 'control'")
        assert "in that reviewer's attributes, which were exchanged with another reviewer's" in made.guarantee.promise
        assert "an exchange of your attributes with another reviewer's" in made.guarantee.human
    assert "(public)" in dict(table.facts())["treated"]


def test_each_cell_of_a_two_way_table_is_within_half_a_percentage_point() -> None:
    """3,000 reviewers of load 4 at epsilon 1; 5,000 draws tell deviations to within 1.6 % (one standard error)."""
    weights = pv.PublicWeights.from_rows([[1, 2, 3, 4]] * 3000, load=4, quantity="ratings")
    plan = pv.plan_by(weights, groups=2, mechanism=pv.Histogram(epsilon=1.0))
    assert plan.scale == pytest.approx(10.0)  # 2 (1 + 4)
    rng, law = np.random.default_rng(5), DiscreteLaplaceLaw(scale=plan.scale)
    truth = np.outer([1, 2], rng.multinomial(1000, np.full(plan.bins, 1 / plan.bins)))
    noisy = truth.ravel() + law.draw(rng, 5000 * truth.size).reshape(5000, -1)
    estimated = np.array([fitted_counts(row, 3000) for row in noisy])
    groups = estimate_groups(noisy[0].reshape(truth.shape).astype(np.int64), 3000, plan.scale, level=0.9)
    assert [x for one in groups for x in one.counts] == estimated[0].tolist()  # what a release states
    deviation = np.sqrt(np.mean((estimated - truth.ravel()) ** 2, axis=0)) / 3000
    print(f"{truth.size} cells: deviations of {100 * deviation.min():.3f} to {100 * deviation.max():.3f} points")  # noqa: T201
    assert deviation.max() <= 0.005, deviation
    assert deviation.max() >= 0.003  # the noise is there


def test_the_plan_states_the_deviation_of_shares() -> None:
    rng, bins, scale, size = np.random.default_rng(8), 6, 10.0, 600
    noise = DiscreteLaplaceLaw(scale=scale).draw(rng, bins * 20_000).reshape(-1, bins)
    noisy = size / bins + noise
    spread = float(np.std((noisy[:, 0] - noisy.sum(axis=1) / bins) / size))
    assert share_deviation(size, bins, scale) == pytest.approx(spread, rel=0.02)
    weights = pv.PublicWeights.from_rows([[1, 2]] * 400, load=2)
    with pytest.raises(pv.InputError, match="groups must be"):
        pv.plan_by(weights, groups=1, mechanism=pv.Histogram(epsilon=1.0))
    assert (
        "Every group would be too small"
        in pv.plan_by(
            pv.PublicWeights.from_rows([[1, 2]] * 20, load=2), groups=2, mechanism=pv.Histogram(epsilon=0.1)
        ).assumption
    )


def test_the_command_line_plans_releases_and_verifies(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files(tmp_path, conference())
    what = ["release", "reviews.csv", "--attributes", "reviewers.csv", "--by", "arm", "--public", "all"]
    what += ["--score-scale", "1,10"]
    stated = [*what, "--values", "treated,control", "--epsilon", "1"]
    planned = run(*stated, "--dry-run")
    assert planned.code == 0, planned.err
    assert "deviation of a share" in planned.out
    assert json.loads(run(*stated, "--dry-run", "--json").out)["scale"] == pytest.approx(10.0)
    sized = run(*stated, "--sizes", "45,45", "--dry-run", "--json")
    assert json.loads(sized.out)["scale"] == pytest.approx(12.0)
    assert run("ledger", "open", "budgets.db", "--dataset", "conf", "--epsilon", "1.5").code == 0
    charged = [*stated, "--ledger", "budgets.db"]
    assert "to the budget of 'conf' (per reviewer): 1.5 left now, 0.5 afterwards." in " ".join(
        run(*charged, "--dry-run").out.split()
    )
    assert json.loads(run(*charged, "--dry-run", "--json").out)["costs"][0]["after"] == pytest.approx(0.5)
    beyond = run(*charged, "--epsilon", "2", "--dry-run")
    assert beyond.code == 1
    assert "1.5 of 1.5 is left" in beyond.err
    assert not (tmp_path / "reviews-release").exists()
    made = run(*stated, "--statistic", "spread")
    assert made.code == 0, made.err
    assert "no ledger is charged" in made.err
    assert run("verify", "reviews-release", "--public", "public.csv", "--score-scale", "1,10").code == 0
    rows = json.loads(run(*stated, "-o", "other", "--json").out)["rows"]
    assert {row["group"] for row in rows} == {"treated", "control"}
    for arguments, message in (
        ((*what, "--epsilon", "1"), "--values"),
        ((*what, "--values", "treated,control"), "--epsilon"),
        ((*stated, "--mechanism", "laplace"), "--bins only"),
        ((*stated, "--estimator", "bayes"), "does not go with"),
        ((*stated, "--sizes", "45"), "--sizes must be 2 whole numbers"),
        ((*stated, "--sizes", "40,50"), "does not have the stated numbers"),
        (("release", "reviews.csv", "--values", "a,b", "--public", "all", "--epsilon", "1"), "--by"),
    ):
        refused = run(*arguments, "-o", "new")
        assert refused.code == 2
        assert message in refused.err
    assert not (tmp_path / "new").exists()
    assert "person" not in made.out + made.err + planned.out
