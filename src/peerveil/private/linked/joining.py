"""Which reviewers of two conferences are the same people: by their ids, or by a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from peerveil.errors import Argument, RecordError
from peerveil.private.linked.pseudonyms import Pseudonyms, pseudonyms
from peerveil.private.readers.attributes import lines_of
from peerveil.private.readers.identities import plain_id
from peerveil.private.reviews import Reviews
from peerveil.record.public_record import Ints
from peerveil.tables.opening import Readable
from peerveil.tables.reading import read_table
from peerveil.tables.table import Table

#: What the columns of a table of links are called in errors.
PLACES = ("first", "second")


def same_reviewers(
    first: Reviews, second: Reviews, links: Readable | None = None, *, merge_names: bool = False
) -> tuple[Ints, Ints]:
    """Return the numbers of the people with kept reviews in both conferences, in each of them.

    ``links`` is a table of two columns: a person's id in the first conference, and in the second. By default ids must
    be the same. It is refused that nobody is in both, which is declared; no message says how many are.

    >>> one = Reviews.from_columns(["p", "p", "q"], ["ann@x.org", "bob", "bob"], [1, 2, 3])
    >>> other = Reviews.from_columns(["r", "r", "s"], ["Ann@X.org", "cem", "cem"], [1, 2, 3])
    >>> same_reviewers(one, other)
    (array([0]), array([0]))
    """
    everybody = [_pseudonyms(reviews, whole=True) for reviews in (first, second)]
    pairs = None if links is None else _linked(links, everybody, merge_names=merge_names)
    if not _joined(everybody[0], everybody[1], pairs)[0].size:
        raise RecordError(
            "nobody is in both files: "
            + ("no id" if links is None else "no row of the table has an id of each, so no id")
            + " of one belongs to a person in the other; use the same ids in both, such as e-mail addresses (",
            Argument("reviewer", ...),
            "), or a table of two columns with the ids of each person (",
            Argument("links", ...),
            ")",
        )
    return _joined(_pseudonyms(first), _pseudonyms(second), pairs)


def _pseudonyms(reviews: Reviews, *, whole: bool = False) -> Pseudonyms:
    """The pseudonyms of the reviewers with a kept review, or of all of the whole conference."""
    known = reviews.pseudonyms
    if whole and reviews.whole is not None:
        known = reviews.whole.pseudonyms
    if known is None:
        raise RecordError("these reviews do not tell who is who in another conference; read them from their file again")
    if np.unique(known).size < known.size:
        raise RecordError("two reviewers have the same e-mail address, but for case or blanks; read them as one")
    return known


def _joined(first: Pseudonyms, second: Pseudonyms, pairs: tuple[Pseudonyms, Pseudonyms] | None) -> tuple[Ints, Ints]:
    """The places of the same people in both."""
    if pairs is None:
        _, one, other = np.intersect1d(first, second, assume_unique=True, return_indices=True)
        return one, other
    places = [{name: place for place, name in enumerate(known.tolist())} for known in (first, second)]
    rows = zip(pairs[0].tolist(), pairs[1].tolist(), strict=True)
    found = [(places[0][a], places[1][b]) for a, b in rows if a in places[0] and b in places[1]]
    both = np.array(sorted(found), dtype=np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _linked(links: Readable, everybody: Sequence[Pseudonyms], *, merge_names: bool) -> tuple[Pseudonyms, Pseudonyms]:
    """The pseudonyms of both columns of a table, in which everybody occurs once.

    A first line that holds ids is refused: these people would be missing. Columns are called by their place in errors,
    as a name could be an id.
    """
    table = read_table(links)
    if len(table.header) != 2:
        raise table.error(
            f"has {len(table.header)} columns; two are needed: a person's id in the first conference, and in the second"
        )
    heads = pseudonyms([plain_id(name.strip(), merge=merge_names) for name in table.header])
    if any("@" in name for name in table.header) or np.isin(heads, np.concatenate(everybody)).any():
        raise table.error(
            "the first line holds ids of people; it must be a header, such as 'first,second', or these people would be "
            "missing"
        )
    called = dict(zip(table.header, PLACES, strict=True))
    table = replace(table, header=PLACES, cells=table.cells.rename(called))
    first, second = (_once(table, column, merge_names=merge_names) for column in PLACES)
    return first, second


def _once(table: Table, column: str, *, merge_names: bool) -> Pseudonyms:
    """The pseudonyms of a column; a person who occurs twice is refused by the lines."""
    table.check([table.bad_names(column)])
    names = pseudonyms([plain_id(name.strip(), merge=merge_names) for name in table.text(column)])
    first: dict[bytes, int] = {}
    for row, name in enumerate(names.tolist()):
        if first.setdefault(name, row) != row:
            where = lines_of(table, [first[name]])
            raise table.error(f"the same person is in {where}; one row each is needed", row=row, column=column)
    return names
