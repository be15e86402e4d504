"""Mappings: TOML files with arguments for reading an export."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from peerveil.errors import FileError
from peerveil.support.atomic_files import write_new
from peerveil.tables.opening import read_text

#: The keys of a mapping and their descriptions.
KEYS = {
    "format": "the file's format",
    "sheet": "the sheet of a workbook",
    "encoding": "the encoding of a text that is not UTF-8, such as cp1252",
    "paper": "the column of papers",
    "reviewer": "the column of reviewers",
    "score": "the column, field, question or label of the score",
    "criteria": 'the columns of criteria, as ["soundness", "clarity"]',
    "missing_score": "'absent' if everyone can see which reviews have no score, or 'leave-out' their papers",
    "scale": "the lowest and highest possible score, as [1, 10]",
    "symbols": 'letters from the lowest to the highest, as ["D", "C", "B", "A"]',
    "person": "'member' or 'subreviewer': whom a subreviewer's review counts to",
    "ids": "'people' if the reviewers' ids stand for people across papers",
    "merge_names": "true if reviewers whose ids differ only in case, blanks or accents are the same people",
    "attributes": "a table of attributes, with one row per reviewer",
    "committee": "a public list of everyone who reviews, one id per line",
    "people": "a file that tells who stands behind which anonymous signature",
    "only": 'what to keep by columns that everyone can see, as ["Type=Review", "Confidence>=3"]',
    "leave_out": 'what to leave out by columns that everyone can see, as ["Decision=Withdrawn"]',
    "visible_column": 'what these columns describe, as ["Type=review", "Decision=paper"]',
    "review_name": "what the venue calls its reviews on OpenReview",
}
_LISTS = ("criteria", "only", "leave_out", "visible_column")
_TEXTS = tuple(key for key in KEYS if key not in (*_LISTS, "scale", "symbols", "merge_names"))
_PATHS = ("people", "attributes", "committee")


def read_mapping(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the arguments in a mapping; paths are relative to the mapping."""
    name, text = read_text(path)
    mapping: dict[str, Any] | None = None
    line = None
    try:
        mapping = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
    if mapping is None:
        raise FileError("is not well-formed TOML", file=name, line=line)
    for key, value in mapping.items():
        if key not in KEYS:
            raise FileError(f"has the unknown key {key!r}; the keys of a mapping are {', '.join(KEYS)}", file=name)
        if key in _TEXTS and not isinstance(value, str):
            raise FileError(f"{key} must be text: {KEYS[key]}", file=name)
        if key in _LISTS and not (isinstance(value, list) and all(isinstance(part, str) for part in value)):
            raise FileError(f"{key} must be {KEYS[key]}", file=name)
    if "scale" in mapping:
        scale = mapping["scale"]
        if not isinstance(scale, list) or len(scale) != 2 or not all(type(x) in (int, float) for x in scale):
            raise FileError(f"scale must be {KEYS['scale']}", file=name)
        mapping["scale"] = (float(scale[0]), float(scale[1]))
    if not isinstance(mapping.get("merge_names", False), bool):
        raise FileError(f"merge_names must be {KEYS['merge_names']}", file=name)
    return mapping | {key: str(Path(name).parent / mapping[key]) for key in _PATHS if key in mapping}


def write_mapping(path: str | os.PathLike[str], known: Mapping[str, Any], comments: Mapping[str, str]) -> None:
    """Write a draft to a new file: known values, and the other keys as comments to fill in."""
    write_new(path, mapping_text(known, comments))


def mapping_text(known: Mapping[str, Any], comments: Mapping[str, str] | None = None) -> str:
    """Return a mapping of known values, with the other keys as comments to fill in.

    >>> print(mapping_text({"paper": "Submission"}).splitlines()[5])
    paper = "Submission"  # the column of papers
    """
    comments = comments or {}
    lines = ["# How to read an export; see docs/formats.md. Options on the command line come before it.", ""]
    for key, description in KEYS.items():
        words = comments.get(key, description)
        toml = json.dumps(known.get(key), ensure_ascii=False).replace("\x7f", "\\u007f")  # TOML escapes this as well
        lines.append(f"# {key} =   # {words}" if known.get(key) is None else f"{key} = {toml}  # {words}")
    return "\n".join(lines) + "\n"
