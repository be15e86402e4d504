"""What a simulation writes: its errors as data and as a picture, in a folder that also keeps finished tasks."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path

from peerveil.errors import Argument, OutputError, write_failure
from peerveil.reporting.charts import errors_against_setting, write_svg
from peerveil.simulation.experiments import Point, Sweep

#: Says what a folder's sweeps are of, so that only the same ones go on there.
_ABOUT = "sweep.json"


def sweep_folder(folder: Path, settings: Mapping[str, object], *, overwrite: bool = False) -> Path:
    """A folder to write sweeps to: a new one, or one whose sweeps had the same settings and can go on.

    Returns the folder for finished tasks.
    """
    about = folder / _ABOUT
    wanted = json.dumps(settings, indent=1, sort_keys=True) + "\n"
    try:
        if folder.exists() and any(folder.iterdir()):
            if not about.is_file():
                raise OutputError(f"{folder} holds files that are no sweep's; name another folder")
            if about.read_text(encoding="utf-8") != wanted and not overwrite:
                raise OutputError(
                    f"{folder} holds a sweep with other settings; name another folder, or replace it (",
                    Argument("overwrite", True),
                    ")",
                )
        tasks = folder / "tasks"
        tasks.mkdir(parents=True, exist_ok=True)
        about.write_text(wanted, encoding="utf-8")
    except OSError as error:
        raise write_failure(f"{folder} cannot be written ({error.strerror})", error) from None
    return tasks


def write_sweep(sweep: Sweep, folder: Path) -> list[Path]:
    """Write a sweep's table and picture; returns the files. The same sweep gives the same bytes."""
    table, picture = folder / f"{sweep.experiment}.csv", folder / f"{sweep.experiment}.svg"
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Point._fields)
    writer.writerows(sweep.table())
    _replace(table, lambda part: part.write_text(text.getvalue(), encoding="utf-8"))
    _replace(picture, lambda part: write_svg(errors_against_setting(sweep), part))
    return [table, picture]


def _replace(file: Path, write: Callable[[Path], object]) -> None:
    """Write a file whole or not at all."""
    part = file.with_name(f".{file.name}.part")
    try:
        write(part)
        part.replace(file)
    except OSError as error:
        raise write_failure(f"{file} cannot be written ({error.strerror})", error) from None
    finally:
        part.unlink(missing_ok=True)
