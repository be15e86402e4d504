"""Criteria of reviews, such as soundness and clarity, and the canonical order of reviews."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from peerveil.errors import Argument, InputError, RecordError

Floats = npt.NDArray[np.float64]

Papers = npt.NDArray[np.integer[Any]]

#: Treatment of papers with a review that lacks a criterion.
MissingCriteria = Literal["refuse", "leave-out"]

#: Criteria as callers give them: for each name, one number per review.
Criteria = Mapping[str, Iterable[float]]


def canonical_order(
    paper: Papers, score: Floats, criteria: Floats | None = None, last: Papers | None = None
) -> npt.NDArray[np.intp]:
    """Return the order of reviews on both sides: by paper, score, criteria and ``last``; hidden reviews (NaN) last.

    >>> canonical_order(np.array([0, 0, 0]), np.array([5.0, 3.0, 3.0]), np.array([[1.0], [2.0], [1.0]])).tolist()
    [2, 1, 0]
    """
    return np.lexsort(_keys(paper, score, criteria, last)[::-1])


def in_canonical_order(
    paper: Papers, score: Floats, criteria: Floats | None = None, last: Papers | None = None
) -> bool:
    """Return whether reviews are in their canonical order, without sorting them.

    >>> in_canonical_order(np.array([0, 0, 1]), np.array([3.0, np.nan, 2.0]))
    True
    >>> in_canonical_order(np.array([0, 0, 1]), np.array([np.nan, 3.0, 2.0]))
    False
    """
    tied = np.ones(max(0, paper.size - 1), dtype=bool)
    for key in _keys(paper, score, criteria, last):
        before, after = key[:-1], key[1:]
        hidden, later = np.isnan(before), np.isnan(after)
        if (tied & ((after < before) | (hidden & ~later))).any():
            return False
        tied &= (before == after) | (hidden & later)
    return True


def _keys(paper: Papers, score: Floats, criteria: Floats | None, last: Papers | None) -> list[npt.NDArray[Any]]:
    return [paper, score, *(() if criteria is None else criteria.T), *(() if last is None else (last,))]


def arrange_criteria(criteria: Criteria | None, reviews: int) -> tuple[tuple[str, ...], Floats | None]:
    """Return the sorted names of criteria and their matrix with one row per review; ``None`` if there are none.

    >>> arrange_criteria({"soundness": [1, 2], "clarity": [3, 4]}, 2)
    (('clarity', 'soundness'), array([[3., 1.],
           [4., 2.]]))
    """
    if not criteria:
        return (), None
    columns = {str(name): _numbers(values) for name, values in criteria.items()}
    for name, column in columns.items():
        if column.shape != (reviews,):
            raise RecordError(f"criterion {name!r} has {column.size} values for {reviews} reviews")
    names = tuple(sorted(columns))
    return names, np.column_stack([columns[name] for name in names])


def _numbers(values: Iterable[float]) -> Floats:
    if isinstance(values, np.ndarray) and values.dtype == np.float64:
        return values
    try:
        return np.array([np.nan if value is None else float(value) for value in values])
    except (TypeError, ValueError, OverflowError):
        pass  # the error would contain the value
    raise RecordError("a criterion is not a number")


def check_criteria(names: tuple[str, ...], criteria: Floats | None, score: Floats) -> None:
    """Refuse criteria that do not match the reviews, or that are not hidden exactly where scores are."""
    if criteria is None:
        if names:
            raise RecordError(f"{len(names)} names of criteria, but no criteria")
        return
    if criteria.shape != (score.size, len(names)) or not names:
        raise RecordError(f"criteria must have {score.size} rows and {len(names)} columns, got {criteria.shape}")
    if list(names) != sorted(set(names)):
        raise RecordError("criteria must be sorted by name, each once")
    if np.isinf(criteria).any():
        raise RecordError("criteria must be finite numbers")
    if (np.isnan(criteria) != np.isnan(score)[:, None]).any():
        raise RecordError(
            "criteria must be hidden exactly where the score is: a review is either entirely public or entirely hidden"
        )


def papers_left_out(paper: Papers, lacking: npt.NDArray[np.bool_], missing: MissingCriteria) -> Papers:
    """Return the papers to leave out because a review lacks a criterion, or refuse them.

    Single reviews must not be left out: the rest of a reviewer's load would reveal who wrote them. ``paper`` is the
    paper of each review, ``lacking`` whether it lacks a criterion.

    >>> papers_left_out(np.array([0, 0, 1]), np.array([False, True, False]), "leave-out")
    array([0])
    """
    if missing not in get_args(MissingCriteria):
        raise InputError(Argument("missing_criteria"), f" must be 'refuse' or 'leave-out', got {missing!r}")
    affected = np.unique(paper[lacking])
    papers = np.unique(paper).size if affected.size else 0
    if affected.size and missing == "refuse":
        raise RecordError(
            f"{np.count_nonzero(lacking)} of {lacking.size} reviews lack a criterion, in {affected.size} of "
            f"{papers} papers; fill them in, or leave these papers out whole (",
            Argument("missing_criteria", "leave-out"),
            ")",
        )
    if affected.size and affected.size == papers:
        raise RecordError("every paper has a review that lacks a criterion; nothing would be left")
    return affected
