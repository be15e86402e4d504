"""Checks of a ledger: its rows, its hash chain, its limits, and its charges for published releases."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, get_args

import sqlalchemy as sa

from peerveil.errors import BudgetError, LedgerError
from peerveil.privacy.budget import TOLERANCE
from peerveil.privacy.guarantee import upward
from peerveil.private.ledger.accounts import Account, Entry, account_of, entry_of, row_name
from peerveil.private.ledger.chain import START, entry_hash
from peerveil.private.ledger.reconciling import find_releases, reconcile
from peerveil.private.ledger.series import Series, cost_of, series_of
from peerveil.private.ledger.tables import ABOUT, BUDGETS, CHARGES, ENTRIES, MEMBERS, SERIES, faults
from peerveil.releases.checking.results import Check, unchecked

#: The topics of a check, in order.
Topic = Literal["rows", "chain", "limits", "releases"]
TOPICS: tuple[Topic, ...] = get_args(Topic)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A finding of a check.

    Attributes:
        topic: ``"rows"``, ``"chain"``, ``"limits"`` or ``"releases"``.
        problem: whether it is a problem; otherwise it is a remark.
        about: the number of a charge, the name of a data set, or the path of a release.
        words: the finding in words.
    """

    topic: Topic
    problem: bool
    about: str
    words: str


@dataclass(frozen=True, kw_only=True)
class LedgerCheck:
    """Result of checking a ledger.

    Attributes:
        entries: number of entries on the chain: budgets, charges, statements, series and their members.
        charges: number of releases that were charged.
        head: the last hash of the chain. Keep it elsewhere: a later check can tell whether the ledger still has it.
        releases: number of releases in the folders; ``None`` if no folder was given.
        findings: problems and remarks.
    """

    entries: int
    charges: int
    head: str
    releases: int | None
    findings: tuple[Finding, ...]

    @property
    def problems(self) -> tuple[Finding, ...]:
        """The findings that are problems."""
        return tuple(finding for finding in self.findings if finding.problem)

    @property
    def ok(self) -> bool:
        """Whether there are no problems."""
        return not self.problems

    def __bool__(self) -> bool:
        return self.ok

    @property
    def checks(self) -> tuple[Check, ...]:
        """One verdict per topic."""
        return tuple(self._check(topic) for topic in TOPICS)

    def _check(self, topic: Topic) -> Check:
        if topic == "releases" and self.releases is None:
            return unchecked(topic, "no folder of releases was given")
        number = sum(finding.topic == topic for finding in self.problems)
        if number:
            return Check(name=topic, result="fails", found=f"{number} problem{'s' if number > 1 else ''}")
        found = {
            "rows": "every row is one that Peerveil writes",
            "chain": f"{self.entries} entries, none changed, removed or moved",
            "limits": "no budget is overspent",
            "releases": f"{self.releases} found, {self.charges} charged, {len(self.findings)} remarks",
        }
        return Check(name=topic, result="holds", found=found[topic])


class Rows:
    """All rows of a ledger, read in one snapshot."""

    def __init__(self, connection: sa.Connection) -> None:
        if connection.dialect.name == "postgresql":
            connection.execute(sa.text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
        self.entries, self.head = connection.execute(sa.select(ABOUT.c.entries, ABOUT.c.head)).one()
        self.tables: dict[sa.Table, Sequence[Any]] = {
            table: connection.execute(sa.select(table).order_by(table.c.id)).all() for table in ENTRIES
        }

    def __iter__(self) -> Iterator[tuple[sa.Table, Any]]:
        return ((table, row) for table, rows in self.tables.items() for row in rows)


def check_rows(rows: Rows, folders: Sequence[str | os.PathLike[str]], *, head: str | None) -> LedgerCheck:
    """The result of checking the rows of a ledger and folders of releases."""
    paths = find_releases(folders)  # raises first if a folder is missing
    numbers = frozenset(str(row.release) for row in rows.tables[CHARGES])
    findings = [*_faults(rows), *_chain(rows, head), *_limits(rows)]
    if folders:
        findings += [
            Finding(topic="releases", problem=problem, about=about, words=words)
            for problem, about, words in reconcile(list(_entries(rows)), numbers, paths, list(_series(rows)))
        ]
    return LedgerCheck(
        entries=sum(map(len, rows.tables.values())),
        charges=len(numbers),
        head=str(rows.head),
        releases=len(paths) if folders else None,
        findings=tuple(findings),
    )


def _entries(rows: Rows) -> Iterator[Entry]:
    """The charges with valid rows."""
    budgets = {row.id: row for row in rows.tables[BUDGETS] if not faults(BUDGETS, row._mapping)}
    for row in rows.tables[CHARGES]:
        if row.budget in budgets:
            with suppress(LedgerError):
                yield entry_of(row, budgets[row.budget].dataset, budgets[row.budget].unit)


def _faults(rows: Rows) -> Iterator[Finding]:
    """Findings on rows that break the constraints."""
    budgets = {row.id for row in rows.tables[BUDGETS]}
    counted = {row.dataset for row in rows.tables[BUDGETS] if row.unit == "reviewer"}
    series = {row.series for row in rows.tables[SERIES]}
    for table, row in rows:
        for fault in faults(table, row._mapping):
            yield _about(table, row, "rows", f"has {fault}")
        if table is CHARGES and row.budget not in budgets:
            yield _about(table, row, "rows", "belongs to a budget that is not there")
        if table is MEMBERS and not (row.series in series and row.dataset in counted):
            yield _about(table, row, "rows", "belongs to a series or a budget that is not there")


def _about(table: sa.Table, row: Any, topic: Topic, words: str) -> Finding:
    about = str(getattr(row, {CHARGES: "release", SERIES: "series"}.get(table, "dataset")))
    return Finding(topic=topic, problem=True, about=about, words=f"{row_name(table, row)} {words}")


def _chain(rows: Rows, head: str | None) -> Iterator[Finding]:
    """Findings on entries that do not match their hash or the previous one, and on gaps."""
    chained = [(row.position, table, row) for table, row in rows if isinstance(row.position, int)]
    before, last, hashes = START, 0, {START}
    for position, table, row in sorted(chained, key=lambda entry: entry[0]):
        if position != last + 1:
            missing = f"entries {last + 1} to {position - 1} are" if position > last + 2 else f"entry {last + 1} is"
            words = f"{missing} missing" if position > last + 1 else f"there are two entries {position}"
            yield _broken(f"entry {position}", f"{words}; an entry was removed or moved")
        elif entry_hash(before, table, row._mapping) != row.hash:
            yield _about(table, row, "chain", f"(entry {position}) was changed, or the entry before it was")
        before, last = str(row.hash), position
        hashes.add(before)
    for table, row in rows:
        if not isinstance(row.position, int):
            yield _about(table, row, "chain", "has no place on the chain")
    if rows.entries != last or rows.head != before:
        words = f"the ledger was last written with {rows.entries} entries, and {last} are there or the last one differs"
        yield _broken(f"entry {last}", f"{words}; the newest entries were removed or changed")
    if head is not None and head not in hashes:
        yield _broken(f"head {head}", "the ledger does not have this hash; it is an older copy, or another ledger")


def _broken(about: str, words: str) -> Finding:
    return Finding(topic="chain", problem=True, about=about, words=words)


def _limits(rows: Rows) -> Iterator[Finding]:
    """Findings on budgets and series that are overspent."""
    by_budget: dict[int, list[Any]] = defaultdict(list)
    for charge in rows.tables[CHARGES]:
        by_budget[charge.budget].append(charge)
    for row in rows.tables[BUDGETS]:
        charges = by_budget[row.id]
        if faults(BUDGETS, row._mapping) or any(faults(CHARGES, charge._mapping) for charge in charges):
            continue  # the amount spent is not known
        yield from _within(BUDGETS, row, account_of(row, charges))
    for row, series in zip(rows.tables[SERIES], _series(rows), strict=False):
        yield from _within(SERIES, row, series)


def _series(rows: Rows) -> Iterator[Series]:
    """The series; none if a row is not valid, as then it is not known what a person has spent."""
    if any(faults(table, row._mapping) for table, row in rows):
        return
    budgets = {row.id: row.dataset for row in rows.tables[BUDGETS] if row.unit == "reviewer"}
    costs = [cost_of(row, budgets[row.budget]) for row in rows.tables[CHARGES] if row.budget in budgets]
    for row in rows.tables[SERIES]:
        yield series_of(row, rows.tables[MEMBERS], costs)


def _within(table: sa.Table, row: Any, account: Account | Series) -> Iterator[Finding]:
    """A finding if a budget or a series is overspent."""
    limit = account.budget.limit
    try:
        if not account.spent <= limit * (1 + TOLERANCE):
            yield _about(table, row, "limits", f"is overspent: {upward(account.spent)} of {limit:.6g}")
    except BudgetError as error:
        yield _about(table, row, "limits", f"was charged for what it does not take: {error}")
    except (ArithmeticError, ValueError):  # of rows that were edited by hand
        yield _about(table, row, "limits", "has charges that cannot be added up")
