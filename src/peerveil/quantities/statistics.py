"""Reviewer statistics: a number computed from the weights of one reviewer, today their mean."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

from peerveil.errors import InputError

if TYPE_CHECKING:
    from peerveil.record.public_record import Floats


class Statistic(Protocol):
    """A number computed from the weights of one reviewer and nothing else.

    A neighbouring assignment changes the weights of at most ``1 + b`` reviewers, with ``b`` the largest load. This
    bounds the change of counts for any statistic. Bounds on the sorted vector are proven for the mean only.
    """

    @property
    def name(self) -> str:
        """Its name."""

    def of(self, weights: Floats) -> float:
        """Return its value for one reviewer. No bit of it may depend on the order of the weights."""


class Mean:
    """The mean: one exactly rounded sum and one division, so that it does not depend on the order of the weights."""

    name = "mean"

    def of(self, weights: Floats) -> float:
        """Return the mean; of equal weights, exactly that weight.

        >>> import numpy as np
        >>> Mean().of(np.array([3.0, 4.0]))
        3.5
        """
        return float(weights[0]) if weights.min() == weights.max() else math.fsum(weights) / weights.size


_REGISTERED: dict[str, Statistic] = {}


def register(statistic: Statistic) -> None:
    """Make a statistic available by its name."""
    if statistic.name in _REGISTERED:
        raise InputError(f"{statistic.name!r} is a statistic already; call yours something else")
    _REGISTERED[statistic.name] = statistic


def unregister(name: str) -> None:
    """Remove a statistic from the registry."""
    del _REGISTERED[named(name).name]


def named(name: str) -> Statistic:
    """Return the registered statistic with this name."""
    if name not in _REGISTERED:
        raise InputError(f"statistic must be one of {', '.join(map(repr, _REGISTERED))}, got {name!r}")
    return _REGISTERED[name]


register(Mean())
