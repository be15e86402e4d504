"""A small TOML file that says how to read an export, so that it need not be said on every call."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

from peerveil.errors import FileError
from peerveil.support.atomic_files import write_new
from peerveil.tables.opening import read_text

#: What a mapping may say, and what it is for.
KEYS = {
    "format": "the file's format",
    "paper": "the column of papers",
    "reviewer": "the column of reviewers",
    "score": "the column, field, question or label of the score",
    "criteria": 'the columns of criteria, as ["soundness", "clarity"]',
    "missing_score": "'absent' if everyone can see which reviews have no score, or 'leave-out' their papers",
    "scale": "the lowest and highest possible score, as [1, 10]",
    "symbols": 'letters from the lowest to the highest, as ["D", "C", "B", "A"]',
    "person": "'member' or 'subreviewer': whom a subreviewer's review counts to",
    "ids": "'people' if the reviewers' ids stand for people across papers",
    "people": "a file that tells who stands behind which anonymous signature",
    "review_name": "what the venue calls its reviews on OpenReview",
}
_TEXTS = tuple(key for key in KEYS if key not in ("criteria", "scale", "symbols"))


def read_mapping(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a mapping says.

    A file named in it (``people``) is found from where the mapping stands.
    """
    name, text = read_text(path)
    problem, line = "", None
    said: dict[str, Any] = {}
    try:
        said = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        problem, line = "is not well-formed TOML", getattr(error, "lineno", None)
    except (ValueError, RecursionError):
        problem = "is not well-formed TOML"
    if problem:
        raise FileError(problem, file=name, line=line)
    for key, value in said.items():
        if key not in KEYS:
            raise FileError(f"says {key!r}, which a mapping cannot; it may say {', '.join(KEYS)}", file=name)
        if key in _TEXTS and not isinstance(value, str):
            raise FileError(f"{key} must be text: {KEYS[key]}", file=name)
    criteria = said.get("criteria", [])
    if not isinstance(criteria, list) or not all(isinstance(part, str) for part in criteria):
        raise FileError(f"criteria must be {KEYS['criteria']}", file=name)
    if "scale" in said:
        said["scale"] = _scale(said["scale"], name)
    if "people" in said:
        said["people"] = str(Path(name).parent / said["people"])
    return said


def _scale(value: Any, name: str) -> tuple[float, float]:
    numbers = isinstance(value, list) and all(type(x) in (int, float) for x in value)
    if not numbers or len(value) != 2:
        raise FileError(f"scale must be {KEYS['scale']}", file=name)
    return float(value[0]), float(value[1])


def _toml(value: Any) -> str:
    """Texts, numbers and lists as TOML writes them: like JSON, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def write_mapping(
    path: str | os.PathLike[str], known: dict[str, Any], *, comments: dict[str, str] | None = None
) -> None:
    """Write a draft: what is known, and the rest as comments to fill in. A file that is there is kept."""
    lines = ["# How to read an export; see docs/formats.md. Options on the command line come before it.", ""]
    for key, usual in KEYS.items():
        value, words = known.get(key), (comments or {}).get(key, usual)
        lines.append(f"{key} = {_toml(value)}  # {words}" if value is not None else f"# {key} =   # {words}")
    write_new(path, "\n".join(lines) + "\n")
