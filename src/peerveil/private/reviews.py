"""The private record: who gave which score to which paper, without names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from peerveil.columns import Coded
from peerveil.criteria import (
    Criteria,
    MissingCriteria,
    arrange_criteria,
    canonical_order,
    check_criteria,
    in_canonical_order,
    note_left_out,
    papers_left_out,
)
from peerveil.errors import InputError, RecordError
from peerveil.loads import Loads, declare_loads
from peerveil.record import Floats, Ints, PublicRecord, check_scale, frozen, owned

EXPLAIN_PUBLIC = (
    "which scores are public must be stated: public='all' if everyone can see every score (and criterion, where they "
    "are read) and how many reviewers have which load, public='none' if only the loads, or the public record itself (a "
    "PublicRecord, or its file on the command line). Scores that are not public must never shape a release"
)


@dataclass(frozen=True, kw_only=True)
class Report:
    """What reading a file showed, in counts that name nobody. For the chair's eyes: it is never published.

    Attributes:
        format: the format the file was read as.
        why: what showed that it has this format.
        left_out: what was left out, and why.
        shows: what the file shows about which scores are public; it decides nothing.
        problems: what the chair should look at.
    """

    format: str = ""
    why: str = ""
    left_out: tuple[str, ...] = ()
    shows: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Reviews:
    """All reviews of a conference, with reviewers as bare numbers: names are forgotten on reading.

    Reviews are sorted by paper, score, criteria and reviewer. Make one with :func:`peerveil.read` or
    :meth:`from_columns`. ``ungraded`` counts the papers that were left out whole for a missing criterion; ``report``
    tells of all that was left out.

    >>> reviews = Reviews.from_columns(["p1", "p1", "p2", "p2"], ["ann", "bob", "bob", "ann"], [3, 5, 4, 4])
    >>> reviews
    Reviews(2 papers, 4 reviews, 2 reviewers; contents private)
    >>> reviews.public("all")
    PublicRecord(2 papers, 4 reviews, 2 reviewers: 2 reviewers with 2 reviews)
    """

    papers: tuple[str, ...]
    paper: Ints
    reviewer: Ints
    score: Floats
    scale: tuple[float, float] | None = None
    notes: tuple[str, ...] = field(default=())
    report: Report = field(default=Report())
    criteria: Floats | None = None
    criteria_names: tuple[str, ...] = ()
    ungraded: int = 0

    def __post_init__(self) -> None:
        for name in ("paper", "reviewer", "score", *(() if self.criteria is None else ("criteria",))):
            object.__setattr__(self, name, frozen(getattr(self, name)))
        if not np.isfinite(self.score).all():
            raise RecordError("scores must be finite numbers")
        check_scale(self.score, self.scale)
        check_criteria(self.criteria_names, self.criteria, self.score)
        if not in_canonical_order(self.paper, self.score, self.criteria, self.reviewer):
            raise RecordError("reviews must be sorted by paper, score, criteria and reviewer")
        pairs = self.paper * (int(self.reviewer.max(initial=0)) + 1) + self.reviewer
        pairs.sort()
        if (pairs[1:] == pairs[:-1]).any():
            raise RecordError("a reviewer has two reviews of one paper; keep one of them")

    @classmethod
    def from_columns(
        cls,
        papers: Sequence[str],
        reviewers: Sequence[str],
        scores: Sequence[float] | Floats,
        *,
        scale: tuple[float, float] | None = None,
        notes: tuple[str, ...] = (),
        report: Report = Report(),  # noqa: B008 - it cannot change
        criteria: Criteria | None = None,
        missing_criteria: MissingCriteria = "refuse",
    ) -> Reviews:
        """Reviews from parallel columns in any order.

        A review that lacks a criterion is refused, or on request (``"leave-out"``) its whole paper is left out;
        criteria must then be public, for which ones are missing shows.
        """
        by_paper, by_reviewer = _coded("papers", papers), _coded("reviewers", reviewers)
        score = _numbers(scores)
        if not len(by_paper) == len(by_reviewer) == score.size > 0:
            raise RecordError("papers, reviewers and scores must have one entry a review, and at least one")
        criteria_names, matrix = arrange_criteria(criteria, score.size)
        names, paper, reviewer = by_paper.values, by_paper.numbers(), by_reviewer.numbers()
        gone = 0
        if matrix is not None:
            left = papers_left_out(paper, np.logical_or.reduce(np.isnan(matrix), axis=1), missing_criteria)
            gone = left.size
        if matrix is not None and gone:
            kept = ~np.isin(paper, left)
            (names, paper), (_, reviewer) = _compact(names, paper[kept]), _compact(by_reviewer.values, reviewer[kept])
            score, matrix = score[kept], matrix[kept]
            report = replace(report, left_out=(*report.left_out, f"{gone} whole papers, for a missing criterion"))
        order = canonical_order(paper, score, matrix, reviewer)
        return cls(
            papers=tuple(names),
            paper=owned(paper[order].astype(np.int64)),
            reviewer=owned(reviewer[order].astype(np.int64)),
            score=owned(score[order]),
            scale=scale,
            notes=(*notes, note_left_out(gone)) if gone else notes,
            report=report,
            criteria=None if matrix is None else owned(matrix[order]),
            criteria_names=criteria_names,
            ungraded=gone,
        )

    @property
    def reviewers(self) -> int:
        """Number of reviewers."""
        return int(self.reviewer.max()) + 1

    def only(self, papers: Iterable[str]) -> Reviews:
        """The reviews of some papers. These must be chosen on public grounds: which they are, everyone will see.

        >>> reviews = Reviews.from_columns(["p1", "p1", "p2"], ["ann", "bob", "bob"], [3, 5, 4])
        >>> reviews.only(["p2"])
        Reviews(1 papers, 1 reviews, 1 reviewers; contents private)
        """
        wanted = set(papers)
        kept = [place for place, name in enumerate(self.papers) if name in wanted]
        if not kept or len(kept) < len(wanted):
            raise RecordError(f"{len(wanted) - len(kept)} of {len(wanted)} papers asked for are not among the reviews'")
        mine = np.isin(self.paper, kept)
        paper, reviewer = (np.unique(codes[mine], return_inverse=True)[1] for codes in (self.paper, self.reviewer))
        return replace(
            self,
            papers=tuple(self.papers[place] for place in kept),
            paper=paper.astype(np.int64),
            reviewer=reviewer.astype(np.int64),
            score=self.score[mine],
            criteria=None if self.criteria is None else self.criteria[mine],
        )

    def loads(self) -> Loads:
        """How many reviewers have which load. Public only if it is stated to be."""
        sizes, counts = np.unique(np.bincount(self.reviewer), return_counts=True)
        return declare_loads(self.score.size, loads=dict(zip(sizes.tolist(), counts.tolist(), strict=True)))

    def public(self, visible: str | PublicRecord) -> PublicRecord:
        """The public part, as stated; the only way from private to public.

        Args:
            visible: ``"all"`` if every score (and criterion, where there are any) and the number of reviewers with each
                load are public; ``"none"`` if of these only the loads are; or a public record, which is checked against
                these reviews paper by paper and then used as it is.
        """
        if isinstance(visible, PublicRecord):
            self._check_left_out(criteria_are_public=visible.criteria is not None)
            self._check(visible)
            return visible
        if visible in ("all", "none"):
            shown = visible == "all"
            self._check_left_out(criteria_are_public=shown)
            criteria = dict(zip(self.criteria_names, self._columns(), strict=True)) if shown else None
            return PublicRecord.from_reviews(
                self.papers,
                self.paper,
                self.score if shown else np.full(self.score.size, np.nan),
                self.loads(),
                scale=self.scale,
                notes=self.notes,
                criteria=criteria,
            )
        raise InputError(f"{EXPLAIN_PUBLIC}; got public={visible!r}")

    def _check_left_out(self, *, criteria_are_public: bool) -> None:
        """Refuse to have left out papers on grounds that are not public: their absence would tell of these."""
        if self.ungraded and not criteria_are_public:
            raise RecordError(
                f"{self.ungraded} papers were left out for a missing criterion, which is no public ground where "
                "criteria are not public; read the reviews without criteria (criteria=)"
            )

    def _check(self, record: PublicRecord) -> None:
        """Refuse a public record that these reviews do not have, without telling more than it already says."""
        ours, theirs = set(self.papers), set(record.papers)
        if theirs - ours:
            raise RecordError(
                f"{len(theirs - ours)} papers of the public record are not in the private one, first "
                f"{_shown(min(theirs - ours))}; both must hold the same papers"
            )
        if ours - theirs:
            raise RecordError(  # without a name: nothing says that it is public
                f"{len(ours - theirs)} papers of the private record are not in the public one; both must hold the same "
                "papers (a score that is not public is written '?' there)"
            )
        differs = np.flatnonzero(np.bincount(self.paper) != record.sizes())
        if differs.size:
            paper = _shown(self.papers[int(differs[0])])
            raise RecordError(
                f"{differs.size} papers have other numbers of scores in the public record than reviews in the private "
                f"one, first {paper}"
            )
        if record.criteria is not None and record.criteria_names != self.criteria_names:
            raise RecordError(
                f"the public record has the criteria {', '.join(record.criteria_names)}, the private one has "
                f"{', '.join(self.criteria_names) or 'none'}; read both with the same ones (criteria=)"
            )
        unequal = self._papers_with_other_scores(record)
        if unequal:
            what = "scores" if record.criteria is None else "scores or criteria"
            raise RecordError(
                f"{len(unequal)} papers have other {what} in the public record than in the private one, first "
                f"{_shown(self.papers[unequal[0]])}"
            )
        if self.scale is not None and record.hidden and record.scale != self.scale:
            raise RecordError(
                f"the reviews were read with the scale {self.scale}, the public record has {record.scale}"
            )
        check_scale(self.score, record.scale)
        self._check_loads(record.loads)

    def _papers_with_other_scores(self, record: PublicRecord) -> list[int]:
        """The papers some of whose public scores, or criteria, are not among the private ones."""
        ours, theirs = self.score[:, None], record.score[:, None]
        if record.criteria is not None and self.criteria is not None:
            ours, theirs = np.hstack([ours, self.criteria]), np.hstack([theirs, record.criteria])
        hidden = np.isnan(record.score)
        partly = np.unique(record.paper[hidden])
        whole = ~np.isin(self.paper, partly)
        unequal = set(self.paper[whole & (ours != theirs).any(axis=1)].tolist())
        for p in partly.tolist():
            private = Counter(map(tuple, ours[self.paper == p].tolist()))
            if Counter(map(tuple, theirs[(record.paper == p) & ~hidden].tolist())) - private:
                unequal.add(p)
        return sorted(unequal)

    def _columns(self) -> list[Floats]:
        """The criteria, each by itself."""
        return [] if self.criteria is None else list(self.criteria.T)

    def _check_loads(self, stated: Loads) -> None:
        own = self.loads()
        if stated.reviewers != own.reviewers:
            raise RecordError(
                f"the public record states {stated.reviewers} reviewers, the private file has {own.reviewers}"
            )
        if (stated.counts is not None and stated != own) or not set(own.sizes) <= set(stated.sizes):
            raise RecordError(
                f"the public record states loads that the private file does not have ({stated.describe()}); state the "
                "true loads, or only a range that holds them"
            )

    def __repr__(self) -> str:
        return (
            f"Reviews({len(self.papers)} papers, {self.score.size} reviews, {self.reviewers} reviewers; "
            "contents private)"
        )


def _shown(paper: str) -> str:
    """A paper's name for a message; a name with an @ may be a person's, in a column taken for papers by mistake."""
    return "(name not shown)" if "@" in paper else repr(paper)


def _names(column: str, values: Sequence[object]) -> list[str]:
    """Names as text; what is no name is pointed at, never shown."""
    if set(map(type, values)) <= {str}:
        return list(map(str, values))
    for place, value in enumerate(values, 1):
        if not isinstance(value, str | Real) or value != value:  # noqa: PLR0124 - only not-a-number differs from itself
            raise RecordError(f"entry {place} of {column} is neither text nor a number")
    return [str(value) for value in values]


def _numbers(values: Sequence[float] | Floats) -> Floats:
    if isinstance(values, np.ndarray) and values.dtype == np.float64 and values.ndim == 1:
        return values
    numbers = [_number(value) for value in values]
    for place, number in enumerate(numbers, 1):
        if number is None:
            raise RecordError(f"entry {place} of scores is not a number")
    return np.array(numbers, dtype=np.float64)


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None  # the error would hold the value


def _coded(column: str, values: Sequence[object]) -> Coded:
    """Names by their place among the sorted ones."""
    if isinstance(values, Coded) and values.arranged():
        return values
    return Coded.of(_names(column, values), len(values))


def _compact(names: Sequence[str], codes: npt.NDArray[Any]) -> tuple[list[str], npt.NDArray[Any]]:
    """The names that still occur, and the codes among these."""
    used, codes = np.unique(codes, return_inverse=True)
    return [names[place] for place in used.tolist()], codes
