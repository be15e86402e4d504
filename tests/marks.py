"""Marks of parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest


def slow(*values: Any) -> Any:
    """A parameter, or several of one case, for `make test-slow` only."""
    return pytest.param(*values, marks=pytest.mark.slow)


def mostly_slow(values: Sequence[Any], *quick: int) -> list[Any]:
    """Parameters of which those at the given places are for `make test`, and the others for `make test-slow`."""
    return [
        value if place in quick else slow(*value) if isinstance(value, tuple) else slow(value)
        for place, value in enumerate(values)
    ]
