"""Report, page, charts and site of the documents have the same colours, light and dark, and all can be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from peerveil.reporting.charts import look

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "peerveil"
REPORT = (SOURCE / "reporting" / "templates" / "style.css").read_text(encoding="utf-8")
PAGE = (SOURCE / "web" / "static" / "style.css").read_text(encoding="utf-8")
SITE = (ROOT / "docs" / "site.css").read_text(encoding="utf-8")

#: What the site calls the colours of the product.
NAMES = {
    "accent": ("md-typeset-a-color", "md-accent-fg-color"),
    "ink": ("md-default-fg-color", "md-typeset-color"),
    "paper": ("md-default-bg-color",),
}


def colours(css: str) -> list[dict[str, str]]:
    """The colours that the first rule for all of a page defines in light, and the first within another in dark."""
    rules = [dict(re.findall(r"--([a-z-]+):\s*(#[0-9a-f]+)", rule)) for rule in re.findall(r":root\s*\{([^}]*)\}", css)]
    return [{name: value if len(value) == 7 else f"#{value[1:] * 2}" for name, value in rule.items()} for rule in rules]


def on_site(scheme: str) -> dict[str, str]:
    """The colours of a scheme of the site: later rules go before earlier ones."""
    screen = SITE.split("@media print")[0]
    found: dict[str, str] = {}
    for selectors, rule in re.findall(r"^(\[[^{]*?)\s*\{([^}]*)\}", screen, re.MULTILINE):
        if "scheme" not in selectors or f"scheme={scheme}]" in selectors:
            found |= dict(re.findall(r"--([a-z-]+):\s*(#[0-9a-f]+)", rule))
    return found


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a: str, b: str) -> float:
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("dark", "scheme"), [(0, "default"), (1, "slate")])
def test_report_page_charts_and_site_have_the_same_colours(dark: int, scheme: str) -> None:
    report, page, site = colours(REPORT)[dark], colours(PAGE)[dark], on_site(scheme)
    for name, called in NAMES.items():
        assert report[name] == page[name], name
        assert {site[each] for each in called} == {report[name]}, name
    charts = [look.INK, look.PAPER]
    assert [look.DARK[each] if dark else each for each in charts] == [report["ink"], report["paper"]]


@pytest.mark.parametrize("scheme", ["default", "slate"])
def test_words_of_the_site_have_contrast(scheme: str) -> None:
    site = on_site(scheme)
    for ground in ("md-default-bg-color", "md-code-bg-color"):
        for words in ("md-typeset-color", "md-typeset-a-color", "md-default-fg-color--light"):
            assert contrast(site[words], site[ground]) >= 4.5, (words, ground)
    assert contrast(site["md-primary-bg-color"], site["md-primary-fg-color"]) >= 4.5


def test_the_theme_takes_its_colours_from_the_style() -> None:
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert (
        settings.count("primary: custom") == settings.count("accent: custom") == settings.count("      scheme: ") == 2
    )
