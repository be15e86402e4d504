"""Reviewer statistics: one number computed from the weights of a reviewer, by default their mean.

A release of another statistic than the mean names it with its quantity: ``"spread of ratings"``. NumPy is loaded on
first use, because the command line's help lists statistics and must start quickly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from peerveil.errors import Argument, InputError

if TYPE_CHECKING:
    from peerveil.record.public_record import Floats, Ints

# ruff: noqa: PLC0415 - NumPy is loaded on first use

#: Between a statistic and its quantity.
OF = " of "

#: Names that mean a quantity of their own: a share of reviews, and the mean distance from co-reviewers.
RESERVED = ("share", "agreement")

#: The maximal number of different weights whose differences are listed.
_FEW = 1_000


class Statistic(Protocol):
    """A number computed from the weights of one reviewer and nothing else.

    A neighbouring assignment changes the weights of a bounded number of reviewers, which bounds the change of counts
    for any statistic. Tighter bounds on the sorted vector are proven for the mean only.
    """

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def meaning(self) -> str:
        """Its description, as part of a sentence: "the standard deviation"."""

    @property
    def noun(self) -> str:
        """What one of its values is called: "spread"."""

    @property
    def plural(self) -> str:
        """What several of its values are called: "spreads"."""

    def of(self, weights: Floats) -> float:
        """Return its value for one reviewer. No bit of it may depend on the order of the weights."""

    def reach(self, low: float, high: float) -> tuple[float, float]:
        """Return the least and the greatest value for weights from ``low`` to ``high``."""


class Mean:
    """The mean: one exactly rounded sum and one division, so that it does not depend on the order of the weights."""

    name = noun = "mean"
    meaning, plural = "the mean", "means"

    def of(self, weights: Floats) -> float:
        """Return the mean; of equal weights, exactly that weight.

        >>> import numpy as np
        >>> Mean().of(np.array([3.0, 4.0]))
        3.5
        """
        return float(weights[0]) if weights.min() == weights.max() else math.fsum(weights) / weights.size

    def reach(self, low: float, high: float) -> tuple[float, float]:
        """Return the ends of the weights."""
        return low, high

    def __reduce__(self) -> str:
        return "MEAN"  # the same object in every process


class Spread:
    """The standard deviation of a reviewer's weights about their mean; 0 for a single review."""

    name = noun = "spread"
    meaning, plural = "the standard deviation", "spreads"

    def of(self, weights: Floats) -> float:
        """Return the standard deviation, with the number of weights as divisor.

        >>> import numpy as np
        >>> Spread().of(np.array([3.0, 5.0]))
        1.0
        """
        mean = MEAN.of(weights)
        # Round-off must not exceed half the range, which no standard deviation exceeds.
        return min(math.sqrt(math.fsum((weights - mean) ** 2) / weights.size), float(weights.max() - weights.min()) / 2)

    def reach(self, low: float, high: float) -> tuple[float, float]:
        """Return 0 and half the range of the weights."""
        return 0.0, (high - low) / 2


class Range:
    """The greatest weight of a reviewer minus the least."""

    name = noun = "range"
    meaning, plural = "the range (the greatest minus the least)", "ranges"

    def of(self, weights: Floats) -> float:
        """Return the difference."""
        return float(weights.max() - weights.min())

    def reach(self, low: float, high: float) -> tuple[float, float]:
        """Return 0 and the range of the weights."""
        return 0.0, high - low


class Lowest:
    """The least weight of a reviewer."""

    name, noun = "lowest", "minimum"
    meaning, plural = "the least", "minima"

    def of(self, weights: Floats) -> float:
        """Return the least weight."""
        return float(weights.min())

    def reach(self, low: float, high: float) -> tuple[float, float]:
        """Return the ends of the weights."""
        return low, high


class Highest:
    """The greatest weight of a reviewer."""

    name, noun = "highest", "maximum"
    meaning, plural = "the greatest", "maxima"

    def of(self, weights: Floats) -> float:
        """Return the greatest weight."""
        return float(weights.max())

    def reach(self, low: float, high: float) -> tuple[float, float]:
        """Return the ends of the weights."""
        return low, high


MEAN = Mean()
_REGISTERED: dict[str, Statistic] = {}


def register(statistic: Statistic) -> None:
    """Make a statistic available by its name."""
    taken = statistic.name in (*_REGISTERED, *RESERVED)
    if taken or OF in statistic.name or not statistic.name.isprintable():
        raise InputError(f"{statistic.name!r} is a statistic already, or no name for one; call yours something else")
    _REGISTERED[statistic.name] = statistic


def unregister(name: str) -> None:
    """Remove a statistic from the registry."""
    del _REGISTERED[named(name).name]


def registered() -> tuple[Statistic, ...]:
    """Return all registered statistics, those of this package first."""
    return tuple(_REGISTERED.values())


def register_missing(given: Iterable[Statistic]) -> None:
    """Register the statistics whose names are not registered yet, for example in a worker process."""
    for statistic in given:
        if statistic.name not in _REGISTERED:
            register(statistic)


def names() -> tuple[str, ...]:
    """Return the names of all registered statistics.

    >>> names()[:5]
    ('mean', 'spread', 'range', 'lowest', 'highest')
    """
    return tuple(_REGISTERED)


def named(name: str) -> Statistic:
    """Return the registered statistic with this name."""
    if name not in _REGISTERED:
        raise InputError(
            Argument("statistic"), f" must be one of {', '.join(map(repr, (*_REGISTERED, 'agreement')))}, got {name!r}"
        )
    return _REGISTERED[name]


def joined(statistic: str, quantity: str) -> str:
    """Return the name of a quantity of which a statistic is released.

    >>> joined("spread", "ratings"), joined("mean", "ratings")
    ('spread of ratings', 'ratings')
    """
    return quantity if named(statistic) is MEAN else f"{statistic}{OF}{quantity}"


def split(name: str) -> tuple[Statistic, str]:
    """Return the statistic in the name of a quantity, and the quantity of a review.

    >>> statistic, quantity = split("spread of ratings")
    >>> statistic.name, quantity, split("ratings")[0].name
    ('spread', 'ratings', 'mean')
    """
    first, of, rest = name.partition(OF)
    if of and rest and first in _REGISTERED and _REGISTERED[first] is not MEAN:
        return _REGISTERED[first], rest
    return MEAN, name


def of_each(statistic: Statistic, weight: Floats, loads: Ints) -> Floats:
    """Return the statistic of each reviewer, for assignments in rows: the first weights are the first reviewer's.

    >>> import numpy as np
    >>> of_each(Range(), np.array([[1.0, 5.0, 2.0]]), np.array([[2, 1]])).tolist()
    [[4.0, 0.0]]
    """
    import numpy as np

    ends = np.cumsum(loads.ravel())
    starts, flat = ends - loads.ravel(), weight.ravel()
    match statistic:
        case Mean():
            values = np.add.reduceat(flat, starts) / loads.ravel()
        case Spread():
            mean = np.add.reduceat(flat, starts) / loads.ravel()
            squares = np.add.reduceat((flat - np.repeat(mean, loads.ravel())) ** 2, starts)
            values = np.sqrt(squares / loads.ravel())
        case Range() | Lowest() | Highest():
            least, greatest = np.minimum.reduceat(flat, starts), np.maximum.reduceat(flat, starts)
            values = {"range": greatest - least, "lowest": least, "highest": greatest}[statistic.name]
        case _:
            values = np.empty(ends.size)
            for load in np.unique(loads).tolist():  # equal weights, of which there are many, are computed once
                those = np.flatnonzero(loads.ravel() == load)
                hands, place = np.unique(
                    np.sort(flat[starts[those][:, None] + np.arange(load)]), axis=0, return_inverse=True
                )
                values[those] = np.array([statistic.of(hand) for hand in hands])[place.ravel()]
    return np.asarray(values, dtype=np.float64).reshape(loads.shape)


def attainable(statistic: Statistic, weight: Floats) -> Floats | None:
    """Return all values that a statistic of some of these weights can have, ascending; ``None`` if not known.

    >>> import numpy as np
    >>> attainable(Range(), np.array([1.0, 2.0, 5.0])).tolist()
    [0.0, 1.0, 3.0, 4.0]
    """
    import numpy as np

    values = np.unique(weight)
    match statistic:
        case Lowest() | Highest():
            return values
        case Range() if values.size <= _FEW:
            return np.unique(np.abs(values[:, None] - values))
        case _:
            return None


_OWN: tuple[Statistic, ...] = (MEAN, Spread(), Range(), Lowest(), Highest())
for _own in _OWN:
    register(_own)


def comes_with_the_package(statistic: Statistic) -> bool:
    """Return whether a statistic is one of this package, whose properties are proven and tested."""
    return type(statistic) in map(type, _OWN)
