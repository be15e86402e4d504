"""The model of a public record: draws, priors and posteriors, each computed when first needed and kept."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from itertools import pairwise, product
from typing import Any, TypeVar, cast

import numpy as np

from peerveil.errors import RecordError
from peerveil.inference.count_posterior import CountLikelihood, CountPrior
from peerveil.inference.family import CORRELATIONS, LENIENCIES, family_of
from peerveil.inference.likelihood import Likelihood
from peerveil.inference.limit import in_limit, limit_ensembles, limit_posterior, stretched
from peerveil.inference.posterior import EntryPrior, Posterior
from peerveil.inference.prior import Ensemble, prior
from peerveil.privacy.bins import Bins
from peerveil.quantities.statistics import MEAN
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
        self._dealt: Floats | None = None
        self.most_kept: float = MOST_KEPT

    @property
    def long(self) -> bool:
        """Whether vectors are so long that they are computed at some of their ranks, by the limit of many reviewers."""
        return self._draws is None and in_limit(self._weights)

    @property
    def ensembles(self) -> tuple[Ensemble, ...]:
        """Sorted vectors drawn at each of :data:`CORRELATIONS`; for each range of offsets where many are hidden.

        Long vectors are given at some of their ranks (:mod:`peerveil.inference.limit`).

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

    @property
    def dealt(self) -> Floats:
        """The expected sorted vector if reviews were dealt to reviewers at random: leniency 0."""
        if self._dealt is None:
            self.ensembles  # noqa: B018 - draws it
        assert self._dealt is not None  # noqa: S101 - drawn
        return self._dealt

    def entry_prior(self, blocks: int | None = None) -> EntryPrior:
        """Prior of the sorted vector; see :meth:`EntryPrior.of`."""
        make = partial(EntryPrior.of, weights=self._weights, blocks=blocks)
        return self.kept(("entries", blocks), lambda: make(self.ensembles), lambda made: made.size)

    def count_prior(self, bins: Bins) -> CountPrior:
        """Prior of the counts in bins."""
        key = (bins.low.tobytes(), bins.high.tobytes())
        return self.kept(key, lambda: CountPrior.of(self.ensembles, bins, self._weights), lambda made: made.laws.size)

    def posterior(self, likelihood: Likelihood | CountLikelihood, blocks: int | None = None) -> Posterior | None:
        """Posterior of the sorted vector; ``None`` without a valid assignment, or beyond floating-point range.

        A number of ``blocks`` makes it faster and slightly less exact (:meth:`EntryPrior.of`).
        """
        try:
            if isinstance(likelihood, CountLikelihood):
                return self.count_prior(likelihood.noisy.bins).posterior(likelihood)
            made = self.entry_prior(blocks)
            return limit_posterior(made, likelihood) if self.long else made.posterior(likelihood)
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
        around_zero = weights.reach.centred or weights.reach.folded
        many = not around_zero and np.mean(weights.low != weights.high) >= MANY_HIDDEN
        kinds = (False, True) if many and may_be_whole(weights) else (False,)
        ends = np.linspace(0.0, 1.0, (OFFSET_RANGES // len(kinds) if many else 1) + 1).tolist()
        ranges = list(pairwise(ends))
        ensembles = tuple(limit_ensembles(weights, ranges) if self.long else self._drawn(ranges, kinds))
        for vectors in (part for ensemble in ensembles for part in (ensemble.vectors, *ensemble.by_load)):
            vectors.flags.writeable = False  # shared by all users
        chances = np.tile(family_of(self._weights).correlation_chances, len(ensembles) // CORRELATIONS.size)
        guess = np.asarray(chances @ np.array([one.mean for one in ensembles]) / chances.sum())
        self._guess = stretched(guess, weights.reviewers)
        at_chance = ensembles[
            int(np.flatnonzero(CORRELATIONS == 0)[0]) :: CORRELATIONS.size
        ]  # one per range of offsets
        self._dealt = stretched(np.mean([one.mean for one in at_chance], axis=0), weights.reviewers)
        return ensembles

    def _drawn(self, ranges: Sequence[tuple[float, float]], kinds: Sequence[bool]) -> Iterator[Ensemble]:
        by_load = family_of(self._weights).by_load
        for offsets, whole in product(ranges, kinds):
            drawn = prior(self._weights, draws=self._draws, offsets=offsets, whole=whole)
            yield from (drawn.ensemble(leniency, by_load=by_load) for leniency in LENIENCIES.tolist())


def may_be_whole(weights: PublicWeights) -> bool:
    """Return whether hidden weights may be whole numbers, which matters for other statistics than the mean.

    The least of a few whole scores is a whole number, and estimates must allow for it: nothing public tells whether it
    is one. Means are less coarse, and are taken to be anywhere, as in earlier versions.

    >>> from peerveil.quantities.weights import weigh
    >>> from peerveil.record.public_record import PublicRecord
    >>> record = PublicRecord.from_rows([[None, None]] * 2, load=2, scale=(1, 10))
    >>> may_be_whole(weigh(record, "lowest of ratings")), may_be_whole(weigh(record))
    (True, False)
    """
    if weights.statistic is MEAN or weights.reach.binary or weights.reach.co_reviews:
        return False
    ends = np.concatenate((weights.low, weights.high))[np.tile(weights.low != weights.high, 2)]
    return bool((ends == np.rint(ends)).all())
