"""Private reviews, with reviewers as numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from peerveil.errors import Argument, InputError, RecordError
from peerveil.private.columns import (
    Attributes,
    Columns,
    Removal,
    Whole,
    coded,
    loads_of,
    numbers_of,
    without_missing_scores,
)
from peerveil.private.linked.pseudonyms import Pseudonyms, pseudonyms
from peerveil.record.committees import Committee
from peerveil.record.criteria import (
    Criteria,
    MissingCriteria,
    arrange_criteria,
    canonical_order,
    check_criteria,
    in_canonical_order,
    papers_left_out,
)
from peerveil.record.loads import Loads
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
from peerveil.record.public_record import Floats, Ints, PublicRecord, check_scale, freeze, owned
from peerveil.support import html_tables
from peerveil.tables.conditions import IdleFilter
from peerveil.tables.table import Names

EXPLAIN_PUBLIC = (
    "which scores are public must be stated: ",
    Argument("public", "all"),
    " if everyone can see every score (and criterion, where they are read) and how many reviewers have which load, ",
    Argument("public", "none"),
    " if only the loads, or the public record itself (a file of public scores). Scores that are not public must ",
    "never shape a release",
)


@dataclass(frozen=True, kw_only=True)
class Report:
    """Facts about how a file was read, which identify nobody. For the chair; never published.

    Attributes:
        format: the format of the file.
        why: how the format was recognised.
        score: the named column, field, question or label of the score; empty for the usual one.
        left_out: what was left out, and why.
        shows: what the file shows about which scores are public, for information only.
        problems: warnings for the chair.
        notices: how the file was read, where it could have been read otherwise.
        committee: the public list on which all reviewers of the conference are; ``None`` if they were not compared.
        idle: filters that leave nothing out, which ``problems`` tell as well.
    """

    format: str = ""
    why: str = ""
    score: str = ""
    left_out: tuple[str, ...] = ()
    shows: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    committee: Committee | None = None
    idle: tuple[IdleFilter, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Reviews:
    """All reviews of a conference, with reviewers as numbers; their names are not kept.

    Reviews are sorted by paper, score, criteria and reviewer. Create them with :func:`peerveil.read` or
    :meth:`from_columns`. If papers or reviews were left out, ``whole`` is the assignment of the whole conference, to
    which neighbouring assignments refer, and ``report`` lists all that was left out. ``pseudonyms`` identify a reviewer
    across conferences that are read by the same process, and say nothing outside of it.

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
    attributes: Attributes | None = None
    pseudonyms: Pseudonyms | None = None

    def __post_init__(self) -> None:
        freeze(self, "paper", "reviewer", "score", "criteria")
        if self.pseudonyms is not None and self.pseudonyms.size != self.reviewers:
            raise RecordError(f"pseudonyms of {self.pseudonyms.size} reviewers, for {self.reviewers}")
        if self.attributes is not None and self.attributes.reviewers != self.reviewers:
            raise RecordError(f"attributes of {self.attributes.reviewers} reviewers, for {self.reviewers}")
        if not np.isfinite(self.score).all():
            raise RecordError("scores must be finite numbers")
        check_scale(self.score, self.scale)
        check_criteria(self.criteria_names, self.criteria, self.score)
        if not in_canonical_order(self.paper, self.score, self.criteria, self.reviewer):
            raise RecordError("reviews must be sorted by paper, score, criteria and reviewer")
        for table in (self, *(() if self.whole is None else (self.whole,))):
            pairs = np.sort(table.paper * (int(table.reviewer.max(initial=0)) + 1) + table.reviewer)
            if (pairs[1:] == pairs[:-1]).any():
                raise RecordError("a reviewer has two reviews of one paper; keep one of them")

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
        removals: Sequence[Removal] = (),
        attributes: Attributes | None = None,
    ) -> Reviews:
        """Return reviews from parallel columns in any order.

        ``removals`` are left out, whatever their scores are; they remain a part of the whole conference. ``attributes``
        are those of all reviewers, in the order of their names.

        A review that lacks a criterion is refused, or its whole paper is left out (``"leave-out"``), which requires
        public criteria, because it reveals which ones are missing. A review whose score is NaN is refused, or
        ``"absent"`` (everyone can see that it has no score; it enters no mean), or its whole paper is left out. With
        ``None`` it is absent if all scores are stated to be public, and refused otherwise.

        >>> reviews = Reviews.from_columns(list("ppqq"), ["ann", "bob"] * 2, [3, 5, 4, np.nan], missing_score="absent")
        >>> reviews.public("all").loads.describe()
        '1 reviewer with 1 review, 1 reviewer with 2 reviews'
        """
        by_paper, by_reviewer = coded("papers", papers), coded("reviewers", reviewers)
        score = numbers_of(scores)
        if not by_paper.codes.size == by_reviewer.codes.size == score.size > 0:
            raise RecordError("papers, reviewers and scores must have one entry per review, and at least one")
        criteria_names, matrix = arrange_criteria(criteria, score.size)
        paper, reviewer = (names.codes.astype(np.int64) for names in (by_paper, by_reviewer))
        known = pseudonyms(by_reviewer.values)
        columns = Columns(by_paper.values, paper, reviewer, score, matrix, attributes=attributes, pseudonyms=known)
        columns = columns.without_all(removals)
        columns = without_missing_scores(columns, missing_score)
        if columns.criteria is not None:
            lacking = np.logical_or.reduce(np.isnan(columns.criteria), axis=1)
            left = papers_left_out(columns.paper, lacking, missing_criteria)
            columns = columns.without(np.isin(columns.paper, left), NO_CRITERION)
        left_out = () if columns.whole is None else tuple(part.words for part in columns.whole.left_out)
        order = canonical_order(columns.paper, columns.score, columns.criteria, columns.reviewer)
        return cls(
            papers=columns.papers,
            paper=owned(columns.paper[order]),
            reviewer=owned(columns.reviewer[order]),
            score=owned(columns.score[order]),
            scale=scale,
            notes=(*notes, *left_out),
            report=replace(report, left_out=(*report.left_out, *left_out)),
            criteria=None if columns.criteria is None else owned(columns.criteria[order]),
            criteria_names=criteria_names,
            attributes=columns.attributes,
            pseudonyms=columns.pseudonyms,
            whole=columns.whole and replace(columns.whole, stated=missing_score is not None),
        )

    @property
    def reviewers(self) -> int:
        """Number of reviewers."""
        return int(self.reviewer.max()) + 1

    @property
    def ungraded(self) -> int:
        """Number of papers left out for a missing criterion."""
        return 0 if self.whole is None else self.whole.concerned(NO_CRITERION)

    @property
    def absent(self) -> tuple[int, int]:
        """Number of papers with reviews that visibly have no score, and number of such reviews."""
        absent = [part for part in (self.whole.left_out if self.whole else ()) if part.why == ABSENT]
        return sum(part.papers for part in absent), sum(part.reviews for part in absent)

    @property
    def filtered(self) -> tuple[LeftOut, ...]:
        """What was left out by conditions on what everyone can see."""
        return tuple(part for part in (self.whole.left_out if self.whole else ()) if part.filtered)

    def only(self, papers: Iterable[str]) -> Reviews:
        """Return the reviews of some papers, which must be chosen on public grounds, as they become visible.

        >>> reviews = Reviews.from_columns(["p1", "p1", "p2"], ["ann", "bob", "bob"], [3, 5, 4])
        >>> reviews.only(["p2"])
        Reviews(1 papers, 1 reviews, 1 reviewers; contents private)
        """
        wanted = set(papers)
        kept = [place for place, name in enumerate(self.papers) if name in wanted]
        if not kept or len(kept) < len(wanted):
            raise RecordError(f"{len(wanted) - len(kept)} of {len(wanted)} papers asked for are not among the reviews'")
        columns = Columns(
            *(self.papers, self.paper, self.reviewer, self.score, self.criteria),
            *(self.whole, self.attributes, self.pseudonyms),
        )
        return replace(self, **vars(columns.without(~np.isin(self.paper, kept), OTHER_PAPERS)))

    def loads(self) -> Loads:
        """Return the loads of the reviewers, which are public only if stated to be."""
        return loads_of(self.reviewer)

    def public(self, visible: str | PublicRecord, *, declare_kept: bool = False) -> PublicRecord:
        """Return the public record, as stated; the only conversion of private to public data.

        Args:
            visible: ``"all"`` if every score (and criterion, if any) and the number of reviewers with each load are
                public; ``"none"`` if only the loads are; or a public record, which is checked against these reviews
                paper by paper and then used unchanged. Loads are those of the whole conference.
            declare_kept: if something was left out, declare the loads among kept reviews to be public as well.
                Neighbouring assignments then share them.
        """
        self._check_grounds(visible)
        if isinstance(visible, PublicRecord):
            self._check(visible)
            if declare_kept and is_open(visible.part):
                return replace(visible, loads=self.loads(), part=replace(visible.part, number="declared"))
            return visible
        if visible not in ("all", "none"):
            got = repr(visible) if isinstance(visible, str) else type(visible).__name__
            raise InputError(*EXPLAIN_PUBLIC, f"; got {got}")
        loads, part = self.loads(), None
        if self.whole is not None:
            whole, left_out = self.whole.loads(), self.whole.left_out
            part = Part(whole=whole, left_out=left_out, number="declared")
            if not declare_kept:
                largest = int(np.bincount(self.paper).max())
                loads, part = public_part(whole, left_out, papers=len(self.papers), largest_paper=largest)
        score, criteria = self.score, None
        if visible == "none":
            score = np.full(self.score.size, np.nan)
        elif self.criteria is not None:
            criteria = dict(zip(self.criteria_names, self.criteria.T, strict=True))
        return PublicRecord.from_reviews(
            self.papers, self.paper, score, loads, scale=self.scale, notes=self.notes, criteria=criteria, part=part
        )

    def _check_grounds(self, visible: str | PublicRecord) -> None:
        """Refuse reviews left out on grounds that are not public, because their absence would reveal these."""
        if self.whole is None:
            return
        criteria = visible.criteria is not None if isinstance(visible, PublicRecord) else visible == "all"
        if self.ungraded and not criteria:
            raise RecordError(
                f"{self.ungraded} papers were left out for a missing criterion, which is no public ground if "
                "criteria are not public; read the reviews without criteria (",
                Argument("criteria", ...),
                ")",
            )
        if self.whole.by_score and visible != "all":
            raise RecordError(
                "reviews were left out by their scores or criteria, which is no public ground if not all of these are "
                "public; filter by other columns, or state that they are (",
                Argument("public", "all"),
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
                "if not all scores are public: a release states the number of papers left out without noise, which "
                "depends on hidden scores. If everyone can see which reviews have no score, state that instead (",
                Argument("missing_score", "absent"),
                "); if everyone can see all scores, state that (",
                Argument("public", "all"),
                ")",
            )

    def _check(self, record: PublicRecord) -> None:
        """Refuse a public record that contradicts these reviews, without revealing more than it states."""
        ours, theirs = set(self.papers), set(record.papers)
        if theirs - ours:
            raise RecordError(
                f"{len(theirs - ours)} papers of the public record are not in the private one, first "
                f"{_shown(min(theirs - ours))}; both must hold the same papers"
            )
        if ours - theirs:
            raise RecordError(  # without a name, which may not be public
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
        if unequal := self._papers_with_other_scores(record):
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
        """Return the papers with public scores or criteria that are not among the private ones."""
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

    def _check_part(self, stated: Part | None) -> None:
        """Refuse a public record of another part of the conference."""
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

    def _repr_html_(self) -> str:
        rows = [("papers", len(self.papers)), ("reviews", self.score.size), ("reviewers", self.reviewers)]
        if self.criteria_names:
            rows.append(("criteria", len(self.criteria_names)))
        if self.whole is not None:
            rows.append(("reviews left out", self.whole.reviewer.size - self.score.size))
        return html_tables.table("Reviews; contents private", rows)


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
    """Return a paper's name for a message, unless it may be an address in a column mistaken for papers."""
    return "(name not shown)" if "@" in paper else repr(paper)
