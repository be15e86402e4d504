"""Reading a published release's files, and checking that report, table and pictures state what release.json states.

Where the same versions wrote them, the files are rendered anew and compared as text. Where other versions did, what
they state is compared, and the result says so.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from peerveil.errors import FileError, unexpected
from peerveil.releases.checks import Check, RefusedError, looked_at, unchecked
from peerveil.releases.documents import parse_json
from peerveil.releases.page_text import PageText, page_text, stated_in_svg
from peerveil.releases.release import COLUMNS, DATA_FILES, FILES, OWN_FILES, Release
from peerveil.releases.signatures import read_bytes, release_file
from peerveil.reporting.report import FIGURES, figures, report_html
from peerveil.tables.opening import NOT_UTF8

#: A file may be so many times as long as the one rendered anew, and so much longer, before it is not even read.
_TIMES, _MORE = 8, 1_000_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Opened:
    """A release.json that was read, and what checking its form found.

    Attributes:
        place: where it is.
        contents: its bytes.
        document: its parsed JSON; ``None`` where it holds a key twice.
        release: the release; ``None`` where the file is not as its schema says.
        schema: what checking that found.
    """

    place: Path
    contents: bytes
    document: dict[str, Any] | None
    release: Release | None
    schema: Check


def open_release(path: str | os.PathLike[str]) -> Opened:
    """A release.json, given by its path or its folder, read once.

    Raises:
        FileError: if there is no such file, or it is not JSON.
    """
    place = release_file(path)
    contents = read_bytes(place)
    document: Any = None
    release: Release | None = None
    problem = ""
    try:
        document = parse_json(_decoded(contents, str(place)), name=place.name)
        if document is not None:
            release = Release.from_document(document, name=place.name)
    except FileError as error:
        problem = str(error)
        if problem.endswith(NOT_UTF8):
            raise
    except Exception as error:  # noqa: BLE001 - whatever the file holds, it is refused and nothing is raised
        problem = f"it could not be read: {unexpected(error)}"
    if document is None and not problem:
        raise FileError("is not JSON; a release.json written by Peerveil is needed", file=str(place))
    found = problem or "as the schema says; no key stands twice; promise and limits are worded as its numbers say"
    schema = Check(name="schema", result="fails" if release is None else "holds", found=found)
    return Opened(place=place, contents=contents, document=document, release=release, schema=schema)


def read_release(path: str | os.PathLike[str]) -> tuple[Release | None, Check]:
    """A release from its folder or release.json, if it is as its schema says, and what checking that found.

    Raises:
        FileError: if there is no such file, or it is not JSON.
    """
    opened = open_release(path)
    return opened.release, opened.schema


def file_checks(folder: Path, release: Release, *, same: bool) -> Iterator[Check]:
    """Checks of release.csv, report.html and the pictures beside a release.json.

    Args:
        folder: where they are.
        release: what they must state.
        same: whether the versions that wrote them are ours, so that rendering them anew gives the same text.
    """
    yield _checked(folder, ("release.csv",), lambda: {"release.csv": release.to_csv()}, _same_table(release, same=same))
    pictures: dict[str, str] = {}

    def drawn() -> dict[str, str]:
        pictures.update(pictures or figures(release))
        return pictures

    def page() -> dict[str, str]:
        return {"report.html": report_html(release, pictures=drawn(), table=release.to_csv())}

    yield _checked(folder, ("report.html",), page, _same_text if same else _same_statements(release))
    yield _checked(folder, FIGURES, drawn, _same_text if same else _same_words)


def other_files(folder: Path) -> Check:
    """Files in a release's folder that Peerveil does not write there: named, as nobody has checked them."""
    own = set(OWN_FILES)
    within = {str(Path(name).parent) for name in own}
    places = [*folder.iterdir(), *((folder / "figures").iterdir() if (folder / "figures").is_dir() else ())]
    names = sorted(place.relative_to(folder).as_posix() for place in places)
    others = [name for name in names if name not in own and not (name in within and (folder / name).is_dir())]
    if not others:
        return Check(name="files", result="holds", found="the folder holds nothing that Peerveil does not write")
    shown = ", ".join(map(ascii, others[:5])) + (f" and {len(others) - 5} more" if len(others) > 5 else "")
    return unchecked("files", f"not of Peerveil's making, so nothing is known of them: {shown}")


Compare = Callable[[str, str, str], str]


def _checked(folder: Path, names: tuple[str, ...], render: Callable[[], dict[str, str]], compare: Compare) -> Check:
    """Whether the files of these names, as far as they are there, are as rendered anew."""
    called = names[0] if len(names) == 1 else "pictures"
    there = [name for name in names if (folder / name).is_file()]
    if not there:
        return unchecked(called, f"there is no {called} beside it" if len(names) == 1 else "there are none beside it")

    def look() -> str:
        rendered = render()
        words = {compare(name, _text(folder / name, name, len(rendered[name])), rendered[name]) for name in there}
        missing = [name for name in names if name not in there]
        return "; ".join([*sorted(words), *([f"not there: {', '.join(missing)}"] if missing else [])])

    return looked_at(called, look)


def _text(place: Path, name: str, expected: int) -> str:
    if place.stat().st_size > _TIMES * expected + _MORE:
        raise RefusedError(f"{name} is far longer than what Peerveil writes there")
    return _decoded(read_bytes(place), name, bom=False)


def _decoded(contents: bytes, name: str, *, bom: bool = True) -> str:
    """Text with line ends as written on any system."""
    problem = ""
    try:
        return contents.decode("utf-8-sig" if bom else "utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError:
        problem = NOT_UTF8
    raise FileError(problem, file=name)


def _same_text(name: str, stored: str, ours: str) -> str:
    if stored != ours:
        raise RefusedError(f"{name} is not what release.json gives when it is rendered anew")
    return "the same text as rendered anew from release.json"


def _same_table(release: Release, *, same: bool) -> Compare:
    def compare(name: str, stored: str, ours: str) -> str:
        _same_numbers(stored, release)
        return _same_text(name, stored, ours) if same else "the same numbers as release.json, written by other versions"

    return compare


def _same_numbers(text: str, release: Release) -> None:
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


def _float(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _same_statements(release: Release) -> Compare:
    """What a report by other versions states: every part of the claim is there, and no number is another one."""
    claim = release.guarantee
    words = [
        claim.summary,
        release.promise,
        release.not_protected,
        release.public,
        release.record_digest,
        release.region,
        *release.notes,
    ]
    if release.outlook is not None:
        words += [release.outlook.summary, release.outlook.assumption]

    def compare(name: str, stored: str, ours: str) -> str:
        theirs, expected = page_text(stored), page_text(ours)
        _no_programs(name, theirs)
        lacking = sum(" ".join(part.split()) not in theirs.text for part in words)
        if lacking:
            raise RefusedError(f"{name} lacks {lacking} of the statements that release.json makes")
        if theirs.measured() != expected.measured():
            raise RefusedError(f"the tables of {name} are not those that release.json gives")
        if other := theirs.numbers - expected.numbers:
            raise RefusedError(f"{name} states {len(other)} numbers that release.json does not give")
        if any(table.replace("\r\n", "\n") != release.to_csv() for table in theirs.tables):
            raise RefusedError(f"the table inside of {name} is not release.csv")
        return (
            "written by other versions: claim, words, tables and numbers are those of release.json; the look was not "
            "compared"
        )

    return compare


def _same_words(name: str, stored: str, ours: str) -> str:
    theirs, expected = stated_in_svg(stored), stated_in_svg(ours)
    _no_programs(name, theirs)
    if theirs.label != expected.label:
        raise RefusedError(f"{name} is described in other words than release.json gives")
    if theirs.words - expected.words:
        raise RefusedError(f"{name} holds words that release.json does not give")
    return "written by other versions: their words are those of release.json; lines and scales were not compared"


def _no_programs(name: str, page: PageText) -> None:
    if page.active:
        raise RefusedError(f"{name} holds what Peerveil never writes: {', '.join(sorted(page.active))}")


assert set(DATA_FILES) | {"report.html", *FIGURES} == set(FILES)  # noqa: S101 - every file of a release is checked
