"""What programs read: every document that a command prints fits its schema, and exit codes are those documented."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import typer

from cli.test_cli import GOOD, PUBLIC, Run, run
from documents import check_all_printed
from peerveil.app import schemas
from peerveil.cli import app
from peerveil.errors import PeerveilError

__all__ = ["run"]  # a fixture

ROOT = Path(__file__).parents[2]

#: Kinds of documents that are files.
FILES = {"log", "metrics"}


def files(folder: Path) -> None:
    reviews = "paper,reviewer,score,track\n" + "".join(
        f"p{i},r{(i + 5 * k) % 25},{1 + (3 * i + k) % 9},{'theory' if i < 25 else 'systems'}\n"
        for i in range(50)
        for k in range(3)
    )
    (folder / "reviews.csv").write_text(reviews)
    for step, year in enumerate((2025, 2026), 3):
        rows = [f"p{i},r{(i + 5 * k) % 25}@x.org,{1 + (step * i + k) % 9}\n" for i in range(50) for k in range(3)]
        (folder / f"{year}.csv").write_text("paper,reviewer,score\n" + "".join(rows))
    (folder / "reviewers.csv").write_text("reviewer,arm\n" + "".join(f"r{i},{'ab'[i % 2]}\n" for i in range(25)))
    (folder / "small.csv").write_text(GOOD)
    (folder / "public.csv").write_text(PUBLIC)


STATED = ["--public", "all", "--score-scale", "1,10", "--epsilon", "1"]
LAPLACE = [*STATED, "--mechanism", "laplace", "--no-report"]
GROUPS = ["--attributes", "reviewers.csv", "--by", "arm"]
LEDGER = ["--ledger", "budgets.db"]
CORRELATED = ["correlate", "2025.csv", "2026.csv", "--names", "2025,2026", "--public", "all", "--score-scale", "1,10"]
#: Commands that together print every kind of document, with their exit codes.
TOUR: list[tuple[int, list[str]]] = [
    (0, ["inspect", "reviews.csv", "--score-scale", "1,10"]),
    (0, ["inspect", "public.csv"]),
    (0, ["plan", "public.csv", "--load", "2", "--epsilon", "1", "--draws", "1", "--workers", "1"]),
    (0, ["ledger", "open", "budgets.db", "--dataset", "conf", "--epsilon", "50"]),
    (0, ["ledger", "open", "budgets.db", "--dataset", "other", "--rho", "1", "--delta", "1e-6"]),
    (0, ["ledger", "open-series", "budgets.db", "--series", "years", "--epsilon", "50"]),
    (0, ["ledger", "join", "budgets.db", "--series", "years", "--dataset", "conf"]),
    (0, ["release", "small.csv", *LAPLACE, "--dry-run", *LEDGER, "--dataset", "conf"]),
    (0, ["release", "small.csv", *LAPLACE, *LEDGER, "--dataset", "conf", "-o", "one"]),
    (0, ["release", "small.csv", *STATED, "--no-report", *LEDGER, "--dataset", "conf", "-o", "two"]),
    (0, ["release", "small.csv", *STATED, "--no-report", "-o", "three"]),
    (0, ["release", "reviews.csv", *LAPLACE, "--group-column", "track", "--dry-run"]),
    (0, ["release", "reviews.csv", *LAPLACE, "--group-column", "track", "-o", "tracks"]),
    (0, ["release", "reviews.csv", *STATED, *GROUPS, "--values", "a,b", "--dry-run"]),
    (0, ["release", "reviews.csv", *STATED, *GROUPS, "--values", "a,b", "-o", "by"]),
    (0, ["effect", "reviews.csv", *STATED, *GROUPS, "--compare", "a,b", "--plan"]),
    (0, ["effect", "reviews.csv", *STATED, *GROUPS, "--compare", "a,b", "--dry-run"]),
    (0, ["effect", "reviews.csv", *STATED, *GROUPS, "--compare", "a,b", "-o", "effect"]),
    (0, ["effect", "reviews.csv", *STATED, *GROUPS, "--compare", "a,b", "--group-column", "track", "--dry-run"]),
    (0, ["effect", "reviews.csv", *STATED, *GROUPS, "--compare", "a,b", "--group-column", "track", "-o", "effects"]),
    (0, ["release", "reviews.csv", *STATED, *GROUPS, "--values", "a,b", "--group-column", "track", "-o", "by-track"]),
    (0, [*CORRELATED, "--plan"]),
    (0, [*CORRELATED, "--epsilon", "1", "--dry-run"]),
    (0, [*CORRELATED, "--epsilon", "1", "-o", "correlated"]),
    (0, ["refine", "one/release.json", "--public", "public.csv", "-o", "refined", "--no-report"]),
    (0, ["verify", "one", "--public", "public.csv"]),
    (1, ["verify", "one", "--public", "public.csv", "--load", "3"]),
    (0, ["compare", "one", "two"]),
    (0, ["compare", "one", "two", "three"]),
    (0, ["pool", "one", "two", "three", "-o", "prior.json"]),
    (0, ["tables", "two", "--public", "public.csv", "-o", "tables", "--workers", "1"]),
    (1, ["batch", "venues", *LAPLACE, "-o", "batch", "--workers", "1"]),
    (0, ["ledger", "state", "budgets.db", "--dataset", "conf", "--public", "all", "--score-scale", "1,10"]),
    (0, ["ledger", "show", "budgets.db"]),
    (0, ["ledger", "history", "budgets.db"]),
    (0, ["ledger", "check", "budgets.db", "one"]),
    (1, ["ledger", "check", "budgets.db", "--head", "0" * 63 + "1"]),
    (0, ["ledger", "pending", "budgets.db"]),
    (0, ["audit", "--mechanism", "laplace", "--epsilon", "1", "--draws", "300", "--workers", "1"]),
    (0, ["simulate", "beta-5-1", "--draws", "2", "--methods", "noisy", "--workers", "1", "-o", "simulated"]),
]


@pytest.mark.promise("P-AUTOMATION-2")
@pytest.mark.slow
def test_every_document_fits_its_schema(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    printed: list[str] = []
    check_all_printed(monkeypatch, printed.append)
    files(tmp_path)
    (tmp_path / "venues").mkdir()
    (tmp_path / "venues" / "good.csv").write_text(GOOD)
    (tmp_path / "venues" / "bad.csv").write_text("paper\n")
    for code, command in TOUR:
        before = len(printed)
        result = run(*command, "--json")
        assert result.code == code, (command, result.err)
        assert len(printed) == before + 1, command
        json.loads(result.out)
    assert set(printed) == set(schemas.names()) - FILES


def commands(group: Any, before: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """All commands of the command line, by the words that call them."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*before, name))
        else:
            yield (*before, name), command


def test_the_tour_takes_every_command_that_prints_json() -> None:
    able = {
        words
        for words, command in commands(typer.main.get_command(app))
        if any("--json" in getattr(option, "opts", ()) for option in command.params)
    }
    toured = {tuple(command[: 2 if command[0] == "ledger" else 1]) for _, command in TOUR}
    assert able == toured


@pytest.mark.parametrize("kind", schemas.names())
def test_schemas_are_valid_and_named_by_their_files(kind: str) -> None:
    schema = schemas.schema(kind)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"urn:peerveil:{kind}-{schemas.names()[kind]}"
    assert schema["title"]
    assert schema["description"].endswith(".")


def test_the_command_prints_schemas(run: Run) -> None:
    listed = run("schema")
    assert listed.code == 0
    assert all(kind in listed.out for kind in schemas.names())
    assert json.loads(run("schema", "batch").out) == schemas.schema("batch")
    refused = run("schema", "venue")
    assert refused.code == 2
    assert "batch" in refused.err


def errors(kind: type[PeerveilError] = PeerveilError) -> Iterator[type[PeerveilError]]:
    yield kind
    for more in kind.__subclasses__():
        yield from errors(more)


def test_exit_codes_are_those_documented() -> None:
    table = (ROOT / "docs" / "automation.md").read_text(encoding="utf-8")
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", table, re.M)}
    raised = {kind.exit_code for kind in errors() if kind.__module__ == "peerveil.errors"}
    assert raised == {1, 2}
    assert documented == raised | {0, 130, 143}
