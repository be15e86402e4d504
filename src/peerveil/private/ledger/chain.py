"""A hash chain over the entries of a ledger: budgets, charges and statements.

Each entry stores the SHA-256 of the hash before it and of its own contents. A changed, removed or moved entry no longer
fits its hash or the next one's. There is no secret in it: it shows accidents and edits by hand, not a forger who
computes all later hashes anew.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from peerveil.errors import LedgerError
from peerveil.private.ledger.tables import ABOUT, ENTRIES

#: The hash before the first entry.
START = "0" * 64


def entry_hash(before: str, table: sa.Table, row: Mapping[str, Any]) -> str:
    """The hash of an entry: of the hash before it, of its table's name and of all its other columns."""
    content = {column.name: _plain(row.get(column.name)) for column in table.columns if column.name != "hash"}
    text = json.dumps([before, table.name, content], sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> Any:
    return value + 0.0 if isinstance(value, float) else value  # SQLite does not keep the sign of zero


class Chain:
    """The end of a ledger's chain, held by one writer at a time until its transaction ends.

    Raises:
        LedgerError: if the last entries are not those that were written last.
    """

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        # On PostgreSQL other writers wait here; on SQLite the transaction is the only one that may write.
        state = connection.execute(sa.select(ABOUT).with_for_update()).one()
        self.entries, self.head = int(state.entries), str(state.head)
        ends = [
            connection.execute(sa.select(sa.func.count(), sa.func.max(table.c.position)).select_from(table)).one()
            for table in ENTRIES
        ]
        last = max((end[1] or 0) for end in ends)
        if not sum(end[0] for end in ends) == last == self.entries or self._hash_at(last) != self.head:
            raise LedgerError(
                "entries of the ledger were changed or removed by hand, so what was spent is not known; see `peerveil "
                "ledger check`, and restore a backup"
            )

    def add(self, table: sa.Table, **values: Any) -> int:
        """Write a row as the next entry; returns its id."""
        number = (self._connection.execute(sa.select(sa.func.max(table.c.id))).scalar() or 0) + 1
        return self.put(table, {"id": number, **values})

    def put(self, table: sa.Table, row: Mapping[str, Any]) -> int:
        """Write a row that has its id already as the next entry; returns the id."""
        row = {**row, "position": self.entries + 1}
        self.head = entry_hash(self.head, table, row)
        self.entries += 1
        self._connection.execute(table.insert().values(**row, hash=self.head))
        self._connection.execute(ABOUT.update().values(entries=self.entries, head=self.head))
        return int(row["id"])

    def _hash_at(self, position: int) -> str | None:
        if position == 0:
            return START
        queries = [sa.select(table.c.hash).where(table.c.position == position) for table in ENTRIES]
        return self._connection.execute(sa.union_all(*queries)).scalar()
