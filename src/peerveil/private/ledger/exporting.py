"""Export of a ledger as JSON or CSV: budgets, charges and statements, without fingerprints of private data."""

from __future__ import annotations

import json
from typing import Any

from peerveil.errors import InputError
from peerveil.private.ledger.accounts import finite_or_none
from peerveil.private.ledger.book import Ledger
from peerveil.support.frames import csv_text
from peerveil.support.version import software

#: The columns of an exported CSV file, and their meaning. Those that a kind of entry does not have are empty.
COLUMNS = {
    "kind": "`budget`, `charge` or `statement`",
    "dataset": "the data set",
    "unit": "the unit of the budget",
    "time": "time of the charge or statement, in UTC",
    "release": "the number of the charge",
    "quantity": "what was released",
    "released_unit": "the unit that the release states",
    "epsilon": "the cost or the limit; empty if a cost is in rho alone",
    "delta": "delta of a budget",
    "rho": "the cost or the limit; empty if a limit is in epsilon alone",
    "omega": "the orders that rho covers; empty for all",
    "spent": "what is spent of a budget",
    "left": "what is left of it",
    "mechanism": "name and parameters, as JSON",
    "declared": "whether a statement was declared; otherwise it came with a charge",
    "statement": "what was stated to be public, as JSON; empty if unknown",
    "software": "the version that charged it",
}


def ledger_document(ledger: Ledger, dataset: str | None = None) -> dict[str, Any]:
    """Return all entries of a ledger, or those of a data set, as JSON."""
    name = dataset and ledger.dataset(dataset)
    budgets = [
        {
            **{field: getattr(account, field) for field in ("dataset", "unit", "spent", "left")},
            **{field: getattr(account.budget, field) for field in ("epsilon", "delta", "rho", "currency")},
            "omega": finite_or_none(account.budget.omega),
        }
        for account in ledger.accounts(name)
    ]
    same = ("dataset", "unit", "release", "quantity", "released_unit", "mechanism", "software")
    charges = [
        {
            **{field: getattr(entry, field) for field in same},
            "time": entry.charged,
            "epsilon": entry.spend.epsilon,
            "rho": entry.spend.rho,
            "omega": finite_or_none(entry.spend.omega),
            "statement": entry.statement and entry.statement.to_document(),
        }
        for entry in ledger.history(name)
    ]
    statements = [
        {
            "dataset": stated.dataset,
            "time": stated.stated,
            "declared": stated.declared,
            "statement": stated.statement.to_document(),
        }
        for stated in ledger.statements(name)
    ]
    return {"software": software(), "budgets": budgets, "charges": charges, "statements": statements}


def ledger_text(ledger: Ledger, suffix: str, dataset: str | None = None) -> str:
    """Return an exported ledger as the text of a ``.json`` or ``.csv`` file; numbers keep all their digits."""
    if suffix not in (".json", ".csv"):
        raise InputError(f"a ledger is exported as .json or .csv, got {suffix!r}")
    document = ledger_document(ledger, dataset)
    if suffix == ".json":
        return json.dumps(document, indent=1, allow_nan=False) + "\n"
    entries = [{"kind": kind} | entry for kind in ("budget", "charge", "statement") for entry in document[f"{kind}s"]]
    return csv_text(COLUMNS, ([_cell(entry.get(column)) for column in COLUMNS] for entry in entries))


def _cell(value: object) -> object:
    return json.dumps(value) if isinstance(value, dict | bool) else value
