"""Stressed tables: drawn with the released statistic of a sampled table, while all else is redrawn or pushed far off.

A function that tells such tables apart depends on something that the release does not tell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from peerveil.quantities.statistics import MEAN, Spread, of_each
from peerveil.record.public_record import Floats, Ints
from peerveil.sampling.chain import Cells, Tilt, draw

#: The aspects of a table that are changed, in words; the first is redrawn, the others are pushed.
REST = "rest"
ASPECTS = {
    REST: "who holds which reviews",
    "spread": "how far each reviewer's scores are spread",
    "means": "how far reviewers' mean scores differ",
    "papers": "whether reviewers with high scores see good papers",
    "topics": "whether reviewers see papers of one kind, and so share papers",
    "loads": "whether reviewers with many reviews are more lenient",
}

#: The logarithm of the density's factor for one standard deviation of an aspect's value of a reviewer.
_STRENGTH = 5.0

#: The maximal number of cells in which the released statistic is kept as it is.
_CELLS = 64


def stressed(cells: Cells, holder: Ints, score: Floats, rng: np.random.Generator) -> dict[str, Ints]:
    """Return the reviewer of each review in a changed table, for each aspect.

    Args:
        cells: the released statistic, with the loads of the table's reviewers.
        holder: the reviewer of each review in the table.
        score: the score of each review.
        rng: the source of randomness.
    """
    held = np.argsort(holder, kind="stable")
    cells = _fine(cells, held)
    wanted = cells.counts(held)
    changed = {REST: draw(cells, wanted, rng, held=held, exact=True).holder}
    for aspect, value in _values(cells, score, rng).items():
        deviation = float(value(held).std())
        if deviation > 0:
            tilt = _scaled(value, _STRENGTH / deviation)
            changed[aspect] = draw(cells, wanted, rng, held=held, tilt=tilt, exact=True).holder
    return changed


def _fine(cells: Cells, held: Ints) -> Cells:
    """Cells so fine that reviewers' statistics hardly differ within one, with empty ones at both ends."""
    values = np.sort(of_each(cells.statistic, cells.weight[held][None], cells.loads[None])[0])
    slack = 1e-9 * max(1.0, float(np.abs(values).max()))
    between = ((values[1:] + values[:-1]) / 2)[np.diff(values) > slack]
    if between.size >= _CELLS:
        ranks = np.arange(1, _CELLS) * values.size // _CELLS
        between = np.unique(between[np.searchsorted(between[:-1], values[ranks])])
    return replace(cells, cuts=np.concatenate(([values[0] - slack], between, [values[-1] + slack])))


def _scaled(value: Callable[[Ints], Floats], factor: float) -> Tilt:
    return lambda held: factor * value(held)


def _values(cells: Cells, score: Floats, rng: np.random.Generator) -> dict[str, Callable[[Ints], Floats]]:
    """For each aspect a number of each reviewer, given the review at each place; what has more of it is favoured."""
    kind = rng.choice([-1.0, 1.0], int(cells.paper[-1]) + 1)[cells.paper]
    quality = (np.bincount(cells.paper, weights=score) / np.bincount(cells.paper))[cells.paper]
    centred, good, load = score - score.mean(), quality - score.mean(), cells.loads - cells.loads.mean()

    def mean(values: Floats, held: Ints) -> Floats:
        return np.asarray(of_each(MEAN, values[held][None], cells.loads[None])[0])

    return {
        "spread": lambda held: -of_each(Spread(), score[held][None], cells.loads[None])[0],
        "means": lambda held: mean(centred, held) ** 2,
        "papers": lambda held: mean(centred, held) * mean(good, held),
        "topics": lambda held: np.abs(mean(kind, held)),
        "loads": lambda held: mean(centred, held) * load,
    }
