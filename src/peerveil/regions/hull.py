"""The hull: the smallest convex region there is, for small records only.

Projecting on it is NP-hard (the paper's Theorem on general noisy data), so this region is a yardstick for the others.
Nothing here is approximate. An oracle finds the vector of Theta that goes furthest in a direction: by dynamic
programming over the sets of reviews that the lowest reviewers may hold, where weights are public and these sets are
few; else by a mixed-integer programme. Wolfe's algorithm (P. Wolfe, "Finding the nearest point in a polytope", 1976)
projects by asking for a few of these vectors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from peerveil.errors import Argument, InputError, ProjectionError
from peerveil.quantities.weights import PublicWeights
from peerveil.record.loads import Loads
from peerveil.record.public_record import Floats
from peerveil.regions.baseline import total_range
from peerveil.regions.convex import Region
from peerveil.regions.oracles import Oracle, oracle_for

#: The most reviews, and the most places (reviews times reviewers times loads that may occur), of a record with a hull.
MOST_REVIEWS = 20
MOST_PLACES = 400

#: A vertex is further in a direction than a point if it is so by this share of the distance between the two.
_FURTHER = 1e-12

#: More steps than any projection needs; each adds one vertex.
_STEPS = 1_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Hull(Region):
    """The convex hull of all vectors that some valid assignment gives. Make one with :func:`hull`.

    The bounds of :class:`Region` are exact here, yet they do not say all: the region is smaller than they are.

    Attributes:
        oracle: what finds the vector that goes furthest in a direction.
        vertices: the vectors that attain the bounds, one a row.

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
        """The greatest value of ``direction · theta`` over the region, by one call of the oracle."""
        d = self._vector("direction", direction)
        return math.fsum(d * self.oracle.furthest(d)[0])

    def violation(self, theta: npt.ArrayLike) -> float:
        """The distance of a vector from the region, divided by the square root of its length."""
        t = self._vector("theta", theta)
        return float(np.linalg.norm(t - self.project(t)[0])) / math.sqrt(t.size)

    def project(self, r: npt.ArrayLike) -> tuple[Floats, float]:
        """The projection ``t`` of a vector, and an upper bound on its gap ``h(r - t) - (r - t)·t``.

        The squared distance of ``t`` from the exact projection is at most the gap.

        >>> import peerveil as pv
        >>> values, gap = hull(pv.PublicWeights.from_rows([[0, 1], [0, 4]], load=2)).project([1.5, 1.5])
        >>> values.round(9).tolist(), gap < 1e-9
        ([0.5, 2.0], True)
        """
        corral = Corral.of_one(self._vector("r", r), self.vertices[0])
        known = self.vertices
        for _ in range(_STEPS):
            further = corral.grown(known[np.argmax(known @ corral.rest)])
            if further is None:
                # No known vertex helps: ask for the best of all.
                vertex, excess = self.oracle.furthest(corral.rest)
                further = corral.grown(vertex)
                if further is None:
                    return np.maximum.accumulate(corral.point), max(corral.gain(vertex), 0.0) + excess
                known = np.vstack((known, vertex))
            corral = further
        raise ProjectionError(f"the projection on the hull took more than {_STEPS} steps; nothing is returned")

    def _vector(self, name: str, values: npt.ArrayLike) -> Floats:
        v = np.asarray(values, dtype=np.float64)
        if v.shape != self.lower.shape or not np.isfinite(v).all():
            raise InputError(Argument(name), f" must be {self.reviewers} finite numbers, got shape {v.shape}")
        return v


def hull(weights: PublicWeights) -> Hull:
    """The convex hull of all vectors that some valid assignment of the weights gives, for small records.

    >>> import peerveil as pv
    >>> region = hull(pv.PublicWeights.from_rows([[1, 2, 3], [0, 0, 0], [0, 0, 0], [0, 0, 0]], load=3))
    >>> region.lower.round(3).tolist() == region.upper.round(3).tolist()     # the assignment does not matter
    True

    Raises:
        InputError: if the record is too large for exact answers.
        RecordError: if no valid assignment exists.
    """
    check_small(weights.loads)
    n = weights.reviewers
    oracle = oracle_for(weights)
    directions = np.vstack((np.eye(n), np.tril(np.ones((n, n)))[1:]))
    vertices = np.unique([oracle.furthest(side)[0] for d in directions for side in (d, -d)], axis=0)
    sums = np.column_stack((np.zeros(len(vertices)), np.cumsum(vertices, axis=1)))
    least, most = sums.min(axis=0), sums.max(axis=0)
    if weights.loads.uniform:
        # The same number twice where the total is public, which running sums of different vertices need not be.
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


def check_small(loads: Loads) -> None:
    """Refuse a record that is too large for its hull."""
    places = loads.reviews * loads.reviewers * len(loads.sizes)
    if loads.reviews > MOST_REVIEWS or places > MOST_PLACES:
        raise InputError(
            f"region 'hull' is for at most {MOST_REVIEWS} reviews, and at most {MOST_PLACES} for reviews times "
            f"reviewers times loads that may occur, but the record has {loads.reviews} reviews, {loads.reviewers} "
            f"reviewers and {len(loads.sizes)} such loads ({places}): its projection is NP-hard. Use region 'tight'"
        )


@dataclass(frozen=True, eq=False)
class Corral:
    """A step of Wolfe's algorithm: vertices of a simplex that holds the projection of a target on it inside.

    Attributes:
        target: the vector to be projected.
        vertices: the vertices, one a row.
        shares: how much each vertex counts in the projection; positive, with sum 1.
    """

    target: Floats
    vertices: Floats
    shares: Floats

    @classmethod
    def of_one(cls, target: Floats, vertex: Floats) -> Corral:
        """The simplex of a single vertex."""
        return cls(target, vertex[None], np.ones(1))

    @cached_property
    def point(self) -> Floats:
        """The projection; written so that entries that all vertices share stay exact."""
        return np.asarray(self.vertices[0] + self.shares[1:] @ (self.vertices[1:] - self.vertices[0]))

    @cached_property
    def rest(self) -> Floats:
        """What is left to the target: the direction in which better vertices lie."""
        return self.target - self.point

    def gain(self, vertex: Floats) -> float:
        """How much further than the projection a vertex goes in the direction of the target."""
        return math.fsum(self.rest * (vertex - self.point))

    def grown(self, vertex: Floats) -> Corral | None:
        """The simplex that a new vertex leads to, or nothing if it leads no nearer to the target."""
        away = float(np.linalg.norm(vertex - self.point))
        if self.gain(vertex) <= _FURTHER * away * float(np.linalg.norm(self.rest)):
            return None
        grown = Corral(self.target, np.vstack((self.vertices, vertex)), np.append(self.shares, 0.0))._settled()
        step = grown.point - self.point
        # By how much half the squared distance went down; as the difference of squares it would be lost in round-off.
        return grown if math.fsum(self.rest * step - step * step / 2) > 0 else None

    def _settled(self) -> Corral:
        """Walk towards the nearest point of the affine hull, and drop vertices until it lies inside."""
        vertices, shares = self.vertices, self.shares
        while True:
            wanted = _affine_shares(self.target, vertices)
            outside = wanted < 0
            if not outside.any():
                return Corral(self.target, vertices, wanted)
            walk = shares[outside] / (shares[outside] - wanted[outside])
            step = float(np.min(walk))
            shares = shares + step * (wanted - shares)
            # At least one vertex leaves, whatever round-off says.
            shares[np.flatnonzero(outside)[walk <= step]] = 0.0
            keep = shares > 0
            vertices, shares = vertices[keep], shares[keep]


def _affine_shares(target: Floats, vertices: Floats) -> Floats:
    """The shares, with sum 1 and any sign, of the point nearest to the target in the affine hull of vertices."""
    edges = (vertices[1:] - vertices[0]).T
    others = np.linalg.lstsq(edges, target - vertices[0], rcond=None)[0] if edges.size else np.zeros(0)
    return np.concatenate(([1 - math.fsum(others)], others))
