"""Public lists of the people who review for a conference.

Only a hash of each id is kept: lists tell whether a person may review for two conferences, and nothing else.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from peerveil.errors import FileError
from peerveil.tables.opening import Readable, is_path, read_text, source_name
from peerveil.tables.reading import read_table

#: Hexadecimal digits of a hash. People with the same hash count as one person, who costs no less than each of them.
_DIGITS = 16


@dataclass(frozen=True, kw_only=True)
class Committee:
    """Everyone who may review for a conference, by hashes of their ids.

    Attributes:
        people: one hash per person.

    >>> committee = Committee.of(["Ann Lée", "ann  lee", "bob@x.org"])
    >>> len(committee.people), committee.names("Bob@X.org"), committee.names("cem")
    (2, True, False)
    """

    people: frozenset[str]

    @classmethod
    def of(cls, ids: Iterable[str]) -> Committee:
        """Return the committee of some ids, of which those that differ in case, blanks or accents only are one."""
        return cls(people=frozenset(person_hash(name) for name in ids if merged_id(name)))

    def names(self, name: str) -> bool:
        """Return whether a person is on the list."""
        return person_hash(name) in self.people


def read_committee(source: Readable, *, column: str | None = None) -> Committee:
    """Return the committee in a public list: a text file (.txt) with one id per line, or a table with a column of ids.

    In a text file, empty lines and those that begin with ``#`` are skipped. The column of a table is the named one, or
    that of reviewers.
    """
    if column is None and is_path(source) and Path(source).suffix.lower() == ".txt":
        ids = [line for line in read_text(source)[1].splitlines() if not line.lstrip().startswith("#")]
    else:
        table = read_table(source)
        remedy = "name it 'reviewer', say which it is, or give a text file (.txt) with one id per line"
        ids = table.text(table.find("reviewer", table.reviewer_names(), column, remedy=remedy))
    committee = Committee.of(ids)
    if not committee.people:
        raise FileError("names nobody; a list has one id per person", file=source_name(source))
    return committee


def merged_id(name: str) -> str:
    """Return an id without what is often written in several ways: case, blanks and accents.

    >>> merged_id("Ann  Lée ")
    'annlee'
    """
    letters = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", name).casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter) and not letter.isspace())


def person_hash(name: str) -> str:
    """Return the hash of a person's id, by which lists are compared."""
    return hashlib.sha256(f"peerveil person {merged_id(name)}".encode()).hexdigest()[:_DIGITS]
