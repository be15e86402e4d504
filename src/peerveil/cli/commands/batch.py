"""`peerveil batch`: releases of many venues."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from peerveil.app.requests import BatchRequest
from peerveil.cli import options as opt

if TYPE_CHECKING:
    from peerveil.app.batch import BatchResult

# ruff: noqa: PLC0415 - commands import what they need when they run


@opt.with_options
def batch(request: BatchRequest, *, as_json: opt.AsJson = False) -> None:
    """Release many venues, each into a folder of its own; one that fails is reported and stops no other.

    In a TOML file the keys are the options of `peerveil release`, for all in [defaults] or for one in its [[venue]].
    With a folder, the options here hold for every file. Started again, a batch goes on where it was and charges no
    venue twice. Reviews never leave this machine: a cluster is given noisy vectors and public records only.

    Exit code 1 if a venue failed. batch.json in the output folder says which, and can be published. Reasons and
    warnings may hold private values: they are shown here, and written to batch.json in the private folder.
    """
    from peerveil.app.batch import batch
    from peerveil.cli.show import print_json
    from peerveil.cli.working import after_writing, charging, counting

    with counting("Releasing venues") as progress:
        result = batch(request, charging=charging, progress=progress, spell=opt.option)
    with after_writing(result.output):
        if as_json:
            print_json(result.document)
        else:
            _show(result)
    if result.document["failed"]:
        raise typer.Exit(1)


def _show(result: BatchResult) -> None:
    from peerveil.cli.show import out, rows_table

    failed = [(outcome.name, outcome.reason) for outcome in result.outcomes if outcome.status == "failed"]
    if failed:
        out.print(rows_table(("venue", "why it was not released"), failed))
    for outcome in result.outcomes:
        for words in outcome.warnings:
            out.print(f"{outcome.name}: warning: {words}", soft_wrap=True)
    number = result.document
    counts = f"{number['released']} released, {number['stands']} released before, {number['failed']} failed"
    out.print(f"{len(result.outcomes)} venues: {counts}. Written: {result.public_report}", soft_wrap=True)
    if any(outcome.reason or outcome.warnings for outcome in result.outcomes):
        out.print(f"Private, not to be published: {result.private_report}", soft_wrap=True)
