"""Build the documents as a site that needs no network: `python docs/build.py [FOLDER]`, by default into site/."""

from __future__ import annotations

import os
import re
import shutil
import sys
from html import escape
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

from jinja2 import Environment
from markdown_it import MarkdownIt
from markdown_it.token import Token

HERE = Path(__file__).parent
ROOT = HERE.parent
MARK = ".built-from-docs"  # a folder without it is not ours to replace
#: Documents outside of docs/ that are pages, too; other files that pages link to are copied.
BESIDE = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")

TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{{ title }} · Peerveil</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{{ up }}style.css">
</head>
<body>
<a class="skip" href="#content">To the text</a>
<p class="menu"><a href="{{ up }}index.html">Peerveil</a> · <a href="#pages">All pages</a></p>
<nav id="pages" aria-label="Pages">
<p class="name"><a href="{{ up }}index.html">Peerveil</a></p>
{% for part, pages in parts %}<h2>{{ part }}</h2>
<ul>
{% for label, target in pages -%}
<li><a href="{{ up }}{{ target }}"{% if target == here %} aria-current="page"{% endif %}>{{ label }}</a></li>
{% endfor %}</ul>
{% endfor %}</nav>
<main id="content">
{% if contents %}<details class="contents"><summary>On this page</summary>
<ul>
{% for words, anchor in contents -%}
<li><a href="#{{ anchor }}">{{ words }}</a></li>
{% endfor %}</ul>
</details>
{% endif %}{{ body }}</main>
</body>
</html>
"""

STYLE = """:root { color-scheme: light dark; }
:root { --ink: #1d2329; --paper: #fff; --soft: #f3f5f7; --line: #d5dbe1; --link: #0b5fa5; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ec; --paper: #14181c; --soft: #1f252b; --line: #39424b; --link: #7cc0ff; }
}
* { box-sizing: border-box; }
body { margin: 0; display: flex; color: var(--ink); background: var(--paper); font: 1rem/1.6 system-ui, sans-serif; }
a { color: var(--link); }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: 1rem; padding: .5rem; background: var(--paper); }
nav { flex: 0 0 16rem; padding: 1.5rem; border-right: 1px solid var(--line); min-height: 100vh; }
nav h2 { font-size: .85rem; margin: 1.2rem 0 .2rem; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav li { padding: .1rem 0; }
nav a { text-decoration: none; }
nav a:hover, nav a:focus { text-decoration: underline; }
nav a[aria-current] { font-weight: 600; color: var(--ink); }
.menu { display: none; }
.contents { float: right; max-width: 18rem; margin: 0 0 1rem 1.5rem; padding: .4rem .8rem; background: var(--soft); }
.contents ul { margin: .3rem 0; padding-left: 1.1rem; font-size: .9rem; }
.name { font-size: 1.3rem; font-weight: 600; margin: 0; }
main { flex: 1 1 auto; min-width: 0; max-width: 54rem; padding: 1.5rem 2.5rem 5rem; }
h1, h2, h3 { line-height: 1.25; margin: 2rem 0 .6rem; }
h1 { margin-top: 0; }
code, pre { font: .9em/1.5 ui-monospace, monospace; background: var(--soft); border-radius: .25rem; }
code { padding: .1em .3em; }
pre { padding: .8rem 1rem; overflow-x: auto; }
pre code { padding: 0; font-size: 1em; }
.table { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { border: 1px solid var(--line); padding: .3rem .6rem; text-align: left; vertical-align: top; }
blockquote { margin: 1rem 0; padding: 0 1rem; border-left: .25rem solid var(--link); }
img { max-width: 100%; height: auto; background: #fff; border-radius: .25rem; }
@media (max-width: 50rem) {
  body { flex-direction: column; }
  .menu { display: block; margin: 0; padding: 1rem 1.5rem; border-bottom: 1px solid var(--line); }
  nav { order: 1; min-height: 0; border-right: 0; border-top: 1px solid var(--line); }
  nav .name { display: none; }
  main { padding: 1.5rem; }
  .contents { float: none; max-width: none; margin: 0 0 1.5rem; }
}
@media print { nav { display: none; } }
"""


def slug(heading: str, seen: dict[str, int]) -> str:
    """A heading's anchor, by the rule of code hosts: so links work there and here."""
    name = re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")
    number = seen.get(name, 0)
    seen[name] = number + 1
    return f"{name}-{number}" if number else name


def pages() -> dict[Path, str]:
    """Every document, and where its page stands in the site."""
    inside = {path: path.relative_to(HERE).with_suffix(".html").as_posix() for path in sorted(HERE.rglob("*.md"))}
    return inside | {ROOT / name: f"about/{name.removesuffix('.md').lower()}.html" for name in BESIDE}


class Site:
    """A site in the making: which document becomes which page, and the files that these need."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pages = pages()
        self.markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
        self.template = Environment(autoescape=False).from_string(TEMPLATE)  # noqa: S701 - the documents are ours
        self.parts = self.navigation()

    def navigation(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """The parts of index.md with their links."""
        found: list[tuple[str, list[tuple[str, str]]]] = []
        for line in (HERE / "index.md").read_text(encoding="utf-8").splitlines():
            if line.startswith("## "):
                found.append((line[3:], []))
            elif link := re.match(r"- \[([^\]]+)\]\(([^)]+)\)", line):
                found[-1][1].append((link[1], self.place((HERE / link[2]).resolve())))
        return found

    def write(self) -> None:
        """Write every page."""
        for path in self.pages:
            self.write_page(path)
        (self.folder / MARK).touch()
        (self.folder / "style.css").write_text(STYLE, encoding="utf-8")

    def write_page(self, path: Path) -> None:
        """Turn one document into its page."""
        here = self.pages[path]
        tokens = self.markdown.parse(path.read_text(encoding="utf-8"))
        seen: dict[str, int] = {}
        title = path.stem
        contents: list[tuple[str, str]] = []
        for before, token in pairwise(tokens):
            if before.type == "heading_open":
                words = "".join(child.content for child in token.children or [])
                before.attrSet("id", slug(words, seen))
                if before.tag == "h2":
                    contents.append((escape(words), str(before.attrGet("id"))))
                title = words if before.tag == "h1" else title
            for child in token.children or []:
                self.lead(child, path)
        body = self.markdown.renderer.render(tokens, self.markdown.options, {})
        body = body.replace("<table>", '<div class="table" tabindex="0">\n<table>').replace(
            "</table>", "</table>\n</div>"
        )
        target = self.folder / here
        target.parent.mkdir(parents=True, exist_ok=True)
        up = "../" * here.count("/")
        contents = contents if len(contents) > 2 else []  # a short page needs none
        page = self.template.render(
            title=escape(title), up=up, parts=self.parts, here=here, contents=contents, body=body
        )
        target.write_text(page, encoding="utf-8")

    def lead(self, token: Token, path: Path) -> None:
        """Let a link or a picture of a document lead to the page or the copy that the site has of it."""
        name = {"link_open": "href", "image": "src"}.get(token.type)
        if name is None:
            return
        parts = urlsplit(str(token.attrGet(name)))
        if parts.scheme or not parts.path:
            return
        source = (path.parent / parts.path).resolve()
        relative = os.path.relpath(self.folder / self.place(source), (self.folder / self.pages[path]).parent)
        token.attrSet(name, Path(relative).as_posix() + (f"#{parts.fragment}" if parts.fragment else ""))

    def place(self, source: Path) -> str:
        """Where a document's page stands in the site; any other file is copied there."""
        if source in self.pages:
            return self.pages[source]
        target = Path("files") / source.relative_to(ROOT)
        (self.folder / target.parent).mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, self.folder / target)
        return target.as_posix()


def build(folder: Path) -> None:
    """Build the site in a folder; what an earlier build left there is removed first."""
    if folder.exists():
        if any(folder.iterdir()) and not (folder / MARK).exists():
            raise SystemExit(f"{folder} holds other files than a site; name another folder")
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    Site(folder.resolve()).write()


if __name__ == "__main__":
    build(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "site")
