"""The true vector. It is made here, handed to the noise, and goes nowhere else."""

from __future__ import annotations

import numpy as np

from peerveil.private.reviews import Reviews
from peerveil.quantities.base import Lone
from peerveil.quantities.functions import QuantityLike
from peerveil.quantities.statistics import named
from peerveil.quantities.weights import review_weights
from peerveil.record.public_record import Floats, PublicRecord


def true_vector(
    reviews: Reviews,
    quantity: QuantityLike,
    *,
    record: PublicRecord | None = None,
    lone: Lone = "refuse",
    statistic: str = "mean",
) -> Floats:
    """The sorted means of the reviewers' weights, or another statistic of them.

    Args:
        reviews: the private reviews.
        quantity: what to compute.
        record: what is public of them, as checked against them: what is learnt from reviews is learnt from those that
            it shows. By default everything is public.
        lone: what to do with the miscalibration of a paper's only review.
        statistic: the number that stands for a reviewer's weights. It does not depend on the order of the reviews, so
            that neighbouring assignments differ only in the numbers of the reviewers they concern, to the last bit.

    >>> reviews = Reviews.from_columns(["p", "p", "q", "q"], ["a", "b", "a", "b"], [3, 5, 4, 8])
    >>> true_vector(reviews, "ratings").tolist()
    [3.5, 6.5]
    """
    public = reviews.public("all") if record is None else record
    weight = review_weights(reviews, quantity, record=public, lone=lone)
    order = np.argsort(reviews.reviewer, kind="stable")
    ends = np.cumsum(np.bincount(reviews.reviewer))
    return np.sort([named(statistic).of(held) for held in np.split(weight[order], ends[:-1])])
