"""Parallel execution of independent tasks: in local processes or on a cluster.

Each task gets a seed sequence derived from the seed and the task's index alone, so results do not depend on the number
of workers or on which worker ran which task. Results can be kept on disk, so that an interrupted run can be resumed.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Generic, TypedDict, TypeVar

import numpy as np

from peerveil.errors import Argument, InputError, PeerveilError
from peerveil.support.cluster import Cluster, cluster
from peerveil.support.processes import Processes, end_workers
from peerveil.support.task_store import TaskStore
from peerveil.support.threads import on_one_thread

__all__ = ["AHEAD", "LATER", "Later", "Options", "Progress", "Timed", "cluster", "cores_for", "run", "stream", "timed"]

Task = TypeVar("Task")
Result = TypeVar("Result")

#: A function of a task and its seed sequence.
Function = Callable[[Task, np.random.SeedSequence], Result]

#: A task with its index and its seed sequence.
Call = tuple[int, Task, np.random.SeedSequence]

#: Called with the number of finished tasks and of all tasks.
Progress = Callable[[int, int], None]


class Options(TypedDict, total=False):
    """The arguments of :func:`run` that choose where and how tasks run."""

    workers: int | None
    executor: Executor | None
    progress: Progress | None
    keep: Path | None


#: Number of tasks submitted ahead of results: enough for many workers, few enough to keep memory flat.
AHEAD = 64


class Later:
    """Yielded in place of a task if the next one depends on results that are not there yet (see :func:`stream`)."""


LATER = Later()

#: How often to look whether a cluster is still there, in seconds.
_LOOK = 2.0

#: How often a pool with a dead worker is replaced, or a call that its worker lost is submitted again, before giving up.
_RESTARTS = 3


def run(
    function: Function[Task, Result],
    tasks: Sequence[Task],
    *,
    seed: int = 0,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    keep: Path | None = None,
) -> list[Result]:
    """Run a function on every task and return the results in the order of the tasks.

    The first task that fails ends the run. Tasks that have not started are not started; finished results are kept.

    Args:
        function: called with a task and its seed sequence; a module-level function, so that it can be pickled.
        tasks: the tasks.
        seed: the source of the tasks' seed sequences.
        workers: number of processes; all cores by default; 1 runs in this process.
        executor: runs the tasks instead of local processes, for example a cluster's (:func:`cluster`).
        progress: called after each task.
        keep: a folder for the results of finished tasks, which must be JSON. Another run of the same tasks with this
            folder computes only the missing results.

    >>> def draw(size, seeds):
    ...     return np.random.default_rng(seeds).integers(100, size=size).tolist()
    >>> run(draw, [2, 3], seed=7, workers=1)
    [[30, 79], [68, 48, 39]]
    """
    report = progress or (lambda _done, _total: None)
    cores = cores_for(workers)
    store = None if keep is None else TaskStore(keep, function, seed)
    results: dict[int, Result] = {} if store is None else store.load(tasks)
    missing = [index for index in range(len(tasks)) if index not in results]
    if results:
        report(len(results), len(tasks))
    pending = ((index, tasks[index]) for index in missing)
    for index, result in _results(function, pending, seed=seed, workers=min(cores, len(missing)), executor=executor):
        if store is not None:
            store.save(index, tasks[index], result)
        results[index] = result
        report(len(results), len(tasks))
    return [results[index] for index in range(len(tasks))]


def stream(
    function: Function[Task, Result],
    tasks: Iterable[Task | Later],
    *,
    seed: int = 0,
    workers: int | None = None,
    executor: Executor | None = None,
    ahead: int = AHEAD,
    lost: Callable[[Exception], Result] | None = None,
) -> Iterator[tuple[Task, Result]]:
    """Yield each task of an iterable with its result, in the order in which they finish.

    Tasks are taken from the iterable only as fast as they are run: at most ``ahead`` of them are under way. An iterable
    whose next task depends on results may yield ``LATER``, and is asked again after the next result. If ``lost`` is
    given, it makes the result of a task that an executor failed to run, as when each worker that ran it died.
    Other arguments as in :func:`run`.

    >>> def double(number, seeds):
    ...     return 2 * number
    >>> sorted(stream(double, range(3), workers=1))
    [(0, 0), (1, 2), (2, 4)]
    """
    running: dict[int, Task] = {}

    def pending() -> Iterator[tuple[int, Task] | None]:
        for index, task in enumerate(tasks):
            if isinstance(task, Later):
                yield None
            else:
                running[index] = task
                yield index, task

    where: dict[str, Any] = {"workers": cores_for(workers), "executor": executor, "ahead": ahead, "lost": lost}
    for index, result in _results(function, pending(), seed=seed, **where):
        yield running.pop(index), result


@dataclass(frozen=True)
class Timed(Generic[Result]):
    """A result, and the seconds that it took where it was computed."""

    result: Result
    seconds: float


def timed(function: Function[Task, Result]) -> Function[Task, Timed[Result]]:
    """Return a function of tasks whose results are timed.

    >>> timed(lambda number, seeds: 2 * number)(3, None).result
    6
    """
    return partial(_timed, function)


def _timed(function: Function[Task, Result], task: Task, seeds: np.random.SeedSequence) -> Timed[Result]:
    start = time.perf_counter()
    result = function(task, seeds)
    return Timed(result, time.perf_counter() - start)


def _results(
    function: Function[Task, Result],
    pending: Iterator[tuple[int, Task] | None],
    *,
    seed: int,
    workers: int,
    executor: Executor | None,
    ahead: int = AHEAD,
    lost: Callable[[Exception], Result] | None = None,
) -> Iterator[tuple[int, Result]]:
    """Return the results with their tasks' indices, as they finish."""
    calls: Iterator[Call[Task] | None] = (
        None if each is None else (*each, np.random.SeedSequence(seed, spawn_key=(each[0],))) for each in pending
    )
    call = partial(_on_one_thread, function)
    if executor is not None:
        return _on_executor(call, calls, executor, ahead, lost)
    if workers <= 1:
        return ((each[0], call(*each[1:])) for each in calls if each is not None)
    return _in_processes(call, calls, workers, ahead)


def cores_for(workers: int | None) -> int:
    """Return the number of processes to use: by default all available cores, or one where no process can be started.

    >>> cores_for(0)
    Traceback (most recent call last):
    peerveil.errors.InputError: workers must be a whole number of at least 1, got 0
    """
    if workers is None and multiprocessing.current_process().daemon:
        return 1  # such a process, as the page has, cannot start others
    if workers is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise InputError(Argument("workers"), f" must be a whole number of at least 1, got {workers!r}")
    return workers


def _on_one_thread(function: Function[Task, Result], task: Task, seeds: np.random.SeedSequence) -> Result:
    """Run a task with single-threaded linear algebra, because the other cores run other tasks."""
    with on_one_thread():
        return function(task, seeds)


def _submit_all(
    function: Function[Task, Result],
    calls: Iterator[Call[Task] | None],
    pool: Executor,
    running: dict[Future[Result], Call[Task]],
    ahead: int,
) -> Iterator[tuple[int, Result]]:
    """Submit calls, some ahead of the results, and yield results as they finish.

    After an exception, ``running`` holds the unfinished calls. ``None`` among the calls means that the next one depends
    on results.
    """
    more = True
    while True:
        while more and len(running) < ahead:
            try:
                call = next(calls)
            except StopIteration:
                more = False
                break
            if call is None:
                break
            running[_submit(function, call, pool)] = call
        if not running:
            return
        while not (done := wait(running, timeout=_LOOK, return_when=FIRST_COMPLETED)[0]):
            if isinstance(pool, Cluster):
                pool.check()
        for future in sorted(done, key=_failed):  # successes first, so that a failure does not lose them
            if future.cancelled() and isinstance(pool, Cluster):  # by Dask, as soon as its connection is lost
                raise pool.gone()
            result = future.result()
            index, _, _ = running.pop(future)
            yield index, result


def _failed(future: Future[Any]) -> bool:
    return future.cancelled() or future.exception() is not None


def _on_executor(
    function: Function[Task, Result],
    calls: Iterator[Call[Task] | None],
    pool: Executor,
    ahead: int,
    lost: Callable[[Exception], Result] | None,
) -> Iterator[tuple[int, Result]]:
    """Run calls on a given executor; after a failure, those that have not started are cancelled.

    If ``lost`` is given, a call that failed is submitted again first: a cluster blames the death of a worker on every
    call that waited there.
    """
    running: dict[Future[Result], Call[Task]] = {}
    tries: Counter[int] = Counter()
    failures = 0
    try:
        while True:
            try:
                for result in _submit_all(function, calls, pool, running, ahead):
                    failures = 0
                    yield result
            except Exception as error:
                failed = next((future for future in running if future.done() and _failed(future)), None)
                if lost is None or failed is None or failures > ahead:  # nothing succeeds any more
                    raise
                call = running.pop(failed)
                tries[call[0]] += 1
                if tries[call[0]] <= _RESTARTS:
                    running[_submit(function, call, pool)] = call
                else:
                    failures += 1
                    yield call[0], lost(error)
            else:
                return
    finally:
        for future in running:
            future.cancel()


def _submit(function: Function[Task, Result], call: Call[Task], pool: Executor) -> Future[Result]:
    """Submit a call. A broken pool gives a failed future, so that the call is not lost."""
    _, task, seeds = call
    try:
        return pool.submit(function, task, seeds)
    except BrokenProcessPool as error:
        failed: Future[Result] = Future()
        failed.set_exception(error)
        return failed


def _in_processes(
    function: Function[Task, Result], calls: Iterator[Call[Task] | None], workers: int, ahead: int
) -> Iterator[tuple[int, Result]]:
    """Run calls in local processes; after a worker dies, a new pool runs the unfinished calls."""
    for _ in range(1 + _RESTARTS):
        pool = Processes(workers)
        running: dict[Future[Result], Call[Task]] = {}
        try:
            yield from _submit_all(function, calls, pool, running, ahead)
        except BrokenProcessPool:
            calls = chain(list(running.values()), calls)
        except Exception:
            raise
        except BaseException:  # an interrupt or exit: do not wait for running tasks
            end_workers(pool)
            raise
        else:
            return
        finally:
            pool.shutdown(wait=True, cancel_futures=True)  # cancelling futures directly would break an ended pool
    raise PeerveilError(
        f"worker processes died {1 + _RESTARTS} times. Is there enough memory (fewer ",
        Argument("workers", ...),
        " need less)?",
    )
