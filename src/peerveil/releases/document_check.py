"""Comparing a release.json with the one written anew: every field, unless it is listed here with a check of its own."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from peerveil.releases.checks import RefusedError

#: Fields that a check of another name compares, within its tolerance: field, and the name of that check.
COVERED = {
    "values": "values",
    "noisy": "values",
    "lower": "region",
    "upper": "region",
    "certificate": "certificate",
    "outlook": "outlook",
    "notes": "notes",
    "histogram": "bins",
    "digest": "digest",
}

#: Claims are computed in floating point; words are made from the numbers as stated.
_CLAIM_TOLERANCE = 1e-9

_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}")
_VERSION = re.compile(r"[0-9][A-Za-z0-9.!+_-]{0,60}")
_CHARGE = re.compile(r"[0-9a-f]{16}")


def _created(value: Any, _: Mapping[str, Any]) -> bool:
    """A time that has been: clocks may be a day apart."""
    return datetime.fromisoformat(value) <= datetime.now(UTC) + timedelta(days=1)


def _software(value: Any, document: Mapping[str, Any]) -> bool:
    """Name and version of this program, whichever version it is."""
    name, _, version = str(value).partition(" ")
    wrote = document.get("rendered") or {}
    return name == "peerveil" and bool(_VERSION.fullmatch(version)) and wrote.get("peerveil", version) == version


def _rendered(value: Any, _: Mapping[str, Any]) -> bool:
    """Packages with their versions."""
    return all(_PACKAGE.fullmatch(name) and _VERSION.fullmatch(str(version)) for name, version in value.items())


def _charge(value: Any, _: Mapping[str, Any]) -> bool:
    """The number of a charge, or none."""
    return value is None or bool(_CHARGE.fullmatch(value))


def _words(value: Any, _: Mapping[str, Any]) -> bool:
    """Words that its chair chose."""
    return value is None or (isinstance(value, str) and bool(value.strip()) and value.isprintable())


#: Fields that do not follow from the noisy vector and the record: field, and what can be said of it at least.
CHOSEN: dict[str, Callable[[Any, Mapping[str, Any]], bool]] = {
    "created": _created,
    "software": _software,
    "rendered": _rendered,
    "charge": _charge,
    "licence": _words,
    "citation": _words,
}


def check_document(stored: Mapping[str, Any], ours: Mapping[str, Any]) -> str:
    """Refuse a document that differs from the one written anew in a field that nothing else compares.

    >>> check_document({"quantity": "ratings"}, {"quantity": "ratings"})
    'every word and number is as written anew from the noisy data and the public record'
    >>> check_document({"quantity": "ratings", "more": 1}, {"quantity": "ratings"})
    Traceback (most recent call last):
    peerveil.releases.checks.RefusedError: not as written anew from the noisy data and the public record: more
    """
    wrong = [name for name, plausible in CHOSEN.items() if name in stored and not plausible(stored[name], stored)]
    apart = COVERED.keys() | CHOSEN.keys()
    theirs, expected = ({key: held[key] for key in held.keys() - apart} for held in (stored, ours))
    wrong += [f"{name} is missing" for name in sorted(CHOSEN.keys() & ours.keys() - stored.keys())]
    wrong += list(differences(theirs, expected))
    if wrong:
        shown = ", ".join(wrong[:5]) + (f" and {len(wrong) - 5} more" if len(wrong) > 5 else "")
        raise RefusedError(f"not as written anew from the noisy data and the public record: {shown}")
    return "every word and number is as written anew from the noisy data and the public record"


def differences(stored: Any, ours: Any, place: str = "") -> Iterator[str]:
    """Where two documents differ, as paths into them.

    Numbers of the claim may differ by round-off; everything else must be the same.

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
