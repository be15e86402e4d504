"""Releases among uploaded files: recognised, unpacked, and stored in folders of their own."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from pathlib import Path, PurePosixPath

from peerveil.errors import FileError
from peerveil.releases.release import OWN_FILES
from peerveil.reporting.terms import About
from peerveil.web.cases import Case

#: The place of each file of a release in its folder, by its name alone.
PLACES = {Path(place).name: place for place in OWN_FILES}

#: The most characters of a title.
_TITLE = 60

#: How much of a file is read to recognise a release.json.
_START = 2**16

#: The most bytes of one file that is unpacked.
_LARGEST = 2**28


def is_release(file: Path) -> bool:
    """Return whether a file is a release.json, or a zip file that contains one."""
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as packed:
            return any(_last(entry) == "release.json" for entry in packed.namelist())
    with file.open("rb") as handle:
        start = handle.read(_START).lstrip(b"\xef\xbb\xbf \t\r\n")
    return start.startswith(b"{") and b'"schema_version"' in start


def is_prior(file: Path) -> bool:
    """Return whether a file is a prior that was pooled from releases."""
    with file.open("rb") as handle:
        start = handle.read(_START).lstrip(b"\xef\xbb\xbf \t\r\n")
    return start.startswith(b"{") and re.match(rb'\{\s*"kind":\s*"prior"', start) is not None


def store(file: Path, folder: Path, *, name: str) -> None:
    """Move a file of a release to its place in a folder, or unpack a zip file there; ``name`` as its owner knows it.

    Files that are no part of a release are dropped.
    """
    folder.mkdir(exist_ok=True)
    if zipfile.is_zipfile(file):
        _unpack(file, folder, name)
    else:
        place = "release.json" if is_release(file) else PLACES.get(_last(name))
        if place is not None:
            (folder / place).parent.mkdir(exist_ok=True)
            shutil.copyfile(file, folder / place)
    file.unlink()


def sort_file(case: Case, file: Path, *, name: str, role: str, first: bool, several: bool) -> str:
    """Put an uploaded file of a researcher in its place, and return its role.

    A release is recognised wherever it is dropped. ``first`` if it is the first of the files that were dropped
    together, and ``several`` if there were several: those that do not belong to a release are then public scores.
    """
    published = is_release(file)
    if role != "releases" and is_prior(file):
        role = "prior"
    if role in ("release", "releases") and not (published or several or _last(name) in PLACES):
        raise FileError("is neither a release.json nor a zip file of a release", file=_last(name))
    if role == "releases":
        if published:
            folder = case.folder / f"release-{len(case.releases) + 1}"
            store(file, folder, name=name)
            case.releases[folder.name] = title_of(name, case, _venue(folder))
        return role
    if role == "release" or (published and role in ("noisy", "public_file")):
        role = "release" if role == "release" else "noisy"
        folder = case.folder / f"{role}-folder"
        if first:
            shutil.rmtree(folder, ignore_errors=True)
        store(file, folder, name=name)
        if (folder / "release.json").is_file():
            case.files[role] = folder.name
        return role
    if role == "noisy" and several and case.published:
        if _last(name) in PLACES:  # another file of the release, which is not needed
            return role
        role = "public_file"
    taken = {other for part, other in case.files.items() if part != role}
    folder = case.folder / role if file.name in taken else case.folder  # errors name the file as its owner does
    folder.mkdir(exist_ok=True)
    case.files[role] = str(file.replace(folder / file.name).relative_to(case.folder))
    return role


def title_of(name: str, case: Case, venue: str = "") -> str:
    """Return a title for a release: the name of its folder or zip file, or what it is of, unless another has it."""
    path = PurePosixPath(name.replace("\\", "/"))
    plain = path.parent.name if path.name == "release.json" else path.stem
    plain = plain.removesuffix("release").rstrip("-_ ")
    title = plain if plain not in ("", "peerveil") else venue or f"Release {len(case.releases) + 1}"
    return title if title not in case.releases.values() else f"{title} ({len(case.releases) + 1})"


def _venue(folder: Path) -> str:
    """Return conference and year of a release, as far as its release.json states them."""
    try:
        about = json.loads((folder / "release.json").read_text(encoding="utf-8"))["extension"]["about"]
        return About.from_document(about).venue[:_TITLE]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):  # told when it is read as a whole
        return ""


def _unpack(file: Path, folder: Path, name: str) -> None:
    with zipfile.ZipFile(file) as packed:
        entries = [entry for entry in packed.infolist() if _last(entry.filename) in PLACES]
        releases = [entry.filename for entry in entries if _last(entry.filename) == "release.json"]
        if len(releases) != 1:
            number = "several releases" if releases else "no release.json"
            raise FileError(f"contains {number}; give a zip file with the files of one release", file=name)
        for entry in entries:
            place = folder / PLACES[_last(entry.filename)]
            place.parent.mkdir(exist_ok=True)
            with packed.open(entry) as source, place.open("wb") as target:
                while part := source.read(2**20):
                    if target.tell() > _LARGEST:
                        raise FileError("is too large when unpacked", file=name)
                    target.write(part)


def _last(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]
