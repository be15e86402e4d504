"""Combination of sampled tables: the estimate and interval of any function of a table, and what it rests on."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.special import stdtrit

from peerveil.errors import Argument, InputError, TablesWarning
from peerveil.record.public_record import Floats
from peerveil.sampling.stress import ASPECTS, REST
from peerveil.sampling.table import Table
from peerveil.sampling.tables import SampledTables

#: From this share of the standard error on, a function moves while what was released stays as it is. A function of
#: what was released hardly moves: as far as the statistics of changed tables are off.
_MOVES = 0.15

#: A number computed from a table.
Function = Callable[[Table], float]


@dataclass(frozen=True, kw_only=True, eq=False)
class Combined:
    """The estimate of a function of the true table, with its interval.

    Attributes:
        estimate: the mean over the tables.
        lower: lower end of the interval.
        upper: upper end of the interval.
        level: the level of the interval.
        values: the value for each table.
        shifts: how far the function moves, in standard errors, if only what the release does not tell is changed: by
            aspect. For the aspect ``"rest"``, which is redrawn and not pushed anywhere, the standard deviation between
            tables of the same released statistic. Empty if that was not checked.
        by_chance: the mean over tables that are dealt at random, regardless of the release: what the function would be
            if the release told nothing. ``None`` if that was not checked.

    >>> shifts = {"rest": 0.8, "spread": 0.01}
    >>> Combined(estimate=0.4, lower=0.3, upper=0.5, level=0.9, values=np.array([0.4, 0.4]), shifts=shifts).not_told
    ('rest',)
    """

    estimate: float
    lower: float
    upper: float
    level: float
    values: Floats = field(repr=False)
    shifts: dict[str, float] = field(default_factory=dict)
    by_chance: float | None = None

    @property
    def not_told(self) -> tuple[str, ...]:
        """The aspects of a table that the function depends on, and of which the release tells nothing."""
        return tuple(aspect for aspect, shift in self.shifts.items() if abs(shift) > _MOVES)


def combine(tables: SampledTables, function: Function, *, level: float = 0.9, check: bool = True) -> Combined:
    """Return the estimate and interval of a function of the true table, from its values for the sampled tables.

    The interval is that of Student's law with ``m - 1`` degrees of freedom and the variance ``(1 + 1/m) B``, where
    ``B`` is the variance between the ``m`` tables. It covers the doubt about who holds what, so its target is the true
    table of this conference; for reviewers of whom these are a sample, add the function's own sampling variance.

    A warning says where the function depends on what the release does not tell, for example on how far each reviewer's
    scores are spread where means were released: the tables then hold what random dealing gives, and the interval may
    miss the truth by far. To find out, some tables are drawn again with the same released statistic but with others as
    different as possible.

    Args:
        tables: the tables.
        function: called with each :class:`~peerveil.sampling.tables.Table`; must return a finite number.
        level: the level of the interval.
        check: whether to check what the function depends on, which takes some seconds for the first function.

    >>> import peerveil as pv
    >>> record = pv.PublicRecord.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
    >>> release = pv.refine([1.5, 2.5, 3.0, 4.5], pv.weigh(record), mechanism=pv.Laplace(scale=0.5))
    >>> tables = pv.sample_tables(release, record, seed=3, workers=1)
    >>> strictest = pv.combine(tables, lambda table: table.of_reviewers(table.score).min(), check=False)
    >>> strictest.lower < strictest.estimate < strictest.upper
    True
    """
    if not 0 < level < 1:
        raise InputError(Argument("level"), f" must lie between 0 and 1, got {level!r}")
    values = np.array([_value(function, table) for table in tables])
    estimate, lower, upper = interval(values, level)
    shifts: dict[str, float] = {}
    by_chance = None
    if check:
        by_chance = float(np.mean([_value(function, table) for table in tables.dealt]))
        error = math.sqrt((1 + 1 / values.size) * float(values.var(ddof=1)))
        for aspect, changed in tables.stressed.items():
            moves = _usual(np.array([_value(function, table) - values[index] for index, table in changed]))
            moved = float(np.sqrt(np.mean(moves**2) / 2) if aspect == REST else moves.mean())
            shifts[aspect] = moved / error if error > 0 else math.copysign(math.inf, moved) if moved else 0.0
    ends = {"estimate": estimate, "lower": lower, "upper": upper}
    combined = Combined(**ends, level=level, values=values, shifts=shifts, by_chance=by_chance)
    if combined.not_told:
        depends = "; ".join(ASPECTS[aspect] for aspect in combined.not_told)
        most = max(abs(combined.shifts[aspect]) for aspect in combined.not_told)
        how = f"by up to {most:.2g} standard errors" if math.isfinite(most) else "although it is the same in all tables"
        warnings.warn(
            TablesWarning(
                f"the function depends on what the release of {tables.quantity} does not tell: {depends}. If only that "
                f"is changed, it moves {how}; its estimate and interval assume random dealing there, and may miss the "
                "truth by far"
            ),
            stacklevel=2,
        )
    return combined


def interval(values: Floats, level: float) -> tuple[float, float, float]:
    """Return the estimate of a function of the true table and the ends of its interval.

    >>> [round(end, 3) for end in interval(np.array([1.0, 2.0, 3.0]), 0.9)]
    [2.0, -1.372, 5.372]
    """
    m, estimate = values.size, float(values.mean())
    half = float(stdtrit(m - 1, (1 + level) / 2)) * math.sqrt((1 + 1 / m) * float(values.var(ddof=1)))
    return estimate, estimate - half, estimate + half


def _usual(moves: Floats) -> Floats:
    """The moves without the greatest, if more than two are left.

    Statistics of a changed table are off by some thousandths of their deviation. So a number that takes steps moves by
    a whole step where a reviewer's statistic happens to lie next to one, which is rare: few tables have one so near.
    """
    return moves if moves.size < 4 else moves[np.argsort(np.abs(moves))[:-1]]


def _value(function: Function, table: Table) -> float:
    value = function(table)
    if not (np.ndim(value) == 0 and np.isreal(value) and math.isfinite(value)):
        raise InputError(Argument("function"), " must return a finite number for every table")
    return float(value)
