"""The site of the documents: it builds, links and anchors lead somewhere, and nothing comes from elsewhere."""

from __future__ import annotations

import http.server
import inspect
import os
import re
import runpy
import subprocess
import sys
import threading
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import typer.main

import peerveil as pv
from browser import chromium, program, visitor
from peerveil.cli import app

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("site")]  # one process builds it, for all tests
#: Attributes whose targets a browser loads by itself.
LOADED = {"src", "srcset", "poster", "data", "action", "background"}


class Page(HTMLParser):
    """What a page links to, loads, and can be linked to, and its words."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.anchors: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.words = ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.anchors.append(value or "")
            elif name in LOADED or (name == "href" and tag == "link"):
                self.loaded.append(value or "")
            elif name == "href":
                self.links.append(value or "")

    def handle_data(self, data: str) -> None:
        self.words += data


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = (tmp_path_factory.mktemp("built") / "site").resolve()
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(target)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="module")
def site(folder: Path) -> dict[str, Page]:
    return {path.relative_to(folder).as_posix(): Page(path) for path in sorted(folder.rglob("*.html"))}


def test_every_document_is_a_page_that_the_navigation_leads_to(site: dict[str, Page]) -> None:
    documents = {path.relative_to(ROOT / "docs").with_suffix(".html").as_posix() for path in ROOT.glob("docs/**/*.md")}
    beside = {f"about/{name}.html" for name in ("CHANGELOG", "CONTRIBUTING", "SECURITY")}
    linked = {urlsplit(link).path for link in site["index.html"].links}
    assert documents | beside <= site.keys() & linked


def test_every_link_and_anchor_leads_somewhere(site: dict[str, Page], folder: Path) -> None:
    followed = 0
    for name, page in site.items():
        if name == "404.html":  # its links are those of the site's root
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme:
                assert parts.scheme == "https", link
                continue
            target = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
            assert target.is_file(), f"{name} links to {link}"
            if parts.fragment and not parts.fragment.startswith("__"):  # those are Material's own switches
                anchors = site[target.relative_to(folder).as_posix()].anchors
                assert unquote(parts.fragment) in anchors, f"{name} links to {link}"
            followed += 1
    assert followed > 500


def test_anchors_are_unique(site: dict[str, Page]) -> None:
    for name, page in site.items():
        assert len(set(page.anchors)) == len(page.anchors), name


def test_nothing_is_loaded_from_elsewhere(site: dict[str, Page], folder: Path) -> None:
    for name, page in site.items():
        if name == "404.html":
            continue
        assert page.loaded
        for target in page.loaded:
            assert (page.path.parent / target).exists(), f"{name} loads {target}"
    for style in folder.rglob("*.css"):
        for target in re.findall(r"url\(([^)]*)\)|@import", style.read_text(encoding="utf-8")):
            assert target.strip("'\"").startswith("data:"), f"{style.name} loads {target}"


@pytest.mark.slow
@pytest.mark.skipif(program() is None, reason="Chromium is not installed")
def test_a_browser_asks_no_other_host(folder: Path) -> None:
    handler = partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    handler.log_message = lambda *_: None  # type: ignore[attr-defined]
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, chromium() as browser:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with visitor(browser) as guest:
            for name in ("index", "api", "mathematics"):
                guest.page.goto(f"http://127.0.0.1:{server.server_port}/{name}.html", wait_until="networkidle")
            asked = {urlsplit(address).netloc for address in guest.asked if not address.startswith(("data:", "blob:"))}
        server.shutdown()
    assert asked == {f"127.0.0.1:{server.server_port}"}


def test_every_public_name_is_described(site: dict[str, Page]) -> None:
    page = site["api.html"]
    assert {f"peerveil.{name}" for name in pv.__all__} <= set(page.anchors)
    words = " ".join(page.words.split())
    for name in pv.__all__:
        first = (inspect.getdoc(getattr(pv, name)) or "").splitlines()[0]
        assert re.split("[:`]", first)[0].strip() in words, name
    assert "``" not in words


def commands(group: Any, prefix: str = "peerveil") -> list[tuple[str, Any]]:
    """Every command, those of groups included, with its full name."""
    named = [(f"{prefix} {name}", command) for name, command in group.commands.items()]
    return named + [one for name, command in named if hasattr(command, "commands") for one in commands(command, name)]


def test_every_command_and_option_is_described(site: dict[str, Page]) -> None:
    page = site["command-line.html"]
    known = commands(typer.main.get_command(app))
    assert {name for name, _ in known} >= {"peerveil release", "peerveil ledger open"}
    assert {name.replace(" ", "-") for name, _ in known} <= set(page.anchors)
    for name, command in known:
        section = page.words.split(f"Usage:\n{name} [OPTIONS]")[1].split("Usage:")[0]
        for parameter in command.params:
            if not getattr(parameter, "hidden", False):
                argument = parameter.param_type_name == "argument"
                shown = (argument and parameter.metavar) or parameter.opts[0]
                assert shown in section, (name, shown)
        assert command.epilog is None or command.epilog.removeprefix("Example:").strip() in page.words


def test_examples_and_references_of_docstrings_become_markdown() -> None:
    markdown = runpy.run_path(str(ROOT / "docs" / "docstrings.py"))["markdown"]
    text = "Twice :func:`~a.x`.\n\n>>> 2 * 2\n4\n\nArgs:\n    x: it.\n\n    >>> x\n    1"
    assert markdown(text) == (
        "Twice `a.x`.\n\n```pycon\n>>> 2 * 2\n4\n```\n\nArgs:\n    x: it.\n\n    ```pycon\n    >>> x\n    1\n    ```"
    )
