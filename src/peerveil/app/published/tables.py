"""Sampled tables of published releases, for researchers."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np

from peerveil.app import parsing
from peerveil.app.reading import papers_of, public_record
from peerveil.app.release import Step
from peerveil.app.requests import TablesRequest
from peerveil.errors import Argument, InputError
from peerveil.quantities.weights import weigh
from peerveil.record.public_record import PublicRecord
from peerveil.releases.documents import read_document
from peerveil.releases.effects.crosstabs import Crosstab
from peerveil.releases.release import Release
from peerveil.sampling.files import own_files, write_into
from peerveil.sampling.tables import SampledTables, sample_tables
from peerveil.sampling.targets import Fitted
from peerveil.support.atomic_files import staged_folder

#: Reads the public record of a release.
Read = Callable[[Fitted], PublicRecord]


def sample(request: TablesRequest, *, step: Step) -> SampledTables:
    """Return tables drawn from one or several releases, written into a new folder."""
    return sample_from(request, step=step, read=lambda release: _record(request, release))


def sample_from(request: TablesRequest, *, step: Step, read: Read) -> SampledTables:
    """Return tables drawn from releases, whose public record is read in a given way."""
    with staged_folder(request.output, own=own_files(), overwrite=request.overwrite) as stage:
        step("Reading")
        releases = [load(path) for path in (request.release, *(request.others or ()))]
        record = read(releases[0])
        step("Drawing tables")
        sampled = sample_tables(
            releases,
            record,
            tables=request.tables,
            seed=request.seed,
            lone=parsing.parse_lone(request.scores.lone),
            workers=request.workers,
        )
        step("Writing files")
        write_into(sampled, stage)
    return sampled


def load(path: str | os.PathLike[str]) -> Fitted:
    """Return a published release of a statistic of reviewers, or of one by an attribute."""
    _, document = read_document(path)
    by_attribute = isinstance(document, dict) and document.get("kind") == Crosstab.kind
    return Crosstab.load(path) if by_attribute else Release.load(path)


def _record(request: TablesRequest, release: Fitted) -> PublicRecord:
    if request.public == "none":
        return unscored_record(release, request)
    only = papers_of(release, request.tracks, request.public, request.scores)
    return public_record(request.public, request.scores, request.loads, release.quantity, release=release, only=only)


def unscored_record(release: Fitted, request: TablesRequest) -> PublicRecord:
    """Return the record of a release for which nothing but loads and papers' numbers of reviews is public.

    The release does not state how many reviews each paper has. They are known if all papers have equally many.
    """
    scale = parsing.parse_scale(request.scores.score_scale)
    if scale is None:
        raise InputError("no score is public: state ", Argument("score_scale", ...), ", their lowest and highest value")
    each, left = divmod(release.loads.reviews, release.papers)
    rows = np.full((release.papers, each), None).tolist()
    record = None if left else PublicRecord.from_rows(rows, scale=scale, **release.loads.stated())
    if record is None or weigh(record, release.quantity).digest() != release.record_digest:
        raise InputError(
            Argument("public", "none"),
            " is not enough: not all papers have equally many reviews, or this is not the scale of the release; give a "
            "file with the papers, and ? for each hidden score",
        )
    return record
