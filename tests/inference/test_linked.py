"""Correlations from noisy sums, compared with draws and with textbook formulas."""

from __future__ import annotations

import numpy as np
import pytest

from peerveil.errors import InputError
from peerveil.inference.linked import UNKNOWN, Correlations, correlations
from peerveil.inference.linked.clipping import Clipped
from peerveil.inference.linked.tables import of_counts
from peerveil.planning.linked import plan_correlation
from peerveil.privacy.linked.counts import LinkedCounts
from peerveil.privacy.linked.sums import LinkedSums, side_of
from peerveil.quantities.weights import PublicWeights

WEIGHTS = PublicWeights.from_rows([[0, 0.5, 0.5], [0.5, 0.5, 1]] * 1000, load=4, quantity="ratings")  # no excess


def sums() -> LinkedSums:
    return LinkedSums(sides=(side_of(WEIGHTS), side_of(WEIGHTS)))


def numbers(of: LinkedSums, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    each = {"people": np.ones(x.size), "sum_1": x, "sum_2": y, "difference": (x**2 - y**2) / 2}
    each |= {"alike": ((x + y) / 2) ** 2, "apart": ((x - y) / 2) ** 2}
    return np.array([each[name].sum() * unit for name, unit in of.units.items()])


def positions(correlation: float, people: int, *, spread: float, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    one, other = rng.normal(size=(2, people))
    both = spread * one, spread * (correlation * one + np.sqrt(1 - correlation**2) * other)
    return np.clip(both[0], -1, 1), np.clip(both[1], -1, 1)


@pytest.mark.parametrize(("mean", "deviation"), [(0.0, 0.3), (0.2, 0.7), (-0.4, 1.1)])
def test_moments_of_clipped_variables_are_those_of_draws(mean: float, deviation: float) -> None:
    drawn = np.clip(mean + deviation * np.random.default_rng(2).normal(size=400_000), -1, 1)
    one = Clipped(mean=mean, deviation=deviation)
    assert one.clipped_mean == pytest.approx(drawn.mean(), abs=0.004)
    assert one.variance == pytest.approx(drawn.var(), rel=0.01)
    assert one.kurtosis == pytest.approx((np.mean((drawn - drawn.mean()) ** 4) / drawn.var() ** 2 - 1) / 2, rel=0.02)
    again = Clipped.like(one.clipped_mean, one.variance)
    assert (again.mean, again.deviation) == pytest.approx((mean, deviation), abs=1e-6)


@pytest.mark.parametrize("correlation", [-0.9, -0.3, 0.0, 0.5, 0.95])
def test_clipping_lowers_correlations_as_it_does_those_of_draws(correlation: float) -> None:
    x, y = positions(correlation, 400_000, spread=0.7)
    one = Clipped(mean=0.0, deviation=0.7)
    assert one.unclipped(one, float(np.corrcoef(x, y)[0, 1])) == pytest.approx(correlation, abs=0.006)


@pytest.mark.parametrize("correlation", [-0.6, 0.0, 0.5, 0.8])
def test_without_noise_or_clipping_the_interval_is_the_usual_one(correlation: float) -> None:
    of, people = sums(), 2000
    x, y = positions(correlation, people, spread=0.2)
    made = correlations(of, numbers(of, x, y), 1e-9)
    seen = float(np.corrcoef(x, y)[0, 1])
    assert made.observed.value == pytest.approx(seen, abs=0.003)
    half = 1.645 * (1 - seen**2) / np.sqrt(people)
    assert made.observed.high - made.observed.low == pytest.approx(2 * half, rel=0.1)


@pytest.mark.parametrize(("alike", "error"), [(False, 0.01), (True, 0.03)])
def test_different_loads_are_accounted_for_without_noise(alike: bool, error: float) -> None:
    """Means before clipping, of people with more reviews than others; less exactly if those of both conferences agree.

    The largest totals, which are clipped most, then meet each other.
    """
    rng = np.random.default_rng(4)
    people, icc = 60_000, 0.25
    public = {2: 20_000, 3: 20_000, 4: 20_002, 5: 20_000, 6: 20_000}
    rows = [[-1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0], [-1.0, 0.0, 0.0, 1.0]]  # no excess: a third is not 0
    weights = PublicWeights.from_rows(rows * 33_334, loads=public, quantity="ratings")
    of = LinkedSums(sides=(side_of(weights, (-1.0, 1.0)), side_of(weights, (-1.0, 1.0))))
    loads = rng.choice([3, 4, 5, 6], (2, people))
    if alike:
        loads[1] = loads[0]
    one, rest = rng.normal(0, np.sqrt(icc / 3), (2, people))
    chance = rng.normal(size=(2, people)) * np.sqrt((1 - icc) / 3 / loads)
    means = chance + np.array([one, 0.6 * one + 0.8 * rest])
    x, y = (side.positions(total) for side, total in zip(of.sides, loads * means, strict=True))
    each = {"people": np.ones(people), "sum_1": x, "sum_2": y, "difference": (x**2 - y**2) / 2}
    each |= {"alike": ((x + y) / 2) ** 2, "apart": ((x - y) / 2) ** 2}
    each |= {"loads_1": (loads[0] / 6) ** 2, "loads_2": (loads[1] / 6) ** 2, "loads": loads[0] * loads[1] / 36}
    made = correlations(of, np.array([each[name].sum() * unit for name, unit in of.units.items()]), 1e-9)
    assert made.observed.value == pytest.approx(float(np.corrcoef(*means)[0, 1]), abs=error)
    assert made.trait is not None
    assert made.trait.value == pytest.approx(0.6, abs=0.06)  # totals are not quite normal


@pytest.mark.parametrize("number", [2, 3, 4])
@pytest.mark.parametrize("correlation", [-0.7, 0.0, 0.4])
def test_counts_tell_the_correlation_of_normal_means(number: int, correlation: float) -> None:
    table = LinkedCounts(sides=sums().sides, number=number)
    rng = np.random.default_rng(3)
    one, other = rng.normal(size=(2, 200_000))
    both = one, correlation * one + np.sqrt(1 - correlation**2) * other
    cuts = [-0.3, 0.4, 1.1][: number - 1]  # margins need not be equal
    cells = np.searchsorted(cuts, both[0]) * number + np.searchsorted(cuts, both[1])
    counts = np.bincount(cells, minlength=number**2).astype(float)
    made = of_counts(table, counts, 1e-3, level=0.9)
    assert made.observed.value == pytest.approx(correlation, abs=0.01)
    assert made.trait is None
    assert of_counts(table, counts * 0, 1.0, level=0.9).observed.value is None


def test_more_noise_makes_wider_intervals_until_nothing_is_known() -> None:
    of = sums()
    truth = numbers(of, *positions(0.5, 1500, spread=0.6))
    widths = [made.observed.high - made.observed.low for made in (correlations(of, truth, s) for s in (1e-6, 5, 20))]
    assert widths == sorted(widths)
    assert correlations(of, truth, 1e4).observed.value is None
    assert correlations(of, -truth, 5.0) == Correlations(people=0.0)


def test_wrong_numbers_are_refused() -> None:
    with pytest.raises(InputError, match="has 6 noisy numbers, got 5"):
        correlations(sums(), np.zeros(5), 1.0)
    with pytest.raises(InputError, match="level must be between"):
        correlations(sums(), np.zeros(6), 1.0, level=2.0)


def test_a_plan_says_what_it_assumes() -> None:
    planned = plan_correlation(WEIGHTS, WEIGHTS, people=700)
    assert "700 people" in planned.assumption
    assert len(planned.rows()) == 4
    with pytest.raises(InputError, match="people must be a whole number from 2 to 1500"):
        plan_correlation(WEIGHTS, WEIGHTS, people=1501)


@pytest.mark.slow
def test_intervals_cover_the_correlation() -> None:
    """120 draws of 1,500 people with the noise of epsilon 1: between 85 and 97 % are covered, give or take."""
    of = sums()
    scale = of.sensitivity("reviewer").l1
    rng = np.random.default_rng(11)
    hits = 0
    for seed in range(120):
        x, y = positions(0.4, 1500, spread=0.65, seed=1000 + seed)
        noisy = numbers(of, x, y) + rng.laplace(0, scale, 6)
        observed = correlations(of, noisy, scale).observed
        hits += observed.low <= 0.4 <= observed.high
    assert 0.85 <= hits / 120 <= 0.97


@pytest.mark.parametrize("noisy", [(300, -2, -3, 300), (300, 0, 0, 300), (600, -1, -2, -1)])
def test_counts_at_the_edge_of_what_is_possible_are_no_error(noisy: tuple[int, ...]) -> None:
    """Noise is drawn by then, and the budget is spent: something must be told, if only that nothing can be."""
    side = side_of(PublicWeights.from_rows([[0, 1]] * 1600, load=4))
    table = LinkedCounts(sides=(side, side), number=2)
    assert of_counts(table, np.array(noisy, dtype=np.float64), 1.0, level=0.9).observed == UNKNOWN
