"""Plans of effects: the smallest effect that would be seen at each budget, from public data alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from peerveil.errors import Argument, InputError
from peerveil.inference.effects import LEVEL, Error, check_level, least_mixed
from peerveil.inference.effects.spread import ICC, loads_of
from peerveil.mechanisms import Laplace
from peerveil.privacy.group_sums import GroupSums, default_limits
from peerveil.privacy.guarantee import check_unit
from peerveil.privacy.noise_laws import LaplaceLaw
from peerveil.quantities.weights import PublicWeights
from peerveil.support.arguments import real

#: The probability with which the smallest effect is to be seen.
POWER = 0.8

#: How many times as large as without noise the smallest effect may be to be called almost as small.
_CLOSE = 1.25


@dataclass(frozen=True, kw_only=True)
class EffectPlan:
    """What effects would be seen at each budget, from public data alone.

    Attributes:
        epsilons: the budgets.
        smallest: for each budget the smallest effect whose interval excludes zero with a probability of 80 %.
        half_widths: for each budget half the width of the interval.
        without_noise: the smallest such effect if the numbers were published without noise.
        first_share: the assumed share of reviews of the first group.
        icc: the assumed intraclass correlation.
        level: the level of the interval.
        largest: the largest difference that is possible within the limits of clipping.

    >>> plan_effect(PublicWeights.from_rows([[0, 1]] * 400, load=2), epsilons=(1.0,)).rows()
    [('epsilon 1', '0.105', '±0.0699'), ('without noise', '0.0963', '')]
    >>> plan_effect(PublicWeights.from_rows([[0, 1]] * 400, load=2), epsilons=(1.0,)).verdict.partition("or more ")[2]
    'would be seen with a probability of 80 %, almost as without noise (0.0963).'
    """

    epsilons: tuple[float, ...]
    smallest: tuple[float, ...]
    half_widths: tuple[float, ...]
    without_noise: float
    first_share: float
    icc: float
    level: float
    largest: float

    def rows(self) -> list[tuple[str, str, str]]:
        """Return, for each budget and without noise, the smallest effect that would be seen and the interval."""
        numbers = zip(self.epsilons, self.smallest, self.half_widths, strict=True)
        rows = [(f"epsilon {epsilon:g}", f"{seen:.3g}", f"±{half:.3g}") for epsilon, seen, half in numbers]
        return [*rows, ("without noise", f"{self.without_noise:.3g}", "")]

    @property
    def sentence(self) -> str:
        """The smallest effect that would be seen at the least budget, in words."""
        return (
            f"an effect of {self.smallest[0]:.3g} would be seen, with an interval of ±{self.half_widths[0]:.3g}; "
            f"without noise one of {self.without_noise:.3g}"
        )

    @property
    def verdict(self) -> str:
        """Whether a release at the least budget is worth it, in a sentence."""
        seen, without = self.smallest[0], self.without_noise
        if seen >= self.largest:
            missed = f"missed with a probability of more than {100 * (1 - POWER):.0f} %"
            return f"Not worth its budget: even the largest possible difference would be {missed}."
        power = f"would be seen with a probability of {100 * POWER:.0f} %"
        large = f"a difference between the groups of {seen:.3g} or more {power}"
        if seen > _CLOSE * without:
            return f"Worth its budget for large differences only: {large}, instead of {without:.3g} without noise."
        return f"Worth its budget: {large}, almost as without noise ({without:.3g})."

    @property
    def assumption(self) -> str:
        """What the plan assumes, in words."""
        return (
            f"Assumed: {100 * self.first_share:.3g} % of the reviews are of the first group, and "
            f"{100 * self.icc:.3g} % of the variance of weights is between reviewers. An effect is seen if its "
            f"{100 * self.level:.3g} % interval excludes zero; an effect of this size is seen with a probability of "
            f"{100 * POWER:.0f} %."
        )


def plan_effect(
    weights: PublicWeights,
    *,
    epsilons: Sequence[float] = (0.3, 1.0, 3.0),
    unit: str = "reviewer",
    first_share: float = 0.5,
    others: bool = False,
    randomised: bool = False,
    limits: tuple[float, float] | None = None,
    icc: float | None = None,
    level: float = LEVEL,
    sizes: tuple[int, int] | None = None,
    pairs: bool = False,
) -> EffectPlan:
    """Return the smallest effect that would be seen at each budget; only public data is used.

    Args:
        weights: the public weights.
        epsilons: the budgets.
        unit: the protected unit.
        first_share: the share of reviews of the first group.
        others: whether reviewers may be in neither group.
        randomised: whether groups are assigned at random, independently of papers.
        limits: the limits of clipping, as in :func:`peerveil.effect`.
        icc: the intraclass correlation; if it is not stated, 0.2 is assumed.
        level: the level of the interval.
        sizes: the number of reviewers of each group, if these are public; then ``first_share`` follows.
        pairs: whether reviews are compared whose reviewer and paper share a property; then ``first_share`` is theirs.

    >>> plan = plan_effect(PublicWeights.from_rows([[0, 1]] * 400, load=2))
    >>> plan.smallest[0] > plan.smallest[1] > plan.smallest[2] > plan.without_noise
    True
    """
    if not 0 < real(Argument("first_share"), first_share) < 1:
        raise InputError(Argument("first_share"), f" must be a number between 0 and 1, got {first_share}")
    check_level(level)
    limits = default_limits(weights) if limits is None else limits
    how = {"others": others, "randomised": randomised, "pairs": pairs}
    sums = GroupSums(weights=weights, limits=limits, icc=icc, sizes=sizes, **how)
    first_share = first_share if sizes is None else sizes[0] / sum(sizes)
    icc = ICC if icc is None else icc
    bound, reviews = sums.sensitivity(check_unit(unit)), sums.weights.low.size
    loads, people = loads_of(sums)
    first, second = first_share * reviews, (1 - first_share) * reviews
    squares = sums.variance * float(people @ (loads * (1 + (loads - 1) * icc)))
    variance = squares * (1 / first + 1 / second) / reviews / sums.passing**2
    ends, seen = [], []
    for epsilon in (*epsilons, math.inf):
        law = None if math.isinf(epsilon) else Laplace(epsilon=epsilon).settle(bound).law
        scale = law.scale if isinstance(law, LaplaceLaw) else 0.0
        on_sums = [1 / first, 1 / second] if "sum_2" in sums.units else [1 / first + 1 / second]
        scales = np.array(on_sums) * scale / sums.passing
        error = Error(variances=np.array([variance]), chances=np.ones(1), scales=scales)
        half, power = error.within(level), error.within(2 * POWER - 1)
        # The mixture of groups must be seen with the same probability; otherwise the interval is the whole range.
        mixed = scale / sums.units.get("mixed", math.inf)
        if first * second / reviews < least_mixed(mixed, level) + mixed * math.log(0.5 / (1 - POWER)):
            half, power = 2 * sums.width, 0.0
        ends.append(half)
        seen.append(half + power)
    return EffectPlan(
        epsilons=tuple(map(float, epsilons)),
        smallest=tuple(seen[:-1]),
        half_widths=tuple(ends[:-1]),
        without_noise=seen[-1],
        first_share=first_share,
        icc=icc,
        level=level,
        largest=sums.width,
    )
