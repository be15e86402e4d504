"""Documents that can drift are checked: code runs, commands exist, tables agree with the code."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import peerveil as pv
from peerveil.bundle import COLUMNS, release_schema
from peerveil.exports import KINDS
from peerveil.guarantee import Guarantee
from peerveil.private.readers import READERS
from peerveil.private.readers.mapping import KEYS
from peerveil.public_forms import PUBLIC_FORMATS

ROOT = Path(__file__).parents[1]
DOCUMENTS = [
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

TRACKS = "paper,reviewer,score,track\n" + "".join(
    f"p{i},r{(i + 5 * k) % 25},{(3 * i + k) % 9},{'theory' if i < 25 else 'systems'}\n"
    for i in range(50)
    for k in range(3)
)
PUBLIC = "paper,ratings\np,3;5\nq,4;4\nr,8;6\n"
REVIEWS = "paper,reviewer,score\np,ann,3\np,bob,5\nq,bob,4\nq,cem,4\nr,cem,8\nr,ann,6\n"


def blocks(language: str) -> list[tuple[str, str]]:
    return [
        (f"{path.name}:{number}", text)
        for path in DOCUMENTS
        for number, (kind, text) in enumerate(BLOCK.findall(path.read_text(encoding="utf-8")))
        if kind == language
    ]


def published(folder: Path) -> None:
    """A release for code that reads one."""
    weights = pv.PublicWeights.from_rows([[3, 5], [4, 4], [8, 6]], load=2)
    pv.refine([3.0, 6.0, 5.0], weights, mechanism=pv.Laplace(scale=1.0)).save(folder)


@pytest.mark.parametrize("code", [text for _, text in blocks("r")], ids=[name for name, _ in blocks("r")])
def test_r_blocks_run(code: str, tmp_path: Path) -> None:
    rscript = shutil.which("Rscript")
    if rscript is None:
        pytest.skip("R is not installed")
    published(tmp_path / "out")
    done = subprocess.run([rscript, "-e", code], cwd=tmp_path, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Median" in done.stdout


@pytest.mark.parametrize("code", [text for _, text in blocks("python")], ids=[name for name, _ in blocks("python")])
def test_python_blocks_run(code: str, tmp_path: Path) -> None:
    if "out/release." in code:
        published(tmp_path / "out")
    subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=tmp_path, check=True, capture_output=True)


@pytest.mark.parametrize("text", [text for _, text in blocks("console")], ids=[name for name, _ in blocks("console")])
def test_commands_run(text: str, tmp_path: Path) -> None:
    for name, contents in (("reviews", REVIEWS), ("public", PUBLIC), ("tracks", TRACKS)):
        (tmp_path / f"{name}.csv").write_text(contents)
    for _, venues in blocks("toml"):
        (tmp_path / "venues.toml").write_text(venues)
    for line in text.strip().splitlines():
        program, *arguments = shlex.split(line)
        assert program == "peerveil"
        command = [sys.executable, "-c", "from peerveil.cli import main; main()", *arguments]
        done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


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


def test_the_promise_is_worded_the_same_everywhere() -> None:
    start, end = re.split(r"e\^\S+ = \S+\.(?= )", Guarantee(kind="pure", unit="reviewer", epsilon=1.0).promise)
    for name in ("README.md", "docs/privacy.md"):
        words = re.sub(r"[\s>]+", " ", (ROOT / name).read_text(encoding="utf-8"))
        assert f"{start}e^epsilon.{end}" in words, name


def test_commands_of_make_that_are_named_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for name in ("README.md", "CONTRIBUTING.md"):
        for target in re.findall(r"^make (\w+)", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE)
