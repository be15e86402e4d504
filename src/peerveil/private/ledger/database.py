"""Where a ledger lives: an SQLite file or a PostgreSQL database, and how each is written to safely."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from peerveil.errors import Argument, InputError, LedgerError

# Where nobody asked for its log, it must not write tracebacks to the terminal: its errors are raised, and told by us.
logging.getLogger("sqlalchemy").addHandler(logging.NullHandler())

#: What addresses may begin with, and the driver it means.
_DRIVERS = {
    "sqlite": "sqlite",
    "sqlite+pysqlite": "sqlite",
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}


def ledger_url(place: str) -> sa.URL:
    """The address of a ledger: a file's path, or a database's.

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
    """A ledger's place for messages, without user, password and options."""
    if url.get_backend_name() == "sqlite":
        return url.database or "a passing SQLite database"
    return f"postgresql://{url.host or ''}/{url.database or ''}"


def engine(url: sa.URL) -> sa.Engine:
    """What speaks to the database; connects when it is used."""
    problem = ""
    try:
        if url.get_backend_name() == "sqlite":
            engine = sa.create_engine(url, connect_args={"timeout": 60}, poolclass=sa.pool.NullPool)
            sa.event.listen(engine, "connect", _sqlite_connected)
            sa.event.listen(engine, "begin", _sqlite_begun)
            return engine
        # Reading after the lock must see what others committed before it, whatever the server's default is.
        return sa.create_engine(url, poolclass=sa.pool.NullPool, isolation_level="READ COMMITTED")
    except ModuleNotFoundError:
        problem = "PostgreSQL needs the package psycopg: pip install 'peerveil[postgres]'"
    raise LedgerError(problem)


@contextmanager
def transaction(database: sa.Engine, *, write: bool) -> Iterator[sa.Connection]:
    """A connection in one transaction, committed at the end."""
    with database.connect().execution_options(peerveil_write=write) as connection, connection.begin():
        if write and connection.dialect.name == "postgresql":
            connection.execute(sa.text("SET LOCAL synchronous_commit TO on"))
        yield connection


def _sqlite_connected(connection: Any, _: object) -> None:
    connection.isolation_level = None  # transactions begin where we say, not where the driver guesses
    connection.execute("PRAGMA synchronous=EXTRA")
    connection.execute("PRAGMA foreign_keys=ON")


def _sqlite_begun(connection: sa.Connection) -> None:
    # Who writes takes the right to at once: two that have read the same sum must not both add to it.
    write = connection.get_execution_options().get("peerveil_write")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


def lock_all(connection: sa.Connection) -> None:
    """Let no two make tables or budgets at once."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(7062310554)"))


@contextmanager
def translated(name: str) -> Iterator[None]:
    """What the database complains of, as an error that holds no password and no statement."""
    problem = None
    try:
        yield
    except DBAPIError as error:
        problem = next(iter(str(error.orig).split("\n")), "") or type(error.orig).__name__
    except SQLAlchemyError as error:
        problem = type(error).__name__
    if problem is not None:
        raise LedgerError(f"the ledger at {name} cannot be used ({problem}); nothing was released")
