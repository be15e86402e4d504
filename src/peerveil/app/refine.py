"""Refinement of published noisy vectors with public data."""

from __future__ import annotations

from peerveil.app.messages import refusal
from peerveil.app.parsing import parse_mechanism, parse_prior
from peerveil.app.reading import papers_of, public_weights
from peerveil.app.release import Step, Write, default_write
from peerveil.app.requests import RefineRequest
from peerveil.errors import Argument, InputError
from peerveil.mechanisms import Described, External
from peerveil.releases.noisy_files import read_noisy
from peerveil.releases.refinement import refine as refine_vector
from peerveil.releases.release import OWN_FILES, Release
from peerveil.support.atomic_files import staged_folder


def refine(request: RefineRequest, *, step: Step, write: Write | None = None, parents: bool = True) -> Release:
    """Return the refined release, written into a new folder; ``write`` and ``parents`` as in a release."""
    mechanism, prior = _stated_noise(request), parse_prior(request.prior)
    write = write or default_write(report=not request.no_report)
    with staged_folder(request.output, own=OWN_FILES, overwrite=request.overwrite, parents=parents) as stage:
        step("Reading")
        source = read_noisy(request.noisy)
        release = only = None
        quantity = request.quantity or "ratings"
        if isinstance(source, Release):
            release, quantity = source, source.quantity
            if request.quantity not in (None, quantity):
                stated = f" is {request.quantity}, but the release is of {quantity}; leave it out"
                raise InputError(Argument("quantity"), stated)
            only = papers_of(source, request.tracks, request.public, request.scores)
            if mechanism is not None:
                raise refusal("a release.json says itself how it was made private; leave out {words}, {noise_scale}")
        elif request.tracks.given:
            raise refusal("{groups} and {group_column} go with the release.json of a group of papers")
        weights = public_weights(request.public, request.scores, request.loads, quantity, release=release, only=only)
        step("Bounding the truth from public data, estimating")
        refined = refine_vector(
            source,
            weights,
            mechanism=mechanism,
            region=request.region,
            estimator=request.estimator,
            prior=prior,
        )
        write(refined, stage)
    return refined


def _stated_noise(request: RefineRequest) -> Described | None:
    """Return the noise as the source of the vector states it; ``None`` if it does not."""
    if request.words is not None and request.noise_scale is not None:
        raise refusal("give {words} or {noise_scale}, not both")
    if request.noise_scale is not None:
        return parse_mechanism(request.mechanism, scale=request.noise_scale, bound=request.noise_bound)
    return None if request.words is None else External(words=request.words)
