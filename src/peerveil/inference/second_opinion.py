"""A second opinion on noisy counts: other kinds of reviewers than the family's, and whether the data prefer these.

The family has normal leniency, which may go with load a little. Other kinds are two camps, heavy tails, and leniency
that goes with load. Public scores tell of heavy tails, too: those of the opinions on a paper. See docs/mathematics.md,
"Prior and posterior". Public data and noisy counts only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from peerveil.inference.family import CORRELATIONS, LENIENCIES, Family, family_of
from peerveil.inference.gaussians import GaussianMixture
from peerveil.inference.pooling.opinions import LEAST_WITHIN, TAILS_VARY, Tails, Within
from peerveil.inference.pooling.shapes import SHAPED, SHAPES
from peerveil.inference.prior import Ensemble, prior
from peerveil.quantities.weights import PublicWeights
from peerveil.record.public_record import Floats

#: The prior probabilities of the other kinds: shapes of leniency, and leniency that goes with load where loads differ.
_OF_SHAPES = {"camps": 0.1, "heavy": 0.3}
_OF_TILTS = {1.0: 0.05, -1.0: 0.05}

#: How many times less probable than before the data must make a tilt, for bands to leave it out.
_RULED_OUT = 10.0

#: The excess kurtosis of leniency with heavy tails, on a scale that ends.
_HEAVY = 3.0

#: The excess kurtosis of a gamma law, as a multiple of its squared skewness; and the probability that other tails than
#: these are those of single scores, whatever leniency is.
_SKEWED, _OF_SCORES = 1.5, 0.1


def other_kinds(weights: PublicWeights, usual: Sequence[Ensemble]) -> tuple[Floats, tuple[Ensemble, ...]]:
    """Return prior probabilities of kinds of reviewers and correlations, the family's first, and the ensembles of each.

    Args:
        weights: the public weights.
        usual: the ensembles of the family, which small leniencies of the other kinds share.

    >>> from peerveil.inference.model import RecordModel
    >>> weights = PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
    >>> kinds, ensembles = other_kinds(weights, RecordModel(weights, draws=10).ensembles)
    >>> kinds.sum(axis=1).round(6).tolist(), len(ensembles)
    ([0.6, 0.1, 0.3], 45)
    """
    drawn = prior(weights, draws=max(len(usual[0].vectors) // 2, 1))  # which are enough to tell kinds apart
    differ = bool(np.ptp(drawn.loads))
    others = [*_OF_SHAPES.values(), *(_OF_TILTS.values() if differ else ())]

    def ensembles() -> Iterator[Ensemble]:
        yield from usual
        for name in _OF_SHAPES:
            for leniency, shaped, own in zip(LENIENCIES.tolist(), SHAPED.tolist(), usual, strict=True):
                yield Ensemble(leniency, drawn.vectors(leniency, SHAPES[name]), own.by_load) if shaped else own
        for tilt in _OF_TILTS if differ else ():
            tilted = drawn.by_load(tilt)
            for leniency, shaped, own in zip(LENIENCIES.tolist(), SHAPED.tolist(), usual, strict=True):
                yield Ensemble(leniency, tilted.vectors(leniency), own.by_load) if shaped else own

    chances = np.outer((1 - sum(others), *others), family_of(weights).correlation_chances)
    chances[1 + list(_OF_SHAPES).index("heavy")] *= heavier(weights)
    return chances / chances.sum(), tuple(ensembles())


def heavier(weights: PublicWeights) -> Floats:
    """Return how much more likely the tails of public opinions are, at each correlation, if leniency has heavy tails.

    Where leniency explains ``rho^2`` of the variance of weights and ``w`` of it is within papers, an opinion has
    ``(rho^2 / w)^2`` times the excess kurtosis of leniency. What a skewed law of single scores has anyway does not
    count, and light tails tell nothing: scales end, whatever leniency is.

    >>> rows = [[1, 2, 3, 4], [3, 4, 5, 6]] * 20 + [[1, 5, 5, 9]] * 2
    >>> heavier(PublicWeights.from_rows(rows, load=4)).round(1).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.1, 1.4, 1.6, 1.5, 0.6, 0.2, 0.2, 0.2]
    """
    tails = Tails.of(weights, differences=True)
    if tails is None:
        return np.ones(CORRELATIONS.size)
    within = Within.of(weights)
    share = float(np.mean(1 - 1 / weights.sizes()[weights.paper])) if within is None else within.share
    part = np.minimum(np.maximum(CORRELATIONS, 0.0) ** 2 / max(share, LEAST_WITHIN), 1.0)
    found = max(tails.kurtosis - _SKEWED * tails.skewness**2, 0.0)
    deviation = np.hypot(tails.kurtosis_error, TAILS_VARY)
    normal, heavy = (
        (1 - _OF_SCORES) * np.exp(-0.5 * ((found - excess * part**2) / deviation) ** 2) + _OF_SCORES
        for excess in (0.0, _HEAVY)
    )
    return np.asarray(heavy / normal)


def tilted(mixture: GaussianMixture, kinds: Floats, family: Family) -> tuple[GaussianMixture, ...]:
    """Return the posterior for each way in which leniency may go with load, unless the data rule it out.

    Nothing public tells how leniency goes with load, and noisy counts seldom do. A band of the mixture leaves out what
    a tilt of small prior probability implies; a band that holds those of the tilts covers in each case.

    Args:
        mixture: the posterior with all kinds of reviewers.
        kinds: prior probabilities of the kinds and correlations, those of the tilts last.
        family: the prior assumptions, of which there are as many discrepancies for each correlation.
    """
    kind = mixture.laws // (kinds.shape[1] * len(family.discrepancies))
    return tuple(
        mixture.only(kind == number)
        for number in range(1 + len(_OF_SHAPES), len(kinds))
        if _RULED_OUT * mixture.probabilities[kind == number].sum() > kinds[number].sum()
    )


def chance_of_others(evidence: Floats, kinds: Floats, family: Family) -> float:
    """Return the posterior probability that reviewers are of another kind than the family's.

    Args:
        evidence: the log-likelihood of the noisy data, by kind, correlation and discrepancy.
        kinds: prior probabilities of the kinds and correlations.
        family: prior probabilities of discrepancies, the same for each kind.

    >>> from peerveil.inference.family import FAMILIES
    >>> chance_of_others(np.zeros((2, 15, 5)), np.outer((0.6, 0.4), np.full(15, 1 / 15)), FAMILIES[2])
    0.4
    """
    chances = np.multiply.outer(kinds, list(family.discrepancies.values()))
    of_kinds = np.sum(np.exp(evidence - evidence.max()) * chances, axis=(1, 2))
    return round(1 - float(of_kinds[0] / of_kinds.sum()), 12)
