"""Numbers in words."""

from __future__ import annotations


def count(number: int, what: str) -> str:
    """A number with its thing.

    >>> count(12345, "reviewer"), count(1, "reviewer")
    ('12,345 reviewers', '1 reviewer')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"
