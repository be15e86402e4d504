"""User modules that register additional mechanisms, quantities or readers."""

from __future__ import annotations

import os
from importlib import import_module

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
