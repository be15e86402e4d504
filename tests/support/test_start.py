"""A quick start is a matter of what is not loaded; how long it takes is for the benchmarks to say."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import requires

import pytest

#: Everything that takes long to load, or that has no place where nothing private is touched.
HEAVY = {
    *("numpy", "scipy", "polars", "pandas", "narwhals", "altair", "vl_convert", "clarabel", "opendp", "sqlalchemy"),
    *("cloudpickle", "defusedxml", "python_calamine"),
    *("jsonschema", "jinja2", "dask", "distributed", "fastapi", "uvicorn", "openreview", "psycopg", "threadpoolctl"),
}
LIGHT = {"typer", "rich"}


def loaded_by(code: str) -> set[str]:
    """The packages outside of the standard library that running code loads, in a process of its own."""
    report = "import sys; print('loaded', *{name.split('.')[0] for name in sys.modules} - sys.stdlib_module_names)"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{report}"], check=True, capture_output=True, text=True)
    return set(done.stdout.splitlines()[-1].split()[1:])


def test_every_dependency_is_known_as_heavy_or_light() -> None:
    names = [line.split(";")[0].split(">")[0].strip() for line in requires("peerveil") or [] if "extra ==" not in line]
    assert {name.removesuffix("-python").replace("-", "_") for name in names} <= HEAVY | LIGHT


def test_importing_the_library_loads_nothing_else() -> None:
    assert not loaded_by("import peerveil; dir(peerveil)") & (HEAVY | LIGHT)


@pytest.mark.parametrize("arguments", [["--help"], ["release", "--help"], ["ledger", "--help"], ["--version"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys\n"
        f"sys.argv = ['peerveil', *{arguments}]\n"
        "from peerveil.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit as stop:\n    assert not stop.code\n"
    )
    loaded = loaded_by(code)
    assert "typer" in loaded
    assert not loaded & HEAVY


def test_names_are_loaded_on_first_use() -> None:
    assert "numpy" in loaded_by("import peerveil; peerveil.Region")
    assert not loaded_by("import peerveil; peerveil.InputError") & HEAVY
