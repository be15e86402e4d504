"""Order in long vectors: passes over all entries that are left out where they would change nothing."""

from __future__ import annotations

import numpy as np

from peerveil.record.public_record import Floats


def ascends(values: Floats) -> bool:
    """Return whether no value is less than the one before.

    >>> ascends(np.array([1.0, 2.0, 2.0])), ascends(np.array([1.0, 0.0]))
    (True, False)
    """
    return bool((values[1:] >= values[:-1]).all())


def running_maximum(values: Floats) -> Floats:
    """Return the greatest value up to each one; the same array if it ascends, which is seen faster.

    >>> running_maximum(np.array([1.0, 0.0, 2.0])).tolist()
    [1.0, 1.0, 2.0]
    """
    return values if ascends(values) else np.asarray(np.maximum.accumulate(values))


def minimum_from(values: Floats) -> Floats:
    """Return the least value from each one on; the same array if it ascends.

    >>> minimum_from(np.array([1.0, 3.0, 2.0])).tolist()
    [1.0, 2.0, 2.0]
    """
    return values if ascends(values) else np.asarray(np.minimum.accumulate(values[::-1])[::-1])
