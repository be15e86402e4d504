"""The ledger: what was promised for each data set, and what has been spent of it.

A budget belongs to a declared data set name and a unit. A release charges every budget of its data set before its noise
is drawn: a crash can waste budget, never overspend it. Entries are only ever added, and a hash chain holds them
together.

Amounts are stored as claims (epsilon, rho, omega), and added up by the budget's own rule each time.
"""

from __future__ import annotations

from peerveil.private.ledger.accounts import Account, Charge, Entry, Stated
from peerveil.private.ledger.book import Ledger, check_dataset, new_release_number
from peerveil.private.ledger.checking import Finding, LedgerCheck

__all__ = [
    "Account",
    "Charge",
    "Entry",
    "Finding",
    "Ledger",
    "LedgerCheck",
    "Stated",
    "check_dataset",
    "new_release_number",
]
