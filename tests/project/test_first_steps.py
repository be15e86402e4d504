"""The pages that a new user follows work as they are written, from the first line to the last, in an empty folder."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import NamedTuple

import pytest

import forks
from cli.test_cli import Run, run
from forks import Python
from marks import mostly_slow
from peerveil.simulation.conferences import synthetic_conference

__all__ = ["run"]  # a fixture

ROOT = Path(__file__).parents[2]
PAGES = ("start", "platforms", "researchers", "years")
BLOCK = re.compile(r"^(?:<!-- extra: (\w+) -->\n)?```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Extras that a plain installation lacks.
EXTRAS = ("cluster", "docs", "postgres", "sign", "web")


def shell(line: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a line as a user types it."""
    return subprocess.run(
        ["/bin/sh", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


class Step(NamedTuple):
    """A block of a page; ``output`` is what the page says that its commands print, ``extra`` what they need."""

    language: str
    text: str
    extra: str
    output: str | None


def steps(page: str) -> list[Step]:
    """The blocks of a page in order; a block of text after commands is their output."""
    found: list[Step] = []
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    end = 0
    for block in BLOCK.finditer(text):
        extra, language, inside = block.groups()
        if language == "text" and found and found[-1].language == "console" and not text[end : block.start()].strip():
            found[-1] = found[-1]._replace(output=inside)
        else:
            found.append(Step(language, inside, extra or "", None))
        end = block.end()
    return found


def matches(expected: str, printed: str) -> bool:
    """Whether commands printed what a page shows: an ellipsis stands for any text, alone on a line for any lines."""
    pattern = ""
    for line in expected.rstrip().splitlines():
        if line.strip() == "…":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*?".join(map(re.escape, line.rstrip().split("…"))) + r"\n"
    lines = (line.rstrip() for line in printed.strip("\n").splitlines())
    return re.fullmatch(pattern, "\n".join(lines) + "\n") is not None


def test_outputs_are_compared() -> None:
    assert matches("a …\n…\nd\n", "a 17  \nb\nc\nd\n")
    assert matches("a\n…\nd\n", "a\nd\n")
    assert not matches("a\nd\n", "a\nb\nd\n")
    assert not matches("a …\n", "b 17\n")
    assert not matches("a\n", "a\nb\n")
    outputs = {page: [step.output for step in steps(page) if step.output is not None] for page in PAGES}
    counts = {"start": 5, "platforms": 4, "researchers": 3, "years": 4}
    assert {page: len(shown) for page, shown in outputs.items()} == counts


def test_the_readme_shows_what_the_first_page_does() -> None:
    outputs = [step.output for step in steps("start")]
    (shown,) = re.findall(r"^```text\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    assert shown in outputs


#: Runs a command in a folder, which may need an extra; what it printed, or None if the extra is missing.
Command = Callable[[str, Path, str], str | None]


def follow(page: str, command: Command, python: Callable[[str, Path], None], folder: Path) -> None:
    """Follow a page from its top in a folder: files it shows are written, commands and code are run."""
    for step in steps(page):
        match step.language:
            case "toml":
                (folder / step.text.splitlines()[0].removeprefix("# ")).write_text(step.text)
            case "python":
                python(step.text, folder)
            case "r" if shutil.which("Rscript"):
                assert shell(f"Rscript -e {shlex.quote(step.text)}", folder, dict(os.environ)).returncode == 0
            case "console":
                printed: list[str | None] = []
                for line in step.text.strip().splitlines():
                    if line.startswith("cd "):
                        folder /= line.removeprefix("cd ")
                    else:
                        printed.append(command(line, folder, step.extra))
                if step.output is not None and None not in printed:
                    said = "".join(map(str, printed))
                    assert matches(step.output, said), f"{page}.md shows\n{step.output}\nbut it printed\n{said}"


@pytest.fixture(scope="module")
def python() -> Iterator[Python]:
    with forks.python() as runner:
        yield runner


@pytest.mark.usefixtures("quick_plans")
@pytest.mark.parametrize("page", mostly_slow(PAGES, 0))
def test_pages_can_be_followed(
    page: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, python: Python
) -> None:
    """With a small conference and few draws of the plan, so that outputs are not compared."""
    monkeypatch.setattr("peerveil.app.demo.synthetic_conference", partial(synthetic_conference, reviewers=20))
    monkeypatch.setattr(f"{__name__}.matches", lambda _expected, printed: bool(printed))
    printed: list[str] = []

    def command(line: str, folder: Path, _: str) -> str:
        monkeypatch.chdir(folder)
        program, *arguments = shlex.split(line)
        if program != "peerveil":
            assert shutil.which(program), "needs it to be installed"
            subprocess.run([program, *arguments], check=True, cwd=folder)
            return ""
        done = run(*arguments, *(["--draws", "2"] if arguments[0] == "plan" else []))
        assert done.code == 0, f"{line}: {done.err}"
        printed.append(done.out)
        return done.out

    def code(text: str, folder: Path) -> None:
        status, words = python.run(text, folder)
        assert status == 0, words

    follow(page, command, code, tmp_path)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    published = [path for path in files if path.name in ("report.html", "release.json", "release.csv", "public.csv")]
    assert {"report.html", "release.json", "release.csv"} <= {path.name for path in published}
    for words in (*printed, *(path.read_text(encoding="utf-8") for path in published)):
        assert "@example.org" not in words  # where reviewers' addresses end


def modules_of_extras() -> set[str]:
    """The modules that a plain installation does not have."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    def named(requirements: list[str]) -> set[str]:
        return {re.split(r"[\[<>=; ]", requirement)[0].lower() for requirement in requirements}

    extra = {name for key in EXTRAS for name in named(project["optional-dependencies"][key])}
    extra -= named(project["dependencies"])
    return {module for module, owners in packages_distributions().items() if extra & {name.lower() for name in owners}}


HIDING = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {modules!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hidden())
"""


@pytest.fixture
def installed(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """The environment of a user whose installation is plain, or has all extras."""
    place = tmp_path / "installed"
    place.mkdir()
    (place / "peerveil").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m peerveil "$@"\n')
    (place / "peerveil").chmod(0o755)
    if request.param == "plain":
        modules = modules_of_extras()
        assert {"fastapi", "sshsig"} <= modules
        (place / "sitecustomize.py").write_text(HIDING.format(modules=modules))
    paths = [str(place), str(ROOT / "src")]
    return os.environ | {
        "PATH": f"{place}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(paths),
        "COLUMNS": "80",
        "INSTALLED": request.param,
    }


@pytest.mark.slow
@pytest.mark.parametrize("installed", ["plain", "extras"], indirect=True)
@pytest.mark.parametrize("page", PAGES)
def test_pages_are_true_word_by_word(page: str, installed: dict[str, str], tmp_path: Path) -> None:
    def command(line: str, folder: Path, extra: str) -> str | None:
        done = shell(line, folder, installed)
        if done.returncode and extra and installed["INSTALLED"] == "plain":
            assert f"peerveil[{extra}]" in done.stderr
            return None
        assert done.returncode == 0, f"{line}: {done.stderr}"
        return done.stdout

    def code(text: str, folder: Path) -> None:
        subprocess.run([sys.executable, "-W", "error", "-c", text], cwd=folder, env=installed, check=True)

    (tmp_path / "empty").mkdir()
    follow(page, command, code, tmp_path / "empty")


@pytest.mark.slow
@pytest.mark.parametrize("installed", ["plain"], indirect=True)
def test_the_page_says_which_extra_it_needs(installed: dict[str, str], tmp_path: Path) -> None:
    done = shell("peerveil serve", tmp_path, installed)
    assert done.returncode == 2
    assert "peerveil[web]" in done.stderr
    assert "'.[web]'" in (ROOT / "docs" / "start.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("installed", ["extras"], indirect=True)
def test_the_commands_that_make_demo_ends_with_can_be_typed(installed: dict[str, str], tmp_path: Path) -> None:
    """`make demo` runs .venv/bin/peerveil, which is not on the path."""
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    program = tmp_path / ".venv" / "bin" / "peerveil"
    program.write_text(f"#!{sys.executable}\nfrom peerveil.__main__ import main\nmain()\n")
    program.chmod(0o755)
    environment = installed | {"PATH": os.environ["PATH"]}
    recipe = re.search(r"^demo:.*\n\t(.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert recipe
    shown = shell(recipe[1].replace("$(BIN)", ".venv/bin"), tmp_path, environment).stdout
    assert len(shown.splitlines()) <= 40
    offered = shown.partition("Next")[2].splitlines()[1:]
    assert len(offered) == 3
    for command in offered:
        assert command.startswith("  .venv/bin/peerveil ")
        assert shell(command, tmp_path, environment).returncode == 0
