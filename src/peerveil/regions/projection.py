"""Projection: the point of a region nearest to a noisy vector, with a certificate.

By the paper's Proposition on convex sets, the projection is never further from the truth than the noisy vector.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from peerveil.errors import Argument, InputError, ProjectionError
from peerveil.quantities.long_vectors import ascends
from peerveil.record.public_record import Floats
from peerveil.regions.convex import Region
from peerveil.regions.hull import Hull
from peerveil.regions.isotonic import Curves
from peerveil.regions.quadratic_programme import Programme

#: Maximal gap of a projection, as a share of `n` times the region's spread times the larger of spread and move.
GAP_TOLERANCE = 1e-10

#: Maximal violation of a projection, as a share of the region's spread.
VIOLATION_TOLERANCE = 1e-9

#: Noise below this share of the spread may be too small, and above this multiple too large, for one certified step.
TINY_NOISE, HUGE_NOISE = 1e-6, 100.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Projection:
    """The projection of a vector on a region, with its certificate.

    Attributes:
        values: the projection ``t``.
        gap: an upper bound on ``h(r - t) - (r - t)·t``, where ``h`` is the region's support function. It bounds the
            squared distance of ``t`` from the exact projection. Noise of more than a hundred times the spread may need
            two steps, by way of a larger set; then it is the gap of the second.
        violation: the largest violation of a constraint by ``t``.

    >>> import peerveil as pv
    >>> region = pv.region(pv.PublicWeights.from_rows([[0, 1], [0, 1]], load=2), "baseline")
    >>> pv.project([2.0, 5.0], region).gap < 1e-9
    True
    """

    values: Floats = field(repr=False)
    gap: float
    violation: float

    def __post_init__(self) -> None:
        self.values.flags.writeable = False


def check_vector(name: str, vector: npt.ArrayLike, length: int) -> Floats:
    """Return a vector as an array, or raise an error if its length is wrong or an entry is not finite."""
    try:
        array = np.array(vector, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(Argument(name), f" must be a list of {length} numbers") from None
    if array.ndim != 1:
        raise InputError(Argument(name), f" must be a list of {length} numbers, got an array of shape {array.shape}")
    if array.size != length:
        raise InputError(f"{name} has {array.size} entries, but the record has {length} reviewers")
    if not np.isfinite(array).all():
        bad = np.flatnonzero(~np.isfinite(array))
        raise InputError(
            Argument(name), f" must be finite: entry {bad[0] + 1} is {array[bad[0]]} ({bad.size} such entries in all)"
        )
    return array


# Theorem R1: never further from the truth than the noisy vector.
def project(noisy: npt.ArrayLike, region: Region) -> Projection:
    """Return the projection of a noisy vector on a region.

    >>> import peerveil as pv
    >>> region = pv.region(pv.PublicWeights.from_rows([[0, 1], [0, 1]], load=2), "baseline")
    >>> pv.project([-3.0, 0.5], region).values.round(6).tolist()
    [0.0, 1.0]

    Raises:
        InputError: if ``noisy`` has the wrong length or an entry that is not finite.
        ProjectionError: if the solver's answer fails its certificate.
    """
    r = check_vector("noisy", noisy, region.reviewers)
    if isinstance(region, Hull):
        # A convex combination of vertices: a member by construction.
        values, gap = region.project(r)
        return Projection(values=values + 0.0, gap=gap, violation=0.0)
    if ascends(r) and region.violation(r) == 0:
        return Projection(values=r, gap=0.0, violation=0.0)
    tried: list[Projection] = []
    for values, gap, exact in _attempts(r, region):
        attempt = Projection(values=values + 0.0, gap=gap, violation=region.violation(values))
        if _certified(attempt, r, region, exact=exact):
            return attempt
        tried.append(attempt)
    return _fallback(r, region, tried)


def _fallback(r: Floats, region: Region, tried: list[Projection]) -> Projection:
    """A point that is never further from the truth, where no attempt was certified."""
    near = [attempt for attempt in tried if _certified(attempt, r, region, exact=True)]
    if near:
        return min(near, key=lambda attempt: attempt.gap)  # exact up to round-off
    two_passes = Curves.of(region).project(r)
    if two_passes is not None:
        t, gap = two_passes
        violation = region.violation(t)
        if violation <= region.slack(TINY_NOISE):
            # Exact on a larger set, and outside of the region by tiny noise at most.
            return Projection(values=t, gap=gap, violation=violation)
        if float(np.max(np.abs(r - t))) > HUGE_NOISE * region.spread:
            # Two certified steps, on a larger set, then on the region. Neither increases the distance to the truth.
            return project(t, region)
    last = tried[-1] if tried else None
    reason = f"gap {last.gap:.3g}, violation {last.violation:.3g}" if last else "the solver gave no answer"
    raise ProjectionError(
        f"the projection missed its certificate ({reason} at a spread of {region.spread:.3g} and {r.size} entries); "
        "nothing is returned. Please report this record's sizes"
    )


def _certified(attempt: Projection, r: Floats, region: Region, *, exact: bool) -> bool:
    """Whether an attempt lies in the region and is provably near the projection.

    A gap of at most half the squared distance moved proves that the attempt is no further than ``r`` from any point of
    the region. Nearness is required as well. For noise below the round-off of the gap, an attempt that is ``exact`` up
    to round-off is accepted.
    """
    moved = np.abs(r - attempt.values)
    spread = region.slack(1.0)
    near = GAP_TOLERANCE * r.size * spread * max(spread, float(moved.max())) + region.slack(0.0) * float(moved.sum())
    round_off = 1e-14 * r.size * spread**2 if exact else 0.0
    # Not `moved @ moved`, whose threads cost more than they save.
    better = attempt.gap <= max(float(np.square(moved).sum()) / 2, round_off)
    return better and attempt.gap <= near and attempt.violation <= region.slack(VIOLATION_TOLERANCE)


def _attempts(r: Floats, region: Region) -> Iterator[tuple[Floats, float, bool]]:
    """Attempts with their gaps, the fastest first, and whether they are exact up to round-off."""
    # Two passes project on a superset of the region: a result in the region is the projection on it.
    two_passes = Curves.of(region).project(r)
    if two_passes is not None:
        yield *two_passes, True
    # Where the total leaves no room above the lower bounds, or below the upper ones, these are the only point.
    for bound, room, side in (
        (region.lower, region.total[1] - np.sum(region.lower), 1.0),
        (region.upper, np.sum(region.upper) - region.total[0], -1.0),
    ):
        if room <= region.slack(1e-9):
            yield bound, max(0.0, float(np.max(side * (r - bound)))) * max(0.0, float(room)), True
    # Each answer limits the radius of the next programme. Noise much larger than the region is pulled in: every point
    # between the answer and r has the same projection.
    target, pulled = r, 1.0
    radius = max(float(region.upper[-1] - r.min()), float(r.max() - region.lower[0]))
    for _ in range(20):
        programme = Programme(target, region, radius)
        values, multipliers = programme.solve()
        gap = programme.gap(values, multipliers / pulled, r)
        if not np.isfinite(values).all():
            return
        yield values, gap, False
        distance = np.abs(r - values)
        if not distance.any():
            return
        pulled = min(1.0, region.spread / float(distance.max()))
        target = values + pulled * (r - values)
        radius = 2 * float(np.linalg.norm(target - values))
