"""Draws of tables: the chain is led to wanted counts, then goes on with a fixed target."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from peerveil.record.public_record import Floats, Ints
from peerveil.sampling.cells import Cells, Holding, Tilt
from peerveil.sampling.chain import Chain

#: Sweeps with a fixed target: at least so many, and so many for each review that a reviewer has on average. Twice as
#: many come before, of which so many move the centre by all that is missing.
_FEWEST_SWEEPS, _SWEEPS_PER_REVIEW, _FULL_STEPS = 20, 5, 10


@dataclass(frozen=True, eq=False)
class Drawn:
    """A table drawn by a chain, with diagnostics.

    Attributes:
        holder: the reviewer of each review.
        misplaced: the number of reviewers in other cells than wanted, the least number whose moves would mend it; on
            average over margins.
        acceptance: the share of valid proposals that were accepted while the target was fixed.
        renewed: the share of reviews that changed hands while the target was fixed.
        trace: the number of misplaced reviewers after each sweep.
        fixed: the number of the last sweeps, with a fixed target.
        score: the score of each review, drawn where it is hidden.
        labels: the value of each attribute, as a number, for each reviewer; one row per attribute.
        counts: the number of reviewers in each cell.
    """

    holder: Ints
    misplaced: float
    acceptance: float
    renewed: float
    trace: tuple[float, ...]
    fixed: int
    score: Floats
    labels: Ints
    counts: Ints


def draw(
    cells: Cells,
    wanted: Ints,
    rng: np.random.Generator,
    *,
    table: Holding | None = None,
    labels: Ints | None = None,
    tilt: Tilt | None = None,
    exact: bool = False,
) -> Drawn:
    """Return a table whose counts are near the wanted ones, and which is otherwise as random as these leave it.

    The centre of the target first moves until the counts are on average the wanted ones; then it stays fixed.

    Args:
        cells: what is counted.
        wanted: the wanted number of reviewers in each cell.
        rng: the source of randomness.
        table: the table to start from; dealt at random by default.
        labels: the values of attributes to be shuffled among reviewers, if there is no table to start from.
        tilt: what else the density favours.
        exact: whether to keep the counts of ``table`` exactly.
    """
    chain = Chain(cells, cells.dealt(rng, labels) if table is None else table, rng, tilt, exact=exact)
    centre, trace = wanted.astype(np.float64), []
    fixed = max(_FEWEST_SWEEPS, math.ceil(_SWEEPS_PER_REVIEW * cells.paper.size / cells.loads.size))

    def missing() -> float:
        return float(np.abs(chain.counts - wanted).sum()) / 2 / len(cells.margins)

    for k in range(2 * fixed):
        chain.sweep(centre)
        trace.append(missing())
        centre += (wanted - chain.counts) * min(1.0, _FULL_STEPS / (k + 1))
    chain.proposed = chain.accepted = 0
    before = chain.holders()
    for _ in range(fixed):
        chain.sweep(centre)
        trace.append(missing())
    holder = chain.holders()
    return Drawn(
        holder=holder,
        misplaced=trace[-1],
        acceptance=chain.accepted / max(chain.proposed, 1),
        renewed=float(np.mean(holder != before)),
        trace=tuple(trace),
        fixed=fixed,
        score=chain.table.score,
        labels=chain.table.labels,
        counts=chain.counts,
    )
