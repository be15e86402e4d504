"""The promises of the documents, and the tests and benchmarks that show them.

`tests/promises.toml` lists the promises: an id, the document, and the words in which it stands there. A test shows one
if it is marked `@pytest.mark.promise("P-LEDGER-1")`, with `by="exhaustion"`, `"audit"` or `"sweep"` where it is more
than examples; a benchmark if it names the promise where it states a table (`promises=("P-…",)`).

    python tests/promises.py      write the list into docs/testing.md
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
REGISTER = ROOT / "tests" / "promises.toml"
PAGE = ROOT / "docs" / "testing.md"
BEGIN, END = "<!-- promises: written by tests/promises.py from marks in the tests -->", "<!-- /promises -->"

#: What a test does that shows a promise.
WAYS = ("test", "exhaustion", "audit", "sweep", "benchmark")


@dataclass(frozen=True)
class Promise:
    """A promise.

    Attributes:
        name: its id.
        document: the document where it stands, from the root of the project.
        words: the words there.
    """

    name: str
    document: str
    words: str

    def __post_init__(self) -> None:
        if not re.fullmatch(r"P-[A-Z]+-\d+", self.name):
            raise ValueError(f"{self.name}: write an id as P-TOPIC-1")

    def stands(self) -> bool:
        """Whether the document still says so."""
        return plain(self.words) in plain((ROOT / self.document).read_text("utf-8"))


@dataclass(frozen=True)
class Evidence:
    """What shows a promise: a test function or a benchmark.

    Attributes:
        promise: the id.
        file: its file, from the root of the project.
        name: the name of the test, or of the table of a benchmark.
        way: one of `WAYS`.
        slow: whether `make test` leaves it out.
    """

    promise: str
    file: str
    name: str
    way: str = "test"
    slow: bool = False

    def __post_init__(self) -> None:
        if self.way not in WAYS:
            raise ValueError(f"{self.file}, {self.name}: by={self.way!r} is not one of {', '.join(WAYS)}")


def plain(text: str) -> str:
    """Text without line ends, quotation marks of Markdown, and comments around inserted numbers."""
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    return re.sub(r"\s+", " ", re.sub(r"^> ?", "", text, flags=re.M))


def promises() -> list[Promise]:
    """The register."""
    stored = tomllib.loads(REGISTER.read_text("utf-8"))["promise"]
    return [Promise(one["id"], one["document"], one["words"]) for one in stored]


def evidence() -> list[Evidence]:
    """Everything that is marked, in tests and benchmarks."""
    found: list[Evidence] = []
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        found += marked(file.read_text("utf-8"), file.relative_to(ROOT).as_posix())
    for file in sorted((ROOT / "benchmarks").glob("bench_*.py")):
        found += benchmarked(file.read_text("utf-8"), file.relative_to(ROOT).as_posix())
    return found


def marked(text: str, file: str) -> Iterator[Evidence]:
    """The marks of a test file."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        slow = any(ast.unparse(one) == "pytest.mark.slow" for one in node.decorator_list)
        for call in (one for one in node.decorator_list if isinstance(one, ast.Call)):
            if ast.unparse(call.func) == "pytest.mark.promise":
                ways = [ast.literal_eval(word.value) for word in call.keywords if word.arg == "by"]
                for name in map(ast.literal_eval, call.args):
                    yield Evidence(name, file, node.name, ways[0] if ways else "test", slow=slow)


def benchmarked(text: str, file: str) -> Iterator[Evidence]:
    """The tables of a benchmark that state promises."""
    for call in (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)):
        for word in call.keywords:
            if word.arg == "promises" and call.args:
                named = call.args[0]
                table = str(named.value) if isinstance(named, ast.Constant) else "all tables"
                yield from (Evidence(name, file, table, "benchmark") for name in ast.literal_eval(word.value))


def listed() -> str:
    """All promises with what shows them, as Markdown."""
    shown: dict[str, list[Evidence]] = {}
    for one in evidence():
        shown.setdefault(one.promise, []).append(one)
    by_document: dict[str, list[Promise]] = {}
    for promise in promises():
        by_document.setdefault(promise.document, []).append(promise)
    parts = []
    for document, some in by_document.items():
        title = "README" if document == "README.md" else f"[{document}]({document.removeprefix('docs/')})"
        rows = [f"| {linkless(one.words)} | {'; '.join(map(described, shown.get(one.name, [])))} |" for one in some]
        parts.append(
            "\n".join([f"### {title.replace('docs/', '', 1)}", "", "| promise | shown by |", "|---|---|", *rows])
        )
    return "\n\n".join(parts)


def linkless(words: str) -> str:
    """Words without links, which lead elsewhere from another page, and without what ends a cell of a table."""
    return re.sub(r"\[([^]]+)\](\([^)]*\))?", r"\1", " ".join(words.split())).replace("|", "\\|")


def described(one: Evidence) -> str:
    """What shows a promise, in a cell of the table."""
    name = one.name.removeprefix("test_").replace("_", " ")
    place = one.file.removeprefix("tests/")
    return f"{one.way}: {name} (`{place}`{', slow' if one.slow else ''})"


def page() -> str:
    """The page with the list as it should be."""
    before, rest = PAGE.read_text("utf-8").split(BEGIN)
    return f"{before}{BEGIN}\n\n{listed()}\n\n{END}{rest.split(END, 1)[1]}"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
