"""Many independent tasks: on this machine's cores, in processes of their own, or on a cluster.

Each task gets a seed sequence of its own, made from the seed and the task's place alone. So results do not depend on
which worker ran what, or on how many there are. Finished tasks can be kept on disk, and are then not run again.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from peerveil.errors import Argument, InputError, PeerveilError, write_failure
from peerveil.support.threads import on_one_thread

Task = TypeVar("Task")
Result = TypeVar("Result")

#: Called with the number of finished tasks and of all.
Progress = Callable[[int, int], None]

#: How many tasks are handed out at a time: enough for many workers, few enough that memory stays flat.
_AHEAD = 64

#: How often a pool whose worker died is set up anew before giving up.
_RESTARTS = 3


def run(
    function: Callable[[Task, np.random.SeedSequence], Result],
    tasks: Sequence[Task],
    *,
    seed: int = 0,
    workers: int | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
    keep: Path | None = None,
) -> list[Result]:
    """Run a function on every task and return the results in the order of the tasks.

    Args:
        function: what to do with a task and its seed sequence; a plain function of a module, so that it can be sent.
        tasks: what to do it with.
        seed: where the tasks' seed sequences come from.
        workers: how many processes; all cores by default; 1 stays in this process.
        executor: run on this instead of processes of our own, e.g. a cluster's (:func:`cluster`).
        progress: called after each task.
        keep: a folder for the results of finished tasks, which must then be JSON: run again with the same tasks, only
            the others are run.

    The first task that fails ends the run; what has not begun is not begun, what was finished is kept.

    >>> def draw(size, seeds):
    ...     return np.random.default_rng(seeds).integers(100, size=size).tolist()
    >>> run(draw, [2, 3], seed=7, workers=1)
    [[30, 79], [68, 48, 39]]
    """
    tell = progress or (lambda _done, _total: None)
    cores = cores_for(workers)
    store = None if keep is None else _Store(keep, function, seed)
    results: dict[int, Result] = {}
    if store is not None:
        results = store.load(tasks)
    todo = [place for place in range(len(tasks)) if place not in results]
    if results:
        tell(len(results), len(tasks))
    waiting = ((place, tasks[place]) for place in todo)
    finished = _finished(function, waiting, seed=seed, workers=min(cores, len(todo)), executor=executor)
    for place, result in finished:
        if store is not None:
            store.save(place, tasks[place], result)
        results[place] = result
        tell(len(results), len(tasks))
    return [results[place] for place in range(len(tasks))]


def stream(
    function: Callable[[Task, np.random.SeedSequence], Result],
    tasks: Iterable[Task],
    *,
    seed: int = 0,
    workers: int | None = None,
    executor: Executor | None = None,
) -> Iterator[tuple[Task, Result]]:
    """Run a function on tasks that are made one by one, and yield each with its result, as they finish.

    Tasks are taken only as fast as they are worked on, some ahead. Arguments as in :func:`run`.

    >>> def double(number, seeds):
    ...     return 2 * number
    >>> sorted(stream(double, range(3), workers=1))
    [(0, 0), (1, 2), (2, 4)]
    """
    given: dict[int, Task] = {}

    def waiting() -> Iterator[tuple[int, Task]]:
        for place, task in enumerate(tasks):
            given[place] = task
            yield place, task

    for place, result in _finished(function, waiting(), seed=seed, workers=cores_for(workers), executor=executor):
        yield given.pop(place), result


def _finished(
    function: Callable[[Task, np.random.SeedSequence], Result],
    waiting: Iterator[tuple[int, Task]],
    *,
    seed: int,
    workers: int,
    executor: Executor | None,
) -> Iterator[tuple[int, Result]]:
    """The results of tasks with their places, as they finish."""
    calls = ((place, task, np.random.SeedSequence(seed, spawn_key=(place,))) for place, task in waiting)
    call = partial(_on_one_thread, function)
    if executor is not None:
        return _on_executor(call, calls, executor)
    if workers <= 1:
        return ((place, call(task, seeds)) for place, task, seeds in calls)
    return _in_processes(call, calls, workers)


def cores_for(workers: int | None) -> int:
    """The number of processes to use.

    >>> cores_for(0)
    Traceback (most recent call last):
    peerveil.errors.InputError: workers must be a whole number of at least 1, got 0
    """
    if workers is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise InputError(Argument("workers"), f" must be a whole number of at least 1, got {workers!r}")
    return workers


@contextmanager
def cluster(address: str | None) -> Iterator[Executor | None]:
    """The executor of a Dask cluster, by its scheduler's address (``tcp://host:8786``); none without an address.

    The cluster's workers need the same version of Peerveil. They see nothing but what the tasks hold.
    """
    if address is None:
        yield None
        return
    client = _client(address)
    try:
        yield client.get_executor(pure=False)
    finally:
        client.close()


def _client(address: str) -> Any:
    problem = "a cluster needs the package distributed: pip install 'peerveil[cluster]'"
    with suppress(ModuleNotFoundError):
        import distributed  # noqa: PLC0415 - an extra

        problem = f"there is no cluster at {address}; start one with `dask scheduler` and `dask worker {address}`"
        connect: Any = distributed.Client
        with suppress(OSError, ValueError):
            return connect(address, timeout=10, set_as_default=False)
    raise InputError(problem)


def _on_one_thread(
    function: Callable[[Task, np.random.SeedSequence], Result], task: Task, seeds: np.random.SeedSequence
) -> Result:
    """Run a task with linear algebra on one thread: the cores have other tasks."""
    with on_one_thread():
        return function(task, seeds)


#: A task with its place and its seeds.
Call = tuple[int, Task, np.random.SeedSequence]
Calls = Iterator[Call[Task]]


def _handed_out(
    function: Callable[[Task, np.random.SeedSequence], Result],
    calls: Calls[Task],
    pool: Executor,
    running: dict[Future[Result], Call[Task]],
) -> Iterator[tuple[int, Result]]:
    """Hand tasks to an executor, some ahead of the results, and yield these as they come.

    What runs when it fails is left in ``running``.
    """
    while True:
        while len(running) < _AHEAD and (call := next(calls, None)) is not None:
            running[_submitted(function, call, pool)] = call
        if not running:
            return
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in sorted(done, key=_failed):  # what was finished is not lost for what failed meanwhile
            result = future.result()
            place, _, _ = running.pop(future)
            yield place, result


def _failed(future: Future[Any]) -> bool:
    return future.exception() is not None


def _on_executor(
    function: Callable[[Task, np.random.SeedSequence], Result], calls: Calls[Task], pool: Executor
) -> Iterator[tuple[int, Result]]:
    """Run tasks on an executor that is not ours; what has not begun when one fails is not begun."""
    running: dict[Future[Result], Call[Task]] = {}
    try:
        yield from _handed_out(function, calls, pool, running)
    finally:
        for future in running:
            future.cancel()


def _submitted(
    function: Callable[[Task, np.random.SeedSequence], Result], call: Call[Task], pool: Executor
) -> Future[Result]:
    """A call's future; a pool that is broken fails here or later, and the call is not lost either way."""
    _, task, seeds = call
    try:
        with starting_processes():  # a pool starts them as tasks come
            return pool.submit(function, task, seeds)
    except BrokenProcessPool as error:
        failed: Future[Result] = Future()
        failed.set_exception(error)
        return failed


def _in_processes(
    function: Callable[[Task, np.random.SeedSequence], Result], calls: Calls[Task], workers: int
) -> Iterator[tuple[int, Result]]:
    """Run tasks in processes of our own; a pool whose worker was killed is set up anew, and loses nothing."""
    for _ in range(1 + _RESTARTS):
        # Spawned, not forked: libraries that run threads (polars, BLAS) do not survive a fork.
        context = multiprocessing.get_context("spawn")
        pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_ignore_interrupts)
        running: dict[Future[Result], Call[Task]] = {}
        broken = False
        try:
            yield from _handed_out(function, calls, pool, running)
        except BrokenProcessPool:
            broken = True
        except Exception:
            raise
        except BaseException:  # an interrupt, or an end: nobody waits for what runs
            _end_workers(pool)
            raise
        finally:
            pool.shutdown(wait=True, cancel_futures=True)  # futures cancelled by us would break a pool that is ended
        if not broken:
            return
        calls = chain(list(running.values()), calls)
    raise PeerveilError(
        f"worker processes died {1 + _RESTARTS} times. Is there enough memory (fewer ",
        Argument("workers", ...),
        " need less)? Does the script that calls this do so under `if __name__ == '__main__':`, as processes need it?",
    )


@contextmanager
def starting_processes() -> Iterator[None]:
    """Start processes that no Ctrl-C reaches: it goes to all processes of a terminal, and this one ends the others.

    They are born with the interrupt blocked, as they could do nothing about it before they have loaded their modules.
    This process must not be interrupted either before it has told them what to load. An interrupt that comes meanwhile
    takes effect when the block ends.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    came: list[int] = []
    handler = signal.getsignal(signal.SIGINT)
    ours = threading.current_thread() is threading.main_thread() and handler is not None
    if ours:  # other threads may receive the signal, but this one acts on it
        signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if ours:
            signal.signal(signal.SIGINT, handler)
        if came:
            signal.raise_signal(signal.SIGINT)


def _ignore_interrupts() -> None:
    """Where signals cannot be blocked before a process starts, ignore them as soon as it has."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _end_workers(pool: ProcessPoolExecutor) -> None:
    """End the processes of a pool, whatever they do."""
    for process in list((getattr(pool, "_processes", None) or {}).values()):  # public only from Python 3.14 on
        process.terminate()


class _Store:
    """Results of finished tasks in a folder, a file each: written whole or not at all, found by what they are of."""

    def __init__(self, folder: Path, function: Callable[..., Any], seed: int) -> None:
        self._folder = folder
        self._what = f"{function.__module__}.{function.__qualname__} {seed}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise write_failure(f"{folder} cannot be made to keep results in ({error.strerror})", error) from None

    def _file(self, place: int, task: object) -> Path:
        name = hashlib.sha256(f"{self._what} {place} {task!r}".encode()).hexdigest()[:32]
        return self._folder / f"{name}.json"

    def load(self, tasks: Sequence[Any]) -> dict[int, Any]:
        found = {}
        for place, task in enumerate(tasks):
            try:
                found[place] = json.loads(self._file(place, task).read_text(encoding="utf-8"))
            except (OSError, ValueError):
                continue  # not there, or not whole: run it
        return found

    def save(self, place: int, task: object, result: object) -> None:
        file = self._file(place, task)
        part = file.with_suffix(f".{os.getpid()}.part")
        part.write_text(json.dumps(result), encoding="utf-8")
        part.replace(file)
