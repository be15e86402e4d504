"""Conditions on the cells of a column, such as ``Type=Review`` or ``Confidence>=3``."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from peerveil.errors import Argument, InputError
from peerveil.tables.cells import is_missing, shown, to_number
from peerveil.tables.scores import is_no_entry, to_score
from peerveil.tables.table import Table, apply

_ORDERS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_CONDITION = re.compile(r"(.+?)\s*(!=|>=|<=|==?|>|<)\s*(.*)", re.DOTALL)

# Releases state conditions.
_LONGEST = 200

# What a message lists of the values of a column.
_MOST_VALUES, _LONGEST_VALUE = 12, 40

Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Condition:
    """A comparison of the cells of a column with a value.

    Texts are compared without regard to case and surrounding blanks; a labelled number, such as ``3: good``, also
    equals its number. An empty cell satisfies no order, and equals the empty value only.

    >>> Condition.parse("Confidence >= 3")
    Condition(column='Confidence', sign='>=', value='3')
    """

    column: str
    sign: str
    value: str

    @classmethod
    def parse(cls, text: str, argument: str = "only") -> Condition:
        """Return the condition in a text; ``argument`` names it in errors."""
        match = _CONDITION.fullmatch(text.strip()) if isinstance(text, str) else None
        if match is None or len(text) > _LONGEST or not text.isprintable():
            raise InputError(
                Argument(argument), f" must be a column, a sign (=, !=, <, <=, > or >=) and a value, got {text!r}"
            )
        column, sign, value = match.groups()
        if sign in _ORDERS and to_number(value) is None:
            raise InputError(Argument(argument), f" must compare with a number where the sign is {sign}, got {text!r}")
        return cls(column=column, sign=sign.replace("==", "="), value=value)

    def __str__(self) -> str:
        return f"{self.column}{self.sign}{self.value}"

    def holds(self, table: Table, column: str) -> Booleans:
        """Return for each row whether the condition holds for its cell in a column."""
        cells = table.cells[column]

        def holds(cell: str) -> bool:
            if self.sign not in _ORDERS:
                return self._equal(cell) == (self.sign == "=")
            if is_no_entry(cell):
                return False
            number = to_score(cell)
            if number is None:
                row = int((cells == cell).arg_true()[0])
                raise table.error(f"{shown(cell)} is not a number, which '{self}' compares", row=row, column=column)
            return _ORDERS[self.sign](number, float(self.value))

        return apply(holds, cells, pl.Boolean).to_numpy()

    def _equal(self, cell: str) -> bool:
        if is_missing(cell) or not self.value:
            return is_missing(cell) and not self.value
        number, wanted = to_score(cell), to_number(self.value)
        return cell.strip().casefold() == self.value.casefold() or (number is not None and number == wanted)

    def missed(self, cells: pl.Series, *, show: bool) -> str:
        """Return in words that no cell of a column satisfies the condition, and what the column holds instead.

        Values are told only if ``show`` says that they may be, and never if one looks like an address.

        >>> Condition.parse("Type=Revue").missed(pl.Series(["Review", "Review", "Summary"]), show=True)
        "none of the 3 rows has this value; the column has 'Review' and 'Summary'"
        >>> Condition.parse("Type>3").missed(pl.Series(["1", "2"]), show=False)
        'none of the 2 rows is like this (values of this column are not shown here, as they could tell about people)'
        """
        rows = f"none of the {len(cells):,} rows {'is like this' if self.sign in _ORDERS else 'has this value'}"
        values = {cell.strip().casefold(): cell.strip() for cell in reversed(cells.to_list())}
        if not show or any(not _is_harmless(value) for value in values.values()):
            return f"{rows} (values of this column are not shown here, as they could tell about people)"
        if len(values) > _MOST_VALUES:
            return f"{rows}; the column has {len(values):,} different values"
        *first, last = [repr(value) for key, value in sorted(values.items()) if key] + ["empty cells"] * ("" in values)
        return f"{rows}; the column has {', '.join(first)}{' and ' if first else ''}{last}"


def _is_harmless(value: str) -> bool:
    return value.isprintable() and len(value) <= _LONGEST_VALUE and "@" not in value


#: A condition or several, as callers give them.
Conditions = str | Sequence[str] | tuple[Condition, ...]


def conditions(given: Conditions, argument: str) -> tuple[Condition, ...]:
    """Return the conditions in a text, or in several.

    >>> [str(condition) for condition in conditions(["Type = Review", "Round!=2"], "only")]
    ['Type=Review', 'Round!=2']
    """
    texts = (given,) if isinstance(given, str) else given
    return tuple(each if isinstance(each, Condition) else Condition.parse(each, argument) for each in texts)


def filters(only: Conditions, leave_out: Conditions) -> tuple[tuple[Condition, bool], ...]:
    """Return all conditions, each with whether rows that satisfy it are kept or left out."""
    keep, drop = conditions(only, "only"), conditions(leave_out, "leave_out")
    return (*((each, True) for each in keep), *((each, False) for each in drop))


def filter_argument(condition: Condition, *, kept: bool) -> Argument:
    """Return the argument that states a condition: whether what satisfies it is kept, or left out.

    >>> print(filter_argument(Condition.parse("Type=Review"), kept=True))
    only='Type=Review'
    """
    return Argument("only" if kept else "leave_out", str(condition))


@dataclass(frozen=True, kw_only=True)
class IdleFilter:
    """A filter that leaves nothing out: the argument that states it, its condition, and why."""

    argument: str
    condition: str
    why: str


def filter_columns(chosen: Iterable[tuple[Condition, bool]]) -> dict[str, Argument]:
    """Return the columns of filters, each with the argument that names it first."""
    named: dict[str, Argument] = {}
    for condition, kept in chosen:
        named.setdefault(condition.column, filter_argument(condition, kept=kept))
    return named
