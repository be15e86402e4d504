"""Checks that table, report and charts of a release agree with its release.json.

Files written by the same versions are rendered again and compared as text, files of other versions by their content.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from peerveil.errors import FileError, unexpected
from peerveil.releases import words_v1
from peerveil.releases.checking.results import Check, RefusedError, checked, shortened, unchecked
from peerveil.releases.documents import float_or_none, parse_json
from peerveil.releases.effects.answers import Answer
from peerveil.releases.effects.crosstabs import Crosstab
from peerveil.releases.effects.published import Effect
from peerveil.releases.linked.published import Correlation
from peerveil.releases.page_text import PageText
from peerveil.releases.release import COLUMNS, OWN_FILES, Release
from peerveil.releases.signatures import read_bytes, release_file
from peerveil.releases.withdrawal import Withdrawal, without_banner
from peerveil.reporting.metadata import croissant
from peerveil.reporting.published import CROISSANT
from peerveil.reporting.report import FIGURES, figures, report_html
from peerveil.support.version import software
from peerveil.tables.opening import NOT_UTF8, guarded

#: What versions before 0.3 wrote for zero where rounding errors were left of it.
_DUST = re.compile(r"(?<![\w.])-?\d(?:\.\d+)?e-1\d\b")

#: A file is not read if it is longer than so many times the expected length, plus a constant.
_TIMES, _MORE = 8, 1_000_000


@dataclass(frozen=True, kw_only=True, eq=False)
class Opened:
    """A release.json: path, bytes, parsed JSON, the release, and the result of checking the schema.

    There is no parsed JSON if it repeats a key, and no release if the file violates its schema.
    """

    place: Path
    contents: bytes
    document: dict[str, Any] | None
    release: Release | Answer | None
    schema: Check


def open_release(path: str | os.PathLike[str]) -> Opened:
    """Return a release.json, given by its path or folder, after reading it once.

    Raises:
        FileError: if there is no such file, or it is not JSON.
    """
    place = release_file(path)
    contents = read_bytes(place)
    document: Any = None
    release: Release | Answer | None = None
    problem = ""
    try:
        document = parse_json(_decoded(contents, str(place)), name=place.name)
        if document is not None:
            release = _kind(document).from_document(document, name=place.name)
    except FileError as error:
        problem = str(error)
        if problem.endswith(NOT_UTF8):
            raise
    except Exception as error:  # noqa: BLE001 - any bad file must give a result
        problem = f"it could not be read: {unexpected(error)}"
    if document is None and not problem:
        raise FileError("is not JSON; a release.json written by Peerveil is needed", file=str(place))
    finding = problem or "follows the schema; no repeated keys; the words of the claim follow from its numbers"
    schema = Check(name="schema", result="fails" if release is None else "holds", found=finding)
    return Opened(place=place, contents=contents, document=document, release=release, schema=schema)


def _kind(document: object) -> type[Release] | type[Answer]:
    stated = document.get("kind") if isinstance(document, dict) else None
    return next((kind for kind in (Effect, Crosstab, Correlation) if kind.kind == stated), Release)


def file_checks(folder: Path, release: Release, *, same: bool, mark: Withdrawal | None = None) -> Iterator[Check]:
    """Yield checks of release.csv, report.html and charts; ``same`` if versions equal to ours wrote them.

    The report of a withdrawn release, which has a ``mark``, is compared without the notice of the withdrawal.
    """
    pictures = cache(lambda: figures(release))

    def page() -> dict[str, str]:
        return {"report.html": report_html(release, pictures=pictures(), table=release.to_csv())}

    same_page = same_text if same else partial(_same_statements, release)

    def same_unmarked(name: str, stored: str, ours: str) -> str:
        unmarked, remark = without_banner(stored, mark)
        return same_page(name, unmarked, ours) + remark

    def described() -> dict[str, str]:
        files = {"release.json": release.to_json().encode(), "release.csv": release.to_csv().encode()}
        return {CROISSANT: croissant(release, files)}

    same_table = partial(_same_table, release, same)
    yield _check(folder, ("release.csv",), lambda: {"release.csv": release.to_csv()}, same_table)
    yield _check(folder, ("report.html",), page, same_unmarked)
    yield _check(folder, FIGURES, pictures, same_text if same else partial(_same_words, release))
    yield _check(folder, (CROISSANT,), described, same_text if same else same_description)


def other_files(folder: Path) -> Check:
    """Return a check that names files in the folder that Peerveil does not write."""
    own = set(OWN_FILES)
    within = {str(Path(name).parent) for name in own}
    places = [*folder.iterdir(), *((folder / "figures").iterdir() if (folder / "figures").is_dir() else ())]
    names = sorted(place.relative_to(folder).as_posix() for place in places)
    others = [name for name in names if name not in own and not (name in within and (folder / name).is_dir())]
    if not others:
        return Check(name="files", result="holds", found="the folder contains no other files")
    return unchecked("files", f"not written by Peerveil: {shortened([ascii(name) for name in others])}")


Compare = Callable[[str, str, str], str]


def _check(folder: Path, names: tuple[str, ...], render: Callable[[], dict[str, str]], compare: Compare) -> Check:
    """The result of comparing files, as far as they exist, with those rendered again."""
    title = names[0] if len(names) == 1 else "pictures"
    present = [name for name in names if (folder / name).is_file()]
    if not present:
        return unchecked(title, "no such file in the folder")

    def compared() -> str:
        rendered = render()
        words = {
            compare(name, stored_text(folder / name, name, len(rendered[name])), rendered[name]) for name in present
        }
        missing = [name for name in names if name not in present]
        return "; ".join([*sorted(words), *([f"missing: {', '.join(missing)}"] if missing else [])])

    return checked(title, compared)


def stored_text(place: Path, name: str, expected: int) -> str:
    """Return the text of a file, refused if it is far longer than expected."""
    if place.stat().st_size > _TIMES * expected + _MORE:
        raise RefusedError(f"{name} is far longer than what Peerveil writes")
    return _decoded(read_bytes(place), name, bom=False)


def _decoded(contents: bytes, name: str, *, bom: bool = True) -> str:
    """The text of a file, with line ends of any system."""
    return guarded(lambda: contents.decode("utf-8-sig" if bom else "utf-8"), name).replace("\r\n", "\n")


def same_text(name: str, stored: str, ours: str) -> str:
    """Refuse a text other than the one rendered again."""
    if stored != ours:
        raise RefusedError(f"{name} differs from what release.json renders to")
    return "the same text as rendered from release.json"


def _same_table(release: Release, same: bool, name: str, stored: str, ours: str) -> str:
    """Refuse a table with other numbers or, if the same versions wrote it, another text."""
    header, *rows = list(csv.reader(io.StringIO(stored))) or [[]]
    if header != list(COLUMNS) or len(rows) != release.reviewers or any(len(row) != len(header) for row in rows):
        raise RefusedError(f"it must have the columns {', '.join(COLUMNS)} and {release.reviewers} rows")
    bands = (None, None) if release.outlook is None else (release.outlook.lower, release.outlook.upper)
    ranks = np.arange(1.0, release.reviewers + 1)
    vectors = (ranks, release.values, release.noisy, release.lower, release.upper, *bands)
    for column, cells, vector in zip(COLUMNS, zip(*rows, strict=True), vectors, strict=True):
        expected = [""] * release.reviewers if vector is None else vector.tolist()
        for row, (cell, number) in enumerate(zip(cells, expected, strict=True), 1):
            if cell != number and float_or_none(cell) != number:
                raise RefusedError(f"column {column!r}, rank {row} differs from release.json")
    return same_text(name, stored, ours) if same else "the same numbers as release.json, written by other versions"


def _same_statements(release: Release, name: str, stored: str, ours: str) -> str:
    """Refuse a report of other versions that lacks a part of the claim or has other numbers."""
    words = [
        *(release.guarantee.summary, release.promise, release.not_protected, release.public),
        *(release.record_digest, release.region, *release.notes),
        *(words for claim in release.series for words in (claim.guarantee.human, claim.guarantee.promise)),
        *(() if release.outlook is None else (release.error_summary, release.outlook.assumption)),
    ]
    return same_statements(words, name, stored, ours, table=release.to_csv(), by=release.software)


def same_statements(words: Iterable[str], name: str, stored: str, ours: str, *, table: str | None, by: str) -> str:
    """Refuse a report of other versions that lacks words, or has other numbers, links or tables than expected.

    If it was written ``by`` this version, with other versions of packages, all words must be the same.
    """
    theirs, expected = _pages(name, _DUST.sub("0", stored), ours)
    lacking = sum(" ".join(part.split()) not in theirs.text for part in words)
    if lacking:
        raise RefusedError(f"{name} lacks {lacking} of the statements in release.json")
    if theirs.measured() != expected.measured():
        raise RefusedError(f"the tables of {name} differ from release.json")
    if other := theirs.numbers - expected.numbers:
        raise RefusedError(f"{name} contains {len(other)} numbers that release.json does not imply")
    if theirs.addresses - expected.addresses:
        raise RefusedError(f"{name} links to addresses that release.json does not state")
    if theirs.metadata and theirs.metadata != expected.metadata:
        raise RefusedError(f"the metadata in {name} differ from release.json")
    if any(each.replace("\r\n", "\n") != table for each in theirs.tables):
        raise RefusedError(f"the table in {name} is not release.csv")
    if by != software():
        return (
            "written by other versions: claim, tables and numbers agree with release.json; words and style not compared"
        )
    if theirs.text != expected.text or theirs.words - expected.words:
        raise RefusedError(f"{name} has other words than release.json implies")
    return (
        "written with other versions of packages: words, tables and numbers agree with release.json; style not compared"
    )


def _same_words(release: Release, name: str, stored: str, ours: str) -> str:
    """Refuse a chart of other versions with words that neither this version nor 0.1 and 0.2 write."""
    theirs, expected = _pages(name, stored, ours)
    labels = {expected.label}
    if name == "figures/refinement.svg":
        labels.add(words_v1.refinement_label(release.reviewers, release.quantity))
    if theirs.label not in labels:
        raise RefusedError(f"{name} has another description than release.json implies")
    earlier = words_v1.chart_words(None if release.outlook is None else release.outlook.level, release.quantity)
    if theirs.words - expected.words - earlier or theirs.addresses:
        raise RefusedError(f"{name} contains words that release.json does not imply")
    return "written by other versions: words agree with release.json; lines and scales not compared"


#: What a description by other versions must state as this one does.
_DESCRIBED = ("name", "url", "license", "creator", "citation", "datePublished")


def same_description(name: str, stored: str, ours: str) -> str:
    """Refuse a description by other versions that states other facts, or other digests of the data."""
    theirs, expected = parse_json(stored, name=name), parse_json(ours, name=name)
    try:
        sums, due = ({each["name"]: each["sha256"] for each in one["distribution"]} for one in (theirs, expected))
        same = sums == due and all(theirs.get(key) == expected.get(key) for key in _DESCRIBED)
    except (AttributeError, KeyError, TypeError):
        same = False
    if not same:
        raise RefusedError(f"{name} describes another release than release.json")
    return "written by other versions: names, terms and digests agree with release.json"


def _pages(name: str, stored: str, ours: str) -> tuple[PageText, PageText]:
    """The content of a stored page, refused if it is active, and of the one rendered again."""
    theirs = PageText(stored)
    if theirs.active:
        raise RefusedError(f"{name} contains what Peerveil never writes: {', '.join(sorted(theirs.active))}")
    return theirs, PageText(ours)
