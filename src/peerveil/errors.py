"""Everything Peerveil raises on purpose.

::

    PeerveilError                 base of all; exit code 1: refused or failed
    ├── InputError                the caller must change the call or the input; exit code 2 (also a ValueError)
    │   ├── FileError             a file cannot be used: names the file and, where known, line and column
    │   ├── RecordError           numbers of a record that do not add up
    │   └── OutputError           the place to write to cannot be written
    ├── LedgerError               the ledger cannot be read or written; nothing was released
    │   └── BudgetError           a release would overspend its budget, or does not fit its kind
    └── ProjectionError           a projection missed its certificate; nothing is returned

Messages name the argument, the value and the remedy. They never hold an identity.
"""

from __future__ import annotations

from pathlib import Path
from traceback import extract_tb


class PeerveilError(Exception):
    """Base of every error that Peerveil raises on purpose.

    >>> issubclass(FileError, PeerveilError)
    True
    """

    exit_code = 1


class InputError(PeerveilError, ValueError):
    """The call or the input must change.

    >>> InputError.exit_code
    2
    """

    exit_code = 2


class RecordError(InputError):
    """Numbers of papers, reviews, reviewers or loads that do not add up."""


class OutputError(InputError):
    """The place to write to cannot be written."""


class FileError(InputError):
    """A file cannot be used as asked.

    >>> print(FileError("score is not a number", file="reviews.csv", line=3, column="score"))
    reviews.csv, line 3, column 'score': score is not a number
    """

    def __init__(self, message: str, *, file: str, line: int | None = None, column: str | None = None) -> None:
        self.file, self.line, self.column = file, line, column
        place = [file]
        if line is not None:
            place.append(f"line {line}")
        if column is not None:
            place.append(f"column {column!r}")
        super().__init__(f"{', '.join(place)}: {message}")


class LedgerError(PeerveilError):
    """The ledger cannot be read or written; nothing was released."""


class BudgetError(LedgerError):
    """A release would overspend its budget, or cannot be charged to it."""


class ProjectionError(PeerveilError):
    """A projection whose gap or violation is above tolerance."""


def unexpected(error: BaseException) -> str:
    """Where an error that nobody foresaw arose. Its own text may hold private values, so it is never shown.

    >>> try:
    ...     {}["a reviewer's name"]
    ... except KeyError as error:
    ...     unexpected(error).split(" in ")[0]
    'internal error (KeyError'
    """
    place = extract_tb(error.__traceback__)
    where = f" in {Path(place[-1].filename).name}, line {place[-1].lineno}" if place else ""
    return f"internal error ({type(error).__name__}{where})"
