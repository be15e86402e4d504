"""The private folder of uploaded files, removed when the page ends."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

from peerveil.errors import InputError
from peerveil.support.staging import is_own_folder, lives

_PREFIX = "peerveil-page-"

#: Ends of names that tell the kind of a download, and how long a name may be without them.
_KINDS, _LONGEST_NAME = ("release", "refined", "shares", "difference", "public", "tables"), 60

#: How many bytes all files together may have.
TOTAL_LIMIT = 2 * 2**30


class Workspace:
    """A folder that only its owner can read.

    >>> space = Workspace()
    >>> oct(space.folder.stat().st_mode & 0o777)
    '0o700'
    >>> space.remove()
    >>> space.folder.exists()
    False
    """

    def __init__(self) -> None:
        remove_left_over()
        self.folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))

    def new(self) -> Path:
        """Return a new folder in it."""
        folder = self.folder / secrets.token_hex(8)
        folder.mkdir(mode=0o700)
        return folder

    async def save(
        self, folder: Path, name: str, parts: AsyncIterator[bytes], check: Callable[[], None] = lambda: None
    ) -> Path:
        """Write an uploaded file as it arrives; return its path.

        An earlier file of the same name is replaced at once when the upload is complete, unless ``check`` raises an
        error then.
        """
        used = sum(file.stat().st_size for file in self.folder.rglob("*") if file.is_file())
        file, partial = folder / safe_name(name), folder / f".{secrets.token_hex(8)}.part"
        try:
            with partial.open("wb") as handle:
                async for part in parts:
                    used += len(part)
                    if used > TOTAL_LIMIT:
                        raise InputError("the files of this page take up too much space; restart peerveil")
                    handle.write(part)
            check()
            return partial.replace(file)
        finally:
            partial.unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove the folder with everything in it."""
        shutil.rmtree(self.folder, ignore_errors=True)


def safe_name(name: str) -> str:
    """Return the name of a file as its owner knows it, without characters that are unsafe here.

    >>> [safe_name(name) for name in ("reviews 2026.csv", "../../etc/passwd", "..", "a:b", "")]
    ['reviews 2026.csv', 'passwd', 'file', 'a_b', 'file']
    """
    last = re.split(r"[/\\]", name)[-1].strip()
    kept = "".join(letter if letter.isprintable() and letter not in ':*?"<>|' else "_" for letter in last)
    kept = kept.lstrip(".")[-100:]
    return kept if kept.strip("_. ") else "file"


def file_name(of: str, kind: str) -> str:
    """Return the name of a download: what it is of, and its kind, which ends with the suffix.

    >>> file_name("ICML 2026", "release.zip"), file_name("reviews-release", "refined.zip"), file_name("", "public.csv")
    ('ICML-2026-release.zip', 'reviews-refined.zip', 'peerveil-public.csv')
    """
    words = re.sub(r"[^\w.]+", "-", of).strip("-._")
    plain = re.sub(rf"(?:^|[-._])(?:{'|'.join(_KINDS)})$", "", words, flags=re.IGNORECASE).strip("-._")
    return f"{plain[:_LONGEST_NAME] or 'peerveil'}-{kind}"


def remove_left_over() -> None:
    """Remove the folders of pages that were killed: those whose process no longer exists."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        process = folder.name.removeprefix(_PREFIX).split("-")[0]
        with suppress(OSError, ValueError):
            if is_own_folder(folder) and not lives(int(process)):
                shutil.rmtree(folder, ignore_errors=True)
