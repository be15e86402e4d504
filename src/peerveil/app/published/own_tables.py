"""Sampled tables of a release that was just made: its public record is the public part of the private reviews."""

from __future__ import annotations

from dataclasses import replace

from peerveil.app.options import LoadsOptions, PublicOptions, TrackOptions
from peerveil.app.published.tables import sample_from
from peerveil.app.release import Step, read_release
from peerveil.app.requests import ReleaseRequest, TablesRequest
from peerveil.record.public_record import PublicRecord, numbered_papers
from peerveil.sampling.tables import SampledTables


def sample_own(request: ReleaseRequest, release: str, *, step: Step) -> SampledTables:
    """Return tables drawn from a release of private reviews, written into the output folder of the request.

    Only the public part of the reviews is used: a file of it gives the same tables. If no score is public, neither are
    the names of papers, so they are numbered.
    """
    tables = TablesRequest(
        release=release,
        public="",
        output=str(request.output),
        loads=LoadsOptions(),
        scores=PublicOptions(lone=request.what.lone),
        tracks=TrackOptions(),
    )

    def read(_: object) -> PublicRecord:
        reviews, arguments = read_release(request, step)
        record = reviews.public(arguments["public"], declare_kept=arguments["declare_kept"])
        return replace(record, papers=numbered_papers(len(record.papers))) if arguments["public"] == "none" else record

    return sample_from(tables, step=step, read=read)
