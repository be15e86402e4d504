"""A sign of life on stderr while long work runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


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
