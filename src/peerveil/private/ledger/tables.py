"""Tables of a ledger (schema 3) and the constraints on their rows.

Each row of a budget, a charge, a statement, a series or its members is an entry of the hash chain: ``position`` is its
place and ``hash`` its hash (see ``chain``). The single row of ``peerveil_ledger`` holds the number of entries and the
last hash.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from peerveil.privacy.guarantee import UNITS

SCHEMA = 3

#: Stored instead of a charge's statement where that is not known.
UNKNOWN = "unknown"
UNKNOWN_BEFORE = "unknown (written by 0.1.0)"

#: The largest limit of a budget, and the largest amount of a charge, so that sums of charges do not overflow.
_LIMIT, _AMOUNT = 1e308, 1e150

#: The hash of a person on a list.
_HASH = re.compile(r"[0-9a-f]{16}")

METADATA = sa.MetaData()


@dataclass(frozen=True)
class _Column:
    """A column, with its constraint as a test, in words, and in SQL with ``{}`` for its name."""

    kind: type[sa.types.TypeEngine[Any]]
    test: Callable[[Any], bool] = lambda _: True
    words: str = ""
    check: str = ""
    null: bool = False

    def holds(self, value: Any) -> bool:
        return not self.words or (self.null if value is None else bool(self.test(value)))

    def constraint(self, name: str) -> sa.CheckConstraint:
        check = self.check.format(f'"{name}"')
        return sa.CheckConstraint(f'"{name}" IS NULL OR ({check})' if self.null else check)


def _at_least_zero(most: float = _AMOUNT, *, null: bool = False) -> _Column:
    return _Column(
        sa.Double,
        lambda value: isinstance(value, float) and 0 <= value <= most,
        f"a number from 0 to {most:g}",
        f"{{0}} >= 0 AND {{0}} <= {most!r}",
        null,
    )


def _above(least: int, most: float = _AMOUNT) -> _Column:
    return _Column(
        sa.Double,
        lambda value: isinstance(value, float) and least < value <= most,
        f"a number above {least}, up to {most:g}",
        f"{{0}} > {least} AND {{0}} <= {most!r}",
        null=True,
    )


def _is_object(value: Any) -> bool:
    try:
        return isinstance(json.loads(value), dict)
    except (ValueError, TypeError, RecursionError):
        return False


def _is_people(value: Any) -> bool:
    try:
        people = json.loads(value)
    except (ValueError, TypeError, RecursionError):
        return False
    return isinstance(people, list) and bool(people) and all(isinstance(p, str) and _HASH.fullmatch(p) for p in people)


_ANY = _Column(sa.Text)
_TEXT = _Column(sa.Text, lambda value: isinstance(value, str) and bool(value), "a text")
_NAME = replace(_TEXT, check="length({}) > 0")
_UNIT = _Column(
    sa.Text, lambda value: value in UNITS, " or ".join(map(repr, UNITS)), f"{{}} IN ({', '.join(map(repr, UNITS))})"
)
_OBJECT = _Column(sa.Text, _is_object, "a JSON object")

_LIMITS = {
    "epsilon": _at_least_zero(_LIMIT),
    "delta": _Column(
        sa.Double,
        lambda value: isinstance(value, float) and 0 <= value < 1,
        "a number from 0 to below 1",
        "{0} >= 0 AND {0} < 1",
    ),
    "rho": _above(0, _LIMIT),
    "omega": _above(1),
    "order": _above(1),
    "opened": _ANY,
}
_BUDGET = {"dataset": _NAME, "unit": _UNIT} | _LIMITS
_CHARGE = {
    "budget": _Column(sa.Integer),
    "release": _NAME,
    "charged": _ANY,
    "epsilon": _at_least_zero(null=True),
    "rho": _at_least_zero(),
    "omega": _above(1),
    "quantity": _TEXT,
    "unit": _UNIT,
    "mechanism": _OBJECT,
    "software": _ANY,
    "key": replace(_ANY, null=True),
    "digest": replace(_ANY, null=True),
    "statement": _Column(
        sa.Text,
        lambda value: value in (UNKNOWN, UNKNOWN_BEFORE) or _is_object(value),
        f"a JSON object or {UNKNOWN!r}",
        "length({}) > 0",
    ),
}
_STATEMENT = {
    "dataset": _NAME,
    "stated": _ANY,
    "declared": _Column(sa.Integer, lambda value: value in (0, 1), "0 or 1", "{} IN (0, 1)"),
    "statement": replace(_OBJECT, check="length({}) > 0"),
}
_SERIES = {"series": _NAME} | _LIMITS
_MEMBER = {
    "series": _NAME,
    "dataset": _NAME,
    "joined": _ANY,
    "people": _Column(
        sa.Text, _is_people, "a JSON list of hashes of 16 hexadecimal digits", "length({}) > 0", null=True
    ),
}


def _table(name: str, columns: Mapping[str, _Column], *constraints: sa.schema.SchemaItem) -> sa.Table:
    """A table of entries. The program assigns ids, because a row is hashed before it is written."""
    return sa.Table(
        name,
        METADATA,
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        *(sa.Column(key, column.kind, nullable=column.null) for key, column in columns.items()),
        sa.Column("position", sa.Integer, nullable=False, unique=True),
        sa.Column("hash", sa.Text, nullable=False),
        *(column.constraint(key) for key, column in columns.items() if column.check),
        sa.CheckConstraint("position >= 1"),
        sa.CheckConstraint("length(hash) = 64"),
        *constraints,
    )


ABOUT = sa.Table(
    "peerveil_ledger",
    METADATA,
    sa.Column("schema_version", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("entries", sa.Integer, nullable=False),
    sa.Column("head", sa.Text, nullable=False),
    sa.CheckConstraint("entries >= 0"),
    sa.CheckConstraint("length(head) = 64"),
)


def _limited(name: str, columns: Mapping[str, _Column], *key: str) -> sa.Table:
    """A table of limits: pure epsilon, epsilon at delta with an order, or rho; omega goes with rho."""
    kinds = '(delta > 0) = (rho IS NOT NULL OR "order" IS NOT NULL) AND (rho IS NULL OR "order" IS NULL)'
    truncated = "omega IS NULL OR rho IS NOT NULL"
    return _table(name, columns, sa.UniqueConstraint(*key), sa.CheckConstraint(kinds), sa.CheckConstraint(truncated))


BUDGETS = _limited("peerveil_budget", _BUDGET, "dataset", "unit")
CHARGES = _table(
    "peerveil_charge",
    _CHARGE,
    sa.ForeignKeyConstraint(["budget"], ["peerveil_budget.id"]),
    sa.Index("ix_peerveil_charge_budget", "budget"),
    sa.UniqueConstraint("budget", "release"),
)
STATEMENTS = _table("peerveil_statement", _STATEMENT)
SERIES = _limited("peerveil_series", _SERIES, "series")
MEMBERS = _table("peerveil_member", _MEMBER)

#: The tables whose rows are entries of the chain, and what messages call a row.
ENTRIES: dict[sa.Table, str] = {
    BUDGETS: "budget",
    CHARGES: "charge",
    STATEMENTS: "statement",
    SERIES: "series",
    MEMBERS: "membership",
}

_COLUMNS = {BUDGETS: _BUDGET, CHARGES: _CHARGE, STATEMENTS: _STATEMENT, SERIES: _SERIES, MEMBERS: _MEMBER}


def faults(table: sa.Table, row: Mapping[str, Any]) -> list[str]:
    """The constraints that a row breaks, whether or not the database enforces them; for rows of schema 1 as well."""
    wrong = [
        f"{name} = {_shown(row[name])}, which must be {column.words}{', or nothing' if column.null else ''}"
        for name, column in _COLUMNS[table].items()
        if name in row and not column.holds(row[name])
    ]
    if table in (BUDGETS, SERIES) and not wrong:
        rho, order = row["rho"] is not None, row["order"] is not None
        if (row["delta"] > 0) != (rho or order) or (rho and order) or not (rho or row["omega"] is None):
            wrong.append("a delta, rho, omega and order that fit no kind of budget")
    return wrong


def _shown(value: Any) -> str:
    return f"{value!r}".removesuffix(".0") if isinstance(value, float) else f"{value!r}"[:60]
