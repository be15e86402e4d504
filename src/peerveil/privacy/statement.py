"""What is stated about a data set when it is released: which facts neighbouring assignments have in common.

A release's claim speaks of neighbours that share everything stated here. Claims of several releases add up over the
neighbours that share what *all* of them state; the proof is in docs/privacy.md, "The ledger".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from peerveil.errors import Argument, InputError
from peerveil.support.arguments import real

#: Which scores are public, from the fewest to the most.
PUBLIC = ("none", "record", "all")


@dataclass(frozen=True, kw_only=True)
class Statement:
    """What was stated about a data set for one release, or declared for all of them.

    Attributes:
        public: which scores are public: ``"all"``, ``"none"``, or ``"record"``: those that a public record shows.
        record: a digest of which scores the public record shows; empty unless ``public`` is ``"record"``.
        scale: lowest and highest possible score; hidden scores may be anywhere on it.
        score: the column of scores; empty for the usual one.
        left_out: which papers or reviews were left out, in words.
        invariants: facts declared public beyond scores and whole-conference load counts, in words; neighbouring
            assignments share them.

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
        """The statement as JSON has it.

        >>> Statement(public="all").to_document()["invariants"]
        []
        """
        document = asdict(self)
        return document | {
            "scale": None if self.scale is None else list(self.scale),
            "left_out": list(self.left_out),
            "invariants": list(self.invariants),
        }

    @classmethod
    def from_document(cls, document: object) -> Statement:
        """The statement in a document.

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
        scale = document["scale"]
        if scale is not None and not isinstance(scale, list):
            raise InputError("scale of a statement must be two numbers or null")
        return cls(
            public=document["public"],
            record=document["record"],
            scale=None if scale is None else tuple(scale),
            score=document["score"],
            left_out=tuple(document["left_out"]),
            invariants=tuple(document["invariants"]),
        )

    def describe(self) -> str:
        """The statement in one line."""
        parts = [_PUBLIC_WORDS[self.public] + (f" {self.record}" if self.record else "")]
        if self.scale is not None:
            parts.append(f"scale {_range(self.scale)}")
        if self.score:
            parts.append(f"score column {self.score!r}")
        if self.left_out:
            parts.append(f"left out: {', '.join(self.left_out)}")
        if self.invariants:
            parts.append(f"also declared: {', '.join(self.invariants)}")
        return "; ".join(parts)


_PUBLIC_WORDS = {
    "none": "no score is public",
    "record": "public are the scores of the record",
    "all": "all scores are public",
}


def additional(new: Statement, stated: Sequence[Statement]) -> tuple[str, ...]:
    """What a statement fixes beyond what was stated before, each fact in words; empty if nothing.

    What is stated of one score column is taken as stated of the reviews as a whole: a column may be a criterion of
    another release, or the same one under another name. Only scales are compared column by column, the usual column (an
    empty name) with every other one. Where nothing was stated, nothing is additional.

    >>> hidden = Statement(public="none", scale=(1, 10))
    >>> additional(Statement(public="all"), [hidden])
    ('all scores are public (before: no score is public)',)
    >>> additional(hidden, [Statement(public="all")])
    ()
    """
    if not stated:
        return ()
    facts = _additional_scores(new, stated)
    known = {fact for before in stated for fact in before.invariants}
    facts += [f"{fact!r} is declared (before: not declared)" for fact in new.invariants if fact not in known]
    return tuple(dict.fromkeys(facts))


def _additional_scores(new: Statement, stated: Sequence[Statement]) -> list[str]:
    """What a statement fixes about scores."""
    if any(before.public == "all" for before in stated):
        return []  # every score is fixed already, whatever the scale
    before = " and ".join(dict.fromkeys(_scores(one) for one in stated))
    if new.public == "all" or (new.public == "record" and new.record not in {one.record for one in stated}):
        return [f"{_scores(new)} (before: {before})"]
    same = [one for one in stated if _plain(new.score) in ("", _plain(one.score)) or not one.score]
    if same and new.scale not in {one.scale for one in same}:
        scales = " and ".join(dict.fromkeys(_range(one.scale) for one in same))
        return [f"hidden scores lie on the scale {_range(new.scale)} (before: {scales})"]
    return []


def _plain(column: str) -> str:
    """The name of a column as readers compare it: without regard to case and punctuation."""
    return "".join(filter(str.isalnum, column.casefold()))


def _scores(statement: Statement) -> str:
    return _PUBLIC_WORDS[statement.public] + (f" {statement.record}" if statement.record else "")


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
