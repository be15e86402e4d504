"""Which program made a release."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version


@cache
def software() -> str:
    """Name and version.

    >>> software().split()[0]
    'peerveil'
    """
    return f"peerveil {version('peerveil')}"
