"""The protocol of readers: their arguments and results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, get_args

from peerveil.errors import Argument, InputError
from peerveil.record.criteria import MissingCriteria
from peerveil.record.parts import MissingScore
from peerveil.tables.conditions import Condition, filters
from peerveil.tables.headings import check_names, plain
from peerveil.tables.layout import PAPER, REVIEWER, SCORE
from peerveil.tables.opening import Opening, Readable, Source
from peerveil.tables.scores import Symbols, is_no_entry, to_score
from peerveil.tables.sniffing import Look
from peerveil.tables.table import Table

#: What a column that everyone can see describes.
Kind = Literal["paper", "review"]
KINDS: tuple[Kind, ...] = get_args(Kind)

#: The possible owners of a subreviewer's review.
PERSONS = ("member", "subreviewer")


@dataclass(frozen=True, kw_only=True)
class Choices:
    """The choices of a user about how to read a file, which are arguments of :func:`peerveil.read`."""

    format: str | None = None
    sheet: str | None = None
    encoding: str | None = None
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
    only: tuple[Condition, ...] = ()
    leave_out: tuple[Condition, ...] = ()
    visible_column: Mapping[str, Kind] = field(default_factory=dict)
    merge_names: bool = False
    attributes: Readable | None = None
    committee: Readable | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "criteria", check_names(self.criteria))
        for name, allowed, words in (
            ("missing_criteria", get_args(MissingCriteria), "'refuse' or 'leave-out'"),
            ("missing_score", (None, *get_args(MissingScore)), "'refuse', 'absent' or 'leave-out'"),
            ("person", (None, *PERSONS), "'member' or 'subreviewer'"),
            ("ids", (None, "people"), "'people' or left out"),
            ("merge_names", (False, True), "true or false"),
        ):
            if getattr(self, name) not in allowed:
                raise InputError(Argument(name), f" must be {words}, got {getattr(self, name)!r}")

    def opening(self) -> Opening:
        """Return what is known about a file of reviews before it is opened."""
        paper, person, score = self.paper or PAPER, self.reviewer or REVIEWER, self.score or SCORE
        columns = tuple(name for name in (self.paper, self.reviewer, self.score, *self.criteria) if name)
        needs = (frozenset({paper, person, score}), frozenset({paper, person}))
        return Opening(sheet=self.sheet, encoding=self.encoding, columns=columns, needs=needs)

    @property
    def filters(self) -> tuple[tuple[Condition, bool], ...]:
        """The conditions on reviews, each with whether reviews that satisfy it are kept or left out."""
        return filters(self.only, self.leave_out)

    @property
    def labels(self) -> tuple[str, ...]:
        """The columns of all filters."""
        return tuple(dict.fromkeys(condition.column for condition, _ in self.filters))

    def kind_of(self, column: str) -> Kind | None:
        """Return what a column describes that is stated to be visible; ``None`` if it is not."""
        return next((kind for name, kind in self.visible_column.items() if plain(name) == plain(column)), None)

    def value(self, cell: object) -> float | None:
        """Return the score in a cell; ``None`` if there is none."""
        return to_score(cell) if self.symbols is None else self.symbols.value(cell)

    def without_entry(self, cell: object) -> bool:
        """Return whether a cell of the score column states that there is no score, and is not a declared symbol."""
        return is_no_entry(cell) and (self.symbols is None or self.symbols.value(cell) is None)


@dataclass(frozen=True, kw_only=True)
class Extract:
    """The unchecked reviews of a file.

    Attributes:
        table: a table with one row per review.
        paper: the column of papers.
        reviewer: the column of reviewers.
        score: the column of scores.
        criteria: the column of each requested criterion; missing values are empty cells.
        labels: the column of each filter, by its name there.
        left_out: the number of rows left out, by reason.
        shows: what the file shows about which scores are public.
        problems: warnings for the chair.
        certain: whether the ids are known to identify people.
        taken: what columns of the file were taken for, where the table has other names for them.
        notices: how the file was read, where it could have been read otherwise.
    """

    table: Table
    paper: str = "paper"
    reviewer: str = "reviewer"
    score: str = "score"
    criteria: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    shows: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    certain: bool = False
    taken: Mapping[str, str] = field(default_factory=dict)
    notices: tuple[str, ...] = ()


class Reader(Protocol):
    """A module or object that reads one platform's exports."""

    def recognise(self, look: Look) -> str:
        """Return how a file was recognised as this platform's; empty if it was not."""

    def extract(self, source: Source, choices: Choices) -> Extract:
        """Return the reviews of an opened file or a frame, or raise an error with file, line and column."""
