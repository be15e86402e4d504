"""What noise of a known law says about a vector."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from peerveil.privacy.law import Law
from peerveil.record.public_record import Floats


class Evidence(Protocol):
    """What a mechanism's noise says about a vector: all that the posterior needs to know of the mechanism."""

    @property
    def reach(self) -> float:
        """The deviation of a normal law that tells about as much, for a first guess."""

    @property
    def centre(self) -> Floats:
        """The vector for a first guess."""

    def expected(self, mean: Floats, variance: Floats) -> tuple[Floats, Floats, Floats]:
        """The log likelihood of vectors with independent normal entries, in expectation.

        A row a vector. Returns its values, its gradients in the mean, and minus its second derivatives (at least 0).
        """


@dataclass(frozen=True, eq=False)
class EntryNoise:
    """Evidence from independent noise of a known law on each entry.

    >>> from peerveil.privacy.noise_laws import NormalLaw
    >>> evidence = EntryNoise(np.array([1.0, 2.0]), NormalLaw(sigma=1.0))
    >>> evidence.expected(np.ones((1, 2)), np.zeros((1, 2)))[1].round(6).tolist()
    [[-0.0, 1.0]]
    """

    centre: Floats
    law: Law

    @cached_property
    def reach(self) -> float:
        """The noise's deviation."""
        return np.float64(self.law.deviation)  # which overflows to infinity, not to an exception

    def expected(self, mean: Floats, variance: Floats) -> tuple[Floats, Floats, Floats]:
        """The expected log likelihood, its gradient, and minus its second derivatives."""
        off = mean - self.centre
        v = np.maximum(variance, (1e-9 * self.reach) ** 2)
        return self.law.expected(off, v)
