"""Whether draws have settled: the rate of false alarms is the stated one, and chains stopped early are noticed."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import peerveil as pv
from peerveil.quantities.statistics import MEAN
from peerveil.record.public_record import Ints
from peerveil.sampling import drawing
from peerveil.sampling.cells import Cells, Margin
from peerveil.sampling.drawing import Drawn, draw
from peerveil.sampling.settling import DRIFT, FALSE_ALARM, LEFT, settling
from peerveil.simulation.worlds import world

TABLES, SETS = 20, 4_000


def drawn(trace: list[float], renewed: float) -> Drawn:
    nothing = np.zeros(1, dtype=np.int64)
    return Drawn(nothing, trace[-1], 0.3, renewed, tuple(trace), len(trace), np.zeros(1), nothing[None], nothing)


def alarms(*, reviewers: int, load: int, drift: float = 0.0, left: float = 0.0, sets: int = SETS) -> float:
    """The share of sets of tables that have not settled, if all sweeps are independent draws of what is given."""
    rng, reviews, alarmed = np.random.default_rng(1), reviewers * load, 0
    loads = np.full(reviewers, load)
    for _ in range(sets):
        trace = reviewers * (0.2 + 0.03 * rng.standard_normal((TABLES, 20)))
        trace[:, 10:] += drift * reviewers
        kept = rng.binomial(reviews, left + (1 - left) / reviewers, TABLES)
        draws = [drawn(own.tolist(), 1 - k / reviews) for own, k in zip(trace, kept.tolist(), strict=True)]
        alarmed += not settling(draws, [loads] * TABLES).settled
    return alarmed / sets


def test_independent_draws_have_settled() -> None:
    """The stated rate is an upper limit; independent draws are far from the limits, even of a few reviewers."""
    assert alarms(reviewers=100, load=4, sets=500) == 0
    assert alarms(reviewers=5, load=2, sets=1_000) <= 2 * FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize(
    ("drift", "left", "chance"), [(DRIFT, 0.0, FALSE_ALARM / 2), (0.0, LEFT, FALSE_ALARM)], ids=["drift", "left"]
)
def test_the_rate_of_false_alarms_at_the_limit_is_the_stated_one(drift: float, left: float, chance: float) -> None:
    """At the limit of what is tolerated, alarms come as often as stated, so that they mean what they say."""
    error = np.sqrt(chance * (1 - chance) / SETS)
    assert alarms(reviewers=100, load=4, drift=drift, left=left) == pytest.approx(chance, abs=4 * error)
    assert alarms(reviewers=100, load=4, drift=3 * drift, left=1.5 * left, sets=200) > 0.9


@cache
def record() -> tuple[Cells, tuple[Ints, ...]]:
    """Cells of a conference with two camps of reviewers, and numbers of reviewers in them far from random dealing."""
    made = world("camps", reviewers=100, loads=4, seed=3)
    cells = Cells(made.paper, made.score, np.full(100, 4), (Margin(MEAN, np.arange(3.0, 9.0)),))
    means = np.bincount(made.reviewer, weights=made.score) / 4
    wanted = np.bincount(np.searchsorted(cells.margins[0].cuts, means, side="right"), minlength=7)
    return cells, (wanted,) * TABLES


@pytest.mark.promise("P-TABLES-8")
@pytest.mark.parametrize(("sweeps", "settled"), [(1, False), (2, False), (20, True)])
def test_chains_that_are_stopped_early_are_noticed(
    monkeypatch: pytest.MonkeyPatch, sweeps: int, *, settled: bool
) -> None:
    """One or two sweeps with a fixed target, and twice as many before; by default there are twenty."""
    monkeypatch.setattr(drawing, "_FEWEST_SWEEPS", sweeps)
    monkeypatch.setattr(drawing, "_SWEEPS_PER_REVIEW", 0)
    cells, targets = record()
    rng = np.random.default_rng(4)
    draws = [draw(cells, wanted, rng) for wanted in targets]
    told = settling(draws, [cells.loads] * TABLES)
    assert told.settled is settled
    assert (told.left > LEFT) is not settled


def test_nothing_left_is_what_chance_gives() -> None:
    """Tables dealt independently: the share of reviews with the same reviewer is that of chance, for unequal loads."""
    rng, loads = np.random.default_rng(5), np.array([2, 2, 3, 3, 4, 6])
    owner = np.repeat(np.arange(loads.size), loads)
    kept = np.array([np.mean(rng.permutation(owner) == rng.permutation(owner)) for _ in range(4_000)])
    left = [settling([drawn([1.0, 1.0], 1 - share)] * 2, [loads] * 2).left for share in kept.tolist()]
    assert np.mean(left) == pytest.approx(0.0, abs=4 * np.std(left) / np.sqrt(len(left)))
    assert np.std(left) > 0.05


def test_a_single_table_that_is_stuck_is_noticed() -> None:
    draws = [drawn([1.0, 1.0, 1.0, 1.0], renewed) for renewed in (0.1, *[0.9] * 19)]
    loads = [np.full(60, 4)] * TABLES
    assert not settling(draws, loads).settled
    assert settling(draws[1:], loads[1:]).settled


def test_tables_of_four_reviewers_have_settled() -> None:
    record_ = pv.PublicRecord.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
    release = pv.refine([1.5, 2.5, 3.0, 4.5], pv.weigh(record_), mechanism=pv.Laplace(scale=0.5))
    assert pv.sample_tables(release, record_, workers=1).settling.settled
