"""Choice of bins from public data alone: fine where the prior density of means is high, coarse where it is low.

See docs/mathematics.md, "Histograms".
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from peerveil.errors import InputError, RecordError
from peerveil.inference.family import family_of
from peerveil.inference.model import RecordModel
from peerveil.inference.prior import Ensemble
from peerveil.privacy.bins import MOST, PLACES, Bins, attainable_means, check_number, reach
from peerveil.quantities.weights import PublicWeights
from peerveil.record.public_record import Floats

#: Where no grid of attainable means is known, bins end at multiples of this share of their range.
_CELLS = 256

#: Of each leniency, about so many drawn means are looked at.
_LOOKED_AT = 20_000

#: Bins are dense where means are: as the cube root of their density, which suits squared errors.
_POWER = 1 / 3


def default_number(reviewers: int, scale: float) -> int:
    """How many bins there are unless somebody says so: the more reviewers there are for the noise, the more.

    >>> default_number(2863, 10.0), default_number(2863, 100.0), default_number(50, 6.0)
    (13, 6, 4)
    """
    return max(2, round(min(2 * math.cbrt(reviewers / scale), MOST)))


def bins_of(weights: PublicWeights, number: int) -> Bins:
    """Return at most ``number`` bins for the means of a public record.

    One bin per attainable mean if these are few enough. Otherwise bins are finer where random assignments have many
    means, which also determine the places inside bins.

    >>> weights = PublicWeights.from_rows([[1, 3], [2, 2], [1, 3]], load=2)
    >>> bins_of(weights, 5).low.tolist()
    [1.0, 1.5, 2.0, 2.5, 3.0]
    >>> bins_of(weights, 2).number
    2
    """
    number = check_number(number)
    model = weights.derived(RecordModel)
    return model.kept(("bins", number), lambda: _chosen(weights, number, model), lambda bins: bins.inside.size)


def _chosen(weights: PublicWeights, number: int, model: RecordModel) -> Bins:
    means = attainable_means(weights, MOST)
    if means is not None and means.size <= number:
        return Bins.even(means, means)
    cells = _equal_cells(*reach(weights)) if means is None else _around(means)
    if cells.size == 1:
        return Bins.even(cells, cells)
    try:
        value, chance = _pooled(model.ensembles, family_of(weights).correlation_chances)
    except RecordError:  # no assignment was found to draw from
        value, chance = (cells[1:] + cells[:-1]) / 2, np.full(cells.size - 1, 1 / (cells.size - 1))
    mass = np.bincount(np.searchsorted(cells[1:-1], value, side="right"), weights=chance, minlength=cells.size - 1)
    width = np.diff(cells)
    height = (mass / width / (mass / width).max()) ** _POWER
    reached = np.cumsum((height + 1e-6) * width)
    last = np.searchsorted(reached, reached[-1] * np.arange(1, number) / number)
    ends = np.unique(np.clip(last, 0, cells.size - 3)) + 1  # the cells that bins begin with, but for the first
    if means is None:
        low, high = np.append(cells[0], cells[ends]), np.append(cells[ends], cells[-1])
    else:
        low, high = means[np.append(0, ends)], means[np.append(ends, means.size) - 1]
    return _filled(Bins.even(low, high), value, chance)


def _equal_cells(low: float, high: float) -> Floats:
    if low == high:
        return np.array([low])
    cells = np.linspace(low, high, _CELLS + 1)
    if not (np.diff(cells) > 0).all():
        raise InputError(f"means between {low!r} and {high!r} cannot be told apart in bins")
    return cells


def _around(means: Floats) -> Floats:
    """Cells with one attainable mean each."""
    middle = (means[1:] + means[:-1]) / 2
    return np.concatenate(([2 * means[0] - middle[0]], middle, [2 * means[-1] - middle[-1]]))


def _pooled(drawn: Sequence[Ensemble], known: Floats) -> tuple[Floats, Floats]:
    """Means that were drawn, ascending, and how likely each is, given the probabilities of leniencies."""
    values, chances = [], []
    for ensemble, chance in zip(drawn, np.tile(known, len(drawn) // known.size), strict=True):
        vectors = ensemble.vectors
        stride = max(1, vectors.size // _LOOKED_AT)
        # Every so many ranks, another start in each draw: rows are sorted.
        some = np.concatenate([row[(7 * i) % stride :: stride] for i, row in enumerate(vectors)])
        if some.size == 0:
            some = vectors.ravel()
        values.append(some)
        chances.append(np.full(some.size, chance / some.size))
    value, share = np.concatenate(values), np.concatenate(chances)
    order = np.argsort(value, kind="stable")
    return value[order], share[order]


def _filled(bins: Bins, value: Floats, chance: Floats) -> Bins:
    """The bins with places where drawn means are; where hardly any are, evenly spread."""
    cuts = np.searchsorted(value, bins.cuts, side="left")
    inside = bins.inside.copy()
    for k, (first, last) in enumerate(zip(np.append(0, cuts), np.append(cuts, value.size), strict=True)):
        if last - first >= PLACES and bins.high[k] > bins.low[k]:
            share = np.cumsum(chance[first:last])
            wanted = share[-1] * (np.arange(PLACES) + 0.5) / PLACES
            found = value[first:last][np.minimum(np.searchsorted(share, wanted), last - first - 1)]
            inside[k] = np.clip(found, bins.low[k], bins.high[k])
    return Bins(bins.low, bins.high, inside)
