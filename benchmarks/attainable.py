"""Which probabilities bands of whole attainable means can have: means come in steps, and a band holds a step or not.

A posterior from noisy counts says how probable each attainable mean is for each entry of the sorted vector. Of all
intervals of attainable means with at least a probability, one has the least: no band of that level can have less.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from peerveil.inference.count_posterior import CountPosterior
from peerveil.record.public_record import Floats


def up_to(posterior: CountPosterior) -> tuple[Floats, Floats]:
    """Return the attainable means, and for each entry the probabilities of at most each of them (one row per mean)."""
    below, width = posterior.below, posterior.width
    means = posterior.least + np.concatenate(([0.0], np.cumsum(width[:-1])))
    rank = np.arange(posterior.entries) + 0.5  # an entry is above a step if no more than its rank are below it
    above = np.zeros((width.size, posterior.entries))
    for chance, mean, variance in zip(below.probabilities, below.means, below.variances, strict=True):
        above += chance * ndtr((rank - mean[:, None]) / np.sqrt(np.maximum(variance, 1e-300))[:, None])
    at_most = np.maximum.accumulate(1 - above, axis=0)
    at_most[-1] = 1.0
    return means, at_most


def chance_within(posterior: CountPosterior, lower: Floats, upper: Floats) -> Floats:
    """Return the posterior probability of each band."""
    means, at_most = up_to(posterior)
    slack = 1e-9 * (1 + np.abs(means).max())
    first, behind = np.searchsorted(means, lower - slack), np.searchsorted(means, upper + slack, side="right")
    sums, entry = np.vstack((np.zeros(at_most.shape[1]), at_most)), np.arange(at_most.shape[1])
    return np.asarray(sums[behind, entry] - sums[np.minimum(first, behind), entry])


def least_chance(posterior: CountPosterior, level: float) -> Floats:
    """Return the least probability of an interval of attainable means that has at least a level, for each entry."""
    _, at_most = up_to(posterior)
    sums = np.vstack((np.zeros(at_most.shape[1]), at_most))
    least = np.ones(at_most.shape[1])
    for first in range(len(at_most)):
        chance = sums[first + 1 :] - sums[first]
        least = np.minimum(least, np.where(chance >= level, chance, 1.0).min(axis=0))
    return least
