"""Parsing of scores: numbers, labelled numbers, decimal commas, and symbols with a declared order."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from peerveil.errors import Argument, InputError
from peerveil.tables.cells import is_missing, to_number

# A number and its label: "8: accept", "3 good", "4. Accept", "2 (weak)". A label has a letter before any digit, or
# follows a colon and a blank, so that telephone numbers are not scores.
_LABELLED = re.compile(r"([+-]?\d+(?:[.,]\d+)?)(?::(?:\s|$)|(?:\s|[:.)=\u2013\u2014-]\s?)[^\w]*[^\W\d_])")
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d{1,2}")

# A label begins within so many characters.
_LONGEST = 100

# A symbol ends where its label begins.
_LABEL = re.compile(r"\s*(?:[:)=\u2013\u2014(]|\.(?!\d))|\s+-?\s*")


def to_score(cell: object) -> float | None:
    """Return a cell as a score, a number with an optional label or decimal comma; ``None`` if it is none.

    >>> [to_score(cell) for cell in (8, "6,5", "8: Top 50%", "3 good", "-1. Reject", "1,000", "+49 30 1234", "A")]
    [8.0, 6.5, 8.0, 3.0, -1.0, None, None, None]
    """
    value = to_number(cell)
    if value is not None or not isinstance(cell, str):
        return value
    text = cell.strip()
    labelled = _LABELLED.match(text[:_LONGEST])
    number = labelled[1] if labelled else text
    if "," in number:
        return float(number.replace(",", ".")) if _DECIMAL_COMMA.fullmatch(number) else None
    return to_number(number)


@dataclass(frozen=True, kw_only=True)
class Symbols:
    """The value of each symbol of a declared scale; created by :meth:`declare`.

    >>> letters = Symbols.declare("D<C<B<A")
    >>> letters.value("B: weak accept"), letters.value("E"), letters.scale
    (3.0, None, (1.0, 4.0))
    >>> reversed_ = Symbols.declare("3<2<1")
    >>> reversed_.value("1: best"), reversed_.value("1.5")
    (3.0, None)
    """

    worth: Mapping[str, float]

    @classmethod
    def declare(cls, stated: str | Sequence[str] | Mapping[str, float]) -> Symbols:
        """Return a scale from its symbols, in ascending order and with values from 1, or with stated values.

        >>> Symbols.declare(["X", "Y"]) == Symbols.declare({"X": 1, "Y": 2}) == Symbols.declare("X=1, Y=2")
        True
        """
        shape = " must be declared from the lowest to the highest, as 'D<C<B<A', or with values, as 'A=4,B=3'"
        if isinstance(stated, str):
            stated = _split(stated)
        if isinstance(stated, Mapping):
            pairs = [(str(symbol).strip(), to_number(value)) for symbol, value in stated.items()]
        elif isinstance(stated, Sequence) and all(isinstance(symbol, str) for symbol in stated):
            pairs = [(symbol.strip(), float(place)) for place, symbol in enumerate(stated, 1)]
        else:
            raise InputError(Argument("symbols"), f"{shape}, got {stated!r}")
        worth = {symbol: value for symbol, value in pairs if symbol and value is not None and math.isfinite(value)}
        if len(worth) < max(2, len(pairs)):
            raise InputError(Argument("symbols"), f"{shape}; each once, and at least two, got {stated!r}")
        if len(set(worth.values())) < 2:
            raise InputError(Argument("symbols"), " must be worth at least two different values")
        return cls(worth=worth)

    @property
    def scale(self) -> tuple[float, float]:
        """The lowest and the highest value."""
        return min(self.worth.values()), max(self.worth.values())

    def value(self, cell: object) -> float | None:
        """Return the value of a cell; ``None`` if its symbol is not declared."""
        text = str(cell).strip()[:1000]
        if text in self.worth:
            return self.worth[text]
        number = to_score(cell)
        if number is not None:  # "1.5" is not the symbol "1" with a label
            return next((worth for symbol, worth in self.worth.items() if number == to_number(symbol)), None)
        return self.worth.get(_LABEL.split(text, maxsplit=1)[0])


def _split(text: str) -> list[str] | dict[str, float]:
    if "=" not in text:
        return re.split(r"\s*[<,]\s*", text.strip())
    pairs = [part.partition("=") for part in text.split(",")]
    values = {symbol.strip(): to_number(value) for symbol, _, value in pairs}
    return {
        symbol: math.nan if value is None or len(values) < len(pairs) else value for symbol, value in values.items()
    }


def is_no_entry(cell: object) -> bool:
    """Return whether a cell states that there is no score: a missing value, HotCRP's ``false``, or a dash.

    >>> [is_no_entry(cell) for cell in ("", None, False, "n/a", "-", 0, "A")]
    [True, True, True, True, True, False, False]
    """
    if cell is False or is_missing(cell):
        return True
    return isinstance(cell, str) and cell.strip().lower() in _NO_ENTRY


_NO_ENTRY = ("-", "\u2013", "\u2014", "n/a", "none", "no entry", "null", "false")
