"""The hull: the smallest convex region, for small records only.

Projection on it is NP-hard (the paper's Theorem on general noisy data), so it is a yardstick for the other regions.
Wolfe's algorithm (P. Wolfe, "Finding the nearest point in a polytope", 1976) projects with a few calls of an exact
oracle, which maximises a linear function over all possible vectors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from peerveil.errors import InputError, ProjectionError
from peerveil.quantities.weights import PublicWeights
from peerveil.record.public_record import Floats
from peerveil.regions.baseline import total_range
from peerveil.regions.convex import Region, register
from peerveil.regions.oracles import Oracle, oracle_for

#: The maximal number of reviews, and of places (reviews times reviewers times possible loads), of a record with a hull.
MOST_REVIEWS, MOST_PLACES = 20, 400

#: The least relative gain for which a vertex counts as further in a direction than a point.
_FURTHER = 1e-12

#: The maximal number of steps of a projection; each adds one vertex.
_STEPS = 1_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Hull(Region):
    """The convex hull of the vectors of all valid assignments. Create it with :func:`hull`.

    The bounds of :class:`Region` are exact here, but the region is smaller than they are.

    Attributes:
        oracle: maximises linear functions over the vectors.
        vertices: the vectors that attain the bounds, one per row.

    >>> import peerveil as pv
    >>> region = hull(pv.PublicWeights.from_rows([[0, 1], [0, 1], [0, 4]], load=3))
    >>> region.support([0.0, 1.0])
    2.0
    >>> region.contains([0.5, 1.5]), region.contains([1.0, 1.0])     # somebody holds the 4
    (True, False)
    """

    oracle: Oracle = field(repr=False)
    vertices: Floats = field(repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.vertices.flags.writeable = False

    def support(self, direction: npt.ArrayLike) -> float:
        """The maximum of ``direction · theta`` over the region, by one call of the oracle."""
        d = self.checked("direction", direction)
        return math.fsum(d * self.oracle.furthest(d)[0])

    def violation(self, theta: npt.ArrayLike) -> float:
        """The distance of a vector from the region, divided by the square root of its length."""
        t = self.checked("theta", theta)
        return float(np.linalg.norm(t - self.project(t)[0])) / math.sqrt(t.size)

    def project(self, r: npt.ArrayLike) -> tuple[Floats, float]:
        """Return the projection ``t`` of a vector, and an upper bound on its gap ``h(r - t) - (r - t)·t``.

        The squared distance of ``t`` from the exact projection is at most the gap.
        """
        known = self.vertices
        corral = Corral(self.checked("r", r), known[:1], np.ones(1))
        for _ in range(_STEPS):
            grown = corral.grown(known[np.argmax(known @ corral.rest)])
            if grown is None:
                # No known vertex helps: ask the oracle.
                vertex, excess = self.oracle.furthest(corral.rest)
                grown = corral.grown(vertex)
                if grown is None:
                    return np.maximum.accumulate(corral.point), max(corral.gain(vertex), 0.0) + excess
                known = np.vstack((known, vertex))
            corral = grown
        raise ProjectionError(f"the projection on the hull took more than {_STEPS} steps; nothing is returned")


@register
def hull(weights: PublicWeights) -> Hull:
    """The convex hull of the vectors of all valid assignments of the weights, for small records.

    Raises:
        InputError: if the record is too large for exact answers.
        RecordError: if no valid assignment exists.
    """
    loads, n = weights.loads, weights.reviewers
    places = loads.reviews * n * len(loads.sizes)
    if loads.reviews > MOST_REVIEWS or places > MOST_PLACES:
        raise InputError(
            f"region 'hull' is for at most {MOST_REVIEWS} reviews, and at most {MOST_PLACES} for reviews times "
            f"reviewers times loads that may occur, but the record has {loads.reviews} reviews, {n} "
            f"reviewers and {len(loads.sizes)} such loads ({places}): its projection is NP-hard. Use region 'tight'"
        )
    oracle = oracle_for(weights)
    directions = np.vstack((np.eye(n), np.tril(np.ones((n, n)))[1:]))
    vertices = np.unique([oracle.furthest(side)[0] for d in directions for side in (d, -d)], axis=0)
    sums = np.column_stack((np.zeros(len(vertices)), np.cumsum(vertices, axis=1)))
    least, most = sums.min(axis=0), sums.max(axis=0)
    if loads.uniform:
        # Equal where the total is public, unlike running sums of different vertices.
        least[-1], most[-1] = total_range(weights)
    return Hull(
        name="hull",
        lower=vertices.min(axis=0),
        upper=vertices.max(axis=0),
        cumulative_lower=least,
        cumulative_upper=most,
        total=(float(least[-1]), float(most[-1])),
        oracle=oracle,
        vertices=vertices,
    )


@dataclass(frozen=True, eq=False)
class Corral:
    """A step of Wolfe's algorithm: a simplex with the projection of a target in its interior.

    Attributes:
        target: the vector to be projected.
        vertices: the vertices, one per row.
        shares: barycentric coordinates of the projection; positive, with sum 1.
    """

    target: Floats
    vertices: Floats
    shares: Floats

    @cached_property
    def point(self) -> Floats:
        """The projection; entries that all vertices share are exact."""
        return np.asarray(self.vertices[0] + self.shares[1:] @ (self.vertices[1:] - self.vertices[0]))

    @cached_property
    def rest(self) -> Floats:
        """The residual: the direction in which better vertices lie."""
        return self.target - self.point

    def gain(self, vertex: Floats) -> float:
        """How much further than the projection a vertex is in the direction of the residual."""
        return math.fsum(self.rest * (vertex - self.point))

    def grown(self, vertex: Floats) -> Corral | None:
        """The simplex with a new vertex; ``None`` if it is not nearer to the target."""
        away = float(np.linalg.norm(vertex - self.point))
        if self.gain(vertex) <= _FURTHER * away * float(np.linalg.norm(self.rest)):
            return None
        grown = Corral(self.target, np.vstack((self.vertices, vertex)), np.append(self.shares, 0.0))._settled()
        step = grown.point - self.point
        # The decrease of half the squared distance; a difference of squares would be lost in round-off.
        return grown if math.fsum(self.rest * step - step * step / 2) > 0 else None

    def _settled(self) -> Corral:
        """Move towards the projection on the affine hull, and drop vertices until it lies inside."""
        vertices, shares = self.vertices, self.shares
        while True:
            edges, rest = (vertices[1:] - vertices[0]).T, self.target - vertices[0]
            others = np.linalg.lstsq(edges, rest, rcond=None)[0] if edges.size else np.zeros(0)
            wanted = np.concatenate(([1 - math.fsum(others)], others))
            outside = wanted < 0
            if not outside.any():
                return Corral(self.target, vertices, wanted)
            walk = shares[outside] / (shares[outside] - wanted[outside])
            step = float(np.min(walk))
            shares = shares + step * (wanted - shares)
            # At least one vertex leaves, despite round-off.
            shares[np.flatnonzero(outside)[walk <= step]] = 0.0
            keep = shares > 0
            vertices, shares = vertices[keep], shares[keep]
