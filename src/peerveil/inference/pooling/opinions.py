"""How reviewers of one paper differ, from public scores alone: by how much, and how heavy the tails are.

Published data only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from peerveil.errors import InputError
from peerveil.quantities.weights import PublicWeights

#: The fewest papers that show it.
_FEWEST_PAPERS = 10

#: The greatest share within papers: that of opinions which differ more than those on other papers.
_MOST_WITHIN = 2.0

#: The least share within papers that is divided by.
LEAST_WITHIN = 1e-6

#: The deviation of the skewness and kurtosis of opinions that is due to scales and single scores, not to leniency.
TAILS_VARY = 0.35

#: The greatest skewness, kurtosis or error that is stated, and the least error.
_FURTHEST, _LEAST_ERROR = 100.0, 1e-6

#: The least part of an opinion's skewness that deviations from the mean of a paper must keep; with two reviews they
#: keep nothing.
_LEAST_KEPT = 0.05


@dataclass(frozen=True)
class Within:
    """The share of the variance of a public record's weights that is within papers: how far reviewers disagree.

    Attributes:
        share: the share, 1 minus the intraclass correlation of papers.
        error: its standard error by sampling.
    """

    share: float
    error: float

    def __post_init__(self) -> None:
        if not (0 <= self.share <= _MOST_WITHIN and 0 < self.error <= 1):
            raise InputError(f"within must be a share from 0 to {_MOST_WITHIN:g} and its standard error, up to 1")

    @classmethod
    def of(cls, weights: PublicWeights) -> Within | None:
        """Return the share of a record; ``None`` if weights are hidden, say nothing about papers, or are too few.

        >>> Within.of(PublicWeights.from_rows([[1, 2], [3, 4]] * 5, load=2)).share
        0.367347
        """
        if not _shown(weights):
            return None
        sizes = weights.sizes()
        papers, reviews = sizes.size, weights.low.size
        means = np.bincount(weights.paper, weights=weights.low) / sizes
        between = float(sizes @ (means - weights.low.mean()) ** 2) / (papers - 1)
        inside = float(np.sum((weights.low - means[weights.paper]) ** 2)) / (reviews - papers)
        size = (reviews - float(np.sum(sizes**2)) / reviews) / (papers - 1)
        total = between + (size - 1) * inside
        if not total > 0 or not np.isfinite(total):
            return None
        share = min(size * inside / total, _MOST_WITHIN)
        error = share * (1 + (size - 1) * (1 - share)) * (2 / (size * (size - 1) * (papers - 1))) ** 0.5
        return cls(round(share, 6), round(min(max(abs(error), 1e-6), 1.0), 6))

    def to_document(self) -> list[float]:
        """Return the share and its error as JSON."""
        return [self.share, self.error]


@dataclass(frozen=True)
class Tails:
    """The skewness and the excess kurtosis of an opinion within its paper: 0 for a normal law.

    Attributes:
        skewness: the skewness; above 0 if a few opinions are far above the others.
        skewness_error: its standard error by sampling.
        kurtosis: the excess kurtosis; above 0 for heavy tails, down to -2 for two camps.
        kurtosis_error: its standard error by sampling.
    """

    skewness: float
    skewness_error: float
    kurtosis: float
    kurtosis_error: float

    def __post_init__(self) -> None:
        errors = (self.skewness_error, self.kurtosis_error)
        near = all(abs(number) <= _FURTHEST for number in (self.skewness, self.kurtosis))
        if not near or not all(_LEAST_ERROR <= error <= _FURTHEST for error in errors):
            raise InputError(
                f"tails must be a skewness and a kurtosis of at most {_FURTHEST:g}, each with its standard error"
            )

    @classmethod
    def of(cls, weights: PublicWeights, *, differences: bool = False) -> Tails | None:
        """Return those of a record; ``None`` if weights are hidden, say nothing about papers, or are too few.

        ``differences`` from co-reviewers tell as much as scores, and are used if that is asked for. A deviation from
        the mean of a paper is a mixture of the opinions of its reviewers, so it has a part of the skewness and of the
        excess kurtosis of one opinion.

        >>> Tails.of(PublicWeights.from_rows([[1, 1, 5, 5], [2, 2, 6, 6]] * 5, load=4)).kurtosis
        -3.428571
        """
        if not _shown(weights, differences=differences):
            return None
        sizes = weights.sizes().astype(np.float64)
        means = np.bincount(weights.paper, weights=weights.low) / sizes
        several = sizes[weights.paper] > 1
        deviation, size = (weights.low - means[weights.paper])[several], sizes[weights.paper][several]
        if weights.reach.centred:  # differences from the others' mean, not from all
            deviation = deviation * (1 - 1 / size)
        square = float(np.mean(deviation**2))
        if not square > 0 or not np.isfinite(square):
            return None
        stated = []
        for power, variance in ((3, 6.0), (4, 24.0)):
            usual = 0.0 if power == 3 else 3.0
            excess = float(np.mean(deviation**power)) / square ** (power / 2) - usual
            # The sum of powers of the parts of a mixture: one's own, and those of the others.
            parts = (1 - 1 / size) ** power + (size - 1) * (-1 / size) ** power
            kept = float(np.mean(parts / (1 - 1 / size) ** (power / 2)))
            if not kept > _LEAST_KEPT:
                return None
            error = (variance / deviation.size) ** 0.5
            stated += [float(np.clip(excess / kept, -_FURTHEST, _FURTHEST)), min(error / kept, _FURTHEST)]
        return cls(*(round(number, 6) for number in stated))

    def to_document(self) -> list[float]:
        """Return the numbers as JSON."""
        return [self.skewness, self.skewness_error, self.kurtosis, self.kurtosis_error]


def _shown(weights: PublicWeights, *, differences: bool = False) -> bool:
    """Whether a record shows how opinions on a paper differ."""
    papers, reviews = weights.sizes().size, weights.low.size
    centred = (weights.reach.centred and not differences) or weights.reach.folded
    return weights.exact and not centred and papers >= _FEWEST_PAPERS and 2 * reviews >= 3 * papers
