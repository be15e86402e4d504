"""The technical report: its theorems are those that code, tests and documents cite, and its numbers are kept ones."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REPORT = ROOT / "docs" / "report"
SECTIONS = sorted((REPORT / "sections").glob("*.typ"))
CITED = re.compile(r"\bTheorem ([A-Z]\d+)\b")
#: Several at once, such as "Theorems E1 to E4 and E7".
SEVERAL = re.compile(r"\bTheorems ([A-Z]\d+(?:(?:,| and| or| to|, and)\s+[A-Z]\d+)*)")
#: How documents mark a statement: in bold, with its label first.
MARKED = re.compile(r"\*\*Theorem ([A-Z]\d+)\b")

#: Prose of the evaluation may not hold measured numbers: decimals, percentages, errors, multiples.
TYPED = re.compile(r"\d+\.\d+|\d+\s*(?:%|percent|times)|±")


def theorems() -> dict[str, dict[str, str]]:
    """The register: title and statement of each theorem, by label."""
    return tomllib.loads((REPORT / "theorems.toml").read_text("utf-8"))


def cited(folder: str) -> dict[str, list[str]]:
    """The files of a folder that cite each label."""
    found: dict[str, list[str]] = {}
    for file in sorted((ROOT / folder).rglob("*.py")):
        if file.name != Path(__file__).name:
            for label in CITED.findall(file.read_text("utf-8")):
                found.setdefault(label, []).append(file.name)
    return found


def prose(text: str) -> str:
    """The words of a section, without code, calls, strings and formulas."""
    text = re.sub(r"//.*", "", text)
    text = re.sub(r'"[^"]*"', "", text)
    text = re.sub(r"\$[^$]*\$", "", text)
    text = re.sub(r"^\s*#(?:let|import|if|show-table).*$", "", text, flags=re.MULTILINE)
    return re.sub(r"#\w[\w-]*(?:\([^()]*(?:\([^()]*\)[^()]*)*\))?", "", text)


@pytest.mark.parametrize("folder", ["src", "tests"])
def test_labels_that_are_cited_exist_and_each_theorem_is_cited(folder: str) -> None:
    assert cited(folder).keys() == theorems().keys()


def test_labels_that_are_cited_together_exist() -> None:
    assert re.findall(r"[A-Z]\d+", SEVERAL.findall("see Theorems E1 to E4 and E7, or S9")[0]) == ["E1", "E4", "E7"]
    files = [file for folder in ("src", "tests") for file in (ROOT / folder).rglob("*.py")]
    files += [*(ROOT / "docs").rglob("*.md"), REPORT / "theorems.toml", *SECTIONS, ROOT / "README.md"]
    found = set()
    for file in files:
        if file != Path(__file__):
            for several in SEVERAL.findall(file.read_text("utf-8")):
                found |= set(re.findall(r"[A-Z]\d+", several))
    assert found
    assert found <= theorems().keys()


def test_documents_mark_each_theorem_once_and_no_other() -> None:
    texts = [(ROOT / "docs" / f"{name}.md").read_text("utf-8") for name in ("mathematics", "privacy")]
    marked = [label for text in texts for label in MARKED.findall(text)]
    assert sorted(marked) == sorted(theorems())
    assert {label for text in texts for label in CITED.findall(text)} <= theorems().keys()


def test_the_report_states_and_proves_each_theorem_once() -> None:
    stated, proven = [], []
    for file in SECTIONS:
        text = file.read_text("utf-8")
        stated += re.findall(r'#thm\("(\w+)"\)', text)
        proven += re.findall(r'#thm\("(\w+)"\)\n#proof\[', text)
    assert sorted(stated) == sorted(theorems())
    assert proven == stated


def test_statements_are_sentences_with_titles() -> None:
    for label, theorem in theorems().items():
        assert theorem.keys() == {"title", "statement"}, label
        assert theorem["statement"].rstrip().endswith((".", "$")), label
        assert set(CITED.findall(theorem["statement"])) <= theorems().keys(), label


def test_no_semicolon_is_swallowed() -> None:
    """Typst takes a semicolon after a call for the end of the call, and does not print it."""
    for file in SECTIONS:
        assert not re.findall(r'#\w+\("[^"()]*"\);', file.read_text("utf-8")), file.name


def test_a_number_in_prose_would_be_noticed() -> None:
    assert TYPED.search(prose("The error is 0.5 points."))
    assert TYPED.search(prose("It has 2 times the error."))
    assert not TYPED.search(prose('At $epsilon = 0.5$ it is #cell("a", "b", (1,), "c") times the error.'))


def test_measured_numbers_are_read_from_kept_tables() -> None:
    text = prose((REPORT / "sections" / "evaluation.typ").read_text("utf-8"))
    assert not TYPED.findall(text)


@pytest.mark.slow
def test_the_report_is_built_within_its_length_and_always_the_same(tmp_path: Path) -> None:
    build = runpy.run_path(str(REPORT / "build.py"))["build"]
    files = [tmp_path / name for name in ("one.pdf", "two.pdf")]
    for file in files:
        assert build(file) == []  # an undefined label is an error, an unknown font a warning
    assert files[0].read_bytes() == files[1].read_bytes()
    build(tmp_path / "page-{0p}.png")
    assert 15 <= len(list(tmp_path.glob("page-*.png"))) <= 25
