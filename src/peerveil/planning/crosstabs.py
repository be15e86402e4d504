"""Plans of releases by an attribute: how precise the shares of groups will be, from public data alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

from peerveil.errors import Argument, InputError
from peerveil.inference.effects.crosstabs import share_deviation
from peerveil.mechanisms import Histogram
from peerveil.mechanisms.bin_choice import bins_of, default_number
from peerveil.privacy.guarantee import check_unit
from peerveil.privacy.sensitivity import Sensitivity, crosstab_sensitivity
from peerveil.quantities.weights import PublicWeights

#: Sizes of groups that a plan shows, and the deviation of a share beyond which a group is called too small.
_SIZES = (20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
TOO_LARGE = 0.05


@dataclass(frozen=True, kw_only=True)
class CrosstabPlan:
    """How precise a release by an attribute would be.

    Attributes:
        bins: the number of bins.
        scale: the scale of the noise in each count.
        reviewers: the number of reviewers.
        sizes: sizes of groups, in reviewers.
        deviations: for each size, the standard deviation of the share of an average bin, due to noise.
        smallest: the smallest group in which that is at most 5 percentage points.

    >>> plan = plan_by(PublicWeights.from_rows([[1, 2]] * 400, load=2), groups=2, mechanism=Histogram(epsilon=1.0))
    >>> plan.bins, plan.smallest
    (3, 139)
    >>> plan.verdict.partition(": ")[0]
    'Worth its budget for groups of at least 139 reviewers'
    """

    bins: int
    scale: float
    reviewers: int
    sizes: tuple[int, ...]
    deviations: tuple[float, ...]
    smallest: int

    def rows(self) -> list[tuple[str, str]]:
        """Return sizes of groups, and the deviation of a share in percentage points."""
        return [
            (f"{size:,}", f"±{100 * deviation:.2g} points" if deviation < 1 else "no information")
            for size, deviation in zip(self.sizes, self.deviations, strict=True)
        ]

    @property
    def sentence(self) -> str:
        """How precise shares are in the largest group that is shown, in words."""
        size, precision = self.rows()[-1]
        return f"{precision} in a share of a group of {size} reviewers"

    @property
    def verdict(self) -> str:
        """Whether the release is worth its budget, in a sentence."""
        most, groups = f"{100 * TOO_LARGE:.0f} percentage points", f"groups of at least {self.smallest:,} reviewers"
        if self.smallest > self.reviewers:
            everybody = f"even if all {self.reviewers:,} reviewers were one group"
            return f"Not worth its budget: {everybody}, noise would typically change its shares by more than {most}."
        if 2 * self.smallest > self.reviewers:
            groups = f"one large group at most, of at least {self.smallest:,} of the {self.reviewers:,} reviewers"
        return f"Worth its budget for {groups}: noise typically changes their shares by {most} or less."

    @property
    def assumption(self) -> str:
        """What the plan says, in words."""
        small = f"Groups of fewer than {self.smallest:,} reviewers would be too small to say much about"
        if self.smallest > self.reviewers:
            small = "Every group would be too small to say much about"
        return (
            f"{self.bins} bins; noise of deviation {math.sqrt(2) * self.scale:.3g} reviewers in each count. Shown is "
            f"the standard deviation of the share of an average bin, for groups of several sizes. {small}: it exceeds "
            f"{100 * TOO_LARGE:.0f} percentage points there."
        )


def plan_by(
    weights: PublicWeights, *, groups: int, mechanism: Histogram, unit: str = "reviewer", public_sizes: bool = False
) -> CrosstabPlan:
    """Return how precise a release by an attribute would be; only public data is used.

    Args:
        weights: the public weights.
        groups: the number of groups.
        mechanism: the noise, such as ``Histogram(epsilon=1.0)``.
        unit: the protected unit.
        public_sizes: whether the sizes of groups are public.

    >>> weights = PublicWeights.from_rows([[1, 2]] * 400, load=2)
    >>> plan_by(weights, groups=2, mechanism=Histogram(epsilon=1.0)).rows()[-1]
    ('200', '±3.5 points')
    """
    if isinstance(groups, bool) or not isinstance(groups, int) or groups < 2:
        raise InputError(Argument("groups"), f" must be a whole number of at least 2, got {groups!r}")
    bound = crosstab_sensitivity(weights, check_unit(unit), sizes=public_sizes)
    settled = settled_bins(mechanism, weights, bound, groups)
    bins, scale = bins_of(weights, settled.bins or 2).number, settled.settle(bound).mechanism.scale_on_counts
    assert scale is not None  # noqa: S101 - of a settled histogram
    sizes = tuple(size for size in _SIZES if size < weights.reviewers) or (weights.reviewers,)
    return CrosstabPlan(
        bins=bins,
        scale=scale,
        reviewers=weights.reviewers,
        sizes=sizes,
        deviations=tuple(share_deviation(size, bins, scale) for size in sizes),
        smallest=math.ceil(share_deviation(1.0, bins, scale) / TOO_LARGE),
    )


def settled_bins(mechanism: Histogram, weights: PublicWeights, bound: Sensitivity, groups: int) -> Histogram:
    """Return the mechanism with its number of bins: by default as many as suit a group of average size."""
    if mechanism.bins is not None:
        return mechanism
    scale = mechanism.settle(bound).mechanism.scale_on_counts
    assert scale is not None  # noqa: S101 - of a settled histogram
    return mechanism.changed(bins=default_number(max(1, weights.reviewers // groups), scale))
