"""Errors in the words that users see, the same on the command line and on the page."""

from __future__ import annotations

from peerveil.cli.options import spell
from peerveil.errors import PeerveilError, unexpected


def told(error: Exception) -> tuple[str, int]:
    """What to say about an error, and the exit code. Never a traceback, and no text that may hold private values.

    >>> from peerveil.errors import InputError
    >>> told(InputError("epsilon must be > 0, got -1.0"))
    ('--epsilon must be > 0, got -1.0', 2)
    >>> told(ValueError("ann gave 3"))[1]
    1
    """
    if isinstance(error, PeerveilError):
        return spell(str(error)), error.exit_code
    if isinstance(error, OSError):
        return f"{error.strerror or 'input or output failed'}; nothing was released", 1
    return f"{unexpected(error)}; nothing was released. Please report it", 1
