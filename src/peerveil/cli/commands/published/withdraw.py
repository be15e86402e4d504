"""`peerveil withdraw`: the mark of a withdrawn release."""

from __future__ import annotations

from typing import Annotated

import typer

from peerveil.cli import options as opt


def withdraw(
    release: opt.ReleasePlace,
    *,
    reason: Annotated[str, typer.Option(help="Why it is withdrawn, in a sentence that everyone can read.")],
    superseded_by: Annotated[
        str | None, typer.Option(help="Address or citation of the release that replaces it.")
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="The SSH key that signed the release; required if it is signed.")
    ] = None,
) -> None:
    """Mark a published release as withdrawn: writes withdrawal.json, and a notice into report.html.

    Publish the folder again afterwards. release.json stays as it is, and verify says first that it was withdrawn. The
    privacy budget stays spent.
    """
    from pathlib import Path

    from peerveil.cli.show import out
    from peerveil.releases.withdrawal import MARK, SPENT, withdraw

    mark = withdraw(
        release, reason=reason, superseded_by=superseded_by, key=None if key is None else Path(key).expanduser()
    )
    out.print(f"The release is {mark.sentence}", soft_wrap=True)
    out.print(f"Written: {MARK}. Publish the folder again.")
    out.print(SPENT)
