"""Files of a simulation: table and chart of errors, in a folder with the finished tasks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from peerveil.errors import Argument, OutputError, write_failure
from peerveil.reporting.charts import errors_against_setting, write_svg
from peerveil.simulation.experiments import Point, Sweep
from peerveil.support.atomic_files import replace_file
from peerveil.support.frames import csv_text

#: The settings of a folder's sweeps; only sweeps with the same settings continue there.
_ABOUT = "sweep.json"


def sweep_folder(folder: Path, settings: Mapping[str, object], *, overwrite: bool = False) -> Path:
    """Return the folder of finished tasks in a new folder, or in one whose sweeps had the same settings."""
    about = folder / _ABOUT
    wanted = json.dumps(settings, indent=1, sort_keys=True) + "\n"
    try:
        if folder.exists() and any(folder.iterdir()):
            if not about.is_file():
                raise OutputError(f"{folder} holds files that are not of a sweep; name another folder")
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
    """Write table and chart of a sweep and return their paths; equal sweeps give equal bytes."""
    table, chart = folder / f"{sweep.experiment}.csv", folder / f"{sweep.experiment}.svg"
    text = csv_text(Point._fields, sweep.table())
    replace_file(table, lambda part: part.write_text(text, encoding="utf-8"))
    replace_file(chart, lambda part: write_svg(errors_against_setting(sweep), part))
    return [table, chart]
