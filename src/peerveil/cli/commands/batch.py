"""`peerveil batch`: releases of many venues."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from peerveil.cli import options as opt
from peerveil.cli.groups import LoadsOptions, NoiseOptions, ReadingOptions, ReleaseOptions, grouped
from peerveil.errors import InputError

# ruff: noqa: PLC0415 - commands import what they need when they run


@grouped
def batch(
    venues: Annotated[str, typer.Argument(help="A TOML file with a [[venue]] each, or a folder with a file each.")],
    *,
    output: Annotated[
        str, typer.Option("--output", "-o", help="Folder of the releases; a batch that was ended goes on there.")
    ],
    private: Annotated[
        str | None,
        typer.Option(
            help="Private folder of the chair, outside of the output folder: how far each venue has come, and why "
            "venues failed. By default <output>.private, beside it."
        ),
    ] = None,
    ledger: opt.LedgerPlace = None,
    workers: opt.Workers = None,
    cluster: opt.Cluster = None,
    what: ReleaseOptions,
    noise: NoiseOptions,
    loads: LoadsOptions,
    reading: ReadingOptions,
    no_report: opt.NoReport = False,
    as_json: opt.AsJson = False,
) -> None:
    """Release many venues, each into a folder of its own; one that fails is reported and stops no other.

    In a TOML file the keys are the options of `peerveil release`, for all in [defaults] or for one in its [[venue]].
    With a folder, the options here hold for every file. Started again, a batch goes on where it was and charges no
    venue twice. Reviews never leave this machine: a cluster is given noisy vectors and public records only.

    Exit code 1 if a venue failed. batch.json in the output folder says which, and can be published. Reasons and
    warnings may hold private values: they are shown here, and written to batch.json in the private folder.
    """
    from peerveil.cli.show import out, print_json, rows_table
    from peerveil.cli.venues import common_options, venues_from_toml, venues_in_folder
    from peerveil.cli.working import after_writing, charging, counting
    from peerveil.private.batch.folders import REPORT, open_folders
    from peerveil.private.batch.run import Outcome, Venue, public_report, report, run_batch
    from peerveil.support import parallel

    said = common_options(what, noise, loads, reading)
    if Path(venues).is_dir():
        found = venues_in_folder(Path(venues), said)
    elif said:
        raise InputError(f"{_option(min(said))} goes with a folder; with a TOML file, say it there, in [defaults]")
    else:
        found, named = venues_from_toml(venues)
        ledger = ledger or named
    good = [venue for venue in found if isinstance(venue, Venue)]
    outcomes: dict[str, Outcome] = {}
    place = open_folders(output, private)
    try:
        with (
            charging(ledger) as spending,
            parallel.cluster(cluster) as executor,
            counting("Releasing venues") as progress,
        ):
            run_batch(
                good,
                place.output,
                private=place.private,
                ledger=ledger,
                workers=workers,
                executor=executor,
                progress=progress,
                report=not no_report,
                spending=spending,
                spell=opt.option,
                told=lambda outcome: outcomes.update({outcome.name: outcome}),
            )
    finally:
        done = [venue if isinstance(venue, Outcome) else outcomes.get(venue.name) for venue in found]
        told = [outcome for outcome in done if outcome is not None]
        facts = report(told)
        place.write_reports(public_report(told), facts)
    with after_writing(place.output):
        if as_json:
            print_json(facts)
        else:
            failed = [(outcome.name, outcome.reason) for outcome in told if outcome.status == "failed"]
            if failed:
                out.print(rows_table(("venue", "why it was not released"), failed))
            for outcome in told:
                for words in outcome.warnings:
                    out.print(f"{outcome.name}: warning: {words}", soft_wrap=True)
            counts = f"{facts['released']} released, {facts['stands']} released before, {facts['failed']} failed"
            out.print(f"{len(told)} venues: {counts}. Written: {place.output / REPORT}", soft_wrap=True)
            if any(outcome.reason or outcome.warnings for outcome in told):
                out.print(f"Private, not to be published: {place.private / REPORT}", soft_wrap=True)
    if facts["failed"]:
        raise typer.Exit(1)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
