"""What every reader takes and gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from peerveil.errors import InputError
from peerveil.looking import Look
from peerveil.scores import Symbols, to_score
from peerveil.table_files import Source
from peerveil.tables import Table

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
    scale: tuple[float, float] | None = None
    symbols: Symbols | None = None
    person: str | None = None
    ids: str | None = None
    people: Source | None = None
    review_name: str | None = None

    def __post_init__(self) -> None:
        if self.person not in (None, *PERSONS):
            raise InputError(f"person must be 'member' or 'subreviewer', got {self.person!r}")
        if self.ids not in (None, "people"):
            raise InputError(f"ids must be 'people' or left out, got {self.ids!r}")

    def value(self, cell: object) -> float | None:
        """What a cell of the score column is worth."""
        return to_score(cell) if self.symbols is None else self.symbols.value(cell)


@dataclass(frozen=True, kw_only=True)
class Extract:
    """The reviews of a file, before anything is checked about them.

    Attributes:
        table: a row a review.
        paper: its column of papers.
        reviewer: its column of reviewers.
        score: its column of scores.
        left_out: how many rows were left out, by reason.
        shows: what the file shows about which scores are public.
        problems: what the chair should look at.
        certain: whether the platform's ids are known to stand for people.
    """

    table: Table
    paper: str = "paper"
    reviewer: str = "reviewer"
    score: str = "score"
    left_out: Mapping[str, int] = field(default_factory=dict)
    shows: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    certain: bool = False


class Reader(Protocol):
    """A module that reads one platform's exports."""

    def recognise(self, look: Look) -> str:
        """What shows that a file is this platform's; nothing if nothing does."""

    def extract(self, source: Source, choices: Choices) -> Extract:
        """The reviews of a file, or an error with file, line and column."""
