"""What the page shows of the ledger."""

from __future__ import annotations

from typing import Any

from peerveil.app.ledger import Ledger, cost
from peerveil.privacy.guarantee import downward, upward


def ledger_view(place: str) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """Every budget with what is left of it, and every charge, the newest first."""
    ledger = Ledger(place)
    accounts = [
        {
            "dataset": account.dataset,
            "unit": account.unit,
            "currency": account.budget.currency,
            "limit": f"{account.budget.limit:.6g}",
            "spent": upward(account.spent),
            "left": downward(account.left),
            "share": min(100, round(100 * account.spent / account.budget.limit)),
            "releases": len(account.spends),
        }
        for account in ledger.accounts()
    ]
    history = [
        {
            "charged": entry.charged.replace("T", " ").replace("Z", " UTC"),
            "dataset": entry.dataset,
            "unit": entry.unit,
            "cost": cost(entry.spend),
            "quantity": entry.quantity,
        }
        for entry in reversed(ledger.history())
    ]
    return accounts, history
