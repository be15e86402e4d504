"""An exported ledger holds what the ledger holds, digit by digit, and nothing about private data."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

import peerveil as pv
from cli.test_cli import Run, run
from peerveil.privacy.guarantee import Guarantee, Unit
from peerveil.private.fingerprint import Fingerprint
from peerveil.private.ledger.exporting import COLUMNS

__all__ = ["run"]  # a fixture

DIGEST = "5ec2e7" * 8


def about(claim: Guarantee) -> Callable[[Unit], Guarantee]:
    """The same claim for any unit."""
    return lambda unit: replace(claim, unit=unit)


@pytest.fixture
def ledger(tmp_path: Path) -> pv.Ledger:
    book = pv.Ledger.create(str(tmp_path / "budgets.db"))
    book.open("conf", "reviewer", epsilon=3.1, delta=1e-6)
    book.open("conf", "review", rho=1 / 3, omega=2.5)
    book.open("=other, 'name'", "reviewer", epsilon=0.1 + 0.2)
    claims: list[tuple[str, Any, Any]] = [
        ("conf", Guarantee(kind="gdp", unit="reviewer", rho=0.0123456789012345), pv.Gaussian(scale=math.pi)),
        ("=other, 'name'", Guarantee(kind="pure", unit="reviewer", epsilon=0.1), pv.Laplace(scale=1e-7)),
    ]
    for dataset, claim, mechanism in claims:
        book.charge(
            dataset,
            about(claim),
            quantity="ratings",
            unit="reviewer",
            mechanism=mechanism,
            fingerprint=Fingerprint(key="0" * 16, digest=DIGEST),
            statement=pv.Statement(public="none", scale=(1, 10)),
        )
    book.state("conf", pv.Statement(public="all", scale=(1, 10)))
    return book


def number(cell: str) -> float | None:
    return float(cell) if cell else None


@pytest.mark.promise("P-BUDGET-8")
def test_numbers_survive_the_round_trip(ledger: pv.Ledger, run: Run, tmp_path: Path) -> None:
    for suffix in ("json", "csv"):
        done = run("ledger", "export", "budgets.db", f"all.{suffix}")
        assert (done.code, done.out) == (0, f"Written: all.{suffix}\n"), done.err
    document = json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))
    rows = list(csv.DictReader(io.StringIO((tmp_path / "all.csv").read_text(encoding="utf-8"))))
    assert list(rows[0]) == list(COLUMNS)
    kinds = {kind: [row for row in rows if row["kind"] == kind] for kind in ("budget", "charge", "statement")}
    assert sum(map(len, kinds.values())) == len(rows)
    for account, entry, row in zip(ledger.accounts(), document["budgets"], kinds["budget"], strict=True):
        budget = asdict(account.budget) | {"spent": account.spent, "left": account.left}
        budget["omega"] = None if math.isinf(budget["omega"]) else budget["omega"]
        assert (account.dataset, account.unit) == (entry["dataset"], entry["unit"]) == (row["dataset"], row["unit"])
        for name in ("epsilon", "delta", "rho", "omega", "spent", "left"):
            assert entry[name] == number(row[name]) == budget[name], name
    for charge, entry, row in zip(ledger.history(), document["charges"], kinds["charge"], strict=True):
        assert charge.release == entry["release"] == row["release"]
        assert charge.charged == entry["time"] == row["time"]
        assert charge.mechanism == entry["mechanism"] == json.loads(row["mechanism"])
        assert (charge.spend.epsilon, charge.spend.rho) == (entry["epsilon"], entry["rho"])
        assert (charge.spend.epsilon, charge.spend.rho) == (number(row["epsilon"]), number(row["rho"]))
        assert charge.statement is not None
        assert charge.statement.to_document() == entry["statement"] == json.loads(row["statement"])
    for stated, entry, row in zip(ledger.statements(), document["statements"], kinds["statement"], strict=True):
        assert stated.declared == entry["declared"] == json.loads(row["declared"])
        assert stated.statement.to_document() == entry["statement"] == json.loads(row["statement"])
    assert {entry["declared"] for entry in document["statements"]} == {False, True}


@pytest.mark.promise("P-BUDGET-8")
def test_fingerprints_stay_in_the_ledger(ledger: pv.Ledger, run: Run, tmp_path: Path) -> None:
    assert DIGEST.encode() in (tmp_path / "budgets.db").read_bytes()
    run("ledger", "export", "budgets.db", "all.json")
    run("ledger", "export", "budgets.db", "all.csv")
    for path in (tmp_path / "all.json", tmp_path / "all.csv"):
        text = path.read_text(encoding="utf-8")
        assert DIGEST not in text
        assert str(tmp_path) not in text


def test_one_data_set_other_formats_and_existing_files(ledger: pv.Ledger, run: Run, tmp_path: Path) -> None:
    run("ledger", "export", "budgets.db", "conf.json", "--dataset", "conf")
    document = json.loads((tmp_path / "conf.json").read_text(encoding="utf-8"))
    assert {entry["dataset"] for kind in ("budgets", "charges", "statements") for entry in document[kind]} == {"conf"}
    assert "already exists" in run("ledger", "export", "budgets.db", "conf.json").err
    done = run("ledger", "export", "budgets.db", "conf.xlsx")
    assert (done.code, "exported as .json or .csv" in done.err) == (2, True)
    assert not (tmp_path / "conf.xlsx").exists()
