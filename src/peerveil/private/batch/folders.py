"""The two folders of a batch: one to publish, and a private one.

The private folder holds the progress of each venue and the full report. Both folders have the same mark, so that a
batch is not resumed with another private folder, which would charge venues again.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peerveil.errors import Argument, InputError, write_failure
from peerveil.reporting.batch_page import batch_csv, batch_html
from peerveil.support.atomic_files import rename_new

#: The mark in the folder to publish. In version 0.1.0 it was a folder with what is now in the private folder.
MARK = ".batch"

#: The outcomes of the venues: without reasons in the folder to publish, with reasons in the private one.
REPORT = "batch.json"

#: Names that no venue may have, as reports on the batch are beside the folders of venues.
REPORTS = (REPORT, "batch.csv", "batch.html")

#: The log and the metrics, in the private folder.
LOG = "log.jsonl"
METRICS = "metrics.json"

_PRIVATE_MARK = "batch-id"
_STATES = "states"
_PLANS = "plans"


@dataclass(frozen=True)
class BatchFolders:
    """The folder of the releases of a batch, and the folder of what is not published."""

    output: Path
    private: Path

    def state_of(self, venue: str) -> Path:
        """The file of the progress of a venue."""
        return self.private / _STATES / f"{venue}.json"

    @property
    def plans(self) -> Path:
        """The folder of plans that venues share."""
        return self.private / _PLANS

    def check_unpublished(self, argument: str, file: str | None) -> None:
        """Raise if a file would lie in the folder to publish."""
        output = Path(os.path.realpath(self.output))
        if file is not None and output in Path(os.path.realpath(file)).parents:
            raise InputError(
                Argument(argument), f" {file} lies in the output folder, which is published; name a file outside of it"
            )

    def write_reports(self, public: Mapping[str, Any], private: Mapping[str, object]) -> None:
        """Write the reports on the outcomes of the venues: that with reasons, and those to publish."""
        write_text(self.private / REPORT, json.dumps(private, indent=1) + "\n", 0o600)
        venues = [outcome["folder"] for outcome in public["outcomes"]]
        reported = {folder for folder in venues if folder and (self.output / folder / "report.html").is_file()}
        page = batch_html(public, reported=reported)
        texts = (json.dumps(public, indent=1) + "\n", batch_csv(public), page)
        for name, text in zip(REPORTS, texts, strict=True):
            write_text(self.output / name, text, 0o666)


def open_folders(output: str | os.PathLike[str], private: str | os.PathLike[str] | None = None) -> BatchFolders:
    """The folders of a new batch, or of one to resume; a batch of version 0.1.0 is migrated."""
    folders = BatchFolders(Path(output), default_private(output) if private is None else Path(private))
    try:
        _open(folders)
    except OSError as error:
        raise write_failure(f"{error.filename or output} cannot be written: {error.strerror}", error) from None
    return folders


def default_private(output: str | os.PathLike[str]) -> Path:
    """The default private folder of a batch.

    >>> default_private("/srv/releases").as_posix()
    '/srv/releases.private'
    """
    whole = Path(os.path.abspath(output))  # noqa: PTH100 - does not resolve links
    if not whole.name:
        raise InputError(
            f"the output folder {whole} can have no folder beside it; name one with ", Argument("private", ...)
        )
    return whole.with_name(f"{whole.name}.private")


def _open(folders: BatchFolders) -> None:
    output, private = (Path(os.path.realpath(folder)) for folder in (folders.output, folders.private))
    if private == output or output in private.parents:
        raise InputError(
            f"the private folder {folders.private} lies in the output folder, which is published; name one outside of "
            "it with ",
            Argument("private", ...),
        )
    folders.output.mkdir(parents=True, exist_ok=True)
    folders.private.mkdir(parents=True, exist_ok=True, mode=0o700)
    begun = _read(folders.private / _PRIVATE_MARK)
    if begun is None and any(folders.private.iterdir()):
        raise InputError(
            f"the private folder {folders.private} holds other files; name a new folder with ", Argument("private", ...)
        )
    stated = None if (folders.output / MARK).is_dir() else _read(folders.output / MARK)
    if stated is not None and stated != begun:
        raise InputError(
            f"the batch in {folders.output} was begun with another private folder than {folders.private}; name that "
            "one (",
            Argument("private", ...),
            "), or venues could be charged twice",
        )
    folders.private.chmod(0o700)
    (folders.private / _STATES).mkdir(mode=0o700, exist_ok=True)
    mark = begun or _write_once(folders.private / _PRIVATE_MARK, secrets.token_hex(8), 0o600)
    if (folders.output / MARK).is_dir():
        _take_over(folders)
    _write_once(folders.output / MARK, mark, 0o666)


def _take_over(folders: BatchFolders) -> None:
    """Move the files of a batch of version 0.1.0 into the private folder, without replacing any."""
    old = folders.output / MARK
    for file in sorted(old.iterdir()):
        place = folders.state_of(file.stem)
        if file.suffix == ".json" and not place.exists():
            write_text(place, file.read_text(encoding="utf-8"), 0o600)
        elif file.suffix != ".part" and (file.suffix != ".json" or place.read_bytes() != file.read_bytes()):
            raise InputError(f"{file} and {place} differ, so it is not known what was drawn; remove the older one")
        file.unlink(missing_ok=True)  # moved, moved before, or of a killed process
    old.rmdir()


def _read(file: Path) -> str | None:
    """The text of a small file; ``None`` if there is none, empty if it cannot be read."""
    try:
        return file.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeError):
        return ""


def _write_once(file: Path, text: str, mode: int) -> str:
    """Write a file unless another run did; returns its text."""
    with suppress(FileExistsError):
        write_text(file, text + "\n", mode, rename_new)
    return _read(file) or ""


def write_text(file: Path, text: str, mode: int, move: Callable[[Path, Path], object] = Path.replace) -> None:
    """Write a file atomically; ``move`` puts it in its place, replacing another one by default."""
    part = file.with_name(f"{file.name}.{os.getpid()}.part")
    part.unlink(missing_ok=True)
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
        handle.write(text)
        handle.flush()
        os.fsync(handle.fileno())
    try:
        move(part, file)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
