"""The Python examples of the documents and notebooks pass mypy in strict mode, with the types that users get."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

import peerveil
from project.test_docs import BLOCK, DOCUMENTS
from project.test_notebooks import NOTEBOOKS

ROOT = Path(__file__).parents[2]


def examples() -> dict[str, str]:
    """The code of each example by the name of a module."""
    found = {}
    for path in DOCUMENTS:
        blocks = [text for kind, text in BLOCK.findall(path.read_text(encoding="utf-8")) if kind == "python"]
        for number, text in enumerate(blocks):
            found[f"{path.parent.name}_{path.stem}_{number}".replace("-", "_")] = text
    for path in NOTEBOOKS:
        notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
        cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
        found[f"notebook_{path.stem}".replace("-", "_")] = "\n\n".join(cells)
    return found


def check(folder: Path, modules: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """The result of one run of mypy on some modules, with the project's settings."""
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--no-error-summary",
        *(f"{folder}/{name}.py" for name in modules),
    ]
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)


@pytest.mark.slow  # mypy reads the whole package, unless `make check` has just done so
def test_examples_are_typed(tmp_path: Path) -> None:
    found = examples()
    assert len(found) > 15
    wrong = "import peerveil as pv\n\nrelease: int = pv.Release.load('out')\n"
    done = check(tmp_path, found | {"wrong": wrong})
    lines = done.stdout.splitlines()
    expected = (
        'wrong.py:3: error: Incompatible types in assignment (expression has type "Release", variable has type "int")'
    )
    assert [line for line in lines if expected in line], done.stdout + done.stderr  # mypy saw the types
    assert [line for line in lines if "wrong.py" not in line] == []


def test_the_package_says_that_it_is_typed() -> None:
    assert (Path(peerveil.__file__).parent / "py.typed").is_file()
