"""`peerveil release`: from a file of reviews to a folder to publish."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from peerveil.cli import options as opt
from peerveil.cli.groups import LoadsOptions, NoiseOptions, ReadingOptions, ReleaseOptions, grouped
from peerveil.cli.working import working

if TYPE_CHECKING:
    from peerveil.private.reviews import Reviews

# ruff: noqa: PLC0415 - commands import what they need when they run


@grouped
def release(
    file: Annotated[str, typer.Argument(help="Private reviews: a row a review, with paper, reviewer and score.")],
    *,
    output: opt.Output,
    what: ReleaseOptions,
    noise: NoiseOptions,
    ledger: opt.LedgerPlace = None,
    loads: LoadsOptions,
    reading: ReadingOptions,
    overwrite: opt.Overwrite = False,
    no_report: opt.NoReport = False,
    as_json: opt.AsJson = False,
) -> None:
    """Make a private release from a file of reviews: release.json, release.csv and report.html in a folder.

    With a file of public scores, say what is public about loads: --load, --loads, or --reviewers.
    """
    from peerveil.bundle import FILES
    from peerveil.cli.show import report_release, telling_warnings
    from peerveil.files import staged_folder
    from peerveil.private.release import release as make

    what.check()
    mechanism = noise.chosen_or_auto()
    with staged_folder(output, own=FILES, overwrite=overwrite) as stage, working("Reading the reviews") as step:
        reviews = reading.reviews(file)
        visible = what.visible(reviews, loads, reading)
        step("Drawing noise, bounding the truth from public data, estimating")
        with telling_warnings():
            made = make(
                reviews, public=visible, mechanism=mechanism, ledger=ledger, dataset=what.dataset, **what.chosen()
            )
        made.write_into(stage, report=not no_report)
    _tell(reviews)
    report_release(made, output, as_json=as_json, report=not no_report)


def _tell(reviews: Reviews) -> None:
    """Say on stderr what was left out of the private file, which no release may."""
    for words in (*(f"left out: {what}" for what in reviews.report.left_out), *reviews.report.problems):
        sys.stderr.write(f"peerveil: {words}\n")
