"""Groups of papers on the command line: tracks and areas, each with a release of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from peerveil.cli.groups import OptionGroup
from peerveil.errors import InputError

if TYPE_CHECKING:
    from peerveil.private.charging import Spending
    from peerveil.private.reviews import Reviews
    from peerveil.private.tracks import GroupReleases
    from peerveil.releases.release import Release

# ruff: noqa: PLC0415 - commands import what they need when they run


@dataclass(frozen=True)
class GroupOptions(OptionGroup):
    """Which paper is in which group."""

    groups: Annotated[
        str | None,
        typer.Option(help="File that says which paper is in which group (track, area).", rich_help_panel="Groups"),
    ] = None
    group_column: Annotated[
        str | None,
        typer.Option(help="Column of groups: of --groups, or of the file itself.", rich_help_panel="Groups"),
    ] = None

    @property
    def given(self) -> bool:
        """Whether anything is said."""
        return self.groups is not None or self.group_column is not None

    def mapping(self, file: str, paper: str | None) -> dict[str, str]:
        """For each paper its group, from the file of groups, or from a column of the file itself."""
        from peerveil.privacy.groups import read_groups

        if self.groups is not None:
            return read_groups(self.groups, group=self.group_column)
        return read_groups(file, paper=paper, group=self.group_column)

    def papers_of(self, release: Release, file: str, paper: str | None) -> list[str] | None:
        """The papers of a release's group, of those in a public file; ``None`` for all of them."""
        if not self.given:
            return None
        if release.group is None:
            raise InputError("the release is of all papers, not of a group; leave out --groups and --group-column")
        name = release.group.name
        papers = [one for one, its in self.mapping(file, paper).items() if its == name]
        if not papers:
            raise InputError(f"no paper is in the group {name!r}, which the release is of")
        return papers


@dataclass(frozen=True)
class SharingOptions(OptionGroup):
    """Whether reviewers may be in several groups."""

    no_shared_reviewers: Annotated[
        bool,
        typer.Option(
            "--no-shared-reviewers",
            help="Declare, for everyone to know, that no reviewer has reviews in two groups; it is checked.",
            rich_help_panel="Groups",
        ),
    ] = False


def write_groups(
    reviews: Reviews,
    groups: dict[str, str],
    stage: Any,
    *,
    folders: dict[str, str],
    release: dict[str, Any],
    spending: Spending,
    report: bool = True,
) -> GroupReleases:
    """Release every group into a folder of its own."""
    from peerveil.private.tracks import release_groups_within

    made = release_groups_within(spending, reviews, groups, **release)
    spending.free()
    for name, one in made.releases.items():
        (stage / folders[name]).mkdir()
        one.write_into(stage / folders[name], report=report)
    return made


def report_groups(made: GroupReleases, output: str, folders: dict[str, str], *, as_json: bool) -> None:
    """Say what was released of each group, and what all of it promises."""
    from peerveil.cli.show import out, print_json, rows_table
    from peerveil.cli.working import after_writing

    with after_writing(output):
        rows = [
            {
                "group": name,
                "folder": folders[name],
                "reviewers": one.reviewers,
                "guarantee": one.guarantee.summary,
                "expected_rmse": one.outlook.expected_rmse if one.outlook else None,
            }
            for name, one in made.releases.items()
        ]
        if as_json:
            print_json({"folder": output, "groups": rows, "guarantee": made.guarantee.summary})
            return
        table = [
            (
                str(row["group"]),
                str(row["reviewers"]),
                "" if row["expected_rmse"] is None else f"{row['expected_rmse']:.3g}",
                str(row["folder"]),
                str(row["guarantee"]),
            )
            for row in rows
        ]
        out.print(rows_table(("group", "reviewers", "expected error", "folder", "claim"), table))
        out.print()
        out.print(f"All groups together: {made.guarantee.summary}", style="bold")
        out.print(made.guarantee.promise)
