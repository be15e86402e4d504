"""`peerveil release`: from a file of reviews to a folder to publish."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from peerveil.cli import options as opt
from peerveil.cli.groups import LoadsOptions, NoiseOptions, ReadingOptions, ReleaseOptions, grouped
from peerveil.cli.tracks import GroupOptions, SharingOptions, report_groups, write_groups
from peerveil.cli.working import charging, working
from peerveil.errors import InputError

if TYPE_CHECKING:
    from peerveil.private.reviews import Reviews
    from peerveil.private.tracks import GroupReleases

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
    tracks: GroupOptions,
    sharing: SharingOptions,
    overwrite: opt.Overwrite = False,
    no_report: opt.NoReport = False,
    as_json: opt.AsJson = False,
) -> None:
    """Make a private release from a file of reviews: release.json, release.csv and report.html in a folder.

    With a file of public scores, say what is public about loads: --load, --loads, or --reviewers. With groups of
    papers, each gets a release and a folder of its own; the budget is each group's.
    """
    from peerveil.cli.show import report_release, tell_unsigned, telling_warnings
    from peerveil.privacy.groups import folder_names
    from peerveil.private.release import release_within
    from peerveil.releases.release import OWN_FILES, Release
    from peerveil.releases.signatures import count_signatures
    from peerveil.support.atomic_files import Room, staged_folder

    what.check()
    mechanism = noise.chosen_or_auto()
    if sharing.no_shared_reviewers and not tracks.given:
        raise InputError("--no-shared-reviewers goes with --groups or --group-column")
    groups = tracks.mapping(file, reading.paper) if tracks.given else {}
    folders = folder_names(set(groups.values()))
    own = [f"{name}/{one}" for name in folders.values() for one in OWN_FILES] if groups else OWN_FILES
    signed = count_signatures(output)
    with charging(ledger) as spending:
        with staged_folder(output, own=own, overwrite=overwrite) as stage, working("Reading the reviews") as step:
            spending.room, spending.target = Room(stage), output
            reviews = reading.reviews(file)
            visible = what.visible(reviews, loads, reading)
            step("Drawing noise, bounding the truth from public data, estimating")
            said = {"public": visible, "mechanism": mechanism, "dataset": what.dataset, **what.chosen()}
            made: Release | GroupReleases
            with telling_warnings():
                if groups:
                    said["shared"] = not sharing.no_shared_reviewers
                    del said["declare_kept"]  # of groups, the loads are declared public anyway
                    made = write_groups(
                        reviews, groups, stage, folders=folders, release=said, report=not no_report, spending=spending
                    )
                else:
                    made = release_within(spending, reviews, **said)
                    spending.free()
                    made.write_into(stage, report=not no_report)
        spending.done(output)
    _tell(reviews, spending.resumed)
    tell_unsigned(signed)
    if isinstance(made, Release):
        report_release(made, output, as_json=as_json, report=not no_report)
    else:
        report_groups(made, output, folders, as_json=as_json)


def _tell(reviews: Reviews, resumed: Sequence[str]) -> None:
    """Say on stderr what was left out of the private file, which no release may, and what was not charged again."""
    told = [f"resumed release {number}: charged before, nothing more was charged" for number in resumed]
    for words in (*told, *(f"left out: {what}" for what in reviews.report.left_out), *reviews.report.problems):
        sys.stderr.write(f"peerveil: {words}\n")
