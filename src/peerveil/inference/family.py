"""Prior assumptions about reviewers, by version of the model: a release is verified with those it was made with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np

from peerveil.quantities.statistics import MEAN
from peerveil.quantities.weights import PublicWeights
from peerveil.record.public_record import Floats

#: The grid of leniencies ``s``, as correlations of keys and weights: ``s / sqrt(1 + s^2)``.
CORRELATIONS = np.array([-0.8, -0.5, -0.25, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.88, 0.95, 0.99])
LENIENCIES = CORRELATIONS / np.sqrt(1 - CORRELATIONS**2)

#: The maximal number of columns of a covariance that come from the draws.
MODES = 24


@dataclass(frozen=True)
class Family:
    """Prior assumptions about reviewers.

    Attributes:
        typical, spread: mean and deviation of the correlation of keys and weights, a normal law cut at 0.
        anything: the probability that the correlation may be anything from 0 to 1 instead.
        narrower: the probability of a negative correlation: reviewers' means differ less than under random dealing.
        discrepancies: how far the truth may be from the draws, as a multiple of the deviation of the means, with prior
            probabilities.
        public_sum: whether a discrepancy leaves the sum of the means where it is, as far as the sum is public.
        by_load: whether leniency may go with load.
        draws_per_mode: draws for each column of a covariance of counts. With few draws and many columns, some
            directions would seem to have no variance.
        more_draws: whether vectors of many reviewers are drawn more often than the time for small records allows.
        honest_bands: whether a band contains the released value and has the width that its doubt implies.
        limit: whether long vectors are computed in the limit of many reviewers.
        second_opinion: whether estimates from counts follow the data where these tell against normal leniency.
        hidden_doubt: whether bands allow for what nothing public tells where scores are hidden: how large weights
            around zero are, and which values of a bin occur.
    """

    typical: float
    spread: float
    narrower: float
    discrepancies: Mapping[float, float]
    anything: float = 0.15
    public_sum: bool = True
    by_load: bool = True
    draws_per_mode: int = 5
    more_draws: bool = True
    honest_bands: bool = True
    limit: bool = True
    second_opinion: bool = True
    hidden_doubt: bool = True

    @cached_property
    def correlation_chances(self) -> Floats:
        """Prior probabilities of :data:`CORRELATIONS`."""
        wider = CORRELATIONS[CORRELATIONS >= 0]
        cells = np.diff(np.concatenate(([0.0], (wider[1:] + wider[:-1]) / 2, [1.0])))
        density = cells * np.exp(-0.5 * ((wider - self.typical) / self.spread) ** 2)
        chances = (1 - self.anything) * density / density.sum() + self.anything * cells
        below = CORRELATIONS.size - wider.size
        return np.concatenate((np.full(below, self.narrower / below), (1 - self.narrower) * chances))

    def sum_uncertainty(self, weights: PublicWeights) -> float:
        """The share of a discrepancy's effect on the sum of the means that public data leave possible.

        With public scores the sum moves only as far as loads differ.
        """
        if not self.public_sum or not weights.exact or weights.statistic is not MEAN:
            return 1.0
        loads = weights.loads
        each = np.array(loads.sizes) if loads.counts is None else loads.per_reviewer()
        return float(each.std() / each.mean())

    def modes(self, draws: int) -> int:
        """The number of columns of a covariance of counts."""
        return min(MODES, max(1, draws // self.draws_per_mode))


#: The families by version of the model. Leniency mostly explains 5 to 30 % of the variance of scores, the square of the
#: correlation; and no real conference follows the draws exactly.
FAMILIES = MappingProxyType(
    {
        1: Family(
            typical=0.0,
            spread=0.65,
            narrower=0.05,
            discrepancies=MappingProxyType({0.0: 0.85, 0.03: 0.08, 0.1: 0.04, 0.3: 0.02, 1.0: 0.01}),
            anything=0.0,
            public_sum=False,
            by_load=False,
            draws_per_mode=1,
            more_draws=False,
            honest_bands=False,
            limit=False,
            second_opinion=False,
            hidden_doubt=False,
        ),
        2: Family(
            typical=0.35,
            spread=0.25,
            narrower=0.05,
            discrepancies=MappingProxyType({0.0: 0.2, 0.03: 0.5, 0.1: 0.25, 0.3: 0.045, 1.0: 0.005}),
        ),
    }
)


def family_of(weights: PublicWeights) -> Family:
    """Return the family of the weights' version of the model."""
    return FAMILIES[weights.model]


def model_of(software: str) -> int:
    """Return the version of the model that a program used.

    >>> model_of("peerveil 0.2.0"), model_of("peerveil 0.3.0")
    (1, 2)
    """
    return 1 if software.startswith(("peerveil 0.1.", "peerveil 0.2.")) else 2
