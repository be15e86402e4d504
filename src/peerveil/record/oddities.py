"""Warnings about numbers that look unintended: placeholders among scores, and outlying loads."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

# The least or greatest score stands apart if the next is more than this many times as far as any others are apart.
_APART = 2

# With fewer different scores besides it, no value is said to stand apart.
_OTHERS = 3

# With fewer reviews, all scores may be equal by chance.
_SEVERAL = 10

# A load is outlying above this many times the median, if it exceeds the median by at least as many reviews as the next.
_TIMES, _MORE = 3, 5


def placeholders(scores: npt.NDArray[np.float64]) -> list[str]:
    """Return warnings about scores that may stand for a missing score: they stand apart from all others, or are 0.

    >>> placeholders(np.array([0, 0, 7, 7, 6.0]))
    ['0 stands apart: 2 of 5 scores, the others are 6 to 7. If it marks a missing score, empty these cells']
    >>> placeholders(np.array([1, 2, 3, 4, 99.0]))
    ['99 stands apart: 1 of 5 scores, the others are 1 to 4. If it marks a missing score, empty these cells']
    >>> placeholders(np.array([1, 3, 5, 6, 8, 10.0]))
    []
    """
    values, counts = np.unique(scores, return_counts=True)
    if values.size == 1:
        alike = f"all {scores.size} scores are {values[0]:g}: are they placeholders?"
        return [alike] if scores.size >= _SEVERAL else []
    steps = np.diff(values)
    warnings = []
    for end, others, step, between in (
        (0, values[1:], steps[:1], steps[1:]),
        (-1, values[:-1], steps[-1:], steps[:-1]),
    ):
        far = others.size >= _OTHERS and step.max(initial=0) > _APART * between.max(initial=0)
        zero = values[end] == 0 and end == 0 and others[0] >= 1
        if far or zero:
            warnings.append(
                f"{values[end]:g} stands apart: {counts[end]} of {scores.size} scores, the others are "
                f"{others[0]:g} to {others[-1]:g}. If it marks a missing score, empty these cells"
            )
    return warnings


def outlying_loads(loads: npt.NDArray[np.integer]) -> list[str]:
    """Return a warning about reviewers with many more reviews than most.

    >>> outlying_loads(np.array([4, 4, 3, 4, 16, 40]))
    ['2 of 6 reviewers have 16 to 40 reviews, where the median is 4: are these metareviews, or a chair or bot?']
    >>> outlying_loads(np.array([1, 1, 1, 5]))
    []
    """
    median = float(np.median(loads))
    many = loads[(loads > _TIMES * median) & (loads >= median + _MORE)]
    if not many.size:
        return []
    has = "reviewers has" if many.size == 1 else "reviewers have"
    span = f"{many.min()}" if many.min() == many.max() else f"{many.min()} to {many.max()}"
    outlying = f"{many.size} of {loads.size} {has} {span} reviews, where the median is {median:g}"
    return [f"{outlying}: are these metareviews, or a chair or bot?"]
