"""Sampled tables of a published release, for researchers."""

from __future__ import annotations

from peerveil.app import parsing
from peerveil.app.reading import papers_of, public_record
from peerveil.app.release import Step
from peerveil.app.requests import TablesRequest
from peerveil.releases.release import Release
from peerveil.sampling.files import own_files, write_into
from peerveil.sampling.tables import SampledTables, sample_tables
from peerveil.support.atomic_files import staged_folder


def sample(request: TablesRequest, *, step: Step) -> SampledTables:
    """Return tables drawn from a release, written into a new folder."""
    with staged_folder(request.output, own=own_files(), overwrite=request.overwrite) as stage:
        step("Reading")
        release = Release.load(request.release)
        only = papers_of(release, request.tracks, request.public, request.scores)
        record = public_record(
            request.public, request.scores, request.loads, release.quantity, release=release, only=only
        )
        step("Drawing tables")
        sampled = sample_tables(
            release,
            record,
            tables=request.tables,
            seed=request.seed,
            lone=parsing.parse_lone(request.scores.lone),
            workers=request.workers,
        )
        write_into(sampled, stage)
    return sampled
