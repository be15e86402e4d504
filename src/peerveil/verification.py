"""Checking a published release against the public record: what a reader can do without trusting anyone.

Nobody can check from outside that the noise was really drawn, or that the private file was the true one. Everything
else that a release states follows from its noisy vector and the public record, and is computed anew here.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import cast

import numpy as np

from peerveil.bundle import Release
from peerveil.errors import InputError, PeerveilError
from peerveil.groups import group_sensitivity
from peerveil.guarantee import Guarantee
from peerveil.mechanisms import OWN, External, Histogram, OwnMechanism, histogram_bins, mechanism_from
from peerveil.projection import GAP_TOLERANCE, VIOLATION_TOLERANCE
from peerveil.record import Floats
from peerveil.refinement import reassemble, stated_words
from peerveil.regions import Region
from peerveil.regions import region as make_region
from peerveil.release_files import read_release, table_check
from peerveil.sensitivity import sensitivity
from peerveil.verdict import Check, RefusedError, Verification, looked_at, unchecked
from peerveil.version import software
from peerveil.weights import PublicWeights

#: How far a recomputed value may be off the published one, as a share of the region's spread: other versions of the
#: numerical libraries round differently.
VALUE_TOLERANCE = 1e-6

#: How far a recomputed claim may be off the published one, as a share of it.
CLAIM_TOLERANCE = 1e-9

UNCHECKED = (
    "Nobody can check from outside that the noise was drawn as stated, that the private reviews were the true ones, or "
    "what was stated to be public in words."
)


def verify(release: Release | str | os.PathLike[str], weights: PublicWeights) -> Verification:
    """Check a release against the public record: does everything it states follow from its noisy vector and the record?

    Args:
        release: a release, its folder, or its release.json. Beside the latter two, release.csv is checked as well.
        weights: public weights of the record and quantity that the release is of.

    A release that fails a check gives a result that is false; nothing is raised. What is no JSON at all is an error.

    >>> import peerveil as pv
    >>> weights = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 1]], load=2)
    >>> release = pv.refine([-1.0, 2.5, 2.0, 9.5], weights, mechanism=pv.Laplace(scale=2.0))
    >>> pv.verify(release, weights).verified
    True
    >>> other = pv.PublicWeights.from_rows([[1, 5], [2, 2], [4, 5], [3, 2]], load=2)
    >>> pv.verify(release, other).failed
    ('record',)
    """
    if isinstance(release, Release):
        return Verification(checks=tuple(_checks(release, weights)))
    read, schema = read_release(release)
    if read is None:
        return Verification(checks=(schema,))
    return Verification(checks=(schema, *_checks(read, weights), table_check(release, read)))


def _checks(release: Release, weights: PublicWeights) -> Iterator[Check]:
    yield looked_at("digest", lambda: _digest(release))
    record = looked_at("record", lambda: _record(release, weights))
    yield record
    rest = ("guarantee", "bins", "region", "values", "certificate", "outlook", "notes")
    if record.result == "fails":
        yield from (unchecked(name, "the public record is another one") for name in rest)
        return
    yield looked_at("guarantee", lambda: _guarantee(release, weights))
    yield looked_at("bins", lambda: _bins(release, weights))
    bounds: Region | None = None
    problem = ""
    try:
        bounds = make_region(weights, release.region)
    except PeerveilError as error:
        problem = str(error)
    if bounds is None:
        yield Check(name="region", result="fails", found=problem)
        yield from (unchecked(name, "the region could not be computed") for name in rest[3:])
        return
    yield looked_at("region", lambda: _region(release, bounds))
    again: Release | None = None
    try:
        again = reassemble(release, weights, bounds=bounds, estimator=release.estimator)
    except PeerveilError as error:
        problem = str(error)
    if again is None:
        yield Check(name="values", result="fails", found=f"they could not be computed anew: {problem}")
        yield from (unchecked(name, "the values could not be computed anew") for name in rest[4:])
        return
    yield looked_at("values", lambda: _values(release, again, bounds))
    yield looked_at("certificate", lambda: _certificate(release, again, bounds))
    yield looked_at("outlook", lambda: _outlook(release, again, bounds))
    yield looked_at("notes", lambda: _notes(release, again))


def _digest(release: Release) -> str:
    if not release.intact:
        raise RefusedError("the file was changed after it was written: its contents have another digest")
    return "the file is as it was written"


def _record(release: Release, weights: PublicWeights) -> str:
    if weights.quantity != release.quantity:
        raise RefusedError(f"the release is of {release.quantity}, the weights are of {weights.quantity}")
    if weights.loads != release.loads:
        raise RefusedError(
            f"the release states {release.loads.reviews} reviews and the loads: {release.loads.describe()}; the public "
            f"record has {weights.loads.reviews} and: {weights.loads.describe()}"
        )
    if weights.sizes().size != release.papers or weights.digest() != release.record_digest:
        raise RefusedError(
            "the public record is not the one this release was made from, or it is read differently (scale of hidden "
            "scores, criteria, lone reviews)"
        )
    return f"{release.papers} papers, {release.loads.reviews} reviews, {release.reviewers} reviewers; the same digest"


def _guarantee(release: Release, weights: PublicWeights) -> str:
    claim, mechanism = release.guarantee, mechanism_from(release.mechanism)
    if mechanism is None:
        raise RefusedError("its mechanism is not one that this program knows, so its claim cannot be checked")
    if claim.kind == "stated":
        if claim.statement != stated_words(mechanism):
            raise RefusedError("its words are not those of its mechanism")
        return "words of its source, to which nothing is added"
    if isinstance(mechanism, External) or not isinstance(mechanism, tuple(OWN.values())):
        raise RefusedError("noise that was drawn elsewhere proves no claim of numbers; only its source's words")
    assert claim.unit is not None  # noqa: S101 - a claim that is not in words has one
    across = release.group is not None and release.group.shared
    bound = (group_sensitivity if across else sensitivity)(weights, claim.unit)
    if bound and mechanism.noise_law() is None:
        raise RefusedError("its mechanism states a budget but no noise, and the record does not do without")
    try:
        earned = cast(OwnMechanism, mechanism).guarantee(bound, claim.unit)
    except InputError as error:
        raise RefusedError(str(error)) from None
    if release.schema == 1 and earned.kind == "gdp":
        earned = earned.as_concentrated()  # what version 0.1.0 claimed of normal noise: true, though weaker
    return _same_claim(claim, earned)


def _same_claim(claim: Guarantee, earned: Guarantee) -> str:
    if (claim.kind, claim.float_safe) != (earned.kind, earned.float_safe):
        raise RefusedError(f"it claims: {claim.summary}; its noise pays for: {earned.summary}")
    for name in ("epsilon", "delta", "rho", "omega"):
        stated, due = getattr(claim, name), getattr(earned, name)
        if stated == due:
            continue
        if stated is None or due is None or not math.isclose(stated, due, rel_tol=CLAIM_TOLERANCE):
            raise RefusedError(f"it claims: {claim.summary}; its noise pays for: {earned.summary}")
    return f"follows from noise and sensitivity: {claim.summary}"


def _bins(release: Release, weights: PublicWeights) -> str:
    if release.histogram is None:
        return "none: the noise is on the vector itself"
    mechanism, unit = mechanism_from(release.mechanism), release.guarantee.unit
    assert isinstance(mechanism, Histogram)  # noqa: S101 - only these have a histogram
    if unit is None:
        raise RefusedError("counts whose noise was drawn elsewhere cannot be checked")
    bins = histogram_bins(weights, mechanism, sensitivity(weights, unit))
    if not release.histogram.bins.same(bins):
        raise RefusedError(f"they are not those that the public record gives{_versions(release)}")
    return f"{bins.number} of them, as the public record gives"


def _region(release: Release, bounds: Region) -> str:
    slack = bounds.slack(VALUE_TOLERANCE)
    for name in ("lower", "upper"):
        off = _furthest(getattr(release, name), getattr(bounds, name))
        if off > slack:
            raise RefusedError(f"{name} is off what the public record proves, by up to {off:.3g}")
    violation = bounds.violation(release.values)
    if violation > bounds.slack(max(VIOLATION_TOLERANCE, VALUE_TOLERANCE)):
        raise RefusedError(f"the values lie outside of the region {release.region}, by {violation:.3g}")
    return f"the bounds of {release.region} are as the public record proves; the values lie within"


def _values(release: Release, again: Release, bounds: Region) -> str:
    if (noisy := _furthest(release.noisy, again.noisy)) > bounds.slack(VALUE_TOLERANCE):
        raise RefusedError(f"the noisy vector is not the one that its own data gives, by up to {noisy:.3g}")
    off = _furthest(release.values, again.values)
    if release.estimator != again.estimator or off > bounds.slack(VALUE_TOLERANCE):
        raise RefusedError(
            f"they do not follow from the noisy vector by {release.estimator}: off by up to {off:.3g}"
            + _versions(release)
        )
    return f"follow from the noisy vector by {release.estimator}: off by at most {off:.2g}{_versions(release)}"


def _certificate(release: Release, again: Release, bounds: Region) -> str:
    moved = float(np.abs(release.noisy - again.values).max(initial=0.0))
    spread = bounds.slack(1.0)
    slack = GAP_TOLERANCE * release.reviewers * spread * max(spread, moved) + bounds.slack(VALUE_TOLERANCE) ** 2
    if abs(release.gap - again.gap) > slack:
        raise RefusedError(f"it states a gap of {release.gap:.3g}; computed anew it is {again.gap:.3g}")
    return f"gap {again.gap:.2g} computed anew, {release.gap:.2g} stated"


def _outlook(release: Release, again: Release, bounds: Region) -> str:
    ours, theirs = again.outlook, release.outlook
    if ours is None and theirs is None:
        return "none, as the law of the noise is not known" + _versions(release)
    slack = bounds.slack(VALUE_TOLERANCE)
    if (
        ours is None
        or theirs is None
        or ours.level != theirs.level
        or abs(ours.expected_rmse - theirs.expected_rmse) > slack
        or max(_furthest(ours.lower, theirs.lower), _furthest(ours.upper, theirs.upper)) > slack
    ):
        raise RefusedError(f"expected error and bands are not those computed anew{_versions(release)}")
    return f"expected error {theirs.expected_rmse:.3g} and bands, as computed anew"


def _notes(release: Release, again: Release) -> str:
    if again.notes != release.notes:
        raise RefusedError("a caveat that belongs to this region or estimator is missing from its notes")
    return "every caveat that computing it anew gives is there"


def _furthest(one: Floats, other: Floats) -> float:
    return float(np.abs(one - other).max(initial=0.0))


def _versions(release: Release) -> str:
    """A word on versions, where they differ: estimates may differ then, and neither is wrong."""
    ours = software()
    return "" if release.software == ours else f" (made by {release.software}, checked by {ours}, which may differ)"
