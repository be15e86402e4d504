"""Checks of arguments that many modules share."""

from __future__ import annotations

from numbers import Real

from peerveil.errors import Argument, InputError


def real(argument: str | Argument, value: object) -> float:
    """A real number as a plain float, whichever library it comes from.

    >>> real("epsilon", "1")
    Traceback (most recent call last):
    peerveil.errors.InputError: epsilon must be a number, got '1'
    """
    named = Argument(argument) if isinstance(argument, str) else argument
    # NumPy's floats of other widths are no Real to Python, but know how to become one.
    if (
        isinstance(value, bool)
        or not (isinstance(value, Real) or hasattr(value, "__float__"))
        or isinstance(value, str)
    ):
        raise InputError(named, f" must be a number, got {value!r}")
    try:
        return float(value)
    except OverflowError:
        pass
    raise InputError(named, " is too large a number")
