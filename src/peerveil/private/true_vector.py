"""The true vector, which is only ever passed to the noise."""

from __future__ import annotations

import numpy as np

from peerveil.private.reviews import Reviews
from peerveil.quantities.base import Lone
from peerveil.quantities.functions import QuantityLike
from peerveil.quantities.own_statistics import value_of
from peerveil.quantities.statistics import MEAN, split
from peerveil.quantities.weights import review_weights
from peerveil.record.public_record import Floats, PublicRecord


def true_values(
    reviews: Reviews,
    quantity: QuantityLike,
    *,
    record: PublicRecord | None = None,
    lone: Lone = "refuse",
    span: tuple[float, float] | None = None,
) -> Floats:
    """Return the mean of each reviewer's weights, or the value of the statistic that the quantity names.

    Quantities that are learnt from reviews use only those in ``record``, their checked public record; by default
    everything is public. The statistic does not depend on the order of the reviews, so that the entries of neighbouring
    assignments differ only for the reviewers concerned, to the last bit. ``span`` is the public range of the weights,
    beyond whose statistics none can be; by default that of the reviews.

    >>> reviews = Reviews.from_columns(["p", "p", "q", "q"], ["a", "b", "a", "b"], [3, 5, 4, 8])
    >>> true_values(reviews, "ratings").tolist()
    [3.5, 6.5]
    """
    public = reviews.public("all") if record is None else record
    weight = review_weights(reviews, quantity, record=public, lone=lone)
    statistic = split(quantity)[0] if isinstance(quantity, str) else MEAN
    span = (float(weight.min()), float(weight.max())) if span is None else span
    return np.array([value_of(statistic, weights, span) for weights in by_reviewer(reviews, weight)])


def by_reviewer(reviews: Reviews, weight: Floats) -> list[Floats]:
    """Return the weights of each reviewer's reviews."""
    order = np.argsort(reviews.reviewer, kind="stable")
    ends = np.cumsum(np.bincount(reviews.reviewer))
    return np.split(weight[order], ends[:-1])


def true_vector(
    reviews: Reviews,
    quantity: QuantityLike,
    *,
    record: PublicRecord | None = None,
    lone: Lone = "refuse",
    span: tuple[float, float] | None = None,
) -> Floats:
    """Return the values of :func:`true_values`, sorted."""
    return np.sort(true_values(reviews, quantity, record=record, lone=lone, span=span))
