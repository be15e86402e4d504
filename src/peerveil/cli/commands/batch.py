"""`peerveil batch`: releases of many venues."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from peerveil.app.requests import BatchRequest
from peerveil.cli import options as opt

if TYPE_CHECKING:
    from peerveil.app.batch import BatchResult


@opt.with_options
def batch(request: BatchRequest, *, as_json: opt.AsJson = False) -> None:
    """Release many venues, each into its own folder; a venue that fails is reported and does not stop the others.

    The keys of a TOML file are the options of `peerveil release`, for all venues in [defaults] or for one in its
    [[venue]]. With a folder or a CSV file, the options given here apply to every venue. An interrupted batch is resumed
    when it is started again; no venue is charged twice. Reviews never leave this machine: a cluster receives noisy
    vectors and public records only.

    Exit code 1 if a venue failed. batch.json in the output folder lists the outcomes and can be published. Reasons and
    warnings may hold private values: they are shown here, and written to batch.json in the private folder.
    """
    from peerveil.app.batch import batch
    from peerveil.cli.show import print_json
    from peerveil.cli.working import after_writing, charging, counting

    with counting("Releasing venues") as progress:
        result = batch(request, charging=charging, progress=progress, spell=opt.option)
    with after_writing(result.folders.output):
        if as_json:
            print_json(result.document, "batch")
        else:
            _show(result)
    if result.document["failed"]:
        raise typer.Exit(1)


def _show(result: BatchResult) -> None:
    from peerveil.app.batch import REPORT
    from peerveil.cli.show import out, rows_table

    failed = [(outcome.name, outcome.reason) for outcome in result.outcomes if outcome.status == "failed"]
    if failed:
        out.print(rows_table(("venue", "reason of failure"), failed))
        out.print(
            "Correct these, and start the same command again: what is released is kept, and nothing is charged twice.",
            soft_wrap=True,
        )
    for outcome in result.outcomes:
        for warning in outcome.warnings:
            out.print(f"{outcome.name}: warning: {warning}", soft_wrap=True)
    verdicts: dict[str, list[str]] = {}
    for outcome in result.outcomes:
        if outcome.verdict:
            verdicts.setdefault(outcome.verdict, []).append(outcome.name)
    for word, names in sorted(verdicts.items()):
        out.print(f"{word}: {len(names)} ({', '.join(names[:10])}{', …' if len(names) > 10 else ''})", soft_wrap=True)
    total = result.document
    counts = f"{total['released']} released, {total['stands']} released before, {total['failed']} failed"
    out.print(f"{len(result.outcomes)} venues: {counts}. Written: {result.folders.output / REPORT}", soft_wrap=True)
    if any(outcome.reason or outcome.warnings for outcome in result.outcomes):
        out.print(f"Private, not to be published: {result.folders.private / REPORT}", soft_wrap=True)
