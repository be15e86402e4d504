"""Take the screenshots of the documents: report, charts and page, as a browser shows them. Needs Chromium.

Pictures are not compared by their pixels, which depend on fonts. Instead, screenshots.json holds a digest of everything
that they show: templates, styles, scripts and charts. A test compares it.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
STAMP = HERE / "screenshots.json"
RELEASES = HERE.parent / "notebooks" / "releases"
EXAMPLE = ROOT / "src" / "peerveil" / "web" / "example" / "release.json"

#: What the pictures show, relative to the root.
SHOWN = (
    "docs/figures/screenshots.py",
    "src/peerveil/reporting/**/*.py",
    "src/peerveil/reporting/templates/**/*",
    "src/peerveil/reporting/words/**/*",
    "src/peerveil/web/example/**/*",
    "src/peerveil/web/static/**/*",
    "src/peerveil/web/templates/**/*",
)

#: Pixels around a part of a page.
_AROUND = 20

if TYPE_CHECKING:
    from playwright.sync_api import Page


def digest() -> str:
    """The digest of everything that the pictures show."""
    shown = {path for pattern in SHOWN for path in ROOT.glob(pattern) if path.is_file()}
    files = sorted(path for path in shown if "__pycache__" not in path.parts)
    body = hashlib.sha256()
    for path in files:
        body.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return body.hexdigest()


def shoot(
    page: Page, name: str, address: str, *, width: int, height: int, dark: bool = False, part: str | None = None
) -> None:
    """Write one picture of a window, or of a part of the page with some space around it."""
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme="dark" if dark else "light")
    page.goto(address)
    page.wait_for_load_state("networkidle")
    box = None if part is None else page.locator(part).first.bounding_box()
    if box is None:
        page.screenshot(path=HERE / f"{name}.png")
        return
    clip: Any = {"x": 0, "y": max(box["y"] - _AROUND, 0), "width": width}
    clip["height"] = box["y"] + box["height"] + _AROUND - clip["y"]
    page.screenshot(path=HERE / f"{name}.png", clip=clip, full_page=True)


def draw() -> None:
    """Write the charts of a comparison and of a plan, of the synthetic years that the notebooks read."""
    import peerveil as pv  # noqa: PLC0415 - slow to load
    from peerveil.reporting import charts  # noqa: PLC0415 - slow to load
    from peerveil.reporting.plots import plan_rows  # noqa: PLC0415 - slow to load

    years = {year: pv.Release.load(RELEASES / year) for year in ("2025", "2026")}
    charts.write_png(charts.comparison(years), HERE / "chart-comparison.png")
    public = pv.read_public(RELEASES / "public-2026.csv", load=4, scale=(1, 10))
    plan = pv.plan(public, draws=2, workers=1)
    least = {choice.epsilon: choice.rmse for choice in plan.recommended}
    chart = charts.error_against_epsilon(plan_rows(plan), alone=plan.alone, least=least)
    charts.write_png(chart, HERE / "chart-plan.png")


def reviews_of(folder: Path, year: int) -> Path:
    """Write the reviews of a synthetic conference of the same 1,000 people each year; return the file."""
    import numpy as np  # noqa: PLC0415 - slow to load
    import polars as pl  # noqa: PLC0415 - slow to load

    from peerveil.simulation.conferences import synthetic_conference  # noqa: PLC0415 - slow to load

    rng = np.random.default_rng(year)
    made = synthetic_conference(reviewers=1000, rng=rng)
    junior = np.arange(1000) % 2 == 1
    trait = np.random.default_rng(1).normal(scale=1.0, size=1000) - 0.8 * junior
    quality, luck = rng.normal(size=made.paper.max() + 1), rng.normal(size=made.paper.size)
    scores = np.clip(np.rint(5.5 + quality[made.paper] + trait[made.reviewer] + luck), 1, 10)
    file = folder / f"reviews-{year}.csv"
    frame = made.frame().with_columns(score=pl.Series(scores))
    frame.write_csv(file)
    groups = frame.select("reviewer", seniority=pl.Series(np.where(junior, "junior", "senior")[made.reviewer]))
    groups.unique().write_csv(folder / "reviewers.csv")
    return file


def answer(folder: Path) -> dict[str, str]:
    """Make an effect, a release by an attribute, a correlation and a comparison of years; return their pages."""
    import peerveil as pv  # noqa: PLC0415 - slow to load

    reviews = {year: pv.read(reviews_of(folder, year), scale=(1, 10)) for year in (2024, 2025, 2026)}
    latest, groups = reviews[2026], ("senior", "junior")
    table = pv.read(folder / "reviews-2026.csv", scale=(1, 10), attributes=folder / "reviewers.csv")
    answers = {
        "effect": pv.effect(table, by="seniority", compare=groups, public="all", epsilon=1.0),
        "groups": pv.release_by(table, by="seniority", values=groups, public="all", epsilon=1.0),
        "correlation": pv.correlate(reviews[2025], latest, public="all", epsilon=1.0, names=("2025", "2026")),
    }
    for name, made in answers.items():
        made.save(folder / name)
    years = {str(year): pv.release(each, public="all", epsilon=1.0) for year, each in reviews.items()}
    pv.compare(*years.values(), names=list(years)).save(folder / "years.html")
    pages = {name: (folder / name / "report.html").as_uri() for name in answers}
    return pages | {"years": (folder / "years.html").as_uri()}


def take(folder: Path) -> None:
    """Write all pictures, of the page and of its example, a release of a synthetic conference."""
    sys.path.insert(0, str(ROOT / "tests"))
    import peerveil as pv  # noqa: PLC0415 - slow to load
    from browser import chromium, served  # noqa: PLC0415 - needs the path

    pv.Release.load(EXAMPLE).save(folder / "out")
    report = (folder / "out" / "report.html").as_uri()
    answers = answer(folder)
    with chromium() as browser, served(folder=folder) as started:
        page = browser.new_page()
        shoot(page, "report", report, width=900, height=960, part="header")
        shoot(page, "report-charts", report, width=900, height=960, part=".pictures")
        shoot(page, "report-dark", report, width=900, height=960, dark=True, part=".pictures")
        shoot(page, "report-phone", report, width=360, height=800)
        for name, address in answers.items():
            shoot(page, f"report-{name}", address, width=900, height=1100)
        shoot(page, "page-home", started.address, width=1100, height=800)
        shoot(page, "page-chair", f"{started.home}/chair", width=1100, height=700)


def main() -> None:
    """Take the pictures and keep the digest."""
    draw()
    with tempfile.TemporaryDirectory() as folder:
        take(Path(folder))
    stamp: dict[str, Any] = {"digest": digest()}
    STAMP.write_text(json.dumps(stamp, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
