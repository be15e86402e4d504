"""`peerveil verify`: checks of a published release."""

from __future__ import annotations

import typer

from peerveil.app.requests import VerifyRequest
from peerveil.cli import options as opt
from peerveil.cli.working import working


@opt.with_options
def verify(request: VerifyRequest, *, as_json: opt.AsJson = False) -> None:
    """Check a published release against the public record.

    The exit code is 0 if no check fails, 1 if a check fails, 2 if the input cannot be used.

    Quantity, mechanism and loads are read from the release; you can state other loads. For a release of a group of
    papers, state the group of each paper (--groups, --group-column), or give a file of these papers alone.
    """
    from dataclasses import asdict

    from peerveil.app.verify import verify
    from peerveil.cli.show import out, print_json, rows_table
    from peerveil.releases.verification import UNCHECKED

    with working("Reading") as step:
        verification = verify(request, step=step, spell=opt.option)
    checks = verification.checks
    if as_json:
        print_json({"verified": verification.verified, "checks": [asdict(check) for check in checks]}, "verify")
    else:
        out.print(rows_table(("check", "result", "found"), [(c.name, c.result, c.found) for c in checks]))
        out.print()
        out.print("Verified." if verification else f"Refused: {', '.join(verification.failed)}.", style="bold")
        out.print(UNCHECKED)
    if not verification:
        raise typer.Exit(1)
