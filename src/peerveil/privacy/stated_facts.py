"""Statements about a data set: the facts that neighbouring assignments share.

The claim of a release is about neighbours that share everything stated. Claims of several releases add up for the
neighbours that share what *all* of them state; the proof is in docs/privacy.md, "The ledger".
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from peerveil.errors import Argument, InputError
from peerveil.support.arguments import real

#: Which scores are public, from the fewest to the most.
PUBLIC = ("none", "record", "all")

#: A fact about an attribute of reviewers, by the attribute's name; see :func:`attribute_facts`.
_ATTRIBUTE = re.compile(r"attribute (\S.*?): (?:every reviewer|some reviewer|\d+ reviewers)")

#: The longest name that a fact shows in full.
_LONGEST = 100


@dataclass(frozen=True, kw_only=True)
class Statement:
    """The facts stated about a data set for one release, or declared for all releases.

    Attributes:
        public: the public scores: ``"all"``, ``"none"``, or ``"record"`` for those in a public record.
        record: a digest of the scores in the public record; empty unless ``public`` is ``"record"``.
        scale: lowest and highest possible score; hidden scores may be anywhere on it.
        score: the column of scores; empty for the usual one.
        left_out: the papers or reviews left out, in words.
        invariants: other facts declared public, in words, besides scores and load counts of the whole conference.

    >>> Statement(public="none", scale=(1, 10)).describe()
    'no score is public; scale 1 to 10'
    >>> Statement(public="some")
    Traceback (most recent call last):
    peerveil.errors.InputError: public must be 'none', 'record' or 'all' in a statement, got 'some'
    """

    public: str
    record: str = ""
    scale: tuple[float, float] | None = None
    score: str = ""
    left_out: tuple[str, ...] = ()
    invariants: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.public not in PUBLIC:
            raise InputError(f"public must be 'none', 'record' or 'all' in a statement, got {self.public!r}")
        if bool(self.record) != (self.public == "record"):
            raise InputError(
                "record must be the digest of the public record if public is 'record', and empty otherwise; got "
                f"{self.record!r} where public is {self.public!r}"
            )
        if self.scale is not None:
            object.__setattr__(self, "scale", _scale(self.scale))
        for name in ("left_out", "invariants"):
            object.__setattr__(self, name, _words(name, getattr(self, name)))
        for name in ("record", "score"):
            _word(name, getattr(self, name), empty=True)

    def to_document(self) -> dict[str, Any]:
        """Return a JSON object.

        >>> Statement(public="all").to_document()["invariants"]
        []
        """
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_document(cls, document: object) -> Statement:
        """Return the statement that :meth:`to_document` describes.

        >>> Statement.from_document(Statement(public="none", scale=(1, 10)).to_document()).scale
        (1.0, 10.0)
        """
        keys = {"public", "record", "scale", "score", "left_out", "invariants"}
        if not isinstance(document, dict) or document.keys() != keys:
            raise InputError(f"a statement must have the entries {', '.join(sorted(keys))}")
        if not all(isinstance(document[key], str) for key in ("public", "record", "score")):
            raise InputError("public, record and score of a statement must be texts")
        if not all(isinstance(document[key], list) for key in ("left_out", "invariants")):
            raise InputError("left_out and invariants of a statement must be lists")
        if not isinstance(document["scale"], list | None):
            raise InputError("scale of a statement must be two numbers or null")
        values: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in document.items()}
        return cls(**values)

    def describe(self) -> str:
        """Return the statement in one line."""
        parts = [_public_scores(self)]
        if self.scale is not None:
            parts.append(f"scale {_range(self.scale)}")
        if self.score:
            parts.append(f"score column {self.score!r}")
        if self.left_out:
            parts.append(f"left out: {', '.join(self.left_out)}")
        if self.invariants:
            parts.append(f"also declared: {', '.join(self.invariants)}")
        return "; ".join(parts)


# Theorem C6.
def additional(new: Statement, stated: Sequence[Statement]) -> tuple[str, ...]:
    """Return the facts that a statement adds to those stated before, in words.

    A fact about one score column counts for the reviews as a whole, because the column may be a criterion in another
    release, or have another name. Only scales are compared by column, and the usual column (an empty name) with all
    columns. If nothing was stated before, nothing is added. Nor do facts about an attribute of reviewers that nothing
    was stated about: earlier claims are about who wrote which review, and assignments do not differ in these facts.

    >>> hidden = Statement(public="none", scale=(1, 10))
    >>> additional(Statement(public="all"), [hidden])
    ('all scores are public (before: no score is public)',)
    >>> additional(hidden, [Statement(public="all")])
    ()
    """
    if not stated:
        return ()
    facts = _additional_scores(new, stated)
    known = _facts(stated)
    read = {attribute_of(fact) for fact in known}
    facts += [
        f"{fact!r} is declared (before: not declared)"
        for fact in new.invariants
        if fact not in known and (attribute_of(fact) is None or attribute_of(fact) in read)
    ]
    return tuple(dict.fromkeys(facts))


def unheard(new: Statement, stated: Sequence[Statement]) -> bool:
    """Return whether a statement is about a column, or declares a fact, that was not mentioned before.

    >>> unheard(Statement(public="none"), [Statement(public="all")])
    False
    """
    return new.score not in {old.score for old in stated} or not _facts(stated) >= set(new.invariants)


def attribute_facts(
    by: str, values: Sequence[str], *, others: bool, sizes: Sequence[int] | None = None
) -> tuple[str, ...]:
    """Return what a release by an attribute of reviewers declares about it, one fact each.

    ``values`` are the values that occur in the whole conference, ``others`` tells whether there are further ones, and
    ``sizes`` are public numbers of reviewers.

    >>> for fact in attribute_facts("arm", ("new", "old"), others=False):
    ...     print(fact)
    attribute 'arm': every reviewer has one of the values 'new', 'old'
    attribute 'arm': some reviewer has the value 'new'
    attribute 'arm': some reviewer has the value 'old'
    """
    names = [_named(value) for value in values]
    every = ", ".join(sorted(names))
    facts = (
        [] if others else [f"every reviewer has one of the values {every if len(every) <= _LONGEST else _named(every)}"]
    )
    facts += [f"some reviewer has the value {name}" for name in names]
    if sizes is not None:
        facts += [f"{size} reviewers have the value {name}" for size, name in zip(sizes, names, strict=True)]
    return tuple(f"attribute {_named(by)}: {fact}" for fact in facts)


def _named(text: str) -> str:
    shown = repr(text)
    return shown if len(shown) <= _LONGEST else f"of digest {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def attribute_of(fact: str) -> str | None:
    """The attribute of reviewers that a fact is about, if it is."""
    about = _ATTRIBUTE.match(fact)
    return about and about[1]


def _facts(stated: Sequence[Statement]) -> set[str]:
    return {fact for statement in stated for fact in statement.invariants}


def _additional_scores(new: Statement, stated: Sequence[Statement]) -> list[str]:
    """Return the added facts about scores."""
    if any(old.public == "all" for old in stated):
        return []  # every score is fixed already, whatever the scale
    if new.public == "all" or (new.public == "record" and new.record not in {old.record for old in stated}):
        return [f"{_public_scores(new)} (before: {' and '.join(dict.fromkeys(map(_public_scores, stated)))})"]
    same = [old for old in stated if _plain(new.score) in ("", _plain(old.score)) or not old.score]
    if same and new.scale not in {old.scale for old in same}:
        scales = " and ".join(dict.fromkeys(_range(old.scale) for old in same))
        return [f"hidden scores lie on the scale {_range(new.scale)} (before: {scales})"]
    return []


def _public_scores(statement: Statement) -> str:
    words = {"none": "no score is public", "all": "all scores are public"}
    return words.get(statement.public, f"public are the scores of the record {statement.record}")


def _plain(column: str) -> str:
    """Return the name of a column without case and punctuation, as readers compare it."""
    return "".join(filter(str.isalnum, column.casefold()))


def _range(scale: tuple[float, float] | None) -> str:
    return "not stated" if scale is None else " to ".join(f"{end!r}".removesuffix(".0") for end in scale)


def _scale(scale: Iterable[float]) -> tuple[float, float]:
    ends = tuple(real("scale", end) for end in scale)
    if len(ends) != 2 or not all(map(math.isfinite, ends)) or not ends[0] < ends[1]:
        raise InputError(
            Argument("scale", of="score"), f" must be two finite numbers, the lower one first, got {scale!r}"
        )
    return ends[0] + 0.0, ends[1] + 0.0  # no negative zero


def _words(name: str, given: Iterable[str]) -> tuple[str, ...]:
    if isinstance(given, str):
        raise InputError(f"{name} must be several texts, got one: {given!r}")
    return tuple(sorted({_word(name, text) for text in given}))


def _word(name: str, text: str, *, empty: bool = False) -> str:
    if not isinstance(text, str) or len(text) > 500 or not text.isprintable() or not (empty or text.strip()):
        raise InputError(f"{name} must be up to 500 printable characters, got {text!r}")
    return text
