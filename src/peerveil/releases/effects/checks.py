"""Checks that a published effect follows from its noisy numbers and the public record."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from peerveil.mechanisms import Mechanism, mechanism_from
from peerveil.privacy.guarantee import Guarantee
from peerveil.privacy.neighbours import Neighbours
from peerveil.quantities.weights import PublicWeights
from peerveil.releases.checks import Check, RefusedError, checked, unchecked
from peerveil.releases.document_check import check_document, differences
from peerveil.releases.documents import claim_document
from peerveil.releases.effects.published import NOTE_REVIEW, Effect, noise_law, publish
from peerveil.releases.signatures import read_bytes
from peerveil.releases.withdrawal import Withdrawal, without_banner
from peerveil.support.version import rendered_with

#: Noise as large as that in a release is refused once in so many times.
_RARE = 1e6

_FOLLOWING = ("guarantee", "noise", "values", "document")


def effect_checks(effect: Effect, document: dict[str, Any], weights: PublicWeights | None) -> Iterator[Check]:
    """Yield the checks of an effect, given its parsed release.json and the public weights of its quantity."""
    yield checked("digest", lambda: _digest(effect))
    if weights is None:
        yield from (unchecked(name, "no public scores were given") for name in ("record", *_FOLLOWING))
        return
    if weights.part is None and effect.part is not None:
        weights = replace(weights, loads=effect.loads, part=effect.part)
    record = checked("record", lambda: _record(effect, weights))
    yield record
    if record.result == "fails":
        yield from (unchecked(name, "the public record is not that of the release") for name in _FOLLOWING)
        return
    yield checked("guarantee", lambda: _guarantee(effect, weights))
    yield checked("noise", lambda: _noise(effect, weights))
    yield checked("values", lambda: _values(effect, weights))
    yield checked("document", lambda: _document(effect, document, weights))


def effect_files(folder: Path, effect: Effect, mark: Withdrawal | None) -> Check:
    """Return the check that the report is the one that release.json renders to."""

    def check() -> str:
        from peerveil.releases.effects.page import effect_html  # noqa: PLC0415 - slow to load

        stored, remark = without_banner(read_bytes(folder / "report.html").decode("utf-8"), mark)
        if stored.replace("\r\n", "\n") != effect_html(effect):
            raise RefusedError("report.html differs from what release.json renders to")
        return f"the same text as rendered from release.json{remark}"

    if not (folder / "report.html").is_file():
        return unchecked("report.html", "no such file in the folder")
    if effect.rendered != rendered_with():
        return unchecked("report.html", "it was written by other versions")
    return checked("report.html", check)


def _digest(effect: Effect) -> str:
    if not effect.intact:
        raise RefusedError("the file was changed after it was written: its digest differs")
    return "matches the content of the file"


def _record(effect: Effect, weights: PublicWeights) -> str:
    if weights.quantity != effect.quantity:
        raise RefusedError(f"the release is of {effect.quantity}, the weights are of {weights.quantity}")
    if weights.part != effect.part or weights.loads != effect.loads:
        raise RefusedError("the public record has other loads, or covers another part of the conference")
    if weights.sizes().size != effect.papers or weights.digest() != effect.record_digest:
        raise RefusedError(
            "the public record is not the one this release was made from, or was read with other options"
        )
    return (
        f"{effect.papers} papers, {effect.loads.reviews} reviews, {effect.loads.reviewers} reviewers; the same digest"
    )


def _again(effect: Effect, weights: PublicWeights) -> Effect:
    """The effect, recomputed from its noisy numbers and the public record."""
    sums, mechanism, unit = effect.question.sums(weights), mechanism_from(effect.mechanism), effect.guarantee.unit
    if not isinstance(mechanism, Mechanism) or unit is None:
        raise RefusedError("noise drawn elsewhere supports no numerical claim")
    noise_law(effect.mechanism)
    earned = mechanism.guarantee(sums.sensitivity(unit), unit)
    related = Neighbours.of(weights.part, hidden=weights.hidden_span > 0, attributes=unit == "reviewer")
    again = publish(
        effect.noisy.copy(),
        sums,
        effect.question,
        mechanism=mechanism.describe(),
        guarantee=earned.about(related),
        public=effect.public,
        notes=effect.notes,
        terms=effect.terms,
        charge=effect.charge,
    )
    return replace(again, created=effect.created, software=effect.software, rendered=effect.rendered)


def _guarantee(effect: Effect, weights: PublicWeights) -> str:
    earned = _again(effect, weights).guarantee
    if list(differences(_numbers(effect.guarantee), _numbers(earned))):
        raise RefusedError(f"it claims: {effect.guarantee.summary}; the noise provides: {earned.summary}")
    return f"follows from noise and sensitivity: {effect.guarantee.summary}"


def _numbers(claim: Guarantee) -> dict[str, Any]:
    return claim_document(claim) | {"neighbours": claim.neighbours.to_document()}


def _noise(effect: Effect, weights: PublicWeights) -> str:
    """Refuse numbers that no conference has, whatever the noise."""
    sums = effect.question.sums(weights)
    reviews, half = weights.low.size, sums.width / 2
    ranges = {
        **dict.fromkeys(("sum_1", "sum_2"), (-half * reviews, half * reviews)),
        **dict.fromkeys(("reviews_1", "reviews_2", "mixed"), (0.0, float(reviews))),
        "squares": (0.0, sums.cap * weights.reviewers),
    }
    slack = noise_law(effect.mechanism).scale * math.log(_RARE)
    for (name, unit), number in zip(sums.units.items(), effect.noisy.tolist(), strict=True):
        low, high = ranges[name]
        if not low * unit - slack <= number <= high * unit + slack:
            raise RefusedError(f"the noise in {name} is larger than its stated distribution allows")
    return f"not shown to be too large for its stated distribution; refused about once in {_RARE:,.0f} times"


def _values(effect: Effect, weights: PublicWeights) -> str:
    stated, ours = effect.estimated, _again(effect, weights).estimated
    pairs = zip(
        (stated.value, stated.low, stated.high, *stated.sizes, stated.p_value),
        (ours.value, ours.low, ours.high, *ours.sizes, ours.p_value),
        strict=True,
    )
    for theirs, due in pairs:
        if (theirs is None) != (due is None):
            raise RefusedError("a p-value must be stated exactly if groups were randomised")
        if theirs is not None and due is not None and not math.isclose(theirs, due, rel_tol=1e-6, abs_tol=1e-9):
            raise RefusedError("estimate or interval do not follow from the noisy numbers")
    return "estimate, interval and sizes follow from the noisy numbers"


def _document(effect: Effect, document: dict[str, Any], weights: PublicWeights) -> str:
    if not effect.public.endswith(f"; {effect.question.declared}"):
        raise RefusedError("record/public does not declare the groups that are compared")
    if any(not note.strip() or not note.isprintable() for note in effect.notes):
        raise RefusedError("a note is empty or not printable")
    if effect.guarantee.unit == "review" and NOTE_REVIEW not in effect.notes:
        raise RefusedError("it does not say that groups of reviewers are not protected")
    again = replace(_again(effect, weights), guarantee=effect.guarantee, estimated=effect.estimated)
    return check_document(document, json.loads(again.to_json()))
