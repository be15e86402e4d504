"""The ledger: budgets, charges and declared statements."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from peerveil.errors import Argument, BudgetError, InputError, LedgerError, Phrase
from peerveil.mechanisms import Mechanism
from peerveil.privacy.budget import Budget, Spend
from peerveil.privacy.guarantee import Guarantee, Unit, check_unit
from peerveil.privacy.series_claims import SeriesClaim
from peerveil.privacy.stated_facts import Statement, additional, unheard
from peerveil.private.fingerprint import Fingerprint
from peerveil.private.ledger.accounts import (
    Account,
    Charge,
    Entry,
    Quote,
    Stated,
    any_charge,
    finite_or_none,
    read_accounts,
    read_history,
    read_statements,
)
from peerveil.private.ledger.chain import Chain, now
from peerveil.private.ledger.checking import LedgerCheck, Rows, check_rows
from peerveil.private.ledger.database import engine, ledger_at, ledger_url, lock_all, shown, transaction
from peerveil.private.ledger.migration import OLDER, make_tables, migrate
from peerveil.private.ledger.series import Member, Series, check_joining, read_series
from peerveil.private.ledger.statements import add_statement, check_statement, text_of
from peerveil.private.ledger.tables import ABOUT, BUDGETS, CHARGES, MEMBERS, SCHEMA, SERIES, STATEMENTS, UNKNOWN
from peerveil.record.committees import Committee, read_committee
from peerveil.support.version import software
from peerveil.tables.opening import Readable

# How to open a budget, whose ledger is created if there is none.
_OPEN = "`peerveil ledger open {} --dataset NAME --epsilon TOTAL`"


@dataclass(frozen=True, kw_only=True)
class Charged:
    """A data set to charge for a release.

    Attributes:
        dataset: its declared name.
        fingerprint: the fingerprint of the private data, to detect changes.
        statement: the statement about the data set, such as which scores are public.
        committee: a list on which all reviewers are, to compare with that of the data set in a series.
    """

    dataset: str
    fingerprint: Fingerprint | None = None
    statement: Statement | None = None
    committee: Committee | None = None


class Ledger:
    """A ledger in an SQLite file, or in a PostgreSQL database by its address.

    A ledger of an earlier version is migrated when it is opened, after a backup beside it.

    Attributes:
        name: the address of the ledger, without user and password.
        remarks: remarks for the user who opened it.

    >>> import tempfile
    >>> from peerveil.privacy.guarantee import Guarantee
    >>> from peerveil.mechanisms import Laplace
    >>> from peerveil.privacy.stated_facts import Statement
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger.create(f"{folder.name}/ledger.db")
    >>> account = ledger.open("conf2026", "reviewer", epsilon=1.0)
    >>> claim = Guarantee(kind="pure", unit="reviewer", epsilon=0.75)
    >>> charge = ledger.charge("conf2026", lambda unit: claim, quantity="ratings", unit="reviewer",
    ...                        mechanism=Laplace(scale=4.0), statement=Statement(public="all"))
    >>> ledger.accounts()[0].left
    0.25
    >>> ledger.charge("conf2026", lambda unit: claim, quantity="ratings", unit="reviewer",
    ...               mechanism=Laplace(scale=4.0), statement=Statement(public="all"))
    Traceback (most recent call last):
    peerveil.errors.BudgetError: the release costs epsilon 0.75, and of the budget of 'conf2026' (reviewer) 0.25 of 1 is
    left; nothing was released. A smaller epsilon may fit
    >>> ledger.check().ok
    True
    >>> folder.cleanup()
    """

    def __init__(self, place: str) -> None:
        url = ledger_url(place)
        self.name = shown(url)
        self.remarks: tuple[str, ...] = ()
        if url.get_backend_name() == "sqlite" and not Path(url.database or "").is_file():
            raise LedgerError(
                Phrase("no_ledger", f"there is no ledger at {self.name}; make one with {_OPEN.format(self.name)}")
            )
        self._using = partial(transaction, engine(url))
        versions = self._versions()
        if len(versions) == 1 and versions[0] in OLDER:
            with self._using(write=True) as connection:
                backup = migrate(connection, self.name)
            if backup:
                writer = OLDER[versions[0]]
                self.remarks = (
                    f"the ledger at {self.name} was written by {writer} and has been migrated; its backup: {backup}",
                )
            versions = self._versions()
        if versions != [SCHEMA]:
            raise LedgerError(ledger_at(self.name), " is of another version; use the Peerveil that wrote it")

    def _versions(self) -> list[int]:
        with self._using() as connection:
            if not sa.inspect(connection).has_table(ABOUT.name):
                raise LedgerError(
                    Phrase("holds_no_ledger", f"{self.name} holds no ledger; make one with {_OPEN.format(self.name)}")
                )
            return list(connection.execute(sa.select(ABOUT.c.schema_version)).scalars())

    @classmethod
    def create(cls, place: str) -> Ledger:
        """The ledger at a place, created if there is none."""
        with transaction(engine(ledger_url(place)), write=True) as connection:
            lock_all(connection)
            if not sa.inspect(connection).has_table(ABOUT.name):
                make_tables(connection)
        return cls(place)

    def open(
        self,
        dataset: str,
        unit: str = "reviewer",
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        rho: float | None = None,
        omega: float | None = None,
    ) -> Account:
        """Open a budget for a data set: ``epsilon`` (pure), ``epsilon`` with ``delta``, or ``rho``.

        ``omega`` admits truncated concentrated releases down to that order. A budget cannot be changed after it was
        opened. The budget of a second unit must be opened before the first release, which it would not count otherwise.
        """
        budget = Budget.of(epsilon=epsilon, delta=delta, rho=rho, omega=omega)
        dataset = check_dataset(dataset)
        row = _limits(budget) | {"dataset": dataset, "unit": check_unit(unit)}
        with self._using(write=True) as connection:
            chain = Chain(connection)
            same = (BUDGETS.c.dataset == dataset) & (BUDGETS.c.unit == unit)
            if connection.execute(sa.select(BUDGETS.c.id).where(same)).first():
                raise BudgetError(
                    f"{dataset!r} has a budget for the unit {unit} already; a budget cannot be changed, as that would "
                    "change what was promised"
                )
            if any(account.spends for _, account in read_accounts(connection, dataset)):
                raise BudgetError(
                    f"{dataset!r} has releases already, which a new budget would not count; open the budgets of both "
                    "units before the first release"
                )
            chain.add(BUDGETS, **row, opened=now())
        return next(account for account in self.accounts(dataset) if account.unit == unit)

    def open_series(
        self,
        name: str,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        rho: float | None = None,
        omega: float | None = None,
    ) -> Series:
        """Open a series: a budget for what the releases of several data sets cost a person; limits as in :meth:`open`.

        A series cannot be changed after it was opened; data sets join it with :meth:`join`.
        """
        budget = Budget.of(epsilon=epsilon, delta=delta, rho=rho, omega=omega)
        name = check_dataset(name, "series")
        with self._using(write=True) as connection:
            chain = Chain(connection)
            if read_series(connection, name=name):
                raise BudgetError(
                    f"there is a series {name!r} already; a series cannot be changed, as that would change what was "
                    "promised"
                )
            chain.add(SERIES, **_limits(budget), series=name, opened=now())
        return self.series(name)[0]

    def join(self, series: str, dataset: str, committee: Committee | Readable | None = None) -> Series:
        """Make a data set a member of a series, which then counts all its releases, earlier ones included.

        Args:
            series: the name of the series.
            dataset: the data set; it must have a budget for the unit reviewer.
            committee: everyone who may review for it, or the file of a list of them that is public and complete: a text
                file (.txt) with one id per line, or a table. Without one its releases count for everyone. A second list
                of a member adds people to the first: nothing that was counted is taken back.

        Raises:
            BudgetError: if its releases so far do not fit the series, or what was counted would be taken back.
        """
        dataset = self.dataset(dataset)
        people = None
        if committee is not None:
            people = (committee if isinstance(committee, Committee) else read_committee(committee)).people
        with self._using(write=True) as connection:
            chain = Chain(connection)
            joined = self._series(connection, series)
            before = next((member for member in joined.members if member.dataset == dataset), None)
            if before is None:
                check_joining(connection, joined, Member(dataset, chain.entries + 1, people), place=self.name)
            elif people is None or before.people is None:
                raise BudgetError(
                    f"{dataset!r} is in the series {series!r} already, where its releases count for "
                    + ("everyone; a list" if before.people is None else "those on its list; leaving the list out")
                    + " would change what was promised"
                )
            if before is None or (before.people is not None and not (people or frozenset()) <= before.people):
                listed = None if people is None else json.dumps(sorted(people))
                chain.add(MEMBERS, series=series, dataset=dataset, joined=now(), people=listed)
            return self._series(connection, series)

    def _series(self, connection: sa.Connection, name: str) -> Series:
        for series in read_series(connection, name=name):
            return series
        known = ", ".join(repr(series.name) for series in read_series(connection)[:5]) or "none"
        raise InputError(f"there is no series {name!r}; ", ledger_at(self.name), f" has: {known}")

    def series(self, name: str | None = None, *, dataset: str | None = None) -> list[Series]:
        """The series of a name, those with a data set as member, or all."""
        with self._using() as connection:
            return read_series(connection, dataset=dataset) if name is None else [self._series(connection, name)]

    def series_claims(self, release: str) -> tuple[SeriesClaim, ...]:
        """What the series that count a release promise, as of its charge."""
        charged = CHARGES.c.release == release
        query = sa.select(CHARGES.c.position, BUDGETS.c.dataset).join_from(CHARGES, BUDGETS).where(charged)
        with self._using() as connection:
            rows = connection.execute(query).all()
            position = max((row.position for row in rows), default=0)
            found = {one.name: one for row in rows for one in read_series(connection, dataset=row.dataset)}
        claims = (series.claim(position) for series in found.values())
        return tuple(claim for claim in claims if claim is not None)

    def accounts(self, dataset: str | None = None) -> list[Account]:
        """The budgets of a data set, or of all, with their charges."""
        with self._using() as connection:
            return [account for _, account in read_accounts(connection, dataset)]

    def history(self, dataset: str | None = None) -> list[Entry]:
        """The charges of a data set, or of all, oldest first."""
        with self._using() as connection:
            return read_history(connection, dataset)

    def statements(self, dataset: str | None = None) -> list[Stated]:
        """The statements of a data set, or of all: of first charges, of further score columns, and declared ones."""
        with self._using() as connection:
            return read_statements(connection, dataset)

    def dataset(self, name: str | None) -> str:
        """The name of the data set to charge: the named one, or the only one in the ledger."""
        column = BUDGETS.c.dataset
        with self._using() as connection:
            if name is not None:
                name = check_dataset(name)
                if connection.execute(sa.select(column).where(column == name)).first():
                    return name
            known = connection.execute(sa.select(column).distinct().order_by(column).limit(6)).scalars().all()
        if name is None and len(known) == 1:
            return str(known[0])
        listed = ", ".join(map(repr, known[:5])) + (", …" if len(known) > 5 else "") or "none"
        budgets = ("; ", ledger_at(self.name), f" has budgets for: {listed}")
        if name is None:
            raise InputError("a data set must be named (", Argument("dataset", ...), ")", *budgets)
        raise InputError(f"{name!r} has no budget", *budgets)

    def charge(
        self,
        dataset: str,
        claim_for: Callable[[Unit], Guarantee],
        *,
        quantity: str,
        unit: str,
        mechanism: Mechanism,
        fingerprint: Fingerprint | None = None,
        release: str | None = None,
        statement: Statement | None = None,
        committee: Committee | None = None,
    ) -> Charge:
        """Charge a release to every budget of a data set, or to none.

        Args:
            dataset: the declared name of the data set.
            claim_for: returns the claim of the release for a unit, computed from its noise.
            quantity: the quantity that is released.
            unit: the unit that the release states.
            mechanism: the mechanism, with its noise.
            fingerprint: the fingerprint of the private data, to detect changes.
            release: the number of the release, a new one by default; each number is charged once only.
            statement: the statement about the data set, such as which scores are public. Without one the ledger cannot
                tell whether the claims of all releases add up, and adds a remark.
            committee: a list on which all reviewers are, to compare with that of the data set in a series. Without one
                the ledger cannot tell whether the series counts for all reviewers, and adds a remark.

        Raises:
            BudgetError: if a budget or a series would be overspent, the claim does not fit it, the release was charged
                before, or its statement fixes more than those of earlier releases of the data set; then nothing is
                charged.
        """
        data = Charged(dataset=dataset, fingerprint=fingerprint, statement=statement, committee=committee)
        how: dict[str, Any] = {"quantity": quantity, "unit": unit, "mechanism": mechanism, "release": release}
        return self.charge_all([data], claim_for, **how)[0]

    def charge_all(
        self,
        several: Sequence[Charged],
        claim_for: Callable[[Unit], Guarantee],
        *,
        quantity: str,
        unit: str,
        mechanism: Mechanism,
        release: str | None = None,
    ) -> list[Charge]:
        """Charge a release of several data sets to every budget of each of them, or to none; see :meth:`charge`."""
        release = new_release_number() if release is None else release
        if len({data.dataset for data in several}) < len(several):
            raise InputError("a release of several data sets must be charged to different ones")
        charges = []
        with self._using(write=True) as connection:
            chain = Chain(connection)
            if any_charge(connection, CHARGES.c.release == release):
                raise BudgetError(f"release {release} was charged before, and is charged once only")
            for data in several:
                accounts = read_accounts(connection, data.dataset)
                if not accounts:
                    raise InputError(f"{data.dataset!r} has no budget in ", ledger_at(self.name))
                keys = [key for key, _ in accounts]
                seen = (False, ()) if data.fingerprint is None else _compared(connection, keys, data.fingerprint)
                spends = [(key, _checked_spend(account, claim_for)) for key, account in accounts]
                claim = claim_for("reviewer")
                safe = claim.float_safe and mechanism.float_safe
                compared = self._counted(connection, data, Spend.of(claim), release, others=seen[1], float_safe=safe)
                notes = add_statement(chain, self.name, data.dataset, data.statement, budgets=keys)
                for key, spend in spends:
                    chain.add(
                        CHARGES,
                        budget=key,
                        release=release,
                        charged=now(),
                        epsilon=spend.epsilon,
                        rho=spend.rho,
                        omega=finite_or_none(spend.omega),
                        quantity=quantity,
                        unit=check_unit(unit),
                        mechanism=json.dumps(mechanism.describe()),
                        software=software(),
                        **(asdict(data.fingerprint) if data.fingerprint else {"key": None, "digest": None}),
                        statement=UNKNOWN if data.statement is None else text_of(data.statement),
                    )
                charges.append(
                    Charge(
                        release=release,
                        dataset=data.dataset,
                        data_changed=seen[0],
                        also_as=seen[1],
                        notes=(*self.remarks, *notes, *compared),
                    )
                )
        return charges

    def _counted(
        self,
        connection: sa.Connection,
        data: Charged,
        cost: Spend,
        release: str,
        *,
        others: Sequence[str],
        float_safe: bool,
    ) -> list[str]:
        """Check that a release fits the series of its data set, and return remarks for the chair.

        ``others`` are names under which the same reviews were charged.
        """
        remarks: list[str] = []
        for series in read_series(connection, dataset=data.dataset):
            series.check_exact(float_safe=float_safe)
            series.check(data.dataset, cost, release)
            remarks += series.compared(data.dataset, data.committee)
        return remarks + [
            f"the series {series.name!r} counts the same reviews as {other!r}, but not as {data.dataset!r}: let "
            f"{data.dataset!r} join it, or the promise of the series does not cover this release"
            for other in others
            for series in read_series(connection, dataset=other)
            if not series.counts(data.dataset)
        ]

    def quote(self, dataset: str, claim_for: Callable[[Unit], Guarantee], *, statement: Statement) -> tuple[Quote, ...]:
        """The cost of a release to every budget and series of a data set; arguments as in :meth:`charge`.

        Raises:
            BudgetError: if the release could not be charged.
        """
        with self._using() as connection:
            accounts = [account for _, account in read_accounts(connection, dataset)]
            quotes = [account.quote(_checked_spend(account, claim_for)) for account in accounts]
            claim = claim_for("reviewer")
            quotes += [
                one.quote(dataset, Spend.of(claim), float_safe=claim.float_safe)
                for one in read_series(connection, dataset=dataset)
            ]
            check_statement(connection, self.name, dataset, statement)
        return tuple(quotes)

    def state(self, dataset: str, statement: Statement) -> list[Stated]:
        """Declare public facts about a data set beyond those of its releases; returns all its statements.

        From then on releases may state them, and the claims of all releases together are about neighbours that share
        these facts as well. A declaration is recorded on the chain and cannot be withdrawn.
        """
        dataset = self.dataset(dataset)
        with self._using(write=True) as connection:
            chain = Chain(connection)
            stated = [earlier.statement for earlier in read_statements(connection, dataset)]
            if additional(statement, stated) or unheard(statement, stated):
                chain.add(STATEMENTS, dataset=dataset, stated=now(), declared=1, statement=text_of(statement))
            return read_statements(connection, dataset)

    def charged(self, release: str) -> bool:
        """Whether a release was charged."""
        with self._using() as connection:
            return any_charge(connection, CHARGES.c.release == release)

    def check(self, folders: Sequence[str | os.PathLike[str]] = (), *, head: str | None = None) -> LedgerCheck:
        """Findings on the ledger's rows, hash chain and limits, and on the releases in some folders.

        Args:
            folders: folders that hold releases, at any depth. A release without a charge in the ledger shows that an
                older copy of the ledger was restored.
            head: the last hash of an earlier check, which the chain must still contain.
        """
        with self._using() as connection:
            rows = Rows(connection)
        return check_rows(rows, folders, head=head)


def _limits(budget: Budget) -> dict[str, Any]:
    """A limit as the columns of a row."""
    return asdict(budget) | {"omega": finite_or_none(budget.omega)}


def _checked_spend(account: Account, claim_for: Callable[[Unit], Guarantee]) -> Spend:
    """The cost of a release, checked against an account."""
    claim = claim_for(account.unit)
    if claim.unit != account.unit:
        raise BudgetError(f"a claim for a {claim.unit} cannot be charged to a budget for a {account.unit}")
    spend = Spend.of(claim)
    account.check(spend)
    return spend


def _compared(connection: sa.Connection, keys: list[int], new: Fingerprint) -> tuple[bool, tuple[str, ...]]:
    """Whether the last charge with the same key was for other data, and other data sets charged for this data."""
    own = CHARGES.c.budget.in_(keys)
    same_key = CHARGES.c.key == new.key
    query = sa.select(CHARGES.c.digest).where(same_key, own).order_by(CHARGES.c.id.desc()).limit(1)
    last = connection.execute(query).scalar()
    others = (
        sa.select(BUDGETS.c.dataset)
        .join_from(CHARGES, BUDGETS, CHARGES.c.budget == BUDGETS.c.id)
        .where(same_key, CHARGES.c.digest == new.digest, ~own)
        .distinct()
    )
    return last not in (None, new.digest), tuple(sorted(connection.execute(others).scalars()))


def new_release_number() -> str:
    """A random number for a new release."""
    return secrets.token_hex(8)


def check_dataset(name: str, what: str = "dataset") -> str:
    """The stripped name of a data set, or of a series; raises if it is not valid.

    >>> check_dataset(" conf2026 ")
    'conf2026'
    """
    if not name.strip() or not name.strip().isprintable() or len(name) > 200:
        raise InputError(Argument(what), f" must be a name of 1 to 200 printable characters, got {name!r}")
    return name.strip()
