"""Likelihoods: what noise with a known law says about a vector."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from peerveil.privacy.law import Law
from peerveil.record.public_record import Floats


class Likelihood(Protocol):
    """The likelihood of a vector given noisy data: all that the posterior needs to know about a mechanism."""

    @property
    def deviation(self) -> float:
        """The standard deviation of a comparable normal law, where the variational fit starts."""

    @property
    def centre(self) -> Floats:
        """The vector where the variational fit starts."""

    def expected(self, mean: Floats, variance: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the expected log likelihood, its gradient in the mean, and minus its second derivatives (at least 0).

        The expectation is over vectors with independent normal entries; one row per vector.
        """

    def part(self, start: int, end: int) -> Likelihood:
        """Return the likelihood of the entries from ``start`` up to ``end`` alone."""


@dataclass(frozen=True, eq=False)
class EntryLikelihood:
    """The likelihood for independent noise with a known law on each entry.

    >>> from peerveil.privacy.noise_laws import NormalLaw
    >>> likelihood = EntryLikelihood(np.array([1.0, 2.0]), NormalLaw(sigma=1.0))
    >>> likelihood.expected(np.ones((1, 2)), np.zeros((1, 2)))[1].round(6).tolist()
    [[-0.0, 1.0]]
    """

    centre: Floats
    law: Law

    @cached_property
    def deviation(self) -> float:
        """The standard deviation of the noise."""
        return np.float64(self.law.deviation)  # which overflows to infinity, not to an exception

    def expected(self, mean: Floats, variance: Floats) -> tuple[Floats, Floats, Floats]:
        """The expected log likelihood, its gradient, and minus its second derivatives."""
        return self.law.expected(mean - self.centre, np.maximum(variance, (1e-9 * self.deviation) ** 2))

    def part(self, start: int, end: int) -> EntryLikelihood:
        """The likelihood of some entries alone."""
        return EntryLikelihood(self.centre[start:end], self.law)
