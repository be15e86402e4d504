"""The standalone program for users without Python: a double-click opens the page, a button on the page ends it.

There is no terminal. If the program runs already, its page is opened again; whatever prevents a start is shown in the
browser.
"""

from __future__ import annotations

import html
import re
import tempfile
import webbrowser
from contextlib import suppress
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

from peerveil.app.messages import explain
from peerveil.errors import Argument
from peerveil.support.extensions import load_extensions
from peerveil.web.labels import label
from peerveil.web.serving import OPEN, run

#: The folder of the ledger in the user's home: visible, so that it is found and backed up.
FOLDER = "Peerveil"

#: How long a page that runs already may take to answer, in seconds.
_PATIENCE = 10


def main() -> None:
    """Serve the page until the user quits, or open the page of the program that runs already."""
    try:
        folder = Path.home() / FOLDER
        folder.mkdir(mode=0o700, exist_ok=True)
        entrance = folder / OPEN
        if runs(entrance):
            webbrowser.open(entrance.as_uri())
            return
        load_extensions()
        try:
            run(ledger=str(folder / "budgets.db"), port=None, browser=True, desktop=folder)
        finally:
            entrance.unlink(missing_ok=True)
    except Exception as error:  # noqa: BLE001 - it cannot be printed, and its text may hold private values
        message, code = explain(error, _spelled)
        _show(message)
        raise SystemExit(code) from None


def runs(entrance: Path) -> bool:
    """Return whether the page to which a file leads is being served: a program that was killed leaves its file."""
    with suppress(OSError, ValueError):
        address = re.search(r'href="(http://127\.0\.0\.1:\d+/[^"]+)"', entrance.read_text(encoding="utf-8"))
        if address is not None:
            with build_opener(ProxyHandler({})).open(address[1], timeout=_PATIENCE) as response:
                return bool(response.status == 200)
    return False


def _spelled(argument: Argument) -> str:
    """The words of the page, but the place of the ledger, which is a file of the user's."""
    return str(argument) if argument.name == "ledger_place" else label(argument)


def _show(message: str) -> None:
    """Show in the browser why the program did not start."""
    with tempfile.NamedTemporaryFile(
        "w", prefix="peerveil-", suffix=".html", delete=False, encoding="utf-8"
    ) as handle:  # the browser reads it when this program has ended
        handle.write(
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>Peerveil</title>'
            f"<h1>Peerveil could not start</h1><p>{html.escape(message)}</p></html>"
        )
    webbrowser.open(Path(handle.name).as_uri())
