"""A real browser and a real page for the tests, where Chromium is installed."""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Error, Page, Response, expect, sync_playwright

#: Without these, Chromium asks its maker for things at every start.
QUIET = [
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic"),
    *("--no-first-run", "--disable-default-apps", "--disable-gpu"),
]


def program() -> str | None:
    """Chromium, from the path or from a variable."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    found = [os.environ.get("PEERVEIL_CHROMIUM"), *map(shutil.which, names)]
    return next((name for name in found if name), None)


#: Seconds for what happens at once, unless the machine is very busy.
LONG = 300

expect.set_options(timeout=1000 * LONG)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser without a window."""
    sandbox = [] if os.getuid() else ["--no-sandbox"]  # which root cannot have
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program(), args=[*QUIET, *sandbox])
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Visitor:
    """Somebody at the page; what the browser asks for and complains of is kept."""

    context: BrowserContext
    page: Page
    asked: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)

    def complain(self, message: ConsoleMessage) -> None:
        """Keep what the browser finds wrong; refused requests are kept with their addresses instead."""
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.complaints.append(message.text)

    def answered(self, response: Response) -> None:
        """Keep answers that tell of a fault; that something was refused is what some tests are about."""
        if response.status == 404 or response.status >= 500:
            self.complaints.append(f"{response.status} {response.url}")

    def where(self) -> str:
        """Where the visitor stands: the address, and what the page says about progress and problems."""
        try:
            said = self.page.locator("h1, [data-step], .problem, .error, .drop-state").all_inner_texts()
        except Error as error:
            said = [f"not known ({error.message})"]
        return " | ".join([self.page.url, *(text.strip() for text in said if text.strip()), *self.complaints])

    def look(self) -> str:
        """Everything that the page now holds, shown or not."""
        text = self.page.content()
        self.seen.append(text)
        return text


#: Visitors whose browser is open, for the report of a test that fails.
PRESENT: list[Visitor] = []


@contextmanager
def visitor(browser: Browser, **options: Any) -> Iterator[Visitor]:
    """A visitor with a browser of their own."""
    context = browser.new_context(accept_downloads=True, **options)
    context.set_default_timeout(1000 * LONG)
    page = context.new_page()
    made = Visitor(context, page)
    context.on("request", lambda request: made.asked.append(request.url))
    context.on("console", made.complain)
    context.on("response", made.answered)
    context.on("weberror", lambda error: made.complaints.append(str(error.error)))
    PRESENT.append(made)
    try:
        yield made
    except Exception as error:  # the test's own; what a fixture yields is reported by the test's hook
        error.add_note(f"The browser was at {made.where()}")
        raise
    finally:
        PRESENT.remove(made)
        context.close()


@dataclass
class Served:
    """A running page."""

    address: str
    process: subprocess.Popen[str]

    @property
    def home(self) -> str:
        """Where its addresses begin, without the token."""
        return self.address.split("/?")[0]

    @property
    def origin(self) -> str:
        """Its host and port."""
        return self.home.rpartition("/")[0]


@contextmanager
def served(*options: str, folder: Path) -> Iterator[Served]:
    """The page as users start it, with files in a temporary folder of its own."""
    command = [sys.executable, "-m", "peerveil", "serve", "--no-browser", "--port", "0", *options]
    environment = os.environ | {"TMPDIR": str(folder)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], LONG)
        line = process.stdout.readline() if ready else ""
        address = re.search(r"http://\S+", line)
        assert address, f"no address in {line!r}"
        yield Served(address[0], process)
    finally:
        process.terminate()
        process.wait(LONG)
        if process.stdout is not None:
            process.stdout.close()


def wait_until(happened: Any, seconds: float = LONG) -> None:
    """Wait for something that has no better sign."""
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def check_access(guest: Visitor) -> None:
    """No serious fault that axe-core can find, and nothing wider than the screen."""
    results = Axe().run(guest.page).response
    faults = [
        f"{fault['id']}: {node['html'][:160]}"
        for fault in results["violations"]
        if fault["impact"] in ("serious", "critical")
        for node in fault["nodes"]
    ]
    assert not faults, "\n".join(faults)
    page = guest.page
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
