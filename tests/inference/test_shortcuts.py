"""What is computed faster for long vectors: the same as without the shortcut."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import peerveil as pv
from peerveil.inference import count_posterior, estimators
from peerveil.inference.count_posterior import CountPosterior, PlaceDoubt
from peerveil.inference.estimators import nearest_safe, runs_of
from peerveil.inference.gaussians import GaussianMixture
from peerveil.inference.limit import RANKS, MeanLaw
from peerveil.inference.prior import _stable_order
from peerveil.privacy import sensitivity
from peerveil.privacy.bins import Bins
from peerveil.privacy.sensitivity import _turned_over
from peerveil.quantities import weights as public_weights
from peerveil.quantities.distinct import Distinct
from peerveil.quantities.long_vectors import ascends, minimum_from, running_maximum
from peerveil.record.public_record import Floats
from peerveil.regions import convex
from peerveil.regions import sums as sums_of
from peerveil.regions.isotonic import Blocks, Curves
from peerveil.regions.quadratic_programme import Programme
from peerveil.regions.sums import Rows, least_totals

SEEDS = st.integers(0, 10**6)
NUMBERS = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=12).map(np.array)


@given(NUMBERS)
def test_extremes_up_to_and_from_each_value(values: Floats) -> None:
    slow = [max(values[: i + 1]) for i in range(values.size)], [min(values[i:]) for i in range(values.size)]
    assert running_maximum(values).tolist() == slow[0]
    assert minimum_from(values).tolist() == slow[1]
    assert ascends(values) == (sorted(values) == values.tolist())


@given(SEEDS)
def test_random_keys_are_sorted_stably_whether_they_differ_or_not(seed: int) -> None:
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, 200, (4, 30)).astype(np.float64) if seed % 2 else rng.normal(size=(4, 30))
    np.testing.assert_array_equal(_stable_order(keys), np.argsort(keys, axis=1, kind="stable"))


def record(rng: np.random.Generator, load: int) -> tuple[Floats, np.ndarray, int]:
    """Weights with few values by paper, the sizes of the papers, and the number of reviewers."""
    sizes = rng.integers(1, 5, size=int(rng.choice([60, 240])))
    sizes[0] += -sizes.sum() % load
    shape = float(rng.choice([0.1, 0.5, 2.0]))
    values = np.sort(rng.normal(size=int(rng.integers(2, 12)))) if rng.random() < 0.5 else np.arange(1.0, 11.0)
    share = 0.999999 * rng.beta(shape, float(rng.choice([0.3, 1.0, 5.0])), sizes.sum())
    drawn = values[(share * values.size).astype(int)]
    weight = np.concatenate([np.sort(row) for row in np.split(drawn, np.cumsum(sizes)[:-1])])
    return weight, sizes, int(sizes.sum()) // load


@given(SEEDS, st.integers(1, 5))
@settings(max_examples=150)
def test_few_values_tell_the_sums_of_all_entries(seed: int, load: int) -> None:
    weight, sizes, reviewers = record(np.random.default_rng(seed), load)
    fast = Rows(weight, sizes, reviewers, load, 0.5)
    plain = Distinct(weight)
    plain.__dict__["counted"] = None  # as if there were too many values
    slow = Rows(weight, sizes, reviewers, load, 0.5, distinct=plain)
    literal = Rows(-weight[::-1], sizes[::-1], reviewers, load, -0.5)
    np.testing.assert_array_equal(fast.totals, slow.totals)
    np.testing.assert_array_equal(fast.at(np.arange(weight.size)), np.sort(weight) - 0.5)
    assert fast.unlimited == slow.unlimited
    assert fast.negated().unlimited == literal.unlimited
    np.testing.assert_array_equal(fast.negated().weight, literal.weight)
    np.testing.assert_array_equal(least_totals(fast.negated()), least_totals(literal))
    np.testing.assert_allclose(least_totals(slow.negated()), least_totals(literal), atol=1e-9)


def tells(weight: Floats, reviewers: int, load: int) -> bool:
    """Whether the largest reviews and the smallest others total more than the share of as many reviewers, or mirrored.

    Count by count, without limits of papers.
    """
    slack = 1e-9 * weight.size
    centred = weight - weight.mean()  # so that shares are 0
    for x in (np.sort(centred), np.sort(-centred)):
        for q in range(1, reviewers):
            if x[x.size - q :].sum() + x[: q * (load - 1)].sum() > slack:
                return True
    return False


def test_ordinary_records_are_recognised_exactly() -> None:
    outcomes = []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        load = int(rng.integers(2, 6))
        weight, sizes, reviewers = record(rng, load)
        rows = Rows(weight, sizes, reviewers, load, 2.0)
        assert rows.counted is not None
        told = sums_of._unlimited_may_tell(rows)
        assert told or not tells(weight, reviewers, load)
        outcomes.append((told, tells(weight, reviewers, load)))
    assert sum(told and not truly for told, truly in outcomes) < 15  # between two counts, or by round-off
    assert min(sum(truly == seen for _, truly in outcomes) for seen in (True, False)) > 50


@given(SEEDS)
@settings(max_examples=40)
def test_the_least_and_greatest_are_found_among_some_papers_or_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights = pv.PublicWeights.from_rows(rng.integers(1, 4, (30, 2)), load=2)
    slow = weights.ends_of_papers(3), _turned_over(weights, 3)
    with pytest.MonkeyPatch.context() as patch:
        for module in (public_weights, sensitivity):
            patch.setattr(module, "SEEN_FIRST", int(rng.integers(1, 12)))
        fast = weights.ends_of_papers(3), _turned_over(weights, 3)
    for side, expected in zip((*fast[0], fast[1]), (*slow[0], slow[1]), strict=True):
        np.testing.assert_array_equal(side, expected)
    low = np.sort(weights.low.reshape(30, 2)[:, 0])[:3]
    np.testing.assert_array_equal(slow[0][0], low)


@given(SEEDS)
@settings(max_examples=60)
def test_a_violation_is_the_same_part_by_part(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    curve = np.cumsum(rng.normal(size=n + 1))
    kinds = ("cumulative_lower", "cumulative_upper", "top_lower", "top_upper")
    bounds = {kind: curve + rng.normal() for kind in kinds if rng.random() < 0.6}
    ends = convex.Region(name="", lower=np.full(n, -1.0), upper=np.full(n, 1.0), total=(-1.0, 1.0))
    region = replace(ends, **bounds)  # type: ignore[arg-type]
    t = rng.normal(size=n)
    worst = [0.0, *(-1 - t), *(t - 1), *(t[:-1] - t[1:]), (-1 - t.sum()) / n, (t.sum() - 1) / n]
    for kind, bound in bounds.items():
        for i in range(1, n):
            held = t[:i].sum() if kind.startswith("cumulative") else t[n - i :].sum()
            worst.append((bound[i] - held if kind.endswith("lower") else held - bound[i]) / i)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(convex, "_AT_A_TIME", int(rng.integers(1, 9)))
        assert region.violation(t) == pytest.approx(max(worst), abs=1e-12)


@given(SEEDS)
def test_ascending_means_are_placed_as_others(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ends = np.unique(rng.integers(0, 9, 6)).astype(np.float64)
    bins = Bins.even(ends, ends) if ends.size < 2 or seed % 2 else Bins.even(ends[:-1], ends[1:])
    means = np.sort(rng.choice(np.append(ends, rng.uniform(-1, 10, 9)), 200))
    np.testing.assert_array_equal(bins.place(means), np.searchsorted(bins.cuts, means, side="right"))
    assert means.size > 16 * bins.number


def literal_stairs(ranks: np.ndarray, width: Floats, entries: int) -> Floats:
    return np.array([width[ranks <= entry].sum() for entry in range(entries)])


@given(SEEDS)
@settings(max_examples=40)
def test_bands_are_the_shortest_entry_by_entry(seed: int) -> None:
    rng = np.random.default_rng(seed)
    entries, steps, laws = 60, 6, 3
    bins = Bins.even(np.arange(3.0), np.arange(1.0, 4.0))
    means = np.sort(rng.uniform(0, entries, (laws, steps)), axis=1)
    below = GaussianMixture(
        rng.dirichlet(np.ones(laws)), means, rng.uniform(0.1, 40, means.shape), np.arange(laws, dtype=np.int64)
    )
    doubt = PlaceDoubt(0.2, 2) if seed % 2 else None
    posterior = CountPosterior(below, np.full(steps, 0.5), bins, entries, doubt)
    lower, upper = np.full(entries, -np.inf), np.full(entries, np.inf)
    for share in (0.5, *count_posterior._TAIL_SHARES):
        pair = posterior._ranks_between(share * 0.1, 0.9)
        low, high = (literal_stairs(rank, posterior.width, entries) for rank in pair)
        if doubt is not None:
            reach = doubt.reach(0.9)
            low, high = (
                np.maximum(low - reach, np.minimum(np.floor(low), 2.0)),
                np.minimum(high + reach, np.maximum(np.ceil(high - 3e-9), 1.0)),
            )
        shorter = high - low < upper - lower - 1e-12
        lower, upper = np.where(shorter, low, lower), np.where(shorter, high, upper)
    fast = posterior.shortest_band(0.9)
    np.testing.assert_allclose(fast[1] - fast[0], upper - lower, atol=1e-6)
    np.testing.assert_allclose(fast[0], lower, atol=1e-6)
    for number in (3, entries):  # few ranks, and many
        ranks = rng.integers(0, entries + 1, number)
        width = rng.random(number)
        np.testing.assert_allclose(
            count_posterior._stairs(ranks, width, entries), literal_stairs(ranks, width, entries), atol=1e-12
        )


def test_several_laws_are_as_one_after_the_other() -> None:
    rng = np.random.default_rng(4)
    value, usual = np.arange(5.0), np.array([0.1, 0.3, 0.6, 0.9, 1.0])
    drawn = np.sort(rng.integers(0, 5, (6, 40)).astype(np.float64), axis=1)
    bins = Bins.even(np.array([0.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0]))
    for known in (True, False):
        law = MeanLaw(value, usual, known)
        together = law.varied(drawn, np.sort(drawn, axis=None), 0.3)
        alone = [law.varied(row[None], np.sort(drawn, axis=None), 0.3) for row in drawn]
        for one in alone:
            assert one.quantiles().shape == (1, RANKS)
        np.testing.assert_array_equal(together.quantiles(), np.concatenate([one.quantiles() for one in alone]))
        np.testing.assert_array_equal(together.shares(bins), np.concatenate([one.shares(bins) for one in alone]))
        for below, shares in zip(together.below, together.shares(bins), strict=True):
            chance = np.diff(below, prepend=0.0)
            assert shares.tolist() == pytest.approx([chance[0] + chance[1], chance[2], chance[3] + chance[4]])


def stepped(rng: np.random.Generator, n: int) -> tuple[pv.Region, Floats, Floats]:
    """A region of whole scores, and two vectors that are constant for long."""
    weights = pv.PublicWeights.from_rows(np.sort(rng.integers(1, 7, (n, 2)), axis=1), load=2)
    truth = np.sort(rng.permutation(weights.low).reshape(n, 2).mean(axis=1))
    r, guess = (np.sort(np.rint(truth + shift) / 2 * 2) for shift in (rng.normal(), rng.normal()))
    return pv.region(weights, "envelope"), r, guess


@pytest.mark.parametrize("seed", range(12))
def test_safe_points_are_found_by_runs_as_by_entries(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    region, r, wild = stepped(np.random.default_rng(seed), 400)
    guess = pv.project(wild, region)
    projected = pv.project(r, region)
    assert runs_of(r, guess.values)[0] is not None
    fast = nearest_safe(guess, projected, region, r, long=True)
    monkeypatch.setattr(estimators, "_LEAST_RUN", r.size + 1)
    assert runs_of(r, guess.values)[0] is None
    slow = nearest_safe(guess, projected, region, r, long=True)
    np.testing.assert_allclose(fast.values, slow.values, atol=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_curves_take_runs_for_all_their_entries(seed: int) -> None:
    rng = np.random.default_rng(seed)
    region, r, t = stepped(rng, 300)
    starts, times = runs_of(r, t)
    assert starts is not None
    assert times is not None
    by_runs, whole = Curves.of(region, times), Curves.of(region)
    point, expected = by_runs.point(r[starts]), whole.point(r)
    assert point is not None
    assert expected is not None
    np.testing.assert_allclose(np.repeat(point, times), expected, atol=1e-12)
    reach = whole.reach(r - t, t)
    assert by_runs.reach((r - t)[starts], t[starts]) == pytest.approx(reach, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("seed", range(30))
def test_an_isotonic_fit_that_is_allowed_is_the_projection(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    n = 60
    rows = np.sort(rng.normal(size=(n, 4)), axis=1)
    weights = pv.PublicWeights.from_rows(rows, loads={3: n // 2, 5: n // 2})  # the total is not public
    region = pv.region(weights, "envelope")
    spread = float(rng.choice([0.2, 0.5, 1.0, 3.0]))
    r = spread * np.sort(rng.normal(size=n)) + rng.normal() * 0.02 + rng.laplace(size=n, scale=0.05)
    seen: list[bool] = []
    real = Blocks.allowed

    def watched(blocks: Blocks, *given: object) -> bool:
        seen.append(real(blocks, *given))  # type: ignore[arg-type]
        return seen[-1]

    monkeypatch.setattr(Blocks, "allowed", watched)
    fast = Curves.of(region).project(r)
    monkeypatch.setattr(Blocks, "allowed", lambda *_: False)
    slow = Curves.of(region).project(r)
    assert fast is not None
    assert slow is not None
    np.testing.assert_allclose(fast[0], slow[0], atol=1e-9)
    if seen[0]:
        general = Programme(r, region, float(np.abs(r).max()) + region.spread).solve()[0]
        np.testing.assert_allclose(fast[0], general, atol=1e-5)
        assert fast[1] <= 1e-9 * n
        assert region.violation(fast[0]) <= 1e-9
    ALLOWED.append(seen[0])


ALLOWED: list[bool] = []


def test_some_isotonic_fits_were_allowed_and_some_not() -> None:
    for seed in range(30):
        with pytest.MonkeyPatch.context() as patch:
            test_an_isotonic_fit_that_is_allowed_is_the_projection(seed, patch)
    assert {True, False} <= set(ALLOWED)
