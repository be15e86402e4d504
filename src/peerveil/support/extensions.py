"""User modules that register additional mechanisms, quantities or readers."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import Any

from peerveil.errors import InputError

#: The environment variable that names such modules, separated by commas.
VARIABLE = "PEERVEIL_EXTENSIONS"


def load_extensions() -> None:
    """Import the modules named in the environment; the command line and the page call this at their start."""
    for name in filter(None, map(str.strip, os.environ.get(VARIABLE, "").split(","))):
        try:
            import_module(name)
        except ImportError:
            raise InputError(f"{VARIABLE} must name modules that can be imported, got {name!r}") from None


#: A function that registers something, and its arguments.
Registration = tuple[Callable[..., object], tuple[Any, ...]]

_IN_MAIN: list[Registration] = []


def repeat_in_workers(register: Callable[..., object], *arguments: Any) -> None:
    """Let worker processes repeat a registration if it is of the main module, which they do not import."""
    if arguments[-1].__module__ == "__main__":
        _IN_MAIN.append((register, arguments))


def registered_in_main() -> tuple[Registration, ...]:
    """Return the registrations to repeat in worker processes."""
    return tuple(_IN_MAIN)
