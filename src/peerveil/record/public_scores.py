"""Parsing of the public scores in a table into one entry per review."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain, compress

import numpy as np
import numpy.typing as npt
import polars as pl

from peerveil.errors import FileError
from peerveil.record.criteria import MissingCriteria, papers_left_out
from peerveil.record.parts import LeftOut, filtered
from peerveil.record.public_formats import public_table
from peerveil.record.public_record import Floats, Ints
from peerveil.tables.cells import is_missing
from peerveil.tables.conditions import Booleans, Condition, Conditions, filter_argument, filter_columns, filters
from peerveil.tables.headings import PAPER_NAMES, RATING_NAMES, SHOWABLE, field_called, plain, wanted_columns
from peerveil.tables.layout import PAPER, SCORE
from peerveil.tables.opening import Opening, Readable
from peerveil.tables.scores import to_score
from peerveil.tables.table import MOST_SHOWN, Names, Table, unusable_lines
from peerveil.tables.totals import without_totals

#: The cell of a score that exists but is not public.
HIDDEN = "?"

#: The largest accepted number of reviews of a paper.
MOST_REVIEWS = 1_000

COUNT_NAMES = ("reviews", "number of reviews")

# Stands for a missing criterion among others.
_GAP = math.inf
_MISSING = "the score is missing; leave the row out, or write '?' if the score is hidden"
_SEVERAL = "a paper occurs twice and a cell holds several scores; give one row per paper, or one row per review"

#: The scores or one criterion of a row: text, or in PeerRead a list of texts.
Cell = str | list[str]


@dataclass(frozen=True, kw_only=True)
class PublicScores:
    """The scores and criteria of all reviews.

    Attributes:
        papers: names of the papers that have a review, sorted.
        paper: the index of each review's paper.
        score: the score of each review; NaN if hidden.
        criteria: for each criterion its value in each review; NaN if hidden or missing.
        without: the number of papers left out because they have no score.
        format: the format of the file.
        why: how the format was recognised.
        others: the number of columns that were not named and have no usual name.
        left_out: the number of reviews left out, by reason.
        doubled: the number of reviews that repeat another one of their paper.
        taken: what each column was taken for.
        columns: all columns of the file; they may hold names of people.
        notices: how the file was read, where it could have been read otherwise.
        filtered: what filters left out.
    """

    papers: tuple[str, ...]
    paper: npt.NDArray[np.integer]
    score: Floats
    criteria: Mapping[str, Floats]
    without: int = 0
    format: str = ""
    why: str = ""
    others: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)
    doubled: int = 0
    taken: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    filtered: tuple[LeftOut, ...] = ()

    @property
    def sizes(self) -> Ints:
        """Number of reviews of each paper."""
        return np.bincount(self.paper, minlength=len(self.papers))

    def leave_out(self, missing: MissingCriteria) -> PublicScores:
        """Return the scores without papers with a public review that lacks a criterion, or refuse such papers."""
        lacking = np.isnan(np.reshape([*self.criteria.values()], (-1, self.score.size))).any(axis=0)
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
    sheet: str | None = None,
    encoding: str | None = None,
    only: Conditions = (),
    leave_out: Conditions = (),
    left_out: tuple[LeftOut, ...] = (),
    drop_copies: bool = False,
) -> PublicScores:
    """Return the public scores of a file or frame; arguments as in :func:`peerveil.read_public`."""
    chosen = filters(only, leave_out)
    labels = tuple(dict.fromkeys(condition.column for condition, _ in chosen))
    usual_names = (*PAPER_NAMES, "id", *RATING_NAMES, *COUNT_NAMES, *labels)
    wanted = wanted_columns(usual_names, paper, ratings, *criteria)
    opening = Opening(
        sheet=sheet,
        encoding=encoding,
        columns=tuple(name for name in (paper, ratings, *criteria) if name),
        needs=(frozenset({paper or PAPER, ratings or SCORE}),),
    )
    public = public_table(
        readable,
        format,
        criteria,
        lambda name: name.isdecimal() or wanted(name),
        opening,
        labels=labels,
        drop_copies=drop_copies,
    )
    table = public.table
    graded = table.find_criteria(criteria)
    usual = PAPER_NAMES if table.matches(PAPER_NAMES) else (*PAPER_NAMES, "id")
    named = table.find("paper", usual, paper)
    table = without_totals(table, named)
    papers = table.names(named)
    scored = [name for name in table.header if name.isdecimal()]  # one column per review, called 0, 1 and so on
    numbered = ratings is None and bool(scored) and not table.matches(RATING_NAMES)
    per_review = len(papers.values) < table.rows
    counts = table.matches(COUNT_NAMES)
    rows = _Rows(
        table=table,
        scored=scored if numbered else [table.find("ratings", RATING_NAMES, ratings)],
        numbered=numbered,
        graded=graded,
        counts=None if per_review or not counts else counts[0],
        per_review=per_review,
    )
    if left_out and any(field_called(name, table.header) is None for name in labels):
        kept, filtered_out = np.ones(table.rows, dtype=bool), left_out  # the file holds what is kept
    else:
        kept, filtered_out = _filtered(rows, papers, chosen)
    codes, sizes, values = papers.codes[kept], *(rows if kept.all() else rows.where(kept)).read()
    if not values.size:
        raise table.error("holds no scores", column=rows.scored[0])
    listed, used = (np.zeros(len(papers.values), dtype=bool) for _ in range(2))
    listed[codes], used[codes[sizes > 0]] = True, True
    index = (np.cumsum(used) - 1).astype(np.uint32)
    named_or_usual = [name in (paper, ratings, *criteria) or plain(name) in SHOWABLE for name in table.header]
    return PublicScores(
        papers=tuple(compress(papers.values, used)),
        paper=np.repeat(index[codes], sizes),
        score=values[:, 0],
        criteria={name: values[:, place] for place, name in enumerate(criteria, 1)},
        without=int(np.count_nonzero(listed & ~used)),
        format=public.format,
        why=public.why,
        others=named_or_usual.count(False),
        left_out=public.left_out,
        doubled=public.doubled,
        taken={named: "paper"} | dict.fromkeys(rows.scored, "score") | dict.fromkeys(graded, "criterion"),
        columns=table.header,
        notices=tuple(dict.fromkeys((*public.notices, *table.notices))),
        filtered=filtered_out,
    )


def _filtered(
    rows: _Rows, papers: Names, chosen: Iterable[tuple[Condition, bool]]
) -> tuple[Booleans, tuple[LeftOut, ...]]:
    """Return the rows that filters keep, and what each filter leaves out."""
    table = rows.table
    kept: Booleans = np.ones(table.rows, dtype=bool)
    left_out = []
    for condition, wanted in chosen:
        (column,) = table.find_labels(filter_columns([(condition, wanted)])).values()
        holds = condition.holds(table, column)
        gone = kept & (holds != wanted)
        if (gone == kept).all():
            named = filter_argument(condition, kept=wanted)
            why = f"all {table.rows:,} rows are like this" if holds.all() else "other filters leave out the rest"
            if not holds.any():
                why = condition.missed(table.cells[column], show=True)
            raise table.error(named, f" leaves no row: {why}", column=column)
        kept &= ~gone
        sizes = np.ones(np.count_nonzero(gone), dtype=np.int64)
        if not rows.per_review and gone.any():
            sizes = rows.where(gone).read()[0]
        if sizes.any():
            count = np.unique(papers.codes[gone][sizes > 0]).size
            why = filtered(str(condition), kept=wanted)
            left_out.append(LeftOut(papers=count, reviews=int(sizes.sum()), why=why))
    return kept, tuple(left_out)


@dataclass(frozen=True, kw_only=True)
class _Rows:
    """Parser of the rows of a table of public scores."""

    table: Table
    scored: list[str]  # the columns of scores
    numbered: bool  # whether each of them holds one review per paper
    graded: list[str]  # the columns of criteria
    counts: str | None  # the column with the number of reviews
    per_review: bool  # one row per review instead of one per paper
    parse: Callable[[str], float | None] = field(default_factory=lambda: lru_cache(2**12)(to_score))

    def where(self, chosen: Booleans) -> _Rows:
        """Return the parser of some of the rows."""
        return replace(self, table=self.table.where(pl.Series(chosen)))

    def read(self) -> tuple[Ints, Floats]:
        """Return the number of reviews in each row, and a matrix with the score and the criteria of each review."""
        sizes, values = array("q"), array("d")
        names = [*self.scored, *self.graded, *([] if self.counts is None else [self.counts])]
        columns = (self.table.cells[name] for name in names)
        lists = (column.to_list() if column.dtype == pl.List else column for column in columns)
        bad: list[FileError] = []
        lines = 0
        for row, cells in enumerate(zip(*lists, strict=True)):
            try:
                reviews = self._reviews(row, cells)
            except FileError as error:
                lines += 1
                bad += [error] if lines <= MOST_SHOWN else []
                continue
            sizes.append(len(reviews[0]))
            values.extend(chain.from_iterable(zip(*reviews, strict=True)))
        if bad:
            first, listed = bad[0], [f"line {error.line} ({error.column!r})" for error in bad]
            more = unusable_lines(listed, lines)
            raise FileError(*first.args, *more, file=first.file, line=first.line, column=first.column)
        return np.asarray(sizes), np.asarray(values).reshape(-1, 1 + len(self.graded))

    def _reviews(self, row: int, cells: tuple[Cell, ...]) -> list[list[float]]:
        """Return the scores of a row's reviews, followed by each criterion."""
        count, column = len(self.scored), self.scored[0]
        if self.numbered:
            scores = [self._score(cell, row, column) for cell in cells[:count] if not is_missing(cell)]
        else:
            scores = self._listed(cells[0], row, column)
        if self.counts is not None:
            scores = _as_counted(self.table, scores, str(cells[-1]), row, self.counts)
        if self.per_review and len(scores) != 1:
            raise self.table.error(_MISSING if not scores else _SEVERAL, row=row, column=column)
        grades = zip(cells[count:], self.graded, strict=False)
        return [scores, *(self._grades(scores, cell, row, name) if scores else [] for cell, name in grades)]

    def _listed(self, cell: Cell, row: int, column: str, *, gaps: bool = False) -> list[float]:
        """Return the scores in a cell, NaN where hidden and, if gaps are allowed, infinite where missing."""
        if not self.per_review and isinstance(cell, str) and "," in cell and _COMMAS.fullmatch(cell.strip()):
            problem = "a comma could part two scores or be a decimal comma; part scores by ';'"
            raise self.table.error(problem, row=row, column=column)
        parts = _parts(cell)
        if self.per_review and len(parts) > 1:
            raise self.table.error(_SEVERAL, row=row, column=column)
        return [_GAP if gaps and is_missing(part) else self._score(part, row, column) for part in parts]

    def _score(self, part: Cell, row: int, column: str) -> float:
        """Return one score, NaN if hidden."""
        if str(part).strip() == HIDDEN:
            return math.nan
        return self.table.number(str(part), row=row, column=column, value=self.parse)

    def _grades(self, scores: list[float], cell: Cell, row: int, column: str) -> list[float]:
        """Return one criterion of each review in a row, NaN where missing, or hidden together with the score."""
        grades = self._listed(cell, row, column, gaps=True) or [_GAP] * len(scores)
        if len(grades) != len(scores):
            raise self.table.error(f"has {len(grades)} values for {len(scores)} scores", row=row, column=column)
        if any(g != _GAP and math.isnan(x) != math.isnan(g) for x, g in zip(scores, grades, strict=True)):
            problem = (
                f"score and criteria of a review must be all public or all hidden; write '{HIDDEN}' for all or none"
            )
            raise self.table.error(problem, row=row, column=column)
        return [math.nan if grade == _GAP else grade for grade in grades]


def _as_counted(table: Table, scores: list[float], cell: str, row: int, column: str) -> list[float]:
    """Return the scores of a paper, hidden ones if it shows none, and check them against its stated number."""
    if is_missing(cell):
        return scores
    stated, problem = table.number(cell, row=row, column=column), ""
    if stated != int(stated) or not 0 <= stated <= MOST_REVIEWS:
        problem = f"the number of reviews must be a whole number from 0 to {MOST_REVIEWS}"
    elif scores and len(scores) != stated:
        problem = (
            f"the paper states {int(stated)} reviews but shows {len(scores)} scores; write hidden ones as '{HIDDEN}'"
        )
    if problem:
        raise table.error(problem, row=row, column=column)
    return scores or [math.nan] * int(stated)


def _parts(cell: Cell) -> list[str]:
    """Return the scores of a cell: a list, or text with semicolons, or with commas in brackets."""
    if isinstance(cell, list):
        return cell
    text = cell.strip()
    if not (text.startswith("[") and text.endswith("]")):
        return cell.split(";") if text else []
    if not text[1:-1].strip():
        return []
    return [part[0] or part[1] or part[2].strip() for part in _LISTED.findall(text[1:-1] + ",")]


_COMMAS = re.compile(r"[\d.\s]+(?:,[\d.\s]+)+")

# An item of a Python list: text in quotes, or anything up to the next comma.
_LISTED = re.compile(r"""\s*(?:'([^']*)'|"([^"]*)"|([^,]*))\s*,""")
