"""Export of a ledger as JSON or CSV: budgets, charges, statements and series, without fingerprints of private data."""

from __future__ import annotations

import json
from typing import Any

from peerveil.errors import InputError
from peerveil.private.ledger.accounts import Account, finite_or_none
from peerveil.private.ledger.book import Ledger
from peerveil.private.ledger.series import Series
from peerveil.support.frames import csv_text
from peerveil.support.version import software

#: The columns of an exported CSV file, and their meaning. Those that a kind of entry does not have are empty.
COLUMNS = {
    "kind": "`budget`, `charge`, `statement`, `series`, or `member` of a series",
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
    "series": "the name of a series, or that of a member",
    "people": "how many people are on the list of a member; empty if it counts for everyone",
}


def ledger_document(ledger: Ledger, dataset: str | None = None) -> dict[str, Any]:
    """Return all entries of a ledger, or those of a data set, as JSON."""
    name = dataset and ledger.dataset(dataset)
    budgets = [
        {field: getattr(account, field) for field in ("dataset", "unit")} | _limit(account)
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
    counted = ledger.series(dataset=name)
    series = [{"series": one.name, "unit": "person"} | _limit(one) for one in counted]
    members = [
        {
            "series": one.name,
            "dataset": member.dataset,
            "people": None if member.people is None else len(member.people),
        }
        for one in counted
        for member in one.members
    ]
    entries = {"budgets": budgets, "charges": charges, "statements": statements, "series": series, "members": members}
    return {"software": software()} | entries


def _limit(account: Account | Series) -> dict[str, Any]:
    return {
        **{field: getattr(account, field) for field in ("spent", "left")},
        **{field: getattr(account.budget, field) for field in ("epsilon", "delta", "rho", "currency")},
        "omega": finite_or_none(account.budget.omega),
    }


def ledger_text(ledger: Ledger, suffix: str, dataset: str | None = None) -> str:
    """Return an exported ledger as the text of a ``.json`` or ``.csv`` file; numbers keep all their digits."""
    if suffix not in (".json", ".csv"):
        raise InputError(f"a ledger is exported as .json or .csv, got {suffix!r}")
    document = ledger_document(ledger, dataset)
    if suffix == ".json":
        return json.dumps(document, indent=1, allow_nan=False) + "\n"
    kinds = {key: key if key == "series" else key.removesuffix("s") for key in document if key != "software"}
    entries = [{"kind": kind} | entry for key, kind in kinds.items() for entry in document[key]]
    return csv_text(COLUMNS, ([_cell(entry.get(column)) for column in COLUMNS] for entry in entries))


def _cell(value: object) -> object:
    return json.dumps(value) if isinstance(value, dict | bool) else value
