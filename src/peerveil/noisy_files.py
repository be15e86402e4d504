"""Reading a noisy vector that someone published."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np

from peerveil.bundle import Release
from peerveil.errors import FileError
from peerveil.record import Floats
from peerveil.tables import read_table

NOISY_NAMES = ("noisy", "value", "values", "mean", "theta")


def read_noisy(path: str | os.PathLike[str]) -> Floats:
    """A noisy vector from a file, in order of rank.

    The file is a release.json of Peerveil, a JSON list of numbers, a table with a column ``noisy`` (or ``value``), or
    text with one number a line.
    """
    place = Path(path)
    name = str(place)
    try:
        text = place.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise FileError(f"cannot be read: {error.strerror}", file=name) from None
    except UnicodeDecodeError:
        raise FileError("is not UTF-8 text", file=name) from None
    if not text.strip():
        raise FileError("is empty", file=name)
    if text.lstrip().startswith(("{", "[")):
        return _from_json(text, name)
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if _is_number(lines[0][1]):
        return np.array([_number(line, number, name) for number, line in lines])
    table = read_table(place)
    column = table.find("noisy", NOISY_NAMES[:1] if table.matches(NOISY_NAMES[:1]) else NOISY_NAMES)
    return table.numbers(column)


def _from_json(text: str, name: str) -> Floats:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise FileError("is not well-formed JSON", file=name) from None
    if isinstance(document, dict):
        return Release.from_document(document, name=name).noisy
    if not all(isinstance(x, int | float) and not isinstance(x, bool) for x in document):
        raise FileError("must be a list of numbers", file=name)
    return np.array(document, dtype=np.float64)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number(text: str, line: int, name: str) -> float:
    if not _is_number(text):
        raise FileError("is not a number; give one number a line", file=name, line=line)
    return float(text)
