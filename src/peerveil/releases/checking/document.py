"""Comparison of a release.json with its recomputation, field by field."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from peerveil.quantities.columns import column_of
from peerveil.releases.checking.results import RefusedError, shortened

#: Fields that another check compares within a tolerance, and the name of that check.
COVERED = {name: name for name in ("values", "certificate", "outlook", "findings", "notes", "digest")}
COVERED |= {"noisy": "values", "lower": "region", "upper": "region", "histogram": "bins"}

#: Relative tolerance for the numbers of claims.
_CLAIM_TOLERANCE = 1e-9

_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}")
_VERSION = re.compile(r"[0-9][A-Za-z0-9.!+_-]{0,60}")


def _software(value: Any, document: Mapping[str, Any]) -> bool:
    name, _, version = str(value).partition(" ")
    rendered = document.get("rendered") or {}
    return name == "peerveil" and bool(_VERSION.fullmatch(version)) and rendered.get("peerveil", version) == version


#: Fields that do not follow from noisy data and record, with a check that their values are plausible.
CHOSEN: dict[str, Callable[[Any, Mapping[str, Any]], bool]] = {
    "created": lambda value, _: datetime.fromisoformat(value) <= datetime.now(UTC) + timedelta(days=1),  # clocks differ
    "software": _software,
    "rendered": lambda value, _: all(_PACKAGE.fullmatch(key) and _VERSION.fullmatch(value[key]) for key in value),
    **dict.fromkeys(("charge", "licence", "citation"), lambda _, __: True),  # checked when the release was read
}

#: Possible declarations of what is public, and whether it is hidden then; ``None`` if either is possible. ``{}`` stands
#: for what was read: scores, or a column in their place.
_PUBLIC: dict[str, bool | None] = {
    r"no {}; load counts": True,
    r"all {}( and criteria \((?P<criteria>.+)\))?, and load counts": False,
    r"a public record: {}( and criteria \((?P<criteria>.+)\))? as far as it shows them, loads as declared": None,
    r"as declared by whoever refined the vector": None,
}


def check_public(public: str, quantity: str, *, hidden: bool) -> None:
    """Refuse words on what is public that do not fit a quantity and a record, whose weights may be hidden in part.

    >>> check_public("no scores; load counts", "ratings", hidden=True)
    >>> check_public("all scores, and load counts", "column confidence", hidden=False)
    Traceback (most recent call last):
    peerveil.releases.checking.results.RefusedError: record/public is not a declaration for this record
    """
    column = column_of(quantity)
    read = "scores" if column is None else f"values of {re.escape(column)}"
    for words, stated in _PUBLIC.items():
        if re.fullmatch(words.replace("{}", read), public) and stated in (None, hidden):
            return
        found = re.fullmatch(words.replace("{}", "scores"), public)
        criteria = (found.groupdict().get("criteria") or "").split(", ") if found else []
        if column in criteria and stated in (None, hidden):
            return
    raise RefusedError("record/public is not a declaration for this record")


def check_document(stored: Mapping[str, Any], ours: Mapping[str, Any]) -> str:
    """Refuse a document that differs from its recomputation in a field that no other check compares.

    >>> check_document({"quantity": "ratings"}, {"quantity": "ratings"})
    'every field equals its recomputation from the noisy data and the public record'
    >>> check_document({"quantity": "ratings", "more": 1}, {"quantity": "ratings"})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    peerveil.releases.checking.results.RefusedError: not equal to the recomputation from ...: more
    """
    wrong = [name for name, plausible in CHOSEN.items() if name in stored and not plausible(stored[name], stored)]
    excluded = COVERED.keys() | CHOSEN.keys()
    theirs, expected = ({key: document[key] for key in document.keys() - excluded} for document in (stored, ours))
    wrong += [f"{name} is missing" for name in sorted(CHOSEN.keys() & ours.keys() - stored.keys())]
    wrong += list(differences(theirs, expected))
    if wrong:
        raise RefusedError(f"not equal to the recomputation from noisy data and public record: {shortened(wrong)}")
    return "every field equals its recomputation from the noisy data and the public record"


def differences(stored: Any, ours: Any, place: str = "") -> Iterator[str]:
    """Yield the paths at which two documents differ by more than round-off.

    >>> list(differences({"a": [1, 2.0], "b": "x"}, {"a": [1, 2.5], "c": "x"}))
    ['a/1', 'b', 'c']
    """
    if isinstance(stored, dict) and isinstance(ours, dict):
        for key in sorted(stored.keys() | ours.keys()):
            inner = f"{place}/{key}" if place else str(key)
            if key in stored and key in ours:
                yield from differences(stored[key], ours[key], inner)
            else:
                yield inner
    elif isinstance(stored, list) and isinstance(ours, list) and len(stored) == len(ours):
        for number, pair in enumerate(zip(stored, ours, strict=True)):
            yield from differences(*pair, f"{place}/{number}")
    elif not _same(stored, ours):
        yield place or "the document"


def _same(stored: Any, ours: Any) -> bool:
    if isinstance(stored, bool) or isinstance(ours, bool):
        return stored is ours
    if isinstance(stored, float) or isinstance(ours, float):
        if not (isinstance(stored, float | int) and isinstance(ours, float | int)):
            return False
        return stored == ours or math.isclose(stored, ours, rel_tol=_CLAIM_TOLERANCE)
    return type(stored) is type(ours) and bool(stored == ours)
