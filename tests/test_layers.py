"""Imports run one way: nothing public can reach anything private."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import peerveil

ROOT = Path(peerveil.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))

#: Top to bottom: a module imports only from layers above its own. `private` stands beside them.
LAYERS = [
    ["errors", "version", "columns", "markup", "staging", "threads"],
    ["loads", "terms", "verdict", "page_text", "files", "tables", "unpacking", "checks", "engine", "criteria"],
    ["parts"],
    ["neighbours"],
    ["scores", "json_files", "delimited", "accounting", "statement"],
    ["table_files", "gdp"],
    ["record", "looking", "signatures", "document_check"],
    ["public_forms"],
    ["public_scores"],
    ["monotone", "assignment", "public_files", "laws", "outlook"],
    ["quantities", "evidence", "noise_check"],
    ["weights", "normals"],
    ["prior", "bins"],
    ["posterior"],
    ["count_posterior", "binning"],
    ["regions.convex", "regions.tuples", "regions.sums", "regions.packing", "regions.oracles"],
    ["regions.baseline"],
    ["regions.chain", "regions.envelope", "regions.hull"],
    ["regions.tight"],
    ["regions"],
    ["programme", "twopass"],
    ["projection", "guarantee"],
    ["sensitivity", "budget", "estimation", "words_v1"],
    ["mechanisms", "groups", "published", "charts.wording"],
    ["claims"],
    ["rehearsal", "documents"],
    ["experiments", "rounds"],
    ["planning"],
    ["auto"],
    ["charts.look", "charts.shapes"],
    ["charts.distribution", "charts.bounds", "charts.errors"],
    ["charts"],
    ["report"],
    ["bundle", "simulate"],
    ["refinement", "noisy_files", "exports.style", "comparison", "release_files"],
    ["exports.hotcrp", "exports.easychair", "exports.cmt", "exports.openreview", "exports.public"],
    ["sweep_files", "plan_files", "exports", "verification"],
]
RANK = {module: rank for rank, layer in enumerate(LAYERS) for module in layer}
FRONT = ("cli", "web", "__main__")


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path: Path) -> set[str]:
    """The peerveil modules that a file imports, at any depth of its code."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
            assert "peerveil" not in found, f"{path}: the package's front reaches everything; import the module itself"
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in {
            "import_module",
            "__import__",
        }:
            assert name_of(path) == "", f"{path}: import by name"
    inside = {name.removeprefix("peerveil.") for name in found if name.startswith("peerveil.")}
    modules = {name_of(module) for module in MODULES}
    return {next(n for n in (name, name.rpartition(".")[0]) if n in modules) for name in inside}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_only_the_front_imports_private(path: Path) -> None:
    name = name_of(path)
    if name == "" or name.startswith("private") or name.split(".")[0] in FRONT:
        return
    assert not {module for module in imported(path) if module.split(".")[0] in ("private", *FRONT)}
    assert name in RANK, f"{name} has no layer: give it one in this test"
    lower = {module for module in imported(path) if RANK[module] >= RANK[name]}
    assert not lower, f"{name} imports {lower}, which stand beside or below it"


@pytest.mark.parametrize("path", [m for m in MODULES if name_of(m).startswith("private")], ids=name_of)
def test_private_does_not_import_the_front(path: Path) -> None:
    assert not {module for module in imported(path) if module.split(".")[0] in FRONT}


def test_refining_loads_nothing_private() -> None:
    code = (
        "import sys, peerveil as pv\n"
        "weights = pv.PublicWeights.from_rows([[1, 5], [2, 2]], load=2)\n"
        "pv.refine([1.0, 2.0], weights).to_json()\n"
        "assert not [m for m in sys.modules if m.startswith(('peerveil.private', 'opendp'))]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_public_names_are_documented_with_examples() -> None:
    assert peerveil.__all__ == sorted(peerveil.__all__)
    for name in peerveil.__all__:
        value = getattr(peerveil, name)
        assert value.__doc__, name
        if not (isinstance(value, type) and issubclass(value, Exception)):
            assert ">>>" in value.__doc__, f"{name} has no example"
    with pytest.raises(AttributeError):
        _ = peerveil.no_such_name
    # A submodule of the same name would hide the function as soon as anything imports it.
    assert not {name_of(module) for module in MODULES} & set(peerveil.__all__)
