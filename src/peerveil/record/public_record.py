"""The public record of a conference: the scores of each paper, without their reviewers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from peerveil.errors import Argument, RecordError
from peerveil.record.criteria import Criteria, arrange_criteria, canonical_order, check_criteria, in_canonical_order
from peerveil.record.loads import Loads, LoadsStatement, declare_loads
from peerveil.record.parts import Part, is_open
from peerveil.support.html_tables import table

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class PublicRecord:
    """The public part of a conference's reviews, in an order that carries no information.

    Papers are sorted by name and the reviews of each paper by score, then criteria, so that two assignments with the
    same public part give identical objects. Make one with :meth:`from_rows` or :func:`peerveil.read_public`.

    Attributes:
        papers: names of the papers, sorted.
        paper: for each review, the index of its paper, ascending.
        score: for each review, its score; NaN if it is hidden. Hidden scores come last in their paper.
        loads: the public knowledge of the reviewers' loads.
        scale: the declared lowest and highest possible score; required if scores are hidden.
        notes: what was left out, and why.
        criteria: for each review, a row of criteria such as soundness and clarity, more being better, or ``None`` if
            there are none. NaN if the review is hidden: score and criteria are public together or not at all.
        criteria_names: names of the columns of ``criteria``, sorted.
        part: the whole conference, if the record holds a part of its reviews.

    >>> record = PublicRecord.from_rows([[8, 6], [3, 5]], load=2)
    >>> record.rows()
    [[6.0, 8.0], [3.0, 5.0]]
    >>> PublicRecord.from_rows([[8, None], [3, 5]], load=2, scale=(1, 10)).hidden
    1
    """

    papers: tuple[str, ...]
    paper: Ints
    score: Floats
    loads: Loads
    scale: tuple[float, float] | None = None
    notes: tuple[str, ...] = field(default=())
    criteria: Floats | None = None
    criteria_names: tuple[str, ...] = ()
    part: Part | None = None

    def __post_init__(self) -> None:
        freeze(self, "score", "paper", "criteria")
        if self.score.size != self.loads.reviews or self.paper.size != self.score.size:
            raise RecordError(f"{self.score.size} scores for {self.loads.reviews} reviews")
        if np.isinf(self.score).any():
            raise RecordError("scores must be finite numbers")
        if self.hidden and self.scale is None:
            raise RecordError(
                f"{self.hidden} scores are hidden: state the scale, their lowest and highest possible value (",
                Argument("scale", ..., of="score"),
                ")",
            )
        if any(b <= a for a, b in pairwise(self.papers)):
            raise RecordError("papers must be sorted by name, each once")
        check_criteria(self.criteria_names, self.criteria, self.score)
        if not in_canonical_order(self.paper, self.score, self.criteria):
            raise RecordError("reviews must be sorted by paper, then by score, then by criteria")
        if self.paper.size and not 0 <= self.paper[0] <= self.paper[-1] < len(self.papers):
            raise RecordError(f"reviews are of papers that are not among the {len(self.papers)} named ones")
        check_scale(self.score, self.scale)
        check_assignable(self.sizes(), self.loads)
        check_part(self.part, self.sizes(), self.loads)

    @classmethod
    def from_rows(
        cls,
        rows: Iterable[Iterable[float | None]],
        *,
        papers: Sequence[str] | None = None,
        load: int | None = None,
        loads: LoadsStatement | None = None,
        reviewers: int | None = None,
        scale: tuple[float, float] | None = None,
        notes: tuple[str, ...] = (),
        criteria: Mapping[str, Iterable[Iterable[float | None]]] | None = None,
        part: Part | None = None,
    ) -> PublicRecord:
        """Return a record from one row of scores per paper; loads as in :func:`peerveil.record.loads.declare_loads`.

        A score of ``None`` is hidden: the review is public, its score is not. Criteria also have one row per paper, in
        the order of the scores.

        >>> record = PublicRecord.from_rows([[8, 6]], load=1, criteria={"clarity": [[3, 4]]})
        >>> record.criteria.tolist()
        [[4.0], [3.0]]
        """
        given = [list(row) for row in rows]
        if any(x is not None and not math.isfinite(x) for row in given for x in row):
            raise RecordError("scores must be finite numbers, or None where they are hidden")
        listed = [np.array([np.nan if x is None else x for x in row], dtype=np.float64) for row in given]
        names = list(numbered_papers(len(listed))) if papers is None else [str(name) for name in papers]
        if len(names) != len(listed):
            raise RecordError(f"papers has {len(names)} names for {len(listed)} rows")
        if not listed or not all(row.size for row in listed):
            raise RecordError("every paper needs at least one score, and the record at least one paper")
        paper = np.repeat(np.arange(len(listed), dtype=np.int64), [row.size for row in listed])
        score = np.concatenate(listed)
        declared = declare_loads(score.size, load=load, loads=loads, reviewers=reviewers, papers=len(listed))
        flat: dict[str, list[float]] = {}
        for name, graded in (criteria or {}).items():
            grades = [[np.nan if x is None else x for x in row] for row in graded]
            if [len(row) for row in grades] != [row.size for row in listed]:
                raise RecordError(
                    f"criterion {name!r} must have one row per paper, each as long as that paper's scores"
                )
            flat[name] = [x for row in grades for x in row]
        return cls.from_reviews(names, paper, score, declared, scale=scale, notes=notes, criteria=flat, part=part)

    @classmethod
    def from_reviews(
        cls,
        papers: Sequence[str],
        paper: npt.NDArray[np.integer],
        score: Floats,
        loads: Loads,
        *,
        scale: tuple[float, float] | None = None,
        notes: tuple[str, ...] = (),
        criteria: Criteria | None = None,
        part: Part | None = None,
    ) -> PublicRecord:
        """Return a record from parallel arrays in any order."""
        if any(b <= a for a, b in pairwise(papers)):
            if len(set(papers)) != len(papers):
                raise RecordError("a paper's name occurs twice")
            by_name = sorted(range(len(papers)), key=papers.__getitem__)
            papers, paper = [papers[i] for i in by_name], np.argsort(by_name)[paper]
        criteria_names, matrix = arrange_criteria(criteria, score.size)
        order = canonical_order(paper, score, matrix)
        return cls(
            papers=tuple(papers),
            paper=owned(paper[order].astype(np.int64)),
            score=owned(score[order]),
            loads=loads,
            scale=scale,
            notes=notes,
            criteria=None if matrix is None else owned(matrix[order]),
            criteria_names=criteria_names,
            part=part,
        )

    @property
    def hidden(self) -> int:
        """Number of reviews whose score is not public."""
        return int(np.count_nonzero(np.isnan(self.score)))

    def sizes(self) -> Ints:
        """Return the number of reviews of each paper."""
        return np.bincount(self.paper, minlength=len(self.papers))

    def score_bounds(self) -> tuple[Floats, Floats]:
        """Return the least and the greatest possible score of each review: the ends of the scale if it is hidden."""
        hidden = np.isnan(self.score)
        low, high = (np.nan, np.nan) if self.scale is None else self.scale
        return np.where(hidden, low, self.score), np.where(hidden, high, self.score)

    def rows(self) -> list[list[float]]:
        """Return the scores of each paper, ascending."""
        return split_rows(self.score, self.sizes())

    def __repr__(self) -> str:
        hidden = f" ({self.hidden} hidden)" if self.hidden else ""
        reviewers = f"{self.loads.reviewers} reviewers: {self.loads.describe()}"
        if is_open(self.part):
            reviewers = f"an unknown number of {self.part.whole.reviewers} reviewers"
        return f"PublicRecord({len(self.papers)} papers, {self.score.size} reviews{hidden}, {reviewers})"

    def _repr_html_(self) -> str:
        rows: list[tuple[str, object]] = [
            ("papers", len(self.papers)),
            ("reviews", self.score.size),
            ("hidden scores", self.hidden),
            ("reviewers", self.loads.reviewers),
            ("loads", self.loads.describe()),
            ("scale", "not declared" if self.scale is None else f"{self.scale[0]:g} to {self.scale[1]:g}"),
        ]
        if self.criteria_names:
            rows.append(("criteria", ", ".join(self.criteria_names)))
        return table("Public record", rows)


def numbered_papers(papers: int) -> tuple[str, ...]:
    """Return names for so many papers, in sorted order.

    >>> numbered_papers(10)[:2]
    ('paper 01', 'paper 02')
    """
    return tuple(f"paper {number:0{len(str(papers))}d}" for number in range(1, papers + 1))


def check_scale(scores: Floats, scale: tuple[float, float] | None) -> None:
    """Refuse scores outside the declared scale."""
    if scale is None:
        return
    low, high = scale
    if not (np.isfinite([low, high]).all() and low < high):
        raise RecordError(Argument("scale", of="score"), f" must be two finite numbers, the lower first, got {scale}")
    outside = int(np.count_nonzero((scores < low) | (scores > high)))
    if outside:
        raise RecordError(
            f"{outside} of {scores.size} scores lie outside the declared scale {low:g} to {high:g}; correct them, or "
            "state the lowest and the highest possible score with ",
            Argument("scale", ..., of="score"),
        )


def check_assignable(sizes: Ints, loads: Loads) -> None:
    """Refuse a record without a possible assignment (theorem of Gale and Ryser).

    >>> check_assignable(np.array([3, 1]), declare_loads(4, load=2))
    Traceback (most recent call last):
    peerveil.errors.RecordError: a paper has 3 reviews but there are only 2 reviewers, and nobody reviews ...
    """
    most = int(sizes.max())
    if most > loads.reviewers:
        raise RecordError(
            f"a paper has {most} reviews but there are only {loads.reviewers} reviewers, and nobody reviews a "
            "paper twice"
        )
    needed = loads.largest if loads.counts is not None else loads.smallest
    if needed > sizes.size:
        raise RecordError(
            f"a reviewer has a load of {needed} but there are only {sizes.size} papers, and nobody reviews a "
            "paper twice"
        )
    if loads.counts is None or loads.uniform:
        return
    # The j busiest reviewers hold at most min(k_r, j) reviews of paper r, which is all of them from the largest k_r on.
    busiest = np.cumsum(loads.per_reviewer(most))
    papers_with_at_least = np.cumsum(np.bincount(sizes, minlength=most + 1)[::-1])[::-1]
    room = np.cumsum(papers_with_at_least[1 : most + 1])
    short = np.flatnonzero(busiest > room)
    if short.size:
        j = int(short[0])
        raise RecordError(
            f"the {j + 1} busiest reviewers would hold {busiest[j]} reviews, but the papers have room for only "
            f"{room[j]} of theirs: nobody reviews a paper twice"
        )


def check_part(part: Part | None, sizes: Ints, loads: Loads) -> None:
    """Refuse loads of a part that contradict the public facts about the whole conference."""
    if part is None:
        return
    if part.kept != loads.reviews:
        raise RecordError(f"the part keeps {part.kept} reviews of the conference, but the record has {loads.reviews}")
    if loads.largest > part.whole.largest or loads.reviewers > part.whole.reviewers:
        raise RecordError(
            f"a part cannot have more reviewers or larger loads than the conference: {loads.reviewers} with up to "
            f"{loads.largest} reviews, of {part.whole.reviewers} with up to {part.whole.largest}"
        )
    if part.number == "follows" and loads != part.following(sizes.size):
        raise RecordError("the loads of the part are not those that follow from the whole conference's")


def split_rows(values: Floats, sizes: Ints) -> list[list[float]]:
    """Return a flat array as one list per paper."""
    return [part.tolist() for part in np.split(values, np.cumsum(sizes)[:-1])]


Numbers = TypeVar("Numbers", Floats, Ints)


def freeze(record: object, *names: str) -> None:
    """Replace the arrays of a frozen dataclass by read-only copies; see :func:`frozen`."""
    for name in names:
        if (array := getattr(record, name)) is not None:
            object.__setattr__(record, name, frozen(array))


def frozen(array: Numbers) -> Numbers:
    """Return a read-only copy without minus zeros, because the order of equal zeros would carry information.

    An array from :func:`owned` is not copied again.
    """
    minus_zero = array.dtype.kind == "f" and (zero := array == 0).any() and np.signbit(array[zero]).any()
    if not array.flags.writeable and array.flags.owndata and type(array) is np.ndarray and not minus_zero:
        return array
    return owned(array + 0)


def owned(array: Numbers) -> Numbers:
    """Make an array that has no other owner read-only and remove minus zeros."""
    array += 0
    array.flags.writeable = False
    return array
