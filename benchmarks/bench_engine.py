"""What the engine costs: a task's overhead wherever it runs, and memory while many tasks go through.

Tasks do nothing, so all time is the engine's. Memory is the largest resident size of this process and of each worker
while the tasks run, beyond that at the start. The cluster is one of real worker processes on this machine.
Seed 0; one run each, as a second would only meet warm caches.
"""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from peerveil.support import parallel

TASKS = (1_000, 10_000)


def nothing(task: int, _: np.random.SeedSequence) -> int:
    return task


def resident_megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def row(name: str, count: int, **options: object) -> None:
    before, worst = resident_megabytes(), 0.0

    def watch(done: int, _: int) -> None:
        nonlocal worst
        if done % 500 == 0:
            worst = max(worst, resident_megabytes())

    start = time.perf_counter()
    parallel.run(nothing, range(count), progress=watch, **options)  # type: ignore[arg-type]
    took = time.perf_counter() - start
    print(f"{name:<34} {count:>8,} {took:>8.2f} {1e3 * took / count:>12.3f} {worst - before:>12.1f}", flush=True)


def main() -> None:
    print(f"{os.cpu_count()} cores\n")
    print(f"{'where':<34} {'tasks':>8} {'s':>8} {'ms a task':>12} {'MB more':>12}")
    for count in TASKS:
        row("this process", count, workers=1)
    for count in TASKS:
        row("two processes, starting included", count, workers=2)
    for count in TASKS:
        with TemporaryDirectory() as folder:
            row("this process, results kept", count, workers=1, keep=Path(folder))
    try:
        import distributed  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        print("no cluster: the extra is not installed")
        return
    start: Any = distributed.LocalCluster
    with (
        start(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as local,
        parallel.cluster(local.scheduler_address) as executor,
    ):
        for count in TASKS:
            row("a cluster of two worker processes", count, executor=executor)


if __name__ == "__main__":
    main()
