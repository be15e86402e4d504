"""Checks that a published answer about groups of reviewers follows from its noisy numbers and the public record."""

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
from peerveil.releases.checks import Check, RefusedError, attempt, checked, failed, unchecked
from peerveil.releases.document_check import check_document, check_public, differences
from peerveil.releases.documents import claim_document
from peerveil.releases.effects.answers import Answer, caveats
from peerveil.releases.file_check import same_statements, same_text, stored_text
from peerveil.releases.withdrawal import Withdrawal, without_banner
from peerveil.support.version import rendered_with

#: Noise as large as that in a release is refused once in so many times.
_RARE = 1e6

_FOLLOWING = ("guarantee", "noise", "values", "document")


def answer_checks(answer: Answer, document: dict[str, Any], given: PublicWeights | None) -> Iterator[Check]:
    """Yield the checks of an answer, given its parsed release.json and the public weights of its quantity."""
    yield checked("digest", lambda: _digest(answer))
    if given is None:
        yield from (unchecked(name, "no public scores were given") for name in ("record", *_FOLLOWING))
        return
    adopted, problem = attempt(lambda: _adopted(answer, given))
    weights = given if adopted is None else adopted
    record = failed("record", problem) if problem else checked("record", lambda: _record(answer, weights))
    yield record
    if record.result == "fails":
        yield from (unchecked(name, "the public record is not that of the release") for name in _FOLLOWING)
        return
    yield checked("guarantee", lambda: _guarantee(answer, weights))
    yield checked("noise", lambda: _noise(answer, weights))
    yield checked("values", lambda: _values(answer, weights))
    yield checked("document", lambda: _document(answer, document, weights))


def answer_files(folder: Path, answer: Answer, mark: Withdrawal | None) -> Check:
    """Return the check that the report is the one that release.json renders to, or states the same."""
    name, claim = "report.html", answer.guarantee

    def check() -> str:
        ours = answer.html()
        stored, remark = without_banner(stored_text(folder / name, name, len(ours)), mark)
        if answer.rendered == rendered_with():
            return same_text(name, stored, ours) + remark
        words = [claim.summary, claim.human, claim.promise, claim.not_protected, answer.public, answer.record_digest]
        return same_statements([*words, *answer.statements(), *answer.notes], name, stored, ours, table=None) + remark

    return checked(name, check) if (folder / name).is_file() else unchecked(name, "no such file in the folder")


def _digest(answer: Answer) -> str:
    if not answer.intact:
        raise RefusedError("the file was changed after it was written: its digest differs")
    return "matches the content of the file"


def _adopted(answer: Answer, weights: PublicWeights) -> PublicWeights:
    """The weights, with what the answer states about the whole conference."""
    if weights.part is None and answer.part is not None:
        weights = replace(weights, loads=answer.loads, part=answer.part)
    return weights.expected() if weights.open else weights  # whose loads are a guess that follows from the record


def _record(answer: Answer, weights: PublicWeights) -> str:
    if weights.quantity != answer.quantity:
        raise RefusedError(f"the release is of {answer.quantity}, the weights are of {weights.quantity}")
    if weights.part != answer.part or weights.loads != answer.loads:
        raise RefusedError("the public record has other loads, or covers another part of the conference")
    if weights.sizes().size != answer.papers or weights.digest() != answer.record_digest:
        raise RefusedError(
            "the public record is not the one this release was made from, or was read with other options"
        )
    return (
        f"{answer.papers} papers, {answer.loads.reviews} reviews, {answer.loads.reviewers} reviewers; the same digest"
    )


def _again(answer: Answer, weights: PublicWeights) -> Answer:
    """The answer, recomputed from its noisy numbers and the public record."""
    mechanism, unit = mechanism_from(answer.mechanism), answer.guarantee.unit
    if not isinstance(mechanism, Mechanism) or unit is None or not answer.noise_scale:
        raise RefusedError("noise drawn elsewhere supports no numerical claim")
    earned = mechanism.guarantee(answer.sensitivity(weights, unit), unit)
    related = Neighbours.of(
        weights.part,
        hidden=weights.hidden_span > 0,
        attributes=unit == "reviewer",
        sizes=answer.question.sizes is not None,
    )
    again = replace(answer.again(weights, earned.about(related)), mechanism=mechanism.describe())
    return replace(again, created=answer.created, software=answer.software, rendered=answer.rendered)


def _guarantee(answer: Answer, weights: PublicWeights) -> str:
    earned = _again(answer, weights).guarantee
    if list(differences(_numbers(answer.guarantee), _numbers(earned))):
        raise RefusedError(f"it claims: {answer.guarantee.summary}; the noise provides: {earned.summary}")
    return f"follows from noise and sensitivity: {answer.guarantee.summary}"


def _numbers(claim: Guarantee) -> dict[str, Any]:
    return claim_document(claim) | {"neighbours": claim.neighbours.to_document()}


def _noise(answer: Answer, weights: PublicWeights) -> str:
    """Refuse numbers that no conference has, whatever the noise."""
    for name, number, low, high in answer.noise_limits(weights, _RARE):
        if not low <= number <= high:
            raise RefusedError(f"the noise in {name} is larger than its stated distribution allows")
    return f"not shown to be too large for its stated distribution; refused about once in {_RARE:,.0f} times"


def _values(answer: Answer, weights: PublicWeights) -> str:
    stated, ours = answer.numbers(), _again(answer, weights).numbers()
    if len(stated) != len(ours) or any((a is None) != (b is None) for a, b in zip(stated, ours, strict=True)):
        raise RefusedError("other numbers are stated than follow from the noisy ones")
    for theirs, due in zip(stated, ours, strict=True):
        if theirs is not None and due is not None and not math.isclose(theirs, due, rel_tol=1e-6, abs_tol=1e-9):
            raise RefusedError("estimate or interval do not follow from the noisy numbers")
    return "estimate, interval and sizes follow from the noisy numbers"


def _document(answer: Answer, document: dict[str, Any], weights: PublicWeights) -> str:
    if not answer.public.endswith(groups := f"; {answer.question.declared}"):
        raise RefusedError("record/public does not declare the groups")
    check_public(answer.public.removesuffix(groups), hidden=weights.hidden_span > 0)
    if any(not note.strip() or not note.isprintable() for note in answer.notes):
        raise RefusedError("a note is empty or not printable")
    unit = answer.guarantee.unit
    if unit is None or set(caveats(weights, unit)) - set(answer.notes):
        raise RefusedError("it does not say what is not protected, or not public")
    again = replace(_again(answer, weights), guarantee=answer.guarantee, estimated=answer.estimated)
    return check_document(document, json.loads(again.to_json()))
