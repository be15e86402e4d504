"""The true vector. It is made here, handed to the noise, and goes nowhere else."""

from __future__ import annotations

import math

import numpy as np

from peerveil.private.reviews import Reviews
from peerveil.record import Floats
from peerveil.weights import Lone, review_weights


def true_vector(reviews: Reviews, quantity: str, *, lone: Lone = "refuse") -> Floats:
    """The sorted means of the reviewers' weights.

    Each mean is one exactly rounded sum and one division, whatever the order of the reviews: neighbouring assignments
    differ only in the means of the reviewers they concern, to the last bit.

    >>> reviews = Reviews.from_columns(["p", "p", "q", "q"], ["a", "b", "a", "b"], [3, 5, 4, 8])
    >>> true_vector(reviews, "ratings").tolist()
    [3.5, 6.5]
    """
    weight = review_weights(reviews.paper, reviews.score, quantity, lone=lone)
    order = np.argsort(reviews.reviewer, kind="stable")
    ends = np.cumsum(np.bincount(reviews.reviewer))
    return np.sort([_mean(held) for held in np.split(weight[order], ends[:-1])])


def _mean(held: Floats) -> float:
    """The mean; of equal weights exactly that weight, whatever the load."""
    return float(held[0]) if held.min() == held.max() else math.fsum(held) / held.size
