"""Numbers in words."""

from __future__ import annotations


def count(number: int, noun: str) -> str:
    """Return a number with its noun in the singular or plural.

    >>> count(12345, "reviewer"), count(1, "reviewer")
    ('12,345 reviewers', '1 reviewer')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
