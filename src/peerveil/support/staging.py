"""Hidden staging folders, and the removal of those left behind by killed processes.

Each folder is locked by the process that created it, and the system drops the lock when that process ends. A later run
that writes to the same place can therefore tell left-over folders from those in use. The folder's name identifies the
machine: locks may not be visible from other machines, so their folders are left alone.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import socket
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # without these locks, nothing left over is removed, and no interrupted release is resumed
    fcntl = None

#: The subfolder that holds a folder being replaced, under its own name.
OLD = "old"

_PREFIX = ".peerveil-"
_NAME = re.compile(r"\.peerveil-(?P<boot>[0-9a-f]{8})-(?P<host>[0-9a-f]{8})-(?P<process>[0-9]+)-\w+")

#: Staging folders in use by this process.
_OWN: set[Path] = set()


@dataclass(frozen=True)
class Stage:
    """A hidden folder of this process, and the file descriptor that holds its lock, if it has one."""

    folder: Path
    lock: int | None

    def release(self) -> None:
        """Release the lock. The caller removes or renames the folder."""
        _OWN.discard(self.folder)
        if self.lock is not None:
            os.close(self.lock)


def new_stage(parent: Path) -> Stage:
    """Create a hidden folder that only its owner can read."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{_boot()}-{_host()}-{os.getpid()}-", dir=parent))
        _OWN.add(folder)
        stage = Stage(folder, _lock(folder))
        if stage.lock is not None and is_at(stage.lock, folder):
            return stage
        stage.release()
        if stage.lock is None:  # without locks: a name that no other run takes for left over
            folder.rmdir()
            return Stage(Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent)), None)
        # Otherwise another run removed the folder as left over before it was locked: try again.


def remove_left_over(parent: Path) -> None:
    """Remove the hidden folders of killed processes, and restore folders that they were replacing.

    Folders that are, or may be, in use or of another user or machine are left alone.
    """
    with suppress(OSError):
        for folder in [parent / name for name in os.listdir(parent) if name.startswith(_PREFIX)]:  # noqa: PTH208 - names
            with suppress(OSError):
                _remove_if_left_over(folder)


def _remove_if_left_over(folder: Path) -> None:
    mark = _NAME.fullmatch(folder.name)
    if mark is None or folder in _OWN or not is_own_folder(folder):
        return
    if mark["boot"] != _boot() and mark["host"] != _host():  # another machine
        return
    if int(mark["process"]) != os.getpid() and lives(int(mark["process"])):
        return
    lock = _lock(folder, wait=False)
    if lock is None:
        return
    try:
        if _put_back(folder):
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)


def is_own_folder(folder: Path) -> bool:
    """Return whether a path is a folder of this user, and not a link."""
    return folder.is_dir() and not folder.is_symlink() and folder.stat().st_uid == os.getuid()


def _put_back(stage: Path) -> bool:
    """Move a folder that was being replaced back to its place; return whether none is left in the hidden folder."""
    if not (stage / OLD).exists():
        return True
    for old in (stage / OLD).iterdir():
        place = stage.parent / old.name
        if not place.exists():
            old.rename(place)
    return not any((stage / OLD).iterdir())


def _lock(folder: Path, *, wait: bool = True) -> int | None:
    """Return a descriptor that holds a folder's lock; ``None`` without lock support or if another process holds it."""
    if fcntl is None:
        return None
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def is_at(descriptor: int, path: Path) -> bool:
    """Return whether an open file or folder is still at its path."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def lives(process: int) -> bool:
    """Return whether a process of this machine is running."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


@cache
def _boot() -> str:
    """Return an identifier of the running system, the same in all of its containers and new after each boot."""
    return _short("boot", _text("/proc/sys/kernel/random/boot_id") or _host())


@cache
def _host() -> str:
    """Return an identifier of the machine that survives a reboot."""
    return _short("host", socket.gethostname(), _text("/etc/machine-id"))


def _text(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeError):
        return ""


def _short(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8]
