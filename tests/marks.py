"""Marks of parameters, and numbers of generated examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import settings


def slow(*values: Any) -> Any:
    """A parameter, or several of one case, for `make test-slow` only."""
    return pytest.param(*values, marks=pytest.mark.slow)


def mostly_slow(values: Sequence[Any], *quick: int) -> list[Any]:
    """Parameters of which those at the given places are for `make test`, and the others for `make test-slow`."""
    return [
        value if place in quick else slow(*value) if isinstance(value, tuple) else slow(value)
        for place, value in enumerate(values)
    ]


def examples(thorough: int) -> settings:
    """Settings with so many examples in the profile `thorough`, and with as many fewer or more as other profiles have.

    For tests whose examples take long. Those of `make test` are half of them.
    """
    return settings(max_examples=max(1, thorough * settings().max_examples // 100))
