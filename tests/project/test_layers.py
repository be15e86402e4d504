"""Imports run one way: nothing public can reach anything private."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import peerveil

ROOT = Path(peerveil.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_are_absolute_and_named(path: Path) -> None:
    """Otherwise import-linter, which checks the order of the packages, would not see them."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = {alias.name for alias in node.names}
            assert "peerveil" not in names, "the package's front reaches everything; import the module itself"
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
        elif isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in {
            "import_module",
            "__import__",
        }:
            assert name_of(path) in ("", "moved", "support.discovery", "support.extensions", "cli"), "import by name"


def test_packages_are_small_enough_to_read() -> None:
    modules = Counter(path.parent for path in MODULES)
    assert modules.pop(ROOT) <= 6
    assert max(modules.values()) <= 16


def test_modules_of_0_1_are_found_with_a_warning() -> None:
    code = (
        "import importlib, sys, warnings\n"
        "from peerveil.moved import MOVED\n"
        "for old, new in MOVED.items():\n"
        "    with warnings.catch_warnings(record=True, action='always') as caught:\n"
        "        module = importlib.import_module(f'peerveil.{old}')\n"
        "    assert module is sys.modules[f'peerveil.{new}'], old\n"
        "    assert [str(w.message) for w in caught if w.category is DeprecationWarning] == ["
        "f'peerveil.{old} is now peerveil.{new}; import that instead'], old\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_names_that_the_docs_of_0_1_import() -> None:
    code = (
        "from peerveil.bundle import release_schema\n"
        "from peerveil.errors import FileError\n"
        "from peerveil.exports import export\n"
        "from peerveil.guarantee import Guarantee\n"
        "from peerveil.loads import declare_loads\n"
        "from peerveil.mechanisms import OWN, Laplace\n"
        "from peerveil.private.readers import READERS\n"
        "from peerveil.private.readers.protocol import Extract\n"
        "from peerveil.quantities import QUANTITIES\n"
        "from peerveil.regions import REGIONS\n"
        "from peerveil.regions.baseline import baseline\n"
        "from peerveil.sensitivity import sensitivity\n"
        "from peerveil.simulate import synthetic_conference\n"
        "from peerveil.table_files import read_table\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)


@pytest.mark.promise("P-KEPT-1")
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
