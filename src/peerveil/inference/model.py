"""The model of a public record: draws, priors and posteriors, each computed when first needed and kept."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import pairwise
from typing import Any, TypeVar, cast

import numpy as np

from peerveil.errors import RecordError
from peerveil.inference.count_posterior import CountLikelihood, CountPosterior, CountPrior
from peerveil.inference.family import CORRELATIONS, family_of
from peerveil.inference.gaussians import GaussianMixture
from peerveil.inference.likelihood import Likelihood
from peerveil.inference.posterior import EntryPrior
from peerveil.inference.prior import Ensemble, prior
from peerveil.privacy.bins import Bins
from peerveil.quantities.weights import PublicWeights
from peerveil.record.public_record import Floats
from peerveil.support.threads import on_one_thread

T = TypeVar("T")

#: Where at least this share of the scores is hidden, their offset is drawn in so many equally probable ranges.
MANY_HIDDEN, OFFSET_RANGES = 0.1, 6

#: The maximal number of floating-point numbers that are kept with the weights of a record, unless asked for more.
MOST_KEPT = 5_000_000


class RecordModel:
    """Draws, priors and posteriors of a public record. ``weights.derived(RecordModel)`` is shared by all users.

    Attributes:
        most_kept: the maximal number of floating-point numbers to keep; further parts are computed each time.

    >>> weights = PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
    >>> model = RecordModel(weights, draws=10)
    >>> len(model.ensembles) == CORRELATIONS.size, model.ensembles[0].vectors.shape
    (True, (10, 4))
    >>> weights.derived(RecordModel) is weights.derived(RecordModel)
    True
    """

    def __init__(self, weights: PublicWeights, *, draws: int | None = None) -> None:
        self._weights, self._draws = weights, draws
        self._kept: dict[Hashable, Any] = {}
        self._size = 0
        self._guess: Floats | None = None
        self.most_kept: float = MOST_KEPT

    @property
    def ensembles(self) -> tuple[Ensemble, ...]:
        """Sorted vectors drawn at each of :data:`CORRELATIONS`; for each range of offsets where many are hidden.

        Raises:
            RecordError: if no valid assignment is found.
        """
        return self.kept("ensembles", self._draw, lambda drawn: sum(ensemble.vectors.size for ensemble in drawn))

    @property
    def guess(self) -> Floats:
        """The prior mean of the sorted vector: the guess from public data alone."""
        if self._guess is None:
            self.ensembles  # noqa: B018 - draws it
        assert self._guess is not None  # noqa: S101 - drawn
        return self._guess

    def entry_prior(self) -> EntryPrior:
        """Prior of the sorted vector."""
        return self.kept("entries", lambda: EntryPrior.of(self.ensembles, self._weights), lambda made: made.size)

    def count_prior(self, bins: Bins) -> CountPrior:
        """Prior of the counts in bins."""
        key = (bins.low.tobytes(), bins.high.tobytes())
        return self.kept(key, lambda: CountPrior.of(self.ensembles, bins, self._weights), lambda made: made.laws.size)

    def posterior(self, likelihood: Likelihood | CountLikelihood) -> GaussianMixture | CountPosterior | None:
        """Posterior of the sorted vector; ``None`` without a valid assignment, or beyond floating-point range."""
        try:
            if isinstance(likelihood, CountLikelihood):
                return self.count_prior(likelihood.noisy.bins).posterior(likelihood)
            return self.entry_prior().posterior(likelihood)
        except RecordError:
            return None

    def kept(self, key: Hashable, compute: Callable[[], T], size: Callable[[T], int]) -> T:
        """The value of a key, computed once if there is room for it."""
        if key in self._kept:
            return cast("T", self._kept[key])
        with on_one_thread():  # results must not depend on who asks first
            value = compute()
        if self._size + size(value) <= self.most_kept:
            self._kept[key] = value
            self._size += size(value)
        return value

    def _draw(self) -> tuple[Ensemble, ...]:
        weights = self._weights
        many = not weights.reach.centred and np.mean(weights.low != weights.high) >= MANY_HIDDEN
        ends = np.linspace(0.0, 1.0, (OFFSET_RANGES if many else 1) + 1).tolist()
        ensembles = tuple(
            part.ensemble(float(s), by_load=family_of(weights).by_load)
            for part in (
                prior(weights, draws=self._draws, offsets=part_of_offsets) for part_of_offsets in pairwise(ends)
            )
            for s in CORRELATIONS / np.sqrt(1 - CORRELATIONS**2)
        )
        for vectors in (part for ensemble in ensembles for part in (ensemble.vectors, *ensemble.by_load)):
            vectors.flags.writeable = False  # shared by all users
        chances = np.tile(family_of(self._weights).correlation_chances, len(ensembles) // CORRELATIONS.size)
        self._guess = np.asarray(chances @ np.array([one.mean for one in ensembles]) / chances.sum())
        return ensembles
