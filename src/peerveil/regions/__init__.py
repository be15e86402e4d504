"""Regions: convex sets that contain the true vector, by proof from the public record."""

from __future__ import annotations

from peerveil.errors import Argument, InputError
from peerveil.quantities.weights import PublicWeights
from peerveil.regions.convex import REGIONS, Region, register
from peerveil.support.discovery import import_declared

__all__ = ["REGIONS", "Region", "check_region", "region", "register"]

import_declared("regions")


def region(weights: PublicWeights, kind: str = "tight") -> Region:
    """Return the region of a kind for public weights.

    Args:
        weights: the public weights.
        kind: ``"baseline"`` (order, range and total), ``"chain"`` (with the paper's per-entry bounds), ``"envelope"``
            (with bounds on sums, at any scale), ``"tight"`` (all of these and more), or ``"hull"`` (the convex hull,
            for tiny records only).

    >>> weights = PublicWeights.from_rows([[1, 4], [2, 3]], load=1)
    >>> region(weights, "chain").lower.tolist()      # one review each: the vector is public
    [1.0, 2.0, 3.0, 4.0]
    """
    check_region(kind)
    return REGIONS[kind](weights)


def check_region(kind: str) -> None:
    """Raise an error for an unknown region."""
    if kind not in REGIONS:
        raise InputError(Argument("region"), f" must be one of {', '.join(map(repr, REGIONS))}, got {kind!r}")
