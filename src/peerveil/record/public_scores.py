"""Public scores as they are written in a table: parsed row by row, one entry per review."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain, compress

import numpy as np
import numpy.typing as npt
import polars as pl

from peerveil.record.criteria import MissingCriteria, papers_left_out
from peerveil.record.public_formats import public_table
from peerveil.record.public_record import Floats, Ints
from peerveil.tables.cells import is_missing
from peerveil.tables.headings import PAPER_NAMES, RATING_NAMES, wanted_columns
from peerveil.tables.opening import Readable
from peerveil.tables.scores import to_score
from peerveil.tables.table import Table

#: How a score that exists but is not public is written.
HIDDEN = "?"

#: No paper has more reviews than this.
MOST_REVIEWS = 1_000

COUNT_NAMES = ("reviews", "number of reviews")

# A criterion that is missing between others.
_GAP = math.inf
_SEVERAL = "a paper occurs twice and a cell holds several scores; give a row a paper, or a row a review"

# Texts of scores repeat; this many of them are remembered.
_REMEMBERED = 2**12

#: One score or criterion as it is written: a text, or in PeerRead a list of texts.
Cell = str | list[str]


@dataclass(frozen=True, kw_only=True)
class PublicScores:
    """The scores and criteria of all reviews.

    Attributes:
        papers: names of the papers that have a review, sorted.
        paper: for each review the index of its paper.
        score: for each review its score; NaN where hidden.
        criteria: for each criterion its value in each review; NaN where hidden or missing.
        without: how many papers without a score were left out.
        format: the format of the file.
        why: what showed it.
        header: the columns of the file that may be shown.
        others: how many other columns it has.
        left_out: what else was left out, by reason.
    """

    papers: tuple[str, ...]
    paper: npt.NDArray[np.integer]
    score: Floats
    criteria: Mapping[str, Floats]
    without: int = 0
    format: str = ""
    why: str = ""
    header: tuple[str, ...] = ()
    others: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def sizes(self) -> Ints:
        """Number of reviews of each paper."""
        return np.bincount(self.paper, minlength=len(self.papers))

    def leave_out(self, missing: MissingCriteria) -> PublicScores:
        """The scores without papers of which a public review lacks a criterion, if asked to; else these are refused."""
        lacking = np.zeros(self.score.size, dtype=bool)
        for grades in self.criteria.values():
            lacking |= np.isnan(grades)
        gone = papers_left_out(self.paper, lacking & ~np.isnan(self.score), missing)
        if not gone.size:
            return self
        kept = ~np.isin(self.paper, gone)
        used = np.bincount(self.paper[kept], minlength=len(self.papers)) > 0
        return replace(
            self,
            papers=tuple(compress(self.papers, used)),
            paper=(np.cumsum(used) - 1)[self.paper[kept]],
            score=self.score[kept],
            criteria={name: grades[kept] for name, grades in self.criteria.items()},
        )


def public_scores(
    readable: Readable,
    *,
    format: str | None = None,  # noqa: A002 - the name users know
    paper: str | None = None,
    ratings: str | None = None,
    criteria: Sequence[str] = (),
) -> PublicScores:
    """The public scores of a file or frame; arguments as in :func:`peerveil.read_public`."""
    usual = wanted_columns((*PAPER_NAMES, "id", *RATING_NAMES, *COUNT_NAMES), paper, ratings, *criteria)
    public = public_table(readable, format, criteria, lambda name: name.isdecimal() or usual(name))
    header = tuple(public.table.showable((paper, ratings, *criteria)))
    return replace(
        scores_of(public.table, paper, ratings, criteria),
        format=public.format,
        why=public.why,
        header=header,
        others=len(public.table.header) - len(header),
        left_out=public.left_out,
    )


def scores_of(
    table: Table, paper: str | None = None, ratings: str | None = None, criteria: Sequence[str] = ()
) -> PublicScores:
    """The scores and criteria of the papers in a table.

    A hidden score is written ``?``. A paper without scores may state in a column ``reviews`` how many hidden ones it
    has.
    """
    graded = table.find_criteria(criteria)
    usual = PAPER_NAMES if table.matches(PAPER_NAMES) else (*PAPER_NAMES, "id")
    papers = table.names(table.find("paper", usual, paper))
    scored = [name for name in table.header if name.isdecimal()]  # one column per review, called 0, 1 and so on
    numbered = ratings is None and bool(scored) and not table.matches(RATING_NAMES)
    row_a_review = len(papers.values) < table.rows
    counts = table.matches(COUNT_NAMES)
    rows = _Rows(
        table=table,
        scored=scored if numbered else [table.find("ratings", RATING_NAMES, ratings)],
        numbered=numbered,
        graded=graded,
        counts=None if row_a_review or not counts else counts[0],
        row_a_review=row_a_review,
    )
    sizes, values = rows.read()
    if not values.size:
        raise table.error("holds no scores", column=rows.scored[0])
    used = np.zeros(len(papers.values), dtype=bool)
    used[papers.codes[sizes > 0]] = True
    index = (np.cumsum(used) - 1).astype(np.uint32)
    return PublicScores(
        papers=tuple(compress(papers.values, used)),
        paper=np.repeat(index[papers.codes], sizes),
        score=values[:, 0],
        criteria={name: values[:, place] for place, name in enumerate(criteria, 1)},
        without=int(np.count_nonzero(~used)),
    )


@dataclass(frozen=True, kw_only=True)
class _Rows:
    """The rows of a table of public scores.

    Attributes:
        table: the table.
        scored: the columns of scores.
        numbered: whether each of them holds one review.
        graded: the columns of criteria.
        counts: the column of the numbers of reviews.
        row_a_review: whether a row is a review, not a paper.
        worth: what a text is worth.
    """

    table: Table
    scored: list[str]
    numbered: bool
    graded: list[str]
    counts: str | None
    row_a_review: bool
    worth: Callable[[str], float | None] = field(default_factory=lambda: lru_cache(_REMEMBERED)(_worth))

    def read(self) -> tuple[Ints, Floats]:
        """How many reviews each row holds, and a matrix with the score and the criteria of each review."""
        sizes, values = array("q"), array("d")
        names = [*self.scored, *self.graded, *([] if self.counts is None else [self.counts])]
        columns = (self.table.cells[name] for name in names)
        lists = (column.to_list() if column.dtype == pl.List else column for column in columns)
        for row, cells in enumerate(zip(*lists, strict=True)):
            reviews = self._reviews(row, cells)
            sizes.append(len(reviews[0]))
            values.extend(chain.from_iterable(zip(*reviews, strict=True)))
        return np.asarray(sizes), np.asarray(values).reshape(-1, 1 + len(self.graded))

    def _reviews(self, row: int, cells: tuple[Cell, ...]) -> list[list[float]]:
        """The scores of a row's reviews, and each criterion of them."""
        count, column = len(self.scored), self.scored[0]
        if self.numbered:
            scores = [self._score(cell, row, column) for cell in cells[:count] if not is_missing(cell)]
        else:
            scores = self._listed(cells[0], row, column)
        if self.counts is not None:
            scores = _as_counted(self.table, scores, str(cells[-1]), row, self.counts)
        if self.row_a_review and len(scores) != 1:
            raise self.table.error("the score is missing" if not scores else _SEVERAL, row=row, column=column)
        grades = zip(cells[count:], self.graded, strict=False)
        return [scores, *(self._grades(scores, cell, row, name) if scores else [] for cell, name in grades)]

    def _listed(self, cell: Cell, row: int, column: str, *, gaps: bool = False) -> list[float]:
        """The scores in a cell, NaN where one is hidden; where there may be gaps, infinite where one is missing."""
        if not self.row_a_review and isinstance(cell, str) and "," in cell and _COMMAS.fullmatch(cell.strip()):
            problem = "a comma could part two scores or be a decimal comma; part scores by ';'"
            raise self.table.error(problem, row=row, column=column)
        parts = _parts(cell)
        if self.row_a_review and len(parts) > 1:
            raise self.table.error(_SEVERAL, row=row, column=column)
        return [_GAP if gaps and is_missing(part) else self._score(part, row, column) for part in parts]

    def _score(self, part: Cell, row: int, column: str) -> float:
        """One score, NaN where it is hidden."""
        worth = self.worth(str(part))
        if worth is not None and math.isnan(worth):
            return worth
        return self.table.number(str(part), row=row, column=column, value=lambda _: worth)

    def _grades(self, scores: list[float], cell: Cell, row: int, column: str) -> list[float]:
        """One criterion of each review in a row, NaN where it is missing or hidden along with the score."""
        grades = self._listed(cell, row, column, gaps=True) or [_GAP] * len(scores)
        if len(grades) != len(scores):
            raise self.table.error(f"has {len(grades)} values for {len(scores)} scores", row=row, column=column)
        if any(g != _GAP and math.isnan(x) != math.isnan(g) for x, g in zip(scores, grades, strict=True)):
            raise self.table.error(
                f"a review is public as a whole or not at all; write '{HIDDEN}' for both its score and its criteria, "
                "or for none of them",
                row=row,
                column=column,
            )
        return [math.nan if grade == _GAP else grade for grade in grades]


def _worth(text: str) -> float | None:
    return math.nan if text.strip() == HIDDEN else to_score(text)


def _as_counted(table: Table, scores: list[float], cell: str, row: int, column: str) -> list[float]:
    """The scores of a paper, hidden ones where it has none, checked against the number it states, if it does."""
    if is_missing(cell):
        return scores
    stated = table.number(cell, row=row, column=column)
    if stated != int(stated) or not 0 <= stated <= MOST_REVIEWS:
        problem = f"the number of reviews must be a whole number from 0 to {MOST_REVIEWS}"
        raise table.error(problem, row=row, column=column)
    if scores and len(scores) != stated:
        raise table.error(
            f"the paper states {int(stated)} reviews but shows {len(scores)} scores; write hidden ones as '{HIDDEN}'",
            row=row,
            column=column,
        )
    return scores or [math.nan] * int(stated)


def _parts(cell: Cell) -> list[str]:
    """The scores that a cell holds: a list, or text with semicolons, or with commas in brackets."""
    if isinstance(cell, list):
        return cell
    text = cell.strip()
    if not (text.startswith("[") and text.endswith("]")):
        return cell.split(";") if text else []
    if not text[1:-1].strip():
        return []
    return [part[0] or part[1] or part[2].strip() for part in _LISTED.findall(text[1:-1] + ",")]


_COMMAS = re.compile(r"[\d.\s]+(?:,[\d.\s]+)+")

# A part of a Python list: text in quotes, or anything up to the next comma.
_LISTED = re.compile(r"""\s*(?:'([^']*)'|"([^"]*)"|([^,]*))\s*,""")
