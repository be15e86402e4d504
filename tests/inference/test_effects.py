"""Effects: the law of their errors, estimates from exact numbers, coverage, the randomisation test, and the plan."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, stats

import peerveil as pv
from bench_effects import (
    LENIENCY,
    MEAN,
    QUALITY,
    REST,
    SETTINGS,
    UNEQUAL,
    Setting,
    Trial,
    alike,
    open_interval,
    private,
    released,
    trial,
    true_effect,
)
from peerveil.errors import InputError
from peerveil.inference.effects import Error, check_level, estimate
from peerveil.inference.effects.spread import capped_mean, spread_of
from peerveil.privacy.group_sums import GroupSums, default_limits
from peerveil.private.effects import true_numbers
from peerveil.quantities.weights import review_weights
from peerveil.record.public_record import Floats, Ints


def above(variance: float, scales: list[float], size: float) -> float:
    """The probability of a large error, by integrating over the noise."""

    def density(x: float) -> float:
        if len(scales) == 1:
            return math.exp(-abs(x) / scales[0]) / (2 * scales[0])
        (b, same) = scales
        assert b == same
        return (1 + abs(x) / b) * math.exp(-abs(x) / b) / (4 * b)

    def tails(x: float) -> float:
        deviation = math.sqrt(variance)
        return float(stats.norm.sf((size - x) / deviation) + stats.norm.cdf((-size - x) / deviation))

    ends = 40 * max(scales) + size
    near = 8 * math.sqrt(variance)  # where the tails change
    points = [0.0, *(side * (size + step) for side in (-1, 1) for step in (-near, 0, near))]
    value, _ = integrate.quad(lambda x: density(x) * tails(x), -ends, ends, points=points, limit=400)
    return float(value)


@pytest.mark.parametrize(
    ("variance", "scales"),
    [(1.0, [0.1]), (1.0, [1.0]), (0.01, [1.0]), (1e-6, [1.0]), (4.0, [0.5, 0.5]), (0.04, [2.0, 2.0])],
)
def test_the_law_of_an_error_equals_its_integral(variance: float, scales: list[float]) -> None:
    error = Error(variances=np.array([variance]), chances=np.ones(1), scales=np.array(scales))
    for size in (step * error.deviation for step in (0.3, 1.0, 2.0, 4.0)):
        assert error.above(size) == pytest.approx(above(variance, scales, size), abs=2e-4)
    for level in (0.5, 0.9, 0.99):
        assert above(variance, scales, error.within(level)) == pytest.approx(1 - level, abs=2e-4)


def test_an_uncertain_variance_mixes_normal_laws() -> None:
    mixed = Error(variances=np.array([1.0, 9.0]), chances=np.array([0.25, 0.75]), scales=np.array([1e-9]))
    expected = 0.25 * 2 * stats.norm.sf(2.0) + 0.75 * 2 * stats.norm.sf(2.0 / 3)
    assert mixed.above(2.0) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("variance", [0.2, 1.0, 7.0])
def test_the_mean_of_a_capped_square_equals_its_integral(variance: float) -> None:
    def capped(x: float) -> float:
        return min(x * x, 3.0) * float(stats.norm.pdf(x, scale=math.sqrt(variance)))

    value, _ = integrate.quad(capped, -60, 60, points=[-math.sqrt(3), math.sqrt(3)], limit=400)
    assert capped_mean(np.array([variance]), 3.0)[0] == pytest.approx(value, rel=1e-7)


def exact(sums: GroupSums, **numbers: float) -> Floats:
    return np.array([numbers[name] * unit for name, unit in sums.units.items()])


def test_numbers_without_noise_give_the_difference_of_means() -> None:
    weights = pv.PublicWeights.from_rows([[1, 5], [2, 4], [3, 3], [5, 5]], load=2, quantity="ratings")
    first, second = [5, 4, 3], [1, 2, 3, 5, 5]
    numbers = {
        "sum_1": sum(x - 3 for x in first),
        "sum_2": sum(x - 3 for x in second),
        "reviews_1": 3,
        "reviews_2": 5,
        "squares_1": 4.0,
        "squares_2": 4.0,
    }
    for others in (False, True):
        sums = GroupSums(weights=weights, limits=(1, 5), others=others)
        made = estimate(sums, exact(sums, **{n: x for n, x in numbers.items() if n in sums.units}), 1e-9)
        assert made.value == pytest.approx(np.mean(first) - np.mean(second))
        assert made.sizes == pytest.approx((3, 5))
        assert made.p_value is None
        assert made.low < made.value < made.high


@pytest.mark.promise("P-EFFECT-9")
def test_groups_that_share_papers_do_not_hide_an_effect_on_miscalibration() -> None:
    """Reviewers of the first group review the same papers: a plain difference would show a fraction of 0.2."""
    papers, size, delta = 400, 4, 0.2
    share = np.resize([4, 3, 1, 0], papers)  # reviews of the first group, of four
    arm = np.arange(size)[None, :] < share[:, None]
    rng = np.random.default_rng(7)
    quality = rng.normal(5, 1, papers)[:, None]
    score = quality + delta * arm + np.tile([-1.0, 1.0, -1.0, 1.0], (papers, 1)) * 1e-6
    record = pv.PublicRecord.from_rows(score.tolist(), load=4)
    weights = pv.weigh(record, "miscalibration")
    low, high = weights.span
    sums = GroupSums(weights=weights, limits=(low - 1e-6, high + 1e-6))
    weight = score - (score.sum(axis=1, keepdims=True) - score) / (size - 1)
    mixed = float((share * (size - share) / (size - 1)).sum())
    squares = {"squares_1": 0.5, "squares_2": 0.5}
    sum_1 = float(sums.clipped(weight)[arm].sum())
    noisy = exact(sums, sum_1=sum_1, reviews_1=int(arm.sum()), mixed=mixed, **squares)
    assert estimate(sums, noisy, 1e-9).value == pytest.approx(delta, abs=1e-3)
    plain = weight[arm].mean() - weight[~arm].mean()
    assert plain == pytest.approx(delta / 2, abs=1e-3)


def test_reviews_of_one_reviewer_that_are_alike_widen_the_interval() -> None:
    weights = pv.PublicWeights.from_rows([[0, 1]] * 800, load=4)
    sums = GroupSums(weights=weights, limits=(0, 1))
    people = weights.reviewers
    alone, alike = (
        estimate(sums, exact(sums, sum_1=0.0, reviews_1=800, squares_1=s / 2, squares_2=s / 2), 1e-6)
        for s in (people * 4 * 0.25 * 0.97, people * 16 * 0.25 * 0.8)
    )
    assert alike.high - alike.low > 1.6 * (alone.high - alone.low)


def test_a_stated_correlation_is_used_and_costs_no_budget() -> None:
    weights = pv.PublicWeights.from_rows([[0, 1]] * 800, load=4)
    wide, narrow = (GroupSums(weights=weights, limits=(0, 1), icc=icc) for icc in (0.5, 0.0))
    one, other = (estimate(s, exact(s, sum_1=0.0, reviews_1=800), 1e-6) for s in (wide, narrow))
    assert (one.high - one.low) / (other.high - other.low) == pytest.approx(math.sqrt(1 + 3 * 0.5), rel=1e-3)


def test_a_group_smaller_than_the_noise_is_never_seen() -> None:
    weights = pv.PublicWeights.from_rows([[0, 1]] * 100, load=2)
    sums = GroupSums(weights=weights, limits=(0, 1))
    scale = sums.sensitivity("reviewer").l1
    made = estimate(sums, exact(sums, sum_1=3.0, reviews_1=-4, squares_1=30.0, squares_2=30.0), scale)
    assert made.low < 0 < made.high
    assert made.low >= -2
    assert made.high <= 2


@pytest.mark.parametrize("level", [0.4, 1.0, True, "0.9"])
def test_levels_that_are_none_are_refused(level: object) -> None:
    with pytest.raises(InputError, match="level must be between"):
        check_level(level)  # type: ignore[arg-type]


def within(share: float, trials: int, low: float, high: float) -> bool:
    """Whether a share is in an interval, give or take three standard errors."""
    error = 3 * math.sqrt(0.09 / trials)
    return low - error <= share <= high + error


def covered(setting: Setting, quantity: str, trials: int, reviewers: int, seed: int) -> tuple[float, float, float]:
    """How often intervals hold the effect and the test rejects at 10 %, and their width relative to open ones."""
    rng, truth = np.random.default_rng(seed), true_effect(setting)
    hits, small, ratios = [], [], []
    for _ in range(trials):
        made = trial(rng, setting, reviewers=reviewers)
        ours, (_, half) = private(rng, made, quantity), open_interval(made, quantity)
        hits.append(ours.low <= truth <= ours.high)
        small.append(ours.p_value is not None and ours.p_value < 0.1)
        ratios.append((ours.high - ours.low) / (2 * half))
    return float(np.mean(hits)), float(np.mean(small)), float(np.mean(ratios))


def test_intervals_cover_and_the_randomisation_test_keeps_its_level() -> None:
    hits, small, _ = covered(SETTINGS["none"], "miscalibration", 80, 600, seed=31)
    assert within(hits, 80, 0.88, 0.95)
    assert within(small, 80, 0.05, 0.12)


@pytest.mark.promise("P-EFFECT-6")
@pytest.mark.slow
@pytest.mark.parametrize("quantity", ["ratings", "miscalibration"])
@pytest.mark.parametrize("name", SETTINGS)
def test_intervals_cover_in_all_settings(name: str, quantity: str) -> None:
    hits, small, ratio = covered(SETTINGS[name], quantity, 200, 3_000, seed=41)
    assert within(hits, 200, 0.88, 0.95)
    if name == "none":
        assert within(small, 200, 0.08, 0.12)
    assert ratio <= 1.15


@pytest.mark.slow
@pytest.mark.parametrize(("quantity", "others"), [("miscalibration", False), ("ratings", True)])
def test_intervals_of_groups_that_are_not_random_cover(quantity: str, others: bool) -> None:
    """Treated reviewers mostly review with each other; with others, a third of the reviewers is in neither group."""
    rng, truth = np.random.default_rng(51), true_effect(SETTINGS["unbalanced"])
    hits = []
    for _ in range(150):
        made = trial(rng, Setting(effect=0.3), reviewers=1_500)
        group = np.where(made.treated == 1, 1, 2)
        if others:
            group[rng.permutation(group.size)[: group.size // 3]] = 0
        else:  # papers are dealt to reviewers in an order that groups share
            made = dealt_by_group(rng, made)
        hits.append(covers(rng, made, quantity, group, truth, others=others))
    assert within(float(np.mean(hits)), 150, 0.88, 0.95)


def test_intervals_cover_where_the_mixture_is_smaller_than_its_noise() -> None:
    """The estimate is then divided by noise: 120 reviewers, an effect of 0.8, and a small budget."""
    rng, truth = np.random.default_rng(52), true_effect(SETTINGS["large"])
    hits = []
    for _ in range(60):
        made = trial(rng, SETTINGS["large"], reviewers=120)
        group = np.where(made.treated == 1, 1, 2)
        hits.append(covers(rng, made, "miscalibration", group, truth, others=False, epsilon=0.3))
    assert np.mean(hits) >= 0.85


def dealt_by_group(rng: np.random.Generator, made: Trial) -> Trial:
    """The same reviewers, who review mostly with others of their group."""
    order = np.argsort(made.treated[made.reviewer.ravel()] + rng.normal(0, 0.8, made.reviewer.size))
    cards: Ints = np.reshape(made.reviewer.ravel()[order], made.reviewer.shape)
    while True:
        ordered = np.sort(cards, axis=1)
        twice = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1)).tolist()
        if not twice:
            break
        for paper in twice:
            other = min(max(paper + int(rng.integers(-20, 21)), 0), cards.shape[0] - 1)
            here, there = rng.integers(3), rng.integers(3)
            cards[paper, here], cards[other, there] = cards[other, there], cards[paper, here]
    score = MEAN + rng.normal(0, QUALITY, (cards.shape[0], 1)) + rng.normal(0, REST, cards.shape)
    score = score + np.asarray(rng.normal(0, LENIENCY, made.treated.size))[cards] + 0.3 * made.treated[cards]
    return replace(made, reviewer=cards, score=np.clip(np.rint(score), 1, 10))


def covers(
    rng: np.random.Generator,
    made: Trial,
    quantity: str,
    group: Ints,
    truth: float,
    *,
    others: bool,
    epsilon: float = 1.0,
) -> bool:
    record = pv.PublicRecord.from_rows(made.score.tolist(), load=4, scale=(1, 10))
    weights = pv.weigh(record, quantity)
    sums = GroupSums(weights=weights, limits=default_limits(weights), others=others)
    reviews = made.reviews()
    scale = sums.sensitivity("reviewer").l1 / epsilon
    numbers = true_numbers(
        sums, reviews, review_weights(reviews, quantity, record=reviews.public("all")), group[reviews.reviewer]
    )
    ours = estimate(sums, numbers + rng.laplace(scale=scale, size=numbers.size), scale)
    return ours.low <= truth <= ours.high


def test_intervals_of_a_shared_property_cover() -> None:
    """Papers of one value are better, and there fewer reviewers share it; 100 draws."""
    rng = np.random.default_rng(31)
    made = [alike(rng, reviewers=300, epsilon=4.0) for _ in range(100)]
    covered = np.mean([one.low <= 0.2 <= one.high for one in made])
    assert 0.9 - 3 * 0.03 <= covered <= 0.9 + 3 * 0.03
    assert np.mean([one.high - one.low for one in made]) < 0.4  # far less than the scale


def test_a_plan_foresees_the_interval() -> None:
    rng = np.random.default_rng(5)
    made = trial(rng, SETTINGS["none"], reviewers=1_500)
    record = pv.PublicRecord.from_rows(made.score.tolist(), load=4, scale=(1, 10))
    weights = pv.weigh(record, "ratings")
    plan = pv.plan_effect(weights, epsilons=(1.0,), icc=0.12)
    stated = GroupSums(weights=weights, limits=default_limits(weights), randomised=True, icc=0.12)
    scale = stated.sensitivity("reviewer").l1
    drawn = estimate(stated, exact(stated, sum_1=stated.total / 2, reviews_1=weights.low.size / 2), scale)
    assert plan.half_widths[0] == pytest.approx((drawn.high - drawn.low) / 2, rel=0.03)
    assert plan.without_noise < plan.half_widths[0] * 2
    assert plan.smallest[0] > plan.half_widths[0]


@pytest.mark.promise("P-EFFECT-11")
def test_the_smallest_effect_of_a_plan_is_seen_with_its_power() -> None:
    """By simulation: the share of intervals that exclude zero where the effect is the smallest of the plan."""
    weights = pv.PublicWeights.from_rows([[0, 1]] * 800, load=4)
    plan = pv.plan_effect(weights, epsilons=(1.0,), icc=0.2)
    sums = GroupSums(weights=weights, limits=(0, 1), icc=0.2)
    scale, rng = sums.sensitivity("reviewer").l1, np.random.default_rng(3)
    variance = weights.low.size * 0.25 * (1 + 3 * 0.2) / 4  # of the first group's sum
    seen = []
    for _ in range(400):
        middle = plan.smallest[0] * weights.low.size / 4
        sum_1 = middle + math.sqrt(variance) * rng.standard_normal() + rng.laplace(scale=scale)
        made = estimate(sums, exact(sums, sum_1=sum_1, reviews_1=weights.low.size / 2), scale)
        seen.append(made.low > 0)
    assert np.mean(seen) == pytest.approx(0.8, abs=3 * math.sqrt(0.16 / 400))


def test_a_plan_sees_nothing_where_the_mixture_is_lost_in_noise() -> None:
    made = trial(np.random.default_rng(5), SETTINGS["none"], reviewers=120)
    record = pv.PublicRecord.from_rows(made.score.tolist(), load=4, scale=(1, 10))
    weights = pv.weigh(record, "miscalibration")
    lost, seen = (pv.plan_effect(weights, epsilons=(0.3, 30.0), randomised=stated) for stated in (False, True))
    low, high = default_limits(weights)
    assert lost.smallest[0] == lost.half_widths[0] == 2 * (high - low)
    assert lost.smallest[1] < 1.2 * seen.smallest[1]
    assert seen.smallest[0] < lost.smallest[0]


def test_plans_refuse_shares_and_units_that_are_none() -> None:
    weights = pv.PublicWeights.from_rows([[0, 1]] * 40, load=4)
    for share in (0.0, 1.0, -1.0):
        with pytest.raises(InputError, match="first_share must be a number between 0 and 1"):
            pv.plan_effect(weights, first_share=share)
    with pytest.raises(InputError, match="unit must be"):
        pv.plan_effect(weights, unit="paper")


def test_the_spread_of_groups_equals_its_posterior_by_definition() -> None:
    """Each pair of variances is weighed by the law of both noisy sums of squares; capped means are integrated."""
    weights = pv.PublicWeights.from_rows([[0, 1]] * 90, load=3)
    sums = GroupSums(weights=weights, limits=(0, 1))
    numbers = {"squares_1": 20.0, "squares_2": 30.0, "size_1": 60.0, "size_2": 120.0}
    made = spread_of(sums, numbers, {"squares_1": 5.0, "squares_2": 5.0}, 1 / 3)

    def capped(variance: float) -> float:
        def square(x: float) -> float:
            return min(x * x, sums.cap) * float(stats.norm.pdf(x, scale=math.sqrt(variance)))

        edge = math.sqrt(sums.cap)
        return 2 * float(integrate.quad(square, 0, 12 * math.sqrt(variance), points=[edge], limit=200)[0])

    expected, total = np.zeros(2), 0.0
    for correlation in np.linspace(0, 1, 21):
        for ratio in np.exp(np.linspace(-4, 4, 17)):
            mean = 0.25 * (1 + 2 * correlation)  # of a review, with its reviewer's others
            second = mean / (ratio / 3 + 2 / 3)
            both = np.array([ratio * second, second])
            squares = [size / 3 * capped(3 * each) for size, each in zip((60, 120), both, strict=True)]
            chance = math.exp(-abs(math.log(ratio)) - abs(20 - squares[0]) / 5 - abs(30 - squares[1]) / 5)
            expected += chance * both
            total += chance
    ours = made.chances @ np.column_stack((made.first, made.second))
    assert ours == pytest.approx(expected / total, rel=0.03)  # of a coarser grid


@pytest.mark.promise("P-EFFECT-8")
def test_each_group_has_its_own_variance() -> None:
    """Without noise, the interval is Welch's: a small group that is spread widely counts as such."""
    weights = pv.PublicWeights.from_rows([[0, 1]] * 800, load=4)
    sums = GroupSums(weights=weights, limits=(0, 1), randomised=True)
    wide, narrow = 3.0, 1.0  # the mean of the squared sum of a reviewer's weights, of 40 and 360 reviewers
    capped = [
        people * float(capped_mean(np.array([each]), sums.cap)[0]) for people, each in ((40, wide), (360, narrow))
    ]
    noisy = exact(sums, sum_1=0.0, reviews_1=160, squares_1=capped[0], squares_2=capped[1])
    made = estimate(sums, noisy, 1e-3)
    variance = wide * 40 / 160**2 + narrow * 360 / 1440**2
    assert (made.high - made.low) / 2 == pytest.approx(1.645 * math.sqrt(variance), rel=0.03)


@pytest.mark.promise("P-EFFECT-8")
@pytest.mark.slow
@pytest.mark.parametrize("randomised", [True, False])
@pytest.mark.parametrize("place", range(len(UNEQUAL)), ids=[row[0] for row in UNEQUAL])
def test_intervals_cover_where_groups_are_not_equally_spread(place: int, randomised: bool) -> None:
    _, setting, reviewers, load, size, epsilon = UNEQUAL[place]
    rng, hits = np.random.default_rng([61, place]), []
    for _ in range(100):
        made = trial(rng, setting, reviewers=reviewers, load=load, size=size)
        group = np.where(made.treated == 1, 1, 2)
        ours = released(rng, made.reviews(), group, "ratings", epsilon=epsilon, randomised=randomised)
        hits.append(ours.low <= 0 <= ours.high)
    assert float(np.mean(hits)) >= 0.88 - 3 * math.sqrt(0.09 / 100)
