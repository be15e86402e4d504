"""Time limits on a block of Python code, in any thread.

When the time is over, an exception is raised in the thread of the block before its next Python instruction. A single
call into a compiled library is not interrupted: the exception is raised when it returns.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

import numpy as np

from peerveil.errors import Argument, InputError, PeerveilError, TimeLimitError

Task = TypeVar("Task")
Result = TypeVar("Result")


class _Over(BaseException):
    """The time is over; not an ``Exception``, which the block might handle as a failure of its own."""


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise ``TimeLimitError`` if the block takes longer than some seconds; ``None`` is no limit.

    >>> with time_limit(0.01):
    ...     while True:
    ...         pass
    Traceback (most recent call last):
    peerveil.errors.TimeLimitError: it took longer than the limit of 0.01 seconds
    """
    if seconds is None:
        yield
        return
    thread, lock = threading.get_ident(), threading.Lock()
    state = dict.fromkeys(("ended", "over", "arrived"), False)

    def interrupt() -> None:
        with lock:
            if not state["ended"]:
                state["over"] = True
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(_Over))

    timer = threading.Timer(seconds, interrupt)
    timer.daemon = True
    timer.start()
    try:
        try:
            yield
        except _Over:
            state["arrived"] = True
            raise
        finally:
            with lock:
                state["ended"] = True
            timer.cancel()
            while state["over"] and not state["arrived"]:  # it is on its way, and must not arrive after the block
                time.sleep(0.001)
    except _Over:
        raise TimeLimitError(f"it took longer than the limit of {seconds:g} seconds") from None


def check_time_limit(seconds: float | None) -> float | None:
    """A time limit; raises unless it is above 0.

    >>> check_time_limit(0)
    Traceback (most recent call last):
    peerveil.errors.InputError: time_limit must be a number of seconds above 0, got 0
    """
    if seconds is not None and not 0 < seconds < threading.TIMEOUT_MAX:
        raise InputError(Argument("time_limit"), f" must be a number of seconds above 0, got {seconds!r}")
    return seconds


def limited(
    function: Callable[[Task, np.random.SeedSequence], Result], seconds: float | None
) -> Callable[[Task, np.random.SeedSequence], Result | PeerveilError]:
    """Return a function of tasks that gives a ``TimeLimitError`` as the result of a task which takes too long."""
    return partial(_limited, function, seconds)


def _limited(
    function: Callable[[Task, np.random.SeedSequence], Result],
    seconds: float | None,
    task: Task,
    seeds: np.random.SeedSequence,
) -> Result | PeerveilError:
    try:
        with time_limit(seconds):
            return function(task, seeds)
    except TimeLimitError as error:
        return error.with_traceback(None)
