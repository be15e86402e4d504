"""Starting and ending the page."""

from __future__ import annotations

import os
import signal
import socket
import sys
import webbrowser
from pathlib import Path

import uvicorn

from peerveil.app.ledger import Ledger, absolute_place, has_ledger, named_only
from peerveil.errors import OutputError
from peerveil.web.app import create_app
from peerveil.web.guard import Guard, Secrets
from peerveil.web.page import Page
from peerveil.web.serving.connections import Connection

#: The preferred port.
PORT = 8737

#: The name of the private file that opens the page.
OPEN = "open.html"

#: How long to wait for open requests at the end, in seconds.
_GRACE = 3


def run(*, ledger: str | None, port: int | None, browser: bool, desktop: Path | None = None) -> None:
    """Serve the page on this machine until it is ended.

    For a program without a terminal, ``desktop`` is the folder of the file that opens the page, and the page has a
    button that ends it.
    """
    remarks: tuple[str, ...] = ()
    if ledger is not None:
        ledger = absolute_place(ledger)
        if has_ledger(ledger) or not Path(ledger).parent.is_dir():
            # An unusable ledger is refused first; one that is missing can be created on the page.
            remarks = Ledger(ledger).remarks
    for end in ("SIGTERM", "SIGHUP"):  # closing the terminal must remove the private folder, too
        if hasattr(signal, end) and signal.getsignal(getattr(signal, end)) == signal.SIG_DFL:
            signal.signal(getattr(signal, end), _ended)
    with listening(port) as listener:
        keys = Secrets()
        sys.stdout.writelines(f"{remark}\n" for remark in remarks)
        page = Page(ledger=ledger, remarks=tuple(named_only(remark, ledger) for remark in remarks), at=keys.at)
        try:
            _serve(page, keys, listener, browser=browser, desktop=desktop)
        finally:
            page.close()


def _serve(page: Page, keys: Secrets, listener: socket.socket, *, browser: bool, desktop: Path | None = None) -> None:
    number = listener.getsockname()[1]
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
    sys.stdout.write("It can be reached from this machine only. Keep the address secret; end the page with Ctrl-C.\n")
    sys.stdout.flush()
    server = uvicorn.Server(config)
    if desktop is not None:
        page.quit = lambda: setattr(server, "should_exit", True)
    if browser:
        _open(address, desktop or page.workspace.folder)
    server.run(sockets=[listener])


def _ended(number: int, _frame: object) -> None:
    """End the page in order; a running server has its own handler."""
    if number == signal.SIGTERM:
        raise SystemExit(128 + number)
    signal.raise_signal(signal.SIGTERM)


def listening(port: int | None) -> socket.socket:
    """Return a local socket at the port, or at the preferred or a free one."""
    problem = ""
    for wanted in (PORT, 0) if port is None else (port,):
        try:
            return socket.create_server(("127.0.0.1", wanted), backlog=128)
        except OSError as error:
            problem = os.strerror(error.errno) if error.errno else type(error).__name__
    raise OutputError(f"port {port} of 127.0.0.1 cannot be used ({problem}); choose another with --port")


def _open(address: str, folder: Path) -> None:
    """Open the browser through a private file: other users could see the address in its command line."""
    file = folder / OPEN
    file.unlink(missing_ok=True)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as handle:
        handle.write(
            '<!doctype html><meta charset="utf-8"><title>Peerveil</title>'
            f'<meta http-equiv="refresh" content="0; url={address}"><p><a href="{address}">Open Peerveil</a></p>'
        )
    webbrowser.open(file.as_uri())
