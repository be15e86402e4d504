"""The exceptions and warnings of Peerveil.

::

    PeerveilError                 base of all; exit code 1: refused or failed
    ├── InputError                the caller must change the call or the input; exit code 2 (also a ValueError)
    │   ├── FileError             a file cannot be used: names the file and, where known, line and column
    │   ├── RecordError           numbers of a record that do not add up
    │   └── OutputError           the place to write to cannot be written
    ├── WriteError                writing failed on the way, as on a full disk
    ├── ShowError                 everything was written, but the summary could not be shown
    ├── LedgerError               the ledger cannot be read or written; nothing was released
    │   ├── BudgetError           a release would overspend its budget, or does not fit its kind
    │   └── UnreachableError      the database of the ledger does not answer; it may do so later
    ├── BusyError                 another process works on the same release
    ├── ProjectionError           a projection missed its certificate; nothing is returned
    ├── TimeLimitError            a venue of a batch took longer than allowed
    ├── SignatureError            a signature does not sign these contents
    └── VenueError                a venue could not be read from its platform

    PeerveilWarning               base of all warnings (also a UserWarning)
    ├── FileWarning               how a file was read, where it could have been read otherwise
    │   └── WithdrawalWarning     a release that was read is marked as withdrawn
    ├── GroupWarning              a group of papers has few reviewers
    ├── LedgerWarning             something about the ledger that the chair should know
    ├── PriorWarning              a release disagrees with the prior pooled from earlier ones
    └── TablesWarning             a function of sampled tables depends on what their release does not tell

Messages name the argument, the value and the remedy. They never hold an identity. A message is text and
:class:`Argument` objects in turn, so that the command line and the page can spell arguments in their own words:

>>> error = InputError(Argument("epsilon"), " must be > 0, got -1; use ", Argument("lone", "zero"))
>>> str(error)
"epsilon must be > 0, got -1; use lone='zero'"
>>> error.spelled(lambda argument: argument.key.upper())
'EPSILON must be > 0, got -1; use LONE'
"""

from __future__ import annotations

import copyreg
import errno
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from traceback import extract_tb
from typing import Any


@dataclass(frozen=True)
class Argument:
    """An argument named in a message.

    Attributes:
        name: its name in Python.
        value: the value it has or should get; ``...`` if the caller has to choose one; a class for any object of it.
        of: what it belongs to, where the name is ambiguous: the scale of the ``"score"`` or of the ``"noise"``.

    >>> print(Argument("epsilon"), Argument("epsilon", ...), Argument("lone", "zero"), Argument("scale", of="noise"))
    epsilon epsilon= lone='zero' scale
    """

    name: str
    value: object = None
    of: str = ""

    def __str__(self) -> str:
        if self.value is None:
            return self.name
        value = "" if self.value is ... else repr(self.value)
        return f"{self.name}={f'{self.value.__name__}(…)' if isinstance(self.value, type) else value}"

    @property
    def key(self) -> str:
        """The unambiguous name.

        >>> Argument("scale", of="noise").key
        'noise_scale'
        """
        return f"{self.of}_{self.name}" if self.of else self.name


@dataclass(frozen=True)
class Phrase(Argument):
    """A part of a message that the page words otherwise than Python and the command line: a command, or a path.

    Attributes:
        name: what it tells; the page finds its own words by it.
        value: the words of Python and the command line.

    >>> print(Phrase("ledger_place", "the ledger at budgets.db"))
    the ledger at budgets.db
    """

    def __str__(self) -> str:
        return str(self.value)


#: Text or an argument: a piece of a message.
Part = str | Argument


class _Message(Exception):  # noqa: N818 - the base of errors and warnings
    """An exception whose message is made of text and arguments."""

    args: tuple[Part, ...]

    def __init__(self, *parts: Part) -> None:
        super().__init__(*parts)

    def __str__(self) -> str:
        return self.spelled(str)

    def __reduce__(self) -> tuple[Any, ...]:
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]

    @property
    def parts(self) -> tuple[Part, ...]:
        """The text and the arguments of the whole message, in order."""
        return self.args

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """The arguments that the message names."""
        return tuple(part for part in self.args if isinstance(part, Argument))

    def spelled(self, spell: Callable[[Argument], str]) -> str:
        """The message, with arguments spelled by a function."""
        return "".join(spell(part) if isinstance(part, Argument) else part for part in self.parts)

    def rename(self, **names: str) -> None:
        """Rename arguments, where the caller knows them by other names.

        >>> error = InputError("name the column with ", Argument("paper", ...))
        >>> error.rename(paper="public_paper")
        >>> str(error)
        'name the column with public_paper='
        """
        self.args = tuple(
            replace(part, name=names.get(part.name, part.name)) if isinstance(part, Argument) else part
            for part in self.args
        )


class PeerveilError(_Message):
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

    def __init__(self, *parts: Part, file: str, line: int | None = None, column: str | None = None) -> None:
        self.file, self.line, self.column = file, line, column
        super().__init__(*parts)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The place in the file, then the text and the arguments of the message."""
        line = "" if self.line is None else f", line {self.line}"
        column = "" if self.column is None else f", column {self.column!r}"
        return f"{self.file}{line}{column}: ", *self.args


class WriteError(PeerveilError):
    """Writing failed on the way, as on a full disk: the call was right.

    >>> WriteError.exit_code, issubclass(WriteError, ValueError)
    (1, False)
    """


class ShowError(PeerveilError):
    """Everything was written; only the summary could not be shown."""


class LedgerError(PeerveilError):
    """The ledger cannot be read or written; nothing was released."""


class BudgetError(LedgerError):
    """A release would overspend its budget, or cannot be charged to it.

    Attributes:
        declares: the data set, and what is to be declared for it before the release can be charged, if that is why.
    """

    declares: tuple[str, Any] | None = None


class UnreachableError(LedgerError):
    """The database of the ledger does not answer now, or is locked for long; the same call may succeed later."""


class BusyError(PeerveilError):
    """Another process works on the same release."""


class ProjectionError(PeerveilError):
    """A projection whose gap or violation is above tolerance."""


class TimeLimitError(PeerveilError):
    """A venue of a batch took longer than its time limit."""


class SignatureError(PeerveilError):
    """A signature does not sign these contents."""


class VenueError(PeerveilError):
    """A venue could not be read from its platform."""


class PeerveilWarning(_Message, UserWarning):
    """Base of every warning of Peerveil."""


class FileWarning(PeerveilWarning):
    """How a file was read, where it could have been read otherwise: its sheet, its encoding, its headings."""


class WithdrawalWarning(FileWarning):
    """A release that was read is marked as withdrawn by its publishers, or has a mark that is not valid."""


class GroupWarning(PeerveilWarning):
    """A group of papers has so few reviewers that its release says little, or much about few."""


class LedgerWarning(PeerveilWarning):
    """Something about the ledger that does not stop a release, but that its chair should know."""


class PriorWarning(PeerveilWarning):
    """A release disagrees with the prior pooled from earlier ones, so that the usual prior was used."""


class TablesWarning(PeerveilWarning):
    """A function of sampled tables depends on what their release does not tell."""


#: Failures to write that another name would not mend.
_STORAGE = (errno.ENOSPC, errno.EDQUOT, errno.EIO)


def write_failure(message: str, error: OSError) -> OutputError | WriteError:
    """The error to raise where a place cannot be written: WriteError if no other place on the disk would do.

    >>> write_failure("out cannot be written", OSError(errno.ENOSPC, "No space left on device"))
    WriteError('out cannot be written')
    """
    return (WriteError if error.errno in _STORAGE else OutputError)(message)


def spelled(message: BaseException | str, spell: Callable[[Argument], str] = str) -> str:
    """The text of an exception or a warning, with arguments spelled by a function where it holds any.

    >>> spelled(InputError(Argument("rho"), " is missing"), lambda argument: f"--{argument.name}")
    '--rho is missing'
    >>> spelled(UserWarning("slow"))
    'slow'
    """
    return message.spelled(spell) if isinstance(message, _Message) else str(message)


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
