"""Messages for users: errors and warnings as the command line or the page words them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from peerveil.errors import Argument, InputError, PeerveilError, unexpected

#: Returns an argument as users of the command line or the page know it.
Spelling = Callable[[Argument], str]

#: Appended to unexpected errors when no ledger is charged.
NOTHING_RELEASED = "; nothing was released"


def explain(error: Exception, spell: Spelling, *, consequence: str = NOTHING_RELEASED) -> tuple[str, int]:
    """Return the message to show for an error, without any text that may hold private values, and the exit code.

    ``consequence`` is the effect of an unexpected error on the release.

    >>> from peerveil.errors import InputError
    >>> explain(InputError(Argument("epsilon"), " must be > 0"), lambda argument: f"--{argument.name}")
    ('--epsilon must be > 0', 2)
    >>> explain(ValueError("ann gave 3"), str)[1]
    1
    """
    if isinstance(error, PeerveilError):
        return error.spelled(spell), error.exit_code
    if isinstance(error, OSError):
        return f"{error.strerror or 'input or output failed'}{consequence}", 1
    return f"{unexpected(error)}{consequence}. Please report it", 1


def refusal(text: str) -> InputError:
    """Return an error with a fixed text in which names in braces are arguments.

    >>> refusal("give {words} or {noise_scale}, not both").spelled(lambda argument: f"--{argument.key}")
    'give --words or --noise_scale, not both'
    """
    parts = re.split(r"\{(\w+)\}", text)
    return InputError(*(Argument(part) if index % 2 else part for index, part in enumerate(parts)))


def written(value: object) -> str:
    """Return a value as users write it in an option or a field.

    >>> written({3: 800, 4: 900}), written((1, 6)), written({3, 4}), written(0.5)
    ('3:800,4:900', '1-6', '3,4', '0.5')
    """
    match value:
        case dict():
            return ",".join(f"{load}:{count}" for load, count in value.items())
        case tuple():
            return "-".join(map(str, value))
        case set() | frozenset():
            return ",".join(map(str, sorted(value)))
        case type():
            return str(getattr(value, "name", value.__name__))
    return str(value)


@contextmanager
def renaming(**names: str) -> Iterator[None]:
    """Rename the arguments of errors raised in the block to the names that users know.

    >>> with renaming(paper="public_paper"):
    ...     raise PeerveilError("name the column with ", Argument("paper", ...))
    Traceback (most recent call last):
    peerveil.errors.PeerveilError: name the column with public_paper=
    """
    try:
        yield
    except PeerveilError as error:
        error.rename(**names)
        raise
