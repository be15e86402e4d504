"""Regions: convex sets that the public record proves to hold the true vector."""

from __future__ import annotations

from collections.abc import Callable

from peerveil.errors import InputError
from peerveil.regions.baseline import baseline
from peerveil.regions.chain import chain
from peerveil.regions.convex import Region
from peerveil.weights import PublicWeights

__all__ = ["REGIONS", "Region", "check_region", "region"]

REGIONS: dict[str, Callable[[PublicWeights], Region]] = {"baseline": baseline, "chain": chain}


def region(weights: PublicWeights, kind: str = "chain") -> Region:
    """The region of a kind for public weights.

    Args:
        weights: the public weights.
        kind: ``"baseline"`` (order, range and total) or ``"chain"`` (the paper's per-entry bounds as well).

    >>> weights = PublicWeights.from_rows([[1, 4], [2, 3]], load=1)
    >>> region(weights, "chain").lower.tolist()      # one review each: nothing is left open
    [1.0, 2.0, 3.0, 4.0]
    """
    check_region(kind)
    return REGIONS[kind](weights)


def check_region(kind: str) -> None:
    """Refuse a region that does not exist."""
    if kind not in REGIONS:
        raise InputError(f"region must be one of {', '.join(map(repr, REGIONS))}, got {kind!r}")
