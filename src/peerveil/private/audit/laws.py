"""Test of noise against the law that a release states."""

from __future__ import annotations

import numpy as np
from scipy.stats import binom

from peerveil.privacy.law import Law
from peerveil.record.public_record import Floats

#: Probabilities of the intervals around 0 in which noise is counted.
_WITHIN = (0.1, 0.3, 0.5, 0.7, 0.9, 0.99)


def noise_differs(law: Law, noise: Floats, risk: float) -> str:
    """How noise differs from its law, by exact binomial tests: ``"smaller"``, ``"larger"``, or empty.

    >>> from peerveil.privacy.noise_laws import LaplaceLaw
    >>> rng = np.random.default_rng(1)
    >>> [noise_differs(LaplaceLaw(scale=2.0), rng.laplace(scale=s, size=2000), 1e-6) for s in (1.0, 2.0, 4.0)]
    ['smaller', '', 'larger']
    """
    size = np.abs(noise)
    each = risk / (2 * len(_WITHIN))
    larger = False
    for share in _WITHIN:
        limit, chance = law.limit(share)
        within = int((size <= limit).sum())
        if binom.sf(within - 1, size.size, chance) < each:
            return "smaller"
        larger |= bool(binom.cdf(within, size.size, chance) < each)
    return "larger" if larger else ""
