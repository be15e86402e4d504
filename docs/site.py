"""Hooks of the site: pages for the documents beside docs/, and the command line as mkdocs-click reads it."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import typer.main
from mkdocs.structure.files import File, Files

from peerveil.cli import app

DOCS = Path(__file__).parent
ROOT = DOCS.parent
#: The product's mark, which the page shows as well.
ICON = ROOT / "src" / "peerveil" / "web" / "static" / "icon.svg"
#: Files outside of docs/ that documents link to; each is published under about/.
BESIDE = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "CITATION.cff")
LINK = re.compile(r"\]\(([^)#:\s]+)((?:#[^)\s]*)?)\)")


def with_examples(command: Any) -> Any:
    """The command, with the example of each subcommand in its description: mkdocs-click leaves epilogs out."""
    for subcommand in getattr(command, "commands", {}).values():
        with_examples(subcommand)
    if command.epilog:
        example = command.epilog.removeprefix("Example:").strip()
        command.help = f"{command.help}\n\n```sh\n{example}\n```"
    return command


command = with_examples(typer.main.get_command(app))


def place(path: Path) -> str | None:
    """Where the site has a file of the repository, or None where it has not."""
    if path.parent == ROOT and path.name in BESIDE:
        return f"about/{path.name}"
    return path.relative_to(DOCS).as_posix() if path.is_relative_to(DOCS) else None


def on_files(files: Files, config: Any) -> Files:
    """The files of docs/, those beside it, and the mark."""
    files.append(File.generated(config, ICON.name, content=ICON.read_text(encoding="utf-8")))
    for name in BESIDE:
        files.append(File.generated(config, f"about/{name}", content=(ROOT / name).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """The page's text, with links as they are in the repository turned into links as they are in the site."""
    here = page.file.src_uri
    source = ROOT / Path(here).name if here.startswith("about/") else DOCS / here

    def lead(link: re.Match[str]) -> str:
        target = place((source.parent / link[1]).resolve())
        return f"]({os.path.relpath(target, Path(here).parent)}{link[2]})" if target else link[0]

    return LINK.sub(lead, markdown)
