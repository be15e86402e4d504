"""What is handed out: the wheel and the source archive, and that a clean environment can use the wheel."""

from __future__ import annotations

import email
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import peerveil

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
VERSION = peerveil.__version__


def archives(folder: Path) -> tuple[Path, Path]:
    """The wheel and the source archive: built here, or those that `make release` has just built."""
    built = os.environ.get("PEERVEIL_DIST")
    place = ROOT / built if built else folder
    if not built:
        command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
        subprocess.run(command, check=True, capture_output=True)
    (wheel,), (source,) = place.glob("*.whl"), place.glob("*.tar.gz")
    return wheel, source


def check_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (info,) = {name.split("/")[0] for name in names if ".dist-info/" in name}
        about = email.message_from_string(archive.read(f"{info}/METADATA").decode())
    modules = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*.py")}
    assert modules <= names
    assert {"peerveil/py.typed", "peerveil/releases/schemas/release-1.schema.json", f"{info}/licenses/LICENSE"} <= names
    assert "peerveil/releases/schemas/release-2.schema.json" in names
    package = [path for path in (ROOT / "src" / "peerveil").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    written = {path.relative_to(ROOT / "src").as_posix() for path in package}
    assert {name for name in names if name.startswith("peerveil/")} == written  # templates, words and schemas, too
    assert {name.split("/")[0] for name in names} == {"peerveil", info}  # no tests, no private notes
    assert about["Version"] == VERSION
    assert about["License-Expression"] == "Apache-2.0"
    assert about["Description-Content-Type"] == "text/markdown"
    assert (ROOT / "README.md").read_text(encoding="utf-8").strip() == str(about.get_payload()).strip()


def check_source(source: Path) -> None:
    with tarfile.open(source) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    needed = {"Makefile", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "SECURITY.md"}
    assert needed | {"constraints.txt", "pyproject.toml", "tests/project/test_package.py", "docs/privacy.md"} <= names
    assert not [name for name in names if name.startswith((".venv", "dist", "peerveil-demo"))]


def check_with_twine(*files: Path) -> None:
    """What the index of packages would refuse."""
    own = ROOT / ".venv-tools" / "bin" / "twine"
    checker = str(own) if own.exists() else shutil.which("twine")
    if checker is None:
        pytest.skip("twine is not installed (`make .venv-tools/.installed` installs it)")
    ran = subprocess.run([checker, "check", "--strict", *files], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def clean_environment(folder: Path, wheel: Path) -> Path:
    """A new environment with the wheel, which finds its dependencies where this one has them; no network."""
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    install = ["install", "--quiet", "--no-deps", "--no-index", "--disable-pip-version-check", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", "--python", str(python), *install], check=True, capture_output=True)
    paths = sysconfig.get_paths("venv", vars={"base": str(folder), "platbase": str(folder)})
    own = {sysconfig.get_paths()[key] for key in ("purelib", "platlib")}
    # Paths named in a .pth file come last, and .pth files in them are not followed: not our own editable install.
    (Path(paths["purelib"]) / "dependencies.pth").write_text("\n".join(sorted(own)) + "\n")
    return python


@pytest.mark.slow
def test_archives_are_whole_and_the_wheel_works_in_a_clean_environment(tmp_path: Path) -> None:
    wheel, source = archives(tmp_path / "dist")
    check_wheel(wheel)
    check_source(source)
    python = clean_environment(tmp_path / "env", wheel)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    where = [str(python), "-c", "import peerveil; print(peerveil.__file__, peerveil.__version__)"]
    said = subprocess.run(where, check=True, capture_output=True, text=True, env=environment, cwd=tmp_path).stdout
    assert said.startswith(str(tmp_path / "env"))
    assert said.split()[-1] == VERSION
    demo = subprocess.run(
        [str(python.with_name("peerveil")), "demo"],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
    )
    assert demo.returncode == 0, demo.stderr
    assert (tmp_path / "peerveil-demo" / "ratings" / "release.json").is_file()
    check_with_twine(wheel, source)


def test_the_version_is_stated_in_one_place() -> None:
    assert "version" in PROJECT["project"]["dynamic"]
    assert (ROOT / PROJECT["tool"]["hatch"]["version"]["path"]).samefile(
        ROOT / "src" / "peerveil" / "support" / "version.py"
    )
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+)", changes, re.MULTILINE)
    assert newest is not None
    assert newest[1] == VERSION
    assert "version:" not in (ROOT / "CITATION.cff").read_text(encoding="utf-8").replace("cff-version:", "")
    stated = [path.name for path in (ROOT / "src").rglob("*.py") if f'"{VERSION}"' in path.read_text("utf-8")]
    assert stated == ["version.py"]
