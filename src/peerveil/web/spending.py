"""What the page shows of the ledger."""

from __future__ import annotations

from typing import Any

from peerveil.errors import PeerveilError
from peerveil.privacy.budget import Spend
from peerveil.privacy.guarantee import downward, upward
from peerveil.web.labels import label

# ruff: noqa: PLC0415 - databases only where there is a ledger


def ledger_view(place: str) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """Every budget with what is left of it, and every charge, the newest first."""
    from peerveil.private.ledger import Ledger

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
            "cost": _cost(entry.spend),
            "quantity": entry.quantity,
        }
        for entry in reversed(ledger.history())
    ]
    return accounts, history


def _cost(spend: Spend) -> str:
    return f"rho {upward(spend.rho)}" if spend.epsilon is None else f"epsilon {upward(spend.epsilon)}"


def releases_so_far(place: str | None) -> frozenset[str]:
    """The numbers of all releases that the ledger knows."""
    if place is None:
        return frozenset()
    from peerveil.private.ledger import Ledger

    return frozenset(entry.release for entry in Ledger(place).history())


def charges_since(place: str | None, before: frozenset[str], said: dict[str, Any]) -> str:
    """What to say about the ledger when a release was not made: only the ledger itself knows whether it was charged."""
    if place is None:
        return ""
    from peerveil.private.charging import pending
    from peerveil.private.ledger import Ledger

    try:
        waiting = pending(place)
        new = [entry for entry in Ledger(place).history() if entry.release not in before]
    except PeerveilError as error:
        return f"Whether the ledger was charged cannot be told: {error.spelled(label)}"
    new = [entry for entry in new if entry.quantity == said["quantity"] and entry.released_unit == said["unit"]]
    if not new:
        return "The ledger was not charged."
    number, kept = new[-1].release, {one.release for one in waiting}
    cost = " and ".join(_cost(entry.spend) for entry in new if entry.release == number)
    charged = f"Release {number} was charged ({cost} of {new[-1].dataset!r})"
    if number not in kept:
        return f"{charged}, and the charge stands: noise may have been drawn for it."
    return f"{charged}; it is kept: release once more with the same choices to finish it without another charge."
