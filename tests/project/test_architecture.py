"""The picture of the packages, the list of modules and the paths that documents name are those of the code as it is."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "docs" / "figures" / "layers.py"
SOURCE = ROOT / "src" / "peerveil"
#: Imports against the order, of a single function each: `serve` starts the page, and `Plan.plot` draws.
UPWARD = {"cli": {"web"}, "planning": {"reporting"}}
PATH = re.compile(r"`((?:src|tests|docs|benchmarks)/[^`\s]*)`")


@pytest.fixture(scope="module")
def layers() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def test_picture_and_list_have_not_drifted(layers: dict[str, Any]) -> None:
    remedy = "run `make figures` and commit what it writes"
    assert SCRIPT.with_suffix(".svg").read_text(encoding="utf-8") == layers["svg"](), remedy
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert text == layers["page"](text), remedy


def drawn_order(layers: dict[str, Any]) -> list[str]:
    """The packages as a reader of the picture meets them."""
    public = [name for phrases in layers["PUBLIC"].values() for name in phrases]
    return [*public, "private", *layers["FRONTS"]]


def test_the_picture_shows_every_package_in_an_order_that_imports_keep(layers: dict[str, Any]) -> None:
    drawn = ElementTree.fromstring(layers["svg"]())  # noqa: S314 - our own text
    texts = {element.text for element in drawn.iter("{http://www.w3.org/2000/svg}text")}
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert packages <= texts
    assert set(layers["packages"]()) == packages
    order = [name for name in drawn_order(layers) if name in packages]
    for place, name in enumerate(order):
        assert not layers["imports"](name) & set(order[place + 1 :]) - UPWARD.get(name, set()), name


def test_no_box_of_the_picture_is_under_another(layers: dict[str, Any]) -> None:
    drawn = ElementTree.fromstring(layers["svg"]())  # noqa: S314 - our own text
    _, *boxes = (
        [float(box.get(side, 0)) for side in ("x", "y", "width", "height")] for box in drawn.iterfind("{*}rect")
    )
    for place, (x, y, width, height) in enumerate(boxes):
        for left, top, across, down in boxes[place + 1 :]:
            apart = x + width <= left or left + across <= x or y + height <= top or top + down <= y
            assert apart, "two boxes overlap"


def test_the_parts_of_the_private_half_exist(layers: dict[str, Any]) -> None:
    for name in layers["PRIVATE"]:
        assert (SOURCE / "private" / name).is_dir() or (SOURCE / "private" / f"{name}.py").is_file(), name


@pytest.mark.parametrize(
    "name", ["architecture", "where", *(f"extending/{p.stem}" for p in ROOT.glob("docs/extending/*"))]
)
def test_paths_that_documents_name_exist(name: str) -> None:
    named = PATH.findall((ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8"))
    assert [path for path in named if not (ROOT / path).exists()] == []
    assert name != "where" or len(named) > 30


def test_every_kind_of_addition_is_explained() -> None:
    text = (ROOT / "docs" / "where.md").read_text(encoding="utf-8")
    for kind in ("quantity", "statistic", "mechanism", "region", "estimator", "reader", "chart", "option", "step"):
        assert re.search(rf"^\| an? [^|]*\b{kind}\b", text, re.MULTILINE), kind
