"""The ledger: budgets, charges and declared statements."""

from __future__ import annotations

import json
import os
import secrets
import shlex
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import sqlalchemy as sa

from peerveil.errors import Argument, BudgetError, InputError, LedgerError
from peerveil.mechanisms import Mechanism
from peerveil.privacy.budget import Budget, Spend
from peerveil.privacy.guarantee import Guarantee, Unit, check_unit
from peerveil.privacy.stated_facts import Statement, additional, unheard
from peerveil.private.fingerprint import Fingerprint
from peerveil.private.ledger.accounts import (
    Account,
    Charge,
    Entry,
    Quote,
    Stated,
    finite_or_none,
    read_accounts,
    read_history,
    read_statements,
)
from peerveil.private.ledger.chain import Chain
from peerveil.private.ledger.checking import LedgerCheck, Rows, check_rows
from peerveil.private.ledger.database import engine, ledger_url, lock_all, shown, transaction
from peerveil.private.ledger.migration import OLD, make_tables, migrate
from peerveil.private.ledger.tables import ABOUT, BUDGETS, CHARGES, SCHEMA, STATEMENTS, UNKNOWN
from peerveil.support.version import software


class Ledger:
    """A ledger in an SQLite file, or in a PostgreSQL database by its address.

    A ledger of version 0.1.0 is migrated when it is opened, after a backup beside it.

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
    left; nothing was released
    >>> ledger.check().ok
    True
    >>> folder.cleanup()
    """

    def __init__(self, place: str) -> None:
        url = ledger_url(place)
        self.name = shown(url)
        self.remarks: tuple[str, ...] = ()
        if url.get_backend_name() == "sqlite" and not Path(url.database or "").is_file():
            raise LedgerError(f"there is no ledger at {self.name}; make one with `peerveil ledger open`")
        self._using = partial(transaction, engine(url))
        versions = self._versions()
        if versions == [OLD]:
            with self._using(write=True) as connection:
                backup = migrate(connection, self.name)
            if backup:
                self.remarks = (
                    f"the ledger at {self.name} was written by 0.1.0 and has been migrated; its backup: {backup}",
                )
            versions = self._versions()
        if versions != [SCHEMA]:
            raise LedgerError(f"the ledger at {self.name} is of another version; use the Peerveil that wrote it")

    def _versions(self) -> list[int]:
        with self._using() as connection:
            if not sa.inspect(connection).has_table(ABOUT.name):
                raise LedgerError(f"{self.name} holds no ledger; make one with `peerveil ledger open`")
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
        row = asdict(budget) | {"dataset": dataset, "unit": check_unit(unit), "omega": finite_or_none(budget.omega)}
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
            chain.add(BUDGETS, **row, opened=_now())
        return next(account for account in self.accounts(dataset) if account.unit == unit)

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
        budgets = f"; the ledger at {self.name} has budgets for: {listed}"
        if name is None:
            raise InputError("a data set must be named (", Argument("dataset", ...), ")", budgets)
        raise InputError(f"{name!r} has no budget", budgets)

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

        Raises:
            BudgetError: if a budget would be overspent, the claim does not fit it, the release was charged before, or
                its statement fixes more than those of earlier releases of the data set; then nothing is charged.
        """
        release = new_release_number() if release is None else release
        with self._using(write=True) as connection:
            chain = Chain(connection)
            accounts = read_accounts(connection, dataset)
            if not accounts:
                raise InputError(f"{dataset!r} has no budget in the ledger at {self.name}")
            keys = [key for key, _ in accounts]
            if _exists(connection, CHARGES.c.release == release):
                raise BudgetError(f"release {release} was charged before, and is charged once only")
            changed, others = (False, ()) if fingerprint is None else _compared(connection, keys, fingerprint)
            spends = [(key, _checked_spend(account, claim_for)) for key, account in accounts]
            notes = self._state(connection, chain, dataset, statement, keys)
            for key, spend in spends:
                chain.add(
                    CHARGES,
                    budget=key,
                    release=release,
                    charged=_now(),
                    epsilon=spend.epsilon,
                    rho=spend.rho,
                    omega=finite_or_none(spend.omega),
                    quantity=quantity,
                    unit=check_unit(unit),
                    mechanism=json.dumps(mechanism.describe()),
                    software=software(),
                    **(asdict(fingerprint) if fingerprint else {"key": None, "digest": None}),
                    statement=UNKNOWN if statement is None else _text(statement),
                )
        notes = (*self.remarks, *notes)
        return Charge(release=release, dataset=dataset, data_changed=changed, also_as=others, notes=notes)

    def quote(self, dataset: str, claim_for: Callable[[Unit], Guarantee], *, statement: Statement) -> tuple[Quote, ...]:
        """The cost of a release to every budget of a data set, without charging it; arguments as in :meth:`charge`.

        Raises:
            BudgetError: if the release could not be charged.
        """
        with self._using() as connection:
            accounts = [account for _, account in read_accounts(connection, dataset)]
            quotes = tuple(account.quote(_checked_spend(account, claim_for)) for account in accounts)
            self._stated(connection, dataset, statement)
        return quotes

    def _stated(self, connection: sa.Connection, dataset: str, statement: Statement) -> list[Statement]:
        """The statements of a data set; refuses one that fixes more."""
        stated = [earlier.statement for earlier in read_statements(connection, dataset)]
        if more := additional(statement, stated):
            raise BudgetError(
                f"the release fixes more than was stated for the releases of {dataset!r} so far: {'; '.join(more)}. "
                "Their claims would no longer hold together. State the same as before; or, if this was public all "
                f"along, declare it once for the data set: {_command(self.name, dataset, statement)}; nothing was "
                "charged"
            )
        return stated

    def _state(
        self, connection: sa.Connection, chain: Chain, dataset: str, statement: Statement | None, keys: list[int]
    ) -> tuple[str, ...]:
        """Compare the statement of a release with those of its data set, and add it if it is new; returns remarks."""
        if statement is None:
            remark = (
                f"what is public was not stated to the ledger for this release of {dataset!r}, so the "
                "ledger cannot tell whether its claim adds up with those of the other releases"
            )
            return (remark,)
        stated = self._stated(connection, dataset, statement)
        if unheard(statement, stated):
            chain.add(STATEMENTS, dataset=dataset, stated=_now(), declared=0, statement=_text(statement))
        if stated or not _exists(connection, CHARGES.c.budget.in_(keys), CHARGES.c.statement.startswith(UNKNOWN)):
            return ()
        remark = (
            f"what was stated for earlier releases of {dataset!r} is not known to the ledger; their claims add up with "
            f"this one's only if no more was stated than now: {statement.describe()}"
        )
        return (remark,)

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
                chain.add(STATEMENTS, dataset=dataset, stated=_now(), declared=1, statement=_text(statement))
            return read_statements(connection, dataset)

    def charged(self, release: str) -> bool:
        """Whether a release was charged."""
        with self._using() as connection:
            return _exists(connection, CHARGES.c.release == release)

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


def _checked_spend(account: Account, claim_for: Callable[[Unit], Guarantee]) -> Spend:
    """The cost of a release, checked against an account."""
    claim = claim_for(account.unit)
    if claim.unit != account.unit:
        raise BudgetError(f"a claim for a {claim.unit} cannot be charged to a budget for a {account.unit}")
    spend = Spend.of(claim)
    account.check(spend)
    return spend


def _command(place: str, dataset: str, statement: Statement) -> str:
    """The command that declares a statement for a data set."""
    words = ["peerveil", "ledger", "state", place, "--dataset", dataset, "--public", statement.public]
    if statement.record:
        words += ["--record", statement.record]
    if statement.scale is not None:
        words += ["--score-scale", ",".join(f"{end!r}".removesuffix(".0") for end in statement.scale)]
    if statement.score:
        words += ["--score", statement.score]
    for fact in statement.invariants:
        words += ["--invariant", fact]
    return f"`{shlex.join(words)}`"


def _text(statement: Statement) -> str:
    return json.dumps(statement.to_document(), sort_keys=True)


def _exists(connection: sa.Connection, *conditions: sa.ColumnElement[bool]) -> bool:
    """Whether a charge meets some conditions."""
    return connection.execute(sa.select(CHARGES.c.id).where(*conditions)).first() is not None


def _compared(connection: sa.Connection, keys: list[int], new: Fingerprint) -> tuple[bool, tuple[str, ...]]:
    """Whether the last charge with the same key was for other data, and other data sets charged for this data."""
    query = (
        sa.select(CHARGES.c.digest, CHARGES.c.budget, BUDGETS.c.dataset)
        .join_from(CHARGES, BUDGETS, CHARGES.c.budget == BUDGETS.c.id)
        .where(CHARGES.c.key == new.key)
        .order_by(CHARGES.c.id)
    )
    charges = connection.execute(query).all()
    own = [charge.digest for charge in charges if charge.budget in keys]
    others = {charge.dataset for charge in charges if charge.digest == new.digest and charge.budget not in keys}
    return bool(own) and own[-1] not in (None, new.digest), tuple(sorted(others))


def new_release_number() -> str:
    """A random number for a new release."""
    return secrets.token_hex(8)


def check_dataset(name: str) -> str:
    """The stripped name of a data set; raises if it is not valid.

    >>> check_dataset(" conf2026 ")
    'conf2026'
    """
    if not name.strip() or not name.strip().isprintable() or len(name) > 200:
        raise InputError(Argument("dataset"), f" must be a name of 1 to 200 printable characters, got {name!r}")
    return name.strip()


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
