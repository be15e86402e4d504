"""The tables of a ledger (schema 2), with constraints, and the same constraints as tests of rows that were read.

Every row of a budget, a charge or a statement is an entry of the hash chain: ``position`` is its place, ``hash`` its
hash (see ``chain``). The one row of ``peerveil_ledger`` says how many entries there are and what the last hash is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa

from peerveil.guarantee import UNITS

SCHEMA = 2

#: What the ledger has of a charge whose statement is not known.
UNKNOWN = "unknown"
UNKNOWN_BEFORE = "unknown (written by 0.1.0)"

#: The largest number that a row may hold; anything above counts as infinite.
LARGEST = 1e308

METADATA = sa.MetaData()


def _column(name: str, kind: type[sa.types.TypeEngine[Any]], *, null: bool = False) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=null)


def _number(name: str, *, above: float | None = None, least: float | None = None, null: bool = False) -> str:
    low = f'"{name}" > {above}' if above is not None else f'"{name}" >= {least}'
    return (f'"{name}" IS NULL OR ' if null else "") + f'({low} AND "{name}" <= {LARGEST!r})'


_UNIT = f"unit IN ({', '.join(map(repr, UNITS))})"
_CHAINED = ("position >= 1", "length(hash) = 64")


def _table(name: str, *parts: sa.schema.SchemaItem, checks: tuple[str, ...] = ()) -> sa.Table:
    """A table whose ids are given by us, so that they can be hashed before the row is written."""
    constraints = [sa.CheckConstraint(check) for check in checks]
    return sa.Table(
        name, METADATA, sa.Column("id", sa.Integer, primary_key=True, autoincrement=False), *parts, *constraints
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
BUDGETS = _table(
    "peerveil_budget",
    _column("dataset", sa.Text),
    _column("unit", sa.Text),
    _column("epsilon", sa.Double),
    _column("delta", sa.Double),
    _column("rho", sa.Double, null=True),
    _column("omega", sa.Double, null=True),
    _column("order", sa.Double, null=True),
    _column("opened", sa.Text),
    sa.Column("position", sa.Integer, nullable=False, unique=True),
    _column("hash", sa.Text),
    sa.UniqueConstraint("dataset", "unit"),
    checks=(
        "length(dataset) > 0",
        _UNIT,
        _number("epsilon", least=0),
        "delta >= 0 AND delta < 1",
        _number("rho", above=0, null=True),
        _number("omega", above=1, null=True),
        _number("order", above=1, null=True),
        *_CHAINED,
    ),
)
CHARGES = _table(
    "peerveil_charge",
    sa.Column("budget", sa.Integer, sa.ForeignKey("peerveil_budget.id"), nullable=False, index=True),
    _column("release", sa.Text),
    _column("charged", sa.Text),
    _column("epsilon", sa.Double, null=True),
    _column("rho", sa.Double),
    _column("omega", sa.Double, null=True),
    _column("quantity", sa.Text),
    _column("unit", sa.Text),
    _column("mechanism", sa.Text),
    _column("software", sa.Text),
    _column("key", sa.Text, null=True),
    _column("digest", sa.Text, null=True),
    _column("statement", sa.Text),
    sa.Column("position", sa.Integer, nullable=False, unique=True),
    _column("hash", sa.Text),
    sa.UniqueConstraint("budget", "release"),
    checks=(
        "length(release) > 0",
        _number("epsilon", least=0, null=True),
        _number("rho", least=0),
        _number("omega", above=1, null=True),
        _UNIT,
        "length(statement) > 0",
        *_CHAINED,
    ),
)
STATEMENTS = _table(
    "peerveil_statement",
    _column("dataset", sa.Text),
    _column("stated", sa.Text),
    _column("declared", sa.Integer),
    _column("statement", sa.Text),
    sa.Column("position", sa.Integer, nullable=False, unique=True),
    _column("hash", sa.Text),
    checks=("length(dataset) > 0", "length(statement) > 0", "declared IN (0, 1)", *_CHAINED),
)

#: The tables whose rows are entries of the chain, and what one of their rows is called.
ENTRIES: dict[sa.Table, str] = {BUDGETS: "budget", CHARGES: "charge", STATEMENTS: "statement"}


class _Rule:
    """What a column must hold, as a test and in words."""

    def __init__(self, test: Callable[[Any], bool], words: str, *, null: bool = False) -> None:
        self.test, self.null = test, null
        self.words = words + (", or nothing" if null else "")

    def holds(self, value: Any) -> bool:
        return self.null if value is None else bool(self.test(value))


def _finite(value: Any) -> bool:
    return isinstance(value, float) and math.isfinite(value) and abs(value) <= LARGEST


def _at_least_zero(*, null: bool = False) -> _Rule:
    return _Rule(lambda value: _finite(value) and value >= 0, "a finite number of at least 0", null=null)


def _above(least: float) -> _Rule:
    return _Rule(lambda value: _finite(value) and value > least, f"a finite number above {least:g}", null=True)


_IS_UNIT = _Rule(lambda value: value in UNITS, " or ".join(map(repr, UNITS)))
_TEXT = _Rule(lambda value: isinstance(value, str) and bool(value), "a text")

_RULES: dict[sa.Table, dict[str, _Rule]] = {
    BUDGETS: {
        "dataset": _TEXT,
        "unit": _IS_UNIT,
        "epsilon": _at_least_zero(),
        "delta": _Rule(lambda value: _finite(value) and 0 <= value < 1, "a number of at least 0 and below 1"),
        "rho": _above(0),
        "omega": _above(1),
        "order": _above(1),
    },
    CHARGES: {
        "release": _TEXT,
        "epsilon": _at_least_zero(null=True),
        "rho": _at_least_zero(),
        "omega": _above(1),
        "unit": _IS_UNIT,
        "quantity": _TEXT,
        "mechanism": _TEXT,
        "statement": _TEXT,
    },
    STATEMENTS: {"dataset": _TEXT, "statement": _TEXT, "declared": _Rule(lambda value: value in (0, 1), "0 or 1")},
}


def faults(table: sa.Table, row: Mapping[str, Any]) -> list[str]:
    """What is wrong with a row, whether or not the database still enforces its constraints; rows of schema 1, too."""
    return [
        f"{column} = {_shown(row[column])}, which must be {rule.words}"
        for column, rule in _RULES[table].items()
        if column in row and not rule.holds(row[column])
    ]


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value!r}".removesuffix(".0")
    return f"{value!r}"[:60]
