"""Local processes for tasks: they need no guard in a script, and leave Ctrl-C to the process that started them."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from types import ModuleType
from typing import Any, TypeVar, cast

import cloudpickle

from peerveil.support.extensions import Registration, registered_in_main

Result = TypeVar("Result")
T = TypeVar("T")


class Processes(ProcessPoolExecutor):
    """A pool whose processes do not run the caller's main module, so that a script needs no guard against that.

    Functions and classes of the main module are sent by value.
    """

    def __init__(self, workers: int) -> None:
        # Spawned, not forked: libraries with threads (polars, BLAS) do not survive a fork.
        context = multiprocessing.get_context("spawn")
        registrations = _by_value(registered_in_main())
        super().__init__(workers, mp_context=context, initializer=_prepare, initargs=(registrations,))

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> Future[Any]:  # type: ignore[override]
        """Submit a call; what it returns is pickled by value as well."""
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


def end_workers(pool: ProcessPoolExecutor) -> None:
    """Terminate the processes of a pool."""
    for process in list((getattr(pool, "_processes", None) or {}).values()):  # public only from Python 3.14 on
        process.terminate()
