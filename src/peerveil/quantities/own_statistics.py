"""Statistics that users define: checked on public data, and computed such that they reveal nothing by failing."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from peerveil.errors import Argument, InputError
from peerveil.quantities.statistics import Statistic, comes_with_the_package
from peerveil.record.public_record import Floats

if TYPE_CHECKING:
    from peerveil.quantities.weights import PublicWeights

#: The number of sets of weights that a statistic is tried on, for each of several loads.
_TRIES, _LOADS = 12, 8


def value_of(statistic: Statistic, weights: Floats, span: tuple[float, float]) -> float:
    """Return the number of one reviewer.

    A statistic of the user's own gets the weights in ascending order, so that it cannot depend on another one. Beyond
    its reach it counts as the nearest end, and where it fails as the least one: an error, or a warning, would reveal
    something about the reviewer. ``span`` is the range of all weights.

    >>> from peerveil.quantities.statistics import Spread
    >>> value_of(Spread(), np.array([5.0, 3.0]), (1.0, 10.0))
    1.0
    """
    if comes_with_the_package(statistic):
        return statistic.of(weights)
    least, greatest = statistic.reach(*span)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = float(statistic.of(np.sort(weights)))
        except Exception:  # noqa: BLE001 - it must not be seen
            return least
    return least if math.isnan(value) else min(max(value, least), greatest)


def check_statistic(weights: PublicWeights) -> None:
    """Refuse a statistic of the user's own that is no function of a reviewer's weights, as far as that can be told.

    It is computed for sets of weights as the public record allows them, twice and in different order, so that a
    statistic that remembers others is found out. The numbers must be the same, finite, and within its reach.
    """
    statistic = weights.statistic
    if comes_with_the_package(statistic):
        return
    least, greatest = statistic.reach(*weights.span)
    if not (math.isfinite(least) and math.isfinite(greatest) and least <= greatest):
        raise _refused(
            statistic, f"its reach must be two finite numbers, the lower first, got {least!r} to {greatest!r}"
        )
    tried = list(_hands(weights))
    numbers = [_number(statistic, hand) for hand in tried]
    again = [_number(statistic, hand) for hand in reversed(tried)][::-1]
    if numbers != again:
        raise _refused(
            statistic,
            "it gave another number for the same weights when asked again; it must use nothing but the weights",
        )
    beyond = [number for number in numbers if not least <= number <= greatest]
    if beyond:
        raise _refused(statistic, f"it gave {beyond[0]!r}, which is not in its reach from {least!r} to {greatest!r}")


def _hands(weights: PublicWeights) -> Iterator[Floats]:
    """Sets of weights of as many reviews as reviewers may have, in ascending order."""
    rng = np.random.default_rng(20_260)
    sizes = np.unique(np.linspace(0, len(weights.loads.sizes) - 1, _LOADS).astype(int))
    for load in [weights.loads.sizes[place] for place in sizes.tolist()] * _TRIES:
        chosen = rng.choice(weights.low.size, size=load, replace=False)
        yield np.sort(weights.low[chosen] + rng.random(load) * (weights.high - weights.low)[chosen])


def _number(statistic: Statistic, hand: Floats) -> float:
    given = hand.copy()
    try:
        number = float(statistic.of(given))
    except Exception as problem:
        raise _refused(statistic, f"it failed with {type(problem).__name__} on weights from public data") from problem
    if not math.isfinite(number):
        raise _refused(statistic, f"it gave {number!r}, which is not a finite number")
    if not np.array_equal(given, hand):
        raise _refused(statistic, "it changed the weights that it was given")
    return number


def _refused(statistic: Statistic, why: str) -> InputError:
    return InputError(Argument("statistic", statistic.name), f" cannot be released: {why}")
