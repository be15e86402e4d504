"""Quantities as users write them, in a module that loads quickly: processes of tests import it."""

from __future__ import annotations

import numpy as np

import peerveil as pv
from peerveil.quantities import HiddenReach, Judged, Lone, Quantity, Words
from peerveil.record.public_record import Floats


class Boldness:
    """How far a score is from 2: a hidden score moves its own weight only."""

    name = "boldness"
    words = Words(
        label="Boldness of scores",
        title="How bold the reviewers are",
        meaning="the mean distance of each reviewer's scores from 2",
        mean="a reviewer's mean distance from 2",
        short_mean="mean distance",
        unit=" steps",
    )
    reach = HiddenReach()

    def weights(self, held: Judged, *, record: pv.PublicRecord, lone: Lone) -> Floats:
        return np.abs(held.score - 2)

    def hidden_bounds(self, record: pv.PublicRecord, *, lone: Lone) -> tuple[Floats, Floats]:
        low, high = record.score_bounds()
        least = np.maximum(np.maximum(low - 2, 2 - high), 0.0)
        return least, np.maximum(abs(low - 2), abs(high - 2))


class Contrast:
    """The score minus the mean of its paper's scores, its own included: a hidden score moves all weights there."""

    name = "contrast"
    words = Words(
        label="Contrast",
        title="How far from their papers' means",
        meaning="the mean difference from the papers' means",
        mean="a reviewer's mean contrast",
        short_mean="mean contrast",
        sides=("below the paper", "above the paper"),
    )
    reach = HiddenReach(co_reviews=True, centred=True)

    def weights(self, held: Judged, *, record: pv.PublicRecord, lone: Lone) -> Floats:
        means = np.bincount(held.paper, weights=held.score) / np.bincount(held.paper)
        return held.score - means[held.paper]

    def hidden_bounds(self, record: pv.PublicRecord, *, lone: Lone) -> tuple[Floats, Floats]:
        low, high = record.score_bounds()
        size = np.bincount(record.paper)[record.paper]
        lows, highs = (np.bincount(record.paper, weights=end)[record.paper] - end for end in (low, high))
        return (low * (size - 1) - highs) / size, (high * (size - 1) - lows) / size


OWN: tuple[Quantity, ...] = (Boldness(), Contrast())


class Median:
    """The median of a reviewer's weights."""

    name = noun = "median"
    meaning, plural = "the median", "medians"

    def of(self, weights: Floats) -> float:
        return float(np.median(weights))

    def reach(self, low: float, high: float) -> tuple[float, float]:
        return low, high
