"""Tasks that draw sampled tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from peerveil.app.requests import ReleaseRequest, TablesRequest
from peerveil.web.work.tasks import PACKED, Step, Task, pack, request_of


def tables(task: Task, step: Step) -> dict[str, Any]:
    """Draw tables of a release, with the public part of private reviews or with public scores; return facts."""
    from peerveil.app.published.own_tables import sample_own
    from peerveil.app.published.tables import sample
    from peerveil.sampling.files import told

    folder = Path(task.output)
    folder.mkdir()
    task = replace(task, output=str(folder / "bundle"))
    if "file" in task.options:
        sampled = sample_own(request_of(ReleaseRequest, task), task.options["release"], step=step)
    else:
        sampled = sample(request_of(TablesRequest, task), step=step)
    pack(folder / "bundle", folder / PACKED, top="tables")
    return {
        "number": len(sampled),
        "told": told(sampled),
        "hidden": sampled.record.hidden,
        "misplaced": 100 * max(sampled.diagnostics["misplaced"]),
    }
