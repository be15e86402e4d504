"""Conversion of cells to text and numbers, and to what error messages may show of them."""

from __future__ import annotations

import math
import re
from typing import Any

from peerveil.tables.workbook_process import ERROR, UNCOMPUTED

#: The largest score; sums and squares of such numbers stay finite.
LARGEST = 1e100

# Longer texts are not parsed as numbers.
_LONGEST_NUMBER = 1000

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_DATE = re.compile(r"\d{4}-\d\d-\d\d(?: |$)")
_NO_VALUE = re.compile(r"[+-]?(nan|inf|infinity|n/?a|none|null)", re.IGNORECASE)


def to_text(cell: Any) -> str:
    """Return a cell as text, empty if it is missing (``None`` or NaN).

    >>> [to_text(cell) for cell in ("a", 7, 2.5, True, None, float("nan"))]
    ['a', '7', '2.5', 'True', '', '']
    """
    return cell if isinstance(cell, str) else "" if is_missing(cell) else str(cell)


def is_missing(cell: object) -> bool:
    """Return whether a cell is ``None``, NaN or blank."""
    if isinstance(cell, str):
        return not cell.strip()
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def is_marked(cell: object) -> bool:
    """Return whether a cell says yes: true, 1, yes or x.

    >>> [is_marked(cell) for cell in (True, "TRUE", "yes", 1, "x", False, "0", "", None, "maybe")]
    [True, True, True, True, True, False, False, False, False, False]
    """
    return to_text(cell).strip().casefold() in ("true", "1", "1.0", "yes", "x")


def to_number(cell: object) -> float | None:
    """Return a cell as a number, infinite on overflow; ``None`` if it is not a number.

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
    """Return whether a number is finite and small enough to compute with."""
    return number is not None and abs(number) <= LARGEST


#: Cells of a workbook without a usable value, and what is wrong with them.
UNUSABLE = {
    UNCOMPUTED: "the cell holds a formula whose value is not stored; open the workbook in a spreadsheet program, and "
    "save it there",
    ERROR: "the cell holds a formula with an error, such as #DIV/0!; correct it in the workbook",
}


def shown(cell: object) -> str:
    """Return a cell as a message may show it; whatever could identify a person is described instead."""
    if is_missing(cell):
        return "an empty cell"
    value = to_number(cell)
    text = to_text(cell).strip()
    if value is None:
        if _DATE.match(text):
            return "a date"
        return repr(text) if _NO_VALUE.fullmatch(text) else "text (not shown here, as it could be a name)"
    text = text.removesuffix(".0")
    if sum(map(str.isdigit, text)) > 4 or 1e4 <= abs(value) < math.inf:
        # Long numbers may identify somebody: an ORCID, a telephone number, an account.
        return "a number (not shown here, as it could stand for somebody)"
    return text
