"""Quantities of one column of the reviews: its values, and whether they satisfy a condition.

They are not registered one by one: their names tell which column they are of, such as ``"column confidence"`` and
``"share of confidence>=4"``. The column is a criterion of that name, or else the one that was read as the score.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from peerveil.errors import Argument, InputError
from peerveil.quantities.base import HiddenReach, Judged, Lone, Words, register_family

if TYPE_CHECKING:
    from peerveil.record.public_record import Floats, PublicRecord

# ruff: noqa: PLC0415 - NumPy is loaded on first use

COLUMN, SHARE = "column ", "share of "

_SIGNS: dict[str, Callable[[Floats, float], Floats]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "!=": operator.ne,
    "==": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
}
_CONDITION = re.compile(rf"\s*(.*?[^\s!<>=])\s*({'|'.join(_SIGNS)})\s*([^\s!<>=]+)\s*")

# Two conditions in one.
_SEVERAL = re.compile(r"[<>=]\s*[-+\d.]+\s*(?:\b(?:and|or)\b|&|\|)", re.IGNORECASE)


@dataclass(frozen=True)
class Column:
    """The values of a column.

    >>> Column("confidence").name, Column("confidence").words.short_axis
    ('column confidence', 'mean confidence')
    """

    column: str
    reach = HiddenReach()

    def __post_init__(self) -> None:
        _check_column("weight", self.column)

    @property
    def name(self) -> str:
        """Its name in releases."""
        return f"{COLUMN}{self.column}"

    @property
    def words(self) -> Words:
        """Words made of the column's name."""
        return Words(
            label=f"Column {self.column}",
            title=f"Reviewers by their mean {self.column}",
            meaning=f"each reviewer's mean {self.column}",
            mean=f"a reviewer's mean {self.column}",
            short_mean=f"mean {self.column}",
            each=f"values of {self.column}",
            number="mean value",
            numbers="mean values",
            varies=self.column,
        )

    def weights(self, held: Judged, *, record: PublicRecord, lone: Lone) -> Floats:
        """Return the values."""
        if self.column in record.criteria_names and held.criteria is not None:
            return held.criteria[:, record.criteria_names.index(self.column)]
        return held.score

    def hidden_bounds(self, record: PublicRecord, *, lone: Lone) -> tuple[Floats, Floats]:
        """Return the values; the ends of the scale where they are hidden."""
        if self.column in record.criteria_names:
            raise InputError(
                Argument("quantity"),
                f" is of the criterion {self.column!r}, of which {record.hidden} values are hidden; read it as the "
                "score, with its scale (",
                Argument("score", self.column),
                ")",
            )
        return record.score_bounds()


@dataclass(frozen=True)
class Share:
    """The share of a reviewer's reviews that satisfy a condition on a column: a weight of 0 or 1 per review.

    ``"score"`` is the column of scores; other columns as in the module's description.

    >>> Share("confidence >= 4").name, Share("score = 6").words.meaning
    ('share of confidence>=4', "the share of each reviewer's reviews with score = 6")
    >>> Share("confident")
    Traceback (most recent call last):
    peerveil.errors.InputError: share must be a column, a sign (=, !=, <, <=, > or >=) and a number, got 'confident'
    """

    condition: str
    column: str = field(init=False)
    sign: str = field(init=False)
    value: float = field(init=False)
    reach = HiddenReach(binary=True)

    def __post_init__(self) -> None:
        match = _CONDITION.fullmatch(self.condition) if isinstance(self.condition, str) else None
        try:
            column, sign, value = match.groups() if match else ("", "", "")
            number = float(value)
        except ValueError:
            match = None
        if match is None or not number - number == 0:
            raise InputError(
                Argument("share"),
                f" must be a column, a sign (=, !=, <, <=, > or >=) and a number, got {self.condition!r}",
            )
        if _SEVERAL.search(self.condition):
            raise InputError(
                Argument("share"),
                " must compare one column with a number; for several columns define a quantity of your own, which is 1 "
                f"for reviews that satisfy all conditions, got {self.condition!r}",
            )
        _check_column("share", column)
        sign = "=" if sign == "==" else sign
        for name, stated in (("column", column), ("sign", sign), ("value", number)):
            object.__setattr__(self, name, stated)
        object.__setattr__(self, "condition", f"{column}{sign}{number:.15g}")

    @property
    def name(self) -> str:
        """Its name in releases."""
        return f"{SHARE}{self.condition}"

    @property
    def words(self) -> Words:
        """Words made of the condition."""
        condition = f"{self.column} {self.sign} {self.value:.15g}"
        return Words(
            label=f"Share of reviews with {condition}",
            title=f"Reviewers by the share of their reviews with {condition}",
            meaning=f"the share of each reviewer's reviews with {condition}",
            mean=f"share of a reviewer's reviews with {condition}",
            short_mean=f"share of reviews with {condition}",
            each=f"reviews (1 with {condition}, 0 without)",
            number="share",
            numbers="shares",
            varies=f"whether {condition}",
        )

    def weights(self, held: Judged, *, record: PublicRecord, lone: Lone) -> Floats:
        """Return 1 for each review that satisfies the condition, and 0 for the others."""
        import numpy as np

        values = Column(self.column).weights(held, record=record, lone=lone)
        return np.asarray(_SIGNS[self.sign](values, self.value), dtype=np.float64)

    def hidden_bounds(self, record: PublicRecord, *, lone: Lone) -> tuple[Floats, Floats]:
        """Return 0 and 1 where a hidden value may or may not satisfy the condition."""
        import numpy as np

        low, high = Column(self.column).hidden_bounds(record, lone=lone)
        inside = np.clip(self.value, low, high)  # the value itself, where it is possible
        tried = [_SIGNS[self.sign](values, self.value) for values in (low, high, inside)]
        return np.min(tried, axis=0).astype(np.float64), np.max(tried, axis=0).astype(np.float64)


def column_of(quantity: str) -> str | None:
    """Return the column that a quantity or a statistic of one names; ``None`` for others, and for the score.

    >>> column_of("spread of column confidence"), column_of("share of score>=6"), column_of("ratings")
    ('confidence', None, None)
    """
    from peerveil.quantities.statistics import split

    name = split(quantity)[1]
    column = None
    if name.startswith(COLUMN):
        column = name.removeprefix(COLUMN)
    elif name.startswith(SHARE):
        column = Share(name.removeprefix(SHARE)).column
    return None if column == "score" else column


def same_column(one: str, other: str) -> bool:
    """Return whether two names are of the same column, regardless of case and punctuation, as readers compare them."""
    plain = ["".join(filter(str.isalnum, name.casefold())) for name in (one, other)]
    return plain[0] == plain[1]


def _check_column(argument: str, column: object) -> None:
    if not (isinstance(column, str) and column.isprintable() and column == column.strip() != "" and len(column) <= 100):
        raise InputError(Argument(argument), f" must name a column, got {column!r}")


register_family(COLUMN, Column)
register_family(SHARE, Share)
