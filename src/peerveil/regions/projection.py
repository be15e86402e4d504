"""Projection: the point of a region nearest to a noisy vector, with a proof that it is.

By the paper's Proposition on convex sets, the projection is at least as near to the truth as the noisy vector is,
whatever the truth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from peerveil.errors import Argument, InputError, ProjectionError
from peerveil.record.public_record import Floats
from peerveil.regions.convex import Region
from peerveil.regions.hull import Hull
from peerveil.regions.isotonic import Curves
from peerveil.regions.quadratic_programme import Programme

#: Largest gap a projection may have, as a share of `n` times the region's spread times the larger of spread and move.
GAP_TOLERANCE = 1e-10

#: Largest violation a projection may have, as a share of the spread of its region.
VIOLATION_TOLERANCE = 1e-9


#: Noise of this share of the spread may be too small for a solver to improve on.
TINY_NOISE = 1e-6

#: Beyond this many times the spread, noise may make a single step's certificate impossible to compute.
HUGE_NOISE = 100.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Projection:
    """The projection of a vector on a region, with its certificate.

    Attributes:
        values: the projection ``t``.
        gap: an upper bound on ``h(r - t) - (r - t)·t``, where ``h`` is the region's support function. ``t`` is the
            projection exactly when this is 0, and its squared distance from the projection is at most the gap. Noise
            of more than a hundred times the spread may need two steps, by way of a larger set: then the second's.
        violation: by how much ``t`` breaks the constraint it breaks most.

    >>> import peerveil as pv
    >>> region = pv.region(pv.PublicWeights.from_rows([[0, 1], [0, 1]], load=2), "baseline")
    >>> pv.project([2.0, 5.0], region).gap < 1e-9
    True
    """

    values: Floats
    gap: float
    violation: float

    def __post_init__(self) -> None:
        self.values.flags.writeable = False


def check_vector(name: str, vector: npt.ArrayLike, length: int) -> Floats:
    """A vector of the right length with finite entries, or an error that says what is wrong with it.

    >>> check_vector("noisy", [0.5, 1.0], 3)
    Traceback (most recent call last):
    peerveil.errors.InputError: noisy has 2 entries, but the record has 3 reviewers
    """
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


def project(noisy: npt.ArrayLike, region: Region) -> Projection:
    """Project a noisy vector on a region.

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
        # A convex combination of possible vectors: a member by construction.
        values, gap = region.project(r)
        return Projection(values=values + 0.0, gap=gap, violation=0.0)
    if (r[1:] >= r[:-1]).all() and region.violation(r) == 0:
        return Projection(values=r, gap=0.0, violation=0.0)
    tried: list[tuple[Projection, bool]] = []
    for values, gap, exact in _attempts(r, region):
        found = Projection(values=values + 0.0, gap=gap, violation=region.violation(values))
        if _certified(found, r, region, exact=exact):
            return found
        tried.append((found, exact))
    return _rescued(r, region, tried)


def _rescued(r: Floats, region: Region, tried: list[tuple[Projection, bool]]) -> Projection:
    """What can still be promised where no answer was certified as it should be: never further from the truth."""
    near = [found for found, _ in tried if _certified(found, r, region, exact=True)]
    if near:
        return min(near, key=lambda found: found.gap)  # as good as round-off lets anyone tell
    two_passes = Curves.of(region).project(r)
    if two_passes is not None:
        t, gap = two_passes
        violation = region.violation(t)
        if violation <= region.slack(TINY_NOISE):
            # Exact on a larger set, and outside of this one by no more than such noise.
            return Projection(values=t, gap=gap, violation=violation)
        if float(np.max(np.abs(r - t))) > HUGE_NOISE * region.spread:
            # Two certified steps instead of one that round-off spoils: on a larger set, then from there on the region.
            # Neither can lead away from the truth.
            return project(t, region)
    last = tried[-1][0] if tried else None
    said = f"gap {last.gap:.3g}, violation {last.violation:.3g}" if last else "the solver gave no answer"
    raise ProjectionError(
        f"the projection missed its certificate ({said} at a spread of {region.spread:.3g} and {r.size} entries); "
        "nothing is returned. Please report this record's sizes"
    )


def _certified(found: Projection, r: Floats, region: Region, *, exact: bool) -> bool:
    """Whether an answer lies in the region and is proved to be near the projection.

    A gap of at most half the squared distance moved proves that the answer is nowhere in the region further from the
    truth than ``r`` is. We ask for that, and for nearness at any noise. For noise so small that round-off of the gap
    itself is larger, an answer that is ``exact`` but for round-off is taken as it is.
    """
    moved = np.abs(r - found.values)
    spread = region.slack(1.0)
    near = GAP_TOLERANCE * r.size * spread * max(spread, float(moved.max())) + region.slack(0.0) * float(moved.sum())
    round_off = 1e-14 * r.size * spread**2 if exact else 0.0
    # Not `moved @ moved`: its threads cost more than they save, most of all where other processes run.
    better = found.gap <= max(float(np.square(moved).sum()) / 2, round_off)
    return better and found.gap <= near and found.violation <= region.slack(VIOLATION_TOLERANCE)


def _attempts(r: Floats, region: Region) -> Iterator[tuple[Floats, float, bool]]:
    """Answers with their gaps, the cheapest way first, and whether they are exact but for round-off."""
    # Two passes project on a set that holds the region: what lies in the region is the projection there, too.
    two_passes = Curves.of(region).project(r)
    if two_passes is not None:
        yield *two_passes, True
    # Where the total leaves no room above the lower bounds, or below the upper ones, these are the only point. Any
    # point of the region exceeds the lower bounds by no more than the room in all, hence the gap.
    for bound, room, side in (
        (region.lower, region.total[1] - np.sum(region.lower), 1.0),
        (region.upper, np.sum(region.upper) - region.total[0], -1.0),
    ):
        if room <= region.slack(1e-9):
            yield bound, max(0.0, float(np.max(side * (r - bound)))) * max(0.0, float(room)), True
    # The answer is no further from r than any point of the region: each answer narrows down where the next is looked
    # for. Noise much larger than the region is pulled in: every point between the answer and r has the same projection.
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
