"""The tables of a ledger (schema 2), with constraints, and the same constraints as tests of rows that were read.

Every row of a budget, a charge or a statement is an entry of the hash chain: ``position`` is its place, ``hash`` its
hash (see ``chain``). The one row of ``peerveil_ledger`` says how many entries there are and what the last hash is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa

from peerveil.privacy.guarantee import UNITS

SCHEMA = 2

#: What the ledger has of a charge whose statement is not known.
UNKNOWN = "unknown"
UNKNOWN_BEFORE = "unknown (written by 0.1.0)"

#: The largest numbers that rows may hold: limits may be without bounds in effect, sums of charges must not overflow.
_LIMIT, _AMOUNT = 1e308, 1e150

METADATA = sa.MetaData()


def _column(name: str, kind: type[sa.types.TypeEngine[Any]], *, null: bool = False) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=null)


def _number(name: str, low: str, most: float = _AMOUNT, *, null: bool = False) -> str:
    return (f'"{name}" IS NULL OR ' if null else "") + f'("{name}" {low} AND "{name}" <= {most!r})'


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
        _number("epsilon", ">= 0", _LIMIT),
        "delta >= 0 AND delta < 1",
        _number("rho", "> 0", _LIMIT, null=True),
        _number("omega", "> 1", null=True),
        _number("order", "> 1", null=True),
        # pure epsilon, epsilon at delta with an order, or rho; omega goes with rho
        '(delta > 0) = (rho IS NOT NULL OR "order" IS NOT NULL) AND (rho IS NULL OR "order" IS NULL)',
        "omega IS NULL OR rho IS NOT NULL",
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
        _number("epsilon", ">= 0", null=True),
        _number("rho", ">= 0"),
        _number("omega", "> 1", null=True),
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


def _at_most(value: Any, most: float) -> bool:
    return isinstance(value, float) and value <= most  # not-a-number is not


def _at_least_zero(most: float = _AMOUNT, *, null: bool = False) -> _Rule:
    words = f"a number from 0 to {most:g}"
    return _Rule(lambda value: _at_most(value, most) and value >= 0, words, null=null)


def _above(least: float, most: float = _AMOUNT) -> _Rule:
    words = f"a number above {least:g}, up to {most:g}"
    return _Rule(lambda value: _at_most(value, most) and value > least, words, null=True)


_IS_UNIT = _Rule(lambda value: value in UNITS, " or ".join(map(repr, UNITS)))
_TEXT = _Rule(lambda value: isinstance(value, str) and bool(value), "a text")


def _is_object(value: Any) -> bool:
    try:
        return isinstance(json.loads(value), dict)
    except (ValueError, TypeError, RecursionError):
        return False


_OBJECT = _Rule(_is_object, "a JSON object")
_KNOWN_OR_NOT = _Rule(
    lambda value: value in (UNKNOWN, UNKNOWN_BEFORE) or _is_object(value), f"a JSON object or {UNKNOWN!r}"
)

_RULES: dict[sa.Table, dict[str, _Rule]] = {
    BUDGETS: {
        "dataset": _TEXT,
        "unit": _IS_UNIT,
        "epsilon": _at_least_zero(_LIMIT),
        "delta": _Rule(lambda value: isinstance(value, float) and 0 <= value < 1, "a number from 0 to below 1"),
        "rho": _above(0, _LIMIT),
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
        "mechanism": _OBJECT,
        "statement": _KNOWN_OR_NOT,
    },
    STATEMENTS: {"dataset": _TEXT, "statement": _OBJECT, "declared": _Rule(lambda value: value in (0, 1), "0 or 1")},
}


def faults(table: sa.Table, row: Mapping[str, Any]) -> list[str]:
    """What is wrong with a row, whether or not the database still enforces its constraints; rows of schema 1, too."""
    wrong = [
        f"{column} = {_shown(row[column])}, which must be {rule.words}"
        for column, rule in _RULES[table].items()
        if column in row and not rule.holds(row[column])
    ]
    if table is BUDGETS and not wrong and not _is_budget(row):
        wrong.append("a delta, rho, omega and order that fit no kind of budget")
    return wrong


def _is_budget(row: Mapping[str, Any]) -> bool:
    """Whether it limits pure epsilon, epsilon at a delta by an order, or rho."""
    rho, order = row["rho"] is not None, row["order"] is not None
    return (row["delta"] > 0) == (rho or order) and not (rho and order) and (rho or row["omega"] is None)


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value!r}".removesuffix(".0")
    return f"{value!r}"[:60]
