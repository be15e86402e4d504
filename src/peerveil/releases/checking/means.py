"""Checks of what a release of means states: everything but its noisy data is recomputed from that and public data.

The noise is tested against its stated distribution.
"""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from peerveil.errors import InputError, PriorWarning
from peerveil.inference.expected_error import ASSUMPTION_HIDDEN
from peerveil.inference.family import model_of
from peerveil.inference.noise_test import LEVEL, count_noise, vector_noise
from peerveil.inference.pooling import PooledPrior, with_prior
from peerveil.mechanisms import Mechanism, mechanism_from
from peerveil.privacy.guarantee import Guarantee, Unit
from peerveil.privacy.joint_claims import Group, group_claim, group_sensitivity
from peerveil.privacy.neighbours import Neighbours
from peerveil.privacy.sensitivity import Sensitivity, sensitivity
from peerveil.quantities.weights import PublicWeights
from peerveil.record.public_record import Floats
from peerveil.regions import Region
from peerveil.regions import region as make_region
from peerveil.regions.projection import GAP_TOLERANCE, VIOLATION_TOLERANCE
from peerveil.releases import words_v1
from peerveil.releases.checking.document import check_document, check_public
from peerveil.releases.checking.groups import (
    CLAIM_TOLERANCE,
    REVIEWS_OF_GROUPS,
    WRONG_NOTE,
    check_series,
    check_series_notes,
    group_notes,
    joint_check,
    same_claim,
)
from peerveil.releases.checking.results import Check, RefusedError, attempt, checked, failed, unchecked
from peerveil.releases.documents import float_or_none
from peerveil.releases.refinement import law_of, proven_bounds, reassemble, with_counted
from peerveil.releases.release import Release
from peerveil.support.version import rendered_with, software

#: Tolerance of values relative to the region's spread, for the same and for other versions of the software.
ROUND_OFF, VALUE_TOLERANCE = 1e-9, 1e-6

#: Tolerance of evidence, for the same and for other versions of the software: fits end when they gain less than 0.01.
_EVIDENCE = (2e-4, 0.1)

#: The checks that need the public record.
_FOLLOWING = (
    *("guarantee", "bins", "region", "noise", "values", "certificate", "outlook"),
    *("findings", "notes", "document"),
)


def release_checks(
    release: Release, document: dict[str, Any], given: PublicWeights | None, pooled: PooledPrior | None
) -> Iterator[Check]:
    """Yield the checks of what a release.json of means states."""
    yield checked("digest", lambda: _digest(release))
    if pooled is not None or release.prior is not None:
        yield checked("prior", lambda: _prior(release, pooled, recomputed=given is not None))
    if given is None:
        yield from (unchecked(name, "no public scores were given") for name in ("record", *_FOLLOWING))
        return
    adopted, problem = attempt(lambda: _adopted(release, given))
    weights = given if adopted is None else adopted
    record = checked("record", lambda: _record(release, weights, problem))
    yield record
    names = _FOLLOWING
    if record.result == "fails":
        yield from (unchecked(name, "the public record is not that of the release") for name in names)
        return
    yield checked("guarantee", lambda: _guarantee(release, given if release.schema == 1 else weights))
    if (group := release.group) is not None:
        yield checked("groups", lambda: _groups(release, group, weights))
    if release.series:
        yield checked("series", lambda: _series(release, weights))
    yield checked("bins", lambda: _bins(release, weights))
    bounds, problem = attempt(lambda: make_region(weights, release.region))
    if bounds is None:
        yield failed("region", problem)
        yield from (unchecked(name, "the region could not be computed") for name in names[3:])
        return
    yield checked("region", lambda: _region(release, weights, bounds))
    yield checked("noise", lambda: _noise(release, bounds))
    again, problem = attempt(lambda: _again(release, weights, bounds, pooled))
    if again is None:
        yield failed("values", f"they could not be recomputed: {problem}")
        yield from (unchecked(name, "the values could not be recomputed") for name in names[5:])
        return
    if release.prior is not None and pooled is None:
        yield from (unchecked(name, "it rests on the pooled prior, which was not given") for name in names[4:-1])
        again = replace(again, prior=release.prior)
    else:
        yield checked("values", lambda: _values(release, again, bounds))
        yield checked("certificate", lambda: _certificate(release, again, bounds))
        yield checked("outlook", lambda: _outlook(release, again, bounds))
        yield checked("findings", lambda: _findings(release, again))
        yield checked("notes", lambda: _notes(release, again))
    yield checked("document", lambda: _document(release, document, again, weights, bounds))


def _prior(release: Release, pooled: PooledPrior | None, *, recomputed: bool) -> Check | str:
    """Whether the given prior is the one that the release names; none may be missing where estimates are recomputed.

    Otherwise any estimates would pass that name a prior which does not exist.
    """
    used = release.prior
    if used is None:
        return "none: the release rests on the usual prior, and the given one is not used"
    named = f"pooled from {used.releases} earlier releases, {used.digest[:19]}…"
    if pooled is None and recomputed:
        raise RefusedError(
            f"the release rests on a prior {named}: give its file, without which estimates may be anything"
        )
    if pooled is None:
        return unchecked("prior", f"{named}: give its file to repeat the estimates")
    if pooled.digest != used.digest:
        raise RefusedError(f"the release rests on a prior {named}, the given one is {pooled.digest[:19]}…")
    return f"{named}, as given" + (": the release disagrees with it and uses the usual one" if used.unlike else "")


def _again(release: Release, weights: PublicWeights, bounds: Region, pooled: PooledPrior | None) -> Release:
    """The release, recomputed from its noisy data with the prior that it names."""
    if release.prior is not None and pooled is not None:
        weights = with_prior(weights, pooled)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PriorWarning)  # which the release states
        return reassemble(release, weights, bounds=bounds, estimator=release.estimator)


def _digest(release: Release) -> str:
    if not release.intact:
        raise RefusedError("the file was changed after it was written: its digest differs")
    return "matches the content of the file"


def _adopted(release: Release, weights: PublicWeights) -> PublicWeights:
    """The weights, with what the release states about the whole conference and the estimated number of reviewers.

    A release of schema 1 states only the loads among its own reviews.
    """
    weights = replace(weights, model=model_of(release.software))
    if release.schema == 1 and weights.part is not None:
        return replace(weights, loads=release.loads, part=None)
    if weights.part is None and release.part is not None:
        weights = replace(weights, loads=release.loads, part=release.part)
    return with_counted(weights, release.perturbed)


def _record(release: Release, weights: PublicWeights, problem: str) -> str:
    if problem:
        raise RefusedError(f"the public record does not fit the stated part of a conference: {problem}")
    if weights.part != release.part:
        raise RefusedError("the public record covers another part of the conference, or all of it")
    if weights.quantity != release.quantity:
        raise RefusedError(f"the release is of {release.quantity}, the weights are of {weights.quantity}")
    if weights.loads != release.loads:
        raise RefusedError(
            f"the release states {release.loads.reviews} reviews and the loads: {release.loads.describe()}; the public "
            f"record has {weights.loads.reviews} and: {weights.loads.describe()}"
        )
    if weights.sizes().size != release.papers or weights.digest() != release.record_digest:
        raise RefusedError(
            "the public record is not the one this release was made from, or was read with other options (scale of "
            "hidden scores, criteria, lone reviews)"
        )
    return f"{release.papers} papers, {release.loads.reviews} reviews, {release.reviewers} reviewers; the same digest"


def _guarantee(release: Release, weights: PublicWeights) -> str:
    claim, mechanism = release.guarantee, mechanism_from(release.mechanism)
    if mechanism is None:
        raise RefusedError("its mechanism is unknown to this program, so its claim cannot be checked")
    if claim.kind == "stated":
        if claim != Guarantee(kind="stated", statement=mechanism.in_words()):
            raise RefusedError("its words are not those of its mechanism")
        return "the words of its source"
    if not isinstance(mechanism, Mechanism):
        raise RefusedError("noise drawn elsewhere supports no numerical claim")
    assert claim.unit is not None  # noqa: S101 - as the claim is numerical
    bound = _sensitivity(release, weights, claim.unit)
    if bound and mechanism.stated is None:
        raise RefusedError("its mechanism states a budget but no noise, though the record needs noise")
    try:
        earned = mechanism.guarantee(bound, claim.unit)
    except InputError as error:
        raise RefusedError(str(error)) from None
    if release.schema == 1 and earned.kind == "gdp":
        earned = earned.as_concentrated()  # as version 0.1.0 stated it
    apart = release.group is not None and not release.group.shared
    related = Neighbours.of(weights.part, hidden=weights.hidden_span > 0, apart=apart)
    if release.schema != 1 and claim.neighbours != related:
        raise RefusedError("its neighbouring assignments are not those of this record")
    if any(_LEFT_OUT_V1.match(note) for note in release.notes):
        raise RefusedError(
            f"it claims: {claim.summary}. That is not proven: papers were left out, and version 0.1.0 overlooked "
            "exchanges of a kept review for one of these. It is false if somebody has more reviews in the whole "
            "conference than anybody among the kept ones; release it again with this version"
        )
    return same_claim(claim, earned, weaker=release.software != software())


def _series(release: Release, weights: PublicWeights) -> Check | str:
    """Whether the release alone fits the budgets of its series; what their other releases cost only a ledger knows."""
    claim = release.guarantee if release.group is None else release.group.together
    if claim is None or claim.unit is None:
        raise RefusedError("it names a series, but has no claim in numbers")
    if claim.unit != "reviewer":
        mechanism = mechanism_from(release.mechanism)
        if release.group is not None or not isinstance(mechanism, Mechanism):
            return unchecked("series", REVIEWS_OF_GROUPS)
        claim = mechanism.guarantee(_sensitivity(release, weights, "reviewer"), "reviewer")
    return check_series(release.series, claim, release.charge)


def _sensitivity(release: Release, weights: PublicWeights, unit: Unit) -> Sensitivity:
    """The sensitivity of what the release covers."""
    across = release.group is not None and release.group.shared
    if not across or release.part is not None:
        return sensitivity(weights, unit)
    if release.schema != 1 and release.group is not None and release.group.groups > 1:
        raise RefusedError("it covers one of several groups, but does not state what is public of the whole conference")
    return group_sensitivity(weights, unit) if release.schema == 1 else sensitivity(weights, unit)


#: The note of version 0.1.0 on left-out papers, whose claim is valid for a whole record only.
_LEFT_OUT_V1 = re.compile(r"\d+ papers? (was|were) left out whole for a missing criterion, before loads were counted")


def _groups(release: Release, group: Group, weights: PublicWeights) -> str:
    """Refuse a joint claim of all groups, or a note on it, that does not follow from the claims of each."""
    if group.together is None:
        notes = group_notes(release.notes, group)
        if not (len(notes) == 1 and _covers(notes[0], group, release.guarantee)):
            raise RefusedError(WRONG_NOTE)
        return "the joint claim is no stronger than this group's; version 0.1.0 does not state the other groups' claims"
    mechanism = mechanism_from(release.mechanism)
    counted, scale = (False, None) if mechanism is None else (mechanism.on_counts, mechanism.scale_on_counts)
    own = group_claim(release.guarantee, weights, counted=counted, scale=scale)
    return joint_check(group, own, release.part, release.notes)


def _bins(release: Release, weights: PublicWeights) -> str:
    if release.histogram is None:
        return "none: the noise was added to the vector itself"
    mechanism, unit = mechanism_from(release.mechanism), release.guarantee.unit
    if not isinstance(mechanism, Mechanism) or not mechanism.on_counts or unit is None:
        raise RefusedError("counts with noise drawn elsewhere cannot be checked")
    guessed = weights.expected() if weights.open else weights  # as bins were chosen before counting
    bins = mechanism.binned(guessed, _sensitivity(release, weights, unit))
    if (release.histogram.outside is not None) != weights.open:
        raise RefusedError("reviewers without a kept review must be counted exactly if their number is not public")
    if bins is None or not release.histogram.bins.same(bins):
        raise RefusedError(f"they do not follow from the public record{_versions(release)}")
    return f"{bins.number} bins, as follows from the public record"


def _region(release: Release, weights: PublicWeights, bounds: Region) -> str:
    slack = bounds.slack(_tolerance(release))
    for name, proven in zip(("lower", "upper"), proven_bounds(weights, bounds), strict=True):
        off = _furthest(getattr(release, name), proven)
        if off > slack:
            raise RefusedError(f"{name} differs from what the public record proves by up to {off:.3g}")
    violation = bounds.violation(release.values)
    if violation > bounds.slack(max(VIOLATION_TOLERANCE, VALUE_TOLERANCE)):
        raise RefusedError(f"the values lie outside the region {release.region} by {violation:.3g}")
    return f"the bounds of {release.region} follow from the public record and contain the values"


def _noise(release: Release, bounds: Region) -> Check | str:
    law = law_of(release.mechanism)
    if law is None and release.guarantee.kind == "stated":
        return unchecked("noise", "its source does not state the distribution of the noise")
    lower, upper = bounds.implied()
    slack = bounds.slack(ROUND_OFF)
    if law is None:  # the record needs no noise, or the guarantee fails
        if bounds.violation(release.noisy) > slack:
            raise RefusedError("none is stated, but the noisy vector is impossible")
        return "none is stated, and none was needed"
    histogram = release.histogram
    if histogram is None:
        test = vector_noise(release.noisy, lower - slack, upper + slack, law)
    elif histogram.outside is None or release.part is None:
        test = count_noise(histogram.counts, release.reviewers, law)
    else:  # with those outside, the counts sum to the number of all reviewers
        test = count_noise(np.append(histogram.counts, histogram.outside), release.part.whole.reviewers, law)
    rate = f"noise of this distribution is refused at most once in {1 / LEVEL:,.0f} times"
    if test.too_small or test.too_large:
        size = "smaller" if test.too_small else "larger"
        raise RefusedError(f"the noise is {size} than its stated distribution allows; {rate}")
    which = "too large" if test.small is None else "too small or too large"
    return f"not shown to be {which} for its stated distribution; {rate}"


def _values(release: Release, again: Release, bounds: Region) -> str:
    slack = bounds.slack(_tolerance(release))
    if (noisy := _furthest(release.noisy, again.noisy)) > slack:
        raise RefusedError(f"the noisy vector differs from its own data by up to {noisy:.3g}")
    off = _furthest(release.values, again.values)
    if release.estimator != again.estimator or off > slack:
        differ = f"they do not follow from the noisy vector by {release.estimator}: they differ by up to {off:.3g}"
        raise RefusedError(differ + _versions(release))
    return f"follow from the noisy vector by {release.estimator}, within {off:.2g}{_versions(release)}"


def _certificate(release: Release, again: Release, bounds: Region) -> str:
    moved = _furthest(release.noisy, again.values)
    spread = bounds.slack(1.0)
    slack = GAP_TOLERANCE * release.reviewers * spread * max(spread, moved) + bounds.slack(_tolerance(release)) ** 2
    if abs(release.gap - again.gap) > slack:
        raise RefusedError(f"it states a gap of {release.gap:.3g}; recomputed it is {again.gap:.3g}")
    return f"gap {again.gap:.2g} recomputed, {release.gap:.2g} stated"


def _outlook(release: Release, again: Release, bounds: Region) -> str:
    ours, theirs = again.outlook, release.outlook
    if ours is None and theirs is None:
        return "none, as the distribution of the noise is unknown" + _versions(release)
    slack = bounds.slack(_tolerance(release))
    if ours is None or theirs is None:
        raise RefusedError(f"it must be present exactly if the distribution of the noise is known{_versions(release)}")
    hidden = ours.assumption.endswith(ASSUMPTION_HIDDEN)
    v1 = words_v1.ASSUMPTION_HIDDEN if hidden else words_v1.ASSUMPTION
    if theirs.assumption != (v1 if release.schema == 1 else ours.assumption):
        raise RefusedError("its assumption is not that of expected error and bands")
    if (
        ours.level != theirs.level
        or abs(ours.expected_rmse - theirs.expected_rmse) > slack
        or not _same_public(ours.public_rmse, theirs.public_rmse, slack, optional=_earlier(release))
        or max(_furthest(ours.lower, theirs.lower), _furthest(ours.upper, theirs.upper)) > slack
    ):
        raise RefusedError(f"expected error and bands differ from their recomputation{_versions(release)}")
    return f"expected error {theirs.expected_rmse:.3g} and bands equal their recomputation"


def _findings(release: Release, again: Release) -> str:
    if not release.findings and (not again.findings or model_of(release.software) == 1):
        return "none stated"
    numbers, expected = (
        {(found.name, end): getattr(found, end) for found in each.findings for end in ("value", "lower", "upper")}
        | {(found.name, end): getattr(found, end) or 0.0 for found in each.findings for end in ("level", "accepted")}
        for each in (release, again)
    )
    slack = _tolerance(release)
    if list(numbers) != list(expected) or not all(
        math.isclose(number, expected[key], rel_tol=slack, abs_tol=slack) for key, number in numbers.items()
    ):
        raise RefusedError(f"they differ from their recomputation{_versions(release)}")
    return f"all {len(release.findings)} follow from the noisy data and the public record"


def _same_public(ours: float | None, theirs: float | None, slack: float, *, optional: bool) -> bool:
    """Whether the error without a release equals its recomputation; earlier versions do not state it."""
    if ours is None or theirs is None:
        return ours is theirs or (theirs is None and optional)
    return abs(ours - theirs) <= slack


def _notes(release: Release, again: Release) -> str:
    if again.notes != release.notes:
        raise RefusedError("a caveat of this region or estimator is missing")
    if any(not note.strip() or not note.isprintable() for note in release.notes):
        raise RefusedError("a note is empty or not printable")
    check_series_notes(release.notes, ())  # of means, series are not stated in notes
    return "contain every caveat of the recomputation; other notes are the chair's"


def _covers(note: str, group: Group, claim: Guarantee) -> bool:
    """Whether a note of version 0.1.0 states a joint claim of all groups that is no stronger than this group's own."""
    sharing = "papers. Reviewers may be in several" if group.shared else "papers. It is declared that no reviewer"
    if sharing not in note:
        return False
    stated = re.search(r": together, (epsilon|rho) = ([0-9.e+-]+)(.*)\.$", note)
    own = {"epsilon": claim.epsilon, "rho": claim.rho}.get(stated[1]) if stated else None
    if stated is None or own is None or f" per {claim.unit} (" not in stated[3]:
        return False
    number = float_or_none(stated[2])
    return number is not None and number >= own * (1 - CLAIM_TOLERANCE)


def _document(
    release: Release, document: dict[str, Any], again: Release, weights: PublicWeights, bounds: Region
) -> str:
    public = release.public if release.group is None else release.public.removesuffix(", in each group of papers")
    check_public(public, release.quantity, hidden=weights.hidden_span > 0)
    known = mechanism_from(release.mechanism)
    described = release.mechanism if known is None else known.describe()
    if not _same_chance(release, again, bounds):
        raise RefusedError(f"extension/chance differs from its recomputation{_versions(release)}")
    if not _same_evidence(release, again):
        raise RefusedError(f"extension/evidence differs from its recomputation{_versions(release)}")
    # Other extensions are not carried over and therefore refused.
    kept: dict[str, Any] = {"chance": release.chance, "evidence": release.evidence}
    if _earlier(release):
        kept |= {name: None for name in ("within", "tails") if getattr(release, name) is None}
    kept["shapes"] = release.shapes
    written = replace(again, mechanism=described, part=weights.part, extension={}, **kept)
    return check_document(document, json.loads(written.to_json())) + _versions(release)


def _same_chance(release: Release, again: Release, bounds: Region) -> bool:
    """Whether the means under random dealing equal their recomputation."""
    ours, theirs = again.chance, release.chance
    if ours is None or theirs is None:
        return ours is theirs
    return _furthest(ours, theirs) <= bounds.slack(_tolerance(release))


def _same_evidence(release: Release, again: Release) -> bool:
    """Whether the evidence equals its recomputation; earlier versions do not state it."""
    for ours, theirs in ((again.evidence, release.evidence), (again.shapes, release.shapes)):
        if theirs is None and (ours is None or _earlier(release)):
            continue
        if ours is None or theirs is None or _furthest(ours, theirs) > _EVIDENCE[0 if same_versions(release) else 1]:
            return False
    return True


def _furthest(a: Floats, b: Floats) -> float:
    return float(np.abs(a - b).max(initial=0.0))


def _earlier(release: Release) -> bool:
    """Whether a version wrote a release that did not state all that this one does."""
    return release.schema == 1 or model_of(release.software) == 1


def same_versions(release: Release) -> bool:
    """Whether the same versions as ours wrote a release, so that results agree up to round-off."""
    return release.rendered == rendered_with()


def _tolerance(release: Release) -> float:
    return ROUND_OFF if same_versions(release) else VALUE_TOLERANCE


def _versions(release: Release) -> str:
    """A remark on other versions, whose estimates may legitimately differ."""
    if same_versions(release):
        return ""
    if release.software != software():
        return f" (made by {release.software}, checked by {software()}, which may differ)"
    ours = rendered_with()
    other = sorted({name for name, _ in ours.items() ^ release.rendered.items()})
    return f" (made with other versions of {', '.join(other)}, which may differ)"
