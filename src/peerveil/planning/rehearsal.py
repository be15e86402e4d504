"""Rehearsing a release: a mechanism on a public record, prepared once, simulated as often as wanted.

The truth is synthetic and noise is seeded, so errors may be known and shown. No private data, no budget.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from peerveil.errors import InputError
from peerveil.inference.count_posterior import CountLikelihood
from peerveil.inference.estimators import ESTIMATORS, Estimate, estimate, estimates
from peerveil.inference.likelihood import EntryLikelihood
from peerveil.inference.model import RecordModel
from peerveil.mechanisms import Mechanism, Settled
from peerveil.privacy.bins import Bins, NoisyCounts
from peerveil.privacy.guarantee import check_unit
from peerveil.privacy.sensitivity import Sensitivity, sensitivity
from peerveil.quantities.base import words_of
from peerveil.quantities.weights import PublicWeights
from peerveil.record.public_record import Floats
from peerveil.regions import REGIONS, Region, check_region
from peerveil.regions.projection import project


@dataclass(frozen=True, kw_only=True, eq=False)
class Rehearsal:
    """A mechanism on a public record, with everything that all its releases share. Make one with :meth:`of`.

    Attributes:
        weights: the public weights.
        mechanism: the mechanism, with its noise stated.
        noise: its noise.
        kind: the name of the region that estimates are made with.
        blocks: the maximal number of blocks in which posteriors are computed, to save time; none by default.

    >>> weights = PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
    >>> from peerveil.mechanisms import Histogram
    >>> rehearsal = Rehearsal.of(weights, Histogram(epsilon=1.0))
    >>> noisy = rehearsal.perturb(np.array([1.5, 2.0, 3.0, 5.0]), np.random.default_rng(1))
    >>> sorted(rehearsal.answers(noisy, ["noisy", "projection", "safe", "bayes"]))
    ['bayes', 'noisy', 'projection', 'safe']
    """

    weights: PublicWeights
    mechanism: Mechanism
    noise: Settled
    kind: str = "tight"
    blocks: int | None = None
    _sensitivity: Sensitivity

    @classmethod
    def of(
        cls,
        weights: PublicWeights,
        mechanism: Mechanism,
        *,
        unit: str = "reviewer",
        region: str = "tight",
        blocks: int | None = None,
    ) -> Rehearsal:
        """Prepare a mechanism on a public record.

        Args:
            weights: the public weights.
            mechanism: with a budget or its noise.
            unit: what a budget is for.
            region: the region's name.
            blocks: as in the attributes.
        """
        bound = sensitivity(weights, check_unit(unit))
        if not bound:
            numbers = words_of(weights.quantity).numbers
            raise InputError(f"the public record alone determines the {numbers}: there is no noise to simulate")
        check_region(region)
        noise = mechanism.settle(bound)
        weights.derived(RecordModel).most_kept = math.inf  # many releases will use it
        return cls(
            weights=weights, mechanism=noise.mechanism, noise=noise, kind=region, blocks=blocks, _sensitivity=bound
        )

    @cached_property
    def bins(self) -> Bins | None:
        """The bins whose counts get noise; ``None`` where the vector does."""
        if not self.mechanism.on_counts:
            return None  # and nothing need be drawn for bins
        return self.mechanism.binned(self.weights, self._sensitivity)

    def perturb(self, truth: Floats, rng: np.random.Generator) -> Floats | NoisyCounts:
        """Simulated noise on a synthetic truth: a noisy vector or noisy counts."""
        if self.bins is None:
            return truth + self.noise.law.draw(rng, truth.size)
        counts = self.bins.counts(truth)
        return NoisyCounts(bins=self.bins, counts=counts + self.noise.law.draw(rng, counts.size).astype(np.int64))

    def noisy_vector(self, noisy: Floats | NoisyCounts) -> Floats:
        """The vector that the mechanism alone gives."""
        return noisy.vector(self.weights.reviewers) if isinstance(noisy, NoisyCounts) else noisy

    def estimates(
        self, noisy: Floats | NoisyCounts, estimators: Sequence[str] = ESTIMATORS, *, outlook: bool = True
    ) -> dict[str, Estimate]:
        """The estimates of noisy data by name of the estimator; all share one posterior."""
        r, law = self.noisy_vector(noisy), self.noise.law
        likelihood = CountLikelihood(noisy, law) if isinstance(noisy, NoisyCounts) else EntryLikelihood(r, law)
        posterior = self.weights.derived(RecordModel).posterior(likelihood, self.blocks)
        if posterior is None:
            projected = estimate(r, self.weights, self.region(self.kind), None, estimator="projection")
            return dict.fromkeys(estimators, projected)
        return estimates(
            r, self.weights, self.region(self.kind), likelihood, estimators, posterior=posterior, outlook=outlook
        )

    def answers(self, noisy: Floats | NoisyCounts, methods: Sequence[str]) -> dict[str, Floats]:
        """What each method makes of noisy data: ``noisy``, an estimator, or projection on a region by its name."""
        found = {}
        wanted = [method for method in methods if method in ESTIMATORS]
        made = self.estimates(noisy, wanted, outlook=False) if {*wanted} - {"projection"} else {}
        r = self.noisy_vector(noisy)
        for method in methods:
            if method == "noisy":
                found[method] = r
            elif method in made:
                found[method] = made[method].values
            else:
                found[method] = project(r, self.region(self.kind if method == "projection" else method)).values
        return found

    def region(self, kind: str) -> Region:
        """The region of a kind, made once for all rehearsals on the same weights."""
        check_region(kind)
        return self.weights.derived(REGIONS[kind])
