"""Likeness of public records: records that are alike may share a plan.

Which mechanism and estimator is best depends on how large the noise is compared with how much reviewers' means differ:
on the number of reviewers, their loads, the range and spread of the weights. Records are alike if all of these are
about the same. A plan of one is then nearly as good for the other: ``benchmarks/bench_platform.py`` measures what
is lost. A shared plan is a choice from public data all the same, so no claim depends on it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from peerveil.quantities.weights import PublicWeights

#: Numbers are about the same if they are in the same class of this ratio.
_RATIO = 1.25

#: More different weights than this are as good as continuous.
_CONTINUOUS = 16


def likeness(weights: PublicWeights) -> tuple[Any, ...] | None:
    """What records that may share a plan have in common; ``None`` for a record that has to be planned for itself.

    >>> one = PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]] * 10, load=2)
    >>> other = PublicWeights.from_rows([[1, 5], [2, 3], [4, 5], [3, 1]] * 10, load=2)
    >>> many = PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]] * 100, load=2)
    >>> likeness(one) == likeness(other), likeness(one) == likeness(many)
    (True, False)
    """
    if weights.part is not None:  # neighbours are those of a whole conference, of which the weights are a part
        return None
    low, high = weights.span
    loads = weights.loads
    middle = (weights.low + weights.high) / 2
    return (
        weights.quantity,
        weights.model,
        weights.exact,
        None if weights.prior is None else weights.prior.digest,
        min(np.unique(middle).size, _CONTINUOUS),
        _about(high - low),
        _about(weights.hidden_span),
        _about(float(middle.std())),
        _about(weights.reviewers),
        _about(loads.reviews / loads.reviewers),
        _about(loads.smallest),
        _about(loads.largest),
        _about(loads.reviews / weights.sizes().size),
    )


def _about(number: float) -> int | None:
    """The class of a number on a logarithmic scale."""
    return round(math.log(number, _RATIO)) if number > 0 else None
