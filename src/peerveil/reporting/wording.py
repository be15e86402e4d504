"""What axes and titles say about each quantity."""

from __future__ import annotations

#: The axis of each quantity, with its unit.
AXES = {
    "ratings": "a reviewer's mean rating (points)",
    "miscalibration": "a reviewer's mean difference from the other reviewers of a paper (points)",
    "normalized": "mean score that the criteria of a reviewer's papers deserve (points)",
    "subjectivity": "a reviewer's mean difference from what criteria deserve (points)",
}

#: The same where there is little room.
SHORT_AXES = {
    "ratings": "mean rating (points)",
    "miscalibration": "mean difference from others (points)",
    "normalized": "mean deserved score (points)",
    "subjectivity": "mean difference from criteria (points)",
}

#: Quantities that are differences: zero means none.
DIFFERENCES = {
    "miscalibration": ("stricter than others", "more lenient than others"),
    "subjectivity": ("below what criteria deserve", "above what criteria deserve"),
}


def axis(quantity: str) -> str:
    """What the axis of a quantity says; a user's own quantity has no unit that is known here.

    >>> axis("extremity")
    "a reviewer's mean extremity"
    """
    return AXES.get(quantity, f"a reviewer's mean {quantity}")


def short_axis(quantity: str) -> str:
    """The same where there is little room.

    >>> short_axis("ratings")
    'mean rating (points)'
    """
    return SHORT_AXES.get(quantity, f"mean {quantity}")


def count(number: int, what: str) -> str:
    """A number with its thing.

    >>> count(12345, "reviewer"), count(1, "reviewer")
    ('12,345 reviewers', '1 reviewer')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"
