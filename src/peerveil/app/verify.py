"""Verification of published releases against the public record."""

from __future__ import annotations

from peerveil.app.messages import Spelling, refusal
from peerveil.app.options import LoadsOptions
from peerveil.app.parsing import parse_prior
from peerveil.app.reading import papers_of, public_weights
from peerveil.app.release import Step
from peerveil.app.requests import VerifyRequest
from peerveil.errors import Argument, InputError, RecordError
from peerveil.quantities.base import is_known
from peerveil.quantities.weights import PublicWeights
from peerveil.releases.checking.files import open_release
from peerveil.releases.checking.results import Check, Verification
from peerveil.releases.effects.answers import Weights
from peerveil.releases.linked.published import Correlation
from peerveil.releases.verification import verify as verify_release
from peerveil.releases.withdrawal import withdrawal_checks


def _second_weights(request: VerifyRequest, release: Correlation) -> PublicWeights:
    """The public weights of the second conference of a correlation."""
    if request.second_public is None:
        raise InputError(
            "the release is of two conferences; give the public scores of the second one as well (",
            Argument("second_public", ...),
            ")",
        )
    return public_weights(
        request.second_public, request.scores, LoadsOptions(), release.quantity, release=release.second
    )


def verify_alone(release: str, *, signed_by: str | None, step: Step) -> Verification:
    """Return the checks of a published release that need no public record."""
    step("Reading")
    return verify_release(release, None, signed_by=signed_by)


def verify(request: VerifyRequest, *, step: Step, spell: Spelling) -> Verification:
    """Return the checks of a published release, each with its result."""
    step("Reading")
    prior = parse_prior(request.prior)
    opened = open_release(request.release)
    release, first = opened.release, (*withdrawal_checks(opened.place, opened.contents), opened.schema)
    if release is None:
        return Verification(checks=first)
    if not is_known(release.quantity):
        raise InputError(
            f"the release is of {release.quantity!r}, a user-defined quantity that is not registered here; "
            "check it in Python: peerveil.verify(release, peerveil.weigh(record, function))"
        )
    only = papers_of(release, request.tracks, request.public, request.scores)
    try:
        first_weights = public_weights(
            request.public, request.scores, request.loads, release.quantity, release=release, only=only
        )
        weights: Weights = first_weights
        if isinstance(release, Correlation):
            weights = (first_weights, _second_weights(request, release))
        elif request.second_public is not None:
            raise InputError(Argument("second_public"), " goes with correlations, which are of two conferences")
    except RecordError as error:
        if request.loads.given:
            raise
        problem = f"its stated loads do not fit the public record: {error.spelled(spell)}"
        if release.group is not None and not request.tracks.given:
            remedy = refusal("state the group of each paper ({groups} or {group_column})")
            problem = f"it is of the papers of the group {release.group.name!r}; {remedy.spelled(spell)}"
        return Verification(checks=(*first, Check(name="record", result="fails", found=problem)))
    step("Recomputing the release")
    return verify_release(request.release, weights, signed_by=request.signed_by, prior=prior)
