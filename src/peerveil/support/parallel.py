"""Parallel execution of independent tasks: in local processes or on a cluster.

Each task gets a seed sequence derived from the seed and the task's index alone, so results do not depend on the number
of workers or on which worker ran which task. Results can be kept on disk, so that an interrupted run can be resumed.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypedDict, TypeVar, cast

import cloudpickle
import numpy as np

from peerveil.errors import Argument, InputError, PeerveilError, write_failure
from peerveil.support.extensions import Registration, registered_in_main
from peerveil.support.threads import on_one_thread

Task = TypeVar("Task")
Result = TypeVar("Result")
T = TypeVar("T")

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

#: How long to try to connect to a cluster, also again, in seconds.
_CONNECT = 10

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
    store = None if keep is None else _Store(keep, function, seed)
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


@contextmanager
def cluster(address: str | None) -> Iterator[Executor | None]:
    """Yield the executor of a Dask cluster, given its scheduler's address (``tcp://host:8786``), or ``None``.

    The cluster's workers need the same version of Peerveil. They receive only what the tasks contain.
    """
    if address is None:
        yield None
        return
    client = _client(address)
    try:
        yield _Cluster(client)
    finally:
        client.close()


class _Cluster(Executor):
    """The executor of a cluster's client. Its own one waits forever for a scheduler that is gone."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._executor: Executor = client.get_executor(pure=False)

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:  # type: ignore[override]
        self.check()
        return self._executor.submit(function, *arguments)

    def check(self) -> None:
        """Raise an error if the scheduler is gone: Dask closes a client that could not connect again for a while."""
        if self._client.status in ("closing", "closed"):
            raise self.gone()

    def gone(self) -> PeerveilError:
        """Return the error of a lost connection, after Dask has connected again or given up.

        If it were closed in between, it would log a traceback.
        """
        until = time.monotonic() + 2 * _CONNECT
        while self._client.status == "connecting" and time.monotonic() < until:
            time.sleep(0.1)
        return PeerveilError(
            "the scheduler of the cluster is gone or was restarted; see that it runs, and start the same command again"
        )


def _client(address: str) -> Any:
    problem = "a cluster needs the package distributed: pip install 'peerveil[cluster]'"
    with suppress(ModuleNotFoundError):
        import distributed  # noqa: PLC0415 - an extra

        problem = f"there is no cluster at {address}; start one with `dask scheduler` and `dask worker {address}`"
        connect: Any = distributed.Client
        with suppress(OSError, ValueError):
            return connect(address, timeout=_CONNECT, set_as_default=False)
    raise InputError(problem)


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
            if isinstance(pool, _Cluster):
                pool.check()
        for future in sorted(done, key=_failed):  # successes first, so that a failure does not lose them
            if future.cancelled() and isinstance(pool, _Cluster):  # by Dask, as soon as its connection is lost
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
        pool = _Processes(workers)
        running: dict[Future[Result], Call[Task]] = {}
        try:
            yield from _submit_all(function, calls, pool, running, ahead)
        except BrokenProcessPool:
            calls = chain(list(running.values()), calls)
        except Exception:
            raise
        except BaseException:  # an interrupt or exit: do not wait for running tasks
            _end_workers(pool)
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


class _Processes(ProcessPoolExecutor):
    """A pool whose processes do not run the caller's main module, so that a script needs no guard against that.

    Functions and classes of the main module are sent by value.
    """

    def __init__(self, workers: int) -> None:
        # Spawned, not forked: libraries with threads (polars, BLAS) do not survive a fork.
        context = multiprocessing.get_context("spawn")
        registrations = _by_value(registered_in_main())
        super().__init__(workers, mp_context=context, initializer=_prepare, initargs=(registrations,))

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:  # type: ignore[override]
        with _starting, starting_processes():  # a pool starts them as tasks arrive
            main = sys.modules["__main__"]
            sys.modules["__main__"] = ModuleType("__main__")  # a new process imports what it finds here
            try:
                return super().submit(_call, _by_value((function, arguments)))
            finally:
                sys.modules["__main__"] = main


#: Held while processes are started.
_starting = threading.Lock()


class _ByValue:
    """Pickles a value, with the functions and classes of the main module that it uses; it is unpickled as the value."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __reduce__(self) -> tuple[Callable[[bytes], Any], tuple[bytes]]:
        return cloudpickle.loads, (cloudpickle.dumps(self._value),)


def _by_value(value: T) -> T:
    """A value as another process receives it."""
    return cast("T", _ByValue(value))


def _call(work: tuple[Callable[..., Result], tuple[Any, ...]]) -> Result:
    """Call a function in a worker."""
    function, arguments = work
    return _by_value(function(*arguments))


@contextmanager
def starting_processes() -> Iterator[None]:
    """Protect processes started in the block from Ctrl-C, which a terminal sends to all of its processes.

    They start with the interrupt blocked, because they cannot handle it before their modules are loaded; this process
    ends them instead. An interrupt of this process takes effect at the end of the block, after the processes have
    received the names of their modules.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    received: list[int] = []
    handler = signal.getsignal(signal.SIGINT)
    deferred = threading.current_thread() is threading.main_thread() and handler is not None
    if deferred:  # other threads may receive the signal, but the main thread handles it
        signal.signal(signal.SIGINT, lambda number, _: received.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if deferred:
            signal.signal(signal.SIGINT, handler)
        if received:
            signal.raise_signal(signal.SIGINT)


def _prepare(registrations: Sequence[Registration]) -> None:
    """Prepare a worker: ignore interrupts, as some systems cannot block them, and repeat registrations."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for function, arguments in registrations:
        function(*arguments)


def _end_workers(pool: ProcessPoolExecutor) -> None:
    """Terminate the processes of a pool."""
    for process in list((getattr(pool, "_processes", None) or {}).values()):  # public only from Python 3.14 on
        process.terminate()


class _Store:
    """Results of finished tasks, one atomically written file each, found by function, seed, index and task."""

    def __init__(self, folder: Path, function: Callable[..., Any], seed: int) -> None:
        self._folder = folder
        self._key = f"{function.__module__}.{function.__qualname__} {seed}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise write_failure(f"{folder} cannot be made to keep results in ({error.strerror})", error) from None

    def _file(self, index: int, task: object) -> Path:
        name = hashlib.sha256(f"{self._key} {index} {task!r}".encode()).hexdigest()[:32]
        return self._folder / f"{name}.json"

    def load(self, tasks: Sequence[Any]) -> dict[int, Any]:
        results = {}
        for index, task in enumerate(tasks):
            with suppress(OSError, ValueError):  # missing or damaged: run the task
                results[index] = json.loads(self._file(index, task).read_text(encoding="utf-8"))
        return results

    def save(self, index: int, task: object, result: object) -> None:
        file = self._file(index, task)
        part = file.with_suffix(f".{os.getpid()}.part")
        part.write_text(json.dumps(result), encoding="utf-8")
        part.replace(file)
