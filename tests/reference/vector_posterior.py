"""Posterior of a tiny vector given noisy entries, by weighting draws from the stated prior with the noise's density.

Exact up to the number of draws: neither a variational approximation nor any code that fits or draws a posterior.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from peerveil.inference.gaussians import LowRankGaussians
from peerveil.record.public_record import Floats

#: Of a vector, how many entries are below each cut.
State = tuple[int, ...]


@dataclass(frozen=True)
class Weighted:
    """The posterior.

    Attributes:
        chances: the probability of each state.
        log_evidence: the logarithm of the density of the noisy entries.
        effective: as many equally weighted draws would be as good.
    """

    chances: dict[State, float]
    log_evidence: float
    effective: float


def drawn_from_prior(laws: LowRankGaussians, chances: Floats, number: int, rng: np.random.Generator) -> Floats:
    """Vectors drawn from a mixture of Gaussian laws, with the probability of each law."""
    size = laws.mean.shape[1]
    assert laws.columns.shape[1] == size  # each entry has a row of its own
    chosen = rng.choice(chances.size, number, p=chances / chances.sum())
    drawn = np.empty((number, size))
    for law in np.unique(chosen).tolist():
        those = np.flatnonzero(chosen == law)
        columns = laws.columns[law] * laws.scales[law]
        covariance = columns @ columns.T + np.diag(laws.rest[law])
        drawn[those] = rng.multivariate_normal(laws.mean[law], covariance, those.size, method="eigh")
    return drawn


def states_of(vectors: Floats, cuts: Sequence[float]) -> list[State]:
    """The state of each vector."""
    return [tuple(row) for row in np.stack([(vectors < cut).sum(axis=1) for cut in cuts], axis=1).tolist()]


def weighted(
    vectors: Floats, cuts: Sequence[float], noisy: Floats, log_density: Callable[[Floats], Floats]
) -> Weighted:
    """The posterior of states, given draws from the prior and the noise's log density."""
    logs = log_density(noisy - vectors).sum(axis=1)
    weight = np.exp(logs - logs.max())
    chances = Counter[State]()
    for state, own in zip(states_of(vectors, cuts), (weight / weight.sum()).tolist(), strict=True):
        chances[state] += own
    evidence = float(logs.max() + np.log(weight.mean()))
    return Weighted(dict(chances), evidence, float(weight.sum() ** 2 / np.sum(weight**2)))
