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
from peerveil.private.batch.folders import REPORT, open_folders
from peerveil.private.batch.run import Outcome, Venue, public_report, report, run_batch
from peerveil.private.charging import Spending
from peerveil.support import parallel


@dataclass(frozen=True, kw_only=True)
class BatchResult:
    """What became of the venues of a batch. Reasons and warnings may hold private values.

    Attributes:
        outcomes: one per venue.
        document: the private report of all.
        output: the folder of the releases.
        public_report: the report that may be published.
        private_report: the report that may not.
    """

    outcomes: tuple[Outcome, ...]
    document: dict[str, Any]
    output: Path
    public_report: Path
    private_report: Path


def batch(
    request: BatchRequest,
    *,
    charging: Callable[[str | None], AbstractContextManager[Spending]],
    progress: parallel.Progress,
    spell: Spelling,
) -> BatchResult:
    """Release every venue into a folder of its own; the reports are written even if the batch is interrupted.

    Args:
        request: the options.
        charging: opens what is charged to a ledger.
        progress: called after each venue.
        spell: how reasons and warnings spell arguments.
    """
    venues, ledger = _venues(request, spell)
    outcomes: dict[str, Outcome] = {}
    folders = open_folders(request.output, request.private)
    try:
        with charging(ledger) as spending, parallel.cluster(request.cluster) as executor:
            run_batch(
                [one for one in venues if isinstance(one, Venue)],
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
        ended = [one if isinstance(one, Outcome) else outcomes.get(one.name) for one in venues]
        done = tuple(outcome for outcome in ended if outcome is not None)
        document = report(done)
        folders.write_reports(public_report(done), document)
    return BatchResult(
        outcomes=done,
        document=document,
        output=folders.output,
        public_report=folders.output / REPORT,
        private_report=folders.private / REPORT,
    )


def _venues(request: BatchRequest, spell: Spelling) -> tuple[list[Venue | Outcome], str | None]:
    """The venues, those that cannot be released as outcomes, and the ledger to charge."""
    shared = changed(request.what) | changed(request.noise) | changed(request.loads) | changed(request.reading)
    if Path(request.venues).is_dir():
        return venues_in_folder(Path(request.venues), shared, spell), request.ledger
    if shared:
        raise InputError(Argument(min(shared)), " goes with a folder; with a TOML file, say it there, in [defaults]")
    venues, ledger = venues_from_toml(request.venues, spell)
    return venues, request.ledger or ledger
