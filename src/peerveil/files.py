"""Writing whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from peerveil.errors import OutputError


@contextmanager
def staged_folder(target: str | os.PathLike[str], *, overwrite: bool = False) -> Iterator[Path]:
    """A hidden folder beside ``target`` to write into; it becomes ``target`` when the block ends without an error.

    Entering fails at once if the target cannot be written, so that nothing is computed, and no privacy budget spent,
    for a result that could not be kept. If the block fails, nothing is left behind.

    Args:
        target: the folder to make.
        overwrite: replace a folder that holds files already.
    """
    final = Path(target)
    try:
        if final.exists() and not final.is_dir():
            raise OutputError(f"output folder {final} is a file; choose another name")
        if final.is_dir() and any(final.iterdir()) and not overwrite:
            raise OutputError(f"output folder {final} holds files already; choose another name or ask to overwrite it")
        final.parent.mkdir(parents=True, exist_ok=True)
        stage = Path(tempfile.mkdtemp(prefix=f".{final.name}.", dir=final.parent))
    except OSError as error:
        raise OutputError(f"output folder {final} cannot be written: {error.strerror}") from error
    try:
        yield stage
        _swap(stage, final)
    except OSError as error:
        raise OutputError(f"output folder {final} cannot be written: {error.strerror}") from error
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _swap(stage: Path, final: Path) -> None:
    """Put the stage in the target's place; the old folder is removed only once the new one stands."""
    for file in filter(Path.is_file, stage.rglob("*")):
        with file.open("rb+") as handle:
            os.fsync(handle.fileno())
    stage.chmod(0o777 & ~_umask())  # mkdtemp makes it private; a release is meant to be read
    if final.exists():
        old = Path(tempfile.mkdtemp(prefix=f".{final.name}.old.", dir=final.parent))
        final.rename(old / final.name)
        try:
            stage.rename(final)
        except OSError:
            (old / final.name).rename(final)
            raise
        finally:
            shutil.rmtree(old, ignore_errors=True)
    else:
        stage.rename(final)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
