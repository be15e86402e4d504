"""The private record: who gave which score to which paper, without names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from peerveil.errors import Argument, InputError, RecordError
from peerveil.record.criteria import (
    Criteria,
    MissingCriteria,
    arrange_criteria,
    canonical_order,
    check_criteria,
    in_canonical_order,
    papers_left_out,
)
from peerveil.record.loads import Loads, declare_loads
from peerveil.record.parts import (
    ABSENT,
    NO_CRITERION,
    NO_SCORE,
    OTHER_PAPERS,
    LeftOut,
    MissingScore,
    Part,
    is_open,
    public_part,
)
from peerveil.record.public_record import Floats, Ints, PublicRecord, check_scale, frozen, owned
from peerveil.tables.table import Names

EXPLAIN_PUBLIC = (
    "which scores are public must be stated: ",
    Argument("public", "all"),
    " if everyone can see every score (and criterion, where they are read) and how many reviewers have which load, ",
    Argument("public", "none"),
    " if only the loads, or the public record itself (a PublicRecord, or its file). Scores that are not public must ",
    "never shape a release",
)


@dataclass(frozen=True, kw_only=True)
class Report:
    """What reading a file showed, in counts that name nobody. For the chair's eyes: it is never published.

    Attributes:
        format: the format the file was read as.
        why: what showed that it has this format.
        score: the column, field, question or label that was named for the score; empty for the usual one.
        left_out: what was left out, and why.
        shows: what the file shows about which scores are public; it decides nothing.
        problems: what the chair should look at.
    """

    format: str = ""
    why: str = ""
    score: str = ""
    left_out: tuple[str, ...] = ()
    shows: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Whole:
    """The whole conference that reviews are a part of: who reviewed what, without scores.

    Attributes:
        paper: for each review its paper, by number.
        reviewer: for each review its reviewer, by number.
        left_out: what was left out, and why.
        stated: whether it was stated that everyone can see which reviews have no score, where some have none.
    """

    paper: Ints
    reviewer: Ints
    left_out: tuple[LeftOut, ...]
    stated: bool = True

    def __post_init__(self) -> None:
        for name in ("paper", "reviewer"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    def loads(self) -> Loads:
        """How many reviewers of the whole conference have which load. Public only if it is stated to be."""
        return _loads(self.reviewer)

    def concerned(self, why: str) -> int:
        """How many papers reviews were left out of for a reason."""
        return sum(one.papers for one in self.left_out if one.why == why)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Reviews:
    """All reviews of a conference, with reviewers as bare numbers: names are forgotten on reading.

    Reviews are sorted by paper, score, criteria and reviewer. Make one with :func:`peerveil.read` or
    :meth:`from_columns`. Where something was left out (papers, reviews without a score), ``whole`` knows of the
    whole conference: neighbouring assignments are those of the whole. ``report`` tells of all that was left out.

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
    whole: Whole | None = None

    def __post_init__(self) -> None:
        for name in ("paper", "reviewer", "score", *(() if self.criteria is None else ("criteria",))):
            object.__setattr__(self, name, frozen(getattr(self, name)))
        if not np.isfinite(self.score).all():
            raise RecordError("scores must be finite numbers")
        check_scale(self.score, self.scale)
        check_criteria(self.criteria_names, self.criteria, self.score)
        if not in_canonical_order(self.paper, self.score, self.criteria, self.reviewer):
            raise RecordError("reviews must be sorted by paper, score, criteria and reviewer")
        for table in (self, *(() if self.whole is None else (self.whole,))):
            _check_once(table.paper, table.reviewer)

    @classmethod
    def from_columns(
        cls,
        papers: Sequence[str] | Names,
        reviewers: Sequence[str] | Names,
        scores: Sequence[float] | Floats,
        *,
        scale: tuple[float, float] | None = None,
        notes: tuple[str, ...] = (),
        report: Report = Report(),  # noqa: B008 - it cannot change
        criteria: Criteria | None = None,
        missing_criteria: MissingCriteria = "refuse",
        missing_score: MissingScore | None = "refuse",
    ) -> Reviews:
        """Reviews from parallel columns in any order.

        A review that lacks a criterion is refused, or on request (``"leave-out"``) its whole paper is left out;
        criteria must then be public, for which ones are missing shows. A score of NaN is missing: it is refused, or
        the review is ``"absent"`` (everyone can see that it has no score: it enters no mean), or its whole paper is
        left out (``"leave-out"``). ``None`` takes reviews without a score for absent where all scores are stated to be
        public, and refuses them elsewhere.

        >>> reviews = Reviews.from_columns(list("ppqq"), ["ann", "bob"] * 2, [3, 5, 4, np.nan], missing_score="absent")
        >>> reviews.public("all").loads.describe()
        '1 reviewer with 1 review, 1 reviewer with 2 reviews'
        """
        by_paper, by_reviewer = _coded("papers", papers), _coded("reviewers", reviewers)
        score = _numbers(scores)
        if not by_paper.codes.size == by_reviewer.codes.size == score.size > 0:
            raise RecordError("papers, reviewers and scores must have one entry a review, and at least one")
        criteria_names, matrix = arrange_criteria(criteria, score.size)
        held = _Columns(by_paper.values, by_paper.codes, by_reviewer.codes, score, matrix)
        held = _without_missing_scores(held, missing_score)
        if held.criteria is not None:
            lacking = np.logical_or.reduce(np.isnan(held.criteria), axis=1)
            left = papers_left_out(held.paper, lacking, missing_criteria)
            held = held.without(np.isin(held.paper, left), NO_CRITERION)
        whole = held.whole
        if whole is not None and missing_score is None:
            whole = replace(whole, stated=False)
        told = () if whole is None else tuple(one.words for one in whole.left_out)
        order = canonical_order(held.paper, held.score, held.criteria, held.reviewer)
        return cls(
            papers=tuple(held.papers),
            paper=owned(held.paper[order].astype(np.int64)),
            reviewer=owned(held.reviewer[order].astype(np.int64)),
            score=owned(held.score[order]),
            scale=scale,
            notes=(*notes, *told),
            report=replace(report, left_out=(*report.left_out, *told)),
            criteria=None if held.criteria is None else owned(held.criteria[order]),
            criteria_names=criteria_names,
            whole=whole,
        )

    @property
    def reviewers(self) -> int:
        """Number of reviewers."""
        return int(self.reviewer.max()) + 1

    @property
    def ungraded(self) -> int:
        """Number of papers that were left out whole for a missing criterion."""
        return 0 if self.whole is None else self.whole.concerned(NO_CRITERION)

    @property
    def absent(self) -> tuple[int, int]:
        """Of how many papers reviews have no score, as everyone can see, and how many reviews these are."""
        listed = () if self.whole is None else self.whole.left_out
        mine = [one for one in listed if one.why == ABSENT]
        return sum(one.papers for one in mine), sum(one.reviews for one in mine)

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
        held = _Columns(self.papers, self.paper, self.reviewer, self.score, self.criteria, self.whole)
        held = held.without(~np.isin(self.paper, kept), OTHER_PAPERS)
        return replace(
            self,
            papers=tuple(held.papers),
            paper=held.paper.astype(np.int64),
            reviewer=held.reviewer.astype(np.int64),
            score=held.score,
            criteria=held.criteria,
            whole=held.whole,
        )

    def loads(self) -> Loads:
        """How many reviewers have which load. Public only if it is stated to be."""
        return _loads(self.reviewer)

    def public(self, visible: str | PublicRecord, *, declare_kept: bool = False) -> PublicRecord:
        """The public part, as stated; the only way from private to public.

        Args:
            visible: ``"all"`` if every score (and criterion, where there are any) and the number of reviewers with each
                load are public; ``"none"`` if of these only the loads are; or a public record, which is checked against
                these reviews paper by paper and then used as it is. Loads are those of the whole conference.
            declare_kept: where something was left out, declare the number of reviewers with a kept review, and how
                many have which load among these, to be public, too. Neighbouring assignments then keep them.
        """
        self._check_grounds(visible)
        if isinstance(visible, PublicRecord):
            self._check(visible)
            if declare_kept and is_open(visible.part):
                return replace(visible, loads=self.loads(), part=replace(visible.part, number="declared"))
            return visible
        if visible in ("all", "none"):
            shown = visible == "all"
            criteria = dict(zip(self.criteria_names, self._columns(), strict=True)) if shown else None
            loads, part = self._public_loads(declare_kept=declare_kept)
            return PublicRecord.from_reviews(
                self.papers,
                self.paper,
                self.score if shown else np.full(self.score.size, np.nan),
                loads,
                scale=self.scale,
                notes=self.notes,
                criteria=criteria,
                part=part,
            )
        raise InputError(*EXPLAIN_PUBLIC, "; got ", Argument("public", visible))

    def _public_loads(self, *, declare_kept: bool) -> tuple[Loads, Part | None]:
        """The loads that are public if those of the whole conference are, and of what this is a part."""
        if self.whole is None:
            return self.loads(), None
        whole, left_out = self.whole.loads(), self.whole.left_out
        if declare_kept:
            return self.loads(), Part(whole=whole, left_out=left_out, number="declared")
        largest = int(np.bincount(self.paper).max())
        return public_part(whole, left_out, papers=len(self.papers), largest_paper=largest)

    def _check_grounds(self, visible: str | PublicRecord) -> None:
        """Refuse to have left out reviews on grounds that are not public: their absence would tell of these."""
        if self.whole is None:
            return
        criteria = visible.criteria is not None if isinstance(visible, PublicRecord) else visible == "all"
        if self.ungraded and not criteria:
            raise RecordError(
                f"{self.ungraded} papers were left out for a missing criterion, which is no public ground where "
                "criteria are not public; read the reviews without criteria (",
                Argument("criteria", ...),
                ")",
            )
        without = self.whole.concerned(ABSENT)
        if without and visible != "all" and not self.whole.stated:
            raise RecordError(
                f"reviews of {without} papers have no score, and it is not stated that everyone can see which; state "
                "that (",
                Argument("missing_score", "absent"),
                "), or leave these papers out of the file",
            )
        if self.whole.concerned(NO_SCORE) and visible != "all":
            raise RecordError(
                f"{self.whole.concerned(NO_SCORE)} papers were left out for a missing score, which is no public ground "
                "where not all scores are public: a release names how many papers it leaves out, without noise, and so "
                "would tell of scores that are to stay hidden. If everyone can see which reviews have no score, state "
                "that instead (",
                Argument("missing_score", "absent"),
                "); if everyone can see all scores, state that (",
                Argument("public", "all"),
                ")",
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
                f"{', '.join(self.criteria_names) or 'none'}; read both with the same ones (",
                Argument("criteria", ...),
                ")",
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
        self._check_part(record.part)
        if not is_open(record.part):
            _check_loads(record.loads, self.loads())

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

    def _check_part(self, stated: Part | None) -> None:
        """Refuse a public record that does not know that these reviews are a part of a conference, or of another."""
        if self.whole is None and stated is None:
            return
        if self.whole is None or stated is None:
            which = "the public record is" if self.whole is None else "the reviews are"
            raise RecordError(
                f"{which} a part of a conference, and the other one is not; both must leave out the same papers and "
                "reviews, and the loads that are stated are those of the whole conference"
            )
        if self.whole.left_out != stated.left_out:
            raise RecordError("the public record does not leave out the same papers and reviews as the private one")
        _check_loads(stated.whole, self.whole.loads())

    def __repr__(self) -> str:
        return (
            f"Reviews({len(self.papers)} papers, {self.score.size} reviews, {self.reviewers} reviewers; "
            "contents private)"
        )


@dataclass(frozen=True)
class _Columns:
    """Reviews in parallel arrays, and the one way to leave some of them out."""

    papers: Sequence[str]
    paper: npt.NDArray[Any]
    reviewer: npt.NDArray[Any]
    score: Floats
    criteria: Floats | None
    whole: Whole | None = None

    def without(self, gone: npt.NDArray[np.bool_], why: str) -> _Columns:
        """The other reviews, which know of the whole conference; which ones are gone must be public."""
        if not gone.any():
            return self
        left_out = LeftOut(papers=np.unique(self.paper[gone]).size, reviews=int(np.count_nonzero(gone)), why=why)
        whole = self.whole or Whole(
            paper=self.paper.astype(np.int64), reviewer=self.reviewer.astype(np.int64), left_out=()
        )
        used, paper = np.unique(self.paper[~gone], return_inverse=True)
        return _Columns(
            papers=[self.papers[place] for place in used.tolist()],
            paper=paper,
            reviewer=np.unique(self.reviewer[~gone], return_inverse=True)[1],
            score=self.score[~gone],
            criteria=None if self.criteria is None else self.criteria[~gone],
            whole=replace(whole, left_out=(*whole.left_out, left_out)),
        )


def _without_missing_scores(held: _Columns, missing: MissingScore | None) -> _Columns:
    """The reviews that have a score; what becomes of the others, and of their papers, is the caller's choice."""
    if missing not in (None, *get_args(MissingScore)):
        raise InputError(Argument("missing_score"), f" must be 'refuse', 'absent' or 'leave-out', got {missing!r}")
    blank = np.isnan(held.score)
    count, papers = int(np.count_nonzero(blank)), np.unique(held.paper[blank])
    if count and missing == "refuse":
        raise RecordError(
            f"{count} of {blank.size} reviews have no score; if everyone can see which, state it (",
            Argument("missing_score", "absent"),
            "), or leave their papers out whole (",
            Argument("missing_score", "leave-out"),
            ")",
        )
    gone = np.isin(held.paper, papers) if missing == "leave-out" else blank
    if count and gone.all():
        raise RecordError(f"{count} of {blank.size} reviews have no score; nothing would be left without them")
    return held.without(gone, NO_SCORE if missing == "leave-out" else ABSENT)


def _check_once(paper: Ints, reviewer: Ints) -> None:
    pairs = paper * (int(reviewer.max(initial=0)) + 1) + reviewer
    pairs.sort()
    if (pairs[1:] == pairs[:-1]).any():
        raise RecordError("a reviewer has two reviews of one paper; keep one of them")


def _loads(reviewer: Ints) -> Loads:
    sizes, counts = np.unique(np.bincount(reviewer), return_counts=True)
    return declare_loads(reviewer.size, loads=dict(zip(sizes.tolist(), counts.tolist(), strict=True)))


def _check_loads(stated: Loads, own: Loads) -> None:
    if stated.reviewers != own.reviewers:
        raise RecordError(
            f"the public record states {stated.reviewers} reviewers, the private file has {own.reviewers}"
        )
    if (stated.counts is not None and stated != own) or not set(own.sizes) <= set(stated.sizes):
        raise RecordError(
            f"the public record states loads that the private file does not have ({stated.describe()}); state the "
            "true loads, or only a range that holds them"
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


def _coded(column: str, values: Sequence[object] | Names) -> Names:
    """Names as indices into the sorted distinct ones."""
    return values if isinstance(values, Names) else Names.of(_names(column, values))
