"""Public scores as they stand in a table: read row by row, kept in little memory, put in their canonical order."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from peerveil.record.criteria import MissingCriteria, canonical_order, papers_left_out
from peerveil.record.public_formats import public_table
from peerveil.record.public_record import Floats, Ints, owned
from peerveil.tables.columns import Cells, Coded, give_back, scratch
from peerveil.tables.reading import Source
from peerveil.tables.scores import to_score
from peerveil.tables.table import PAPER_NAMES, RATING_NAMES, Table, criteria_columns, is_missing, wanted_columns

#: How a score that exists but is not public is written.
HIDDEN = "?"

#: No paper has more reviews than this.
MOST_REVIEWS = 1_000

# A criterion that is missing, in the midst of others.
_GAP = math.inf
_SEVERAL = "a paper occurs twice and a cell holds several scores; give a row a paper, or a row a review"

COUNT_NAMES = ("reviews", "number of reviews")

# Rows that repeat are read once, as long as they are this few and short; so many reviews are sorted together. Both are
# small beside a large file.
_FEW = 2**12
_SHORT = 8
_BLOCK = 2**14


@dataclass(kw_only=True)
class PublicScores:
    """The scores and criteria of each paper that has any, in the order in which the file has its papers.

    Attributes:
        papers: names of the papers, sorted.
        place: for each paper, in the file's order, its place among ``papers``.
        sizes: for each paper, in the file's order, how many reviews it has.
        values: for each review, paper by paper in the file's order, its score and its criteria; NaN where hidden.
        criteria: names of the criteria.
        without: how many papers without a score were left out.
        format: the format of the file.
        why: what showed it.
        header: the columns of the file that may be shown.
        others: how many other columns it has.
        left_out: what else was left out, by reason.
    """

    papers: tuple[str, ...]
    place: npt.NDArray[np.uint32]
    sizes: npt.NDArray[np.uint32]
    values: list[npt.NDArray[np.floating[Any]]]
    criteria: tuple[str, ...] = ()
    without: int = 0
    format: str = ""
    why: str = ""
    header: tuple[str, ...] = ()
    others: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def reviews(self) -> int:
        """Number of reviews."""
        return int(self.sizes.sum(dtype=np.int64))

    def column(self, place: int) -> Floats:
        """The scores (0), or a criterion, of all reviews."""
        return self.values[place].astype(np.float64)

    def by_paper(self) -> dict[str, list[tuple[float, ...]]]:
        """Score and criteria of the reviews of each paper."""
        reviews = list(zip(*(column.tolist() for column in self.values), strict=True))
        ends = np.cumsum(self.sizes, dtype=np.int64).tolist()
        starts = [0, *ends[:-1]]
        rows = zip(self.place.tolist(), starts, ends, strict=True)
        return {self.papers[p]: reviews[start:end] for p, start, end in rows}

    def leave_out(self, missing: MissingCriteria) -> int:
        """Leave out the papers of which a public review lacks a criterion, if asked to; otherwise refuse them."""
        score, *grades = self.values
        lacking = np.zeros(score.size, dtype=bool)
        for grade in grades:
            lacking |= np.isnan(grade)
        lacking &= ~np.isnan(score)
        if not lacking.any():
            papers_left_out(np.empty(0, dtype=np.int64), np.empty(0, dtype=bool), missing)
            return 0
        row = np.repeat(np.arange(self.sizes.size), self.sizes)
        gone = papers_left_out(row, lacking, missing)
        kept = np.ones(self.sizes.size, dtype=bool)
        kept[gone] = False
        self.keep(kept)
        return int(gone.size)

    def keep(self, kept: npt.NDArray[np.bool_]) -> None:
        """Keep some papers, told by their place in the file's order."""
        reviews = np.repeat(kept, self.sizes)
        self.values = [column[reviews] for column in self.values]
        self.sizes, place = self.sizes[kept], self.place[kept]
        left = np.sort(place)
        self.papers = tuple(self.papers[p] for p in left.tolist())
        self.place = np.searchsorted(left, place).astype(np.uint32)

    def arrays(self) -> tuple[Ints, Floats, Floats | None]:
        """For each review its paper, score and criteria, in canonical order; what is here is used up on the way."""
        give_back()
        papers = self.place.size
        row, start, sizes = scratch(papers), scratch(papers), scratch(papers)
        for first in range(0, papers, _BLOCK):
            row[self.place[first : first + _BLOCK]] = np.arange(first, min(papers, first + _BLOCK))
        np.cumsum(self.sizes, out=start)
        np.subtract(start, self.sizes, out=start)
        np.take(self.sizes, row, out=sizes)
        self.sizes, self.place = sizes, scratch(0)
        names = sorted(range(len(self.criteria)), key=self.criteria.__getitem__)
        score = np.empty(self.reviews)
        criteria = np.empty((score.size, len(names))) if names else None
        for some, reviews in self._blocks():
            size = sizes[some].astype(np.int64)
            ends = np.cumsum(size)
            among = np.repeat(start[row[some]] - (ends - size), size) + np.arange(ends[-1])
            scores = self.values[0][among].astype(np.float64)
            matrix = np.column_stack([self.values[1 + name][among] for name in names]) if names else None
            matrix = None if matrix is None else matrix.astype(np.float64)
            order = canonical_order(np.repeat(np.arange(size.size), size), scores, matrix)
            score[reviews] = scores[order]
            if criteria is not None and matrix is not None:
                criteria[reviews] = matrix[order]
        self.values.clear()
        del row, start
        give_back()
        paper = np.empty(score.size, dtype=np.int64)
        for some, reviews in self._blocks():
            paper[reviews] = np.repeat(np.arange(some.start, some.stop), sizes[some])
        self.sizes = scratch(0)
        return owned(paper), owned(score), None if criteria is None else owned(criteria)

    def _blocks(self) -> Iterator[tuple[slice, slice]]:
        """Papers that follow each other, few enough that what is made of their reviews is small, and these reviews."""
        paper = review = 0
        while paper < self.sizes.size:
            held = np.cumsum(self.sizes[paper : paper + _BLOCK], dtype=np.int64)
            count = max(1, int(np.searchsorted(held, _BLOCK, side="right")))
            end = review + int(held[count - 1])
            yield slice(paper, paper + count), slice(review, end)
            paper, review = paper + count, end


def public_scores(
    source: Source,
    *,
    format: str | None = None,  # noqa: A002 - the name users know
    paper: str | None = None,
    ratings: str | None = None,
    criteria: Sequence[str] = (),
) -> PublicScores:
    """The public scores of a file or frame; arguments as in :func:`peerveil.read_public`."""
    usual = wanted_columns((*PAPER_NAMES, "id", *RATING_NAMES, *COUNT_NAMES), paper, ratings, *criteria)
    found = public_table(source, format, criteria, lambda name: name.isdecimal() or usual(name))
    scores = scores_of(found.table, paper, ratings, criteria)
    scores.format, scores.why, scores.left_out = found.format, found.why, found.left_out
    scores.header = tuple(found.table.header((paper, ratings, *criteria)))
    scores.others = len(found.table.columns) - len(scores.header)
    return scores


def scores_of(
    table: Table, paper: str | None = None, ratings: str | None = None, criteria: Sequence[str] = ()
) -> PublicScores:
    """The scores and criteria of the papers in a table; its cells are let go of as soon as they are not needed.

    A hidden score is written ``?``. A paper without scores may say in a column ``reviews`` how many hidden ones it has.
    """
    graded = criteria_columns(table, criteria)
    named = PAPER_NAMES if table.matches(PAPER_NAMES) else (*PAPER_NAMES, "id")
    papers = table.names(table.find("paper", named, paper))
    numbered = [name for name in table.columns if name.isdecimal()]
    if ratings is None and numbered and not table.matches(RATING_NAMES):
        scored = numbered  # a column a review, called 0, 1 and so on
    else:
        numbered, scored = [], [table.find("ratings", RATING_NAMES, ratings)]
    row_a_review = len(papers.values) < len(papers)
    counted = table.matches(COUNT_NAMES)
    rows = _Rows(
        table=table,
        scored=scored,
        numbered=bool(numbered),
        graded=graded,
        counts=counted[0] if counted and not row_a_review else None,
        row_a_review=row_a_review,
    )
    sizes, values = rows.read()
    found = PublicScores(
        papers=tuple(papers.values), place=papers.numbers(), sizes=sizes, values=values, criteria=tuple(criteria)
    )
    if row_a_review:
        return _gathered(found, papers)
    kept = sizes > 0
    if not kept.any():
        raise table.error("holds no scores", column=scored[0])
    if not kept.all():
        found.without = int(np.count_nonzero(~kept))
        found.keep(kept)
    return found


def _gathered(found: PublicScores, papers: Coded) -> PublicScores:
    """The same with a paper's reviews together, where each had a row of its own."""
    order = np.argsort(papers.numbers(), kind="stable")
    found.values = [column[order] for column in found.values]
    found.sizes = np.bincount(papers.numbers()).astype(np.uint32)
    found.place = np.arange(found.sizes.size, dtype=np.uint32)
    return found


@dataclass(kw_only=True)
class _Rows:
    """The rows of a table of public scores.

    Attributes:
        table: the table.
        scored: the columns of scores.
        numbered: whether each of them holds one review.
        graded: the columns of criteria.
        counts: the column of the numbers of reviews.
        row_a_review: whether a row is a review, not a paper.
        worth: what some texts are worth.
        lists: the scores in some cells, and whether there may be gaps among them.
    """

    table: Table
    scored: list[str]
    numbered: bool
    graded: list[str]
    counts: str | None
    row_a_review: bool
    worth: dict[str, float] = field(default_factory=dict)
    lists: dict[tuple[str, bool], list[float]] = field(default_factory=dict)

    def read(self) -> tuple[npt.NDArray[np.uint32], list[npt.NDArray[np.floating[Any]]]]:
        """How many reviews each row holds, and the scores and criteria of all."""
        sizes = scratch(self.table.rows)
        written = sizes.data  # faster than the array, one by one
        kept = _Compact(1 + len(self.graded))
        names = [*self.scored, *self.graded, *([] if self.counts is None else [self.counts])]
        columns: list[Cells] = [self.table.columns[name] for name in names]
        repeat = all(isinstance(column, Coded) for column in columns)  # and are text: elsewhere True equals 1
        memo: dict[tuple[Any, ...], tuple[int, array[float]]] = {}
        for row, cells in enumerate(zip(*columns, strict=True)):
            found = memo.get(cells) if repeat else None
            if found is None:
                found = self._reviews(row, cells)
                if repeat and found[0] <= _SHORT and len(memo) < _FEW:
                    memo[cells] = found
            written[row] = found[0]
            kept.extend(found[1])
        return sizes, kept.columns()

    def _reviews(self, row: int, cells: tuple[Any, ...]) -> tuple[int, array[float]]:
        """How many reviews a row holds, and the score and the criteria of each."""
        count = len(self.scored)
        column, grades = self.scored[0], cells[count : count + len(self.graded)]
        scores: list[float]
        if self.numbered:
            scores = [self._score(cell, row, column) for cell in cells[:count] if not is_missing(cell)]
        else:
            scores = self._listed(cells[0], row, column)
        if self.counts is not None:
            scores = _as_counted(self.table, scores, row, self.counts)
        if self.row_a_review and len(scores) != 1:
            problem = "the score is missing" if not scores else _SEVERAL
            raise self.table.error(problem, row=row, column=column)
        listed = zip(grades, self.graded, strict=True) if scores else ()
        columns = [self._grades(scores, cell, row, name) for cell, name in listed]
        return len(scores), array("d", chain.from_iterable(zip(scores, *columns, strict=True)))

    def _listed(self, cell: Any, row: int, column: str, *, gaps: bool = False) -> list[float]:
        """The scores in a cell, NaN where one is hidden; where there may be gaps, infinite where one is missing."""
        known = self.lists.get((cell, gaps)) if isinstance(cell, str) else None
        if known is not None:
            return known
        if not self.row_a_review:
            _check_commas(self.table, cell, row, column)
        parts = _parts(cell)
        if self.row_a_review and len(parts) > 1:
            raise self.table.error(_SEVERAL, row=row, column=column)
        found = [_GAP if gaps and is_missing(part) else self._score(part, row, column) for part in parts]
        if isinstance(cell, str) and len(found) <= _SHORT and len(self.lists) < _FEW:
            self.lists[cell, gaps] = found
        return found

    def _score(self, part: Any, row: int, column: str) -> float:
        """One score, NaN where it is hidden; texts repeat, so a few are remembered."""
        if not isinstance(part, str):
            return self.table.number(part, row=row, column=column, value=to_score)
        known = self.worth.get(part)
        if known is None:
            hidden = part.strip() == HIDDEN
            known = math.nan if hidden else self.table.number(part, row=row, column=column, value=to_score)
            if len(self.worth) < _FEW:
                self.worth[part] = known
        return known

    def _grades(self, scores: list[float], cell: Any, row: int, column: str) -> list[float]:
        """One criterion of each review in a row, NaN where it is missing or hidden along with the score."""
        grades = self._listed(cell, row, column, gaps=True) or [_GAP] * len(scores)
        if len(grades) != len(scores):
            raise self.table.error(f"has {len(grades)} values for {len(scores)} scores", row=row, column=column)
        if all(map(math.isfinite, grades)) and all(map(math.isfinite, scores)):
            return grades
        for score, grade in zip(scores, grades, strict=True):
            if grade != _GAP and math.isnan(score) != math.isnan(grade):
                raise self.table.error(
                    f"a review is public as a whole or not at all; write '{HIDDEN}' for both its score and its "
                    "criteria, or for none of them",
                    row=row,
                    column=column,
                )
        return [math.nan if grade == _GAP else grade for grade in grades]


class _Compact:
    """Reviews that are taken one after the other, in the smallest numbers that hold them exactly."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._taken = array("d")
        self._done: list[npt.NDArray[np.floating[Any]]] = []

    def extend(self, reviews: array[float]) -> None:
        self._taken.extend(reviews)
        if len(self._taken) >= _BLOCK * self._width:
            self._settle()

    def _settle(self) -> None:
        wide = np.array(self._taken).reshape(-1, self._width)
        self._done.append(_narrow(wide))
        del self._taken[:]

    def columns(self) -> list[npt.NDArray[np.floating[Any]]]:
        """Score and criteria, each by itself."""
        self._settle()
        kind = np.result_type(*self._done)
        columns = [scratch(sum(map(len, self._done)), kind.type) for _ in range(self._width)]
        for place, column in enumerate(columns):
            np.concatenate([block[:, place] for block in self._done], out=column)
        self._done.clear()
        return columns


def _narrow(numbers: Floats) -> npt.NDArray[np.floating[Any]]:
    """The same numbers in as few bytes as hold them exactly: half points take two."""
    with np.errstate(over="ignore"):
        half, single = numbers.astype(np.float16), numbers.astype(np.float32)
    if np.array_equal(half, numbers, equal_nan=True):
        return half
    return single if np.array_equal(single, numbers, equal_nan=True) else numbers


def _check_commas(table: Table, cell: Any, row: int, column: str) -> None:
    if isinstance(cell, str) and _COMMAS.fullmatch(cell.strip()):
        raise table.error(
            "a comma could part two scores or be a decimal comma; part scores by ';'", row=row, column=column
        )


def _as_counted(table: Table, scores: list[float], row: int, column: str) -> list[float]:
    """The scores of a paper, hidden ones where it has none, checked against the number it states, if it does."""
    cell = table.columns[column][row]
    if is_missing(cell):
        return scores
    stated = table.number(cell, row=row, column=column)
    if stated != int(stated) or not 0 <= stated <= MOST_REVIEWS:
        raise table.error(
            f"the number of reviews must be a whole number from 0 to {MOST_REVIEWS}", row=row, column=column
        )
    if scores and len(scores) != stated:
        raise table.error(
            f"the paper states {int(stated)} reviews but shows {len(scores)} scores; write hidden ones as '{HIDDEN}'",
            row=row,
            column=column,
        )
    return scores or [math.nan] * int(stated)


def _parts(cell: Any) -> list[Any]:
    """The scores that a cell holds: parted by semicolons, or in brackets and parted by commas."""
    if is_missing(cell):
        return []
    if isinstance(cell, tuple):
        return list(cell)
    if not isinstance(cell, str):
        return [cell]
    text = cell.strip()
    if not (text.startswith("[") and text.endswith("]")):
        return cell.split(";")
    if not text[1:-1].strip():
        return []
    return [part[0] or part[1] or part[2].strip() for part in _LISTED.findall(text[1:-1] + ",")]


_COMMAS = re.compile(r"[\d.\s]+(?:,[\d.\s]+)+")

# A part of a Python list: text in quotes, or anything up to the next comma.
_LISTED = re.compile(r"""\s*(?:'([^']*)'|"([^"]*)"|([^,]*))\s*,""")
