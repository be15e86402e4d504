"""Errors in the words that users see, the same on the command line and on the page."""

from __future__ import annotations

from peerveil.cli.options import spell
from peerveil.errors import PeerveilError, unexpected

#: What a failure means where no ledger is charged.
NOTHING = "; nothing was released"


def told(error: Exception, *, so: str = NOTHING) -> tuple[str, int]:
    """What to say about an error, and the exit code. Never a traceback, and no text that may hold private values.

    Args:
        error: what happened.
        so: what that means for the release, where the error itself does not say.

    >>> from peerveil.errors import InputError
    >>> told(InputError("epsilon must be > 0, got -1.0"))
    ('--epsilon must be > 0, got -1.0', 2)
    >>> told(ValueError("ann gave 3"))[1]
    1
    """
    if isinstance(error, PeerveilError):
        return spell(str(error)), error.exit_code
    if isinstance(error, OSError):
        return f"{error.strerror or 'input or output failed'}{so}", 1
    return f"{unexpected(error)}{so}. Please report it", 1
