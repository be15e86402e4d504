"""Inspection of a file of reviews or of public scores."""

from __future__ import annotations

from typing import Any

from peerveil.app.messages import renaming
from peerveil.app.parsing import reading_arguments
from peerveil.app.reading import read_reviews
from peerveil.app.requests import InspectRequest
from peerveil.errors import InputError
from peerveil.private import inspection
from peerveil.record.public_files import write_public
from peerveil.tables.opening import open_source


def inspect(request: InspectRequest) -> dict[str, Any]:
    """Return facts about a file, none of them about a person; write its public scores if requested."""
    with renaming(ratings="score"):
        facts = inspection.inspect(request.file, mapping=request.reading.mapping, **reading_arguments(request.reading))
        if request.write_public is not None:
            write_public(read_reviews(request.file, request.reading).public("all"), request.write_public)
    return facts


def sheets_of(file: str) -> tuple[str, ...]:
    """Return the names of the sheets of a workbook, if it has several to choose from."""
    try:
        opened = open_source(file)
        names = () if opened.workbook is None else opened.sheet_names()
    except InputError:  # whoever reads it is told
        return ()
    return names if len(names) > 1 else ()


def draft_mapping(request: InspectRequest) -> None:
    """Write a draft mapping to the file named in the request."""
    assert request.write_mapping is not None  # noqa: S101 - the caller has checked
    with renaming(ratings="score"):
        inspection.draft_mapping(request.file, request.write_mapping, **reading_arguments(request.reading))
