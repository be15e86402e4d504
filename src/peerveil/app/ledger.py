"""The ledger, as the command line and the page show it."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from peerveil.app.messages import Spelling
from peerveil.errors import Argument, InputError, PeerveilError
from peerveil.privacy.budget import Budget, Spend
from peerveil.privacy.guarantee import downward, upward
from peerveil.privacy.stated_facts import Statement
from peerveil.private.charging import Spending, pending
from peerveil.private.ledger import Account, Ledger, Series
from peerveil.private.ledger.database import ledger_url, shown
from peerveil.private.ledger.exporting import ledger_text
from peerveil.record.committees import read_committee

__all__ = [
    "Ledger",
    "Spending",
    "absolute_place",
    "balance",
    "charges_since",
    "cost",
    "declare",
    "has_ledger",
    "join_series",
    "ledger_name",
    "ledger_text",
    "ledger_view",
    "named_only",
    "open_budget",
    "pending",
    "pending_view",
    "releases_so_far",
    "series_view",
]


def absolute_place(ledger: str) -> str:
    """Return the ledger's absolute path, or its database URL as it is."""
    url = ledger_url(ledger)
    return str(Path(url.database or "").absolute()) if url.get_backend_name() == "sqlite" else ledger


def ledger_name(place: str) -> str:
    """Return the name of a ledger's file, or the address of its database without user and password.

    >>> ledger_name("/home/kim/budgets.db"), ledger_name("postgresql://kim:secret@host/budgets")
    ('budgets.db', 'postgresql://host/budgets')
    """
    url = ledger_url(place)
    return Path(url.database or "").name if url.get_backend_name() == "sqlite" else shown(url)


def named_only(remark: str, place: str | None) -> str:
    """Return a remark in which the files beside a ledger are named without their folder.

    >>> named_only("its backup: /home/kim/budgets.db.0.2.0.backup", "/home/kim/budgets.db")
    'its backup: budgets.db.0.2.0.backup'
    """
    return remark if place is None else remark.replace(f"{Path(place).parent}{os.sep}", "")


def has_ledger(place: str) -> bool:
    """Return whether there is a ledger at a place; a database is taken to have one."""
    url = ledger_url(place)
    return url.get_backend_name() != "sqlite" or Path(url.database or "").exists()


def open_budget(place: str, dataset: str, unit: str, *, epsilon: float | None, delta: float | None) -> None:
    """Open a budget for a data set, and create the ledger if there is none."""
    Budget.of(epsilon=epsilon, delta=delta)  # refuse an invalid budget before a file is created
    Ledger.create(place).open(dataset, unit, epsilon=epsilon, delta=delta)


def declare(place: str, dataset: str, statement: Statement) -> None:
    """Declare for a data set what a release of it states beyond its earlier ones; this cannot be undone."""
    Ledger(place).state(dataset, statement)


def join_series(
    ledger: Ledger, series: str, dataset: str, *, people: str | None = None, column: str | None = None
) -> Series:
    """Let a data set join a series, with the public list of its reviewers in a file, if there is one."""
    if people is None and column is not None:
        raise InputError(Argument("column", column), " is for a table of people (", Argument("list", ...), ")")
    return ledger.join(series, dataset, None if people is None else read_committee(people, column=column))


def balance(place: str | None, charge: str | None) -> list[str]:
    """Return in sentences what is left of each budget and series that a release was charged to.

    The release is written: if the ledger does not answer now, nothing is said.
    """
    with suppress(PeerveilError):
        return [] if place is None or charge is None else _balance(Ledger(place), charge)
    return []


def _balance(ledger: Ledger, charge: str) -> list[str]:
    names = dict.fromkeys(entry.dataset for entry in ledger.history() if entry.release == charge)
    accounts: list[tuple[str, Account | Series, int]] = [
        (f"of the budget of {account.dataset!r} (per {account.unit})", account, len(account.spends))
        for account in ledger.accounts()
        if account.dataset in names
    ]
    accounts += [
        (f"of the series {one.name!r} (per person)", one, one.releases)
        for one in ledger.series()
        if any(one.counts(name) for name in names)
    ]
    return [
        f"Left {whose} after {count} release{'' if count == 1 else 's'}: {account.budget.currency} "
        f"{downward(account.left)} of {account.budget.limit:.6g}."
        for whose, account, count in accounts
    ]


def pending_view(place: str) -> list[dict[str, Any]]:
    """Return the releases that were begun on this machine and are not written, as the page shows them."""
    releases = pending(place) if has_ledger(place) else []
    return [asdict(release) | {"state": release.state, "begun": _time(release.begun)} for release in releases]


def _time(stamp: str) -> str:
    return stamp.replace("T", " ").replace("Z", " UTC")


def cost(spend: Spend) -> str:
    """Return the cost of a charge as text."""
    return f"rho {upward(spend.rho)}" if spend.epsilon is None else f"epsilon {upward(spend.epsilon)}"


def releases_so_far(place: str | None) -> frozenset[str]:
    """Return the numbers of all releases in the ledger."""
    return (
        frozenset()
        if place is None or not has_ledger(place)
        else frozenset(entry.release for entry in Ledger(place).history())
    )


def charges_since(place: str | None, before: frozenset[str], *, quantity: str, unit: str, spell: Spelling) -> str:
    """Return a sentence on what was charged for a failed release; ``before`` are the releases known before it."""
    if place is None:
        return ""
    try:
        unfinished = {entry.release for entry in pending(place)}
        new = [entry for entry in Ledger(place).history() if entry.release not in before]
    except PeerveilError as error:
        return f"It is not known whether the ledger was charged: {error.spelled(spell)}"
    new = [entry for entry in new if entry.quantity == quantity and entry.released_unit == unit]
    if not new:
        return "The ledger was not charged."
    number = new[-1].release
    costs = " and ".join(cost(entry.spend) for entry in new if entry.release == number)
    charged = f"Release {number} was charged ({costs} of {new[-1].dataset!r})"
    if number not in unfinished:
        return f"{charged}, and the charge stands: noise may have been drawn for it."
    return f"{charged}; release again with the same choices to finish it without another charge."


def _amounts(account: Account | Series) -> dict[str, Any]:
    return {
        "currency": account.budget.currency,
        "limit": f"{account.budget.limit:.6g}",
        "left": downward(account.left),
        "share": min(100, round(100 * account.spent / account.budget.limit)),
    }


def series_view(place: str) -> list[dict[str, Any]]:
    """Return the series with what is left for a person, as the page shows them."""
    return [
        {
            "name": series.name,
            "releases": series.releases,
            "members": [
                {"dataset": member.dataset, "people": None if member.people is None else len(member.people)}
                for member in series.members
            ],
        }
        | _amounts(series)
        for series in (Ledger(place).series() if has_ledger(place) else [])
    ]


def ledger_view(place: str) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """Return the budgets with what is left, and the charges, newest first, as the page shows them."""
    if not has_ledger(place):
        return [], []
    ledger = Ledger(place)
    series = ledger.series()
    accounts = [
        {"dataset": account.dataset, "unit": account.unit, "releases": len(account.spends)}
        | _amounts(account)
        | {"series": [one.name for one in series if one.counts(account.dataset)]}
        for account in ledger.accounts()
    ]
    history = [
        {
            "charged": _time(entry.charged),
            "dataset": entry.dataset,
            "unit": entry.unit,
            "cost": cost(entry.spend),
            "quantity": entry.quantity,
        }
        for entry in reversed(ledger.history())
    ]
    return accounts, history
