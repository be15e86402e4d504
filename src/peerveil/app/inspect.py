"""Inspection of a file of reviews or of public scores."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from peerveil.app.messages import renaming
from peerveil.app.options import ReadingOptions
from peerveil.app.parsing import reading_arguments
from peerveil.app.reading import read_reviews
from peerveil.app.requests import InspectRequest
from peerveil.errors import FileWarning, InputError
from peerveil.private import inspection
from peerveil.private.inspection import Columns
from peerveil.private.readers import choices_from
from peerveil.private.readers.mapping import KEYS, mapping_text, read_mapping
from peerveil.record.public_files import write_public
from peerveil.record.tracks import GROUP_NAMES
from peerveil.support.atomic_files import write_new
from peerveil.tables.headings import plain
from peerveil.tables.opening import open_source


def inspect(request: InspectRequest) -> dict[str, Any]:
    """Return facts about a file, none of them about a person; write its public scores if requested."""
    with renaming(ratings="score"):
        facts = inspection.inspect(request.file, mapping=request.reading.mapping, **reading_arguments(request.reading))
    if request.write_public is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FileWarning)  # the facts say how the file was read
            write_scores(request, request.write_public)
    return facts


def write_scores(request: InspectRequest, path: str) -> None:
    """Write all scores of a file of reviews to a new file, without reviewers: what is public if all scores are."""
    with renaming(ratings="score"):
        write_public(read_reviews(request.file, request.reading).public("all"), path)


def sheets_of(file: str) -> tuple[str, ...]:
    """Return the names of the sheets of a workbook, if it has several to choose from."""
    try:
        opened = open_source(file)
        names = () if opened.workbook is None else opened.sheet_names()
    except InputError:  # whoever reads it is told
        return ()
    return names if len(names) > 1 else ()


def columns_of(file: str, reading: ReadingOptions) -> Columns:
    """Return the headings of a file of reviews, to be shown to its owner only."""
    return inspection.columns(file, mapping=reading.mapping, **reading_arguments(reading))


def attribute_columns(file: str) -> tuple[str, ...]:
    """Return the headings of a table of reviewers, to be shown to its owner only; none if it cannot be read."""
    try:
        return inspection.attribute_columns(file)
    except InputError:  # whoever reads it is told
        return ()


def track_column(headings: Iterable[str]) -> str:
    """Return the only heading that is a usual name of a column of tracks; empty if none or several are.

    >>> track_column(["Paper", "Track", "Score"])
    'Track'
    """
    usual = {plain(name) for name in GROUP_NAMES}
    matches = [heading for heading in headings if plain(heading) in usual]
    return matches[0] if len(matches) == 1 else ""


def mapping_of(reading: ReadingOptions) -> str:
    """Return the mapping that holds the options of a reading, added to those of the mapping that it names.

    >>> print(mapping_of(ReadingOptions(score="Note", score_scale="1,6")).splitlines()[7])
    score = "Note"  # the column, field, question or label of the score
    """
    known = {} if reading.mapping is None else read_mapping(reading.mapping)
    known |= {key: value for key, value in reading_arguments(reading).items() if value not in (None, [], ())}
    choices_from(None, **known)  # refuses invalid ones
    if "people" in known:
        known["people"] = str(Path(known["people"]).absolute())  # in a mapping, it is relative to that
    return mapping_text({key: value for key, value in known.items() if key in KEYS})


def save_mapping(reading: ReadingOptions, path: str) -> None:
    """Write the mapping of a reading to a new file."""
    write_new(path, mapping_of(reading))


def draft_mapping(request: InspectRequest) -> None:
    """Write a draft mapping to the file named in the request."""
    assert request.write_mapping is not None  # noqa: S101 - the caller has checked
    with renaming(ratings="score"):
        inspection.draft_mapping(request.file, request.write_mapping, **reading_arguments(request.reading))
