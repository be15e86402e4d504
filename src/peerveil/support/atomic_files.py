"""Atomic writes: a file or folder appears complete, or not at all."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath

from peerveil.errors import Argument, OutputError, WriteError, write_failure
from peerveil.support.staging import OLD, new_stage, remove_left_over


@contextmanager
def staged_folder(
    target: str | os.PathLike[str], *, own: Collection[str], overwrite: bool = False, parents: bool = True
) -> Iterator[Path]:
    """Yield a hidden folder beside ``target``, which becomes ``target`` when the block ends without an error.

    Entering fails if the target cannot be written, so that nothing is computed, and no privacy budget spent, for a
    result that could not be saved. If the block fails, nothing is left behind.

    Args:
        target: the folder to create.
        own: the files that such a folder holds. A folder with any other file is never replaced.
        overwrite: replace a folder that already holds such files.
        parents: create missing folders above the target.
    """
    named = os.fspath(target)
    created: list[Path] = []
    try:
        final = _resolve(named)
        _check_free(final, named, own, overwrite=overwrite)
        created = [parent for parent in final.parents if parents and not parent.exists()]  # the innermost first
        if created:
            final.parent.mkdir(parents=True, exist_ok=True)
        remove_left_over(final.parent)
        stage = new_stage(final.parent)
    except OSError as error:
        _remove_empty(created)
        raise write_failure(_cannot_write(named, error), error) from error
    finished = False
    try:
        yield stage.folder
        _check_free(final, named, own, overwrite=overwrite)  # files may have been put there meanwhile
        _swap(stage.folder, final)
        finished = True
    except OSError as error:
        raise WriteError(_cannot_write(named, error)) from error
    finally:
        if not finished:
            shutil.rmtree(stage.folder, ignore_errors=True)
            _remove_empty(created)
        stage.release()


def write_new(target: str | os.PathLike[str], text: str) -> None:
    """Write a new file atomically; an existing file is never replaced.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_new(f"{folder}/new.txt", "whole")
    ...     os.listdir(folder)
    ['new.txt']
    """
    named = os.fspath(target)
    failure: OutputError | WriteError | None = None
    try:
        with _hidden_folder(Path(named).parent) as folder:
            stage = folder / "new"
            stage.write_text(text, encoding="utf-8", newline="")
            try:
                os.link(stage, named)  # unlike rename, it fails if the file exists
            except FileExistsError:
                failure = OutputError(f"{named} already exists; choose another name")
            except OSError:  # a file system without hard links
                with Path(named).open("x", encoding="utf-8", newline="") as handle:
                    handle.write(text)
    except OSError as error:
        failure = write_failure(f"{named} cannot be written: {error.strerror or type(error).__name__}", error)
    except ValueError as error:
        failure = OutputError(f"{named} cannot be written: {type(error).__name__}")
    if failure is not None:
        raise failure


def replace_file(target: Path, write: Callable[[Path], object]) -> None:
    """Write a file atomically, in place of an older one; ``write`` is called with the path to write to."""
    stage = target.with_name(f".{target.name}.part")
    try:
        write(stage)
        stage.replace(target)
    except OSError as error:
        raise write_failure(f"{target} cannot be written: {error.strerror or type(error).__name__}", error) from None
    finally:
        stage.unlink(missing_ok=True)


class Room:
    """Disk space reserved in a folder until it is needed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     room = Room(folder)
    ...     room.take(1000)
    ...     reserved = os.listdir(folder)
    ...     room.free()
    ...     reserved, os.listdir(folder)
    (['.reserved'], [])
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._file = Path(folder) / ".reserved"

    def take(self, size: int) -> None:
        """Reserve ``size`` bytes; raise an ``OSError`` if there is not enough space."""
        block = os.urandom(min(size, 2**20))  # random, because zeros may be stored sparsely
        try:
            with self._file.open("wb") as handle:
                for done in range(0, size, len(block)):
                    handle.write(block[: size - done])
                handle.flush()
                os.fsync(handle.fileno())
        except OSError:
            self.free()
            raise

    def free(self) -> None:
        """Release the space."""
        self._file.unlink(missing_ok=True)


def rename_new(file: Path, name: Path) -> None:
    """Rename a file; raises ``FileExistsError`` instead of replacing another."""
    try:
        os.link(file, name)  # unlike a renaming, it fails where a file is
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if os.path.lexists(name):
            raise FileExistsError from None
        file.rename(name)
    else:
        file.unlink()


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to disk, on systems that support it."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _hidden_folder(parent: Path) -> Iterator[Path]:
    """Yield a hidden folder that is removed when the block ends."""
    remove_left_over(parent)
    stage = new_stage(parent)
    try:
        yield stage.folder
    finally:
        shutil.rmtree(stage.folder, ignore_errors=True)
        stage.release()


def _cannot_write(named: str, error: OSError) -> str:
    return f"output folder {named} cannot be written: {error.strerror or type(error).__name__}"


def _resolve(named: str) -> Path:
    """Return the target's path with links followed; refuse names that no folder can be moved to."""
    if not named or "\0" in named:
        raise OutputError(f"output folder {named!r} is not a valid folder name")
    if Path(named).is_symlink() and not Path(named).exists():
        raise OutputError(f"output folder {named} is a broken link; choose another name")
    final = Path(os.path.realpath(named))
    if final.exists() and not final.is_dir():
        raise OutputError(f"output folder {named} is a file; choose another name")
    return final


def _check_free(final: Path, named: str, own: Collection[str], *, overwrite: bool) -> None:
    """Refuse to replace a folder that holds other files, or that is in use."""
    if not final.is_dir():
        return
    if any(final.iterdir()) and not overwrite:
        remedy = ("; choose another name, or replace it (", Argument("overwrite", True), ")")
        raise OutputError(f"output folder {named} already holds files", *remedy)
    files = {PurePath(name) for name in own}
    folders = {parent for name in files for parent in name.parents}
    others = 0  # files, links and folders that are neither own files nor folders of own files
    for path, subfolders, names in os.walk(final, onerror=_raise):
        for entries, expected in ((names, files), (subfolders, folders)):
            paths = [Path(path, name) for name in entries]
            others += sum(entry.relative_to(final) not in expected or entry.is_symlink() for entry in paths)
    if others:
        raise OutputError(
            f"output folder {named} is not replaced: it holds files that Peerveil does not write there ({others}); "
            "choose another name"
        )
    if final == Path.cwd() or final.is_mount():
        raise OutputError(f"output folder {named} cannot be replaced while it is in use; name a folder inside it")


def _raise(error: OSError) -> None:
    raise error


def _remove_empty(folders: list[Path]) -> None:
    for folder in folders:
        with suppress(OSError):  # never created, or no longer empty
            folder.rmdir()


def _swap(stage: Path, final: Path) -> None:
    """Move the stage to the target; an old folder is removed only once the new one is in place."""
    for file in filter(Path.is_file, stage.rglob("*")):
        with file.open("rb+") as handle:
            os.fsync(handle.fileno())
    for folder in (stage, *filter(Path.is_dir, stage.rglob("*"))):
        sync_folder(folder)
    mask = os.umask(0)
    os.umask(mask)
    stage.chmod(0o777 & ~mask)  # mkdtemp makes it private; a release is meant to be read
    if not final.exists():
        stage.rename(final)
        _sync_parent(final)
        return
    aside = new_stage(final.parent)
    old = aside.folder / OLD / final.name  # the name tells a later run where to restore it
    try:
        old.parent.mkdir()
        final.rename(old)
        stage.rename(final)
    except BaseException:
        _put_back(old, final)
        raise
    else:
        _sync_parent(final)
        old.parent.rename(aside.folder / "replaced")
        shutil.rmtree(aside.folder, ignore_errors=True)
    finally:
        aside.release()


def _sync_parent(final: Path) -> None:
    with suppress(OSError):  # the folder is in place, so this is not a failure
        sync_folder(final.parent)


def _put_back(old: Path, final: Path) -> None:
    """Undo half a swap. If that fails too, the error names the path of the old folder."""
    if old.exists():
        try:
            old.rename(final)
        except OSError as error:
            raise WriteError(f"{_cannot_write(str(final), error)}; what was in it is now in {old}") from error
    _remove_empty([old.parent, old.parent.parent])
