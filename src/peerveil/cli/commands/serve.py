"""`peerveil serve`: the page on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from peerveil.cli.working import Stopped
from peerveil.errors import InputError

# ruff: noqa: PLC0415 - commands import what they need when they run


def serve(
    *,
    ledger: Annotated[
        str | None,
        typer.Option(help="Charge releases to this ledger: a file or a database (see `peerveil ledger`)."),
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="Port on 127.0.0.1; 8737 or any free one by default.", min=0, max=65535)
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
) -> None:
    """Open a page on this machine for chairs and researchers. Nothing leaves the machine.

    The address that is printed holds a secret: whoever has it can use the page.
    """
    try:
        from peerveil.web.serving import run
    except ModuleNotFoundError:
        run = None  # type: ignore[assignment]
    if run is None:
        raise InputError("the page needs the packages fastapi and uvicorn: pip install 'peerveil[web]'")
    try:
        run(ledger=ledger, port=port, browser=not no_browser)
    except Stopped as stopped:  # that is how it ends
        raise typer.Exit(stopped.exit_code) from None
