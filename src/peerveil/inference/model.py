"""The model of a public record: draws, priors and posteriors, each computed when first needed and kept."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise, product
from typing import Any, TypeVar, cast

import numpy as np

from peerveil.errors import RecordError
from peerveil.inference.count_posterior import CountLikelihood, CountPosterior, CountPrior
from peerveil.inference.family import CORRELATIONS, LENIENCIES, Family, family_of
from peerveil.inference.gaussians import GaussianMixture
from peerveil.inference.likelihood import Likelihood
from peerveil.inference.limit import in_limit, limit_ensembles, limit_posterior, stretched
from peerveil.inference.pooling import MODEL, used_prior
from peerveil.inference.pooling.shapes import SHAPED, SHAPES
from peerveil.inference.posterior import EntryPrior, Posterior
from peerveil.inference.prior import MANY_HIDDEN, Ensemble, prior
from peerveil.inference.second_opinion import chance_of_others, other_kinds, tilted
from peerveil.privacy.bins import Bins
from peerveil.quantities.statistics import MEAN
from peerveil.quantities.weights import PublicWeights
from peerveil.record.public_record import Floats
from peerveil.support.threads import on_one_thread

T = TypeVar("T")

#: Where many scores are hidden, their offset is drawn in so many equally probable ranges.
OFFSET_RANGES = 6

#: The most reviewers for whom shapes of leniency are told apart, by a noisy vector and by noisy counts.
MOST_SHAPED, MOST_COUNTED = 500, 2_000

#: The greatest probability of other kinds of reviewers at which estimates rest on normal leniency alone.
MOST_DOUBTED = 0.5

#: The maximal number of floating-point numbers that are kept with the weights of a record, unless asked for more.
MOST_KEPT = 8_000_000


@dataclass(frozen=True, eq=False)
class _AllKinds:
    """The posterior with all kinds of reviewers.

    Attributes:
        posterior: the posterior.
        evidence: the log-likelihood of the noisy counts, by kind, correlation and discrepancy.
        kinds: prior probabilities of the kinds and correlations.
        family: the prior assumptions.
    """

    posterior: CountPosterior
    evidence: Floats
    kinds: Floats
    family: Family

    @property
    def chance_of_others(self) -> float:
        """The probability that reviewers are of another kind than the family's."""
        return chance_of_others(self.evidence, self.kinds, self.family)

    @cached_property
    def tilts(self) -> tuple[GaussianMixture, ...]:
        """The posterior for each way in which leniency may go with load, unless the counts rule it out."""
        return tilted(self.posterior.below, self.kinds, self.family)


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
        return stretched(self._dealt, self._weights.reviewers)

    def tells_shapes(self, *, counts: bool) -> bool:
        """Whether shapes of leniency are told apart: where all weights are public, and reviewers not too many.

        Many reviewers show their own shape, and earlier releases add little.
        """
        weights, most = self._weights, MOST_COUNTED if counts else MOST_SHAPED
        return weights.model == MODEL and weights.exact and weights.reviewers <= most

    @property
    def shaped_ensembles(self) -> tuple[Ensemble, ...]:
        """Those of :attr:`ensembles`, and as many for each other shape of leniency; small correlations share them."""
        return self.kept("shaped", self._draw_shapes, lambda drawn: sum(ensemble.vectors.size for ensemble in drawn))

    def _draw_shapes(self) -> tuple[Ensemble, ...]:
        draws = max(len(self.ensembles[0].vectors) // 2, 1)  # which are enough to tell shapes apart
        drawn, by_load = prior(self._weights, draws=draws), family_of(self._weights).by_load
        others = (
            drawn.ensemble(leniency, by_load=by_load, shape=shape) if shaped else usual
            for shape in SHAPES.values()
            for leniency, shaped, usual in zip(LENIENCIES.tolist(), SHAPED.tolist(), self.ensembles, strict=True)
        )
        return (*self.ensembles, *others)

    def _shaped(self, shaped: bool | None, *, counts: bool) -> bool:
        """Whether a prior has all shapes of leniency: by default if earlier releases tell how probable they are."""
        return self.tells_shapes(counts=counts) and (self._weights.prior is not None if shaped is None else shaped)

    def _drawn_for(self, *, every: bool) -> tuple[Ensemble, ...]:
        return self.shaped_ensembles if every else self.ensembles

    def entry_prior(self, blocks: int | None = None, *, shaped: bool | None = None) -> EntryPrior:
        """Prior of the sorted vector; see :meth:`EntryPrior.of`."""
        every = self._shaped(shaped, counts=False)
        make = partial(EntryPrior.of, weights=self._weights, blocks=blocks, shaped=every)
        return self.kept(("entries", blocks, every), lambda: make(self._drawn_for(every=every)), lambda made: made.size)

    def count_prior(self, bins: Bins, *, shaped: bool | None = None) -> CountPrior:
        """Prior of the counts in bins."""
        every = self._shaped(shaped, counts=True)
        make = partial(CountPrior.of, bins=bins, weights=self._weights, shaped=every)
        key = (bins.low.tobytes(), bins.high.tobytes(), every)
        return self.kept(key, lambda: make(self._drawn_for(every=every)), lambda made: made.laws.size)

    def shaped_evidence(self, likelihood: Likelihood | CountLikelihood) -> Floats | None:
        """The log-likelihood of noisy data for each shape of leniency; ``None`` where shapes are not told apart."""
        if not self.tells_shapes(counts=isinstance(likelihood, CountLikelihood)):
            return None
        try:
            found = self._posterior(likelihood, shaped=True)
        except RecordError:
            return None
        return None if found is None else found.evidence

    def posterior(self, likelihood: Likelihood | CountLikelihood, blocks: int | None = None) -> Posterior | None:
        """Posterior of the sorted vector; ``None`` without a valid assignment, or beyond floating-point range.

        A number of ``blocks`` makes it faster and slightly less exact (:meth:`EntryPrior.of`).
        """
        try:
            if self.long and not isinstance(likelihood, CountLikelihood):
                return limit_posterior(self.entry_prior(blocks), likelihood)
            found = self._posterior(likelihood, blocks)
            earlier, evidence = used_prior(self._weights), None if found is None else found.evidence
            if earlier is None:
                return self._second_opinion(likelihood, found) if blocks is None else found
            if evidence is None:
                return found
            if not earlier.disagrees(evidence):
                return self._with_tilts(likelihood, found) if blocks is None else found
            usual = self._posterior(likelihood, blocks, shaped=False)  # exactly as without earlier releases
            usual = self._second_opinion(likelihood, usual) if blocks is None else usual
            return None if usual is None else usual.told(evidence)
        except RecordError:
            return None

    def _posterior(
        self, likelihood: Likelihood | CountLikelihood, blocks: int | None = None, *, shaped: bool | None = None
    ) -> CountPosterior | GaussianMixture | None:
        """Posterior of a vector that is not long; without earlier releases if ``shaped`` or not is asked for."""
        alone = shaped is not None
        if isinstance(likelihood, CountLikelihood):
            counts = self.count_prior(likelihood.noisy.bins, shaped=shaped)
            return (replace(counts, pooled=None) if alone else counts).posterior(likelihood)
        entries = self.entry_prior(blocks, shaped=shaped)
        return (replace(entries, pooled=None) if alone else entries).posterior(likelihood)

    def _second_opinion(
        self, likelihood: Likelihood | CountLikelihood, found: CountPosterior | GaussianMixture | None
    ) -> CountPosterior | GaussianMixture | None:
        """The posterior with other kinds of reviewers where noisy counts prefer these; otherwise the one found."""
        other = None if found is None else self._of_all_kinds(likelihood)
        if found is None or found.evidence is None or other is None:
            return found
        if not self._loads_differ and other.chance_of_others <= MOST_DOUBTED:
            return found
        return replace(other.posterior, cases=other.tilts if self._loads_differ else ()).told(found.evidence)

    def _with_tilts(
        self, likelihood: Likelihood | CountLikelihood, found: CountPosterior | GaussianMixture | None
    ) -> CountPosterior | GaussianMixture | None:
        """The posterior found, with bands that hold those of each way in which leniency may go with load."""
        if not self._loads_differ or not isinstance(found, CountPosterior):
            return found
        other = self._of_all_kinds(likelihood)
        return found if other is None else replace(found, cases=other.tilts)

    @property
    def _loads_differ(self) -> bool:
        """Whether leniency may go with load, of which nothing public tells."""
        return len(self._weights.loads.sizes) > 1

    def _of_all_kinds(self, likelihood: Likelihood | CountLikelihood) -> _AllKinds | None:
        """The posterior with all kinds of reviewers; ``None`` where no second opinion is asked for."""
        family = family_of(self._weights)
        asked = family.second_opinion and self.tells_shapes(counts=True)
        if not asked or not isinstance(likelihood, CountLikelihood):
            return None
        prior = self._prior_of_kinds(likelihood.noisy.bins)
        posterior = prior.posterior(likelihood)
        if posterior is None or posterior.evidence is None or prior.kinds is None:
            return None
        return _AllKinds(posterior, posterior.evidence, prior.kinds, family)

    def _prior_of_kinds(self, bins: Bins) -> CountPrior:
        def made() -> CountPrior:
            kinds, ensembles = other_kinds(self._weights, self.ensembles)
            return CountPrior.of(ensembles, bins, self._weights, kinds=kinds)

        return self.kept(("kinds", bins.low.tobytes(), bins.high.tobytes()), made, lambda prior: prior.laws.size)

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
        ranged = family_of(weights).hidden_doubt or not around_zero
        many = ranged and not weights.exact and np.mean(weights.low != weights.high) >= MANY_HIDDEN
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
        self._dealt = np.mean([one.mean for one in at_chance], axis=0)
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
