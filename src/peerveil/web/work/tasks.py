"""Tasks: what a process of the page is to do, and what all of them share."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from peerveil.app.ledger import named_only
from peerveil.app.options import filled
from peerveil.errors import spelled
from peerveil.quantities import statistics
from peerveil.quantities.base import Quantity, registered
from peerveil.web.labels import label

Step = Callable[[str], None]
Request = TypeVar("Request")

#: The options that name a file of a field.
FILE_FIELDS = ("people", "mapping", "public", "groups", "attributes", "noisy", "prior", "signed_by")

#: The zip file of a release, and of all tracks; no track has a folder whose name begins like this.
PACKED = "_bundle.zip"


@dataclass(frozen=True, kw_only=True)
class Task:
    """A task.

    Attributes:
        kind: the function that does it.
        folder: the working directory, to which the names of files are relative.
        options: the user's answers, by option name.
        output: the folder to write to.
        others: folders of releases to compare with, by title.
        quantities: the registered quantities; a new process has only those of the package.
        statistics: the registered reviewer statistics, likewise.
    """

    kind: Literal[
        "warm",
        "example",
        "demo",
        "inspect",
        "public",
        "plan",
        "promise",
        "release",
        "refine",
        "verify",
        "compare",
        "tables",
    ]
    folder: str
    options: dict[str, Any] = field(default_factory=dict)
    output: str = ""
    others: dict[str, str] = field(default_factory=dict)
    quantities: tuple[Quantity, ...] = field(default_factory=registered)
    statistics: tuple[statistics.Statistic, ...] = field(default_factory=statistics.registered)


def request_of(kind: type[Request], task: Task) -> Request:
    """Return the request of a task; empty answers keep their defaults."""
    given = {name: value for name, value in task.options.items() if value not in (None, "")}
    return filled(kind, given | {"output": task.output})


def remarks_on(task: Task, warnings: Iterable[Warning], remarks: Iterable[str]) -> list[str]:
    """Return what a chair is told beside a release; files of the ledger are named without their folder."""
    told = [*(spelled(message, label) for message in warnings), *remarks]
    return [named_only(remark, task.options.get("ledger")) for remark in told]


def pack(folder: Path, file: Path, *, within: str = "", top: str = "release") -> None:
    """Add all files of a folder to a zip file, ``within`` a folder of the one at its ``top``.

    The same files give the same bytes.
    """
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(f"{top}/{within}{path.relative_to(folder).as_posix()}")
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            packed.writestr(entry, path.read_bytes())


def write_bundle(folder: Path, write: Callable[[Path], object], *, of_several: bool) -> None:
    """Write the files of a release into the bundle of a folder, and a zip file of them beside it.

    Those of a track are also added to a zip file of all tracks, beside their folders.
    """
    bundle = folder / "bundle"
    bundle.mkdir()
    write(bundle)
    pack(bundle, folder / PACKED)
    if of_several:
        pack(bundle, folder.parent / PACKED, within=f"{folder.name}/")
