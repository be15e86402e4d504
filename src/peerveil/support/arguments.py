"""Argument checks shared by many modules."""

from __future__ import annotations

from peerveil.errors import Argument, InputError


def real(argument: str | Argument, value: object) -> float:
    """Return a real number of any library as a plain float.

    >>> real("epsilon", "1")
    Traceback (most recent call last):
    peerveil.errors.InputError: epsilon must be a number, got '1'
    """
    named = Argument(argument) if isinstance(argument, str) else argument
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise InputError(named, f" must be a number, got {value!r}")
    try:
        return float(value)
    except OverflowError:
        pass
    raise InputError(named, " is too large a number")
