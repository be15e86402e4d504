"""The site of the documents: it builds, every link and anchor leads somewhere, and nothing comes from elsewhere."""

from __future__ import annotations

import runpy
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[2]
#: Attributes whose targets a browser loads by itself.
LOADED = {"src", "srcset", "poster", "data", "action", "background"}


class Page(HTMLParser):
    """What a page links to, loads, and can be linked to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.anchors: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.tags: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.anchors.append(value or "")
            elif name in LOADED or (name == "href" and tag == "link"):
                self.loaded.append(value or "")
            elif name == "href":
                self.links.append(value or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Page]:
    folder = tmp_path_factory.mktemp("built") / "site"
    runpy.run_path(str(ROOT / "docs" / "build.py"))["build"](folder)
    return {path.resolve(): Page(path) for path in sorted(folder.rglob("*.html"))}


def test_every_document_is_a_page_that_the_navigation_leads_to(site: dict[Path, Page]) -> None:
    index = next(path for path in site if path.name == "index.html")
    inside = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    assert inside <= {path.relative_to(index.parent) for path in site}
    linked = {(index.parent / urlsplit(link).path).resolve() for link in site[index].links}
    assert {index.parent / name for name in inside} <= linked


def test_every_link_and_anchor_leads_somewhere(site: dict[Path, Page]) -> None:
    followed = 0
    for path, page in site.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme:
                assert parts.scheme == "https", link
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.is_file(), f"{path.name} links to {link}"
            if parts.fragment:
                assert unquote(parts.fragment) in site[target].anchors, f"{path.name} links to {link}"
            followed += 1
    assert followed > 500


def test_anchors_are_unique(site: dict[Path, Page]) -> None:
    for path, page in site.items():
        assert len(set(page.anchors)) == len(page.anchors), path.name


def test_nothing_is_loaded_from_elsewhere_and_no_script_runs(site: dict[Path, Page]) -> None:
    for path, page in site.items():
        assert "script" not in page.tags
        for target in page.loaded:
            assert target == "data:," or (path.parent / target).is_file(), f"{path.name} loads {target}"
    style = (next(path for path in site if path.name == "index.html").parent / "style.css").read_text(encoding="utf-8")
    assert "url(" not in style
    assert "@import" not in style
    assert "prefers-color-scheme: dark" in style


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(SystemExit, match="holds other files"):
        runpy.run_path(str(ROOT / "docs" / "build.py"))["build"](tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "keep"


def test_a_long_page_lists_its_parts(site: dict[Path, Page]) -> None:
    start = next(page for path, page in site.items() if path.name == "start.html")
    assert "#5-release" in start.links
    assert "#pages" in start.links
