"""What happens around the work: a sign of life while it runs, tidying when it is ended, words when it cannot show."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from peerveil.errors import ShowError

if TYPE_CHECKING:
    from peerveil.private.charging import Spending


@contextmanager
def after_writing(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Show what was written: if that fails, the error says that the files are there all the same."""
    failed = False
    try:
        yield
        sys.stdout.flush()
    except Exception:  # noqa: BLE001 - whatever it is, the files stand, and its text may hold anything
        failed = True
    if failed:
        silence()
        raise ShowError(f"written to {folder}, but the summary could not be shown")


def silence() -> None:
    """Send to nowhere what stdout still holds: it would fail a second time when Python ends."""
    if sys.stdout is sys.__stdout__ and sys.stdout is not None:
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())


class Stopped(BaseException):
    """The user or the system asked the command to end."""

    def __init__(self, number: int) -> None:
        self.exit_code = 128 + number
        super().__init__(number)


@contextmanager
def tidy_ending() -> Iterator[None]:
    """Let a request to end unwind like an error, so that nothing half-written is left behind and it can be told."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, _: object) -> None:
        raise Stopped(number)

    asked = [number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, end) for number in asked}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


#: What the running command charges.
_followed: list[Spending] = []


@contextmanager
def charging(ledger: str | None) -> Iterator[Spending]:
    """What a command charges: within it, and until the command ends, a failure or an end says what was charged."""
    from peerveil.app.ledger import Spending  # noqa: PLC0415 - only where something is charged

    with Spending(ledger, remedy="run the same command again") as spending:
        _followed.append(spending)
        yield spending


def forget_charges() -> None:
    """A new command begins: it has charged nothing."""
    _followed.clear()


def charge_words(*, without_ledger: bool) -> str:
    """What the command has charged so far, in sentences; nothing if it is no command that charges.

    Args:
        without_ledger: say that nothing was charged even where no ledger is named.
    """
    return " ".join(one.words() for one in _followed if without_ledger or one.ledger is not None)


@contextmanager
def working(first: str) -> Iterator[Callable[[str], None]]:
    """Show what is being done, with the time it takes, while the block runs; nothing where stderr is no terminal.

    Yields a function to call with the next step's name.
    """
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    from peerveil.cli.show import err  # noqa: PLC0415

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        task = progress.add_task(first, total=None)
        yield lambda step: progress.update(task, description=step)


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show how far the work has come, with the time it takes; nothing where stderr is no terminal.

    Yields a function to call with what is done and what there is to do.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    from peerveil.cli.show import err  # noqa: PLC0415

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
