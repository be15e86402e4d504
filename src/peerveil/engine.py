"""Many independent tasks: on this machine's cores, in processes of their own, or on any executor.

Each task gets a seed sequence of its own, made from the seed and the task's place alone. So results do not depend on
which worker ran what, or on how many there are.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from typing import TypeVar

import numpy as np

from peerveil.errors import InputError

Task = TypeVar("Task")
Result = TypeVar("Result")

#: Called with the number of finished tasks and of all.
Progress = Callable[[int, int], None]


def run(
    function: Callable[[Task, np.random.SeedSequence], Result],
    tasks: Sequence[Task],
    *,
    seed: int = 0,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> list[Result]:
    """Run a function on every task and return the results in the order of the tasks.

    Args:
        function: what to do with a task and its seed sequence; a plain function of a module, so that it can be sent.
        tasks: what to do it with.
        seed: where the tasks' seed sequences come from.
        workers: how many processes; all cores by default; 1 stays in this process.
        executor: run on this instead of processes of our own, e.g. a cluster's.
        progress: called after each task.

    The first task that fails ends the run; what has not begun is not begun.

    >>> def draw(size, seeds):
    ...     return np.random.default_rng(seeds).integers(100, size=size).tolist()
    >>> run(draw, [2, 3], seed=7, workers=1)
    [[74, 20], [43, 57, 4]]
    """
    seeds = [np.random.SeedSequence(seed, spawn_key=(place,)) for place in range(len(tasks))]
    tell = progress or (lambda _done, _total: None)
    cores = cores_for(workers)
    if executor is None and (cores == 1 or len(tasks) <= 1):
        results = []
        for task, sequence in zip(tasks, seeds, strict=True):
            results.append(function(task, sequence))
            tell(len(results), len(tasks))
        return results
    with _running(executor, min(cores, len(tasks))) as pool:
        futures = [pool.submit(function, task, sequence) for task, sequence in zip(tasks, seeds, strict=True)]
        return _collect(futures, tell)


def cores_for(workers: int | None) -> int:
    """The number of processes to use.

    >>> cores_for(0)
    Traceback (most recent call last):
    peerveil.errors.InputError: workers must be a whole number of at least 1, got 0
    """
    if workers is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise InputError(f"workers must be a whole number of at least 1, got {workers!r}")
    return workers


@contextmanager
def _running(executor: Executor | None, workers: int) -> Iterator[Executor]:
    if executor is not None:
        yield executor
        return
    # Spawned, not forked: libraries that run threads (polars, BLAS) do not survive a fork.
    pool = ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _collect(futures: list[Future[Result]], tell: Progress) -> list[Result]:
    try:
        for done, future in enumerate(as_completed(futures), 1):
            future.result()
            tell(done, len(futures))
    except BaseException:
        for future in futures:
            future.cancel()
        raise
    return [future.result() for future in futures]
