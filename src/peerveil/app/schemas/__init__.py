"""JSON schemas of what programs read: the documents of `--json`, and the lines of a batch's log and metrics."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from peerveil.errors import InputError

_ENDING = ".schema.json"


def names() -> dict[str, int]:
    """The kinds of documents, and the version of each that this version of Peerveil writes."""
    found: dict[str, int] = {}
    for file in files(__package__).iterdir():
        if file.name.endswith(_ENDING):
            kind, _, version = file.name.removesuffix(_ENDING).rpartition("-")
            found[kind] = max(int(version), found.get(kind, 0))
    return dict(sorted(found.items()))


def schema(kind: str, version: int | None = None) -> dict[str, Any]:
    """The JSON schema of a kind of documents, in a version or the one that is written.

    >>> schema("verify")["title"]
    'peerveil verify --json'
    """
    known = names()
    if kind not in known:
        raise InputError(f"there is no schema {kind!r}; the kinds are {', '.join(known)}")
    name = f"{kind}-{known[kind] if version is None else version}{_ENDING}"
    file = files(__package__) / name
    if not file.is_file():
        raise InputError(f"there is no schema {name!r}; the kinds are {', '.join(known)}")
    document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return document
