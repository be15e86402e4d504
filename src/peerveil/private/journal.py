"""Journal of releases between their charge and their publication, so that no charge is lost.

Each release has one file. It is synced before the ledger is charged, with the number to charge and space reserved for
the draw, which is written there and synced before anything is shown. So after a process was killed the release can be
resumed without another charge:

- The number is not in the ledger: nothing was charged. It is charged now, or the file is removed.
- The number is charged and the file has no complete draw: noise may have been drawn, but it was never shown. An unseen
  draw reveals nothing, so drawing again is covered by the same charge.
- The number is charged and the file has a complete draw: this draw is used.

At most one draw per charge is ever shown: a complete draw on disk is always used, and only the process that holds the
lock of the file may add one. The system releases a lock when its process ends.

Nothing in a file is private: a draw may be published once it is charged, and settings and data are stored as digests,
that of the data with the secret key of fingerprints.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peerveil.errors import BusyError, InputError
from peerveil.support.atomic_files import rename_new, sync_folder
from peerveil.support.staging import fcntl, is_at


@dataclass(eq=False)
class Kept:
    """The file of one release, locked by this process.

    Attributes:
        file: its path.
        facts: what was written when the release was begun; ``release`` is the number to charge.
        drawn: the draw, as a JSON document; ``None`` before it is drawn.
        resumed: whether an earlier run began the release.
    """

    file: Path
    facts: dict[str, Any]
    drawn: dict[str, Any] | None
    resumed: bool
    _descriptor: int
    _start: int

    @property
    def number(self) -> str:
        """The number to charge."""
        return str(self.facts["release"])

    def keep(self, drawn: dict[str, Any]) -> dict[str, Any]:
        """Write the draw into the reserved space, and sync it; returns the draw."""
        text = json.dumps(drawn).encode()
        _write_at(self._descriptor, b"\n" + _digest(text) + b" " + text + b"\n", self._start)
        os.fsync(self._descriptor)
        self.drawn = drawn
        return drawn

    def close(self) -> None:
        """Release the lock; the file stays."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def remove(self) -> None:
        """Remove the file of a release that is published or was not charged."""
        self.file.unlink(missing_ok=True)
        with suppress(OSError):  # a file that reappears does no harm
            sync_folder(self.file.parent)
        self.close()


def begin(file: Path, facts: dict[str, Any], size: int) -> Kept:
    """The new file of a release with some facts (see :class:`Kept`), synced, locked, and with room for a draw's size.

    Raises:
        FileExistsError: if the file exists.
        OSError: if it cannot be written; then nothing is left.
    """
    part = file.with_name(f"{file.stem}.{facts['release']}.part")
    first = json.dumps(facts).encode()
    descriptor = _new(part)
    try:
        _write_at(descriptor, first + b"\n" + b" " * size, 0)
        os.fsync(descriptor)
        rename_new(part, file)
        sync_folder(file.parent)
    except BaseException:
        os.close(descriptor)
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise
    return Kept(file=file, facts=facts, drawn=None, resumed=False, _descriptor=descriptor, _start=len(first))


def take(file: Path) -> Kept | None:
    """The file of a release that an earlier run began, locked; ``None`` if there is no such file.

    Raises:
        BusyError: if another process works on it.
        InputError: if the file was changed.
    """
    try:
        descriptor = os.open(file, os.O_RDWR)
    except FileNotFoundError:
        return None
    try:
        _lock(descriptor, file)
        if not is_at(descriptor, file):  # removed before it could be locked
            os.close(descriptor)
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as handle:
            facts, drawn, start = _parsed(handle.read(), file)
        if drawn is not None:
            os.fsync(descriptor)  # the process that wrote it may have been killed before
    except BaseException:
        os.close(descriptor)
        raise
    return Kept(file=file, facts=facts, drawn=drawn, resumed=True, _descriptor=descriptor, _start=start)


def remove_parts(folder: Path) -> None:
    """Remove incomplete files of processes that were killed."""
    for part in folder.glob("*.part"):
        with suppress(OSError, BusyError):
            descriptor = os.open(part, os.O_RDWR)
            try:
                _lock(descriptor, part)
                part.unlink(missing_ok=True)
            finally:
                os.close(descriptor)


def look(file: Path) -> tuple[dict[str, Any], dict[str, Any] | None] | None:
    """The facts and the draw in a file, without locking it; ``None`` if it cannot be read."""
    with suppress(OSError, InputError):
        return _parsed(file.read_bytes(), file)[:2]
    return None


def _new(part: Path) -> int:
    """The descriptor of a new file, locked before another process removes it as incomplete."""
    while True:
        descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            if fcntl is not None:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            if is_at(descriptor, part):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _lock(descriptor: int, file: Path) -> None:
    if fcntl is None:
        raise BusyError(f"{file} cannot be locked on this system")
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise BusyError("another process works on this release; wait until it ends") from None


def _parsed(content: bytes, file: Path) -> tuple[dict[str, Any], dict[str, Any] | None, int]:
    """The facts, the draw, and the offset at which the facts end."""
    first, _, rest = content.partition(b"\n")
    facts: Any = None
    with suppress(ValueError):
        facts = json.loads(first)
    if not isinstance(facts, dict) or not isinstance(facts.get("release"), str):
        raise InputError(f"{file} was changed, so it is not known what was drawn")
    digest, _, text = rest.partition(b"\n")[0].partition(b" ")
    drawn = json.loads(text) if text and digest == _digest(text) else facts.get("noise")  # as in 0.1.0
    return facts, drawn, len(first)


def _write_at(descriptor: int, content: bytes, place: int) -> None:
    left = memoryview(content)
    while left:
        written = os.pwrite(descriptor, left, place)
        left, place = left[written:], place + written


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest().encode()
