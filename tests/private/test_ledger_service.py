"""A ledger on one PostgreSQL server for many processes: restarts, lost connections, locks, and auditors."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import peerveil as pv
import postgres
from cli.test_cli import Run, run
from peerveil.errors import LedgerError, UnreachableError
from peerveil.private.batch.run import run_batch
from peerveil.private.ledger import Ledger
from peerveil.private.ledger import database as databases
from peerveil.private.ledger.book import new_release_number
from private.test_batch import venue
from private.test_ledger import charge, new_database, opened, pure

__all__ = ["run"]  # a fixture

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, Path]]:
    """A server for this module alone, as it is restarted."""
    if postgres.programs() is None:
        pytest.skip("PostgreSQL is not installed (its programs initdb and pg_ctl)")
    with postgres.server() as started:
        yield started


#: Charges numbers that it is given, as a batch does: what may have failed is tried again under the same number.
CHARGER = """
    import sys
    import peerveil as pv
    from peerveil.private.batch.patience import Patience
    from peerveil.private.ledger import Ledger
    from peerveil.privacy.guarantee import Guarantee

    class Mine:
        "A charge as in the journal of a batch, without its file."
        def __init__(self, number):
            self.number, self.drawn = number, None
        def keep(self, drawn):
            return drawn

    from peerveil.private.charging import Item
    place, numbers = sys.argv[1], sys.argv[2:]
    claim = Guarantee(kind="pure", unit="reviewer", epsilon=0.001)
    patience = Patience(retries=12)
    ledger = patience("start", lambda: Ledger(place))
    def pay(number):
        ledger.charge("conf", lambda _: claim, quantity="ratings", unit="reviewer", mechanism=pv.Laplace(scale=1.0),
                      release=number)
    for number in numbers:
        item = Item(Mine(number), ledger, "conf")
        patience("conf", lambda: item.drawn(pay, dict))
        print(number, flush=True)
"""


def collect(process: subprocess.Popen[str], lines: list[str]) -> None:
    """Add the lines that a process prints."""
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line.strip())  # noqa: PERF401 - as they come


@pytest.mark.promise("P-PLATFORM-1")
@pytest.mark.slow
def test_nothing_is_lost_or_charged_twice_while_the_server_is_restarted(server: tuple[str, Path]) -> None:
    url, data = server
    place = new_database(url)
    ledger = opened(place, epsilon=1.0)
    numbers = [[new_release_number() for _ in range(10)] for _ in range(8)]
    command = [sys.executable, "-c", textwrap.dedent(CHARGER), place]
    processes = [
        subprocess.Popen([*command, *mine], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for mine in numbers
    ]
    paid: list[str] = []
    readers = [threading.Thread(target=collect, args=(process, paid)) for process in processes]
    for reader in readers:
        reader.start()
    for enough, how in ((5, "immediate"), (35, "fast")):
        while len(paid) < enough and any(process.poll() is None for process in processes):
            time.sleep(0.02)
        before = set(paid)
        assert len(before) < 80, "they ended before the server was restarted"
        postgres.restart(data, how)
        kept = {entry.release for entry in Ledger(place).history()}
        assert before <= kept, "a charge that was reported is gone"
    for reader in readers:
        reader.join()
    told = [process.communicate()[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * 8, told
    every = [number for mine in numbers for number in mine]
    assert sorted(paid) == sorted(every)
    assert sorted(entry.release for entry in ledger.history()) == sorted(every)
    assert ledger.accounts()[0].spent == pytest.approx(0.08)
    assert ledger.check().ok


def test_a_batch_goes_on_when_the_server_is_back(
    server: tuple[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each charge of the batch loses its connection: before, or after, the server has committed it."""
    place = new_database(server[0])
    opened(place, epsilon=1.0)
    usual, lost = Ledger.charge, iter(["before", "after"])

    def unlucky(self: Ledger, *arguments: object, **options: object) -> object:
        when = next(lost, "")
        made = None if when == "before" else usual(self, *arguments, **options)  # type: ignore[arg-type]
        if when:
            raise UnreachableError("the connection was lost")
        return made

    monkeypatch.setattr(Ledger, "charge", unlucky)
    monkeypatch.setattr("peerveil.private.batch.patience.time.sleep", lambda _: None)
    monkeypatch.setattr("peerveil.private.batch.patience._FIRST", 0.0)
    (outcome,) = run_batch([venue()], tmp_path / "out", ledger=place)
    assert outcome.status == "released", outcome.reason
    (entry,) = Ledger(place).history()
    assert pv.Release.load(tmp_path / "out" / "conf").charge == entry.release


@pytest.mark.promise("P-PLATFORM-1")
def test_a_charge_that_is_committed_while_it_is_asked_for_again_counts(tmp_path: Path) -> None:
    """The answer to the first question comes before the commit that it asks about."""
    ledger = opened(tmp_path / "ledger.db", epsilon=1.0)
    charge(ledger, pure(0.5))
    (entry,) = ledger.history()

    class Late(Ledger):
        answers = iter([False, True])

        def charged(self, release: str) -> bool:
            return next(self.answers)

    from peerveil.private.charging import Item

    class Mine:
        number, drawn = entry.release, None

        def keep(self, drawn: dict[str, object]) -> dict[str, object]:
            return drawn

    def pay(number: str) -> None:
        ledger.charge(
            "conf",
            lambda _: pure(0.5),
            quantity="ratings",
            unit="reviewer",
            mechanism=pv.Laplace(scale=1.0),
            release=number,
        )

    item = Item(Mine(), Late(str(tmp_path / "ledger.db")), "conf")  # type: ignore[arg-type]
    assert item.drawn(pay, lambda: {"drawn": 1}) == {"drawn": 1}
    assert len(ledger.history()) == 1


def test_a_server_that_is_gone_may_be_back_later() -> None:
    with pytest.raises(UnreachableError, match="cannot be used"):
        Ledger("postgresql://me@127.0.0.1:9/none?connect_timeout=2")


@pytest.mark.promise("P-PLATFORM-2")
def test_a_lock_that_is_held_is_not_waited_for_without_end(
    server: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = new_database(server[0])
    ledger = opened(place, epsilon=1.0)
    assert databases._WRITING["lock_timeout"] == "60s", "every charge sets it"
    monkeypatch.setitem(databases._WRITING, "lock_timeout", "50ms")
    with psycopg.connect(place) as holder:
        holder.execute("SELECT * FROM peerveil_ledger FOR UPDATE")
        with pytest.raises(UnreachableError, match="other processes have held its lock"):
            charge(ledger, pure(0.5))
    charge(ledger, pure(0.5))
    assert len(ledger.history()) == 1


@pytest.mark.promise("P-PLATFORM-2")
def test_a_client_that_vanished_does_not_hold_the_lock(server: tuple[str, Path]) -> None:
    place = new_database(server[0])
    ledger = opened(place, epsilon=1.0)
    name = "idle_in_transaction_session_timeout"
    assert databases._WRITING[name] == "60s", "every charge sets it"
    with psycopg.connect(place) as vanished:
        vanished.execute(f"SET {name} = '50ms'")
        vanished.execute("SELECT * FROM peerveil_ledger FOR UPDATE")
        charge(ledger, pure(0.5))  # waits until the server has ended the other
        with pytest.raises(psycopg.Error, match="idle"):
            vanished.execute("SELECT 1")
    assert len(ledger.history()) == 1


def documented_sql() -> str:
    """The statements in the documents that make a user for auditors."""
    page = (ROOT / "docs" / "platforms.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```sql\n(.*?)```", page, re.S)
    return str(block)


@pytest.mark.promise("P-PLATFORM-3")
def test_auditors_read_and_cannot_charge(server: tuple[str, Path], run: Run, tmp_path: Path) -> None:
    place = new_database(server[0])
    ledger = opened(place, epsilon=1.0)
    charge(ledger, pure(0.25))
    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS auditor")
        connection.execute(documented_sql())
    audited = place.replace("tester@", "auditor@")
    for command in (["show", audited], ["history", audited], ["check", audited], ["export", audited, "ledger.csv"]):
        result = run("ledger", *command)
        assert result.code == 0, result.err
    (tmp_path / "reviews.csv").write_text(
        "paper,reviewer,score\np,ann,3\np,bob,5\nq,bob,4\nq,cem,4\nr,cem,8\nr,ann,6\n"
    )
    stated = ["--public", "all", "--score-scale", "1,10", "--epsilon", "0.1", "--mechanism", "laplace", "--no-report"]
    refused = run("release", "reviews.csv", *stated, "--ledger", audited, "--dataset", "conf", "-o", "out")
    assert refused.code == 1
    assert "this user may only read it" in refused.err
    for action in (lambda: charge(Ledger(audited), pure(0.25)), lambda: Ledger(audited).open("more", epsilon=1.0)):
        with pytest.raises(LedgerError, match="this user may only read it"):
            action()
    assert len(ledger.history()) == 1
    assert ledger.check().ok
