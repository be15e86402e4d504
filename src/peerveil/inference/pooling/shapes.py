"""Shapes of leniency: in which order a reviewer's leniency puts reviews, if its law is not the normal one.

A score is taken to be ``z = L + e``, standardised, with the leniency ``L`` of deviation ``rho`` and normal ``e``. Given
its score, a review's leniency has a law of its own; reviewers take reviews in its order. For a normal ``L`` that is the
order of the keys of :mod:`peerveil.inference.prior`. See docs/mathematics.md, "Pooled priors". Public data only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, stdtr

from peerveil.inference.family import CORRELATIONS
from peerveil.record.public_record import Floats

#: The least correlation at which the shape of leniency is drawn; below, it makes no difference to speak of.
LEAST = 0.2

#: The degrees of freedom of a leniency with heavy tails, which are cut where leniency is no longer followed.
_FREEDOM = 2

#: How far from its mean a leniency is followed, in deviations, and in how many steps.
_REACH, _STEPS = 10.0, 101


@dataclass(frozen=True, eq=False)
class Shape:
    """A law of leniency with mean 0 and deviation 1.

    Attributes:
        values: its values, ascending.
        chances: their probabilities.
    """

    values: Floats
    chances: Floats

    def keys(self, standard: Floats, noise: Floats, leniency: float) -> Floats:
        """Return keys in whose order reviewers take reviews.

        Args:
            standard: the weights, with mean 0 and deviation 1.
            noise: normal numbers, one row per draw.
            leniency: how strongly reviewers differ, above 0.

        >>> camps = SHAPES["camps"]
        >>> camps.keys(np.array([-1.0, 1.0]), np.array([[0.0, 0.0]]), 3.0).round(2).tolist()
        [[0.5, 1.5]]
        """
        correlation = leniency / math.hypot(1.0, leniency)
        each, place = np.unique(standard, return_inverse=True)
        exponent = -0.5 * ((each[:, None] - correlation * self.values) ** 2) / (1 - correlation**2)
        held = self.chances * np.exp(exponent - exponent.max(axis=1, keepdims=True))
        ends = np.cumsum(held, axis=1) / held.sum(axis=1, keepdims=True)
        ends[:, -1] = 1.0
        at = ndtr(noise)
        found = np.searchsorted((ends + np.arange(each.size)[:, None]).ravel(), at + place)
        number = np.clip(found - place * self.values.size, 0, self.values.size - 1)
        upper = ends[place, number]
        lower = np.where(number > 0, ends[place, number - 1], 0.0)
        within = (at - lower) / np.maximum(upper - lower, 1e-300)
        return np.asarray(number + np.clip(within, 0.0, 1.0))


def _cut(below: Callable[[Floats], Floats]) -> Shape:
    """The shape of a law with mean 0 and deviation 1, given the chance to be below each value."""
    edges = np.linspace(-_REACH, _REACH, _STEPS + 1)
    values = (edges[1:] + edges[:-1]) / 2
    edges[0], edges[-1] = -np.inf, np.inf
    chances = np.diff(below(edges))
    return Shape(values[chances > 0], chances[chances > 0])


def _heavy() -> Shape:
    """Student's law, cut and then scaled to a deviation of 1."""

    def scaled(scale: float) -> Shape:
        return _cut(lambda value: np.asarray(stdtr(_FREEDOM, np.clip(value, -_REACH, _REACH) / scale)))

    def excess(scale: float) -> float:
        shape = scaled(scale)
        return float(shape.chances @ shape.values**2 / shape.chances.sum()) - 1

    shape = scaled(float(brentq(excess, 0.1, 1.0)))
    return Shape(shape.values, shape.chances / shape.chances.sum())


def _below_lenient(value: Floats) -> Floats:
    return -np.expm1(-np.maximum(value + 1, 0.0))


#: The shapes beside the normal law: two camps of equal size; heavy tails; a few lenient reviewers, by an exponential
#: law; and a few strict ones, likewise.
SHAPES: Mapping[str, Shape] = MappingProxyType(
    {
        "camps": Shape(np.array([-1.0, 1.0]), np.array([0.5, 0.5])),
        "heavy": _heavy(),
        "lenient": _cut(_below_lenient),
        "strict": _cut(lambda value: 1 - _below_lenient(-value)),
    }
)

#: The correlations at which shapes are drawn.
SHAPED = CORRELATIONS >= LEAST
