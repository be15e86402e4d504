"""What is kept of a release from before its charge until it is written, so that no charge is lost.

Each release has one file. It is written and synced before the ledger is charged, with the number to charge and with
room for what will be drawn; what is drawn is written over that room and synced before anything is shown. So wherever a
process is killed, the file tells how to go on, and going on costs nothing:

- The number is not in the ledger: nothing was charged. It is charged now, or the file is removed.
- The number is charged, nothing whole is kept: noise may have been drawn, but it was never shown, since showing comes
  after syncing. A draw that nobody saw reveals nothing, so drawing again under the same charge is one use of it.
- The number is charged and what was drawn is kept: this draw is used, whether or not the process that made it came to
  know that it was synced.

The last two make sure that at most one draw per charge is ever shown: a whole draw on disk always wins, and only the
process that holds the file's lock may add one. The system drops a lock when its process ends, however it ends.

Nothing in a file is private: what is drawn may be published once it is charged, and settings and data are kept as a
digest, the data's made with the secret key of the ledger's fingerprints.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from peerveil.errors import BusyError, InputError
from peerveil.support.atomic_files import sync_folder

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # a system without these locks: what was interrupted is kept there, but never taken up again
    fcntl = None


@dataclass(eq=False)
class Kept:
    """The file of one release, locked by this process.

    Attributes:
        file: its path.
        facts: what was written when the release was begun; ``release`` is the number to charge.
        drawn: what was drawn, as JSON can hold it; ``None`` as long as nothing is.
        resumed: whether an earlier run began it.
    """

    file: Path
    facts: dict[str, Any]
    drawn: dict[str, Any] | None
    resumed: bool
    _descriptor: int
    _start: int

    @property
    def number(self) -> str:
        """The number to charge the release under."""
        return str(self.facts["release"])

    def keep(self, drawn: dict[str, Any]) -> None:
        """Write what was drawn over the room that was reserved for it; when this returns, it is on disk."""
        text = json.dumps(drawn).encode()
        _write_at(self._descriptor, b"\n" + _digest(text) + b" " + text + b"\n", self._start)
        os.fsync(self._descriptor)
        self.drawn = drawn

    def close(self) -> None:
        """Give up the lock; the file stays."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def remove(self) -> None:
        """Remove the file: the release is written, or nothing was charged for it."""
        self.file.unlink(missing_ok=True)
        with suppress(OSError):  # if the removal is lost, the file is found again, which does no harm
            sync_folder(self.file.parent)
        self.close()


def begin(file: Path, facts: dict[str, Any], size: int) -> Kept:
    """Make the file of a release and reserve room in it; when this returns, it is on disk and locked.

    Args:
        file: where to.
        facts: what to keep from the start; ``release`` is the number to charge.
        size: how many bytes to reserve for what will be drawn.

    Raises:
        FileExistsError: if the file is there.
        OSError: if it cannot be written; then nothing is left.
    """
    part = file.with_name(f"{file.stem}.{facts['release']}.part")
    first = json.dumps(facts).encode()
    descriptor = _new(part)
    try:
        _write_at(descriptor, first + b"\n" + b" " * size, 0)
        os.fsync(descriptor)
        _move(part, file)
        sync_folder(file.parent)
    except BaseException:
        os.close(descriptor)
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise
    return Kept(file=file, facts=facts, drawn=None, resumed=False, _descriptor=descriptor, _start=len(first))


def take(file: Path) -> Kept | None:
    """Take up a release that an earlier run began; ``None`` if there is no such file.

    Raises:
        BusyError: if another process works on it.
        InputError: if the file is not as it was written.
    """
    try:
        descriptor = os.open(file, os.O_RDWR)
    except FileNotFoundError:
        return None
    try:
        _lock(descriptor, file)
        if not _is_at(descriptor, file):  # its process finished and removed it before it could be locked
            os.close(descriptor)
            return None
        facts, drawn, start = _read(descriptor, file)
        if drawn is not None:
            os.fsync(descriptor)  # who wrote it may have been killed before; nothing is shown that could be lost
    except BaseException:
        os.close(descriptor)
        raise
    return Kept(file=file, facts=facts, drawn=drawn, resumed=True, _descriptor=descriptor, _start=start)


def remove_parts(folder: Path) -> None:
    """Remove what processes left that were killed while they made a file."""
    for part in folder.glob("*.part"):
        with suppress(OSError, BusyError):
            _remove_part(part)


def look(file: Path) -> tuple[dict[str, Any], dict[str, Any] | None] | None:
    """What a file holds, without taking it up: the facts and what was drawn; ``None`` if it cannot be read."""
    try:
        descriptor = os.open(file, os.O_RDONLY)
    except OSError:
        return None
    try:
        facts, drawn, _ = _read(descriptor, file)
    except (OSError, InputError):
        return None
    finally:
        os.close(descriptor)
    return facts, drawn


def _remove_part(part: Path) -> None:
    descriptor = os.open(part, os.O_RDWR)
    try:
        _lock(descriptor, part)
        part.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def _new(part: Path) -> int:
    """A new file, locked before anybody can take it for left over."""
    while True:
        descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            if fcntl is not None:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _is_at(descriptor, part):
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


def _move(part: Path, file: Path) -> None:
    """Give a file its name, unless another file has it."""
    try:
        os.link(part, file)  # unlike a renaming, it fails where a file is
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if file.exists():
            raise FileExistsError from None
        part.rename(file)
    else:
        part.unlink()


def _is_at(descriptor: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), file.stat())
    except FileNotFoundError:
        return False


def _read(descriptor: int, file: Path) -> tuple[dict[str, Any], dict[str, Any] | None, int]:
    """The facts, what was drawn, and where the facts end."""
    content = b""
    while more := os.pread(descriptor, 2**20, len(content)):
        content += more
    first, _, rest = content.partition(b"\n")
    facts: Any = None
    with suppress(ValueError):
        facts = json.loads(first)
    if not isinstance(facts, dict) or not isinstance(facts.get("release"), str):
        raise InputError(f"{file} was changed, so it is not known what was drawn")
    digest, _, text = rest.partition(b"\n")[0].partition(b" ")
    drawn = json.loads(text) if text and digest == _digest(text) else facts.get("noise")  # version 0.1.0 kept it there
    return facts, drawn, len(first)


def _write_at(descriptor: int, content: bytes, place: int) -> None:
    left = memoryview(content)
    while left:
        written = os.pwrite(descriptor, left, place)
        left, place = left[written:], place + written


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest().encode()
