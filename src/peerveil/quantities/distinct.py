"""The distinct values of long arrays, which are few where scores are whole numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from peerveil.record.public_record import Floats, Ints

#: The maximal number of distinct values that are told.
MOST_DISTINCT = 4_096

#: Where the least or the greatest weights are sought, so many papers are looked at first.
SEEN_FIRST = 65_536

#: The maximal number of distinct values that are searched for one by one.
_SEARCHED = 64

#: The number of entries from which :func:`greatest` learns what the greatest may be.
_FEW = 10_000


@dataclass(frozen=True, eq=False)
class Distinct:
    """The distinct values of an array, found when first asked for, by those who share this object.

    >>> Distinct(np.array([3.0, 1.0, 3.0])).ascending().tolist()
    [1.0, 3.0, 3.0]
    """

    array: Floats = field(repr=False)

    @cached_property
    def counted(self) -> tuple[Floats, Ints] | None:
        """The values, ascending, and how often each occurs; ``None`` if there are too many.

        >>> Distinct(np.array([3.0, 1.0, 3.0])).counted
        (array([1., 3.]), array([1, 2]))
        """
        ordered = np.sort(self.array)
        ends = [0]
        while ends[-1] < ordered.size and len(ends) <= _SEARCHED:
            ends.append(int(ordered.searchsorted(ordered[ends[-1]], side="right")))
        if ends[-1] < ordered.size:  # from here on, one pass over all is faster than searches
            rest = ordered[ends[-1] :]
            further = np.flatnonzero(rest[1:] != rest[:-1]) + 1 + ends[-1]
            ends += [*further[:MOST_DISTINCT].tolist(), ordered.size]
        return None if len(ends) > MOST_DISTINCT + 1 else (ordered[ends[:-1]], np.diff(ends))

    def values(self) -> Floats:
        """Return the distinct values, ascending."""
        return np.unique(self.array) if self.counted is None else self.counted[0]

    def ascending(self) -> Floats:
        """Return all entries, ascending."""
        return np.sort(self.array) if self.counted is None else np.repeat(*self.counted)

    def at(self, ranks: Ints) -> Floats:
        """Return the entries at some ranks from 0, in ascending order of entries."""
        if self.counted is None:
            return np.asarray(np.sort(self.array)[ranks])
        values, counts = self.counted
        return np.asarray(values[np.searchsorted(np.cumsum(counts), ranks, side="right")])


def greatest(values: Floats, number: int) -> Floats:
    """Return the greatest of some values, descending; all of them if there are no more.

    >>> greatest(np.array([1.0, 4.0, 2.0, 4.0]), 3).tolist()
    [4.0, 4.0, 2.0]
    """
    number = min(number, values.size)
    first = np.sort(values[: max(_FEW, number)])
    if first.size == values.size or not number:
        return first[::-1][:number]
    # At least so many are as great as this one.
    least = first[-number]
    beyond = np.sort(values[values > least])[::-1][:number]
    return np.append(beyond, np.full(number - beyond.size, least))
