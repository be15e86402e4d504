"""`peerveil serve`: the local web page."""

from __future__ import annotations

from typing import Annotated

import typer

from peerveil.cli.working import Stopped
from peerveil.errors import InputError


def serve(
    *,
    ledger: Annotated[
        str | None,
        typer.Option(help="Ledger to charge: a file or a database (see `peerveil ledger`)."),
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="Port on 127.0.0.1; by default 8737 or a free one.", min=0, max=65535)
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
) -> None:
    """Serve a local web page for chairs and researchers. Nothing leaves this machine.

    The printed address contains a secret: whoever has it can use the page.
    """
    try:
        from peerveil.web.serving import run
    except ModuleNotFoundError:
        raise InputError("the page needs the packages fastapi and uvicorn: pip install 'peerveil[web]'") from None
    try:
        run(ledger=ledger, port=port, browser=not no_browser)
    except Stopped as stopped:  # the usual end
        raise typer.Exit(stopped.exit_code) from None
