"""The standalone program: what it does when it is opened, opened again and ended; and the built program itself."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import psutil
import pytest
from playwright.sync_api import expect

import peerveil as pv
from asked import KEYS, AtOnce, answered
from browser import LONG, Visitor, check_access, chromium, program, visitor, wait_until
from peerveil.errors import LedgerError
from peerveil.simulation.conferences import synthetic_conference
from peerveil.support.version import rendered_with
from peerveil.web import common, serving
from peerveil.web.app import create_app
from peerveil.web.jobs import Job
from peerveil.web.page import Page
from peerveil.web.serving import desktop

ROOT = Path(__file__).parents[2]


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the browser was asked to open; the home is a temporary folder."""
    seen: list[str] = []
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("webbrowser.open", seen.append)
    return seen


def test_opening_the_program_serves_a_page_with_a_ledger_and_a_way_to_quit(
    tmp_path: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []

    class Ended:
        def __init__(self, _config: object) -> None:
            self.should_exit = False

        def run(self, **_: object) -> None:
            entrance = tmp_path / "Peerveil" / "open.html"
            seen.append((entrance.stat().st_mode & 0o777, entrance.parent.stat().st_mode & 0o777, opened[:]))
            pages[0].quit()
            assert self.should_exit

    def page_made(page: Any) -> object:
        pages.append(page)
        return create_app(page)

    pages: list[Any] = []
    monkeypatch.setattr("uvicorn.Server", Ended)
    monkeypatch.setattr(serving, "create_app", page_made)
    desktop.main()
    entrance = tmp_path / "Peerveil" / "open.html"
    assert seen == [(0o600, 0o700, [entrance.as_uri()])]
    assert pages[0].ledger == str(tmp_path / "Peerveil" / "budgets.db")
    assert not entrance.exists()
    assert not pages[0].workspace.folder.exists()


def test_opening_it_again_opens_the_page_that_runs(
    tmp_path: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    entrance = tmp_path / "Peerveil" / "open.html"
    entrance.parent.mkdir()
    with serving.listening(0) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/secret/?token=t"
        serving._open(address, entrance.parent)
        asked: list[str] = []
        monkeypatch.setattr(desktop, "run", lambda **_: asked.append("served"))
        monkeypatch.setattr(desktop, "_PATIENCE", 0.1)
        assert not desktop.runs(entrance)  # it does not answer

        class Answer:
            status = 200

            def __enter__(self) -> Answer:
                return self

            def __exit__(self, *_: object) -> None:
                pass

        def answer(_: object, address: str, timeout: float) -> Answer:
            asked.append(address)
            return Answer()

        monkeypatch.setattr("urllib.request.OpenerDirector.open", answer)
        desktop.main()
    assert asked == [address]
    assert opened == [entrance.as_uri()] * 2


@pytest.mark.parametrize("left", ["", '<a href="http://elsewhere.example/">', '<a href="http://127.0.0.1:1/x/">'])
def test_a_file_that_a_killed_program_left_is_not_followed(tmp_path: Path, left: str) -> None:
    (tmp_path / "open.html").write_text(left)
    assert not desktop.runs(tmp_path / "open.html")
    assert not desktop.runs(tmp_path / "none.html")


def test_what_prevents_a_start_is_shown_in_the_browser(
    tmp_path: Path, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "Peerveil").mkdir()
    (tmp_path / "Peerveil" / "budgets.db").write_text("no ledger, ann@uni.example, " * 100)
    with pytest.raises(SystemExit) as ended:
        desktop.main()
    assert ended.value.code == LedgerError.exit_code
    (shown,) = tmp_path.glob("peerveil-*.html")
    assert opened == [shown.as_uri()]
    text = shown.read_text()
    assert "Peerveil could not start" in text
    assert "budgets.db" in text
    assert "ann@" not in text


def test_the_button_ends_the_page_unless_a_release_is_being_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "_FAREWELL", 0.0)
    ended: list[bool] = []

    async def press_quit(page: Page) -> int:
        answer = await answered(create_app(page), "POST", f"{KEYS.at}/quit")
        await asyncio.sleep(0.01)
        return answer.status

    page = Page(jobs=AtOnce(), at=KEYS.at)
    try:
        assert asyncio.run(press_quit(page)) == 404  # in a terminal, Ctrl-C ends it
        assert "quit" not in asyncio.run(answered(create_app(page), "GET", f"{KEYS.at}/")).body.decode().lower()
        page = Page(jobs=AtOnce(), at=KEYS.at, quit=lambda: ended.append(True))
        assert "Quit Peerveil" in asyncio.run(answered(create_app(page), "GET", f"{KEYS.at}/")).body.decode()
        case = page.new_case(page.chairs)
        page.jobs["now"] = Job("now", "Releasing", "/", "/")
        case.releasing = "now"
        assert asyncio.run(press_quit(page)) == 409
        assert not ended
        page.jobs["now"].state = "done"
        assert asyncio.run(press_quit(page)) == 200
        assert ended == [True]
    finally:
        page.close()


@pytest.fixture(scope="module")
def built() -> Path:
    """The program: the one that is named, to try what was built elsewhere, or one that is built here."""
    if named := os.environ.get("PEERVEIL_APP"):
        return Path(named).resolve()
    if program() is None:
        pytest.skip("Chromium is not installed (or its program is to be named in PEERVEIL_CHROMIUM)")
    make = ["make", "-C", str(ROOT), f"PYTHON={sys._base_executable}"]  # type: ignore[attr-defined]
    (ROOT / "build").mkdir(exist_ok=True)
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    with (ROOT / "build" / "app.lock").open("a+") as lock:  # one process of a run builds it
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.seek(0)
        if lock.read() != run:
            if subprocess.run([*make, ".venv-app/.installed"], capture_output=True, check=False).returncode:
                pytest.skip("the packages of the standalone program cannot be installed here")
            made = subprocess.run([*make, "app"], capture_output=True, text=True, check=False)
            assert made.returncode == 0, made.stdout + made.stderr
            lock.truncate(0)
            lock.write(run)
    return ROOT / "dist" / "Peerveil" / "Peerveil"


def write_workbook(file: Path) -> None:
    conference = synthetic_conference(reviewers=40, rng=np.random.default_rng(9))
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(("paper", "reviewer", "score"))
    for paper, who, score in zip(conference.paper, conference.reviewer, conference.score, strict=True):
        sheet.append((f"p{paper}", f"zqx-person-{who}@uni.example", float(score)))
    book.save(file)


class Desk:
    """A user's desk: a home, a browser that notes what it is asked to open, and no Python."""

    def __init__(self, folder: Path) -> None:
        self.home, self.noted = folder / "home", folder / "opened.txt"
        for place in (self.home, folder / "tmp"):
            place.mkdir()
        browser = folder / "browser"
        browser.write_text(f'#!/bin/sh\nprintf "%s\\n" "$1" "$LD_LIBRARY_PATH" >>"{self.noted}"\n')
        browser.chmod(0o755)
        self.environment = {"HOME": str(self.home), "TMPDIR": str(folder / "tmp"), "BROWSER": f"{browser} %s"}
        self.environment |= {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "DISPLAY": ":0"}

    def opened(self) -> list[str]:
        """The addresses that the browser was asked to open; it is never told to load the program's libraries."""
        lines = self.noted.read_text().splitlines() if self.noted.exists() else []
        assert not any(lines[1::2]), lines
        return lines[::2]

    @contextmanager
    def double_click(self, app: Path) -> Iterator[subprocess.Popen[bytes]]:
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        started = subprocess.Popen([app], cwd=self.home, env=self.environment, **quiet)  # type: ignore[call-overload]
        try:
            yield started
        finally:
            if started.poll() is None:
                started.terminate()
            started.wait(LONG)


@pytest.mark.slow
@pytest.mark.xdist_group("app")
def test_the_built_program_goes_from_a_workbook_to_a_report_and_ends(built: Path, tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    write_workbook(tmp_path / "reviews.xlsx")
    with desk.double_click(built) as app:
        wait_until(lambda: len(desk.opened()) == 1 or app.poll() is not None)
        assert app.poll() is None, app.returncode
        children = psutil.Process(app.pid).children(recursive=True)
        with chromium() as browser, visitor(browser) as guest:
            folder = release_in_the_browser(guest, desk.opened()[0], tmp_path)
            with desk.double_click(built) as again:  # opens the same page, and ends
                assert again.wait(LONG) == 0
            assert len(set(desk.opened())) == 1
            assert len(desk.opened()) == 2
            guest.page.get_by_role("button", name="Quit Peerveil").click()
            expect(guest.page.get_by_role("heading", level=1)).to_have_text("Peerveil has ended")
            assert not guest.complaints
            assert not any("zqx-person" in text for text in guest.seen)
        assert app.wait(LONG) == 0
        wait_until(lambda: not any(child.is_running() for child in children))
    assert not list((tmp_path / "tmp").glob("peerveil-page-*"))
    assert not (desk.home / "Peerveil" / "open.html").exists()
    ledger = pv.Ledger(str(desk.home / "Peerveil" / "budgets.db"))
    made = pv.Release.load(folder)
    document = json.loads((folder / "release.json").read_text())
    assert [entry.release for entry in ledger.history()] == [document["charge"]]
    assert document["rendered"] == rendered_with()  # the program knows the versions of its packages
    assert made.guarantee.epsilon == 1
    reviews = pv.read(tmp_path / "reviews.xlsx", scale=(1, 10))
    assert pv.verify(folder, pv.weigh(reviews.public("all"))).verified


def release_in_the_browser(guest: Visitor, entrance: str, folder: Path) -> Path:
    """From the file that the program opens to the report and the files; returns their folder."""
    page = guest.page
    page.goto(entrance)
    page.wait_for_url(re.compile(r"^http://127.0.0.1:\d+/[^/]+/$"))
    check_access(guest)
    home = page.url.rstrip("/")
    page.goto(f"{home}/ledger")
    page.get_by_label("Name of the data set").fill("conf2026")
    page.get_by_label("Epsilon", exact=True).fill("2")
    page.get_by_role("button", name="Open the budget").click()
    expect(page.locator(".card")).to_contain_text("epsilon 2 left of 2")
    page.goto(f"{home}/chair")
    page.get_by_label("Drop the file here").set_input_files(folder / "reviews.xlsx")
    page.wait_for_url(re.compile("/file$"))
    guest.look()
    page.get_by_label("Lowest", exact=True).fill("1")
    page.get_by_label("Highest").fill("10")
    page.get_by_role("button", name="Continue", exact=True).click()
    page.wait_for_url(re.compile("/public$"))
    page.get_by_label("All scores").check()
    page.get_by_role("button", name="Continue", exact=True).click()
    page.wait_for_url(re.compile("/choices$"))
    page.get_by_label("Epsilon", exact=True).fill("1")
    page.get_by_role("button", name="Compute the promise", exact=True).click()
    page.wait_for_url(re.compile("/promise$"))
    guest.look()
    page.get_by_label("I have read this").check()
    page.get_by_role("button", name="Release", exact=True).click()
    page.wait_for_url(re.compile("/result/"))
    page.wait_for_selector("[data-picture=means][data-live=yes] svg[aria-label]")  # drawn by Vega, from the program
    guest.look()
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download everything").click()
    waiting.value.save_as(folder / "bundle.zip")
    with zipfile.ZipFile(folder / "bundle.zip") as packed:
        packed.extractall(folder / "out")
    page.get_by_role("link", name="Read the report").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("How the reviewers rate")
    guest.look()
    page.go_back()
    return folder / "out" / "release"


@pytest.mark.slow
@pytest.mark.xdist_group("app")
def test_the_built_program_is_the_command_line_as_well(built: Path, tmp_path: Path) -> None:
    desk = Desk(tmp_path)

    def run(*arguments: str) -> str:
        command = [str(built), *arguments]
        ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=desk.environment, check=False)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    assert run("--version").split()[-1] == pv.__version__
    assert json.loads(run("schema", "batch"))["$id"].endswith("batch-1")
    run("simulate", "beta-2-5", "--draws", "2", "--methods", "noisy,baseline", "-o", "sweep", "--workers", "2")
    assert list((tmp_path / "sweep").rglob("*.svg"))
    write_workbook(tmp_path / "reviews.xlsx")
    release = ("release", "reviews.xlsx", "--public", "all", "--score-scale", "1,10", "--epsilon", "1", "-o", "out")
    run(*release)
    assert (tmp_path / "out" / "report.html").is_file()
