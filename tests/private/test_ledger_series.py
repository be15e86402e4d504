"""Series of conferences in the ledger, on SQLite and PostgreSQL: what a person pays over years is never exceeded."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import psycopg
import pytest

import peerveil as pv
from cli.test_cli import Run, run
from frozen import V2
from marks import slow
from peerveil.privacy.guarantee import Guarantee
from peerveil.private.ledger import Charged, Ledger, chain
from peerveil.private.ledger.exporting import ledger_document
from peerveil.private.ledger.tables import BUDGETS, ENTRIES
from peerveil.record.committees import Committee, read_committee
from private.test_ledger import LAPLACE, new_database, postgres_server
from private.test_ledger_check import charge, tamper
from private.test_ledger_migration import EVERY_MOMENT, KILLED, rows

__all__ = ["postgres_server", "run"]  # fixtures

STATED = pv.Statement(public="all")


@pytest.fixture(params=["sqlite", slow("postgresql")])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a ledger that does not exist yet."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    return new_database(request.getfixturevalue("postgres_server")[0])


def series(where: str, *members: str, limit: float = 2.0, lists: dict[str, str] | None = None) -> Ledger:
    """A ledger with a series of data sets, some of which have a list of people, one letter each."""
    ledger = Ledger.create(where)
    ledger.open_series("s", epsilon=limit)
    for name in members:
        ledger.open(name, epsilon=5.0)
        people = (lists or {}).get(name)
        ledger.join("s", name, None if people is None else Committee.of(people))
    return ledger


def spent(ledger: Ledger) -> float:
    return ledger.series("s")[0].spent


@pytest.mark.promise("P-SERIES-2")
def test_a_release_is_charged_to_its_budget_and_to_the_series_or_to_none(place: str) -> None:
    ledger = series(place, "a", "b")
    charge(ledger, 1.5, "a")
    assert spent(ledger) == 1.5
    with pytest.raises(
        pv.BudgetError, match=r"costs epsilon 0\.75, and of the series 's' \(person\) 0\.5 of 2 is left"
    ):
        charge(ledger, 0.75, "b")
    assert [account.spent for account in ledger.accounts()] == [1.5, 0]
    charge(ledger, 0.5, "b")
    assert ledger.series("s")[0].left == 0
    ledger.open("apart", epsilon=5.0)
    charge(ledger, 3.0, "apart")  # in no series
    assert spent(Ledger(place)) == 2
    assert ledger.check().ok


def both_charged(ledger: Ledger, epsilon: float, *names: str) -> None:
    claim = Guarantee(kind="pure", unit="reviewer", epsilon=epsilon)
    how: dict[str, Any] = {"quantity": "correlation", "unit": "reviewer", "mechanism": LAPLACE}
    ledger.charge_all([Charged(dataset=name, statement=STATED) for name in names], lambda _: claim, **how)


def test_a_release_of_two_conferences_costs_a_person_once(place: str) -> None:
    """Its claim covers a person's reviews in both; for those in one it is no less."""
    ledger = series(place, "a", "b", limit=1.0, lists={"a": "pq", "b": "qr"})
    both_charged(ledger, 0.75, "a", "b")
    assert spent(ledger) == 0.75  # p, q and r alike
    assert ledger.series("s")[0].releases == 1
    for name in "ab":
        with pytest.raises(pv.BudgetError, match=r"0\.25 of 1 is left"):
            charge(ledger, 0.5, name)
    charge(ledger, 0.25, "a")
    assert ledger.check().ok


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_a_release_of_two_conferences_is_refused_if_it_exceeds_the_budget_of_one_person(place: str, order: str) -> None:
    ledger = series(place, "a", "b", limit=1.0, lists={"a": "p", "b": "r"})
    charge(ledger, 0.5, "b")
    with pytest.raises(pv.BudgetError, match="of the series 's'"):
        both_charged(ledger, 0.75, *order)  # p could pay, r cannot
    assert spent(ledger) == 0.5
    assert len(ledger.history()) == 1
    both_charged(ledger, 0.5, *order)
    assert spent(ledger) == 1


def test_a_conference_that_joins_late_does_not_bring_a_release_of_both_again(place: str) -> None:
    ledger = series(place, "a", limit=1.0)
    ledger.open("b", epsilon=5.0)
    both_charged(ledger, 0.75, "a", "b")
    charge(ledger, 0.25, "b")
    ledger.join("s", "b")
    assert spent(ledger) == 1
    assert ledger.check().ok


@pytest.mark.promise("P-SERIES-6")
def test_lists_count_for_those_on_them_and_for_no_one_else(place: str) -> None:
    ledger = series(place, "a", "b", "c", lists={"a": "pq", "b": "qr", "c": "rs"})
    charge(ledger, 1.0, "a")
    charge(ledger, 1.0, "b")
    assert spent(ledger) == 2  # q
    assert [ledger.series("s")[0].left_for(name) for name in "abc"] == [0, 0, 1]
    charge(ledger, 1.0, "c")  # r has 2 as well; nobody has 3
    with pytest.raises(pv.BudgetError, match="0 of 2 is left"):
        charge(ledger, 0.25, "c")
    ledger.open("all", epsilon=5.0)
    ledger.join("s", "all")
    with pytest.raises(pv.BudgetError):
        charge(ledger, 0.25, "all")  # q is among everyone
    assert ledger.check().ok


@pytest.mark.promise("P-SERIES-4")
def test_a_conference_joins_with_what_it_has_spent(place: str) -> None:
    ledger = series(place, "a")
    ledger.open("late", epsilon=5.0)
    charge(ledger, 1.5, "late")
    charge(ledger, 0.25, "a")
    ledger.join("s", "late")
    assert spent(ledger) == 1.75
    ledger.open("much", epsilon=5.0)
    charge(ledger, 0.5, "much")
    with pytest.raises(pv.BudgetError, match=r"2\.25 of 2 would be spent on some person.*nothing was changed"):
        ledger.join("s", "much")
    assert [member.dataset for member in ledger.series("s")[0].members] == ["a", "late"]


@pytest.mark.promise("P-SERIES-3")
def test_a_budget_per_review_alone_cannot_be_counted(place: str) -> None:
    ledger = series(place)
    ledger.open("r", "review", epsilon=5.0)
    with pytest.raises(pv.BudgetError, match=r"open a budget per reviewer as well, then join: `peerveil ledger open"):
        ledger.join("s", "r")
    ledger.open("r", "reviewer", epsilon=5.0)
    ledger.join("s", "r")
    claims = {
        "review": Guarantee(kind="pure", unit="review", epsilon=0.5),
        "reviewer": Guarantee(kind="pure", unit="reviewer", epsilon=1.25),
    }
    ledger.charge("r", claims.__getitem__, quantity="ratings", unit="review", mechanism=LAPLACE)
    assert spent(ledger) == 1.25  # of a reviewer, although the release states a review
    ledger.open("old", "review", epsilon=5.0)
    charge(ledger, 0.5, "old")
    with pytest.raises(pv.BudgetError, match="what its releases so far cost one is not known"):
        ledger.join("s", "old")
    with ledger._using(write=True) as connection:  # as no version opens a budget after a release
        limits = dict.fromkeys(("rho", "omega", "order"))
        chain.Chain(connection).add(
            BUDGETS, dataset="old", unit="reviewer", epsilon=5.0, delta=0.0, opened="", **limits
        )
    with pytest.raises(pv.BudgetError, match="charged per review before its budget per reviewer was opened"):
        ledger.join("s", "old")


def test_noise_that_a_series_does_not_take_is_refused_when_charged_and_when_joining(place: str) -> None:
    ledger = series(place, "a")
    ledger.open("g", epsilon=5.0, delta=1e-6)
    claim = Guarantee(kind="gdp", unit="reviewer", rho=0.01)

    def normal(name: str) -> None:
        ledger.charge(name, lambda _: claim, quantity="ratings", unit="reviewer", mechanism=pv.Gaussian(scale=1.0))

    normal("g")
    with pytest.raises(pv.BudgetError, match=r"'g' cannot join the series 's': .* epsilon without delta"):
        ledger.join("s", "g")
    ledger.open("h", epsilon=5.0, delta=1e-6)
    ledger.join("s", "h")
    with pytest.raises(pv.BudgetError, match=r"does not fit the series 's' \(person\)"):
        normal("h")


@pytest.mark.promise("P-SERIES-5")
def test_what_was_counted_is_never_taken_back(place: str) -> None:
    """No list, no second list, no other series and no other name makes a series forget what it has counted."""
    ledger = series(place, "a", "b", lists={"b": "pq"})
    charge(ledger, 1.0, "a")
    charge(ledger, 0.5, "b")
    with pytest.raises(pv.BudgetError, match="count for everyone; a list would change what was promised"):
        ledger.join("s", "a", Committee.of("p"))
    with pytest.raises(pv.BudgetError, match="leaving the list out would change"):
        ledger.join("s", "b")
    before = ledger.check().entries
    ledger.join("s", "b", Committee.of("p"))  # fewer people: nothing changes
    assert ledger.check().entries == before
    ledger.join("s", "b", Committee.of("xyz"))  # more people: they are added
    assert len(ledger.series("s")[0].members[1].people or ()) == 5
    ledger.open_series("t", epsilon=9.0)
    ledger.join("t", "a")  # a second series counts it as well, and the first goes on counting
    assert spent(ledger) == 1.5
    charge(ledger, 0.5, "a")
    assert (spent(ledger), ledger.series("t")[0].spent) == (2, 1.5)
    with pytest.raises(pv.BudgetError, match="'s'"):
        charge(ledger, 0.25, "a")  # refused by the first, whatever the second has left
    assert ledger.check().ok


@pytest.mark.promise("P-SERIES-9")
def test_people_who_were_missing_from_a_list_are_told_to_have_overspent(place: str) -> None:
    ledger = series(place, "a", "b", lists={"a": "p", "b": "q"})
    first = charge(ledger, 1.5, "a")
    charge(ledger, 1.5, "b")
    assert len(ledger.series_claims(first)) == 1
    ledger.join("s", "b", Committee.of("p"))
    assert ledger.series("s")[0].overspent
    assert ledger.series_claims(first) == ()  # nothing is stated that does not hold
    (finding,) = ledger.check().problems
    assert "the series 's' is overspent: 3 of 2" in finding.words
    for name in "ab":
        with pytest.raises(pv.BudgetError):
            charge(ledger, 0.1, name)


def test_claims_are_as_of_the_charge(place: str) -> None:
    ledger = series(place, "a", "b", lists={"a": "p"})
    numbers = [charge(ledger, 0.5, name) for name in "aba"]
    (claim,) = ledger.series_claims(numbers[1])
    assert (claim.name, claim.guarantee.epsilon, claim.guarantee.unit) == ("s", 2.0, "person")
    assert claim.guarantee.neighbours.lists
    assert claim.guarantee.float_safe
    assert ledger.series_claims("0" * 16) == ()


def charge_inexact(ledger: Ledger, dataset: str) -> str:
    noise = pv.SinhNormal(rho=0.01, omega=50.0)
    claim = Guarantee(kind="tcdp", unit="reviewer", rho=0.01, omega=50.0, float_safe=False)
    made = ledger.charge(
        dataset, lambda _: claim, quantity="ratings", unit="reviewer", mechanism=noise, statement=STATED
    )
    return made.release


def inexact_series(place: str) -> Ledger:
    ledger = Ledger.create(place)
    ledger.open_series("s", epsilon=2.0, delta=1e-6)
    for name in "abc":
        ledger.open(name, epsilon=2.0, delta=1e-6)
    for name in "ab":
        ledger.join("s", name)
    return ledger


@pytest.mark.promise("P-SERIES-1")
def test_a_promise_that_was_stated_for_last_digits_is_not_taken_back(place: str) -> None:
    ledger = inexact_series(place)
    charge_inexact(ledger, "c")
    (claim,) = ledger.series_claims(charge(ledger, 0.25, "a"))
    assert claim.guarantee.float_safe
    assert "last digits" not in claim.guarantee.promise
    for name in "ab":
        with pytest.raises(pv.BudgetError, match="its noise is drawn in floating point, and earlier releases state"):
            charge_inexact(ledger, name)
    with pytest.raises(pv.BudgetError, match="'c' has releases whose noise was drawn in floating point"):
        ledger.join("s", "c")
    assert [len(account.spends) for account in ledger.accounts()] == [1, 0, 1]


def test_a_series_that_begins_with_inexact_noise_says_so_from_then_on(place: str) -> None:
    ledger = inexact_series(place)
    charge_inexact(ledger, "c")
    charge(ledger, 0.25, "c")  # before it joins, so its releases state nothing of the series
    ledger.join("s", "c")
    numbers = [charge_inexact(ledger, "a"), charge(ledger, 0.25, "b"), charge_inexact(ledger, "b")]
    for number in numbers:
        (claim,) = ledger.series_claims(number)
        assert not claim.guarantee.float_safe
        assert "last digits" in claim.guarantee.promise


@pytest.mark.promise("P-SERIES-5")
def test_a_series_is_not_changed_and_its_name_is_checked(place: str) -> None:
    ledger = series(place, "a")
    with pytest.raises(pv.BudgetError, match="a series cannot be changed"):
        ledger.open_series("s", epsilon=9.0)
    with pytest.raises(pv.InputError, match="series must be a name"):
        ledger.open_series(" ", epsilon=9.0)
    with pytest.raises(pv.InputError, match=r"there is no series 'x'; .* has: 's'"):
        ledger.join("x", "a")
    with pytest.raises(pv.InputError, match="'y' has no budget"):
        ledger.join("s", "y")


SPENDER = """
    import sys
    import peerveil as pv
    from peerveil.privacy.guarantee import Guarantee
    from peerveil.private.ledger import Ledger
    place, name, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
    claim = Guarantee(kind="pure", unit="reviewer", epsilon=0.125)
    ledger, paid = Ledger(place), 0
    sys.stdin.readline()
    for _ in range(times):
        try:
            ledger.charge(name, lambda _: claim, quantity="ratings", unit="reviewer", mechanism=pv.Laplace(scale=1.0))
            paid += 1
        except pv.BudgetError:
            pass
    print(paid)
"""


@pytest.mark.promise("P-SERIES-2")
@pytest.mark.slow
def test_releases_of_two_conferences_at_once_never_exceed_the_series(place: str) -> None:
    """With room for 16, just 16 of 32 pass, whichever conference they are of."""
    ledger = series(place, "a", "b", lists={"a": "pq", "b": "qr"})
    spenders = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(SPENDER), place, name, "8"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in "abab"
    ]
    for spender in spenders:
        assert spender.stdin is not None
        spender.stdin.write("go\n")
        spender.stdin.flush()
    assert sum(int(spender.communicate(timeout=600)[0]) for spender in spenders) == 16
    assert spent(ledger) == 2
    assert ledger.check().ok


def test_a_series_that_was_changed_by_hand_is_found(tmp_path: Path) -> None:
    whole, file = tmp_path / "whole.db", tmp_path / "ledger.db"
    charge(series(str(whole), "a", "b", lists={"a": "pq"}), 0.5, "a")
    changes: list[tuple[str, tuple[object, ...]]] = [
        ("UPDATE peerveil_series SET epsilon = ?", (9.0,)),
        ("UPDATE peerveil_series SET series = ?", ("t",)),
        ("UPDATE peerveil_member SET people = ? WHERE dataset = 'a'", (json.dumps(["0" * 16]),)),
        ("UPDATE peerveil_member SET people = ? WHERE dataset = 'a'", ("[]",)),
        ("UPDATE peerveil_member SET people = ? WHERE dataset = 'a'", ('["Ann"]',)),
        ("UPDATE peerveil_member SET people = ? WHERE dataset = 'b'", (json.dumps(["0" * 16]),)),
        ("UPDATE peerveil_member SET series = ? WHERE dataset = 'a'", ("t",)),
        ("DELETE FROM peerveil_member WHERE dataset = ?", ("b",)),
        ("DELETE FROM peerveil_series WHERE series = ?", ("s",)),
    ]
    for change in changes:
        shutil.copy(whole, file)
        tamper(file, change)
        assert not Ledger(str(file)).check(), change
    for change in changes[3:5]:  # what no list can be is not believed
        shutil.copy(whole, file)
        tamper(file, change)
        with pytest.raises(pv.LedgerError, match="which must be a JSON list of hashes"):
            charge(Ledger(str(file)), 0.1, "a")


def v2(where: Path) -> str:
    return str(shutil.copy(V2 / "ledger.db", where))


@pytest.mark.promise("P-LEDGER-15")
def test_a_ledger_of_version_0_2_0_is_migrated_with_its_hashes(tmp_path: Path) -> None:
    place = v2(tmp_path / "ledger.db")
    before = {table: rows(place, table) for table in ("peerveil_budget", "peerveil_charge", "peerveil_statement")}
    ((schema, entries, head),) = rows(place, "peerveil_ledger")
    assert schema == 2
    ledger = Ledger(place)
    assert "was written by 0.2.0 and has been migrated" in ledger.remarks[0]
    assert {table: rows(place, table) for table in before} == before
    assert rows(place, "peerveil_ledger") == [(3, entries, head)]
    assert ledger.check(head=head).ok
    assert rows(tmp_path / "ledger.db.0.2.0.backup", "peerveil_ledger") == [(2, entries, head)]
    assert Ledger(place).remarks == ()
    ledger.open_series("s", epsilon=9.0)
    ledger.join("s", "conf")
    assert spent(ledger) == ledger.accounts("conf")[0].spent > 0
    assert ledger.check(head=head).ok


@pytest.mark.slow
def test_a_ledger_of_version_0_2_0_on_a_server_is_migrated(postgres_server: tuple[str, Path]) -> None:
    place = new_database(postgres_server[0])
    filled = series(place, "a")
    charge(filled, 0.5, "a")
    with psycopg.connect(place, autocommit=True) as connection:  # as 0.2.0 would have left it
        connection.execute("DELETE FROM peerveil_member")
        connection.execute("DELETE FROM peerveil_series")
    with pytest.raises(pv.LedgerError, match="changed or removed by hand"):
        charge(Ledger(place), 0.1, "a")
    place = new_database(postgres_server[0])
    filled = Ledger.create(place)
    filled.open("conf", epsilon=5.0)
    charge(filled, 0.5, "conf")
    head = filled.check().head
    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute("DROP TABLE peerveil_member")
        connection.execute("DROP TABLE peerveil_series")
        connection.execute("UPDATE peerveil_ledger SET schema_version = 2")
    ledger = Ledger(place)
    assert "peerveil_charge_0_2_0" in ledger.remarks[0]
    assert ledger.check(head=head).ok
    with psycopg.connect(place) as connection:
        assert connection.execute("SELECT count(*) FROM peerveil_charge_0_2_0").fetchone() == (1,)
    ledger.open_series("s", epsilon=9.0)
    ledger.join("s", "conf")
    assert spent(ledger) == 0.5


@pytest.mark.skipif(sys.platform == "win32", reason="processes are forked")
@pytest.mark.slow
def test_killed_at_any_moment_the_ledger_of_0_2_0_or_the_new_one_is_there(tmp_path: Path) -> None:
    source = v2(tmp_path / "source.db")
    before, head = rows(source, "peerveil_charge"), rows(source, "peerveil_ledger")[0][2]
    command = [sys.executable, "-c", textwrap.dedent(EVERY_MOMENT), textwrap.dedent(KILLED), source, str(tmp_path)]
    number = int(subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout.split()[-1])
    assert number > 20
    schemas = set()
    for moment in range(1, number + 1):
        place = tmp_path / f"{moment}.db"
        schemas.add(rows(place, "peerveil_ledger")[0][0])
        assert rows(place, "peerveil_charge") == before
        assert Ledger(str(place)).check(head=head).ok
        assert rows(place, "peerveil_charge") == before
        assert not Path(f"{place}.0.2.0.backup.2").exists()
    assert schemas == {2, 3}


def test_a_program_without_series_cannot_charge_a_ledger_with_series(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of 0.2.0 that had the ledger open when it was migrated knows three tables, and would not ask the series."""
    ledger = series(place, "a")
    known = {table: name for table, name in ENTRIES.items() if name in ("budget", "charge", "statement")}
    monkeypatch.setattr(chain, "ENTRIES", known)
    with pytest.raises(pv.LedgerError, match="changed or removed by hand"):
        charge(ledger, 0.5, "a")


def test_lists_are_read_from_lines_and_from_tables(tmp_path: Path) -> None:
    lines = tmp_path / "committee.txt"
    lines.write_text("# the committee of 2026\nAnn Lée\n\nbob@x.org\nANN LEE\n", encoding="utf-8")
    table = tmp_path / "committee.csv"
    table.write_text("reviewer,country\nBob@X.org,CH\nann  lée,DE\n", encoding="utf-8")
    assert read_committee(lines) == read_committee(table) == Committee.of(["bob@x.org", "ann lee"])
    other = tmp_path / "other.csv"
    other.write_text("person,country\nBob@X.org,CH\nann lée,DE\n", encoding="utf-8")
    assert read_committee(other, column="person") == read_committee(table)
    lines.write_text("# nobody\n\n", encoding="utf-8")
    with pytest.raises(pv.FileError, match="names nobody"):
        read_committee(lines)


@pytest.mark.promise("P-SERIES-8")
def test_reviewers_are_compared_with_a_list(tmp_path: Path) -> None:
    rows = "paper,reviewer,score\np,zqxann,3\np,zqxbob,5\nq,zqxbob,4\nq,zqxcem,4\nr,zqxcem,8\nr,zqxann,6\n"
    (tmp_path / "r.csv").write_text(rows)
    file = tmp_path / "committee.txt"
    file.write_text("ZQXann\nzqxbob\nzqxcem\nzqxdan\n")
    reviews = pv.read(tmp_path / "r.csv", committee=file)
    assert reviews.report.committee == read_committee(file)
    assert pv.read(tmp_path / "r.csv").report.committee is None
    file.write_text("zqxann\nzqxcem\n")
    with pytest.raises(
        pv.FileError, match=r"1 of 3 reviewers are not on the list .*first reviews in lines 3\)"
    ) as error:
        pv.read(tmp_path / "r.csv", committee=file)
    assert "zqx" not in str(error.value)
    file.write_text("dan\n")
    with pytest.raises(pv.FileError, match="no reviewer is on the list") as error:
        pv.read(tmp_path / "r.csv", committee=file)
    assert "zqx" not in str(error.value)
    # Reviews that are left out belong to the conference: their reviewers are compared as well.
    labelled = "paper,reviewer,score,type\np,ann,3,a\np,bob,5,b\nq,bob,4,b\nq,ann,4,a\n"
    (tmp_path / "l.csv").write_text(labelled)
    file.write_text("ann\n")
    with pytest.raises(pv.FileError, match="1 of 2 reviewers"):
        pv.read(tmp_path / "l.csv", committee=file, only="type=a", visible_column="type=review")


def test_a_list_that_reviewers_were_compared_with_must_be_that_of_the_series(tmp_path: Path) -> None:
    place = str(tmp_path / "ledger.db")
    ledger = series(place, "a", "b", limit=5.0, lists={"a": "pq"})
    how: dict[str, Any] = {"quantity": "ratings", "unit": "reviewer", "mechanism": LAPLACE, "statement": STATED}
    claim = Guarantee(kind="pure", unit="reviewer", epsilon=0.5)
    assert "were not compared with the list of 'a'" in " ".join(ledger.charge("a", lambda _: claim, **how).remarks)
    for people in ("p", "pq"):
        assert ledger.charge("a", lambda _: claim, committee=Committee.of(people), **how).remarks == ()
    with pytest.raises(pv.BudgetError, match=r"add them there with `peerveil ledger join`.*nothing was charged"):
        ledger.charge("a", lambda _: claim, committee=Committee.of("px"), **how)
    assert ledger.charge("b", lambda _: claim, **how).remarks == ()  # has no list
    assert ledger.accounts("a")[0].spent == 1.5


@pytest.mark.promise("P-SERIES-7")
def test_no_name_of_a_list_is_in_the_ledger_or_what_it_shows(tmp_path: Path, run: Run) -> None:
    (tmp_path / "l.txt").write_text("zqxann\nzqxbob\n")
    assert run("ledger", "open-series", "l.db", "--series", "Conf", "--epsilon", "3").code == 0
    assert run("ledger", "open", "l.db", "--dataset", "c26", "--epsilon", "3").code == 0
    joined = run("ledger", "join", "l.db", "--series", "Conf", "--dataset", "c26", "--list", "l.txt")
    assert joined.code == 0, joined.err
    assert "c26 (2 people, epsilon 3 left)" in joined.out
    assert b"zqx" not in (tmp_path / "l.db").read_bytes()
    charge(Ledger(str(tmp_path / "l.db")), 0.5, "c26")
    shown = json.loads(run("ledger", "show", "l.db", "--json").out)
    assert shown[1]["members"] == [{"dataset": "c26", "people": 2, "left": 2.5}]
    assert (shown[1]["dataset"], shown[1]["unit"], shown[1]["spent"]) == ("Conf", "person", 0.5)
    assert "counted in the series Conf" in " ".join(run("ledger", "history", "l.db").out.split())
    assert json.loads(run("ledger", "history", "l.db", "--json").out)[0]["series"] == ["Conf"]
    text = run("ledger", "show", "l.db").out
    assert "series Conf  person" in text
    document: dict[str, Any] = ledger_document(Ledger(str(tmp_path / "l.db")))
    assert document["series"][0]["spent"] == 0.5
    assert document["members"] == [{"series": "Conf", "dataset": "c26", "people": 2}]
    assert run("ledger", "export", "l.db", "l.csv").code == 0
    assert "member,c26" in (tmp_path / "l.csv").read_text()
    column = run("ledger", "join", "l.db", "--series", "Conf", "--dataset", "c26", "--column", "x")
    assert column.code == 2
    assert "--column x is for a table of people (--list)" in column.err
    assert run("ledger", "open-series", "new.db", "--series", "Conf", "--epsilon", "0").code == 2
    assert not (tmp_path / "new.db").exists()
