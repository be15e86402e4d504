"""Plans of correlations between two conferences: their intervals at each budget, from public data alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from peerveil.errors import Argument, InputError
from peerveil.inference.effects import LEVEL, check_level
from peerveil.inference.linked import Interval
from peerveil.inference.linked.clipping import Clipped
from peerveil.inference.linked.tables import estimated
from peerveil.mechanisms import Histogram, Laplace
from peerveil.privacy.guarantee import check_unit
from peerveil.privacy.linked.counts import LinkedCounts
from peerveil.privacy.linked.sums import ICC, LEAST, LinkedSums, side_of
from peerveil.privacy.noise_laws import DiscreteLaplaceLaw, LaplaceLaw
from peerveil.quantities.weights import PublicWeights

#: The correlation of the trait that plans assume.
TRAIT = 0.5


@dataclass(frozen=True, kw_only=True)
class CorrelationPlan:
    """The intervals that are expected at each budget, from public data alone.

    Attributes:
        epsilons: the budgets.
        observed: for each budget the expected interval of the correlation of observed means.
        trait: the same for the trait; ``None`` if weights are hidden, or for a table of counts.
        without_noise: half the width of the first if the numbers were published without noise.
        people: the assumed number of people in both conferences.
        level: the level of the intervals.

    >>> weights = PublicWeights.from_rows([[0, 1]] * 1600, load=4)
    >>> plan_correlation(weights, weights, people=600, epsilons=(1.0,)).rows()
    [('epsilon 1', '0.25 (0.13 to 0.38)', '0.50 (0.25 to 1.00)'), ('without noise', '±0.068', '')]
    """

    epsilons: tuple[float, ...]
    observed: tuple[Interval, ...]
    trait: tuple[Interval | None, ...]
    without_noise: float
    people: int
    level: float

    def rows(self) -> list[tuple[str, str, str]]:
        """Return, for each budget and without noise, the expected intervals."""
        numbers = zip(self.epsilons, self.observed, self.trait, strict=True)
        rows = [(f"epsilon {epsilon:g}", _words(seen), _words(trait)) for epsilon, seen, trait in numbers]
        return [*rows, ("without noise", f"±{self.without_noise:.2g}", "")]

    @property
    def sentence(self) -> str:
        """The intervals at the first budget, in words."""
        trait = "" if self.trait[0] is None else f", that of the trait {_words(self.trait[0])}"
        return (
            f"the correlation of observed means would be {_words(self.observed[0])}{trait}; without noise the interval "
            f"of the first would be ±{self.without_noise:.2g}"
        )

    @property
    def assumption(self) -> str:
        """What the plan assumes, in words."""
        return (
            f"Assumed: {self.people:,} people count in both conferences, {100 * ICC:.3g} % of the variance of weights "
            f"is between people, and the correlation of the trait is {TRAIT:g}. Intervals are of "
            f"{100 * self.level:.3g} %."
        )


def plan_correlation(
    first: PublicWeights,
    second: PublicWeights,
    *,
    people: int | None = None,
    epsilons: Sequence[float] = (0.3, 1.0, 3.0),
    unit: str = "reviewer",
    least: int = LEAST,
    level: float = LEVEL,
    bins: int | None = None,
) -> CorrelationPlan:
    """Return the intervals that :func:`peerveil.correlate` would give, from public data alone.

    Args:
        first: the public weights of a conference.
        second: those of another one.
        people: how many people you expect in both; by default half of the reviewers of the smaller conference.
        epsilons: the budgets to compare.
        unit: the protected unit.
        least: people with fewer reviews in one of the conferences do not count.
        level: the level of the intervals.
        bins: the number of bins in each conference, if people are counted by both means.

    >>> weights = PublicWeights.from_rows([[0, 1]] * 1600, load=4)
    >>> few, many = (plan_correlation(weights, weights, people=people).observed[1] for people in (200, 800))
    >>> many.high - many.low < few.high - few.low
    True
    """
    check_level(level)
    sides = side_of(first, least=least), side_of(second, least=least)
    sums = LinkedSums(sides=sides) if bins is None else LinkedCounts(sides=sides, number=bins)
    most = min(side.people for side in sums.sides)
    count = max(most // 2, 2) if people is None else people
    if isinstance(count, bool) or not isinstance(count, int) or not 2 <= count <= most:
        raise InputError(Argument("people"), f" must be a whole number from 2 to {most}, got {people!r}")
    expected = _expected(sums, count) if isinstance(sums, LinkedSums) else _expected_counts(sums, count)
    bound = sums.sensitivity(check_unit(unit))
    scales = []
    for epsilon in epsilons:
        noise = Laplace(epsilon=epsilon) if bins is None else Histogram(epsilon=epsilon, bins=bins)
        law = noise.settle(bound).law
        assert isinstance(law, LaplaceLaw | DiscreteLaplaceLaw)  # noqa: S101 - of such noise
        scales.append(law.scale)
    made = [estimated(sums, expected, scale, level=level) for scale in scales]
    ideal = estimated(sums, expected, 1e-9, level=level).observed
    return CorrelationPlan(
        epsilons=tuple(map(float, epsilons)),
        observed=tuple(one.observed for one in made),
        trait=tuple(one.trait for one in made),
        without_noise=(ideal.high - ideal.low) / 2,
        people=count,
        level=level,
    )


def _expected(sums: LinkedSums, people: int) -> np.ndarray:
    """The expected numbers in their units, with normal means and a usual trait."""
    loads = [side.moments() for side in sums.sides]
    first, second = (
        Clipped(
            mean=0.0,
            deviation=math.sqrt(side.spread * (one.square * ICC + one.load * (1 - ICC))),
            excess=side.excess,
        )
        for side, one in zip(sums.sides, loads, strict=True)
    )
    product = loads[0].load * loads[1].load
    between = TRAIT * ICC * product * math.sqrt(sums.sides[0].spread * sums.sides[1].spread)
    covariance = first.covariance(second, between / (first.deviation * second.deviation))
    each = {"people": 1.0, "sum_1": 0.0, "sum_2": 0.0, "difference": (first.variance - second.variance) / 2}
    largest = [side.largest for side in sums.sides]
    each |= {f"loads_{place}": one.square / largest[place - 1] ** 2 for place, one in enumerate(loads, 1)}
    each["loads"] = product / math.prod(largest)
    half = (first.variance + second.variance) / 4
    each |= {"alike": half + covariance / 2, "apart": half - covariance / 2}
    return np.array([people * each[name] * unit for name, unit in sums.units.items()])


def _expected_counts(table: LinkedCounts, people: int) -> np.ndarray:
    """The expected counts, with normal means and a usual trait."""
    shares = [ICC / (ICC + (1 - ICC) * side.moments().inverse) for side in table.sides]
    correlation = TRAIT * math.sqrt(shares[0] * shares[1])
    cuts = ndtri(np.arange(1, table.number) / table.number)
    points = ndtri((np.arange(20_000) + 0.5) / 20_000)
    below = ndtr((cuts[:, None] - correlation * points) / math.sqrt(1 - correlation**2))
    second = np.diff(np.vstack([np.zeros(points.size), below, np.ones(points.size)]), axis=0)
    rows = np.array_split(np.arange(points.size), table.number)  # bins of equal shares
    cells = np.array([second[:, row].sum(axis=1) / points.size for row in rows])
    return np.asarray(np.rint(people * cells.ravel()))


def _words(interval: Interval | None) -> str:
    if interval is None:
        return "not told"  # by hidden scores, or by a table
    if interval.value is None:
        return "not known"
    return f"{interval.value:.2f} ({interval.low:.2f} to {interval.high:.2f})"
