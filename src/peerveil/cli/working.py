"""Progress displays, interruption, charges, and output failures."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from peerveil.errors import ShowError

if TYPE_CHECKING:
    from peerveil.private.charging import Spending


@contextmanager
def after_writing(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Show what was written; if that fails, raise an error which says that the files exist."""
    failed = False
    try:
        yield
        sys.stdout.flush()
    except Exception:  # noqa: BLE001 - the files exist all the same, and its text may hold private values
        failed = True
    if failed:
        silence()
        raise ShowError(f"written to {folder}, but the summary could not be shown")


def silence() -> None:
    """Discard what stdout still holds: writing it would fail a second time at exit."""
    if sys.stdout is sys.__stdout__ and sys.stdout is not None:
        with Path(os.devnull).open("wb") as null:
            os.dup2(null.fileno(), sys.stdout.fileno())


class Stopped(BaseException):
    """The command was interrupted by a signal."""

    def __init__(self, number: int) -> None:
        self.number, self.exit_code = number, 128 + number
        super().__init__(number)


#: Seconds after which a lost interrupt is repeated.
_LATER = 0.01


@contextmanager
def tidy_ending() -> Iterator[None]:
    """Turn signals into exceptions, so that partial files are removed and charges reported."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, _: object) -> None:
        raise Stopped(number)

    usual, main = sys.unraisablehook, threading.main_thread().ident
    assert main is not None  # noqa: S101 - it runs

    def unraisable(problem: sys.UnraisableHookArgs) -> None:
        """Interrupt again, a little later, if the exception was lost where none can be raised, as in a finalizer."""
        if isinstance(problem.exc_value, Stopped):
            threading.Timer(_LATER, signal.pthread_kill, (main, problem.exc_value.number)).start()
        else:
            usual(problem)

    handled = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, end) for number in handled}
    sys.unraisablehook = unraisable
    try:
        yield
    finally:
        sys.unraisablehook = usual
        for number, handler in before.items():
            signal.signal(number, handler)


#: The charges of the running command.
_followed: list[Spending] = []


@contextmanager
def charging(ledger: str | None) -> Iterator[Spending]:
    """Record the charges of a command, which are reported if it fails or is interrupted."""
    from peerveil.app.ledger import Spending

    with Spending(ledger, remedy="run the same command again") as spending:
        _followed.append(spending)
        yield spending


def forget_charges() -> None:
    """Forget the charges of an earlier command."""
    _followed.clear()


def charge_words(*, without_ledger: bool) -> str:
    """Return sentences on what the command has charged so far, if it charges a ledger or ``without_ledger`` is set."""
    return " ".join(spending.words() for spending in _followed if without_ledger or spending.ledger is not None)


@contextmanager
def _progress(title: str, *columns: str) -> Iterator[Callable[..., None]]:
    """Show the progress of the block on a terminal; yield a function that updates it."""
    from rich import progress

    from peerveil.cli.show import err

    shown = [getattr(progress, f"{column}Column")() for column in columns]
    text = progress.TextColumn("{task.description}")
    with progress.Progress(text, *shown, console=err, transient=True, disable=not err.is_terminal) as display:
        yield partial(display.update, display.add_task(title, total=None))


@contextmanager
def working(first: str) -> Iterator[Callable[[str], None]]:
    """Show the current step and the elapsed time on a terminal; yield a function to call with the next step."""
    with _progress(first, "Spinner", "TimeElapsed") as update:
        yield lambda step: update(description=step)


@contextmanager
def counting(title: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar on a terminal; yield a function to call with the work done and the total."""
    with _progress(title, "Bar", "MofNComplete", "TimeRemaining") as update:
        yield lambda done, total: update(completed=done, total=total)
