"""Connections to a ledger in an SQLite file or a PostgreSQL database."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from peerveil.errors import Argument, InputError, LedgerError

# Its errors are raised, so it must not also log tracebacks to the terminal.
logging.getLogger("sqlalchemy").addHandler(logging.NullHandler())

#: The driver for each scheme of an address.
_DRIVERS = {
    "sqlite": "sqlite",
    "sqlite+pysqlite": "sqlite",
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}


def ledger_url(place: str) -> sa.URL:
    """The address of a ledger, from the path of a file or the address of a database.

    >>> ledger_url("budgets.db").render_as_string()
    'sqlite:///budgets.db'
    >>> ledger_url("postgresql://localhost/budgets").render_as_string()
    'postgresql+psycopg://localhost/budgets'
    """
    if not place.strip():
        raise InputError(Argument("ledger"), " must be a file or the address of a database, got nothing")
    if "://" not in place:
        if "password=" in place or "host=" in place:
            raise InputError(Argument("ledger"), " must be a file or an address such as postgresql://user@host/name")
        return sa.URL.create("sqlite", database=str(Path(place).expanduser()))
    url = None
    with suppress(SQLAlchemyError, ValueError):  # the error would hold a password
        url = sa.make_url(place)
    if url is None or url.drivername not in _DRIVERS or (url.query and url.drivername.startswith("sqlite")):
        raise InputError(
            Argument("ledger"), " must be a file, or an address that begins with sqlite:/// or postgresql://"
        )
    return url.set(drivername=_DRIVERS[url.drivername])


def shown(url: sa.URL) -> str:
    """The address of a ledger for messages, without user, password and options."""
    if url.get_backend_name() == "sqlite":
        return url.database or "a passing SQLite database"
    return f"postgresql://{url.host or ''}/{url.database or ''}"


def engine(url: sa.URL) -> sa.Engine:
    """The engine of a database, which connects when it is first used."""
    try:
        if url.get_backend_name() == "sqlite":
            engine = sa.create_engine(url, connect_args={"timeout": 60}, poolclass=sa.pool.NullPool)
            sa.event.listen(engine, "connect", _sqlite_connected)
            sa.event.listen(engine, "begin", _sqlite_begun)
            return engine
        # Reads after the lock must see what others committed before it, whatever the default of the server.
        return sa.create_engine(url, poolclass=sa.pool.NullPool, isolation_level="READ COMMITTED")
    except ModuleNotFoundError:
        raise LedgerError("PostgreSQL needs the package psycopg: pip install 'peerveil[postgres]'") from None


@contextmanager
def transaction(database: sa.Engine, *, write: bool = False) -> Iterator[sa.Connection]:
    """A connection in one transaction, committed at the end.

    Errors of the database are raised as a ``LedgerError`` without passwords and SQL statements.
    """
    problem = None
    try:
        with database.connect().execution_options(peerveil_write=write) as connection, connection.begin():
            if write and connection.dialect.name == "postgresql":
                connection.execute(sa.text("SET LOCAL synchronous_commit TO on"))
            yield connection
    except DBAPIError as error:
        problem = next(iter(str(error.orig).split("\n")), "") or type(error.orig).__name__
    except SQLAlchemyError as error:
        problem = type(error).__name__
    if problem is not None:
        raise LedgerError(f"the ledger at {shown(database.url)} cannot be used ({problem}); nothing was released")


def _sqlite_connected(connection: Any, _: object) -> None:
    connection.isolation_level = None  # the program begins transactions, not the driver
    connection.execute("PRAGMA synchronous=EXTRA")
    connection.execute("PRAGMA foreign_keys=ON")


def _sqlite_begun(connection: sa.Connection) -> None:
    # A writer takes the write lock at once: two that have read the same sum must not both add to it.
    write = connection.get_execution_options().get("peerveil_write")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


def lock_all(connection: sa.Connection) -> None:
    """Wait for other processes that create or migrate tables."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(7062310554)"))
