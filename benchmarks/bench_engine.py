"""What the engine costs: a task's overhead wherever it runs, and memory while many tasks go through.

Tasks do nothing, so all time is the engine's. Memory is the largest resident size of this process and of each worker
while the tasks run, beyond that at the start. The cluster is one of real worker processes on this machine.
Seed 0; one run each, as a second would only meet warm caches.
"""

from __future__ import annotations

import resource
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from output import Growing, Output
from peerveil.support import parallel
from results import Column

TASKS = (1_000, 10_000)

COLUMNS = (
    Column("where", "where"),
    Column("tasks", "tasks", digits=","),
    Column("seconds", "time", "s", ".2f"),
    Column("each", "per task", "ms", ".3f"),
    Column("memory", "memory", "MB more", ".1f"),
)


def nothing(task: int, _: np.random.SeedSequence) -> int:
    return task


def resident_megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def row(table: Growing, name: str, count: int, **options: object) -> None:
    before, worst = resident_megabytes(), 0.0

    def watch(done: int, _: int) -> None:
        nonlocal worst
        if done % 500 == 0:
            worst = max(worst, resident_megabytes())

    start = time.perf_counter()
    parallel.run(nothing, range(count), progress=watch, **options)  # type: ignore[arg-type]
    took = time.perf_counter() - start
    table.add(name, count, took, 1e3 * took / count, worst - before)


def main() -> None:
    with Output("engine") as out:
        rows(out.table("tasks", "Tasks that do nothing", COLUMNS, keys=2, seeds=0), TASKS[:1] if out.quick else TASKS)


def rows(table: Growing, tasks: tuple[int, ...]) -> None:
    for count in tasks:
        row(table, "this process", count, workers=1)
    for count in tasks:
        row(table, "two processes, starting included", count, workers=2)
    for count in tasks:
        with TemporaryDirectory() as folder:
            row(table, "this process, results kept", count, workers=1, keep=Path(folder))
    try:
        import distributed  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        print("no cluster: the extra is not installed")
        return
    start: Any = distributed.LocalCluster
    with (
        start(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as local,
        parallel.cluster(local.scheduler_address) as executor,
    ):
        for count in tasks:
            row(table, "a cluster of two worker processes", count, executor=executor)


if __name__ == "__main__":
    main()
