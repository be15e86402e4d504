"""The ledger: what was promised for each data set, and what has been spent of it.

A budget belongs to a declared data set name and a unit. A release charges every budget of its data set before its noise
is drawn: a crash can waste budget, never overspend it. Entries are only ever added.

Amounts are stored as claims (epsilon, rho, omega), and added up by the budget's own rule each time.
"""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from peerveil.budget import TOLERANCE, Budget, Spend
from peerveil.errors import BudgetError, InputError, LedgerError
from peerveil.guarantee import Guarantee, Unit, check_unit, downward
from peerveil.mechanisms import Gaussian, Mechanism
from peerveil.private.database import engine, ledger_url, lock_all, shown, transaction, translated
from peerveil.private.fingerprint import Fingerprint
from peerveil.version import software

_SCHEMA = 1
_METADATA = sa.MetaData()
_ABOUT = sa.Table("peerveil_ledger", _METADATA, sa.Column("schema_version", sa.Integer, primary_key=True))
_BUDGETS = sa.Table(
    "peerveil_budget",
    _METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("dataset", sa.Text, nullable=False),
    sa.Column("unit", sa.Text, nullable=False),
    sa.Column("epsilon", sa.Double, nullable=False),
    sa.Column("delta", sa.Double, nullable=False),
    sa.Column("rho", sa.Double),
    sa.Column("omega", sa.Double),
    sa.Column("order", sa.Double),
    sa.Column("opened", sa.Text, nullable=False),
    sa.UniqueConstraint("dataset", "unit"),
)
_CHARGES = sa.Table(
    "peerveil_charge",
    _METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("budget", sa.Integer, sa.ForeignKey("peerveil_budget.id"), nullable=False, index=True),
    sa.Column("release", sa.Text, nullable=False),
    sa.Column("charged", sa.Text, nullable=False),
    sa.Column("epsilon", sa.Double),
    sa.Column("rho", sa.Double, nullable=False),
    sa.Column("omega", sa.Double),
    sa.Column("quantity", sa.Text, nullable=False),
    sa.Column("unit", sa.Text, nullable=False),
    sa.Column("mechanism", sa.Text, nullable=False),
    sa.Column("software", sa.Text, nullable=False),
    sa.Column("key", sa.Text),
    sa.Column("digest", sa.Text),
    sa.UniqueConstraint("budget", "release"),
)


@dataclass(frozen=True, kw_only=True)
class Account:
    """A budget, and what has been spent of it.

    Attributes:
        dataset: the declared name of the data set.
        unit: what one protected thing is.
        budget: the limit.
        spends: what each release cost.
    """

    dataset: str
    unit: Unit
    budget: Budget
    spends: tuple[Spend, ...]

    @property
    def spent(self) -> float:
        """What has been spent, in epsilon or in rho."""
        return self.budget.total(self.spends)

    @property
    def left(self) -> float:
        """What is left, in epsilon or in rho."""
        left = self.budget.limit - self.spent
        return left if left > self.budget.limit * TOLERANCE else 0.0  # less is round-off

    def check(self, spend: Spend) -> None:
        """Refuse a release that the budget does not admit or cannot pay."""
        currency, limit = self.budget.currency, self.budget.limit
        if reason := self.budget.refuse(spend, self.spends):
            raise BudgetError(
                f"the release does not fit the budget of {self.dataset!r} ({self.unit}): {reason}; nothing was released"
            )
        after = self.budget.total([*self.spends, spend])
        if not after <= limit * (1 + TOLERANCE):
            raise BudgetError(
                f"the release costs {currency} {after - self.spent:.6g}, and of the budget of {self.dataset!r} "
                f"({self.unit}) {downward(self.left)} of {limit:.6g} is left; nothing was released"
            )


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A charge in the ledger's history."""

    dataset: str
    unit: Unit
    release: str
    charged: str
    spend: Spend
    quantity: str
    released_unit: str
    mechanism: dict[str, Any]
    software: str


class Ledger:
    """A ledger in an SQLite file, or in a PostgreSQL database by its address.

    >>> import tempfile
    >>> from peerveil.guarantee import Guarantee
    >>> from peerveil.mechanisms import Laplace
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger.create(f"{folder.name}/ledger.db")
    >>> account = ledger.open("conf2026", "reviewer", epsilon=1.0)
    >>> claim = Guarantee(kind="pure", unit="reviewer", epsilon=0.75)
    >>> charge = ledger.charge("conf2026", lambda unit: claim, quantity="ratings", unit="reviewer",
    ...                        mechanism=Laplace(scale=4.0))
    >>> ledger.accounts()[0].left
    0.25
    >>> ledger.charge("conf2026", lambda unit: claim, quantity="ratings", unit="reviewer",
    ...               mechanism=Laplace(scale=4.0))
    Traceback (most recent call last):
    peerveil.errors.BudgetError: the release costs epsilon 0.75, and of the budget of 'conf2026' (reviewer) 0.25 of 1 is
    left; nothing was released
    >>> folder.cleanup()
    """

    def __init__(self, place: str) -> None:
        url = ledger_url(place)
        self.name = shown(url)
        if url.get_backend_name() == "sqlite" and not Path(url.database or "").is_file():
            raise LedgerError(f"there is no ledger at {self.name}; make one with `peerveil ledger open`")
        self._engine = engine(url)
        with self._using() as connection:
            if not sa.inspect(connection).has_table(_ABOUT.name):
                raise LedgerError(f"{self.name} holds no ledger; make one with `peerveil ledger open`")
            found = connection.execute(sa.select(_ABOUT.c.schema_version)).scalars().all()
        if found != [_SCHEMA]:
            raise LedgerError(f"the ledger at {self.name} is of another version; use the Peerveil that wrote it")

    @classmethod
    def create(cls, place: str) -> Ledger:
        """The ledger at a place, made if there is none."""
        url = ledger_url(place)
        database = engine(url)
        with translated(shown(url)), transaction(database, write=True) as connection:
            lock_all(connection)
            if not sa.inspect(connection).has_table(_ABOUT.name):
                _METADATA.create_all(connection)
                connection.execute(_ABOUT.insert().values(schema_version=_SCHEMA))
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

        ``omega`` admits truncated concentrated releases down to that order. A budget, once opened, cannot be changed:
        what was promised stays promised. One for a second unit must be opened before the first release, or it would
        not count what is already out.
        """
        budget = Budget.of(epsilon=epsilon, delta=delta, rho=rho, omega=omega)
        dataset = check_dataset(dataset)
        row = asdict(budget) | {"dataset": dataset, "unit": check_unit(unit), "omega": _finite(budget.omega)}
        with self._using(write=True) as connection:
            lock_all(connection)
            same = (_BUDGETS.c.dataset == dataset) & (_BUDGETS.c.unit == unit)
            if connection.execute(sa.select(_BUDGETS.c.id).where(same)).first():
                raise BudgetError(
                    f"{dataset!r} has a budget for the unit {unit} already; a budget cannot be changed, as that would "
                    "change what was promised"
                )
            if any(account.spends for _, account in _accounts(connection, dataset)):
                raise BudgetError(
                    f"{dataset!r} has releases already, which a new budget would not count; open the budgets of both "
                    "units before the first release"
                )
            connection.execute(_BUDGETS.insert().values(**row, opened=_now()))
        return next(account for account in self.accounts(dataset) if account.unit == unit)

    def accounts(self, dataset: str | None = None) -> list[Account]:
        """Every budget with what has been spent of it, of one data set or of all."""
        with self._using() as connection:
            return [account for _, account in _accounts(connection, dataset)]

    def history(self, dataset: str | None = None) -> list[Entry]:
        """Every charge, the oldest first, of one data set or of all."""
        query = sa.select(_CHARGES, _BUDGETS.c.dataset, _BUDGETS.c.unit.label("owner")).join_from(
            _CHARGES, _BUDGETS, _CHARGES.c.budget == _BUDGETS.c.id
        )
        if dataset is not None:
            query = query.where(_BUDGETS.c.dataset == dataset)
        with self._using() as connection:
            rows = connection.execute(query.order_by(_CHARGES.c.id)).all()
        return [
            Entry(
                dataset=row.dataset,
                unit=check_unit(row.owner),
                release=row.release,
                charged=row.charged,
                spend=_spend(row),
                quantity=row.quantity,
                released_unit=row.unit,
                mechanism=json.loads(row.mechanism),
                software=row.software,
            )
            for row in rows
        ]

    def dataset(self, name: str | None) -> str:
        """The data set to charge: the one named, or the only one there is."""
        column = _BUDGETS.c.dataset
        with self._using() as connection:
            if name is not None:
                name = check_dataset(name)
                if connection.execute(sa.select(column).where(column == name)).first():
                    return name
            known = connection.execute(sa.select(column).distinct().order_by(column).limit(6)).scalars().all()
        if name is None and len(known) == 1:
            return str(known[0])
        what = "a data set must be named (dataset=)" if name is None else f"{name!r} has no budget"
        listed = ", ".join(map(repr, known[:5])) + (", …" if len(known) > 5 else "") or "none"
        raise InputError(f"{what}; the ledger at {self.name} has budgets for: {listed}")

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
    ) -> Charge:
        """Charge a release to every budget of a data set, or to none.

        Args:
            dataset: the declared name.
            claim_for: the release's claim for a unit, computed from its noise.
            quantity: what is released.
            unit: the unit that the release states.
            mechanism: the mechanism, with its noise.
            fingerprint: of the private data, to notice that it changed.
            release: the number of the release, where it has one before it is charged; it is charged once only.

        Raises:
            BudgetError: if a budget would be overspent, the claim does not fit it, or the release was charged before;
                then nothing is charged.
        """
        release = new_release_number() if release is None else release
        with self._using(write=True) as connection:
            found = _accounts(connection, dataset, lock=True)
            if not found:
                raise InputError(f"{dataset!r} has no budget in the ledger at {self.name}")
            keys = [key for key, _ in found]
            if connection.execute(sa.select(_CHARGES.c.id).where(_CHARGES.c.release == release)).first():
                raise BudgetError(f"release {release} was charged before, and is charged once only")
            changed = fingerprint is not None and _changed(connection, keys, fingerprint)
            others = () if fingerprint is None else _other_names(connection, keys, fingerprint)
            for key, account in found:
                claim = claim_for(account.unit)
                if claim.unit != account.unit:
                    raise BudgetError(f"a claim for a {claim.unit} cannot be charged to a budget for a {account.unit}")
                spend = Spend.of(claim)
                account.check(spend)
                connection.execute(
                    _CHARGES.insert().values(
                        budget=key,
                        release=release,
                        charged=_now(),
                        epsilon=spend.epsilon,
                        rho=spend.rho,
                        omega=_finite(spend.omega),
                        quantity=quantity,
                        unit=unit,
                        mechanism=json.dumps(mechanism.describe()),
                        software=software(),
                        key=fingerprint.key if fingerprint else None,
                        digest=fingerprint.digest if fingerprint else None,
                    )
                )
        return Charge(release=release, dataset=dataset, data_changed=changed, also_as=others)

    def charged(self, release: str) -> bool:
        """Whether a release was charged."""
        with self._using() as connection:
            return connection.execute(sa.select(_CHARGES.c.id).where(_CHARGES.c.release == release)).first() is not None

    @contextmanager
    def _using(self, *, write: bool = False) -> Iterator[sa.Connection]:
        """A connection in one transaction, committed at the end; what the database complains of is a LedgerError."""
        with translated(self.name), transaction(self._engine, write=write) as connection:
            yield connection


@dataclass(frozen=True, kw_only=True)
class Charge:
    """A charge that was made.

    Attributes:
        release: the number under which the history has it.
        dataset: the data set that was charged.
        data_changed: whether the private data differs from that of the last release under this name.
        also_as: other names under which the same data was released.
    """

    release: str
    dataset: str
    data_changed: bool
    also_as: tuple[str, ...] = ()

    @property
    def remarks(self) -> tuple[str, ...]:
        """What whoever releases should know."""
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
        return tuple(remarks)


def _accounts(connection: sa.Connection, dataset: str | None, *, lock: bool = False) -> list[tuple[int, Account]]:
    query = sa.select(_BUDGETS).order_by(_BUDGETS.c.id)
    if dataset is not None:
        query = query.where(_BUDGETS.c.dataset == dataset)
    budgets = connection.execute(query.with_for_update() if lock else query).all()
    keys = [budget.id for budget in budgets]
    spends: dict[int, list[Spend]] = {key: [] for key in keys}
    charges = sa.select(_CHARGES).where(_CHARGES.c.budget.in_(keys)).order_by(_CHARGES.c.id)
    for charge in connection.execute(charges):
        spends[charge.budget].append(_spend(charge))
    return [
        (
            row.id,
            Account(
                dataset=row.dataset,
                unit=check_unit(row.unit),
                budget=Budget(
                    epsilon=row.epsilon, delta=row.delta, rho=row.rho, omega=_or_infinite(row.omega), order=row.order
                ),
                spends=tuple(spends[row.id]),
            ),
        )
        for row in budgets
    ]


def _spend(row: Any) -> Spend:
    normal = row.epsilon is None and row.omega is None and json.loads(row.mechanism).get("name") == Gaussian.name
    return Spend(epsilon=row.epsilon, rho=row.rho, omega=_or_infinite(row.omega), gaussian=normal)


def _finite(number: float) -> float | None:
    return None if math.isinf(number) else number


def _or_infinite(number: float | None) -> float:
    return math.inf if number is None else number


def _changed(connection: sa.Connection, keys: list[int], new: Fingerprint) -> bool:
    """Whether the last release that was charged with the same key had other data."""
    last = connection.execute(
        sa.select(_CHARGES.c.digest)
        .where(_CHARGES.c.budget.in_(keys), _CHARGES.c.key == new.key)
        .order_by(_CHARGES.c.id.desc())
        .limit(1)
    ).scalar()
    return last is not None and last != new.digest


def _other_names(connection: sa.Connection, keys: list[int], new: Fingerprint) -> tuple[str, ...]:
    """Other data sets' names under which the same data was charged, with the same key."""
    query = (
        sa.select(_BUDGETS.c.dataset)
        .join_from(_CHARGES, _BUDGETS, _CHARGES.c.budget == _BUDGETS.c.id)
        .where(_CHARGES.c.digest == new.digest, _CHARGES.c.key == new.key, _CHARGES.c.budget.not_in(keys))
    )
    return tuple(sorted(set(connection.execute(query).scalars())))


def new_release_number() -> str:
    """A number that no other release has."""
    return secrets.token_hex(8)


def check_dataset(name: str) -> str:
    """The name of a data set, without spaces around it.

    >>> check_dataset(" conf2026 ")
    'conf2026'
    """
    if not name.strip() or not name.strip().isprintable() or len(name) > 200:
        raise InputError(f"dataset must be a name of 1 to 200 printable characters, got {name!r}")
    return name.strip()


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
