"""The report in a real browser: nothing is cut off, on a phone, with large text, and with wide fonts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

import peerveil as pv
from browser import chromium, program
from made_up import release, reviews_of_groups
from marks import mostly_slow
from peerveil.inference.expected_error import ExpectedError
from peerveil.reporting import charts
from peerveil.reporting.batch_page import batch_html
from peerveil.reporting.charts import look
from peerveil.reporting.charts.intervals import Row, intervals
from peerveil.reporting.terms import Terms
from reporting.test_charts import dealt, sweep, with_counts

pytestmark = pytest.mark.skipif(
    program() is None, reason="Chromium is not installed (or its program is to be named in PEERVEIL_CHROMIUM)"
)

#: What leaves the page or its chart, what is clipped, what overlaps in a chart, and the smallest letters of charts.
MEASURE = """() => {
  const found = {beyond: [], cut: [], clipped: [], over: [], smallest: 1e9};
  if (document.documentElement.scrollWidth > innerWidth) found.beyond.push("the page");
  for (const e of document.querySelectorAll("main *:not(svg *)")) {
    const box = e.getBoundingClientRect();
    const hidden = e.closest("thead") && getComputedStyle(e.closest("thead")).position === "absolute";
    if (hidden || (innerWidth > 640 && e.closest(".scroll"))) continue;  // what is wide scrolls there, but on no phone
    if (box.right > innerWidth + 1 || box.left < -1) found.beyond.push(e.tagName + " " + e.className);
    const shown = getComputedStyle(e);
    if (shown.display === "inline" || shown.display === "contents") continue;
    if (e.scrollWidth > e.clientWidth + 1) found.clipped.push(e.tagName + " " + e.className);
    if (shown.overflow !== "visible" && e.scrollHeight > e.clientHeight + 1) found.clipped.push(e.tagName);
  }
  for (const svg of document.querySelectorAll("figure svg")) {
    const frame = svg.getBoundingClientRect(), scale = frame.width / svg.viewBox.baseVal.width;
    const texts = [...svg.querySelectorAll("text")].filter(t => t.textContent && getComputedStyle(t).opacity !== "0");
    const boxes = texts.map(t => [t.textContent, t.getBoundingClientRect()]);
    for (const t of texts) found.smallest = Math.min(found.smallest, scale * parseFloat(getComputedStyle(t).fontSize));
    boxes.forEach(([words, box], i) => {
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 ||
          box.bottom > frame.bottom + 1) found.cut.push(words);
      for (const [other, b] of boxes.slice(i + 1)) {
        const width = Math.min(box.right, b.right) - Math.max(box.left, b.left);
        const height = Math.min(box.bottom, b.bottom) - Math.max(box.top, b.top);
        if (width > 2 && height > 4) found.over.push(words + " / " + other);
      }
    });
  }
  return found;
}"""


#: Numbers that stand on two lines.
BROKEN = r"""() => {
  const broken = [], range = document.createRange();
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode;
    const part = text.parentElement, head = part.closest("thead");
    if (part.closest("svg, code, pre, a, .by") || (head && getComputedStyle(head).position === "absolute")) continue;
    for (const found of text.data.matchAll(/(?<![\p{L}\d.,/])\d[\d.,]*(?![\p{L}\d/])/gu)) {
      range.setStart(text, found.index);
      range.setEnd(text, found.index + found[0].length);
      const boxes = [...range.getClientRects()].filter((box) => box.width > 1);
      const lines = new Set(boxes.map((box) => Math.round(box.top)));
      if (lines.size > 1) broken.push(`${part.tagName} ${part.className}: ${found[0]}`);
    }
  }
  return broken;
}"""


#: Usual words of what stands out that stand on two lines.
SPLIT = r"""() => [...document.querySelectorAll("h1, .human, .findings li:first-child")].flatMap((part) => {
  const text = part.firstChild, range = document.createRange();
  return [...text.data.matchAll(/\p{L}{1,12}(?!\p{L})/gu)].filter((word) => {
    range.setStart(text, word.index);
    range.setEnd(text, word.index + word[0].length);
    return new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1;
  }).map((word) => word[0]);
})"""


#: Whether the first chart stands beside the numbers that follow it.
BESIDE = """() => {
  const [chart, numbers] = [".beside figure", ".beside .numbered"].map((name) => document.querySelector(name));
  const [left, right] = [chart.getBoundingClientRect(), numbers.getBoundingClientRect()];
  return right.left >= left.right && Math.abs(right.top - left.top) < 2;
}"""

#: Lines of cards whose values do not begin below each other.
RAGGED = """() => [...document.querySelectorAll("table.ranks, table.numbers, table.compared")].flatMap((table) => {
  const starts = [...table.querySelectorAll("tbody td")].filter((cell) => cell.textContent).map((cell) => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    return [Math.round(range.getBoundingClientRect().left), cell.textContent];
  });
  return starts.filter(([left]) => left !== starts[0][0]).map(([, text]) => text);
})"""

NOTHING: dict[str, list[str]] = {"beyond": [], "cut": [], "clipped": [], "over": []}

#: Width and height in pixels of what the margins of the report leave of a page.
PAPER = {"A4": (680, 1017), "Letter": (702, 950)}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


def wild(made: pv.Release) -> pv.Release:
    """The release, with noise far beyond its means."""
    return replace(made, noisy=made.values + 300 * np.sin(np.arange(made.values.size)))


RELEASES = {
    "counts": lambda: with_counts(dealt(release(300))),
    "vector": lambda: wild(dealt(release(300))),
    "few": lambda: release(20, known=False),
    "difference": lambda: dealt(release(150, "miscalibration")),
}
ABOUT = pv.About(
    title="How strict the reviewers of a conference with a long name were",
    conference="International Conference on Something Particular",
    year=2026,
    authors=["Ada Lovelace", "Alan Turing"],
    contact="programme-chairs@conference.example.org",
    url="https://conference.example.org/2026/a-long-address-of-a-page/reviewers/",
)


def opened(browser: Browser, folder: Path, width: int, *, dark: bool = False) -> Page:
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme="dark" if dark else "light")
    page.goto((folder / "report.html").as_uri())
    return page


@pytest.mark.parametrize("name", mostly_slow(list(RELEASES)))
def test_nothing_is_cut_off(browser: Browser, tmp_path: Path, name: str) -> None:
    folder = replace(RELEASES[name](), terms=Terms(licence="CC-BY-4.0", about=ABOUT)).save(tmp_path / "out")
    for width, percent, least in ((360, 100, 12), (360, 200, 11), (768, 100, 12), (1200, 100, 15.5), (1200, 200, 15.5)):
        page = opened(browser, folder, width)
        page.add_style_tag(content=f"html{{font-size:{percent}%}}")
        measured: dict[str, Any] = page.evaluate(MEASURE)
        smallest = measured.pop("smallest")
        assert measured == NOTHING, (width, percent)
        assert page.evaluate(BROKEN) == [], (width, percent)
        assert page.evaluate(SPLIT) == [], (width, percent)
        assert smallest >= least, "letters of charts are about as large as the text"
        assert (width, percent) != (360, 100) or page.evaluate(RAGGED) == []
        page.close()


def many_lines() -> look.Picture:
    """A plan with four mechanisms and three estimators, whose lines end near each other."""
    rows = [
        (mechanism, estimator, epsilon, (0.2 + 0.01 * i + 0.003 * j) / epsilon, 0.01)
        for i, mechanism in enumerate(("laplace", "histogram", "gaussian", "sinh-normal"))
        for j, estimator in enumerate(("projection", "safe", "bayes"))
        for epsilon in (0.3, 1.0, 3.0)
    ]
    return charts.error_against_epsilon(rows, chosen=1.0, alone=0.07)


def one_budget() -> look.Picture:
    """A plan at a single budget, whose points have the names of estimators."""
    errors = {"laplace": (0.7, 0.34, 0.33), "histogram": (0.2, 0.18, 0.13)}
    names = ("projection", "safe", "bayes")
    rows = [
        (name, names[place], 1.0, error, 0.01) for name, three in errors.items() for place, error in enumerate(three)
    ]
    return charts.error_against_epsilon(rows, alone=0.33)


def years(number: int) -> look.Picture:
    """Deciles over years, whose names do not all fit below them."""
    names = [str(2010 + place) for place in range(number)]
    lines = {
        f"{share} %": [(name, middle + place / 9, middle - 0.3, middle + 1.6) for place, name in enumerate(names)]
        for share, middle in ((10, 3.0), (50, 5.0), (90, 7.0))
    }
    return charts.over_years(lines, "ratings", title="Deciles over years", names=names, level=0.9)


def unclear() -> look.Picture:
    """Intervals around zero, whose words are above the mark there."""
    rows = [
        Row("observed", None, -1.0, 1.0, "cannot be told (-1.00 to 1.00)"),
        Row("the trait", 0.1, -0.3, 0.4, "0.10"),
    ]
    return intervals(rows, title="Unclear", axis="correlation", none="no correlation", level=0.9, domain=(-1.0, 1.0))


def steps(*shares: float) -> pv.Release:
    """A release whose means jump at these shares of the reviewers, and are equal between."""
    made = release(300)
    values = 1 + 8 * np.mean([np.arange(300) >= 300 * share for share in shares], axis=0)
    assert made.outlook is not None
    outlook = replace(made.outlook, lower=values - 0.4, upper=values + 0.3)
    return replace(made, values=values, lower=values - 1.5, upper=values + 1.5, outlook=outlook)


def from_zero() -> pv.Release:
    """A release whose means reach from 0 to 1, as shares do."""
    made, values = release(300), np.linspace(0, 1, 300)
    outlook = ExpectedError(expected_rmse=0.1, lower=np.maximum(values - 0.1, 0), upper=np.minimum(values + 0.1, 1))
    return replace(made, values=values, lower=np.zeros(300), upper=np.ones(300), outlook=outlook)


COMPARED: dict[str, Callable[[], look.Picture]] = {
    "shares": lambda: charts.cumulative(from_zero()),
    "bounds of shares": lambda: charts.proven(from_zero()),
    "bounds of late steps": lambda: charts.proven(steps(0.6, 0.75, 0.9)),
    "bounds of early steps": lambda: charts.proven(steps(0.05, 0.1, 0.2)),
    "bounds of many": lambda: charts.proven(release(1000)),
    "cumulative": lambda: charts.cumulative(release(1000, spread=0.3)),
    "plan": many_lines,
    "one budget": one_budget,
    "three years": lambda: years(3),
    "ten years": lambda: years(10),
    "unclear": unclear,
    "two": lambda: charts.comparison({"2025": release(300), "2026": release(200, spread=1.5)}),
    "six": lambda: charts.comparison({f"Conference {i}, track {i}": release(50, spread=1 + i / 10) for i in range(6)}),
    "sweep": lambda: charts.errors_against_setting(sweep()),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", COMPARED)
def test_names_of_lines_are_whole_and_apart(browser: Browser, name: str) -> None:
    page = browser.new_page(viewport={"width": 800, "height": 800})
    page.set_content(f"<main><figure>{charts.to_svg(COMPARED[name]())}</figure></main>")
    measured: dict[str, Any] = page.evaluate(MEASURE)
    assert measured.pop("smallest") >= 14
    assert measured == NOTHING
    page.close()


@pytest.mark.promise("P-FORMAT-1")
@pytest.mark.slow
@pytest.mark.parametrize("name", RELEASES)
def test_paper_shows_everything_in_light_colours(browser: Browser, tmp_path: Path, name: str) -> None:
    folder = replace(RELEASES[name](), terms=Terms(licence="CC-BY-4.0", about=ABOUT)).save(tmp_path / "out")
    for size, (width, height) in PAPER.items():
        page = opened(browser, folder, width, dark=True)
        page.emulate_media(media="print", color_scheme="dark")
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        measured = page.evaluate(MEASURE)
        assert measured.pop("smallest") >= 10, "about 8 points"
        assert measured == NOTHING, size
        # What is not to be split fits on a page.
        whole = page.eval_on_selector_all("table, .pictures, .promise, pre, li", "all => all.map(e => e.offsetHeight)")
        assert max(whole) <= height, size
        assert page.eval_on_selector(".pictures", "e => e.getBoundingClientRect().bottom") <= height, (
            "on the first page"
        )
        pages = page.pdf(format=size, prefer_css_page_size=False).count(b"/Type /Page\n")
        assert 4 <= pages <= 6, size
        page.close()


@pytest.mark.slow
def test_the_page_of_a_comparison_shows_everything(browser: Browser, tmp_path: Path) -> None:
    names = ("International Conference on Something Particular 2025", "the same in 2026")
    compared = pv.compare(release(300), replace(release(200, spread=1.5), findings=()))
    place = compared.save(tmp_path / "compared.html", first=names[0], second=names[1])
    for width, percent, media in (
        (360, 100, "screen"),
        (360, 200, "screen"),
        (1200, 200, "screen"),
        (680, 100, "print"),
    ):
        page = browser.new_page(viewport={"width": width, "height": 800})
        page.goto(place.as_uri())
        page.emulate_media(media=cast('Literal["screen", "print"]', media))
        if percent != 100:
            page.add_style_tag(content=f"html{{font-size:{percent}%}}")
        measured = page.evaluate(MEASURE)
        del measured["smallest"]
        assert measured == NOTHING, (width, percent, media)
        assert page.evaluate(BROKEN) == [], (width, percent, media)
        assert (width, percent) != (360, 100) or page.evaluate(RAGGED) == []
        page.close()


def test_charts_of_a_comparison_begin_on_its_first_page(browser: Browser, tmp_path: Path) -> None:
    """They do not all fit on one page, and must not be kept together."""
    page = browser.new_page()
    page.goto(pages(tmp_path)["years"].as_uri())
    page.emulate_media(media="print")
    page.evaluate("document.querySelector('main').innerHTML = '<div class=pictures><figure></figure></div>'")
    assert page.eval_on_selector(".pictures", "e => getComputedStyle(e).breakInside") == "auto"
    assert page.eval_on_selector(".pictures figure", "e => getComputedStyle(e).breakInside") == "avoid"
    page.close()


def pages(folder: Path) -> dict[str, Path]:
    """The page of a comparison of many years, and that of a batch."""
    about = replace(release(100), terms=Terms(about=pv.About(conference="A conference with a long name")))
    many = [replace(about, terms=Terms(about=replace(about.terms.about, year=2015 + place))) for place in range(10)]
    outcome: dict[str, Any] = {"status": "released", "claim": "epsilon = 1 per reviewer (pure differential privacy)"}
    outcome |= {"expected_error": 0.14, "verdict": "adds nothing", "folder": "a-venue-with-a-very-long-name-2026"}
    outcomes = [outcome | {"name": f"a-venue-with-a-very-long-name-{place}"} for place in range(4)]
    counts = {"venues": 4, "released": 4, "stands": 0, "failed": 0}
    batch = folder / "batch.html"
    batch.write_text(batch_html({"outcomes": outcomes, **counts}), encoding="utf-8")
    return {"years": pv.compare(many[0], many[1], *many[2:]).save(folder / "years.html"), "batch": batch}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["years", "batch"])
def test_pages_of_many_releases_show_everything(browser: Browser, tmp_path: Path, name: str) -> None:
    place = pages(tmp_path)[name]
    for width, percent, media in (
        (360, 100, "screen"),
        (360, 200, "screen"),
        (768, 100, "screen"),
        (680, 100, "print"),
    ):
        page = browser.new_page(viewport={"width": width, "height": 800})
        page.goto(place.as_uri())
        page.emulate_media(media=cast('Literal["screen", "print"]', media))
        page.add_style_tag(content=f"@media screen{{html{{font-size:{percent}%}}}}")
        measured = page.evaluate(MEASURE)
        del measured["smallest"]
        assert measured == NOTHING, (width, percent, media)
        assert page.evaluate(BROKEN) == [], (width, percent, media)
        page.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["shares", "difference", "correlation"])
def test_reports_about_groups_show_everything(browser: Browser, tmp_path: Path, kind: str) -> None:
    reviews, groups = reviews_of_groups(tmp_path), ("senior programme committee", "junior")
    if kind == "shares":
        made: Any = pv.release_by(reviews, by="seniority", values=groups, public="all", epsilon=3.0)
    elif kind == "difference":
        made = pv.effect(reviews, by="seniority", compare=groups, public="all", epsilon=3.0)
    else:
        made = pv.correlate(reviews, reviews, public="all", epsilon=3.0, names=("2025", "2026"), bins=3)
    replace(made, terms=Terms(licence="CC-BY-4.0", about=ABOUT)).save(tmp_path / "out")
    for width, percent, least in ((360, 100, 12), (360, 200, 11), (768, 100, 12), (1200, 100, 15.5), (1200, 200, 15.5)):
        page = opened(browser, tmp_path / "out", width)
        page.add_style_tag(content=f"html{{font-size:{percent}%}}")
        measured: dict[str, Any] = page.evaluate(MEASURE)
        smallest = measured.pop("smallest")
        assert measured == NOTHING, (width, percent)
        assert smallest >= least, "letters of charts are about as large as the text"
        assert page.evaluate(BROKEN) == [], (width, percent)
        assert width > 360 or percent > 100 or page.evaluate(RAGGED) == []
        fits = (width, percent) == (1200, 100) and kind != "correlation"  # whose table of both conferences is wide
        assert page.evaluate(BESIDE) == fits, "numbers are beside their chart where they fit"
        page.close()
    page = opened(browser, tmp_path / "out", PAPER["A4"][0], dark=True)
    page.emulate_media(media="print", color_scheme="dark")
    measured = page.evaluate(MEASURE)
    assert measured.pop("smallest") >= 10, "about 8 points"
    assert measured == NOTHING, "on paper"
    page.close()
    context = browser.new_context(bypass_csp=True, viewport={"width": 360, "height": 740})
    page = context.new_page()
    page.goto((tmp_path / "out" / "report.html").as_uri())
    violations = Axe().run(page).response["violations"]
    assert not [(each["id"], each["impact"]) for each in violations if each["impact"] in ("serious", "critical")]
    context.close()


@pytest.mark.promise("P-FORMAT-1")
@pytest.mark.slow
def test_the_report_can_be_read_by_everyone_and_runs_nothing(browser: Browser, tmp_path: Path) -> None:
    folder = replace(RELEASES["counts"](), terms=Terms(about=ABOUT)).save(tmp_path / "out")
    backgrounds = []
    for dark in (False, True):
        page = browser.new_page(color_scheme="dark" if dark else "light")
        asked: list[str] = []
        complaints: list[str] = []
        page.on("request", lambda request: asked.append(request.url))  # noqa: B023 - used at once
        page.on("console", lambda message: complaints.append(message.text))  # noqa: B023
        page.goto((folder / "report.html").as_uri())
        assert [url.rpartition("/")[2] for url in asked] == ["report.html"]
        assert not complaints
        backgrounds.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        page.close()
    light, dim = (sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in backgrounds)
    assert light > 3 * 200
    assert dim < 3 * 60
    # The tool itself is a script, which the report's policy would refuse.
    context = browser.new_context(bypass_csp=True)
    page = context.new_page()
    page.goto((folder / "report.html").as_uri())
    violations = Axe().run(page).response["violations"]
    assert not [(each["id"], each["impact"]) for each in violations if each["impact"] in ("serious", "critical")]
    context.close()
