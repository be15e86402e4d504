"""The Dockerfile: linted, an ordinary user, every extra; and built and tried where Docker runs."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

#: For developers of Peerveil; not part of the image.
DEVELOPERS = {"dev", "docs"}


DOCKER = shutil.which("docker")


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile in order, each with what follows it."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in lines if line.strip()]


def docker_runs() -> bool:
    """Whether images can be built here: the program alone does not suffice."""
    if DOCKER is None:
        return False
    return subprocess.run([DOCKER, "info"], capture_output=True, check=False).returncode == 0


def test_hadolint_finds_nothing() -> None:
    own = ROOT / ".venv-tools" / "bin" / "hadolint"
    linter = str(own) if own.exists() else shutil.which("hadolint")
    if linter is None:
        pytest.skip("hadolint is not installed (`make .venv-tools/.installed` installs it)")
    ran = subprocess.run([linter, str(ROOT / "Dockerfile")], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout


def test_the_image_runs_as_an_ordinary_user_with_every_extra() -> None:
    found = instructions()
    last = max(place for place, (name, _) in enumerate(found) if name == "FROM")
    stage = found[last:]
    users = [what for name, what in stage if name == "USER"]
    assert users
    assert users[-1] not in ("0", "root")
    assert not [what for name, what in stage[[name for name, _ in stage].index("USER") :] if name == "RUN"]
    assert [what for _, what in stage if '"$1[all]"' in what]
    everything = re.search(r"\[(.+)\]", PROJECT["optional-dependencies"]["all"][0])
    assert everything is not None
    assert set(everything[1].split(",")) == set(PROJECT["optional-dependencies"]) - DEVELOPERS - {"all"}
    (version,) = [what.partition("=")[2] for name, what in found if name == "ARG"]
    assert f"Programming Language :: Python :: {version}" in PROJECT["classifiers"]


def test_only_what_the_wheel_needs_is_sent_to_docker() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*"
    kept = {rule[1:] for rule in rules if rule.startswith("!")}
    assert kept == {"src", "pyproject.toml", "constraints.txt", PROJECT["readme"], *PROJECT["license-files"]}


if docker_runs():  # nothing to skip where it does not run

    @pytest.mark.slow
    def test_the_image_is_built_and_releases() -> None:
        name, docker = "peerveil-test", str(DOCKER)
        subprocess.run([docker, "build", "--quiet", "--tag", name, str(ROOT)], check=True)
        run = [docker, "run", "--rm"]
        user = subprocess.run([*run, "--entrypoint", "id", name, "-u"], capture_output=True, text=True, check=True)
        assert int(user.stdout) > 0
        subprocess.run([*run, name, "demo"], check=True)
