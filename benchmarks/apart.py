"""How far noisy releases of two sets of truths can be told apart: the total variation distance of their laws.

A truth is one of a set, each as likely as the others, and each of its numbers gets independent noise of a known law. No
test tells from a release which set it is of with an error below ``(1 - distance) / 2``.
"""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from peerveil.privacy.law import Law
from peerveil.record.public_record import Floats
from results import Measured


def log_chances(noisy: Floats, truths: Floats, law: Law) -> Floats:
    """Return the log density of each noisy release, one per row, if the truth is one of the rows of ``truths``."""
    each = [logsumexp(law.log_density(release - truths).sum(axis=1)) for release in noisy]
    return np.asarray(np.array(each) - np.log(len(truths)))


def drawn(truths: Floats, law: Law, draws: int, rng: np.random.Generator) -> Floats:
    """Return noisy releases of truths drawn from the set, one per row."""
    chosen = truths[rng.integers(len(truths), size=draws)]
    return np.asarray(chosen + law.draw(rng, chosen.size).reshape(chosen.shape))


def distance(first: Floats, second: Floats, law: Law, draws: int, rng: np.random.Generator) -> Measured:
    """Return the total variation distance of releases of two sets, estimated from so many draws of each."""
    parts = []
    for own, other in ((first, second), (second, first)):
        noisy = drawn(own, law, draws, rng)
        apart = log_chances(noisy, other, law) - log_chances(noisy, own, law)
        parts.append(np.maximum(0.0, -np.expm1(np.minimum(apart, 0.0))))
    error = np.sqrt(sum(part.var(ddof=1) / draws for part in parts)) / 2
    return Measured(float(np.mean(parts)), float(error), 2 * draws)
