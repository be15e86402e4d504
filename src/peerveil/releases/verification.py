"""Checking a published release against the public record: what a reader can do without trusting anyone.

Nobody can check from outside that the private file was the true one. Everything else that a release states follows from
its noisy data and the public record: it is computed and written anew here, and compared field by field. The noise
itself is tested against its stated law. Authorship is checked where the release is signed.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from peerveil.errors import InputError, PeerveilError, SignatureError, unexpected
from peerveil.inference.expected_error import ASSUMPTION_HIDDEN, ExpectedError
from peerveil.inference.noise_test import LEVEL, NoiseCheck, count_noise, vector_noise
from peerveil.mechanisms import Mechanism, mechanism_from
from peerveil.privacy.bins import NoisyCounts
from peerveil.privacy.guarantee import Guarantee, Unit
from peerveil.privacy.joint_claims import Group, group_claim, group_sensitivity, joint_claim
from peerveil.privacy.law import Law
from peerveil.privacy.neighbours import Neighbours
from peerveil.privacy.sensitivity import Sensitivity, sensitivity
from peerveil.quantities.weights import PublicWeights
from peerveil.record.public_record import Floats
from peerveil.regions import Region
from peerveil.regions import region as make_region
from peerveil.regions.projection import GAP_TOLERANCE, VIOLATION_TOLERANCE
from peerveil.releases import words_v1
from peerveil.releases.checks import Check, RefusedError, Verification, looked_at, unchecked
from peerveil.releases.document_check import check_document
from peerveil.releases.published_files import Opened, file_checks, open_release, other_files
from peerveil.releases.refinement import law_of, proven_bounds, reassemble, with_counted
from peerveil.releases.release import Release
from peerveil.releases.signatures import SIGNATURE, signature_beside, signer, trusted_keys
from peerveil.support.version import rendered_with, software

#: How far a recomputed value may be off the published one, as a share of the region's spread. The same versions on
#: other processors differ by less than a trillionth; other versions of the numerical libraries round differently.
ROUND_OFF = 1e-9
VALUE_TOLERANCE = 1e-6

#: How far a recomputed claim may be off the published one, as a share of it.
CLAIM_TOLERANCE = 1e-9

UNCHECKED = (
    "Nobody can check from outside that the private reviews were the true ones, or what was stated to be public in "
    "words. Of the noise only its size is tested."
)

Made = TypeVar("Made")

UNSIGNED = "unsigned: authorship not checked"


def verify(
    release: Release | str | os.PathLike[str],
    weights: PublicWeights,
    *,
    signed_by: str | os.PathLike[str] | None = None,
) -> Verification:
    """Check a release against the public record: does everything it states follow from its noisy vector and the record?

    Args:
        release: a release, its folder, or its release.json. Of the latter two, the other files are checked as well.
        weights: public weights of the record and quantity that the release is of.
        signed_by: an OpenSSH public key, or an allowed_signers file: refuse what is not signed by one of these keys.

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
        if signed_by is not None:
            raise InputError("signed_by needs the release's folder: the signature is of its file; give the folder")
        return Verification(checks=tuple(_checks(release, json.loads(release.to_json()), weights)))
    keys = None if signed_by is None else trusted_keys(signed_by)
    opened = open_release(release)
    signature = _signature(opened, keys)
    if opened.release is None or opened.document is None:
        return Verification(checks=(opened.schema, signature))
    checks = (opened.schema, *_checks(opened.release, opened.document, weights))
    return Verification(checks=(*checks, *_beside(opened, opened.release, checks), signature))


def _beside(opened: Opened, release: Release, checks: tuple[Check, ...]) -> Iterator[Check]:
    """Checks of the files beside a release.json."""
    if any(check.result == "fails" for check in checks):
        why = "release.json fails already, and these are made from it"
        yield from (unchecked(name, why) for name in ("release.csv", "report.html", "pictures"))
    else:
        yield from file_checks(opened.place.parent, release, same=_same_versions(release))
    if opened.place.name == "release.json":
        yield looked_at_as_is("files", lambda: other_files(opened.place.parent))


def looked_at_as_is(name: str, look: Callable[[], Check]) -> Check:
    """A check that makes its own verdict, unless it fails unexpectedly."""
    try:
        return look()
    except Exception as error:  # noqa: BLE001 - whatever is there, a check must end with a result
        return Check(name=name, result="fails", found=f"it could not be checked: {unexpected(error)}")


def _signature(opened: Opened, keys: list[Any] | None) -> Check:
    return looked_at_as_is("signature", lambda: _signed(opened, keys))


def _signed(opened: Opened, keys: list[Any] | None) -> Check:
    """Who signed a release.json."""
    problem = ""
    try:
        signature = signature_beside(opened.place)
        if signature is None:
            if keys is None:
                return unchecked("signature", UNSIGNED)
            raise SignatureError(f"there is no {SIGNATURE} beside it, though a signature is asked for")  # noqa: TRY301
        key = signer(opened.contents, signature)
    except SignatureError as error:
        problem = str(error)
    except InputError as error:  # the package that checks signatures is not there
        return unchecked("signature", f"there is a signature, which was not checked: {error}")
    if problem:
        return Check(name="signature", result="fails", found=problem)
    whose = f"the key {key.sha256_str()} ({key.algo_name})"
    if keys is None:
        return unchecked("signature", f"signed by {whose}; whose key that is was not checked")
    if key not in keys:
        return Check(name="signature", result="fails", found=f"signed by {whose}, which is not among the keys given")
    return Check(name="signature", result="holds", found=f"signed by {whose}, which is among the keys given")


def _checks(release: Release, document: dict[str, Any], given: PublicWeights) -> Iterator[Check]:
    yield looked_at("digest", lambda: _digest(release))
    adopted, problem = _attempt(lambda: _adopted(release, given))
    weights = given if adopted is None else adopted
    record = looked_at("record", lambda: _record(release, weights, problem))
    yield record
    rest = ("guarantee", "bins", "region", "noise", "values", "certificate", "outlook", "notes", "document")
    if record.result == "fails":
        yield from (unchecked(name, "the public record is another one") for name in rest)
        return
    yield looked_at("guarantee", lambda: _guarantee(release, given if release.schema == 1 else weights))
    if (group := release.group) is not None:
        yield looked_at("groups", lambda: _groups(release, group, weights))
    yield looked_at("bins", lambda: _bins(release, weights))
    bounds, problem = _attempt(lambda: make_region(weights, release.region))
    if bounds is None:
        yield Check(name="region", result="fails", found=problem)
        yield from (unchecked(name, "the region could not be computed") for name in rest[3:])
        return
    yield looked_at("region", lambda: _region(release, weights, bounds))
    yield looked_at_as_is("noise", lambda: _noise(release, bounds))
    again, problem = _attempt(lambda: reassemble(release, weights, bounds=bounds, estimator=release.estimator))
    if again is None:
        yield Check(name="values", result="fails", found=f"they could not be computed anew: {problem}")
        yield from (unchecked(name, "the values could not be computed anew") for name in rest[5:])
        return
    yield looked_at("values", lambda: _values(release, again, bounds))
    yield looked_at("certificate", lambda: _certificate(release, again, bounds))
    yield looked_at("outlook", lambda: _outlook(release, again, bounds))
    yield looked_at("notes", lambda: _notes(release, again))
    yield looked_at("document", lambda: _document(release, document, again, weights))


def _attempt(make: Callable[[], Made]) -> tuple[Made | None, str]:
    """What was made, or why it could not be."""
    try:
        return make(), ""
    except PeerveilError as error:
        return None, str(error)
    except Exception as error:  # noqa: BLE001 - whatever a file holds, a check must end with a result
        return None, unexpected(error)


def _digest(release: Release) -> str:
    if not release.intact:
        raise RefusedError("the file was changed after it was written: its contents have another digest")
    return "the file is as it was written"


def _adopted(release: Release, weights: PublicWeights) -> PublicWeights:
    """The weights as of the part of a conference that the release states; which part it is does not show in scores.

    Where the number of reviewers is not public, it is estimated from the release's noisy counts. A release of schema 1
    states nothing but the loads among its own reviews.
    """
    if release.schema == 1 and weights.part is not None:
        return replace(weights, loads=release.loads, part=None)
    if weights.part is None and release.part is not None:
        weights = replace(weights, loads=release.loads, part=release.part)
    return with_counted(weights, release.noisy if release.histogram is None else release.histogram)


def _record(release: Release, weights: PublicWeights, problem: str) -> str:
    if problem:
        raise RefusedError(f"the public record does not go with the part of a conference that it states: {problem}")
    if weights.part != release.part:
        raise RefusedError("the public record is of another part of the conference, or of the whole of it")
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
        if claim != Guarantee(kind="stated", statement=mechanism.in_words()):
            raise RefusedError("its words are not those of its mechanism")
        return "words of its source, to which nothing is added"
    if not isinstance(mechanism, Mechanism):
        raise RefusedError("noise that was drawn elsewhere proves no claim of numbers; only its source's words")
    assert claim.unit is not None  # noqa: S101 - a claim that is not in words has one
    bound = _sensitivity(release, weights, claim.unit)
    if bound and mechanism.stated is None:
        raise RefusedError("its mechanism states a budget but no noise, and the record does not do without")
    try:
        earned = mechanism.guarantee(bound, claim.unit)
    except InputError as error:
        raise RefusedError(str(error)) from None
    if release.schema == 1 and earned.kind == "gdp":
        earned = earned.as_concentrated()  # what version 0.1.0 claimed of normal noise: true, though weaker
    apart = release.group is not None and not release.group.shared
    related = Neighbours.of(weights.part, hidden=weights.hidden_span > 0, apart=apart)
    if release.schema != 1 and claim.neighbours != related:
        raise RefusedError("it speaks of other neighbouring assignments than those of this record")
    if any(_LEFT_OUT_V1.match(note) for note in release.notes):
        raise RefusedError(
            f"it claims: {claim.summary}. That is not proven: papers were left out, and version 0.1.0 overlooked "
            "exchanges of a kept review for one of these. It is false if somebody has more reviews in the whole "
            "conference than anybody among the kept ones; release it again with this version"
        )
    return _same_claim(claim, earned, weaker=release.software != software())


def _sensitivity(release: Release, weights: PublicWeights, unit: Unit) -> Sensitivity:
    """How far neighbours can be apart, for what the release says it is of."""
    across = release.group is not None and release.group.shared
    if not across or release.part is not None:
        return sensitivity(weights, unit)
    if release.schema != 1 and release.group is not None and release.group.groups > 1:
        raise RefusedError("it is of one of several groups, and does not say what is public of the whole conference")
    return group_sensitivity(weights, unit) if release.schema == 1 else sensitivity(weights, unit)


#: What version 0.1.0 noted where it left papers out, and then claimed what holds for a whole record only.
_LEFT_OUT_V1 = re.compile(r"\d+ papers? (was|were) left out whole for a missing criterion, before loads were counted")


def _same_claim(claim: Guarantee, earned: Guarantee, *, weaker: bool, whose: str = "it claims") -> str:
    """Refuse a claim other than the earned one; one of another version may be weaker, as bounds have become better."""
    refused = f"{whose}: {claim.summary}; the noise pays for: {earned.summary}"
    if (claim.kind, claim.float_safe) != (earned.kind, earned.float_safe):
        raise RefusedError(refused)
    less = False
    for name in ("epsilon", "delta", "rho", "omega"):
        stated, due = getattr(claim, name), getattr(earned, name)
        if stated == due or (None not in (stated, due) and math.isclose(stated, due, rel_tol=CLAIM_TOLERANCE)):
            continue
        less = weaker and None not in (stated, due) and (stated < due if name == "omega" else stated > due)
        if not less:
            raise RefusedError(refused)
    words = f"follows from noise and sensitivity: {claim.summary}"
    return f"{words}; by today's bounds even {earned.summary}" if less else words


def _groups(release: Release, group: Group, weights: PublicWeights) -> str:
    """Refuse a claim of all groups together that does not follow from the claims of each, or other words for it."""
    notes = [note for note in release.notes if note.startswith(f"One of {group.groups} releases of groups of papers.")]
    if group.together is None:
        if not (len(notes) == 1 and _covers(notes[0], group, release.guarantee)):
            raise RefusedError("the note on the groups that it was released with is missing, or says another thing")
        return "all groups together claim no less than this one; version 0.1.0 does not state what each of them claims"
    mechanism = mechanism_from(release.mechanism)
    counted, scale = (False, None) if mechanism is None else (mechanism.on_counts, mechanism.scale_on_counts)
    if group_claim(release.guarantee, weights, counted=counted, scale=scale) not in group.claims:
        raise RefusedError("its own claim is not among those of the groups, or is stated with other numbers there")
    largest = None if release.part is None else release.part.whole.largest
    earned = joint_claim(group.claims, shared=group.shared, largest_load=largest)
    if group.together.unit != earned.unit or group.together.neighbours != earned.neighbours:
        raise RefusedError("what all groups claim together is about another unit or other neighbours than their claims")
    _same_claim(group.together, earned, weaker=False, whose="all groups together claim")
    if notes != [group.note]:
        raise RefusedError("the note on the groups that it was released with is missing, or says another thing")
    return f"what all claim together follows from what each is stated to claim: {group.together.summary}"


def _bins(release: Release, weights: PublicWeights) -> str:
    if release.histogram is None:
        return "none: the noise is on the vector itself"
    mechanism, unit = mechanism_from(release.mechanism), release.guarantee.unit
    if not isinstance(mechanism, Mechanism) or not mechanism.on_counts or unit is None:
        raise RefusedError("counts whose noise was drawn elsewhere cannot be checked")
    guessed = weights.expected() if weights.open else weights  # bins were chosen before anything was counted
    bins = mechanism.binned(guessed, _sensitivity(release, weights, unit))
    if (release.histogram.outside is not None) != weights.open:
        raise RefusedError("reviewers without a kept review are counted exactly if their number is not public")
    if bins is None or not release.histogram.bins.same(bins):
        raise RefusedError(f"they are not those that the public record gives{_versions(release)}")
    return f"{bins.number} of them, as the public record gives"


def _region(release: Release, weights: PublicWeights, bounds: Region) -> str:
    slack = bounds.slack(_tolerance(release))
    for name, proven in zip(("lower", "upper"), proven_bounds(weights, bounds), strict=True):
        off = _furthest(getattr(release, name), proven)
        if off > slack:
            raise RefusedError(f"{name} is off what the public record proves, by up to {off:.3g}")
    violation = bounds.violation(release.values)
    if violation > bounds.slack(max(VIOLATION_TOLERANCE, VALUE_TOLERANCE)):
        raise RefusedError(f"the values lie outside of the region {release.region}, by {violation:.3g}")
    return f"the bounds of {release.region} are as the public record proves; the values lie within"


def _noise(release: Release, bounds: Region) -> Check:
    law = law_of(release.mechanism)
    if law is None and release.guarantee.kind == "stated":
        return unchecked("noise", "its source states no law of the noise")
    lower, upper = bounds.implied()
    slack = bounds.slack(ROUND_OFF)
    if law is None:  # the record does without noise, or the guarantee fails
        if bounds.violation(release.noisy) > slack:
            return Check(name="noise", result="fails", found="none is stated, but the noisy vector is no possible one")
        return Check(name="noise", result="holds", found="none is stated, and none was needed")
    if release.histogram is None:
        tested = vector_noise(release.noisy, lower - slack, upper + slack, law)
    else:
        tested = _count_noise(release, release.histogram, law)
    return looked_at("noise", lambda: _size(tested))


def _count_noise(release: Release, histogram: NoisyCounts, law: Law) -> NoiseCheck:
    """The test of noise on counts, which sum to the number of reviewers; with those outside, to that of all of them."""
    if histogram.outside is None or release.part is None:
        return count_noise(histogram.counts, release.reviewers, law)
    return count_noise(np.append(histogram.counts, histogram.outside), release.part.whole.reviewers, law)


def _size(tested: NoiseCheck) -> str:
    honest = f"noise of the stated law is refused once in {1 / LEVEL:,.0f} times at most"
    if tested.too_small:
        raise RefusedError(f"the noise is smaller than its stated law allows; {honest}")
    if tested.too_large:
        raise RefusedError(f"the noise is larger than its stated law allows; {honest}")
    which = "too large" if tested.small is None else "too small or too large"
    return f"not told to be {which} for its stated law; {honest}"


def _values(release: Release, again: Release, bounds: Region) -> str:
    slack = bounds.slack(_tolerance(release))
    if (noisy := _furthest(release.noisy, again.noisy)) > slack:
        raise RefusedError(f"the noisy vector is not the one that its own data gives, by up to {noisy:.3g}")
    off = _furthest(release.values, again.values)
    if release.estimator != again.estimator or off > slack:
        raise RefusedError(
            f"they do not follow from the noisy vector by {release.estimator}: off by up to {off:.3g}"
            + _versions(release)
        )
    return f"follow from the noisy vector by {release.estimator}: off by at most {off:.2g}{_versions(release)}"


def _certificate(release: Release, again: Release, bounds: Region) -> str:
    moved = float(np.abs(release.noisy - again.values).max(initial=0.0))
    spread = bounds.slack(1.0)
    slack = GAP_TOLERANCE * release.reviewers * spread * max(spread, moved) + bounds.slack(_tolerance(release)) ** 2
    if abs(release.gap - again.gap) > slack:
        raise RefusedError(f"it states a gap of {release.gap:.3g}; computed anew it is {again.gap:.3g}")
    return f"gap {again.gap:.2g} computed anew, {release.gap:.2g} stated"


def _outlook(release: Release, again: Release, bounds: Region) -> str:
    ours, theirs = again.outlook, release.outlook
    if ours is None and theirs is None:
        return "none, as the law of the noise is not known" + _versions(release)
    slack = bounds.slack(_tolerance(release))
    if ours is not None and theirs is not None and _assumption(ours, release) != theirs.assumption:
        raise RefusedError("its assumption is not the one that expected error and bands rest on")
    if (
        ours is None
        or theirs is None
        or ours.level != theirs.level
        or abs(ours.expected_rmse - theirs.expected_rmse) > slack
        or max(_furthest(ours.lower, theirs.lower), _furthest(ours.upper, theirs.upper)) > slack
    ):
        raise RefusedError(f"expected error and bands are not those computed anew{_versions(release)}")
    return f"expected error {theirs.expected_rmse:.3g} and bands, as computed anew"


def _assumption(ours: ExpectedError, release: Release) -> str:
    """The assumption in the words of the schema that the release is written in."""
    hidden = ours.assumption.endswith(ASSUMPTION_HIDDEN)
    return words_v1.assumption(hidden=hidden) if release.schema == 1 else ours.assumption


def _notes(release: Release, again: Release) -> str:
    if again.notes != release.notes:
        raise RefusedError("a caveat that belongs to this region or estimator is missing from its notes")
    if any(not note.strip() or not note.isprintable() for note in release.notes):
        raise RefusedError("a note is empty or not printable")
    return "every caveat that computing it anew gives is there; other notes are its chair's words"


def _covers(note: str, group: Group, claim: Guarantee) -> bool:
    """Whether a note of version 0.1.0 states a claim of all groups together that is no less than this one's own."""
    sharing = "papers. Reviewers may be in several" if group.shared else "papers. It is declared that no reviewer"
    if sharing not in note:
        return False
    found = re.search(r": together, (epsilon|rho) = ([0-9.e+-]+)(.*)\.$", note)
    own = {"epsilon": claim.epsilon, "rho": claim.rho}.get(found[1]) if found else None
    if found is None or own is None or f" per {claim.unit} (" not in found[3]:
        return False
    try:
        return float(found[2]) >= own * (1 - CLAIM_TOLERANCE)
    except ValueError:
        return False


#: What a release may say to be public, and whether it has hidden scores then; ``None`` where either may be.
_PUBLIC: dict[str, bool | None] = {
    r"no scores; load counts": True,
    r"all scores( and criteria \(.+\))?, and load counts": False,
    r"a public record: scores( and criteria \(.+\))? as far as it shows them, loads as declared": None,
    r"as declared by whoever refined the vector": None,
}


def _document(release: Release, document: dict[str, Any], again: Release, weights: PublicWeights) -> str:
    public = release.public if release.group is None else release.public.removesuffix(", in each group of papers")
    hidden = next((kind for words, kind in _PUBLIC.items() if re.fullmatch(words, public)), "unknown")
    if hidden == "unknown" or hidden not in (None, weights.hidden_span > 0):
        raise RefusedError("record/public is not in words that a release of this record has")
    known = mechanism_from(release.mechanism)
    described = release.mechanism if known is None else known.describe()
    # What no release of this version states is not carried over, so it is refused.
    written = replace(again, mechanism=described, part=weights.part, extension={})
    return check_document(document, json.loads(written.to_json())) + _versions(release)


def _furthest(one: Floats, other: Floats) -> float:
    return float(np.abs(one - other).max(initial=0.0))


def _same_versions(release: Release) -> bool:
    """Whether the versions that wrote a release are ours, so that everything can be repeated to the last digits."""
    return release.rendered == rendered_with()


def _tolerance(release: Release) -> float:
    return ROUND_OFF if _same_versions(release) else VALUE_TOLERANCE


def _versions(release: Release) -> str:
    """A word on versions, where they differ: estimates may differ then, and neither is wrong."""
    if _same_versions(release):
        return ""
    if release.software != software():
        return f" (made by {release.software}, checked by {software()}, which may differ)"
    ours = rendered_with()
    other = sorted(
        name for name in ours.keys() | release.rendered.keys() if ours.get(name) != release.rendered.get(name)
    )
    return f" (made with other versions of {', '.join(other)}, which may differ)"
