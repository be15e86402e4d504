"""Choice of the cells in which reviewers are counted: finer than released bins, from public data alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from peerveil.inference.family import CORRELATIONS, family_of
from peerveil.inference.model import RecordModel
from peerveil.privacy.bins import MOST, Bins, attainable_means
from peerveil.quantities.weights import PublicWeights
from peerveil.record.public_record import Floats

#: The number of cells that a bin is cut into, at most, and the least expected number of reviewers in each of them.
_CELLS_IN_BIN, _IN_CELL = 6, 2.0


def fine_bins(weights: PublicWeights, given: Sequence[Bins]) -> Bins:
    """Return bins that refine all given ones: each is cut into a few that draws from the prior fill about equally.

    >>> weights = PublicWeights.from_rows([[1, 2, 3, 4]] * 20, load=2)
    >>> given = Bins.even(np.array([1.0, 2.5]), np.array([2.0, 4.0]))
    >>> fine = fine_bins(weights, [given])
    >>> fine.number, given.place(fine.low).tolist()
    (6, [0, 0, 0, 1, 1, 1])
    """
    values = _drawn(weights)
    released = np.unique(np.concatenate([bins.cuts for bins in given]))
    ends = np.concatenate(([0], np.searchsorted(values, released), [values.size]))
    cuts = [released]
    for first, last in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        expected = (last - first) / values.size * weights.reviewers
        parts = int(np.clip(expected / _IN_CELL, 1, _CELLS_IN_BIN))
        cuts.append(values[first + np.arange(1, parts) * (last - first) // parts])
    low, high = min(bins.low[0] for bins in given), max(bins.high[-1] for bins in given)
    return _between(np.unique(np.concatenate(cuts)), attainable_means(weights, MOST), low, high)


def _drawn(weights: PublicWeights) -> Floats:
    """Values of the statistic in draws from the prior, sorted, at likely leniencies."""
    ensembles = weights.derived(RecordModel).ensembles
    chances = family_of(weights).correlation_chances
    likely = np.flatnonzero(chances >= np.median(chances))
    each = [np.ravel(ensembles[k].vectors) for k in range(len(ensembles)) if k % CORRELATIONS.size in likely]
    return np.sort(np.concatenate(each))


def _between(cuts: Floats, means: Floats | None, low: float, high: float) -> Bins:
    """Bins between cuts: from the first to the last attainable value there, if these are known."""
    if means is not None:
        place = np.searchsorted(cuts, means, side="right")
        first = np.flatnonzero(np.diff(place, prepend=-1))
        return Bins.even(means[first], means[np.append(first[1:], means.size) - 1])
    slack = 1e-9 * (high - low)
    cuts = cuts[(cuts > low + slack) & (cuts < high - slack)]
    return Bins.even(np.concatenate(([low], cuts)), np.concatenate((cuts, [high])))
