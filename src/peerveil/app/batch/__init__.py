"""Batches: releases of many venues."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peerveil.app.batch.venues import venues_from_toml, venues_in_folder
from peerveil.app.messages import Spelling
from peerveil.app.options import changed
from peerveil.app.requests import BatchRequest
from peerveil.errors import Argument, InputError
from peerveil.private.batch.folders import REPORT, BatchFolders, open_folders
from peerveil.private.batch.run import Outcome, Venue, public_report, report, run_batch
from peerveil.private.charging import Spending
from peerveil.support import parallel

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
        with charging(ledger) as spending, parallel.cluster(request.cluster) as executor:
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
                told=lambda outcome: outcomes.update({outcome.name: outcome}),
            )
    finally:
        ended = [venue if isinstance(venue, Outcome) else outcomes.get(venue.name) for venue in venues]
        done = tuple(outcome for outcome in ended if outcome is not None)
        document = report(done)
        folders.write_reports(public_report(done), document)
    return BatchResult(outcomes=done, document=document, folders=folders)


def _venues(request: BatchRequest, spell: Spelling) -> tuple[list[Venue | Outcome], str | None]:
    """Return the venues, with failed outcomes for invalid ones, and the ledger to charge."""
    shared = changed(request.what) | changed(request.noise) | changed(request.loads) | changed(request.reading)
    if Path(request.venues).is_dir():
        return venues_in_folder(Path(request.venues), shared, spell), request.ledger
    if shared:
        raise InputError(Argument(min(shared)), " goes with a folder; with a TOML file, set it there, in [defaults]")
    venues, ledger = venues_from_toml(request.venues, spell)
    return venues, request.ledger or ledger
