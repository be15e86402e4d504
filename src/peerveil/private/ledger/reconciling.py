"""Comparison of a ledger's charges with releases in folders."""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from peerveil.errors import FileError, PeerveilError
from peerveil.privacy.budget import TOLERANCE, Spend
from peerveil.private.ledger.accounts import Entry
from peerveil.private.ledger.series import Series
from peerveil.releases.checking.files import open_release
from peerveil.releases.effects.answers import Answer
from peerveil.releases.release import DATA_FILES, Release

#: Whether a finding is a problem, its subject, and its text.
Found = tuple[bool, str, str]

_FILE = DATA_FILES[0]

#: A release of means, or an answer about groups of reviewers.
Published = Release | Answer


def find_releases(folders: Sequence[str | os.PathLike[str]]) -> list[Path]:
    """Every release.json in some folders, at any depth, except in the hidden folders of unfinished releases."""
    files: set[Path] = set()
    for folder in map(Path, folders):
        if folder.is_file():
            files.add(folder)
        elif folder.is_dir():
            for place, inner, names in os.walk(folder):
                inner[:] = [name for name in inner if not name.startswith(".peerveil-")]
                files |= {Path(place) / _FILE} if _FILE in names else set()
        else:
            raise FileError("there is no such folder of releases", file=str(folder))
    return sorted(files)


def reconcile(
    entries: Sequence[Entry], numbers: Collection[str], paths: Sequence[Path], series: Sequence[Series]
) -> Iterator[Found]:
    """Findings where charges (``entries`` with valid rows, ``numbers`` of all) and files of releases do not match."""
    charged: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        charged[entry.release].append(entry)
    releases: dict[str, list[tuple[Path, Published]]] = defaultdict(list)
    for path in paths:
        release = _load(path)
        if isinstance(release, str):
            yield True, str(path), release
        elif release.charge is None:
            old = release.schema == 1
            reason = " (written by 0.1.0), so it cannot be compared" if old else ": it was released without a ledger"
            yield False, str(path), f"no charge number{reason}"
        elif release.charge not in numbers:
            lost = (
                f"its charge {release.charge} is not in the ledger: the ledger is an older copy that was restored, or "
                "another one. Restore the newest copy, and release nothing more of this data set until the charge is "
                "there"
            )
            yield True, str(path), lost
        else:
            releases[release.charge].append((path, release))
            paid = charged[release.charge]
            if wrong := [*_differences(release, paid), *_uncounted(release, series)]:
                yield True, str(path), f"is not what charge {release.charge} paid for: {'; '.join(wrong)}"
    for number, drawn in releases.items():
        yield from _draws(number, drawn)
    for number in sorted(set(numbers) - releases.keys()):
        what = "".join(f" ({entry.dataset!r}, {entry.quantity}, {entry.charged})" for entry in charged[number][:1])
        yield False, number, f"charge {number}{what} has no release in these folders; perhaps it was not published"


def _load(path: Path) -> Published | str:
    """The release in a file, or the reason why it cannot be compared."""
    try:
        opened = open_release(path)
    except PeerveilError as error:
        return f"cannot be read, so it cannot be compared: {error}"
    release = opened.release
    if release is None:
        return f"cannot be read, so it cannot be compared: {opened.schema.found}"
    return release if release.intact else "was changed after it was written: its digest does not fit"


def _differences(release: Published, entries: Sequence[Entry]) -> list[str]:
    """Differences between a release and its charge; the releases of groups of papers share one charge."""
    group, wrong, claim = release.group, [], release.guarantee
    for entry in entries[:1]:
        if entry.quantity != release.charged_as:
            wrong.append(f"quantity {release.charged_as!r}, charged {entry.quantity!r}")
        if entry.released_unit != claim.unit:
            wrong.append(f"unit {claim.unit}, charged {entry.released_unit}")
        same_kind = release.mechanism.get("name") == entry.mechanism.get("name")
        if release.mechanism != entry.mechanism and (group is None or not same_kind):  # groups differ in their noise
            wrong.append(f"mechanism {_noise(release.mechanism)}, charged {_noise(entry.mechanism)}")
    for paid in (entry.spend for entry in entries if entry.unit == claim.unit):
        if not _pays(paid, release):
            cost = f"rho {paid.rho!r}" if paid.epsilon is None else f"epsilon {paid.epsilon!r}"
            wrong.append(f"claim {claim.summary}, charged {cost}")
    return wrong


def _uncounted(release: Published, series: Sequence[Series]) -> Iterator[str]:
    """The series that a release states and that do not count it in the ledger, or promise something else there."""
    for claim in release.series:
        places = [
            (one, [cost.charged for cost in one.costs if cost.release == release.charge])
            for one in series
            if one.name == claim.name
        ]
        if claim.guarantee not in [one.stated_at(max(found)) for one, found in places if found]:
            yield f"{claim.summary}, which the ledger does not have"


def _pays(paid: Spend, release: Published) -> bool:
    """Whether a charge equals the cost of a release; for a group of papers, whether it covers the cost."""
    try:
        cost = Spend.of(release.guarantee)
    except PeerveilError:
        return False
    pairs = [(cost.rho, paid.rho), (paid.omega, cost.omega)]
    if paid.epsilon is not None:
        pairs.append((math.inf if cost.epsilon is None else cost.epsilon, paid.epsilon))
    if release.group is not None:
        return all(less <= more * (1 + TOLERANCE) for less, more in pairs)
    return (cost.epsilon is None) == (paid.epsilon is None) and all(
        math.isclose(one, other, rel_tol=TOLERANCE) for one, other in pairs
    )


def _draws(number: str, releases: Sequence[tuple[Path, Published]]) -> Iterator[Found]:
    """Findings on noise that was drawn more than once for a charge; refining the same noise again is free."""
    first: dict[str | None, tuple[Path, Published]] = {}
    for path, release in releases:
        group = None if release.group is None else release.group.name
        other, before = first.setdefault(group, (path, release))
        if before.noisy.tolist() != release.noisy.tolist():
            words = f"has another noisy vector than {other} under the same charge {number}: one of them was not charged"
            yield True, str(path), words
    names = first.keys() - {None}
    if names and (None in first or len(names) > min(r.group.groups for _, r in releases if r.group is not None)):
        yield True, number, f"more releases are under charge {number} than the groups that it paid for"


def _noise(mechanism: dict[str, object]) -> str:
    numbers = ", ".join(f"{key} {value}" for key, value in mechanism.items() if isinstance(value, float))
    return f"{mechanism.get('name')}, {numbers}"
