"""Plans about groups of reviewers say in a sentence whether the release is worth its budget."""

from __future__ import annotations

from dataclasses import replace

import pytest

import peerveil as pv
from peerveil.planning.crosstabs import plan_by
from peerveil.planning.effects import plan_effect


def weights(reviewers: int) -> pv.PublicWeights:
    return pv.PublicWeights.from_rows([[1, 2]] * reviewers, load=2)


@pytest.mark.parametrize(
    ("reviewers", "words"),
    [
        (100, "Not worth its budget: even if all 100 reviewers were one group, noise would typically change its"),
        (200, "Worth its budget for one large group at most, of at least 139 of the 200 reviewers: noise typically"),
        (2000, "Worth its budget for groups of at least "),
    ],
)
def test_shares_of_groups_need_groups_that_are_large_enough(reviewers: int, words: str) -> None:
    plan = plan_by(weights(reviewers), groups=2, mechanism=pv.Histogram(epsilon=1.0))
    assert plan.verdict.startswith(words)
    assert (plan.smallest > plan.reviewers) == ("Not worth" in plan.verdict)
    assert f"{plan.smallest:,}" in plan.verdict or "Not worth" in plan.verdict


def test_the_smallest_difference_that_is_seen_tells_what_an_effect_is_worth() -> None:
    """Of the same conference: with a large budget, with a small one, and with one that shows nothing."""
    large, small, least = (plan_effect(weights(400), epsilons=(epsilon,)) for epsilon in (3.0, 0.3, 0.01))
    assert large.smallest[0] < 1.25 * large.without_noise
    assert large.verdict.startswith(f"Worth its budget: a difference between the groups of {large.smallest[0]:.3g} or")
    assert small.verdict.startswith("Worth its budget for large differences only: a difference between the groups of")
    seen = f"{small.smallest[0]:.3g} or more would be seen with a probability of 80 %"
    assert f"{seen}, instead of {small.without_noise:.3g}" in small.verdict
    assert least.smallest[0] >= least.largest
    assert least.verdict == (
        "Not worth its budget: even the largest possible difference would be missed with a probability of more "
        "than 20 %."
    )


def test_no_difference_is_larger_than_the_limits_allow() -> None:
    plan = plan_effect(weights(400), epsilons=(1.0,), limits=(1.0, 1.5))
    assert plan.largest == 0.5
    assert replace(plan, largest=plan.smallest[0]).verdict.startswith("Not worth its budget")
