"""Stressed tables: with the released statistic of a sampled table, while all else is redrawn or pushed far off.

A function that tells such tables apart depends on something that the release does not tell.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from peerveil.quantities.statistics import MEAN, Spread, of_each
from peerveil.record.public_record import Floats, Ints
from peerveil.sampling.cells import Cells, Holding, Margin, Tilt
from peerveil.sampling.drawing import draw
from peerveil.sampling.leading import led

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

#: The statistic of scores that tells an aspect, so that it cannot be changed.
_TOLD_BY = {"means": MEAN.name, "spread": Spread().name}

#: The logarithm of the density's factor for one standard deviation of an aspect's value of a reviewer.
_STRENGTH = 5.0

#: Up to so many reviewers, tables are led; and how far their statistics may be from those that they should have on
#: average, in standard deviations.
_LARGE, _NEAR = 5_000, 0.01

#: A released statistic with at most so many different values is kept exactly; another one in so many cells.
_VALUES, _CELLS = 512, 64


def stressed(cells: Cells, table: Holding, rng: np.random.Generator) -> dict[str, Holding]:
    """Return changed tables with the same released statistics, for each aspect.

    Args:
        cells: what was released, with the loads of the table's reviewers.
        table: the table.
        rng: the source of randomness.
    """
    changed = {REST: _changed(cells, table, rng, None, by_load=True)}
    told = {margin.statistic.name for margin in cells.margins if margin.weight is None}
    for aspect, value in _values(cells, table.score, rng).items():
        deviation = float(value(table).std())
        if deviation > 0 and _TOLD_BY.get(aspect) not in told:
            tilt = _scaled(value, _STRENGTH / deviation)
            changed[aspect] = _changed(cells, table, rng, tilt, by_load=aspect != "loads")
    return changed


def _changed(cells: Cells, table: Holding, rng: np.random.Generator, tilt: Tilt | None, *, by_load: bool) -> Holding:
    """A changed table: led to the same statistics, if that ends near them, then changed without leaving them.

    The second step brings out what the tilt favours. Alone, it changes little where few reviewers share a statistic.
    """
    if cells.loads.size <= _LARGE or _fine_cells(cells, table).first[-1] > cells.loads.size:
        made = led(cells, table, rng, tilt, by_load=by_load)
        table = made.table if made.distance <= _NEAR else table
    fine = _fine_cells(cells, table)
    drawn = draw(fine, fine.counts(table), rng, table=table, tilt=tilt, exact=True)
    return Holding(np.argsort(drawn.holder, kind="stable"), drawn.score, drawn.labels)


def _fine_cells(cells: Cells, table: Holding) -> Cells:
    return replace(cells, margins=tuple(_fine(margin, cells, table) for margin in cells.margins))


def _fine(margin: Margin, cells: Cells, table: Holding) -> Margin:
    """Cells so fine that reviewers' statistics hardly differ within one: one for each value, if these are few.

    There are empty cells between values and at both ends, which stay empty.
    """
    values = np.sort(margin.of(table, cells.loads))
    slack = 1e-9 * max(1.0, float(np.abs(values).max()))
    different = values[np.append(True, np.diff(values) > 2 * slack)]
    if different.size > _VALUES:
        different = np.unique(values[np.arange(_CELLS + 1) * (values.size - 1) // _CELLS])
        ends = [different[0] - slack, *((different[1:] + different[:-1]) / 2), different[-1] + slack]
        return replace(margin, cuts=np.unique(ends))
    return replace(margin, cuts=np.unique(np.concatenate((different - slack, different + slack))))


def _scaled(value: Tilt, factor: float) -> Tilt:
    return lambda table: factor * value(table)


def _values(cells: Cells, score: Floats, rng: np.random.Generator) -> dict[str, Tilt]:
    """For each aspect a number of each reviewer; what has more of it is favoured."""
    kind = rng.choice([-1.0, 1.0], int(cells.paper[-1]) + 1)[cells.paper]
    quality = (np.bincount(cells.paper, weights=score) / np.bincount(cells.paper))[cells.paper]
    centre, load = float(score.mean()), cells.loads - cells.loads.mean()

    def mean(values: Floats, held: Ints) -> Floats:
        return np.asarray(of_each(MEAN, values[held][None], cells.loads[None])[0])

    def lenient(table: Holding) -> Floats:
        return mean(table.score - centre, table.held)

    return {
        "spread": lambda table: -of_each(Spread(), table.score[table.held][None], cells.loads[None])[0],
        "means": lambda table: lenient(table) ** 2,
        "papers": lambda table: lenient(table) * mean(quality - centre, table.held),
        "topics": lambda table: np.abs(mean(kind, table.held)),
        "loads": lambda table: lenient(table) * load,
    }
