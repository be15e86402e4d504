"""Plans of any size, in little time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

import peerveil as pv
from peerveil.cli.show import plan_rows
from peerveil.inference.likelihood import EntryLikelihood
from peerveil.inference.limit import MANY
from peerveil.inference.model import RecordModel
from peerveil.planning.rounds import plausible
from peerveil.privacy.noise_laws import LaplaceLaw
from peerveil.support import parallel


def scores(n: int, load: int) -> pv.PublicWeights:
    rng = np.random.default_rng(n)
    rows = np.clip(np.rint(rng.normal(5.5, 1.2, n)[:, None] + rng.normal(0, 1.3, (n, load))), 1, 10)
    return pv.PublicWeights.from_rows(rows, load=load)


def test_fewer_blocks_change_little() -> None:
    weights = scores(600, 3)
    model = RecordModel(weights, draws=12)
    truth = plausible(weights, leniency=2, draw=0, seed=1)
    noisy = truth + np.random.default_rng(1).laplace(scale=5.0, size=truth.size)
    likelihood = EntryLikelihood(noisy, LaplaceLaw(scale=5.0))
    whole, fewer = model.posterior(likelihood), model.posterior(likelihood, blocks=150)
    assert whole is not None
    assert fewer is not None
    assert not np.array_equal(whole.mean, fewer.mean)
    errors = [np.sqrt(np.mean((made.mean - truth) ** 2)) for made in (whole, fewer)]
    assert errors[1] == pytest.approx(errors[0], rel=0.05)
    assert fewer.variance.mean() == pytest.approx(whole.variance.mean(), rel=0.05)


@pytest.mark.parametrize("draws", [1, 2])
def test_a_plan_for_two_reviewers(draws: int) -> None:
    plan = pv.plan(pv.PublicWeights.from_rows([[2, 5], [3, 7]], load=2), epsilons=[1.0], draws=draws)
    cells = [cell for rows in plan_rows(plan).values() for row in rows for cell in row]
    assert not any("nan" in cell for cell in cells)
    assert any("(one draw)" in cell for cell in cells) is (draws == 1)


def test_a_plan_for_a_long_vector() -> None:
    options = {"mechanisms": ["histogram"], "estimators": ["bayes"], "draws": 1, "workers": 1}
    plan = pv.plan(scores(MANY + 1, 2), epsilons=[1.0], **options)  # type: ignore[arg-type]
    assert 0 < plan.best(1.0, guaranteed=False).rmse < plan.alone


def test_plans_share_nothing_with_those_of_other_assumptions() -> None:
    """The digest of weights does not state the version of the model."""
    options = {"epsilons": [1.0], "mechanisms": ["histogram"], "estimators": ["bayes"], "draws": 1, "workers": 1}
    new, other = scores(20, 2), scores(21, 2)
    old = replace(new, model=1)
    assert old.digest() == new.digest()
    errors = [
        [choice.rmse for choice in pv.plan(weights, **options).choices]  # type: ignore[arg-type]
        for weights in (other, new, old, other, old)
    ]
    assert errors[2] == errors[4] != errors[1]


def test_candidates_are_rehearsed_on_the_same_truths() -> None:
    weights = scores(20, 2)
    truth = plausible(weights, leniency=3, draw=1, seed=5)
    assert plausible(replace(weights), leniency=3, draw=1, seed=5) is truth
    assert not truth.flags.writeable
    others = [plausible(weights, *place) for place in ((2, 1, 5), (3, 0, 5), (3, 1, 6))]
    assert not any(np.array_equal(truth, other) for other in others)


def test_small_plans_start_no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[int | None] = []

    def run(_: object, tasks: Sequence[object], *, workers: int | None, **_options: object) -> object:
        used.append(workers)
        return [[[0.1, 0.1]] for _ in tasks]  # errors that no rehearsal gave: the number of processes is tested

    monkeypatch.setattr(parallel, "run", run)
    options = {"mechanisms": ["laplace"], "estimators": ["projection"], "draws": 1}
    pv.plan(scores(50, 2), epsilons=[1.0], **options)  # type: ignore[arg-type]
    pv.plan(scores(50, 2), epsilons=[1.0], workers=2, **options)  # type: ignore[arg-type]
    pv.plan(scores(50, 2), epsilons=np.linspace(1, 2, 80).tolist(), **options)  # type: ignore[arg-type]
    assert used == [1, 2, None]
