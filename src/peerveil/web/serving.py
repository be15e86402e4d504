"""Start the page, and end it."""

from __future__ import annotations

import signal
import socket
import sys
import webbrowser
from pathlib import Path

import uvicorn

from peerveil.app.ledger import Ledger, absolute_place
from peerveil.errors import OutputError
from peerveil.web.app import create_app
from peerveil.web.connections import Connection
from peerveil.web.guard import Guard, Secrets
from peerveil.web.page import Page

#: Taken where it is free, so that the address looks familiar.
PORT = 8737

#: How long an end waits for what is still being sent, in seconds.
_GRACE = 3


def run(*, ledger: str | None, port: int | None, browser: bool) -> None:
    """Serve the page on this machine until somebody ends it."""
    if ledger is not None:
        Ledger(ledger)  # refuses one that cannot be used before anything else happens
        ledger = absolute_place(ledger)
    for end in ("SIGTERM", "SIGHUP"):  # a window that is closed ends the page, too, and must leave no file behind
        if hasattr(signal, end) and signal.getsignal(getattr(signal, end)) == signal.SIG_DFL:
            signal.signal(getattr(signal, end), _ended)
    with listening(port) as door:
        keys = Secrets()
        page = Page(ledger=ledger, at=keys.at)
        try:
            _serve(page, keys, door, browser=browser)
        finally:
            page.close()


def _serve(page: Page, keys: Secrets, door: socket.socket, *, browser: bool) -> None:
    number = door.getsockname()[1]
    guarded = Guard(create_app(page), port=number, keys=keys)
    config = uvicorn.Config(
        guarded,
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        http=Connection,
        ws="none",
        lifespan="on",
        timeout_graceful_shutdown=_GRACE,
    )
    address = f"http://127.0.0.1:{number}{keys.at}/?token={keys.token}"
    sys.stdout.write(f"The page is at {address}\n")
    sys.stdout.write("It answers on this machine only. Keep the address secret; end the page with Ctrl-C.\n")
    sys.stdout.flush()
    if browser:
        _open(address, page.workspace.folder)
    uvicorn.Server(config).run(sockets=[door])


def _ended(number: int, _frame: object) -> None:
    """End the page in order; of a server that runs, as it ends by itself."""
    if number == signal.SIGTERM:
        raise SystemExit(128 + number)
    signal.raise_signal(signal.SIGTERM)


def listening(port: int | None) -> socket.socket:
    """A socket of this machine only: at the port, or at a usual or any free one."""
    problem = ""
    for wanted in (PORT, 0) if port is None else (port,):
        door = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            door.bind(("127.0.0.1", wanted))
        except OSError as error:
            door.close()
            problem = error.strerror or type(error).__name__
            continue
        door.listen(128)
        return door
    raise OutputError(f"port {port} of 127.0.0.1 cannot be used ({problem}); choose another with --port")


def _open(address: str, folder: Path) -> None:
    """Open the browser by way of a private file: other users could see an address in its command line."""
    file = folder / "open.html"
    file.write_text(
        '<!doctype html><meta charset="utf-8"><title>Peerveil</title>'
        f'<meta http-equiv="refresh" content="0; url={address}"><p><a href="{address}">Open Peerveil</a></p>',
        encoding="utf-8",
    )
    file.chmod(0o600)
    webbrowser.open(file.as_uri())
