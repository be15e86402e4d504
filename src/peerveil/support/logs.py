"""Structured logs: events with a fixed set of fields, as lines of JSON.

Only events are written, never free text: an :class:`Event` has fields for names and numbers, and none for a message or
an exception, whose text could hold an identity.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import ClassVar

from peerveil.errors import Argument, InputError, write_failure

#: The version of the lines, stated in each.
SCHEMA = "log-1"

#: The names of levels, from the most to the least detailed.
LEVELS = ("debug", "info", "warning", "error")

LOGGER = logging.getLogger("peerveil")
LOGGER.addHandler(logging.NullHandler())  # without one, Python prints errors on stderr


@dataclass(frozen=True, kw_only=True)
class Event:
    """Base of all events. A subclass adds the fields of its lines, and may set another level.

    >>> class ShelfSorted(Event):
    ...     pass
    >>> ShelfSorted().name
    'shelf-sorted'
    """

    level: ClassVar[int] = logging.INFO

    @property
    def name(self) -> str:
        """The name of the event in a log, made from the name of its class."""
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", type(self).__name__).lower()

    def __str__(self) -> str:
        return json.dumps({"event": self.name} | asdict(self))


def emit(event: Event) -> None:
    """Log an event, for the handlers of ``logging.getLogger("peerveil")``."""
    LOGGER.log(event.level, event)


class _Lines(logging.Formatter):
    """Formats an event as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        event = record.msg
        assert isinstance(event, Event)  # noqa: S101 - others are filtered
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        facts = {"schema": SCHEMA, "time": when, "level": record.levelname.lower(), "process": record.process}
        return json.dumps(facts | {"event": event.name} | asdict(event))


class _Writing(logging.Handler):
    """Writes each event at once; a line that cannot be written, as on a full disk, is left out and stops nothing."""

    def __init__(self, write: Callable[[str], object]) -> None:
        super().__init__()
        self._write = write
        self.setFormatter(_Lines())

    def emit(self, record: logging.LogRecord) -> None:
        """Write an event."""
        with suppress(OSError):
            self._write(self.format(record) + "\n")


def only_events(record: logging.LogRecord) -> bool:
    """Whether a record is an event."""
    return isinstance(record.msg, Event)


@contextmanager
def attached(handler: logging.Handler, level: str) -> Iterator[None]:
    """Handle events of at least a level while the block runs.

    >>> with attached(logging.NullHandler(), "loud"):
    ...     pass
    Traceback (most recent call last):
    peerveil.errors.InputError: log_level must be one of debug, info, warning, error, got 'loud'
    """
    if level not in LEVELS:
        raise InputError(Argument("log_level"), f" must be one of {', '.join(LEVELS)}, got {level!r}")
    handler.setLevel(level.upper())
    handler.addFilter(only_events)
    before = LOGGER.level
    LOGGER.addHandler(handler)
    LOGGER.setLevel(min(filter(None, (before, handler.level))))
    try:
        yield
    finally:
        LOGGER.setLevel(before)
        LOGGER.removeHandler(handler)


@contextmanager
def logging_to(file: str | os.PathLike[str], level: str) -> Iterator[None]:
    """Append events of at least a level to a file that only its owner can read, or write them to stderr (``"-"``)."""
    if os.fspath(file) == "-":
        with attached(_Writing(sys.stderr.write), level):
            yield
        return
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError as error:
        raise write_failure(f"the log {os.fspath(file)} cannot be written: {error.strerror}", error) from None
    try:
        with attached(_Writing(lambda line: os.write(descriptor, line.encode())), level):
            yield
    finally:
        os.close(descriptor)
