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
from peerveil.releases.checking.document import check_document, differences
from peerveil.releases.checking.files import same_description, same_statements, same_text, stored_text
from peerveil.releases.checking.groups import REVIEWS_OF_GROUPS, check_series, check_series_notes, joint_check
from peerveil.releases.checking.results import Check, RefusedError, attempt, checked, failed, unchecked
from peerveil.releases.documents import claim_document
from peerveil.releases.effects.answers import Answer, Weights
from peerveil.releases.withdrawal import Withdrawal, without_banner
from peerveil.reporting.published import CROISSANT
from peerveil.support.version import rendered_with

#: The files that are rendered from release.json.
RENDERED = ("release.csv", "report.html", CROISSANT)

#: Noise as large as that in a release is refused once in so many times.
_RARE = 1e6

_FOLLOWING = ("guarantee", "noise", "values", "document")


def answer_checks(answer: Answer, document: dict[str, Any], given: Weights | None) -> Iterator[Check]:
    """Yield the checks of an answer, given its parsed release.json and the public weights of its quantity."""
    yield checked("digest", lambda: _digest(answer))
    if given is None:
        yield from (unchecked(name, "no public scores were given") for name in ("record", *_FOLLOWING))
        return
    adopted, problem = attempt(lambda: answer.adopted(given))
    weights: Any = given if adopted is None else adopted
    record = failed("record", problem) if problem else checked("record", lambda: answer.check_record(weights))
    yield record
    if record.result == "fails":
        yield from (unchecked(name, "the public record is not that of the release") for name in _FOLLOWING)
        return
    yield checked("guarantee", lambda: _guarantee(answer, weights))
    if (group := answer.group) is not None:
        yield checked("groups", lambda: joint_check(group, answer.group_claim(weights), answer.part, answer.notes))
    if answer.series:
        yield checked("series", lambda: _series(answer, weights))
    yield checked("noise", lambda: _noise(answer, weights))
    yield checked("values", lambda: _values(answer, weights))
    yield checked("document", lambda: _document(answer, document, weights))


def answer_files(folder: Path, answer: Answer, mark: Withdrawal | None) -> Iterator[Check]:
    """Yield checks that table, report and metadata are those that release.json renders to, or state the same."""
    claim, same = answer.guarantee, answer.rendered == rendered_with()

    def table() -> str:
        ours = answer.data_files()["release.csv"]
        return same_text("release.csv", stored_text(folder / "release.csv", "release.csv", len(ours)), ours)

    def page() -> str:
        ours = answer.html()
        stored, remark = without_banner(stored_text(folder / "report.html", "report.html", len(ours)), mark)
        if same:
            return same_text("report.html", stored, ours) + remark
        words = [claim.summary, claim.human, claim.promise, claim.not_protected, answer.public, answer.record_digest]
        said = [*words, *answer.statements(), *answer.notes]
        return same_statements(said, "report.html", stored, ours, table=None, by=answer.software) + remark

    def described() -> str:
        ours = answer.data_files()[CROISSANT]
        stored = stored_text(folder / CROISSANT, CROISSANT, len(ours))
        return same_text(CROISSANT, stored, ours) if same else same_description(CROISSANT, stored, ours)

    for name, check in zip(RENDERED, (table, page, described), strict=True):
        yield checked(name, check) if (folder / name).is_file() else unchecked(name, "no such file in the folder")


def _digest(answer: Answer) -> str:
    if not answer.intact:
        raise RefusedError("the file was changed after it was written: its digest differs")
    return "matches the content of the file"


def _again(answer: Answer, weights: Any) -> Answer:
    """The answer, recomputed from its noisy numbers and the public record."""
    mechanism, unit = mechanism_from(answer.mechanism), answer.guarantee.unit
    if not isinstance(mechanism, Mechanism) or unit is None or not answer.noise_scale:
        raise RefusedError("noise drawn elsewhere supports no numerical claim")
    earned = mechanism.guarantee(answer.sensitivity(weights, unit), unit)
    related = answer.neighbours(weights, unit)
    again = replace(answer.again(weights, earned.about(related)), mechanism=mechanism.describe(), group=answer.group)
    again = replace(again, series=answer.series)
    return replace(again, created=answer.created, software=answer.software, rendered=answer.rendered)


def _guarantee(answer: Answer, weights: Any) -> str:
    earned = _again(answer, weights).guarantee
    if list(differences(_numbers(answer.guarantee), _numbers(earned))):
        raise RefusedError(f"it claims: {answer.guarantee.summary}; the noise provides: {earned.summary}")
    return f"follows from noise and sensitivity: {answer.guarantee.summary}"


def _series(answer: Answer, weights: Any) -> Check | str:
    """Whether the release alone fits the budgets of its series."""
    claim = answer.guarantee if answer.group is None else answer.group.together
    mechanism = mechanism_from(answer.mechanism)
    if claim is None or not isinstance(mechanism, Mechanism):
        raise RefusedError("it names a series, but has no claim in numbers")
    if claim.unit != "reviewer":
        if answer.group is not None:
            return unchecked("series", REVIEWS_OF_GROUPS)
        claim = mechanism.guarantee(answer.sensitivity(weights, "reviewer"), "reviewer")
    return check_series(answer.series, claim, answer.charge)


def _numbers(claim: Guarantee) -> dict[str, Any]:
    return claim_document(claim) | {"neighbours": claim.neighbours.to_document()}


def _noise(answer: Answer, weights: Any) -> str:
    """Refuse numbers that no conference has, whatever the noise."""
    for name, number, low, high in answer.noise_limits(weights, _RARE):
        if not low <= number <= high:
            raise RefusedError(f"the noise in {name} is larger than its stated distribution allows")
    return f"not shown to be too large for its stated distribution; refused about once in {_RARE:,.0f} times"


def _values(answer: Answer, weights: Any) -> str:
    stated, ours = answer.numbers(), _again(answer, weights).numbers()
    if len(stated) != len(ours) or any((a is None) != (b is None) for a, b in zip(stated, ours, strict=True)):
        raise RefusedError("other numbers are stated than follow from the noisy ones")
    for theirs, due in zip(stated, ours, strict=True):
        if theirs is not None and due is not None and not math.isclose(theirs, due, rel_tol=1e-6, abs_tol=1e-9):
            raise RefusedError("estimate or interval do not follow from the noisy numbers")
    return "estimate, interval and sizes follow from the noisy numbers"


def _document(answer: Answer, document: dict[str, Any], weights: Any) -> str:
    answer.check_public(weights)
    if any(not note.strip() or not note.isprintable() for note in answer.notes):
        raise RefusedError("a note is empty or not printable")
    check_series_notes(answer.notes, answer.series)
    unit = answer.guarantee.unit
    if unit is None or set(answer.caveats(weights, unit)) - set(answer.notes):
        raise RefusedError("it does not say what is not protected, or not public")
    again = replace(_again(answer, weights), guarantee=answer.guarantee, estimated=answer.estimated)
    return check_document(document, json.loads(again.to_json()))
