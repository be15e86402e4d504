"""The picture of the layers and the list of modules are those of the code as it is."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "docs" / "figures" / "layers.py"


@pytest.fixture(scope="module")
def layers() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def test_picture_and_list_have_not_drifted(layers: dict[str, Any]) -> None:
    remedy = "run `make figures` and commit what it writes"
    assert SCRIPT.with_suffix(".svg").read_text(encoding="utf-8") == layers["svg"](), remedy
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert text == layers["page"](text), remedy


def test_every_module_is_in_a_box_and_every_line_leads_up(layers: dict[str, Any]) -> None:
    edges = layers["graph"]()
    depth = layers["levels"](edges)
    source = ROOT / "src" / "peerveil"
    modules = {layers["name_of"](path) for path in source.rglob("*.py")} - set(layers["LEFT_OUT"])
    assert {layers["box_of"](module) for module in modules} == set(depth)
    for box, imported in edges.items():
        assert all(depth[one] < depth[box] for one in imported)
        if layers["side"](box) == 0:
            assert not [one for one in imported if layers["side"](one)]
    direct = layers["direct"](edges, depth)
    assert {box for box, _ in direct} == {box for box in edges if edges[box]}
    assert all(one in edges[box] for box, one in direct)


def test_the_picture_is_well_formed_and_names_every_box(layers: dict[str, Any]) -> None:
    drawn = ElementTree.fromstring(layers["svg"]())  # noqa: S314 - our own text
    texts = {element.text for element in drawn.iter("{http://www.w3.org/2000/svg}text")}
    assert set(layers["graph"]()) <= texts


def test_imports_that_go_round_are_refused(layers: dict[str, Any]) -> None:
    with pytest.raises(SystemExit, match="go round"):
        layers["levels"]({"a": {"b"}, "b": {"a"}})
