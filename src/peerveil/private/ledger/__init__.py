"""Ledger of privacy budgets.

A budget belongs to a declared data set name and a unit. A release charges every budget of its data set before its noise
is drawn: a crash can waste budget, but never overspend it. Entries are only ever added, and form a hash chain. Amounts
are stored as claims (epsilon, rho, omega), which each budget adds up by its own rule. A series adds up what the
releases of several data sets cost a person.
"""

from __future__ import annotations

from peerveil.private.ledger.accounts import Account, Charge, Entry, Quote, Stated
from peerveil.private.ledger.book import Charged, Ledger, check_dataset, new_release_number
from peerveil.private.ledger.checking import Finding, LedgerCheck
from peerveil.private.ledger.series import Series

__all__ = [
    "Account",
    "Charge",
    "Charged",
    "Entry",
    "Finding",
    "Ledger",
    "LedgerCheck",
    "Quote",
    "Series",
    "Stated",
    "check_dataset",
    "new_release_number",
]
