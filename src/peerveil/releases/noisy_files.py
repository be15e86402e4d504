"""Reading of published noisy vectors."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from peerveil.errors import FileError
from peerveil.record.public_record import Floats
from peerveil.releases.documents import float_or_none, parse_json
from peerveil.releases.release import Release
from peerveil.releases.withdrawal import warn_if_withdrawn
from peerveil.tables.cells import LARGEST, to_number
from peerveil.tables.headings import NOISY_NAMES
from peerveil.tables.opening import read_text
from peerveil.tables.reading import read_table


def read_noisy(path: str | os.PathLike[str]) -> Floats | Release:
    """Return the noisy vector in a file, in order of rank, or the release in a release.json or its folder.

    Other files are a JSON list of numbers, a table with a column ``noisy`` (or ``value``), or text with one number per
    line.
    """
    if Path(path).is_dir():
        return Release.load(path)
    name, text = read_text(path)
    if not text.strip():
        raise FileError("is empty", file=name)
    if text.lstrip().startswith(("{", "[")):
        given = _from_json(text, name)
        if isinstance(given, Release):
            warn_if_withdrawn(Path(path))
        return given
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if float_or_none(lines[0][1]) is not None:
        return np.array([_number(line, number, name) for number, line in lines])
    table = read_table(path)
    names = NOISY_NAMES[:1] if table.matches(NOISY_NAMES[:1]) else NOISY_NAMES
    return table.numbers(table.find("noisy vector", names, remedy="call it 'noisy'"))


def _from_json(text: str, name: str) -> Floats | Release:
    document = parse_json(text, name=name)
    if document is None:
        raise FileError("is not well-formed JSON", file=name)
    if isinstance(document, dict):
        return Release.from_document(document, name=name)
    values = [to_number(entry) if not isinstance(entry, str) else None for entry in document]
    for place, value in enumerate(values, 1):
        if value is None:
            raise FileError(f"must be a list of numbers; entry {place} is not a number", file=name)
        if abs(value) > LARGEST:
            raise FileError(f"entry {place} is too large, above {LARGEST:g}", file=name)
    return np.array(values, dtype=np.float64)


def _number(text: str, line: int, name: str) -> float:
    value = float_or_none(text)
    if value is None:
        raise FileError("is not a number; give one number per line", file=name, line=line)
    if abs(value) > LARGEST:
        raise FileError(f"is too large, above {LARGEST:g}", file=name, line=line)
    return value
