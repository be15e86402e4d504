"""Names of columns: usual ones for each role, and those that messages may show."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence

from peerveil.errors import Argument, InputError

#: Usual names of columns, compared without case and punctuation.
PAPER_NAMES = ("paper", "paper id", "submission", "submission id", "submission number")
REVIEWER_NAMES = ("reviewer", "reviewer id", "email", "reviewer email")
#: Used only if none of the above occurs: an id or an address identifies people better than a name.
REVIEWER_NAMES_ELSE = ("reviewer name", "reviewer full name", "referee", "referee name")
SCORE_NAMES = ("score", "rating", "overall", "overall score", "overall rating", "recommendation")
#: Used only if none of the above occurs: what review systems call the question about a paper as a whole.
SCORE_NAMES_ELSE = ("overall merit", "overall evaluation", "overall recommendation", "overall assessment")
RATING_NAMES = ("ratings", "rating", "scores", "score", "overall", "overall score", "overall rating")
NOISY_NAMES = ("noisy", "value", "values", "mean", "theta")

# Other usual columns. Any other heading may be a person's name, as in a file without a header or with one column per
# reviewer.
_OTHER_NAMES = (
    *("title", "track", "area", "decision", "status", "round", "date", "time", "id", "number", "rank", "lower"),
    *("upper", "confidence", "review", "reviews", "comment", "comments", "soundness", "clarity", "originality"),
    *("novelty", "impact", "substance", "presentation"),
)

_LONGEST_NAME = 200

#: Which columns of a table to read, by their names.
Wanted = Callable[[str], bool]


def plain(name: str) -> str:
    """Return a column's name without case and punctuation."""
    if len(name) > _LONGEST_NAME:
        return name
    return re.sub(r"[\W_]+", "", name).lower()


#: Names of columns that identify nobody, without case and punctuation.
SHOWABLE = {
    plain(name)
    for names in (
        *(PAPER_NAMES, REVIEWER_NAMES, REVIEWER_NAMES_ELSE, SCORE_NAMES, SCORE_NAMES_ELSE, RATING_NAMES, NOISY_NAMES),
        _OTHER_NAMES,
    )
    for name in names
}


def check_names(criteria: Sequence[str]) -> tuple[str, ...]:
    """Return the names of criteria; anything but a list of distinct names is refused."""
    listed = not isinstance(criteria, str) and all(isinstance(name, str) for name in criteria)
    if not listed or len(set(criteria)) < len(criteria):
        raise InputError(Argument("criteria"), f" must name different columns, as a list, got {criteria!r}")
    return tuple(criteria)


def wanted_columns(usual: Iterable[str], *asked: str | None) -> Wanted:
    """Return a predicate for columns to read: those asked for by name, and those with usual names.

    >>> wanted = wanted_columns(PAPER_NAMES, "who")
    >>> [name for name in ("Paper ID", "who", "comments") if wanted(name)]
    ['Paper ID', 'who']
    """
    plain_names = {plain(name) for name in usual}
    return lambda name: name in asked or plain(name) in plain_names


def field_called(name: str, fields: Collection[str]) -> str | None:
    """Return the field with this name, exactly or else up to case and punctuation.

    >>> field_called("soundness", ["Soundness", "clarity"])
    'Soundness'
    """
    if name in fields:
        return name
    wanted = plain(name)
    return next((field for field in fields if plain(field) == wanted), None)
