"""Reading a published release's files, and checking that they agree."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

import numpy as np

from peerveil.bundle import COLUMNS, Release
from peerveil.documents import parse_json
from peerveil.errors import FileError
from peerveil.table_files import file_to_read, read_text
from peerveil.verdict import Check, RefusedError, looked_at


def read_release(path: str | os.PathLike[str]) -> tuple[Release | None, Check]:
    """A release from its folder or release.json, if it is as its schema says, and what checking that found.

    Raises:
        FileError: if there is no such file, or it is not JSON.
    """
    place = file_to_read(path)
    name, text = read_text(place / "release.json" if place.is_dir() else place)
    release, problem = None, ""
    try:
        document = parse_json(text, name=Path(name).name)
        if document is not None:
            release = Release.from_document(document, name=Path(name).name)
    except FileError as error:
        problem = str(error)
    if problem:
        return None, Check(name="schema", result="fails", found=problem)
    if release is None:
        raise FileError("is not JSON; a release.json written by Peerveil is needed", file=name)
    found = "as the schema says; promise and limits are worded as its numbers say"
    return release, Check(name="schema", result="holds", found=found)


def table_check(path: str | os.PathLike[str], release: Release) -> Check:
    """Whether the release.csv beside a release.json holds the same numbers."""
    place = Path(path)
    table = (place if place.is_dir() else place.parent) / "release.csv"
    if not table.is_file():
        return Check(name="release.csv", result="not checked", found="there is no release.csv beside it")
    _, text = read_text(table)
    return looked_at("release.csv", lambda: _same_table(text, release))


def _same_table(text: str, release: Release) -> str:
    header, *rows = list(csv.reader(io.StringIO(text))) or [[]]
    if header != list(COLUMNS) or len(rows) != release.reviewers or any(len(row) != len(header) for row in rows):
        raise RefusedError(f"it must have the columns {', '.join(COLUMNS)} and {release.reviewers} rows")
    bands = (None, None) if release.outlook is None else (release.outlook.lower, release.outlook.upper)
    ranks = np.arange(1.0, release.reviewers + 1)
    held = (ranks, release.values, release.noisy, release.lower, release.upper, *bands)
    for name, cells, vector in zip(COLUMNS, zip(*rows, strict=True), held, strict=True):
        expected = [""] * release.reviewers if vector is None else vector.tolist()
        for row, (cell, number) in enumerate(zip(cells, expected, strict=True), 1):
            if cell != number and _float(cell) != number:
                raise RefusedError(f"column {name!r}, rank {row} is not what release.json has")
    return "the same numbers as release.json"


def _float(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None
