"""Whoever changes, removes or moves an entry of a ledger by hand, or restores an old copy of it, is found out."""

from __future__ import annotations

import itertools
import json
import shlex
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import peerveil as pv
from cli.test_cli import Run, run
from frozen import V1
from peerveil.privacy.guarantee import Guarantee
from peerveil.private.ledger import Ledger
from private.test_ledger import LAPLACE, REVIEWS, new_database, opened, place, postgres_server, pure

__all__ = ["place", "postgres_server", "run"]  # fixtures

# ruff: noqa: S608 - statements of our own, without a user's words

TABLES = ("peerveil_budget", "peerveil_charge", "peerveil_statement")
ALL = pv.Statement(public="all")
HIDDEN = pv.Statement(public="none", scale=(1, 10))


def charge(ledger: Ledger, epsilon: float, dataset: str = "conf", statement: pv.Statement | None = ALL) -> str:
    def claim(unit: str) -> Guarantee:
        return Guarantee(kind="pure", unit=unit, epsilon=epsilon)  # type: ignore[arg-type]

    made = ledger.charge(dataset, claim, quantity="ratings", unit="reviewer", mechanism=LAPLACE, statement=statement)
    return made.release


def filled(where: str) -> Ledger:
    """A ledger with every kind of entry: 4 budgets, 8 charges, 3 statements."""
    ledger = opened(where, "reviewer", epsilon=3.0)
    ledger.open("conf", "review", epsilon=3.0, delta=1e-6)
    charge(ledger, 0.5)
    charge(ledger, 0.25)
    ledger.open("other", rho=2.0, omega=9.0)
    charge(ledger, 0.125, "other", HIDDEN)
    ledger.state("other", ALL)
    charge(ledger, 0.5, "other")
    charge(ledger, 0.125)
    return ledger


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of such a ledger; it is copied, never changed."""
    file = tmp_path_factory.mktemp("whole") / "ledger.db"
    filled(str(file))
    return file


def everything(file: Path) -> dict[str, list[dict[str, Any]]]:
    """All rows of a ledger, read without the package."""
    with closing(sqlite3.connect(file)) as connection:
        connection.row_factory = sqlite3.Row
        names = (*TABLES, "peerveil_ledger")
        return {name: [dict(row) for row in connection.execute(f"SELECT * FROM {name}")] for name in names}


def tamper(file: Path, *statements: tuple[str, tuple[object, ...]]) -> None:
    """Change a file by hand, past every constraint that SQLite can leave aside."""
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for statement, values in statements:
            connection.execute(statement, values)
        connection.commit()


def other(value: object) -> object:
    """Another value of the same kind."""
    if value is None:
        return 17.5
    if isinstance(value, str):
        return ("1" if value[0] == "0" else "0") + value[1:]
    return value + 1000 if isinstance(value, (int, float)) else None


def test_a_ledger_that_was_left_alone_is_whole(place: str) -> None:
    found = filled(place).check()
    assert found.ok, found.findings
    assert bool(found)
    assert found.findings == ()
    assert (found.entries, found.charges, found.releases) == (14, 5, None)
    assert [check.result for check in found.checks] == ["holds", "holds", "holds", "not checked"]
    assert Ledger(place).check(head=found.head).ok


@pytest.mark.promise("P-LEDGER-13", "P-THREAT-2")
def test_every_change_of_one_field_is_found(whole: Path, tmp_path: Path) -> None:
    file, held = tmp_path / "ledger.db", everything(whole)
    assert sum(map(len, held.values())) == 15
    for table, rows in held.items():
        for row in rows:
            for column in row.keys() - {"schema_version"}:
                shutil.copy(whole, file)
                key = "id" if "id" in row else "schema_version"
                change = f'UPDATE {table} SET "{column}" = ? WHERE {key} = ?'
                tamper(file, (change, (other(row[column]), row[key])))
                assert everything(file) != held
                assert not Ledger(str(file)).check(), (table, row, column)


@pytest.mark.promise("P-LEDGER-13", "P-THREAT-2")
def test_every_removed_entry_is_found_and_nothing_is_charged_after_the_last_one_is_gone(
    whole: Path, tmp_path: Path
) -> None:
    file = tmp_path / "ledger.db"
    last = max(row["position"] for table in TABLES for row in everything(whole)[table])
    for table in TABLES:
        for row in everything(whole)[table]:
            shutil.copy(whole, file)
            tamper(file, (f"DELETE FROM {table} WHERE id = ?", (row["id"],)))
            check = Ledger(str(file)).check()
            assert not check, (table, row)
            gap = f"entry {row['position']} is missing; an entry was removed or moved"
            assert (gap in [finding.words for finding in check.findings]) == (row["position"] < last)
            with pytest.raises(pv.LedgerError):
                charge(Ledger(str(file)), 0.1)


@pytest.mark.promise("P-LEDGER-13", "P-THREAT-2")
def test_every_exchange_of_two_entries_is_found(whole: Path, tmp_path: Path) -> None:
    file = tmp_path / "ledger.db"
    entries = [(table, row) for table in TABLES for row in everything(whole)[table]]
    for first, (one, mine) in enumerate(entries):
        for two, yours in entries[first + 1 :]:
            for columns in (("position",), ("position", "hash")):
                shutil.copy(whole, file)
                change = ", ".join(f"{column} = ?" for column in columns)
                tamper(
                    file,
                    (f"UPDATE {one} SET position = -1 WHERE id = ?", (mine["id"],)),
                    (f"UPDATE {two} SET {change} WHERE id = ?", (*(mine[c] for c in columns), yours["id"])),
                    (f"UPDATE {one} SET {change} WHERE id = ?", (*(yours[c] for c in columns), mine["id"])),
                )
                assert not Ledger(str(file)).check()


VALUES = st.one_of(
    st.none(), st.integers(-5, 20), st.floats(allow_nan=False), st.sampled_from(["", "reviewer", "conf", "x"])
)


@st.composite
def tampering(draw: st.DrawFn) -> tuple[str, tuple[object, ...]]:
    """A change, a removal or a copy of a row."""
    table, key = draw(st.sampled_from(TABLES)), draw(st.integers(1, 8))
    columns = {
        "peerveil_budget": ("dataset", "unit", "epsilon", "delta", "rho", "omega", '"order"', "opened"),
        "peerveil_charge": ("budget", "release", "charged", "epsilon", "rho", "omega", "quantity", "mechanism"),
        "peerveil_statement": ("dataset", "stated", "declared", "statement"),
    }[table]
    if draw(st.integers(0, 4)) == 0:
        return f"DELETE FROM {table} WHERE id = ?", (key,)
    column = draw(st.sampled_from((*columns, "position", "hash")))
    if draw(st.booleans()):  # the value of another row
        return f"UPDATE {table} SET {column} = (SELECT {column} FROM {table} WHERE id = ?) WHERE id = ?", (
            draw(st.integers(1, 8)),
            key,
        )
    return f"UPDATE {table} SET {column} = ? WHERE id = ?", (draw(VALUES), key)


@given(st.lists(tampering(), min_size=1, max_size=3))
@settings(max_examples=60)
def test_random_tampering_is_found_and_never_believed(
    whole: Path, changes: list[tuple[str, tuple[object, ...]]]
) -> None:
    file = whole.with_name("tampered.db")
    shutil.copy(whole, file)
    for change in changes:
        try:
            tamper(file, change)
        except sqlite3.IntegrityError:  # NULL where there must be something, or a number that is taken
            continue
    ledger = Ledger(str(file))
    assert bool(ledger.check()) == (everything(file) == everything(whole))
    try:
        accounts = ledger.accounts()
    except pv.LedgerError:
        return
    for account in accounts:
        assert 0 <= account.left <= account.budget.limit


@pytest.mark.promise("P-LEDGER-14")
def test_rows_of_a_database_without_constraints_are_not_believed(whole: Path, tmp_path: Path, run: Run) -> None:
    file = Path(shutil.copy(whole, tmp_path / "ledger.db"))
    number = Ledger(str(file)).history("conf")[0].release
    tamper(file, ("UPDATE peerveil_charge SET epsilon = -5 WHERE release = ?", (number,)))
    for look in (Ledger.accounts, Ledger.history, lambda ledger: charge(ledger, 0.1)):
        with pytest.raises(pv.LedgerError, match=f"charge {number} in the ledger has epsilon = -5") as error:
            look(Ledger(str(file)))
        assert "restore the ledger from a backup" in str(error.value)
    shown = run("ledger", "show", str(file))
    assert shown.code == 1
    assert "left" not in shown.out
    (problem, *_) = Ledger(str(file)).check().problems
    assert (problem.topic, problem.about) == ("rows", number)
    assert "epsilon = -5" in problem.words


BROKEN = [
    ("peerveil_charge", "epsilon", "-5"),
    ("peerveil_charge", "rho", "-0.5"),
    ("peerveil_charge", "rho", "9e999"),
    ("peerveil_charge", "omega", "1.0"),
    ("peerveil_charge", "unit", "'paper'"),
    ("peerveil_charge", "release", "''"),
    ("peerveil_charge", "statement", "''"),
    ("peerveil_budget", "epsilon", "-1"),
    ("peerveil_budget", "epsilon", "9e999"),
    ("peerveil_budget", "delta", "1"),
    ("peerveil_budget", "delta", "-0.1"),
    ("peerveil_budget", "rho", "0"),
    ("peerveil_budget", "omega", "0.5"),
    ("peerveil_budget", '"order"', "1"),
    ("peerveil_budget", "unit", "'paper'"),
    ("peerveil_budget", "omega", "2.0"),
    ("peerveil_budget", '"order"', "2.0"),
    ("peerveil_statement", "declared", "2"),
    ("peerveil_ledger", "entries", "-1"),
]


def test_the_database_refuses_values_that_no_charge_can_have(place: str) -> None:
    filled(place)
    if place.startswith("postgresql"):
        values = [(t, c, v.replace("9e999", "'Infinity'")) for t, c, v in BROKEN]
        values += [("peerveil_charge", "rho", "'NaN'"), ("peerveil_budget", "epsilon", "'NaN'")]
        with psycopg.connect(place, autocommit=True) as connection:
            for table, column, value in values:
                with pytest.raises(psycopg.errors.CheckViolation):
                    connection.execute(f"UPDATE {table} SET {column} = {value}".encode())
        return
    with closing(sqlite3.connect(place)) as connection:
        for table, column, value in BROKEN:
            with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
                connection.execute(f"UPDATE {table} SET {column} = {value}")


@pytest.mark.slow
def test_tampering_on_a_server_is_found(postgres_server: tuple[str, Path], request: pytest.FixtureRequest) -> None:
    for change, topic in (
        ("UPDATE peerveil_charge SET epsilon = 0.01 WHERE id = 1", "chain"),
        ("UPDATE peerveil_budget SET epsilon = 30 WHERE id = 1", "chain"),
        ("UPDATE peerveil_budget SET epsilon = 0.1 WHERE id = 1", "limits"),
        ("DELETE FROM peerveil_charge WHERE id = 3", "chain"),
        ("DELETE FROM peerveil_charge WHERE id = (SELECT max(id) FROM peerveil_charge)", "chain"),
    ):
        where = new_database(postgres_server[0])
        filled(where)
        with psycopg.connect(where, autocommit=True) as connection:
            connection.execute(change.encode())
        assert topic in {problem.topic for problem in Ledger(where).check().problems}


@pytest.mark.promise("P-LEDGER-13")
def test_a_budget_that_is_overspent_is_found(whole: Path, tmp_path: Path) -> None:
    file = Path(shutil.copy(whole, tmp_path / "ledger.db"))
    tamper(file, ("UPDATE peerveil_budget SET epsilon = 0.5 WHERE id = 1", ()))
    found = Ledger(str(file)).check()
    assert "is overspent: 0.875 of 0.5" in "; ".join(p.words for p in found.problems if p.topic == "limits")
    tamper(file, ("UPDATE peerveil_charge SET epsilon = NULL WHERE budget = 1", ()))
    found = Ledger(str(file)).check()
    assert "charged for what it does not take" in "; ".join(p.words for p in found.problems if p.topic == "limits")


# --- statements -----------------------------------------------------------------------------------------------------


@pytest.mark.promise("P-FACTS-1")
def test_a_release_that_fixes_more_is_refused_until_that_is_declared(place: str) -> None:
    ledger = opened(place, epsilon=3.0)
    charge(ledger, 0.5, statement=HIDDEN)
    with pytest.raises(pv.BudgetError) as error:
        charge(ledger, 0.5, statement=ALL)
    assert "all scores are public (before: no score is public)" in str(error.value)
    assert "peerveil ledger state" in str(error.value)
    assert "--dataset conf --public all" in str(error.value)
    assert "nothing was charged" in str(error.value)
    tracks = pv.Statement(public="none", scale=(1, 10), invariants=("kept loads of 'theory'",))
    with pytest.raises(pv.BudgetError, match="kept loads of 'theory'"):
        charge(ledger, 0.5, statement=tracks)
    with pytest.raises(pv.BudgetError, match=r"the scale 0 to 20 \(before: 1 to 10\)"):
        charge(ledger, 0.5, statement=pv.Statement(public="none", scale=(0, 20)))
    assert ledger.accounts()[0].spent == 0.5
    assert len(ledger.history()) == len(ledger.statements()) == 1
    ledger.state("conf", tracks)
    ledger.state("conf", tracks)  # once
    charge(ledger, 0.5, statement=tracks)
    charge(ledger, 0.5, statement=HIDDEN)
    with pytest.raises(pv.BudgetError, match="all scores are public"):
        charge(ledger, 0.5, statement=ALL)
    stated = Ledger(place).statements("conf")
    assert [(one.declared, one.statement) for one in stated] == [(False, HIDDEN), (True, tracks)]
    assert [entry.statement for entry in ledger.history()] == [HIDDEN, tracks, HIDDEN]
    assert ledger.check().ok


@pytest.mark.promise("P-FACTS-2")
def test_a_release_that_fixes_less_is_charged_as_it_is(place: str) -> None:
    ledger = opened(place, epsilon=3.0)
    charge(ledger, 0.5, statement=ALL)
    charge(ledger, 0.5, statement=HIDDEN)
    charge(ledger, 0.5, statement=pv.Statement(public="record", record="sha256:1", scale=(1, 10)))
    assert [one.statement for one in ledger.statements()] == [ALL]
    assert ledger.accounts()[0].spent == 1.5


def test_another_score_column_is_recorded(place: str) -> None:
    ledger = opened(place, epsilon=3.0)
    rating, confidence = replace(HIDDEN, score="rating"), replace(HIDDEN, score="confidence", scale=(0, 1))
    charge(ledger, 0.5, statement=rating)
    charge(ledger, 0.5, statement=confidence)
    assert [one.statement for one in ledger.statements("conf")] == [rating, confidence]
    with pytest.raises(pv.BudgetError, match="all scores are public"):
        charge(ledger, 0.5, statement=replace(ALL, score="another"))


def test_charges_without_a_statement_are_remarked_on(place: str) -> None:
    ledger = opened(place, epsilon=3.0)
    made = ledger.charge("conf", lambda _: pure(0.5), quantity="ratings", unit="reviewer", mechanism=LAPLACE)
    assert "cannot tell whether its claim adds up" in " ".join(made.remarks)
    assert ledger.history()[0].statement is None
    assert ledger.statements() == []
    charge(ledger, 0.5)
    assert [one.statement for one in ledger.statements()] == [ALL]


def test_releases_state_what_is_public(tmp_path: Path) -> None:
    where = str(tmp_path / "ledger.db")
    ledger = opened(where, epsilon=30.0)
    reviews = replace(REVIEWS, scale=(1.0, 10.0))
    laplace = pv.Laplace(epsilon=0.5)
    pv.release(reviews, public="none", mechanism=laplace, ledger=where, region="baseline")
    with pytest.raises(pv.BudgetError, match="all scores are public"):
        pv.release(reviews, public="all", mechanism=laplace, ledger=where, region="baseline")
    record = pv.PublicRecord.from_rows([[3, 5], [4, None], [8, 6]], papers=[*"pqr"], load=2, scale=(1, 10))
    with pytest.raises(pv.BudgetError, match="public are the scores of the record sha256:"):
        pv.release(reviews, public=record, mechanism=laplace, ledger=where, region="baseline")
    assert ledger.accounts()[0].spent == 0.5
    assert ledger.history()[0].statement == HIDDEN


# --- reconciliation -------------------------------------------------------------------------------------------------


@pytest.fixture
def book(tmp_path: Path) -> str:
    where = str(tmp_path / "ledger.db")
    opened(where, epsilon=30.0)
    return where


def made(book: str, **options: Any) -> pv.Release:
    """A release with the number of its charge."""
    chosen: dict[str, Any] = {"public": "all", "mechanism": pv.Laplace(epsilon=0.5), "region": "baseline", **options}
    release: pv.Release = pv.release(REVIEWS, ledger=book, **chosen)
    return replace(release, charge=Ledger(book).history()[-1].release)


def saved(release: pv.Release, folder: Path) -> Path:
    return release.save(folder, report=False)


def words(book: str, *folders: Path, problem: bool = True) -> list[str]:
    findings = Ledger(book).check(folders).findings
    assert all(finding.topic == "releases" for finding in findings)
    return [finding.words for finding in findings if finding.problem == problem]


def test_releases_that_were_charged_are_in_order(book: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    kinds: list[dict[str, Any]] = [
        {},
        {"mechanism": pv.Histogram(epsilon=0.5)},
        {"quantity": "miscalibration", "unit": "review"},
    ]
    for number, options in enumerate(kinds):
        saved(made(book, **options), out / "deep" / str(number))
    shutil.copytree(out / "deep" / "0", out / "copy")
    (out / ".peerveil-unfinished").mkdir()
    (out / ".peerveil-unfinished" / "release.json").write_text("half")
    found = Ledger(book).check([out])
    assert found.findings == ()
    assert (found.releases, found.charges) == (4, 3)
    assert Ledger(book).check([out / "copy", out / "deep", out / "copy" / "release.json"]).releases == 4


def test_gaussian_releases_and_groups_are_in_order(tmp_path: Path) -> None:
    where = str(tmp_path / "ledger.db")
    opened(where, rho=30.0)
    releases = tracks(where)
    number = Ledger(where).history()[-1].release
    for name, release in releases.items():
        saved(replace(release, charge=number), tmp_path / "groups" / name)
    saved(made(where, mechanism=pv.Gaussian(rho=0.05)), tmp_path / "gaussian")
    assert Ledger(where).check([tmp_path]).findings == ()
    release = releases["theory"]
    assert release.group is not None
    saved(replace(release, charge=number, group=replace(release.group, name="third")), tmp_path / "groups" / "third")
    (problem,) = Ledger(where).check([tmp_path]).problems
    assert "more releases are under charge" in problem.words


def tracks(where: str) -> dict[str, pv.Release]:
    groups = {"p": "theory", "q": "theory", "r": "systems"}
    with pytest.warns(pv.GroupWarning):
        made = pv.release_groups(
            REVIEWS, groups, public="all", mechanism=pv.Laplace(epsilon=0.5), ledger=where, region="baseline"
        )
    return dict(made.releases)


def test_tracks_whose_loads_are_declared_do_not_follow_the_whole_unless_that_is_stated(book: str) -> None:
    made(book)
    with pytest.raises(pv.BudgetError, match="how many reviewers have which load among the 4 reviews") as error:
        tracks(book)
    assert len(Ledger(book).history()) == 1
    command = shlex.split(str(error.value).split("`")[1])
    facts = [fact for option, fact in itertools.pairwise(command) if option == "--invariant"]
    Ledger(book).state("conf", pv.Statement(public="all", invariants=tuple(facts)))
    tracks(book)
    made(book)  # the whole fixes less
    assert Ledger(book).check().ok


@pytest.mark.promise("P-LEDGER-13")
def test_a_restored_ledger_lacks_what_was_charged_after_the_backup(book: str, tmp_path: Path, run: Run) -> None:
    out, backup = tmp_path / "out", tmp_path / "backup.db"
    saved(made(book), out / "one")
    shutil.copy(book, backup)
    later = made(book)
    saved(later, out / "two")
    head = Ledger(book).check().head
    assert Ledger(book).check([out], head=head).findings == ()
    shutil.copy(backup, book)
    assert Ledger(book).check().ok  # the ledger alone cannot know
    (missing,) = words(book, out)
    assert f"its charge {later.charge} is not in the ledger" in missing
    assert "older copy" in missing
    (lacking,) = Ledger(book).check(head=head).problems
    assert "does not have this hash" in lacking.words
    shown = run("ledger", "check", book, str(out))
    assert shown.code == 1
    assert f"its charge {later.charge} is not in the ledger" in shown.out
    assert "1 problem." in shown.out
    told = run("ledger", "check", book, str(out), "--json")
    assert told.code == 1
    assert json.loads(told.out)["ok"] is False
    assert run("ledger", "check", book).code == 0
    assert run("ledger", "check", book, "--head", head).code == 1
    assert run("ledger", "check", book, str(tmp_path / "nowhere")).code == 2


def test_a_charge_without_a_release_is_told_and_is_no_problem(book: str, tmp_path: Path) -> None:
    saved(made(book), tmp_path / "out")
    lost = made(book)
    assert words(book, tmp_path) == []
    (told,) = words(book, tmp_path, problem=False)
    assert f"charge {lost.charge}" in told
    assert "perhaps it was not published" in told


def differing(release: pv.Release) -> Iterator[tuple[pv.Release, str]]:
    yield replace(release, quantity="miscalibration"), "quantity 'miscalibration', charged 'ratings'"
    yield (
        replace(release, guarantee=Guarantee(kind="pure", unit="review", epsilon=0.5)),
        "unit review, charged reviewer",
    )
    yield replace(release, guarantee=pure(0.25)), "claim epsilon = 0.25"
    yield replace(release, guarantee=pure(0.75)), "claim epsilon = 0.75"
    zcdp = Guarantee(kind="zcdp", unit="reviewer", rho=0.125)
    yield replace(release, guarantee=zcdp), "claim rho = 0.125"
    yield replace(release, mechanism={**release.mechanism, "scale": 1.5}), "mechanism laplace, scale 1.5"


@pytest.mark.promise("P-PLATFORM-18")
def test_a_release_that_is_not_what_was_charged_is_found(book: str, tmp_path: Path) -> None:
    release = made(book)
    for number, (forged, message) in enumerate(differing(release)):
        folder = saved(forged, tmp_path / str(number))
        (told,) = words(book, folder)
        assert message in told
        assert f"is not what charge {release.charge} paid for" in told


@pytest.mark.promise("P-PLATFORM-17")
def test_two_draws_of_noise_under_one_charge_are_found(book: str, tmp_path: Path) -> None:
    release = made(book)
    second = pv.release(REVIEWS, public="all", mechanism=pv.Laplace(epsilon=0.5), region="baseline")
    saved(release, tmp_path / "out" / "one")
    saved(replace(second, charge=release.charge), tmp_path / "out" / "two")
    (told,) = words(book, tmp_path / "out")
    assert "another noisy vector" in told
    # Refining the same noise anew is free.
    shutil.rmtree(tmp_path / "out" / "two")
    saved(replace(release, values=release.values.copy(), estimator="projection"), tmp_path / "out" / "again")
    assert words(book, tmp_path / "out") == []


def test_releases_without_a_number_are_told(book: str, tmp_path: Path) -> None:
    saved(pv.release(REVIEWS, public="all", mechanism=pv.Laplace(epsilon=0.5), region="baseline"), tmp_path / "new")
    earlier = next(path for path in sorted((V1 / "releases").rglob("release.json")))
    old, new = words(book, earlier, tmp_path / "new", problem=False)
    assert {old, new} == {
        "no charge number (written by 0.1.0), so it cannot be compared",
        "no charge number: it was released without a ledger",
    }


def test_releases_that_cannot_be_read_are_problems(book: str, tmp_path: Path) -> None:
    file = saved(made(book), tmp_path / "out") / "release.json"
    text = file.read_text()
    file.write_text(text.replace('"licence": null', '"licence": "CC0-1.0"'))
    assert words(book, tmp_path / "out") == ["was changed after it was written: its digest does not fit"]
    file.write_text("{")
    (told,) = words(book, tmp_path / "out")
    assert "cannot be read" in told


def test_the_command_line_fits_80_columns(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "r.csv").write_text("paper,reviewer,score\np,ann,3\np,bob,5\nq,bob,4\nq,cem,4\nr,cem,8\nr,ann,6\n")
    assert run("ledger", "open", "l.db", "--dataset", "conf2026", "--epsilon", "30", "--delta", "1e-6").code == 0
    assert run("ledger", "open", "l.db", "--dataset", "other", "--rho", "2").code == 0
    release = ["release", "r.csv", "--mechanism", "laplace", "--epsilon", "0.7", "--ledger", "l.db"]
    release += ["--dataset", "conf2026", "--no-report"]
    assert run(*release, "--public", "none", "--score-scale", "1,10", "-o", "o1").code == 0
    refused = run(*release, "--public", "all", "-o", "o2")
    assert refused.code == 1
    assert "peerveil ledger state l.db --dataset conf2026 --public all`" in refused.err
    declared = run("ledger", "state", "l.db", "--dataset", "conf2026", "--public", "all")
    assert declared.code == 0
    assert "all scores are public" in declared.out
    assert run(*release, "--public", "all", "-o", "o2").code == 0
    shown, history = run("ledger", "show", "l.db").out, run("ledger", "history", "l.db").out
    for text in (shown, history):
        assert max(map(len, text.splitlines())) <= 80
    assert "epsilon 30, delta 1e-06" in shown
    assert "stated 20" in shown
    assert "declared 20" in shown
    entries = json.loads(run("ledger", "history", "l.db", "--json").out)
    for entry in entries:
        (line,) = [line for line in history.splitlines() if entry["release"] in line]
        assert line.startswith(entry["charged"].replace("T", " ").replace("Z", " UTC"))
        assert "epsilon 0.7" in line
    assert history.count("    conf2026, reviewer: ratings, laplace") == len(entries)
    assert entries[1]["statement"]["public"] == "all"
    (account, _) = json.loads(run("ledger", "show", "l.db", "--json").out)
    assert [one["declared"] for one in account["statements"]] == [False, True]
    bad = run("ledger", "state", "l.db", "--dataset", "conf2026", "--public", "some")
    assert bad.code == 2
