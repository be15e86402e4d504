"""A newcomer's walk from a spreadsheet to the published report, and what goes wrong on the way."""

from __future__ import annotations

import re
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

import peerveil as pv
from browser import Served, Visitor, check_access, chromium, program, served, visitor
from peerveil.record.public_files import write_public
from peerveil.simulation.conferences import synthetic_conference
from spreadsheets import Rows, by_openpyxl
from technical import terms_in, unexplained

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        program() is None, reason="Chromium is not installed (or its program is to be named in PEERVEIL_CHROMIUM)"
    ),
]

#: What is cut off: text beyond the edge of the screen or of its chart, and short words broken in two.
CUT = """(words) => {
  const cut = [], page = document.documentElement, short = (text) => text.trim().slice(0, 40);
  const unseen = (part) => part && (
    part.matches("svg, .skip") || getComputedStyle(part).clipPath !== "none" || unseen(part.parentElement)
  );
  if (page.scrollWidth > page.clientWidth) cut.push(`the page is ${page.scrollWidth} wide`);
  for (const part of document.querySelectorAll("body *")) {
    const box = part.getBoundingClientRect();
    if (!box.width || part.closest(".scroll") || unseen(part)) continue;
    if (box.right > page.clientWidth + 1 || box.left < -1) cut.push(`${part.tagName}: ${short(part.textContent)}`);
  }
  for (const text of document.querySelectorAll("svg text")) {
    const [box, frame] = [text, text.closest("svg")].map((part) => part.getBoundingClientRect());
    if (box.width && (box.right > frame.right + 2 || box.left < frame.left - 2)) cut.push(`chart: ${text.textContent}`);
  }
  const pen = document.createElement("canvas").getContext("2d");
  for (const menu of words ? document.querySelectorAll("select") : []) {
    const shown = getComputedStyle(menu), text = menu.selectedOptions[0]?.text ?? "";
    pen.font = shown.font;
    const room = menu.clientWidth - parseFloat(shown.paddingLeft) - parseFloat(shown.paddingRight) - 16;  // an arrow
    if (menu.clientWidth && pen.measureText(text).width > room) cut.push(`menu: ${text}`);
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  while (words && walker.nextNode()) {
    if (unseen(walker.currentNode.parentElement)) continue;
    for (const word of walker.currentNode.data.matchAll(/(?<![\\p{L}\\p{N}])\\p{L}{2,12}(?![\\p{L}\\p{N}])/gu)) {
      range.setStart(walker.currentNode, word.index);
      range.setEnd(walker.currentNode, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
      if (lines.size > 1) cut.push(`word: ${word[0]}`);
    }
  }
  return cut;
}"""

#: The height of the page with everything unfolded that can be: of parts with a name, a browser shows one at a time.
TALLEST = """() => {
  const parts = [...document.querySelectorAll("details")], before = parts.filter((part) => part.open);
  const heights = [null, ...parts.filter((part) => part.name)].map((part) => {
    for (const other of parts) other.open = other === part || !other.name;
    return document.documentElement.scrollHeight;
  });
  for (const part of parts) part.open = false;
  for (const part of before) part.open = true;
  return Math.max(document.documentElement.scrollHeight, ...heights);
}"""

#: To look for what is cut off, all parts are unfolded.
UNFOLD = """for (const part of document.querySelectorAll("details:not([open])")) {
  part.removeAttribute("name");
  part.open = true;
  addEventListener("folded", () => { part.open = false; }, {once: true});
}"""

LARGE_TEXT = "addEventListener('DOMContentLoaded', () => { document.documentElement.style.fontSize = '200%'; })"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(folder=tmp_path_factory.mktemp("page")) as found:
        yield found


def reviews(seed: int = 3) -> Rows:
    conference = synthetic_conference(reviewers=60, rng=np.random.default_rng(seed))
    triples = zip(conference.paper, conference.reviewer, conference.score, strict=True)
    rows = [
        [f"S{paper}", f"person{who}@uni.example", float(score), "AB"[int(paper) % 2]] for paper, who, score in triples
    ]
    return [["Submission ID", "Reviewer e-mail", "Overall score", "Track"], *rows]


def with_metareviews(rows: Rows) -> Rows:
    """The reviews of a system that exports the area chairs' metareviews among them."""
    head, *others = rows
    tracks = {str(row[0]): row[3] for row in others}
    summaries = [[paper, "chair@uni.example", 5.0, tracks[paper], "Metareview"] for paper in sorted(tracks)]
    return [[*head, "Type"], *([*row, "Review"] for row in others), *summaries]


@pytest.fixture(scope="module")
def workbook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sheets = {"Reviews 2026": with_metareviews(reviews()), "Notes": [["Prepared by the programme chairs"], ["Ask Kim"]]}
    return by_openpyxl(tmp_path_factory.mktemp("chair") / "reviews.xlsx", sheets)


class Walk:
    """A visitor's way through the page; every screen is looked at."""

    def __init__(self, guest: Visitor, *, tallest: int, words: bool, shown: int | None = None) -> None:
        self.page: Page = guest.page
        self._guest, self._tallest, self._words, self._shown = guest, tallest, words, shown
        self.texts: dict[str, str] = {}

    def look(self, screen: str, *, tallest: int | None = None, words: bool | None = None) -> None:
        """Check that a screen is not too tall, and that nothing on it is cut off, folded or not."""
        check_access(self._guest)
        if self._shown is not None and screen not in WHOLE:
            assert self.page.evaluate("document.documentElement.scrollHeight") <= self._shown, screen
        most = self._tallest if tallest is None else tallest
        assert self.page.evaluate(TALLEST) <= most, screen
        keep_words = self._words if words is None else words
        assert self.page.evaluate(CUT, keep_words) == [], screen
        self.page.evaluate(UNFOLD)
        assert self.page.evaluate(CUT, keep_words) == [], f"{screen}, unfolded"
        self.texts[screen] = self.page.inner_text("body")
        self.page.evaluate("dispatchEvent(new Event('folded'))")

    def press(self, button: str, to: str) -> None:
        self.page.get_by_role("button", name=button, exact=True).click()
        self.page.wait_for_url(re.compile(to))


#: What is no step of anything: where one begins, and what is published.
WHOLE = ("home", "report")

#: Two screens of a desktop, whatever is unfolded; two of a phone as a step comes, and four with a part unfolded.
SCREENS: dict[str, dict[str, Any]] = {
    "desktop": {"size": (1280, 800), "tallest": 1600},
    "phone": {"size": (360, 800), "tallest": 3200, "shown": 1600},
    "phone, large text": {"size": (360, 740), "tallest": 16 * 740, "large": True},
}


@pytest.mark.parametrize("screen", [*SCREENS, "desktop, new ledger", "phone, new ledger"])
def test_a_newcomer_gets_from_a_spreadsheet_to_the_report(
    screen: str, browser: Browser, site: Served, workbook: Path, tmp_path: Path
) -> None:
    screen, _, ledger = screen.partition(", new ")
    if not ledger:
        walk_to_the_report(screen, browser, site, workbook, tmp_path)
        return
    place = tmp_path / "budgets.db"
    with served("--ledger", str(place), folder=tmp_path) as found:
        walk_to_the_report(screen, browser, found, workbook, tmp_path, ledger=True)
    (account,) = pv.Ledger(str(place)).accounts()
    assert (account.dataset, account.spent) == ("conf2026", 1)


def walk_to_the_report(
    screen: str, browser: Browser, site: Served, workbook: Path, tmp_path: Path, *, ledger: bool = False
) -> None:
    """All screens of a release, with a budget of 3 that is opened in a ledger without any."""
    chosen = SCREENS[screen]
    large = chosen.get("large", False)
    width, height = chosen["size"]
    with visitor(browser, viewport={"width": width, "height": height}) as guest:
        page = guest.page
        if large:
            page.add_init_script(LARGE_TEXT)
        walk = Walk(guest, tallest=chosen["tallest"], words=not large, shown=chosen.get("shown"))
        page.goto(site.address)
        page.wait_for_url(f"{site.home}/")
        walk.look("home")
        page.get_by_role("link", name="Make a release").first.click()
        walk.look("start")
        assert "Excel" in walk.texts["start"]
        page.get_by_label("Drop the file here").set_input_files(workbook)
        page.wait_for_url(re.compile("/file$"))
        walk.look("file")
        assert "60 metareviews" in walk.texts["file"]
        page.get_by_label("Lowest", exact=True).fill("1")
        page.get_by_label("Highest").fill("10")
        walk.press("Continue", "/public$")
        walk.look("public")
        page.get_by_label("All scores").check()
        walk.press("Continue", "/choices$")
        walk.look("choices")
        walk.press("Show the expected accuracy", "/choices#plan$")
        walk.look("choices")
        walk.press("Compute the promise", "/promise$")
        walk.look("promise")
        if width > 1000:
            tops = [page.locator(heading).bounding_box() for heading in ("#not", "#noise")]
            assert len({box and box["y"] for box in tops}) == 1, "headings side by side begin at one height"
        if ledger:
            page.get_by_label("Name of the data set").fill("conf2026")
            page.get_by_label("Epsilon", exact=True).fill("3")
            walk.press("Open the budget", "/promise$")
            expect(page.locator(".accounts")).to_have_text("conf2026, per reviewer: epsilon 3 of 3 left")
            walk.look("promise")
        page.get_by_label("I have read this").check()
        walk.press("Release", "/result/")
        if width > 1000:
            page.wait_for_selector("[data-live=yes] svg")
        walk.look("result")
        for told in ("Reviews 2026", "metareviews"):
            assert told not in walk.texts["result"], "what the chair was told once is not a warning"
        with page.expect_download() as waiting:
            page.get_by_role("link", name="Download everything").click()
        assert waiting.value.suggested_filename == "reviews-release.zip"
        waiting.value.save_as(tmp_path / "release.zip")
        with page.expect_download() as waiting:
            if width < 1000:
                page.locator("summary", has_text="Next steps").click()
            page.get_by_role("link", name="the public scores").click()
        assert waiting.value.suggested_filename == "reviews-public.csv"
        page.get_by_role("link", name="Read the report").click()
        page.wait_for_url(re.compile("/report.html$"))
        walk.look("report", tallest=100 * height, words=not large)
        with zipfile.ZipFile(tmp_path / "release.zip") as packed:
            assert packed.read("release/report.html") == guest.context.request.get(page.url).body()
        assert len(walk.texts) <= 8
        assert not guest.complaints
    check_terms("\n".join(walk.texts.values()))


def check_terms(shown: str) -> None:
    """Every technical word that is shown is explained."""
    used = terms_in(shown)
    assert len(used) >= 40, used
    assert unexplained(used) == []


def open_file(page: Page, site: Served, file: Path) -> None:
    page.goto(f"{site.home}/chair")
    page.get_by_label("Drop the file here").set_input_files(file)


@pytest.fixture
def guest(browser: Browser, site: Served) -> Iterator[Visitor]:
    with visitor(browser) as found:
        found.page.goto(site.address)
        found.page.wait_for_url(f"{site.home}/")
        yield found
        assert not found.complaints


def test_a_chair_chooses_the_sheet_of_a_workbook(guest: Visitor, site: Served, tmp_path: Path) -> None:
    page = guest.page
    second = reviews(4)[:121]
    book = by_openpyxl(tmp_path / "rounds.xlsx", {"Round 1": reviews(), "Round 2": second, "Notes": [["Ask Kim"]]})
    open_file(page, site, book)
    menu = page.get_by_label("Sheet of the workbook")
    expect(menu).to_be_focused()  # either could be meant
    expect(page.get_by_role("alert")).to_contain_text("“Sheet of the workbook”")
    assert menu.locator("option").all_inner_texts() == ["detected", "Round 1", "Round 2", "Notes"]
    check_access(guest)
    menu.select_option("Round 2")
    page.get_by_role("button", name="Read again").click()
    expect(page.locator(".facts")).to_contain_text("120")
    expect(page.get_by_label("Sheet of the workbook")).to_have_value("Round 2")
    page.get_by_label("Sheet of the workbook").select_option("Round 1")
    page.get_by_role("button", name="Continue").click()
    page.wait_for_url(re.compile("/public$"))
    page.go_back()
    page.reload()
    expect(page.locator(".facts")).to_contain_text("240")


def test_a_wrong_scale_is_told_once_at_its_field(guest: Visitor, site: Served, workbook: Path) -> None:
    page = guest.page
    open_file(page, site, workbook)
    page.wait_for_url(re.compile("/file$"))
    page.get_by_label("Lowest", exact=True).fill("1")
    page.get_by_label("Highest").fill("5")
    page.get_by_role("button", name="Continue").click()
    page.wait_for_url(re.compile(r"/file\?failed="))
    expect(page.get_by_role("alert")).to_have_count(1)
    expect(page.get_by_role("alert")).to_contain_text("lies outside the declared scale 1 to 5, as do")
    assert page.get_by_role("alert").inner_text().count("outside") == 1
    expect(page.get_by_label("Lowest", exact=True)).to_be_focused()
    expect(page.get_by_label("Highest")).to_have_value("5")
    check_access(guest)


@dataclass(frozen=True)
class Wrong:
    """A file that is wrong: the step and the label of its field, and what is said."""

    step: str
    name: str
    content: str
    label: str
    words: str


WRONG = (
    Wrong("file", "mapping.toml", "paper = 3\n", "A mapping", "mapping.toml"),
    Wrong("public", "public.csv", "paper,score\nS0,eleven\n", "The file of public scores", "public.csv, line 2"),
    Wrong("choices", "tracks.csv", "paper,track\nS0,A\n", "The table of tracks", "59 of 60 papers are in no group"),
)


@pytest.mark.parametrize("wrong", WRONG, ids=[wrong.step for wrong in WRONG])
def test_a_file_that_is_wrong_is_told_where_it_was_given(
    wrong: Wrong, guest: Visitor, site: Served, workbook: Path, tmp_path: Path
) -> None:
    page, step, label = guest.page, wrong.step, wrong.label
    file = tmp_path / wrong.name
    file.write_text(wrong.content)
    open_file(page, site, workbook)
    page.wait_for_url(re.compile("/file$"))
    page.get_by_label("Lowest", exact=True).fill("1")
    page.get_by_label("Highest").fill("10")
    if step == "file":
        page.get_by_text("Answers from an earlier time").click()
        page.get_by_label(label).set_input_files(file)
        expect(page.locator(".drop:has(#mapping) .drop-state")).to_have_text(wrong.name)
        page.get_by_role("button", name="Read again").click()
    else:
        page.get_by_role("button", name="Continue").click()
        page.wait_for_url(re.compile("/public$"))
        page.get_by_label("Some scores" if step == "public" else "All scores").check()
        if step == "public":
            page.get_by_label(label).set_input_files(file)
            page.get_by_label("Reviews per reviewer, if all have the same").fill("4")
        page.get_by_role("button", name="Continue").click()
        page.wait_for_url(re.compile("/choices$"))
        page.get_by_text("Title, authors and licence of the report").click()
        page.get_by_label("Title", exact=True).fill("Kept")
        if step == "choices":
            page.get_by_text("One release per track").click()
            page.get_by_label("By a table").check()
            page.get_by_label(label).set_input_files(file)
            expect(page.locator(".drop:has(#groups) .drop-state")).to_have_text(wrong.name)
        page.get_by_role("button", name="Compute the promise").click()
    page.wait_for_url(re.compile(rf"/{step}\?failed="))
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text(wrong.words)
    expect(page.get_by_label(label)).to_be_focused()
    assert "--" not in alert.inner_text()
    check_access(guest)
    if step == "public":
        expect(page.get_by_label("Reviews per reviewer, if all have the same")).to_have_value("4")
    if step == "choices":
        expect(page.get_by_label("Title", exact=True)).to_have_value("Kept")


def test_every_part_of_the_choices_fits_on_two_screens(browser: Browser, site: Served) -> None:
    """With criteria, so that all quantities are offered."""
    with visitor(browser, viewport={"width": 1280, "height": 800}) as guest:
        page = guest.page
        page.goto(site.address)
        page.wait_for_url(f"{site.home}/")
        page.goto(f"{site.home}/chair")
        page.get_by_role("button", name=re.compile("^Try it with")).click()
        page.wait_for_url(re.compile("/file$"))
        walk = Walk(guest, tallest=1600, words=True)
        walk.press("Continue", "/public$")
        page.get_by_label("All scores").check()
        walk.press("Continue", "/choices$")
        heights: dict[str, int] = {}
        for part in page.locator("form > details").all():
            part.locator("summary").first.click()
            name = part.locator("summary").first.inner_text()
            for choice in [None, *part.get_by_role("radio").all()]:
                if choice is not None:
                    choice.check()
                heights[f"{name} {len(heights)}"] = page.evaluate("document.documentElement.scrollHeight")
                assert page.evaluate(CUT, True) == []
            check_access(guest)
            assert page.locator("form > details[open]").count() == 1, "one part at a time"
        assert len(heights) >= 11
        assert max(heights.values()) <= 1600, heights


def at_the_choices(guest: Visitor, site: Served, workbook: Path, screen: str = "desktop") -> Walk:
    """The walk of a chair who has opened a file, all of whose scores are public."""
    chosen = SCREENS[screen]
    page = guest.page
    open_file(page, site, workbook)
    page.wait_for_url(re.compile("/file$"))
    walk = Walk(guest, tallest=chosen["tallest"], words=True, shown=chosen.get("shown"))
    walk.press("Continue", "/public$")
    page.get_by_label("All scores").check()
    walk.press("Continue", "/choices$")
    return walk


def test_tracks_fit_on_a_phone(browser: Browser, site: Served, workbook: Path) -> None:
    width, height = SCREENS["phone"]["size"]
    with visitor(browser, viewport={"width": width, "height": height}) as guest:
        guest.page.goto(site.address)
        guest.page.wait_for_url(f"{site.home}/")
        page, walk = guest.page, at_the_choices(guest, site, workbook, "phone")
        page.get_by_text("One release per track").click()
        page.get_by_label("By a column").check()
        walk.press("Compute the promise", "/promise$")
        walk.look("promise")
        page.get_by_label("I have read this").check()
        walk.press("Release", "/result/")
        walk.look("tracks")
        assert not guest.complaints


def test_tracks_from_a_column_to_their_reports(guest: Visitor, site: Served, workbook: Path, tmp_path: Path) -> None:
    page, walk = guest.page, at_the_choices(guest, site, workbook)
    page.get_by_text("Advanced options").click()
    page.get_by_label("Noise", exact=True).select_option("histogram")
    page.get_by_text("One release per track").click()
    page.get_by_label("By a column").check()
    expect(page.get_by_label("Column of tracks")).to_have_value("Track")
    expect(page.get_by_label("The table of tracks")).not_to_be_visible()
    check_access(guest)
    walk.press("Compute the promise", "/promise$")
    walk.look("promise")
    expect(page.locator("tbody tr")).to_have_count(2)
    expect(page.locator(".promise")).to_contain_text("All tracks together: epsilon = 2 per reviewer")
    page.get_by_label("I have read this").check()
    walk.press("Release", "/result/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Released: 2 tracks")
    walk.look("tracks")
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download of A").click()
    assert waiting.value.suggested_filename == "reviews-A-release.zip"
    page.get_by_role("link", name="Findings and charts of B").click()
    page.wait_for_selector("[data-picture=means][data-live=yes] svg")
    walk.look("track")
    page.get_by_role("link", name="Read the report").click()
    expect(page.locator("body")).to_contain_text("epsilon = 1 per reviewer")
    page.go_back()
    page.get_by_role("link", name="All tracks").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Released: 2 tracks")


def test_tables_of_a_release_are_drawn(guest: Visitor, site: Served, workbook: Path, tmp_path: Path) -> None:
    page, walk = guest.page, at_the_choices(guest, site, workbook)
    walk.press("Compute the promise", "/promise$")
    page.get_by_label("I have read this").check()
    walk.press("Release", "/result/")
    walk.press("Tables for researchers", "/tables/result/")
    walk.look("tables")
    assert "20 possible tables" in walk.texts["tables"]
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download the tables").click()
    waiting.value.save_as(tmp_path / "tables.zip")
    with zipfile.ZipFile(tmp_path / "tables.zip") as packed:
        assert len([name for name in packed.namelist() if name.endswith(".csv")]) == 20
        assert not any(b"uni.example" in packed.read(name) for name in packed.namelist())


GROUPS = {"shares": "Each group for itself", "difference": "The difference of two groups"}


@contextmanager
def asked_about_groups(
    question: str, browser: Browser, site: Served, workbook: Path, tmp_path: Path
) -> Iterator[tuple[Visitor, Walk]]:
    """A visitor at the choices, who has stated the groups of reviewers."""
    people = [f"person{who}@uni.example,{('senior', 'junior')[who % 2]}" for who in range(60)]
    (tmp_path / "people.csv").write_text("\n".join(["Reviewer,Seniority", *people]))
    with visitor(browser, viewport={"width": 1280, "height": 800}) as guest:
        page = guest.page
        page.goto(site.address)
        page.wait_for_url(f"{site.home}/")
        walk = at_the_choices(guest, site, workbook)
        page.get_by_text("Groups of reviewers", exact=True).first.click()
        page.get_by_label(GROUPS[question]).check()
        page.get_by_label("The table of reviewers").set_input_files(tmp_path / "people.csv")
        expect(page.locator("#columns option")).to_have_count(1)
        page.get_by_label("Column of groups").fill("Seniority")
        page.get_by_label("The groups").fill("senior,junior")
        yield guest, walk


@pytest.mark.parametrize("question", GROUPS)
def test_groups_of_reviewers_from_a_table_to_the_report(
    question: str, browser: Browser, site: Served, workbook: Path, tmp_path: Path
) -> None:
    with asked_about_groups(question, browser, site, workbook, tmp_path) as (guest, walk):
        page = guest.page
        page.get_by_label("Epsilon", exact=True).fill("3")
        walk.press("Show the expected accuracy", "/choices#plan$")
        expect(page.locator(".plan tbody tr").first).to_be_visible()
        walk.look("choices")
        walk.press("Compute the promise", "/promise$")
        expect(page.locator(".summary")).to_contain_text("by Seniority")
        walk.look("promise")
        page.get_by_label("I have read this").check()
        walk.press("Release", "/result/")
        expect(page.locator(".picture svg")).to_be_visible()
        walk.look("result")
        with page.expect_download() as waiting:
            page.get_by_role("link", name="Download everything").click()
        assert waiting.value.suggested_filename == f"reviews-{question}.zip"
        waiting.value.save_as(tmp_path / "release.zip")
        page.get_by_role("link", name="Read the report").click()
        page.wait_for_url(re.compile("/report.html$"))
        with zipfile.ZipFile(tmp_path / "release.zip") as packed:
            assert packed.read("release/report.html") == guest.context.request.get(page.url).body()
        assert "uni.example" not in page.content() + "".join(walk.texts.values())
        assert not guest.complaints


@pytest.mark.parametrize("question", GROUPS)
def test_groups_in_each_track_from_a_table_to_their_reports(
    question: str, browser: Browser, site: Served, workbook: Path, tmp_path: Path
) -> None:
    with asked_about_groups(question, browser, site, workbook, tmp_path) as (guest, walk):
        page = guest.page
        page.get_by_text("One release per track").click()
        page.get_by_label("By a column").check()
        page.get_by_label("Reviewers and tracks").select_option("yes")
        walk.press("Compute the promise", "/choices$")
        field = page.get_by_label("Reviewers and tracks")
        expect(field).to_be_visible()
        expect(field).to_have_attribute("aria-invalid", "true")
        assert page.evaluate("document.documentElement.scrollHeight") <= 1600
        field.select_option("")
        walk.press("Compute the promise", "/promise$")
        expect(page.locator("tbody tr")).to_have_count(2)
        expect(page.locator(".promise")).to_contain_text("All tracks together: epsilon = 2 per reviewer")
        walk.look("promise")
        page.get_by_label("I have read this").check()
        walk.press("Release", "/result/")
        expect(page.get_by_role("heading", level=1)).to_have_text("Released: 2 tracks")
        walk.look("tracks")
        with page.expect_download() as waiting:
            page.get_by_role("link", name="Download everything").click()
        waiting.value.save_as(tmp_path / "release.zip")
        page.get_by_role("link", name="Numbers and chart of B").click()
        expect(page.locator(".picture svg")).to_be_visible()
        walk.look("track")
        page.get_by_role("link", name="Read the report").click()
        page.wait_for_url(re.compile("/report.html$"))
        with zipfile.ZipFile(tmp_path / "release.zip") as packed:
            assert packed.read("release/B/report.html") == guest.context.request.get(page.url).body()
        page.go_back()
        page.get_by_role("link", name="All tracks").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Released: 2 tracks")
        assert "uni.example" not in page.content() + "".join(walk.texts.values())
        assert not guest.complaints


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The releases of three years as zip files, with their public scores."""
    folder = tmp_path_factory.mktemp("published")
    for year in (2024, 2025, 2026):
        conference = synthetic_conference(reviewers=60, rng=np.random.default_rng(year))
        people = [f"person{who}" for who in conference.reviewer]
        papers = [f"S{paper}" for paper in conference.paper]
        made = pv.Reviews.from_columns(papers, people, conference.score, scale=(1, 10))
        write_public(made.public("all"), folder / f"{year}.csv")
        noise, about = pv.Histogram(epsilon=3.0, bins=5), pv.About(conference="Conf", year=year)
        release = pv.release(made, public="all", mechanism=noise, estimator="bayes", about=about)
        release.save(folder / str(year))
        shutil.make_archive(str(folder / str(year)), "zip", folder / str(year))
    return folder


def give(page: Page, role: str, *files: Path) -> None:
    """Choose files, and wait until they are taken."""
    page.locator(f"[data-study-drop={role}] input").set_input_files(files)
    expect(page.locator(f"[data-study-drop={role}] .drop-state")).not_to_have_text(re.compile("^$|…"))


@pytest.mark.parametrize("screen", ["desktop", "phone"])
def test_every_screen_of_a_researcher_fits_whatever_is_unfolded(
    screen: str, browser: Browser, site: Served, published: Path
) -> None:
    """On two screens of a desktop, and on four of a phone, where charts stand below each other."""
    chosen = SCREENS[screen]
    width, height = chosen["size"]
    with visitor(browser, viewport={"width": width, "height": height}, color_scheme="dark") as guest:
        page = guest.page
        page.goto(site.address)
        page.wait_for_url(f"{site.home}/")
        walk = Walk(guest, tallest=chosen["tallest"], words=True, shown=chosen.get("shown"))
        page.goto(f"{site.home}/researcher")
        walk.look("refine")
        give(page, "noisy", published / "2025.zip")
        give(page, "public_file", published / "2025.csv")
        walk.look("refine our own")
        walk.press("Refine", "/result/")
        walk.look("refined")
        assert "These are the published numbers" in walk.texts["refined"]
        with page.expect_download() as waiting:
            page.get_by_role("link", name="Download everything").click()
        assert waiting.value.suggested_filename == "Conf-2025-refined.zip"
        walk.press("Draw tables", "/tables/result/")
        walk.look("tables")
        with page.expect_download() as waiting:
            page.get_by_role("link", name="Download the tables").click()
        assert waiting.value.suggested_filename == "Conf-2025-tables.zip"
        page.go_back()
        page.get_by_role("link", name="Refine with other settings").click()
        page.get_by_text("Advanced options").click()
        page.get_by_label("Estimator").select_option("projection")
        walk.press("Refine", "/result/")
        walk.look("refined again")
        page.goto(f"{site.home}/verify")
        walk.look("verify")
        give(page, "release", published / "2025.zip")
        walk.press("Verify", "/result/")
        walk.look("checked alone")
        page.get_by_role("link", name="Add the public scores").click()
        give(page, "public_file", published / "2025.csv")
        walk.press("Verify", "/result/")
        walk.look("verified")
        page.get_by_role("link", name="Check with other files").click()
        page.locator("[data-study-drop=public_file] input").set_input_files(published / "2026.csv")
        expect(page.locator("[data-study-drop=public_file] .drop-state")).to_have_text("2026.csv")
        walk.press("Verify", "/result/")
        walk.look("not of these scores")
        assert "The public scores are not those that this release was made from" in walk.texts["not of these scores"]
        page.goto(f"{site.home}/compare")
        page.get_by_label("The releases").set_input_files([published / f"{year}.zip" for year in (2024, 2025, 2026)])
        page.wait_for_url(re.compile("/compare/"))
        walk.look("compare")
        walk.press("Compare", "/result/")
        walk.look("compared")
        for address in ("chair", "ledger"):
            page.goto(f"{site.home}/{address}")
            walk.look(address)
        assert not guest.complaints
    check_terms("\n".join(walk.texts.values()))


def test_what_a_corrected_file_holds_is_shown_before_going_on(guest: Visitor, site: Served, tmp_path: Path) -> None:
    page = guest.page
    head, *rows = reviews(5)
    book = by_openpyxl(tmp_path / "own.xlsx", {"Reviews": [[*head[:2], "Points", head[3]], *rows]})
    open_file(page, site, book)
    page.wait_for_url(re.compile(r"/file\?failed="))
    page.get_by_label("Column of scores").select_option("Points")
    page.get_by_label("Lowest", exact=True).fill("1")
    page.get_by_label("Highest").fill("10")
    page.get_by_role("button", name="Continue").click()
    page.wait_for_url(re.compile("/file$"))  # nobody has seen yet what was read
    expect(page.locator(".facts")).to_contain_text("240")
    expect(page.get_by_label("Highest")).to_have_value("10")
    page.get_by_role("button", name="Continue").click()
    page.wait_for_url(re.compile("/public$"))


def test_going_back_finds_the_files_and_paper_is_white(guest: Visitor, site: Served, published: Path) -> None:
    page = guest.page
    page.goto(f"{site.home}/verify")
    give(page, "release", published / "2025.zip")
    page.get_by_role("button", name="Verify", exact=True).click()
    page.wait_for_url(re.compile("/result/"))
    page.go_back()
    expect(page.locator("[data-study-drop=release]")).to_contain_text("release.json")
    give(page, "public_file", published / "2025.csv")
    page.get_by_role("button", name="Verify", exact=True).click()
    page.wait_for_url(re.compile("/result/"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("Verified")
    page.goto(f"{site.home}/researcher")
    page.emulate_media(color_scheme="dark")
    give(page, "noisy", published / "2025.zip")
    give(page, "public_file", published / "2025.csv")
    page.get_by_role("button", name="Refine", exact=True).click()
    page.wait_for_url(re.compile("/result/"))
    page.wait_for_selector("[data-picture=means][data-live=yes] .live svg")
    ink = "getComputedStyle(document.querySelector('h1')).color"
    assert page.evaluate(ink) == "rgb(232, 234, 237)"
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(ink) == "rgb(27, 31, 36)"
    expect(page.locator("[data-picture=means] .live")).to_be_hidden()
    expect(page.locator("[data-picture=means] .still svg")).to_be_visible()
