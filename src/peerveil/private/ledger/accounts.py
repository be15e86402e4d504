"""Accounts, charges and statements of a ledger, read from its rows."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from peerveil.errors import Argument, BudgetError, InputError, LedgerError, Part, Phrase
from peerveil.mechanisms import kind_of
from peerveil.privacy.budget import TOLERANCE, Budget, Spend
from peerveil.privacy.guarantee import Unit, check_unit, downward
from peerveil.privacy.stated_facts import Statement
from peerveil.private.ledger.tables import BUDGETS, CHARGES, ENTRIES, MEMBERS, SERIES, STATEMENTS, faults

#: The remedy for a row that no version of Peerveil writes.
REMEDY: tuple[Part, ...] = (
    ". Peerveil does not write such a row: restore the ledger from a backup, then compare it with your releases by ",
    Phrase("ledger_check", "`peerveil ledger check LEDGER FOLDER`"),
    "; nothing was released",
)


@dataclass(frozen=True, kw_only=True)
class Account:
    """A budget and its charges.

    Attributes:
        dataset: the declared name of the data set.
        unit: the unit of protection.
        budget: the limit.
        spends: the cost of each release.
    """

    dataset: str
    unit: Unit
    budget: Budget
    spends: tuple[Spend, ...]

    @property
    def spent(self) -> float:
        """The amount spent, in epsilon or rho."""
        return self.budget.total(self.spends)

    @property
    def left(self) -> float:
        """The amount left, in epsilon or rho."""
        return room(self.budget, self.spends)

    def check(self, spend: Spend) -> None:
        """Raise ``BudgetError`` if the budget does not admit a release or has too little left."""
        admit(self.budget, self.spends, spend, f"the budget of {self.dataset!r} ({self.unit})")

    def quote(self, spend: Spend) -> Quote:
        """Return the cost of a release; raises as :meth:`check` if the budget does not suffice."""
        self.check(spend)
        after = replace(self, spends=(*self.spends, spend))
        return Quote(
            dataset=self.dataset,
            unit=self.unit,
            currency=self.budget.currency,
            cost=after.spent - self.spent,
            left=self.left,
            after=after.left,
        )


@dataclass(frozen=True, kw_only=True)
class Quote:
    """The cost of a release to a budget, before it is charged.

    Attributes:
        dataset: the data set, or the series of a budget per person.
        unit: the unit of the budget.
        currency: epsilon or rho.
        cost: what would be charged.
        left: what is left now.
        after: what would be left.
    """

    dataset: str
    unit: Unit
    currency: str
    cost: float
    left: float
    after: float


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A charge in the ledger's history.

    Attributes:
        dataset: the data set that was charged.
        unit: the unit of the budget that was charged.
        release: the number of the charge.
        charged: time of the charge, in UTC.
        spend: the cost.
        quantity: the quantity that was released.
        released_unit: the unit that the release states.
        mechanism: the mechanism, with its noise.
        software: the software that made the charge.
        statement: the statement about the data set; ``None`` if unknown.
    """

    dataset: str
    unit: Unit
    release: str
    charged: str
    spend: Spend
    quantity: str
    released_unit: str
    mechanism: dict[str, Any]
    software: str
    statement: Statement | None = None


@dataclass(frozen=True, kw_only=True)
class Stated:
    """A statement about a data set in the ledger.

    Attributes:
        dataset: the data set.
        stated: time of the statement, in UTC.
        declared: whether it was declared for the data set; otherwise it came with a charge.
        statement: the statement.
    """

    dataset: str
    stated: str
    declared: bool
    statement: Statement


@dataclass(frozen=True, kw_only=True)
class Charge:
    """Result of charging a release.

    Attributes:
        release: the number of the charge.
        dataset: the data set that was charged.
        data_changed: whether the private data differs from that of the last release under this name.
        also_as: other names under which the same data was released.
        notes: further remarks.
    """

    release: str
    dataset: str
    data_changed: bool
    also_as: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks for the user who makes the release."""
        remarks = []
        if self.data_changed:
            remarks.append(
                f"the reviews differ from those last released as {self.dataset!r}; if they are of another conference, "
                "they were charged to the wrong budget"
            )
        if self.also_as:
            remarks.append(
                f"the same reviews were released as {', '.join(map(repr, self.also_as))} before; both budgets are "
                "spent on the same reviewers, and neither counts the other's"
            )
        return (*remarks, *self.notes)


def room(budget: Budget, spends: Sequence[Spend]) -> float:
    """The amount of a budget that is left, in epsilon or rho."""
    left = budget.limit - budget.total(spends)
    return left if left > budget.limit * TOLERANCE else 0.0  # less is round-off


def admit(budget: Budget, spends: Sequence[Spend], spend: Spend, name: str) -> None:
    """Raise ``BudgetError`` if a budget, named in messages, does not admit a release or has too little left."""
    if reason := budget.refuse(spend, spends):
        raise BudgetError(f"the release does not fit {name}: {reason}; nothing was released")
    before, after = (budget.total(all_of) for all_of in (spends, [*spends, spend]))
    if not after <= budget.limit * (1 + TOLERANCE):
        left = room(budget, spends)
        remedy: tuple[Part, ...] = (". A smaller ", Argument("epsilon"), " may fit") if left else (". It is used up",)
        raise BudgetError(
            f"the release costs {budget.currency} {after - before:.6g}, and of {name} "
            f"{downward(left)} of {budget.limit:.6g} is left; nothing was released",
            *remedy,
        )


def read_accounts(connection: sa.Connection, dataset: str | None) -> list[tuple[int, Account]]:
    """The accounts of a data set, or of all, with the ids of their budgets."""
    query = sa.select(BUDGETS).order_by(BUDGETS.c.id)
    if dataset is not None:
        query = query.where(BUDGETS.c.dataset == dataset)
    budgets = connection.execute(query).all()
    charges: dict[int, list[Any]] = {budget.id: [] for budget in budgets}
    for charge in connection.execute(sa.select(CHARGES).where(CHARGES.c.budget.in_(charges)).order_by(CHARGES.c.id)):
        check_row(CHARGES, charge)
        charges[charge.budget].append(charge)
    return [(row.id, account_of(row, charges[row.id])) for row in budgets]


def account_of(row: Any, charges: Sequence[Any]) -> Account:
    """The account of the row of a budget and the rows of its charges."""
    check_row(BUDGETS, row)
    spends = tuple(spend_of(charge) for charge in charges)
    return Account(dataset=row.dataset, unit=check_unit(row.unit), budget=budget_of(row), spends=spends)


def budget_of(row: Any) -> Budget:
    """The limit in a row of a budget or a series."""
    return Budget(epsilon=row.epsilon, delta=row.delta, rho=row.rho, omega=_or_infinite(row.omega), order=row.order)


def read_history(connection: sa.Connection, dataset: str | None) -> list[Entry]:
    """The charges of a data set, or of all, oldest first."""
    query = sa.select(CHARGES, BUDGETS.c.dataset, BUDGETS.c.unit.label("owner")).join_from(
        CHARGES, BUDGETS, CHARGES.c.budget == BUDGETS.c.id
    )
    if dataset is not None:
        query = query.where(BUDGETS.c.dataset == dataset)
    return [entry_of(row, row.dataset, row.owner) for row in connection.execute(query.order_by(CHARGES.c.id))]


def entry_of(row: Any, dataset: str, unit: str) -> Entry:
    """The entry of a charge's row, with the data set and the unit of its budget."""
    check_row(CHARGES, row)
    return Entry(
        dataset=dataset,
        unit=check_unit(unit),
        release=row.release,
        charged=row.charged,
        spend=spend_of(row),
        quantity=row.quantity,
        released_unit=row.unit,
        mechanism=json.loads(row.mechanism),
        software=row.software,
        statement=_statement(CHARGES, row) if row.statement.startswith("{") else None,
    )


def read_statements(connection: sa.Connection, dataset: str | None) -> list[Stated]:
    """The statements of a data set, or of all, oldest first."""
    query = sa.select(STATEMENTS).order_by(STATEMENTS.c.id)
    if dataset is not None:
        query = query.where(STATEMENTS.c.dataset == dataset)
    rows = connection.execute(query).all()
    for row in rows:
        check_row(STATEMENTS, row)
    return [
        Stated(
            dataset=row.dataset, stated=row.stated, declared=bool(row.declared), statement=_statement(STATEMENTS, row)
        )
        for row in rows
    ]


def check_row(table: sa.Table, row: Any) -> None:
    """Raise ``LedgerError`` if a row breaks the constraints."""
    if wrong := faults(table, row._mapping):
        raise LedgerError(f"{row_name(table, row)} in the ledger has {wrong[0]}", *REMEDY)


def row_name(table: sa.Table, row: Any) -> str:
    """The name of a row in messages."""
    if table is CHARGES:
        return f"charge {row.release}"
    if table is SERIES:
        return f"the series {row.series!r}"
    which = {BUDGETS: " ({0.unit})", MEMBERS: " in the series {0.series!r}"}.get(table, "")
    return f"the {ENTRIES[table]} of {row.dataset!r}{which.format(row)}"


def spend_of(row: Any) -> Spend:
    """The cost of a charge, from its row."""
    kind = kind_of(json.loads(row.mechanism).get("name"))
    gaussian = row.epsilon is None and row.omega is None and kind is not None and kind.claims == "gdp"
    return Spend(epsilon=row.epsilon, rho=row.rho, omega=_or_infinite(row.omega), gaussian=gaussian)


def finite_or_none(number: float) -> float | None:
    """A number as stored in a row, where infinity is NULL."""
    return None if math.isinf(number) else number


def _or_infinite(number: float | None) -> float:
    return math.inf if number is None else number


def _statement(table: sa.Table, row: Any) -> Statement:
    try:
        return Statement.from_document(json.loads(row.statement))
    except InputError as error:
        name = row_name(table, row)
        raise LedgerError(f"{name} in the ledger has a statement that is not valid: {error}", *REMEDY) from None


def any_charge(connection: sa.Connection, *conditions: sa.ColumnElement[bool]) -> bool:
    """Return whether a charge meets some conditions."""
    return connection.execute(sa.select(CHARGES.c.id).where(*conditions)).first() is not None
