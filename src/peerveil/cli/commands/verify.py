"""`peerveil verify`: does a published release follow from its noisy vector and the public record?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from peerveil.cli import options as opt
from peerveil.cli.groups import LoadsOptions, PublicOptions, grouped
from peerveil.cli.tracks import GroupOptions
from peerveil.cli.working import working
from peerveil.errors import InputError, RecordError

if TYPE_CHECKING:
    from peerveil.quantities.weights import PublicWeights
    from peerveil.releases.checks import Verification
    from peerveil.releases.release import Release

# ruff: noqa: PLC0415 - commands import what they need when they run


@grouped
def verify(
    release: Annotated[str, typer.Argument(help="A release: its folder, or its release.json.")],
    *,
    public: Annotated[str, typer.Option(help="Public scores: a row a paper ('6;8;5') or a row a review.")],
    loads: LoadsOptions,
    scores: PublicOptions,
    tracks: GroupOptions,
    signed_by: Annotated[
        str | None,
        typer.Option(help="Refuse what is not signed by this SSH public key, or by one of an allowed_signers file."),
    ] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Check a published release against the public record.

    The exit code is 0 if nothing that was checked fails, 1 if a check fails, 2 if the input cannot be used.

    Quantity and mechanism are read from the release, and loads, too, unless you state them. For a release of a group of
    papers, say which papers are in it (--groups, --group-column), or give a file of these alone.
    """
    from peerveil.releases.checks import Check, Verification
    from peerveil.releases.published_files import read_release
    from peerveil.releases.verification import verify

    with working("Reading") as step:
        read, schema = read_release(release)
        if read is None:
            found = Verification(checks=(schema,))
        else:
            only = tracks.papers_of(read, public, scores.paper)
            weights, problem = _weights(read, public, loads, scores, only)
            if weights is None:
                found = Verification(checks=(schema, Check(name="record", result="fails", found=problem)))
            else:
                step("Computing the release anew")
                found = verify(release, weights, signed_by=signed_by)
    _show(found, as_json=as_json)
    if not found:
        raise typer.Exit(1)


def _weights(
    release: Release, public: str, loads: LoadsOptions, scores: PublicOptions, only: list[str] | None
) -> tuple[PublicWeights | None, str]:
    """The weights, or why the loads that the release states do not fit the public record."""
    from peerveil.quantities.base import names

    if release.quantity not in names():
        raise InputError(
            f"the release is of {release.quantity!r}, a function of its maker's, which the command line does not have; "
            "check it in Python: peerveil.verify(release, peerveil.weigh(record, function))"
        )
    try:
        return scores.weights(public, loads, release.quantity, release, only), ""
    except RecordError as error:
        if loads.given:
            raise
        return None, f"the loads that it states do not fit the public record: {error.spelled(opt.option)}"


def _show(found: Verification, *, as_json: bool) -> None:
    from dataclasses import asdict

    from peerveil.cli.show import out, print_json, rows_table
    from peerveil.releases.verification import UNCHECKED

    if as_json:
        print_json({"verified": found.verified, "checks": [asdict(check) for check in found.checks]})
        return
    out.print(rows_table(("check", "result", "found"), [(c.name, c.result, c.found) for c in found.checks]))
    out.print()
    out.print("Verified." if found else f"Refused: {', '.join(found.failed)}.", style="bold")
    out.print(UNCHECKED)
