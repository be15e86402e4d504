"""Draw layers.svg and write the list of modules in ../architecture.md, both from the packages as they are."""

from __future__ import annotations

import ast
import re
import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "peerveil"
PAGE = ROOT / "docs" / "architecture.md"
PICTURE = Path(__file__).with_suffix(".svg")
START, END = "<!-- modules: written by docs/figures/layers.py -->", "<!-- end of modules -->"

#: Rows of the public half: what its packages are about, and a phrase for each.
PUBLIC = {
    "Foundations": {
        "support": "parallel work, atomic files, versions",
        "tables": "open, sniff and read files as tables",
    },
    "What is known": {
        "record": "which scores each paper got",
        "quantities": "the weight of each review",
    },
    "What is promised, what is proved": {
        "privacy": "neighbours, sensitivity, accounting",
        "regions": "bounds that hold the true vector",
    },
    "Estimates and noise": {
        "inference": "prior, posterior, estimators",
        "mechanisms": "Laplace, Gaussian, histogram, …",
    },
    "Before a release": {
        "planning": "expected error of each choice",
        "simulation": "synthetic conferences, experiments",
    },
    "What is published": {
        "reporting": "charts and the report",
        "releases": "files; refine, verify, compare",
    },
    "After a release": {
        "sampling": "tables for researchers",
    },
}
#: The private half: parts of one package.
PRIVATE = {
    "readers": "exports of review platforms",
    "reviews": "who wrote which review",
    "true_vector": "true means and counts",
    "noise": "draws real noise",
    "ledger": "budgets and charges",
    "release": "charge, draw, refine, save",
    "batch": "many venues at once",
    "audit": "tests the claims by attack",
}
#: The fronts, which see both halves.
FRONTS = {
    "app": "each action once, for both fronts: options and messages as data",
    "cli": "the command line",
    "web": "the page in a browser",
}


def order() -> list[str]:
    """Packages and top-level modules in import order, as the contract of import-linter states it."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["id"] == "layers")
    return [name for layer in reversed(layers) for name in re.split(r"\s*[|:]\s*", layer)]


def packages() -> list[str]:
    """The packages in import order."""
    return [name for name in order() if (SOURCE / name).is_dir()]


def imports(package: str) -> set[str]:
    """The other packages of Peerveil that modules of a package import, at any depth of their code."""
    names = set()
    for path in (SOURCE / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("peerveil."):
                names.add((node.module or "").split(".")[1])
    return names & set(packages()) - {package}


WIDTH, MARGIN, GAP = 1000, 20, 14
BOX, HEIGHT, ROW, TOP = 300, 54, 86, 84
PANEL = MARGIN + 2 * BOX + 2 * GAP + 18
BLUE, ORANGE, GREY = ("#e8f1fa", "#0072b2"), ("#fdf1e8", "#c04f00"), ("#f1f1f1", "#555555")


def text(x: float, y: float, words: str, size: int = 14, more: str = "") -> str:
    """A line of text."""
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" {more}>{escape(words)}</text>'


def box(place: tuple[float, float], width: float, name: str, phrase: str, colours: tuple[str, str]) -> list[str]:
    """A box with a package's name and, below it, what it is for."""
    (x, y), (fill, line) = place, colours
    middle = y + HEIGHT / 2
    return [
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{HEIGHT}" rx="6" fill="{fill}" stroke="{line}"/>',
        text(x + 14, middle - 5, name, 16, f'font-weight="bold" fill="{line}"'),
        text(x + 14, middle + 15, phrase, 14, 'fill="#222222"'),
    ]


def public_half(known: list[str]) -> list[str]:
    """Two packages in each row, with the row's subject above them."""
    out = [
        text(MARGIN, 32, "public: anyone can run it", 18, f'font-weight="bold" fill="{BLUE[1]}"'),
        text(MARGIN + 2 * BOX + GAP, 32, "each imports only those before it", 13, 'text-anchor="end" fill="#555555"'),
    ]
    for row, (subject, phrases) in enumerate(PUBLIC.items()):
        y = TOP + row * ROW
        out.append(text(MARGIN, y - 9, subject, 13, 'fill="#555555"'))
        for column, (name, phrase) in enumerate(phrases.items()):
            if name in known:
                out += box((MARGIN + column * (BOX + GAP), y), BOX, name, phrase, BLUE)
    return out


def private_half(height: float) -> list[str]:
    """One package, drawn as a panel with its main parts."""
    width = WIDTH - MARGIN - PANEL
    look = f'fill="{ORANGE[0]}" stroke="{ORANGE[1]}" stroke-width="2" stroke-dasharray="7 5"'
    out = [
        text(PANEL, 32, "private: sees reviewers", 18, f'font-weight="bold" fill="{ORANGE[1]}"'),
        f'<rect x="{PANEL}" y="48" width="{width}" height="{height - 48:g}" rx="6" {look}/>',
        text(PANEL + 14, 75, "private", 16, f'font-weight="bold" fill="{ORANGE[1]}"'),
    ]
    pitch = (height - 104) / (len(PRIVATE) - 0.2)
    for place, (name, phrase) in enumerate(PRIVATE.items()):
        y = 108 + place * pitch
        out += [
            text(PANEL + 14, y, name, 14, 'font-weight="bold" fill="#222222"'),
            text(PANEL + 14, y + 20, phrase, 14, 'fill="#222222"'),
        ]
    return out


def fronts(known: list[str], y: float) -> tuple[list[str], float]:
    """What users start, at the end, and where the picture ends."""
    out = [text(MARGIN, y - 9, "What users start: the only code that imports both halves", 13, 'fill="#555555"')]
    if "app" in known:
        out += box((MARGIN, y), WIDTH - 2 * MARGIN, "app", FRONTS["app"], GREY)
        y += HEIGHT + GAP
    half = (WIDTH - 2 * MARGIN - GAP) / 2
    for place, name in enumerate(("cli", "web")):
        out += box((MARGIN + place * (half + GAP), y), half, name, FRONTS[name], GREY)
    return out, y + HEIGHT + MARGIN


def svg() -> str:
    """The picture: packages in import order, from left to right and from top to bottom."""
    known = packages()
    bottom = TOP + (len(PUBLIC) - 1) * ROW + HEIGHT
    users, height = fronts(known, bottom + 42)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" font-family="sans-serif">',
            "<title>The packages of Peerveil in import order: each imports only packages that come before it</title>",
            f'<rect width="{WIDTH}" height="{height:g}" fill="white"/>',
            *public_half(known),
            *private_half(bottom),
            *users,
            "</svg>\n",
        ]
    )


def listing() -> str:
    """Every package in import order with its description, and one line per module."""
    rows: list[str] = []
    for package in packages():
        names = sorted(module_name(path) for path in (SOURCE / package).rglob("*.py"))
        rows += ["", f"**{package}**: {first_sentence(package)}", ""]
        rows += [f"- `{name}`: {first_sentence(name)}" for name in names if name != package]
    return "\n".join(rows)


def module_name(path: Path) -> str:
    """A module's name within peerveil; a package's for its __init__.py."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def first_sentence(module: str) -> str:
    """The first paragraph of a module's docstring."""
    place = SOURCE.joinpath(*module.split("."))
    path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(docstring.split("\n\n")[0].split())


def page(document: str) -> str:
    """The document with its list of modules written again."""
    before, rest = document.split(START)
    return f"{before}{START}\n{listing()}\n\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    PICTURE.write_text(svg(), encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
