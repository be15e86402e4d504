"""Batches: releases of many venues."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peerveil.app.batch.venues import venues_from_table, venues_from_toml, venues_in_folder
from peerveil.app.messages import Spelling
from peerveil.app.options import changed
from peerveil.app.requests import BatchRequest
from peerveil.errors import Argument, InputError
from peerveil.private.batch.events import BatchFinished, BatchStarted, Clock, VenueFailed
from peerveil.private.batch.folders import LOG, METRICS, REPORT, BatchFolders, open_folders
from peerveil.private.batch.metrics import MetricsFiles
from peerveil.private.batch.run import run_batch
from peerveil.private.batch.venue import Outcome, Venue, public_report, report
from peerveil.private.charging import Spending
from peerveil.support import parallel
from peerveil.support.logs import attached, emit, logging_to

__all__ = ["REPORT", "BatchResult", "batch"]


@dataclass(frozen=True, kw_only=True)
class BatchResult:
    """The outcomes of a batch, one per venue; reasons, warnings and the document may hold private values."""

    outcomes: tuple[Outcome, ...]
    document: dict[str, Any]
    folders: BatchFolders


def batch(
    request: BatchRequest,
    *,
    charging: Callable[[str | None], AbstractContextManager[Spending]],
    progress: parallel.Progress,
    spell: Spelling,
) -> BatchResult:
    """Release each venue into its own folder; the reports are written even if the batch is interrupted.

    ``charging`` opens a record of the charges to a ledger; ``spell`` is used in reasons and warnings.
    """
    venues, ledger = _venues(request, spell)
    outcomes: dict[str, Outcome] = {}
    folders = open_folders(request.output, request.private)
    try:
        with (
            charging(ledger) as spending,
            _recorded(request, folders, venues, ledger),
            parallel.cluster(request.cluster) as executor,
        ):
            run_batch(
                [venue for venue in venues if isinstance(venue, Venue)],
                folders.output,
                private=folders.private,
                ledger=ledger,
                workers=request.workers,
                executor=executor,
                progress=progress,
                report=not request.no_report,
                spending=spending,
                spell=spell,
                retries=request.retries,
                in_flight=request.in_flight,
                time_limit=request.time_limit,
                share_plans=request.share_plans,
                told=lambda outcome: outcomes.update({outcome.name: outcome}),
            )
    finally:
        ended = [venue if isinstance(venue, Outcome) else outcomes.get(venue.name) for venue in venues]
        done = tuple(outcome for outcome in ended if outcome is not None)
        document = report(done)
        folders.write_reports(public_report(done), document)
    return BatchResult(outcomes=done, document=document, folders=folders)


@contextmanager
def _recorded(
    request: BatchRequest, folders: BatchFolders, venues: Sequence[Venue | Outcome], ledger: str | None
) -> Iterator[None]:
    """Write the log and the metrics of a batch while the block runs."""
    folders.check_unpublished("log", None if request.log == "-" else request.log)
    folders.check_unpublished("metrics", request.metrics)
    files = MetricsFiles(folders.private / METRICS, request.metrics)
    with logging_to(request.log or folders.private / LOG, request.log_level), attached(files, "debug"):
        clock, complete = Clock(), False
        emit(BatchStarted(venues=len(venues), ledger=ledger is not None))
        for venue in venues:
            if isinstance(venue, Outcome):
                emit(VenueFailed(venue=venue.name, error=venue.error))
        try:
            yield
            complete = True
        finally:
            emit(BatchFinished(complete=complete, seconds=clock.lap()))


def _venues(request: BatchRequest, spell: Spelling) -> tuple[list[Venue | Outcome], str | None]:
    """Return the venues, with failed outcomes for invalid ones, and the ledger to charge."""
    shared = changed(request.what) | changed(request.noise) | changed(request.loads) | changed(request.reading)
    if Path(request.venues).is_dir():
        return venues_in_folder(Path(request.venues), shared, spell), request.ledger
    if Path(request.venues).suffix.lower() == ".csv":
        return venues_from_table(request.venues, shared, spell), request.ledger
    if shared:
        raise InputError(
            Argument(min(shared)), " goes with a folder or a CSV file; with a TOML file, set it there, in [defaults]"
        )
    venues, ledger = venues_from_toml(request.venues, spell)
    return venues, request.ledger or ledger
