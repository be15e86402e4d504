"""Hash chain over the entries of a ledger: budgets, charges and statements.

Each entry stores the SHA-256 of the previous hash and of its own contents, so a changed, removed or moved entry does
not match its hash or the next one. The chain has no secret: it detects accidents and manual edits, but not a forger who
recomputes all later hashes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from peerveil.errors import LedgerError, Phrase
from peerveil.private.ledger.tables import ABOUT, ENTRIES

#: The hash before the first entry.
START = "0" * 64


def entry_hash(before: str, table: sa.Table, row: Mapping[str, Any]) -> str:
    """The hash of an entry: of the previous hash, the table's name and all other columns."""
    content = {column.name: _plain(row.get(column.name)) for column in table.columns if column.name != "hash"}
    text = json.dumps([before, table.name, content], sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> Any:
    return value + 0.0 if isinstance(value, float) else value  # SQLite does not keep the sign of zero


class Chain:
    """The end of a ledger's chain, locked for one writer until its transaction ends.

    Raises:
        LedgerError: if the last entries were changed or removed.
    """

    def __init__(self, connection: sa.Connection) -> None:
        self.connection = connection
        # On PostgreSQL other writers wait here; SQLite admits a single transaction that writes.
        state = connection.execute(sa.select(ABOUT).with_for_update()).one()
        self.entries, self.head = int(state.entries), str(state.head)
        ends = [
            connection.execute(sa.select(sa.func.count(), sa.func.max(table.c.position)).select_from(table)).one()
            for table in ENTRIES
        ]
        last = max((end[1] or 0) for end in ends)
        hashes = sa.union_all(*(sa.select(table.c.hash).where(table.c.position == last) for table in ENTRIES))
        head = connection.execute(hashes).scalar() if last else START
        if not sum(end[0] for end in ends) == last == self.entries or head != self.head:
            raise LedgerError(
                "entries of the ledger were changed or removed by hand, so what was spent is not known; see ",
                Phrase("ledger_check", "`peerveil ledger check`"),
                ", and restore a backup",
            )

    def add(self, table: sa.Table, **values: Any) -> None:
        """Write a row as the next entry, with a new id unless it has one."""
        self.entries += 1
        number = (self.connection.execute(sa.select(sa.func.max(table.c.id))).scalar() or 0) + 1
        row = {"id": number, **values, "position": self.entries}
        self.head = entry_hash(self.head, table, row)
        self.connection.execute(table.insert().values(**row, hash=self.head))
        self.connection.execute(ABOUT.update().values(entries=self.entries, head=self.head))


def now() -> str:
    """Return the time as rows state it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
