"""Ledgers of version 0.1.0 are migrated when they are opened, after a backup, and no charge is lost."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

import peerveil as pv
from cli.test_cli import Run, run
from frozen import V1
from peerveil.private.ledger import Ledger
from private.test_ledger import LAPLACE, new_database, postgres_server, pure

__all__ = ["postgres_server", "run"]  # fixtures

# ruff: noqa: S608 - statements of our own, without a user's words

FACTS = json.loads((V1 / "ledger" / "facts.json").read_text(encoding="utf-8"))

#: The tables of version 0.1.0 in SQLite, as it made them.
OLD = """
CREATE TABLE peerveil_ledger (schema_version INTEGER NOT NULL, PRIMARY KEY (schema_version));
CREATE TABLE peerveil_budget (
    id INTEGER NOT NULL, dataset TEXT NOT NULL, unit TEXT NOT NULL, epsilon DOUBLE NOT NULL, delta DOUBLE NOT NULL,
    rho DOUBLE, omega DOUBLE, "order" DOUBLE, opened TEXT NOT NULL, PRIMARY KEY (id), UNIQUE (dataset, unit)
);
CREATE TABLE peerveil_charge (
    id INTEGER NOT NULL, budget INTEGER NOT NULL, release TEXT NOT NULL, charged TEXT NOT NULL, epsilon DOUBLE,
    rho DOUBLE NOT NULL, omega DOUBLE, quantity TEXT NOT NULL, unit TEXT NOT NULL, mechanism TEXT NOT NULL,
    software TEXT NOT NULL, "key" TEXT, digest TEXT, PRIMARY KEY (id), UNIQUE (budget, release),
    FOREIGN KEY(budget) REFERENCES peerveil_budget (id)
);
CREATE INDEX ix_peerveil_charge_budget ON peerveil_charge (budget);
INSERT INTO peerveil_ledger VALUES (1);
INSERT INTO peerveil_budget VALUES (1, 'conf', 'reviewer', 5.0, 0.0, NULL, NULL, NULL, '2026-01-01T00:00:00Z');
"""


def old_ledger(place: Path, *epsilons: float) -> str:
    """A ledger as version 0.1.0 left it, with one charge per epsilon."""
    with closing(sqlite3.connect(place)) as connection:
        connection.executescript(OLD)
        for number, epsilon in enumerate(epsilons, 1):
            values = (number, 1, f"{number:016x}", "2026-01-02T00:00:00Z", epsilon, epsilon**2 / 2, None)
            words = ("ratings", "reviewer", '{"name": "laplace", "scale": 1.0}', "peerveil 0.1.0", None, None)
            connection.execute(f"INSERT INTO peerveil_charge VALUES ({', '.join('?' * 13)})", (*values, *words))
        connection.commit()
    return str(place)


def rows(place: str | Path, table: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(place)) as connection:
        return connection.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()


def old_postgres(url: str) -> str:
    """A database with the dump of a ledger of version 0.1.0."""
    place = new_database(url)
    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute((V1 / "ledger" / "postgresql.sql").read_bytes())
    return place


@pytest.mark.promise("P-LEDGER-15")
def test_charges_are_kept_and_the_old_ledger_is_too(tmp_path: Path) -> None:
    place = old_ledger(tmp_path / "ledger.db", 0.5, 1.25)
    before = rows(place, "peerveil_charge")
    (tmp_path / "ledger.db").chmod(0o640)
    ledger = Ledger(place)
    assert [entry.spend.epsilon for entry in ledger.history()] == [0.5, 1.25]
    assert [entry.release for entry in ledger.history()] == [f"{1:016x}", f"{2:016x}"]
    assert [entry.statement for entry in ledger.history()] == [None, None]
    assert [row[:13] for row in rows(place, "peerveil_charge")] == before
    assert {row[13] for row in rows(place, "peerveil_charge")} == {"unknown (written by 0.1.0)"}
    assert ledger.accounts()[0].left == 3.25
    assert ledger.check().ok
    backup = tmp_path / "ledger.db.0.1.0.backup"
    assert rows(backup, "peerveil_charge") == before
    assert rows(backup, "peerveil_ledger") == [(1,)]
    assert backup.stat().st_mode & 0o777 == 0o640
    assert str(backup) in ledger.remarks[0]
    assert {file.name for file in tmp_path.iterdir()} == {"ledger.db", "ledger.db.0.1.0.backup"}
    assert Ledger(place).remarks == ()  # once is enough


@pytest.mark.parametrize("server", ["sqlite", "postgresql"])
def test_the_frozen_ledgers_are_migrated_whole(server: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if server == "sqlite":
        place = str(shutil.copy(V1 / "ledger" / "ledger.db", tmp_path / "ledger.db"))
    else:
        place = old_postgres(request.getfixturevalue("postgres_server")[0])
    ledger = Ledger(place)
    found = ledger.check()
    assert found.ok, found.findings
    assert found.entries == len(FACTS["accounts"]) + len(FACTS["charges"])
    assert [entry.release for entry in ledger.history()] == [stated["release"] for stated in FACTS["charges"]]
    if server == "postgresql":
        assert "peerveil_charge_0_1_0" in ledger.remarks[0]
        with psycopg.connect(place) as connection:
            kept = connection.execute("SELECT release, epsilon, rho FROM peerveil_charge_0_1_0 ORDER BY id").fetchall()
        assert kept == [(stated["release"], stated["epsilon"], stated["rho"]) for stated in FACTS["charges"]]
    remark = charge(ledger, pv.Statement(public="all"))
    assert "not known to the ledger" in remark
    assert ledger.check().ok
    with pytest.raises(pv.BudgetError, match="charged once only"):
        ledger.charge(
            "conf2026",
            lambda _: pure(0.1),
            quantity="ratings",
            unit="reviewer",
            mechanism=LAPLACE,
            release=FACTS["charges"][-1]["release"],
        )


def charge(ledger: Ledger, statement: pv.Statement | None, dataset: str = "conf2026") -> str:
    made = ledger.charge(
        dataset, lambda _: pure(0.1), quantity="ratings", unit="reviewer", mechanism=LAPLACE, statement=statement
    )
    return " ".join(made.remarks)


def test_the_first_new_charge_sets_the_statement_of_a_migrated_data_set(tmp_path: Path) -> None:
    ledger = Ledger(old_ledger(tmp_path / "ledger.db", 0.5))
    assert ledger.statements("conf") == []
    hidden = pv.Statement(public="none", scale=(1, 10))
    assert "earlier releases of 'conf' is not known" in charge(ledger, hidden, "conf")
    assert [stated.statement for stated in ledger.statements("conf")] == [hidden]
    with pytest.raises(pv.BudgetError, match="fixes more"):
        charge(ledger, pv.Statement(public="all"), "conf")
    assert "earlier" not in charge(ledger, hidden, "conf")


def test_a_backup_is_never_written_over_another_file(tmp_path: Path) -> None:
    place = old_ledger(tmp_path / "ledger.db", 0.5)
    mine = tmp_path / "ledger.db.0.1.0.backup"
    mine.write_text("mine")
    Ledger(place)
    assert mine.read_text() == "mine"
    assert len(rows(tmp_path / "ledger.db.0.1.0.backup.2", "peerveil_charge")) == 1


def test_a_backup_of_an_ended_migration_is_used_if_it_is_the_same(tmp_path: Path) -> None:
    place = old_ledger(tmp_path / "ledger.db", 0.5)
    backup = tmp_path / "ledger.db.0.1.0.backup"
    shutil.copy(place, backup)
    (tmp_path / "ledger.db.0.1.0.backup.part").write_text("half")
    Ledger(place)
    assert {file.name for file in tmp_path.iterdir()} == {"ledger.db", "ledger.db.0.1.0.backup"}


def test_a_backup_that_cannot_be_written_leaves_the_ledger_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = old_ledger(tmp_path / "ledger.db", 0.5)
    before = Path(place).read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(pv.LedgerError, match=r"No space left on device.*nothing was changed"):
            Ledger(place)
    assert Path(place).read_bytes() == before
    assert Ledger(place).check().ok


def test_backup_tables_are_never_written_over_others(postgres_server: tuple[str, Path]) -> None:
    place = old_postgres(postgres_server[0])
    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute("CREATE TABLE peerveil_charge_0_1_0 (mine integer)")
    with pytest.raises(pv.LedgerError, match="peerveil_charge_0_1_0, is taken"):
        Ledger(place)
    with psycopg.connect(place, autocommit=True) as connection:
        assert connection.execute("SELECT schema_version FROM peerveil_ledger").fetchall() == [(1,)]
        connection.execute("DROP TABLE peerveil_charge_0_1_0")
    assert Ledger(place).check().ok


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("epsilon", -5.0, r"charge 0000000000000001 in the ledger has epsilon = -5, which must be a number from 0"),
        ("rho", -1.0, "rho = -1"),
        ("rho", 9e999, "rho = inf"),
        ("rho", "much", "rho = 'much'"),
        ("omega", 0.5, r"omega = 0\.5, which must be a number above 1"),
        ("unit", "paper", "unit = 'paper'"),
    ],
)
def test_rows_that_were_changed_by_hand_are_not_believed(
    column: str, value: object, message: str, tmp_path: Path, run: Run
) -> None:
    place = old_ledger(tmp_path / "ledger.db", 0.5)
    with closing(sqlite3.connect(place)) as connection:
        connection.execute(f"UPDATE peerveil_charge SET {column} = ?", (value,))
        connection.commit()
    with pytest.raises(pv.LedgerError, match=message) as error:
        Ledger(place)
    assert "restore the ledger from a backup" in str(error.value)
    shown = run("ledger", "show", place)
    assert shown.code == 1
    assert "left" not in shown.out
    assert rows(place, "peerveil_ledger") == [(1,)]


#: Four processes, forked after the imports, open a ledger as soon as all of them are there.
OPENERS = """
    import os, sys
    from peerveil.private.ledger import Ledger
    (ready, told), (wait, go) = os.pipe(), os.pipe()
    for _ in range(4):
        if not os.fork():
            os.close(go)
            os.write(told, b".")
            os.read(wait, 1)  # returns at the end of the file
            ledger = Ledger(sys.argv[1])
            os.write(1, f"{len(ledger.history())} {len(ledger.remarks)} {ledger.check().ok}\\n".encode())
            os._exit(0)
    for _ in range(4):
        os.read(ready, 1)
    os.close(go)
    sys.exit(any(os.wait()[1] for _ in range(4)))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="processes are forked")
@pytest.mark.parametrize("server", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def test_processes_that_open_it_at_once_migrate_it_once(
    server: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if server == "sqlite":
        place = str(shutil.copy(V1 / "ledger" / "ledger.db", tmp_path / "ledger.db"))
    else:
        place = old_postgres(request.getfixturevalue("postgres_server")[0])
    command = [sys.executable, "-c", textwrap.dedent(OPENERS), place]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    told = [line.split() for line in done.stdout.splitlines()]
    assert [one[0] for one in told] == [str(len(FACTS["charges"]))] * 4
    assert sorted(one[1] for one in told) == ["0", "0", "0", "1"]
    assert {one[2] for one in told} == {"True"}


#: Opens a ledger and is killed at the given moment: before a statement to the database, a commit, or a call that writes
#: the backup. Prints how many moments there were if it lives on.
KILLED = """
    import os, signal, sys
    import sqlalchemy as sa
    from peerveil.private.ledger import Ledger
    moments = 0
    def moment(*_, **__):
        global moments
        moments += 1
        if moments == int(sys.argv[2]):
            os.kill(os.getpid(), signal.SIGKILL)
    for name in ("before_cursor_execute", "after_cursor_execute", "commit"):
        sa.event.listen(sa.Engine, name, moment)
    for name in ("fsync", "link"):
        def called(*arguments, real=getattr(os, name), **named):
            moment()
            return real(*arguments, **named)
        setattr(os, name, called)
    Ledger(sys.argv[1])
    print(moments)
"""

#: Runs the above for every moment: one import for all, each in a process of its own.
EVERY_MOMENT = """
    import io, os, shutil, sys
    from contextlib import redirect_stdout
    from peerveil.private.ledger import Ledger
    code, source, folder = sys.argv[1], sys.argv[2], sys.argv[3]
    for number in range(1, 1000):
        place = f"{folder}/{number}.db"
        shutil.copy(source, place)
        child = os.fork()
        if child == 0:
            sys.argv[1:] = [place, str(number)]
            exec(code, {})
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status == 0:
            break
        assert os.WTERMSIG(status) == 9, status
    print(number)
"""


@pytest.mark.promise("P-LEDGER-15")
@pytest.mark.skipif(sys.platform == "win32", reason="processes are forked")
@pytest.mark.slow
def test_killed_at_any_moment_the_old_or_the_new_ledger_is_there(tmp_path: Path) -> None:
    source = old_ledger(tmp_path / "source.db", 0.5, 1.25)
    before = rows(source, "peerveil_charge")
    command = [sys.executable, "-c", textwrap.dedent(EVERY_MOMENT), textwrap.dedent(KILLED), source, str(tmp_path)]
    number = int(subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout.split()[-1])
    assert number > 40
    schemas = set()
    for moment in range(1, number + 1):
        place = tmp_path / f"{moment}.db"
        ((schema, *_),) = rows(place, "peerveil_ledger")
        schemas.add(schema)
        assert [row[:13] for row in rows(place, "peerveil_charge")] == before
        ledger = Ledger(str(place))
        assert ledger.check().ok
        assert [row[:13] for row in rows(place, "peerveil_charge")] == before
        assert rows(f"{place}.0.1.0.backup", "peerveil_charge") == before
        assert not Path(f"{place}.0.1.0.backup.2").exists()
    assert schemas == {1, 3}


@pytest.mark.slow
def test_killed_on_a_server_the_old_or_the_new_ledger_is_there(postgres_server: tuple[str, Path]) -> None:
    for moment in (9, 18, 30, 45):
        place = old_postgres(postgres_server[0])
        command = [sys.executable, "-c", textwrap.dedent(KILLED), place, str(moment)]
        assert subprocess.run(command, check=False, timeout=300).returncode == -9
        ledger = Ledger(place)
        assert [entry.release for entry in ledger.history()] == [stated["release"] for stated in FACTS["charges"]]
        assert ledger.check().ok


def test_a_program_of_version_0_1_0_cannot_charge_a_migrated_ledger(tmp_path: Path) -> None:
    """It would not put its charge on the chain; one that had the ledger open when it was migrated is refused."""
    place = old_ledger(tmp_path / "ledger.db", 0.5)
    Ledger(place)
    with closing(sqlite3.connect(place)) as connection, pytest.raises(sqlite3.IntegrityError):
        connection.execute(
            "INSERT INTO peerveil_charge (budget, release, charged, epsilon, rho, quantity, unit, mechanism, software) "
            "VALUES (1, 'ffff', '2026-01-03T00:00:00Z', 0.1, 0.005, 'ratings', 'reviewer', '{}', 'peerveil 0.1.0')"
        )


def test_the_command_line_says_that_it_migrated(tmp_path: Path, run: Run) -> None:
    place = old_ledger(tmp_path / "ledger.db", 0.5)
    shown = run("ledger", "show", place)
    assert shown.code == 0
    assert "has been migrated; its backup: " in shown.err
    assert "not known to the ledger" in shown.out
    assert run("ledger", "show", place).err == ""
