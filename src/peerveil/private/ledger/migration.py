"""Migration of ledgers of earlier versions, in one transaction and after a backup.

Schema 1 has no hash chain, so its rows are written anew. Schema 2 has no series, so their tables are added: its entries
and hashes stay as they are.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from peerveil.errors import LedgerError
from peerveil.private.ledger.accounts import check_row
from peerveil.private.ledger.chain import START, Chain
from peerveil.private.ledger.database import ledger_at, lock_all
from peerveil.private.ledger.tables import ABOUT, BUDGETS, CHARGES, METADATA, SCHEMA, STATEMENTS, UNKNOWN_BEFORE
from peerveil.support.atomic_files import rename_new
from peerveil.support.atomic_files import sync_folder as sync

#: The versions of Peerveil that write older schemas.
OLDER = {1: "0.1.0", 2: "0.2.0"}

#: The tables of these, in the order in which they lock them.
_LOCKED = {1: (BUDGETS, CHARGES, ABOUT), 2: (ABOUT, BUDGETS, CHARGES, STATEMENTS)}


def make_tables(connection: sa.Connection) -> None:
    """Create the tables of an empty ledger."""
    METADATA.create_all(connection)
    connection.execute(ABOUT.insert().values(schema_version=SCHEMA, entries=0, head=START))


def migrate(connection: sa.Connection, name: str) -> str:
    """Migrate an older ledger, named in messages; returns its backup's place, empty if another process was faster."""
    lock_all(connection)
    postgres = connection.dialect.name == "postgresql"
    schema = connection.execute(sa.select(ABOUT.c.schema_version)).scalar()
    if schema not in OLDER:
        return ""
    tables = [table.name for table in _LOCKED[schema]]
    if postgres:  # waits for charges that an older version is making, and lets none begin
        connection.execute(sa.text(f"LOCK TABLE {', '.join(tables)} IN ACCESS EXCLUSIVE MODE"))
    keep = partial(_keep_tables, tables=tables) if postgres else partial(_keep_file, name=name)
    if schema == 1:
        return _chained(connection, keep)
    backup = keep(connection, version=OLDER[schema])
    METADATA.create_all(connection)
    connection.execute(ABOUT.update().values(schema_version=SCHEMA))
    return backup


def _chained(connection: sa.Connection, keep: Callable[..., str]) -> str:
    """Put the entries of a ledger of schema 1 on a hash chain; returns its backup's place."""
    budgets, charges = (_old_rows(connection, table) for table in (BUDGETS, CHARGES))
    backup = keep(connection, version=OLDER[1])
    for table in (CHARGES, BUDGETS, ABOUT):
        connection.execute(sa.text(f"DROP TABLE {table.name}"))
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


def _keep_tables(connection: sa.Connection, *, tables: Sequence[str], version: str) -> str:
    """Copy the tables; returns a description of the copies."""
    kept = [f"{name}_{version.replace('.', '_')}" for name in tables]
    there = [name for name in kept if sa.inspect(connection).has_table(name)]
    if there:
        raise LedgerError(
            f"the ledger was written by {version}, and the place for its backup, the table {there[0]}, is taken; "
            "rename that table and try again"
        )
    for old, new in zip(tables, kept, strict=True):
        connection.execute(sa.text(f"CREATE TABLE {new} AS SELECT * FROM {old}"))  # noqa: S608 - our own names
    return f"the tables {', '.join(kept)}"


def _keep_file(connection: sa.Connection, *, name: str, version: str) -> str:
    """Copy an SQLite file to a new file beside it; returns its path."""
    try:
        return str(_copy(Path(str(connection.engine.url.database)), version))
    except (OSError, sqlite3.Error) as error:
        problem = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise LedgerError(
            ledger_at(name),
            f" was written by {version} and is migrated after a backup beside it, which cannot be "
            f"written ({problem}); make room or give the right to write there; nothing was changed",
        ) from None


def _copy(file: Path, version: str) -> Path:
    part = file.with_name(f"{file.name}.{version}.backup.part")
    part.unlink(missing_ok=True)  # of an interrupted migration; the write lock admits one process
    with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(part)) as target:
        source.backup(target)
        contents = list(target.iterdump())
    part.chmod(file.stat().st_mode & 0o777)
    sync(part)
    for number in count(1):
        backup = file.with_name(f"{file.name}.{version}.backup" + (f".{number}" if number > 1 else ""))
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
