"""Migration of ledgers of version 0.1.0 (schema 1), in one transaction and after a backup."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from peerveil.errors import LedgerError
from peerveil.private.ledger.accounts import check_row
from peerveil.private.ledger.chain import START, Chain
from peerveil.private.ledger.database import lock_all
from peerveil.private.ledger.tables import ABOUT, BUDGETS, CHARGES, METADATA, SCHEMA, UNKNOWN_BEFORE
from peerveil.support.atomic_files import rename_new
from peerveil.support.atomic_files import sync_folder as sync

#: The schema version that version 0.1.0 writes.
OLD = 1
_TABLES = (ABOUT.name, BUDGETS.name, CHARGES.name)
_LOCKED = (BUDGETS.name, CHARGES.name, ABOUT.name)  # in the order in which 0.1.0 locks them


def make_tables(connection: sa.Connection) -> None:
    """Create the tables of an empty ledger."""
    METADATA.create_all(connection)
    connection.execute(ABOUT.insert().values(schema_version=SCHEMA, entries=0, head=START))


def migrate(connection: sa.Connection, name: str) -> str:
    """Migrate a ledger of 0.1.0, named in messages; returns its backup's place, empty if another process was faster."""
    lock_all(connection)
    postgres = connection.dialect.name == "postgresql"
    if postgres:  # waits for charges that a 0.1.0 is making, and lets none begin
        connection.execute(sa.text(f"LOCK TABLE {', '.join(_LOCKED)} IN ACCESS EXCLUSIVE MODE"))
    if connection.execute(sa.select(ABOUT.c.schema_version)).scalar() != OLD:
        return ""
    budgets, charges = (_old_rows(connection, table) for table in (BUDGETS, CHARGES))
    backup = _keep_tables(connection) if postgres else _keep_file(connection, name)
    for table_name in reversed(_TABLES):
        connection.execute(sa.text(f"DROP TABLE {table_name}"))
    make_tables(connection)
    chain = Chain(connection)
    for row in budgets:
        chain.add(BUDGETS, **row._asdict())
    for row in charges:
        chain.add(CHARGES, **row._asdict(), statement=UNKNOWN_BEFORE)
    return backup


def _old_rows(connection: sa.Connection, table: sa.Table) -> Sequence[sa.Row[Any]]:
    """All rows of a table of schema 1, checked."""
    everything: sa.Select[Any] = sa.select(sa.literal_column("*")).select_from(sa.table(table.name))
    rows = connection.execute(everything.order_by(sa.column("id"))).all()
    for row in rows:
        check_row(table, row)
    return rows


def _keep_tables(connection: sa.Connection) -> str:
    """Copy the tables; returns a description of the copies."""
    kept = [f"{name}_0_1_0" for name in _TABLES]
    there = [name for name in kept if sa.inspect(connection).has_table(name)]
    if there:
        raise LedgerError(
            f"the ledger was written by 0.1.0, and the place for its backup, the table {there[0]}, is taken; rename "
            "that table and try again"
        )
    for old, new in zip(_TABLES, kept, strict=True):
        connection.execute(sa.text(f"CREATE TABLE {new} AS SELECT * FROM {old}"))  # noqa: S608 - our own names
    return f"the tables {', '.join(kept)}"


def _keep_file(connection: sa.Connection, name: str) -> str:
    """Copy an SQLite file to a new file beside it; returns its path."""
    try:
        return str(_copy(Path(str(connection.engine.url.database))))
    except (OSError, sqlite3.Error) as error:
        problem = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise LedgerError(
            f"the ledger at {name} was written by 0.1.0 and is migrated after a backup beside it, which cannot be "
            f"written ({problem}); make room or give the right to write there; nothing was changed"
        ) from None


def _copy(file: Path) -> Path:
    part = file.with_name(f"{file.name}.0.1.0.backup.part")
    part.unlink(missing_ok=True)  # of an interrupted migration; the write lock admits one process
    with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(part)) as target:
        source.backup(target)
        contents = list(target.iterdump())
    part.chmod(file.stat().st_mode & 0o777)
    sync(part)
    for number in count(1):
        backup = file.with_name(f"{file.name}.0.1.0.backup" + (f".{number}" if number > 1 else ""))
        try:
            rename_new(part, backup)
            break
        except FileExistsError:
            if _dump(backup) == contents:  # of an interrupted migration
                break
    part.unlink(missing_ok=True)
    with suppress(OSError):  # some systems cannot open folders
        sync(file.parent)
    return backup


def _dump(file: Path) -> list[Any] | None:
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            return list(connection.iterdump())
    except sqlite3.Error:
        return None
