"""Connections to a ledger in an SQLite file or a PostgreSQL database."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError

from peerveil.errors import Argument, InputError, LedgerError, Phrase, UnreachableError

# Its errors are raised, so it must not also log tracebacks to the terminal.
logging.getLogger("sqlalchemy").addHandler(logging.NullHandler())

#: Options of connections to PostgreSQL, unless the address has them: a server that is gone is noticed within a minute,
#: and a client that is gone does not hold the lock of the ledger for longer.
_OPTIONS = {
    "connect_timeout": 10,
    "keepalives_idle": 20,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 50_000,
}

#: Settings of each transaction that writes: a commit is on disk, and nobody waits for a lock without end.
_WRITING = {
    "synchronous_commit": "on",
    "lock_timeout": "60s",
    "idle_in_transaction_session_timeout": "60s",
}

#: What codes of PostgreSQL mean to users.
_WORDS = {
    "42501": "this user may only read it",
    "25006": "it is a copy that can only be read",
    "55P03": "other processes have held its lock for a minute",
}

#: SQLite's codes for a file that another process has locked.
_SQLITE_LOCKED = (5, 6)

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


def ledger_at(place: str) -> Phrase:
    """A ledger in messages, by its place."""
    return Phrase("ledger_place", f"the ledger at {place}")


def engine(url: sa.URL) -> sa.Engine:
    """The engine of a database, which connects when it is first used."""
    try:
        if url.get_backend_name() == "sqlite":
            engine = sa.create_engine(url, connect_args={"timeout": 60}, poolclass=sa.pool.NullPool)
            sa.event.listen(engine, "connect", _sqlite_connected)
            sa.event.listen(engine, "begin", _sqlite_begun)
            return engine
        # Reads after the lock must see what others committed before it, whatever the default of the server.
        options = {name: value for name, value in _OPTIONS.items() if name not in url.query}
        return sa.create_engine(url, connect_args=options, poolclass=sa.pool.NullPool, isolation_level="READ COMMITTED")
    except ModuleNotFoundError:
        raise LedgerError("PostgreSQL needs the package psycopg: pip install 'peerveil[postgres]'") from None


@contextmanager
def transaction(database: sa.Engine, *, write: bool = False) -> Iterator[sa.Connection]:
    """A connection in one transaction, committed at the end.

    Errors of the database are raised as a ``LedgerError`` without passwords and SQL statements; as an
    ``UnreachableError`` if the same may succeed later. After a lost connection it is not known whether a transaction
    was committed: a charge has a number, by which the next transaction can tell.
    """
    problem, kind = None, LedgerError
    try:
        with database.connect().execution_options(peerveil_write=write) as connection, connection.begin():
            if write and connection.dialect.name == "postgresql":
                settings = "; ".join(f"SET LOCAL {name} = '{value}'" for name, value in _WRITING.items())
                connection.exec_driver_sql(settings)
            yield connection
    except DBAPIError as error:
        known = _WORDS.get(getattr(error.orig, "sqlstate", None) or "")
        problem = known or next(iter(str(error.orig).split("\n")), "") or type(error.orig).__name__
        kind = UnreachableError if _transient(error) else LedgerError
    except SQLAlchemyError as error:
        problem = type(error).__name__
    if problem is not None:
        raise kind(ledger_at(shown(database.url)), f" cannot be used ({problem}); nothing was released")


def _transient(error: DBAPIError) -> bool:
    """Whether the same transaction may succeed later: the server is gone or starting, or a lock was not granted."""
    code = getattr(error.orig, "sqlite_errorcode", None)
    if code is not None:
        return code & 0xFF in _SQLITE_LOCKED
    ended = getattr(error.orig, "sqlstate", None) == "25P03"  # a pause within a transaction took too long
    return ended or isinstance(error, OperationalError | InterfaceError) or error.connection_invalidated


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
