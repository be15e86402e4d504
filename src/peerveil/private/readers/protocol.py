"""What every reader takes and gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, get_args

from peerveil.errors import Argument, InputError
from peerveil.record.criteria import MissingCriteria
from peerveil.record.parts import MissingScore
from peerveil.tables.headings import check_names
from peerveil.tables.opening import Readable, Source
from peerveil.tables.scores import Symbols, is_no_entry, to_score
from peerveil.tables.sniffing import Look
from peerveil.tables.table import Table

#: Who is protected where a PC member and a subreviewer stand behind one review.
PERSONS = ("member", "subreviewer")


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What the user said about a file.

    Attributes:
        format: the format; found from the content if none is given.
        paper: the column of papers.
        reviewer: the column of reviewers.
        score: the column, field, question or label of the score.
        criteria: the columns (fields, questions, labels) of criteria.
        missing_criteria: what to do with papers some of whose reviews lack a criterion.
        missing_score: what to do with reviews without a score; ``None`` leaves it to what is stated to be public.
        scale: the lowest and highest possible score.
        symbols: what each symbol is worth, where scores are no numbers, or numbers with another meaning.
        person: ``"member"`` or ``"subreviewer"``: whom to count a subreviewer's review to.
        ids: ``"people"`` states that reviewers' ids stand for people across papers, whatever they look like.
        people: a file that tells who stands behind which anonymous signature.
        review_name: what a venue calls its reviews on OpenReview.
    """

    format: str | None = None
    paper: str | None = None
    reviewer: str | None = None
    score: str | None = None
    criteria: Sequence[str] = ()
    missing_criteria: MissingCriteria = "refuse"
    missing_score: MissingScore | None = None
    scale: tuple[float, float] | None = None
    symbols: Symbols | None = None
    person: str | None = None
    ids: str | None = None
    people: Readable | None = None
    review_name: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "criteria", check_names(self.criteria))
        if self.missing_criteria not in get_args(MissingCriteria):
            raise InputError(
                Argument("missing_criteria"), f" must be 'refuse' or 'leave-out', got {self.missing_criteria!r}"
            )
        if self.missing_score not in (None, *get_args(MissingScore)):
            raise InputError(
                Argument("missing_score"), f" must be 'refuse', 'absent' or 'leave-out', got {self.missing_score!r}"
            )
        if self.person not in (None, *PERSONS):
            raise InputError(Argument("person"), f" must be 'member' or 'subreviewer', got {self.person!r}")
        if self.ids not in (None, "people"):
            raise InputError(Argument("ids"), f" must be 'people' or left out, got {self.ids!r}")

    def value(self, cell: object) -> float | None:
        """What a cell of the score column is worth."""
        return to_score(cell) if self.symbols is None else self.symbols.value(cell)

    def without_entry(self, cell: object) -> bool:
        """Whether a cell of the score column says that there is no score, and no symbol is declared for that."""
        return is_no_entry(cell) and (self.symbols is None or self.symbols.value(cell) is None)


@dataclass(frozen=True, kw_only=True)
class Extract:
    """The reviews of a file, before anything is checked about them.

    Attributes:
        table: a row a review.
        paper: its column of papers.
        reviewer: its column of reviewers.
        score: its column of scores.
        criteria: its column of each criterion that was asked for; a cell is empty where one is missing.
        left_out: how many rows were left out, by reason.
        shows: what the file shows about which scores are public.
        problems: what the chair should look at.
        certain: whether the platform's ids are known to stand for people.
    """

    table: Table
    paper: str = "paper"
    reviewer: str = "reviewer"
    score: str = "score"
    criteria: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    shows: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    certain: bool = False


class Reader(Protocol):
    """A module that reads one platform's exports."""

    def recognise(self, look: Look) -> str:
        """What shows that a file is this platform's; nothing if nothing does."""

    def extract(self, source: Source, choices: Choices) -> Extract:
        """The reviews of an opened file or a frame, or an error with file, line and column."""
