"""Documents that can drift are checked: code runs, commands exist, tables agree with the code."""

from __future__ import annotations

import math
import re
import runpy
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import forks
import peerveil as pv
from cli.test_cli import Run, run
from forks import Python
from peerveil.privacy.guarantee import Guarantee
from peerveil.private.readers import READERS
from peerveil.private.readers.mapping import KEYS
from peerveil.record.public_formats import PUBLIC_FORMATS
from peerveil.releases.documents import release_schema
from peerveil.releases.release import COLUMNS
from peerveil.simulation.conferences import synthetic_conference
from peerveil.simulation.exports import KINDS

__all__ = ["run"]  # a fixture

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?= |,|\)|$)", re.M)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

TRACKS = "paper,reviewer,score,track\n" + "".join(
    f"p{i},r{(i + 5 * k) % 25},{(3 * i + k) % 9},{'theory' if i < 25 else 'systems'}\n"
    for i in range(50)
    for k in range(3)
)
PUBLIC = "paper,ratings\np,3;5\nq,4;4\nr,8;6\n"
#: Pages that are followed from their top to their end (test_first_steps.py, test_effects_page.py); blocks of others
#: stand for themselves.
FOLLOWED = [
    ROOT / "docs" / f"{name}.md" for name in ("start", "platforms", "researchers", "effects", "years", "linked")
]
REVIEWS = "paper,reviewer,score\np,ann,3\np,bob,5\nq,bob,4\nq,cem,4\nr,cem,8\nr,ann,6\n"


def blocks(language: str) -> list[tuple[str, str]]:
    return [
        (f"{path.name}:{number}", text)
        for path in DOCUMENTS
        if path not in FOLLOWED
        for number, (kind, text) in enumerate(BLOCK.findall(path.read_text(encoding="utf-8")))
        if kind == language
    ]


def published(folder: Path) -> None:
    """A release for code that reads one."""
    weights = pv.PublicWeights.from_rows([[3, 5], [4, 4], [8, 6]], load=2)
    pv.refine([3.0, 6.0, 5.0], weights, mechanism=pv.Laplace(scale=1.0)).save(folder)


@pytest.fixture(scope="module")
def python() -> Iterator[Python]:
    with forks.python() as runner:
        yield runner


def test_the_plan_in_the_guide_to_budgets_is_that_of_the_first_steps() -> None:
    """The first steps are followed and compared (test_first_steps.py); what is quoted elsewhere must be in them."""
    steps = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")
    (quoted,) = (text for name, text in blocks("text") if name.startswith("budget.md") and "expected error" in text)
    assert all(line in steps for line in quoted.splitlines())


def rscript(code: str, folder: Path) -> str:
    """What R prints for some code."""
    program = shutil.which("Rscript")
    if program is None:
        pytest.skip("R is not installed")
    done = subprocess.run([program, "-e", code], cwd=folder, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_r_compares_releases_as_peerveil_does(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    releases = []
    for year, papers, shift in ((2025, 20, 0), (2026, 23, 1)):
        weights = pv.PublicWeights.from_rows((rng.integers(1, 5, (papers, 3)) + shift).tolist(), load=3)
        noisy = np.sort(rng.normal(3 + shift, 1, papers))
        releases.append(pv.refine(noisy, weights, mechanism=pv.Laplace(scale=0.3)))
        releases[-1].save(tmp_path / str(year), report=False)
    assert "Median" in rscript("\n".join(text for _, text in blocks("r")), tmp_path)
    assert (tmp_path / "shares.pdf").read_bytes().startswith(b"%PDF")
    in_r = pl.read_csv(tmp_path / "deciles.csv")
    ours = pv.compare(*releases).to_frame()
    for column in ("difference", "band_lower", "band_upper", "proven_lower", "proven_upper"):
        assert in_r[column].to_list() == pytest.approx(ours[column].to_list(), abs=1e-12), column
    assert in_r["tells"].to_list() == [tells.rpartition(", ")[2] for tells in ours["tells"]]
    assert len(set(in_r["tells"])) > 1


def quick_first(found: Sequence[tuple[str, str]]) -> list[Any]:
    """Blocks as parameters: those of README are for `make test`, all others for `make test-slow`."""
    return [
        pytest.param(text, id=name, marks=() if name.startswith("README") else pytest.mark.slow) for name, text in found
    ]


#: The examples of docs/questions.md have a test of their own, which compares what they print.
CODE = [(name, text) for name, text in blocks("python") if not name.startswith("questions.md")]


@pytest.mark.parametrize("code", quick_first(CODE))
def test_python_blocks_run(code: str, tmp_path: Path, python: Python) -> None:
    if "out/release." in code:
        published(tmp_path / "out")
    status, printed = python.run(code, tmp_path)
    assert status == 0, printed


@pytest.mark.slow
def test_the_ten_examples_print_what_their_page_shows(tmp_path: Path, python: Python) -> None:
    """Numbers differ, as noise does; the kept answers of real raters are to the same questions."""
    page = (ROOT / "docs" / "questions.md").read_text(encoding="utf-8")
    (code,) = (text for name, text in blocks("python") if name.startswith("questions.md"))
    ours, real = (text for name, text in blocks("text") if name.startswith("questions.md"))
    status, printed = python.run(code, tmp_path)
    assert status == 0, printed
    assert NUMBER.sub("#", printed) == NUMBER.sub("#", ours), page
    questions = re.compile(r"^\d+\. .*?\?", re.M)
    assert questions.findall(real) == questions.findall(ours)
    assert len(questions.findall(ours)) == 10


def run_commands(text: str, run: Run) -> list[str]:
    """Run the lines of a block, each of which must succeed; what they print."""
    printed = []
    for line in text.strip().splitlines():
        program, *arguments = shlex.split(line)
        assert program == "peerveil"
        if arguments[0] == "plan" and "--draws" not in arguments:
            arguments += ["--draws", "2"]  # a plan to rely on takes minutes
        done = run(*arguments)
        assert done.code == 0, done.err
        printed.append(done.out)
    return printed


@pytest.mark.usefixtures("quick_plans")
@pytest.mark.parametrize("text", quick_first(blocks("console")))
def test_commands_run(text: str, run: Run, tmp_path: Path) -> None:
    for name, contents in (("reviews", REVIEWS), ("public", PUBLIC), ("tracks", TRACKS)):
        (tmp_path / f"{name}.csv").write_text(contents)
    (tmp_path / "reviewers.txt").write_text("ann\nbob\ncem\n")
    (tmp_path / "reviewers.csv").write_text("reviewer,seniority\nann,senior\nbob,junior\ncem,junior\n")
    if "--write-public public.csv" in text:  # it begins with an export, in which each reviewer has four reviews
        (tmp_path / "public.csv").unlink()
        synthetic_conference(reviewers=20, rng=np.random.default_rng(4)).write_csv(tmp_path / "reviews.csv")
    run_commands(text, run)


@pytest.mark.promise("P-BUDGET-1")
def test_the_odds_of_a_budget_are_rounded_up() -> None:
    rows = re.findall(
        r"^\| ([\d.]+) \| ([\d.]+) \| (\d+) % sure \|$", (ROOT / "docs" / "budget.md").read_text(encoding="utf-8"), re.M
    )
    assert len(rows) == 4
    for epsilon, factor, percent in rows:
        odds = math.exp(float(epsilon))
        assert odds <= float(factor) < 1.01 * odds
        assert 100 * odds / (1 + odds) <= int(percent) < 1 + 100 * odds / (1 + odds)


def drawn(name: str) -> dict[str, str]:
    """What a script that draws would write, by file."""
    script = runpy.run_path(str(ROOT / "docs" / "figures" / f"{name}.py"))
    if name == "example":
        return {"example": script["svg"]()}
    return {name: script[name]() for name in ("records", "neighbours")}


@pytest.mark.parametrize("script", ["assignments", "example"])
def test_drawings_have_not_drifted(script: str) -> None:
    for name, picture in drawn(script).items():
        path = ROOT / "docs" / "figures" / f"{name}.svg"
        assert path.read_text(encoding="utf-8") == picture, "run `make figures` and commit what it writes"


@pytest.mark.promise("P-PROTECTED-1")
def test_the_drawn_neighbours_are_neighbours() -> None:
    script = runpy.run_path(str(ROOT / "docs" / "figures" / "assignments.py"))
    first, second = script["FIRST"], script["SECOND"]
    for holders in (first, second):
        assert all(len(set(names)) == len(names) for names in holders.values())  # nobody reviews a paper twice
        assert sorted("".join(holders.values())) == sorted("AABBCC")
    moved = [{a, b} for paper in first for a, b in zip(first[paper], second[paper], strict=True) if a != b]
    assert moved
    assert all("A" in pair for pair in moved)
    assert sorted(script["means"](first).values()) == [4.5, 4.5, 6.0]
    assert sorted(script["means"](second).values()) == [3.5, 5.0, 6.5]


def test_the_release_format_is_the_one_written() -> None:
    text = (ROOT / "docs" / "release-format.md").read_text(encoding="utf-8")
    for column, meaning in COLUMNS.items():
        assert f"| `{column}` | {meaning} |" in text
    for field in release_schema()["properties"]:
        assert f"`{field}`" in text


def test_every_format_is_described() -> None:
    text = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    for name in (*KINDS, *READERS, *PUBLIC_FORMATS, *KEYS):
        assert f"`{name}`" in text, name


def test_links_between_documents_lead_somewhere() -> None:
    for path in DOCUMENTS:
        text = BLOCK.sub("", path.read_text(encoding="utf-8"))  # what looks like a link in code is none
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            assert (path.parent / target).exists(), f"{path.name} links to {target}"


def test_sections_that_the_code_names_exist() -> None:
    headings = set(re.findall(r"^#+ (.+)$", (ROOT / "docs" / "mathematics.md").read_text(encoding="utf-8"), re.M))
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    named = set(re.findall(r'docs/mathematics\.md,\s+"([^"]+)"', code))
    assert len(named) > 5
    assert named <= headings


def test_the_promise_is_worded_the_same_everywhere() -> None:
    start, end = re.split(r"e\^\S+ = \S+\.(?= )", Guarantee(kind="pure", unit="reviewer", epsilon=1.0).promise)
    for name in ("README.md", "docs/privacy.md"):
        words = re.sub(r"[\s>]+", " ", (ROOT / name).read_text(encoding="utf-8"))
        assert f"{start}e^epsilon.{end}" in words, name
    start, end = re.split(r"e\^\S+ = \S+\.(?= )", Guarantee(kind="pure", unit="person", epsilon=1.0).promise)
    assert f"{start}e^epsilon.{end}" in words, "docs/privacy.md"


def test_commands_of_make_that_are_named_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for name in ("README.md", "CONTRIBUTING.md"):
        for target in re.findall(r"^make (\w+)", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE)
