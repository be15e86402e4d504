"""Cells of tables as text and numbers, and what error messages may show of them."""

from __future__ import annotations

import math
import re
from typing import Any

#: No score is larger; sums and squares of such numbers stay finite.
LARGEST = 1e100

# A longer text is not examined as a number.
_LONGEST_NUMBER = 1000

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_NO_VALUE = re.compile(r"[+-]?(nan|inf|infinity|n/?a|none|null)", re.IGNORECASE)


def to_text(cell: Any) -> str:
    """A cell as text; empty where it is missing (``None`` or not a number).

    >>> [to_text(cell) for cell in ("a", 7, 2.5, True, None, float("nan"))]
    ['a', '7', '2.5', 'True', '', '']
    """
    if isinstance(cell, str):
        return cell
    return "" if cell is None or (isinstance(cell, float) and math.isnan(cell)) else str(cell)


def is_missing(cell: object) -> bool:
    """Whether a cell holds nothing: no text but blanks, or not a number."""
    return (
        cell is None or (isinstance(cell, float) and math.isnan(cell)) or (isinstance(cell, str) and not cell.strip())
    )


def to_number(cell: object) -> float | None:
    """A cell as a number, infinite if it is too large for one; ``None`` if it is not a number.

    >>> [to_number(cell) for cell in ("7.5", " -1e3 ", "1e999", "x", "nan", True)]
    [7.5, -1000.0, inf, None, None, None]
    """
    if isinstance(cell, str):
        return float(cell) if len(cell) <= _LONGEST_NUMBER and _NUMBER.fullmatch(cell.strip()) else None
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        return None
    try:
        return float(cell)
    except OverflowError:
        return math.inf


def usable(number: float | None) -> bool:
    """Whether a number is finite and not too large to compute with."""
    return number is not None and abs(number) <= LARGEST


def shown(cell: object) -> str:
    """A cell as a message may show it: anything that could identify a person is described instead."""
    if is_missing(cell):
        return "an empty cell"
    value = to_number(cell)
    text = to_text(cell).strip()
    if value is None:
        return repr(text) if _NO_VALUE.fullmatch(text) else "text (not shown here, as it could be a name)"
    text = text.removesuffix(".0")
    if sum(map(str.isdigit, text)) > 4 or 1e4 <= abs(value) < math.inf:
        # Longer numbers may identify somebody: an ORCID, a telephone number, an account.
        return "a number (not shown here, as it could stand for somebody)"
    return text
