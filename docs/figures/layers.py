"""Draw layers.svg and write the list of modules in ../architecture.md, both from what the modules really import."""

from __future__ import annotations

import ast
from functools import cache
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "peerveil"
PAGE = ROOT / "docs" / "architecture.md"
PICTURE = Path(__file__).with_suffix(".svg")
START, END = "<!-- modules: written by docs/figures/layers.py -->", "<!-- end of modules -->"

#: What users meet: the command line starts the page, and the page says what the command line says. One box.
FRONT = "cli, web"

#: Names everything, starts the command line, and knows the old paths.
LEFT_OUT = ("peerveil", "__main__", "moved")


def name_of(path: Path) -> str:
    """A module's name within the package; the package itself is called peerveil."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts) or "peerveil"


def imports(path: Path, known: set[str]) -> set[str]:
    """The modules of the package that a file imports, at any depth of its code."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "peerveil":
            for alias in node.names:
                whole = f"{node.module}.{alias.name}".removeprefix("peerveil.")
                found.add(whole if whole in known else (node.module or "").removeprefix("peerveil."))
    return found & known


def box_of(module: str) -> str:
    """The box that a module is drawn in."""
    package = module.split(".", maxsplit=1)[0]
    return FRONT if package in FRONT.split(", ") else package


@cache
def graph() -> dict[str, set[str]]:
    """For each box the boxes that its modules import; the package's front, which names everything, is left out."""
    files = {name_of(path): path for path in sorted(SOURCE.rglob("*.py"))}
    files = {name: path for name, path in files.items() if name not in LEFT_OUT}
    found: dict[str, set[str]] = {}
    for name, path in files.items():
        boxes = {box_of(one) for one in imports(path, set(files))} - {box_of(name)}
        found.setdefault(box_of(name), set()).update(boxes)
    return found


def levels(edges: dict[str, set[str]]) -> dict[str, int]:
    """How far down each box stands: one below the lowest that it imports. Imports that go round are refused."""
    depth: dict[str, int] = {}
    while len(depth) < len(edges):
        ready = [box for box in edges if box not in depth and edges[box] <= depth.keys()]
        if not ready:
            raise SystemExit(f"imports go round among {sorted(edges.keys() - depth.keys())}")
        depth |= {box: 1 + max((depth[one] for one in edges[box]), default=-1) for box in ready}
    return depth


def direct(edges: dict[str, set[str]], depth: dict[str, int]) -> list[tuple[str, str]]:
    """The imports that do not follow from others."""
    reach: dict[str, set[str]] = {}
    for box in sorted(edges, key=depth.__getitem__):
        reach[box] = set().union(*({one} | reach[one] for one in edges[box]))
    return [
        (box, one)
        for box in sorted(edges)
        for one in sorted(edges[box])
        if not any(one in reach[o] for o in edges[box])
    ]


def side(box: str) -> int:
    """0 for the public half, 1 for the private one, 2 for the front, which sees both."""
    return 2 if box == FRONT else int(box == "private")


BORDER = 'fill="none" stroke="#d55e00" stroke-dasharray="6 4"'
WIDTHS, BOX, GAP, ROW = (690, 330), (126, 24), 8, 46
COLOURS = (("#e8f1fa", "#0072b2"), ("#fbe9dd", "#d55e00"), ("#eeeeee", "#555555"))


def places(depth: dict[str, int]) -> tuple[dict[str, tuple[int, int]], int]:
    """Where each box stands, and how high the picture is."""
    found: dict[str, tuple[int, int]] = {}
    y = 60
    for level in range(max(depth.values()) + 1):
        lines = 1
        for half in (0, 1, 2):
            names = sorted(box for box in depth if depth[box] == level and side(box) == half)
            left = WIDTHS[0] + 30 if half == 1 else 20
            room = (WIDTHS[half] if half < 2 else sum(WIDTHS)) // (BOX[0] + GAP)
            for place, box in enumerate(names):
                line, column = divmod(place, room)
                found[box] = (left + column * (BOX[0] + GAP), y + line * (BOX[1] + GAP))
                lines = max(lines, line + 1)
        y += ROW + (lines - 1) * (BOX[1] + GAP)
    return found, y


def svg() -> str:
    """The picture."""
    edges = graph()
    depth = levels(edges)
    where, height = places(depth)
    width = sum(WIDTHS) + 40
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">',
        "<title>The modules of Peerveil, from what they import: each stands below all that it uses</title>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<rect x="{WIDTHS[0] + 20}" y="36" width="{WIDTHS[1]}" height="{height - 46}" {BORDER}/>',
        '<text x="20" y="24" font-size="14" fill="#0072b2">public: can be run by anyone</text>',
        f'<text x="{WIDTHS[0] + 30}" y="24" font-size="14" fill="#d55e00">private: sees reviewers</text>',
    ]
    for box, one in direct(edges, depth):
        (x1, y1), (x2, y2) = where[box], where[one]
        colour = COLOURS[side(box)][1]
        out.append(
            f'<line x1="{x1 + BOX[0] // 2}" y1="{y1}" x2="{x2 + BOX[0] // 2}" y2="{y2 + BOX[1]}" stroke="{colour}" '
            'stroke-opacity="0.35"/>'
        )
    for box, (x, y) in sorted(where.items()):
        fill, line = COLOURS[side(box)]
        label = escape(box)
        out += [
            f'<rect x="{x}" y="{y}" width="{BOX[0]}" height="{BOX[1]}" rx="4" fill="{fill}" stroke="{line}"/>',
            f'<text x="{x + BOX[0] // 2}" y="{y + 16}" font-size="12" text-anchor="middle">{label}</text>',
        ]
    return "\n".join([*out, "</svg>"]) + "\n"


def listing() -> str:
    """Every package, from the top down, with what it says of itself, and its modules with what they say."""
    edges = graph()
    depth = levels(edges)
    rows = []
    for box in sorted(depth, key=lambda box: (depth[box], box)):
        for package in box.split(", "):
            rows += ["", f"**{package}**: {first_words(package)}", ""]
            names = sorted(name_of(path) for path in SOURCE.joinpath(package).rglob("*.py"))
            rows += [f"- `{name}`: {first_words(name)}" for name in names if name != package]
    return "\n".join(rows)


def first_words(module: str) -> str:
    """The first sentence of what a module says of itself."""
    place = SOURCE.joinpath(*module.split("."))
    path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    said = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n\n")[0]
    return " ".join(said.split())


def page(text: str) -> str:
    """The page with its list of modules written anew."""
    before, rest = text.split(START)
    return f"{before}{START}\n{listing()}\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    PICTURE.write_text(svg(), encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
