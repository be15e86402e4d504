"""The ledger, on SQLite and on a real PostgreSQL server: it never overspends and never loses an entry."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import stat
import struct
import subprocess
import sys
import textwrap
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import peerveil as pv
import postgres
from cli.test_cli import Run, run
from peerveil.privacy.guarantee import Guarantee
from peerveil.private.fingerprint import fingerprint, key_file
from peerveil.private.ledger import Ledger
from peerveil.private.noise import Prepared

__all__ = ["run"]  # a fixture

REVIEWS = pv.Reviews.from_columns([*"ppqqrr"], ["ann", "bob", "bob", "cem", "cem", "ann"], [3, 5, 4, 4, 8, 6])
LAPLACE = pv.Laplace(scale=1.0)


@pytest.fixture
def key() -> Path:
    return Path(os.environ["PEERVEIL_KEY_FILE"])


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[tuple[str, Path]]:
    if postgres.programs() is None:
        pytest.skip("PostgreSQL is not installed (its programs initdb and pg_ctl)")
    with postgres.server() as started:
        yield started


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a ledger that does not exist yet."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    return new_database(request.getfixturevalue("postgres_server")[0])


def new_database(url: str) -> str:
    """The address of a new database on a server."""
    name = f"t{random.randrange(10**12)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return url.replace("/postgres?", f"/{name}?")


def opened(place: str | Path, unit: str = "reviewer", **budget: float) -> Ledger:
    """A new ledger with a budget for the data set 'conf'."""
    ledger = Ledger.create(str(place))
    ledger.open("conf", unit, **budget)
    return ledger


def pure(epsilon: float) -> Guarantee:
    return Guarantee(kind="pure", unit="reviewer", epsilon=epsilon)


def charge(ledger: Ledger, claim: Guarantee, dataset: str = "conf") -> None:
    ledger.charge(dataset, lambda _: claim, quantity="ratings", unit="reviewer", mechanism=LAPLACE)


@pytest.mark.promise("P-README-5")
def test_budgets_are_spent_and_then_refused(place: str) -> None:
    ledger = Ledger.create(place)
    assert ledger.open("conf", epsilon=1.0).left == 1
    for _ in range(10):
        charge(ledger, pure(0.1))  # ten tenths are one, whatever floating point makes of them
    with pytest.raises(pv.BudgetError, match=r"costs epsilon 0.001, and of the budget of 'conf' \(reviewer\) 0 of 1"):
        charge(ledger, pure(0.001))
    (account,) = Ledger(place).accounts()
    assert account.spent == pytest.approx(1.0)
    assert len(account.spends) == 10
    assert len(Ledger(place).history("conf")) == 10


@pytest.mark.promise("P-LEDGER-10")
@given(st.lists(st.floats(1e-6, 10), min_size=1, max_size=8))
@settings(max_examples=15)
def test_round_off_never_refuses_a_legal_spend(parts: list[float]) -> None:
    import tempfile
    from fractions import Fraction

    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger.create(f"{folder}/ledger.db")
        ledger.open("conf", epsilon=float(sum(map(Fraction, parts), Fraction(0))))
        for part in parts:
            charge(ledger, pure(part))
        with pytest.raises(pv.BudgetError):
            charge(ledger, pure(max(parts) * 1e-6))


def test_what_is_left_is_stated_and_can_be_spent(place: str) -> None:
    ledger = opened(place, epsilon=2.0)
    charge(ledger, pure(1.3))
    with pytest.raises(pv.BudgetError, match=r"0\.7 of 2 is left"):
        charge(ledger, pure(0.71))
    charge(ledger, pure(0.7))


@pytest.mark.promise("P-LEDGER-1")
def test_budgets_belong_to_a_data_set_and_a_unit(place: str) -> None:
    ledger = opened(place, "reviewer", epsilon=1.0)
    ledger.open("other", "reviewer", epsilon=1.0)
    charge(ledger, pure(1.0), "other")
    charge(ledger, pure(1.0), "conf")
    with pytest.raises(pv.BudgetError, match="a budget cannot be changed"):
        ledger.open("conf", "reviewer", epsilon=5.0)
    with pytest.raises(pv.InputError, match=r"'third' has no budget; .* has budgets for: 'conf', 'other'"):
        ledger.dataset("third")
    with pytest.raises(pv.InputError, match="a data set must be named"):
        ledger.dataset(None)
    with pytest.raises(pv.InputError, match="'third' has no budget"):
        charge(ledger, pure(0.1), "third")
    assert [a.dataset for a in ledger.accounts()] == ["conf", "other"]


@pytest.mark.promise("P-LEDGER-2")
def test_a_release_charges_every_budget_of_its_data_set_or_none(place: str) -> None:
    ledger = opened(place, "reviewer", epsilon=1.0)
    ledger.open("conf", "review", epsilon=0.4)
    claims = {"reviewer": pure(0.5), "review": Guarantee(kind="pure", unit="review", epsilon=0.5)}
    with pytest.raises(pv.BudgetError, match=r"\(review\) 0.4 of 0.4 is left"):
        ledger.charge("conf", claims.__getitem__, quantity="ratings", unit="reviewer", mechanism=LAPLACE)
    assert ledger.history() == []
    assert [account.spent for account in ledger.accounts()] == [0, 0]
    claims["review"] = Guarantee(kind="pure", unit="review", epsilon=0.25)
    ledger.charge("conf", claims.__getitem__, quantity="ratings", unit="reviewer", mechanism=LAPLACE)
    assert {account.unit: account.spent for account in ledger.accounts()} == {"reviewer": 0.5, "review": 0.25}


@pytest.mark.promise("P-LEDGER-8")
@pytest.mark.parametrize(
    ("mechanism", "unit"),
    [
        (pv.Laplace(epsilon=0.5), "review"),
        (pv.Gaussian(rho=0.05), "review"),
        (pv.Laplace(epsilon=0.5), "reviewer"),
        (pv.Histogram(epsilon=0.5), "review"),
        (pv.Histogram(epsilon=0.5), "reviewer"),
    ],
)
def test_releases_for_another_unit_are_converted_from_their_noise(
    mechanism: pv.Laplace | pv.Gaussian | pv.Histogram, unit: str, tmp_path: Path
) -> None:
    """Loads of 4: an epsilon for a review is three times as much for a reviewer."""
    rows = [f"p{i}" for i in range(4) for _ in range(4)]
    reviews = pv.Reviews.from_columns(rows, [f"r{(i + p) % 4}" for p in range(4) for i in range(4)], [1, 2, 3, 9] * 4)
    ledger = opened(tmp_path / "ledger.db", "reviewer", rho=10.0)
    ledger.open("conf", "review", rho=10.0)
    made = pv.release(reviews, public="all", mechanism=mechanism, unit=unit, ledger=str(tmp_path / "ledger.db"))
    spent = {account.unit: account.spent for account in ledger.accounts()}
    asked = made.guarantee.as_concentrated().rho
    assert spent[unit] == pytest.approx(asked)  # type: ignore[index]
    # of L1, 2R(1 - 1/l) against 2R/l; of L2, R sqrt(1 - 1/l) against R sqrt(2)/l
    ratio = 3.0**2 if isinstance(mechanism, pv.Laplace) else (0.75 / (2 / 16))
    if isinstance(mechanism, pv.Histogram):
        ratio = 2.0**2  # of the four reviewers at most all move, against two
    assert spent["reviewer"] / spent["review"] == pytest.approx(ratio)


@pytest.mark.promise("P-LEDGER-3")
def test_release_charges_before_it_draws(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = opened(place, epsilon=1.0)
    spent: list[float] = []

    def broken(*_: object) -> None:
        spent.append(ledger.accounts()[0].spent)
        raise RuntimeError("power cut")

    with monkeypatch.context() as patch:
        patch.setattr(Prepared, "draw", broken)
        with pytest.raises(RuntimeError):
            pv.release(REVIEWS, public="all", mechanism=pv.Laplace(epsilon=0.6), ledger=place)
    assert spent == [0.6]
    monkeypatch.setattr(Prepared, "draw", lambda *_: pytest.fail("noise was drawn"))
    with pytest.raises(pv.BudgetError, match=r"0\.4 of 1 is left"):
        pv.release(REVIEWS, public="all", mechanism=pv.Laplace(epsilon=0.7), ledger=place)
    for options, message in (
        ({"region": "none"}, "region must be"),
        ({"quantity": "none"}, "quantity must be"),
        ({"mechanism": pv.SinhNormal(scale=1.0, bound=2.0), "accept_float_noise": True}, "outside its theorem"),
        ({"dataset": "other"}, "has no budget"),
    ):
        given: dict[str, Any] = {"mechanism": pv.Laplace(epsilon=0.1), **options}
        with pytest.raises(pv.InputError, match=message):
            pv.release(REVIEWS, public="all", ledger=place, **given)
    assert ledger.accounts()[0].spent == 0.6


def test_concentrated_releases_need_a_budget_that_admits_them(tmp_path: Path) -> None:
    place = str(tmp_path / "ledger.db")
    ledger = Ledger.create(place)
    ledger.open("pure", epsilon=1.0)
    ledger.open("both", epsilon=3.0, delta=1e-6)
    with pytest.raises(pv.BudgetError, match="use Laplace noise"):
        pv.release(REVIEWS, public="all", mechanism=pv.Gaussian(rho=0.01), ledger=place, dataset="pure")
    for mechanism in (pv.Gaussian(rho=0.01), pv.Laplace(epsilon=0.5)):
        pv.release(REVIEWS, public="all", mechanism=mechanism, ledger=place, dataset="both")
    both = ledger.accounts("both")[0]
    assert 0.5 < both.spent < 3
    pv.release(
        REVIEWS,
        public="all",
        mechanism=pv.SinhNormal(rho=0.01, omega=30.0),
        ledger=place,
        dataset="both",
        accept_float_noise=True,
    )
    assert ledger.accounts("both")[0].spent > both.spent


@pytest.mark.promise("P-LEDGER-12")
def test_changed_data_under_a_name_is_told_and_charged(tmp_path: Path) -> None:
    place = str(tmp_path / "ledger.db")
    opened(place, epsilon=9.0)
    same = pv.Reviews.from_columns([*"rrqqpp"], ["1", "3", "3", "2", "2", "1"], [6, 8, 4, 4, 5, 3])
    other = pv.Reviews.from_columns([*"ppqqrr"], ["ann", "bob", "bob", "cem", "cem", "ann"], [3, 5, 4, 4, 8, 7])

    def publish(reviews: pv.Reviews) -> None:
        pv.release(reviews, public="all", mechanism=pv.Laplace(epsilon=1.0), ledger=place)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        publish(REVIEWS)
        publish(same)  # other names, another order: the same data
    with pytest.warns(pv.LedgerWarning, match="differ from those last released as 'conf'"):
        publish(other)
    assert Ledger(place).accounts()[0].spent == 3


@pytest.mark.promise("P-LEDGER-12")
def test_fingerprints_say_nothing_without_the_key(key: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first = fingerprint(REVIEWS)
    assert first is not None
    assert key.exists()
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert fingerprint(REVIEWS) == first
    key.unlink()
    second = fingerprint(REVIEWS)
    assert second is not None
    assert first.key != second.key
    assert first.digest != second.digest
    monkeypatch.delenv("PEERVEIL_KEY_FILE")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert key_file() == tmp_path / "config" / "peerveil" / "ledger.key"
    key_file().parent.mkdir(parents=True)
    key_file().write_text("not a key")
    assert fingerprint(REVIEWS) is None


@pytest.mark.promise("P-LEDGER-11")
def test_nothing_private_is_in_the_ledger(tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    opened(place, epsilon=9.0)
    reviews = pv.Reviews.from_columns(
        ["zqxp1", "zqxp1", "zqxp2", "zqxp2"], ["zqxann", "zqxbob", "zqxann", "zqxbob"], [3.25, 5.5, 4.125, 4.75]
    )
    made = pv.release(reviews, public="all", mechanism=pv.Laplace(epsilon=1.0), ledger=str(place))
    held = place.read_bytes()
    assert b"conf" in held
    assert b"zqx" not in held
    for private in (3.25, 5.5, 4.125, 4.75, 3.6875, 5.125):  # scores and means, as text and as SQLite stores numbers
        assert str(private).encode() not in held
        assert struct.pack(">d", private) not in held
    assert struct.pack(">d", made.mechanism["scale"]) in held or str(made.mechanism["scale"]).encode() in held


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "got nothing"),
        ("mysql://user:hunter2@host/db", "begins with sqlite:/// or postgresql://"),
        ("://", "begins with"),
        ("postgresql://user:hunter2@localhost:99999x/db", "begins with"),
        ("host=localhost password=hunter2", "an address such as"),
        ("sqlite+other:///hunter2.db", "begins with"),
        ("sqlite:///x.db?password=hunter2", "begins with"),
    ],
)
def test_addresses_that_are_none_are_refused_without_their_password(text: str, message: str) -> None:
    with pytest.raises(pv.InputError, match=message) as error:
        Ledger(text)
    assert "hunter2" not in str(error.value)


def test_a_ledger_that_is_not_there_or_is_none(tmp_path: Path) -> None:
    with pytest.raises(pv.LedgerError, match="there is no ledger at"):
        Ledger(str(tmp_path / "none.db"))
    assert not (tmp_path / "none.db").exists()
    (tmp_path / "text.db").write_text("this is no database, " * 100)
    with pytest.raises(pv.LedgerError, match="file is not a database"):
        Ledger(str(tmp_path / "text.db"))
    (tmp_path / "empty.db").touch()
    with pytest.raises(pv.LedgerError, match="holds no ledger"):
        Ledger(str(tmp_path / "empty.db"))
    with pytest.raises(pv.LedgerError, match="cannot be used"):
        Ledger.create(str(tmp_path / "no" / "folder" / "ledger.db"))
    for address in (
        "postgresql://me:hunter2@127.0.0.1:9/none?connect_timeout=2",
        "postgres://me@127.0.0.1:9/none?connect_timeout=2&password=hunter2",
    ):
        with pytest.raises(pv.LedgerError, match="cannot be used") as error:
            Ledger(address)
        assert "hunter2" not in str(error.value)


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 201])
def test_names_of_data_sets_are_checked(tmp_path: Path, name: str) -> None:
    with pytest.raises(pv.InputError, match="dataset must be a name"):
        Ledger.create(str(tmp_path / "ledger.db")).open(name, epsilon=1.0)


def test_spaces_around_a_name_do_not_make_another_data_set(tmp_path: Path) -> None:
    ledger = Ledger.create(str(tmp_path / "ledger.db"))
    ledger.open(" conf ", epsilon=1.0)
    with pytest.raises(pv.BudgetError, match="already"):
        ledger.open("conf", epsilon=1.0)
    assert ledger.dataset("conf ") == "conf"


def test_a_budget_that_would_not_count_what_is_out_is_not_opened(place: str) -> None:
    ledger = opened(place, "reviewer", epsilon=1.0)
    charge(ledger, pure(0.5))
    with pytest.raises(pv.BudgetError, match="has releases already"):
        ledger.open("conf", "review", epsilon=1.0)


def test_claims_are_charged_to_budgets_of_their_unit_only(place: str) -> None:
    ledger = opened(place, "review", epsilon=1.0)
    with pytest.raises(pv.BudgetError, match="a claim for a reviewer cannot be charged"):
        charge(ledger, pure(0.5))


def test_the_same_reviews_under_two_names_are_told(tmp_path: Path) -> None:
    place = str(tmp_path / "ledger.db")
    for name in ("one", "two"):
        Ledger.create(place).open(name, epsilon=1.0)
    pv.release(REVIEWS, public="all", mechanism=pv.Laplace(epsilon=0.5), ledger=place, dataset="one")
    with pytest.warns(pv.LedgerWarning, match="the same reviews were released as 'one' before"):
        pv.release(REVIEWS, public="all", mechanism=pv.Laplace(epsilon=0.5), ledger=place, dataset="two")


@pytest.mark.parametrize("words", ["", "\nline", "disk I/O error"])
def test_a_commit_that_fails_without_words_is_an_error_too(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = str(tmp_path / "ledger.db")
    opened(place, epsilon=1.0)
    monkeypatch.setattr(Prepared, "draw", lambda *_: pytest.fail("noise was drawn"))

    def lost(_: object) -> None:
        raise sqlite3.OperationalError(words)

    from sqlalchemy.engine.default import DefaultDialect

    monkeypatch.setattr(DefaultDialect, "do_commit", lambda self, connection: lost(connection))
    with pytest.raises(pv.LedgerError, match="cannot be used"):
        pv.release(REVIEWS, public="all", mechanism=pv.Laplace(epsilon=0.5), ledger=place)


SPENDER = """
    import sys
    import peerveil as pv
    from peerveil.privacy.guarantee import Guarantee
    from peerveil.private.ledger import Ledger
    place, times = sys.argv[1], int(sys.argv[2])
    claim = Guarantee(kind="pure", unit="reviewer", epsilon=0.01)
    ledger, paid = Ledger(place), 0
    sys.stdin.readline()
    for _ in range(times):
        try:
            ledger.charge("conf", lambda _: claim, quantity="ratings", unit="reviewer", mechanism=pv.Laplace(scale=1.0))
            paid += 1
        except pv.BudgetError:
            pass
    print(paid)
"""


@pytest.mark.promise("P-README-5", "P-LEDGER-3")
@pytest.mark.slow
@pytest.mark.parametrize("isolation", ["read committed", "repeatable read"])
def test_eight_spenders_at_once_never_exceed_the_budget_and_lose_no_entry(place: str, isolation: str) -> None:
    if place.startswith("postgresql"):
        with psycopg.connect(place, autocommit=True) as connection:
            name = connection.info.dbname
            connection.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = '{isolation}'")
    elif isolation != "read committed":
        return  # SQLite has one way only
    ledger = opened(place, epsilon=0.5)
    command = [sys.executable, "-c", textwrap.dedent(SPENDER), place, "12"]
    spenders = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(8)]
    for spender in spenders:
        assert spender.stdin is not None
        spender.stdin.write("go\n")
        spender.stdin.flush()
    while any(spender.poll() is None for spender in spenders):
        assert ledger.check().ok  # as of one moment, whoever writes
        time.sleep(0.1)
    paid = [int(spender.communicate(timeout=1800)[0]) for spender in spenders]
    assert sum(paid) == 50  # of 96 that asked
    assert len(ledger.history()) == 50
    assert len({entry.release for entry in ledger.history()}) == 50
    assert ledger.accounts()[0].spent == pytest.approx(0.5)
    assert ledger.check().ok
    assert ledger.check().entries == 51


RELEASER = """
    import sys
    import peerveil as pv
    from peerveil.private.journal import Kept
    keep = Kept.keep
    def telling(self, draw):
        kept = keep(self, draw)
        print("drawn", flush=True)
        return kept
    Kept.keep = telling
    reviews = pv.Reviews.from_columns([*"ppqqrr"], ["ann", "bob", "bob", "cem", "cem", "ann"], [3, 5, 4, 4, 8, 6])
    print("ready", flush=True)
    while True:
        pv.release(reviews, public="all", mechanism=pv.Laplace(epsilon=1e-3), ledger=sys.argv[1], region="baseline")
"""


@pytest.mark.promise("P-LEDGER-4")
@pytest.mark.slow
def test_killed_at_any_moment_every_drawn_release_is_charged(place: str, tmp_path: Path) -> None:
    opened(place, epsilon=1e6)
    told = tmp_path / "told"
    drawn = 0
    for sign, wait in (("ready", 0.0), ("ready", 0.05), ("drawn", 0.0), ("drawn", 0.01), ("drawn", 0.1)):
        with (
            told.open("w") as out,
            subprocess.Popen([sys.executable, "-c", textwrap.dedent(RELEASER), place], stdout=out) as releaser,
        ):
            while sign not in told.read_text():
                assert releaser.poll() is None
                time.sleep(0.01)
            time.sleep(wait)
            releaser.send_signal(signal.SIGKILL)
        # A draw that was not kept has reached nobody, and its charge pays for the next: only kept draws are counted.
        drawn += told.read_text().count("drawn")
        charged = len(Ledger(place).history())  # it opens
        assert drawn <= charged
    assert drawn > 0


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="limits of a process are POSIX")
def test_a_full_disk_is_an_error_and_no_release(tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    opened(place, epsilon=1e6)
    script = """
        import resource, signal, sys
        import peerveil as pv
        from peerveil.private.noise import Prepared
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
        Prepared.draw = lambda *_: print("DRAWN")
        reviews = pv.Reviews.from_columns([*"ppqqrr"], ["ann", "bob", "bob", "cem", "cem", "ann"], [3, 5, 4, 4, 8, 6])
        try:
            pv.release(reviews, public="all", mechanism=pv.Laplace(epsilon=1.0), ledger=sys.argv[1])
        except pv.LedgerError as error:
            print("refused:", error)
    """
    # No more than a few bytes may be written to any file.
    command = [sys.executable, "-c", textwrap.dedent(script), str(place), "64"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    assert "refused: the ledger at" in done.stdout
    assert "nothing was released" in done.stdout
    assert "DRAWN" not in done.stdout
    assert Ledger(str(place)).history() == []


def test_a_lost_database_is_an_error_and_no_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Prepared, "draw", lambda *_: pytest.fail("noise was drawn"))
    place = tmp_path / "ledger.db"
    opened(place, epsilon=1.0)
    place.unlink()
    with pytest.raises(pv.LedgerError, match="there is no ledger"):
        pv.release(REVIEWS, public="all", mechanism=pv.Laplace(epsilon=0.1), ledger=str(place))
    assert not place.exists()


def test_a_lost_server_is_an_error_and_no_release(monkeypatch: pytest.MonkeyPatch) -> None:
    if postgres.programs() is None:
        pytest.skip("PostgreSQL is not installed (its programs initdb and pg_ctl)")
    with postgres.server() as (url, data):
        ledger = Ledger.create(url)
        ledger.open("conf", epsilon=1.0)
        pv.release(REVIEWS, public="all", mechanism=pv.Laplace(epsilon=0.1), ledger=url)
        postgres.stop(data)
        monkeypatch.setattr(Prepared, "draw", lambda *_: pytest.fail("noise was drawn"))
        with pytest.raises(pv.LedgerError, match="cannot be used"):
            charge(ledger, pure(0.1))
        with pytest.raises(pv.LedgerError, match="cannot be used"):
            pv.release(REVIEWS, public="all", mechanism=pv.Laplace(epsilon=0.1), ledger=url)


def test_a_read_only_ledger_can_be_shown(tmp_path: Path) -> None:
    place = tmp_path / "ledger.db"
    opened(place, epsilon=1.0)
    place.chmod(0o400)
    tmp_path.chmod(0o500)
    try:
        assert Ledger(str(place)).accounts()[0].left == 1
        if os.getuid() != 0:  # nothing is read-only to root
            with pytest.raises(pv.LedgerError, match="readonly"):
                charge(Ledger(str(place)), pure(0.1))
    finally:
        tmp_path.chmod(0o700)


def test_the_command_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("paper,reviewer,score\np,ann,3\np,bob,5\nq,bob,4\nq,cem,4\nr,cem,8\nr,ann,6\n")
    opened = run("ledger", "open", "l.db", "--dataset", "conf26", "--epsilon", "3", "--delta", "1e-6")
    assert opened.code == 0, opened.err
    assert "conf26" in opened.out
    release = ["release", "r.csv", "--public", "all", "--ledger", "l.db"]
    laplace = [*release, "--mechanism", "laplace"]
    assert run(*laplace, "--epsilon", "0.7", "-o", "o1").code == 0
    gaussian = run(*release, "--mechanism", "gaussian", "--rho", "0.01", "--dataset", "conf26", "-o", "o2")
    assert gaussian.code == 0, gaussian.err
    refused = run(*laplace, "--epsilon", "5", "-o", "o3")
    assert refused.code == 1
    assert "is left; nothing was released" in refused.err
    assert not (tmp_path / "o3").exists()
    (account,) = json.loads(run("ledger", "show", "l.db", "--json").out)
    assert account["releases"] == 2
    assert account["limit"] == 3
    assert 0.7 < account["spent"] < 3
    first, second = json.loads(run("ledger", "history", "l.db", "--json").out)
    assert first["spend"] == {"epsilon": 0.7, "rho": pytest.approx(0.245), "omega": None, "gaussian": False}
    assert second["mechanism"]["name"] == "gaussian"
    history = run("ledger", "history", "l.db").out
    assert "epsilon 0.7" in history
    assert "rho 0.01" in history
    assert run("ledger", "show", "none.db").code == 1
    assert run("ledger", "show", "l.db", "--dataset", "nope").code == 2
    assert "--rho must be a finite number > 0" in run("ledger", "open", "x.db", "--dataset", "x", "--rho", "0").err
    assert not (tmp_path / "x.db").exists()
    unknown = run(*laplace, "--epsilon", "0.1", "--dataset", "conf25", "-o", "o4")
    assert unknown.code == 2
    assert "has budgets for: 'conf26'" in unknown.err
    alone = run("release", "r.csv", "--public", "all", "--noise-scale", "1", "--dataset", "conf26", "-o", "o5")
    assert "no ledger is given (--ledger)" in alone.err
    (tmp_path / "r.csv").write_text("paper,reviewer,score\np,ann,3\np,bob,5\nq,bob,4\nq,cem,4\nr,cem,8\nr,ann,7\n")
    changed = run(*laplace, "--epsilon", "0.1", "-o", "o6")
    assert changed.code == 0
    assert "warning: the reviews differ from those last released as 'conf26'" in changed.err
