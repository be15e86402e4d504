"""Mutation testing: 60 small changes of the source, each run against the tests of its module.

Each mutation changes one operator, comparison or constant. The same seed gives the same mutations as long as the files
do not change. A mutation that survives shows a behaviour that no test checks.

    python benchmarks/mutants.py [--each 10] [--seed 17] [--only regions,ledger] [--workers 2] [--shared FOLDER]

With ``--shared`` only changes are made that a second checkout of the project has as well, so that the tests of both can
be compared: in both checkouts the same seed then gives the same changes.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]

#: For each part of the package its files and the tests that must notice what happens to them.
PARTS: dict[str, tuple[list[str], list[str]]] = {
    "regions": (["regions"], ["tests/regions"]),
    "sensitivity": (
        ["privacy/sensitivity.py", "privacy/joint_claims.py"],
        ["tests/privacy/test_sensitivity.py", "tests/privacy/test_parts.py", "tests/privacy/test_groups.py"],
    ),
    "accounting": (
        ["privacy/accounting.py", "privacy/gdp.py", "privacy/guarantee.py", "privacy/budget.py"],
        [
            "tests/privacy/test_accounting.py",
            "tests/privacy/test_gdp.py",
            "tests/privacy/test_guarantee.py",
            "tests/private/test_ledger.py",
        ],
    ),
    "ledger": (
        ["private/ledger"],
        [
            "tests/private/test_ledger.py",
            "tests/private/test_ledger_check.py",
            "tests/private/test_ledger_migration.py",
        ],
    ),
    "readers": (["private/readers"], ["tests/private/test_readers.py"]),
    "guard": (["web/guard.py"], ["tests/web/test_page.py"]),
}

_SWAPS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}


@dataclass(frozen=True)
class Mutant:
    """One change: the file, the line, and the file's text after it."""

    part: str
    path: str
    line: int
    what: str
    text: str


@dataclass(frozen=True)
class Place:
    """A node that can be changed: its file, its number among those of the file, and the expression around it."""

    file: Path
    index: int
    what: str
    line: int
    content: str


def changes(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """Yield every node that can be changed, with the kind of change."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and type(node.ops[0]) in _SWAPS:
            yield node, "compare"
        elif (
            isinstance(node, ast.BinOp)
            and type(node.op) in _SWAPS
            and not isinstance(node.left, ast.Constant | ast.JoinedStr)
        ):
            yield node, "arithmetic"
        elif isinstance(node, ast.BoolOp):
            yield node, "boolean"
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value not in (0,):
            yield node, "constant"
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield node, "not"


def apply(node: ast.AST, what: str) -> None:
    """Change a node in place."""
    if what == "compare":
        node.ops[0] = _SWAPS[type(node.ops[0])]()  # type: ignore[attr-defined]
    elif what in ("arithmetic", "boolean"):
        node.op = _SWAPS[type(node.op)]()  # type: ignore[attr-defined]
    elif what == "constant":
        node.value = node.value + 1  # type: ignore[attr-defined]
    else:
        node.operand = ast.UnaryOp(ast.Not(), node.operand)  # type: ignore[attr-defined]


def skip_annotations(tree: ast.Module) -> set[int]:
    """Return the ids of nodes in annotations, decorators and messages, where a change has no effect."""
    skipped = set()
    for node in ast.walk(tree):
        for field in ("annotation", "returns"):
            part = getattr(node, field, None)
            if part is not None:
                skipped |= {id(one) for one in ast.walk(part)}
        for part in getattr(node, "decorator_list", []):
            skipped |= {id(one) for one in ast.walk(part)}
        if isinstance(node, ast.JoinedStr | ast.Raise):
            skipped |= {id(one) for one in ast.walk(node)}
    return skipped


def places(part: str, source: Path) -> list[Place]:
    """Return everything in a part that can be changed."""
    files = [
        f
        for name in PARTS[part][0]
        for f in ([source / name] if name.endswith(".py") else (source / name).glob("*.py"))
    ]
    found = []
    for file in sorted(files):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        skipped = skip_annotations(tree)
        around = {
            id(node): outer
            for statement in ast.walk(tree)
            if isinstance(statement, ast.stmt)
            for outer in ast.iter_child_nodes(statement)
            if not isinstance(outer, ast.stmt)
            for node in ast.walk(outer)
        }
        found += [
            Place(
                file, index, what, getattr(node, "lineno", 0), f"{ast.unparse(node)} in {ast.unparse(around[id(node)])}"
            )
            for index, (node, what) in enumerate(changes(tree))
            if id(node) not in skipped
        ]
    return found


def shared_places(part: str, source: Path, other: Path) -> list[Place]:
    """Return the places whose expression occurs once in the part, here and in the other checkout, in a common order."""
    counts = [Counter(place.content for place in places(part, one)) for one in (source, other)]
    once = [place for place in places(part, source) if all(count[place.content] == 1 for count in counts)]
    return sorted(once, key=lambda place: place.content)


def mutants(part: str, source: Path, number: int, seed: int, shared: Path | None = None) -> list[Mutant]:
    """Return randomly chosen mutants of a part."""
    possible = shared_places(part, source, shared) if shared else places(part, source)
    made = []
    for place in random.Random(f"{seed}{part}").sample(possible, min(number, len(possible))):
        tree = ast.parse(place.file.read_text(encoding="utf-8"))
        node, _ = list(changes(tree))[place.index]
        before = ast.unparse(node)
        apply(node, place.what)
        what = f"{before} -> {ast.unparse(node)}"
        made.append(Mutant(part, str(place.file.relative_to(source)), place.line, what, ast.unparse(tree)))
    return made


def survives(mutant: Mutant) -> bool:
    """Return whether all tests of the part pass with the change."""
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "p"
        project.mkdir()
        for name in ("src", "tests", "docs", "benchmarks"):
            shutil.copytree(ROOT / name, project / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md"):
            shutil.copy(ROOT / name, project / name)
        (project / "src" / "peerveil" / mutant.path).write_text(mutant.text, encoding="utf-8")
        options = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not slow"]
        try:
            done = subprocess.run(
                [sys.executable, "-m", "pytest", *options, *PARTS[mutant.part][1]],
                cwd=project,
                env=os.environ | {"PYTHONPATH": str(project / "src"), "HYPOTHESIS_PROFILE": "unshrunk"},
                capture_output=True,
                timeout=1800,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False  # the tests do not end
        return done.returncode == 0


def main() -> None:
    """Print which mutants survive."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=10)
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--shared", type=Path, help="a second checkout that has the same changes to make")
    given = parser.parse_args()
    package = Path("src") / "peerveil"
    shared = given.shared and given.shared / package
    everything = [
        m for part in given.only.split(",") for m in mutants(part, ROOT / package, given.each, given.seed, shared)
    ]
    alive = dict.fromkeys(given.only.split(","), 0)
    with ThreadPoolExecutor(given.workers) as pool:
        for mutant, lives in zip(everything, pool.map(survives, everything), strict=True):
            alive[mutant.part] += lives
            print(
                "SURVIVES" if lives else "noticed ",
                f"{mutant.part}: {mutant.path}:{mutant.line}: {mutant.what}",
                flush=True,
            )
    print(alive, sum(alive.values()), "of", len(everything))


if __name__ == "__main__":
    main()
