"""Writing whole or not at all."""

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
    """A hidden folder beside ``target`` to write into; it becomes ``target`` when the block ends without an error.

    Entering fails at once if the target cannot be written, so that nothing is computed, and no privacy budget spent,
    for a result that could not be kept. If the block fails, nothing is left behind.

    Args:
        target: the folder to make.
        own: the files that such a folder holds. A folder with any other file is never replaced.
        overwrite: replace a folder that holds such files already.
        parents: make the folders above the target where they are missing.
    """
    named = os.fspath(target)
    made: list[Path] = []
    try:
        final = _place(named)
        _check_free(final, named, own, overwrite=overwrite)
        made = _make_parents(final) if parents else []
        remove_left_over(final.parent)
        hidden = new_stage(final.parent)
    except OSError as error:
        _remove_empty(made)
        raise write_failure(_cannot_write(named, error), error) from error
    stage, stands = hidden.folder, False
    try:
        yield stage
        _check_free(final, named, own, overwrite=overwrite)  # somebody may have put files there meanwhile
        _swap(stage, final)
        stands = True
    except OSError as error:
        raise WriteError(_cannot_write(named, error)) from error
    finally:
        if not stands:
            shutil.rmtree(stage, ignore_errors=True)
            _remove_empty(made)
        hidden.release()


def write_new(target: str | os.PathLike[str], text: str) -> None:
    """Write a file that is not there yet, whole or not at all; one that is there is kept.

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
                os.link(stage, named)  # unlike a renaming, it fails where a file is
            except FileExistsError:
                failure = OutputError(f"{named} is there already; choose another name")
            except OSError:  # a file system without links
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
    """Space on the disk of a folder, held until it is needed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     room = Room(folder)
    ...     room.take(1000)
    ...     held = os.listdir(folder)
    ...     room.free()
    ...     held, os.listdir(folder)
    (['.reserved'], [])
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._file = Path(folder) / ".reserved"

    def take(self, size: int) -> None:
        """Take so many bytes; fails with an ``OSError`` if there is not so much space."""
        block = os.urandom(min(size, 2**20))  # random, as zeros may take no space
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
        """Give the space back."""
        self._file.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to disk, where the system can."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _hidden_folder(parent: Path) -> Iterator[Path]:
    """A hidden folder that is gone when the block ends."""
    remove_left_over(parent)
    stage = new_stage(parent)
    try:
        yield stage.folder
    finally:
        shutil.rmtree(stage.folder, ignore_errors=True)
        stage.release()


def _cannot_write(named: str, error: OSError) -> str:
    return f"output folder {named} cannot be written: {error.strerror or type(error).__name__}"


def _place(named: str) -> Path:
    """Where the folder is to stand, with links followed; refuses names that no folder can be moved to."""
    if not named or "\0" in named:
        raise OutputError(f"output folder {named!r} is no name of a folder")
    if Path(named).is_symlink() and not Path(named).exists():
        raise OutputError(f"output folder {named} is a link that leads nowhere; choose another name")
    final = Path(os.path.realpath(named))
    if final.exists() and not final.is_dir():
        raise OutputError(f"output folder {named} is a file; choose another name")
    return final


def _check_free(final: Path, named: str, own: Collection[str], *, overwrite: bool) -> None:
    """Refuse a folder whose replacement would lose files of others, or pull the ground from under somebody."""
    if not final.is_dir():
        return
    if any(final.iterdir()) and not overwrite:
        raise OutputError(
            f"output folder {named} holds files already; choose another name, or replace it (",
            Argument("overwrite", True),
            ")",
        )
    others = _count_others(final, own)
    if others:
        raise OutputError(
            f"output folder {named} is not replaced: it holds other files than Peerveil writes there, "
            f"{others} of them; choose another name"
        )
    if final == Path.cwd() or final.is_mount():
        raise OutputError(f"output folder {named} cannot be replaced while it is in use; name a folder inside it")


def _count_others(folder: Path, own: Collection[str]) -> int:
    """How many files, links and folders are not among the own files and the folders these are in."""
    files = {PurePath(name) for name in own}
    folders = {parent for name in files for parent in name.parents}
    others = 0
    for place, inner, names in os.walk(folder, onerror=_raise):
        here = Path(place).relative_to(folder)
        others += sum(here / name not in files or (folder / here / name).is_symlink() for name in names)
        others += sum(here / name not in folders or (folder / here / name).is_symlink() for name in inner)
    return others


def _raise(error: OSError) -> None:
    raise error


def _make_parents(final: Path) -> list[Path]:
    """Make the folders above the target; returns those that were not there, the innermost first."""
    missing = [parent for parent in final.parents if not parent.exists()]
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
    except OSError:
        _remove_empty(missing)
        raise
    return missing


def _remove_empty(folders: list[Path]) -> None:
    for folder in folders:
        with suppress(OSError):  # never made, or not ours any more as somebody wrote there
            folder.rmdir()


def _swap(stage: Path, final: Path) -> None:
    """Put the stage in the target's place; the old folder is removed only once the new one stands."""
    for file in filter(Path.is_file, stage.rglob("*")):
        with file.open("rb+") as handle:
            os.fsync(handle.fileno())
    for folder in (stage, *filter(Path.is_dir, stage.rglob("*"))):
        sync_folder(folder)
    stage.chmod(0o777 & ~_umask())  # mkdtemp makes it private; a release is meant to be read
    if not final.exists():
        stage.rename(final)
        _sync_parent(final)
        return
    aside = new_stage(final.parent)
    old = aside.folder / OLD / final.name  # whoever finds it there knows where it belongs
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
    with suppress(OSError):  # the folder stands, so this is no reason to say that it does not
        sync_folder(final.parent)


def _put_back(old: Path, final: Path) -> None:
    """Undo half a swap. Where that fails too, the old folder stays where it is, and the error says where."""
    if old.exists():
        try:
            old.rename(final)
        except OSError as error:
            raise WriteError(f"{_cannot_write(str(final), error)}; what was in it is now in {old}") from error
    _remove_empty([old.parent, old.parent.parent])


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
