"""Private reviews in parallel arrays, and what is left out of them on public grounds."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from peerveil.errors import Argument, InputError, RecordError
from peerveil.private.linked.pseudonyms import Pseudonyms
from peerveil.record.loads import Loads, declare_loads
from peerveil.record.parts import ABSENT, NO_SCORE, LeftOut, MissingScore
from peerveil.record.public_record import Floats, Ints, freeze
from peerveil.tables.table import Names


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Attributes:
    """Private attributes of reviewers, such as their seniority.

    Attributes:
        names: the names of the attributes.
        values: for each attribute its value for each reviewer, by number; empty where it is missing.
    """

    names: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        if not self.names or len(self.names) != len(self.values) or len(set(map(len, self.values))) != 1:
            raise RecordError("attributes need a name and one value per reviewer each")

    @property
    def reviewers(self) -> int:
        """Number of reviewers."""
        return len(self.values[0])

    def of(self, reviewers: Ints) -> Attributes:
        """Return the attributes of some reviewers, numbered anew in their order."""
        numbers = reviewers.tolist()
        return replace(self, values=tuple(tuple(column[number] for number in numbers) for column in self.values))

    def __repr__(self) -> str:
        return f"Attributes({len(self.names)} of {self.reviewers} reviewers; contents private)"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Removal:
    """Reviews to leave out on public grounds, which belong to papers or reviews and not to reviewers.

    Attributes:
        rows: for each review whether it is left out.
        why: the reason, as stated in releases.
        by_score: whether the ground is the score or a criterion, which must then be public for every review.
    """

    rows: npt.NDArray[np.bool_]
    why: str
    by_score: bool = False


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Whole:
    """The assignment of the whole conference that reviews are a part of.

    Attributes:
        paper: the number of each review's paper.
        reviewer: the number of each review's reviewer.
        left_out: what was left out, and why.
        stated: whether it was stated that everyone can see which reviews have no score, if some have none.
        by_score: whether reviews were left out by their scores or criteria.
        attributes: the attributes of all reviewers, also of those without a kept review.
        pseudonyms: those of all reviewers.
    """

    paper: Ints
    reviewer: Ints
    left_out: tuple[LeftOut, ...]
    stated: bool = True
    by_score: bool = False
    attributes: Attributes | None = None
    pseudonyms: Pseudonyms | None = None

    def __post_init__(self) -> None:
        freeze(self, "paper", "reviewer")

    def loads(self) -> Loads:
        """Return the loads of the whole conference, which are public only if stated to be."""
        return loads_of(self.reviewer)

    def concerned(self, why: str) -> int:
        """Return the number of papers that lost reviews for a reason."""
        return sum(part.papers for part in self.left_out if part.why == why)


@dataclass(frozen=True)
class Columns:
    """Reviews in parallel arrays."""

    papers: tuple[str, ...]
    paper: Ints
    reviewer: Ints
    score: Floats
    criteria: Floats | None
    whole: Whole | None = None
    attributes: Attributes | None = None
    pseudonyms: Pseudonyms | None = None

    def without(self, gone: npt.NDArray[np.bool_], why: str) -> Columns:
        """Return the other reviews, with the whole conference; which ones are left out must be public."""
        if not gone.any():
            return self
        left_out = LeftOut(papers=np.unique(self.paper[gone]).size, reviews=int(np.count_nonzero(gone)), why=why)
        if gone.all():
            raise RecordError(f"no review is left: {left_out.words}")
        known: dict[str, Any] = {"attributes": self.attributes, "pseudonyms": self.pseudonyms}
        whole = self.whole or Whole(paper=self.paper, reviewer=self.reviewer, left_out=(), **known)
        used, paper = np.unique(self.paper[~gone], return_inverse=True)
        people, reviewer = np.unique(self.reviewer[~gone], return_inverse=True)
        return Columns(
            papers=tuple(self.papers[place] for place in used.tolist()),
            paper=paper,
            reviewer=reviewer,
            score=self.score[~gone],
            criteria=None if self.criteria is None else self.criteria[~gone],
            whole=replace(whole, left_out=(*whole.left_out, left_out)),
            attributes=None if self.attributes is None else self.attributes.of(people),
            pseudonyms=None if self.pseudonyms is None else self.pseudonyms[people],
        )

    def without_all(self, removals: Sequence[Removal]) -> Columns:
        """Return the reviews that are in none of several removals."""
        columns, left = self, np.ones(self.paper.size, dtype=bool)
        for removal in removals:
            columns = columns.without(removal.rows[left], removal.why)
            left &= ~removal.rows
        if columns.whole is None:
            return columns
        return replace(columns, whole=replace(columns.whole, by_score=any(removal.by_score for removal in removals)))


def without_missing_scores(columns: Columns, missing: MissingScore | None) -> Columns:
    """Return the reviews that have a score; ``missing`` tells whether others are refused or left out."""
    if missing not in (None, *get_args(MissingScore)):
        raise InputError(Argument("missing_score"), f" must be 'refuse', 'absent' or 'leave-out', got {missing!r}")
    blank = np.isnan(columns.score)
    count, papers = int(np.count_nonzero(blank)), np.unique(columns.paper[blank])
    if count and missing == "refuse":
        raise RecordError(
            f"{count} of {blank.size} reviews have no score; if everyone can see which, state it (",
            Argument("missing_score", "absent"),
            "), or leave their papers out whole (",
            Argument("missing_score", "leave-out"),
            ")",
        )
    gone = np.isin(columns.paper, papers) if missing == "leave-out" else blank
    if count and gone.all():
        raise RecordError(f"{count} of {blank.size} reviews have no score; nothing would be left without them")
    return columns.without(gone, NO_SCORE if missing == "leave-out" else ABSENT)


def loads_of(reviewer: Ints) -> Loads:
    """Return the loads, given the number of each review's reviewer."""
    sizes, counts = np.unique(np.bincount(reviewer), return_counts=True)
    return declare_loads(reviewer.size, loads=dict(zip(sizes.tolist(), counts.tolist(), strict=True)))


def numbers_of(values: Sequence[float] | Floats) -> Floats:
    """Return scores as an array; what is not a number is refused, unseen."""
    if isinstance(values, np.ndarray) and values.dtype == np.float64 and values.ndim == 1:
        return values
    numbers: list[float] = []
    with suppress(TypeError, ValueError, OverflowError):  # whose messages hold the value
        for value in values:
            numbers.append(float(value))  # noqa: PERF401 - what precedes an error is kept
    if len(numbers) < len(values):
        raise RecordError(f"entry {len(numbers) + 1} of scores is not a number")
    return np.array(numbers, dtype=np.float64)


def coded(column: str, values: Sequence[object] | Names) -> Names:
    """Return names as indices into the sorted distinct ones; anything but text and numbers is refused, unseen."""
    if isinstance(values, Names):
        return values
    for place, value in enumerate(values, 1):
        if not isinstance(value, str | Real) or value != value:  # noqa: PLR0124 - only NaN differs from itself
            raise RecordError(f"entry {place} of {column} is neither text nor a number")
    return Names.of([str(value) for value in values])
