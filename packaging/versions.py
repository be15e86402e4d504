"""Try Peerveil with several versions of Python and of its packages: `make test-versions`.

For each interpreter an environment is made with the wheel, its extra `all`, and the newest allowed version of each
package; for the oldest interpreter also one with the lowest allowed versions. In each of them the short suite runs
(tests/project/test_short.py). Interpreters are looked for in the path and among those of pyenv, and fetched by uv where
its source can be reached; a version that is nowhere is reported and left out.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
SUITE = ROOT / "tests" / "project" / "test_short.py"


def supported() -> list[str]:
    """Return the versions of Python that the project states, in order."""
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["classifiers"]
    found = [line.rpartition(" :: ")[2] for line in stated if line.startswith("Programming Language :: Python :: 3.")]
    return sorted(found, key=lambda version: int(version.split(".")[1]))


def interpreter(version: str, uv: str) -> str | None:
    """Return the path of an interpreter of a version, or ``None`` if there is none."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    named = [shutil.which(f"python{version}"), sys.executable]
    for path in [*filter(None, named), *sorted(map(str, pyenv.glob(f"{version}.*/bin/python")))]:
        says = "import sys; print('%d.%d' % sys.version_info[:2])"
        ran = subprocess.run([path, "-c", says], capture_output=True, text=True, check=False)
        if ran.stdout.strip() == version:  # a shim of pyenv may lead nowhere
            return path
    if subprocess.run([uv, "python", "install", "--quiet", version], capture_output=True, check=False).returncode:
        return None
    return subprocess.check_output([uv, "python", "find", version], text=True).strip()


def tried(python: str, resolution: str, wheel: Path, uv: str, folder: Path) -> bool:
    """Return whether the short suite passes in a new environment."""
    environment = os.environ | {"UV_PYTHON_DOWNLOADS": "never", "PEERVEIL_REQUIRE_ALL": "1"}
    own = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    install = [uv, "pip", "install", "--quiet", "--python", str(own)]
    commands = [
        [uv, "venv", "--quiet", "--python", python, str(folder)],
        # What the project names must be direct for uv, or its lowest versions are not taken.
        [*install, "--resolution", resolution, "--requirements", str(ROOT / "pyproject.toml"), "--extra", "all"],
        [*install, "--no-deps", str(wheel)],
        [*install, "pytest"],  # afterwards, as it must not decide about versions
        [uv, "pip", "check", "--quiet", "--python", str(own)],
        [str(own), "-c", "import openreview"],
        [str(own), "-m", "pytest", "-q", "-c", os.devnull, "--noconftest", "-p", "no:cacheprovider", str(SUITE)],
    ]
    for command in commands:
        if subprocess.run(command, env=environment, cwd=folder.parent, check=False).returncode:
            return False
    return True


def main() -> None:
    """Try all combinations, or those of the versions of Python that are named; exit with 1 if one fails."""
    uv = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if uv is None:
        sys.exit("uv is needed: pip install uv")
    versions = sys.argv[1:] or supported()
    failed, absent = [], []
    with tempfile.TemporaryDirectory(prefix="peerveil-versions-") as place:
        build = [uv, "build", "--quiet", "--wheel", "--out-dir", place, str(ROOT)]
        subprocess.run(build, check=True)
        (wheel,) = Path(place).glob("*.whl")
        for version in versions:
            python = interpreter(version, uv)
            if python is None:
                absent.append(version)
                continue
            lowest = ["lowest-direct"] if version == supported()[0] else []
            for resolution in ["highest", *lowest]:
                print(f"== Python {version}, {resolution} versions of packages", flush=True)
                if not tried(python, resolution, wheel, uv, Path(place) / f"{version}-{resolution}"):
                    failed.append(f"Python {version} ({resolution})")
    for version in absent:
        print(f"Not tried: Python {version}, which is not installed and could not be fetched")
    if failed or absent == versions:
        sys.exit(f"The short suite fails with {', '.join(failed) or 'no interpreter'}")


if __name__ == "__main__":
    main()
