"""Correlations from noisy counts of people by their means in two conferences, and shares of each row."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from peerveil.errors import InputError
from peerveil.inference.effects import check_level
from peerveil.inference.effects.crosstabs import GroupEstimate, estimate_groups
from peerveil.inference.linked import Correlations, Ratio, correlations, fieller
from peerveil.inference.linked.clipping import Binned
from peerveil.privacy.linked.counts import LinkedCounts
from peerveil.privacy.linked.sums import LinkedSums
from peerveil.record.public_record import Floats

#: The least share of people in a bin that is considered, and how many times its noise the number of people must be.
_LEAST, _FEWEST = 0.01, 3.0


def estimated(numbers: LinkedSums | LinkedCounts, noisy: Floats, scale: float, *, level: float) -> Correlations:
    """Return correlations from noisy sums, or from noisy counts, whose noise has a scale."""
    if isinstance(numbers, LinkedSums):
        return correlations(numbers, noisy, scale, level=level)
    return of_counts(numbers, noisy, scale, level=level)


def of_counts(table: LinkedCounts, noisy: Floats, scale: float, *, level: float) -> Correlations:
    """Return the correlation of observed means that makes noisy counts likely, if means are normal.

    Bins of normal variables have a correlation that grows with that of the variables. The trait's is not told: how much
    means are spread is not in the counts.

    >>> from peerveil.privacy.linked.sums import side_of
    >>> from peerveil.quantities.weights import PublicWeights
    >>> side = side_of(PublicWeights.from_rows([[0, 1]] * 1600, load=4))
    >>> made = of_counts(LinkedCounts(sides=(side, side), number=2), np.array([200.0, 100, 100, 200]), 1.0, level=0.9)
    >>> round(made.observed.value, 3)   # the sine of 30 degrees
    0.5
    """
    check_level(level)
    if noisy.shape != (table.number**2,) or not np.array_equal(noisy, np.rint(noisy)):
        raise InputError(f"the release of this table has {table.number**2} whole numbers")
    people, most = float(noisy.sum()), float(min(side.people for side in table.sides))
    if people < _FEWEST * scale * table.number:
        return Correlations(people=min(max(people, 0.0), most), trait=None)
    share = np.maximum(noisy / people, 0.0)
    share /= share.sum()
    spread = people * (np.diag(share) - np.outer(share, share))
    scales = np.full(noisy.size, scale)
    observed = fieller(_ratio, noisy, scales, spread, level=level, people=people)
    return Correlations(people=min(people, most), observed=observed, trait=None)


def rows_of(table: LinkedCounts, noisy: Floats, scale: float, *, level: float) -> tuple[GroupEstimate, ...]:
    """Return for each bin in the first conference how its people are distributed over those in the second.

    The number of people is not public: it is the sum of the counts. Sizes of rows are not to be shown with intervals.
    """
    counts = noisy.astype(np.int64).reshape(table.number, -1)
    most = min(side.people for side in table.sides)
    return estimate_groups(counts, min(max(int(counts.sum()), 0), most), scale, level=level)


def _ratio(numbers: Floats) -> Ratio:
    counts = numbers.reshape(math.isqrt(numbers.size), -1)
    people = float(counts.sum())
    first, second = (_side(counts.sum(axis=axis) / people) for axis in (1, 0))
    one, other = first.scores, second.scores
    margins = float(counts.sum(axis=1) @ one) * float(counts.sum(axis=0) @ other) / people**2
    covariance = float(one @ counts @ other) / people - margins
    deviations = math.sqrt(first.variance * second.variance)
    return Ratio(first.unclipped(second, covariance / deviations) * deviations, deviations)


def _side(shares: Floats) -> Binned:
    shares = np.maximum(shares, _LEAST)
    return Binned(cuts=tuple(ndtri(np.cumsum(shares / shares.sum())[:-1]).tolist()))
