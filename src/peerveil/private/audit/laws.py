"""Whether noise has the law that a release states."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri
from scipy.stats import binom

from peerveil.errors import InputError
from peerveil.privacy.noise_laws import DiscreteLaplaceLaw, LaplaceLaw, Law, NormalLaw, SinhNormalLaw
from peerveil.record.public_record import Floats

#: How much of the noise is to be within a limit, as stated: the limits at which it is looked at.
_WITHIN = (0.1, 0.3, 0.5, 0.7, 0.9, 0.99)


def limit_within(law: Law, share: float) -> tuple[float, float]:
    """A limit that the size of the noise keeps with about a given probability, and that probability exactly.

    >>> limit_within(LaplaceLaw(scale=1.0), 0.5)
    (0.6931471805599453, 0.5)
    """
    if isinstance(law, LaplaceLaw):
        return -law.scale * math.log1p(-share), share
    if isinstance(law, NormalLaw):
        return law.sigma * float(ndtri((1 + share) / 2)), share
    if isinstance(law, SinhNormalLaw):
        return law.bound * math.asinh(law.sigma * float(ndtri((1 + share) / 2)) / law.bound), share
    if isinstance(law, DiscreteLaplaceLaw):
        # P(|k| > m) = 2 r^(m + 1) / (1 + r), with r = exp(-1 / scale)
        tail = 2 / (1 + math.exp(-1 / law.scale))
        most = max(0, round(-law.scale * math.log((1 - share) / tail) - 1))
        return most + 0.5, 1 - tail * math.exp(-(most + 1) / law.scale)
    raise InputError(f"no audit knows noise of the law {type(law).__name__}")


def noise_differs(law: Law, noise: Floats, risk: float) -> str:
    """In which way noise differs from its law, by exact binomial tests: ``"smaller"``, ``"larger"``, or empty.

    >>> rng = np.random.default_rng(1)
    >>> [noise_differs(LaplaceLaw(scale=2.0), rng.laplace(scale=s, size=2000), 1e-6) for s in (1.0, 2.0, 4.0)]
    ['smaller', '', 'larger']
    """
    size = np.abs(noise)
    each = risk / (2 * len(_WITHIN))
    found = {"smaller": False, "larger": False}
    for share in _WITHIN:
        limit, chance = limit_within(law, share)
        within = int((size <= limit).sum())
        found["smaller"] |= bool(binom.sf(within - 1, size.size, chance) < each)
        found["larger"] |= bool(binom.cdf(within, size.size, chance) < each)
    return next((word for word, seen in found.items() if seen), "")
